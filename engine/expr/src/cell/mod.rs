//! Values of expressions, read from columns and written to columns.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

mod entity;

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, NullArray, StructArray,
    UInt64Array,
};
use arrow_schema::{DataType, Field};
use graphlume_graph::canon::{Canon, Column};

use graphlume_types::CancelToken;
use graphlume_types::limits::COLUMN_KEYS_MAX;
use graphlume_types::number::{nearest_f64, nearest_f64_of_u64};

use crate::error::QueryError;
use crate::scalar::{Mixed, Scalar};
use crate::temporal::Temporal;
use crate::times::times;
pub use entity::Entity;

/// Bytes of a value in a column of numbers, with its place in the column of nulls.
const FIELD_BYTES: usize = 9;
/// Bytes of text between two that are taken from the query's memory.
const TEXT_STEP_BYTES: u64 = 1 << 18;

/// A value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// What has no parts; of times only dates, times of day, and moments without a zone, which are those of UTC.
    Scalar(Scalar),
    /// Values in their order.
    List(Vec<Cell>),
    /// Names and values, in the order in which they were written.
    Map(Vec<(String, Cell)>),
    /// A node or an edge with what is known of it.
    Entity(Arc<Entity>),
}

// What a query may take is counted in cells.
const _: () = assert!(size_of::<Cell>() == 32);

/// Reads columns by row.
#[derive(Clone, Debug)]
pub enum Reader {
    /// Lists, cell by cell.
    Lists(ArrayRef),
    /// Maps, field by field.
    Maps(ArrayRef, Vec<(String, Reader)>),
    /// Dates of the calendar.
    Days(Arc<Column>),
    /// Values without parts.
    Scalars(Arc<Column>),
}

impl Reader {
    /// A reader of any column that has values.
    #[must_use]
    pub fn new(array: &ArrayRef) -> Option<Self> {
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
            DataType::Date32 | DataType::Date64 => {
                Self::Days(Arc::new(Column::try_new(array).ok()?))
            }
            _ => Self::Scalars(Arc::new(Column::try_new(array).ok()?)),
        })
    }

    /// The value of a row.
    #[must_use]
    pub fn get(&self, row: usize) -> Cell {
        match self {
            Self::Lists(array) => {
                if array.is_null(row) {
                    return Cell::NULL;
                }
                let items: ArrayRef = match array.data_type() {
                    DataType::List(_) => {
                        arrow_array::cast::AsArray::as_list::<i32>(array.as_ref()).value(row)
                    }
                    _ => arrow_array::cast::AsArray::as_list::<i64>(array.as_ref()).value(row),
                };
                let Some(reader) = Self::new(&items) else { return Cell::NULL };
                Cell::List((0..items.len()).map(|i| reader.get(i)).collect())
            }
            Self::Maps(array, _) if array.is_null(row) => Cell::NULL,
            Self::Maps(_, fields) => {
                Cell::Map(fields.iter().map(|(name, r)| (name.clone(), r.get(row))).collect())
            }
            Self::Days(column) => match column.get(row) {
                Some(Canon::Instant(s, 0)) if s % 86_400 == 0 => {
                    Cell::Scalar(Scalar::Temporal(Temporal::Date(s / 86_400)))
                }
                // A date of milliseconds that is no midnight keeps its clock.
                Some(Canon::Instant(s, ns)) => Cell::Scalar(Scalar::instant(s, ns)),
                _ => Cell::NULL,
            },
            Self::Scalars(column) => {
                let whole = !matches!(column.as_ref(), Column::Float(_));
                match column.get(row) {
                    None => Cell::NULL,
                    Some(Canon::Bytes(bytes)) => {
                        Cell::string(bytes.iter().map(|b| format!("{b:02x}")).collect::<String>())
                    }
                    Some(Canon::Int(v)) if whole => Cell::int(v),
                    Some(Canon::Int(v)) => Cell::float(nearest_f64(v)),
                    Some(Canon::UInt(v)) if whole => Cell::Scalar(Scalar::uint(v)),
                    Some(Canon::UInt(v)) => Cell::float(nearest_f64_of_u64(v)),
                    Some(Canon::Float(bits)) => Cell::float(f64::from_bits(bits)),
                    Some(Canon::Bool(v)) => Cell::bool(v),
                    Some(Canon::Text(v) | Canon::Compound(v)) => Cell::string(v),
                    Some(Canon::Instant(s, ns)) => Cell::Scalar(Scalar::instant(s, ns)),
                    Some(Canon::Span(s, 0)) => Cell::int(s),
                    Some(Canon::Span(s, ns)) => Cell::float(nearest_f64(s) + f64::from(ns) / 1e9),
                    Some(Canon::Clock(ns)) => {
                        let ns = ns.rem_euclid(86_400_000_000_000);
                        Cell::Scalar(Scalar::Temporal(Temporal::LocalTime(ns)))
                    }
                }
            }
        }
    }
}

