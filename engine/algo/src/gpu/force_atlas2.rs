//! ForceAtlas2 on the GPU: the same equations, parameters and rules as
//! [`crate::layout::force_atlas2::ForceAtlas2`], which is its oracle.
//!
//! Bodies lie in the order of a Hilbert curve, over which an implicit tree is refitted in every iteration;
//! a warp walks it once for 32 bodies ([`step`], kernels `force_atlas2_*.cu`). One iteration is one
//! recorded replay of six to nine kernels, and nothing comes back to the host but, at fixed iteration
//! numbers, the counted work by which a new sort is decided ([`order`]). So the same input gives the same
//! bits on the same device, however the iterations are dealt out over calls.

mod order;
mod step;
mod strength;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use graphlume_device::cuda::primitives::Sort;
use graphlume_device::cuda::{Buf, DeviceError, Gpu, Replay, View, kernels};
use graphlume_graph::Topology;
use graphlume_types::CancelToken;

use crate::AlgoError;
use crate::gpu_graph::GpuGraph;
use crate::layout::force_atlas2 as cpu;
pub use cpu::{Iteration, Params};
use order::{Bodies, Tree};
use strength::Weights;

/// Up to this many bodies all pairs are summed: as fast as a tree, and exact.
const EXACT_BODIES_MAX: u32 = 512;
/// Numbers of a layout's state, see `force_atlas2.cuh`.
const STATE: usize = 24;
const KNOBS: usize = 16;
const WORK_SLOTS: usize = 32;
/// Arcs beyond which a warp, and beyond which a block serves a body.
const NARROW_MAX: u32 = 64;
const WIDE_MAX: u32 = 4096;

/// Places in the state, as in `force_atlas2.cuh`.
mod at {
    pub(super) const SWING: usize = 1;
    pub(super) const TRACTION: usize = 2;
    pub(super) const SPEED: usize = 3;
    pub(super) const EFFICIENCY: usize = 4;
    pub(super) const MOVED: usize = 5;
    pub(super) const BOX: usize = 6;
    pub(super) const SCALE: usize = 10;
    pub(super) const WEAR: std::ops::Range<usize> = 13..17;
    pub(super) const SORT_DUE: usize = 16;
    pub(super) const QUIET: usize = 17;
}

/// A ForceAtlas2 layout in progress on a GPU.
///
/// Memory on the device, the graph aside: 8 bytes an edge, 16 with weights, and about 150 bytes a node (see
/// [`Self::footprint`]).
pub struct GpuForceAtlas2 {
    gpu: Gpu,
    graph: Arc<GpuGraph>,
    nodes: u32,
    edges: u32,
    params: Params,
    weights: Option<Weights>,
    mean_mass: f32,
    radius_max: Option<f32>,
    mobility: Option<Vec<f32>>,
    pinned: BTreeSet<u32>,
    /// Pins and their ends that the device has not seen yet.
    pokes: BTreeMap<u32, Option<[f32; 2]>>,
    /// By body, twice: a sort goes from one to the other.
    bodies: [Bodies; 2],
    side: usize,
    /// By body, or scratch between iterations.
    forces: Buf<[f32; 2]>,
    spans: Buf<u64>,
    body_of: Buf<u32>,
    arcs: strength::Arcs,
    tree: Tree,
    wide: Buf<u32>,
    hubs: Buf<u32>,
    state: Buf<f64>,
    knobs: Buf<f32>,
    work: Buf<u64>,
    partials: Buf<f64>,
    keys: Buf<u64>,
    order: Buf<u32>,
    parted: Buf<u32>,
    sort: Sort,
    /// One iteration, for each side.
    replays: [Option<Replay>; 2],
    /// Whether the kernels of an iteration have run since it last changed: recording cannot load them.
    is_warm: bool,
    /// The state as of the last time that it was read.
    seen: [f64; STATE],
    index: u64,
    since_sort: u64,
    /// Iterations since the last look at how far nodes travel.
    since_look: Option<u64>,
}

