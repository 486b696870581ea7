//! Chains of nodes and hops in the form that another device than the CPU runs: a program of set operations, whose sets
//! stay on the device until the last one is known.
//!
//! A step makes a set of nodes, a set of edges by their position in the outgoing adjacency, or both, and later steps name
//! it by its number. The language that writes the program says which sets it wants back.

use std::sync::Arc;

use graphlume_expr::{JobTest, Side, TableArray};
use graphlume_graph::canon::Column;
use graphlume_graph::{Direction, Topology};
use graphlume_types::CancelToken;

use crate::ids::IdSet;

/// The nodes that the step of this number makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeSet(pub usize);

/// The edges that the step of this number makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeSet(pub usize);

/// A column that conditions read, with the name under which a device keeps its copy.
#[derive(Clone, Debug)]
pub struct ChainColumn {
    /// The table it is of.
    pub side: Side,
    /// Its name in the table.
    pub name: String,
    /// Its cells.
    pub column: Arc<Column>,
}

impl ChainColumn {
    /// Its cells as a device takes them.
    #[must_use]
    pub fn cells(&self) -> Option<TableArray<'_>> {
        TableArray::of(&self.column)
    }
}

/// Hops from a set of nodes.
#[derive(Clone, Debug)]
pub struct ChainHop {
    /// Which way edges are followed.
    pub direction: Direction,
    /// The least number of hops.
    pub min: u32,
    /// The greatest, if there is one.
    pub max: Option<u32>,
    /// Where the walk begins.
    pub seeds: NodeSet,
    /// Nodes that may be left.
    pub from: NodeSet,
    /// Nodes that may be reached.
    pub to: NodeSet,
    /// Nodes that the greatest number of hops may reach.
    pub last: NodeSet,
    /// Edges that may be followed; all without it.
    pub edges: Option<EdgeSet>,
    /// Where this has no more edges than `edges`, nothing is followed: the walk would take the same edges once more.
    pub unless_all: Option<EdgeSet>,
    /// Whether walks of no hop count.
    pub stays: bool,
}

/// A step of a program.
#[derive(Clone, Debug)]
pub enum ChainStep {
    /// The nodes that exist: those below [`ChainJob::existing`].
    Existing,
    /// These nodes.
    Given(Vec<u32>),
    /// The nodes whose rows meet a condition on [`ChainJob::node_columns`].
    Nodes(JobTest),
    /// The edges whose rows meet a condition on [`ChainJob::edge_columns`].
    Edges(JobTest),
    /// The nodes of both.
    And(NodeSet, NodeSet),
    /// The nodes of any of them.
    Or(Vec<NodeSet>),
    /// The edges of any of them.
    OrEdges(Vec<EdgeSet>),
    /// The nodes that hops reach and the ends of the edges that they follow, and these edges. The seeds are among the nodes
    /// only where the walk comes upon them again, unless none of its hops need be taken.
    Hop(ChainHop),
    /// Those of some edges that lead from one set of nodes to another.
    Between(Direction, EdgeSet, NodeSet, NodeSet),
    /// The nodes that edges are followed from.
    Left(Direction, EdgeSet),
}

/// Finds the seeds that a walk which goes either way meets again without using an edge twice: topology, edges, seeds.
pub type Rediscovered = fn(&Topology, &IdSet, &IdSet) -> IdSet;

/// A chain for a device.
#[derive(Clone, Debug)]
pub struct ChainJob<'t> {
    /// The adjacency.
    pub topology: &'t Topology,
    /// How many nodes exist, which are the first.
    pub existing: u32,
    /// Rows of the table of nodes; each is the node of its number.
    pub node_rows: usize,
    /// Columns of the table of nodes.
    pub node_columns: Vec<ChainColumn>,
    /// Columns of the table of edges.
    pub edge_columns: Vec<ChainColumn>,
    /// What is done, in order.
    pub steps: Vec<ChainStep>,
    /// The sets of nodes that are wanted.
    pub wanted_nodes: Vec<NodeSet>,
    /// The sets of edges that are wanted.
    pub wanted_edges: Vec<EdgeSet>,
    /// A part of hops that go either way for which there are no kernels.
    pub rediscovered: Rediscovered,
}

/// What a device found.
#[derive(Clone, Debug, Default)]
pub struct ChainAnswer {
    /// In the order of [`ChainJob::wanted_nodes`].
    pub nodes: Vec<IdSet>,
    /// In the order of [`ChainJob::wanted_edges`].
    pub edges: Vec<IdSet>,
}

/// Another device than the CPU, which keeps copies of a graph and its columns.
pub trait ChainDevice: Send + Sync + std::fmt::Debug {
    /// Why the CPU is to do it; none where the device is faster.
    fn declines(&self, job: &ChainJob<'_>) -> Option<String>;

    /// What it would take there, for a plan.
    fn effort(&self, job: &ChainJob<'_>) -> String;

    /// Does it; `None` where the CPU has to, because the device failed (which it logs) or the token was cancelled.
    fn run(&self, job: &ChainJob<'_>, cancel: &CancelToken) -> Option<ChainAnswer>;
}
