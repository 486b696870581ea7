//! The error of this crate, and the record of it that a File shows.

use graphlume_table::TableError;
use graphlume_types::{Cancelled, Code, Coded};
use serde::{Deserialize, Serialize};

use crate::{Compression, Format};

/// Why bytes did not become a table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IngestError {
    /// No such file type.
    #[error("file type {given:?} is unknown; use one of {}", Format::ALL.map(Format::name).join(", "))]
    UnknownFormat {
        /// What was given, cut to 32 characters.
        given: String,
    },
    /// The bytes are compressed, and the request does not say so.
    #[error("the {format} data is compressed with {compression}; {}", declare(.format, .compression))]
    Compressed {
        /// The declared type.
        format: Format,
        /// What the first bytes say.
        compression: String,
    },
    /// The bytes are not compressed in the declared way.
    #[error("{declared} compression is declared, but {}", actual(.format, .declared, .found))]
    WrongCompression {
        /// The declared type.
        format: Format,
        /// The declared compression.
        declared: Compression,
        /// What the first bytes say.
        found: Option<String>,
    },
    /// Compressed bytes that cannot be unpacked.
    #[error("the {compression} data {message}")]
    BadCompression {
        /// The declared compression.
        compression: Compression,
        /// What is wrong and what to do.
        message: String,
    },
    /// Bytes that expand far beyond what data does.
    #[error("{message}")]
    Bomb {
        /// Which limit, and what was found.
        message: String,
    },
    /// An option that the format does not have.
    #[error("option `{option}` for {format} is unknown; the options are: {legal}")]
    UnknownOption {
        /// The type.
        format: Format,
        /// The option.
        option: String,
        /// The legal names.
        legal: String,
    },
    /// An option with a value it cannot have.
    #[error("option `{option}`: {message}")]
    InvalidOption {
        /// The option.
        option: String,
        /// What is wrong and what is legal.
        message: String,
    },
    /// The bytes are not what the format demands.
    #[error("{message}")]
    Malformed {
        /// The type.
        format: Format,
        /// What is wrong, with the place when known.
        message: String,
        /// Line of the text, or row of the table, from 1.
        row: Option<u64>,
        /// Name of the column.
        column: Option<String>,
    },
    /// A limit was met.
    #[error("{message}")]
    TooLarge {
        /// Which limit, and what was found.
        message: String,
        /// Line of the text, or row of the table, from 1.
        row: Option<u64>,
        /// Name of the column.
        column: Option<String>,
    },
    /// The columns do not make a table.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The bytes could not be read.
    #[error("the uploaded data cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// A library that this crate calls panicked; the worker has told the reason.
    #[error("{message}")]
    Defect {
        /// What was asked for, and what may work instead.
        message: String,
    },
    /// The work was stopped.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl IngestError {
    pub(crate) fn malformed(format: Format, message: impl Into<String>) -> Self {
        Self::Malformed { format, message: message.into(), row: None, column: None }
    }

    pub(crate) fn malformed_at(format: Format, message: impl Into<String>, row: u64) -> Self {
        Self::Malformed { format, message: message.into(), row: Some(row), column: None }
    }

    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Self::TooLarge { message: message.into(), row: None, column: None }
    }

    pub(crate) fn bad_compression(compression: Compression, message: impl Into<String>) -> Self {
        Self::BadCompression { compression, message: message.into() }
    }

    pub(crate) fn option(option: &str, message: impl Into<String>) -> Self {
        Self::InvalidOption { option: option.to_owned(), message: message.into() }
    }

    /// The record that a File shows in its `errors`.
    #[must_use]
    pub fn to_record(&self) -> FileError {
        let (row, column) = match self {
            Self::Malformed { row, column, .. } | Self::TooLarge { row, column, .. } => {
                (*row, column.clone())
            }
            Self::Table(TableError::DuplicateColumn { name }) => (None, Some(name.clone())),
            _ => (None, None),
        };
        let message = self.to_string();
        FileError { message, slug: self.slug().to_owned(), table: None, row, column }
    }
}

/// Every slug that a parse can end with but those of malformed data, which formats bring with them, so that one that
/// was sent by another process is one of ours.
const SLUGS: &[&str] = &[
    "undeclared-compression",
    "wrong-compression",
    "malformed-data",
    "malformed-gzip",
    "malformed-bz2",
    "malformed-zip",
    "malformed-xz",
    "decompression-limit",
    "unknown-format",
    "unknown-option",
    "invalid-option",
    "too-large",
    "read-failed",
    "cancelled",
    "no-table",
    "store-failed",
    "parser-defect",
    "parser-crash",
    "parse-memory-limit",
    "parse-time-limit",
    "no-parser",
    "duplicate-column",
    "too-many-rows",
    "too-many-columns",
    "too-deep",
    "table-parts-differ",
    "table-corrupt",
    "table-write",
];

