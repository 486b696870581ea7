//! What work over a whole table costs on the CPU and on a GPU, in microseconds: the one place where that is decided.
//!
//! The CPU's rates are those of bench/results/2026-11-26-columns.md. The GPU's are what its memory and the driver allow
//! (bench/results/h200-predicted.md); they were not measured on a card yet.

use graphlume_store::{ChainHop, ChainJob, ChainStep, NodeSet};

/// Microseconds of one thread for a condition, or an aggregate, on a million cells.
const CPU_CELLS_US: f64 = 1_600.0;
/// Microseconds until a CPU's threads have begun.
const CPU_START_US: f64 = 20.0;
/// Bytes in a microsecond that a multiprocessor reads from device memory, at half of what an H200's reads.
const GPU_BYTES_US: f64 = 16_000.0;
/// Microseconds from the launch of a kernel to the next.
const GPU_LAUNCH_US: f64 = 3.5;
/// Microseconds that a result takes to the host.
const GPU_RESULT_US: f64 = 30.0;
/// Bytes in a microsecond over the bus.
const BUS_BYTES_US: f64 = 8_000.0;
/// Queries that a copy is expected to serve, and so share its cost.
const USES: f64 = 8.0;

/// What a job asks of a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Effort {
    /// Kernels.
    pub(crate) launches: usize,
    /// Results that are waited for.
    pub(crate) results: usize,
    /// Bytes of these results.
    pub(crate) result_bytes: usize,
    /// Bytes of device memory that kernels read and write.
    pub(crate) memory_bytes: usize,
    /// Bytes of copies that are not on the device yet.
    pub(crate) missing_bytes: usize,
}

impl Effort {
    /// Microseconds on a GPU of this many multiprocessors.
    pub(crate) fn gpu_us(&self, multiprocessors: u32) -> f64 {
        self.memory_bytes as f64 / (GPU_BYTES_US * f64::from(multiprocessors.max(1)))
            + self.launches as f64 * GPU_LAUNCH_US
            + self.results as f64 * GPU_RESULT_US
            + self.result_bytes as f64 / BUS_BYTES_US
            + self.missing_bytes as f64 / BUS_BYTES_US / USES
    }
}

/// Microseconds of a CPU with so many threads for so many cells, each of which takes part in a condition or an aggregate.
pub(crate) fn cpu_cells_us(cells: usize, threads: usize) -> f64 {
    CPU_START_US + cells as f64 / 1e6 * CPU_CELLS_US / threads.max(1) as f64
}

/// Microseconds of one thread for a million edges that a hop looks at.
const CPU_ARCS_US: f64 = 4_000.0;
/// Bytes that the kernel of hops moves for an edge: its end, and its part of masks of nodes that are cached.
const ARC_BYTES: f64 = 8.0;
/// The part of the rows that a condition is expected to leave.
const LEFT_PART: f64 = 0.25;
/// Kernels of a hop: the hop itself, and what is done with masks before and after it.
const HOP_LAUNCHES: usize = 5;
/// Hops that a walk without a bound is expected to take.
const HOPS_UNBOUND: u32 = 8;

/// Work of a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ChainWork {
    /// Conditions on single columns of nodes and of edges.
    node_leaves: usize,
    edge_leaves: usize,
    nodes: usize,
    /// Whether hops begin at nodes that are named, so that the CPU tests only what it meets.
    is_given: bool,
    /// Bytes of the cells that the GPU tests: all.
    cell_bytes: f64,
    /// Edges that the CPU looks at: those of the nodes where hops begin.
    arcs: f64,
    /// Hops, each of which looks at all edges on the GPU.
    hops: usize,
    edges: usize,
    launches: usize,
    /// Results that are waited for, and their bytes.
    results: usize,
    result_bytes: f64,
    missing_bytes: f64,
    /// Bytes of all sets.
    pub(crate) set_bytes: u64,
}

