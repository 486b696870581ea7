//! Delimited text with the meaning that pandas gives it.
//!
//! Types are found over whole columns: `int64`, else `uint64`, else `float64`, else text; booleans; the
//! words of pandas for missing values. Differences, all of them on purpose: whole numbers with gaps stay
//! whole numbers (null, not NaN), also unsigned ones; booleans with gaps stay booleans; decimals are
//! correctly rounded; a record with more cells than the header is an error even when it is the first
//! (no implicit index); a whole number beyond 64 bits among fractions is a number wherever it stands.
//!
//! The way of a body: `split` cuts it into chunks, `fast` (or `general`) finds the cells of some rows at
//! a time, `column` turns them into values right in the memory of the final column, `assemble` joins.

mod assemble;
mod cells;
mod column;
mod dialect;
mod fast;
mod general;
mod number;
mod plan;
mod read;
mod split;
#[cfg(test)]
mod tests;
mod token;

use std::borrow::Cow;

use bytes::Bytes;
use graphlume_table::Table;
use serde_json::{Map, Value};

use crate::options::Options;
use crate::{Format, IngestError, ParseCx, Parsed};
use dialect::Dialect;
use read::Tuning;

/// Reads a CSV.
pub fn parse(
    bytes: &Bytes,
    options: &Map<String, Value>,
    cx: &ParseCx,
) -> Result<Parsed, IngestError> {
    let dialect = Dialect::new(Options(options))?;
    let (table, warnings) = parse_with(bytes, dialect, Tuning::default(), cx)?;
    Ok(Parsed::one(table, warnings))
}

fn parse_with(
    bytes: &[u8],
    mut dialect: Dialect,
    tuning: Tuning,
    cx: &ParseCx,
) -> Result<(Table, Vec<String>), IngestError> {
    let mut warnings = std::mem::take(&mut dialect.warnings);
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        let message = "the CSV is UTF-16 text; only UTF-8 is supported, convert the file";
        return Err(IngestError::malformed(Format::Csv, message));
    }
    let text = unwrap_json(bytes);
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
    let batch = read::table(text, &dialect, tuning, cx, &mut warnings)?;
    Ok((Table::try_new(batch)?, warnings))
}

/// The browser client sends a text that it was given as one JSON string.
fn unwrap_json(bytes: &[u8]) -> Cow<'_, [u8]> {
    let trimmed = bytes.trim_ascii();
    let one_line = || memchr::memchr(b'\n', trimmed).is_none();
    if trimmed.starts_with(b"\"")
        && trimmed.ends_with(b"\"")
        && one_line()
        && let Ok(text) = serde_json::from_slice::<String>(trimmed)
        && text.contains('\n')
    {
        return Cow::Owned(text.into_bytes());
    }
    Cow::Borrowed(bytes)
}
