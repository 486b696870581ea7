//! Columns of the graph's tables, read as values of the language.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::types::IntervalMonthDayNanoType;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, IntervalUnit};
use graphlume_graph::Distinct;
use graphlume_graph::canon::{Canon, Column};
use graphlume_store::made;
use graphlume_table::TextColumn;
use graphlume_types::number::nanos_u32;

use crate::value::Value;
use crate::value::temporal::{Duration, Temporal, zoned_of};

/// Texts of a dictionary that are made at once in the time of one that is made for a row.
const TEXTS_PER_READ: usize = 4;

/// A column and what its type means. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ColumnReader {
    column: Arc<Column>,
    raw: ArrayRef,
    kind: Kind,
    /// Texts of a dictionary, shared by all rows.
    words: Arc<OnceLock<Vec<Option<Arc<str>>>>>,
    /// Texts that were read before they were shared.
    texts_read: Arc<AtomicUsize>,
    /// Numbers of the distinct values, one for each row.
    codes: Arc<OnceLock<Option<Distinct>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Day,
    Local,
    Zoned,
    Interval,
    List,
    Struct,
    Union,
}

impl ColumnReader {
    pub(crate) fn new(column: Arc<Column>, raw: &ArrayRef) -> Self {
        let kind = match raw.data_type() {
            DataType::Date32 | DataType::Date64 => Kind::Day,
            DataType::Timestamp(_, None) => Kind::Local,
            DataType::Timestamp(_, Some(_)) => Kind::Zoned,
            DataType::Interval(IntervalUnit::MonthDayNano) => Kind::Interval,
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => Kind::List,
            DataType::Struct(_) => Kind::Struct,
            DataType::Union(..) => Kind::Union,
            _ => Kind::Plain,
        };
        Self {
            column,
            raw: Arc::clone(raw),
            kind,
            words: Arc::default(),
            texts_read: Arc::default(),
            codes: Arc::default(),
        }
    }

    fn of_array(raw: &ArrayRef) -> Option<Self> {
        Some(Self::new(Arc::new(Column::try_new(raw).ok()?), raw))
    }

    pub(crate) fn column(&self) -> &Column {
        &self.column
    }

    /// Whether the cells are what they seem to be.
    pub(crate) fn is_plain(&self) -> bool {
        self.kind == Kind::Plain
    }

    /// The distinct values of the column.
    pub(crate) fn distinct(&self) -> Option<Distinct> {
        graphlume_graph::distinct(&self.raw)
    }

    /// The column when its cells are the numbers they seem to be.
    pub(crate) fn number_column(&self) -> Option<&Column> {
        let number = matches!(*self.column, Column::Int(_) | Column::Float(_));
        (number && self.is_plain()).then_some(&*self.column)
    }

    /// Number of the value of each row, found once by all threads; `None` for columns of compounds.
    pub(crate) fn codes(&self) -> Option<&[u32]> {
        if !matches!(self.kind, Kind::Plain | Kind::Day | Kind::Local | Kind::Zoned) {
            return None;
        }
        let codes = made(&self.codes, || self.distinct());
        codes.as_ref().map(|d| d.codes.as_slice())
    }

    pub(crate) fn is_list(&self) -> bool {
        self.kind == Kind::List
    }

    /// The value of a row; null when there is no such row.
    pub(crate) fn value(&self, row: u32) -> Value {
        let row = row as usize;
        if row >= self.column.len() {
            return Value::NULL;
        }
        match self.kind {
            Kind::Interval => self.interval(row),
            Kind::List => self.elements(row).map_or(Value::NULL, |list| {
                let cells = Self::of_array(&list);
                let all = (0..).take(list.len());
                Value::list(cells.map_or_else(Vec::new, |c| all.map(|i| c.value(i)).collect()))
            }),
            Kind::Struct => self.members(row),
            Kind::Union => self.alternative(row),
            _ => self.scalar(row),
        }
    }

