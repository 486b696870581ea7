//! Timestamps of 96 bits, as Spark, Impala and older pandas write them: days and nanoseconds, which reach beyond 64 bits of
//! nanoseconds. A column is read in the finest unit that holds all its values.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    ArrowTimestampType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, FieldRef, Schema, TimeUnit};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Type as PhysicalType;

use super::{Job, bad};
use crate::IngestError;

/// Units from the finest, with how many of them make a second.
const UNITS: [(TimeUnit, i64); 4] = [
    (TimeUnit::Nanosecond, 1_000_000_000),
    (TimeUnit::Microsecond, 1_000_000),
    (TimeUnit::Millisecond, 1_000),
    (TimeUnit::Second, 1),
];

/// The metadata by which the columns at `roots` are read without a value that wraps, and what is to be said of it.
///
/// # Errors
/// Damaged columns.
pub(super) fn fitted(
    job: &Job<'_>,
    groups: &[usize],
    roots: &[usize],
) -> Result<(ArrowReaderMetadata, Vec<String>), IngestError> {
    let mut fields = job.metadata.schema().fields().to_vec();
    let mut cut = Vec::new();
    for root in roots.iter().copied() {
        let leaves = Leaves::of(job.metadata, root);
        if !leaves.is_int96.contains(&true) {
            continue;
        }
        let field = Arc::clone(&fields[root]);
        // Seconds hold every value.
        let unit = finest(leaves.farthest(&read(job, groups, root, &leaves, TimeUnit::Second)?));
        let unit = match unit {
            // What Spark has is microseconds of 64 bits: days that it wrote beyond them wrap to what they were.
            TimeUnit::Millisecond | TimeUnit::Second if is_of_spark(job.metadata) => {
                TimeUnit::Microsecond
            }
            unit => unit,
        };
        let whole = leaves.with_unit(&field, unit);
        if unit != TimeUnit::Nanosecond {
            let lost = leaves.lost(job, groups, root, unit)?;
            if lost > 0 {
                let name = field.name();
                cut.push(format!(
                    "column {name:?} has timestamps that nanoseconds do not reach, so that it is read in {}; {lost} of its \
                     values are finer and were cut",
                    words(unit)
                ));
            }
        }
        fields[root] = whole;
    }
    let is_as_it_was = fields.iter().eq(job.metadata.schema().fields());
    let metadata =
        if is_as_it_was { job.metadata.clone() } else { with_fields(job.metadata, fields)? };
    Ok((metadata, cut))
}

fn is_of_spark(metadata: &ArrowReaderMetadata) -> bool {
    let known = metadata.metadata().file_metadata().key_value_metadata();
    known.is_some_and(|all| all.iter().any(|entry| entry.key.starts_with("org.apache.spark.")))
}

const fn words(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Nanosecond => "nanoseconds",
        TimeUnit::Microsecond => "microseconds",
        TimeUnit::Millisecond => "milliseconds",
        TimeUnit::Second => "seconds",
    }
}

/// The finest unit in which times so many seconds from 1970 fit 64 bits.
fn finest(seconds: u64) -> TimeUnit {
    // Fractions of a second come on top.
    let fits = |per_second: i64| {
        seconds.saturating_add(1) <= i64::MAX.unsigned_abs() / per_second.unsigned_abs()
    };
    UNITS.iter().find(|(_, per)| fits(*per)).map_or(TimeUnit::Second, |(unit, _)| *unit)
}

/// The metadata by which columns are read as `fields`.
pub(super) fn with_fields(
    metadata: &ArrowReaderMetadata,
    fields: Vec<FieldRef>,
) -> Result<ArrowReaderMetadata, IngestError> {
    let kept = metadata.schema().metadata().clone();
    let schema = Arc::new(Schema::new_with_metadata(fields, kept));
    let options = ArrowReaderOptions::new().with_schema(schema);
    ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options).map_err(bad)
}

