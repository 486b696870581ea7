//! From encodings as uploaded to columns and elements.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt32Array};
use graphlume_graph::Graph;
use graphlume_table::Table;
use graphlume_types::{Notice, note};
use rayon::prelude::*;
use serde_json::{Map, Value};

use crate::elements::Side;
use crate::encodings::{Encodings, NodeColumn};
use crate::notices::COLUMN_MISSING;
use crate::text::cut;

/// The encodings of one side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec<'a> {
    pub(crate) side: Side,
    bindings: Option<&'a Map<String, Value>>,
    /// What shows now, and what "reset" goes back to.
    complex: [Option<&'a Map<String, Value>>; 2],
}

impl<'a> Spec<'a> {
    /// Reads `{bindings, complex?}`.
    pub(crate) fn new(side: Side, encodings: &'a Value) -> Self {
        let member = |name: &str| encodings.get(name).and_then(Value::as_object);
        let complex = member("complex");
        let state = |name: &str| complex.and_then(|c| c.get(name)).and_then(Value::as_object);
        Self { side, bindings: member("bindings"), complex: [state("current"), state("default")] }
    }

    /// The column bound to `name`, such as `node_color`.
    pub(crate) fn binding(&self, name: &str) -> Option<&'a str> {
        self.bindings?.get(name)?.as_str().filter(|s| !s.is_empty())
    }

    /// The complex encodings of a kind such as `Color`, the one that shows now first.
    pub(crate) fn complex(&self, kind: &str) -> impl Iterator<Item = &'a Map<String, Value>> {
        let key = format!("{}{kind}Encoding", self.side.key());
        let usable = |e: &&Map<String, Value>| e.get("reset") != Some(&Value::Bool(true));
        self.complex
            .into_iter()
            .flatten()
            .filter_map(move |state| state.get(&key)?.as_object())
            .filter(usable)
    }

    /// The keys of all complex encodings.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.complex.into_iter().flatten().flat_map(Map::keys).map(String::as_str)
    }
}

/// Which row of a column belongs to an element.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rows<'a> {
    /// The column has one row an element.
    Elements,
    /// Rows of the node table.
    Nodes(&'a Graph),
    /// Rows of the edge table, by CSR position.
    Edges(&'a [u32]),
}

impl Rows<'_> {
    #[inline]
    pub(crate) fn row(self, element: u32) -> Option<usize> {
        match self {
            Self::Elements => Some(element as usize),
            Self::Nodes(graph) => graph.row_of(element).map(|r| r as usize),
            Self::Edges(rows) => rows.get(element as usize).map(|r| *r as usize),
        }
    }
}

/// A column whose values belong to elements.
#[derive(Debug, Clone)]
pub(crate) struct Source<'a> {
    pub(crate) name: String,
    pub(crate) array: ArrayRef,
    pub(crate) rows: Rows<'a>,
    /// Number of elements.
    pub(crate) len: u32,
}

impl Source<'_> {
    /// From values by row to values by element.
    pub(crate) fn gather<T: Copy + Send + Sync>(&self, values: &[T], missing: T) -> Vec<T> {
        let of = |element: u32| {
            self.rows.row(element).and_then(|r| values.get(r)).copied().unwrap_or(missing)
        };
        (0..self.len).into_par_iter().with_min_len(1 << 13).map(of).collect()
    }
}

/// The graph and its tables, and what was found wrong with the encodings so far.
pub(crate) struct Cx<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) nodes: Option<&'a Table>,
    pub(crate) edges: Option<&'a Table>,
    pub(crate) node: Spec<'a>,
    pub(crate) edge: Spec<'a>,
    /// Columns of the nodes that are in no table.
    pub(crate) node_columns: &'a [NodeColumn],
    pub(crate) notices: Vec<Notice>,
}

/// Columns that every graph has without a table.
const DEGREES: [&str; 3] = ["degree", "degree_in", "degree_out"];

/// The columns that there are, for messages.
fn named(columns: &[&str]) -> String {
    const SHOWN: usize = 20;
    if columns.is_empty() {
        return String::new();
    }
    let more = if columns.len() > SHOWN { " and more" } else { "" };
    let shown = columns.iter().take(SHOWN).map(|name| format!("{name:?}")).collect::<Vec<_>>();
    format!(" (it has {}{more})", shown.join(", "))
}