impl GpuForceAtlas2 {
    /// Starts a layout of `graph`, the device's copy of `topology`, at the positions `start`, by node
    /// index, on a stream of `gpu`'s device of its own. The other arrays are those of
    /// [`crate::layout::force_atlas2::ForceAtlas2::new`].
    ///
    /// # Errors
    /// Those of the layout on the host, and [`AlgoError::Device`] when the device refuses, above all for
    /// lack of memory.
    #[expect(clippy::too_many_arguments, reason = "those of the layout on the host, and where")]
    pub fn new(
        gpu: &Gpu,
        graph: &Arc<GpuGraph>,
        topology: &Topology,
        edge_weights: Option<&[f32]>,
        params: Params,
        start: &[[f32; 2]],
        radii: Option<&[f32]>,
        mass: Option<&[f32]>,
        mobility: Option<&[f32]>,
    ) -> Result<Self, AlgoError> {
        params.validate()?;
        let n = topology.num_nodes() as usize;
        cpu::check_inputs(n, start, radii, mass, mobility)?;
        let gpu = gpu.stream()?;
        let masses = cpu::masses(topology, mass);
        let (wide, hubs) = by_degree(topology);
        let tree = Tree::new(&gpu, topology.num_nodes())?;
        let mut layout = Self {
            graph: Arc::clone(graph),
            nodes: topology.num_nodes(),
            edges: topology.num_edges(),
            weights: edge_weights.map(|w| Weights::new(topology, w)),
            mean_mass: cpu::mean(&masses),
            radius_max: radii.map(|r| r.iter().fold(0.0f32, |a, b| a.max(*b))),
            mobility: mobility.map(<[f32]>::to_vec),
            pinned: BTreeSet::new(),
            pokes: BTreeMap::new(),
            bodies: [
                Bodies::new(&gpu, start, &masses, radii, mobility)?,
                Bodies::empty(&gpu, n, radii.is_some())?,
            ],
            side: 0,
            forces: gpu.alloc("the forces on bodies", n)?,
            spans: gpu.alloc("the lists of bodies", 2 * n)?,
            body_of: gpu.alloc("the bodies of nodes", n)?,
            arcs: strength::Arcs::new(&gpu, topology.num_edges() as usize)?,
            tree,
            wide: gpu.upload("nodes of middling degree", &wide)?,
            hubs: gpu.upload("hubs", &hubs)?,
            state: gpu.upload("the state of a layout", &first_state(start))?,
            knobs: gpu.zeros("the knobs of a layout", KNOBS)?,
            work: gpu.zeros("the counted work", WORK_SLOTS)?,
            partials: gpu.alloc("partial sums", step::partials(topology.num_nodes()))?,
            keys: gpu.alloc("places on the curve", n)?,
            order: gpu.alloc("the order of bodies", n)?,
            parted: gpu.zeros("a count of parted bodies", 1)?,
            sort: Sort::new_u64(&gpu, n)?,
            replays: [None, None],
            is_warm: false,
            seen: first_state(start),
            index: 0,
            since_sort: 0,
            since_look: None,
            params,
            gpu,
        };
        if n > 0 {
            layout.write_knobs()?;
            layout.sort()?;
            layout.restrengthen()?;
        }
        Ok(layout)
    }

    /// Does `count` iterations; the device works while the host only queues. Answers the last of them.
    ///
    /// # Errors
    /// [`AlgoError::Cancelled`] between two iterations: the layout is then where it got to and can go on.
    /// [`AlgoError::Device`] when the device fails; the layout is lost then.
    pub fn iterate(&mut self, count: u64, cancel: &CancelToken) -> Result<Iteration, AlgoError> {
        cancel.check()?;
        if self.nodes == 0 {
            self.index += count;
            return Ok(self.report());
        }
        self.flush()?;
        for _ in 0..count {
            cancel.check()?;
            if self.sort_is_due()? {
                self.sort()?;
            }
            self.run_step()?;
            self.index += 1;
            self.since_sort += 1;
            self.look()?;
        }
        self.read_state()?;
        Ok(self.report())
    }

    fn report(&self) -> Iteration {
        let s = &self.seen;
        let bounds = [0, 1, 2, 3].map(|k| s[at::BOX + k] as f32);
        let side = (bounds[2] - bounds[0]).max(bounds[3] - bounds[1]);
        let mean_move = s[at::MOVED] / f64::from(self.nodes.max(1)) / f64::from(side);
        Iteration {
            index: self.index,
            swing: s[at::SWING],
            traction: s[at::TRACTION],
            speed: s[at::SPEED],
            mean_move: if side > 0.0 { mean_move as f32 } else { 0.0 },
            bounds: if self.nodes == 0 { [0.0; 4] } else { bounds },
        }
    }

    fn read_state(&mut self) -> Result<(), DeviceError> {
        self.gpu.read_into(self.state.view(), &mut self.seen)
    }

    /// Positions in node-index order.
    ///
    /// # Errors
    /// [`AlgoError::Device`].
    pub fn positions(&mut self, out: &mut Vec<[f32; 2]>) -> Result<(), AlgoError> {
        self.flush()?;
        self.by_node(|b| b.points.view(), out)
    }

    /// The forces that moved the nodes in the last iteration, in node-index order; zeros before the first.
    ///
    /// # Errors
    /// [`AlgoError::Device`].
    pub fn forces(&mut self, out: &mut Vec<[f32; 2]>) -> Result<(), AlgoError> {
        self.by_node(|b| b.before.view(), out)
    }

