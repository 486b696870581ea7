//! The GPU as patterns over a resident graph see it: a program of set operations over the copy of the graph and its columns.

use std::sync::Arc;

use graphlume_device::columns::{Device, DeviceColumn, Mask};
use graphlume_expr::{JobTest, RawCells, Side, TableArray};
use graphlume_graph::Topology;
use graphlume_store::{
    ChainAnswer, ChainColumn, ChainDevice, ChainHop, ChainJob, ChainStep, EdgeSet, NodeSet,
};
use graphlume_types::{CancelToken, DatasetId};
use rayon::prelude::*;

use super::chain_hops::{HopSets, Walk};
use super::chain_sets::{Along, ChainError, Edges, Nodes, Sets};
use super::tables::{predicate, upload};
use crate::context::EngineContext;
use crate::device::ColumnKey;
use crate::device::chain_work::ChainWork;
use crate::device::cost::slower;
use crate::device::gpu_device::GpuDevice;

/// The GPU, and the graph that it keeps a copy of.
pub(crate) struct ResidentChains {
    ctx: Arc<EngineContext>,
    key: (DatasetId, u32),
    /// Which of the columns that the graph has had.
    version: u32,
    topology: Arc<Topology>,
    /// Whether the table of nodes has what only edges name, too.
    drawn: bool,
}

impl std::fmt::Debug for ResidentChains {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResidentChains").field("dataset", &self.key.0).finish_non_exhaustive()
    }
}

impl ResidentChains {
    /// For the graph that `key` names; none without a GPU that can be used.
    pub(crate) fn of(
        ctx: &Arc<EngineContext>,
        key: (DatasetId, u32),
        version: u32,
        topology: &Arc<Topology>,
        drawn: bool,
    ) -> Option<Arc<dyn ChainDevice>> {
        ctx.usable_gpu()?;
        let (ctx, topology) = (ctx.clone(), topology.clone());
        Some(Arc::new(Self { ctx, key, version, topology, drawn }))
    }

    fn column_key(&self, column: &ChainColumn) -> ColumnKey {
        let of_edges = column.side == Side::Edges;
        ColumnKey {
            graph: self.key,
            version: self.version,
            of_edges,
            drawn: self.drawn && !of_edges,
            by_position: of_edges,
            name: column.name.clone(),
        }
    }

    /// Bytes of the columns, and of those that have to be copied first, with the graph.
    fn bytes(&self, gpu: &GpuDevice, job: &ChainJob<'_>) -> (u64, u64) {
        let t = &self.topology;
        let graph = graphlume_algo::gpu::GpuGraph::footprint(
            u64::from(t.num_nodes()),
            u64::from(t.num_edges()),
        );
        let missing = if gpu.has_graph(self.key) { 0 } else { graph };
        let columns = job.node_columns.iter().chain(&job.edge_columns);
        columns.fold((graph, missing), |(all, missing), column| {
            let rows = match column.side {
                Side::Nodes => job.node_rows,
                Side::Edges => t.num_edges() as usize,
            };
            let bytes = (column.cells().map_or(0, TableArray::width) * rows) as u64;
            let is_there = gpu.has_column(&self.column_key(column));
            (all + bytes, missing + if is_there { 0 } else { bytes })
        })
    }

    /// A column's copy on the device, in the order of the rows of nodes or of the positions of edges.
    fn column(
        &self,
        gpu: &GpuDevice,
        device: &Device,
        column: &ChainColumn,
    ) -> Result<Arc<DeviceColumn>, ChainError> {
        let cells = column.cells().ok_or_else(|| no_copy(column))?;
        let order = (column.side == Side::Edges).then(|| self.topology.out_row());
        let made = gpu.column(self.column_key(column), || {
            let valid = cells.valid();
            let Some(order) = order else {
                return upload(device, &cells.values(), valid.as_deref());
            };
            let valid = valid.map(|valid| ordered_bits(&valid, order));
            let ordered = match cells.values() {
                RawCells::Ints(v) => Ordered::Ints(ordered(v, order)),
                RawCells::Floats(v) => Ordered::Floats(ordered(v, order)),
                RawCells::Codes(v) => Ordered::Codes(ordered(v, order)),
                RawCells::Truths(v) => Ordered::Truths(ordered(&v, order)),
            };
            let cells = match &ordered {
                Ordered::Ints(v) => RawCells::Ints(v),
                Ordered::Floats(v) => RawCells::Floats(v),
                Ordered::Codes(v) => RawCells::Codes(v),
                Ordered::Truths(v) => RawCells::Truths(v.clone()),
            };
            upload(device, &cells, valid.as_deref())
        });
        Ok(made?)
    }

