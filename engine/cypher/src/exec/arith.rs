//! Arithmetic, and access to elements.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use std::sync::Arc;

use graphlume_expr::Scalar;
use graphlume_types::number::nearest_f64;

use crate::ast::Binary;
use crate::error::{Res, type_error, value_error};
use crate::graph_view::GraphView;
use crate::render::text_of;
use crate::value::temporal;
use crate::value::{Value, entry};

fn overflow() -> Box<graphlume_expr::QueryError> {
    value_error("the result does not fit into 64 bits").suggest_float()
}

trait SuggestFloat {
    fn suggest_float(self) -> Self;
}

impl SuggestFloat for Box<graphlume_expr::QueryError> {
    fn suggest_float(self) -> Self {
        Box::new((*self).suggest("compute with floats: toFloat(x)"))
    }
}

/// An operator of two values.
pub(super) fn binary(view: &GraphView, op: Binary, a: &Value, b: &Value) -> Res<Value> {
    use Value as V;
    if let (V::Scalar(Scalar::Int(x)), V::Scalar(Scalar::Int(y))) = (a, b) {
        return integers(op, *x, *y);
    }
    match (op, a, b) {
        // A list takes up null as an element.
        (Binary::Add, V::List(x), V::List(y)) => {
            let mut list = Vec::with_capacity(x.len() + y.len());
            list.extend_from_slice(x);
            list.extend_from_slice(y);
            return long_list(list);
        }
        (Binary::Add, V::List(x), y) if !y.is_null() => {
            let mut list = x.to_vec();
            list.push(y.clone());
            return long_list(list);
        }
        (Binary::Add, x, V::List(y)) if !x.is_null() => {
            let mut list = vec![x.clone()];
            list.extend_from_slice(y);
            return long_list(list);
        }
        (_, V::Scalar(Scalar::Null), _) | (_, _, V::Scalar(Scalar::Null)) => return Ok(V::NULL),
        _ => {}
    }
    if let (Some(x), Some(y)) = (a.as_whole(), b.as_whole())
        && op != Binary::Pow
    {
        return unsigned(op, x, y);
    }
    if let (Some(x), Some(y)) = (a.as_f64(), b.as_f64()) {
        return Ok(V::float(floats(op, x, y)));
    }
    let range = || value_error("the result is out of the range of time");
    Ok(match (op, a, b) {
        (Binary::Add, V::Scalar(Scalar::Text(_)), V::Scalar(other))
        | (Binary::Add, V::Scalar(other), V::Scalar(Scalar::Text(_)))
            if matches!(other, Scalar::Text(_)) || other.is_number_or_bool() =>
        {
            // Concatenation doubles at most, so what is held stays bounded.
            V::text(text_of(view, a) + &text_of(view, b))
        }
        (Binary::Add, V::Scalar(Scalar::Temporal(t)), V::Duration(d))
        | (Binary::Add, V::Duration(d), V::Scalar(Scalar::Temporal(t))) => {
            V::temporal(temporal::add(t, d)?)
        }
        (Binary::Sub, V::Scalar(Scalar::Temporal(t)), V::Duration(d)) => {
            V::temporal(temporal::add(t, &d.negated().ok_or_else(range)?)?)
        }
        (Binary::Add, V::Duration(x), V::Duration(y)) => {
            V::Duration(Arc::new(x.plus(y).ok_or_else(range)?))
        }
        (Binary::Sub, V::Duration(x), V::Duration(y)) => {
            let back = y.negated().ok_or_else(range)?;
            V::Duration(Arc::new(x.plus(&back).ok_or_else(range)?))
        }
        (Binary::Mul, V::Duration(d), n) | (Binary::Mul, n, V::Duration(d)) => {
            let factor = n.as_f64().ok_or_else(|| mismatch(op, a, b))?;
            V::Duration(Arc::new(d.scaled(factor).ok_or_else(range)?))
        }
        (Binary::Div, V::Duration(d), n) => {
            let by = n.as_f64().ok_or_else(|| mismatch(op, a, b))?;
            V::Duration(Arc::new(d.divided(by).ok_or_else(range)?))
        }
        _ => return Err(mismatch(op, a, b)),
    })
}

fn long_list(list: Vec<Value>) -> Res<Value> {
    let max = graphlume_types::limits::CYPHER_LIST_MAX;
    if list.len() > max {
        return Err(crate::error::limit_error(format!("a list may have {max} elements")));
    }
    Ok(Value::list(list))
}

fn mismatch(op: Binary, a: &Value, b: &Value) -> Box<graphlume_expr::QueryError> {
    let name = match op {
        Binary::Add => "+",
        Binary::Sub => "-",
        Binary::Mul => "*",
        Binary::Div => "/",
        Binary::Mod => "%",
        _ => "^",
    };
    type_error(format!("{name} has no meaning for {} and {}", a.kind(), b.kind()))
}

fn integers(op: Binary, a: i64, b: i64) -> Res<Value> {
    let result = match op {
        Binary::Add => a.checked_add(b),
        Binary::Sub => a.checked_sub(b),
        Binary::Mul => a.checked_mul(b),
        Binary::Div | Binary::Mod if b == 0 => return Err(value_error("division by zero")),
        Binary::Div => a.checked_div(b),
        Binary::Mod => a.checked_rem(b).or(Some(0)),
        _ => return Ok(Value::float(nearest_f64(a).powf(nearest_f64(b)))),
    };
    result.map(Value::int).ok_or_else(overflow)
}

