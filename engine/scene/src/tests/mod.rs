//! Scenes of given encodings.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bound;
mod colors;
mod defaults;
mod legend;
mod numbers;
mod reading;

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{Field, Schema};
use graphlume_graph::{Graph, GraphSpec};
use graphlume_table::Table;
use graphlume_types::CancelToken;
use serde_json::{Value, json};

use crate::{Encodings, Scene};

pub(super) fn table(columns: &[(&str, ArrayRef)]) -> Table {
    let fields: Vec<Field> =
        columns.iter().map(|(n, a)| Field::new(*n, a.data_type().clone(), true)).collect();
    let arrays = columns.iter().map(|(_, a)| ArrayRef::clone(a)).collect();
    Table::try_new(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()).unwrap()
}

pub(super) fn ints(v: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(v.to_vec()))
}

pub(super) fn texts(v: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(v.to_vec()))
}

/// A graph with its tables; ids are in column `id`, ends in `s` and `d`.
pub(super) struct Case {
    pub(super) graph: Graph,
    pub(super) nodes: Option<Table>,
    pub(super) edges: Table,
    pub(super) enc: Encodings,
}

impl Case {
    /// The edges `src -> dst` with further columns, and a node table when `nodes` has columns.
    pub(super) fn new(
        (src, dst): (&[i64], &[i64]),
        edge_columns: &[(&str, ArrayRef)],
        node_columns: &[(&str, ArrayRef)],
    ) -> Self {
        let mut columns = vec![("s", ints(src)), ("d", ints(dst))];
        columns.extend_from_slice(edge_columns);
        let edges = table(&columns);
        let nodes = (!node_columns.is_empty()).then(|| table(node_columns));
        let spec = GraphSpec {
            edges: &edges,
            source: "s",
            destination: "d",
            nodes: nodes.as_ref(),
            node: nodes.as_ref().map(|_| "id"),
        };
        let graph = graphlume_graph::build(&spec, &CancelToken::new()).unwrap();
        Self { graph, nodes, edges, enc: Encodings::default() }.bind(json!({}), json!({}))
    }

    /// Four nodes 1, 2, 3, 4 in a path, with a node table of one more column.
    pub(super) fn path(column: (&str, ArrayRef)) -> Self {
        Self::new((&[1, 2, 3], &[2, 3, 4]), &[], &[("id", ints(&[1, 2, 3, 4])), column])
    }

    pub(super) fn bind(mut self, node: Value, edge: Value) -> Self {
        let with = |mut bindings: Value, fixed: &[(&str, &str)]| {
            for (k, v) in fixed {
                bindings[*k] = json!(v);
            }
            json!({"bindings": bindings})
        };
        self.enc.node = with(node, &[("node", "id")]);
        self.enc.edge = with(edge, &[("source", "s"), ("destination", "d")]);
        self
    }

    /// Adds a complex encoding to `current`.
    pub(super) fn encode(mut self, key: &str, encoding: Value) -> Self {
        let side = if key.starts_with("point") { &mut self.enc.node } else { &mut self.enc.edge };
        side["complex"]["current"][key] = encoding;
        self
    }

    pub(super) fn scene(&self) -> Scene {
        self.scene_with(None)
    }

    pub(super) fn scene_with(&self, communities: Option<&[u32]>) -> Scene {
        crate::build(&self.graph, self.nodes.as_ref(), &self.edges, &self.enc, communities).unwrap()
    }
}

/// The colours of nodes as `#rrggbb`.
pub(super) fn colors(rgba: &[[u8; 4]]) -> Vec<String> {
    rgba.iter().map(|c| crate::css::to_hex(*c)).collect()
}

/// `label: count` of every legend entry of a colour.
pub(super) fn entries(legend: &Value) -> Vec<(String, u64)> {
    let entry = |e: &Value| (e["label"].as_str().unwrap().to_owned(), e["count"].as_u64().unwrap());
    legend["entries"].as_array().unwrap().iter().map(entry).collect()
}
