//! Rows of whole paths: one row for each way to match a pattern.
//!
//! An edge is used once on a path. Parallel edges give a row each; an edge between two different nodes
//! that is followed either way gives a row for each way. A step of several hops gives a row for each
//! way to walk it.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, UInt32Array};
use graphlume_table::Table;
use graphlume_types::limits::{QUERY_STATES_MAX, QUERY_STEPS_MAX};

use crate::chain::{BoundEdge, Pass, Scope, Step};
use crate::columns::table_of;
use crate::error::{ErrorCode, GfqlError};
use crate::filter::NodeFilter;
use crate::graph::PropertyGraph;
use crate::hop::arcs;
use crate::select::taken_bytes;
use crate::set::IdSet;
use crate::wire::EdgeOp;

/// Paths so far, column by column: the element of each step for every path.
struct Paths {
    steps: Vec<Vec<u32>>,
    /// Last edge of each path in [`Trails`].
    last: Vec<u32>,
}

/// The edges that paths have used, as linked lists that share their beginnings.
#[derive(Default)]
struct Trails(Vec<(u32, u32)>);

impl Trails {
    /// No edge yet.
    const NONE: u32 = u32::MAX;

    /// A trail that goes on with an edge.
    fn then(&mut self, trail: u32, edge: u32) -> u32 {
        self.0.push((edge, trail));
        self.0.len() as u32 - 1
    }

    fn has(&self, mut trail: u32, edge: u32) -> bool {
        while let Some((used, before)) = self.0.get(trail as usize) {
            if *used == edge {
                return true;
            }
            trail = *before;
        }
        false
    }
}

impl Paths {
    fn len(&self) -> usize {
        self.steps.first().map_or(0, Vec::len)
    }

    /// The paths that continue with new elements: `from[i]` is the path that row `i` continues.
    fn continued(self, from: &[u32], added: Vec<Vec<u32>>, last: Option<Vec<u32>>) -> Self {
        let pick =
            |column: Vec<u32>| from.iter().map(|i| column[*i as usize]).collect::<Vec<u32>>();
        let last = last.unwrap_or_else(|| pick(self.last));
        let mut steps: Vec<Vec<u32>> = self.steps.into_iter().map(pick).collect();
        steps.extend(added);
        Self { steps, last }
    }
}

/// Rows or edges whose memory is taken at once.
const ROWS_PER_TAKE: usize = 1 << 12;
/// Bytes of what continues a path, in lists that may have just grown.
const FOUND_BYTES: u64 = 40;

fn refuse(text: &str, hint: &str) -> GfqlError {
    GfqlError::new(ErrorCode::Query, text).field("binding_ops").suggest(hint)
}

fn check_size(rows: usize) -> Result<(), GfqlError> {
    if rows <= QUERY_STATES_MAX {
        return Ok(());
    }
    let text = format!("the pattern has more than {QUERY_STATES_MAX} matches");
    Err(GfqlError::new(ErrorCode::Limit, text).suggest("filter its steps more narrowly"))
}

/// All matches of `steps`, with the columns of every named step.
pub(super) fn run(
    graph: &PropertyGraph,
    steps: &[Step],
    scope: Scope<'_>,
) -> Result<Table, GfqlError> {
    check(steps)?;
    let pass = Pass { graph, scope, t: graph.topology(scope.cancel)? };
    let existing = graph.existing(scope.cancel)?;
    let node = |step: &Step| match step {
        Step::Node(op) => pass.filter(op)?.and(&existing, scope.cancel),
        Step::Edge(_) => Ok(IdSet::empty()),
    };
    let first = node(&steps[0])?.to_vec();
    let mut trails = Trails::default();
    let mut paths = Paths { last: vec![Trails::NONE; first.len()], steps: vec![first] };
    let mut at = 1;
    while at < steps.len() {
        scope.cancel.check()?;
        match &steps[at] {
            Step::Edge(op) => {
                let bound = pass.bind_edge(op)?;
                let next = match steps.get(at + 1) {
                    Some(Step::Node(node)) => pass.filter(node)?,
                    _ => NodeFilter::Any,
                };
                let next = next.and(&existing, scope.cancel)?;
                paths = Follow { pass: &pass, op, bound: &bound, existing: &existing, next: &next }
                    .run(paths, &mut trails)?;
                at += 2;
            }
            step => {
                // Nodes beside each other are combined in all ways.
                let others = node(step)?.to_vec();
                check_size(paths.len().saturating_mul(others.len()))?;
                let rows = paths.len() as u64 * others.len() as u64;
                scope.cancel.take(rows * 4 * (at as u64 + 3))?;
                let count = paths.len() as u32;
                let from: Vec<u32> =
                    (0..count).flat_map(|i| std::iter::repeat_n(i, others.len())).collect();
                let added = (0..count).flat_map(|_| others.iter().copied()).collect();
                paths = paths.continued(&from, vec![added], None);
                at += 1;
            }
        }
    }
    gather(graph, steps, &paths, scope)
}

