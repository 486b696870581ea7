//! Values of expressions, read from columns and written to columns.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, NullArray, StructArray,
    TimestampNanosecondArray,
};
use arrow_schema::{DataType, Field};
use graphlume_expr::QueryError;
use graphlume_graph::canon::{Canon, Column};

use graphlume_types::CancelToken;
use graphlume_types::limits::COLUMN_KEYS_MAX;

use super::entity::Entity;

/// Bytes of a value in a column of numbers, with its place in the column of nulls.
const FIELD_BYTES: usize = 9;
/// Bytes of text between two that are taken from the query's memory.
const TEXT_STEP_BYTES: u64 = 1 << 18;

/// A value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    /// Seconds since 1970 and nanoseconds.
    Time(i64, u32),
    List(Vec<Cell>),
    /// Names and values, in the order in which they were written.
    Map(Vec<(String, Cell)>),
    /// A node or an edge with what is known of it.
    Entity(Arc<Entity>),
}

/// Reads columns by row.
#[derive(Clone, Debug)]
pub(crate) enum Reader {
    /// Lists, cell by cell.
    Lists(ArrayRef),
    /// Maps, field by field.
    Maps(ArrayRef, Vec<(String, Reader)>),
    Scalars(Arc<Column>),
}

impl Reader {
    /// A reader of any column that has values.
    pub(crate) fn new(array: &ArrayRef) -> Option<Self> {
        Some(match array.data_type() {
            DataType::List(_) | DataType::LargeList(_) => Self::Lists(ArrayRef::clone(array)),
            DataType::Struct(fields) => {
                let columns = arrow_array::cast::AsArray::as_struct(array.as_ref()).columns();
                let reader = |(field, column): (&Arc<Field>, &ArrayRef)| {
                    Some((field.name().clone(), Self::new(column)?))
                };
                let fields = fields.iter().zip(columns).map(reader).collect::<Option<_>>()?;
                Self::Maps(ArrayRef::clone(array), fields)
            }
            _ => Self::Scalars(Arc::new(Column::try_new(array).ok()?)),
        })
    }

    pub(crate) fn get(&self, row: usize) -> Cell {
        match self {
            Self::Lists(array) => {
                if array.is_null(row) {
                    return Cell::Null;
                }
                let items: ArrayRef = match array.data_type() {
                    DataType::List(_) => {
                        arrow_array::cast::AsArray::as_list::<i32>(array.as_ref()).value(row)
                    }
                    _ => arrow_array::cast::AsArray::as_list::<i64>(array.as_ref()).value(row),
                };
                let Some(reader) = Self::new(&items) else { return Cell::Null };
                Cell::List((0..items.len()).map(|i| reader.get(i)).collect())
            }
            Self::Maps(array, _) if array.is_null(row) => Cell::Null,
            Self::Maps(_, fields) => {
                Cell::Map(fields.iter().map(|(name, r)| (name.clone(), r.get(row))).collect())
            }
            Self::Scalars(column) => {
                let whole = !matches!(column.as_ref(), Column::Float(_));
                match column.get(row) {
                    None => Cell::Null,
                    Some(Canon::Int(v)) if whole => Cell::Int(v),
                    Some(Canon::Int(v)) => Cell::Float(v as f64),
                    Some(Canon::UInt(v)) => Cell::Float(v as f64),
                    Some(Canon::Float(bits)) => Cell::Float(f64::from_bits(bits)),
                    Some(Canon::Bool(v)) => Cell::Bool(v),
                    Some(Canon::Text(v) | Canon::Compound(v)) => Cell::Text(v.to_owned()),
                    Some(Canon::Instant(s, ns)) => Cell::Time(s, ns),
                    Some(Canon::Span(s, _)) => Cell::Int(s),
                    Some(Canon::Clock(ns)) => Cell::Int(ns),
                    Some(Canon::Bytes(_)) => Cell::Null,
                }
            }
        }
    }
}

impl Cell {
    /// Values of JSON; numbers that no 64 bits hold have no counterpart.
    pub(crate) fn from_json(value: &serde_json::Value) -> Option<Self> {
        use serde_json::Value;
        Some(match value {
            Value::Null => Self::Null,
            Value::Bool(v) => Self::Bool(*v),
            Value::Number(n) => match n.as_i64() {
                Some(v) => Self::Int(v),
                None => Self::Float(n.as_f64()?),
            },
            Value::String(v) => Self::Text(v.clone()),
            Value::Array(items) => {
                Self::List(items.iter().map(Self::from_json).collect::<Option<_>>()?)
            }
            Value::Object(fields) => {
                let field =
                    |(name, v): (&String, &Value)| Some((name.clone(), Self::from_json(v)?));
                Self::Map(fields.iter().map(field).collect::<Option<_>>()?)
            }
        })
    }

