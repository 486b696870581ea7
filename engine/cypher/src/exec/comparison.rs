//! Comparisons, membership and tests of text over a row.

use std::cmp::Ordering;
use std::sync::Arc;

use graphlume_expr::{Cmp, Scalar};

use super::Exec;
use super::patterns::stays;
use crate::ast::Binary;
use crate::error::{Res, type_error};
use crate::plan::Ex;
use crate::value::temporal::order_of_text;
use crate::value::{Key, Shared, Value, compare, equal};

/// Elements from which on a fixed list of IN is looked up by hash.
const MEMBERS_MIN: usize = 16;

impl Exec<'_> {
    /// The comparisons of a chain, of which all have to hold.
    pub(super) fn comparison(
        &self,
        first: &Ex,
        rest: &[(Cmp, Ex)],
        row: &mut [Value],
    ) -> Res<Option<bool>> {
        if let [(op, right)] = rest
            && let Some(result) = self.quick(first, *op, right, row)
        {
            return Ok(result);
        }
        let mut left = self.eval(first, row)?;
        let mut result = Some(true);
        for (op, right) in rest {
            let right = self.eval(right, row)?;
            match compared(*op, &left, &right)? {
                Some(false) => return Ok(Some(false)),
                None => result = None,
                Some(true) => {}
            }
            left = right;
        }
        Ok(result)
    }

    /// A test with two operands.
    pub(super) fn relation(
        &self,
        e: &Ex,
        op: Binary,
        a: &Ex,
        b: &Ex,
        row: &mut [Value],
    ) -> Res<Option<bool>> {
        if op == Binary::Xor {
            let (a, b) = (self.test(a, row)?, self.test(b, row)?);
            return Ok(a.zip(b).map(|(a, b)| a != b));
        }
        if matches!(
            op,
            Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::Mod | Binary::Pow
        ) {
            return match self.eval(e, row)? {
                Value::Scalar(Scalar::Bool(v)) => Ok(Some(v)),
                Value::Scalar(Scalar::Null) => Ok(None),
                other => Err(type_error(format!("a truth value is needed, not {}", other.kind()))),
            };
        }
        if op == Binary::In
            && let Some(Value::List(list)) = self.fixed(b)
            && list.len() >= MEMBERS_MIN
        {
            let value = self.eval(a, row)?;
            return self.is_member(list, &value);
        }
        let is_fixed = op == Binary::Matches && stays(b);
        let (a, b) = (self.eval(a, row)?, self.eval(b, row)?);
        if op == Binary::In {
            return match &b {
                Value::Scalar(Scalar::Null) => Ok(None),
                Value::List(list) => contains(list, &a),
                other => {
                    Err(type_error(format!("IN needs a list on its right, not {}", other.kind())))
                }
            };
        }
        let (Value::Scalar(Scalar::Text(x)), Value::Scalar(Scalar::Text(y))) = (&a, &b) else {
            return Ok(None);
        };
        Ok(Some(match op {
            Binary::StartsWith => x.starts_with(&**y),
            Binary::EndsWith => x.ends_with(&**y),
            Binary::Contains => x.contains(&**y),
            _ if is_fixed => {
                let mut patterns = self.patterns.borrow_mut();
                patterns.fixed(y, &self.fixed_patterns, self.cancel)?.is_match(x)
            }
            _ => self.patterns.borrow_mut().of_row(y, self.cancel)?.is_match(x),
        }))
    }

    /// Whether a list that stays the same has the value.
    fn is_member(&self, list: &Arc<Shared<Vec<Value>>>, value: &Value) -> Res<Option<bool>> {
        let mut all = self.members.borrow_mut();
        let at = all.iter().position(|(known, _)| Arc::ptr_eq(known, list)).unwrap_or_else(|| {
            // Only plain values are equal exactly when their keys are.
            let plain = |v: &Value| match v {
                Value::Scalar(Scalar::Float(f)) => !f.is_nan(),
                Value::Scalar(
                    Scalar::Null
                    | Scalar::Int(_)
                    | Scalar::UInt(_)
                    | Scalar::Text(_)
                    | Scalar::Bool(_),
                ) => true,
                _ => false,
            };
            let members = list.iter().all(plain);
            let members = members.then(|| list.iter().map(|v| Key(v.clone())).collect());
            all.push((Arc::clone(list), members));
            all.len() - 1
        });
        let members = all.get(at).and_then(|(_, members)| members.as_ref());
        Ok(match (members, value) {
            (None, value) | (_, value @ Value::Scalar(Scalar::Temporal(_))) => {
                return contains(list, value);
            }
            (_, Value::Scalar(Scalar::Null)) => None,
            (_, Value::Scalar(Scalar::Float(f))) if f.is_nan() => return contains(list, value),
            (Some(members), value) => {
                let found = members.contains(&Key(value.clone()));
                if !found && members.contains(&Key(Value::NULL)) { None } else { Some(found) }
            }
        })
    }
}

/// Whether the list has the value; unknown when a null may be it.
pub(super) fn contains(list: &[Value], value: &Value) -> Res<Option<bool>> {
    if list.is_empty() {
        return Ok(Some(false));
    }
    let mut result = Some(false);
    for item in list {
        match compared(Cmp::Eq, value, item)? {
            Some(true) => return Ok(Some(true)),
            None => result = None,
            Some(false) => {}
        }
    }
    Ok(result)
}

/// One comparison; `None` when it is unknown. A time is compared with a text that says a time, and with times that
/// have a day too; a text that says none is an error, because no row would ever pass.
pub(super) fn compared(op: Cmp, a: &Value, b: &Value) -> Res<Option<bool>> {
    if let Some(order) = order_of_times(a, b)? {
        return Ok(Some(op.accepts(order)));
    }
    Ok(match op {
        Cmp::Eq => equal(a, b),
        Cmp::Ne => equal(a, b).map(|v| !v),
        _ => {
            let nan = |v: &Value| matches!(v, Value::Scalar(Scalar::Float(f)) if f.is_nan());
            let number = |v: &Value| v.as_f64().is_some();
            if number(a) && number(b) && (nan(a) || nan(b)) {
                return Ok(Some(false));
            }
            compare(a, b).map(|order| op.accepts(order))
        }
    })
}

/// The order of a time and a text, or of two times of different kinds; `None` for everything else.
fn order_of_times(a: &Value, b: &Value) -> Res<Option<Ordering>> {
    match (a, b) {
        (Value::Scalar(Scalar::Temporal(t)), Value::Scalar(Scalar::Text(text))) => {
            order_of_text(t, text).map(Some)
        }
        (Value::Scalar(Scalar::Text(text)), Value::Scalar(Scalar::Temporal(t))) => {
            Ok(Some(order_of_text(t, text)?.reverse()))
        }
        (Value::Scalar(Scalar::Temporal(a)), Value::Scalar(Scalar::Temporal(b)))
            if a.rank() != b.rank() =>
        {
            Ok(a.instant().zip(b.instant()).map(|(a, b)| a.cmp(&b)))
        }
        _ => Ok(None),
    }
}
