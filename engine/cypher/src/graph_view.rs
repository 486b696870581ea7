//! The graph as the language sees it: nodes with labels and properties, relationships with a type.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use graphlume_expr::Scalar;
use graphlume_graph::canon::{Canon, Column};
use graphlume_graph::{Graph, Topology};
use graphlume_store::{CacheKey, PropertyGraph, made};
use graphlume_table::{Table, TextColumn};
use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::column_reader::ColumnReader;
use crate::error::Res;
use crate::value::{Edge, Entries, Value};

/// Column of node labels.
const LABELS: &str = "labels";
/// Columns of single labels begin so.
const LABEL: &str = "label__";
/// Column of relationship types, and of labels where there is nothing better.
pub(crate) const TYPE: &str = "type";
/// Column of relationship ids.
const EDGE_ID: &str = "edge_id";

/// The id column of graphs whose nodes have no id of their own: those of the conformance scenarios.
const UNSEEN_ID: &str = "tck_nid";

/// The number of relationships of a graph that were scanned without a match.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wasted;

impl CacheKey for Wasted {
    type Value = AtomicU64;
}

/// The nodes that have a label, by their bits.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LabelBits(String);

impl CacheKey for LabelBits {
    type Value = Vec<u64>;
}

/// Columns with their names.
type Named = Vec<(Arc<str>, ColumnReader)>;

/// A graph, prepared for reading.
#[derive(Debug)]
pub(crate) struct GraphView {
    graph: PropertyGraph,
    topology: Arc<Topology>,
    /// Nodes that exist; edges to others are not seen.
    exists: u32,
    ids: ColumnReader,
    /// Whether node rows are node indices.
    rows_are_nodes: bool,
    node_columns: OnceLock<Named>,
    edge_columns: OnceLock<Named>,
    edge_type: Option<ColumnReader>,
    labels: Option<ColumnReader>,
    flags: Named,
    node_type: Option<ColumnReader>,
    /// Relationships that all queries of the graph scanned without a match.
    wasted: Arc<AtomicU64>,
    /// The moment that counts as now.
    pub now: (i64, u32),
}

/// How to tell whether a node has a label.
#[derive(Clone, Debug, Default)]
pub(crate) struct LabelTest {
    flag: Option<ColumnReader>,
    listed: Option<ColumnReader>,
    typed: Option<TypeTest>,
    name: String,
    /// What a column of truths is called that tells of it.
    flag_name: String,
}

/// How to tell whether a text column has one of some words.
#[derive(Clone, Debug)]
pub(crate) struct TypeTest {
    cells: ColumnReader,
    words: Arc<[String]>,
    /// For a dictionary, which keys are meant.
    keys: Option<Arc<[bool]>>,
    /// The answers of all rows, a bit each, once they were worth finding.
    bits: Arc<OnceLock<Arc<Vec<u64>>>>,
}

impl LabelTest {
    /// The column of which the label is a value, where that alone tells.
    pub(crate) fn typed_cells(&self) -> Option<&ColumnReader> {
        let alone = self.flag.is_none() && self.listed.is_none();
        self.typed.as_ref().filter(|_| alone).map(TypeTest::cells)
    }

    /// The column of truths, with its name, where that alone tells.
    pub(crate) fn flag_cells(&self) -> Option<(&str, &ColumnReader)> {
        let cells = self.flag.as_ref().filter(|_| self.listed.is_none())?;
        Some((&self.flag_name, cells))
    }

