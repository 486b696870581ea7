//! A parse as a job for another process: from a source to tables in a file, with an answer that can be
//! sent. Worker processes do it this way, and so does a server that has none.

use std::fs::File;
use std::io::{BufWriter, Seek as _, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use graphlume_table::TableSummary;
use graphlume_types::{Code, Coded};
use serde::{Deserialize, Serialize};

use crate::{FileError, IngestError, ParseCx, ParseSpec, Parsed, Source, Stage, parse};

/// Tables begin at multiples of this in the output.
const ALIGN: u64 = 64;
/// Bytes gathered before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// The tables of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Where each table lies in the output, in the order of the file.
    pub tables: Vec<Stored>,
    /// The agent that a JSON object of columns names beside its columns.
    pub agent_name: Option<String>,
    /// The version of that agent.
    pub agent_version: Option<String>,
    /// What was ignored or left as it was, in sentences for people.
    pub warnings: Vec<String>,
    /// Values that a table, or what is computed with it, holds otherwise than the data, and why.
    #[serde(default)]
    pub cut: Vec<String>,
    /// Why the tables are probably not those that were meant, and what to do.
    #[serde(default)]
    pub misread: Vec<String>,
}

/// One table in the output, as [`graphlume_table::Table::write_arrow`] writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// Name and shape.
    pub summary: TableSummary,
    /// Where it begins.
    pub offset: u64,
    /// Its bytes.
    pub len: u64,
}

/// Why a job failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// What a file shows.
    pub record: FileError,
    /// Which kind of failure.
    pub code: Code,
}

impl Failed {
    /// A failure that no parser has found.
    #[must_use]
    pub fn new(code: Code, slug: &str, message: impl Into<String>) -> Self {
        let (message, slug) = (message.into(), slug.to_owned());
        Self { record: FileError { message, slug, table: None, row: None, column: None }, code }
    }

    /// Whether it says something about the bytes and not about this moment.
    #[must_use]
    pub fn is_final(&self) -> bool {
        !self.code.is_transient() && self.code != Code::Cancelled
    }
}

impl From<IngestError> for Failed {
    fn from(e: IngestError) -> Self {
        Self { record: e.to_record(), code: e.code() }
    }
}

/// Parses `source` and writes its tables to the empty file `output`. Work spreads over the current rayon
/// pool; a defect of a parser is a failure like others.
///
/// # Errors
/// What is wrong with the bytes, the options or the output.
pub fn work(
    spec: &ParseSpec,
    source: &Source,
    output: &File,
    cx: &ParseCx,
) -> Result<Done, Failed> {
    match catch_unwind(AssertUnwindSafe(|| try_work(spec, source, output, cx))) {
        Ok(outcome) => outcome,
        Err(_) => Err(Failed::new(
            Code::InvalidArgument,
            "parser-defect",
            "the parser failed on these bytes, which is a defect of the server; \
             another file type may work",
        )),
    }
}

fn try_work(
    spec: &ParseSpec,
    source: &Source,
    output: &File,
    cx: &ParseCx,
) -> Result<Done, Failed> {
    let parsed = parse(spec, source, cx)?;
    if parsed.tables.is_empty() {
        return Err(Failed::new(
            Code::InvalidArgument,
            "no-table",
            "the data hold no table; send at least one",
        ));
    }
    cx.report(Stage::Storing, 0, rows(&parsed));
    store(parsed, output).map_err(|message| {
        Failed::new(Code::Internal, "store-failed", format!("a table cannot be written: {message}"))
    })
}

fn rows(parsed: &Parsed) -> u64 {
    parsed.tables.iter().map(|(_, t)| t.num_rows() as u64).sum()
}

fn store(parsed: Parsed, output: &File) -> Result<Done, String> {
    let text = |e: std::io::Error| e.to_string();
    let mut writer = BufWriter::with_capacity(BUFFER_BYTES, output);
    let mut tables = Vec::with_capacity(parsed.tables.len());
    for (name, table) in &parsed.tables {
        let end = writer.stream_position().map_err(text)?;
        let offset = end.next_multiple_of(ALIGN);
        let gap = usize::try_from(offset - end).unwrap_or(0);
        writer.write_all(&[0; ALIGN as usize][..gap]).map_err(text)?;
        let len = table.write_arrow(&mut writer).map_err(|e| e.to_string())?;
        tables.push(Stored { summary: table.summary(name), offset, len });
    }
    writer.flush().map_err(text)?;
    let Parsed { agent_name, agent_version, warnings, cut, misread, .. } = parsed;
    Ok(Done { tables, agent_name, agent_version, warnings, cut, misread })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Read;

    use graphlume_table::{Buffer, Table};

    use super::*;
    use crate::Format;

    fn job(format: Format, bytes: &'static [u8]) -> (Result<Done, Failed>, Vec<u8>) {
        let mut output = tempfile::tempfile().unwrap();
        let source = Source::Bytes(bytes.into());
        let done = work(&ParseSpec::plain(format), &source, &output, &ParseCx::default());
        let mut written = Vec::new();
        output.rewind().unwrap();
        output.read_to_end(&mut written).unwrap();
        (done, written)
    }

    #[test]
    fn the_output_holds_the_tables_where_the_answer_says() {
        let (done, written) = job(Format::Csv, b"a,b\n1,x\n2,y\n");
        let done = done.unwrap();
        let Stored { summary, offset, len } = &done.tables[0];
        let part = written[*offset as usize..(*offset + *len) as usize].to_vec();
        let table = Table::read_arrow(Buffer::from_vec(part)).unwrap();
        assert_eq!(table.summary(&summary.name), *summary);
        assert_eq!((summary.num_rows, summary.num_cols), (2, 2));
        let sent = serde_json::to_string(&done).unwrap();
        assert_eq!(serde_json::from_str::<Done>(&sent).unwrap(), done);
    }

    #[test]
    fn a_failure_keeps_its_place_and_its_kind() {
        let (failed, _) = job(Format::Csv, b"a,b\n1,2\n1,2,3\n");
        let failed = failed.unwrap_err();
        assert_eq!((failed.code, failed.record.row), (Code::InvalidArgument, Some(3)));
        assert!(failed.is_final());
    }
}
