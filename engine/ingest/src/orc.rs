//! Apache ORC.

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::{Format, IngestError, ParseCx, Parsed};

/// Reads an ORC file.
pub fn parse(_: &Bytes, _: &Map<String, Value>, _: &ParseCx) -> Result<Parsed, IngestError> {
    Err(IngestError::UnsupportedFormat { format: Format::Orc })
}
