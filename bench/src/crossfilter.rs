//! Filters and histograms that follow each other: a brush that moves, a selection that becomes a filter, and both taken back.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMillisecondArray,
};
use bytes::Bytes;
use graphlume_expr::{QueryError, Scalar};
use graphlume_facets::{
    Axis, Brush, Facets, Filter, FilterKind, FilterSet, Kept, NodeBytes, Picture, Rule, Wanted,
};
use graphlume_graph::Topology;
use graphlume_scene::{Bits, EdgeOrder, edge_ends};
use graphlume_store::{Bindings, PropertyGraph};
use graphlume_table::Table;
use graphlume_types::CancelToken;
use graphlume_types::hash::h64;
use serde_json::{Map, Value, json};

use crate::clock::{Took, measure};
use crate::input::read;
use crate::task::{Report, Spec, TaskError, finish};

/// The ten columns whose histograms are shown.
const COLUMNS: [&str; 10] =
    ["score", "amount", "age", "visits", "joined", "seen", "kind", "city", "active", "degree"];
/// 2020-01-01 and 2025-01-01 in milliseconds.
const YEARS: (i64, i64) = (1_577_836_800_000, 1_735_689_600_000);

/// A graph with columns as of people, drawn at random.
struct Drawn {
    graph: PropertyGraph,
    order: EdgeOrder,
    ends: Bytes,
}

impl Picture for Drawn {
    fn graph(&self, _: &CancelToken) -> Result<&PropertyGraph, QueryError> {
        Ok(&self.graph)
    }

    fn order(&self) -> EdgeOrder {
        self.order
    }

    fn ends(&self) -> Bytes {
        self.ends.clone()
    }

    fn communities(&self, cancel: &CancelToken) -> Result<Arc<Vec<u32>>, QueryError> {
        let found = graphlume_algo::component::weak::run(self.graph.topology(cancel)?, cancel);
        found
            .map(Arc::new)
            .map_err(|e| QueryError::new(graphlume_expr::ErrorCode::CallFailed, e.to_string()))
    }
}

fn bad(message: &dyn std::fmt::Display) -> TaskError {
    TaskError::Input { path: "the graph".to_owned(), message: message.to_string() }
}

/// The table of the nodes 0 to `n`, of which every twentieth cell of a number is null.
fn node_table(n: u32) -> Result<Table, TaskError> {
    let draw = |v: u32, column: u64| h64(1, u64::from(v), column);
    let unit = |v: u32, column: u64| (draw(v, column) >> 11) as f64 / (1u64 << 53) as f64;
    let known = |v: u32, column: u64| draw(v, column + 100) % 20 > 0;
    let floats = |column: u64, of: fn(f64) -> f64| -> ArrayRef {
        let cells = (0..n).map(|v| known(v, column).then(|| of(unit(v, column))));
        Arc::new(cells.collect::<Float64Array>())
    };
    let ints = |column: u64, of: fn(f64) -> i64| -> ArrayRef {
        let cells = (0..n).map(|v| known(v, column).then(|| of(unit(v, column))));
        Arc::new(cells.collect::<Int64Array>())
    };
    let dates = |column: u64| -> ArrayRef {
        let cells = (0..n).map(|v| {
            let span = (YEARS.1 - YEARS.0) as f64;
            known(v, column).then(|| YEARS.0 + (unit(v, column) * span) as i64)
        });
        Arc::new(cells.collect::<TimestampMillisecondArray>())
    };
    let texts = |column: u64, values: u64| -> ArrayRef {
        // Some values are frequent and most are not.
        let cells = (0..n).map(|v| {
            let at = (unit(v, column).powi(3) * values as f64) as u64;
            known(v, column).then(|| format!("value {at}"))
        });
        Arc::new(cells.collect::<StringArray>())
    };
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(0..i64::from(n)));
    let active: ArrayRef =
        Arc::new((0..n).map(|v| Some(draw(v, 9) % 3 > 0)).collect::<BooleanArray>());
    let columns = [
        ("id", id),
        ("score", floats(1, |u| u * 100.0)),
        ("amount", floats(2, |u| (u * 12.0).exp())),
        ("age", ints(3, |u| (u * 90.0) as i64)),
        ("visits", ints(4, |u| (u * u * 10_000.0) as i64)),
        ("joined", dates(5)),
        ("seen", dates(6)),
        ("kind", texts(7, 12)),
        ("city", texts(8, 5_000)),
        ("active", active),
    ];
    let batch = RecordBatch::try_from_iter(columns).map_err(|e| bad(&e))?;
    Table::try_new(batch).map_err(|e| bad(&e))
}

fn drawn(spec: &Spec<'_>) -> Result<Drawn, TaskError> {
    let edges = read(spec.edges)?;
    let bind = |n: &str| Some(n.to_owned());
    let (source, destination) = (bind("src"), bind("dst"));
    let cancel = CancelToken::new();
    let bindings =
        Bindings { node: None, source: source.clone(), destination: destination.clone() };
    let only_edges =
        PropertyGraph::new(None, Some(edges.clone()), bindings).map_err(|e| bad(&e))?;
    let n = only_edges.topology(&cancel).map_err(|e| bad(&e))?.num_nodes();
    let bindings = Bindings { node: bind("id"), source, destination };
    let graph = PropertyGraph::new(Some(node_table(n)?), Some(edges), bindings);
    let graph = graph.and_then(|g| g.with_every_node(&cancel)).map_err(|e| bad(&e))?;
    let topology: &Topology = graph.topology(&cancel).map_err(|e| bad(&e))?;
    let order = EdgeOrder::new(topology.num_edges(), 1);
    let ends = edge_ends(topology, order);
    Ok(Drawn { graph, order, ends })
}

