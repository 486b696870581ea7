//! Work of a chain on either side: the kernels of `residency/chains.rs` and `residency/chain_hops.rs`, counted before they
//! run. Walks that may end early, because nothing more is reached, are counted to their bound, and to [`HOPS_EXPECTED`] at
//! most: a bound far above that is there to be safe, and says little of where a walk ends.

use graphlume_graph::Direction;
use graphlume_store::{ChainHop, ChainJob, ChainStep, NodeSet};

use super::cost::{COUNT_BYTES, Effort, cpu_hops_us};

/// Bytes that the kernel of hops moves for an edge: its end, and its part of masks of nodes that are cached.
const ARC_BYTES: usize = 8;
/// Bytes of a cell that a condition reads.
const CELL_BYTES: usize = 8;
/// The part of the rows that a condition is expected to leave.
const LEFT_PART: f64 = 0.25;
/// Hops that a walk without a bound, or with a higher one, is expected to take.
const HOPS_EXPECTED: u32 = 8;

/// Work of a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ChainWork {
    /// On a GPU.
    pub(crate) effort: Effort,
    /// Bytes of all sets.
    pub(crate) set_bytes: u64,
    /// Conditions on single columns of nodes and of edges.
    node_leaves: usize,
    edge_leaves: usize,
    nodes: usize,
    edges: usize,
    /// Whether hops begin at nodes that are named, so that the CPU tests only what it meets.
    is_given: bool,
    /// Edges that the CPU looks at: those of the nodes where hops begin.
    arcs: f64,
}

impl ChainWork {
    /// For a job, for which so many bytes have to be copied first.
    pub(crate) fn of(job: &ChainJob<'_>, missing_bytes: u64) -> Self {
        let mut counting = Counting {
            job,
            work: Self {
                nodes: job.node_rows,
                edges: job.topology.num_edges() as usize,
                effort: Effort { missing_bytes: missing_bytes as usize, ..Effort::default() },
                ..Self::default()
            },
            made: Vec::with_capacity(job.steps.len()),
        };
        for step in &job.steps {
            let made = counting.step(step);
            counting.made.push(made);
        }
        let all = |set: &NodeSet| counting.set(*set).is_all;
        let masks = job.wanted_nodes.iter().filter(|set| !all(set)).count();
        (0..masks).for_each(|_| counting.result(counting.node_bytes()));
        job.wanted_edges.iter().for_each(|_| counting.result(counting.edge_bytes()));
        counting.work
    }

    /// Microseconds on this many threads.
    pub(crate) fn cpu_us(&self, threads: usize) -> f64 {
        let met =
            |rows: usize| if self.is_given { (rows as f64).min(self.arcs) } else { rows as f64 };
        let cells = met(self.nodes) * self.node_leaves as f64
            + (self.edges as f64).min(self.arcs) * self.edge_leaves as f64;
        cpu_hops_us(cells, self.arcs, !self.is_given, threads)
    }
}

/// What a step makes.
#[derive(Clone, Copy)]
struct Made {
    /// Edges at its nodes.
    arcs: f64,
    /// Whether these are every node, for which there is no mask.
    is_all: bool,
    /// The step that made the nodes, where this one only names them again.
    same_as: Option<usize>,
    /// Whether hops have led to these nodes, so that most have an edge to another of them.
    is_reached: bool,
    /// Of a hop: the step that made the nodes where it begins.
    seeds: Option<usize>,
}

impl Made {
    const fn new(arcs: f64) -> Self {
        Self { arcs, is_all: false, same_as: None, is_reached: false, seeds: None }
    }
}

/// Hops that a walk is counted with.
fn expected(hop: &ChainHop) -> u32 {
    hop.max.unwrap_or(HOPS_EXPECTED).min(HOPS_EXPECTED)
}

struct Counting<'j> {
    job: &'j ChainJob<'j>,
    work: ChainWork,
    /// By the number of the step.
    made: Vec<Made>,
}

