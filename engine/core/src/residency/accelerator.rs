//! The GPU as algorithms over a resident graph see it.

use std::sync::Arc;

use graphlume_algo::Work;
use graphlume_algo::gpu::GpuGraph;
use graphlume_algo::{Accelerator, AlgoError, Output};
use graphlume_device::cuda::DeviceError;
use graphlume_graph::Topology;
use graphlume_types::DatasetId;

use crate::context::EngineContext;
use crate::device::MayBeShort;

/// The GPU, and the graph whose copy it keeps. Other graphs, such as those that a query makes, are copied for one call.
pub(crate) struct ResidentAccelerator {
    ctx: Arc<EngineContext>,
    /// Names the copy of the graph.
    key: (DatasetId, u32),
    topology: Arc<Topology>,
}

impl ResidentAccelerator {
    /// For algorithms over `topology`, which `key` names; none without a GPU that can be used.
    pub(crate) fn of(
        ctx: &Arc<EngineContext>,
        key: (DatasetId, u32),
        topology: &Arc<Topology>,
    ) -> Option<Arc<dyn Accelerator>> {
        ctx.usable_gpu()?;
        Some(Arc::new(Self { ctx: ctx.clone(), key, topology: Arc::clone(topology) }))
    }
}

impl std::fmt::Debug for ResidentAccelerator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResidentAccelerator").field("dataset", &self.key.0).finish_non_exhaustive()
    }
}

impl Accelerator for ResidentAccelerator {
    fn name(&self) -> String {
        self.ctx.gpu.as_ref().map_or_else(|_| String::new(), |gpu| gpu.gpu.info().name.clone())
    }

    fn edges_min(&self) -> u32 {
        self.ctx.config.gpu_edges_min
    }

    fn memory_bytes(&self) -> u64 {
        self.ctx.gpu.as_ref().map_or(0, |gpu| gpu.gpu.budget().limit())
    }

    fn run(&self, topology: &Arc<Topology>, work: &mut Work<'_>) -> Result<Output, AlgoError> {
        let Some(gpu) = self.ctx.usable_gpu() else {
            let reason = self.ctx.why_gpu_lost().unwrap_or_default();
            return Err(DeviceError::Lost { reason }.into());
        };
        let graph = if Arc::ptr_eq(topology, &self.topology) {
            gpu.graph(self.key, topology)?
        } else {
            Arc::new(
                gpu.with_room(|| GpuGraph::upload(&gpu.gpu, topology).map_err(AlgoError::from))?,
            )
        };
        // A stream of its own: the slices of layouts do not wait behind it.
        let stream = gpu.gpu.stream()?;
        match gpu.with_room(|| work(&stream, &graph)) {
            Err(e) if e.is_short() && graph.forget_plans() => {
                gpu.with_room(|| work(&stream, &graph))
            }
            done => done,
        }
    }

    fn failed(&self, algorithm: &'static str, error: &AlgoError) {
        tracing::warn!(dataset = %self.key.0, algorithm, %error, "computed on the CPU instead of the GPU");
    }
}
