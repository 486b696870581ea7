//! Texts. Those that come as views are copied once from a dictionary or a page, and short ones in steps of one size.

use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef, StringArray, StringViewArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer, ScalarBuffer};

use super::values::contradiction;
use crate::error::one_line;
use crate::memory::Memory;
use crate::{Format, IngestError};

/// Bytes that a view itself has room for.
const SHORT: usize = 12;

/// Texts in the making.
pub struct Texts {
    format: Format,
    rows: usize,
    rows_max: usize,
    ends: Memory,
    len: usize,
    bytes: Memory,
    nulls: NullBufferBuilder,
}

impl Texts {
    /// Room for so many rows.
    pub fn new(format: Format, rows_max: usize) -> Result<Self, IngestError> {
        let mut ends = Memory::room::<i32>(rows_max + 1)?;
        ends.values_mut::<i32>()[0] = 0;
        let (bytes, nulls) = (Memory::room::<u8>(0)?, NullBufferBuilder::new(rows_max));
        Ok(Self { format, rows: 0, rows_max, ends, len: 0, bytes, nulls })
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Appends the texts of `array`.
    pub fn append(&mut self, array: &StringArray) -> Result<(), IngestError> {
        self.check_rows(array.len())?;
        let ends = array.value_offsets();
        let (from, to) = (ends[0] as usize, ends[array.len()] as usize);
        let before = self.len;
        self.make_room(to - from, array.len())?;
        self.bytes.values_mut::<u8>()[before..before + to - from]
            .copy_from_slice(&array.value_data()[from..to]);
        let own = &mut self.ends.values_mut::<i32>()[self.rows + 1..];
        for (own, end) in own.iter_mut().zip(&ends[1..]) {
            // Below the bound that `make_room` has.
            *own = (before + (*end as usize - from)) as i32;
        }
        self.len += to - from;
        match array.nulls() {
            Some(nulls) => self.nulls.append_buffer(nulls),
            None => self.nulls.append_n_non_nulls(array.len()),
        }
        self.rows += array.len();
        Ok(())
    }

    fn check_rows(&self, more: usize) -> Result<(), IngestError> {
        if more > self.rows_max - self.rows { Err(contradiction(self.format)) } else { Ok(()) }
    }

    /// Appends the texts of `views`.
    pub fn append_views(&mut self, views: &StringViewArray) -> Result<(), IngestError> {
        self.check_rows(views.len())?;
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
        if i32::try_from(self.len + more).is_err() {
            let message = "a column, or its part in a row group, has more than 2 GiB of text, the limit; \
                           send it in parts";
            return Err(IngestError::too_large(message));
        }
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
    pub fn finish(mut self) -> Result<ArrayRef, IngestError> {
        let ends = self.rows + 1;
        let ends = ScalarBuffer::new(self.ends.into_buffer::<i32>(ends), 0, ends);
        let bytes = self.bytes.into_buffer::<u8>(self.len);
        let array = StringArray::try_new(OffsetBuffer::new(ends), bytes, self.nulls.finish());
        let format = self.format;
        let bad = |e| {
            let message = format!("the {format} data cannot be read: {}", one_line(e));
            IngestError::malformed(format, message)
        };
        Ok(Arc::new(array.map_err(bad)?))
    }
}

/// The length of the text of a view.
fn length(view: u128) -> usize {
    view as u32 as usize
}
