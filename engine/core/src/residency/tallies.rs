//! The GPU as counts of paths over a resident graph see it: copies of its relations and of the columns that conditions read.

use std::collections::HashSet;
use std::sync::Arc;

use graphlume_algo::AlgoError;
use graphlume_algo::gpu::relation::Relation;
use graphlume_algo::gpu::tally::Count;
use graphlume_device::columns::Device;
use graphlume_expr::TableJob;
use graphlume_store::{TallyAnswer, TallyDevice, TallyJob, TallyMarks, TallyRelation, TallyWanted};
use graphlume_types::{CancelToken, DatasetId};

use super::chain_sets::ChainError;
use super::tables::ResidentTables;
use super::tally_run::{self, Copies};
use crate::context::EngineContext;
use crate::device::RelationKey;
use crate::device::cost::slower;
use crate::device::gpu_device::GpuDevice;
use crate::device::tally_work::TallyWork;

/// Nodes below which the CPU counts before a kernel has begun.
const NODES_MIN: u32 = 1 << 13;
/// The part of all nodes at which paths begin at least, so that it is worth while to look at all.
const STARTS_PART: f64 = 64.0;

/// The GPU, and the graph whose paths it counts.
#[derive(Debug)]
pub(crate) struct ResidentTallies {
    tables: ResidentTables,
}

impl ResidentTallies {
    /// For the graph that `key` names; none without a GPU that can be used.
    pub(crate) fn of(
        ctx: &Arc<EngineContext>,
        key: (DatasetId, u32),
        version: u32,
        drawn: bool,
    ) -> Option<Arc<dyn TallyDevice>> {
        ctx.usable_gpu()?;
        Some(Arc::new(Self { tables: ResidentTables::new(ctx.clone(), key, version, drawn) }))
    }

    fn ctx(&self) -> &EngineContext {
        &self.tables.ctx
    }

    fn relation_key(&self, relation: &TallyRelation) -> RelationKey {
        let ResidentTables { key, version, drawn, .. } = self.tables;
        RelationKey { graph: key, version, drawn, types: relation.types.clone() }
    }

    /// Bytes of all that the job takes, and of the copies that have to be made first.
    fn bytes(&self, gpu: &GpuDevice, job: &TallyJob<'_>) -> (u64, u64) {
        let nodes = u64::from(job.num_nodes);
        let room = match job.wanted {
            TallyWanted::Each | TallyWanted::First(_) if job.fold.is_none() => nodes,
            _ => 0,
        };
        let marks = job.marks.len() as u64 * nodes.div_ceil(8);
        let (mut all, mut missing) = (Count::footprint(nodes, room) + marks, 0);
        let mut add = |bytes: u64, is_there: bool| {
            all += bytes;
            missing += if is_there { 0 } else { bytes };
        };
        let mut seen = HashSet::new();
        for relation in relations(job) {
            let key = self.relation_key(relation);
            let edges = u64::from(relation.topology.num_edges());
            let is_there = gpu.has_relation(&key);
            if seen.insert(key) {
                add(Relation::footprint(nodes, edges, relation.loops.len() as u64), is_there);
            }
        }
        if let Some(fold) = &job.fold {
            add(Count::sums_footprint(nodes, tally_run::fold_room(fold) as u64), true);
        }
        let mut seen = HashSet::new();
        let numbers = job.fold.iter().map(|fold| &fold.column);
        for column in tables(job).flat_map(|marks| &marks.columns).chain(numbers) {
            let key = self.tables.column_key(column);
            let is_there = gpu.has_column(&key);
            if seen.insert(key) {
                add(column.cells.width() as u64 * nodes, is_there);
            }
        }
        (all, missing)
    }