impl Cell {
    /// The value that stands for none.
    pub const NULL: Self = Self::Scalar(Scalar::Null);

    /// A truth value.
    #[must_use]
    pub const fn bool(v: bool) -> Self {
        Self::Scalar(Scalar::Bool(v))
    }

    /// A whole number.
    #[must_use]
    pub const fn int(v: i64) -> Self {
        Self::Scalar(Scalar::Int(v))
    }

    /// A number.
    #[must_use]
    pub const fn float(v: f64) -> Self {
        Self::Scalar(Scalar::Float(v))
    }

    /// A text.
    pub fn string(text: impl Into<Arc<str>>) -> Self {
        Self::Scalar(Scalar::text(text))
    }

    /// Values of JSON; numbers that no 64 bits hold have no counterpart.
    #[must_use]
    pub fn from_json(value: &serde_json::Value) -> Option<Self> {
        use serde_json::Value;
        Some(match value {
            Value::Array(items) => {
                Self::List(items.iter().map(Self::from_json).collect::<Option<_>>()?)
            }
            Value::Object(fields) => {
                let field =
                    |(name, v): (&String, &Value)| Some((name.clone(), Self::from_json(v)?));
                Self::Map(fields.iter().map(field).collect::<Option<_>>()?)
            }
            scalar => Self::Scalar(Scalar::from_json(scalar)?),
        })
    }

    /// How many plain values this counts as; long texts count more.
    #[must_use]
    pub fn weight(&self) -> usize {
        match self {
            Self::Scalar(Scalar::Text(text)) => 1 + text.len() / std::mem::size_of::<Self>(),
            Self::List(items) => 1 + items.iter().map(Self::weight).sum::<usize>(),
            Self::Map(fields) => 1 + fields.iter().map(|(_, v)| 1 + v.weight()).sum::<usize>(),
            Self::Entity(entity) => entity.weight(),
            _ => 1,
        }
    }

    /// Bytes that this takes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.weight() * std::mem::size_of::<Self>()) as u64
    }

    /// Whether it stands for none.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Scalar(Scalar::Null))
    }

    /// Whether this is the truth value true.
    #[must_use]
    pub const fn is_true(&self) -> bool {
        matches!(self, Self::Scalar(Scalar::Bool(true)))
    }

    /// The number that it is, whole numbers rounded to the nearest; none for another kind.
    #[must_use]
    pub const fn number(&self) -> Option<f64> {
        if let Self::Scalar(scalar) = self { scalar.as_f64() } else { None }
    }

    /// The order of two values of one kind; `None` across kinds and with null.
    #[must_use]
    pub fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            // A date is its midnight.
            (Self::Scalar(Scalar::Temporal(a)), Self::Scalar(Scalar::Temporal(b))) => {
                match (a.instant(), b.instant()) {
                    (Some(a), Some(b)) => Some(a.cmp(&b)),
                    _ => a.compare(b),
                }
            }
            (Self::Scalar(a), Self::Scalar(b)) => a.compare(b, Mixed::Rounded),
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
            _ => None,
        }
    }

    /// A total order for sorting: null is the largest, then kinds among themselves.
    #[must_use]
    pub fn sort(&self, other: &Self) -> Ordering {
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
            Self::Scalar(scalar) => 3 + scalar.rank(),
        }
    }

    /// A text that is the same for equal values and for no others.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Scalar(scalar) => match scalar {
                Scalar::Int(v) => format!("n{v}"),
                Scalar::UInt(v) => format!("n{v}"),
                Scalar::Float(v) => match graphlume_graph::canon::of_f64(*v) {
                    Some(Canon::Int(whole)) => format!("n{whole}"),
                    Some(Canon::UInt(whole)) => format!("n{whole}"),
                    _ => format!("n{v}"),
                },
                Scalar::Temporal(time) => match time.instant() {
                    Some((s, ns)) => format!("Time({s}, {ns})"),
                    None => format!("{time:?}"),
                },
                other => format!("{other:?}"),
            },
            Self::List(items) => format!("{:?}", items.iter().map(Self::key).collect::<Vec<_>>()),
            Self::Map(fields) => {
                let mut keys: Vec<_> = fields.iter().map(|(name, v)| (name, v.key())).collect();
                keys.sort_unstable();
                format!("m{keys:?}")
            }
            Self::Entity(entity) => entity.key(),
        }
    }

    /// The value as text.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Scalar(scalar) => match scalar {
                Scalar::Null => String::new(),
                Scalar::Bool(v) => v.to_string(),
                Scalar::Int(v) => v.to_string(),
                Scalar::UInt(v) => v.to_string(),
                Scalar::Float(v) if v.fract() == 0.0 && v.abs() < 1e16 => format!("{v:.1}"),
                Scalar::Float(v) => v.to_string(),
                Scalar::Text(v) => String::from(&**v),
                // As tables write it.
                Scalar::Temporal(_) => {
                    let column = column(std::slice::from_ref(self), &CancelToken::default());
                    let text = column.ok().and_then(|c| graphlume_table::cell_text(c.as_ref(), 0));
                    text.unwrap_or_default()
                }
            },
            Self::List(items) => {
                format!("[{}]", items.iter().map(Self::text).collect::<Vec<_>>().join(", "))
            }
            Self::Map(_) | Self::Entity(_) => self.notation(),
        }
    }

    /// The value as openCypher writes it.
    #[must_use]
    pub fn notation(&self) -> String {
        match self {
            Self::Scalar(Scalar::Null) => "null".to_owned(),
            Self::Scalar(Scalar::Text(text)) => quoted(text),
            Self::Scalar(Scalar::Temporal(_)) => quoted(&self.text()),
            Self::Scalar(_) => self.text(),
            Self::List(items) => {
                format!("[{}]", items.iter().map(Self::notation).collect::<Vec<_>>().join(", "))
            }
            Self::Map(fields) => fields_notation(fields),
            Self::Entity(entity) => entity.notation(),
        }
    }

    /// The value under a name: of a map, or of a node or an edge. `None` for what has no names.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<Self> {
        let fields = match self {
            Self::Scalar(Scalar::Null) => return Some(Self::NULL),
            Self::Map(fields) => fields,
            Self::Entity(entity) => &entity.properties,
            _ => return None,
        };
        let found = fields.iter().find(|(n, _)| n == name);
        Some(found.map_or(Self::NULL, |(_, v)| v.clone()))
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
    crate::quote::quote(text, &mut out);
    out
}

