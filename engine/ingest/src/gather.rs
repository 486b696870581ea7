//! Columns whose rows come some at a time from a reader, small enough to stay in the nearer caches, and are copied once to where
//! they belong.

mod texts;
mod values;

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, FieldRef, Schema};
use graphlume_table::{Table, TableError};

use crate::memory::Memory;
use crate::{Format, IngestError};

pub use texts::Texts;
pub use values::{Valid, Values, array, width};

/// Rows that are decoded before they are copied to their place.
pub const NEAR_ROWS: usize = 8_192;

/// Memory for the values of a column that has some of one width.
pub fn memory(data_type: &DataType, rows: usize) -> Result<Option<Memory>, IngestError> {
    width(data_type).map(|width| Memory::room::<u8>(rows.saturating_mul(width))).transpose()
}

/// A column in the making whose rows come in their order.
pub enum Column<'a> {
    Values(Values<'a>),
    Texts(Texts),
    Arrays(Vec<ArrayRef>),
}

impl<'a> Column<'a> {
    /// For so many rows; `memory` is what [`memory`] gives.
    pub fn new(
        format: Format,
        data_type: &DataType,
        memory: Option<&'a mut Memory>,
        rows: usize,
    ) -> Result<Self, IngestError> {
        Ok(match (width(data_type), memory, data_type) {
            (Some(width), Some(memory), _) => {
                let place = &mut memory.values_mut::<u8>()[..rows * width];
                Self::Values(Values::new(format, place, width))
            }
            (_, _, DataType::Utf8) => Self::Texts(Texts::new(format, rows)?),
            _ => Self::Arrays(Vec::new()),
        })
    }

    pub fn append(&mut self, array: &ArrayRef) -> Result<(), IngestError> {
        match self {
            Self::Values(values) => values.append(array),
            Self::Texts(texts) => texts.append(array.as_string()),
            Self::Arrays(arrays) => {
                arrays.push(Arc::clone(array));
                Ok(())
            }
        }
    }

    /// What is left to be done without the memory of the values.
    pub fn finish(self) -> Result<Rest, IngestError> {
        Ok(match self {
            Self::Values(values) => Rest::Placed(values.finish()?),
            Self::Texts(texts) => Rest::Arrays(vec![texts.finish()?]),
            Self::Arrays(arrays) => Rest::Arrays(arrays),
        })
    }
}

/// A column, or its rows of one part of the file, when all were read.
pub enum Rest {
    /// The values are where they belong.
    Placed(Valid),
    Arrays(Vec<ArrayRef>),
}

/// The column of these parts.
pub fn joined(
    field: &FieldRef,
    memory: Option<Memory>,
    parts: Vec<Rest>,
) -> Result<ArrayRef, IngestError> {
    let (mut valid, mut arrays) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Rest::Placed(part) => valid.push(part),
            Rest::Arrays(part) => arrays.extend(part),
        }
    }
    let join = |e: arrow_schema::ArrowError| IngestError::from(TableError::Join(e.to_string()));
    if let (Some(memory), Some(width)) = (memory, width(field.data_type())) {
        return array(field.data_type(), width, memory, &valid).map_err(join);
    }
    let schema = Arc::new(Schema::new(vec![Arc::clone(field)]));
    let batch = |array| RecordBatch::try_new(Arc::clone(&schema), vec![array]).map_err(join);
    let batches = arrays.into_iter().map(batch).collect::<Result<Vec<_>, _>>()?;
    let table = Table::concat(Arc::clone(&schema), &batches)?;
    Ok(Arc::clone(table.batch().column(0)))
}