impl<'a> Cx<'a> {
    /// Tells that something bound is not shown as asked.
    pub(crate) fn tell(&mut self, slug: &'static str, text: String) {
        note(&mut self.notices, Notice::new(slug, text));
    }

    pub(crate) fn spec(&self, side: Side) -> Spec<'a> {
        match side {
            Side::Node => self.node,
            Side::Edge => self.edge,
        }
    }

    /// The column of this name on this side; a warning and `None` when there is none.
    pub(crate) fn column(&mut self, side: Side, name: &str, purpose: &str) -> Option<Source<'a>> {
        let found = self.find(side, name);
        if found.is_none() {
            let table = if side == Side::Node { self.nodes } else { self.edges };
            let known = table.map(|t| named(&t.column_names())).unwrap_or_default();
            let side = side.word();
            let text = format!(
                "{side} {purpose} is bound to column {name:?}, which the {side} table does not have{known}: \
                 the default is shown"
            );
            self.tell(COLUMN_MISSING, text);
        }
        found
    }

    /// The column of this name on this side.
    pub(crate) fn find(&self, side: Side, name: &str) -> Option<Source<'a>> {
        match side {
            Side::Node => self.node_column(name),
            Side::Edge => self.edge_column(name),
        }
    }

    pub(crate) fn node_column(&self, name: &str) -> Option<Source<'a>> {
        let (graph, len) = (self.graph, self.graph.topology.num_nodes());
        let own =
            |array: ArrayRef| Source { name: name.to_owned(), array, rows: Rows::Elements, len };
        // The ids cover nodes that only edges mention, which the table's own id column does not.
        if self.node.binding("node") == Some(name) {
            return Some(own(ArrayRef::clone(&graph.ids)));
        }
        if let Some(array) = self.nodes.and_then(|t| t.column(name)) {
            let array = ArrayRef::clone(array);
            return Some(Source { rows: Rows::Nodes(graph), ..own(array) });
        }
        if let Some((_, array)) = self.node_columns.iter().find(|(of, _)| of == name) {
            return Some(own(ArrayRef::clone(array)));
        }
        let t = &graph.topology;
        let degree = match DEGREES.iter().position(|d| *d == name)? {
            0 => |t: &graphlume_graph::Topology, v| t.degree(v),
            1 => |t: &graphlume_graph::Topology, v| t.in_degree(v),
            _ => |t: &graphlume_graph::Topology, v| t.out_degree(v),
        };
        let degrees: Vec<u32> = (0..len).into_par_iter().map(|v| degree(t, v)).collect();
        Some(own(Arc::new(UInt32Array::from(degrees))))
    }

    pub(crate) fn edge_column(&self, name: &str) -> Option<Source<'a>> {
        let array = ArrayRef::clone(self.edges?.column(name)?);
        let t = &self.graph.topology;
        let rows = Rows::Edges(t.out_row());
        Some(Source { name: name.to_owned(), array, rows, len: t.num_edges() })
    }
}

/// The parts that encodings are resolved against.
pub(crate) fn context<'a>(
    graph: &'a Graph,
    nodes: Option<&'a Table>,
    edges: Option<&'a Table>,
    enc: &'a Encodings,
) -> Cx<'a> {
    let node = Spec::new(Side::Node, &enc.node);
    let edge = Spec::new(Side::Edge, &enc.edge);
    let node_columns = &enc.node_columns;
    Cx { graph, nodes, edges, node, edge, node_columns, notices: Vec::new() }
}

/// A JSON value as a notice quotes it.
pub(crate) fn value_word(value: &Value) -> String {
    cut(&value.to_string(), 60)
}

/// A value in the form that mappings are keyed by: integers without decimals, `true` and `false`, text
/// as it is. `None` for null.
pub(crate) fn value_text(array: &dyn Array, row: usize) -> Option<String> {
    match graphlume_table::cell_json(array, row) {
        Value::String(s) => Some(s),
        Value::Bool(b) => Some(b.to_string()),
        Value::Number(n) => match n.as_f64().filter(|_| n.is_f64()) {
            // Beyond 2^53 a double no longer counts integers one by one.
            Some(v) if v.fract() == 0.0 && v.abs() < 9_007_199_254_740_992.0 => {
                Some((v as i64).to_string())
            }
            _ => Some(n.to_string()),
        },
        Value::Null => graphlume_table::cell_text(array, row).filter(|t| t != "NaN"),
        Value::Array(_) | Value::Object(_) => graphlume_table::cell_text(array, row),
    }
}
