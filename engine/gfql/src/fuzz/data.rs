//! Small graphs as plain rows of values, and the same as tables.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float32Array, Float64Array, Int8Array, Int64Array,
    NullArray, RecordBatch, RecordBatchOptions, StringArray, TimestampMillisecondArray,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use graphlume_expr::Scalar;
use graphlume_store::{Bindings, PropertyGraph};
use graphlume_table::Table;

use super::draw::Draw;
use crate::expr::{Cell, Reader};

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum V {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    /// Seconds since 1970.
    Time(i64),
    List(Vec<V>),
}

impl V {
    pub(super) fn text(s: &str) -> Self {
        Self::Text(s.to_owned())
    }

    pub(super) const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub(super) const fn number(&self) -> Option<f64> {
        match self {
            Self::Int(v) => Some(*v as f64),
            Self::Float(v) => Some(*v),
            _ => None,
        }
    }

    /// Whether two values are the same, numbers by their value.
    pub(super) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(a), Self::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b))
            }
            _ => match (self.number(), other.number()) {
                (Some(a), Some(b)) => a == b,
                _ => self == other,
            },
        }
    }
}

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Bool,
    Int,
    Float,
    Text,
    Time,
    List,
}

impl Kind {
    pub(super) const fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::Null)
    }

    pub(super) const fn is_numeric(self) -> bool {
        matches!(self, Self::Int | Self::Float | Self::Bool)
    }
}

/// A column: its name, its kind, and which of several types of arrays stores it.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) name: String,
    pub(super) kind: Kind,
    form: usize,
}

/// A table.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    pub(super) heads: Vec<Head>,
    pub(super) cells: Vec<Vec<V>>,
}

impl Rows {
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.heads.iter().position(|h| h.name == name)
    }

    pub(super) fn kind(&self, name: &str) -> Option<Kind> {
        self.place(name).map(|at| self.heads[at].kind)
    }

    /// The cells of a column.
    pub(super) fn column(&self, name: &str) -> Option<Vec<V>> {
        let at = self.place(name)?;
        Some(self.cells.iter().map(|row| row[at].clone()).collect())
    }

    /// Puts a column in the place of one of the same name, or behind the others.
    pub(super) fn put(&mut self, name: &str, kind: Kind, column: Vec<V>) {
        let at = self.place(name).unwrap_or_else(|| {
            self.heads.push(Head { name: name.to_owned(), kind, form: 0 });
            self.cells.iter_mut().for_each(|row| row.push(V::Null));
            self.heads.len() - 1
        });
        self.heads[at].kind = kind;
        for (row, v) in self.cells.iter_mut().zip(column) {
            row[at] = v;
        }
    }

    /// The rows with these numbers.
    pub(super) fn picked(&self, rows: &[usize]) -> Self {
        let cells = rows.iter().map(|r| self.cells[*r].clone()).collect();
        Self { heads: self.heads.clone(), cells }
    }

    pub(super) fn table(&self) -> Table {
        let arrays: Vec<ArrayRef> = (0..self.heads.len()).map(|at| self.array(at)).collect();
        let field = |(h, a): (&Head, &ArrayRef)| Field::new(&h.name, a.data_type().clone(), true);
        let fields: Vec<Field> = self.heads.iter().zip(&arrays).map(field).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.cells.len()));
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options).unwrap();
        Table::try_new(batch).unwrap()
    }

    fn array(&self, at: usize) -> ArrayRef {
        let head = &self.heads[at];
        let column: Vec<&V> = self.cells.iter().map(|row| &row[at]).collect();
        let ints = || {
            column.iter().map(|v| match v {
                V::Int(v) | V::Time(v) => Some(*v),
                V::Float(v) => Some(*v as i64),
                _ => None,
            })
        };
        let floats = || column.iter().map(|v| v.number());
        let texts = || {
            column.iter().map(|v| match v {
                V::Text(t) => Some(t.as_str()),
                _ => None,
            })
        };
        let cast = |array: ArrayRef, to: DataType| arrow_cast::cast(&array, &to).unwrap();
        match head.kind {
            Kind::Null => Arc::new(NullArray::new(column.len())),
            Kind::Bool => {
                let bools = column.iter().map(|v| match v {
                    V::Bool(b) => Some(*b),
                    _ => None,
                });
                Arc::new(bools.collect::<BooleanArray>())
            }
            Kind::Int => match head.form % 3 {
                0 => Arc::new(ints().collect::<Int64Array>()),
                1 => Arc::new(ints().map(|v| v.map(|v| v as i8)).collect::<Int8Array>()),
                _ if ints().flatten().any(|v| v < 0) => Arc::new(ints().collect::<Int64Array>()),
                _ => Arc::new(ints().map(|v| v.map(|v| v as u64)).collect::<UInt64Array>()),
            },
            Kind::Float => match head.form % 2 {
                // What is no number counts as null.
                0 => Arc::new(
                    floats().map(|v| Some(v.unwrap_or(f64::NAN))).collect::<Float64Array>(),
                ),
                _ => Arc::new(floats().map(|v| v.map(|v| v as f32)).collect::<Float32Array>()),
            },
            Kind::Text => {
                let array: ArrayRef = Arc::new(texts().collect::<StringArray>());
                let dictionary =
                    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                match head.form % 4 {
                    0 => array,
                    1 => cast(array, dictionary),
                    2 => cast(array, DataType::LargeUtf8),
                    _ => cast(array, DataType::Utf8View),
                }
            }
            Kind::Time => match head.form % 2 {
                0 => Arc::new(
                    ints().map(|v| v.map(|v| v * 1000)).collect::<TimestampMillisecondArray>(),
                ),
                _ if ints().flatten().any(|v| v % 86_400 != 0) => Arc::new(
                    ints().map(|v| v.map(|v| v * 1000)).collect::<TimestampMillisecondArray>(),
                ),
                _ => Arc::new(
                    ints().map(|v| v.map(|v| (v / 86_400) as i32)).collect::<Date32Array>(),
                ),
            },
            Kind::List => {
                let mut lists = ListBuilder::new(StringBuilder::new());
                for v in column {
                    if let V::List(items) = v {
                        for item in items {
                            if let V::Text(t) = item {
                                lists.values().append_value(t);
                            }
                        }
                    }
                    lists.append(!v.is_null());
                }
                Arc::new(lists.finish())
            }
        }
    }

    /// What a table holds.
    pub(super) fn read(table: &Table) -> Self {
        let mut rows = Self { heads: vec![], cells: vec![vec![]; table.num_rows()] };
        for name in table.column_names() {
            let reader = Reader::new(table.column(name).unwrap()).unwrap();
            let column = (0..table.num_rows()).map(|row| value(reader.get(row))).collect();
            rows.put(name, Kind::Null, column);
        }
        rows
    }
}