impl Counting<'_> {
    const fn edges(&self) -> f64 {
        self.work.edges as f64
    }

    fn node_bytes(&self) -> usize {
        (self.job.topology.num_nodes() as usize).div_ceil(32) * 4
    }

    const fn edge_bytes(&self) -> usize {
        self.work.edges.div_ceil(32) * 4
    }

    fn set(&self, set: NodeSet) -> Made {
        self.made.get(set.0).copied().unwrap_or(Made::new(self.edges()))
    }

    /// The step that made the nodes of a set.
    fn origin(&self, set: NodeSet) -> usize {
        self.set(set).same_as.unwrap_or(set.0)
    }

    fn launch(&mut self, bytes: usize) {
        self.work.effort.launches += 1;
        self.work.effort.memory_bytes += bytes;
    }

    const fn result(&mut self, bytes: usize) {
        self.work.effort.results += 1;
        self.work.effort.result_bytes += bytes;
    }

    /// A set of nodes made of two others; every node is none that is looked at.
    fn with_nodes(&mut self, a_is_all: bool, b_is_all: bool) {
        if !a_is_all && !b_is_all {
            self.launch(3 * self.node_bytes());
        }
    }

    fn of_nodes(&mut self) {
        self.launch(3 * self.node_bytes());
    }

    fn of_edges(&mut self) {
        self.launch(3 * self.edge_bytes());
    }

    fn count(&mut self, bytes: usize) {
        self.launch(bytes);
        self.result(COUNT_BYTES);
    }

    /// A look at all edges.
    fn follow(&mut self) {
        self.launch(self.work.edges * ARC_BYTES);
    }

    fn filter(&mut self, rows: usize, leaves: usize) {
        self.launch(rows * leaves * CELL_BYTES);
    }

    fn step(&mut self, step: &ChainStep) -> Made {
        self.work.set_bytes += (self.node_bytes() + self.edge_bytes()) as u64;
        let nodes = Made::new;
        let edges = self.edges();
        match step {
            ChainStep::Existing => {
                let is_all = self.job.existing >= self.job.topology.num_nodes();
                if !is_all {
                    self.launch(self.node_bytes());
                }
                Made { is_all, ..nodes(edges) }
            }
            ChainStep::Given(list) => {
                self.work.is_given = true;
                nodes(list.iter().map(|v| f64::from(self.job.topology.degree(*v))).sum())
            }
            ChainStep::Nodes(test) => {
                self.work.node_leaves += test.leaves();
                self.filter(self.job.node_rows, test.leaves());
                nodes(edges * LEFT_PART)
            }
            ChainStep::Edges(test) => {
                self.work.edge_leaves += test.leaves();
                self.filter(self.work.edges, test.leaves());
                nodes(edges)
            }
            ChainStep::And(a, b) => {
                let origins = [*a, *b].map(|set| self.origin(set));
                let (a, b) = (self.set(*a), self.set(*b));
                self.with_nodes(a.is_all, b.is_all);
                let same_as = match (a.is_all, b.is_all) {
                    (_, true) => Some(origins[0]),
                    (true, _) => Some(origins[1]),
                    _ => None,
                };
                let is_all = a.is_all && b.is_all;
                let is_reached =
                    (a.is_reached || a.is_all) && (b.is_reached || b.is_all) && !is_all;
                Made { is_all, same_as, is_reached, ..nodes(a.arcs.min(b.arcs)) }
            }
            ChainStep::Or(all) => self.any_of(all),
            ChainStep::OrEdges(all) => {
                self.launch(self.edge_bytes());
                all.iter().for_each(|_| self.of_edges());
                nodes(edges)
            }
            ChainStep::Hop(hop) => {
                let met = self.cpu_hop(hop);
                self.hop(hop);
                Made { is_reached: true, seeds: Some(self.origin(hop.seeds)), ..nodes(met) }
            }
            ChainStep::Between(_, _, a, b) => {
                self.work.arcs += self.set(*a).arcs.min(self.set(*b).arcs);
                self.follow();
                nodes(edges)
            }
            ChainStep::Left(..) => {
                self.follow();
                Made { is_reached: true, ..nodes(edges) }
            }
        }
    }

    fn any_of(&mut self, all: &[NodeSet]) -> Made {
        self.launch(self.node_bytes());
        let mut made = Made::new(0.0);
        for set in all.iter().map(|set| self.set(*set)).collect::<Vec<_>>() {
            self.with_nodes(made.is_all, set.is_all);
            let is_all = made.is_all || set.is_all;
            made = Made { is_all, ..Made::new(made.arcs.max(set.arcs)) };
        }
        made
    }

    /// The edges that the CPU looks at for a hop, or several; gives those at the nodes that it reaches.
    fn cpu_hop(&mut self, hop: &ChainHop) -> f64 {
        let degree = 2.0 * self.edges() / f64::from(self.job.topology.num_nodes().max(1));
        let mut arcs = self.set(hop.seeds).arcs.min(self.edges());
        for _ in 0..expected(hop) {
            self.work.arcs += arcs;
            arcs = (arcs * degree.max(1.0)).min(self.edges());
        }
        arcs
    }

    fn hop(&mut self, hop: &ChainHop) {
        if let (Some(all), Some(edges)) = (hop.unless_all, hop.edges) {
            (0..2).for_each(|_| self.count(self.edge_bytes()));
            // The way back began wherever the way ahead had led, and so it took all of its edges.
            let back = self.made.get(edges.0).and_then(|made| made.seeds);
            if back == Some(all.0) || hop.max == Some(0) {
                return;
            }
        }
        if hop.max == Some(0) {
            if hop.stays {
                self.stay(hop);
            } else {
                self.launch(self.node_bytes());
            }
            return self.launch(self.edge_bytes());
        }
        if hop.min > 1 {
            self.far(hop);
        } else {
            self.near(hop);
        }
        self.close(hop);
    }

    fn stay(&mut self, hop: &ChainHop) {
        let [seeds, from, last] = [hop.seeds, hop.from, hop.last].map(|set| self.set(set).is_all);
        self.with_nodes(seeds, from);
        self.with_nodes(seeds && from, last);
    }

    /// One hop of a walk, the first of which begins at the seeds.
    fn walk_step(&mut self, hop: &ChainHop, is_first: bool) {
        let (seeds, from) = (self.set(hop.seeds).is_all, self.set(hop.from).is_all);
        self.with_nodes(is_first && seeds, from);
        self.follow();
    }

    fn near(&mut self, hop: &ChainHop) {
        for taken in 1..=expected(hop) {
            let is_last = hop.max == Some(taken);
            self.walk_step(hop, taken == 1);
            if taken > 1 {
                self.of_nodes();
            }
            if !is_last {
                if taken > 1 {
                    self.of_nodes();
                }
                self.count(self.node_bytes());
            }
        }
    }

    fn far(&mut self, hop: &ChainHop) {
        self.launch(self.node_bytes());
        self.launch(self.edge_bytes());
        let hops = expected(hop).max(hop.min);
        for taken in 1..=hops {
            self.walk_step(hop, taken == 1);
            (0..2).for_each(|_| self.of_edges());
            (0..2).for_each(|_| self.count(self.node_bytes()));
            (0..2).for_each(|_| self.of_nodes());
        }
        // What does not get far enough goes.
        (0..hops).for_each(|_| self.count(self.edge_bytes()));
        self.launch(self.node_bytes());
        for taken in 1..=hops {
            self.follow();
            if taken >= hop.min {
                self.of_nodes();
            }
            if hop.direction == Direction::Undirected || taken > 1 {
                self.of_nodes();
            }
        }
        self.of_nodes();
    }

    /// The ends of the edges, and the seeds that are met again.
    fn close(&mut self, hop: &ChainHop) {
        self.follow();
        self.of_nodes();
        let [seeds, from, last] = [hop.seeds, hop.from, hop.last].map(|set| self.set(set).is_all);
        if hop.stays && hop.min == 0 {
            self.stay(hop);
            self.with_nodes(false, seeds && from && last);
        }
        if hop.min >= 1 {
            if hop.direction == Direction::Undirected && hop.max != Some(1) {
                for _ in 0..2 {
                    self.follow();
                    self.count(self.node_bytes());
                }
                if !seeds && !self.set(hop.seeds).is_reached {
                    // Some seed has no edge to another, and the host looks at the components.
                    self.result(self.edge_bytes());
                    self.result(self.node_bytes());
                }
                self.of_nodes();
            }
            // Without every node there is none left, which is a mask like another.
            self.of_nodes();
            self.of_nodes();
        }
    }
}

