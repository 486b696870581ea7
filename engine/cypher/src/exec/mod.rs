//! Execution: rows are pushed from operator to operator, one mutable row of slots for a whole pipeline.
//!
//! Nodes and relationships are numbers until a value is asked for. What must be held (sorting,
//! grouping, results) is held by column, see [`store`].

mod aggregate;
mod arith;
mod coder;
mod columns;
mod comparison;
mod edges;
mod ends;
mod estimate;
mod eval;
mod expand;
mod expected;
mod groups;
mod hash;
mod lookup;
mod mask;
mod numbers;
mod ops;
mod parallel;
mod patterns;
mod probe;
mod recorder;
mod relation;
mod scan;
mod shortest;
mod statistics;
mod sums;
mod tally;

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use graphlume_expr::{ErrorCode, QueryError, Strictness};
use graphlume_types::limits::{CYPHER_CELLS_MAX, CYPHER_ROWS_MAX, NOTICES_MAX};
use graphlume_types::{CancelToken, Notice, note};
use serde_json::Map;

use crate::answer::Answer;
use crate::column_reader::ColumnReader;
use crate::error::{Res, limit_error};
use crate::graph_view::{GraphView, LabelTest};
use crate::plan::{OpId, Plan};
use crate::procedures::Procedures;
use crate::query::Query;
use crate::tuning::tuning;
use crate::value::Value;
use edges::Types;
pub(crate) use expected::{Expected, Profiled, planned, profiled};
use lookup::Searched;
use parallel::Part;
use patterns::{Fixed, Patterns};
pub(crate) use recorder::{Recorder, Way};
#[cfg(test)]
pub(crate) use relation::is_kept;
use statistics::Known;

/// Why a pipeline ended early.
pub(crate) enum Stop {
    /// No operator needs more rows.
    Done,
    Failed(Box<QueryError>),
}

impl From<Box<QueryError>> for Stop {
    fn from(e: Box<QueryError>) -> Self {
        Self::Failed(e)
    }
}

/// Whether rows go on.
pub(crate) type Flow = Result<(), Stop>;

/// Where rows go.
pub(crate) type Sink<'s> = dyn FnMut(&mut [Value]) -> Flow + 's;

/// Values that a thread holds before it accounts for them.
const HELD_STEP: usize = 1_024;
/// Bytes that a value takes, with what it points to; long texts count as several values.
const VALUE_BYTES: usize = 40;

/// The part of all nodes that must have been looked at then.
const BUSY_PART: usize = 4;

/// A property name, looked up in both tables.
struct Key {
    name: Arc<str>,
    node: Option<ColumnReader>,
    edge: Option<ColumnReader>,
    /// Whether it names the id of nodes that have no table.
    bare_id: bool,
    searched: Searched,
}

/// What all threads of a run share.
pub(crate) struct Shared<'a> {
    view: &'a GraphView,
    params: Vec<Value>,
    keys: Vec<Key>,
    labels: Vec<LabelTest>,
    type_names: &'a [String],
    types: Mutex<AllTypes>,
    fixed_patterns: Fixed,
    /// Held by the thread that prepares types for all others.
    making: Mutex<()>,
    /// Marks of the nodes that pass the test of a filter.
    marks: Mutex<HashMap<OpId, Arc<Vec<bool>>>>,
    /// Marks of the nodes with labels, by the numbers of these.
    labelled: Mutex<HashMap<Vec<usize>, Arc<Vec<bool>>>>,
    /// Rows that were tested by columns.
    selected: Mutex<columns::Selected>,
    /// The number of the only operator that has any; 0 for none.
    selected_at: AtomicUsize,
    /// Rows and steps of all threads.
    ticks: AtomicUsize,
    /// Values that all threads hold.
    held: AtomicUsize,
    procedures: &'a dyn Procedures,
    /// Whether tables are read by columns.
    by_columns: bool,
    /// Where a run that is profiled reports what it does.
    recorder: Option<&'a Recorder>,
    cancel: &'a CancelToken,
}

/// Fixed lists with their elements; `None` where a hash cannot tell.
type Members =
    Vec<(Arc<crate::value::Shared<Vec<Value>>>, Option<HashSet<crate::value::Key, hash::Keyed>>)>;

/// The numbers of types, and what is known of them.
type Asked = (Vec<usize>, Types);

/// What is known of types, by their numbers.
type AllTypes = HashMap<Vec<usize>, Types>;

/// One run of a plan, or one thread's part of it.
pub(crate) struct Exec<'a> {
    shared: &'a Shared<'a>,
    /// Types of the steps that were asked for last, by the slots of their relationships.
    types: RefCell<Vec<Option<Asked>>>,
    patterns: RefCell<Patterns>,
    members: RefCell<Members>,
    ticks: Cell<u32>,
    held: Cell<usize>,
    /// Relationships scanned without a match.
    wasted: Cell<u32>,
    /// What this thread is to do of work that is shared out.
    part: Option<Part>,
}

