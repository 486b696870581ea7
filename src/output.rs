//! Result tables as files, told by their extension.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use graphlume_ingest::{ExportFormat, export};
use graphlume_table::Table;

use crate::failure::{Failure, failure};

/// Refuses a result file that could not be written, before the work that fills it, and makes its folder.
pub fn check(path: &Path) -> Result<(), Failure> {
    kind(path)?;
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    let shown = path.display();
    if path.is_dir() {
        return Err(failure(format!("--out {shown}: that is a folder; name a file in it")));
    }
    folder.map_or(Ok(()), |folder| {
        std::fs::create_dir_all(folder)
            .map_err(|e| failure(format!("--out {shown}: its folder could not be made: {e}")))
    })
}

/// The format that the extension tells.
fn kind(path: &Path) -> Result<String, Failure> {
    let kind = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
    if matches!(kind.as_str(), "parquet" | "csv" | "json" | "arrow") {
        return Ok(kind);
    }
    let shown = path.display();
    Err(failure(format!(
        "--out {shown}: the extension tells the format; use .parquet, .csv, .json or .arrow"
    )))
}

/// Writes columns to `path`, in the format that its extension tells.
pub fn write(path: &Path, columns: Vec<(&str, ArrayRef)>) -> Result<(), Failure> {
    write_table(path, &table(columns)?, None)
}

/// Writes a table to `path`: `.parquet`, `.csv`, `.json` or `.arrow`. The file appears whole or not at
/// all. `escape` is what is escaped in CSV.
pub fn write_table(path: &Path, table: &Table, escape: Option<&str>) -> Result<(), Failure> {
    write_with(path, |kind, out| {
        match kind.parse::<ExportFormat>() {
            Ok(format) => export(table, format.escaped(escape)?, out)?,
            Err(()) => {
                table.write_arrow(out)?;
            }
        }
        Ok(())
    })
}

/// Writes a file with `fill`, which is told the extension. The file appears whole or not at all.
pub fn write_with(
    path: &Path,
    fill: impl FnOnce(&str, &mut BufWriter<File>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let kind = kind(path)?;
    let partial = path.with_extension(format!("{kind}.partial"));
    let file =
        File::create(&partial).map_err(|e| failure(format!("{}: {e}", partial.display())))?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    fill(&kind, &mut out)?;
    out.flush()?;
    drop(out);
    std::fs::rename(&partial, path).map_err(|e| failure(format!("{}: {e}", path.display())))
}

/// Writes columns to standard output as CSV.
pub fn print(columns: Vec<(&str, ArrayRef)>) -> Result<(), Failure> {
    let table = table(columns)?;
    print_with(|out| Ok(export(&table, ExportFormat::Csv, out)?))
}

/// Writes to standard output.
pub fn print_with(
    fill: impl FnOnce(&mut BufWriter<std::io::Stdout>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout());
    match fill(&mut out).and_then(|()| Ok(out.flush()?)) {
        // A reader such as `head` that has seen enough is no failure.
        Err(e) if e.message.contains("Broken pipe") => Ok(()),
        other => other,
    }
}

fn table(columns: Vec<(&str, ArrayRef)>) -> Result<Table, Failure> {
    let fields: Vec<Field> =
        columns.iter().map(|(name, a)| Field::new(*name, a.data_type().clone(), true)).collect();
    let arrays = columns.into_iter().map(|(_, a)| a).collect();
    Ok(Table::try_new(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)?)
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
