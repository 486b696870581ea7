//! The launches of one iteration.

use graphlume_device::cuda::{DeviceError, Gpu, Grid, View, ViewMut, kernels};

use super::{EXACT_BODIES_MAX, GpuForceAtlas2, KNOBS, Params, at, cpu};

/// Most blocks that write partial sums, so that one block can add them up. They depend on the number of
/// bodies alone, and so does the order of every sum.
const PULL_BLOCKS_MAX: u32 = 2048;
const MOVE_BLOCKS_MAX: u32 = 1024;
const THREADS: u32 = 256;
/// What a new order costs, in the instructions of a warp that repulsion counts: its launches, and for each
/// body and each arc.
const SORT_COST: f64 = 8e6;
const SORT_COST_BODY: f64 = 100.0;
const SORT_COST_ARC: f64 = 5.0;

/// Bits of the modes, as in `force_atlas2.cuh`.
const LIN_LOG: u32 = 1;
const RIMS: u32 = 2;
const STRONG: u32 = 4;
const LOCKED_X: u32 = 8;
const LOCKED_Y: u32 = 16;
const LOCKED_R: u32 = 32;
const WEIGHTED: u32 = 64;

/// Blocks of [`kernels::fa_pull`], four threads a body.
fn pull_blocks(bodies: u32) -> u32 {
    bodies.div_ceil(THREADS / 4).clamp(1, PULL_BLOCKS_MAX)
}

/// Threads of the block that goes over the arcs of a hub.
const HUB_THREADS: u32 = 1024;

/// Blocks of [`kernels::fa_move`] and others with a thread a body.
fn move_blocks(bodies: u32) -> u32 {
    bodies.div_ceil(THREADS).clamp(1, MOVE_BLOCKS_MAX)
}

/// Numbers that the blocks of any of these kernels write.
pub(super) fn partials(bodies: u32) -> usize {
    (2 * pull_blocks(bodies)).max(8 * move_blocks(bodies)) as usize
}

/// Whether all pairs are summed.
pub(super) fn is_exact(bodies: u32, params: &Params) -> bool {
    !params.barnes_hut_optimize || bodies <= EXACT_BODIES_MAX
}

impl GpuForceAtlas2 {
    pub(super) fn is_exact(&self) -> bool {
        is_exact(self.nodes, &self.params)
    }

    pub(super) fn forget_replays(&mut self) {
        self.replays = [None, None];
        self.is_warm = false;
    }

    /// Something changed from outside: whatever was at rest may move again.
    pub(super) fn wake(&mut self) -> Result<(), DeviceError> {
        self.since_look = None;
        self.seen[at::QUIET] = 0.0;
        self.gpu.zero(self.state.slice_mut(at::QUIET..=at::QUIET))
    }

    /// Hands the parameters to the device. No recorded launch depends on them.
    pub(super) fn write_knobs(&mut self) -> Result<(), DeviceError> {
        let p = &self.params;
        let radius = self.radius_max.filter(|_| p.prevent_overlapping);
        let modes = [
            (p.lin_log_mode, LIN_LOG),
            (radius.is_some(), RIMS),
            (p.strong_gravity_mode, STRONG),
            (p.locked_x, LOCKED_X),
            (p.locked_y, LOCKED_Y),
            (p.locked_r, LOCKED_R),
            (self.varies(), WEIGHTED),
        ];
        let modes: u32 = modes.iter().filter(|(on, _)| *on).map(|(_, bit)| bit).sum();
        let arcs = 2.0 * f64::from(self.edges);
        let sort = SORT_COST + SORT_COST_BODY * f64::from(self.nodes) + SORT_COST_ARC * arcs;
        let mut knobs = [0.0; KNOBS];
        let values = [
            p.scaling_ratio as f32,
            p.gravity as f32,
            (p.scaling_ratio * p.gravity) as f32,
            (p.overlap_scaling_ratio / p.scaling_ratio) as f32,
            2.0 * radius.unwrap_or(0.0),
            cpu::ratio(p.barnes_hut_theta),
            if p.double_attraction { 2.0 } else { 1.0 },
            p.jitter_tolerance as f32,
            modes as f32,
            sort as f32,
        ];
        knobs[..values.len()].copy_from_slice(&values);
        self.gpu.write(self.knobs.view_mut(), &knobs)
    }

    /// One iteration: the first after a change directly, which loads its kernels, the others as a replay.
    pub(super) fn run_step(&mut self) -> Result<(), DeviceError> {
        if !self.is_warm {
            self.is_warm = true;
            return self.step();
        }
        if self.replays[self.side].is_none() {
            let gpu = self.gpu.clone();
            self.replays[self.side] = Some(gpu.capture(|| self.step())?);
        }
        match &self.replays[self.side] {
            Some(replay) => replay.launch(),
            None => Ok(()),
        }
    }

    fn step(&mut self) -> Result<(), DeviceError> {
        self.repel()?;
        self.pull()?;
        let (n, b) = (self.nodes, &mut self.bodies[self.side]);
        let rows = pull_blocks(n);
        let one = Grid::blocks(1, THREADS);
        let (partials, knobs) = (self.partials.view(), self.knobs.view());
        kernels::fa_speed(&self.gpu, one, n, rows, partials, knobs, self.state.view_mut())?;
        let rows = move_blocks(n);
        kernels::fa_move(
            &self.gpu,
            Grid::blocks(rows, THREADS),
            n,
            self.forces.view(),
            b.masses.view(),
            b.mobility.view(),
            self.knobs.view(),
            self.state.view(),
            b.points.view_mut(),
            b.before.view_mut(),
            self.partials.view_mut(),
        )?;
        self.finish(true)
    }

