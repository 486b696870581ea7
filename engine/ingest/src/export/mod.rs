//! The way out: tables as CSV, JSON or Parquet, and several of them as one archive.

mod columns;
mod json;
mod rows;
mod typed;

use std::fmt;
use std::io::{Seek, Write};
use std::str::FromStr;

use arrow_array::RecordBatch;
use graphlume_table::Table;

pub use rows::TextBlocks;

/// A format that tables are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// RFC 4180 with a header, nulls as empty cells.
    Csv,
    /// The same for a spreadsheet program, which takes a cell that begins like a formula for one: such cells of text, and
    /// names of columns, have an apostrophe before them. Numbers stay as they are.
    CsvEscaped,
    /// An array of records.
    Json,
    /// Parquet, Snappy-compressed.
    Parquet,
}

impl ExportFormat {
    /// The formats, as clients name them.
    pub const NAMES: [&'static str; 3] = ["csv", "json", "parquet"];

    /// The name, which also is the extension of files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Csv | Self::CsvEscaped => "csv",
            Self::Json => "json",
            Self::Parquet => "parquet",
        }
    }

    /// The media type.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Csv | Self::CsvEscaped => "text/csv; charset=utf-8",
            Self::Json => "application/json; charset=utf-8",
            Self::Parquet => "application/octet-stream",
        }
    }
}

impl ExportFormat {
    /// What may be escaped, as clients name it.
    pub const ESCAPES: [&'static str; 1] = ["formulas"];

    /// The format with `escape`, a name of [`Self::ESCAPES`]. Formats other than CSV have no cells that a spreadsheet runs,
    /// and are the same.
    ///
    /// # Errors
    /// A name that does not exist.
    pub fn escaped(self, escape: Option<&str>) -> Result<Self, UnknownEscape> {
        match (escape, self) {
            (None, _) => Ok(self),
            (Some("formulas"), Self::Csv | Self::CsvEscaped) => Ok(Self::CsvEscaped),
            (Some("formulas"), _) => Ok(self),
            (Some(other), _) => Err(UnknownEscape(other.chars().take(40).collect())),
        }
    }
}

/// A name of what is to be escaped that does not exist.
#[derive(Debug)]
pub struct UnknownEscape(String);

impl fmt::Display for UnknownEscape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = ExportFormat::ESCAPES.join(", ");
        write!(f, "escape {:?} does not exist; leave it out, or use {names}", self.0)
    }
}

impl std::error::Error for UnknownEscape {}

impl FromStr for ExportFormat {
    type Err = ();

    fn from_str(s: &str) -> Result<Self, ()> {
        match s {
            "csv" => Ok(Self::Csv),
            "json" => Ok(Self::Json),
            "parquet" => Ok(Self::Parquet),
            _ => Err(()),
        }
    }
}

/// Why a table was not written.
#[derive(Debug)]
pub struct ExportError(String);

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ExportError {}

impl From<std::io::Error> for ExportError {
    fn from(e: std::io::Error) -> Self {
        Self(e.to_string())
    }
}

impl From<zip::result::ZipError> for ExportError {
    fn from(e: zip::result::ZipError) -> Self {
        Self(e.to_string())
    }
}

/// Writes `table` in `format`.
///
/// # Errors
/// [`ExportError`] when `out` fails, or for a column type that the format does not have.
pub fn export<W: Write + Send>(
    table: &Table,
    format: ExportFormat,
    out: &mut W,
) -> Result<(), ExportError> {
    match TextBlocks::new(table, format) {
        Some(text) => Ok(text.write(out)?),
        None => write_parquet(table.batch(), out),
    }
}

/// Writes an archive of `members`: names and contents, which are stored as they are because Parquet is
/// compressed and CSV in an archive is read at once.
///
/// # Errors
/// [`ExportError`] when `out` fails.
pub fn archive<W: Write + Seek>(
    members: &[(String, &[u8])],
    out: &mut W,
) -> Result<(), ExportError> {
    let mut zip = zip::ZipWriter::new(out);
    for (name, content) in members {
        let stored = zip::CompressionMethod::Stored;
        let large = content.len() > u32::MAX as usize;
        let options = zip::write::SimpleFileOptions::default();
        zip.start_file(name, options.compression_method(stored).large_file(large))?;
        zip.write_all(content)?;
    }
    zip.finish()?;
    Ok(())
}

