//! Calls before and after a pattern.

mod algorithm;
mod graph;
mod group;
mod matching;
mod paths;
mod rows;

use serde_json::{Map, Value};

use crate::chain::{self, Scope, Step};
use crate::error::{ErrorCode, GfqlError, nearest};
use crate::graph::PropertyGraph;
use crate::wire::{CallOp, Chain, Op};

/// Functions that exist and are answered with their name, because they are not done here.
const ELSEWHERE: &[&str] = &[
    "collapse",
    "get_topological_levels",
    "layout_graphviz",
    "group_in_a_box_layout",
    "circle_layout",
    "tree_layout",
    "mercator_layout",
    "modularity_weighted_layout",
    "ring_continuous_layout",
    "ring_categorical_layout",
    "time_ring_layout",
    "hypergraph",
    "umap",
];

/// Calls that change how a graph is shown and not what it is.
const NOTES: &[&str] = &[
    "name",
    "description",
    "encode_point_color",
    "encode_edge_color",
    "encode_point_size",
    "encode_edge_size",
    "encode_edge_weight",
    "encode_point_opacity",
    "encode_edge_opacity",
    "encode_point_icon",
    "encode_edge_icon",
    "encode_point_label",
    "encode_edge_label",
    "encode_point_title",
    "encode_edge_title",
    "encode_axis",
];

/// Calls that never change an answer.
const IDLE: &[&str] = &["create_index", "drop_index"];

/// Evaluates a chain: calls, then a pattern, then calls.
pub(crate) fn run(
    graph: &PropertyGraph,
    chain: &Chain,
    scope: Scope<'_>,
) -> Result<PropertyGraph, GfqlError> {
    let is_call = |op: &Op| matches!(op, Op::Call(_));
    let before = chain.ops.iter().take_while(|op| is_call(op)).count();
    let after = chain.ops[before..].iter().rev().take_while(|op| is_call(op)).count();
    let middle = before..chain.ops.len() - after;
    let mut steps = Vec::with_capacity(middle.len());
    for (i, op) in chain.ops[middle.clone()].iter().enumerate() {
        match op {
            Op::Node(op) => steps.push(Step::Node(op.clone())),
            Op::Edge(op) => steps.push(Step::Edge(op.clone())),
            Op::Call(call) => {
                let text = "a call may stand only before or after all node and edge steps";
                return Err(GfqlError::new(ErrorCode::Type, text)
                    .field("function")
                    .value(&call.function)
                    .suggest("bind the parts in a Let and continue with a Ref")
                    .at(before + i));
            }
        }
    }
    if steps.is_empty() && !chain.clauses.is_empty() {
        let text = "\"where\" needs node and edge steps to compare";
        return Err(GfqlError::new(ErrorCode::Type, text).field("where"));
    }
    let named = steps.iter().any(|s| match s {
        Step::Node(op) => op.name.is_some(),
        Step::Edge(op) => op.name.is_some(),
    });
    let only_calls = steps.is_empty() && !chain.ops.is_empty();
    // Calls see nodes of their own even where only edges were given.
    let mut state = match graph.nodes() {
        None if only_calls => {
            graph.replaced(Some(graph.node_table(scope.cancel)?), graph.edges().cloned())?
        }
        _ => graph.clone(),
    };
    let mut base = state.clone();
    for (i, op) in chain.ops.iter().enumerate() {
        match op {
            Op::Call(call) => {
                // A bare choice of rows after named steps means rows of whole paths, whose
                // pattern is matched against the graph before the steps cut it down.
                state = if named && i == middle.end && is_bare_rows(call) {
                    let table = paths::run(&base, &steps, scope).map_err(|e| e.at(i))?;
                    PropertyGraph::of_rows(table, base.edges())
                } else {
                    function(&state, &base, call, scope).map_err(|e| e.at(i))?
                };
            }
            Op::Node(_) | Op::Edge(_) if i == middle.start => {
                base = state.clone();
                state = chain::run(&state, &steps, &chain.clauses, scope)?;
            }
            Op::Node(_) | Op::Edge(_) => {}
        }
    }
    Ok(state)
}

fn is_bare_rows(call: &CallOp) -> bool {
    let table = call.params.get("table").and_then(Value::as_str).unwrap_or("nodes");
    call.function == "rows"
        && table == "nodes"
        && ["source", "binding_ops", "alias_endpoints"]
            .iter()
            .all(|key| call.params.get(*key).is_none_or(Value::is_null))
}