/// The slug of that name; one that is none of ours is `parser-defect`.
#[must_use]
pub fn known_slug(name: &str) -> &'static str {
    let of_formats = Format::ALL.into_iter().map(|f| f.spec().malformed);
    SLUGS.iter().copied().chain(of_formats).find(|s| *s == name).unwrap_or("parser-defect")
}

/// What data of a wrongly declared compression are, and what to do.
fn actual(format: &Format, declared: &Compression, found: &Option<String>) -> String {
    match found {
        Some(found) => {
            format!("the {format} data is compressed with {found}; {}", declare(format, found))
        }
        None => format!(
            "the data is not {declared} data; declare no compression, or send the {declared} file"
        ),
    }
}

/// How to have `compression` undone.
fn declare(format: &Format, compression: &str) -> String {
    if compression.parse::<Compression>().is_err() {
        return format!(
            "{compression} cannot be undone here; send the data plain, or as gzip, bz2, zip or xz"
        );
    }
    let direct = match format.spec().options.iter().any(|o| o.name == "compression") {
        true => format!(", or compression={compression} in the address of a direct upload"),
        false => String::new(),
    };
    format!("declare file_compression {compression:?} for the file{direct}, or send it plain")
}

/// What a foreign decoder says, in one line: some write the whole path to the place at fault,
/// one line a step.
pub(crate) fn one_line(e: impl std::fmt::Display) -> String {
    const CHARS_MAX: usize = 300;
    let text = e.to_string();
    let first = text.trim().lines().next().unwrap_or_default();
    let clean: String = first.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    clean.chars().take(CHARS_MAX).collect()
}

/// All lines as one, without signs that a terminal would obey, up to a number of characters.
#[cfg(feature = "sql")]
pub(crate) fn clean(text: &str, chars_max: usize) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty());
    words.collect::<Vec<_>>().join(" ").chars().take(chars_max).collect()
}

/// One problem of a file, as shown to clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileError {
    /// What is wrong and what to do about it.
    pub message: String,
    /// Kebab-case name of the problem.
    pub slug: String,
    /// Name of the table, when the file has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// Line of the text, or row of the table, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<u64>,
    /// Name of the column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
}

impl Coded for IngestError {
    fn code(&self) -> Code {
        match self {
            Self::Compressed { .. } | Self::WrongCompression { .. } => Code::Unsupported,
            Self::UnknownFormat { .. }
            | Self::UnknownOption { .. }
            | Self::InvalidOption { .. }
            | Self::BadCompression { .. }
            | Self::Malformed { .. } => Code::InvalidArgument,
            Self::TooLarge { .. } | Self::Bomb { .. } => Code::TooLarge,
            Self::Table(e) => e.code(),
            Self::Read(_) | Self::Defect { .. } => Code::Internal,
            Self::Cancelled(_) => Code::Cancelled,
        }
    }

    fn slug(&self) -> &'static str {
        match self {
            Self::UnknownFormat { .. } => "unknown-format",
            Self::Compressed { .. } => "undeclared-compression",
            Self::WrongCompression { .. } => "wrong-compression",
            Self::BadCompression { compression, .. } => match compression {
                Compression::None => "malformed-data",
                Compression::Gzip => "malformed-gzip",
                Compression::Bz2 => "malformed-bz2",
                Compression::Zip => "malformed-zip",
                Compression::Xz => "malformed-xz",
            },
            Self::Bomb { .. } => "decompression-limit",
            Self::UnknownOption { .. } => "unknown-option",
            Self::InvalidOption { .. } => "invalid-option",
            Self::Malformed { format, .. } => format.spec().malformed,
            Self::TooLarge { .. } => "too-large",
            Self::Table(e) => e.slug(),
            Self::Read(_) => "read-failed",
            Self::Defect { .. } => "parser-defect",
            Self::Cancelled(_) => "cancelled",
        }
    }

    fn field(&self) -> Option<&str> {
        match self {
            Self::UnknownFormat { .. } => Some("file_type"),
            Self::Compressed { .. }
            | Self::WrongCompression { .. }
            | Self::BadCompression { .. } => Some("file_compression"),
            Self::UnknownOption { option, .. } | Self::InvalidOption { option, .. } => Some(option),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_decoder_says_is_one_short_line() {
        assert_eq!(
            one_line("Range [1, 2) is out of bounds.\n\twhile verifying\n\n"),
            "Range [1, 2) is out of bounds."
        );
        assert_eq!(one_line("\n tab\there\u{1b}[1m"), "tab here [1m");
        assert_eq!(one_line("é".repeat(1000)).chars().count(), 300);
        assert_eq!(one_line(""), "");
    }
}