    fn finish(&mut self, is_iteration: bool) -> Result<(), DeviceError> {
        kernels::fa_finish(
            &self.gpu,
            Grid::blocks(1, THREADS),
            self.nodes,
            move_blocks(self.nodes),
            u32::from(is_iteration),
            self.partials.view(),
            self.tree.logs.view(),
            self.knobs.view(),
            self.work.view_mut(),
            self.state.view_mut(),
        )
    }

    /// Recomputes the box of bodies that something other than an iteration has moved.
    pub(super) fn measure(&mut self) -> Result<(), DeviceError> {
        let b = &self.bodies[self.side];
        let grid = Grid::blocks(move_blocks(self.nodes), THREADS);
        let (points, masses) = (b.points.view(), b.masses.view());
        let partials = self.partials.view_mut();
        kernels::fa_bounds(&self.gpu, grid, self.nodes, points, masses, partials)?;
        self.finish(false)
    }

    fn repel(&mut self) -> Result<(), DeviceError> {
        let (gpu, n, b, t) = (&self.gpu, self.nodes, &self.bodies[self.side], &mut self.tree);
        let (points, masses, radii) = (b.points.view(), b.masses.view(), b.radii.view());
        let (state, knobs) = (self.state.view(), self.knobs.view());
        let warps = Grid::warps(gpu, n.div_ceil(32) as usize, 128);
        if is_exact(n, &self.params) {
            let forces = self.forces.view_mut();
            return kernels::fa_repel_all(gpu, warps, n, points, masses, radii, knobs, forces);
        }
        kernels::fa_leaves(
            gpu,
            Grid::cover(gpu, n.div_ceil(16) as usize, 64),
            n,
            t.levels,
            points,
            masses,
            t.bases.view(),
            state,
            t.cells.view_mut(),
            t.boxes.view_mut(),
            t.logs.view_mut(),
        )?;
        if t.levels > 4 {
            let (bases, one) = (t.bases.view(), Grid::blocks(1, 512));
            let (cells, boxes) = (t.cells.view_mut(), t.boxes.view_mut());
            kernels::fa_top(gpu, one, n, t.levels, bases, state, cells, boxes)?;
        }
        kernels::fa_repel(
            gpu,
            warps,
            n,
            t.levels,
            points,
            masses,
            radii,
            t.bases.view(),
            t.cells.view(),
            state,
            knobs,
            self.forces.view_mut(),
            self.work.view_mut(),
        )
    }

    fn pull(&mut self) -> Result<(), DeviceError> {
        let (gpu, n, b, a) = (&self.gpu, self.nodes, &self.bodies[self.side], &self.arcs);
        let wide = (&self.wide, kernels::fa_pull_wide as PullListed, 32, THREADS);
        let hubs = (&self.hubs, kernels::fa_pull_hubs as PullListed, HUB_THREADS, HUB_THREADS);
        for (nodes, launch, lanes, threads) in [wide, hubs] {
            if nodes.is_empty() {
                continue;
            }
            launch(
                gpu,
                Grid::cover(gpu, nodes.len() * lanes as usize, threads),
                n,
                nodes.len() as u32,
                nodes.view(),
                self.body_of.view(),
                b.points.view(),
                b.radii.view(),
                self.spans.view(),
                a.outs.view(),
                a.ins.view(),
                a.out_factors.view(),
                a.in_factors.view(),
                self.knobs.view(),
                self.forces.view_mut(),
            )?;
        }
        kernels::fa_pull(
            gpu,
            Grid::blocks(pull_blocks(n), THREADS),
            n,
            b.before.view(),
            b.points.view(),
            b.masses.view(),
            b.mobility.view(),
            b.radii.view(),
            self.spans.view(),
            a.outs.view(),
            a.ins.view(),
            a.out_factors.view(),
            a.in_factors.view(),
            self.knobs.view(),
            self.forces.view_mut(),
            self.partials.view_mut(),
        )
    }

    /// Looks, every so many iterations, how far nodes have travelled. Called after every iteration.
    pub(super) fn look(&mut self) -> Result<(), DeviceError> {
        let (n, b) = (self.nodes, &mut self.bodies[self.side]);
        let Some(since) = self.since_look else {
            self.since_look = Some(0);
            return self.gpu.copy(b.points.view(), b.reference.view_mut());
        };
        if since + 1 < cpu::WINDOW {
            self.since_look = Some(since + 1);
            return Ok(());
        }
        self.since_look = Some(0);
        let rows = move_blocks(n);
        let partials = self.partials.view_mut();
        kernels::fa_look(
            &self.gpu,
            Grid::blocks(rows, THREADS),
            n,
            b.points.view(),
            b.masses.view(),
            self.state.view(),
            b.reference.view_mut(),
            partials,
        )?;
        let one = Grid::blocks(1, THREADS);
        let (partials, state) = (self.partials.view(), self.state.view_mut());
        let mass = f64::from(self.mean_mass) * f64::from(n);
        let telling = cpu::telling_size(&self.params, mass);
        let (rest, steady, exchange) = (cpu::REST, cpu::STEADY, cpu::EXCHANGE);
        kernels::fa_rest(&self.gpu, one, rows, rest, steady, exchange, telling, partials, state)
    }
}

/// Signature of the two kernels that serve listed nodes.
type PullListed = fn(
    &Gpu,
    Grid,
    u32,
    u32,
    View<'_, u32>,
    View<'_, u32>,
    View<'_, [f32; 2]>,
    View<'_, f32>,
    View<'_, u64>,
    View<'_, u32>,
    View<'_, u32>,
    View<'_, f32>,
    View<'_, f32>,
    View<'_, f32>,
    ViewMut<'_, [f32; 2]>,
) -> Result<(), DeviceError>;
