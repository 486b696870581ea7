//! Three relations: equality (unknown where null is involved), comparability of `<`, and the total
//! order of ORDER BY, whose equivalence also is that of DISTINCT and of grouping.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::{Entries, Value, entry};

/// Whether two values are equal; `None` when that is unknown.
pub(crate) fn equal(a: &Value, b: &Value) -> Option<bool> {
    use Value as V;
    Some(match (a, b) {
        (V::Null, _) | (_, V::Null) => return None,
        (V::Int(a), V::Int(b)) => a == b,
        (V::Int(_) | V::Float(_), V::Int(_) | V::Float(_)) => {
            numbers(a, b) == Some(Ordering::Equal)
        }
        (V::Text(a), V::Text(b)) => a == b,
        (V::Bool(a), V::Bool(b)) => a == b,
        (V::Node(a), V::Node(b)) => a == b,
        (V::Edge(a), V::Edge(b)) => a.row == b.row,
        (V::Path(a), V::Path(b)) => a == b,
        (V::Temporal(a), V::Temporal(b)) => a.compare(b) == Some(Ordering::Equal),
        (V::Duration(a), V::Duration(b)) => a == b,
        (V::List(a), V::List(b)) => {
            if a.len() != b.len() {
                return Some(false);
            }
            return all(a.iter().zip(b.iter()).map(|(a, b)| equal(a, b)));
        }
        (V::Map(a), V::Map(b)) => return maps_equal(a, b),
        _ => false,
    })
}

fn maps_equal(a: &Entries, b: &Entries) -> Option<bool> {
    if a.len() != b.len() || a.iter().any(|(k, _)| entry(b, k).is_none()) {
        return Some(false);
    }
    all(a.iter().map(|(k, v)| entry(b, k).map_or(Some(false), |w| equal(v, w))))
}

/// False beats unknown beats true.
fn all(results: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut result = Some(true);
    for r in results {
        match r {
            Some(false) => return Some(false),
            None => result = None,
            Some(true) => {}
        }
    }
    result
}

/// The order of two numbers, exact also between large integers and floats; NaN has none.
fn numbers(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::Float(b)) => int_float(*a, *b),
        (Value::Float(a), Value::Int(b)) => int_float(*b, *a).map(Ordering::reverse),
        _ => None,
    }
}

fn int_float(a: i64, b: f64) -> Option<Ordering> {
    if b.is_nan() {
        return None;
    }
    // Both bounds are exact; 2^63 is one above the largest integer.
    if b >= 9_223_372_036_854_775_808.0 {
        return Some(Ordering::Less);
    }
    if b < -9_223_372_036_854_775_808.0 {
        return Some(Ordering::Greater);
    }
    let whole = b.trunc();
    Some(a.cmp(&(whole as i64)).then(0.0_f64.partial_cmp(&(b - whole)).unwrap_or(Ordering::Equal)))
}

/// The order of `<`: `None` for values that are not comparable, or when the answer is unknown.
pub(crate) fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    use Value as V;
    match (a, b) {
        (V::Int(_) | V::Float(_), V::Int(_) | V::Float(_)) => numbers(a, b),
        (V::Text(a), V::Text(b)) => Some(a.cmp(b)),
        (V::Bool(a), V::Bool(b)) => Some(a.cmp(b)),
        (V::Temporal(a), V::Temporal(b)) => a.compare(b),
        (V::List(a), V::List(b)) => {
            for (x, y) in a.iter().zip(b.iter()) {
                match compare(x, y)? {
                    Ordering::Equal => {}
                    other => return Some(other),
                }
            }
            Some(a.len().cmp(&b.len()))
        }
        _ => None,
    }
}

/// Position of the kind of a value in the total order.
const fn rank(v: &Value) -> u8 {
    match v {
        Value::Map(_) => 0,
        Value::Node(_) => 1,
        Value::Edge(_) => 2,
        Value::List(_) => 3,
        Value::Path(_) => 4,
        Value::Temporal(t) => 5 + t.rank(),
        Value::Duration(_) => 11,
        Value::Text(_) => 12,
        Value::Bool(_) => 13,
        Value::Int(_) | Value::Float(_) => 14,
        Value::Null => 15,
    }
}

/// The total order of ORDER BY, ascending.
pub(crate) fn order(a: &Value, b: &Value) -> Ordering {
    use Value as V;
    match (a, b) {
        (V::Int(a), V::Int(b)) => a.cmp(b),
        (V::Text(a), V::Text(b)) => a.cmp(b),
        (V::Int(_) | V::Float(_), V::Int(_) | V::Float(_)) => numbers(a, b).unwrap_or_else(|| {
            // NaN is above every other number.
            let nan = |v: &Value| matches!(v, V::Float(f) if f.is_nan());
            nan(a).cmp(&nan(b))
        }),
        (V::Bool(a), V::Bool(b)) => a.cmp(b),
        (V::Node(a), V::Node(b)) => a.cmp(b),
        (V::Edge(a), V::Edge(b)) => a.row.cmp(&b.row),
        (V::Path(a), V::Path(b)) => {
            let rows = |p: &super::Path| p.edges.iter().map(|e| e.row).collect::<Vec<_>>();
            a.nodes.cmp(&b.nodes).then_with(|| rows(a).cmp(&rows(b)))
        }
        (V::Temporal(a), V::Temporal(b)) => a.order(b),
        (V::Duration(a), V::Duration(b)) => a.order(b),
        (V::List(a), V::List(b)) => {
            let mut pairs = a.iter().zip(b.iter()).map(|(a, b)| order(a, b));
            pairs.find(|o| o.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (V::Map(a), V::Map(b)) => order_maps(a, b),
        _ => rank(a).cmp(&rank(b)),
    }
}

fn order_maps(a: &Entries, b: &Entries) -> Ordering {
    let sorted = |m: &Entries| {
        let mut m: Entries = m.clone();
        m.sort_by(|a, b| a.0.cmp(&b.0));
        m
    };
    let (a, b) = (sorted(a), sorted(b));
    let keys = a.iter().map(|(k, _)| k).cmp(b.iter().map(|(k, _)| k));
    let values = || a.iter().zip(&b).map(|(a, b)| order(&a.1, &b.1)).find(|o| o.is_ne());
    keys.then_with(|| values().unwrap_or(Ordering::Equal))
}

/// A value as a key of grouping: null is null, NaN is NaN, and 1 is 1.0.
#[derive(Clone, Debug)]
pub(crate) struct Key(pub Value);

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        order(&self.0, &other.0).is_eq()
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash(&self.0, state);
    }
}

fn hash<H: Hasher>(v: &Value, state: &mut H) {
    state.write_u8(rank(v));
    match v {
        Value::Null => {}
        Value::Bool(v) => v.hash(state),
        Value::Int(v) => v.hash(state),
        Value::Float(v) => {
            let whole = *v as i64;
            if int_float(whole, *v) == Some(Ordering::Equal) {
                whole.hash(state);
            } else if v.is_nan() {
                state.write_u8(1);
            } else {
                v.to_bits().hash(state);
            }
        }
        Value::Text(v) => v.hash(state),
        Value::List(list) => list.iter().for_each(|v| hash(v, state)),
        // The order of entries does not count, so neither may it in the hash.
        Value::Map(map) => state.write_usize(map.len()),
        Value::Node(v) => v.hash(state),
        Value::Edge(e) => e.row.hash(state),
        Value::Path(p) => p.nodes.hash(state),
        Value::Temporal(t) => t.hash_into(state),
        Value::Duration(d) => d.months.hash(state),
    }
}
