//! Functions of expressions.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use graphlume_expr::cell::Cell;
use graphlume_expr::{ErrorCode, QueryError, Scalar, nearest};
use graphlume_types::number::saturating_len;

/// Functions and how many arguments they take at least and at most; coalesce takes any number.
const FUNCTIONS: &[(&str, usize, usize)] = &[
    ("size", 1, 1),
    ("abs", 1, 1),
    ("sqrt", 1, 1),
    ("floor", 1, 1),
    ("ceil", 1, 1),
    ("ceiling", 1, 1),
    ("round", 1, 2),
    ("sign", 1, 1),
    ("tolower", 1, 1),
    ("lower", 1, 1),
    ("toupper", 1, 1),
    ("upper", 1, 1),
    ("substring", 2, 3),
    ("tointeger", 1, 1),
    ("tofloat", 1, 1),
    ("toboolean", 1, 1),
    ("tostring", 1, 1),
    ("range", 2, 3),
    ("head", 1, 1),
    ("tail", 1, 1),
    ("reverse", 1, 1),
    ("split", 2, 2),
    ("exists", 1, 1),
    ("nodes", 1, 1),
    ("relationships", 1, 1),
    ("length", 1, 1),
    ("keys", 1, 1),
    ("labels", 1, 1),
    ("type", 1, 1),
    ("properties", 1, 1),
    ("id", 1, 1),
    ("elementid", 1, 1),
    ("startnode", 1, 1),
    ("endnode", 1, 1),
    ("searchany", 2, 3),
    ("__node_keys__", 1, 255),
    ("__edge_keys__", 1, 255),
    ("__node_entity__", 1, 255),
    ("__edge_entity__", 1, 255),
    ("__cypher_case_eq__", 2, 2),
];

/// What the first argument of a function stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// A node or an edge, and further values.
    Element,
    /// A node or an edge, and names of other steps.
    Names,
    /// A path.
    Path,
}

/// Functions whose first argument is a node, an edge or a path of the rows.
pub(super) fn of_elements(name: &str) -> Option<Takes> {
    Some(match name {
        "keys" | "labels" | "type" | "properties" | "id" | "elementid" | "startnode"
        | "endnode" | "searchany" => Takes::Element,
        "__node_keys__" | "__edge_keys__" | "__node_entity__" | "__edge_entity__" => Takes::Names,
        "nodes" | "relationships" | "length" => Takes::Path,
        _ => return None,
    })
}

/// Items of a range at most.
const RANGE_MAX: i64 = 1_000_000;

/// Checks a call before any row is there.
pub(super) fn check(name: &str, args: usize) -> Result<(), QueryError> {
    if name == "coalesce" && args > 0 {
        return Ok(());
    }
    match FUNCTIONS.iter().find(|(n, _, _)| *n == name) {
        Some((_, least, most)) if (*least..=*most).contains(&args) => Ok(()),
        Some((_, least, most)) => Err(QueryError::new(
            ErrorCode::Syntax,
            format!("{name} takes {least} to {most} arguments and got {args}"),
        )),
        None => {
            let names = FUNCTIONS.iter().map(|(n, _, _)| *n);
            let names: Vec<&str> = names.filter(|n| !n.starts_with("__")).collect();
            let error = QueryError::new(
                ErrorCode::Unsupported,
                format!("function {name:?} is not available"),
            );
            Err(match nearest(name, &names) {
                Some(near) => error.suggest(format!("did you mean {near:?}?")),
                None => error.suggest(format!("functions: {}, coalesce", names.join(", "))),
            })
        }
    }
}

