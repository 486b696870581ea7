//! Visitors: the shapes of documents.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use graphlume_types::CancelToken;
use graphlume_types::limits::{CELL_BYTES_MAX, COLUMNS_MAX, ROWS_MAX};
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::builder::{ColumnBuilder, Scalar};
use crate::{Format, IngestError};

/// Cells beyond one per byte that absent members may be filled in with.
pub const PADDING_CELLS_MAX: u64 = 1 << 26;

/// What every visitor checks against.
#[derive(Clone, Copy)]
pub struct Guard<'a> {
    pub cancel: &'a CancelToken,
    /// Bytes of the document.
    pub bytes: u64,
}

/// Rows in the making.
#[derive(Default)]
pub struct Rows {
    pub names: Vec<String>,
    pub columns: Vec<ColumnBuilder>,
    by_name: HashMap<String, usize>,
    pub count: usize,
}

impl Rows {
    fn add<E: Error>(&mut self, name: &str) -> Result<usize, E> {
        let at = self.names.len();
        if at >= COLUMNS_MAX {
            return Err(E::custom(format!("too many columns; the limit is {COLUMNS_MAX}")));
        }
        self.names.push(name.to_owned());
        self.columns.push(ColumnBuilder::default());
        self.by_name.insert(name.to_owned(), at);
        Ok(at)
    }

    /// The column called `name`, which is probably the one at `guess`.
    fn locate<E: Error>(&mut self, name: &str, guess: usize) -> Result<usize, E> {
        if self.names.get(guess).is_some_and(|n| n == name) {
            return Ok(guess);
        }
        match self.by_name.get(name) {
            Some(at) => Ok(*at),
            None => self.add(name),
        }
    }

    fn end_row<E: Error>(&mut self, guard: Guard<'_>) -> Result<(), E> {
        self.count += 1;
        let rows = self.count as u64;
        if rows > ROWS_MAX {
            return Err(E::custom(format!("too many rows; the limit is {ROWS_MAX}")));
        }
        if rows * self.columns.len() as u64 > guard.bytes + PADDING_CELLS_MAX {
            let message = "most members are absent; the limit is";
            return Err(E::custom(format!("{message} {PADDING_CELLS_MAX} absent members")));
        }
        if self.count.is_multiple_of(4096) && guard.cancel.is_cancelled() {
            return Err(E::custom("stopped"));
        }
        Ok(())
    }

    /// Gives positional columns their names.
    pub fn rename(&mut self, names: Option<Vec<String>>) -> Result<(), IngestError> {
        let Some(names) = names else {
            let message = "the JSON has no member `columns`, which orient split needs";
            return Err(IngestError::malformed(Format::Json, message));
        };
        if self.columns.len() > names.len() {
            let (have, found) = (names.len(), self.columns.len());
            let message = format!("the JSON names {have} columns but has rows of {found} values");
            return Err(IngestError::malformed(Format::Json, message));
        }
        self.columns.resize_with(names.len(), ColumnBuilder::default);
        self.names = names;
        Ok(())
    }
}

/// Appends one value, whatever it is, to a column.
pub struct CellSeed<'a>(pub &'a mut ColumnBuilder);

/// Appends `scalar`, unless it is beyond the limit of a cell.
pub fn push<E: Error>(column: &mut ColumnBuilder, scalar: Scalar<'_>) -> Result<(), E> {
    if let Scalar::Text(text) = scalar
        && text.len() > CELL_BYTES_MAX
    {
        let len = text.len();
        return Err(E::custom(format!("a value has {len} bytes; the limit is {CELL_BYTES_MAX}")));
    }
    column.push(scalar);
    Ok(())
}

impl<'de> DeserializeSeed<'de> for CellSeed<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for CellSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        push(self.0, Scalar::Null)
    }

    fn visit_bool<E: Error>(self, v: bool) -> Result<(), E> {
        push(self.0, Scalar::Bool(v))
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<(), E> {
        push(self.0, Scalar::Int(v))
    }

    fn visit_u64<E: Error>(self, v: u64) -> Result<(), E> {
        push(self.0, i64::try_from(v).map_or(Scalar::UInt(v), Scalar::Int))
    }

    fn visit_f64<E: Error>(self, v: f64) -> Result<(), E> {
        push(self.0, Scalar::Float(v))
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<(), E> {
        push(self.0, Scalar::Text(v))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        let value = Value::deserialize(SeqAccessDeserializer::new(seq))?;
        push(self.0, Scalar::Text(&value.to_string()))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        let value = Value::deserialize(MapAccessDeserializer::new(map))?;
        push(self.0, Scalar::Text(&value.to_string()))
    }
}

/// A member's name, borrowed when it has no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
pub struct Key<'a>(#[serde(borrow)] pub Cow<'a, str>);

