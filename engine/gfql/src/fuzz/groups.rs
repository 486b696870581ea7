//! Orders, keys and groups of the rows of a table.

use super::data::{Rows, V};
use super::expr::{E, column, order};
use super::slow::No;

/// Null is the largest value.
pub(super) fn sort(a: &V, b: &V) -> std::cmp::Ordering {
    let rank = |v: &V| match v {
        V::List(_) => 0,
        V::Time(_) => 1,
        V::Text(_) => 2,
        V::Bool(_) => 3,
        V::Int(_) | V::Float(_) => 4,
        V::Null => 5,
    };
    order(a, b).unwrap_or_else(|| rank(a).cmp(&rank(b)))
}

pub(super) fn keys(t: &Rows, names: &[String]) -> Result<Vec<Vec<V>>, No> {
    let mut keys = vec![vec![]; t.cells.len()];
    for name in names {
        let values = E::Name(name.clone()).values(t, false, false)?;
        keys.iter_mut().zip(values).for_each(|(key, v)| key.push(v));
    }
    Ok(keys)
}

pub(super) fn alike(a: &[V], b: &[V]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.same(b))
}

pub(super) fn group(
    t: &Rows,
    names: &[String],
    list: &[(String, &'static str, Option<E>)],
    strict: bool,
) -> Result<Rows, No> {
    if names.iter().any(|n| t.place(n).is_none()) {
        return Err(No::Slug("column-not-found"));
    }
    let keys = keys(t, names)?;
    let mut groups: Vec<Vec<usize>> = vec![];
    for row in 0..t.cells.len() {
        match groups.iter_mut().find(|g| alike(&keys[g[0]], &keys[row])) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    let firsts = t.picked(&groups.iter().map(|g| g[0]).collect::<Vec<_>>());
    let mut out = Rows { heads: vec![], cells: vec![vec![]; groups.len()] };
    for head in t.heads.iter().filter(|h| names.contains(&h.name)) {
        out.put(&head.name, head.kind, firsts.column(&head.name).unwrap());
    }
    for (name, function, e) in list {
        let cells = e.as_ref().map(|e| e.values(t, false, strict)).transpose()?;
        let one = |rows: &Vec<usize>| match &cells {
            None => Ok(V::Int(rows.len() as i64)),
            Some(cells) => aggregate(function, rows.iter().map(|r| &cells[*r])),
        };
        let found: Result<Vec<V>, No> = groups.iter().map(one).collect();
        let (kind, found) = column(found?)?;
        out.put(name, kind, found);
    }
    Ok(out)
}

fn aggregate<'a>(function: &str, cells: impl Iterator<Item = &'a V>) -> Result<V, No> {
    let mut cells: Vec<&V> = cells.filter(|v| !v.is_null()).collect();
    if function.ends_with("_distinct") {
        let mut seen: Vec<&V> = vec![];
        cells.retain(|v| {
            let new = !seen.iter().any(|s| s.same(v));
            seen.push(v);
            new
        });
    }
    let least = |reverse: bool| {
        let mut best: Option<&V> = None;
        for v in &cells {
            let found = best.map(|b| if reverse { sort(b, v) } else { sort(v, b) });
            // Of equals the first is the least, and the last the greatest.
            if found.is_none_or(|f| f.is_lt() || reverse && f.is_eq()) {
                best = Some(v);
            }
        }
        best.cloned().unwrap_or(V::Null)
    };
    Ok(match function {
        "count" | "count_distinct" => V::Int(cells.len() as i64),
        "collect" | "collect_distinct" => V::List(cells.into_iter().cloned().collect()),
        "min" => least(false),
        "max" => least(true),
        _ => {
            let mut whole = Some(0);
            let mut sum = 0.0;
            for v in &cells {
                match v {
                    V::Bool(v) => {
                        sum += f64::from(u8::from(*v));
                        whole = whole.map(|w| w + i64::from(*v));
                    }
                    V::Int(v) => {
                        sum += *v as f64;
                        whole = whole.map(|w| w + v);
                    }
                    V::Float(v) => {
                        sum += v;
                        whole = None;
                    }
                    _ => return Err(No::Slug("incompatible-column-type")),
                }
            }
            match (function, whole) {
                ("sum", Some(whole)) => V::Int(whole),
                ("sum", None) => V::Float(sum),
                _ if cells.is_empty() => V::Null,
                _ => V::Float(sum / cells.len() as f64),
            }
        }
    })
}
