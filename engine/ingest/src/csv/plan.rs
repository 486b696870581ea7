//! The columns of a CSV: their names, which of them are wanted, and what types are demanded.

use std::collections::HashSet;

use arrow_schema::DataType;
use graphlume_table::TableError;
use graphlume_types::limits::COLUMNS_MAX;
use serde_json::Value;

use super::column::Kind;
use super::dialect::{Dialect, Header, Pick};
use super::general::{General, Syntax};
use super::token::{Stop, Token};
use crate::IngestError;

/// A demanded type: how cells are read, and what the column is cast to after that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demand {
    pub kind: Kind,
    pub cast: Option<DataType>,
}

/// A wanted column.
#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    /// Position in the file.
    pub index: usize,
    pub demand: Option<Demand>,
    /// Whether its text is to be read as dates.
    pub date: bool,
}

/// The layout of a file.
#[derive(Debug)]
pub struct Plan {
    /// Cells per record.
    pub width: usize,
    /// Wanted columns in the order of the file.
    pub columns: Vec<Column>,
    /// Whether cells past the width are dropped.
    pub drop_extra: bool,
    /// Where the body begins.
    pub body: usize,
}

/// Reads the header. `Err(Ok(stop))` is a fault of the text, with offsets from its start.
pub fn plan(text: &[u8], dialect: &Dialect) -> Result<Plan, Result<Stop, IngestError>> {
    let raw = Syntax { skip_blank: false, comment: None, ..dialect.syntax };
    let mut skipper = General::new(text, raw);
    let mut record = Vec::new();
    for _ in 0..dialect.skip_rows {
        if skipper.record(&mut record).map_err(Ok)?.is_none() {
            break;
        }
    }
    let start = skipper.position();
    let shift = |stop| Ok(shifted(stop, start));
    let mut reader = General::new(&text[start..], dialect.syntax);
    let mut header = None;
    if let Header::Row(row) = dialect.header {
        for _ in 0..=row {
            header = reader.record(&mut record).map_err(shift)?.map(|_| record.clone());
        }
    }
    let body = start + reader.position();
    let found = header.map(|tokens| names(&text[start..], &tokens, dialect)).transpose();
    let names = match (found.map_err(Err)?, &dialect.names) {
        (_, Some(names)) => names.clone(),
        (Some(names), None) => names,
        (None, None) => {
            let first = if dialect.header == Header::None {
                reader.record(&mut record).map_err(shift)?
            } else {
                None
            };
            if first.is_none() {
                let message = "the CSV has no columns: it is empty, or ends before its header";
                return Err(Err(IngestError::malformed(crate::Format::Csv, message)));
            }
            (0..record.len()).map(|i| format!("{}{i}", dialect.prefix)).collect()
        }
    };
    if names.len() > COLUMNS_MAX {
        return Err(Err(TableError::TooManyColumns { columns: names.len() }.into()));
    }
    let columns = choose(&names, dialect).map_err(Err)?;
    let drop_extra = dialect.usecols.is_some();
    Ok(Plan { width: names.len(), columns, drop_extra, body })
}

fn shifted(stop: Stop, by: usize) -> Stop {
    match stop {
        Stop::InQuotes { at } => Stop::InQuotes { at: at + by },
        Stop::TooMany { at, cells } => Stop::TooMany { at: at + by, cells },
        Stop::TooLong { at } => Stop::TooLong { at: at + by },
    }
}

/// Names from the header: empty ones are made up, repeated ones get a number, as pandas does it.
fn names(text: &[u8], tokens: &[Token], dialect: &Dialect) -> Result<Vec<String>, IngestError> {
    let mut names = Vec::with_capacity(tokens.len());
    for (i, token) in tokens.iter().enumerate() {
        let name = token.text(text, dialect.syntax.quote);
        let Ok(name) = std::str::from_utf8(&name) else {
            let message = format!("the name of column {} is not UTF-8 text", i + 1);
            return Err(IngestError::malformed_at(crate::Format::Csv, message, 1));
        };
        names.push(if name.is_empty() { format!("Unnamed: {i}") } else { name.to_owned() });
    }
    let mut taken: HashSet<String> = names.iter().cloned().collect();
    let mut used = HashSet::new();
    for name in &mut names {
        if !used.insert(name.clone()) {
            let free = (1..=tokens.len()).map(|n| format!("{name}.{n}"));
            let free = free.into_iter().find(|n| !taken.contains(n));
            *name = free.unwrap_or_else(|| format!("{name}.{}", tokens.len() + 1));
            taken.insert(name.clone());
            used.insert(name.clone());
        }
    }
    Ok(names)
}

