//! Threads for work that is not the loop's: the worker pools, the scheduler of queries and the CPU pool.

use std::sync::Arc;
use std::thread::JoinHandle;

use graphlume_device::CpuPool;
use graphlume_types::limits;

use crate::context::EngineContext;
use crate::query_scheduler::QueryScheduler;
use crate::workers::WorkerPool;

/// The worker pools, by what they do.
pub(crate) struct WorkerPools {
    /// Loads datasets and places nodes.
    pub(crate) loaders: WorkerPool,
    /// Slices of layouts on the CPU.
    pub(crate) layouts: WorkerPool,
    /// Slices of layouts on the GPU.
    pub(crate) device: WorkerPool,
    /// Reads graphs where that takes milliseconds: cards, names, searches, edges.
    pub(crate) readers: WorkerPool,
    /// Draws pictures: one at a time, with threads of its own to compute on, at low priority.
    pub(crate) pictures: WorkerPool,
    /// What no caller waits for: communities, freeing device memory.
    pub(crate) background: WorkerPool,
    /// Algorithms that datasets name, at low priority, each thread with a CPU pool of its own.
    pub(crate) jobs: WorkerPool,
    /// Writes checkpoints, one after the other.
    pub(crate) checkpoint_writers: WorkerPool,
    /// Reads them again.
    pub(crate) checkpoint_readers: WorkerPool,
}

/// The threads of the engine beside the loop.
pub(crate) struct Scheduler {
    cpu: Arc<CpuPool>,
    pools: WorkerPools,
    queries: QueryScheduler,
}

impl Scheduler {
    /// # Errors
    /// When the operating system gives no threads.
    pub(crate) fn start(ctx: &Arc<EngineContext>, cpu: Arc<CpuPool>) -> std::io::Result<Self> {
        let config = &ctx.config;
        let pool = |name, count, limit| WorkerPool::start(name, count, limit, ctx);
        let pools = WorkerPools {
            loaders: pool("load", config.loader_threads, limits::LOADS_QUEUED_MAX)?,
            layouts: pool("layout", config.layout_threads, config.layout_threads.max(1) * 2)?,
            // One at a time: what runs on the device runs on one stream after the other anyway.
            device: pool("device", 1, 2)?,
            readers: pool("query", config.query_threads, limits::JOBS_QUEUED_MAX)?,
            pictures: WorkerPool::start_apart("picture", 1, limits::JOBS_QUEUED_MAX, ctx)?,
            background: pool("background", 1, limits::JOBS_QUEUED_MAX)?,
            jobs: WorkerPool::start_apart(
                "job",
                limits::DATASET_JOBS_AT_ONCE,
                limits::DATASET_JOBS_AT_ONCE,
                ctx,
            )?,
            checkpoint_writers: pool("keep", 1, limits::JOBS_QUEUED_MAX)?,
            checkpoint_readers: pool("restore", 1, limits::JOBS_QUEUED_MAX)?,
        };
        Ok(Self { cpu, pools, queries: QueryScheduler::start(ctx)? })
    }

    /// The threads that compute, for what is computed in parallel.
    pub(crate) const fn cpu(&self) -> &Arc<CpuPool> {
        &self.cpu
    }

    pub(crate) const fn pools(&self) -> &WorkerPools {
        &self.pools
    }

    pub(crate) const fn queries(&self) -> &QueryScheduler {
        &self.queries
    }

    /// Jobs and queries that wait, without loads and layouts.
    pub(crate) fn jobs_waiting(&self) -> usize {
        let pools = [&self.pools.readers, &self.pools.pictures, &self.pools.background];
        self.queries.depth() + pools.map(WorkerPool::depth).into_iter().sum::<usize>()
    }

    /// Lets the threads go and waits for them, except for those that may not come back.
    pub(crate) fn close(mut self, waits_for_device: bool) {
        // Loaders run code of others and may take long to notice: their end is not waited for.
        drop(self.pools.loaders.close());
        // So may algorithms.
        drop(self.pools.jobs.close());
        let device = self.pools.device.close();
        if waits_for_device {
            device.into_iter().for_each(|thread| drop(thread.join()));
        }
        let pools = [
            &mut self.pools.layouts,
            &mut self.pools.readers,
            &mut self.pools.pictures,
            &mut self.pools.background,
            &mut self.pools.checkpoint_writers,
            &mut self.pools.checkpoint_readers,
        ];
        let mut threads: Vec<JoinHandle<()>> =
            pools.into_iter().flat_map(WorkerPool::close).collect();
        threads.extend(self.queries.close());
        drop(threads);
    }
}
