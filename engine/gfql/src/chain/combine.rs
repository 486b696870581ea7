//! The steps of a chain together: which nodes and edges stay, and what is marked and numbered in columns.

use super::labels::Labels;
use super::{BoundEdge, Layer, Pass, Step};
use crate::hop::{ends, ends_of};
use crate::select::{Added, Selection};
use graphlume_expr::QueryError;
use graphlume_graph::Direction;
use graphlume_store::ids::{Grow, IdSet};

impl Pass<'_> {
    pub(super) fn combine(
        &self,
        steps: &[Step],
        bound: &[Option<BoundEdge>],
        ahead: &[Layer],
        kept: &[Layer],
    ) -> Result<Selection, QueryError> {
        let mut step_edges = Vec::with_capacity(steps.len());
        for (i, step) in steps.iter().enumerate() {
            let own = match (step, &bound[i]) {
                // What loses no edge on the way back would give the same edges again.
                (Step::Edge(op), Some(edge))
                    if !op.is_single() && kept[i].edges().len() < ahead[i].edges().len() =>
                {
                    self.hop(op, edge, ahead[i - 1].nodes(), None, Some(kept[i].edges()))?.edges
                }
                _ => kept[i].edges().clone(),
            };
            self.scope.cancel.take(own.bytes())?;
            step_edges.push(own);
        }
        let mut some = step_edges.iter().filter(|own| !own.is_empty());
        let edges = match (some.next(), some.next()) {
            (None, _) => IdSet::empty(),
            (Some(one), None) => one.clone(),
            _ => IdSet::union(&step_edges.iter().collect::<Vec<_>>(), self.t.num_edges()),
        };
        let layers: Vec<&IdSet> = kept.iter().map(Layer::nodes).collect();
        let nodes = IdSet::union(&layers, self.t.num_nodes());
        let labels = Labels::collect(steps, ahead.iter().map(|l| (&l.node_hops, &l.edge_hops)));
        let edges = labels.slice_edges(steps, edges);
        let marks = self.markers(steps, kept, &step_edges, &labels)?;
        let nodes = labels.slice_nodes(steps, nodes, &marks.0);
        // Single hops keep the nodes at both ends of their edges anyway.
        let several = |step: &Step| matches!(step, Step::Edge(op) if !op.is_single());
        let nodes = if steps.iter().any(several) || Labels::slices(steps) {
            let ends = self.ends_of(&edges, true, true)?;
            IdSet::union(&[&nodes, &ends], self.t.num_nodes())
        } else {
            nodes
        };
        let first = ahead.first().map(Layer::nodes);
        let (mut node_columns, mut edge_columns) = labels.columns(self.graph, steps, first);
        node_columns.extend(marks.0);
        edge_columns.extend(marks.1);
        Ok(Selection { nodes, edges, node_columns, edge_columns })
    }

    /// The named steps: nodes that the next step leaves, and edges that were followed.
    fn markers(
        &self,
        steps: &[Step],
        kept: &[Layer],
        step_edges: &[IdSet],
        labels: &Labels,
    ) -> Result<(Vec<Added>, Vec<Added>), QueryError> {
        let (mut nodes, mut edges) = (Vec::new(), Vec::new());
        for (i, step) in steps.iter().enumerate() {
            match step {
                Step::Edge(op) => {
                    if let Some(name) = &op.name {
                        edges.push(Added::Marker(name.clone(), step_edges[i].clone()));
                    }
                }
                Step::Node(op) => {
                    let Some(name) = &op.name else { continue };
                    let mut set = kept[i].nodes().clone();
                    if let Some(Step::Edge(next)) = steps.get(i + 1) {
                        set = set.and(&self.departures(next.direction, kept[i + 1].edges())?);
                    }
                    if let Some(Step::Edge(before)) = i.checked_sub(1).map(|i| &steps[i]) {
                        set = labels.within(before, set);
                    }
                    nodes.push(Added::Marker(name.clone(), set));
                }
            }
        }
        Ok((nodes, edges))
    }

    /// The nodes that edges leave.
    pub(super) fn departures(
        &self,
        direction: Direction,
        edges: &IdSet,
    ) -> Result<IdSet, QueryError> {
        let (from, to) = (direction != Direction::Reverse, direction != Direction::Forward);
        self.ends_of(edges, from, to)
    }

    /// The sources of edges, their destinations, or both.
    fn ends_of(&self, edges: &IdSet, from: bool, to: bool) -> Result<IdSet, QueryError> {
        let n = self.t.num_nodes();
        if edges.is_many() {
            return ends_of(self.t, edges, (from, to), self.scope.cancel);
        }
        let mut left = Grow::new(n);
        ends(self.t, edges, |_, s, d| {
            if from {
                left.insert(s);
            }
            if to {
                left.insert(d);
            }
        });
        Ok(left.finish())
    }
}