fn function(
    graph: &PropertyGraph,
    base: &PropertyGraph,
    call: &CallOp,
    scope: Scope<'_>,
) -> Result<PropertyGraph, GfqlError> {
    let name = call.function.as_str();
    let params = Params { function: name, map: &call.params };
    match name {
        "rows" => {
            let table = rows::choose(graph, base, &params, scope)?;
            Ok(PropertyGraph::of_rows(table, graph.edges()))
        }
        "count_table" => {
            let table = rows::count(graph, &params, scope)?;
            Ok(PropertyGraph::of_rows(table, graph.edges()))
        }
        _ if rows::FUNCTIONS.contains(&name) => {
            let table = rows::apply(&graph.node_table(scope.cancel)?, name, &params, scope)?;
            Ok(PropertyGraph::of_rows(table, graph.edges()))
        }
        _ if matching::FUNCTIONS.contains(&name) => {
            let table = matching::run(graph, base, &params, scope)?;
            Ok(PropertyGraph::of_rows(table, graph.edges()))
        }
        _ if graph::FUNCTIONS.contains(&name) => graph::run(graph, &params, scope),
        _ if algorithm::FUNCTIONS.contains(&name) => algorithm::run(graph, &params, scope),
        _ if NOTES.contains(&name) => Ok(graph.noted(call)),
        _ if IDLE.contains(&name) => Ok(graph.clone()),
        _ if ELSEWHERE.contains(&name) => Err(GfqlError::unsupported_call(name)),
        _ => {
            let names: Vec<&str> = [
                &["rows", "count_table"],
                ELSEWHERE,
                NOTES,
                rows::FUNCTIONS,
                matching::FUNCTIONS,
                graph::FUNCTIONS,
                algorithm::FUNCTIONS,
            ]
            .concat();
            let error = GfqlError::new(ErrorCode::Call, format!("call {name:?} does not exist"));
            let error = error.field("function").value(format!("{name:?}"));
            Err(match nearest(name, &names) {
                Some(near) => error.suggest(format!("did you mean {near:?}?")),
                None => error.suggest("see the list of calls in the documentation"),
            })
        }
    }
}

/// The parameters of a call.
pub(crate) struct Params<'a> {
    function: &'a str,
    map: &'a Map<String, Value>,
}

impl Params<'_> {
    fn get(&self, name: &str) -> Option<&Value> {
        self.map.get(name).filter(|v| !v.is_null())
    }

    fn missing(&self, name: &str) -> GfqlError {
        let text = format!("call {:?} needs {name:?}", self.function);
        GfqlError::new(ErrorCode::MissingField, text).field(name)
    }

    fn wrong(&self, name: &str, want: &str, value: &Value) -> GfqlError {
        let text = format!("{name:?} of call {:?} must be {want}", self.function);
        GfqlError::new(ErrorCode::Type, text).field(name).value(value)
    }

    fn text(&self, name: &str) -> Result<Option<&str>, GfqlError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(name, "a text", other)),
        }
    }

    fn flag(&self, name: &str, default: bool) -> Result<bool, GfqlError> {
        match self.get(name) {
            None => Ok(default),
            Some(Value::Bool(v)) => Ok(*v),
            Some(other) => Err(self.wrong(name, "true or false", other)),
        }
    }

    fn list(&self, name: &str) -> Result<&[Value], GfqlError> {
        match self.get(name) {
            None => Err(self.missing(name)),
            Some(Value::Array(items)) => Ok(items),
            Some(other) => Err(self.wrong(name, "a list", other)),
        }
    }

    fn texts(&self, name: &str) -> Result<Vec<String>, GfqlError> {
        let items = self.list(name)?.iter();
        items
            .map(|v| v.as_str().map(str::to_owned).ok_or_else(|| self.wrong(name, "texts", v)))
            .collect()
    }

    /// A number of rows: a whole number, as a number or as text.
    fn count(&self, name: &str) -> Result<usize, GfqlError> {
        let value = self.get(name).ok_or_else(|| self.missing(name))?;
        let number = match value {
            Value::Number(n) => n.as_u64().or_else(|| {
                let v = n.as_f64()?;
                (v.fract() == 0.0 && (0.0..1e15).contains(&v)).then_some(v as u64)
            }),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        let number = number.and_then(|n| usize::try_from(n).ok());
        number.ok_or_else(|| self.wrong(name, "a whole number that is not negative", value))
    }
}
