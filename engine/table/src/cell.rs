//! One cell of any type, as text for people and as JSON for the page.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, TimeUnit};
use graphlume_types::number::saturating_usize;
use serde_json::Value;

/// Display text of `row`; `None` when it is null. Lists and structs are rendered, binary is hexadecimal,
/// times are ISO 8601.
///
/// # Panics
/// When `row` is not below the array's length.
#[must_use]
pub fn cell_text(array: &dyn Array, row: usize) -> Option<String> {
    let (array, row) = resolve(array, row)?;
    match array.data_type() {
        DataType::Utf8 => return Some(array.as_string::<i32>().value(row).to_owned()),
        DataType::LargeUtf8 => return Some(array.as_string::<i64>().value(row).to_owned()),
        DataType::Utf8View => return Some(array.as_string_view().value(row).to_owned()),
        DataType::Int64 => return Some(array.as_primitive::<Int64Type>().value(row).to_string()),
        _ => {}
    }
    let options = FormatOptions::default();
    let text = ArrayFormatter::try_new(array, &options).and_then(|f| f.value(row).try_to_string());
    text.ok().or_else(|| raw_time_text(array, row)).or_else(|| Some(array.data_type().to_string()))
}

/// A time that has no calendar form: out of the calendar's range, or in a named zone (zone rules are
/// not built in), which is then shown in UTC.
fn raw_time_text(array: &dyn Array, row: usize) -> Option<String> {
    fn raw<T: ArrowPrimitiveType<Native = i64>>(array: &dyn Array, row: usize) -> i64 {
        array.as_primitive::<T>().value(row)
    }
    let ticks = match array.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => raw::<TimestampSecondType>(array, row),
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            raw::<TimestampMillisecondType>(array, row)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            raw::<TimestampMicrosecondType>(array, row)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => raw::<TimestampNanosecondType>(array, row),
        DataType::Date64 => raw::<Date64Type>(array, row),
        DataType::Date32 => i64::from(array.as_primitive::<Date32Type>().value(row)),
        _ => return None,
    };
    if let DataType::Timestamp(unit, Some(_)) = array.data_type() {
        let utc = DataType::Timestamp(*unit, Some("+00:00".into()));
        let one = arrow_cast::cast(&array.slice(row, 1), &utc).ok()?;
        let options = FormatOptions::default();
        let text = ArrayFormatter::try_new(&one, &options).and_then(|f| f.value(0).try_to_string());
        if let Ok(text) = text {
            return Some(text);
        }
    }
    Some(ticks.to_string())
}

/// Follows dictionaries and runs to the array that holds the value. `None` when the cell is null.
fn resolve(array: &dyn Array, row: usize) -> Option<(&dyn Array, usize)> {
    assert!(row < array.len(), "row {row} of {} rows", array.len());
    match array.data_type() {
        DataType::Dictionary(..) => {
            if array.is_null(row) {
                return None;
            }
            let dictionary = array.as_any_dictionary();
            let key = crate::to_f64(&dictionary.keys().slice(row, 1))?.first().copied()?;
            resolve(dictionary.values().as_ref(), saturating_usize(key))
        }
        DataType::RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => run::<Int16Type>(array, row),
            DataType::Int32 => run::<Int32Type>(array, row),
            _ => run::<Int64Type>(array, row),
        },
        DataType::Union(..) => {
            let union = array.as_union();
            resolve(union.child(union.type_id(row)).as_ref(), union.value_offset(row))
        }
        DataType::Null => None,
        _ => array.is_valid(row).then_some((array, row)),
    }
}

fn run<R: RunEndIndexType>(array: &dyn Array, row: usize) -> Option<(&dyn Array, usize)> {
    let runs = array.as_run::<R>();
    resolve(runs.values().as_ref(), runs.get_physical_index(row))
}

fn list_json(items: &ArrayRef) -> Value {
    (0..items.len()).map(|i| cell_json(items.as_ref(), i)).collect()
}

fn float_json(v: f64) -> Value {
    serde_json::Number::from_f64(v).map_or(Value::Null, Value::Number)
}

