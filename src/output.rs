//! Result tables as files, told by their extension.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use graphlume_table::{Table, cell_text};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::cmd::{Failure, failure};

/// Refuses a result file that could not be written, before the work that fills it.
pub fn check(path: &Path) -> Result<(), Failure> {
    kind(path)?;
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    if folder.is_some_and(|p| !p.is_dir()) || path.is_dir() {
        let shown = path.display();
        return Err(failure(format!("--out {shown}: name a file in a folder that exists")));
    }
    Ok(())
}

/// The format that the extension tells.
fn kind(path: &Path) -> Result<String, Failure> {
    let kind = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
    if matches!(kind.as_str(), "parquet" | "csv" | "arrow") {
        return Ok(kind);
    }
    let shown = path.display();
    Err(failure(format!(
        "--out {shown}: the extension tells the format; use .parquet, .csv or .arrow"
    )))
}

/// Writes columns to `path`: `.parquet`, `.csv` or `.arrow`. The file appears whole or not at all.
pub fn write(path: &Path, columns: Vec<(&str, ArrayRef)>) -> Result<(), Failure> {
    let batch = batch(columns)?;
    let kind = kind(path)?;
    let partial = path.with_extension(format!("{kind}.partial"));
    let file =
        File::create(&partial).map_err(|e| failure(format!("{}: {e}", partial.display())))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    match kind.as_str() {
        "parquet" => {
            let properties =
                WriterProperties::builder().set_compression(Compression::SNAPPY).build();
            let mut writer = ArrowWriter::try_new(&mut out, batch.schema(), Some(properties))?;
            writer.write(&batch)?;
            writer.close()?;
        }
        "csv" => write_csv(&mut out, &batch)?,
        _ => {
            Table::try_new(batch)?.write_arrow(&mut out)?;
        }
    }
    out.flush()?;
    drop(out);
    std::fs::rename(&partial, path).map_err(|e| failure(format!("{}: {e}", path.display())))
}

/// Writes columns to standard output as CSV.
pub fn print(columns: Vec<(&str, ArrayRef)>) -> Result<(), Failure> {
    let batch = batch(columns)?;
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    match write_csv(&mut out, &batch).and_then(|()| Ok(out.flush()?)) {
        // A reader such as `head` that has seen enough is no failure.
        Err(e) if e.message.contains("Broken pipe") => Ok(()),
        other => other,
    }
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> Result<RecordBatch, Failure> {
    let fields: Vec<Field> =
        columns.iter().map(|(name, a)| Field::new(*name, a.data_type().clone(), true)).collect();
    let arrays = columns.into_iter().map(|(_, a)| a).collect();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
}

fn write_csv(out: &mut impl Write, batch: &RecordBatch) -> Result<(), Failure> {
    let schema = batch.schema();
    let header: Vec<String> = schema.fields().iter().map(|f| quoted(f.name())).collect();
    writeln!(out, "{}", header.join(","))?;
    let mut line = String::new();
    for row in 0..batch.num_rows() {
        line.clear();
        for (i, column) in batch.columns().iter().enumerate() {
            if i > 0 {
                line.push(',');
            }
            if let Some(text) = cell_text(column.as_ref(), row) {
                line.push_str(&quoted(&text));
            }
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// Quotes a field when it needs it (RFC 4180).
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use arrow_array::{Int64Array, StringArray};

    #[test]
    fn csv_quotes_only_what_needs_it_and_leaves_nulls_empty() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.csv");
        let ids: ArrayRef = Arc::new(StringArray::from(vec![Some("a,b"), Some("say \"x\""), None]));
        let n: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        write(&path, vec![("id", ids), ("n", n)]).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(text, "id,n\n\"a,b\",1\n\"say \"\"x\"\"\",2\n,3\n");
    }

    #[test]
    fn an_unknown_extension_is_refused_before_anything_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.xlsx");
        let n: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let err = write(&path, vec![("n", n)]).unwrap_err();
        assert!(err.message.contains(".parquet"), "{}", err.message);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
