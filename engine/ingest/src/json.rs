//! JSON in the shapes that pandas and the browser client write. Text goes straight into column builders;
//! no tree of the document is built.
//!
//! | shape | meaning |
//! |---|---|
//! | `[{..}, ..]` | records |
//! | one `{..}` per line | records |
//! | `[[..], ..]` | rows of values; columns are named `0`, `1`, .. |
//! | `{"a": [..], ..}` or `{"a": {"0": .., ..}, ..}` | columns |
//! | with `orient` | `split`, `index`, `table` as pandas writes them |
//!
//! Labels of rows (an index) are used to align columns and are dropped after that; in orient `table`
//! only labels without a name are. What else is different from `pandas.read_json`, on purpose
//! (`tests/e2e/test_json_pandas.py` checks that there is nothing else):
//!
//! 1. Whole numbers and booleans with gaps keep their type, also where a type is demanded.
//! 2. Text that looks like numbers stays text: `"007"` is a name and no quantity.
//! 3. Columns are not made dates because of their names; they can be named in `dtype`.
//! 4. Numbers written as fractions are `float64`, also where all of them are whole.
//! 5. A column of several kinds of values is text: numbers as they are written, nested values as JSON.
//!    Whole numbers beyond 64 bits are text, too; pandas refuses them.
//! 6. A column has the type that is demanded, or the first value that does not fit it is an error;
//!    pandas leaves many a column as it was, or cuts values off.
//! 7. Where text is demanded, values are as they are written.
//! 8. A column of nothing but missing values is `float64`, also where no types are to be found.
//! 9. A member that occurs twice in one record is an error; pandas takes the last.

mod builder;
mod columns;
mod quick;
mod reader;
mod rows;
#[cfg(test)]
mod tests;
mod texts;

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use bytes::Bytes;
use graphlume_table::{Table, TableError};
use graphlume_types::limits::DECOMPRESSED_BYTES_MAX;
use serde_json::Value;

use crate::demand::{self, Demand, Kind, Then, demand};
use crate::format::FormatSpec;
use crate::meter::Meter;
use crate::options::{OptionKind, Options, on};
use crate::{Format, IngestError, ParseCx, Parsed, source};
use builder::ColumnBuilder;
use reader::{Bad, Reader};
use rows::{Guard, Rows};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Orient {
    Records,
    Lines,
    Columns,
    Index,
    Split,
    Table,
}

fn orient(options: Options<'_>, body: &str) -> Result<Orient, IngestError> {
    let named = options.text("orient")?;
    let lines = options.bool("lines", false)?;
    if lines && !matches!(named, None | Some("records")) {
        let message = "goes with `orient` records only";
        return Err(IngestError::option("lines", message));
    }
    let list = body.starts_with('[');
    Ok(match named {
        _ if lines => Orient::Lines,
        // The first character tells them apart in any case.
        Some("records" | "values" | "columns") if list => Orient::Records,
        Some("records" | "values" | "columns") => Orient::Columns,
        Some("index") => Orient::Index,
        Some("split") => Orient::Split,
        Some("table") => Orient::Table,
        Some(other) => {
            let shown: String = other.chars().take(32).collect();
            let legal = "split, records, index, columns, values, table";
            return Err(IngestError::option("orient", format!("{shown:?} is none of {legal}")));
        }
        None if list => Orient::Records,
        None if first_line_is_whole(body) => Orient::Lines,
        None => Orient::Columns,
    })
}

/// Whether the first line is a value, and something follows it.
fn first_line_is_whole(body: &str) -> bool {
    let Some((line, rest)) = body.split_once('\n') else { return false };
    let mut reader = Reader::new(line, 0);
    let whole = reader.value().is_ok() && reader.end().is_ok();
    whole && !rest.trim_ascii().is_empty()
}

/// JSON in the list of formats.
pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "json",
    malformed: "malformed-json",
    options: &[
        on("compression", OptionKind::Text),
        on("dtype", OptionKind::Json),
        on("lines", OptionKind::Bool),
        on("orient", OptionKind::Text),
    ],
    signatures: &[],
    resembles: |text| matches!(text.trim_ascii_start().first(), Some(b'{' | b'[')),
    parse,
};