impl<'a> std::ops::Deref for Exec<'a> {
    type Target = Shared<'a>;

    fn deref(&self) -> &Shared<'a> {
        self.shared
    }
}

impl<'a> Shared<'a> {
    fn new(
        plan: &'a Plan,
        view: &'a GraphView,
        setting: &Setting<'a>,
        recorder: Option<&'a Recorder>,
    ) -> Result<Self, QueryError> {
        let cancel = setting.cancel;
        let mut values = Vec::new();
        for name in &plan.params {
            let Some(value) = setting.params.get(name) else {
                let given: Vec<&str> = setting.params.keys().map(String::as_str).collect();
                let what = format!("the parameter ${name} has no value");
                let error = QueryError::new(ErrorCode::MissingField, what).field("params");
                return Err(match graphlume_expr::nearest(name, &given) {
                    Some(near) => error.suggest(format!("did you mean ${near}?")),
                    None => error.suggest(format!("send {name:?} among the parameters")),
                });
            };
            values.push(Value::from_json(value));
        }
        let key = |name: &String| Key {
            name: Arc::from(name.as_str()),
            node: view.node_cells(name),
            edge: view.edge_cells(name),
            bare_id: view.graph().nodes().is_none() && view.is_id(name),
            searched: Searched::default(),
        };
        let labels: Vec<LabelTest> = plan.labels.iter().map(|l| view.label_test(l)).collect();
        if view.num_nodes() <= tuning().labels_at_once {
            labels.iter().for_each(|test| view.prepare(test, cancel));
        }
        Ok(Self {
            view,
            params: values,
            keys: plan.keys.iter().map(key).collect(),
            labels,
            type_names: &plan.types,
            types: Mutex::default(),
            fixed_patterns: Fixed::default(),
            making: Mutex::default(),
            marks: Mutex::default(),
            labelled: Mutex::default(),
            selected: Mutex::default(),
            selected_at: AtomicUsize::new(0),
            ticks: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
            procedures: setting.procedures,
            by_columns: setting.by_columns,
            recorder,
            cancel,
        })
    }
}

impl Shared<'_> {
    /// Looks at the token.
    fn cancelled(&self) -> Res<()> {
        self.cancel.check().map_err(|e| Box::new(QueryError::from(e)))
    }
}

impl<'a> Exec<'a> {
    fn new(shared: &'a Shared<'a>, part: Option<Part>) -> Self {
        Self {
            shared,
            types: RefCell::default(),
            patterns: RefCell::default(),
            members: RefCell::default(),
            ticks: Cell::new(0),
            held: Cell::new(0),
            wasted: Cell::new(0),
            part,
        }
    }

    /// Counts a row or a step, and looks at the token now and then.
    #[inline]
    fn tick(&self) -> Res<()> {
        self.tick_by(1)
    }

    /// The same for one that takes as long as so many.
    #[inline]
    fn tick_by(&self, steps: u32) -> Res<()> {
        let n = self.ticks.get().saturating_add(steps);
        self.ticks.set(n);
        if n >= tuning().rows_per_check {
            self.ticks.set(0);
            self.shared.ticks.fetch_add(n as usize, Ordering::Relaxed);
            self.cancelled()?;
        }
        Ok(())
    }

    /// Accounts for a row of so many values that is held.
    fn hold(&self, rows: usize, width: usize) -> Res<()> {
        let held = self.held.get() + width;
        if rows > CYPHER_ROWS_MAX {
            return Err(limit_error(format!("the query holds more than {CYPHER_ROWS_MAX} rows")));
        }
        if held < HELD_STEP {
            self.held.set(held);
            return Ok(());
        }
        // Threads tell each other now and then, so that a part may hold more than its share.
        self.held.set(0);
        let bytes = (held * VALUE_BYTES) as u64;
        self.cancel.take(bytes).map_err(|e| Box::new(QueryError::from(e)))?;
        if self.shared.held.fetch_add(held, Ordering::Relaxed) + held > CYPHER_CELLS_MAX {
            return Err(limit_error(format!(
                "the query holds more than {CYPHER_CELLS_MAX} values"
            )));
        }
        Ok(())
    }

    /// Whether so much was done that preparing a test for all rows pays.
    fn is_busy(&self) -> bool {
        let least = (self.view.num_nodes() as usize / BUSY_PART).max(tuning().busy_ticks);
        self.shared.ticks.load(Ordering::Relaxed) > least
    }

    fn has_labels(&self, v: u32, labels: &[usize]) -> bool {
        labels.iter().all(|l| self.labels.get(*l).is_some_and(|t| self.view.has_label(v, t)))
    }
}

/// What a run needs besides the plan.
pub(crate) struct Setting<'a> {
    pub params: &'a Map<String, serde_json::Value>,
    pub strictness: Strictness,
    pub procedures: &'a dyn Procedures,
    pub now: (i64, u32),
    /// Whether tables are read by columns where that is possible; tests compare with what rows give.
    pub by_columns: bool,
    pub cancel: &'a CancelToken,
}