/// The column at `root` with its INT96 leaves in a unit.
fn read(
    job: &Job<'_>,
    groups: &[usize],
    root: usize,
    leaves: &Leaves,
    unit: TimeUnit,
) -> Result<Vec<ArrayRef>, IngestError> {
    let mut fields = job.metadata.schema().fields().to_vec();
    fields[root] = leaves.with_unit(&fields[root], unit);
    let metadata = with_fields(job.metadata, fields)?;
    let job = Job::new(job.bytes, &metadata, job.cx);
    let parts = groups.iter().map(|group| job.part(*group, root));
    Ok(parts.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// The leaves of one column, in the order of the file.
struct Leaves {
    is_int96: Vec<bool>,
}

impl Leaves {
    fn of(metadata: &ArrowReaderMetadata, root: usize) -> Self {
        let schema = metadata.parquet_schema();
        let own =
            (0..schema.num_columns()).filter(|leaf| schema.get_column_root_idx(*leaf) == root);
        let is_int96 = |leaf| schema.column(leaf).physical_type() == PhysicalType::INT96;
        Self { is_int96: own.map(is_int96).collect() }
    }

    /// The field with `unit` at its INT96 leaves.
    fn with_unit(&self, field: &FieldRef, unit: TimeUnit) -> FieldRef {
        self.changed(field, unit, &mut 0)
    }

    fn changed(&self, field: &FieldRef, unit: TimeUnit, leaf: &mut usize) -> FieldRef {
        let mut child = |f: &FieldRef| self.changed(f, unit, leaf);
        let data_type = match field.data_type() {
            DataType::Struct(fields) => DataType::Struct(fields.iter().map(child).collect()),
            DataType::List(f) => DataType::List(child(f)),
            DataType::LargeList(f) => DataType::LargeList(child(f)),
            DataType::FixedSizeList(f, n) => DataType::FixedSizeList(child(f), *n),
            DataType::Map(f, sorted) => DataType::Map(child(f), *sorted),
            other => {
                let is_int96 = self.is_int96.get(*leaf).copied().unwrap_or_default();
                *leaf += 1;
                match other {
                    DataType::Timestamp(TimeUnit::Nanosecond, zone) if is_int96 => {
                        DataType::Timestamp(unit, zone.clone())
                    }
                    other => other.clone(),
                }
            }
        };
        Arc::new(Field::clone(field).with_data_type(data_type))
    }

    /// The arrays of the INT96 leaves of a column.
    fn arrays(&self, column: &ArrayRef) -> Vec<ArrayRef> {
        let mut all = Vec::new();
        flatten(column, &mut all);
        all.into_iter().zip(&self.is_int96).filter(|(_, is)| **is).map(|(array, _)| array).collect()
    }

    /// How many seconds from 1970 the farthest time lies.
    fn farthest(&self, columns: &[ArrayRef]) -> u64 {
        let arrays = columns.iter().flat_map(|column| self.arrays(column));
        arrays
            .flat_map(|array| values::<TimestampSecondType>(&array))
            .flatten()
            .map(i64::unsigned_abs)
            .max()
            .unwrap_or(0)
    }

    /// Values that are finer than `unit`.
    fn lost(
        &self,
        job: &Job<'_>,
        groups: &[usize],
        root: usize,
        unit: TimeUnit,
    ) -> Result<usize, IngestError> {
        // Nanoseconds wrap where they do not fit, so that their difference is right all the same.
        let exact = read(job, groups, root, self, TimeUnit::Nanosecond)?;
        let coarse = read(job, groups, root, self, unit)?;
        let nanos_each =
            UNITS.iter().find(|(u, _)| *u == unit).map_or(1, |(_, per)| 1_000_000_000 / per);
        let mut lost = 0;
        for (exact, coarse) in exact.iter().zip(&coarse) {
            for (exact, coarse) in self.arrays(exact).iter().zip(self.arrays(coarse)) {
                let coarse = match unit {
                    TimeUnit::Nanosecond => values::<TimestampNanosecondType>(&coarse),
                    TimeUnit::Microsecond => values::<TimestampMicrosecondType>(&coarse),
                    TimeUnit::Millisecond => values::<TimestampMillisecondType>(&coarse),
                    TimeUnit::Second => values::<TimestampSecondType>(&coarse),
                };
                let is_cut = |(exact, coarse): &(Option<i64>, Option<i64>)| {
                    exact.zip(*coarse).is_some_and(|(e, c)| e != c.wrapping_mul(nanos_each))
                };
                lost += values::<TimestampNanosecondType>(exact)
                    .into_iter()
                    .zip(coarse)
                    .filter(is_cut)
                    .count();
            }
        }
        Ok(lost)
    }
}

fn values<T: ArrowTimestampType>(array: &ArrayRef) -> Vec<Option<i64>> {
    array.as_primitive_opt::<T>().map(|a| a.iter().collect()).unwrap_or_default()
}

/// The leaves of an array in the order of their schema.
fn flatten(array: &ArrayRef, leaves: &mut Vec<ArrayRef>) {
    match array.data_type() {
        DataType::Struct(_) => array.as_struct().columns().iter().for_each(|a| flatten(a, leaves)),
        DataType::List(_) => flatten(array.as_list::<i32>().values(), leaves),
        DataType::LargeList(_) => flatten(array.as_list::<i64>().values(), leaves),
        DataType::FixedSizeList(..) => flatten(array.as_fixed_size_list().values(), leaves),
        DataType::Map(..) => {
            let entries: ArrayRef = Arc::new(array.as_map().entries().clone());
            flatten(&entries, leaves);
        }
        _ => leaves.push(Arc::clone(array)),
    }
}