    /// How many plain values this counts as; long texts count more.
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Text(text) => 1 + text.len() / std::mem::size_of::<Self>(),
            Self::List(items) => 1 + items.iter().map(Self::weight).sum::<usize>(),
            Self::Map(fields) => 1 + fields.iter().map(|(_, v)| 1 + v.weight()).sum::<usize>(),
            Self::Entity(entity) => entity.weight(),
            _ => 1,
        }
    }

    /// Bytes that this takes.
    pub(crate) fn bytes(&self) -> u64 {
        (self.weight() * std::mem::size_of::<Self>()) as u64
    }

    pub(crate) const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub(crate) const fn number(&self) -> Option<f64> {
        match self {
            Self::Int(v) => Some(*v as f64),
            Self::Float(v) => Some(*v),
            _ => None,
        }
    }

    /// The order of two values of one kind; `None` across kinds and with null.
    pub(crate) fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            (Self::Text(a), Self::Text(b)) => Some(a.cmp(b)),
            (Self::Time(a, an), Self::Time(b, bn)) => Some((a, an).cmp(&(b, bn))),
            (Self::List(a), Self::List(b)) => {
                for (x, y) in a.iter().zip(b) {
                    match x.order(y)? {
                        Ordering::Equal => {}
                        other => return Some(other),
                    }
                }
                Some(a.len().cmp(&b.len()))
            }
            (Self::Map(_), Self::Map(_)) | (Self::Entity(_), Self::Entity(_)) => {
                (self.key() == other.key()).then_some(Ordering::Equal)
            }
            _ => self.number()?.partial_cmp(&other.number()?),
        }
    }

    /// A total order for sorting: null is the largest, then kinds among themselves.
    pub(crate) fn sort(&self, other: &Self) -> Ordering {
        match (self.is_null(), other.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => self.order(other).unwrap_or_else(|| {
                let ranks = self.rank().cmp(&other.rank());
                if ranks.is_eq() && self.rank() < 2 { self.key().cmp(&other.key()) } else { ranks }
            }),
        }
    }

    const fn rank(&self) -> u8 {
        match self {
            Self::Map(_) => 0,
            Self::Entity(_) => 1,
            Self::List(_) => 2,
            Self::Time(..) => 3,
            Self::Text(_) => 4,
            Self::Bool(_) => 5,
            Self::Int(_) | Self::Float(_) => 6,
            Self::Null => 7,
        }
    }

    /// A text that is the same for equal values and for no others.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::Int(v) => format!("n{v}"),
            Self::Float(v) => match graphlume_graph::canon::of_f64(*v) {
                Some(Canon::Int(whole)) => format!("n{whole}"),
                _ => format!("n{v}"),
            },
            Self::List(items) => format!("{:?}", items.iter().map(Self::key).collect::<Vec<_>>()),
            Self::Map(fields) => {
                let mut keys: Vec<_> = fields.iter().map(|(name, v)| (name, v.key())).collect();
                keys.sort_unstable();
                format!("m{keys:?}")
            }
            Self::Entity(entity) => entity.key(),
            other => format!("{other:?}"),
        }
    }

    /// The value as text.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Bool(v) => v.to_string(),
            Self::Int(v) => v.to_string(),
            Self::Float(v) if v.fract() == 0.0 && v.abs() < 1e16 => format!("{v:.1}"),
            Self::Float(v) => v.to_string(),
            Self::Text(v) => v.clone(),
            Self::Time(..) => {
                let column = column(std::slice::from_ref(self), &CancelToken::default());
                let text = column.ok().and_then(|c| graphlume_table::cell_text(c.as_ref(), 0));
                text.unwrap_or_default()
            }
            Self::List(items) => {
                format!("[{}]", items.iter().map(Self::text).collect::<Vec<_>>().join(", "))
            }
            Self::Map(_) | Self::Entity(_) => self.notation(),
        }
    }

    /// The value as openCypher writes it.
    pub(crate) fn notation(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Text(text) => quoted(text),
            Self::Time(..) => quoted(&self.text()),
            Self::List(items) => {
                format!("[{}]", items.iter().map(Self::notation).collect::<Vec<_>>().join(", "))
            }
            Self::Map(fields) => fields_notation(fields),
            Self::Entity(entity) => entity.notation(),
            other => other.text(),
        }
    }

    /// The value under a name: of a map, or of a node or an edge. `None` for what has no names.
    pub(crate) fn field(&self, name: &str) -> Option<Self> {
        let fields = match self {
            Self::Null => return Some(Self::Null),
            Self::Map(fields) => fields,
            Self::Entity(entity) => &entity.properties,
            _ => return None,
        };
        let found = fields.iter().find(|(n, _)| n == name);
        Some(found.map_or(Self::Null, |(_, v)| v.clone()))
    }
}

/// A map as openCypher writes it.
pub(super) fn fields_notation(fields: &[(String, Cell)]) -> String {
    let field = |(name, v): &(String, Cell)| format!("{}: {}", plain_name(name), v.notation());
    format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
}