/// One row: an object of members, or an array of values.
pub struct Row<'a> {
    pub rows: &'a mut Rows,
    pub guard: Guard<'a>,
}

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<(), D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row: an object, or an array of values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut guess = 0;
        let row = self.rows.count;
        while let Some(Key(key)) = map.next_key::<Key<'de>>()? {
            let at = self.rows.locate(&key, guess)?;
            guess = at + 1;
            let column = &mut self.rows.columns[at];
            if column.len() > row {
                return Err(A::Error::custom(format!("member {key:?} occurs twice in one record")));
            }
            column.pad(row);
            map.next_value_seed(CellSeed(column))?;
        }
        self.rows.end_row(self.guard)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let row = self.rows.count;
        let mut at = 0;
        loop {
            if at == self.rows.columns.len() {
                // Only a value, not the end of the array, makes a column.
                let mut column = ColumnBuilder::default();
                column.pad(row);
                if seq.next_element_seed(CellSeed(&mut column))?.is_none() {
                    break;
                }
                let new = self.rows.add(&at.to_string())?;
                self.rows.columns[new] = column;
            } else {
                let column = &mut self.rows.columns[at];
                column.pad(row);
                if seq.next_element_seed(CellSeed(column))?.is_none() {
                    break;
                }
            }
            at += 1;
        }
        self.rows.end_row(self.guard)
    }
}

/// A seed that hands itself to a reader as its visitor.
macro_rules! document {
    ($name:ident, $value:ty, $method:ident) => {
        impl<'de> DeserializeSeed<'de> for $name<'_> {
            type Value = $value;
            fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<$value, D::Error> {
                d.$method(self)
            }
        }
    };
}

pub(super) use document;

/// An array of rows.
pub struct Document<'a> {
    pub rows: &'a mut Rows,
    pub guard: Guard<'a>,
}

document!(Document, (), deserialize_seq);

impl<'de> Visitor<'de> for Document<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let guard = self.guard;
        while seq.next_element_seed(Row { rows: &mut *self.rows, guard })?.is_some() {}
        Ok(())
    }
}

/// An object of rows by label.
pub struct Index<'a> {
    pub rows: &'a mut Rows,
    pub guard: Guard<'a>,
}

document!(Index, (), deserialize_map);

impl<'de> Visitor<'de> for Index<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of rows")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_key::<IgnoredAny>()?.is_some() {
            map.next_value_seed(Row { rows: &mut *self.rows, guard: self.guard })?;
        }
        Ok(())
    }
}

/// `{"schema": .., "data": [records]}`.
pub struct TableDocument<'a> {
    pub rows: &'a mut Rows,
    pub guard: Guard<'a>,
}

document!(TableDocument, (), deserialize_map);

impl<'de> Visitor<'de> for TableDocument<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the member data")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut found = false;
        while let Some(Key(key)) = map.next_key::<Key<'de>>()? {
            if key == "data" {
                found = true;
                map.next_value_seed(Document { rows: &mut *self.rows, guard: self.guard })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if found { Ok(()) } else { Err(A::Error::custom("there is no member `data`")) }
    }
}

/// `{"columns": [names], "index": [..], "data": [rows]}`. Its value is the names.
pub struct Split<'a> {
    pub rows: &'a mut Rows,
    pub guard: Guard<'a>,
}

document!(Split, Option<Vec<String>>, deserialize_map);

impl<'de> Visitor<'de> for Split<'_> {
    type Value = Option<Vec<String>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the members columns and data")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut names = None;
        while let Some(Key(key)) = map.next_key::<Key<'de>>()? {
            match key.as_ref() {
                "columns" => {
                    let list: Vec<Value> = map.next_value()?;
                    let name = |v: Value| match v {
                        Value::String(s) => s,
                        other => other.to_string(),
                    };
                    names = Some(list.into_iter().map(name).collect());
                }
                "data" => {
                    map.next_value_seed(Document { rows: &mut *self.rows, guard: self.guard })?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(names)
    }
}
