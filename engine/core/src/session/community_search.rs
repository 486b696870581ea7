//! The search for communities, by which a picture is coloured and nodes may be filtered: on the device or by the best
//! method that fits the time.

use std::sync::Arc;
use std::time::Duration;

use graphlume_algo::AlgoError;
use graphlume_algo::community::louvain;
use graphlume_algo::component::weak;
use graphlume_algo::gpu::louvain as gpu_louvain;
use graphlume_types::{CancelReason, CancelToken, Cancelled};

use crate::context::EngineContext;
use crate::device::gpu_device::GpuDevice;
use crate::error::EngineError;
use crate::frames::{SceneFrames, scene_frames, scene_of};
use crate::residency::Lease;

/// Above this many edges the cheaper way to communities is taken.
const LOUVAIN_EDGES_MAX: u32 = 5_000_000;
/// Seed of the communities: the same dataset always gets the same colours.
const SEED: u64 = 1;

/// The GPU, when it can be used and the graph is large enough for it.
fn gpu_for<'a>(ctx: &'a EngineContext, lease: &Lease) -> Option<&'a GpuDevice> {
    let gpu = ctx.usable_gpu()?;
    (lease.facts.edge_count >= ctx.config.gpu_edges_min).then_some(gpu.as_ref())
}

/// The community of every node, looked for once per graph: the picture is coloured by them, and they are a column that
/// may be filtered by. Inside the CPU pool.
pub(crate) fn of(ctx: &EngineContext, lease: &Lease) -> Result<Arc<Vec<u32>>, EngineError> {
    of_within(ctx, lease, ctx.config.community_budget)
}

/// The same for one who has more time, or less.
pub(crate) fn of_within(
    ctx: &EngineContext,
    lease: &Lease,
    budget: Duration,
) -> Result<Arc<Vec<u32>>, EngineError> {
    if let Some(known) = lease.communities.get() {
        return Ok(Arc::clone(known));
    }
    let cancel = CancelToken::with_deadline(ctx.now() + budget);
    let labels = gpu_for(ctx, lease).and_then(|gpu| {
        let _step = ctx.steps.begin("the search for communities", ctx.now());
        on_device(gpu, lease, &cancel)
    });
    let labels = match labels {
        Some(labels) => labels,
        None => on_cpu(lease, &cancel)?,
    };
    // Of two who looked at the same time the first has the say, so that all see the same.
    Ok(Arc::clone(lease.communities.get_or_init(|| Arc::new(labels))))
}

/// The scene coloured by communities; on a background worker, inside the CPU pool.
pub(super) fn coloured_scene(
    ctx: &EngineContext,
    lease: &Lease,
) -> Result<SceneFrames, EngineError> {
    let labels = of(ctx, lease)?;
    let (nodes, encodings) = (lease.nodes.as_ref(), &lease.encodings);
    let scene = scene_of(&lease.graph, nodes, &lease.edges, encodings, Some(&labels))?;
    let version = lease.scene.version + 1;
    Ok(scene_frames(&scene, &lease.graph.topology, lease.order, lease.facts.epoch, version))
}

/// Communities from the device; none when it cannot give them, and the CPU has to.
fn on_device(gpu: &GpuDevice, lease: &Lease, cancel: &CancelToken) -> Option<Vec<u32>> {
    let weights = lease.edge_weights.as_deref();
    let options = louvain::Options { seed: SEED, ..louvain::Options::default() };
    let search = || {
        let graph = gpu.graph(lease.key(), &lease.graph.topology)?;
        let stream = gpu.gpu.stream()?;
        gpu.with_room(|| gpu_louvain::run(&stream, &graph, weights, &options, cancel))
    };
    search()
        .inspect_err(
            |e| tracing::info!(dataset = %lease.dataset, error = %e, "no communities from the GPU"),
        )
        .ok()
}

/// Communities by the best method that fits the time.
fn on_cpu(lease: &Lease, cancel: &CancelToken) -> Result<Vec<u32>, EngineError> {
    let topology = &lease.graph.topology;
    if topology.num_edges() <= LOUVAIN_EDGES_MAX {
        let weights = lease.edge_weights.as_deref();
        match louvain::run(topology, weights, SEED, 1.0, cancel) {
            Err(AlgoError::Cancelled(_)) => {}
            done => return done.map_err(|e| EngineError::from_coded(&e)),
        }
    }
    // Components are cheap, and worth showing unless nearly everything is one.
    let labels =
        weak::run(topology, &CancelToken::new()).map_err(|e| EngineError::from_coded(&e))?;
    let mut sizes = vec![0usize; labels.len()];
    for l in &labels {
        sizes[*l as usize] += 1;
    }
    let largest = sizes.iter().max().copied().unwrap_or(0);
    if largest * 10 > labels.len() * 9 {
        return Err(EngineError::Cancelled(Cancelled(CancelReason::Deadline)));
    }
    Ok(labels)
}
