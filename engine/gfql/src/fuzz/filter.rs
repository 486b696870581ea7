//! Filters of rows, test by test and cell by cell.

use std::cmp::Ordering;

use regex::Regex;

use super::data::{Kind, Rows, TIMES, V};
use super::query::{Filter, Lit, P};
use super::slow::No;

/// Which rows pass a filter. `nodes` says whose rows they are.
pub(super) fn passing(
    rows: &Rows,
    filter: &Filter,
    nodes: bool,
    strict: bool,
) -> Result<Vec<bool>, No> {
    let mut passing = vec![true; rows.cells.len()];
    for (key, test) in filter {
        let Some((column, test)) = meant(rows, key, test, nodes) else {
            if strict {
                return Err(No::Slug("column-not-found"));
            }
            // A column that is not there is null in every row.
            if !matches!(test, P::Null(_, true)) {
                passing.fill(false);
            }
            continue;
        };
        let at = rows.place(&column).unwrap();
        let kind = rows.heads[at].kind;
        let cells: Vec<V> = rows.cells.iter().map(|row| row[at].clone()).collect();
        if let (Kind::List, P::Same(V::Text(label))) = (kind, &test) {
            for (pass, cell) in passing.iter_mut().zip(&cells) {
                *pass &= matches!(cell, V::List(list) if list.contains(&V::text(label)));
            }
            continue;
        }
        if kind == Kind::List {
            return Err(No::Any);
        }
        let test = gate(kind, test, !cells.is_empty())?;
        for (row, passing) in passing.iter_mut().enumerate() {
            *passing = *passing && holds(&test, &cells, row, kind);
        }
    }
    Ok(passing)
}

/// The column and the test that a key means: labels are found in columns of three kinds.
fn meant(rows: &Rows, key: &str, test: &P, nodes: bool) -> Option<(String, P)> {
    let has = |name: &str| rows.place(name).is_some();
    if has(key) {
        return Some((key.to_owned(), test.clone()));
    }
    match test {
        P::Same(V::Bool(true)) => {
            let label = key.strip_prefix("label__")?;
            let name = if has("labels") {
                "labels"
            } else if has("type") && nodes {
                "type"
            } else {
                return None;
            };
            Some((name.to_owned(), P::Same(V::text(label))))
        }
        P::Same(V::Text(label)) if key == "type" || key == "labels" => {
            let name = format!("label__{label}");
            if has(&name) { Some((name, P::Same(V::Bool(true)))) } else { None }
        }
        _ => None,
    }
}

/// Tests that can mean nothing on a column of this kind are refused; a table without rows has no kinds.
fn gate(kind: Kind, test: P, rows: bool) -> Result<P, No> {
    let number = |l: &Lit| matches!(l, Lit::V(V::Int(_) | V::Float(_)));
    let refused = match &test {
        _ if !rows => false,
        // A moment is written as a text; another text says none.
        P::Same(V::Time(_)) if kind == Kind::Time => false,
        test if kind == Kind::Time && has_text(test) => true,
        P::Same(V::Text(_) | V::Time(_)) => kind.is_numeric(),
        P::Same(V::Int(_) | V::Float(_)) => kind.is_text() || kind == Kind::Time,
        P::Compare(_, v) if number(v) => kind == Kind::Time,
        P::Between(low, ..) => {
            matches!(low, Lit::V(V::Int(_) | V::Float(_) | V::Bool(_))) && !kind.is_numeric()
        }
        P::Text(..) | P::Class(_) => !kind.is_text(),
        P::Calendar(_) => kind != Kind::Time && kind != Kind::Null,
        _ => false,
    };
    if refused { Err(No::Slug("incompatible-column-type")) } else { Ok(test) }
}

/// Whether a value or an option is a text that says no moment.
fn has_text(test: &P) -> bool {
    let text = |v: &Lit| matches!(v, Lit::V(V::Text(_)));
    match test {
        P::Same(V::Text(_)) => true,
        P::Compare(_, v) => text(v),
        P::Member(list) => list.iter().any(|v| matches!(v, V::Text(_))),
        P::IsIn(list) => list.iter().any(text),
        P::All(tests) => tests.iter().any(has_text),
        _ => false,
    }
}

/// Whether the value of a row occurs elsewhere too, and the row is not the one that is kept.
fn again(cells: &[V], keep: Option<&str>, row: usize) -> bool {
    let same = |i: usize| cells[i].same(&cells[row]);
    let before = (0..row).any(same);
    let behind = (row + 1..cells.len()).any(same);
    match keep {
        Some("first") => before,
        Some(_) => behind,
        None => before || behind,
    }
}

