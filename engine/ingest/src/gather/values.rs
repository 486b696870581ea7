//! Values of one width. Their memory is taken once, also for several parts of a file that are read at the same time.

use arrow_array::{Array as _, ArrayRef, make_array, new_empty_array};
use arrow_buffer::{NullBuffer, NullBufferBuilder};
use arrow_schema::{ArrowError, DataType};

use crate::memory::Memory;
use crate::{Format, IngestError};

/// The bytes of a value of a column that is read in this way.
pub fn width(data_type: &DataType) -> Option<usize> {
    match data_type {
        // A look at every digit goes with these.
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => None,
        other => other.primitive_width(),
    }
}

/// Rows in the making.
pub struct Values<'a> {
    format: Format,
    width: usize,
    /// Where they belong.
    place: &'a mut [u8],
    rows: usize,
    nulls: NullBufferBuilder,
}

impl<'a> Values<'a> {
    /// `place` has room for exactly the rows that will come, each of which has `width` bytes.
    pub fn new(format: Format, place: &'a mut [u8], width: usize) -> Self {
        let nulls = NullBufferBuilder::new(place.len() / width);
        Self { format, width, place, rows: 0, nulls }
    }

    /// Appends the values of an array.
    pub fn append(&mut self, array: &ArrayRef) -> Result<(), IngestError> {
        let data = array.to_data();
        let bytes = data.buffers().first().and_then(|buffer| {
            let from = data.offset() * self.width;
            buffer.as_slice().get(from..from + data.len() * self.width)
        });
        let start = self.rows * self.width;
        let place = self.place.get_mut(start..start + data.len() * self.width);
        let (Some(bytes), Some(place)) = (bytes, place) else {
            return Err(contradiction(self.format));
        };
        place.copy_from_slice(bytes);
        match data.nulls() {
            Some(nulls) => self.nulls.append_buffer(nulls),
            None => self.nulls.append_n_non_nulls(data.len()),
        }
        self.rows += data.len();
        Ok(())
    }

    /// Which rows have a value.
    pub fn finish(mut self) -> Result<Valid, IngestError> {
        if self.rows * self.width != self.place.len() {
            return Err(contradiction(self.format));
        }
        Ok(Valid { rows: self.rows, nulls: self.nulls.finish() })
    }
}

/// A file has more rows or less than it says.
pub(super) fn contradiction(format: Format) -> IngestError {
    let message =
        format!("the {format} data cannot be read: it does not have as many rows as it says");
    IngestError::malformed(format, message)
}

/// Which rows have a value.
pub struct Valid {
    rows: usize,
    nulls: Option<NullBuffer>,
}

/// The column whose values lie in `memory`.
pub fn array(
    data_type: &DataType,
    width: usize,
    memory: Memory,
    parts: &[Valid],
) -> Result<ArrayRef, ArrowError> {
    let rows = parts.iter().map(|part| part.rows).sum();
    let mut nulls = NullBufferBuilder::new(rows);
    for Valid { rows, nulls: own } in parts {
        match own {
            Some(own) => nulls.append_buffer(own),
            None => nulls.append_n_non_nulls(*rows),
        }
    }
    let data = new_empty_array(data_type).to_data().into_builder().len(rows);
    let data = data.buffers(vec![memory.into_buffer::<u8>(rows * width)]).nulls(nulls.finish());
    Ok(make_array(data.build()?))
}
