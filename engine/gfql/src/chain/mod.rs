//! Chains: forward along the steps, back to what leads to an end, and together: the two passes of semi-joins of a full
//! reducer (Yannakakis 1981, VLDB), whose relations are the hops.
//!
//! Chains of single directed hops keep exactly the elements that are on a whole match. A step of
//! several hops, or one that goes either way, is cut down as a whole: its elements lie between the
//! nodes before and after it, though perhaps on no single path within the bounds.

mod combine;
mod device;
mod labels;
mod path;
mod single;

use std::sync::Arc;

use graphlume_expr::{ErrorCode, QueryError};
use graphlume_graph::Direction;
use graphlume_graph::Topology;
use graphlume_graph::canon::Column;
use graphlume_store::PropertyGraph;
use graphlume_store::filter::RowFilter;
use graphlume_store::ids::{Grow, IdMap, IdSet};
use graphlume_store::materialize::take;

use crate::bind::named_values;
use crate::filter::{NodeFilter, row_filter};
use crate::hop::{Hops, Reached, ends, kept_edges};
use crate::scope::{Scope, Side, Step};
use crate::select::Selection;
use crate::wire::{Clause, EdgeOp, NodeOp};
pub(crate) use device::{Ran, passing, selection as selection_by_device, side};
pub(crate) use labels::{free_name, in_slice};
use single::Single;

/// Evaluates a pattern.
pub(crate) fn run(
    graph: &PropertyGraph,
    steps: &[Step],
    clauses: &[Clause],
    scope: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    if let ([Step::Node(op)], true) = (steps, clauses.is_empty()) {
        check_names(graph, steps)?;
        return single_node(graph, op, scope);
    }
    if clauses.is_empty() && graph.edges().is_some() {
        if let Some(selected) = device::selection(graph, steps, scope)? {
            return selected.gather(graph, scope.cancel);
        }
        match single::run(graph, steps, scope)? {
            Single::Made(made) => return Ok(made),
            Single::Bound(bound) => {
                let pass = Pass { graph, scope, t: graph.topology(scope.cancel)? };
                let kept = pass.select(&closed(steps), Some(*bound))?;
                return kept.gather(graph, scope.cancel);
            }
            Single::Other => {}
        }
    }
    selection_by_cpu(graph, steps, clauses, scope)?.gather(graph, scope.cancel)
}

/// What a pattern of more than one node keeps.
pub(crate) fn selection(
    graph: &PropertyGraph,
    steps: &[Step],
    clauses: &[Clause],
    scope: Scope<'_>,
) -> Result<Selection, QueryError> {
    if clauses.is_empty()
        && let Some(selected) = device::selection(graph, steps, scope)?
    {
        return Ok(selected);
    }
    selection_by_cpu(graph, steps, clauses, scope)
}

/// What a pattern of more than one node keeps, where no GPU is to look for it.
pub(crate) fn selection_by_cpu(
    graph: &PropertyGraph,
    steps: &[Step],
    clauses: &[Clause],
    scope: Scope<'_>,
) -> Result<Selection, QueryError> {
    check_names(graph, steps)?;
    if graph.is_rows() {
        return Err(QueryError::new(ErrorCode::NoGraph, "rows have no nodes and edges to follow")
            .suggest("put the steps before the call of rows"));
    }
    if graph.edges().is_none() && steps.iter().any(|s| matches!(s, Step::Edge(_))) {
        return Err(QueryError::new(ErrorCode::NoEdges, "the graph has no edges to follow")
            .suggest("use node steps only, or bind edges"));
    }
    let steps = closed(steps);
    match clauses {
        [] => Pass { graph, scope, t: graph.topology(scope.cancel)? }.select(&steps, None),
        _ => path::select(graph, &steps, clauses, scope),
    }
}

/// The steps with nodes at both ends and between edges.
pub(crate) fn closed(steps: &[Step]) -> Vec<Step> {
    let mut out: Vec<Step> = Vec::with_capacity(steps.len() * 2 + 1);
    for step in steps {
        if matches!(step, Step::Edge(_)) && !matches!(out.last(), Some(Step::Node(_))) {
            out.push(Step::Node(NodeOp::default()));
        }
        out.push(step.clone());
    }
    if let Some(Step::Edge(_)) = out.last() {
        out.push(Step::Node(NodeOp::default()));
    }
    out
}

