//! Rows of whole paths: one row for each way to match a pattern.
//!
//! An edge is used once on a path. Parallel edges give a row each; an edge between two different nodes
//! that is followed either way gives a row for each way. A step of several hops gives a row for each
//! way to walk it.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, UInt32Array};
use graphlume_calls::params::Params;
use graphlume_expr::{ErrorCode, QueryError};
use graphlume_store::PropertyGraph;
use graphlume_store::ids::IdSet;
use graphlume_store::materialize::table_of;
use graphlume_store::materialize::taken_bytes;
use graphlume_table::Table;
use graphlume_types::limits::{QUERY_STATES_MAX, QUERY_STEPS_MAX};
use graphlume_types::{CancelToken, MemoryReservation};
use serde_json::Value;

use super::follow::{Follow, Found, NOTHING};
use super::trails::{Paths, Trails};
use crate::chain::{BoundEdge, Pass};
use crate::expr::{EDGE_IDS, NODE_ID};
use crate::scope::{Scope, Step};
use crate::wire::{NodeOp, Op, Query, parse};

/// Rows or edges whose memory is taken at once.
const ROWS_PER_TAKE: usize = 1 << 12;
/// Bytes of what continues a path, in lists that may have just grown.
const FOUND_BYTES: u64 = 40;

fn refuse(text: &str, hint: &str) -> QueryError {
    QueryError::new(ErrorCode::Query, text).field("binding_ops").suggest(hint)
}

fn check_size(rows: usize) -> Result<(), QueryError> {
    if rows <= QUERY_STATES_MAX {
        return Ok(());
    }
    let text = format!("the pattern has more than {QUERY_STATES_MAX} matches");
    Err(QueryError::new(ErrorCode::Limit, text).suggest("filter its steps more narrowly"))
}

/// The steps of a pattern.
pub(super) fn pattern(ops: &Value, params: &Params<'_>) -> Result<Vec<Step>, QueryError> {
    let wrong = || params.wrong("binding_ops", "a list of node and edge steps", ops);
    let Query::Chain(pattern) = parse(ops)? else { return Err(wrong()) };
    let step = |op: Op| match op {
        Op::Node(op) => Ok(Step::Node(op)),
        Op::Edge(op) => Ok(Step::Edge(op)),
        Op::Call(_) => Err(wrong()),
    };
    pattern.ops.into_iter().map(step).collect()
}

/// All matches of `steps`, with the columns of every named step.
///
/// Steps that are to be the `same` node by their names end a walk where they differ.
pub(super) fn run(
    graph: &PropertyGraph,
    steps: &[Step],
    same: &[(String, String)],
    scope: Scope<'_>,
) -> Result<Table, QueryError> {
    check(steps)?;
    let pass = Pass { graph, scope, t: graph.topology(scope.cancel)? };
    let existing = graph.existing(scope.cancel)?;
    let node = |step: &Step| match step {
        Step::Node(op) => pass.filter(op)?.and(&existing, scope.cancel),
        Step::Edge(_) => Ok(IdSet::empty()),
    };
    let sets = steps.iter().map(node).collect::<Result<Vec<_>, _>>()?;
    let bind = |step: &Step| match step {
        Step::Edge(op) => pass.bind_edge(op).map(Some),
        Step::Node(_) => Ok(None),
    };
    let bound = steps.iter().map(bind).collect::<Result<Vec<_>, _>>()?;
    let walk = Walk { pass: &pass, steps, sets, bound, existing, must: musts(steps, same) };
    let first = walk.sets[0].to_vec();
    let closes = walk.must.iter().any(|m| !m.is_empty());
    // Most walks of a pattern that closes are given up at its end: what they took is given back meanwhile.
    let per_turn = if closes { STARTS_PER_TURN } else { first.len().max(1) };
    let mut paths = Paths { steps: vec![vec![]; steps.len()], last: vec![] };
    for starts in first.chunks(per_turn) {
        let found = walk.from(starts.to_vec(), closes)?;
        if !closes {
            return gather(graph, steps, &found, scope);
        }
        check_size(paths.len() + found.len())?;
        scope.cancel.take(found.len() as u64 * 4 * steps.len() as u64)?;
        for (all, more) in paths.steps.iter_mut().zip(found.steps) {
            all.extend(more);
        }
    }
    gather(graph, steps, &paths, scope)
}