fn check(steps: &[Step]) -> Result<(), GfqlError> {
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
                let labels = op.label_nodes.is_some() || op.label_edges.is_some();
                if labels {
                    let text = "rows of paths have no columns for the number of hops";
                    return Err(GfqlError::new(ErrorCode::Unsupported, text)
                        .field("binding_ops")
                        .suggest("leave label_node_hops and label_edge_hops out"));
                }
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

/// One edge step and the nodes that it may end at.
struct Follow<'a> {
    pass: &'a Pass<'a>,
    op: &'a EdgeOp,
    bound: &'a BoundEdge,
    existing: &'a IdSet,
    next: &'a IdSet,
}

/// What continues the paths: the path, its new edge, the node reached and the trail.
#[derive(Default)]
struct Found {
    from: Vec<u32>,
    edges: Vec<u32>,
    nodes: Vec<u32>,
    last: Vec<u32>,
}

impl Found {
    fn push(&mut self, path: usize, edge: u32, node: u32, trail: u32) {
        self.from.push(path as u32);
        self.edges.push(edge);
        self.nodes.push(node);
        self.last.push(trail);
    }
}

impl Follow<'_> {
    /// Continues every path by the step, to nodes in `next`.
    fn run(&self, paths: Paths, trails: &mut Trails) -> Result<Paths, GfqlError> {
        let Some(ends) = paths.steps.last() else { return Ok(paths) };
        let mut found = Found::default();
        let (mut counted, width) = (0, paths.steps.len() as u64);
        for (path, v) in ends.iter().enumerate() {
            let trail = paths.last[path];
            if self.op.is_single() {
                self.one(path, *v, trail, trails, &mut found);
            } else {
                self.many(path, *v, trail, trails, &mut found)?;
            }
            check_size(found.from.len())?;
            if found.from.len() - counted > ROWS_PER_TAKE {
                // The elements found, and the paths that they will continue.
                let rows = (found.from.len() - counted) as u64;
                self.pass.scope.cancel.take(rows * (FOUND_BYTES + 4 * width))?;
                counted = found.from.len();
            }
            if path % 1024 == 0 {
                self.pass.scope.cancel.check()?;
            }
        }
        let Found { from, edges, nodes, last } = found;
        Ok(paths.continued(&from, vec![edges, nodes], Some(last)))
    }

    fn one(&self, path: usize, v: u32, trail: u32, trails: &mut Trails, found: &mut Found) {
        self.arcs(v, |row, to| {
            if self.next.contains(to) && !trails.has(trail, row) {
                let trail = trails.then(trail, row);
                found.push(path, row, to, trail);
            }
        });
    }

    /// All walks of the step that use no edge twice.
    fn many(
        &self,
        path: usize,
        v: u32,
        trail: u32,
        trails: &mut Trails,
        found: &mut Found,
    ) -> Result<(), GfqlError> {
        let min = if self.op.zero_hop_seed { self.op.min } else { self.op.min.max(1) };
        let mut open = vec![(v, trail, 0u32)];
        let mut seen = 0usize;
        let mut counted = trails.0.len();
        while let Some((v, trail, hops)) = open.pop() {
            if hops >= min && self.next.contains(v) {
                found.push(path, u32::MAX, v, trail);
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
                self.pass.scope.cancel.take(bytes)?;
                counted = trails.0.len();
            }
            seen += 1;
            if seen.is_multiple_of(1024) {
                self.pass.scope.cancel.check()?;
            }
        }
        Ok(())
    }

    /// Row and end of every edge that may be followed from `v`.
    fn arcs(&self, v: u32, mut take: impl FnMut(u32, u32)) {
        let allows = |set: &Option<IdSet>, v| set.as_ref().is_none_or(|s| s.contains(v));
        if !allows(&self.bound.source, v) {
            return;
        }
        arcs(self.pass.t, v, self.op.direction, |position, to| {
            let row = self.pass.t.out_row()[position as usize];
            let passes = self.bound.edge.is_trivial() || self.bound.edge.passes(row);
            if passes && self.existing.contains(to) && allows(&self.bound.destination, to) {
                take(row, to);
            }
        });
    }
}

fn gather(
    graph: &PropertyGraph,
    steps: &[Step],
    paths: &Paths,
    scope: Scope<'_>,
) -> Result<Table, GfqlError> {
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
    for (step, elements) in steps.iter().zip(&paths.steps) {
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
            let rows = rows.iter().map(|row| i64::from(*row));
            add(name.clone(), Arc::new(Int64Array::from_iter_values(rows)));
        }
        let rows = UInt32Array::from(rows);
        let is_node = matches!(step, Step::Node(_));
        for (column, array) in crate::columns::columns(table) {
            let end = [&bindings.source, &bindings.destination];
            if !is_node && end.iter().any(|e| e.as_deref() == Some(column.as_str())) {
                continue;
            }
            let array = arrow_select::take::take(array.as_ref(), &rows, None)?;
            if is_node && column == graph.node_column() {
                add(name.clone(), ArrayRef::clone(&array));
            }
            add(format!("{name}.{column}"), array);
        }
    }
    table_of(columns, paths.len())
}