fn write_parquet<W: Write + Send>(batch: &RecordBatch, out: &mut W) -> Result<(), ExportError> {
    columns::write(batch, out)
        .map_err(|e| ExportError(format!("the result does not go into parquet: {e}; ask for json")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Cursor;
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float32Array, Float64Array, Int64Array, NullArray, StringArray};

    use super::*;
    use crate::{Format, ParseCx, ParseSpec, Source, parse};

    fn sample() -> Table {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("text", Arc::new(StringArray::from(vec![Some("a,b"), Some("say \"x\""), None]))),
            ("whole", Arc::new(Int64Array::from(vec![Some(1), None, Some(-3)]))),
            ("part", Arc::new(Float64Array::from(vec![0.5, f64::NAN, 1e300]))),
            ("void", Arc::new(NullArray::new(3))),
        ];
        Table::try_new(RecordBatch::try_from_iter(columns).unwrap()).unwrap()
    }

    fn written(table: &Table, format: ExportFormat) -> Vec<u8> {
        let mut out = Vec::new();
        export(table, format, &mut out).unwrap();
        out
    }

    #[test]
    fn csv_quotes_only_what_needs_it_and_leaves_nulls_empty() {
        let text = String::from_utf8(written(&sample(), ExportFormat::Csv)).unwrap();
        assert_eq!(
            text,
            "text,whole,part,void\n\"a,b\",1,0.5,\n\"say \"\"x\"\"\",,NaN,\n,-3,1e300,\n"
        );
    }

    #[test]
    fn cells_of_text_that_begin_like_formulas_are_escaped_on_demand() {
        let texts = ["=1+1", "+1", "-2+3", "@SUM(1)", "\tx", "\r\"y\"", "a=1", ""];
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("=t", Arc::new(StringArray::from(texts.to_vec()))),
            ("whole", Arc::new(Int64Array::from_iter_values((0..8).map(|i| -i)))),
            ("part", Arc::new(Float64Array::from_iter_values((0..8).map(|i| -0.5 * f64::from(i))))),
            ("large", Arc::new((0..8).map(|i| Some(-(i as f32))).collect::<Float32Array>())),
        ];
        let table = Table::try_new(RecordBatch::try_from_iter(columns).unwrap()).unwrap();
        let escaped = ExportFormat::Csv.escaped(Some("formulas")).unwrap();
        let text = String::from_utf8(written(&table, escaped)).unwrap();
        let wanted = "'=t,whole,part,large\n'=1+1,0,-0.0,-0.0\n'+1,-1,-0.5,-1.0\n'-2+3,-2,-1.0,-2.0\n'@SUM(1),-3,-1.5,-3.0\n\
                      '\tx,-4,-2.0,-4.0\n\"'\r\"\"y\"\"\",-5,-2.5,-5.0\na=1,-6,-3.0,-6.0\n,-7,-3.5,-7.0\n";
        assert_eq!(text, wanted);
        let plain = String::from_utf8(written(&table, ExportFormat::Csv)).unwrap();
        assert_eq!(plain, wanted.replace('\'', ""));
        assert_eq!(ExportFormat::Json.escaped(Some("formulas")).unwrap(), ExportFormat::Json);
        let refused = ExportFormat::Csv.escaped(Some("html")).unwrap_err();
        assert!(refused.to_string().contains("formulas"), "{refused}");
    }

    #[test]
    fn json_is_an_array_of_records() {
        let value: serde_json::Value =
            serde_json::from_slice(&written(&sample(), ExportFormat::Json)).unwrap();
        assert_eq!(
            value,
            serde_json::json!([
                {"text": "a,b", "whole": 1, "part": 0.5, "void": null},
                {"text": "say \"x\"", "whole": null, "part": null, "void": null},
                {"text": null, "whole": -3, "part": 1e300, "void": null},
            ])
        );
    }

    #[test]
    fn parquet_and_arrow_types_come_back() {
        let bytes = written(&sample(), ExportFormat::Parquet);
        let source = Source::Bytes(bytes.into());
        let read = parse(&ParseSpec::plain(Format::Parquet), &source, &ParseCx::default()).unwrap();
        let back = read.tables[0].1.batch();
        assert_eq!(back.column(0), sample().batch().column(0));
        assert_eq!(back.column(1), sample().batch().column(1));
        assert_eq!((back.num_rows(), back.num_columns()), (3, 4));
    }

    #[test]
    fn an_archive_holds_its_members() {
        let mut out = Cursor::new(Vec::new());
        let members =
            [("nodes.csv".to_owned(), &b"a\n1\n"[..]), ("edges.csv".to_owned(), &b""[..])];
        archive(&members, &mut out).unwrap();
        let mut zip = zip::ZipArchive::new(out).unwrap();
        assert_eq!(zip.len(), 2);
        let mut text = String::new();
        std::io::Read::read_to_string(&mut zip.by_name("nodes.csv").unwrap(), &mut text).unwrap();
        assert_eq!(text, "a\n1\n");
    }

    #[test]
    fn many_rows_are_the_cells_as_tables_show_them() {
        let n = 20_000i64;
        let odd = |i: i64| (i % 7 != 3).then_some(i);
        let words: Vec<Option<String>> =
            (0..n).map(|i| odd(i).map(|i| format!("w{}\",\n é{}", i % 11, i))).collect();
        let floats = (0..n)
            .map(|i| odd(i).map(|i| f64::from_bits(graphlume_types::hash::h64(1, 2, i as u64))));
        let keys: arrow_array::UInt32Array =
            (0..n).map(|i| odd(i).map(|i| (i % 3) as u32)).collect();
        let values = Arc::new(StringArray::from(vec!["x", "", "y,z"]));
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("t", Arc::new(StringArray::from(words))),
            ("f", Arc::new(floats.collect::<Float64Array>())),
            (
                "h",
                Arc::new(
                    (0..n).map(|i| odd(i).map(|i| i as f64 / 4.0 - 9.0)).collect::<Float64Array>(),
                ),
            ),
            (
                "s",
                Arc::new(
                    (0..n).map(|i| odd(i).map(|i| i as i16)).collect::<arrow_array::Int16Array>(),
                ),
            ),
            (
                "u",
                Arc::new(
                    (0..n)
                        .map(|i| odd(i).map(|i| u64::MAX - i as u64))
                        .collect::<arrow_array::UInt64Array>(),
                ),
            ),
            (
                "b",
                Arc::new(
                    (0..n)
                        .map(|i| odd(i).map(|i| i % 2 == 0))
                        .collect::<arrow_array::BooleanArray>(),
                ),
            ),
            (
                "d",
                Arc::new(
                    (0..n)
                        .map(|i| odd(i).map(|i| i as i32 * 50))
                        .collect::<arrow_array::Date32Array>(),
                ),
            ),
            (
                "ms",
                Arc::new(
                    (0..n)
                        .map(|i| odd(i).map(|i| i * i * 9_999_999_999))
                        .collect::<arrow_array::TimestampMillisecondArray>(),
                ),
            ),
            ("k", Arc::new(arrow_array::DictionaryArray::try_new(keys, values).unwrap())),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let table = Table::try_new(batch.clone()).unwrap();
        let read: Vec<serde_json::Value> =
            serde_json::from_slice(&written(&table, ExportFormat::Json)).unwrap();
        let text = String::from_utf8(written(&table, ExportFormat::Csv)).unwrap();
        let mut want = "t,f,h,s,u,b,d,ms,k\n".to_owned();
        assert_eq!(read.len(), n as usize);
        for (row, read) in read.iter().enumerate() {
            for (i, (field, column)) in
                batch.schema().fields().iter().zip(batch.columns()).enumerate()
            {
                let json = graphlume_table::cell_json(column.as_ref(), row);
                assert_eq!(read[field.name()].to_string(), json.to_string(), "{row} {field}");
                let cell = graphlume_table::cell_text(column.as_ref(), row).unwrap_or_default();
                let quoted = cell.contains([',', '"', '\n', '\r']);
                want += if i > 0 { "," } else { "" };
                want += &if quoted { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell };
            }
            want.push('\n');
        }
        assert!(text == want, "the CSV has other cells");
    }
}
