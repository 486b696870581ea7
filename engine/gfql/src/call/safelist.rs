//! Functions that may be called, with their parameters and the code that does them.

use serde_json::Value;

use super::callable::{Callable, Does, entry, of_graph, of_rows};
use super::{collapse, graph, group, hop, hypergraph, layout, levels, rows, umap};

use graphlume_expr::{ErrorCode, QueryError, listed, nearest};
use graphlume_store::CallOp;

const COLUMN: &[&str] = &["column"];
const ITEMS: &[&str] = &["items"];
const VALUE: &[&str] = &["value"];
const FILTER: &[&str] = &["filter_dict"];
const NODES: &[&str] = &["nodes"];
const PATTERN: &[&str] = &["binding_ops", "join_aliases"];
const MARK: &[&str] = &["binding_ops", "join_aliases", "out_col"];
const PATTERN_MORE: &[&str] = &["neq", "requested_property_columns"];
const COLORS: &[&str] =
    &["palette", "as_categorical", "as_continuous", "categorical_mapping", "default_mapping"];
const MAPPING: &[&str] = &["categorical_mapping", "default_mapping"];
const ICONS: &[&str] = &["categorical_mapping", "continuous_binning", "default_mapping", "as_text"];

/// Every function that may be called.
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
    entry(
        "get_degrees",
        of_graph(graph::get_degrees),
        &[],
        &["col", "degree_in", "degree_out", "engine"],
    ),
    entry("get_indegrees", of_graph(graph::get_indegrees), &[], &["col"]),
    entry("get_outdegrees", of_graph(graph::get_outdegrees), &[], &["col"]),
    entry("filter_nodes_by_dict", of_graph(graph::filter_nodes), FILTER, &[]),
    entry("filter_edges_by_dict", of_graph(graph::filter_edges), FILTER, &[]),
    entry("prune_self_edges", of_graph(graph::prune), &[], &[]),
    entry("drop_nodes", of_graph(graph::drop_nodes), NODES, &[]),
    entry("keep_nodes", of_graph(graph::keep_nodes), NODES, &[]),
    entry("materialize_nodes", of_graph(graph::materialize_nodes), &[], &["engine", "reuse"]),
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
        "get_topological_levels",
        of_graph(levels::run),
        &[],
        &["level_col", "allow_cycles", "warn_cycles", "remove_self_loops"],
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
    entry(
        "compute_cugraph",
        Does::Algorithm,
        &["alg"],
        &["out_col", "params", "kind", "directed", "G"],
    ),
    entry(
        "compute_igraph",
        Does::Algorithm,
        &["alg"],
        &["out_col", "directed", "use_vids", "params"],
    ),
    entry("compute_nx", Does::Algorithm, &["alg"], &["out_col", "directed", "params"]),
    entry(
        "layout_cugraph",
        Does::Algorithm,
        &[],
        &[
            "layout",
            "params",
            "kind",
            "directed",
            "G",
            "bind_position",
            "x_out_col",
            "y_out_col",
            "play",
        ],
    ),
    entry(
        "layout_igraph",
        Does::Algorithm,
        &["layout"],
        &["directed", "use_vids", "bind_position", "x_out_col", "y_out_col", "params", "play"],
    ),
    entry(
        "fa2_layout",
        of_graph(layout::fa2),
        &[],
        &[
            "fa2_params",
            "circle_layout_params",
            "partition_key",
            "remove_self_edges",
            "engine",
            "featurize",
        ],
    ),
    entry("mercator_layout", of_graph(layout::mercator), &[], &["scale_for_graphistry"]),
    entry(
        "modularity_weighted_layout",
        of_graph(layout::modularity_weighted),
        &[],
        &[
            "community_col",
            "community_alg",
            "community_params",
            "same_community_weight",
            "cross_community_weight",
            "edge_influence",
            "engine",
        ],
    ),
    entry(
        "circle_layout",
        of_graph(layout::circle),
        &[],
        &[
            "bounding_box",
            "ring_spacing",
            "point_spacing",
            "partition_by",
            "sort_by",
            "ascending",
            "na_position",
            "ignore_index",
            "engine",
        ],
    ),
    entry(
        "ring_continuous_layout",
        of_graph(layout::continuous),
        &[],
        &[
            "ring_col",
            "min_r",
            "max_r",
            "normalize_ring_col",
            "num_rings",
            "ring_step",
            "v_start",
            "v_end",
            "v_step",
            "axis",
            "format_axis",
            "format_labels",
            "reverse",
            "play_ms",
            "engine",
        ],
    ),
    entry(
        "ring_categorical_layout",
        of_graph(layout::categorical),
        &["ring_col"],
        &[
            "order",
            "drop_empty",
            "combine_unhandled",
            "append_unhandled",
            "min_r",
            "max_r",
            "axis",
            "format_axis",
            "format_labels",
            "reverse",
            "play_ms",
            "engine",
        ],
    ),
    entry(
        "time_ring_layout",
        of_graph(layout::time_ring),
        &["time_col"],
        &[
            "time_start",
            "time_end",
            "time_unit",
            "num_rings",
            "min_r",
            "max_r",
            "format_axis",
            "format_label",
            "reverse",
            "play_ms",
            "engine",
        ],
    ),
    entry(
        "tree_layout",
        of_graph(layout::tree),
        &[],
        &[
            "level_col",
            "level_sort_values_by",
            "level_sort_values_by_ascending",
            "width",
            "height",
            "rotate",
            "allow_cycles",
            "root",
        ],
    ),
    entry(
        "group_in_a_box_layout",
        of_graph(layout::group_in_a_box),
        &[],
        &[
            "partition_alg",
            "partition_params",
            "layout_alg",
            "layout_params",
            "x",
            "y",
            "w",
            "h",
            "encode_colors",
            "colors",
            "partition_key",
            "engine",
        ],
    )
    .engines(&["cpu", "gpu"]),
    entry(
        "layout_graphviz",
        of_graph(layout::graphviz),
        &[],
        &[
            "prog",
            "args",
            "directed",
            "strict",
            "graph_attr",
            "node_attr",
            "edge_attr",
            "x_out_col",
            "y_out_col",
            "bind_position",
        ],
    ),
    entry(
        "umap",
        of_graph(umap::run),
        &[],
        &[
            "X",
            "y",
            "kind",
            "scale",
            "n_neighbors",
            "min_dist",
            "spread",
            "local_connectivity",
            "repulsion_strength",
            "negative_sample_rate",
            "n_components",
            "metric",
            "suffix",
            "play",
            "encode_position",
            "encode_weight",
            "dbscan",
            "engine",
            "feature_engine",
            "inplace",
            "memoize",
            "umap_kwargs",
            "umap_fit_kwargs",
            "umap_transform_kwargs",
        ],
    )
    .making_graph()
    .engines(&["umap_learn", "cuml"]),
    entry("encode_point_color", Does::Show, COLUMN, COLORS),
    entry("encode_edge_color", Does::Show, COLUMN, COLORS),
    entry("encode_point_size", Does::Show, COLUMN, MAPPING),
    entry("encode_edge_size", Does::Show, COLUMN, MAPPING),
    entry("encode_edge_weight", Does::Show, COLUMN, MAPPING),
    entry("encode_point_opacity", Does::Show, COLUMN, MAPPING),
    entry("encode_edge_opacity", Does::Show, COLUMN, MAPPING),
    entry("encode_point_icon", Does::Show, COLUMN, ICONS),
    entry("encode_edge_icon", Does::Show, COLUMN, ICONS),
    entry("encode_point_label", Does::Show, COLUMN, &[]),
    entry("encode_edge_label", Does::Show, COLUMN, &[]),
    entry("encode_point_title", Does::Show, COLUMN, &[]),
    entry("encode_edge_title", Does::Show, COLUMN, &[]),
    entry("encode_axis", Does::Show, &[], &["rows"]),
    entry("name", Does::Show, &["name"], &[]),
    entry("description", Does::Show, &["description"], &[]),
    entry("create_index", Does::Index, &["kind"], &["column", "name", "engine"]),
    entry("drop_index", Does::Index, &[], &["kind", "column"]),
];

