//! The call that places rows by their columns: UMAP.

mod features;
mod options;

use std::sync::Arc;

use arrow_array::{Int64Array, UInt32Array};
use graphlume_algo::layout::umap::{Embedding, bytes, clusters, embed};
use graphlume_expr::{ErrorCode, QueryError};
use graphlume_store::materialize::{table_of, with};
use graphlume_store::{Bindings, CallOp, PropertyGraph};
use graphlume_table::Table;
use graphlume_types::{CancelToken, Notice};
use serde_json::{Map, Value};

use crate::algorithm::failed;
use crate::context::CallContext;
use crate::graph::edge_table;
use crate::params::Params;
use features::{Engine, Reading, floats, labels};

/// What the client calls the ends of the edges of neighbours, their weight, and the clusters.
const SOURCE: &str = "_src_implicit";
const DESTINATION: &str = "_dst_implicit";
const WEIGHT: &str = "_weight";
const CLUSTER: &str = "_dbscan";
/// What the client widens the range of weights by before it compares.
const MARGIN: f32 = 0.001;

/// Edges between two looks at the token.
const STEPS: usize = 1 << 16;

/// Which rows are placed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    Nodes,
    Edges,
}

/// Columns `x` and `y` of the nodes, or of the edges, by their other columns. Of nodes the picture shows them there, and the
/// edges become those of the fuzzy graph of neighbours. Called by `function` for chains and procedures.
pub(crate) fn run(
    graph: &PropertyGraph,
    params: &Params<'_>,
    context: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    let rows = match params.text("kind")?.unwrap_or("nodes") {
        "nodes" => Rows::Nodes,
        "edges" => Rows::Edges,
        other => return Err(params.wrong("kind", "\"nodes\" or \"edges\"", &other.into())),
    };
    let asked = Asked::read(params)?;
    let options = options::read(params)?;
    let engine = Engine::read(params)?;
    if asked.dbscan && options.min_dist == 0.0 {
        let text = "\"dbscan\" of call \"umap\" joins points that are \"min_dist\" apart, which must be above 0";
        return Err(QueryError::new(ErrorCode::Type, text)
            .field("params.min_dist")
            .value(0)
            .suggest("raise min_dist, or leave dbscan out"));
    }
    let table = match rows {
        Rows::Nodes => graph.node_table(context.cancel)?,
        Rows::Edges => edge_table(graph)?.clone(),
    };
    let kind = if rows == Rows::Nodes { "node" } else { "edge" };
    let bound = graph.bindings();
    let ends: Vec<&str> = match rows {
        Rows::Nodes => vec![],
        Rows::Edges => {
            [&bound.source, &bound.destination].into_iter().filter_map(|n| n.as_deref()).collect()
        }
    };
    let own =
        |name: &str| ends.contains(&name) || rows == Rows::Nodes && name == graph.node_column();
    let targets = names(params, "y")?.unwrap_or_default();
    let target = target(&table, &targets, kind, context)?;
    let wanted = match names(params, "X")? {
        Some(names) => names,
        None => table.column_names().into_iter().map(str::to_owned).collect(),
    };
    let wanted: Vec<String> =
        wanted.into_iter().filter(|name| !own(name) && !targets.contains(name)).collect();
    let reading = Reading { engine, params, kind, neighbors: options.neighbors, context };
    let features = reading.features(&table, &wanted, &ends)?;
    context.cancel.take(bytes(features.rows, options.neighbors))?;
    let made = embed(&features, target.as_deref(), &options, context.cancel);
    let made = made.map_err(|e| failed(e, params))?;
    drop(features);
    let mut placed = table;
    for (c, name) in [&asked.x, &asked.y].into_iter().enumerate() {
        let column = made.points.iter().skip(c).step_by(options.dims).copied();
        placed = with(&placed, name, floats(column))?;
    }
    if asked.dbscan {
        let found = clusters(&made.points, options.dims, options.min_dist, context.cancel);
        let found = found.map_err(|e| failed(e, params))?;
        placed = with(&placed, CLUSTER, Arc::new(Int64Array::from(found)))?;
    }
    match rows {
        Rows::Edges => graph.with_edges(placed),
        Rows::Nodes => asked.shown(graph, placed, &made, context.cancel),
    }
}

/// What is asked for beside the places.
struct Asked {
    x: String,
    y: String,
    weight: String,
    /// Weights that are further than this below the largest are left out.
    scale: f32,
    /// Milliseconds of the page's own layout.
    play: Option<Value>,
    encode_position: bool,
    encode_weight: bool,
    dbscan: bool,
}

