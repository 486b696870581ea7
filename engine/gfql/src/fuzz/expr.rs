//! Expressions as trees: their text for the query, and their value by plain recursion.

use std::cmp::Ordering;

use super::data::{Kind, Rows, V};
use super::draw::Draw;
use super::slow::No;

/// An expression.
#[derive(Clone, Debug)]
pub(super) enum E {
    Lit(V),
    Name(String),
    Not(Box<E>),
    Negative(Box<E>),
    /// Is null, or is not null.
    Null(Box<E>, bool),
    Two(&'static str, Box<E>, Box<E>),
    In(Box<E>, Vec<V>),
    Coalesce(Vec<E>),
    Case(Box<E>, Box<E>, Box<E>),
    Call(&'static str, Box<E>),
}

fn literal(v: &V) -> String {
    match v {
        V::Null | V::Time(_) => "null".into(),
        V::Bool(v) => v.to_string(),
        V::Int(v) => v.to_string(),
        V::Float(v) => format!("{v:?}"),
        V::Text(v) => format!("'{v}'"),
        V::List(items) => {
            format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", "))
        }
    }
}

impl E {
    pub(super) fn text(&self) -> String {
        match self {
            // A sign binds looser than a bracket.
            Self::Lit(v) if v.number().is_some_and(|v| v < 0.0) => format!("({})", literal(v)),
            Self::Lit(v) => literal(v),
            Self::Name(name) => name.clone(),
            Self::Not(a) => format!("(NOT {})", a.text()),
            Self::Negative(a) => format!("(-{})", a.text()),
            Self::Null(a, true) => format!("({} IS NULL)", a.text()),
            Self::Null(a, false) => format!("({} IS NOT NULL)", a.text()),
            Self::Two(op, a, b) => format!("({} {op} {})", a.text(), b.text()),
            Self::In(a, list) => format!("({} IN {})", a.text(), literal(&V::List(list.clone()))),
            Self::Coalesce(list) => {
                format!("coalesce({})", list.iter().map(Self::text).collect::<Vec<_>>().join(", "))
            }
            Self::Case(a, b, c) => {
                format!("CASE WHEN {} THEN {} ELSE {} END", a.text(), b.text(), c.text())
            }
            Self::Call(name, a) => format!("{name}({})", a.text()),
        }
    }

    pub(super) fn names<'e>(&'e self, into: &mut Vec<&'e str>) {
        match self {
            Self::Lit(_) => {}
            Self::Name(name) => into.push(name),
            Self::Not(a)
            | Self::Negative(a)
            | Self::Null(a, _)
            | Self::Call(_, a)
            | Self::In(a, _) => a.names(into),
            Self::Two(_, a, b) => [a, b].iter().for_each(|e| e.names(into)),
            Self::Case(a, b, c) => [a, b, c].iter().for_each(|e| e.names(into)),
            Self::Coalesce(list) => list.iter().for_each(|e| e.names(into)),
        }
    }

    /// The values in all rows; absent columns are null, or refused.
    pub(super) fn values(&self, rows: &Rows, frame: bool, strict: bool) -> Result<Vec<V>, No> {
        let mut names = vec![];
        self.names(&mut names);
        if strict && names.iter().any(|n| source(rows, n).is_none()) {
            return Err(No::Slug("column-not-found"));
        }
        (0..rows.cells.len()).map(|row| self.value(rows, row, frame)).collect()
    }

    fn value(&self, rows: &Rows, row: usize, frame: bool) -> Result<V, No> {
        let at = |e: &Self| e.value(rows, row, frame);
        Ok(match self {
            Self::Lit(v) => v.clone(),
            Self::Name(name) => match source(rows, name) {
                None => V::Null,
                Some((None, at)) => rows.cells[row][at].clone(),
                Some((Some(marker), at)) if rows.cells[row][marker] == V::Bool(true) => {
                    rows.cells[row][at].clone()
                }
                Some(_) => V::Null,
            },
            Self::Not(a) => match truth(at(a)?)? {
                Some(v) => V::Bool(!v),
                None => V::Null,
            },
            Self::Negative(a) => match at(a)? {
                V::Int(v) => V::Int(-v),
                V::Float(v) => V::Float(-v),
                V::Null => V::Null,
                _ => return Err(WRONG),
            },
            Self::Null(a, wanted) => V::Bool(at(a)?.is_null() == *wanted),
            Self::Two(op, a, b) => two(op, at(a)?, at(b)?, frame)?,
            Self::In(a, list) => {
                let a = at(a)?;
                for item in list {
                    no_time(&a, item)?;
                }
                if list.iter().any(|v| order(v, &a) == Some(Ordering::Equal)) {
                    V::Bool(true)
                } else if !list.is_empty() && (a.is_null() || list.contains(&V::Null)) {
                    V::Null
                } else {
                    V::Bool(false)
                }
            }
            Self::Coalesce(list) => {
                for e in list {
                    let v = at(e)?;
                    if !v.is_null() {
                        return Ok(v);
                    }
                }
                V::Null
            }
            Self::Case(a, b, c) => match at(a)? {
                V::Bool(true) => at(b)?,
                _ => at(c)?,
            },
            Self::Call(name, a) => call(name, at(a)?)?,
        })
    }
}

