//! Types that a caller demands of columns.

use arrow_array::{Array, ArrayRef};
use arrow_cast::CastOptions;
use arrow_cast::display::FormatOptions;
use arrow_schema::DataType;
use graphlume_table::cell_text;
use serde_json::Value;

use crate::{Format, IngestError, dates};

/// The type of a whole column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Int,
    UInt,
    Float,
    Bool,
    Text,
}

impl Kind {
    /// For messages: what a cell must be.
    pub fn shown(self) -> &'static str {
        match self {
            Self::Int => "a whole number of 64 bits",
            Self::UInt => "a whole number of 64 bits without sign",
            Self::Float => "a number",
            Self::Bool => "a boolean",
            Self::Text => "text",
        }
    }
}

/// What is made of a column when its cells are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Then {
    Nothing,
    /// Another width or representation.
    Cast(DataType),
    /// Times, or text where that cannot be.
    DatesOrText,
    Dates,
    Durations,
}

/// A demanded type: how cells are read, and what is done after that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demand {
    pub kind: Kind,
    pub then: Then,
    /// Whether booleans count as 1 and 0, and all spellings of these numbers as booleans.
    pub bools: bool,
}

impl Demand {
    /// Whether numbers and booleans may stand in one column.
    pub fn takes_mixtures(&self) -> bool {
        self.kind == Kind::Text || (self.kind == Kind::Bool && !self.bools)
    }

    pub const fn new(kind: Kind, then: Then) -> Self {
        Self { kind, then, bools: true }
    }
}

/// The type that a value of the option `dtype` names.
pub fn demand(value: &Value) -> Result<Demand, IngestError> {
    use DataType as D;
    let written = value.as_str().unwrap_or_default();
    let name = written.to_ascii_lowercase();
    // The types of pandas that have room for missing values are stricter: those with a capital, and
    // `boolean`, which knows 1 and 0 as words beside the others.
    let bools = !written.starts_with(|c: char| c.is_ascii_uppercase()) && name != "boolean";
    let (kind, then) = match name.as_str() {
        "int" | "int64" => (Kind::Int, Then::Nothing),
        "int8" => (Kind::Int, Then::Cast(D::Int8)),
        "int16" => (Kind::Int, Then::Cast(D::Int16)),
        "int32" => (Kind::Int, Then::Cast(D::Int32)),
        "uint" | "uint64" => (Kind::UInt, Then::Nothing),
        "uint8" => (Kind::UInt, Then::Cast(D::UInt8)),
        "uint16" => (Kind::UInt, Then::Cast(D::UInt16)),
        "uint32" => (Kind::UInt, Then::Cast(D::UInt32)),
        "float" | "float64" | "double" => (Kind::Float, Then::Nothing),
        "float32" => (Kind::Float, Then::Cast(D::Float32)),
        "bool" | "boolean" => (Kind::Bool, Then::Nothing),
        "str" | "string" | "object" => (Kind::Text, Then::Nothing),
        "category" => {
            let dictionary = D::Dictionary(Box::new(D::Int32), Box::new(D::Utf8));
            (Kind::Text, Then::Cast(dictionary))
        }
        "date" | "datetime" | "datetime64" => (Kind::Text, Then::Dates),
        "timedelta" | "timedelta64" => (Kind::Text, Then::Durations),
        other if other.starts_with("datetime64[") => (Kind::Text, Then::Dates),
        other if other.starts_with("timedelta64[") => (Kind::Text, Then::Durations),
        _ => {
            let message = format!(
                "{value} is not a type; use int8 to int64, uint8 to uint64, float32, float64, \
                 bool, str, category, datetime64[ns] or timedelta64[ns]"
            );
            return Err(IngestError::option("dtype", message));
        }
    };
    Ok(Demand { bools, ..Demand::new(kind, then) })
}

/// Applies what was demanded of the column `name` beyond the reading of its cells.
pub fn finish(
    format: Format,
    name: &str,
    then: &Then,
    array: ArrayRef,
    warnings: &mut Vec<String>,
) -> Result<ArrayRef, IngestError> {
    let (done, what) = match then {
        Then::Nothing => return Ok(array),
        Then::DatesOrText => {
            return Ok(dates::dates(&array).unwrap_or_else(|_| {
                let left = "was left as text: not all of it are ISO 8601 dates";
                warnings.push(format!("column {name:?} {left}"));
                array
            }));
        }
        Then::Dates => (dates::dates(&array), "a date of ISO 8601".to_owned()),
        Then::Durations => {
            (dates::durations(&array), "a duration such as 1 days 02:03:04.5".to_owned())
        }
        Then::Cast(to) => (cast(&array, to), format!("a value that fits {to}")),
    };
    done.map_err(|row| {
        let text = cell_text(array.as_ref(), row).unwrap_or_default();
        misfit(format, name, row, &text, &what)
    })
}

/// The error about a cell that is not what was demanded; `row` is counted from 0.
pub fn misfit(format: Format, name: &str, row: usize, text: &str, what: &str) -> IngestError {
    let shown: String = text.chars().take(64).collect();
    let row = row as u64 + 1;
    IngestError::Malformed {
        format,
        message: format!("row {row} of the table, column {name:?}: {shown:?} is not {what}"),
        row: Some(row),
        column: Some(name.to_owned()),
    }
}

/// The error is the first row that does not fit.
fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, usize> {
    let options = CastOptions { safe: true, format_options: FormatOptions::default() };
    let cast = arrow_cast::cast_with_options(array, to, &options).map_err(|_| 0usize)?;
    if cast.null_count() == array.null_count() {
        return Ok(cast);
    }
    let lost = (0..array.len()).find(|row| cast.is_null(*row) && array.is_valid(*row));
    lost.map_or(Ok(cast), Err)
}