    fn answer(
        &self,
        gpu: &GpuDevice,
        job: &TallyJob<'_>,
        cancel: &CancelToken,
    ) -> Result<Option<TallyAnswer>, ChainError> {
        // A stream of its own: the slices of layouts do not wait behind it.
        let stream = gpu.gpu.stream()?;
        let device = Device::Cuda(stream.clone());
        let columns = |marks: &TallyMarks<'_>| match marks {
            TallyMarks::Table(marks) => self.tables.copies(gpu, &device, marks),
            TallyMarks::Nodes(_) => Ok(Vec::new()),
        };
        let columns = job.marks.iter().map(columns).collect::<Result<_, _>>()?;
        let fold = job.fold.as_ref();
        let numbers = fold.map(|fold| self.tables.copy(gpu, &device, &fold.column)).transpose()?;
        cancel.check()?;
        let relations = relations(job).map(|relation| {
            gpu.relation(self.relation_key(relation), |gpu| {
                Ok::<_, AlgoError>(Relation::upload(gpu, &relation.topology, &relation.loops)?)
            })
        });
        let relations = relations.collect::<Result<_, _>>()?;
        cancel.check()?;
        let copies = Copies { columns, relations, numbers };
        gpu.with_room(|| tally_run::run((&stream, &device), job, &copies, cancel))
    }
}

/// The conditions that are tested on the device.
fn tables<'j, 't>(job: &'j TallyJob<'t>) -> impl Iterator<Item = &'j TableJob<'t>> {
    job.marks.iter().filter_map(|marks| match marks {
        TallyMarks::Table(marks) => Some(marks),
        TallyMarks::Nodes(_) => None,
    })
}

/// The relations of all steps, those of branches first and that of the fold last.
fn relations<'j>(job: &'j TallyJob<'_>) -> impl Iterator<Item = &'j TallyRelation> {
    let branches = job.branches.iter().flat_map(|branch| &branch.steps);
    let fold = job.fold.iter().map(|fold| &fold.step);
    branches.chain(&job.steps).chain(fold).map(|step| &step.relation)
}

impl TallyDevice for ResidentTallies {
    fn may_pay(&self, nodes: u32, starts: f64) -> bool {
        self.ctx().config.gpu_edges_min == 0
            || nodes >= NODES_MIN && starts * STARTS_PART >= f64::from(nodes)
    }

    fn declines(&self, job: &TallyJob<'_>) -> Option<String> {
        let ctx = self.ctx();
        let Some(gpu) = ctx.usable_gpu() else {
            return Some(ctx.why_gpu_lost().unwrap_or_else(|| "no GPU".to_owned()));
        };
        let (need, missing) = self.bytes(gpu, job);
        let limit = gpu.gpu.budget().limit();
        if need > limit {
            return Some(format!("the count takes {need} bytes and the GPU may hold {limit}"));
        }
        if ctx.config.gpu_edges_min == 0 {
            return None;
        }
        let work = TallyWork::of(job, missing);
        let (cpu, own) = (work.cpu_us(ctx.threads()), work.effort.gpu_us(gpu.gpu.info().sm_count));
        (own >= cpu).then(|| slower(cpu, own))
    }

    fn effort(&self, job: &TallyJob<'_>) -> String {
        let Some(gpu) = self.ctx().usable_gpu() else { return String::new() };
        TallyWork::of(job, self.bytes(gpu, job).1).effort.to_string()
    }

    fn run(&self, job: &TallyJob<'_>, cancel: &CancelToken) -> Option<TallyAnswer> {
        let gpu = self.ctx().usable_gpu()?;
        let dataset = self.tables.key.0;
        match self.answer(gpu, job, cancel) {
            Ok(Some(answer)) => Some(answer),
            Ok(None) => {
                tracing::info!(%dataset, "a number of paths is beyond 63 bits: counted by the CPU instead of the GPU");
                None
            }
            Err(error) if error.is_stopped() => None,
            Err(error) => {
                tracing::warn!(%dataset, %error, "paths are counted by the CPU instead of the GPU");
                None
            }
        }
    }
}