    fn by_node(
        &mut self,
        which: impl Fn(&Bodies) -> View<'_, [f32; 2]>,
        out: &mut Vec<[f32; 2]>,
    ) -> Result<(), AlgoError> {
        out.clear();
        if self.nodes > 0 {
            let grid = self.cover(self.nodes as usize);
            let (body_of, values) = (self.body_of.view(), which(&self.bodies[self.side]));
            let to = self.forces.view_mut();
            kernels::fa_positions(&self.gpu, grid, self.nodes, body_of, values, to)?;
            out.resize(self.nodes as usize, [0.0; 2]);
            self.gpu.read_into(self.forces.view(), out)?;
        }
        Ok(())
    }

    /// Where the bodies are, and which body each node is, on the device: what frames are made from.
    ///
    /// # Errors
    /// [`AlgoError::Device`].
    pub fn on_device(&mut self) -> Result<OnDevice<'_>, AlgoError> {
        self.flush()?;
        let points = self.bodies[self.side].points.view();
        Ok(OnDevice { points, body_of: self.body_of.view() })
    }

    /// The handle on whose stream the layout runs.
    #[must_use]
    pub const fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The parameters in force.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// Iterations done.
    #[must_use]
    pub const fn iterations(&self) -> u64 {
        self.index
    }

    /// Changes the parameters; the layout goes on from where it is, and nothing is rebuilt.
    ///
    /// # Errors
    /// [`AlgoError::BadParam`]; the old parameters stay then. [`AlgoError::Device`].
    pub fn set_params(&mut self, params: Params) -> Result<(), AlgoError> {
        params.validate()?;
        if params == self.params {
            return Ok(());
        }
        let old = std::mem::replace(&mut self.params, params);
        if self.nodes == 0 {
            return Ok(());
        }
        let is_other_work = step::is_exact(self.nodes, &old) != self.is_exact();
        if strength::differs(&old, &self.params) {
            self.restrengthen()?;
        }
        if is_other_work {
            self.forget_replays();
        }
        self.write_knobs()?;
        self.gpu.write(self.state.slice_mut(at::SPEED..=at::EFFICIENCY), &[1.0, 1.0])?;
        self.forget_wear()?;
        self.wake()?;
        Ok(())
    }

    /// Puts `node` at `point` and holds it there, from the next iteration or reading on. A node or position
    /// that does not exist is ignored.
    pub fn pin(&mut self, node: u32, point: [f32; 2]) {
        let usable = point.iter().all(|v| v.is_finite() && v.abs() <= cpu::COORDINATE_MAX);
        if node < self.nodes && usable {
            self.pinned.insert(node);
            self.pokes.insert(node, Some(point));
        }
    }

    /// Lets a pinned node move again.
    pub fn unpin(&mut self, node: u32) {
        if self.pinned.remove(&node) {
            self.pokes.insert(node, None);
        }
    }

    /// Whether the layout has come to rest: nodes still swing, but none travels, or the picture grows no more.
    #[must_use]
    pub fn settled(&self) -> bool {
        self.nodes == 0 || (self.pokes.is_empty() && self.seen[at::QUIET] >= f64::from(cpu::LOOKS))
    }

    /// Upper bound of the bytes that a layout of this size holds on the device, its graph aside.
    #[must_use]
    pub fn footprint(num_nodes: u32, num_edges: u32) -> u64 {
        16 * u64::from(num_edges) + 160 * u64::from(num_nodes) + (4 << 20)
    }
}

/// Positions of a layout on the device.
#[derive(Clone, Copy)]
pub struct OnDevice<'a> {
    /// Positions by body.
    pub points: View<'a, [f32; 2]>,
    /// The body of each node.
    pub body_of: View<'a, u32>,
}

/// Nodes that a warp serves and nodes that a block serves, by their number of arcs.
fn by_degree(topology: &Topology) -> (Vec<u32>, Vec<u32>) {
    (0..topology.num_nodes())
        .filter(|v| topology.degree(*v) > NARROW_MAX)
        .partition(|v| topology.degree(*v) <= WIDE_MAX)
}

fn first_state(start: &[[f32; 2]]) -> [f64; STATE] {
    let mut state = [0.0; STATE];
    (state[at::SPEED], state[at::EFFICIENCY]) = (1.0, 1.0);
    let (mut low, mut high) = ([f32::MAX; 2], [f32::MIN; 2]);
    for p in start {
        for k in 0..2 {
            low[k] = low[k].min(p[k]);
            high[k] = high[k].max(p[k]);
        }
    }
    for k in 0..2 {
        state[at::BOX + k] = f64::from(low[k]);
        state[at::BOX + 2 + k] = f64::from(high[k]);
    }
    let side = (state[at::BOX + 2] - state[at::BOX]).max(state[at::BOX + 3] - state[at::BOX + 1]);
    let scale = (-side.log2().ceil()).exp2().clamp(1e-30, 1e30);
    state[at::SCALE] = if side > 0.0 { scale } else { 1.0 };
    state
}
