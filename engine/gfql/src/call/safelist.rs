//! Functions that may be called, with their parameters and the code that does them.

use graphlume_calls::list::{GRAPH_CALLS, GraphCall};
use graphlume_calls::signature::unknown;
use graphlume_expr::QueryError;
use graphlume_store::CallOp;

use super::callable::{Callable, Does, entry, of_graph, of_rows};
use super::{collapse, graph, group, hop, hypergraph, rows};

const ITEMS: &[&str] = &["items"];
const VALUE: &[&str] = &["value"];
const FILTER: &[&str] = &["filter_dict"];
const NODES: &[&str] = &["nodes"];
const PATTERN: &[&str] = &["binding_ops", "join_aliases"];
const MARK: &[&str] = &["binding_ops", "join_aliases", "out_col"];
const PATTERN_MORE: &[&str] = &["neq", "requested_property_columns"];

/// The calls of this language: those on rows, and those on graphs that read its filters and patterns. The others are
/// [`GRAPH_CALLS`].
pub const CALLS: &[Callable] = &[
    entry(
        "rows",
        Does::Choose,
        &[],
        &[
            "table",
            "source",
            "binding_ops",
            "alias_endpoints",
            "alias_prefilters",
            "attach_prop_aliases",
            "attach_prop_columns",
        ],
    ),
    entry("count_table", Does::Choose, &[], &["table", "source", "alias"]),
    entry("select", of_rows(rows::select), ITEMS, &[]).projecting(),
    entry("return_", of_rows(rows::select), ITEMS, &[]).projecting(),
    entry("with_", of_rows(rows::with_), ITEMS, &["extend"]).projecting(),
    entry("where_rows", of_rows(rows::keep), &[], &["filter_dict", "expr"]),
    entry("order_by", of_rows(rows::order), &["keys"], &[]),
    entry("skip", of_rows(rows::skip), VALUE, &[]),
    entry("limit", of_rows(rows::limit), VALUE, &[]),
    entry("distinct", of_rows(rows::distinct), &[], &["subset"]).projecting(),
    entry("unwind", of_rows(rows::unwind), &["expr"], &["as_"]).projecting(),
    entry("group_by", of_rows(group::run), &["keys", "aggregations"], &["key_prefixes"])
        .projecting(),
    entry("drop_cols", of_rows(rows::drop_cols), &["cols"], &[]),
    entry("fill_empty_row", of_rows(rows::fill), &["row"], &[]),
    entry("semi_apply_mark", Does::Match, MARK, PATTERN_MORE),
    entry("anti_semi_apply", Does::Match, PATTERN, PATTERN_MORE),
    entry("join_apply", Does::Match, PATTERN, &["how"]),
    entry(
        "search_any",
        Does::Match,
        &["alias", "term", "out_col"],
        &["case_sensitive", "regex", "columns"],
    ),
    entry("filter_nodes_by_dict", of_graph(graph::filter_nodes), FILTER, &[]),
    entry("filter_edges_by_dict", of_graph(graph::filter_edges), FILTER, &[]),
    entry("drop_nodes", of_graph(graph::drop_nodes), NODES, &[]),
    entry("keep_nodes", of_graph(graph::keep_nodes), NODES, &[]),
    entry(
        "hop",
        of_graph(hop::run),
        &[],
        &[
            "nodes",
            "hops",
            "min_hops",
            "max_hops",
            "output_min_hops",
            "output_max_hops",
            "label_node_hops",
            "label_edge_hops",
            "label_seeds",
            "to_fixed_point",
            "direction",
            "source_node_match",
            "edge_match",
            "destination_node_match",
            "source_node_query",
            "edge_query",
            "destination_node_query",
            "return_as_wave_front",
            "target_wave_front",
            "engine",
        ],
    ),
    entry(
        "collapse",
        of_graph(collapse::run),
        &["node", "attribute", "column"],
        &["self_edges", "unwrap", "verbose"],
    ),
    entry(
        "hypergraph",
        of_graph(hypergraph::run),
        &[],
        &[
            "entity_types",
            "opts",
            "drop_na",
            "drop_edge_attrs",
            "verbose",
            "direct",
            "engine",
            "npartitions",
            "chunksize",
            "from_edges",
            "return_as",
        ],
    )
    .making_graph(),
];

impl Callable {
    /// The call of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        CALLS.iter().find(|call| call.signature.name == name)
    }
}

/// The function of a call.
pub(super) enum Found {
    /// One of this language.
    Own(&'static Callable),
    /// One that every language has.
    OnGraph(&'static GraphCall),
}

/// The function of a call, when it exists, its parameters are known and those it needs are there.
pub(super) fn find(call: &CallOp) -> Result<Found, QueryError> {
    let name = call.function.as_str();
    let (found, signature) = match (Callable::named(name), GraphCall::named(name)) {
        (Some(own), _) => (Found::Own(own), &own.signature),
        (None, Some(call)) => (Found::OnGraph(call), &call.signature),
        (None, None) => return Err(unknown(name, &names())),
    };
    signature.check(call)?;
    Ok(found)
}

/// The names of all calls.
pub fn names() -> Vec<&'static str> {
    let own = CALLS.iter().map(|call| call.signature.name);
    own.chain(GRAPH_CALLS.iter().map(|call| call.signature.name)).collect()
}

/// Whether a call makes another graph, so that what stands behind it in a chain sees that one.
pub(super) fn makes_graph(name: &str) -> bool {
    Callable::named(name).is_some_and(|call| call.makes_graph)
        || GraphCall::named(name).is_some_and(|call| call.makes_graph)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_stands_once_and_every_parameter_once_in_it() {
        let names = names();
        for (i, name) in names.iter().enumerate() {
            assert!(!names[..i].contains(name), "{name}");
        }
        let own = CALLS.iter().map(|call| &call.signature);
        for signature in own.chain(GRAPH_CALLS.iter().map(|call| &call.signature)) {
            let mut params = [signature.required, signature.optional].concat();
            params.sort_unstable();
            assert!(params.windows(2).all(|pair| pair[0] != pair[1]), "{}", signature.name);
        }
    }
}
