//! Excel workbooks: each sheet is a table.

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::{Format, IngestError, ParseCx, Parsed};

/// Reads a workbook.
pub fn parse(
    format: Format,
    _: &Bytes,
    _: &Map<String, Value>,
    _: &ParseCx,
) -> Result<Parsed, IngestError> {
    Err(IngestError::UnsupportedFormat { format })
}