    fn scalar(&self, row: usize) -> Value {
        match &*self.column {
            Column::Text(text) => match text.dictionary() {
                Some((keys, values)) => {
                    let Some(key) = keys.is_valid(row).then(|| keys.value(row) as usize) else {
                        return Value::NULL;
                    };
                    match self.shared_words(values) {
                        Some(words) => {
                            words.get(key).cloned().flatten().map_or(Value::NULL, Value::text)
                        }
                        None => values.get(key).map_or(Value::NULL, Value::text),
                    }
                }
                None => text.get(row).map_or(Value::NULL, Value::text),
            },
            Column::Float(a) => {
                let v = if a.is_valid(row) { a.value(row) } else { f64::NAN };
                if v.is_nan() { Value::NULL } else { Value::float(v) }
            }
            column => match column.get(row) {
                None => Value::NULL,
                Some(Canon::Int(v)) => Value::int(v),
                Some(Canon::UInt(v)) => Value::uint(v),
                Some(Canon::Float(bits)) => Value::float(f64::from_bits(bits)),
                Some(Canon::Bool(v)) => Value::bool(v),
                Some(Canon::Text(v) | Canon::Compound(v)) => Value::text(v),
                Some(Canon::Bytes(bytes)) => {
                    Value::text(bytes.iter().map(|b| format!("{b:02x}")).collect::<String>())
                }
                Some(Canon::Instant(s, ns)) => Value::temporal(match self.kind {
                    Kind::Day => Temporal::Date(s.div_euclid(86_400)),
                    Kind::Zoned => match self.raw.data_type() {
                        DataType::Timestamp(_, Some(zone)) => zoned_of(s, ns, zone),
                        _ => Temporal::LocalDateTime(s, ns),
                    },
                    _ => Temporal::LocalDateTime(s, ns),
                }),
                Some(Canon::Span(s, ns)) => {
                    let d = Duration { seconds: s, nanos: ns.cast_signed(), ..Duration::default() };
                    Value::Duration(Arc::new(d))
                }
                Some(Canon::Clock(ns)) => {
                    Value::temporal(Temporal::LocalTime(ns.rem_euclid(86_400_000_000_000)))
                }
            },
        }
    }

    /// The texts of a dictionary, once so many were read that making all of them pays.
    fn shared_words(&self, values: &TextColumn) -> Option<&Vec<Option<Arc<str>>>> {
        if let Some(words) = self.words.get() {
            return Some(words);
        }
        let read = self.texts_read.fetch_add(1, Ordering::Relaxed);
        (read >= values.len() / TEXTS_PER_READ)
            .then(|| self.words.get_or_init(|| values.iter().map(|w| w.map(Arc::from)).collect()))
    }

    fn interval(&self, row: usize) -> Value {
        if self.raw.is_null(row) {
            return Value::NULL;
        }
        let v = self.raw.as_primitive::<IntervalMonthDayNanoType>().value(row);
        let d = Duration {
            months: i64::from(v.months),
            days: i64::from(v.days),
            seconds: v.nanoseconds.div_euclid(1_000_000_000),
            nanos: nanos_u32(v.nanoseconds).cast_signed(),
        };
        Value::Duration(Arc::new(d))
    }

    /// The elements of a cell that is a list.
    pub(crate) fn elements(&self, row: usize) -> Option<ArrayRef> {
        if row >= self.raw.len() || self.raw.is_null(row) {
            return None;
        }
        match self.raw.data_type() {
            DataType::List(_) => Some(self.raw.as_list::<i32>().value(row)),
            DataType::LargeList(_) => Some(self.raw.as_list::<i64>().value(row)),
            DataType::FixedSizeList(..) => Some(self.raw.as_fixed_size_list().value(row)),
            _ => None,
        }
    }

    fn members(&self, row: usize) -> Value {
        if self.raw.is_null(row) {
            return Value::NULL;
        }
        let members = self.raw.as_struct();
        let value = |array: &ArrayRef| {
            Self::of_array(&array.slice(row, 1)).map_or(Value::NULL, |c| c.value(0))
        };
        let named = members.column_names().into_iter().zip(members.columns());
        Value::map(named.map(|(name, array)| (Arc::from(name), value(array))).collect())
    }

    fn alternative(&self, row: usize) -> Value {
        let union = self.raw.as_union();
        let child = union.child(union.type_id(row));
        let at = union.value_offset(row);
        if at >= child.len() {
            return Value::NULL;
        }
        Self::of_array(&child.slice(at, 1)).map_or(Value::NULL, |c| c.value(0))
    }
}
