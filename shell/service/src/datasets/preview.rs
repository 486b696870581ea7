//! What the bindings of a dataset will not show, as far as the names and types of its columns tell: the answer to the
//! creation of a dataset does not wait until its graph is built.

use graphlume_engine::Encodings;
use graphlume_graph::GraphSpec;
use graphlume_storage::{DatasetRec, TableRec, TableSchema};
use graphlume_table::{Table, sample};
use graphlume_types::{CancelToken, Notice, note};
use serde_json::{Map, Value, json};

use super::compute;
use super::encodings::bound;
use super::transform::Transforms;

/// Adds what a graph of tables of the record's shapes would tell: it is made of one row each.
pub(super) fn notices_of(rec: &DatasetRec, notices: &mut Vec<Notice>) {
    // A shape that makes no graph was refused before, or will be told when the graph is built.
    for notice in told(rec).unwrap_or_default() {
        note(notices, notice);
    }
}

/// The shape of a side: a table uploaded into the dataset stands in for its files.
fn shapes<'a>(direct: Option<&'a TableRec>, pinned: &'a [TableRec]) -> Vec<&'a TableSchema> {
    match direct {
        Some(table) => vec![&table.schema],
        None => pinned.iter().map(|t| &t.schema).collect(),
    }
}

fn told(rec: &DatasetRec) -> Option<Vec<Notice>> {
    let edges = shapes(rec.direct_edges.as_ref(), &rec.edge_tables);
    let given = shapes(rec.direct_nodes.as_ref(), &rec.node_tables).first().map(|s| &s.dtypes);
    let made = match Transforms::of(rec).ok()? {
        Some(transforms) => Some(transforms.shapes(&edges, &mut Vec::new()).ok()?),
        None => None,
    };
    let (edges, nodes) = match &made {
        Some(made) => (&made.edges.dtypes, given.or(Some(&made.nodes.dtypes))),
        None => (&edges.first()?.dtypes, given),
    };
    let edges = table(edges)?;
    let (mut node_encodings, mut node) = (rec.node_encodings.clone(), None);
    let nodes = match (nodes, bound(&rec.node_encodings, "node")) {
        (Some(dtypes), id) => {
            node = id;
            Some(table(&with_results(rec, dtypes))?)
        }
        // The table that the bindings are about is still to come.
        (None, Some(_)) => {
            node_encodings = json!({"bindings": {}});
            None
        }
        (None, None) => None,
    };
    let source = bound(&rec.edge_encodings, "source")?;
    let destination = bound(&rec.edge_encodings, "destination")?;
    let spec = GraphSpec { edges: &edges, source, destination, nodes: nodes.as_ref(), node };
    let graph = graphlume_graph::build(&spec, &CancelToken::default()).ok()?;
    let (edge, metadata) = (rec.edge_encodings.clone(), rec.metadata.clone());
    let encodings = Encodings { node: node_encodings, edge, metadata };
    let scene = graphlume_scene::build(&graph, nodes.as_ref(), &edges, &encodings, None).ok()?;
    // Of the one row itself nothing is told.
    let types = graphlume_graph::notices(&spec, &graph).into_iter();
    let types = types.filter(|n| n.slug == graphlume_graph::TYPES_NEVER_MATCH);
    Some(types.chain(scene.notices).collect())
}

/// The columns of the nodes with those that algorithms will add.
pub(super) fn with_results(rec: &DatasetRec, dtypes: &Map<String, Value>) -> Map<String, Value> {
    let mut out = dtypes.clone();
    for request in compute::requests(Some(&rec.compute)).unwrap_or_default() {
        for column in request.columns() {
            out.insert(column, Value::from("float64"));
        }
    }
    out
}

fn table(dtypes: &Map<String, Value>) -> Option<Table> {
    let columns = dtypes.iter().map(|(name, dtype)| (name.as_str(), dtype.as_str().unwrap_or("")));
    sample(columns).ok()
}