/// What is refused because of a value's type.
const WRONG: No = No::Slug("incompatible-column-type");

/// The column of a name, and the marker that must be true for a property of a step.
fn source(rows: &Rows, name: &str) -> Option<(Option<usize>, usize)> {
    if let Some(at) = rows.place(name) {
        return Some((None, at));
    }
    let (alias, property) = name.split_once('.')?;
    let marker = rows.place(alias).filter(|at| rows.heads[*at].kind == Kind::Bool)?;
    Some((Some(marker), rows.place(property)?))
}

fn truth(v: V) -> Result<Option<bool>, No> {
    match v {
        V::Bool(v) => Ok(Some(v)),
        V::Null => Ok(None),
        _ => Err(WRONG),
    }
}

/// The order of two values of one kind.
pub(super) fn order(a: &V, b: &V) -> Option<Ordering> {
    match (a, b) {
        (V::Int(a), V::Int(b)) | (V::Time(a), V::Time(b)) => Some(a.cmp(b)),
        (V::Bool(a), V::Bool(b)) => Some(a.cmp(b)),
        (V::Text(a), V::Text(b)) => Some(a.cmp(b)),
        (V::List(a), V::List(b)) => {
            for (a, b) in a.iter().zip(b) {
                let found = order(a, b)?;
                if found.is_ne() {
                    return Some(found);
                }
            }
            Some(a.len().cmp(&b.len()))
        }
        _ => a.number()?.partial_cmp(&b.number()?),
    }
}

/// Refuses a time beside a text: no text here says a time.
fn no_time(a: &V, b: &V) -> Result<(), No> {
    match (a, b) {
        (V::Time(_), V::Text(_)) | (V::Text(_), V::Time(_)) => Err(WRONG),
        _ => Ok(()),
    }
}

fn two(op: &str, a: V, b: V, frame: bool) -> Result<V, No> {
    let known = |v: Option<bool>| v.map_or(V::Null, V::Bool);
    if matches!(op, "AND" | "OR" | "XOR") {
        let (a, b) = (truth(a)?, truth(b)?);
        return Ok(known(match (op, a, b) {
            ("AND", Some(false), _) | ("AND", _, Some(false)) => Some(false),
            ("OR", Some(true), _) | ("OR", _, Some(true)) => Some(true),
            (_, None, _) | (_, _, None) => None,
            ("AND", Some(a), Some(b)) => Some(a && b),
            ("OR", Some(a), Some(b)) => Some(a || b),
            (_, Some(a), Some(b)) => Some(a != b),
        }));
    }
    if matches!(op, "=" | "<>" | "<" | "<=" | ">" | ">=" | "==" | "!=") {
        if a.is_null() || b.is_null() {
            return Ok(if frame { V::Bool(op == "!=" || op == "<>") } else { V::Null });
        }
        no_time(&a, &b)?;
        let Some(found) = order(&a, &b) else {
            return Ok(match op {
                "=" | "==" => V::Bool(false),
                "<>" | "!=" => V::Bool(true),
                _ if frame => V::Bool(false),
                _ => V::Null,
            });
        };
        return Ok(V::Bool(match op {
            "=" | "==" => found.is_eq(),
            "<>" | "!=" => found.is_ne(),
            "<" => found.is_lt(),
            "<=" => found.is_le(),
            ">" => found.is_gt(),
            _ => found.is_ge(),
        }));
    }
    if matches!(op, "CONTAINS" | "STARTS WITH" | "ENDS WITH") {
        let (V::Text(a), V::Text(b)) = (a, b) else { return Ok(V::Null) };
        return Ok(V::Bool(match op {
            "CONTAINS" => a.contains(&b),
            "STARTS WITH" => a.starts_with(&b),
            _ => a.ends_with(&b),
        }));
    }
    match (a, b) {
        (V::List(mut a), V::List(b)) if op == "+" => {
            a.extend(b);
            Ok(V::List(a))
        }
        (V::Null, _) | (_, V::Null) => Ok(V::Null),
        (V::List(mut a), b) if op == "+" => {
            a.push(b);
            Ok(V::List(a))
        }
        (a, V::List(mut b)) if op == "+" => {
            b.insert(0, a);
            Ok(V::List(b))
        }
        (V::Text(a), V::Text(b)) if op == "+" => Ok(V::Text(a + &b)),
        (V::Int(_), V::Int(0)) if matches!(op, "/" | "%") => {
            Err(No::Slug("invalid-predicate-value"))
        }
        (V::Int(a), V::Int(b)) => Ok(V::Int(match op {
            "+" => a + b,
            "-" => a - b,
            "*" => a * b,
            "/" => a / b,
            _ => a % b,
        })),
        (a, b) => {
            let (Some(x), Some(y)) = (a.number(), b.number()) else { return Err(WRONG) };
            let v = match op {
                "+" => x + y,
                "-" => x - y,
                "*" => x * y,
                "/" => x / y,
                _ => x % y,
            };
            // What is no number is null once it is in a column, and not before.
            if v.is_finite() { Ok(V::Float(v)) } else { Err(No::Any) }
        }
    }
}

