//! [`Table`]: a validated record batch, its summary and its stored form.

use std::collections::HashSet;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_ipc::{Block, MetadataVersion, root_as_footer};
use arrow_schema::{ArrowError, DataType, SchemaRef, TimeUnit};
use graphlume_types::limits::{COLUMNS_MAX, JSON_DEPTH_MAX, ROWS_MAX};
use serde::{Deserialize, Serialize};

use crate::TableError;

/// A table in memory: columns of equal length with distinct names. Cloning shares the buffers.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    batch: RecordBatch,
}

/// What a table looks like from outside, in the shape of the interface's table schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSummary {
    /// Name of the table.
    pub name: String,
    /// Column name to dtype name, in column order.
    pub dtypes: serde_json::Map<String, serde_json::Value>,
    /// Number of columns.
    pub num_cols: usize,
    /// Number of rows.
    pub num_rows: usize,
}

impl Table {
    /// Takes a batch as a table.
    ///
    /// # Errors
    /// Duplicate column names, more than [`ROWS_MAX`] rows or [`COLUMNS_MAX`] columns, or a type nested
    /// deeper than [`JSON_DEPTH_MAX`].
    pub fn try_new(batch: RecordBatch) -> Result<Self, TableError> {
        check_schema(batch.schema_ref())?;
        check_rows(batch.num_rows() as u64)?;
        Ok(Self { batch })
    }

    /// Joins batches of one schema into one contiguous table. No batch at all is an empty table.
    ///
    /// # Errors
    /// As [`Table::try_new`]; also batches whose types differ from `schema`, and string columns that
    /// together exceed what 32-bit offsets can address.
    pub fn concat(schema: SchemaRef, batches: &[RecordBatch]) -> Result<Self, TableError> {
        check_schema(&schema)?;
        check_rows(batches.iter().map(|b| b.num_rows() as u64).sum())?;
        if let [one] = batches
            && one.schema_ref().fields() == schema.fields()
        {
            return Self::try_new(one.clone());
        }
        // A dictionary whose key type is too narrow for the joined dictionary is an error or a panic,
        // depending on the type.
        let joined = catch_unwind(AssertUnwindSafe(|| {
            arrow_select::concat::concat_batches(&schema, batches)
        }));
        match joined {
            Ok(Ok(batch)) => Self::try_new(batch),
            Ok(Err(e)) => Err(TableError::Join(e.to_string())),
            Err(_) => Err(TableError::Join("the joined columns are too long".to_owned())),
        }
    }

    /// The batch.
    #[must_use]
    pub fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// Number of rows.
    #[must_use]
    pub fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// Number of columns.
    #[must_use]
    pub fn num_cols(&self) -> usize {
        self.batch.num_columns()
    }

    /// The column called `name`.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&ArrayRef> {
        self.batch.column_by_name(name)
    }

    /// Column names in order.
    #[must_use]
    pub fn column_names(&self) -> Vec<&str> {
        self.batch.schema_ref().fields().iter().map(|f| f.name().as_str()).collect()
    }

    /// Shape and dtypes, for the table called `name`.
    #[must_use]
    pub fn summary(&self, name: &str) -> TableSummary {
        let dtypes = self.batch.schema_ref().fields().iter();
        TableSummary {
            name: name.to_owned(),
            dtypes: dtypes
                .map(|f| (f.name().clone(), pandas_dtype(f.data_type()).into()))
                .collect(),
            num_cols: self.num_cols(),
            num_rows: self.num_rows(),
        }
    }

    /// Bytes of the Arrow buffers that the columns refer to; a buffer shared by columns counts once.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let mut seen = HashSet::new();
        self.batch.columns().iter().map(|c| buffer_bytes(&c.to_data(), &mut seen)).sum()
    }

    /// Writes the stored form: an Arrow IPC file, uncompressed, 64-byte aligned, one batch.
    /// Returns the number of bytes written.
    ///
    /// # Errors
    /// [`TableError::Write`] when the writer fails.
    pub fn write_arrow<W: Write>(&self, w: W) -> Result<u64, TableError> {
        let write = || -> Result<u64, ArrowError> {
            let options = IpcWriteOptions::try_new(64, false, MetadataVersion::V5)?;
            let counted = Counted { inner: w, bytes: 0 };
            let schema = self.batch.schema_ref();
            let mut writer = FileWriter::try_new_with_options(counted, schema, options)?;
            writer.write(&self.batch)?;
            writer.finish()?;
            writer.flush()?;
            Ok(writer.get_ref().bytes)
        };
        match catch_unwind(AssertUnwindSafe(write)) {
            Ok(done) => done.map_err(|e| TableError::Write(e.to_string())),
            Err(_) => Err(TableError::Write("the Arrow writer failed".to_owned())),
        }
    }

    /// Reads the stored form. The columns refer to `bytes` without a copy when it is 64-byte aligned.
    ///
    /// # Errors
    /// [`TableError::Corrupt`] when the bytes are not a whole, valid Arrow file.
    pub fn read_arrow(bytes: Buffer) -> Result<Self, TableError> {
        match catch_unwind(AssertUnwindSafe(|| decode_file(&bytes))) {
            Ok(done) => done,
            Err(_) => Err(TableError::Corrupt("the Arrow metadata is inconsistent".to_owned())),
        }
    }
}