fn locate(names: &[String], pick: &Pick, option: &str) -> Result<usize, IngestError> {
    let found = match pick {
        Pick::Name(name) => names.iter().position(|n| n == name),
        Pick::Index(i) => (*i < names.len()).then_some(*i),
    };
    found.ok_or_else(|| {
        let what = match pick {
            Pick::Name(name) => format!("{name:?}"),
            Pick::Index(i) => i.to_string(),
        };
        let shown: Vec<_> = names.iter().take(32).collect();
        IngestError::option(option, format!("column {what} does not exist; there are {shown:?}"))
    })
}

fn choose(names: &[String], dialect: &Dialect) -> Result<Vec<Column>, IngestError> {
    let mut wanted = vec![dialect.usecols.is_none(); names.len()];
    for pick in dialect.usecols.iter().flatten() {
        wanted[locate(names, pick, "usecols")?] = true;
    }
    let mut dates = vec![false; names.len()];
    for pick in &dialect.dates {
        dates[locate(names, pick, "parse_dates")?] = true;
    }
    let mut demands = demands(names, dialect.dtype.as_ref())?;
    let column = |(index, name): (usize, &String)| {
        let demand = demands[index].take();
        let date = dates[index]
            || demand.as_ref().is_some_and(|d| matches!(d.cast, Some(DataType::Timestamp(..))));
        let demand = if date { Some(Demand { kind: Kind::Text, cast: None }) } else { demand };
        Column { name: name.clone(), index, demand, date }
    };
    let chosen = names.iter().enumerate().filter(|(i, _)| wanted[*i]);
    Ok(chosen.map(column).collect())
}

fn demands(names: &[String], dtype: Option<&Value>) -> Result<Vec<Option<Demand>>, IngestError> {
    let mut out = vec![None; names.len()];
    match dtype {
        None | Some(Value::Null | Value::Bool(true)) => {}
        Some(all @ Value::String(_)) => out.fill(Some(demand(all)?)),
        Some(Value::Array(list)) => {
            if list.len() > names.len() {
                return Err(IngestError::option("dtype", "lists more types than columns"));
            }
            for (slot, one) in out.iter_mut().zip(list) {
                *slot = Some(demand(one)?);
            }
        }
        Some(Value::Object(map)) => {
            for (name, one) in map {
                let at = locate(names, &Pick::Name(name.clone()), "dtype")?;
                out[at] = Some(demand(one)?);
            }
        }
        Some(_) => return Err(IngestError::option("dtype", "must be a type, a list or an object")),
    }
    Ok(out)
}

fn demand(value: &Value) -> Result<Demand, IngestError> {
    use DataType as D;
    let name = value.as_str().unwrap_or_default().to_ascii_lowercase();
    let (kind, cast) = match name.as_str() {
        "int" | "int64" => (Kind::Int, None),
        "int8" => (Kind::Int, Some(D::Int8)),
        "int16" => (Kind::Int, Some(D::Int16)),
        "int32" => (Kind::Int, Some(D::Int32)),
        "uint64" => (Kind::UInt, None),
        "uint8" => (Kind::UInt, Some(D::UInt8)),
        "uint16" => (Kind::UInt, Some(D::UInt16)),
        "uint32" => (Kind::UInt, Some(D::UInt32)),
        "float" | "float64" => (Kind::Float, None),
        "float32" => (Kind::Float, Some(D::Float32)),
        "bool" | "boolean" => (Kind::Bool, None),
        "str" | "string" | "object" => (Kind::Text, None),
        "category" => {
            let dictionary = D::Dictionary(Box::new(D::Int32), Box::new(D::Utf8));
            (Kind::Text, Some(dictionary))
        }
        "datetime64" | "datetime64[ns]" | "datetime" | "date" => {
            (Kind::Text, Some(D::Timestamp(arrow_schema::TimeUnit::Nanosecond, None)))
        }
        _ => {
            let message = format!(
                "{value} is not a type; use int8 to int64, uint8 to uint64, float32, float64, \
                 bool, str, category or datetime64[ns]"
            );
            return Err(IngestError::option("dtype", message));
        }
    };
    Ok(Demand { kind, cast })
}
