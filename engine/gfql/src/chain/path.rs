//! Conditions between elements of one path, met exactly.
//!
//! A path is followed together with the values that later conditions still compare. Two paths that
//! stand at the same node with the same values have the same future, so the number of states is bounded
//! by nodes times values and not by paths. What is kept are the states from which a whole path can be
//! completed.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use graphlume_expr::{Cmp, ErrorCode, QueryError, listed};
use graphlume_graph::canon::Column;
use graphlume_graph::{Distinct, Graph, distinct};
use graphlume_store::PropertyGraph;
use graphlume_store::filter::order_cells;
use graphlume_store::ids::{Grow, IdSet};
use graphlume_types::limits::QUERY_STATES_MAX;

use super::{BoundEdge, Pass};
use crate::hop::arcs;
use crate::scope::{Scope, Step};
use crate::select::{Added, Selection};
use crate::wire::{Clause, EdgeOp};

/// Bytes of a state: in the list, in the index and on the heap.
const STATE_BYTES: usize = 160;
/// Bytes of a move, in a list that may have just grown.
const MOVE_BYTES: usize = 24;
/// States or moves whose memory is taken at once.
const STATES_PER_TAKE: usize = 1 << 12;

/// States that are looked for between two looks at the token.
const LOOKS_PER_CHECK: u32 = 1 << 12;

/// No value yet, or no edge.
const NONE: u32 = u32::MAX;

/// One side of a condition: a step and the values of a column.
struct Term {
    step: usize,
    column: Arc<Column>,
    values: Distinct,
}

/// A condition whose `first` term stands no later on the path than its `second`.
struct Condition {
    cmp: Cmp,
    first: Term,
    second: Term,
}

impl Condition {
    fn holds(&self, first_row: usize, second_row: usize) -> bool {
        let cells = (self.first.column.get(first_row), self.second.column.get(second_row));
        let (Some(a), Some(b)) = cells else { return false };
        order_cells(&a, &b).map_or(self.cmp == Cmp::Ne, |o| self.cmp.accepts(o))
    }
}

/// Where a path stands: in a step, after some hops of it, at a node, with the values it carries.
type State = (u32, u32, u32, Rc<[u32]>);

struct Search<'a> {
    pass: &'a Pass<'a>,
    frame: &'a Graph,
    conditions: Vec<Condition>,
    /// Nodes that a step may hold.
    allowed: Vec<IdSet>,
    numbers: HashMap<State, u32>,
    states: Vec<State>,
    /// From state, to state, edge position.
    moves: Vec<(u32, u32, u32)>,
    /// How often a state was looked for.
    looks: u32,
}

/// Keeps the elements on paths on which all clauses hold.
pub(crate) fn select(
    graph: &PropertyGraph,
    steps: &[Step],
    clauses: &[Clause],
    scope: Scope<'_>,
) -> Result<Selection, QueryError> {
    let alternating =
        steps.iter().enumerate().all(|(i, s)| matches!(s, Step::Edge(_)) == (i % 2 == 1));
    if !alternating {
        let text = "\"where\" needs a chain in which nodes and edges alternate";
        return Err(QueryError::new(ErrorCode::Type, text).field("where"));
    }
    let pass = Pass { graph, scope, t: graph.topology(scope.cancel)? };
    let conditions =
        clauses.iter().map(|c| condition(graph, steps, c)).collect::<Result<Vec<_>, _>>()?;
    let (allowed, bound) = pass.candidates(steps)?;
    let mut search = Search {
        pass: &pass,
        frame: graph.frame(scope.cancel)?,
        conditions,
        allowed,
        numbers: HashMap::new(),
        states: vec![],
        moves: vec![],
        looks: 0,
    };
    search.follow(steps, &bound)?;
    Ok(search.keep(steps))
}

fn condition(
    graph: &PropertyGraph,
    steps: &[Step],
    clause: &Clause,
) -> Result<Condition, QueryError> {
    let (left, right) = (term(graph, steps, &clause.left)?, term(graph, steps, &clause.right)?);
    Ok(if left.step <= right.step {
        Condition { cmp: clause.cmp, first: left, second: right }
    } else {
        let cmp = match clause.cmp {
            Cmp::Lt => Cmp::Gt,
            Cmp::Le => Cmp::Ge,
            Cmp::Gt => Cmp::Lt,
            Cmp::Ge => Cmp::Le,
            same => same,
        };
        Condition { cmp, first: right, second: left }
    })
}