#[cfg(test)]
mod tests {
    use graphlume_expr::{Cmp, Constant, JobTest};
    use graphlume_graph::{Direction, Topology};
    use graphlume_store::EdgeSet;
    use graphlume_types::hash::h64;

    use super::*;

    const H200: u32 = 132;

    /// Nodes that pass a test or are given, hops along edges that pass another, and any nodes.
    fn chain(topology: &Topology, given: Option<Vec<u32>>, hops: u32) -> ChainJob<'_> {
        let test = || JobTest::Compare(0, Cmp::Gt, Constant::Int(5));
        let hop = ChainHop {
            direction: Direction::Forward,
            min: 1,
            max: Some(hops),
            seeds: NodeSet(2),
            from: NodeSet(0),
            to: NodeSet(0),
            last: NodeSet(0),
            edges: Some(EdgeSet(1)),
            unless_all: None,
            stays: false,
        };
        ChainJob {
            topology,
            existing: topology.num_nodes(),
            node_rows: topology.num_nodes() as usize,
            node_columns: vec![],
            edge_columns: vec![],
            steps: vec![
                ChainStep::Existing,
                ChainStep::Edges(test()),
                given.map_or_else(|| ChainStep::Nodes(test()), ChainStep::Given),
                ChainStep::Hop(hop),
            ],
            wanted_nodes: vec![NodeSet(3)],
            wanted_edges: vec![EdgeSet(3)],
            rediscovered: |_, _, seeds| seeds.clone(),
        }
    }

    #[test]
    fn patterns_over_much_of_a_large_graph_go_to_the_gpu() {
        let graph = |n: u32, m: u64| {
            let end = |stream| (0..m).map(|i| (h64(1, stream, i) % u64::from(n)) as u32).collect();
            let (src, dst): (Vec<u32>, Vec<u32>) = (end(1), end(2));
            Topology::from_coo(n, &src, &dst)
        };
        let (small, large) = (graph(200, 1_000), graph(200_000, 2_000_000));
        let is_faster = |job: &ChainJob<'_>, missing, threads| {
            let work = ChainWork::of(job, missing);
            work.effort.gpu_us(H200) < work.cpu_us(threads)
        };
        for threads in [2, 16] {
            for hops in [1, 3] {
                assert!(!is_faster(&chain(&small, None, hops), 0, threads));
                assert!(is_faster(&chain(&large, None, hops), 0, threads), "{threads} {hops}");
            }
        }
        // The edges at a given node are counted, and the CPU tests no others.
        assert!(!is_faster(&chain(&large, Some(vec![3]), 2), 0, 2));
        assert!(is_faster(&chain(&large, Some((0..60_000).collect()), 2), 0, 2));
        // A bound that no walk comes near costs no more than none.
        assert!(is_faster(&chain(&large, None, 10_000), 0, 16));
        // What is not there yet is worth its way for two threads, and for sixteen it is not.
        let bytes = 2_000_000 * (12 + 16);
        assert!(is_faster(&chain(&large, None, 1), bytes, 2));
        assert!(!is_faster(&chain(&large, None, 1), bytes, 16));
    }
}
