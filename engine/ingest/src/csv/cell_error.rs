//! Faults of cells, in words.

use graphlume_types::limits::CELL_BYTES_MAX;
use memchr::memchr_iter;

use super::column::BadCell;
use super::dialect::Dialect;
use super::plan::Plan;
use super::records::Halt;
use super::token::Stop;
use crate::misread::{separator_of, set_sep};
use crate::{Format, IngestError};

/// Why reading failed; offsets are from the start of the text.
pub enum Fault {
    Stop(Stop),
    BadCell {
        /// Where the chunk begins that the cell lies in.
        start: usize,
        bad: BadCell,
        column: usize,
    },
    NotText {
        at: usize,
        column: String,
    },
    /// A chunk does not begin at a record.
    Misaligned,
    Error(IngestError),
}

impl From<IngestError> for Fault {
    fn from(e: IngestError) -> Self {
        Self::Error(e)
    }
}

impl From<Halt> for Fault {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Stop(stop) => Self::Stop(stop),
            Halt::Error(e) => Self::Error(e),
        }
    }
}

/// Line number, from 1, of the byte at `at`.
fn line(text: &[u8], at: usize, line_end: Option<u8>) -> u64 {
    let before = &text[..at.min(text.len())];
    let ends = match line_end {
        Some(end) => memchr_iter(end, before).count(),
        None => {
            let alone = |at: &usize| text.get(at + 1) != Some(&b'\n');
            memchr_iter(b'\n', before).count() + memchr_iter(b'\r', before).filter(alone).count()
        }
    };
    1 + ends as u64
}

/// The error that a user sees.
pub fn explain(text: &[u8], dialect: &Dialect, plan: Option<&Plan>, fault: Fault) -> IngestError {
    let line = |at| line(text, at, dialect.syntax.line_end);
    let (at, message) = match fault {
        Fault::Error(e) => return e,
        Fault::Misaligned => (0, "the records cannot be told apart".to_owned()),
        Fault::Stop(Stop::InQuotes { at }) => (at, "a quoted cell is never closed".to_owned()),
        Fault::Stop(Stop::Escape { at }) => {
            (at, "the text ends behind an escape character".to_owned())
        }
        Fault::Stop(Stop::TooLong { at }) => {
            let row = line(at);
            let message = format!("line {row} has a cell of more than {CELL_BYTES_MAX} bytes");
            return IngestError::TooLarge { message, row: Some(row), column: None };
        }
        Fault::Stop(Stop::TooMany { at, cells }) => {
            let only = plan.filter(|plan| plan.width == 1).and_then(|plan| plan.columns.first());
            let other = only.and_then(|column| separator_of(&column.name));
            let hint = match other {
                Some(other) => format!(
                    "the header has one column and {other:?}, which seems to be the separator: {}, and `decimal` to \
                     \",\" if numbers have commas",
                    set_sep(other)
                ),
                None if dialect.pattern.is_some() => {
                    "a separator of several characters splits quoted cells, too".to_owned()
                }
                None => "quote cells that hold separators".to_owned(),
            };
            let expected = match plan {
                Some(plan) => format!("expected {} cells, found {cells}", plan.cells_max),
                None => format!("the first record has {cells} cells, more than there are names"),
            };
            (at, format!("{expected}; {hint}"))
        }
        Fault::NotText { at, column } => {
            let row = line(at);
            let message = format!(
                "line {row}, column {column:?}: the bytes are not UTF-8 text; name the encoding with \
                 the option `encoding`"
            );
            let (format, column) = (Format::Csv, Some(column));
            return IngestError::Malformed { format, message, row: Some(row), column };
        }
        Fault::BadCell { start, bad, column } => {
            let raw = bad.token.raw(&text[start..]);
            let shown: String = String::from_utf8_lossy(raw).chars().take(64).collect();
            let row = line(start + bad.token.start());
            let name = plan.and_then(|p| p.columns.get(column)).map(|c| c.name.clone());
            let kind = bad.kind.shown();
            let shown_name = name.as_deref().unwrap_or_default();
            let message = format!("line {row}, column {shown_name:?}: {shown:?} is not {kind}");
            let format = Format::Csv;
            return IngestError::Malformed { format, message, row: Some(row), column: name };
        }
    };
    let row = line(at);
    IngestError::malformed_at(Format::Csv, format!("line {row}: {message}"), row)
}
