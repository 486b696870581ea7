//! Notices about values of tables that the graph made of them does not show.

use graphlume_table::Table;
use graphlume_types::Notice;
use rayon::prelude::*;

use crate::canon::Column;
use crate::{Graph, GraphSpec};

/// The slug of ids whose types never match.
pub const TYPES_NEVER_MATCH: &str = "ids-of-different-types";

/// What of `spec` did not become a part of `graph`, or became one that is seldom meant: edge rows without an end, ids
/// of types that never match, nodes that only edges name, rows of the node table that are no node of their own, and a
/// node table that no edge refers to.
#[must_use]
pub fn notices(spec: &GraphSpec<'_>, graph: &Graph) -> Vec<Notice> {
    let mut out = Vec::new();
    out.extend(without_an_end(spec, graph));
    out.extend(types_that_never_match(spec));
    if let Some((table, node)) = spec.nodes.zip(spec.node) {
        of_node_table(&mut out, table, node, graph);
    }
    out
}

fn without_an_end(spec: &GraphSpec<'_>, graph: &Graph) -> Option<Notice> {
    let rows = spec.edges.num_rows() as u64;
    let lost = rows.saturating_sub(u64::from(graph.topology.num_edges()));
    let GraphSpec { source, destination, .. } = spec;
    (lost > 0).then(|| {
        let text = format!(
            "{lost} of {rows} edge rows have no value in column {source:?} or {destination:?}: they are no edges; \
             fill the missing ends or leave the rows out"
        );
        Notice::new("edges-without-an-end", text).about(lost)
    })
}

/// The kind of ids that a column holds; ids of different kinds are never equal.
fn kind(table: &Table, column: &str) -> Option<&'static str> {
    match Column::try_new(table.column(column)?).ok()? {
        Column::Null(_) => None,
        Column::Text(_) => Some("text"),
        Column::Bool(_) => Some("truth values"),
        Column::Int(_) | Column::UInt(_) | Column::Float(_) => Some("numbers"),
        _ => Some("times"),
    }
}

fn types_that_never_match(spec: &GraphSpec<'_>) -> Option<Notice> {
    let ends = [("source", spec.source), ("destination", spec.destination)];
    let mut columns: Vec<_> =
        ends.iter().map(|(role, name)| (*role, *name, kind(spec.edges, name))).collect();
    if let Some((table, name)) = spec.nodes.zip(spec.node) {
        columns.push(("node", name, kind(table, name)));
    }
    let known = columns.into_iter().filter_map(|(role, name, kind)| Some((role, name, kind?)));
    let known: Vec<_> = known.collect();
    let (first, rest) = known.split_first()?;
    let other = rest.iter().find(|other| other.2 != first.2)?;
    let of =
        |(role, name, kind): &(&str, &str, &str)| format!("{role} column {name:?} holds {kind}");
    Some(Notice::new(
        TYPES_NEVER_MATCH,
        format!(
            "{} and {}: such ids never match (the number 1 is another node than the text \"1\"); send both as one \
             type when they mean the same nodes",
            of(first),
            of(other)
        ),
    ))
}

fn of_node_table(out: &mut Vec<Notice>, table: &Table, node: &str, graph: &Graph) {
    let (nodes, known) = (graph.topology.num_nodes(), graph.nodes_in_table);
    let rows = table.num_rows() as u64;
    let repeated = rows.saturating_sub(u64::from(known));
    if repeated > 0 {
        let text = format!(
            "{repeated} of {rows} node rows have no id in column {node:?} or repeat one: the first row of an id counts"
        );
        out.push(Notice::new("node-rows-not-used", text).about(repeated));
    }
    if known > 0 && graph.topology.num_edges() > 0 {
        let alone = (0..known).into_par_iter().all(|v| graph.topology.degree(v) == 0);
        if alone {
            let text = format!(
                "no value of node column {node:?} is an end of an edge: check which column holds the ids, and its type"
            );
            out.push(Notice::new("node-table-matches-no-edge", text).about(u64::from(known)));
            return;
        }
    }
    let missing = nodes - known;
    if missing > 0 {
        let text = format!(
            "{missing} of {nodes} nodes are named by edges alone and have no row in the node table: they are drawn \
             without properties"
        );
        out.push(Notice::new("nodes-without-a-row", text).about(u64::from(missing)));
    }
}