/// An operator of whole numbers of which one has no sign: the result has one or none, as it fits.
fn unsigned(op: Binary, a: i128, b: i128) -> Res<Value> {
    let result = match op {
        Binary::Add => a.checked_add(b),
        Binary::Sub => a.checked_sub(b),
        Binary::Mul => a.checked_mul(b),
        _ if b == 0 => return Err(value_error("division by zero")),
        Binary::Div => a.checked_div(b),
        _ => a.checked_rem(b),
    };
    result.and_then(Scalar::of_whole).map(Value::Scalar).ok_or_else(overflow)
}

fn floats(op: Binary, a: f64, b: f64) -> f64 {
    match op {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        Binary::Mod => a % b,
        _ => a.powf(b),
    }
}

/// The negative.
pub(super) fn negative(v: &Value) -> Res<Value> {
    Ok(match v {
        Value::Scalar(Scalar::Null) => Value::NULL,
        Value::Scalar(Scalar::Int(v)) => Value::int(v.checked_neg().ok_or_else(overflow)?),
        Value::Scalar(Scalar::UInt(v)) => {
            let back = 0_i64.checked_sub_unsigned(*v);
            Value::int(back.ok_or_else(overflow)?)
        }
        // Zero has no sign.
        Value::Scalar(Scalar::Float(v)) => Value::float(0.0 - v),
        Value::Duration(d) => {
            let back = d.negated();
            Value::Duration(Arc::new(back.ok_or_else(|| value_error("the duration is too long"))?))
        }
        other => return Err(type_error(format!("there is no negative of {}", other.kind()))),
    })
}

/// `base[index]`
pub(super) fn index(view: &GraphView, base: &Value, at: &Value) -> Res<Value> {
    let by_name = |get: &dyn Fn(&str) -> Value| match at {
        Value::Scalar(Scalar::Null) => Ok(Value::NULL),
        Value::Scalar(Scalar::Text(key)) => Ok(get(key)),
        other => Err(type_error(format!("a key must be a text, not {}", other.kind()))),
    };
    match base {
        Value::Scalar(Scalar::Null) => Ok(Value::NULL),
        Value::List(list) => match at {
            Value::Scalar(Scalar::Null) => Ok(Value::NULL),
            Value::Scalar(Scalar::Int(i)) => {
                Ok(position(*i, list.len()).and_then(|i| list.get(i)).cloned().unwrap_or_default())
            }
            other => Err(type_error(format!(
                "the index of a list must be an integer, not {}",
                other.kind()
            ))),
        },
        Value::Map(map) => by_name(&|key| entry(map, key).cloned().unwrap_or_default()),
        Value::Node(v) => by_name(&|key| match view.node_row(*v) {
            Some(row) => view.node_cells(key).map_or(Value::NULL, |c| c.value(row)),
            None => Value::NULL,
        }),
        Value::Edge(e) => {
            by_name(&|key| view.edge_cells(key).map_or(Value::NULL, |c| c.value(e.row)))
        }
        other => Err(type_error(format!("{} has no elements", other.kind()))),
    }
}

/// Where an index points; negative ones count from the end.
fn position(i: i64, len: usize) -> Option<usize> {
    let i = if i < 0 { i.checked_add(i64::try_from(len).ok()?)? } else { i };
    usize::try_from(i).ok()
}

/// `base[from..to]`; bounds beyond the ends are cut.
pub(super) fn slice(base: &Value, from: Option<&Value>, to: Option<&Value>) -> Res<Value> {
    let bound = |v: Option<&Value>, default: i64, len: usize| -> Res<Option<usize>> {
        let i = match v {
            None => default,
            Some(Value::Scalar(Scalar::Null)) => return Ok(None),
            Some(Value::Scalar(Scalar::Int(i))) => *i,
            Some(other) => {
                let what = format!("the bound of a slice must be an integer, not {}", other.kind());
                return Err(type_error(what));
            }
        };
        let length = i64::try_from(len).unwrap_or(i64::MAX);
        let i = if i < 0 { i.saturating_add(length) } else { i };
        Ok(usize::try_from(i.clamp(0, length)).ok())
    };
    let len = match base {
        Value::Scalar(Scalar::Null) => return Ok(Value::NULL),
        Value::List(list) => list.len(),
        Value::Scalar(Scalar::Text(text)) => text.chars().count(),
        other => return Err(type_error(format!("{} cannot be sliced", other.kind()))),
    };
    let (Some(from), Some(to)) = (bound(from, 0, len)?, bound(to, i64::MAX, len)?) else {
        return Ok(Value::NULL);
    };
    Ok(match base {
        Value::List(list) => Value::list(list.get(from..to).unwrap_or_default().to_vec()),
        Value::Scalar(Scalar::Text(text)) => {
            let count = to.saturating_sub(from);
            Value::text(text.chars().skip(from).take(count).collect::<String>())
        }
        _ => Value::NULL,
    })
}
