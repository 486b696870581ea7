//! Columns of values of one width. They are decoded some rows at a time, which stay in the nearest cache, and copied to where
//! they belong in the column: its memory is taken once, for all row groups.

use arrow_array::{Array as _, ArrayRef, make_array, new_empty_array};
use arrow_buffer::{NullBuffer, NullBufferBuilder};
use arrow_schema::DataType;

use super::bad;
use crate::IngestError;
use crate::memory::Memory;

/// The bytes of a value of a column that is read in this way.
pub(super) fn width(data_type: &DataType) -> Option<usize> {
    match data_type {
        // A look at every digit goes with these.
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => None,
        other => other.primitive_width(),
    }
}

/// The rows of one row group in the making.
pub(super) struct Values<'a> {
    width: usize,
    /// Where they belong.
    place: &'a mut [u8],
    rows: usize,
    nulls: NullBufferBuilder,
}

impl<'a> Values<'a> {
    /// `place` has room for all rows, each of which has `width` bytes.
    pub(super) fn new(place: &'a mut [u8], width: usize) -> Self {
        let nulls = NullBufferBuilder::new(place.len() / width);
        Self { width, place, rows: 0, nulls }
    }

    /// Appends the values of an array.
    pub(super) fn append(&mut self, array: &ArrayRef) -> Result<(), IngestError> {
        let data = array.to_data();
        let bytes = data.buffers().first().and_then(|buffer| {
            let from = data.offset() * self.width;
            buffer.as_slice().get(from..from + data.len() * self.width)
        });
        let start = self.rows * self.width;
        let place = self.place.get_mut(start..start + data.len() * self.width);
        let (Some(bytes), Some(place)) = (bytes, place) else {
            return Err(bad("a row group has more rows than it says"));
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
    pub(super) fn finish(mut self) -> Result<Valid, IngestError> {
        if self.rows * self.width != self.place.len() {
            return Err(bad("a row group has fewer rows than it says"));
        }
        Ok(Valid { rows: self.rows, nulls: self.nulls.finish() })
    }
}

/// Which rows of a row group have a value.
pub(super) struct Valid {
    rows: usize,
    nulls: Option<NullBuffer>,
}

/// The column whose values lie in `memory`.
pub(super) fn array(
    data_type: &DataType,
    width: usize,
    memory: Memory,
    parts: &[Valid],
) -> Result<ArrayRef, IngestError> {
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
    Ok(make_array(data.build().map_err(bad)?))
}
