//! Counts of paths in the form that another device than the CPU takes: how many lead to each node, step by step along the
//! relationships of some types, between nodes that meet conditions on their columns.

use std::sync::Arc;

use graphlume_expr::{NamedColumn, TableJob};
use graphlume_graph::Topology;
use graphlume_types::CancelToken;

/// The relationships of some types between nodes that exist.
#[derive(Clone, Debug)]
pub struct TallyRelation {
    /// The types, in ascending order: with the graph they name the copy that a device keeps.
    pub types: Vec<String>,
    /// The adjacency.
    pub topology: Arc<Topology>,
    /// Nodes with relationships to themselves, in ascending order, and how many they have.
    pub loops: Arc<[(u32, u32)]>,
    /// Nodes that relationships leave, and nodes that they lead to.
    pub places: [u32; 2],
    /// The most relationships that leave a node, and that lead to one.
    pub longest: [u32; 2],
}

/// A step along which paths are counted.
#[derive(Clone, Debug)]
pub struct TallyStep {
    /// The relationships.
    pub relation: TallyRelation,
    /// Whether they are followed from their sources.
    pub forward: bool,
    /// The condition on the nodes that it leads to, by its place in [`TallyJob::marks`]; none where all may be reached.
    pub to: Option<usize>,
    /// Whether the relationship must differ from that of the step before, which has the same relation and direction.
    pub apart: bool,
}

/// The nodes that meet a condition.
#[derive(Debug)]
pub enum TallyMarks<'t> {
    /// Those whose rows a job marks.
    Table(TableJob<'t>),
    /// These, in ascending order, which are few.
    Nodes(Vec<u32>),
}

/// A pattern that leads to the nodes at which paths begin, and of which only that counts.
#[derive(Clone, Debug)]
pub struct TallyBranch {
    /// The condition on its first nodes, by its place in [`TallyJob::marks`]; none where all may be first.
    pub from: Option<usize>,
    /// About how many there are.
    pub starts: f64,
    /// The steps, at least one, from there on. Relationships need not differ, and the last step leads to where paths begin.
    pub steps: Vec<TallyStep>,
}

/// What is wanted of the numbers of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TallyWanted {
    /// How many nodes paths begin at; no step is taken.
    Starts,
    /// Their sum.
    Total,
    /// That of each node to which any lead.
    Each,
    /// Those of all nodes that may be among the first so many by their number; others may be left out.
    First(u32),
}

/// What is added up over the nodes that one more step leads to, for each node that paths lead to.
#[derive(Debug)]
pub struct TallyFold<'t> {
    /// The step, with the condition on the nodes that it leads to. Its relationships need not differ from others.
    pub step: TallyStep,
    /// Numbers of all nodes, integers or floats without a fraction.
    pub column: NamedColumn<'t>,
    /// No number is less, and none is so much more that with all relationships of the step the product left 53 bits.
    pub least: i64,
}

/// A count of paths for a device.
#[derive(Debug)]
pub struct TallyJob<'t> {
    /// Nodes, each of which has a row in the table of nodes.
    pub num_nodes: u32,
    /// Conditions on nodes.
    pub marks: Vec<TallyMarks<'t>>,
    /// The condition on the nodes that paths begin at, by its place; none where they begin at all.
    pub from: Option<usize>,
    /// Patterns each of which leads to all nodes that paths begin at.
    pub branches: Vec<TallyBranch>,
    /// About how many paths begin.
    pub starts: f64,
    /// The steps; at least one, but where none is wanted.
    pub steps: Vec<TallyStep>,
    /// What is wanted.
    pub wanted: TallyWanted,
    /// What is added up where the number of each end is wanted; then there may be no step.
    pub fold: Option<TallyFold<'t>>,
}

/// What a device has counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TallyAnswer {
    /// All paths, or all nodes where paths begin, of which there are no more than 2^63 - 1.
    Total(u64),
    /// Nodes in ascending order, each with the number of paths that lead to it, which is not zero and no more than 2^63 - 1.
    Each(Vec<(u32, u64)>),
    /// Nodes in ascending order, each with what was added up.
    Sums(Vec<TallySums>),
}

/// What a step leads to from a node that paths lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TallySums {
    /// The node.
    pub node: u32,
    /// Paths that lead to it, not zero and no more than 2^63 - 1.
    pub paths: u64,
    /// Nodes that the step leads to, as often as it does so; not zero.
    pub rows: u32,
    /// Those that have a number.
    pub values: u32,
    /// The sum of their numbers.
    pub sum: i64,
}

/// Another device than the CPU, which keeps copies of relations and of columns.
pub trait TallyDevice: Send + Sync + std::fmt::Debug {
    /// Whether a job may be worth looking at which begins at so many of all nodes: before relations are made for it.
    fn may_pay(&self, nodes: u32, starts: f64) -> bool;

    /// Why the CPU is to do it; none where the device is faster.
    fn declines(&self, job: &TallyJob<'_>) -> Option<String>;

    /// What it would take there, for a plan.
    fn effort(&self, job: &TallyJob<'_>) -> String;

    /// Does it; `None` where the CPU has to, because a number is too large, the device failed (both of which it logs) or the token
    /// was cancelled.
    fn run(&self, job: &TallyJob<'_>, cancel: &CancelToken) -> Option<TallyAnswer>;
}