impl Callable {
    /// The function of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        CALLS.iter().find(|call| call.name == name)
    }
}

/// The function of a call, when it exists, its parameters are known and those it needs are there.
pub(super) fn find(call: &CallOp) -> Result<&'static Callable, QueryError> {
    let name = call.function.as_str();
    let Some(found) = Callable::named(name) else {
        let names: Vec<&str> = CALLS.iter().map(|c| c.name).collect();
        let error = QueryError::new(ErrorCode::Call, format!("call {name:?} does not exist"));
        let error = error.field("function").value(format!("{name:?}"));
        return Err(match nearest(name, &names) {
            Some(near) => error.suggest(format!("did you mean {near:?}?")),
            None => error.suggest("see the list of calls in the documentation"),
        });
    };
    let known: Vec<&str> = found.required.iter().chain(found.optional).copied().collect();
    if let Some(other) = call.params.keys().find(|key| !known.contains(&key.as_str())) {
        let text = format!("call {name:?} has no parameter {other:?}");
        let error = QueryError::new(ErrorCode::Call, text).field(format!("params.{other}"));
        return Err(match nearest(other, &known) {
            Some(near) => error.suggest(format!("did you mean {near:?}?")),
            None if known.is_empty() => error.suggest("it takes none"),
            None => error.suggest(format!("its parameters: {}", listed(&known))),
        });
    }
    let given = |key: &str| call.params.get(key).is_some_and(|v| *v != Value::Null);
    if let Some(missing) = found.required.iter().find(|key| !given(key)) {
        let text = format!("call {name:?} needs {missing:?}");
        return Err(
            QueryError::new(ErrorCode::MissingField, text).field(format!("params.{missing}"))
        );
    }
    super::check_engine(call, found)?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_stands_once_and_every_parameter_once_in_it() {
        for (i, call) in CALLS.iter().enumerate() {
            assert!(CALLS[..i].iter().all(|other| other.name != call.name), "{}", call.name);
            let mut params = [call.required, call.optional].concat();
            params.sort_unstable();
            assert!(params.windows(2).all(|pair| pair[0] != pair[1]), "{}", call.name);
        }
    }
}
