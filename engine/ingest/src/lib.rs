//! Untrusted bytes to tables. The only crate that names a file format reader.
//!
//! [`parse`] reads every [`Format`] in every [`Compression`]. No input makes it panic: readers of other
//! crates run behind a guard, and a failure names the row and the column when they are known.

mod arrow;
mod compression;
mod csv;
mod dates;
mod decimals;
mod decompress;
mod demand;
mod edge_list;
mod error;
mod excel;
mod export;
#[macro_use]
mod format;
mod gather;
mod json;
mod memory;
mod meter;
mod misread;
mod number;
mod options;
mod orc;
mod parquet;
mod parse;
mod source;
mod sql;
mod work;
mod writable;

use std::fmt;
use std::fs::File;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use graphlume_table::Table;
use graphlume_types::CancelToken;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use compression::Compression;
pub use error::{FileError, IngestError, known_slug};
pub use export::{ExportError, ExportFormat, TextBlocks, archive, export};
pub use options::{OptionInfo, option_infos, options_from_query};
pub use parse::{parse, transform_tables};
pub use sql::{SqlTransform, sql_transforms};
pub use work::{Done, Failed, Stored, work};

formats! {
    /// Arrow IPC, file or stream container.
    Arrow = arrow::FORMAT,
    /// Delimited text.
    Csv = csv::FORMAT,
    /// Edges, two whole numbers a line.
    EdgeList = edge_list::FORMAT,
    /// JSON records, columns and their relatives, or one record per line.
    Json = json::FORMAT,
    /// Apache ORC.
    Orc = orc::FORMAT,
    /// Apache Parquet.
    Parquet = parquet::FORMAT,
    /// Excel 97 workbook.
    Xls = excel::XLS,
    /// Excel workbook.
    Xlsx = excel::XLSX,
}

impl Format {
    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.spec().name
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = IngestError;

    fn from_str(s: &str) -> Result<Self, IngestError> {
        let found = Self::ALL.into_iter().find(|f| f.name() == s);
        found.ok_or_else(|| IngestError::UnknownFormat { given: s.chars().take(32).collect() })
    }
}

/// Where the bytes of a file are.
#[derive(Debug, Clone)]
pub enum Source {
    /// A file that is not written to while it is read. It is mapped, not loaded.
    Path(PathBuf),
    /// The same, open.
    File(Arc<File>),
    /// Bytes in memory.
    Bytes(Bytes),
}

/// What is to be parsed, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ParseSpec {
    /// The declared type.
    pub format: Format,
    /// How the bytes are compressed.
    #[serde(default)]
    pub compression: Compression,
    /// Typed options of the format ([`options_from_query`] makes them from a URL query); an option whose
    /// value is null counts as absent.
    #[serde(default)]
    pub options: Map<String, Value>,
    /// Queries over the parsed tables, whose results take the place of the tables.
    #[serde(default)]
    pub sql: Vec<SqlTransform>,
}

impl ParseSpec {
    /// Plain bytes of a format, with its defaults.
    #[must_use]
    pub fn plain(format: Format) -> Self {
        Self { format, compression: Compression::None, options: Map::new(), sql: Vec::new() }
    }
}

/// What a parse needs from its surroundings. Work is spread over the current rayon pool.
#[derive(Clone, Default)]
pub struct ParseCx {
    /// Checked at least once per chunk of input.
    pub cancel: CancelToken,
    /// Told how far the work is, some times a second at most.
    pub watch: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    /// An empty file of this parse alone, for what does not stay in memory; absent, a temporary one is
    /// made when needed.
    pub scratch: Option<Arc<File>>,
}

impl ParseCx {
    /// Tells the watch, when there is one.
    pub fn report(&self, stage: Stage, bytes: u64, rows: u64) {
        if let Some(watch) = &self.watch {
            watch(Progress { stage, bytes, rows });
        }
    }
}

/// How far a parse is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// What is being done.
    pub stage: Stage,
    /// Bytes that the stage has worked through.
    pub bytes: u64,
    /// Rows found so far.
    pub rows: u64,
}