/// Nodes that a pattern that closes starts from at a time.
const STARTS_PER_TURN: usize = 256;

/// For each step the earlier ones that are to be the same node.
fn musts(steps: &[Step], same: &[(String, String)]) -> Vec<Vec<usize>> {
    let mut must = vec![Vec::new(); steps.len()];
    let named = |name: &String| {
        steps.iter().position(|s| matches!(s, Step::Node(op) if op.name.as_ref() == Some(name)))
    };
    for (a, b) in same {
        if let (Some(a), Some(b)) = (named(a), named(b))
            && a != b
        {
            must[a.max(b)].push(a.min(b));
        }
    }
    must
}

/// A pattern whose steps are bound.
struct Walk<'a> {
    pass: &'a Pass<'a>,
    steps: &'a [Step],
    /// The nodes that each node step may be.
    sets: Vec<IdSet>,
    bound: Vec<Option<BoundEdge>>,
    existing: IdSet,
    must: Vec<Vec<usize>>,
}

impl Walk<'_> {
    /// All matches that start at `first`. With `give_back` the memory taken meanwhile is given back.
    fn from(&self, first: Vec<u32>, give_back: bool) -> Result<Paths, QueryError> {
        let cancel = self.pass.scope.cancel;
        let mut charge = Charge { cancel, held: give_back.then(Vec::new) };
        let mut trails = Trails::default();
        let mut paths = Paths { last: vec![Trails::NONE; first.len()], steps: vec![first] };
        let mut at = 1;
        while at < self.steps.len() {
            cancel.check()?;
            match (&self.steps[at], &self.bound[at]) {
                (Step::Edge(op), Some(bound)) => {
                    let follow = Follow {
                        pass: self.pass,
                        op,
                        bound,
                        existing: &self.existing,
                        next: &self.sets[at + 1],
                        must: &self.must[at + 1],
                    };
                    paths = follow.run(paths, &mut trails, &mut charge)?;
                    at += 2;
                }
                _ => {
                    paths = self.combined(at, paths, &mut charge)?;
                    at += 1;
                }
            }
        }
        Ok(paths)
    }

    /// Nodes beside each other are combined in all ways.
    fn combined(
        &self,
        index: usize,
        paths: Paths,
        charge: &mut Charge<'_>,
    ) -> Result<Paths, QueryError> {
        let must = &self.must[index];
        if !must.is_empty() {
            let (mut from, mut added) = (Vec::new(), Vec::new());
            for path in 0..paths.len() {
                let v = paths.steps[must[0]][path];
                if self.sets[index].contains(v) && must.iter().all(|m| paths.steps[*m][path] == v) {
                    from.push(path as u32);
                    added.push(v);
                }
            }
            return Ok(paths.continued(&from, vec![added], None));
        }
        let others = self.sets[index].to_vec();
        check_size(paths.len().saturating_mul(others.len()))?;
        charge.take(paths.len() as u64 * others.len() as u64 * 4 * (index as u64 + 3))?;
        let count = paths.len() as u32;
        let from: Vec<u32> =
            (0..count).flat_map(|i| std::iter::repeat_n(i, others.len())).collect();
        let added = (0..count).flat_map(|_| others.iter().copied()).collect();
        Ok(paths.continued(&from, vec![added], None))
    }
}

/// Memory that a walk takes, for good or until the walk ends.
pub(super) struct Charge<'a> {
    cancel: &'a CancelToken,
    held: Option<Vec<MemoryReservation>>,
}