/// Calls a function; null in, null out but for those that ask for null.
pub(super) fn call(name: &str, args: &[Cell]) -> Result<Cell, QueryError> {
    check(name, args.len())?;
    if name == "exists" {
        return Ok(Cell::bool(args.iter().all(|a| !a.is_null())));
    }
    if args.iter().any(Cell::is_null) {
        return Ok(Cell::NULL);
    }
    let wrong = || {
        let shown: Vec<String> = args.iter().map(Cell::text).collect();
        let text = format!("{name} cannot take this value");
        QueryError::new(ErrorCode::ColumnType, text).value(shown.join(", "))
    };
    let number = || args[0].number().ok_or_else(wrong);
    let text =
        || if let Cell::Scalar(Scalar::Text(t)) = &args[0] { Ok(&**t) } else { Err(wrong()) };
    if let Cell::Entity(entity) = &args[0]
        && of_elements(name).is_some()
    {
        return super::entity::tell(entity, name).ok_or_else(wrong);
    }
    Ok(match (name, &args[0]) {
        ("keys", Cell::Map(fields)) => {
            Cell::List(fields.iter().map(|(name, _)| Cell::string(name.as_str())).collect())
        }
        ("properties", Cell::Map(_)) | ("nodes" | "relationships", Cell::List(_)) => {
            args[0].clone()
        }
        ("length", Cell::List(items)) => Cell::int(saturating_len(items.len())),
        ("split", Cell::Scalar(Scalar::Text(whole))) => match &args[1] {
            Cell::Scalar(Scalar::Text(by)) if by.is_empty() => {
                Cell::List(whole.chars().map(|c| Cell::string(c.to_string())).collect())
            }
            Cell::Scalar(Scalar::Text(by)) => {
                Cell::List(whole.split(&**by).map(Cell::string).collect())
            }
            _ => return Err(wrong()),
        },
        ("size", Cell::Scalar(Scalar::Text(t))) => Cell::int(saturating_len(t.chars().count())),
        ("size", Cell::List(items)) => Cell::int(saturating_len(items.len())),
        ("abs", Cell::Scalar(Scalar::Int(v))) => Cell::int(v.checked_abs().ok_or_else(wrong)?),
        ("abs" | "tointeger", Cell::Scalar(Scalar::UInt(v))) => Cell::Scalar(Scalar::uint(*v)),
        ("abs", _) => Cell::float(number()?.abs()),
        ("sqrt", _) => Cell::float(number()?.sqrt()),
        ("floor", _) => Cell::float(number()?.floor()),
        ("ceil" | "ceiling", _) => Cell::float(number()?.ceil()),
        ("round", _) => match args.get(1) {
            None => Cell::float((number()? + 0.5).floor()),
            Some(Cell::Scalar(Scalar::Int(places))) => {
                let places = i32::try_from(*places).unwrap_or(i32::MAX).clamp(-300, 300);
                let scale = 10_f64.powi(places);
                // The ties go away from zero.
                Cell::float((number()? * scale).round() / scale)
            }
            Some(_) => return Err(wrong()),
        },
        ("sign", _) => {
            let v = number()?;
            Cell::int(i64::from(v > 0.0) - i64::from(v < 0.0))
        }
        ("tolower" | "lower", _) => Cell::string(text()?.to_lowercase()),
        ("toupper" | "upper", _) => Cell::string(text()?.to_uppercase()),
        ("substring", _) => {
            let place = |i: usize| match args.get(i) {
                Some(Cell::Scalar(Scalar::Int(v))) => {
                    usize::try_from(*v).map(Some).map_err(|_| wrong())
                }
                None => Ok(None),
                Some(_) => Err(wrong()),
            };
            let (from, len) = (place(1)?.unwrap_or(0), place(2)?.unwrap_or(usize::MAX));
            Cell::string(text()?.chars().skip(from).take(len).collect::<String>())
        }
        ("tointeger", Cell::Scalar(Scalar::Int(v))) => Cell::int(*v),
        ("tointeger", Cell::Scalar(Scalar::Float(v))) => truncated(*v),
        ("tointeger", Cell::Scalar(Scalar::Text(t))) => {
            let whole = t.trim().parse::<i128>().ok().and_then(Scalar::of_whole);
            let float = || t.trim().parse().ok().map(truncated);
            whole.map(Cell::Scalar).or_else(float).unwrap_or(Cell::NULL)
        }
        ("tofloat", Cell::Scalar(Scalar::Text(t))) => {
            t.trim().parse().map_or(Cell::NULL, Cell::float)
        }
        ("tofloat", _) => Cell::float(number()?),
        ("toboolean", Cell::Scalar(Scalar::Bool(v))) => Cell::bool(*v),
        ("toboolean", Cell::Scalar(Scalar::Text(t))) => match t.trim().to_lowercase().as_str() {
            "true" => Cell::bool(true),
            "false" => Cell::bool(false),
            _ => Cell::NULL,
        },
        ("tostring", Cell::List(_)) => return Err(wrong()),
        ("tostring", cell) => Cell::string(cell.text()),
        ("head", Cell::List(items)) => items.first().cloned().unwrap_or(Cell::NULL),
        ("tail", Cell::List(items)) => Cell::List(items.iter().skip(1).cloned().collect()),
        ("reverse", Cell::List(items)) => Cell::List(items.iter().rev().cloned().collect()),
        ("reverse", Cell::Scalar(Scalar::Text(t))) => {
            Cell::string(t.chars().rev().collect::<String>())
        }
        ("range", _) => range(args).ok_or_else(wrong)?,
        _ => return Err(wrong()),
    })
}

/// A float without its fraction; null where no 64 bits hold that.
fn truncated(v: f64) -> Cell {
    match graphlume_graph::canon::of_f64(v.trunc()) {
        Some(graphlume_graph::canon::Canon::Int(whole)) => Cell::int(whole),
        Some(graphlume_graph::canon::Canon::UInt(whole)) => Cell::Scalar(Scalar::uint(whole)),
        _ => Cell::NULL,
    }
}

fn range(args: &[Cell]) -> Option<Cell> {
    let whole = |i: usize| {
        if let Some(Cell::Scalar(Scalar::Int(v))) = args.get(i) { Some(*v) } else { None }
    };
    let (from, to) = (whole(0)?, whole(1)?);
    let step = if args.len() == 3 { whole(2)? } else { 1 };
    let count = to.checked_sub(from)?.checked_div(step)?.checked_add(1)?.max(0);
    let ahead = if step > 0 { from <= to } else { from >= to };
    if count > RANGE_MAX {
        return None;
    }
    let count = if ahead { count } else { 0 };
    Some(Cell::List((0..count).map(|i| Cell::int(from + i * step)).collect()))
}
