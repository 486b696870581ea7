//! The filters of a chain bound to columns of which a GPU keeps copies, and the steps of its program.

use std::sync::Arc;

use graphlume_expr::{JobTest, QueryError, Side as TableSide, TableArray};
use graphlume_graph::Topology;
use graphlume_store::filter::RowFilter;
use graphlume_store::{ChainColumn, ChainJob, ChainStep, EdgeSet, NodeSet, PropertyGraph};

use super::{Pass, Why};
use crate::filter::{NodeFilter, row_filter};
use crate::hop::rediscovered;
use crate::scope::{Scope, Side, Step};

/// Writes a program.
pub(super) struct Writer<'a> {
    pub(super) graph: &'a PropertyGraph,
    pass: Pass<'a>,
    pub(super) job: ChainJob<'a>,
}

/// The sets of a step that are known before any is followed; all nodes or edges without one.
pub(super) enum Bound {
    Node(Option<NodeSet>),
    Edge { edges: Option<EdgeSet>, source: Option<NodeSet>, destination: Option<NodeSet> },
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        graph: &'a PropertyGraph,
        scope: Scope<'a>,
    ) -> Result<Result<Self, Why>, QueryError> {
        let cancel = scope.cancel;
        if graph.edges().is_none() || graph.is_rows() {
            return Ok(Err("a GPU keeps graphs with edges only"));
        }
        let frame = graph.frame(cancel)?;
        let existing = graph.existing(cancel)?.len();
        let rows = graph.nodes().map_or(existing as usize, graphlume_table::Table::num_rows);
        if !graph.rows_are_nodes(frame) || rows != existing as usize {
            return Ok(Err("several rows describe one node"));
        }
        let topology: &'a Topology = &frame.topology;
        let job = ChainJob {
            topology,
            existing,
            node_rows: rows,
            node_columns: vec![],
            edge_columns: vec![],
            steps: vec![],
            wanted_nodes: vec![],
            wanted_edges: vec![],
            rediscovered,
        };
        Ok(Ok(Self { graph, pass: Pass { graph, scope, t: topology }, job }))
    }

    pub(super) fn push(&mut self, step: ChainStep) -> usize {
        self.job.steps.push(step);
        self.job.steps.len() - 1
    }

    pub(super) fn and(&mut self, a: NodeSet, b: NodeSet) -> NodeSet {
        if a == b { a } else { NodeSet(self.push(ChainStep::And(a, b))) }
    }

    /// The nodes in both, where a set that is not there is that of all.
    pub(super) fn within(&mut self, some: Option<NodeSet>, all: NodeSet) -> NodeSet {
        some.map_or(all, |some| self.and(some, all))
    }

    /// A filter of rows as a condition; `None` where it tests nothing.
    fn condition(&mut self, side: TableSide, filter: &RowFilter) -> Result<Option<JobTest>, Why> {
        if filter.is_trivial() {
            return Ok(None);
        }
        let graph = self.graph;
        let columns = match side {
            TableSide::Nodes => &mut self.job.node_columns,
            TableSide::Edges => &mut self.job.edge_columns,
        };
        let condition = filter.condition(&mut |column| {
            if let Some(known) = columns.iter().position(|c| Arc::ptr_eq(&c.column, column)) {
                return Some(known);
            }
            TableArray::of(column)?;
            let name = graph.name_of(side == TableSide::Edges, column)?;
            columns.push(ChainColumn { side, name, column: column.clone() });
            Some(columns.len() - 1)
        });
        condition.map(Some).ok_or("a filter reads a column that no GPU keeps")
    }

    pub(super) fn filter(&mut self, filter: &NodeFilter<'_>) -> Result<Option<NodeSet>, Why> {
        let step = match filter {
            NodeFilter::Any => return Ok(None),
            NodeFilter::Set(ids) => ChainStep::Given(ids.to_vec()),
            NodeFilter::Rows(filter, _) => match self.condition(TableSide::Nodes, filter)? {
                None => return Ok(None),
                Some(test) => ChainStep::Nodes(test),
            },
        };
        Ok(Some(NodeSet(self.push(step))))
    }

    /// Binds the filters of a step, in the order in which [`Pass`] does it.
    pub(super) fn bind(&mut self, step: &Step) -> Result<Result<Bound, Why>, QueryError> {
        let op = match step {
            Step::Node(op) => {
                let filter = self.pass.filter(op)?;
                return Ok(self.filter(&filter).map(Bound::Node));
            }
            Step::Edge(op) => op,
        };
        let Some(table) = self.graph.edges() else { return Ok(Err("the graph has no edges")) };
        let edges = row_filter(self.graph, table, Side::Edges, &op.edge, self.pass.scope)?;
        let source = self.pass.filter(&op.source)?;
        let destination = self.pass.filter(&op.destination)?;
        Ok(self.edge(&edges, &source, &destination))
    }

    fn edge(
        &mut self,
        edges: &RowFilter,
        source: &NodeFilter<'_>,
        destination: &NodeFilter<'_>,
    ) -> Result<Bound, Why> {
        let edges = self.condition(TableSide::Edges, edges)?;
        let edges = edges.map(|test| EdgeSet(self.push(ChainStep::Edges(test))));
        let (source, destination) = (self.filter(source)?, self.filter(destination)?);
        Ok(Bound::Edge { edges, source, destination })
    }
}