    fn answer(
        &self,
        gpu: &GpuDevice,
        job: &ChainJob<'_>,
        cancel: &CancelToken,
    ) -> Result<ChainAnswer, ChainError> {
        // A stream of its own: the slices of layouts do not wait behind it.
        let stream = gpu.gpu.stream()?;
        let device = Device::Cuda(stream.clone());
        let graph = gpu.graph(self.key, &self.topology)?;
        cancel.check()?;
        let copies = |columns: &[ChainColumn]| {
            let copies = columns.iter().map(|column| self.column(gpu, &device, column));
            copies.collect::<Result<Vec<_>, _>>()
        };
        let columns = [copies(&job.node_columns)?, copies(&job.edge_columns)?];
        cancel.check()?;
        gpu.with_room(|| {
            let (gpu, device, graph) = (stream.clone(), device.clone(), graph.clone());
            let sets = Sets { gpu, device, graph, cancel };
            let mut run = Run { sets: &sets, job, columns: &columns, made: Vec::new() };
            run.all()?;
            run.wanted()
        })
    }
}

/// Cells in the order of the adjacency.
enum Ordered {
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    Codes(Vec<u32>),
    Truths(Vec<u8>),
}

fn ordered<T: Copy + Default + Send + Sync>(cells: &[T], order: &[u32]) -> Vec<T> {
    order.par_iter().map(|row| cells.get(*row as usize).copied().unwrap_or_default()).collect()
}

fn ordered_bits(bits: &[u32], order: &[u32]) -> Vec<u32> {
    let bit = |row: &u32| bits.get(*row as usize / 32).is_some_and(|w| w >> (row % 32) & 1 == 1);
    let word = |rows: &[u32]| {
        rows.iter().enumerate().fold(0, |word, (i, row)| word | u32::from(bit(row)) << i)
    };
    order.par_chunks(32).map(word).collect()
}

/// A column of a type of which no device keeps copies: the program is wrong.
fn no_copy(column: &ChainColumn) -> ChainError {
    ChainError::Program(format!("the column {:?} has no form for a GPU", column.name))
}

/// A program as it runs.
struct Run<'a> {
    sets: &'a Sets<'a>,
    job: &'a ChainJob<'a>,
    /// Of nodes and of edges.
    columns: &'a [Vec<Arc<DeviceColumn>>; 2],
    /// What each step has made.
    made: Vec<(Option<Nodes>, Option<Edges>)>,
}

