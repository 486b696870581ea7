//! Notices about the parts of a dataset that will not be shown as asked. The answers to its creation and to uploads
//! into it do not wait until the engine has built its graph: of small tables the rows are asked, of others the names
//! and types of the columns.

use graphlume_engine::{Encodings, NODE_ID};
use graphlume_graph::GraphSpec;
use graphlume_storage::{DatasetRec, TableRec, TableSchema};
use graphlume_table::{Table, sample};
use graphlume_types::limits::{PREVIEW_BYTES_MAX, PREVIEW_ROWS_MAX};
use graphlume_types::{CancelToken, Notice, note};
use serde_json::{Map, Value, json};

use super::compute;
use super::encodings::{ElementKind, bound};
use super::transform::Transforms;
use crate::data::DataStore;
use crate::files::tables::{load_table, stack};
use crate::free_fields::is_empty;

/// Adds what a graph of the record's tables tells, or one of tables of their shapes, made of one row each. Blocks.
pub(super) fn notices_of(data: &DataStore, rec: &DatasetRec, notices: &mut Vec<Notice>) {
    without_effect(rec, notices);
    compute::of_record(rec, notices);
    // One after the other: what is built here counts against nothing.
    let turn = data.previews.lock();
    // A shape that makes no graph was refused before, or will be told when the graph is built.
    for notice in told(rec, small(data, rec)).unwrap_or_default() {
        note(notices, notice);
    }
    drop(turn);
}

/// What a create body may say that nothing is done about.
pub(crate) fn without_effect(rec: &DatasetRec, notices: &mut Vec<Notice>) {
    if !is_empty(rec.metadata.get("settings")) {
        let text = "metadata.settings is kept and changes nothing: use the parameters of the page's address for it";
        note(notices, Notice::new("field-without-effect", text));
    }
}

/// The tables of a dataset, edges first.
type Rows = (Table, Option<Table>);

/// The tables themselves, where they are few rows and nothing adds columns to them.
fn small(data: &DataStore, rec: &DatasetRec) -> Option<Rows> {
    let adds_columns = || compute::layout(Some(&rec.layout)).is_ok_and(|layout| layout.is_some());
    if !rec.edge_hypergraph_transform.is_empty() || !is_empty(Some(&rec.compute)) || adds_columns()
    {
        return None;
    }
    let pick = |direct: &Option<TableRec>, pinned: &[TableRec]| match direct {
        Some(table) => vec![table.clone()],
        None => pinned.to_vec(),
    };
    let edges = pick(&rec.direct_edges, &rec.edge_tables);
    let nodes = pick(&rec.direct_nodes, &rec.node_tables);
    let all = || edges.iter().chain(&nodes);
    let rows: u64 = all().map(|t| t.schema.num_rows).sum();
    let bytes: u64 = all().map(|t| t.table.len).sum();
    if rows > PREVIEW_ROWS_MAX || bytes > PREVIEW_BYTES_MAX {
        return None;
    }
    let load = |tables: Vec<TableRec>| {
        let tables = tables.iter().map(|t| load_table(data, t, &CancelToken::default()));
        stack(tables.collect::<Result<_, _>>().ok()?).ok()
    };
    Some((load(edges)??, load(nodes)?))
}

/// The shape of a side: a table uploaded into the dataset stands in for its files.
fn shapes<'a>(direct: Option<&'a TableRec>, pinned: &'a [TableRec]) -> Vec<&'a TableSchema> {
    match direct {
        Some(table) => vec![&table.schema],
        None => pinned.iter().map(|t| &t.schema).collect(),
    }
}

fn told(rec: &DatasetRec, rows: Option<Rows>) -> Option<Vec<Notice>> {
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
    let (has_rows, edge_rows, node_rows) = match rows {
        Some((edges, nodes)) => (true, Some(edges), nodes),
        None => (false, None, None),
    };
    let edge_dtypes = edges;
    let edges = edge_rows.or_else(|| table(&with_results(rec, edges, ElementKind::Edges)))?;
    let source = bound(&rec.edge_encodings, "source")?;
    let (mut node_encodings, mut node) = (rec.node_encodings.clone(), None);
    let nodes = match (nodes, bound(&rec.node_encodings, "node")) {
        (Some(dtypes), id) => {
            node = id;
            Some(node_rows.or_else(|| table(&with_results(rec, dtypes, ElementKind::Nodes)))?)
        }
        // The table that the bindings are about is still to come.
        (None, Some(_)) => {
            node_encodings = json!({"bindings": {}});
            None
        }
        (None, None) => {
            made_by_results(rec, edge_dtypes.get(source)).inspect(|_| node = Some(NODE_ID))
        }
    };
    let destination = bound(&rec.edge_encodings, "destination")?;
    let spec = GraphSpec { edges: &edges, source, destination, nodes: nodes.as_ref(), node };
    let graph = graphlume_graph::build(&spec, &CancelToken::default()).ok()?;
    let (edge, metadata) = (rec.edge_encodings.clone(), rec.metadata.clone());
    let encodings = Encodings::new(node_encodings, edge, metadata);
    let scene = graphlume_scene::build(&graph, nodes.as_ref(), &edges, &encodings, None).ok()?;
    // Of the one row itself nothing is told.
    let types = graphlume_graph::notices(&spec, &graph).into_iter();
    let types = types.filter(|n| has_rows || n.slug == graphlume_graph::TYPES_NEVER_MATCH);
    Some(types.chain(scene.notices).collect())
}

/// The node table that algorithms make of nodes which edges name, whose ids are of this type; `None` without algorithms.
fn made_by_results(rec: &DatasetRec, id: Option<&Value>) -> Option<Table> {
    let results = with_results(rec, &Map::new(), ElementKind::Nodes);
    if results.is_empty() {
        return None;
    }
    let mut dtypes = Map::from_iter([(NODE_ID.to_owned(), id?.clone())]);
    results.into_iter().for_each(|(name, dtype)| {
        dtypes.entry(name).or_insert(dtype);
    });
    table(&dtypes)
}

/// The columns of a side with those that algorithms will add or replace.
pub(super) fn with_results(
    rec: &DatasetRec,
    dtypes: &Map<String, Value>,
    part: ElementKind,
) -> Map<String, Value> {
    let mut out = dtypes.clone();
    for request in compute::of_record(rec, &mut Vec::new()) {
        let columns = match part {
            ElementKind::Nodes => request.typed_columns(),
            ElementKind::Edges => request.typed_edge_columns(),
        };
        out.extend(columns.into_iter().map(|(name, dtype)| (name, dtype.into())));
    }
    out
}

fn table(dtypes: &Map<String, Value>) -> Option<Table> {
    let columns = dtypes.iter().map(|(name, dtype)| (name.as_str(), dtype.as_str().unwrap_or("")));
    sample(columns).ok()
}
