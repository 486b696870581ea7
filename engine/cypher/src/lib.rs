//! Cypher: read-only queries over a property graph, from text to rows.
//!
//! [`parse()`] reads a query and plans it, with every check that needs no data; [`run`] evaluates it on a
//! graph. Clauses that change a graph have no form in the syntax tree: the parser refuses them.
//!
//! Results are bags of rows. Relationships of one MATCH differ from each other, variable length means
//! trails, and logic has three values.
//!
//! | Module | Does |
//! |---|---|
//! | `lex`, `parse`, `ast` | text to syntax tree |
//! | `bind` | names to slots, checks, patterns to operators |
//! | `plan`, `explain` | the operators and how they are shown |
//! | `exec` | rows through operators, by several threads where that pays |
//! | `value`, `temporal`, `func` | values, their orders, time, functions |
//! | `procedures` | what CALL may name |
//! | `answer` | results as values, as a table and as JSON |

mod answer;
mod ast;
mod bind;
mod error;
mod exec;
mod explain;
mod func;
mod lex;
mod parse;
mod plan;
mod temporal;
#[doc(hidden)]
pub mod testkit;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
mod tuning;
mod value;

pub use answer::Answer;
pub use explain::{explain, explain_on};
pub use temporal::{Duration, Temporal, Zoned};
pub use value::{Edge, Entries, Path, Shared, Value};

use std::sync::Arc;

use graphlume_expr::{ErrorCode, QueryError, Strictness};
use graphlume_graph::canon::Column;
use graphlume_store::PropertyGraph;
use graphlume_table::Table;
use graphlume_types::clock::{Clock, SystemClock};
use graphlume_types::{CancelToken, Notice};
use serde_json::Map;

use exec::cells::Cells;
use plan::Plan;

/// A query that can be run any number of times.
#[derive(Clone, Debug)]
pub struct Query {
    /// The plan where nothing is known of the graph.
    plan: Plan,
    /// What it was made of, where what is known of a graph could make another.
    source: Option<Arc<Source>>,
}

#[derive(Debug)]
struct Source {
    text: String,
    tree: ast::Union,
}

impl Query {
    fn new(text: &str, tree: ast::Union) -> Result<Self, QueryError> {
        let plan = bind::bind(text, &tree, None)?;
        let source = plan.open.then(|| Arc::new(Source { text: text.to_owned(), tree }));
        Ok(Self { plan, source })
    }

    /// Names of the result columns; those of a procedure that is the whole query are not known yet.
    #[must_use]
    pub fn columns(&self) -> Vec<&str> {
        self.plan.columns.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Names of the parameters that must be given.
    #[must_use]
    pub fn params(&self) -> &[String] {
        &self.plan.params
    }
}

/// Reads a query.
///
/// # Errors
/// [`QueryError`] that says what is wrong at which character, and what to write instead.
pub fn parse(text: &str) -> Result<Query, QueryError> {
    let tree = parse::parse(text)?;
    Query::new(text, tree)
}

/// What a procedure returns.
#[derive(Clone, Debug, Default)]
pub struct ProcedureTable {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows, as wide as there are columns.
    pub rows: Vec<Vec<Value>>,
}

impl ProcedureTable {
    /// The rows of a table.
    ///
    /// # Errors
    /// [`QueryError`] for a column whose type has no values in the language.
    pub fn of_rows(rows: &Table) -> Result<Self, QueryError> {
        let mut table = Self::default();
        let mut cells = Vec::new();
        for name in rows.column_names() {
            let Some(array) = rows.column(name) else { continue };
            table.columns.push(name.to_owned());
            cells.push(Cells::new(Arc::new(Column::try_new(array)?), array));
        }
        let row = |row| cells.iter().map(|c| c.value(row)).collect();
        table.rows = (0..rows.num_rows() as u32).map(row).collect();
        Ok(table)
    }
}

/// The procedures that CALL may name.
pub trait Procedures: Sync {
    /// Runs a procedure.
    ///
    /// # Errors
    /// [`QueryError`] when there is no such procedure, or it refuses.
    fn call(
        &self,
        graph: &PropertyGraph,
        name: &str,
        args: &[Value],
        cancel: &CancelToken,
    ) -> Result<ProcedureTable, QueryError>;

    /// What there is to say beside the answers given so far.
    fn notices(&self) -> Vec<Notice> {
        Vec::new()
    }
}

/// No procedure at all.
struct NoProcedures;

impl Procedures for NoProcedures {
    fn call(
        &self,
        _: &PropertyGraph,
        name: &str,
        _: &[Value],
        _: &CancelToken,
    ) -> Result<ProcedureTable, QueryError> {
        let text = format!("the procedure {name:?} cannot be called here");
        Err(QueryError::new(ErrorCode::Query, text).field("procedure").value(name))
    }
}

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
    let micros = SystemClock.unix_micros();
    let nanos = micros.rem_euclid(1_000_000) as u32 * 1_000;
    let now = (micros.div_euclid(1_000_000), nanos);
    let setting = exec::Setting { params, strictness, procedures, now, by_columns: true, cancel };
    exec::run(graph, query, &setting)
}
