//! Rows of whole paths: one row for each way to match a pattern.
//!
//! An edge is used once on a path. Parallel edges give a row each; an edge between two different nodes
//! that is followed either way gives a row for each way.

use std::collections::HashMap;

use arrow_array::{ArrayRef, UInt32Array};
use graphlume_table::Table;
use graphlume_types::limits::{QUERY_STATES_MAX, QUERY_STEPS_MAX};

use crate::chain::{BoundEdge, Pass, Scope, Step};
use crate::columns::table_of;
use crate::error::{ErrorCode, GfqlError};
use crate::filter::NodeFilter;
use crate::graph::PropertyGraph;
use crate::hop::arcs;
use crate::set::IdSet;
use crate::wire::EdgeOp;

/// Paths so far, column by column: the element of each step for every path.
struct Paths {
    steps: Vec<Vec<u32>>,
}

impl Paths {
    fn len(&self) -> usize {
        self.steps.first().map_or(0, Vec::len)
    }

    /// The paths that continue with new elements: `from[i]` is the path that row `i` continues.
    fn continued(self, from: &[u32], added: Vec<Vec<u32>>) -> Self {
        let pick = |column: Vec<u32>| from.iter().map(|i| column[*i as usize]).collect();
        let mut steps: Vec<Vec<u32>> = self.steps.into_iter().map(pick).collect();
        steps.extend(added);
        Self { steps }
    }
}

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
    let mut paths = Paths { steps: vec![node(&steps[0])?.to_vec()] };
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
                paths = follow(&pass, op, &bound, paths, &next)?;
                at += 2;
            }
            step => {
                // Nodes beside each other are combined in all ways.
                let others = node(step)?.to_vec();
                check_size(paths.len().saturating_mul(others.len()))?;
                let count = paths.len() as u32;
                let from: Vec<u32> =
                    (0..count).flat_map(|i| std::iter::repeat_n(i, others.len())).collect();
                let added = (0..count).flat_map(|_| others.iter().copied()).collect();
                paths = paths.continued(&from, vec![added]);
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
            Step::Edge(_) => {
                let text = "rows of paths with several hops in a step are not available";
                return Err(GfqlError::new(ErrorCode::Unsupported, text)
                    .field("binding_ops")
                    .suggest("write each hop as a step of its own"));
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

/// Continues every path by one edge to a node in `next`.
fn follow(
    pass: &Pass<'_>,
    op: &EdgeOp,
    bound: &BoundEdge,
    paths: Paths,
    next: &IdSet,
) -> Result<Paths, GfqlError> {
    let allows = |set: &Option<IdSet>, v| set.as_ref().is_none_or(|s| s.contains(v));
    let Some(last) = paths.steps.last() else { return Ok(paths) };
    let (mut from, mut edges, mut nodes) = (Vec::new(), Vec::new(), Vec::new());
    for (path, v) in last.iter().enumerate() {
        if !allows(&bound.source, *v) {
            continue;
        }
        arcs(pass.t, *v, op.direction, |position, to| {
            let row = pass.t.out_row()[position as usize];
            let used = || paths.steps.iter().skip(1).step_by(2).any(|e| e[path] == row);
            if next.contains(to)
                && allows(&bound.destination, to)
                && (bound.edge.is_trivial() || bound.edge.passes(row))
                && !used()
            {
                from.push(path as u32);
                edges.push(row);
                nodes.push(to);
            }
        });
        check_size(from.len())?;
        if path % 1024 == 0 {
            pass.scope.cancel.check()?;
        }
    }
    Ok(paths.continued(&from, vec![edges, nodes]))
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