fn filter(id: &str, rule: Rule) -> Filter {
    Filter { id: id.to_owned(), kind: FilterKind::Filter, on: true, rule: Arc::new(rule) }
}

fn brush(column: &str, kept: Kept) -> Filter {
    filter(column, Rule::Brush(Brush { axis: Axis::Node, column: column.to_owned(), kept }))
}

/// Three brushes, of which the one on the scores begins at `from`.
fn brushes(from: f64) -> FilterSet {
    let values = ["value 0", "value 1", "value 3"].map(Scalar::text).to_vec();
    let filters = vec![
        brush("score", Kept::Range([from, from + 40.0])),
        brush("joined", Kept::Range([YEARS.0 as f64 + 3e10, YEARS.1 as f64 - 3e10])),
        brush("kind", Kept::Values(values)),
    ];
    FilterSet { filters, prune_orphans: false }
}

/// A timed step: what it is called, and what it does in a round.
type TimedStep<'a> = (&'static str, Box<dyn Fn(usize) -> Result<u64, QueryError> + 'a>);

/// Times, in milliseconds of the clock on the wall: a brush that has moved, to the masks and ten histograms; a selection of
/// 100,000 nodes as a filter and as a collection; and each taken back. The edges come from the file, columns are drawn.
pub(crate) fn run(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let (picture, load) = measure(|| drawn(spec));
    let (picture, facets, cancel) = (picture?, Facets::default(), CancelToken::new());
    let topology = picture.graph.topology(&cancel).map_err(|e| bad(&e))?;
    let (n, m) = (topology.num_nodes(), topology.num_edges());
    let wanted = |column: &&str| Wanted {
        axis: Axis::Node,
        column: (*column).to_owned(),
        bins: 32,
        log: false,
        search: None,
    };
    let wanted: Vec<Wanted> = COLUMNS.iter().map(wanted).collect();
    let shown = |set: &FilterSet| {
        let filtered = facets.filter(&picture, set, &cancel)?;
        let histograms = facets.histograms(&picture, set, &wanted, &cancel)?;
        let _ = histograms.iter().map(graphlume_facets::Histogram::json).collect::<Vec<_>>();
        Ok(filtered.nodes.len())
    };
    // A selection is another one in every round: a mask that is known costs nothing.
    let selection = |round: usize| {
        let from = u64::from(n).saturating_sub(100_000) * (round as u64 % 7) / 7;
        let chosen: Vec<u32> = (from..from + 100_000.min(u64::from(n))).map(|v| v as u32).collect();
        Rule::Nodes(NodeBytes(Bits::new(n, &chosen).bytes(n).into()))
    };
    let selected = |round: usize| {
        let mut set = brushes(20.0);
        set.filters.push(filter("selection", selection(round)));
        set
    };
    let at = |round: usize| 1.0 + round as f64 / 16.0;
    let (first, cold) = measure(|| shown(&brushes(0.0)));
    first.map_err(|e| bad(&e))?;
    let steps: Vec<TimedStep<'_>> = vec![
        (
            "a brush moves, to masks and ten histograms",
            Box::new(|round| shown(&brushes(at(round)))),
        ),
        ("the brush is taken back", Box::new(|_| shown(&brushes(0.0)))),
        ("100,000 nodes become a filter", Box::new(|round| shown(&selected(round)))),
        ("the filter is taken back", Box::new(|_| shown(&brushes(20.0)))),
        (
            "100,000 nodes become a collection",
            Box::new(|round| {
                Ok(facets.members(&picture, &Arc::new(selection(round + 3)), &cancel)?.len())
            }),
        ),
    ];
    let mut result = Map::new();
    result.insert("nodes".to_owned(), n.into());
    result.insert("edges".to_owned(), m.into());
    result.insert("first_ms".to_owned(), json!(cold.seconds * 1e3));
    let (steps, whole) = timed(&steps, spec.repeat.max(1))?;
    result.insert("steps".to_owned(), steps);
    Ok(finish(vec![whole], load.seconds, result, Vec::new(), None))
}

/// The times of steps that are done one after the other in each round, and of all of them together.
fn timed(steps: &[TimedStep<'_>], rounds: usize) -> Result<(Value, Took), TaskError> {
    let mut whole = Took { seconds: 0.0, cpu_seconds: 0.0 };
    let mut times: Vec<(Vec<f64>, u64)> = steps.iter().map(|_| (vec![], 0)).collect();
    for round in 0..rounds {
        for ((_, step), (times, size)) in steps.iter().zip(&mut times) {
            let (found, took) = measure(|| step(round));
            *size = found.map_err(|e| bad(&e))?;
            times.push(took.seconds * 1e3);
            whole.seconds += took.seconds;
            whole.cpu_seconds += took.cpu_seconds;
        }
    }
    let told = steps.iter().zip(times).map(|((name, _), (times, size))| told(name, times, size));
    Ok((told.collect(), whole))
}

/// The median and the most of some times, and how many elements the step found at last.
fn told(name: &str, mut times: Vec<f64>, elements: u64) -> Value {
    times.sort_by(f64::total_cmp);
    let (median, most) = (times[times.len() / 2], times[times.len() - 1]);
    json!({"step": name, "median_ms": median, "most_ms": most, "elements": elements})
}
