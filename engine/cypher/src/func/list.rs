//! Functions of lists, some of which take texts too.

use graphlume_expr::Scalar;
use graphlume_types::limits::CYPHER_LIST_MAX;

use super::{Function, arg, wrong};
use crate::error::{Res, limit_error, value_error};
use crate::types::Ty;
use crate::value::Value;

macro_rules! f {
    ($name:literal, $min:literal..=$max:literal, $args:expr, $result:expr, $run:expr) => {
        Function { name: $name, min: $min, max: $max, args: $args, result: $result, run: $run }
    };
}

const LIST: &[Ty] = &[Ty::LIST];
const LIST_OR_TEXT: &[Ty] = &[Ty::LIST.or(Ty::TEXT)];

pub(super) const TABLE: &[Function] = &[
    f!("size", 1..=1, LIST_OR_TEXT, Ty::INT, |_, args| match arg(args, 0) {
        Value::Scalar(Scalar::Null) => Ok(Value::NULL),
        Value::List(list) => Ok(Value::int(list.len() as i64)),
        Value::Scalar(Scalar::Text(text)) => Ok(Value::int(text.chars().count() as i64)),
        other => Err(wrong("size", "a list or a text", other)),
    }),
    f!("isEmpty", 1..=1, &[Ty::LIST.or(Ty::TEXT).or(Ty::MAP)], Ty::BOOL, |_, args| {
        Ok(Value::bool(match arg(args, 0) {
            Value::Scalar(Scalar::Null) => return Ok(Value::NULL),
            Value::List(list) => list.is_empty(),
            Value::Scalar(Scalar::Text(text)) => text.is_empty(),
            Value::Map(map) => map.is_empty(),
            other => return Err(wrong("isEmpty", "a list, a text or a map", other)),
        }))
    }),
    f!("head", 1..=1, LIST, Ty::ANY, |_, args| match arg(args, 0) {
        Value::Scalar(Scalar::Null) => Ok(Value::NULL),
        Value::List(list) => Ok(list.first().cloned().unwrap_or_default()),
        other => Err(wrong("head", "a list", other)),
    }),
    f!("last", 1..=1, LIST, Ty::ANY, |_, args| match arg(args, 0) {
        Value::Scalar(Scalar::Null) => Ok(Value::NULL),
        Value::List(list) => Ok(list.last().cloned().unwrap_or_default()),
        other => Err(wrong("last", "a list", other)),
    }),
    f!("tail", 1..=1, LIST, Ty::LIST, |_, args| match arg(args, 0) {
        Value::Scalar(Scalar::Null) => Ok(Value::NULL),
        Value::List(list) => Ok(Value::list(list.get(1..).unwrap_or_default().to_vec())),
        other => Err(wrong("tail", "a list", other)),
    }),
    f!("reverse", 1..=1, LIST_OR_TEXT, Ty::LIST.or(Ty::TEXT), |_, args| match arg(args, 0) {
        Value::Scalar(Scalar::Null) => Ok(Value::NULL),
        Value::List(list) => Ok(Value::list(list.iter().rev().cloned().collect())),
        Value::Scalar(Scalar::Text(text)) =>
            Ok(Value::text(text.chars().rev().collect::<String>())),
        other => Err(wrong("reverse", "a list or a text", other)),
    }),
    f!("range", 2..=3, &[Ty::INT], Ty::INT.list_of(), range),
];

fn range(_: &crate::graph_view::GraphView, args: &[Value]) -> Res<Value> {
    let int = |i: usize| match arg(args, i) {
        Value::Scalar(Scalar::Int(v)) => Ok(*v),
        other => Err(wrong("range", "integers", other)),
    };
    let (from, to) = (int(0)?, int(1)?);
    let step = if args.len() > 2 { int(2)? } else { 1 };
    if step == 0 {
        return Err(value_error("the step of range cannot be zero"));
    }
    let span = (i128::from(to) - i128::from(from)) / i128::from(step);
    let count = if (to > from && step < 0) || (to < from && step > 0) { 0 } else { span + 1 };
    let Some(count) = usize::try_from(count).ok().filter(|n| *n <= CYPHER_LIST_MAX) else {
        return Err(limit_error(format!("a list may have {CYPHER_LIST_MAX} elements")));
    };
    let item = |i: usize| Value::int(from.wrapping_add(step.wrapping_mul(i as i64)));
    Ok(Value::list((0..count).map(item).collect()))
}