fn check_names(graph: &PropertyGraph, steps: &[Step]) -> Result<(), QueryError> {
    let mut seen: Vec<(bool, &str)> = Vec::new();
    let bindings = graph.bindings();
    for (i, step) in steps.iter().enumerate() {
        let (edge, name) = match step {
            Step::Node(op) => (false, op.name.as_deref()),
            Step::Edge(op) => (true, op.name.as_deref()),
        };
        let Some(name) = name else { continue };
        let bound = if edge {
            [bindings.source.as_deref(), bindings.destination.as_deref()].contains(&Some(name))
        } else {
            graph.node_column() == name
        };
        if bound {
            let text = format!("the name {name:?} is the graph's own id column");
            return Err(QueryError::new(ErrorCode::Query, text).field("name").value(name).at(i));
        }
        if seen.contains(&(edge, name)) {
            let text = format!("the name {name:?} is used by two steps");
            return Err(QueryError::new(ErrorCode::Type, text)
                .field("name")
                .value(name)
                .suggest("give each step its own name")
                .at(i));
        }
        seen.push((edge, name));
    }
    Ok(())
}

/// A filter on nodes keeps rows, those with the same id included, and no edges.
fn single_node(
    graph: &PropertyGraph,
    op: &NodeOp,
    scope: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    let table = graph.node_table(scope.cancel)?;
    let filter = row_filter(graph, &table, Side::Nodes, op, scope)?;
    let rows: Vec<u32> = if filter.is_trivial() {
        (0..table.num_rows() as u32).collect()
    } else if filter.is_never() {
        vec![]
    } else {
        let rows = NodeFilter::Rows(Arc::clone(&filter), graph);
        let passed = match device::passing(graph, &rows, scope)? {
            Some(passed) => passed,
            None => IdSet::of_words(filter.run().to_vec()),
        };
        scope.cancel.check()?;
        passed.to_vec()
    };
    let mut nodes = take(&table, rows)?;
    if let Some(name) = &op.name {
        nodes = graphlume_store::materialize::with_constant(&nodes, name, true)?;
    }
    let edges = graph.edges().map(|t| take(t, vec![])).transpose()?;
    graph.replaced(Some(nodes), edges)
}

pub(crate) struct Pass<'a> {
    pub(crate) graph: &'a PropertyGraph,
    pub(crate) scope: Scope<'a>,
    pub(crate) t: &'a Topology,
}

/// An edge step, bound: the parts that traversals in both directions share.
pub(crate) struct BoundEdge {
    pub(crate) edge: Arc<RowFilter>,
    pub(crate) source: Option<IdSet>,
    pub(crate) destination: Option<IdSet>,
}

/// Steps that are bound: the filters of nodes, and the edges, one entry for each step.
pub(crate) struct Ready<'a> {
    pub(crate) filters: Vec<NodeFilter<'a>>,
    pub(crate) bound: Vec<Option<BoundEdge>>,
}

/// Elements of one step and their hop numbers.
#[derive(Default)]
struct Layer {
    nodes: Option<IdSet>,
    edges: Option<IdSet>,
    /// The nodes that the edges leave, where that is known.
    left: Option<IdSet>,
    node_hops: IdMap<u32>,
    edge_hops: IdMap<u32>,
}

type Passes = (Vec<Option<BoundEdge>>, Vec<Layer>, Vec<Layer>);

impl Layer {
    fn nodes(&self) -> &IdSet {
        const NONE: &IdSet = &IdSet::First(0);
        self.nodes.as_ref().unwrap_or(NONE)
    }

    /// Bytes that this takes.
    fn bytes(&self) -> u64 {
        // Maps keep a part of their places free.
        let hops = (self.node_hops.capacity() + self.edge_hops.capacity()) as u64 * 10;
        self.nodes().bytes() + self.edges().bytes() + hops
    }

    fn edges(&self) -> &IdSet {
        const NONE: &IdSet = &IdSet::First(0);
        self.edges.as_ref().unwrap_or(NONE)
    }
}

impl From<Reached> for Layer {
    fn from(r: Reached) -> Self {
        Self {
            nodes: Some(r.nodes),
            edges: Some(r.edges),
            left: r.left,
            node_hops: r.node_hops,
            edge_hops: r.edge_hops,
        }
    }
}