fn term(
    graph: &PropertyGraph,
    steps: &[Step],
    (alias, name): &(String, String),
) -> Result<Term, QueryError> {
    let refuse = |text: String, hint: String| {
        Err(QueryError::new(ErrorCode::Query, text)
            .field("where")
            .value(format!("{alias}.{name}"))
            .suggest(hint))
    };
    let alias_of = |step: &Step| match step {
        Step::Node(op) => op.name.clone(),
        Step::Edge(op) => op.name.clone(),
    };
    let Some(at) = steps.iter().position(|s| alias_of(s).as_deref() == Some(alias)) else {
        let known: Vec<String> = steps.iter().filter_map(alias_of).collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let hint = format!("names in this chain: {}", listed(&known));
        return refuse(format!("no step is named {alias:?}"), hint);
    };
    let edge = match &steps[at] {
        Step::Edge(op) if !op.is_single() => {
            let hint = "compare nodes, or name a step of one hop".to_owned();
            return refuse(format!("step {alias:?} has several hops and so no single edge"), hint);
        }
        Step::Edge(_) => true,
        Step::Node(_) => false,
    };
    let table = if edge { graph.edges().cloned() } else { graph.nodes().cloned() };
    let column = table.as_ref().and_then(|t| graph.column(t, edge, name));
    let values = table.as_ref().and_then(|t| distinct(t.column(name)?));
    match (column, values) {
        (Some(column), Some(values)) => Ok(Term { step: at, column, values }),
        _ => {
            let names = table.as_ref().map(|t| t.column_names()).unwrap_or_default();
            let hint = format!("available columns: {}", listed(&names));
            refuse(format!("step {alias:?} has no column {name:?}"), hint)
        }
    }
}