impl Charge<'_> {
    pub(super) fn take(&mut self, bytes: u64) -> Result<(), QueryError> {
        match &mut self.held {
            Some(held) => held.push(self.cancel.hold(bytes)?),
            None => self.cancel.take(bytes)?,
        }
        Ok(())
    }
}

fn check(steps: &[Step]) -> Result<(), QueryError> {
    let nodes_only = steps.iter().all(|s| matches!(s, Step::Node(_)));
    let alternating = steps.len() % 2 == 1
        && steps.iter().enumerate().all(|(i, s)| matches!(s, Step::Edge(_)) == (i % 2 == 1));
    if steps.is_empty() || steps.len() > QUERY_STEPS_MAX || !(nodes_only || alternating) {
        let hint = "begin and end with a node and put one edge between two nodes";
        return Err(refuse("the pattern is no path", hint));
    }
    let mut names = Vec::new();
    for step in steps {
        let name = match step {
            Step::Node(op) => &op.name,
            Step::Edge(op) if op.is_single() => &op.name,
            Step::Edge(op) => {
                if op.name.is_some() {
                    let text = "a step of several hops has many edges, and cannot be named";
                    return Err(refuse(text, "leave its name out"));
                }
                &None
            }
        };
        if let Some(name) = name {
            if names.contains(&name) {
                return Err(refuse("two steps have the same name", "give each its own name"));
            }
            names.push(name);
        }
    }
    Ok(())
}

impl Follow<'_> {
    /// Continues every path by the step, to nodes in `next`.
    fn run(
        &self,
        paths: Paths,
        trails: &mut Trails,
        charge: &mut Charge<'_>,
    ) -> Result<Paths, QueryError> {
        let Some(ends) = paths.steps.last() else { return Ok(paths) };
        let mut found = Found::default();
        let mut shortest = super::shortest::Shortest::new(self);
        let (mut counted, width) = (0, paths.steps.len() as u64);
        for (path, v) in ends.iter().enumerate() {
            let trail = paths.last[path];
            let must = self.must.first().map(|step| paths.steps[*step][path]);
            if self.must.iter().any(|step| Some(paths.steps[*step][path]) != must) {
                continue;
            }
            if let Some(shortest) = &mut shortest {
                shortest.run(path, (*v, must), trail, &mut found)?;
            } else if self.op.is_single() {
                self.one(path, (*v, must), trail, trails, &mut found);
            } else {
                self.many(path, (*v, must), trail, trails, &mut found, charge)?;
            }
            check_size(found.from.len())?;
            if found.from.len() - counted > ROWS_PER_TAKE {
                // The elements found, and the paths that they will continue.
                let rows = (found.from.len() - counted) as u64;
                charge.take(rows * (FOUND_BYTES + 4 * width))?;
                counted = found.from.len();
            }
            if path % 1024 == 0 {
                self.pass.scope.cancel.check()?;
            }
        }
        let Found { from, edges, nodes, last } = found;
        Ok(paths.continued(&from, vec![edges, nodes], Some(last)))
    }

    fn one(
        &self,
        path: usize,
        (v, must): (u32, Option<u32>),
        trail: u32,
        trails: &mut Trails,
        found: &mut Found,
    ) {
        let mut take = |row, to| {
            if self.next.contains(to) && !trails.has(trail, row) {
                let trail = trails.then(trail, row);
                found.push(path, row, to, trail);
            }
        };
        match must {
            None => self.arcs(v, take),
            Some(must) => self.between(v, must, |row| take(row, must)),
        }
    }

    /// All walks of the step that use no edge twice.
    fn many(
        &self,
        path: usize,
        (v, must): (u32, Option<u32>),
        trail: u32,
        trails: &mut Trails,
        found: &mut Found,
        charge: &mut Charge<'_>,
    ) -> Result<(), QueryError> {
        let min = self.op.min;
        let labels = self.op.label_nodes.is_some() || self.op.label_edges.is_some();
        let mut open = vec![(v, trail, 0u32)];
        let mut seen = 0usize;
        let mut counted = trails.0.len();
        while let Some((v, trail, hops)) = open.pop() {
            if hops >= min && self.next.contains(v) && must.is_none_or(|must| must == v) {
                found.push(path, if labels { hops } else { NOTHING }, v, trail);
            }
            if self.op.max.is_none_or(|max| hops < max) {
                self.arcs(v, |row, to| {
                    if !trails.has(trail, row) {
                        open.push((to, trails.then(trail, row), hops + 1));
                    }
                });
            }
            check_size(trails.0.len())?;
            if trails.0.len() - counted > ROWS_PER_TAKE {
                let bytes = (trails.0.len() - counted) as u64 * FOUND_BYTES;
                charge.take(bytes)?;
                counted = trails.0.len();
            }
            seen += 1;
            if seen.is_multiple_of(1024) {
                self.pass.scope.cancel.check()?;
            }
        }
        Ok(())
    }
}