/// Runs a plan.
pub(crate) fn run(
    graph: &graphlume_store::PropertyGraph,
    query: &Query,
    setting: &Setting<'_>,
) -> Result<Answer, QueryError> {
    let missing = missing_of(graph, query, setting)?;
    let view = view_of(graph, setting)?;
    let plan = plan_for(query, &view, setting.params, setting.cancel)?;
    answered(view, &plan, setting, missing, None)
}

/// The graph as the language sees it.
fn view_of(
    graph: &graphlume_store::PropertyGraph,
    setting: &Setting<'_>,
) -> Result<GraphView, QueryError> {
    GraphView::new(graph, setting.now, setting.cancel).map_err(|e| *e)
}

/// What a query names and no table has, where that is no error.
fn missing_of(
    graph: &graphlume_store::PropertyGraph,
    query: &Query,
    setting: &Setting<'_>,
) -> Result<Vec<QueryError>, QueryError> {
    let missing = missing_names(graph, &query.plan);
    if let (Strictness::Strict, Some(error)) = (setting.strictness, missing.first()) {
        return Err(error.clone());
    }
    setting.cancel.check()?;
    Ok(missing)
}

/// The answer of a plan; what it does is told to the recorder of a run that is profiled.
fn answered(
    view: GraphView,
    plan: &Plan,
    setting: &Setting<'_>,
    missing: Vec<QueryError>,
    recorder: Option<&Recorder>,
) -> Result<Answer, QueryError> {
    let shared = Shared::new(plan, &view, setting, recorder)?;
    let (names, columns) = on_stack(plan, &shared).map_err(|e| *e)?;
    let mut notices = Vec::new();
    for error in missing {
        note(&mut notices, error.taken_for_null());
    }
    for label in shared.labels.iter().filter(|label| label.is_never()) {
        let text = format!(
            "no node has the label {:?}: labels are columns label__NAME of truth values, a column \"labels\" of lists, \
             or the column \"type\"",
            label.name()
        );
        note(&mut notices, Notice::new("label-not-found", text));
    }
    setting.procedures.notices().into_iter().for_each(|notice| note(&mut notices, notice));
    Ok(Answer::new(Arc::new(view), names, columns).with_notices(notices))
}

/// The plan that costs least on a graph.
fn plan_for<'q>(
    query: &'q Query,
    view: &GraphView,
    params: &Map<String, serde_json::Value>,
    cancel: &CancelToken,
) -> Result<Cow<'q, Plan>, QueryError> {
    let Some(source) = &query.source else { return Ok(Cow::Borrowed(&query.plan)) };
    let known = Known { view, params, cancel, searches: true };
    crate::bind::bind(source.written(), &source.tree, Some(&known)).map(Cow::Owned)
}

/// Bytes of stack that an operator may take, and those that expressions need on top.
const STACK_PER_OPERATOR: usize = 4 << 10;
const STACK_BASE: usize = 4 << 20;
/// Operators that the stack of any thread has room for.
const OPERATORS_INLINE: usize = 64;

/// What a thread is to do of a plan: a long one must not get onto the small stacks of the pool.
fn part_of_plan(plan: &Plan) -> Option<Part> {
    (plan.depth > OPERATORS_INLINE).then_some(Part::Alone)
}

/// Runs a plan on this thread, or on one with a larger stack when the plan is long.
fn on_stack(plan: &Plan, shared: &Shared<'_>) -> Res<ops::Columns> {
    let work = || {
        let exec = Exec::new(shared, part_of_plan(plan));
        if plan.whole_call { exec.whole_call(plan) } else { exec.collect(plan) }
    };
    if plan.depth <= OPERATORS_INLINE {
        return work();
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("cypher".to_owned());
        let thread = thread.stack_size(STACK_BASE + plan.depth * STACK_PER_OPERATOR);
        let failed = || crate::error::internal("a long query got no thread");
        match thread.spawn_scoped(scope, work) {
            Ok(handle) => handle.join().unwrap_or_else(|_| Err(failed())),
            Err(_) => Err(failed()),
        }
    })
}

/// The properties that a plan reads of nodes and relationships and that no table has.
fn missing_names(graph: &graphlume_store::PropertyGraph, plan: &Plan) -> Vec<QueryError> {
    let tables = [graph.nodes(), graph.edges()];
    let names = plan.entity_keys.iter().filter_map(|key| plan.keys.get(*key));
    let missing = names.filter(|name| {
        let known = tables.iter().flatten().any(|t| t.column(name).is_some());
        !known && *name != graph.node_column()
    });
    let columns = || tables.iter().flatten().flat_map(|t| t.column_names()).collect::<Vec<_>>();
    let error = |name: &String| QueryError::no_column(name, "node and edge", &columns());
    missing.take(NOTICES_MAX).map(error).collect()
}