impl Asked {
    fn read(params: &Params<'_>) -> Result<Self, QueryError> {
        let suffix = params.text("suffix")?.unwrap_or("");
        if params.flag("inplace", false)? {
            let text = "\"inplace\" of call \"umap\" is false: a query makes a graph";
            return Err(QueryError::new(ErrorCode::Unsupported, text)
                .field("params.inplace")
                .value(true)
                .suggest("leave it out"));
        }
        params.flag("memoize", true)?;
        let engine = params.text("engine")?.unwrap_or("auto");
        if !["auto", "umap_learn", "cuml"].contains(&engine) {
            let want = "\"auto\", \"umap_learn\" or \"cuml\", which give the same here";
            return Err(params.wrong("engine", want, &engine.into()));
        }
        let scale = match params.get("scale") {
            None => 1.0,
            Some(value) => match value.as_f64().filter(|v| (0.0..=1000.0).contains(v)) {
                Some(scale) => scale as f32,
                None => return Err(params.wrong("scale", "a number from 0 to 1000", value)),
            },
        };
        let play = match params.map.get("play") {
            None => Some(0.into()),
            Some(Value::Null) => None,
            Some(value) if value.as_u64().is_some() => Some(value.clone()),
            Some(value) => {
                let want = "milliseconds, a whole number that is not negative, or null";
                return Err(params.wrong("play", want, value));
            }
        };
        let dbscan = params.flag("dbscan", false)?;
        Ok(Self {
            x: format!("x{suffix}"),
            y: format!("y{suffix}"),
            weight: format!("{WEIGHT}{suffix}"),
            scale,
            play,
            encode_position: params.flag("encode_position", true)?,
            encode_weight: params.flag("encode_weight", true)?,
            dbscan,
        })
    }

    /// The graph of placed nodes.
    fn shown(
        &self,
        graph: &PropertyGraph,
        nodes: Table,
        made: &Embedding,
        cancel: &CancelToken,
    ) -> Result<PropertyGraph, QueryError> {
        let note = |graph: PropertyGraph, function: &str, name: &str, value: Value| {
            let params = Map::from_iter([(name.to_owned(), value)]);
            graph.noted(&CallOp { function: function.to_owned(), params })
        };
        let mut found = if self.encode_weight {
            let edges = self.edges(&nodes, graph.node_column(), made, cancel)?;
            let bindings = Bindings {
                node: Some(graph.node_column().to_owned()),
                source: Some(SOURCE.to_owned()),
                destination: Some(DESTINATION.to_owned()),
            };
            let found = PropertyGraph::new(Some(nodes), Some(edges), bindings)?;
            let found = found.with_weight(Some(self.weight.clone()));
            let found = graph.notes().iter().fold(found, |found, note| found.noted(note));
            note(found, "encode_edge_weight", "column", self.weight.clone().into())
        } else {
            graph.replaced(Some(nodes), graph.edges().cloned())?
        };
        if self.encode_position {
            found = note(found, "encode_point_x", "column", self.x.clone().into());
            found = note(found, "encode_point_y", "column", self.y.clone().into());
            if let Some(play) = &self.play {
                found = note(found, "play", "play", play.clone());
            }
        }
        Ok(found)
    }

    /// The edges of neighbours, without those that weigh too little.
    fn edges(
        &self,
        nodes: &Table,
        id: &str,
        made: &Embedding,
        cancel: &CancelToken,
    ) -> Result<Table, QueryError> {
        let ids = nodes.column(id);
        let ids = ids.ok_or_else(|| QueryError::no_column(id, "node", &nodes.column_names()))?;
        let (mut most, mut least) = (f32::NEG_INFINITY, f32::INFINITY);
        for some in made.edges.chunks(STEPS) {
            cancel.check()?;
            for (_, _, weight) in some {
                (most, least) = (most.max(*weight), least.min(*weight));
            }
        }
        let from = (most + MARGIN - self.scale).max(least - MARGIN);
        let (mut sources, mut destinations, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for some in made.edges.chunks(STEPS) {
            cancel.check()?;
            for (source, destination, weight) in some.iter().filter(|edge| edge.2 >= from) {
                sources.push(*source);
                destinations.push(*destination);
                weights.push(*weight);
            }
        }
        let rows = weights.len();
        let end =
            |of: Vec<u32>| arrow_select::take::take(ids.as_ref(), &UInt32Array::from(of), None);
        let columns = vec![
            (SOURCE.to_owned(), end(sources)?),
            (DESTINATION.to_owned(), end(destinations)?),
            (self.weight.clone(), floats(weights.into_iter())),
        ];
        table_of(columns, rows)
    }
}

/// The columns that a parameter names, one or several.
fn names(params: &Params<'_>, name: &str) -> Result<Option<Vec<String>>, QueryError> {
    match params.get(name) {
        None => Ok(None),
        Some(Value::String(one)) => Ok(Some(vec![one.clone()])),
        Some(Value::Array(_)) => params.texts(name).map(Some),
        Some(other) => Err(params.wrong(name, "the name of a column, or a list of names", other)),
    }
}

/// The categories of the rows, where one column has them. Of several the client takes none, and says so.
fn target(
    table: &Table,
    names: &[String],
    kind: &str,
    context: CallContext<'_>,
) -> Result<Option<Vec<Option<u32>>>, QueryError> {
    for name in names {
        if table.column(name).is_none() {
            return Err(QueryError::no_column(name, kind, &table.column_names()));
        }
    }
    match names {
        [] => Ok(None),
        [one] => match table.column(one) {
            Some(column) => labels(column, context),
            None => Ok(None),
        },
        _ => {
            let text = format!(
                "umap takes the categories of one column, and y names {}: it leaves them out of the features, and \
                 reads none; name one",
                names.join(", ")
            );
            context.notices.note(Notice::new("target-ignored", text));
            Ok(None)
        }
    }
}