fn gather(
    graph: &PropertyGraph,
    steps: &[Step],
    paths: &Paths,
    scope: Scope<'_>,
) -> Result<Table, QueryError> {
    let frame = graph.frame(scope.cancel)?;
    let nodes = graph.node_table(scope.cancel)?;
    let bindings = graph.bindings();
    let mut out: HashMap<String, usize> = HashMap::new();
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    let mut add = |name: String, array: ArrayRef| match out.get(&name) {
        Some(at) => columns[*at].1 = array,
        None => {
            out.insert(name.clone(), columns.len());
            columns.push((name, array));
        }
    };
    for (at, (step, elements)) in steps.iter().zip(&paths.steps).enumerate() {
        if let Step::Edge(op) = step
            && !op.is_single()
        {
            // The number of hops, by its name and behind that of the node reached.
            let hops = elements.iter().map(|n| (*n != NOTHING).then(|| i64::from(*n)));
            let hops: ArrayRef = Arc::new(hops.collect::<Int64Array>());
            for label in [&op.label_nodes, &op.label_edges].into_iter().flatten() {
                add(label.clone(), ArrayRef::clone(&hops));
                if let Some(Step::Node(NodeOp { name: Some(end), .. })) = steps.get(at + 1) {
                    add(format!("{end}.{label}"), ArrayRef::clone(&hops));
                }
            }
            continue;
        }
        let (name, table, rows) = match step {
            Step::Node(op) => {
                let row = |v: &u32| graph.node_row(frame, *v).unwrap_or(0);
                (&op.name, Some(&nodes), elements.iter().map(row).collect())
            }
            Step::Edge(op) => (&op.name, graph.edges(), elements.clone()),
        };
        let (Some(name), Some(table)) = (name, table) else { continue };
        scope.cancel.take(taken_bytes(table, &rows))?;
        if matches!(step, Step::Edge(_)) {
            // An edge has no id: its row stands for it where edges are counted or compared.
            let places = Int64Array::from_iter_values(rows.iter().map(|row| i64::from(*row)));
            let places: ArrayRef = Arc::new(places);
            add(name.clone(), ArrayRef::clone(&places));
            for id in EDGE_IDS.iter().filter(|_| scope.rows.identities) {
                add(format!("{name}.{id}"), ArrayRef::clone(&places));
            }
        }
        let rows = UInt32Array::from(rows);
        let is_node = matches!(step, Step::Node(_));
        for (column, array) in graphlume_store::materialize::columns(table) {
            let end = [&bindings.source, &bindings.destination];
            if !is_node && end.iter().any(|e| e.as_deref() == Some(column.as_str())) {
                continue;
            }
            let array = arrow_select::take::take(array.as_ref(), &rows, None)?;
            if is_node && column == graph.node_column() {
                add(name.clone(), ArrayRef::clone(&array));
                if scope.rows.identities {
                    add(format!("{name}.{NODE_ID}"), ArrayRef::clone(&array));
                }
            }
            add(format!("{name}.{column}"), array);
        }
    }
    table_of(columns, paths.len())
}