/// Counts what passes through, because the Arrow writer does not tell its length.
struct Counted<W> {
    inner: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        let n = self.inner.write(buf)?;
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

fn check_schema(schema: &SchemaRef) -> Result<(), TableError> {
    let columns = schema.fields().len();
    if columns > COLUMNS_MAX {
        return Err(TableError::TooManyColumns { columns });
    }
    let mut names = HashSet::with_capacity(columns);
    for field in schema.fields() {
        if !names.insert(field.name()) {
            return Err(TableError::DuplicateColumn { name: field.name().clone() });
        }
        if !shallow(field.data_type(), JSON_DEPTH_MAX) {
            return Err(TableError::TooDeep { name: field.name().clone() });
        }
    }
    Ok(())
}

fn check_rows(rows: u64) -> Result<(), TableError> {
    if rows > ROWS_MAX { Err(TableError::TooManyRows { rows }) } else { Ok(()) }
}

fn shallow(dtype: &DataType, levels: usize) -> bool {
    let Some(levels) = levels.checked_sub(1) else { return false };
    match dtype {
        DataType::List(f)
        | DataType::LargeList(f)
        | DataType::ListView(f)
        | DataType::LargeListView(f)
        | DataType::FixedSizeList(f, _)
        | DataType::Map(f, _)
        | DataType::RunEndEncoded(_, f) => shallow(f.data_type(), levels),
        DataType::Struct(fields) => fields.iter().all(|f| shallow(f.data_type(), levels)),
        DataType::Union(fields, _) => fields.iter().all(|(_, f)| shallow(f.data_type(), levels)),
        DataType::Dictionary(_, values) => shallow(values, levels),
        _ => true,
    }
}

fn buffer_bytes(data: &ArrayData, seen: &mut HashSet<(usize, usize)>) -> u64 {
    let nulls = data.nulls().map(|n| n.buffer());
    let own: u64 = data
        .buffers()
        .iter()
        .chain(nulls)
        .filter(|b| seen.insert((b.as_ptr() as usize, b.len())))
        .map(|b| b.len() as u64)
        .sum();
    own + data.child_data().iter().map(|c| buffer_bytes(c, seen)).sum::<u64>()
}

fn corrupt(e: impl std::fmt::Display) -> TableError {
    TableError::Corrupt(e.to_string())
}

fn block_slice(bytes: &Buffer, block: &Block) -> Result<Buffer, TableError> {
    let outside = || corrupt("a block lies outside the file");
    let at = usize::try_from(block.offset()).map_err(|_| outside())?;
    let head = usize::try_from(block.metaDataLength()).map_err(|_| outside())?;
    let body = usize::try_from(block.bodyLength()).map_err(|_| outside())?;
    let len = head.checked_add(body).ok_or_else(outside)?;
    match at.checked_add(len) {
        Some(end) if end <= bytes.len() => Ok(bytes.slice_with_length(at, len)),
        _ => Err(outside()),
    }
}

fn decode_file(bytes: &Buffer) -> Result<Table, TableError> {
    const TRAILER: usize = 10;
    let Some(trailer_at) = bytes.len().checked_sub(TRAILER) else {
        return Err(corrupt("the file is shorter than its trailer"));
    };
    let mut trailer = [0u8; TRAILER];
    trailer.copy_from_slice(&bytes[trailer_at..]);
    let footer_len = read_footer_length(trailer).map_err(corrupt)?;
    let footer_at = trailer_at
        .checked_sub(footer_len)
        .ok_or_else(|| corrupt("the footer is longer than the file"))?;
    let footer = root_as_footer(&bytes[footer_at..trailer_at]).map_err(corrupt)?;
    let fb_schema = footer.schema().ok_or_else(|| corrupt("the footer has no schema"))?;
    let schema = Arc::new(fb_to_schema(fb_schema));

    let mut decoder = FileDecoder::new(schema.clone(), footer.version());
    for block in footer.dictionaries().iter().flatten() {
        decoder.read_dictionary(block, &block_slice(bytes, block)?).map_err(corrupt)?;
    }
    let mut batches = Vec::new();
    for block in footer.recordBatches().iter().flatten() {
        let part = block_slice(bytes, block)?;
        batches.extend(decoder.read_record_batch(block, &part).map_err(corrupt)?);
    }
    Table::concat(schema, &batches)
}

/// The name that pandas would show for a column of this type, as far as the type alone tells.
#[must_use]
pub fn pandas_dtype(dtype: &DataType) -> String {
    let unit = |u: &TimeUnit| match u {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    let fixed = match dtype {
        DataType::Boolean => "bool",
        DataType::Int8 => "int8",
        DataType::Int16 => "int16",
        DataType::Int32 => "int32",
        DataType::Int64 => "int64",
        DataType::UInt8 => "uint8",
        DataType::UInt16 => "uint16",
        DataType::UInt32 => "uint32",
        DataType::UInt64 => "uint64",
        DataType::Float16 => "float16",
        DataType::Float32 => "float32",
        DataType::Float64 => "float64",
        DataType::Date64 => "datetime64[ms]",
        DataType::Dictionary(..) => "category",
        DataType::RunEndEncoded(_, values) => return pandas_dtype(values.data_type()),
        DataType::Timestamp(u, None) => return format!("datetime64[{}]", unit(u)),
        DataType::Timestamp(u, Some(tz)) => return format!("datetime64[{}, {tz}]", unit(u)),
        DataType::Duration(u) => return format!("timedelta64[{}]", unit(u)),
        _ => "object",
    };
    fixed.to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use arrow_array::*;
    use arrow_schema::{Field, Schema};
    use graphlume_types::Coded;
    use serde_json::json;

    use super::*;

    fn sample() -> RecordBatch {
        let kinds: DictionaryArray<types::Int8Type> =
            vec![Some("x"), None, Some("x")].into_iter().collect();
        RecordBatch::try_from_iter([
            ("id", Arc::new(Int64Array::from(vec![3, 1, 2])) as ArrayRef),
            ("name", Arc::new(StringViewArray::from(vec![Some("a"), None, Some("")]))),
            ("kind", Arc::new(kinds)),
        ])
        .unwrap()
    }

    fn stored(table: &Table) -> Vec<u8> {
        let mut bytes = Vec::new();
        let n = table.write_arrow(&mut bytes).unwrap();
        assert_eq!(n, bytes.len() as u64);
        bytes
    }

    #[test]
    fn the_stored_form_reads_back_and_is_not_copied() {
        let table = Table::try_new(sample()).unwrap();
        let buffer = Buffer::from(stored(&table));
        let range = buffer.as_ptr() as usize..buffer.as_ptr() as usize + buffer.len();
        let back = Table::read_arrow(buffer).unwrap();
        assert_eq!(back, table);
        let ids = back.column("id").unwrap().to_data();
        assert!(range.contains(&(ids.buffers()[0].as_ptr() as usize)));
        let part = Table::try_new(sample().slice(1, 2)).unwrap();
        assert_eq!(Table::read_arrow(stored(&part).into()).unwrap(), part);
        let none = Table::try_new(RecordBatch::new_empty(sample().schema())).unwrap();
        assert_eq!(Table::read_arrow(stored(&none).into()).unwrap(), none);
    }

    #[test]
    fn damage_is_reported_and_never_a_panic() {
        let bytes = stored(&Table::try_new(sample()).unwrap());
        for len in 0..bytes.len() {
            let e = Table::read_arrow(bytes[..len].to_vec().into()).unwrap_err();
            assert_eq!(e.slug(), "table-corrupt", "{len}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            let _ = Table::read_arrow(damaged.into());
        }
    }

    #[test]
    fn the_summary_keeps_the_order_of_columns() {
        let summary = Table::try_new(sample()).unwrap().summary("edges");
        let want = json!({"name": "edges", "num_cols": 3, "num_rows": 3,
            "dtypes": {"id": "int64", "name": "object", "kind": "category"}});
        let text = serde_json::to_string(&summary).unwrap();
        assert!(text.contains(r#""id":"int64","name":"object","kind""#), "{text}");
        assert_eq!(serde_json::to_value(summary).unwrap(), want);
    }

    #[test]
    fn duplicate_names_deep_types_and_too_many_columns_are_refused() {
        let column = || Arc::new(Int64Array::from(vec![1])) as ArrayRef;
        let field = |n: &str| Field::new(n, DataType::Int64, true);
        let twice = Schema::new(vec![field("a"), field("a")]);
        let twice = RecordBatch::try_new(Arc::new(twice), vec![column(), column()]).unwrap();
        assert_eq!(Table::try_new(twice).unwrap_err().slug(), "duplicate-column");
        let wide: Vec<_> = (0..=COLUMNS_MAX).map(|i| field(&i.to_string())).collect();
        let wide = Table::concat(Arc::new(Schema::new(wide)), &[]);
        assert_eq!(wide.unwrap_err().slug(), "too-many-columns");
        let mut deep = DataType::Int64;
        for _ in 0..JSON_DEPTH_MAX {
            deep = DataType::new_list(deep, true);
        }
        let deep = Schema::new(vec![Field::new("d", deep, true)]);
        assert_eq!(Table::concat(Arc::new(deep), &[]).unwrap_err().slug(), "too-deep");
    }

    #[test]
    fn parts_are_joined_into_one_batch() {
        let table = Table::concat(sample().schema(), &[sample(), sample()]).unwrap();
        assert_eq!((table.num_rows(), table.num_cols()), (6, 3));
        let ids = table.column("id").unwrap();
        assert_eq!(crate::to_f64(ids).unwrap(), [3.0, 1.0, 2.0, 3.0, 1.0, 2.0]);
        let other = Schema::new(vec![Field::new("id", DataType::Utf8, true)]);
        let e = Table::concat(Arc::new(other), &[sample(), sample()]).unwrap_err();
        assert_eq!(e.slug(), "table-parts-differ");
    }

    #[test]
    fn memory_counts_what_columns_refer_to_once() {
        let ids: ArrayRef = Arc::new(Int64Array::from(vec![0; 1000]));
        let one = RecordBatch::try_from_iter([("a", ids.clone())]).unwrap();
        assert_eq!(Table::try_new(one).unwrap().memory_bytes(), 8000);
        let two = RecordBatch::try_from_iter([("a", ids.clone()), ("b", ids.clone())]).unwrap();
        assert_eq!(Table::try_new(two).unwrap().memory_bytes(), 8000);
        let part = RecordBatch::try_from_iter([("a", ids.slice(10, 5))]).unwrap();
        assert_eq!(Table::try_new(part).unwrap().memory_bytes(), 40);
    }

    #[test]
    fn dtypes_are_those_of_pandas() {
        for (dtype, name) in [
            (DataType::LargeUtf8, "object"),
            (DataType::Timestamp(TimeUnit::Nanosecond, None), "datetime64[ns]"),
            (DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), "datetime64[us, UTC]"),
            (DataType::Duration(TimeUnit::Second), "timedelta64[s]"),
            (DataType::Null, "object"),
            (DataType::Date32, "object"),
        ] {
            assert_eq!(pandas_dtype(&dtype), name);
        }
    }
}