fn value(cell: Cell) -> V {
    match cell {
        Cell::NULL => V::Null,
        Cell::Scalar(Scalar::Bool(v)) => V::Bool(v),
        Cell::Scalar(Scalar::Int(v)) => V::Int(v),
        Cell::Scalar(Scalar::UInt(v)) => V::Text(format!("{v} has no counterpart")),
        Cell::Scalar(Scalar::Float(v)) => V::Float(v),
        Cell::Scalar(Scalar::Text(v)) => V::Text(v.to_string()),
        Cell::Scalar(Scalar::Temporal(time)) => V::Time(time.instant().unwrap().0),
        Cell::List(items) => V::List(items.into_iter().map(value).collect()),
        other @ (Cell::Map(_) | Cell::Entity(_)) => V::Text(other.notation()),
    }
}

/// A graph: the node table, if there is one, the edge table, and the name of the id column. Its edges
/// end in `s` and `d`.
#[derive(Clone, Debug)]
pub(super) struct Data {
    pub(super) nodes: Option<Rows>,
    pub(super) edges: Option<Rows>,
    pub(super) id: Option<String>,
}

impl std::fmt::Display for Data {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, rows) in [("nodes", &self.nodes), ("edges", &self.edges)] {
            let Some(rows) = rows else { continue };
            let heads: Vec<_> = rows.heads.iter().map(|h| (&h.name, h.kind, h.form)).collect();
            writeln!(f, "{name} {heads:?}")?;
            rows.cells.iter().try_for_each(|row| writeln!(f, "  {row:?}"))?;
        }
        Ok(())
    }
}

impl Data {
    pub(super) fn graph(&self) -> PropertyGraph {
        graphlume_types::tuning::use_small(true);
        let bindings = Bindings {
            node: self.id.clone(),
            source: self.edges.is_some().then(|| "s".to_owned()),
            destination: self.edges.is_some().then(|| "d".to_owned()),
        };
        let table = |rows: &Option<Rows>| rows.as_ref().map(Rows::table);
        PropertyGraph::new(table(&self.nodes), table(&self.edges), bindings).unwrap()
    }
}

/// Texts of cells and of predicates.
pub(super) const TEXTS: &[&str] =
    &["a", "b", "ab", "Ab", "B", "aab", "", "1", "12", " ", "A b", "\u{e9}", "\u{c9}"];

/// Moments, their days and whether a day is first or last: seconds, year, month, day, last of month.
pub(super) const TIMES: &[(i64, i64, u32, u32, bool)] = &[
    (0, 1970, 1, 1, false),
    (-1, 1969, 12, 31, true),
    (1_704_067_200, 2024, 1, 1, false),
    (1_709_164_800, 2024, 2, 29, true),
    (1_711_843_200, 2024, 3, 31, true),
    (1_711_929_600, 2024, 4, 1, false),
    (1_703_980_800, 2023, 12, 31, true),
    (1_704_110_400, 2024, 1, 1, false),
    (-2_203_891_200, 1900, 3, 1, false),
];

