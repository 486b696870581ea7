//! Types that Parquet has no name for, as the next one that it has: days of milliseconds as days, and seconds as
//! milliseconds. Without it they come back as plain integers.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Date64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};

/// Milliseconds of a day.
const DAY_MILLIS: i64 = 86_400_000;

/// The schema in which the columns of a table are written.
pub(super) fn schema(batch: &RecordBatch) -> SchemaRef {
    let schema = batch.schema();
    let fields = schema.fields().iter().zip(batch.columns());
    let fields: Vec<FieldRef> =
        fields.map(|(field, column)| written(field, Some(column))).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Rows of the table in that schema.
///
/// # Errors
/// A moment that milliseconds do not hold.
pub(super) fn rows(rows: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let column = |(array, field): (&ArrayRef, &FieldRef)| match array.data_type() {
        same if same == field.data_type() => Ok(Arc::clone(array)),
        _ => cast_with_options(array, field.data_type(), &options),
    };
    let columns = rows.columns().iter().zip(schema.fields()).map(column);
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

fn written(field: &FieldRef, column: Option<&ArrayRef>) -> FieldRef {
    let kind = kind(field.data_type(), column);
    match &kind == field.data_type() {
        true => Arc::clone(field),
        false => {
            let to = Field::new(field.name(), kind, field.is_nullable());
            Arc::new(to.with_metadata(field.metadata().clone()))
        }
    }
}

/// The type in which values are written; `column` has them where they are not inside others.
fn kind(of: &DataType, column: Option<&ArrayRef>) -> DataType {
    use DataType as D;
    let inner = |field: &FieldRef| written(field, None);
    match of {
        D::Date64 => {
            let values = column.map(|column| column.as_primitive::<Date64Type>());
            let days = values.is_some_and(|days| days.iter().flatten().all(is_day));
            if days { D::Date32 } else { D::Timestamp(TimeUnit::Millisecond, None) }
        }
        D::Timestamp(TimeUnit::Second, zone) => D::Timestamp(TimeUnit::Millisecond, zone.clone()),
        D::Time32(TimeUnit::Second) => D::Time32(TimeUnit::Millisecond),
        D::List(item) => D::List(inner(item)),
        D::LargeList(item) => D::LargeList(inner(item)),
        D::FixedSizeList(item, len) => D::FixedSizeList(inner(item), *len),
        D::Struct(fields) => D::Struct(fields.iter().map(inner).collect()),
        other => other.clone(),
    }
}

/// Whether a date of milliseconds is a day of the 32-bit range.
fn is_day(millis: i64) -> bool {
    millis % DAY_MILLIS == 0 && i32::try_from(millis / DAY_MILLIS).is_ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use arrow_array::{Date64Array, ListArray, TimestampSecondArray, types::TimestampSecondType};

    use super::*;

    fn of(column: ArrayRef) -> Result<ArrayRef, ArrowError> {
        let batch = RecordBatch::try_from_iter([("v", column)]).unwrap();
        rows(&batch, &schema(&batch)).map(|rows| Arc::clone(rows.column(0)))
    }

    #[test]
    fn seconds_are_milliseconds_and_days_are_days() {
        let days = of(Arc::new(Date64Array::from(vec![Some(0), None, Some(2 * DAY_MILLIS)])));
        assert_eq!(days.unwrap().data_type(), &DataType::Date32);
        let odd = of(Arc::new(Date64Array::from(vec![1])));
        assert_eq!(odd.unwrap().data_type(), &DataType::Timestamp(TimeUnit::Millisecond, None));
        let moments = TimestampSecondArray::from(vec![5]).with_timezone("UTC");
        let zone = Some("UTC".into());
        let kind = of(Arc::new(moments)).unwrap().data_type().clone();
        assert_eq!(kind, DataType::Timestamp(TimeUnit::Millisecond, zone));
        let lists = [Some(vec![Some(7), None]), None];
        let lists = ListArray::from_iter_primitive::<TimestampSecondType, _, _>(lists);
        let lists = of(Arc::new(lists)).unwrap();
        assert_eq!(lists.as_list::<i32>().values().len(), 2);
        assert!(format!("{:?}", lists.data_type()).contains("Millisecond"));
        assert!(of(Arc::new(TimestampSecondArray::from(vec![i64::MAX]))).is_err(), "never cut");
    }
}
