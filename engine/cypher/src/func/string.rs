//! Functions of text. Positions count characters.

use graphlume_expr::Scalar;
use graphlume_types::limits::CYPHER_TEXT_BYTES_MAX;

use super::{Function, arg, wrong};
use crate::error::{Res, limit_error, value_error};
use crate::types::Ty;

use crate::value::Value;

macro_rules! f {
    ($name:literal, $min:literal..=$max:literal, $args:expr, $result:expr, $run:expr) => {
        Function { name: $name, min: $min, max: $max, args: $args, result: $result, run: $run }
    };
}
macro_rules! map {
    ($name:literal, $op:expr) => {
        f!($name, 1..=1, TEXT, Ty::TEXT, |_, args| match arg(args, 0) {
            Value::Scalar(Scalar::Null) => Ok(Value::NULL),
            Value::Scalar(Scalar::Text(text)) => Ok(Value::text($op(text))),
            other => Err(wrong($name, "a text", other)),
        })
    };
}

const TEXT: &[Ty] = &[Ty::TEXT];

pub(super) const TABLE: &[Function] = &[
    map!("toLower", |t: &str| t.to_lowercase()),
    map!("lower", |t: &str| t.to_lowercase()),
    map!("toUpper", |t: &str| t.to_uppercase()),
    map!("upper", |t: &str| t.to_uppercase()),
    map!("trim", |t: &str| t.trim().to_owned()),
    map!("btrim", |t: &str| t.trim().to_owned()),
    map!("ltrim", |t: &str| t.trim_start().to_owned()),
    map!("rtrim", |t: &str| t.trim_end().to_owned()),
    f!("char_length", 1..=1, TEXT, Ty::INT, |_, args| match arg(args, 0) {
        Value::Scalar(Scalar::Null) => Ok(Value::NULL),
        Value::Scalar(Scalar::Text(text)) => Ok(Value::int(text.chars().count() as i64)),
        other => Err(wrong("char_length", "a text", other)),
    }),
    f!("replace", 3..=3, TEXT, Ty::TEXT, |_, args| {
        let Some([text, from, to]) = texts("replace", args)? else { return Ok(Value::NULL) };
        if from.is_empty() {
            return Ok(Value::text(text));
        }
        let grown = text.len() + text.matches(from).count().saturating_mul(to.len());
        if grown > CYPHER_TEXT_BYTES_MAX {
            return Err(limit_error(format!("a text may have {CYPHER_TEXT_BYTES_MAX} bytes")));
        }
        Ok(Value::text(text.replace(from, to)))
    }),
    f!("split", 2..=2, &[Ty::TEXT, Ty::TEXT.or(Ty::LIST)], Ty::TEXT.list_of(), |_, args| {
        let Some([text, by]) = texts("split", args)? else { return Ok(Value::NULL) };
        let parts: Vec<Value> = if by.is_empty() {
            text.chars().map(|c| Value::text(c.to_string())).collect()
        } else {
            text.split(by).map(Value::text).collect()
        };
        Ok(Value::list(parts))
    }),
    f!("substring", 2..=3, &[Ty::TEXT, Ty::INT], Ty::TEXT, |_, args| {
        if arg(args, 0).is_null() || arg(args, 1).is_null() {
            return Ok(Value::NULL);
        }
        let text = text("substring", arg(args, 0))?;
        let from = length("substring", arg(args, 1))?;
        let rest = text.chars().skip(from);
        Ok(Value::text(match args.get(2) {
            None => rest.collect::<String>(),
            Some(Value::Scalar(Scalar::Null)) => return Ok(Value::NULL),
            Some(n) => rest.take(length("substring", n)?).collect(),
        }))
    }),
    f!("left", 2..=2, &[Ty::TEXT, Ty::INT], Ty::TEXT, |_, args| {
        if arg(args, 0).is_null() || arg(args, 1).is_null() {
            return Ok(Value::NULL);
        }
        let n = length("left", arg(args, 1))?;
        Ok(Value::text(text("left", arg(args, 0))?.chars().take(n).collect::<String>()))
    }),
    f!("right", 2..=2, &[Ty::TEXT, Ty::INT], Ty::TEXT, |_, args| {
        if arg(args, 0).is_null() || arg(args, 1).is_null() {
            return Ok(Value::NULL);
        }
        let text = text("right", arg(args, 0))?;
        let n = length("right", arg(args, 1))?;
        let skip = text.chars().count().saturating_sub(n);
        Ok(Value::text(text.chars().skip(skip).collect::<String>()))
    }),
];

fn text<'a>(function: &str, value: &'a Value) -> Res<&'a str> {
    match value {
        Value::Scalar(Scalar::Text(text)) => Ok(text),
        other => Err(wrong(function, "a text", other)),
    }
}

/// All arguments as texts; `None` when one is null.
fn texts<'a, const N: usize>(function: &str, args: &'a [Value]) -> Res<Option<[&'a str; N]>> {
    let mut found = [""; N];
    for (i, slot) in found.iter_mut().enumerate() {
        match arg(args, i) {
            Value::Scalar(Scalar::Null) => return Ok(None),
            other => *slot = text(function, other)?,
        }
    }
    Ok(Some(found))
}

fn length(function: &str, value: &Value) -> Res<usize> {
    match value {
        Value::Scalar(Scalar::Int(n)) => usize::try_from(*n)
            .map_err(|_| value_error(format!("{function} takes no negative number: {n}"))),
        other => Err(wrong(function, "an integer", other)),
    }
}
