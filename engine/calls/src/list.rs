//! The one list of the calls on graphs.

use graphlume_expr::QueryError;
use graphlume_store::{CallOp, PropertyGraph};
use graphlume_types::CancelToken;
use serde_json::{Map, Value};

use crate::context::{CallContext, GraphFunction, NodeFilter, Notices};
use crate::params::Params;
use crate::signature::{Signature, unknown};
use crate::{algorithm, graph, layout, levels, show, umap};

/// A call that makes a graph of a graph.
#[derive(Clone, Copy, Debug)]
pub struct GraphCall {
    /// Its name and its parameters.
    pub signature: Signature,
    run: GraphFunction,
    /// Whether it makes another graph: what stands behind it in a chain sees that one.
    pub makes_graph: bool,
}

impl GraphCall {
    /// The call of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        GRAPH_CALLS.iter().find(|call| call.signature.name == name)
    }

    const fn making_graph(self) -> Self {
        Self { makes_graph: true, ..self }
    }

    const fn engines(self, engines: &'static [&'static str]) -> Self {
        Self { signature: Signature { engines, ..self.signature }, ..self }
    }
}

/// A row without anything special.
const fn entry(
    name: &'static str,
    run: GraphFunction,
    required: &'static [&'static str],
    optional: &'static [&'static str],
) -> GraphCall {
    let signature = Signature { name, required, optional, engines: &[] };
    GraphCall { signature, run, makes_graph: false }
}

const COLUMN: &[&str] = &["column"];
const COLORS: &[&str] =
    &["palette", "as_categorical", "as_continuous", "categorical_mapping", "default_mapping"];
const MAPPING: &[&str] = &["categorical_mapping", "default_mapping"];
const ICONS: &[&str] = &["categorical_mapping", "continuous_binning", "default_mapping", "as_text"];

/// Every call on graphs.
pub static GRAPH_CALLS: &[GraphCall] = &[
    entry("get_degrees", graph::get_degrees, &[], &["col", "degree_in", "degree_out", "engine"]),
    entry("get_indegrees", graph::get_indegrees, &[], &["col"]),
    entry("get_outdegrees", graph::get_outdegrees, &[], &["col"]),
    entry("prune_self_edges", graph::prune, &[], &[]),
    entry("materialize_nodes", graph::materialize_nodes, &[], &["engine", "reuse"]),
    entry(
        "get_topological_levels",
        levels::run,
        &[],
        &["level_col", "allow_cycles", "warn_cycles", "remove_self_loops"],
    ),
    entry(
        "compute_cugraph",
        algorithm::run,
        &["alg"],
        &["out_col", "params", "kind", "directed", "G"],
    ),
    entry(
        "compute_igraph",
        algorithm::run,
        &["alg"],
        &["out_col", "directed", "use_vids", "params"],
    ),
    entry("compute_nx", algorithm::run, &["alg"], &["out_col", "directed", "params"]),
    entry(
        "layout_cugraph",
        algorithm::run,
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
        algorithm::run,
        &["layout"],
        &["directed", "use_vids", "bind_position", "x_out_col", "y_out_col", "params", "play"],
    ),
    entry(
        "fa2_layout",
        layout::fa2,
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
    entry("mercator_layout", layout::mercator, &[], &["scale_for_graphistry"]),
    entry(
        "modularity_weighted_layout",
        layout::modularity_weighted,
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
    entry("circle_layout", layout::circle, &[], layout::CIRCLE_PARAMS),
    entry(
        "ring_continuous_layout",
        layout::continuous,
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
        layout::categorical,
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
        layout::time_ring,
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
        layout::tree,
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
        layout::group_in_a_box,
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
        layout::graphviz,
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
        umap::run,
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
    entry("encode_point_color", show::noted, COLUMN, COLORS),
    entry("encode_edge_color", show::noted, COLUMN, COLORS),
    entry("encode_point_size", show::noted, COLUMN, MAPPING),
    entry("encode_edge_size", show::noted, COLUMN, MAPPING),
    entry("encode_edge_weight", show::noted, COLUMN, MAPPING),
    entry("encode_point_opacity", show::noted, COLUMN, MAPPING),
    entry("encode_edge_opacity", show::noted, COLUMN, MAPPING),
    entry("encode_point_icon", show::noted, COLUMN, ICONS),
    entry("encode_edge_icon", show::noted, COLUMN, ICONS),
    entry("encode_point_label", show::noted, COLUMN, &[]),
    entry("encode_edge_label", show::noted, COLUMN, &[]),
    entry("encode_point_title", show::noted, COLUMN, &[]),
    entry("encode_edge_title", show::noted, COLUMN, &[]),
    entry("encode_axis", show::noted, &[], &["rows"]),
    entry("name", show::noted, &["name"], &[]),
    entry("description", show::noted, &["description"], &[]),
    entry("create_index", index, &["kind"], &["column", "name", "engine"]),
    entry("drop_index", index, &[], &["kind", "column"]),
];

/// Nothing: indexes never change an answer.
#[allow(clippy::unnecessary_wraps, reason = "the form of every call")]
fn index(
    graph: &PropertyGraph,
    _: &Params<'_>,
    _: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    Ok(graph.clone())
}

/// The function of a call, when it exists, its parameters are known and those it needs are there.
///
/// # Errors
/// [`QueryError`] with the name or the parameter.
pub(crate) fn found(call: &CallOp) -> Result<&'static GraphCall, QueryError> {
    let Some(found) = GraphCall::named(&call.function) else {
        let names: Vec<&str> = GRAPH_CALLS.iter().map(|call| call.signature.name).collect();
        return Err(unknown(&call.function, &names));
    };
    found.signature.check(call)?;
    Ok(found)
}

impl GraphCall {
    /// Runs the call, whose parameters were checked.
    ///
    /// # Errors
    /// Those of its function.
    pub fn run(
        &self,
        graph: &PropertyGraph,
        params: &Map<String, Value>,
        context: CallContext<'_>,
    ) -> Result<PropertyGraph, QueryError> {
        (self.run)(graph, &Params { function: self.signature.name, map: params }, context)
    }
}

/// Runs a call of the list.
fn run(
    graph: &PropertyGraph,
    call: &CallOp,
    context: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    found(call)?.run(graph, &call.params, context)
}

impl<'a> CallContext<'a> {
    /// The surroundings of a call.
    #[must_use]
    pub fn new(notices: &'a Notices, cancel: &'a CancelToken, filter: &'a NodeFilter<'a>) -> Self {
        Self { notices, cancel, filter, run }
    }
}
