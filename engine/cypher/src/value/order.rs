//! Three relations: equality (unknown where null is involved), comparability of `<`, and the total
//! order of ORDER BY, whose equivalence also is that of DISTINCT and of grouping.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use graphlume_expr::{Mixed, Scalar};

use super::{Entries, Value, entry};

/// Whether two values are equal; `None` when that is unknown.
pub(crate) fn equal(a: &Value, b: &Value) -> Option<bool> {
    use Value as V;
    Some(match (a, b) {
        (V::Scalar(a), V::Scalar(b)) => return a.equal(b, Mixed::Exact),
        (V::Scalar(Scalar::Null), _) | (_, V::Scalar(Scalar::Null)) => return None,
        (V::Node(a), V::Node(b)) => a == b,
        (V::Edge(a), V::Edge(b)) => a.row == b.row,
        (V::Path(a), V::Path(b)) => a == b,
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

/// The order of `<`: `None` for values that are not comparable, or when the answer is unknown.
pub(crate) fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    use Value as V;
    match (a, b) {
        (V::Scalar(a), V::Scalar(b)) => a.compare(b, Mixed::Exact),
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

/// Where the kinds of scalars begin in the total order.
const SCALARS: u8 = 5;

/// Position of the kind of a value in the total order.
const fn rank(v: &Value) -> u8 {
    match v {
        Value::Map(_) => 0,
        Value::Node(_) => 1,
        Value::Edge(_) => 2,
        Value::List(_) => 3,
        Value::Path(_) => 4,
        Value::Scalar(scalar) => SCALARS + scalar.rank(),
        Value::Duration(_) => SCALARS + 6,
    }
}

/// The total order of ORDER BY, ascending.
pub(crate) fn order(a: &Value, b: &Value) -> Ordering {
    use Value as V;
    match (a, b) {
        (V::Scalar(a), V::Scalar(b)) => a.order(b),
        (V::Node(a), V::Node(b)) => a.cmp(b),
        (V::Edge(a), V::Edge(b)) => a.row.cmp(&b.row),
        (V::Path(a), V::Path(b)) => {
            let rows = |p: &super::Path| p.edges.iter().map(|e| e.row).collect::<Vec<_>>();
            a.nodes.cmp(&b.nodes).then_with(|| rows(a).cmp(&rows(b)))
        }
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
        Value::Scalar(scalar) => scalar.hash_into(state),
        Value::List(list) => list.iter().for_each(|v| hash(v, state)),
        // The order of entries does not count, so neither may it in the hash.
        Value::Map(map) => state.write_usize(map.len()),
        Value::Node(v) => v.hash(state),
        Value::Edge(e) => e.row.hash(state),
        Value::Path(p) => p.nodes.hash(state),
        Value::Duration(d) => d.months.hash(state),
    }
}