impl<'a> Pass<'a> {
    /// The nodes that pass a step's tests.
    pub(crate) fn filter(&self, op: &NodeOp) -> Result<NodeFilter<'a>, QueryError> {
        let cancel = self.scope.cancel;
        if op.filter.is_empty() && op.query.is_none() {
            return Ok(NodeFilter::Any);
        }
        let table = self.graph.node_table(cancel)?;
        let filter = row_filter(self.graph, &table, Side::Nodes, op, self.scope)?;
        let Some(row_nodes) = self.graph.row_nodes(cancel)? else {
            // Ids that are named are looked up instead of searched, where equality is that of ids.
            let id = self.graph.node_column();
            let column = self.graph.column(&table, false, id);
            let plain = column.is_some_and(|c| {
                matches!(*c, Column::Int(_) | Column::UInt(_) | Column::Float(_) | Column::Text(_))
            });
            if let Some(ids) = named_values(&op.filter, id).filter(|_| plain) {
                let existing = self.graph.existing(cancel)?;
                let mut found = Vec::new();
                for id in ids {
                    found.extend(self.graph.find(&id, cancel)?.filter(|v| existing.contains(*v)));
                }
                found.retain(|v| filter.passes(*v));
                return Ok(NodeFilter::Set(IdSet::from_vec(found)));
            }
            return Ok(NodeFilter::Rows(filter, self.graph));
        };
        // Several rows may describe a node: one that passes is enough.
        let passed = IdSet::of_words(filter.run().to_vec());
        cancel.check()?;
        let nodes = passed.iter().map(|row| row_nodes[row as usize]).filter(|v| *v != u32::MAX);
        Ok(NodeFilter::Set(IdSet::from_vec(nodes.collect())))
    }

    pub(crate) fn bind_edge(&self, op: &EdgeOp) -> Result<BoundEdge, QueryError> {
        let cancel = self.scope.cancel;
        let edges = self.graph.edges().ok_or_else(|| {
            QueryError::new(ErrorCode::NoEdges, "the graph has no edges to follow")
        })?;
        let existing = self.graph.existing(cancel)?;
        let side = |op: &NodeOp| match self.filter(op)? {
            NodeFilter::Any => Ok::<_, QueryError>(None),
            filter => Ok(Some(filter.and(&existing, cancel)?)),
        };
        Ok(BoundEdge {
            edge: row_filter(self.graph, edges, Side::Edges, &op.edge, self.scope)?,
            source: side(&op.source)?,
            destination: side(&op.destination)?,
        })
    }

    fn hop(
        &self,
        op: &EdgeOp,
        bound: &BoundEdge,
        seeds: &IdSet,
        back: Option<(&IdSet, &IdSet)>,
        edges: Option<&IdSet>,
    ) -> Result<Reached, QueryError> {
        let existing = self.graph.existing(self.scope.cancel)?;
        let forward = back.is_none();
        let (source, destination) = if forward {
            (&bound.source, &bound.destination)
        } else {
            (&bound.destination, &bound.source)
        };
        // The way back only asks whether there is a path; the least number of hops was seen to.
        let min = match (forward, op.max) {
            (true, _) => op.min,
            (false, Some(0)) => 0,
            (false, _) => u32::from(!(op.zero_hop_seed && op.min == 0)),
        };
        Hops {
            direction: if forward { op.direction } else { op.direction.reversed() },
            min,
            max: op.max,
            edge: &bound.edge,
            edges: edges.or(back.map(|(edges, _)| edges)),
            existing: &existing,
            source: source.as_ref(),
            destination: destination.as_ref(),
            target: back.map(|(_, target)| target),
            wavefront: true,
            labels: forward && (op.needs_labels() || op.min_named),
            zero_hop_seed: op.zero_hop_seed,
        }
        .run(self.t, seeds, self.scope.cancel)
    }

    /// What the steps keep; some may be `ready`, which saves binding them.
    fn select(&self, steps: &[Step], ready: Option<Ready<'_>>) -> Result<Selection, QueryError> {
        let (bound, ahead, kept) = self.passes(steps, ready)?;
        self.combine(steps, &bound, &ahead, &kept)
    }

    /// The nodes or edges that each step can have at most, for a closer look along paths.
    pub(crate) fn candidates(
        &self,
        steps: &[Step],
    ) -> Result<(Vec<IdSet>, Vec<Option<BoundEdge>>), QueryError> {
        let (bound, _, kept) = self.passes(steps, None)?;
        let own = |(step, layer): (&Step, Layer)| match step {
            Step::Node(_) => layer.nodes.unwrap_or(IdSet::empty()),
            Step::Edge(_) => layer.edges.unwrap_or(IdSet::empty()),
        };
        Ok((steps.iter().zip(kept).map(own).collect(), bound))
    }

    fn bind(&self, steps: &[Step]) -> Result<Ready<'a>, QueryError> {
        let mut bound = Vec::with_capacity(steps.len());
        let mut filters = Vec::with_capacity(steps.len());
        for (i, step) in steps.iter().enumerate() {
            match step {
                Step::Node(op) => filters.push(self.filter(op).map_err(|e| e.at(i))?),
                Step::Edge(_) => filters.push(NodeFilter::Any),
            }
            bound.push(match step {
                Step::Edge(op) => Some(self.bind_edge(op).map_err(|e| e.at(i))?),
                Step::Node(_) => None,
            });
        }
        Ok(Ready { filters, bound })
    }

    /// The bound edge steps, and what the forward and the backward pass leave of each step.
    fn passes(&self, steps: &[Step], ready: Option<Ready<'_>>) -> Result<Passes, QueryError> {
        let Ready { filters, bound } = match ready {
            Some(ready) => ready,
            None => self.bind(steps)?,
        };
        let ahead = self.forward(steps, &filters, &bound)?;
        let kept = self.backward(steps, &filters, &bound, &ahead)?;
        Ok((bound, ahead, kept))
    }

    fn forward(
        &self,
        steps: &[Step],
        filters: &[NodeFilter<'_>],
        bound: &[Option<BoundEdge>],
    ) -> Result<Vec<Layer>, QueryError> {
        let cancel = self.scope.cancel;
        let mut layers: Vec<Layer> = Vec::with_capacity(steps.len());
        for (i, step) in steps.iter().enumerate() {
            let existing = self.graph.existing(cancel)?;
            let before = layers.last().map_or(&existing, Layer::nodes);
            let layer = match (step, &bound[i]) {
                (Step::Edge(op), Some(edge)) => self.hop(op, edge, before, None, None)?.into(),
                _ => Layer { nodes: Some(filters[i].and(before, cancel)?), ..Layer::default() },
            };
            cancel.take(layer.bytes())?;
            layers.push(layer);
        }
        Ok(layers)
    }

    fn backward(
        &self,
        steps: &[Step],
        filters: &[NodeFilter<'_>],
        bound: &[Option<BoundEdge>],
        ahead: &[Layer],
    ) -> Result<Vec<Layer>, QueryError> {
        let cancel = self.scope.cancel;
        let mut kept: Vec<Layer> = Vec::with_capacity(steps.len());
        for i in (0..steps.len()).rev() {
            let next = kept.last().or(ahead.last()).map_or(&IdSet::First(0), Layer::nodes);
            let before = (i > 0).then(|| ahead[i - 1].nodes());
            let layer = match (&steps[i], &bound[i], before) {
                (Step::Edge(op), Some(_), Some(before)) if op.is_single() => {
                    // Where all that was reached leads on, so do the edges that reached it.
                    let whole = next.len() == ahead[i].nodes().len();
                    let before = (!whole).then_some(before);
                    self.back_one(op.direction, &ahead[i], before, next)?
                }
                (Step::Edge(op), Some(edge), Some(before)) => {
                    let back = Some((ahead[i].edges(), before));
                    self.hop(op, edge, next, back, None)?.into()
                }
                _ => {
                    let mut nodes = filters[i].and(next, cancel)?;
                    if let Some(before) = before {
                        nodes = nodes.and(before);
                    }
                    Layer { nodes: Some(nodes), ..Layer::default() }
                }
            };
            cancel.take(layer.bytes())?;
            kept.push(layer);
        }
        kept.reverse();
        Ok(kept)
    }

    /// The edges of a single hop that lead from `before` to `next`, all of them without `before`; and the nodes
    /// they leave.
    fn back_one(
        &self,
        direction: Direction,
        ahead: &Layer,
        before: Option<&IdSet>,
        next: &IdSet,
    ) -> Result<Layer, QueryError> {
        let edges = ahead.edges();
        let Some(before) = before else {
            let left = match &ahead.left {
                Some(left) => left.clone(),
                None => self.departures(direction, edges)?,
            };
            return Ok(Layer { nodes: Some(left), edges: Some(edges.clone()), ..Layer::default() });
        };
        let keeps = |s, d| {
            let along = |from, to| before.contains(from) && next.contains(to);
            match direction {
                Direction::Forward => along(s, d),
                Direction::Reverse => along(d, s),
                Direction::Undirected => along(s, d) || along(d, s),
            }
        };
        if edges.is_many() {
            let n = self.t.num_nodes();
            let everywhere = IdSet::First(n);
            // Lists are slow to ask.
            let leaving = match direction {
                Direction::Forward if before.is_dense() => before,
                Direction::Reverse if next.is_dense() => next,
                _ => &everywhere,
            };
            let kept =
                kept_edges(self.t, edges, leaving, self.scope.cancel, |_, s, d| keeps(s, d))?;
            let left = match direction {
                Direction::Undirected => kept.both_ends(n),
                Direction::Forward => kept.sources,
                Direction::Reverse => kept.destinations,
            };
            return Ok(Layer { nodes: Some(left), edges: Some(kept.edges), ..Layer::default() });
        }
        let mut kept = Grow::new(self.t.num_edges());
        ends(self.t, edges, |position, s, d| {
            if keeps(s, d) {
                kept.insert(position);
            }
        });
        let kept = kept.finish();
        let nodes = Some(self.departures(direction, &kept)?);
        Ok(Layer { nodes, edges: Some(kept), ..Layer::default() })
    }
}
