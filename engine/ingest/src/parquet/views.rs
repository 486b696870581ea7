//! Columns of texts. They are decoded as views, some rows at a time: what a dictionary or a page holds is then copied once, and
//! short texts in steps of one size.

use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef, StringArray, StringViewArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;

use super::bad;
use super::int96::with_fields;
use crate::IngestError;
use crate::memory::Memory;

/// Bytes that a view itself has room for.
const SHORT: usize = 12;

/// The metadata by which the texts among the columns are read as views; none where there are no texts.
pub(super) fn metadata(of: &ArrowReaderMetadata) -> Option<ArrowReaderMetadata> {
    let fields = of.schema().fields();
    if !fields.iter().any(|f| *f.data_type() == DataType::Utf8) {
        return None;
    }
    let viewed = fields.iter().map(|field| match field.data_type() {
        DataType::Utf8 => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View)),
        _ => Arc::clone(field),
    });
    // What the reader does not take as views, it takes as it is.
    with_fields(of, viewed.collect()).ok()
}

/// Texts in the making.
pub(super) struct Texts {
    rows: usize,
    rows_max: usize,
    ends: Memory,
    len: usize,
    bytes: Memory,
    nulls: NullBufferBuilder,
}

impl Texts {
    /// Room for so many rows.
    pub(super) fn new(rows_max: usize) -> Result<Self, IngestError> {
        let mut ends = Memory::room::<i32>(rows_max + 1)?;
        ends.values_mut::<i32>()[0] = 0;
        let (bytes, nulls) = (Memory::room::<u8>(0)?, NullBufferBuilder::new(rows_max));
        Ok(Self { rows: 0, rows_max, ends, len: 0, bytes, nulls })
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Appends the texts of `views`.
    pub(super) fn append(&mut self, views: &StringViewArray) -> Result<(), IngestError> {
        if views.len() > self.rows_max - self.rows {
            return Err(bad("a row group has more rows than it says"));
        }
        match views.nulls() {
            // What stands where there is no value is anything.
            Some(nulls) if nulls.null_count() > 0 => {
                let all = views.views().iter().zip(nulls);
                self.put(all.map(|(view, valid)| if valid { *view } else { 0 }), views)?;
                self.nulls.append_buffer(nulls);
            }
            _ => {
                self.put(views.views().iter().copied(), views)?;
                self.nulls.append_n_non_nulls(views.len());
            }
        }
        self.rows += views.len();
        Ok(())
    }

    fn put(
        &mut self,
        all: impl Iterator<Item = u128> + Clone,
        views: &StringViewArray,
    ) -> Result<(), IngestError> {
        let total: usize = all.clone().map(length).sum();
        let before = self.len;
        if i32::try_from(before + total).is_err() {
            return Err(bad("a row group has a column of more than 2 GiB of text"));
        }
        self.make_room(total, views.len())?;
        let out = &mut self.bytes.values_mut::<u8>()[before..before + total + SHORT];
        let ends = &mut self.ends.values_mut::<i32>()[self.rows + 1..];
        let mut at = 0;
        for ((row, view), end) in all.enumerate().zip(ends) {
            let len = length(view);
            if len <= SHORT {
                // What is copied beyond the text is overwritten by the next.
                out[at..at + SHORT].copy_from_slice(&view.to_le_bytes()[4..]);
            } else {
                out[at..at + len].copy_from_slice(views.value(row).as_bytes());
            }
            at += len;
            *end = (before + at) as i32;
        }
        self.len += at;
        Ok(())
    }

    /// Makes room for `more` bytes of the next `rows` rows, and for those that follow if they are alike.
    fn make_room(&mut self, more: usize, rows: usize) -> Result<(), IngestError> {
        let needed = self.len + more + SHORT;
        if self.bytes.values::<u8>().len() >= needed {
            return Ok(());
        }
        let mean = more as f64 / rows.max(1) as f64;
        let ahead = (mean * (self.rows_max - self.rows) as f64 * 1.1) as usize;
        let wish = ahead.max(self.len / 2).min(i32::MAX as usize);
        let mut bytes = Memory::room::<u8>(needed + wish)?;
        bytes.values_mut::<u8>()[..self.len]
            .copy_from_slice(&self.bytes.values::<u8>()[..self.len]);
        self.bytes = bytes;
        Ok(())
    }

    /// The column.
    pub(super) fn finish(mut self) -> Result<ArrayRef, IngestError> {
        let ends = self.rows + 1;
        let ends = ScalarBuffer::new(self.ends.into_buffer::<i32>(ends), 0, ends);
        let bytes = self.bytes.into_buffer::<u8>(self.len);
        let array = StringArray::try_new(OffsetBuffer::new(ends), bytes, self.nulls.finish());
        Ok(Arc::new(array.map_err(bad)?))
    }
}

/// The length of the text of a view.
fn length(view: u128) -> usize {
    view as u32 as usize
}