impl Run<'_> {
    fn nodes(&self, set: NodeSet) -> Result<Nodes, ChainError> {
        let made = self.made.get(set.0).and_then(|made| made.0.clone());
        made.ok_or_else(|| ChainError::Program(format!("step {} makes no nodes", set.0)))
    }

    fn edges(&self, set: EdgeSet) -> Result<Edges, ChainError> {
        let made = self.made.get(set.0).and_then(|made| made.1.clone());
        made.ok_or_else(|| ChainError::Program(format!("step {} makes no edges", set.0)))
    }

    fn all(&mut self) -> Result<(), ChainError> {
        for step in &self.job.steps {
            self.sets.cancel.check()?;
            let made = self.step(step)?;
            self.made.push(made);
        }
        Ok(())
    }

    fn filter(&self, side: usize, rows: usize, test: &JobTest) -> Result<Mask, ChainError> {
        let read: Vec<&DeviceColumn> = self.columns[side].iter().map(AsRef::as_ref).collect();
        Ok(self.sets.device.filter(rows, &read, &predicate(test), self.sets.cancel)?)
    }

    fn step(&self, step: &ChainStep) -> Result<(Option<Nodes>, Option<Edges>), ChainError> {
        let sets = self.sets;
        let nodes = |nodes| (Some(nodes), None);
        let edges = |edges| (None, Some(edges));
        Ok(match step {
            ChainStep::Existing => nodes(sets.first(self.job.existing)?),
            ChainStep::Given(list) => {
                nodes(sets.nodes_from_host(&graphlume_store::ids::IdSet::List(list.clone()))?)
            }
            ChainStep::Nodes(test) => {
                nodes(sets.widened(self.filter(0, self.job.node_rows, test)?)?)
            }
            ChainStep::Edges(test) => edges(Arc::new(self.filter(1, sets.num_edges(), test)?)),
            ChainStep::And(a, b) => nodes(sets.and(&self.nodes(*a)?, &self.nodes(*b)?)?),
            ChainStep::Or(all) => {
                let none = sets.no_nodes();
                nodes(all.iter().try_fold(none?, |some, set| sets.or(&some, &self.nodes(*set)?))?)
            }
            ChainStep::OrEdges(all) => {
                let none = sets.no_edges()?;
                let add = |some, set: &EdgeSet| sets.or_edges(&some, &self.edges(*set)?);
                edges(all.iter().try_fold(none, add)?)
            }
            ChainStep::Hop(hop) => {
                let (nodes, edges) = self.hop(hop)?;
                (Some(nodes), Some(edges))
            }
            ChainStep::Between(direction, of, from, to) => {
                let (of, from, to) = (self.edges(*of)?, self.nodes(*from)?, self.nodes(*to)?);
                let along = Along { direction: *direction, edges: Some(&of), from: &from, to: &to };
                edges(sets.kept(&along)?)
            }
            ChainStep::Left(direction, of) => nodes(sets.left(*direction, &self.edges(*of)?)?),
        })
    }

    fn hop(&self, hop: &ChainHop) -> Result<(Nodes, Edges), ChainError> {
        let edges = hop.edges.map(|set| self.edges(set)).transpose()?;
        if let (Some(all), Some(edges)) = (hop.unless_all, &edges) {
            let all = self.edges(all)?;
            if self.sets.count_edges(edges)? >= self.sets.count_edges(&all)? {
                return Ok((self.nodes(hop.seeds)?, edges.clone()));
            }
        }
        let of = HopSets {
            seeds: self.nodes(hop.seeds)?,
            from: self.nodes(hop.from)?,
            to: self.nodes(hop.to)?,
            last: self.nodes(hop.last)?,
            edges,
        };
        Walk { sets: self.sets, job: self.job, hop, of }.run()
    }

    fn wanted(&self) -> Result<ChainAnswer, ChainError> {
        let nodes = self.job.wanted_nodes.iter();
        let nodes = nodes.map(|set| self.sets.nodes_on_host(&self.nodes(*set)?));
        let edges = self.job.wanted_edges.iter();
        let edges = edges.map(|set| self.sets.on_host(self.edges(*set)?.as_ref()));
        Ok(ChainAnswer {
            nodes: nodes.collect::<Result<_, _>>()?,
            edges: edges.collect::<Result<_, _>>()?,
        })
    }
}

impl ChainDevice for ResidentChains {
    fn declines(&self, job: &ChainJob<'_>) -> Option<String> {
        let Some(gpu) = self.ctx.usable_gpu() else {
            return Some(self.ctx.why_gpu_lost().unwrap_or_else(|| "no GPU".to_owned()));
        };
        if !std::ptr::eq(job.topology, self.topology.as_ref()) {
            return Some("the GPU keeps another graph".to_owned());
        }
        let (bytes, missing) = self.bytes(gpu, job);
        let work = ChainWork::of(job, missing);
        let (need, limit) = (bytes + work.set_bytes, gpu.gpu.budget().limit());
        if need > limit {
            return Some(format!("the pattern takes {need} bytes and the GPU may hold {limit}"));
        }
        if self.ctx.config.gpu_edges_min == 0 {
            return None;
        }
        let threads = self.ctx.threads();
        let (cpu, own) = (work.cpu_us(threads), work.effort.gpu_us(gpu.gpu.info().sm_count));
        (own >= cpu).then(|| slower(cpu, own))
    }

    fn effort(&self, job: &ChainJob<'_>) -> String {
        let Some(gpu) = self.ctx.usable_gpu() else { return String::new() };
        ChainWork::of(job, self.bytes(gpu, job).1).effort.to_string()
    }

    fn run(&self, job: &ChainJob<'_>, cancel: &CancelToken) -> Option<ChainAnswer> {
        let gpu = self.ctx.usable_gpu()?;
        match self.answer(gpu, job, cancel) {
            Ok(answer) => Some(answer),
            Err(error) if error.is_stopped() => None,
            Err(error @ ChainError::TooDeep(_)) => {
                tracing::info!(dataset = %self.key.0, %error, "a pattern is answered by the CPU instead of the GPU");
                None
            }
            Err(error) => {
                tracing::warn!(dataset = %self.key.0, %error, "a pattern is answered by the CPU instead of the GPU");
                None
            }
        }
    }
}