fn call(name: &str, v: V) -> Result<V, No> {
    Ok(match (name, v) {
        (_, V::Null) => V::Null,
        ("size", V::Text(t)) => V::Int(t.chars().count() as i64),
        ("size", V::List(items)) => V::Int(items.len() as i64),
        ("abs", V::Int(v)) => V::Int(v.abs()),
        ("abs", V::Float(v)) => V::Float(v.abs()),
        ("toUpper", V::Text(t)) => V::Text(t.to_uppercase()),
        ("toLower", V::Text(t)) => V::Text(t.to_lowercase()),
        ("reverse", V::Text(t)) => V::Text(t.chars().rev().collect()),
        ("reverse", V::List(items)) => V::List(items.into_iter().rev().collect()),
        ("toString", V::List(_)) => return Err(WRONG),
        ("toString", V::Time(_)) => return Err(No::Any),
        ("toString", v) => V::Text(text(&v)?),
        ("sign", v) => match v.number() {
            Some(v) => V::Int(i64::from(v > 0.0) - i64::from(v < 0.0)),
            None => return Err(WRONG),
        },
        _ => return Err(WRONG),
    })
}

/// A value as text.
pub(super) fn text(v: &V) -> Result<String, No> {
    Ok(match v {
        V::Null => String::new(),
        V::Bool(v) => v.to_string(),
        V::Int(v) => v.to_string(),
        V::Float(v) if v.fract() == 0.0 => format!("{v:.1}"),
        V::Float(v) => v.to_string(),
        V::Text(v) => v.clone(),
        V::Time(_) | V::List(_) => return Err(No::Any),
    })
}

/// A column of the plainest kind that holds all values; mixed kinds become text.
pub(super) fn column(values: Vec<V>) -> Result<(Kind, Vec<V>), No> {
    let all = |test: fn(&V) -> bool| values.iter().all(|v| v.is_null() || test(v));
    let kind = if all(|_| false) {
        Kind::Null
    } else if all(|v| matches!(v, V::Bool(_))) {
        Kind::Bool
    } else if all(|v| matches!(v, V::Int(_))) {
        Kind::Int
    } else if all(|v| v.number().is_some()) {
        let floats = values.iter().map(|v| v.number().map_or(V::Null, V::Float));
        return Ok((Kind::Float, floats.collect()));
    } else if all(|v| matches!(v, V::Time(_))) {
        Kind::Time
    } else if all(|v| matches!(v, V::List(_))) {
        // The items of all lists are one column.
        let items: Vec<V> = values
            .iter()
            .flat_map(|v| match v {
                V::List(items) => items.clone(),
                _ => vec![],
            })
            .collect();
        let mut items = column(items)?.1.into_iter();
        let lists = values.iter().map(|v| match v {
            V::List(list) => V::List(items.by_ref().take(list.len()).collect()),
            _ => V::Null,
        });
        return Ok((Kind::List, lists.collect()));
    } else {
        let texts: Result<Vec<V>, No> = values
            .iter()
            .map(|v| Ok(if v.is_null() { V::Null } else { V::Text(text(v)?) }))
            .collect();
        return Ok((Kind::Text, texts?));
    };
    Ok((kind, values))
}

