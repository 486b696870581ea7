//! Columns of answers: the plainest Arrow type that holds each value of a column as it is.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DurationNanosecondArray, Float64Array, Int64Array, ListArray,
    StringArray, UInt64Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::Field;
use graphlume_expr::{ErrorCode, QueryError, Scalar, Temporal, times};

use crate::graph_view::GraphView;
use crate::render::text_of;
use crate::value::Value;
use crate::value::temporal::Duration;

/// What the values of a column have in common, null aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Nothing,
    Ints,
    /// Whole numbers of which at least one is above those of 64 bits with a sign, and none below 0.
    UInts,
    /// Floats, and integers that floats can tell apart.
    Floats,
    Bools,
    Texts,
    Times,
    Durations,
    Lists,
    Other,
}

/// Integers beyond this are not all floats.
const EXACT_MAX: i64 = 1 << 53;

impl Shape {
    fn of(value: &Value) -> Self {
        match value {
            Value::Scalar(Scalar::Null) => Self::Nothing,
            Value::Scalar(Scalar::Int(_)) => Self::Ints,
            Value::Scalar(Scalar::UInt(_)) => Self::UInts,
            Value::Scalar(Scalar::Float(_)) => Self::Floats,
            Value::Scalar(Scalar::Bool(_)) => Self::Bools,
            Value::Scalar(Scalar::Text(_)) => Self::Texts,
            Value::Scalar(Scalar::Temporal(_)) => Self::Times,
            Value::Duration(_) => Self::Durations,
            Value::List(_) => Self::Lists,
            Value::Map(_) | Value::Node(_) | Value::Edge(_) | Value::Path(_) => Self::Other,
        }
    }

    fn of_all<'v>(values: impl Iterator<Item = &'v Value> + Clone) -> Self {
        let mut shape = Self::Nothing;
        for value in values.clone() {
            shape = match (shape, Self::of(value)) {
                (Self::Nothing, other) | (other, Self::Nothing) => other,
                (a, b) if a == b => a,
                (Self::Ints | Self::UInts, Self::Ints | Self::UInts) => Self::UInts,
                (Self::Ints | Self::Floats, Self::Ints | Self::Floats) => Self::Floats,
                _ => return Self::Other,
            };
        }
        let exact = |v: &Value| !matches!(v, Value::Scalar(Scalar::Int(n)) if n.abs() > EXACT_MAX);
        let signed = |v: &Value| matches!(v, Value::Scalar(Scalar::Int(n)) if *n < 0);
        match shape {
            Self::Floats if !values.clone().all(exact) => Self::Other,
            // No type of tables holds both.
            Self::UInts if values.clone().any(signed) => Self::Other,
            _ => shape,
        }
    }
}

/// A column of values; as text in the notation of openCypher where no plain type has all of them.
///
/// # Errors
/// More text than 32-bit offsets can address.
pub(crate) fn column(view: &GraphView, values: &[Value]) -> Result<ArrayRef, QueryError> {
    let all: Vec<&Value> = values.iter().collect();
    match typed(&all)? {
        Some(array) => Ok(array),
        None => texts(view, values),
    }
}

/// The values in a type of their own; `None` where there is none.
fn typed(values: &[&Value]) -> Result<Option<ArrayRef>, QueryError> {
    let each = || values.iter().copied();
    Ok(Some(match Shape::of_all(each()) {
        Shape::Ints => Arc::new(each().map(int).collect::<Int64Array>()),
        Shape::UInts => Arc::new(each().map(uint).collect::<UInt64Array>()),
        Shape::Floats => Arc::new(each().map(Value::as_f64).collect::<Float64Array>()),
        Shape::Bools => Arc::new(each().map(truth).collect::<BooleanArray>()),
        Shape::Texts | Shape::Nothing => {
            fits(each().filter_map(word).map(str::len).sum())?;
            Arc::new(each().map(word).collect::<StringArray>())
        }
        Shape::Times => return Ok(times(each().map(time))),
        Shape::Durations => {
            let nanos: Option<Vec<_>> = each().map(nanos).collect();
            let Some(nanos) = nanos else { return Ok(None) };
            Arc::new(DurationNanosecondArray::from(nanos))
        }
        Shape::Lists => {
            let lists =
                || each().map(|v| if let Value::List(list) = v { list.as_slice() } else { &[] });
            let inner: Vec<&Value> = lists().flatten().collect();
            fits(inner.len())?;
            let Some(items) = typed(&inner)? else { return Ok(None) };
            let field = Arc::new(Field::new("item", items.data_type().clone(), true));
            let offsets = OffsetBuffer::from_lengths(lists().map(<[Value]>::len));
            let known: Vec<bool> = each().map(|v| !v.is_null()).collect();
            Arc::new(ListArray::try_new(field, offsets, items, Some(known.into()))?)
        }
        Shape::Other => return Ok(None),
    }))
}

fn texts(view: &GraphView, values: &[Value]) -> Result<ArrayRef, QueryError> {
    let mut builder = StringBuilder::new();
    let mut bytes = 0;
    for value in values {
        let text = (!value.is_null()).then(|| text_of(view, value));
        bytes += text.as_ref().map_or(0, String::len);
        fits(bytes)?;
        builder.append_option(text);
    }
    Ok(Arc::new(builder.finish()))
}

/// Refuses what the 32-bit offsets of a column cannot address.
fn fits(bytes: usize) -> Result<(), QueryError> {
    if i32::try_from(bytes).is_ok() {
        return Ok(());
    }
    let what = "a column of the result has more than 2 GiB of text";
    Err(QueryError::new(ErrorCode::Limit, what).suggest("return fewer rows or shorter texts"))
}

const fn int(value: &Value) -> Option<i64> {
    match value {
        Value::Scalar(Scalar::Int(v)) => Some(*v),
        _ => None,
    }
}

fn uint(value: &Value) -> Option<u64> {
    u64::try_from(value.as_whole()?).ok()
}

const fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Scalar(Scalar::Bool(v)) => Some(*v),
        _ => None,
    }
}

fn word(value: &Value) -> Option<&str> {
    match value {
        Value::Scalar(Scalar::Text(v)) => Some(v),
        _ => None,
    }
}

const fn time(value: &Value) -> Option<&Temporal> {
    match value {
        Value::Scalar(Scalar::Temporal(time)) => Some(time),
        _ => None,
    }
}

/// Nanoseconds of a length of time, or of none; `None` for one that months or days count in, or that 64 bits do not hold.
fn nanos(value: &Value) -> Option<Option<i64>> {
    match value {
        Value::Duration(length) => {
            let Duration { months: 0, days: 0, seconds, nanos } = **length else { return None };
            let nanos = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
            i64::try_from(nanos).ok().map(Some)
        }
        _ => Some(None),
    }
}