/// The cell as JSON: numbers, booleans, text, arrays and objects by value; null and non-finite floats
/// are `null`; every other type (times, decimals, binary) is its display text. Integers are written in
/// full, so a reader with doubles only rounds those beyond 2^53.
///
/// # Panics
/// When `row` is not below the array's length.
#[must_use]
pub fn cell_json(array: &dyn Array, row: usize) -> Value {
    use DataType as D;
    let Some((array, row)) = resolve(array, row) else { return Value::Null };
    match array.data_type() {
        D::Boolean => array.as_boolean().value(row).into(),
        D::Int8 => array.as_primitive::<Int8Type>().value(row).into(),
        D::Int16 => array.as_primitive::<Int16Type>().value(row).into(),
        D::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
        D::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        D::UInt8 => array.as_primitive::<UInt8Type>().value(row).into(),
        D::UInt16 => array.as_primitive::<UInt16Type>().value(row).into(),
        D::UInt32 => array.as_primitive::<UInt32Type>().value(row).into(),
        D::UInt64 => array.as_primitive::<UInt64Type>().value(row).into(),
        D::Float16 => float_json(array.as_primitive::<Float16Type>().value(row).into()),
        // The shortest text of the float itself: 0.1f32 is 0.1 to a reader, not 0.10000000149.
        D::Float32 => {
            let v = array.as_primitive::<Float32Type>().value(row);
            float_json(v.to_string().parse().unwrap_or_else(|_| f64::from(v)))
        }
        D::Float64 => float_json(array.as_primitive::<Float64Type>().value(row)),
        D::List(_) => list_json(&array.as_list::<i32>().value(row)),
        D::LargeList(_) => list_json(&array.as_list::<i64>().value(row)),
        D::ListView(_) => list_json(&array.as_list_view::<i32>().value(row)),
        D::LargeListView(_) => list_json(&array.as_list_view::<i64>().value(row)),
        D::FixedSizeList(..) => list_json(&array.as_fixed_size_list().value(row)),
        D::Struct(fields) => {
            let columns = array.as_struct().columns();
            let members = fields.iter().zip(columns);
            members.map(|(f, c)| (f.name().clone(), cell_json(c.as_ref(), row))).collect()
        }
        D::Map(..) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            let key = |i| cell_text(keys.as_ref(), i).unwrap_or_default();
            (0..entries.len()).map(|i| (key(i), cell_json(values.as_ref(), i))).collect()
        }
        _ => cell_text(array, row).map_or(Value::Null, Value::String),
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "numbers of tests are small"
    )]
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use arrow_array::builder::{Int64Builder, MapBuilder, StringBuilder};
    use arrow_array::*;
    use arrow_schema::Field;
    use serde_json::json;

    use super::*;

    fn both(array: &dyn Array, row: usize) -> (Option<String>, Value) {
        (cell_text(array, row), cell_json(array, row))
    }

    fn text(s: &str) -> Option<String> {
        Some(s.to_owned())
    }

    #[test]
    fn scalars_by_value_and_null_is_no_text() {
        let a = Float64Array::from(vec![Some(1.5), None, Some(f64::NAN)]);
        assert_eq!(both(&a, 0), (text("1.5"), json!(1.5)));
        assert_eq!(both(&a, 1), (None, Value::Null));
        assert_eq!(cell_json(&a, 2), Value::Null);
        assert_eq!(cell_json(&Float32Array::from(vec![0.1]), 0), json!(0.1));
        let big = UInt64Array::from(vec![u64::MAX]);
        assert_eq!(both(&big, 0), (text("18446744073709551615"), json!(u64::MAX)));
        assert_eq!(both(&StringViewArray::from(vec!["é"]), 0), (text("é"), json!("é")));
        assert_eq!(both(&NullArray::new(1), 0), (None, Value::Null));
    }

    #[test]
    fn nested_values_are_rendered() {
        let list = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1), None])]);
        assert_eq!(cell_json(&list, 0), json!([1, null]));
        assert_eq!(cell_text(&list, 0), text("[1, ]"));
        let field = Arc::new(Field::new("l", list.data_type().clone(), true));
        let row = StructArray::from(vec![(field, Arc::new(list) as ArrayRef)]);
        assert_eq!(cell_json(&row, 0), json!({"l": [1, null]}));
        let mut map = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
        map.keys().append_value("k");
        map.values().append_value(7);
        map.append(true).unwrap();
        assert_eq!(cell_json(&map.finish(), 0), json!({"k": 7}));
    }

    #[test]
    fn dictionaries_and_runs_show_their_values() {
        let keys = Int8Array::from(vec![Some(1), None]);
        let words = Arc::new(StringArray::from(vec!["a", "b"]));
        let d = DictionaryArray::new(keys, words.clone());
        assert_eq!((both(&d, 0), both(&d, 1)), ((text("b"), json!("b")), (None, Value::Null)));
        let runs = RunArray::try_new(&Int32Array::from(vec![2, 3]), words.as_ref()).unwrap();
        assert_eq!((cell_text(&runs, 1), cell_text(&runs, 2)), (text("a"), text("b")));
    }

    #[test]
    fn times_are_iso_and_those_without_a_calendar_form_are_counts() {
        let t = TimestampMicrosecondArray::from(vec![0, i64::MAX]);
        assert_eq!(cell_text(&t, 0), text("1970-01-01T00:00:00"));
        assert_eq!(cell_text(&t, 1), text("9223372036854775807"));
        let zoned = TimestampSecondArray::from(vec![0]).with_timezone("America/New_York");
        assert_eq!(cell_text(&zoned, 0), text("1969-12-31T19:00:00-05:00"));
        assert_eq!(cell_json(&Date32Array::from(vec![1]), 0), json!("1970-01-02"));
        let d = Decimal128Array::from(vec![-1234]).with_precision_and_scale(10, 2).unwrap();
        assert_eq!(both(&d, 0), (text("-12.34"), json!("-12.34")));
        let b = BinaryArray::from(vec![b"\x01\xff".as_ref()]);
        assert_eq!(cell_text(&b, 0), text("01ff"));
    }
}
