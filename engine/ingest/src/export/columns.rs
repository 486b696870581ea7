//! Tables as Parquet: the columns of a row group are encoded by all threads.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::FieldRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, compute_leaves};
use parquet::basic::Compression;
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use rayon::prelude::*;

use super::typed;

/// Rows of a row group, which is in memory until it is written.
const GROUP_ROWS: usize = if cfg!(test) { 10_000 } else { 1 << 20 };
/// Rows that are encoded at a time, so that what is made of them on the way stays small.
const ROWS_AT_ONCE: usize = if cfg!(test) { 700 } else { 1 << 13 };

/// Writes a table, Snappy-compressed.
pub(super) fn write<W: Write + Send>(batch: &RecordBatch, out: &mut W) -> Result<()> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let schema = typed::schema(batch);
    let writer = ArrowWriter::try_new(out, Arc::clone(&schema), Some(properties))?;
    let (mut writer, groups) = writer.into_serialized_writer()?;
    for (number, from) in (0..batch.num_rows()).step_by(GROUP_ROWS).enumerate() {
        let rows = batch.slice(from, GROUP_ROWS.min(batch.num_rows() - from));
        let rows = typed::rows(&rows, &schema)?;
        let leaves = groups.create_column_writers(number)?;
        let mut group = writer.next_row_group()?;
        for chunks in encoded(&rows, leaves)? {
            for chunk in chunks {
                chunk.append_to_row_group(&mut group)?;
            }
        }
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

/// The chunks of each column.
fn encoded(
    rows: &RecordBatch,
    leaves: Vec<ArrowColumnWriter>,
) -> Result<Vec<Vec<ArrowColumnChunk>>> {
    let schema = rows.schema();
    let mut leaves = leaves.into_iter();
    let column = |(field, array): (&FieldRef, &ArrayRef)| {
        // Nested columns have several leaves, each with a writer; no rows tell how many.
        let count = compute_leaves(field, &array.slice(0, 0))?.len();
        Ok((FieldRef::clone(field), ArrayRef::clone(array), leaves.by_ref().take(count).collect()))
    };
    let columns: Vec<(FieldRef, ArrayRef, Vec<ArrowColumnWriter>)> =
        schema.fields().iter().zip(rows.columns()).map(column).collect::<Result<_>>()?;
    let encode = |(field, array, mut writers): (FieldRef, ArrayRef, Vec<ArrowColumnWriter>)| {
        for from in (0..array.len()).step_by(ROWS_AT_ONCE) {
            let some = array.slice(from, ROWS_AT_ONCE.min(array.len() - from));
            for (writer, leaf) in writers.iter_mut().zip(compute_leaves(&field, &some)?) {
                writer.write(&leaf)?;
            }
        }
        writers.into_iter().map(ArrowColumnWriter::close).collect()
    };
    // Handing a few rows to other threads takes longer than to encode them.
    if rows.num_rows() <= ROWS_AT_ONCE {
        return columns.into_iter().map(encode).collect();
    }
    columns.into_par_iter().with_max_len(1).map(encode).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    #![allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "numbers of tests are small"
    )]
    use std::sync::Arc;

    use arrow_array::builder::{Int64Builder, ListBuilder};
    use arrow_array::types::UInt32Type;
    use arrow_array::{
        DictionaryArray, Float64Array, Int64Array, NullArray, StringArray, StructArray, UInt32Array,
    };
    use arrow_schema::{DataType, Field};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;

    /// Columns of all shapes; nested ones have no leaf, one or several.
    fn sample(rows: usize) -> RecordBatch {
        let some = |i: usize| (i % 7 != 3).then_some(i);
        let ints = Int64Array::from_iter((0..rows).map(|i| some(i).map(|i| i as i64)));
        let floats =
            Float64Array::from_iter((0..rows).map(|i| some(i * 3).map(|i| i as f64 / 8.0)));
        let texts = StringArray::from_iter((0..rows).map(|i| some(i + 1).map(|i| format!("t{i}"))));
        let keys = UInt32Array::from_iter((0..rows).map(|i| some(i + 2).map(|i| i as u32 % 3)));
        let words = Arc::new(StringArray::from(vec!["x", "", "z"]));
        let mut lists = ListBuilder::new(Int64Builder::new());
        for i in 0..rows {
            (0..i % 4).for_each(|v| lists.values().append_option(some(v + i).map(|v| v as i64)));
            lists.append(some(i + 5).is_some());
        }
        let parts: Vec<(Arc<Field>, ArrayRef)> = vec![
            (Arc::new(Field::new("a", DataType::Int64, true)), Arc::new(ints.clone())),
            (Arc::new(Field::new("b", DataType::Utf8, true)), Arc::new(texts.clone())),
        ];
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("int", Arc::new(ints)),
            ("both", Arc::new(StructArray::from(parts))),
            ("float", Arc::new(floats)),
            ("void", Arc::new(NullArray::new(rows))),
            ("list", Arc::new(lists.finish())),
            ("word", Arc::new(DictionaryArray::<UInt32Type>::try_new(keys, words).unwrap())),
            ("text", Arc::new(texts)),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    #[test]
    fn all_columns_come_back_from_several_row_groups() {
        for rows in [1, ROWS_AT_ONCE, ROWS_AT_ONCE + 1, GROUP_ROWS, 2 * GROUP_ROWS + 4_321] {
            let batch = sample(rows);
            let mut out = Vec::new();
            write(&batch, &mut out).unwrap();
            let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(out)).unwrap();
            assert_eq!(reader.metadata().num_row_groups(), rows.div_ceil(GROUP_ROWS));
            let read: Vec<RecordBatch> =
                reader.with_batch_size(rows).build().unwrap().collect::<Result<_, _>>().unwrap();
            assert_eq!(
                arrow_select::concat::concat_batches(&batch.schema(), &read).unwrap(),
                batch
            );
        }
    }

    #[test]
    fn a_table_without_rows_keeps_its_columns() {
        let batch = sample(0);
        let mut out = Vec::new();
        write(&batch, &mut out).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(out)).unwrap();
        assert_eq!(reader.schema(), &batch.schema());
        assert_eq!(reader.build().unwrap().count(), 0);
    }

    #[test]
    fn a_writer_that_fails_is_an_error() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("full"))
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let error = write(&sample(30_000), &mut Full).unwrap_err();
        assert!(error.to_string().contains("full"), "{error}");
    }
}
