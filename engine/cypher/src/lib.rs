//! Cypher: read-only queries over a property graph, from text to rows.
//!
//! [`parse()`] reads a query and plans it, with every check that needs no data; [`run`] evaluates it on a
//! graph. Clauses that change a graph have no form in the syntax tree: the parser refuses them.
//!
//! Results are bags of rows. Relationships of one MATCH differ from each other, variable length means
//! trails, and logic has three values.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{ArrayRef, Int64Array, RecordBatch};
//! use graphlume_store::{Bindings, PropertyGraph};
//! use graphlume_table::Table;
//! use graphlume_types::CancelToken;
//! use serde_json::json;
//!
//! let column = |values: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(values)) };
//! let edges = RecordBatch::try_from_iter([("src", column(vec![1, 2])), ("dst", column(vec![2, 3]))])?;
//! let name = |n: &str| Some(n.to_owned());
//! let bindings = Bindings { node: None, source: name("src"), destination: name("dst") };
//! let graph = PropertyGraph::new(None, Some(Table::try_new(edges)?), bindings)?;
//!
//! let query = graphlume_cypher::parse("MATCH (a)-->(b)-->(c) RETURN a.id, c.id")?;
//! let params = serde_json::Map::new();
//! let answer =
//!     graphlume_cypher::run(&graph, &query, &params, Default::default(), &CancelToken::new())?;
//! assert_eq!(answer.json(), [json!({"a.id": 1, "c.id": 3})]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | Module | Does |
//! |---|---|
//! | `lex`, `parse`, `ast` | text to syntax tree |
//! | `stage` | texts whose stages make graphs, as queries for their elements |
//! | `bind` | names to slots, checks, patterns to operators |
//! | `plan`, `explain` | the operators, and how they and a profile of them are shown |
//! | `exec` | rows through operators, by several threads where that pays |
//! | `value`, `func` | values, their orders, time, functions |
//! | `procedures` | what CALL may name |
//! | `answer` | results as values, as a table and as JSON |

mod answer;
mod answer_column;
mod ast;
mod bind;
mod column_reader;
mod error;
mod exec;
mod explain;
mod func;
mod graph_view;
mod lex;
mod parse;
mod plan;
mod procedures;
mod query;
mod render;
mod row_buffer;
mod stage;
#[doc(hidden)]
pub mod testkit;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
mod tuning;
mod types;
mod value;

pub use answer::Answer;
pub use bind::NumberIds;
pub use explain::{Profile, explain, explain_on, profile};
pub use procedures::{ProcedureTable, Procedures};
pub use query::Query;
pub use stage::{
    Comparison, Does, Element, Hop, PlannedStep, Stage, Text, Variable, Walks, parse, parse_text,
    parse_text_with,
};
pub use value::temporal::{Duration, Temporal, Zoned};
pub use value::{Edge, Entries, Path, Shared, Value};

use graphlume_expr::{QueryError, Strictness};
use graphlume_store::PropertyGraph;
use graphlume_types::CancelToken;
use graphlume_types::clock::{Clock, SystemClock};
use serde_json::Map;

use procedures::NoProcedures;

/// Evaluates a query that calls no procedures on a graph.
///
/// # Errors
/// [`QueryError`] with its slug: a parameter without a value, a value of the wrong kind, a limit, or
/// because the work was stopped.
pub fn run(
    graph: &PropertyGraph,
    query: &Query,
    params: &Map<String, serde_json::Value>,
    strictness: Strictness,
    cancel: &CancelToken,
) -> Result<Answer, QueryError> {
    run_with(graph, query, params, strictness, &NoProcedures, cancel)
}

/// Evaluates a query that may call procedures.
///
/// # Errors
/// Those of [`run`], and those of the procedures.
pub fn run_with(
    graph: &PropertyGraph,
    query: &Query,
    params: &Map<String, serde_json::Value>,
    strictness: Strictness,
    procedures: &dyn Procedures,
    cancel: &CancelToken,
) -> Result<Answer, QueryError> {
    let now = now();
    let setting = exec::Setting { params, strictness, procedures, now, by_columns: true, cancel };
    exec::run(graph, query, &setting)
}

/// Seconds and nanoseconds since 1970: the time of a whole run.
fn now() -> (i64, u32) {
    let micros = SystemClock.unix_micros();
    (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000) as u32 * 1_000)
}