/// Reads a JSON document.
pub fn parse(bytes: &Bytes, options: Options<'_>, cx: &ParseCx) -> Result<Parsed, IngestError> {
    let mut demands = demands(options)?;
    // PowerShell and Notepad write it with a mark at the start.
    let decoded;
    let bytes = match bytes.get(..2) {
        Some(b"\xff\xfe" | b"\xfe\xff") => {
            decoded = crate::csv::utf16(bytes, Format::Json, cx)?;
            &decoded
        }
        _ => bytes,
    };
    let text = utf8(bytes).map_err(|at| {
        let before = &bytes[..at];
        let line = 1 + memchr::memchr_iter(b'\n', before).count() as u64;
        let message = format!("the JSON cannot be read: line {line} is not UTF-8 text");
        IngestError::malformed_at(Format::Json, message, line)
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let start = text.len() - text.trim_ascii_start().len();
    let orient = orient(options, &text[start..])?;
    let meter = Meter::new(cx);
    let mut texts: HashSet<String> = HashSet::new();
    let explain = |bad: Bad| cx.cancel.check().err().map_or_else(|| explain(text, bad), Into::into);
    if orient == Orient::Table {
        let schema = schema_demands(Reader::new(text, start)).map_err(explain)?;
        let known: HashSet<String> = demands.iter().map(|(name, _)| name.clone()).collect();
        demands.extend(schema.into_iter().filter(|(name, _)| !known.contains(name)));
    }
    let texted = demands.iter().filter(|(_, d)| d.kind == Kind::Text);
    texts.extend(texted.map(|(name, _)| name.clone()));
    let (rows, agents) = loop {
        let guard =
            Guard { cancel: &cx.cancel, meter: &meter, bytes: text.len() as u64, texts: &texts };
        let (rows, agents) = match read(text, start, orient, guard).map_err(explain)? {
            Read::Rows(rows) => (rows, Agents::default()),
            Read::Columns(set) => set.into_rows()?,
        };
        // Numbers among texts are taken as they are written, which the first reading has not kept.
        let mixed = rows.names.iter().zip(&rows.columns).filter(|(_, c)| c.is_mixed());
        let mixed: Vec<String> = mixed.map(|(name, _)| name.clone()).collect();
        if mixed.is_empty() {
            break (rows, agents);
        }
        texts.extend(mixed);
    };
    let mut warnings = Vec::new();
    let demanded = |name: &String| demands.iter().any(|(n, _)| n == name);
    let columns = rows.names.iter().zip(&rows.columns);
    let rounded = columns.filter(|(name, c)| c.rounded() > 0 && !demanded(name));
    let cut = rounded.map(|(name, c)| crate::decimals::rounded(name, c.rounded())).collect();
    let table = table(rows, &demands, &mut warnings)?;
    let misread = crate::misread::graph(&table).into_iter().collect();
    let mut parsed = Parsed { misread, cut, ..Parsed::one(table, warnings) };
    [parsed.agent_name, parsed.agent_version] = agents;
    Ok(parsed)
}

/// The bytes as text; the error is where they are none. Of a mapped file only a part is in memory at a time.
fn utf8(bytes: &[u8]) -> Result<&str, usize> {
    const PIECE_BYTES: usize = 8 << 20;
    let mut at = 0;
    while at < bytes.len() {
        let piece = &bytes[at..bytes.len().min(at + PIECE_BYTES)];
        let whole = match std::str::from_utf8(piece) {
            Ok(_) => piece.len(),
            // The last character goes on in the next piece.
            Err(e) if e.error_len().is_none() && at + piece.len() < bytes.len() => e.valid_up_to(),
            Err(e) => return Err(at + e.valid_up_to()),
        };
        source::passed(&piece[..whole]);
        at += whole;
    }
    // SAFETY: the pieces were found to be UTF-8, each begins where the one before ended, and the last one ends the bytes.
    Ok(unsafe { std::str::from_utf8_unchecked(bytes) })
}

type Agents = [Option<String>; 2];

enum Read {
    Rows(Rows),
    Columns(columns::ColumnSet),
}

fn read(text: &str, start: usize, orient: Orient, guard: Guard<'_>) -> Result<Read, Bad> {
    let mut reader = Reader::new(text, start);
    let mut rows = Rows::default();
    match orient {
        Orient::Lines => return rows::lines(text, start, guard).map(Read::Rows),
        Orient::Records => rows::list(&mut reader, &mut rows, guard)?,
        Orient::Index => rows::index(&mut reader, &mut rows, guard)?,
        Orient::Columns => {
            let set = columns::columns(&mut reader, guard)?;
            reader.end()?;
            return Ok(Read::Columns(set));
        }
        Orient::Table => {
            let mut data = data(reader)?;
            rows::list(&mut data, &mut rows, guard)?;
            if labels_are_plain(reader)? {
                rows.remove_index();
            }
            return Ok(Read::Rows(rows));
        }
        Orient::Split => {
            let columns = rows::find(reader, "columns")?;
            let missing = || reader.bad("there is no member `columns`, which orient split needs");
            let names = names(columns.ok_or_else(missing)?)?;
            rows = Rows::named(names, guard);
            let mut data = data(reader)?;
            rows::list(&mut data, &mut rows, guard)?;
            return Ok(Read::Rows(rows));
        }
    }
    reader.end()?;
    Ok(Read::Rows(rows))
}

fn data(reader: Reader<'_>) -> Result<Reader<'_>, Bad> {
    rows::find(reader, "data")?.ok_or_else(|| reader.bad("there is no member `data`"))
}

/// The names of orient split; repeated ones get a number.
fn names(mut reader: Reader<'_>) -> Result<Vec<String>, Bad> {
    reader.expect(b'[', "an array of names")?;
    let (mut names, mut taken, mut first) = (Vec::new(), HashSet::new(), true);
    while reader.item(&mut first)? {
        let name = match reader.peek() {
            Some(b'"') => reader.string()?.into_owned(),
            _ => reader::compact(reader.value()?).into_owned(),
        };
        let numbered = (1..).map(|n| format!("{name}.{n}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|n| !taken.contains(n));
        let free = free.unwrap_or(name);
        taken.insert(free.clone());
        names.push(free);
    }
    Ok(names)
}

fn schema(reader: Reader<'_>) -> Result<Value, Bad> {
    match rows::find(reader, "schema")? {
        Some(mut schema) => Ok(serde_json::from_str(schema.value()?).unwrap_or_default()),
        None => Ok(Value::Null),
    }
}

/// Whether the column `index` of orient table is one of row labels without a name.
fn labels_are_plain(reader: Reader<'_>) -> Result<bool, Bad> {
    let key = &schema(reader)?["primaryKey"];
    Ok(key.as_array().map_or(key == "index", |keys| keys.iter().any(|k| k == "index")))
}

/// The types in the schema of orient table, by column.
fn schema_demands(reader: Reader<'_>) -> Result<Vec<(String, Demand)>, Bad> {
    let value = schema(reader)?;
    let fields = value["fields"].as_array().cloned().unwrap_or_default();
    let demand = |field: &Value| {
        let (kind, then) = match field["type"].as_str()? {
            "integer" => (Kind::Int, Then::Nothing),
            "number" => (Kind::Float, Then::Nothing),
            "boolean" => (Kind::Bool, Then::Nothing),
            "string" => (Kind::Text, Then::Nothing),
            "datetime" => (Kind::Text, Then::Dates),
            "duration" => (Kind::Text, Then::Durations),
            _ => return None,
        };
        Some((field["name"].as_str()?.to_owned(), Demand::new(kind, then)))
    };
    Ok(fields.iter().filter_map(demand).collect())
}

/// The option `dtype`: an object of types by column; true and false change nothing.
fn demands(options: Options<'_>) -> Result<Vec<(String, Demand)>, IngestError> {
    match options.get("dtype") {
        None | Some(Value::Bool(_)) => Ok(Vec::new()),
        Some(Value::Object(map)) => {
            map.iter().map(|(name, value)| Ok((name.clone(), demand(value)?))).collect()
        }
        Some(_) => Err(IngestError::option("dtype", "must be true, false or types by column")),
    }
}

fn explain(text: &str, bad: Bad) -> IngestError {
    let before = text.get(..bad.at).unwrap_or(text);
    let line = 1 + memchr::memchr_iter(b'\n', before.as_bytes()).count() as u64;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let message = bad.message;
    let message = format!("the JSON cannot be read: {message} (line {line}, character {column})");
    if bad.limit {
        return IngestError::TooLarge { message, row: Some(line), column: None };
    }
    IngestError::malformed_at(Format::Json, message, line)
}

fn table(
    rows: Rows,
    demands: &[(String, Demand)],
    warnings: &mut Vec<String>,
) -> Result<Table, IngestError> {
    let count = rows.count;
    let cells = count as u64 * rows.columns.len() as u64;
    if cells.saturating_mul(8) > DECOMPRESSED_BYTES_MAX {
        let message = format!("the JSON expands to {cells} cells, more than memory is given to");
        return Err(IngestError::too_large(message));
    }
    for (name, _) in demands.iter().filter(|(name, _)| !rows.names.contains(name)) {
        warnings.push(format!("a type is given for column {name:?}, which there is not"));
    }
    let mut fields = Vec::new();
    let mut arrays = Vec::new();
    for (name, mut column) in rows.names.into_iter().zip(rows.columns) {
        column.pad(count);
        let array = match demands.iter().find(|(n, _)| *n == name) {
            None => column.finish(),
            Some((_, demand)) => demanded(&name, column, demand, warnings)?,
        };
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options);
    Ok(Table::try_new(batch.map_err(|e| TableError::Join(e.to_string()))?)?)
}

fn demanded(
    name: &str,
    column: ColumnBuilder,
    demand: &Demand,
    warnings: &mut Vec<String>,
) -> Result<arrow_array::ArrayRef, IngestError> {
    let values = column.convert(demand.kind).map_err(|row| {
        let text = column.get(row).to_string();
        demand::misfit(Format::Json, name, row, &text, demand.kind.shown())
    })?;
    let array = values.finish();
    demand::finish(Format::Json, name, &demand.then, array, warnings)
}

/// A column that is the same value in every row.
fn broadcast(one: ColumnBuilder, rows: usize) -> ColumnBuilder {
    let mut out = ColumnBuilder::default();
    out.rounded_before(&one);
    for _ in 0..rows {
        out.push_from(&one, 0);
    }
    out
}