/// A whole number that is not below 0.
fn natural(cell: &Cell) -> Option<u64> {
    let Cell::Scalar(scalar) = cell else { return None };
    u64::try_from(scalar.as_whole()?).ok()
}

/// A column of the plainest type that holds all values; mixed kinds become text, and so do maps of more than
/// [`COLUMN_KEYS_MAX`] keys in all. What maps take is taken from the memory of the query before it is made.
///
/// # Errors
/// The query was stopped, or has no memory left.
pub fn column(cells: &[Cell], cancel: &CancelToken) -> Result<ArrayRef, QueryError> {
    cancel.check()?;
    let all = |test: fn(&Cell) -> bool| cells.iter().all(|c| c.is_null() || test(c));
    if all(|_| false) {
        return Ok(Arc::new(NullArray::new(cells.len())));
    }
    if all(|c| matches!(c, Cell::Scalar(Scalar::Bool(_)))) {
        let cell = |c: &Cell| if let Cell::Scalar(Scalar::Bool(v)) = c { Some(*v) } else { None };
        return Ok(Arc::new(cells.iter().map(cell).collect::<BooleanArray>()));
    }
    if all(|c| matches!(c, Cell::Scalar(Scalar::Int(_)))) {
        let cell = |c: &Cell| if let Cell::Scalar(Scalar::Int(v)) = c { Some(*v) } else { None };
        return Ok(Arc::new(cells.iter().map(cell).collect::<Int64Array>()));
    }
    let is_natural = |c: &Cell| natural(c).is_some();
    if all(is_natural) {
        return Ok(Arc::new(cells.iter().map(natural).collect::<UInt64Array>()));
    }
    if all(|c| c.number().is_some()) {
        return Ok(Arc::new(cells.iter().map(Cell::number).collect::<Float64Array>()));
    }
    if all(|c| matches!(c, Cell::Scalar(Scalar::Temporal(_)))) {
        let time =
            |c| if let &Cell::Scalar(Scalar::Temporal(ref time)) = c { Some(time) } else { None };
        // Dates beside moments are their midnights.
        let moments: Option<Vec<_>> = match cells.iter().filter_map(time).all(|t| t.day().is_some())
        {
            true => Some(cells.iter().map(|c| time(c)?.instant()).collect()),
            false => None,
        };
        let midnights = || {
            let local = |(s, ns)| Temporal::LocalDateTime(s, ns);
            let all: Vec<_> = moments?.into_iter().map(|m| m.map(local)).collect();
            times(all.iter().map(Option::as_ref))
        };
        if let Some(column) = times(cells.iter().map(time)).or_else(midnights) {
            return Ok(column);
        }
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
        let values: Vec<Cell> = cells.iter().map(|c| c.field(name).unwrap_or(Cell::NULL)).collect();
        let array = column(&values, cancel)?;
        columns.push((Arc::new(Field::new(name, array.data_type().clone(), true)), array));
    }
    let nulls: Vec<bool> = cells.iter().map(|c| !c.is_null()).collect();
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    Ok(Some(Arc::new(StructArray::try_new(fields.into(), arrays, Some(nulls.into()))?)))
}
