//! Queries on a resident graph: how long each takes inside the engine.

use std::path::Path;
use std::time::Instant;

use graphlume_expr::{ErrorCode, QueryError, Strictness};
use graphlume_gfql::Others;
use graphlume_procedures::Algorithms;
use graphlume_store::{Bindings, PropertyGraph};
use graphlume_types::CancelToken;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::cancel::{Ending, lateness};
use crate::clock::measure;
use crate::input::read;
use crate::task::{Report, Spec, TaskError, finish};

/// One query of the file that the parameter `queries` names, which is a JSON array of these.
#[derive(Deserialize)]
struct Asked {
    /// Times of queries of one name are put together.
    name: String,
    /// Operations, in the wire format.
    gfql: Option<Value>,
    /// Or a query in Cypher.
    cypher: Option<String>,
    /// Whether only sizes are wanted.
    #[serde(default)]
    shape: bool,
}

enum Query {
    Gfql(graphlume_gfql::Query),
    Cypher(Box<graphlume_cypher::Query>),
}

/// Parameters: `queries` (a file, see [`Asked`]), `nodes` (a table, with the column `id`), `source` and
/// `destination` (columns, `src` and `dst` by default). Every query runs once unmeasured and then as
/// often as asked; parsing it is not counted, making its answer is. With `after=MS` (several with commas) each is run and
/// stopped after so many milliseconds instead, and the result says how late it ended, as the task `cancel` does.
pub(crate) fn run(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let param = |name: &str| {
        let pairs = spec.params.iter().filter_map(|p| p.split_once('='));
        pairs.into_iter().find(|(n, _)| *n == name).map(|(_, v)| v)
    };
    let file = param("queries").ok_or_else(|| bad("--param queries=FILE", "is missing"))?;
    let text = std::fs::read(file).map_err(|e| bad(file, &e.to_string()))?;
    let asked: Vec<Asked> = serde_json::from_slice(&text).map_err(|e| bad(file, &e.to_string()))?;
    let (graph, load) = measure(|| graph(spec.edges, &param));
    let graph = graph?;
    if let Some(after) = param("after") {
        let (result, took) = measure(|| stopped(&graph, &asked, after));
        return Ok(finish(vec![took], load.seconds, result?, Vec::new(), None));
    }
    let mut all = Vec::new();
    let mut names: Vec<(String, Vec<f64>, Vec<f64>, Value)> = Vec::new();
    for one in asked {
        let query = parse(&one).map_err(|e| bad(&one.name, &e.to_string()))?;
        let ask = || {
            let cancel = CancelToken::new();
            answer(&graph, &query, one.shape, &cancel).map_err(|e| bad(&one.name, &e.to_string()))
        };
        let size = ask()?;
        let at = names.iter().position(|n| n.0 == one.name).unwrap_or_else(|| {
            names.push((one.name.clone(), Vec::new(), Vec::new(), size));
            names.len() - 1
        });
        for _ in 0..spec.repeat.max(1) {
            // The clock of the processor ticks too coarsely for one short query.
            let begin = Instant::now();
            let (size, took) = measure(ask);
            names[at].1.push(begin.elapsed().as_secs_f64());
            names[at].2.push(took.cpu_seconds);
            size?;
            all.push(took);
        }
    }
    let mut result = Map::new();
    for (name, mut seconds, cpu, size) in names {
        seconds.sort_by(f64::total_cmp);
        let at = |q: f64| seconds[((seconds.len() - 1) as f64 * q).round() as usize];
        let cpu = warm_mean(&cpu);
        let mut sorted =
            json!({"count": seconds.len(), "p50": at(0.5), "p90": at(0.9), "p99": at(0.99)});
        sorted["cpu"] = cpu.into();
        sorted["size"] = size;
        result.insert(name, sorted);
    }
    Ok(finish(all, load.seconds, result, Vec::new(), None))
}

/// How late each query ended that was stopped at these moments, in milliseconds with commas.
fn stopped(
    graph: &PropertyGraph,
    asked: &[Asked],
    after: &str,
) -> Result<Map<String, Value>, TaskError> {
    let moments: Result<Vec<u64>, _> = after.split(',').map(str::parse).collect();
    let moments = moments.map_err(|e| bad("--param after", &e.to_string()))?;
    let mut late = Map::new();
    for one in asked {
        let query = parse(one).map_err(|e| bad(&one.name, &e.to_string()))?;
        let ended = lateness(&moments, |cancel| match answer(graph, &query, one.shape, cancel) {
            Ok(_) => Ending::Done,
            Err(_) if cancel.check().is_err() => Ending::Stopped,
            Err(e) => Ending::Refused(e.to_string()),
        });
        late.insert(one.name.clone(), ended);
    }
    Ok(late)
}

/// The mean without the first quarter, for the first rounds make what all later ones use. No median: the clock of
/// the processor is too coarse for it.
fn warm_mean(seconds: &[f64]) -> f64 {
    let warm = &seconds[seconds.len() / 4..];
    warm.iter().sum::<f64>() / warm.len() as f64
}

fn bad(path: &str, message: &str) -> TaskError {
    TaskError::Input { path: path.to_owned(), message: message.to_owned() }
}

fn graph<'p>(
    edges: &Path,
    param: &dyn Fn(&str) -> Option<&'p str>,
) -> Result<PropertyGraph, TaskError> {
    let nodes = param("nodes").map(|path| read(Path::new(path))).transpose()?;
    let name = |n: &str, default: &str| Some(param(n).unwrap_or(default).to_owned());
    let bindings = Bindings {
        node: nodes.is_some().then(|| "id".to_owned()),
        source: name("source", "src"),
        destination: name("destination", "dst"),
    };
    let made = PropertyGraph::new(nodes, Some(read(edges)?), bindings);
    made.map_err(|e| bad("the graph", &e.to_string()))
}

fn parse(asked: &Asked) -> Result<Query, QueryError> {
    match (&asked.gfql, &asked.cypher) {
        (Some(wire), None) => graphlume_gfql::parse(wire).map(Query::Gfql),
        (None, Some(text)) => graphlume_cypher::parse(text).map(|q| Query::Cypher(Box::new(q))),
        _ => Err(QueryError::new(ErrorCode::Output, "a query has gfql or cypher")),
    }
}

fn answer(
    graph: &PropertyGraph,
    query: &Query,
    shape: bool,
    cancel: &CancelToken,
) -> Result<Value, QueryError> {
    let strictness = Strictness::default();
    match query {
        Query::Gfql(query) if shape => {
            let (sizes, _) =
                graphlume_gfql::sizes(graph, &Others::default(), query, None, strictness, cancel)?;
            Ok(json!([sizes.nodes, sizes.edges]))
        }
        Query::Gfql(query) => {
            let graph = graphlume_gfql::run(graph, query, None, strictness, cancel)?.graph;
            let rows = |t: Option<&graphlume_table::Table>| t.map_or(0, |t| t.num_rows());
            Ok(json!([rows(graph.nodes()), rows(graph.edges())]))
        }
        Query::Cypher(query) => {
            let rows = graphlume_cypher::run_with(
                graph,
                query,
                &Map::new(),
                strictness,
                &Algorithms::default(),
                cancel,
            )?;
            Ok(json!([rows.table()?.num_rows(), 0]))
        }
    }
}
