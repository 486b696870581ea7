//! Expressions over a row.

use std::sync::Arc;

use graphlume_expr::{Cmp, Scalar};
use graphlume_types::limits::{CYPHER_LIST_MAX, CYPHER_TEXT_BYTES_MAX, CYPHER_VALUE_DEPTH_MAX};

use super::comparison::compared;
use super::{Exec, Flow, Stop, arith};
use crate::ast::{Binary, Quantifier};
use crate::error::{Res, internal, limit_error, type_error};
use crate::plan::{Ex, MapItem, Op, Slot};
use crate::value::temporal::{component, duration_component};
use crate::value::{Entries, Shared, Value, entry};

pub(super) fn set(row: &mut [Value], slot: Slot, value: Value) {
    if let Some(cell) = row.get_mut(slot) {
        *cell = value;
    }
}

impl Exec<'_> {
    /// The value of an expression; one that grew beyond all bounds is refused.
    pub(super) fn eval(&self, e: &Ex, row: &mut [Value]) -> Res<Value> {
        let value = self.value_of(e, row)?;
        match &value {
            Value::List(_) | Value::Map(_) | Value::Scalar(Scalar::Text(_)) => bounded(value),
            _ => Ok(value),
        }
    }

    fn value_of(&self, e: &Ex, row: &mut [Value]) -> Res<Value> {
        Ok(match e {
            Ex::Const(v) => v.clone(),
            Ex::Slot(slot) => row.get(*slot).cloned().unwrap_or_default(),
            Ex::Param(i) => self.params.get(*i).cloned().unwrap_or_default(),
            Ex::Prop(base, key) => match base.as_ref() {
                Ex::Slot(slot) => {
                    return self.property(row.get(*slot).unwrap_or(&Value::NULL), *key);
                }
                base => {
                    let base = self.eval(base, row)?;
                    return self.property(&base, *key);
                }
            },
            Ex::HasLabels(..)
            | Ex::Not(_)
            | Ex::And(_)
            | Ex::Or(_)
            | Ex::Compare(..)
            | Ex::IsNull(..)
            | Ex::Quantified { .. }
            | Ex::Exists(_) => {
                return self.test(e, row).map(Value::from);
            }
            Ex::Binary(op, a, b) => match op {
                Binary::Add
                | Binary::Sub
                | Binary::Mul
                | Binary::Div
                | Binary::Mod
                | Binary::Pow => {
                    let (a, b) = (self.eval(a, row)?, self.eval(b, row)?);
                    return arith::binary(self.view, *op, &a, &b);
                }
                _ => return self.test(e, row).map(Value::from),
            },
            Ex::Neg(a) => return arith::negative(&self.eval(a, row)?),
            Ex::Plus(a) => match self.eval(a, row)? {
                v @ (Value::Scalar(
                    Scalar::Null | Scalar::Int(_) | Scalar::UInt(_) | Scalar::Float(_),
                )
                | Value::Duration(_)) => v,
                other => {
                    return Err(type_error(format!("+ has no meaning before {}", other.kind())));
                }
            },
            Ex::Index(base, at) => {
                let (base, at) = (self.eval(base, row)?, self.eval(at, row)?);
                return arith::index(self.view, &base, &at);
            }
            Ex::Slice(base, from, to) => {
                let base = self.eval(base, row)?;
                let from = self.eval_opt(from.as_deref(), row)?;
                let to = self.eval_opt(to.as_deref(), row)?;
                return arith::slice(&base, from.as_ref(), to.as_ref());
            }
            Ex::Case { subject, arms, otherwise } => {
                let subject = self.eval_opt(subject.as_deref(), row)?;
                for (when, then) in arms {
                    let hit = match &subject {
                        Some(v) => compared(Cmp::Eq, v, &self.eval(when, row)?)? == Some(true),
                        None => self.test(when, row)? == Some(true),
                    };
                    if hit {
                        return self.eval(then, row);
                    }
                }
                self.eval_opt(otherwise.as_deref(), row)?.unwrap_or_default()
            }
            Ex::List(list) => {
                let values: Res<Vec<Value>> = list.iter().map(|x| self.eval(x, row)).collect();
                Value::list(values?)
            }
            Ex::Map(entries) => {
                let mut map = Entries::with_capacity(entries.len());
                for (key, x) in entries {
                    map.push((Arc::clone(key), self.eval(x, row)?));
                }
                Value::map(map)
            }
            Ex::MapProjection(base, items) => return self.map_projection(base, items, row),
            Ex::ListComp { slot, list, filter, body } => {
                let Some(list) = self.list(list, row)? else { return Ok(Value::NULL) };
                let mut out = Vec::new();
                for item in list.iter() {
                    self.tick()?;
                    set(row, *slot, item.clone());
                    if let Some(filter) = filter
                        && self.test(filter, row)? != Some(true)
                    {
                        continue;
                    }
                    out.push(match body {
                        Some(body) => self.eval(body, row)?,
                        None => item.clone(),
                    });
                }
                Value::list(out)
            }
            Ex::Reduce { acc, init, slot, list, body } => {
                let init = self.eval(init, row)?;
                let Some(list) = self.list(list, row)? else { return Ok(Value::NULL) };
                set(row, *acc, init);
                for item in list.iter() {
                    self.tick()?;
                    set(row, *slot, item.clone());
                    let next = self.eval(body, row)?;
                    set(row, *acc, next);
                }
                row.get(*acc).cloned().unwrap_or_default()
            }
            Ex::Collect(op, body) => {
                let mut out = Vec::new();
                self.each(op, row, |row| {
                    out.push(self.eval(body, row)?);
                    // The list goes again with its row, so it is not summed up.
                    self.hold(out.len(), 0)?;
                    Ok(())
                })?;
                Value::list(out)
            }
            Ex::First(op, slot) => {
                let mut found = Value::NULL;
                self.each(op, row, |row| {
                    found = row.get(*slot).cloned().unwrap_or_default();
                    Err(Stop::Done)
                })?;
                found
            }
            Ex::Call(function, args) => match args.as_slice() {
                [a] => {
                    let a = [self.eval(a, row)?];
                    return (function.run)(self.view, &a);
                }
                args => {
                    let args: Res<Vec<Value>> = args.iter().map(|x| self.eval(x, row)).collect();
                    return (function.run)(self.view, &args?);
                }
            },
        })
    }

    fn eval_opt(&self, e: Option<&Ex>, row: &mut [Value]) -> Res<Option<Value>> {
        e.map(|e| self.eval(e, row)).transpose()
    }

    /// Runs a subplan on the row; an early end is its own.
    fn each(&self, op: &Op, row: &mut [Value], mut f: impl FnMut(&mut [Value]) -> Flow) -> Res<()> {
        match self.run(op, row, &mut f) {
            Ok(()) | Err(Stop::Done) => Ok(()),
            Err(Stop::Failed(e)) => Err(e),
        }
    }

    /// The list that an expression gives; `None` when it is null.
    fn list(&self, e: &Ex, row: &mut [Value]) -> Res<Option<Arc<Shared<Vec<Value>>>>> {
        match self.eval(e, row)? {
            Value::Scalar(Scalar::Null) => Ok(None),
            Value::List(list) => Ok(Some(list)),
            other => Err(type_error(format!("a list is needed, not {}", other.kind()))),
        }
    }

    /// A property of a value, by the number of its name.
    pub(super) fn property(&self, base: &Value, key: usize) -> Res<Value> {
        let Some(key) = self.keys.get(key) else { return Err(internal("a key got lost")) };
        Ok(match base {
            Value::Scalar(Scalar::Null) => Value::NULL,
            Value::Node(v) => match &key.node {
                Some(cells) => match self.view.node_row(*v) {
                    Some(row) => cells.value(row),
                    None if self.view.is_id(&key.name) => self.view.node_id(*v),
                    None => Value::NULL,
                },
                None if key.bare_id => self.view.node_id(*v),
                None => Value::NULL,
            },
            Value::Edge(e) => key.edge.as_ref().map_or(Value::NULL, |c| c.value(e.row)),
            Value::Map(map) => entry(map, &key.name).cloned().unwrap_or_default(),
            Value::Scalar(Scalar::Temporal(t)) => component(t, &key.name).ok_or_else(|| {
                type_error(format!("{} has no component {:?}", t.kind(), key.name))
            })?,
            Value::Duration(d) => duration_component(d, &key.name)
                .ok_or_else(|| type_error(format!("a duration has no component {:?}", key.name)))?,
            other => {
                let what = format!("{} has no properties such as {:?}", other.kind(), key.name);
                return Err(type_error(what));
            }
        })
    }

    fn map_projection(&self, base: &Ex, items: &[MapItem], row: &mut [Value]) -> Res<Value> {
        let base = self.eval(base, row)?;
        if base.is_null() {
            return Ok(Value::NULL);
        }
        let mut map = Entries::new();
        let put = |map: &mut Entries, key: Arc<str>, value: Value| match map
            .iter_mut()
            .find(|(k, _)| *k == key)
        {
            Some((_, old)) => *old = value,
            None => map.push((key, value)),
        };
        for item in items {
            match item {
                MapItem::All => {
                    let all = match &base {
                        Value::Node(v) => self.view.node_properties(*v),
                        Value::Edge(e) => self.view.edge_properties(e.row),
                        Value::Map(m) => m.to_vec(),
                        other => {
                            let what = format!("{} has no properties", other.kind());
                            return Err(type_error(what));
                        }
                    };
                    all.into_iter().for_each(|(k, v)| put(&mut map, k, v));
                }
                MapItem::Entry(key, x) => {
                    let value = self.eval(x, row)?;
                    put(&mut map, Arc::clone(key), value);
                }
            }
        }
        Ok(Value::map(map))
    }

    /// The truth of an expression; `None` when it is unknown.
    pub(super) fn test(&self, e: &Ex, row: &mut [Value]) -> Res<Option<bool>> {
        Ok(match e {
            Ex::Not(a) => self.test(a, row)?.map(|v| !v),
            Ex::And(list) => {
                let mut result = Some(true);
                for x in list {
                    match self.test(x, row)? {
                        Some(false) => return Ok(Some(false)),
                        None => result = None,
                        Some(true) => {}
                    }
                }
                result
            }
            Ex::Or(list) => {
                let mut result = Some(false);
                for x in list {
                    match self.test(x, row)? {
                        Some(true) => return Ok(Some(true)),
                        None => result = None,
                        Some(false) => {}
                    }
                }
                result
            }
            Ex::Compare(first, rest) => return self.comparison(first, rest, row),
            Ex::Binary(op, a, b) => return self.relation(e, *op, a, b, row),
            Ex::IsNull(a, negated) => Some(self.eval(a, row)?.is_null() != *negated),
            Ex::HasLabels(base, labels) => match self.eval(base, row)? {
                Value::Scalar(Scalar::Null) => None,
                Value::Node(v) => Some(self.has_labels(v, labels)),
                Value::Edge(e) => {
                    let test = self.edge_labels(labels);
                    Some(test.is_some_and(|t| t.holds(e.row)))
                }
                other => return Err(type_error(format!("{} has no labels", other.kind()))),
            },
            Ex::Quantified { kind, slot, list, filter } => {
                let Some(list) = self.list(list, row)? else { return Ok(None) };
                return self.quantified(*kind, *slot, &list, filter.as_deref(), row);
            }
            Ex::Exists(op) => {
                let mut found = false;
                self.each(op, row, |_| {
                    found = true;
                    Err(Stop::Done)
                })?;
                Some(found)
            }
            other => match self.eval(other, row)? {
                Value::Scalar(Scalar::Bool(v)) => Some(v),
                Value::Scalar(Scalar::Null) => None,
                other => {
                    return Err(type_error(format!(
                        "a truth value is needed, not {}",
                        other.kind()
                    )));
                }
            },
        })
    }

    /// On a relationship `r:T` asks for its type.
    fn edge_labels(&self, labels: &[usize]) -> Option<crate::graph_view::TypeTest> {
        let [label] = labels else { return None };
        self.view.type_test(vec![self.labels.get(*label)?.name().to_owned()])
    }

    fn quantified(
        &self,
        kind: Quantifier,
        slot: Slot,
        list: &[Value],
        filter: Option<&Ex>,
        row: &mut [Value],
    ) -> Res<Option<bool>> {
        let (mut hits, mut unknown) = (0usize, false);
        for item in list {
            self.tick()?;
            set(row, slot, item.clone());
            let held = match filter {
                Some(filter) => self.test(filter, row)?,
                None => match item {
                    Value::Scalar(Scalar::Bool(v)) => Some(*v),
                    Value::Scalar(Scalar::Null) => None,
                    _ => return Err(type_error("a quantifier without WHERE needs truth values")),
                },
            };
            match (kind, held) {
                (Quantifier::Any, Some(true)) => return Ok(Some(true)),
                (Quantifier::All, Some(false)) | (Quantifier::None, Some(true)) => {
                    return Ok(Some(false));
                }
                (_, Some(true)) => hits += 1,
                (_, None) => unknown = true,
                _ => {}
            }
        }
        Ok(match kind {
            Quantifier::Single if hits > 1 => Some(false),
            _ if unknown => None,
            Quantifier::Any => Some(false),
            Quantifier::All | Quantifier::None => Some(true),
            Quantifier::Single => Some(hits == 1),
        })
    }
}

/// Refuses a value that is too large.
pub(super) fn bounded(value: Value) -> Res<Value> {
    let size = value.size();
    if let Value::Scalar(Scalar::Text(text)) = &value
        && text.len() > CYPHER_TEXT_BYTES_MAX
    {
        let what = format!("a text may have {CYPHER_TEXT_BYTES_MAX} bytes");
        return Err(limit_error(what));
    }
    if size.weight > CYPHER_LIST_MAX as u64 + 1 {
        return Err(limit_error(format!("a list may have {CYPHER_LIST_MAX} elements in all")));
    }
    if size.depth > CYPHER_VALUE_DEPTH_MAX {
        let what = format!("lists and maps may be {CYPHER_VALUE_DEPTH_MAX} levels deep");
        return Err(limit_error(what));
    }
    Ok(value)
}