fn leaf(d: &mut Draw, names: &[(&str, Kind)], kind: Kind) -> E {
    let fits: Vec<&(&str, Kind)> = names.iter().filter(|(_, k)| *k == kind).collect();
    if !fits.is_empty() && d.chance(65) {
        return E::Name(d.pick(&fits).0.to_owned());
    }
    E::Lit(match kind {
        Kind::Time | Kind::List | Kind::Null => V::Null,
        kind => super::data::drawn(d, "", kind),
    })
}

/// A number.
fn number(d: &mut Draw, names: &[(&str, Kind)], depth: usize) -> E {
    let kind = *d.pick(&[Kind::Int, Kind::Int, Kind::Float]);
    if depth == 0 || d.chance(50) {
        return leaf(d, names, kind);
    }
    match d.below(6) {
        0..=2 => {
            let op = d.word(&["+", "-", "*", "/", "%"]);
            E::Two(op, Box::new(number(d, names, depth - 1)), Box::new(number(d, names, depth - 1)))
        }
        3 => E::Negative(Box::new(number(d, names, depth - 1))),
        4 => E::Call(d.word(&["abs", "sign"]), Box::new(number(d, names, depth - 1))),
        _ => E::Call("size", Box::new(leaf(d, names, Kind::Text))),
    }
}

/// Something that is true or false or null.
pub(super) fn condition(d: &mut Draw, names: &[(&str, Kind)], depth: usize) -> E {
    let compare = ["=", "<>", "<", "<=", ">", ">="];
    match d.below(if depth == 0 { 6 } else { 9 }) {
        0 | 1 => {
            let (a, b) = (number(d, names, depth), number(d, names, depth));
            E::Two(d.word(&compare), Box::new(a), Box::new(b))
        }
        2 => {
            let kind = *d.pick(&[Kind::Text, Kind::Bool, Kind::Time, Kind::Int]);
            let (a, b) = (leaf(d, names, kind), leaf(d, names, kind));
            E::Two(d.word(&compare), Box::new(a), Box::new(b))
        }
        3 => {
            let kind = *d.pick(&[Kind::Text, Kind::Bool, Kind::Time, Kind::Int, Kind::Float]);
            E::Null(Box::new(leaf(d, names, kind)), d.chance(50))
        }
        4 => {
            let kind = *d.pick(&[Kind::Text, Kind::Int]);
            let list = d.list(3, |d| super::data::drawn(d, "", kind));
            E::In(Box::new(leaf(d, names, kind)), list)
        }
        5 => {
            let op = d.word(&["CONTAINS", "STARTS WITH", "ENDS WITH"]);
            let end = E::Lit(V::text(d.word(&["a", "b", "ab", ""])));
            E::Two(op, Box::new(leaf(d, names, Kind::Text)), Box::new(end))
        }
        6 => E::Not(Box::new(condition(d, names, depth - 1))),
        _ => {
            let op = d.word(&["AND", "OR", "XOR"]);
            let (a, b) = (condition(d, names, depth - 1), condition(d, names, depth - 1));
            E::Two(op, Box::new(a), Box::new(b))
        }
    }
}

/// Any value.
pub(super) fn any(d: &mut Draw, names: &[(&str, Kind)], depth: usize) -> E {
    match d.below(9) {
        0..=2 => number(d, names, depth),
        3 => condition(d, names, depth),
        4 => E::Coalesce(vec![number(d, names, 0), number(d, names, 0)]),
        5 => E::Case(
            Box::new(condition(d, names, 1)),
            Box::new(number(d, names, 1)),
            Box::new(number(d, names, 1)),
        ),
        6 => {
            let name = d.word(&["toUpper", "toLower", "reverse", "toString"]);
            E::Call(name, Box::new(leaf(d, names, Kind::Text)))
        }
        7 => {
            E::Two("+", Box::new(leaf(d, names, Kind::Text)), Box::new(leaf(d, names, Kind::Text)))
        }
        _ => {
            let kind = *d.pick(&[Kind::Text, Kind::Bool, Kind::Time, Kind::List, Kind::Float]);
            leaf(d, names, kind)
        }
    }
}