fn holds(test: &P, cells: &[V], row: usize, kind: Kind) -> bool {
    let cell = &cells[row];
    match test {
        P::Null(_, wanted) => cell.is_null() == *wanted,
        P::Duplicated(keep) => again(cells, *keep, row),
        P::All(tests) => tests.iter().all(|t| holds(t, cells, row, kind)),
        P::IsIn(list) if cell.is_null() => list.contains(&Lit::V(V::Null)),
        P::Text(_, _, _, na, _) if cell.is_null() => *na == Some(true),
        _ if cell.is_null() => false,
        P::Same(V::Time(s)) => *cell == V::Time(*s),
        P::Same(v) => compare("EQ", cell, &Lit::V(v.clone())),
        P::Member(list) => list.iter().any(|v| compare("EQ", cell, &Lit::V(v.clone()))),
        P::IsIn(list) => list.iter().any(|v| compare("EQ", cell, v)),
        P::Compare(cmp, v) => {
            let number = matches!(v, Lit::V(V::Int(_) | V::Float(_)));
            !(kind == Kind::Bool && number) && compare(cmp, cell, v)
        }
        P::Between(low, high, true) => compare("GE", cell, low) && compare("LE", cell, high),
        P::Between(low, high, false) => compare("GT", cell, low) && compare("LT", cell, high),
        P::Text(how, patterns, case, _, regex) => {
            let V::Text(text) = cell else { return false };
            patterns.iter().any(|p| matches(how, p, *case, *regex, text))
        }
        P::Class(class) => matches!(cell, V::Text(text) if in_class(class, text)),
        P::Calendar(place) => matches!(cell, V::Time(s) if in_calendar(place, *s)),
    }
}

fn compare(cmp: &str, cell: &V, v: &Lit) -> bool {
    let found = match (cell, v) {
        (V::Text(a), Lit::V(V::Text(b))) => Some(a.cmp(b)),
        (V::Time(a), Lit::Instant(b) | Lit::V(V::Time(b))) => Some(a.cmp(b)),
        (V::Time(a), Lit::Day(b)) => Some(a.div_euclid(86_400).cmp(b)),
        (V::Time(a), Lit::Clock(b)) => Some(a.rem_euclid(86_400).cmp(b)),
        (a, Lit::V(b)) => {
            // Truth values are numbers here.
            let number = |v: &V| match v {
                V::Bool(v) => Some(f64::from(u8::from(*v))),
                v => v.number(),
            };
            number(a).zip(number(b)).and_then(|(a, b)| a.partial_cmp(&b))
        }
        _ => None,
    };
    let Some(found) = found else { return cmp == "NE" && *v != Lit::V(V::Null) };
    match cmp {
        "GT" => found == Ordering::Greater,
        "LT" => found == Ordering::Less,
        "GE" => found != Ordering::Less,
        "LE" => found != Ordering::Greater,
        "EQ" => found == Ordering::Equal,
        _ => found != Ordering::Equal,
    }
}

fn matches(how: &str, pattern: &str, case: bool, regex: bool, text: &str) -> bool {
    let (pattern, text) = match (case, regex) {
        (false, false) => (pattern.to_lowercase(), text.to_lowercase()),
        (false, true) => (format!("(?i){pattern}"), text.to_owned()),
        _ => (pattern.to_owned(), text.to_owned()),
    };
    let at = |from: &str, to: &str| Regex::new(&format!("{from}(?:{pattern}){to}")).unwrap();
    match (how, regex) {
        ("Startswith", _) => text.starts_with(&pattern),
        ("Endswith", _) => text.ends_with(&pattern),
        ("Match", _) => at("^", "").is_match(&text),
        ("Fullmatch", _) => at("^", "$").is_match(&text),
        (_, false) => text.contains(&pattern),
        _ => at("", "").is_match(&text),
    }
}

fn in_class(class: &str, text: &str) -> bool {
    let all = |test: fn(char) -> bool| !text.is_empty() && text.chars().all(test);
    let upper = |c: char| c.is_ascii_uppercase() || c == '\u{c9}';
    let lower = |c: char| c.is_ascii_lowercase() || c == '\u{e9}';
    let any = |test: &dyn Fn(char) -> bool| text.chars().any(test);
    match class {
        "IsAlpha" => all(|c| c.is_ascii_alphabetic() || c == '\u{c9}' || c == '\u{e9}'),
        "IsAlnum" => all(|c| c.is_ascii_alphanumeric() || c == '\u{c9}' || c == '\u{e9}'),
        "IsDigit" | "IsDecimal" | "IsNumeric" => all(|c| c.is_ascii_digit()),
        "IsSpace" => all(|c| c == ' '),
        "IsLower" => any(&lower) && !any(&upper),
        "IsUpper" => any(&upper) && !any(&lower),
        // Every run of letters begins with the one capital that it has.
        _ => {
            let letter = |c: char| upper(c) || lower(c);
            let chars: Vec<char> = text.chars().collect();
            let right = |(i, c): (usize, &char)| {
                let first = i == 0 || !letter(chars[i - 1]);
                !letter(*c) || upper(*c) == first
            };
            any(&letter) && chars.iter().enumerate().all(right)
        }
    }
}

fn in_calendar(place: &str, s: i64) -> bool {
    let day = s.div_euclid(86_400);
    let (_, year, month, date, last) =
        *TIMES.iter().find(|t| t.0.div_euclid(86_400) == day).unwrap();
    match place {
        "IsMonthStart" => date == 1,
        "IsMonthEnd" => last,
        "IsQuarterStart" => date == 1 && [1, 4, 7, 10].contains(&month),
        "IsQuarterEnd" => last && [3, 6, 9, 12].contains(&month),
        "IsYearStart" => date == 1 && month == 1,
        "IsYearEnd" => date == 31 && month == 12,
        _ => year == 2024,
    }
}