/// The work of a job, for which so many bytes have to be copied first.
pub(crate) fn chain_work(job: &ChainJob<'_>, missing_bytes: u64) -> ChainWork {
    let (n, m) = (job.topology.num_nodes() as usize, job.topology.num_edges() as usize);
    let (node_bytes, edge_bytes) = (n.div_ceil(8), m.div_ceil(8));
    let mut work = ChainWork {
        nodes: job.node_rows,
        edges: m,
        missing_bytes: missing_bytes as f64,
        results: job.wanted_nodes.len() + job.wanted_edges.len(),
        result_bytes: (node_bytes * job.wanted_nodes.len() + edge_bytes * job.wanted_edges.len())
            as f64,
        ..ChainWork::default()
    };
    // Edges at the nodes of each set, by the number of its step.
    let mut at: Vec<f64> = Vec::with_capacity(job.steps.len());
    let known = |at: &[f64], set: NodeSet| at.get(set.0).copied().unwrap_or(m as f64);
    for step in &job.steps {
        let edges = match step {
            ChainStep::Existing => m as f64,
            ChainStep::Given(list) => {
                work.is_given = true;
                let degree = |v: &u32| f64::from(job.topology.degree(*v));
                list.iter().map(degree).sum()
            }
            ChainStep::Nodes(test) => {
                work.node_leaves += test.leaves();
                work.filter(job.node_rows, test.leaves());
                m as f64 * LEFT_PART
            }
            ChainStep::Edges(test) => {
                work.edge_leaves += test.leaves();
                work.filter(m, test.leaves());
                m as f64
            }
            ChainStep::And(a, b) => known(&at, *a).min(known(&at, *b)),
            ChainStep::Or(all) => all.iter().map(|set| known(&at, *set)).fold(0.0, f64::max),
            ChainStep::Hop(hop) => work.hop(hop, known(&at, hop.seeds), job),
            ChainStep::Between(_, _, a, b) => {
                work.arcs += known(&at, *a).min(known(&at, *b));
                work.pass();
                m as f64
            }
            ChainStep::Left(..) => {
                work.pass();
                m as f64
            }
            ChainStep::OrEdges(_) => m as f64,
        };
        work.launches += 1;
        work.set_bytes += (node_bytes + edge_bytes) as u64;
        at.push(edges);
    }
    work
}

impl ChainWork {
    fn filter(&mut self, rows: usize, leaves: usize) {
        self.cell_bytes += (rows * leaves * 8) as f64;
        self.launches += leaves;
    }

    fn pass(&mut self) {
        self.hops += 1;
        self.launches += 1;
    }

    /// A hop, or several; the edges at the nodes that it reaches.
    fn hop(&mut self, hop: &ChainHop, at_seeds: f64, job: &ChainJob<'_>) -> f64 {
        let m = f64::from(job.topology.num_edges());
        let degree = 2.0 * m / f64::from(job.topology.num_nodes().max(1));
        let mut arcs = at_seeds.min(m);
        for taken in 1..=hop.max.unwrap_or(HOPS_UNBOUND).min(HOPS_UNBOUND) {
            self.arcs += arcs;
            arcs = (arcs * degree.max(1.0)).min(m);
            self.hops += 1;
            self.launches += HOP_LAUNCHES;
            // Whether there is another hop to take.
            self.results += usize::from(hop.max != Some(taken));
        }
        // The ends of the edges.
        self.pass();
        arcs
    }

    /// On this many threads.
    pub(crate) fn cpu_us(&self, threads: usize) -> f64 {
        let threads = threads.max(1) as f64;
        let met =
            |rows: usize| if self.is_given { (rows as f64).min(self.arcs) } else { rows as f64 };
        let cells = met(self.nodes) * self.node_leaves as f64
            + (self.edges as f64).min(self.arcs) * self.edge_leaves as f64;
        let start = if self.is_given { 0.0 } else { CPU_START_US };
        start + (cells * CPU_CELLS_US + self.arcs * CPU_ARCS_US) / 1e6 / threads
    }

    /// On a GPU of this many multiprocessors.
    pub(crate) fn gpu_us(&self, multiprocessors: u32) -> f64 {
        let read = self.cell_bytes + self.hops as f64 * self.edges as f64 * ARC_BYTES;
        read / (GPU_BYTES_US * f64::from(multiprocessors.max(1)))
            + self.launches as f64 * GPU_LAUNCH_US
            + self.results as f64 * GPU_RESULT_US
            + self.result_bytes / BUS_BYTES_US
            + self.missing_bytes / BUS_BYTES_US / USES
    }

    /// What is said of a job that the CPU does sooner.
    pub(crate) fn slower(cpu: f64, own: f64) -> String {
        format!("the CPU takes {cpu:.0} microseconds and the GPU {own:.0} by estimate")
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
            let work = chain_work(job, missing);
            work.gpu_us(H200) < work.cpu_us(threads)
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
        // What is not there yet is worth its way for two threads, and for sixteen it is not.
        let bytes = 2_000_000 * (12 + 16);
        assert!(is_faster(&chain(&large, None, 1), bytes, 2));
        assert!(!is_faster(&chain(&large, None, 1), bytes, 16));
    }
}