impl Search<'_> {
    /// The values that a path carries on after an element of `step` in table row `row`; `None` when a
    /// condition fails.
    fn carried(&self, step: usize, row: usize, live: &Rc<[u32]>) -> Option<Rc<[u32]>> {
        let mut next: Option<Vec<u32>> = None;
        for (i, c) in self.conditions.iter().enumerate() {
            if c.first.step == step && c.second.step == step {
                if !c.holds(row, row) {
                    return None;
                }
            } else if c.first.step == step {
                let code = *c.first.values.codes.get(row)?;
                if code == NONE {
                    return None;
                }
                next.get_or_insert_with(|| live.to_vec())[i] = code;
            } else if c.second.step == step {
                let first = *c.first.values.first_rows.get(live[i] as usize)?;
                if !c.holds(first as usize, row) {
                    return None;
                }
                next.get_or_insert_with(|| live.to_vec())[i] = NONE;
            }
        }
        Some(next.map_or_else(|| Rc::clone(live), Rc::from))
    }

    /// The number of a state, and whether it is new.
    fn number(&mut self, state: State) -> Result<(u32, bool), QueryError> {
        self.looks = self.looks.wrapping_add(1);
        if self.looks.is_multiple_of(LOOKS_PER_CHECK) {
            self.pass.scope.cancel.check()?;
        }
        if let Some(number) = self.numbers.get(&state) {
            return Ok((*number, false));
        }
        if self.states.len() >= QUERY_STATES_MAX {
            let text = format!("the conditions need more than {QUERY_STATES_MAX} states");
            return Err(QueryError::new(ErrorCode::Limit, text)
                .field("where")
                .suggest("filter the steps more narrowly"));
        }
        if self.states.len().is_multiple_of(STATES_PER_TAKE) {
            let bytes = STATE_BYTES + 4 * self.conditions.len();
            self.pass.scope.cancel.take((STATES_PER_TAKE * bytes) as u64)?;
        }
        let number = self.states.len() as u32;
        self.numbers.insert(state.clone(), number);
        self.states.push(state);
        Ok((number, true))
    }

    /// Enters node `v` into node step `step`; `None` when it may not be there.
    fn enter(
        &mut self,
        step: usize,
        v: u32,
        live: &Rc<[u32]>,
    ) -> Result<Option<(u32, bool)>, QueryError> {
        if !self.allowed[step].contains(v) {
            return Ok(None);
        }
        let Some(row) = self.pass.graph.node_row(self.frame, v) else { return Ok(None) };
        match self.carried(step, row as usize, live) {
            Some(live) => self.number((step as u32, 0, v, live)).map(Some),
            None => Ok(None),
        }
    }

    fn follow(&mut self, steps: &[Step], bound: &[Option<BoundEdge>]) -> Result<(), QueryError> {
        let none: Rc<[u32]> = vec![NONE; self.conditions.len()].into();
        let mut front = Vec::new();
        for v in self.allowed[0].clone().iter() {
            front.extend(self.enter(0, v, &none)?.map(|(state, _)| state));
        }
        for i in (1..steps.len()).step_by(2) {
            if let (Step::Edge(op), Some(edge)) = (&steps[i], &bound[i]) {
                front = if op.is_single() {
                    self.one(i, op, edge, &front)?
                } else {
                    self.several(i, op, edge, &front)?
                };
            }
        }
        Ok(())
    }

    /// The edges that may be followed from `v`.
    fn edges(&self, op: &EdgeOp, edge: &BoundEdge, step: usize, v: u32) -> Vec<(u32, u32)> {
        let (t, mut out) = (self.pass.t, Vec::new());
        if edge.source.as_ref().is_some_and(|s| !s.contains(v)) {
            return out;
        }
        let reaches = |to| edge.destination.as_ref().is_none_or(|d| d.contains(to));
        arcs(t, v, op.direction, |position, to| {
            if self.allowed[step].contains(position) && reaches(to) {
                out.push((position, to));
            }
        });
        out
    }

    /// Notes a move from a state to one that [`Self::number`] gave; a new one is `waiting` to be followed.
    fn moved(
        &mut self,
        from: u32,
        (to, new): (u32, bool),
        position: u32,
        waiting: &mut Vec<u32>,
    ) -> Result<(), QueryError> {
        if self.moves.len().is_multiple_of(STATES_PER_TAKE) {
            self.pass.scope.cancel.take((STATES_PER_TAKE * MOVE_BYTES) as u64)?;
        }
        self.moves.push((from, to, position));
        if new {
            waiting.push(to);
        }
        Ok(())
    }

    fn one(
        &mut self,
        i: usize,
        op: &EdgeOp,
        edge: &BoundEdge,
        front: &[u32],
    ) -> Result<Vec<u32>, QueryError> {
        let mut next = Vec::new();
        for state in front {
            let (_, _, v, live) = self.states[*state as usize].clone();
            for (position, to) in self.edges(op, edge, i, v) {
                let row = self.pass.t.out_row()[position as usize];
                let Some(live) = self.carried(i, row as usize, &live) else { continue };
                if let Some(reached) = self.enter(i + 1, to, &live)? {
                    self.moved(*state, reached, position, &mut next)?;
                }
            }
        }
        Ok(next)
    }

    /// Hops within one step: states count hops up to where more make no difference.
    fn several(
        &mut self,
        i: usize,
        op: &EdgeOp,
        edge: &BoundEdge,
        front: &[u32],
    ) -> Result<Vec<u32>, QueryError> {
        let mut next = Vec::new();
        let mut work = Vec::new();
        for state in front {
            let (_, _, v, live) = self.states[*state as usize].clone();
            let inner = self.number((i as u32, 0, v, live))?;
            self.moved(*state, inner, NONE, &mut work)?;
        }
        // Staying where one is is no walk unless the step says so.
        let least = if op.zero_hop_seed { op.min } else { op.min.max(1) };
        while let Some(state) = work.pop() {
            let (_, hop, v, live) = self.states[state as usize].clone();
            if hop >= least
                && let Some(reached) = self.enter(i + 1, v, &live)?
            {
                self.moved(state, reached, NONE, &mut next)?;
            }
            if op.max.is_some_and(|max| hop >= max) {
                continue;
            }
            let after = if op.max.is_none() { (hop + 1).min(op.min.max(1)) } else { hop + 1 };
            for (position, to) in self.edges(op, edge, i, v) {
                let reached = self.number((i as u32, after, to, Rc::clone(&live)))?;
                self.moved(state, reached, position, &mut work)?;
            }
        }
        Ok(next)
    }

    /// The elements of states from which the last step is reached.
    fn keep(mut self, steps: &[Step]) -> Selection {
        let t = self.pass.t;
        self.moves.sort_unstable_by_key(|(_, to, _)| *to);
        let last = (steps.len() - 1) as u32;
        let mut alive = vec![false; self.states.len()];
        let mut work: Vec<u32> = Vec::new();
        for (number, state) in self.states.iter().enumerate() {
            if state.0 == last {
                alive[number] = true;
                work.push(number as u32);
            }
        }
        let mut nodes = Grow::new(t.num_nodes());
        let mut edges = Grow::new(t.num_edges());
        let mut step_nodes: Vec<Vec<u32>> = vec![vec![]; steps.len()];
        let mut step_edges: Vec<Vec<u32>> = vec![vec![]; steps.len()];
        while let Some(state) = work.pop() {
            let (step, _, v, _) = &self.states[state as usize];
            nodes.insert(*v);
            step_nodes[*step as usize].push(*v);
            let from = self.moves.partition_point(|(_, to, _)| *to < state);
            for (before, to, position) in &self.moves[from..] {
                if *to != state {
                    break;
                }
                if *position != NONE {
                    edges.insert(*position);
                    step_edges[self.edge_step(*before, *step)].push(*position);
                }
                if !std::mem::replace(&mut alive[*before as usize], true) {
                    work.push(*before);
                }
            }
        }
        let (mut node_columns, mut edge_columns) = (vec![], vec![]);
        for (i, step) in steps.iter().enumerate() {
            match step {
                Step::Node(op) => node_columns.extend(op.name.clone().map(|name| {
                    Added::Marker(name, IdSet::from_vec(std::mem::take(&mut step_nodes[i])))
                })),
                Step::Edge(op) => edge_columns.extend(op.name.clone().map(|name| {
                    Added::Marker(name, IdSet::from_vec(std::mem::take(&mut step_edges[i])))
                })),
            }
        }
        Selection { nodes: nodes.finish(), edges: edges.finish(), node_columns, edge_columns }
    }

    /// The edge step of a move: that of its states, or between the node steps that it joins.
    fn edge_step(&self, before: u32, after: u32) -> usize {
        let from = self.states[before as usize].0;
        (if from == after { from } else { from + 1 }) as usize
    }
}