    /// Whether the nodes have no column that could tell of the label.
    pub(crate) fn is_never(&self) -> bool {
        self.flag.is_none() && self.listed.is_none() && self.typed.is_none()
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl TypeTest {
    fn new(cells: &ColumnReader, words: Vec<String>) -> Self {
        let keys = match cells.column() {
            Column::Text(text) => text.dictionary().map(|(_, values)| {
                values.iter().map(|v| v.is_some_and(|v| words.iter().any(|w| w == v))).collect()
            }),
            _ => None,
        };
        Self { cells: cells.clone(), words: words.into(), keys, bits: Arc::default() }
    }

    pub(crate) const fn cells(&self) -> &ColumnReader {
        &self.cells
    }

    /// Tests all rows, by all threads.
    pub(crate) fn prepare(&self) {
        made(&self.bits, || {
            let rows = self.cells.column().len() as u32;
            let word = |w: u32| {
                let bits = (w * 64..(w * 64 + 64).min(rows)).filter(|row| self.find(*row));
                bits.fold(0u64, |word, row| word | 1 << (row % 64))
            };
            let words = (0..rows.div_ceil(64)).into_par_iter().with_min_len(256).map(word);
            Arc::new(words.collect())
        });
    }

    /// How many rows have one of the words; zero before [`TypeTest::prepare`].
    pub(crate) fn matches(&self) -> u64 {
        let bits = self.bits.get().map_or(&[][..], |bits| bits.as_slice());
        bits.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Whether the row has one of the words.
    #[inline]
    pub(crate) fn holds(&self, row: u32) -> bool {
        match self.bits.get() {
            Some(bits) => bits.get(row as usize / 64).is_some_and(|w| w >> (row % 64) & 1 == 1),
            None => self.find(row),
        }
    }

    fn find(&self, row: u32) -> bool {
        let row = row as usize;
        match (self.cells.column(), &self.keys) {
            (Column::Text(text), Some(wanted)) => text.dictionary().is_some_and(|(keys, _)| {
                row < keys.len()
                    && keys.is_valid(row)
                    && wanted.get(keys.value(row) as usize).copied().unwrap_or(false)
            }),
            (Column::Text(text), None) => {
                row < text.len() && text.get(row).is_some_and(|v| self.words.iter().any(|w| w == v))
            }
            _ => match self.cells.value(row as u32) {
                Value::Scalar(Scalar::Null) => false,
                other => self.words.iter().any(|w| *w == plain(&other)),
            },
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Scalar(Scalar::Text(v)) => v.to_string(),
        Value::Scalar(Scalar::Int(v)) => v.to_string(),
        Value::Scalar(Scalar::Float(v)) => v.to_string(),
        Value::Scalar(Scalar::Bool(v)) => v.to_string(),
        _ => value.as_whole().map_or_else(String::new, |v| v.to_string()),
    }
}

impl GraphView {
    pub(crate) fn new(graph: &PropertyGraph, now: (i64, u32), cancel: &CancelToken) -> Res<Self> {
        let frame = graph.frame(cancel).map_err(Box::new)?;
        let ids = Column::try_new(&frame.ids).unwrap_or(Column::Null(0));
        let ids = ColumnReader::new(Arc::new(ids), &frame.ids);
        let nodes = graph.nodes();
        let cells = |edges: bool, name: &str| cells_of(graph, edges, name);
        let node_names = nodes.map(Table::column_names).unwrap_or_default();
        let flags: Named = node_names
            .iter()
            .filter_map(|n| Some((Arc::from(n.strip_prefix(LABEL)?), cells(false, n)?)))
            .collect();
        let labels = cells(false, LABELS).filter(ColumnReader::is_list);
        let untyped = labels.is_none() && flags.is_empty();
        Ok(Self {
            graph: graph.clone(),
            topology: Arc::clone(&frame.topology),
            exists: match nodes {
                Some(_) => frame.nodes_in_table,
                None => frame.topology.num_nodes(),
            },
            ids,
            rows_are_nodes: nodes.is_some() && frame.node_row.is_none(),
            node_columns: OnceLock::new(),
            edge_columns: OnceLock::new(),
            edge_type: cells(true, TYPE),
            node_type: cells(false, TYPE).filter(|_| untyped),
            labels,
            flags,
            wasted: graph.kept(&Wasted).unwrap_or_else(|| {
                let wasted = Arc::default();
                graph.keep(Wasted, &wasted, 0, cancel);
                wasted
            }),
            now,
        })
    }

    pub(crate) fn wasted(&self) -> &AtomicU64 {
        &self.wasted
    }

    pub(crate) fn topology(&self) -> &Topology {
        &self.topology
    }

    pub(crate) fn graph(&self) -> &PropertyGraph {
        &self.graph
    }

    /// How many nodes there are; they are the first indices.
    pub(crate) fn num_nodes(&self) -> u32 {
        self.exists
    }

    fn frame(&self) -> Option<&Graph> {
        self.graph.frame(&CancelToken::new()).ok()
    }

    /// Row of the node table; `None` when the node has none.
    #[inline]
    pub(crate) fn node_row(&self, v: u32) -> Option<u32> {
        if self.rows_are_nodes {
            return (v < self.exists).then_some(v);
        }
        self.graph.nodes()?;
        self.frame()?.row_of(v)
    }

    /// The user's id of a node.
    pub(crate) fn node_id(&self, v: u32) -> Value {
        self.ids.value(v)
    }

    /// The user's id of a relationship, else its row.
    pub(crate) fn edge_id(&self, row: u32) -> Value {
        match cells_of(&self.graph, true, EDGE_ID) {
            Some(cells) => cells.value(row),
            None => Value::int(i64::from(row)),
        }
    }

    /// A property column of nodes; the id may be asked for by its name too.
    pub(crate) fn node_cells(&self, name: &str) -> Option<ColumnReader> {
        cells_of(&self.graph, false, name)
    }

    /// Whether the name means the id of nodes, which do not need a table then.
    pub(crate) fn is_id(&self, name: &str) -> bool {
        name == self.graph.node_column()
    }

    pub(crate) fn edge_cells(&self, name: &str) -> Option<ColumnReader> {
        cells_of(&self.graph, true, name)
    }

    /// The node with this id.
    pub(crate) fn find(&self, id: &Value, cancel: &CancelToken) -> Res<Option<u32>> {
        let canon = match id {
            Value::Scalar(Scalar::Int(v)) => Some(Canon::Int(*v)),
            Value::Scalar(Scalar::UInt(v)) => Some(Canon::UInt(*v)),
            Value::Scalar(Scalar::Float(v)) => graphlume_graph::canon::of_f64(*v),
            Value::Scalar(Scalar::Text(v)) => Some(Canon::Text(v)),
            Value::Scalar(Scalar::Bool(v)) => Some(Canon::Bool(*v)),
            _ => None,
        };
        let Some(canon) = canon else { return Ok(None) };
        let found = self.graph.find(&canon, cancel).map_err(Box::new)?;
        Ok(found.filter(|v| *v < self.exists))
    }

    fn visible(&self, table: &Table, edges: bool) -> Named {
        let bindings = self.graph.bindings();
        let hidden = |name: &str| {
            if edges {
                [bindings.source.as_deref(), bindings.destination.as_deref()].contains(&Some(name))
                    || name == EDGE_ID
                    || name == TYPE
            } else {
                self.is_id(name)
                    || name == UNSEEN_ID
                    || name == LABELS && self.labels.is_some()
                    || name.starts_with(LABEL)
            }
        };
        let names = table.column_names().into_iter().filter(|n| !hidden(n));
        names.filter_map(|n| Some((Arc::from(n), cells_of(&self.graph, edges, n)?))).collect()
    }

    fn node_columns(&self) -> &Named {
        self.node_columns
            .get_or_init(|| self.graph.nodes().map(|t| self.visible(t, false)).unwrap_or_default())
    }

    fn edge_columns(&self) -> &Named {
        self.edge_columns
            .get_or_init(|| self.graph.edges().map(|t| self.visible(t, true)).unwrap_or_default())
    }

    /// The id, under the name of its column, and the other properties that are not null.
    pub(crate) fn node_properties(&self, v: u32) -> Entries {
        let mut all = Entries::new();
        let name = self.graph.node_column();
        if name != UNSEEN_ID && v < self.exists {
            all.extend(Some((Arc::from(name), self.node_id(v))).filter(|(_, id)| !id.is_null()));
        }
        if let Some(row) = self.node_row(v) {
            all.extend(properties(self.node_columns(), row));
        }
        all
    }

    pub(crate) fn edge_properties(&self, row: u32) -> Entries {
        properties(self.edge_columns(), row)
    }

    pub(crate) fn edge_type(&self, row: u32) -> Option<Arc<str>> {
        match self.edge_type.as_ref()?.value(row) {
            Value::Scalar(Scalar::Null) => None,
            Value::Scalar(Scalar::Text(text)) => Some(text),
            other => Some(plain(&other).into()),
        }
    }

    /// The labels of a node.
    pub(crate) fn labels(&self, v: u32) -> Vec<Arc<str>> {
        let mut found: Vec<Arc<str>> = Vec::new();
        let Some(row) = self.node_row(v) else { return found };
        let mut add = |label: Arc<str>| {
            if !found.contains(&label) {
                found.push(label);
            }
        };
        if let Some(Value::List(list)) = self.labels.as_ref().map(|c| c.value(row)) {
            for label in list.iter() {
                if let Value::Scalar(Scalar::Text(label)) = label {
                    add(Arc::clone(label));
                }
            }
        }
        for (label, cells) in &self.flags {
            if matches!(cells.value(row), Value::Scalar(Scalar::Bool(true))) {
                add(Arc::clone(label));
            }
        }
        if let Some(cells) = &self.node_type {
            match cells.value(row) {
                Value::Scalar(Scalar::Null) => {}
                Value::Scalar(Scalar::Text(label)) => add(label),
                other => add(plain(&other).into()),
            }
        }
        found
    }

    pub(crate) fn label_test(&self, name: &str) -> LabelTest {
        let typed = self.node_type.as_ref().map(|c| TypeTest::new(c, vec![name.to_owned()]));
        if let (Some(typed), Some(bits)) = (&typed, self.graph.kept(&LabelBits(name.to_owned()))) {
            let _ = typed.bits.set(bits);
        }
        LabelTest {
            flag: self.flags.iter().find(|(n, _)| **n == *name).map(|(_, c)| c.clone()),
            listed: self.labels.clone(),
            typed,
            name: name.to_owned(),
            flag_name: format!("{LABEL}{name}"),
        }
    }

    /// Tests all nodes at once where that makes a difference; the answers stay with the graph.
    pub(crate) fn prepare(&self, test: &LabelTest, cancel: &CancelToken) {
        let Some(typed) = test.typed.as_ref().filter(|_| test.flag.is_none()) else { return };
        if typed.bits.get().is_some() {
            return;
        }
        typed.prepare();
        if let Some(bits) = typed.bits.get() {
            let bytes = size_of_val(bits.as_slice()) as u64;
            self.graph.keep(LabelBits(test.name.clone()), bits, bytes, cancel);
        }
    }

    /// Whether node rows are node indices.
    pub(crate) const fn rows_are_nodes(&self) -> bool {
        self.rows_are_nodes
    }

    /// A bit for each node, set where it has the label; `None` before that is known, or where no column alone tells.
    pub(crate) fn bits_of<'t>(&self, test: &'t LabelTest) -> Option<&'t [u64]> {
        let typed = test.typed_cells().and(test.typed.as_ref()).filter(|_| self.rows_are_nodes)?;
        typed.bits.get().map(|bits| bits.as_slice())
    }

    /// Clears the marks of the nodes from `from` on that lack a label.
    pub(crate) fn narrow(&self, test: &LabelTest, from: usize, marks: &mut [bool]) {
        let bits = test.typed.as_ref().filter(|_| test.flag.is_none()).and_then(|t| t.bits.get());
        match bits.filter(|_| self.rows_are_nodes) {
            Some(bits) => {
                // Word by word, for several marks are made at once then.
                let (first, marks) =
                    marks.split_at_mut(marks.len().min(from.next_multiple_of(64) - from));
                let word = |at: usize| bits.get(at / 64).copied().unwrap_or(0);
                let whole = from + first.len();
                for (v, mark) in (from..).zip(first) {
                    *mark &= word(v) >> (v % 64) & 1 == 1;
                }
                for (at, marks) in (whole..).step_by(64).zip(marks.chunks_mut(64)) {
                    let word = word(at);
                    marks.iter_mut().zip(0..).for_each(|(mark, i)| *mark &= word >> i & 1 == 1);
                }
            }
            None => {
                let nodes = (from as u32..).zip(marks).filter(|(_, mark)| **mark);
                nodes.for_each(|(v, mark)| *mark = self.has_label(v, test));
            }
        }
    }

    /// A test of relationship types; `None` when no relationship has a type.
    /// The column of the types of relationships.
    pub(crate) const fn edge_type_cells(&self) -> Option<&ColumnReader> {
        self.edge_type.as_ref()
    }

    pub(crate) fn type_test(&self, names: Vec<String>) -> Option<TypeTest> {
        Some(TypeTest::new(self.edge_type.as_ref()?, names))
    }

    /// Whether a node has a label.
    pub(crate) fn has_label(&self, v: u32, test: &LabelTest) -> bool {
        let Some(row) = self.node_row(v) else { return false };
        if let Some(cells) = &test.flag {
            let set = match cells.column() {
                Column::Bool(a) => a.is_valid(row as usize) && a.value(row as usize),
                _ => matches!(cells.value(row), Value::Scalar(Scalar::Bool(true))),
            };
            if set || test.listed.is_none() {
                return set;
            }
        }
        if let Some(cells) = &test.listed {
            let Some(list) = cells.elements(row as usize) else { return false };
            return match list.data_type() {
                DataType::Utf8 => list.as_string::<i32>().iter().any(|v| v == Some(&test.name)),
                _ => TextColumn::try_new(&list)
                    .is_some_and(|t| t.iter().any(|v| v == Some(test.name.as_str()))),
            };
        }
        test.typed.as_ref().is_some_and(|t| t.holds(row))
    }

    /// The other end of a relationship.
    pub(crate) const fn other_end(edge: Edge, v: u32) -> u32 {
        if edge.source == v { edge.destination } else { edge.source }
    }
}

fn cells_of(graph: &PropertyGraph, edges: bool, name: &str) -> Option<ColumnReader> {
    let table = if edges { graph.edges() } else { graph.nodes() }?;
    let raw = table.column(name)?;
    Some(ColumnReader::new(graph.column(table, edges, name)?, raw))
}

fn properties(columns: &Named, row: u32) -> Entries {
    let cell = |(name, cells): &(Arc<str>, ColumnReader)| match cells.value(row) {
        Value::Scalar(Scalar::Null) => None,
        value => Some((Arc::clone(name), value)),
    };
    columns.iter().filter_map(cell).collect()
}
