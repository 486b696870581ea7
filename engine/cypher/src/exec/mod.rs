//! Execution: rows are pushed from operator to operator, one mutable row of slots for a whole pipeline.
//!
//! Nodes and relationships are numbers until a value is asked for. What must be held (sorting,
//! grouping, results) is held by column, see [`store`].

mod aggregate;
mod arith;
pub(crate) mod cells;
mod eval;
mod expand;
mod groups;
mod hash;
mod ops;
mod parallel;
mod probe;
mod scan;
mod shortest;
mod store;
mod tally;
pub(crate) use store::Column as Held;
pub(crate) mod view;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use graphlume_gfql::{ErrorCode, GfqlError, Strictness};
use graphlume_types::CancelToken;
use graphlume_types::limits::{CYPHER_CELLS_MAX, CYPHER_ROWS_MAX};
use regex::Regex;
use serde_json::Map;

use crate::error::{Res, limit_error};
use crate::plan::Plan;
use crate::value::Value;
use crate::{Answer, Procedures};
use cells::Cells;
use view::{LabelTest, TypeTest, View};

/// Why a pipeline ended early.
pub(crate) enum Stop {
    /// Nobody wants more rows.
    Done,
    Failed(Box<GfqlError>),
}

impl From<Box<GfqlError>> for Stop {
    fn from(e: Box<GfqlError>) -> Self {
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
/// Rows between two looks at the cancel token.
const ROWS_PER_CHECK: u32 = 4_096;

/// Rows and steps after which a run counts as busy.
const BUSY_TICKS: u32 = 50_000;

/// A property name, looked up in both tables.
struct Key {
    name: Arc<str>,
    node: Option<Cells>,
    edge: Option<Cells>,
    /// Whether it names the id of nodes that have no table.
    bare_id: bool,
}

/// What all threads of a run share.
pub(crate) struct Shared<'a> {
    view: &'a View,
    params: Vec<Value>,
    keys: Vec<Key>,
    labels: Vec<LabelTest>,
    type_names: &'a [String],
    types: Mutex<TypeTests>,
    /// Values that all threads hold.
    held: AtomicUsize,
    procedures: &'a dyn Procedures,
    cancel: &'a CancelToken,
}

/// Elements of fixed lists by the address of the list; `None` where a hash cannot tell.
type Members = HashMap<usize, Option<HashSet<crate::value::Key, hash::Keyed>>>;

/// Tests by the numbers of the types.
type TypeTests = HashMap<Vec<usize>, Option<Arc<TypeTest>>>;

/// One run of a plan, or one thread's part of it.
pub(crate) struct Exec<'a> {
    shared: &'a Shared<'a>,
    types: RefCell<TypeTests>,
    patterns: RefCell<HashMap<Arc<str>, Rc<Regex>>>,
    members: RefCell<Members>,
    ticks: Cell<u32>,
    held: Cell<usize>,
    /// The part of the nodes that the scan of a slot is to look at.
    range: Option<(usize, Range<u32>)>,
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
        view: &'a View,
        params: &Map<String, serde_json::Value>,
        procedures: &'a dyn Procedures,
        cancel: &'a CancelToken,
    ) -> Result<Self, GfqlError> {
        let mut values = Vec::new();
        for name in &plan.params {
            let Some(value) = params.get(name) else {
                let given: Vec<&str> = params.keys().map(String::as_str).collect();
                let what = format!("the parameter ${name} has no value");
                let error = GfqlError::new(ErrorCode::MissingField, what).field("params");
                return Err(match graphlume_gfql::nearest(name, &given) {
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
        };
        Ok(Self {
            view,
            params: values,
            keys: plan.keys.iter().map(key).collect(),
            labels: plan.labels.iter().map(|l| view.label_test(l)).collect(),
            type_names: &plan.types,
            types: Mutex::default(),
            held: AtomicUsize::new(0),
            procedures,
            cancel,
        })
    }
}

impl Shared<'_> {
    /// Looks at the token.
    fn cancelled(&self) -> Res<()> {
        self.cancel.check().map_err(|e| Box::new(GfqlError::from(e)))
    }
}

impl<'a> Exec<'a> {
    fn new(shared: &'a Shared<'a>, range: Option<(usize, Range<u32>)>) -> Self {
        Self {
            shared,
            types: RefCell::default(),
            patterns: RefCell::default(),
            members: RefCell::default(),
            ticks: Cell::new(0),
            held: Cell::new(0),
            range,
        }
    }

    /// Counts a row or a step, and looks at the token now and then.
    #[inline]
    fn tick(&self) -> Res<()> {
        let n = self.ticks.get().wrapping_add(1);
        self.ticks.set(n);
        if n.is_multiple_of(ROWS_PER_CHECK) {
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
        self.cancel.take(bytes).map_err(|e| Box::new(GfqlError::from(e)))?;
        if self.shared.held.fetch_add(held, Ordering::Relaxed) + held > CYPHER_CELLS_MAX {
            return Err(limit_error(format!(
                "the query holds more than {CYPHER_CELLS_MAX} values"
            )));
        }
        Ok(())
    }

    /// Test of the relationship types with these numbers; `None` when no relationship can have one.
    fn type_test(&self, types: &[usize]) -> Option<Arc<TypeTest>> {
        if let Some(found) = self.types.borrow().get(types) {
            return found.clone();
        }
        let test = match self.shared.types.lock() {
            Ok(mut all) => match all.get(types) {
                Some(found) => found.clone(),
                None => {
                    let name = |i: &usize| self.type_names.get(*i).cloned();
                    let names = types.iter().filter_map(name).collect();
                    let test = self.view.type_test(names).map(Arc::new);
                    all.insert(types.to_vec(), test.clone());
                    test
                }
            },
            Err(_) => None,
        };
        self.types.borrow_mut().insert(types.to_vec(), test.clone());
        test
    }

    /// Whether so much was done that preparing a test for all rows pays.
    fn is_busy(&self) -> bool {
        self.ticks.get() > BUSY_TICKS
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
    pub cancel: &'a CancelToken,
}

/// Runs a plan.
pub(crate) fn run(
    graph: &graphlume_gfql::PropertyGraph,
    plan: &Plan,
    setting: &Setting<'_>,
) -> Result<Answer, GfqlError> {
    if setting.strictness == Strictness::Strict {
        check_names(graph, plan)?;
    }
    setting.cancel.check()?;
    let view = View::new(graph, setting.now, setting.cancel).map_err(|e| *e)?;
    let shared = Shared::new(plan, &view, setting.params, setting.procedures, setting.cancel)?;
    let (names, columns) = on_stack(plan, &shared).map_err(|e| *e)?;
    Ok(Answer::new(Arc::new(view), names, columns))
}

/// Bytes of stack that an operator may take, and those that expressions need on top.
const STACK_PER_OPERATOR: usize = 4 << 10;
const STACK_BASE: usize = 4 << 20;
/// Operators that the stack of any thread has room for.
const OPERATORS_INLINE: usize = 64;

/// Runs a plan on this thread, or on one with a larger stack when the plan is long.
fn on_stack(plan: &Plan, shared: &Shared<'_>) -> Res<ops::Columns> {
    let work = || {
        // A long plan must not get onto the small stacks of the pool.
        let alone = plan.depth > OPERATORS_INLINE;
        let range = alone.then_some((usize::MAX, 0..0));
        let exec = Exec::new(shared, range);
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

/// Refuses properties that no table has.
fn check_names(graph: &graphlume_gfql::PropertyGraph, plan: &Plan) -> Result<(), GfqlError> {
    let tables = [graph.nodes(), graph.edges()];
    for key in &plan.entity_keys {
        let Some(name) = plan.keys.get(*key) else { continue };
        let known = tables.iter().flatten().any(|t| t.column(name).is_some());
        if known || name == graph.node_column() {
            continue;
        }
        let columns: Vec<&str> = tables.iter().flatten().flat_map(|t| t.column_names()).collect();
        return Err(GfqlError::no_column(name, "node and edge", &columns));
    }
    Ok(())
}