/// A name, in backticks unless it is a plain one.
pub(super) fn plain_name(name: &str) -> String {
    let mut chars = name.chars();
    let plain = chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_');
    if plain { name.to_owned() } else { format!("`{}`", name.replace('`', "``")) }
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    graphlume_expr::quote(text, &mut out);
    out
}

/// A column of the plainest type that holds all values; mixed kinds become text, and so do maps of more than
/// [`COLUMN_KEYS_MAX`] keys in all. What maps take is taken from the memory of the query before it is made.
///
/// # Errors
/// The query was stopped, or has no memory left.
pub(crate) fn column(cells: &[Cell], cancel: &CancelToken) -> Result<ArrayRef, QueryError> {
    cancel.check()?;
    let all = |test: fn(&Cell) -> bool| cells.iter().all(|c| c.is_null() || test(c));
    if all(|_| false) {
        return Ok(Arc::new(NullArray::new(cells.len())));
    }
    if all(|c| matches!(c, Cell::Bool(_))) {
        let cell = |c: &Cell| if let Cell::Bool(v) = c { Some(*v) } else { None };
        return Ok(Arc::new(cells.iter().map(cell).collect::<BooleanArray>()));
    }
    if all(|c| matches!(c, Cell::Int(_))) {
        let cell = |c: &Cell| if let Cell::Int(v) = c { Some(*v) } else { None };
        return Ok(Arc::new(cells.iter().map(cell).collect::<Int64Array>()));
    }
    if all(|c| c.number().is_some()) {
        return Ok(Arc::new(cells.iter().map(Cell::number).collect::<Float64Array>()));
    }
    if all(|c| matches!(c, Cell::Time(..))) {
        let cell = |c: &Cell| match c {
            Cell::Time(s, ns) => s.checked_mul(1_000_000_000)?.checked_add(i64::from(*ns)),
            _ => None,
        };
        return Ok(Arc::new(cells.iter().map(cell).collect::<TimestampNanosecondArray>()));
    }
    if all(|c| matches!(c, Cell::List(_))) {
        let mut items = Vec::new();
        let mut lengths = Vec::new();
        for cell in cells {
            let list = if let Cell::List(list) = cell { list.as_slice() } else { &[] };
            items.extend_from_slice(list);
            lengths.push(list.len());
        }
        let values = column(&items, cancel)?;
        let field = Arc::new(Field::new("item", values.data_type().clone(), true));
        let nulls = cells.iter().map(|c| !c.is_null()).collect::<Vec<bool>>();
        let offsets = arrow_buffer::OffsetBuffer::from_lengths(lengths);
        return Ok(Arc::new(ListArray::try_new(field, offsets, values, Some(nulls.into()))?));
    }
    if all(|c| matches!(c, Cell::Map(_)))
        && let Some(maps) = maps(cells, cancel)?
    {
        return Ok(maps);
    }
    texts(cells, cancel)
}

/// The texts of values, whose bytes are taken from the query as they come.
fn texts(cells: &[Cell], cancel: &CancelToken) -> Result<ArrayRef, QueryError> {
    let mut out = StringBuilder::with_capacity(cells.len(), 0);
    let mut untaken = 0;
    for cell in cells {
        if cell.is_null() {
            out.append_null();
            continue;
        }
        let text = cell.text();
        untaken += text.len() as u64;
        if untaken > TEXT_STEP_BYTES {
            cancel.check()?;
            // Room of a column that grows is up to twice what it holds.
            cancel.take(2 * std::mem::take(&mut untaken))?;
        }
        out.append_value(text);
    }
    Ok(Arc::new(out.finish()))
}

/// A column of maps: a field for every name that any of them has. `None` when none has any, or they have too many.
fn maps(cells: &[Cell], cancel: &CancelToken) -> Result<Option<ArrayRef>, QueryError> {
    let mut names: Vec<&str> = Vec::new();
    let mut known = std::collections::HashSet::new();
    for cell in cells {
        if let Cell::Map(fields) = cell {
            names.extend(fields.iter().map(|(name, _)| name.as_str()).filter(|n| known.insert(*n)));
            if names.len() > COLUMN_KEYS_MAX {
                return Ok(None);
            }
        }
    }
    if names.is_empty() {
        return Ok(None);
    }
    // Each name is a column as long as all rows, whichever of them have it; one at a time lies here as values as well.
    let rows = cells.len() as u64;
    cancel.take(rows * (names.len() * FIELD_BYTES + size_of::<Cell>()) as u64)?;
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        let values: Vec<Cell> = cells.iter().map(|c| c.field(name).unwrap_or(Cell::Null)).collect();
        let array = column(&values, cancel)?;
        columns.push((Arc::new(Field::new(name, array.data_type().clone(), true)), array));
    }
    let nulls: Vec<bool> = cells.iter().map(|c| !c.is_null()).collect();
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    Ok(Some(Arc::new(StructArray::try_new(fields.into(), arrays, Some(nulls.into()))?)))
}