/// The stages of an upload, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// The body arrives.
    Receiving,
    /// The compressed bytes are unpacked.
    Decompressing,
    /// Bytes become tables.
    Parsing,
    /// Queries run over the tables.
    Transforming,
    /// The tables are checked.
    Validating,
    /// The tables are written.
    Storing,
}

impl Stage {
    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Receiving => "receiving",
            Self::Decompressing => "decompressing",
            Self::Parsing => "parsing",
            Self::Transforming => "transforming",
            Self::Validating => "validating",
            Self::Storing => "storing",
        }
    }
}

/// The outcome of a parse.
#[derive(Debug, Clone)]
pub struct Parsed {
    /// Tables with their names, in the order of the file. At least one.
    pub tables: Vec<(String, Table)>,
    /// The agent that a JSON object of columns names beside its columns.
    pub agent_name: Option<String>,
    /// The version of that agent.
    pub agent_version: Option<String>,
    /// What was ignored or left as it was, in sentences for people.
    pub warnings: Vec<String>,
    /// Values that the table holds otherwise than the data, and why.
    pub cut: Vec<String>,
    /// Why the table is probably not the one that was meant, and what to do.
    pub misread: Vec<String>,
}

impl Parsed {
    fn one(table: Table, warnings: Vec<String>) -> Self {
        let tables = vec![("table".to_owned(), table)];
        Self {
            tables,
            agent_name: None,
            agent_version: None,
            warnings,
            cut: Vec::new(),
            misread: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use graphlume_types::Coded;

    use super::*;

    fn bytes(format: Format, bytes: &'static [u8]) -> Result<Parsed, IngestError> {
        let source = Source::Bytes(Bytes::from_static(bytes));
        parse(&ParseSpec::plain(format), &source, &ParseCx::default())
    }

    #[test]
    fn formats_have_the_names_of_the_interface() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse::<Format>().unwrap(), format);
        }
        let e = "CSV ".parse::<Format>().unwrap_err();
        assert!(e.to_string().contains("\"CSV \"") && e.to_string().contains("parquet"), "{e}");
    }

    #[test]
    fn content_is_never_taken_for_another_format() {
        assert_eq!(bytes(Format::Arrow, b"[{}]").unwrap_err().slug(), "malformed-arrow");
        assert_eq!(bytes(Format::Parquet, b"ARROW1\0\0").unwrap_err().slug(), "malformed-parquet");
        assert_eq!(bytes(Format::Json, b"a,b\n1,2\n").unwrap_err().slug(), "malformed-json");
        assert_eq!(bytes(Format::Orc, b"PAR1PAR1").unwrap_err().slug(), "malformed-orc");
        assert_eq!(bytes(Format::Xls, b"PK\x05\x06").unwrap_err().slug(), "malformed-xls");
        assert_eq!(bytes(Format::Xlsx, b"a,b\n1,2\n").unwrap_err().slug(), "malformed-xlsx");
    }

    #[test]
    fn a_path_is_read_like_bytes() {
        let name = format!("graphlume-ingest-{}.csv", std::process::id());
        let path = std::env::temp_dir().join(name);
        for text in ["a,b\n1,x\n", ""] {
            std::fs::write(&path, text).unwrap();
            let read = |s| parse(&ParseSpec::plain(Format::Csv), &s, &ParseCx::default());
            let mapped = read(Source::Path(path.clone())).map(|p| p.tables[0].1.clone());
            let held = read(Source::Bytes(text.into())).map(|p| p.tables[0].1.clone());
            match (mapped, held) {
                (Ok(mapped), Ok(held)) => assert_eq!(mapped, held),
                (mapped, held) => assert_eq!(mapped.is_ok(), held.is_ok()),
            }
        }
        std::fs::remove_file(&path).unwrap();
        let gone = parse(&ParseSpec::plain(Format::Csv), &Source::Path(path), &ParseCx::default());
        assert_eq!(gone.unwrap_err().slug(), "read-failed");
    }
}
