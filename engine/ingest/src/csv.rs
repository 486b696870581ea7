//! Delimited text with the meaning that `pandas.read_csv` gives it, and `cudf.read_csv` to `byte_range`
//! and `prefix`.
//!
//! Types are found over whole columns: `int64`, else `uint64`, else `float64`, else booleans, else text;
//! the words of pandas for missing values. What is different, all of it on purpose
//! (`tests/e2e/test_csv_pandas.py` has the same list, and checks that there is nothing else):
//!
//! 1. Whole numbers and booleans with gaps keep their type (null, not NaN), also where a type is
//!    demanded: an edge list whose ids became fractions would be another graph.
//! 2. A whole number beyond 64 bits is text, or a float beside fractions, wherever it stands, and words
//!    for missing values beside it are missing; in pandas the order of the cells decides.
//! 3. A first record with more cells than there are names is an error; pandas makes an index of its
//!    first cells, which a table does not have, and every name moves to another column.
//! 4. Footers, patterns and separators outside ASCII are read by the same rules as all else; pandas has
//!    a second parser for them, with rules of its own for quotes, marks in numbers and absent cells.
//! 5. A lone carriage return ends a line like a line feed; pandas repeats or swallows text where the next
//!    line begins with blanks or a separator.
//! 6. Dates are those of ISO 8601, in any mixture, with zones as UTC; pandas guesses one form a column,
//!    of many, and a guess that is wrong for the country goes unseen.
//! 7. Categories are text; pandas makes numbers of them where all are.
//!
//! Beyond pandas: `datetime64` and `timedelta64` can be demanded as types; UTF-16 is recognised by its
//! mark; a separator that is a pattern must not capture groups or match the empty text. A `byte_range`
//! `[offset, size]` holds the records that begin in it, size 0 being all that follow; the header is the
//! file's at any offset, so that ranges which share out a file share out its records.
//!
//! The way of a text: `encoding` makes it UTF-8, `plan` reads the header, `job` and `split` cut the rest
//! into chunks, `fast` (or `general`, or `lines`) finds the cells of some rows at a time, `column` turns
//! them into values right in the memory of the final column, `assemble` joins.

mod assemble;
mod cell_error;
pub(crate) mod cells;
mod column;
pub(crate) mod column_types;
mod dialect;
mod digits;
mod encoding;
mod fast;
mod general;
mod job;
mod lines;
mod patience;
mod plan;
mod read;
mod records;
mod room;
mod seen;
#[cfg(target_arch = "x86_64")]
mod simd_scan;
mod split;
#[cfg(target_arch = "x86_64")]
mod swar;
mod temp_file;
#[cfg(test)]
mod tests;
mod token;

use std::borrow::Cow;

use bytes::Bytes;
use graphlume_table::Table;

use crate::format::FormatSpec;
use crate::options::{OptionKind, Options, on};
use crate::{IngestError, ParseCx, Parsed};
use dialect::Dialect;
use encoding::Encoding;
use job::Tuning;
use read::Told;

/// CSV in the list of formats.
pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "csv",
    malformed: "malformed-csv",
    options: &[
        on("byte_range", OptionKind::List),
        on("comment", OptionKind::Text),
        on("compression", OptionKind::Text),
        on("decimal", OptionKind::Text),
        on("delim_whitespace", OptionKind::Bool),
        on("delimiter", OptionKind::Text),
        on("doublequote", OptionKind::Bool),
        on("dtype", OptionKind::Json),
        on("encoding", OptionKind::Text),
        on("escapechar", OptionKind::Text),
        on("false_values", OptionKind::List),
        on("header", OptionKind::IntOrText),
        on("keep_default_na", OptionKind::Bool),
        on("lineterminator", OptionKind::Text),
        on("mangle_dupe_cols", OptionKind::Bool),
        on("na_filter", OptionKind::Bool),
        on("na_values", OptionKind::ListOrObject),
        on("names", OptionKind::List),
        on("nrows", OptionKind::Int),
        on("parse_dates", OptionKind::BoolOrList),
        on("prefix", OptionKind::Text),
        on("quotechar", OptionKind::Text),
        on("quoting", OptionKind::Int),
        on("sep", OptionKind::Text),
        on("skip_blank_lines", OptionKind::Bool),
        on("skipfooter", OptionKind::Int),
        on("skipinitialspace", OptionKind::Bool),
        on("skiprows", OptionKind::IntOrList),
        on("thousands", OptionKind::Text),
        on("true_values", OptionKind::List),
        on("usecols", OptionKind::List),
    ],
    signatures: &[],
    resembles: is_lines_of_text,
    parse,
};

/// Whether the beginning of data is lines of text, and not the beginning of a JSON document.
fn is_lines_of_text(start: &[u8]) -> bool {
    let first = start.trim_ascii_start().first();
    first.is_some_and(|c| !b"{[".contains(c)) && start.contains(&b'\n') && !start.contains(&0)
}

/// Text in UTF-16 as UTF-8; the mark at its start tells the order of bytes.
pub(crate) fn utf16(
    bytes: &Bytes,
    format: crate::Format,
    cx: &ParseCx,
) -> Result<Bytes, IngestError> {
    encoding::Encoding::Utf16.decode(bytes, cx).map_err(|e| match e {
        IngestError::Malformed { row, .. } => {
            let text =
                "the data begin with the mark of UTF-16 and are not text in it: save them as UTF-8";
            IngestError::Malformed { format, message: text.to_owned(), row, column: None }
        }
        other => other,
    })
}

/// Reads a CSV.
pub fn parse(bytes: &Bytes, options: Options<'_>, cx: &ParseCx) -> Result<Parsed, IngestError> {
    let dialect = Dialect::new(options)?;
    // A caller who names or picks the column means the one.
    let asked = dialect.names.is_none() && dialect.usecols.is_none();
    let header = dialect.header != dialect::Header::None;
    let (table, told) = parse_with(bytes, dialect, Tuning::default(), cx)?;
    let misread = asked.then(|| crate::misread::separator(&table, header)).flatten();
    let misread = misread.into_iter().collect();
    Ok(Parsed { misread, cut: told.cut, ..Parsed::one(table, told.warnings) })
}

fn parse_with(
    bytes: &[u8],
    mut dialect: Dialect,
    tuning: Tuning,
    cx: &ParseCx,
) -> Result<(Table, Told), IngestError> {
    let mut told = Told { warnings: std::mem::take(&mut dialect.warnings), cut: Vec::new() };
    let marked = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    if marked && dialect.encoding.is_utf8() {
        // The mark is no text in UTF-8, so that nothing else can be meant.
        dialect.encoding = Encoding::Utf16;
    }
    let (wrapped, decoded);
    let text: &[u8] = if dialect.encoding.is_utf8() {
        wrapped = unwrap_json(bytes);
        &wrapped
    } else {
        decoded = dialect.encoding.decode(bytes, cx)?;
        &decoded
    };
    let (text, mark) = match text.strip_prefix(b"\xef\xbb\xbf") {
        Some(text) => (text, 3),
        None => (text, 0),
    };
    if let Some(range) = &mut dialect.range {
        // Places are those of the file, whose mark is no text.
        *range = range.start.saturating_sub(mark)..range.end.saturating_sub(mark);
    }
    let batch = read::table(text, &dialect, tuning, cx, &mut told)?;
    Ok((Table::try_new(batch)?, told))
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
