//! Numbers of any column as doubles.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::{DataType, TimeUnit};

/// Whether [`to_f64`] has an answer for a column of this type.
#[must_use]
pub fn is_numeric(dtype: &DataType) -> bool {
    match dtype {
        DataType::Dictionary(_, values) => is_numeric(values),
        DataType::RunEndEncoded(_, values) => is_numeric(values.data_type()),
        DataType::Boolean
        | DataType::Timestamp(..)
        | DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Duration(_) => true,
        other => other.is_numeric(),
    }
}

fn primitive<T: ArrowPrimitiveType>(array: &dyn Array, f: impl Fn(T::Native) -> f64) -> Vec<f64> {
    let array: &PrimitiveArray<T> = array.as_primitive();
    match array.nulls() {
        None => array.values().iter().map(|v| f(*v)).collect(),
        Some(nulls) => {
            let cells = array.values().iter().zip(nulls.iter());
            cells.map(|(v, valid)| if valid { f(*v) } else { f64::NAN }).collect()
        }
    }
}

/// The column as doubles: numbers and booleans (0, 1) by value, decimals rounded, times as the count of
/// their own unit since their origin. A null is NaN. `None` when the column is not [`is_numeric`].
///
/// Integers beyond 2^53 are rounded to the nearest double.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "documented rounding")]
pub fn to_f64(array: &dyn Array) -> Option<Vec<f64>> {
    use DataType as D;
    Some(match array.data_type() {
        D::Boolean => {
            let cells = array.as_boolean().iter();
            cells.map(|v| v.map_or(f64::NAN, |b| f64::from(u8::from(b)))).collect()
        }
        D::Int8 => primitive::<Int8Type>(array, f64::from),
        D::Int16 => primitive::<Int16Type>(array, f64::from),
        D::Int32 => primitive::<Int32Type>(array, f64::from),
        D::Int64 => primitive::<Int64Type>(array, |v| v as f64),
        D::UInt8 => primitive::<UInt8Type>(array, f64::from),
        D::UInt16 => primitive::<UInt16Type>(array, f64::from),
        D::UInt32 => primitive::<UInt32Type>(array, f64::from),
        D::UInt64 => primitive::<UInt64Type>(array, |v| v as f64),
        D::Float16 => primitive::<Float16Type>(array, f64::from),
        D::Float32 => primitive::<Float32Type>(array, f64::from),
        D::Float64 => primitive::<Float64Type>(array, |v| v),
        D::Date32 => primitive::<Date32Type>(array, f64::from),
        D::Date64 => primitive::<Date64Type>(array, |v| v as f64),
        D::Time32(TimeUnit::Second) => primitive::<Time32SecondType>(array, f64::from),
        D::Time32(_) => primitive::<Time32MillisecondType>(array, f64::from),
        D::Time64(TimeUnit::Microsecond) => primitive::<Time64MicrosecondType>(array, |v| v as f64),
        D::Time64(_) => primitive::<Time64NanosecondType>(array, |v| v as f64),
        D::Timestamp(TimeUnit::Second, _) => primitive::<TimestampSecondType>(array, |v| v as f64),
        D::Timestamp(TimeUnit::Millisecond, _) => {
            primitive::<TimestampMillisecondType>(array, |v| v as f64)
        }
        D::Timestamp(TimeUnit::Microsecond, _) => {
            primitive::<TimestampMicrosecondType>(array, |v| v as f64)
        }
        D::Timestamp(TimeUnit::Nanosecond, _) => {
            primitive::<TimestampNanosecondType>(array, |v| v as f64)
        }
        D::Duration(TimeUnit::Second) => primitive::<DurationSecondType>(array, |v| v as f64),
        D::Duration(TimeUnit::Millisecond) => {
            primitive::<DurationMillisecondType>(array, |v| v as f64)
        }
        D::Duration(TimeUnit::Microsecond) => {
            primitive::<DurationMicrosecondType>(array, |v| v as f64)
        }
        D::Duration(TimeUnit::Nanosecond) => {
            primitive::<DurationNanosecondType>(array, |v| v as f64)
        }
        D::Dictionary(_, values) if is_numeric(values) => {
            let dictionary = array.as_any_dictionary();
            let values = to_f64(dictionary.values().as_ref())?;
            let keys = to_f64(dictionary.keys())?;
            // A key is an exact small integer as a double, and a null key is NaN, which casts to 0 and
            // is therefore tested first.
            let pick = |k: f64| values.get(k as usize).copied().unwrap_or(f64::NAN);
            keys.into_iter().map(|k| if k.is_nan() { k } else { pick(k) }).collect()
        }
        other if is_numeric(other) => {
            let cast = arrow_cast::cast(array, &D::Float64).ok()?;
            primitive::<Float64Type>(cast.as_ref(), |v| v)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use arrow_array::*;

    use super::*;

    #[test]
    fn a_null_is_nan_and_text_is_not_a_number() {
        let a = Int64Array::from(vec![Some(3), None]);
        let v = to_f64(&a).unwrap();
        assert!(v[0] == 3.0 && v[1].is_nan());
        assert!(to_f64(&StringArray::from(vec!["1"])).is_none());
        assert!(to_f64(&NullArray::new(2)).is_none());
        assert_eq!(to_f64(&BooleanArray::from(vec![true, false])).unwrap(), [1.0, 0.0]);
    }

    #[test]
    fn categories_of_numbers_are_numbers() {
        let keys = Int8Array::from(vec![Some(1), None, Some(0)]);
        let values = Arc::new(Int64Array::from(vec![10, 20]));
        let v = to_f64(&DictionaryArray::new(keys, values)).unwrap();
        assert!(v[0] == 20.0 && v[1].is_nan() && v[2] == 10.0);
    }

    #[test]
    fn every_type_that_is_called_numeric_converts() {
        let units =
            [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];
        let mut types = vec![
            DataType::Float16,
            DataType::UInt64,
            DataType::Date32,
            DataType::Date64,
            DataType::Decimal128(10, 2),
            DataType::Decimal256(40, 2),
            DataType::Decimal32(5, 1),
            DataType::Time32(TimeUnit::Second),
            DataType::Time32(TimeUnit::Millisecond),
            DataType::Time64(TimeUnit::Microsecond),
            DataType::Time64(TimeUnit::Nanosecond),
        ];
        for u in units {
            types.push(DataType::Timestamp(u, None));
            types.push(DataType::Timestamp(u, Some("UTC".into())));
            types.push(DataType::Duration(u));
        }
        for t in types {
            let a = new_null_array(&t, 2);
            assert!(is_numeric(&t), "{t}");
            let v = to_f64(&a).unwrap_or_else(|| unreachable!("{t} has no numbers"));
            assert!(v.len() == 2 && v[0].is_nan(), "{t}");
        }
    }

    #[test]
    fn decimals_keep_their_scale() {
        let d = Decimal128Array::from(vec![1234]).with_precision_and_scale(10, 2).unwrap();
        assert_eq!(to_f64(&d).unwrap(), [12.34]);
    }
}