const NODE_COLUMNS: &[(&str, Kind)] = &[
    ("i", Kind::Int),
    ("f", Kind::Float),
    ("t", Kind::Text),
    ("b", Kind::Bool),
    ("w", Kind::Time),
    ("type", Kind::Text),
    ("label__A", Kind::Bool),
    ("labels", Kind::List),
    ("none", Kind::Null),
];

const EDGE_COLUMNS: &[(&str, Kind)] = &[
    ("e", Kind::Int),
    ("g", Kind::Float),
    ("t", Kind::Text),
    ("b", Kind::Bool),
    ("w", Kind::Time),
    ("type", Kind::Text),
];

/// A value of a kind.
pub(super) fn drawn(d: &mut Draw, name: &str, kind: Kind) -> V {
    if d.chance(15) {
        return V::Null;
    }
    match kind {
        Kind::Null => V::Null,
        Kind::Bool => V::Bool(d.chance(50)),
        Kind::Int => V::Int(d.below(5) as i64 - i64::from(d.chance(20)) * 2),
        Kind::Float => V::Float(d.below(9) as f64 / 2.0 - f64::from(u8::from(d.chance(20)))),
        Kind::Text if name == "type" => V::text(d.word(&["A", "B"])),
        Kind::Text => V::text(d.word(TEXTS)),
        Kind::Time => V::Time(d.pick(TIMES).0),
        Kind::List => V::List(d.list(2, |d| V::text(d.word(&["A", "B"])))),
    }
}

fn heads(d: &mut Draw, columns: &[(&str, Kind)]) -> Vec<Head> {
    let mut heads = Vec::new();
    for (name, kind) in columns {
        if d.chance(55) {
            heads.push(Head { name: (*name).to_owned(), kind: *kind, form: d.below(12) });
        }
    }
    heads
}

fn rows(d: &mut Draw, mut ids: Vec<(Head, Vec<V>)>, count: usize, more: &[(&str, Kind)]) -> Rows {
    let heads = heads(d, more);
    let cells =
        (0..count).map(|_| heads.iter().map(|h| drawn(d, &h.name, h.kind)).collect()).collect();
    let mut rows = Rows { heads, cells };
    // Ids stand anywhere among the columns.
    for (head, column) in ids.drain(..) {
        let at = d.below(rows.heads.len() + 1);
        rows.heads.insert(at, head);
        rows.cells.iter_mut().zip(column).for_each(|(row, v)| row.insert(at, v));
    }
    rows
}

/// A graph with parallel edges, self-loops, ends that no node has, and nulls.
pub(super) fn data(d: &mut Draw) -> Data {
    let n = 1 + d.below(7);
    let text = d.chance(40);
    let (strange, twice) = (d.chance(10), d.chance(8));
    let id = |v: usize| if text { V::Text(format!("n{v}")) } else { V::Int(v as i64) };
    // Ids of one value may be of several types.
    let typed = |head: Head, ids: Vec<V>| {
        let float = |v: V| match v {
            V::Int(v) => V::Float(v as f64),
            other => other,
        };
        let ids = if head.kind == Kind::Float { ids.into_iter().map(float).collect() } else { ids };
        (head, ids)
    };
    let head = |d: &mut Draw, name: &str| {
        let kind = match (text, d.below(4)) {
            (true, _) => Kind::Text,
            (false, 3) => Kind::Float,
            _ => Kind::Int,
        };
        Head { name: name.to_owned(), kind, form: d.below(12) }
    };
    let nodes = (!d.chance(15)).then(|| {
        let mut ids: Vec<V> = (0..n).map(id).collect();
        for i in 0..n {
            if twice && d.chance(30) {
                ids[i] = ids[d.below(n)].clone();
            }
            if strange && d.chance(15) {
                ids[i] = V::Null;
            }
        }
        let head = head(d, "id");
        rows(d, vec![typed(head, ids)], n, NODE_COLUMNS)
    });
    let edges = (nodes.is_none() || !d.chance(5)).then(|| {
        let m = d.below(11);
        let end = |d: &mut Draw| -> Vec<V> {
            let one = |d: &mut Draw| {
                if strange && d.chance(10) {
                    V::Null
                } else {
                    id(d.below(n + usize::from(strange)))
                }
            };
            (0..m).map(|_| one(d)).collect()
        };
        let (s, t) = (end(d), end(d));
        let (a, b) = (head(d, "s"), head(d, "d"));
        rows(d, vec![typed(a, s), typed(b, t)], m, EDGE_COLUMNS)
    });
    Data { id: nodes.is_some().then(|| "id".to_owned()), nodes, edges }
}
