//! The iteration.

use super::profile::Laps;
use super::*;

/// Nanoseconds that sorting takes for each body, and the relabelling that follows for each arc: the weights
/// by which a new sort is decided.
const SORT_NANOS: f64 = 60.0;
const RELABEL_NANOS: f64 = 3.0;
/// Mobility that marks a pinned body: it does not move, and its force says nothing about the speed.
pub(crate) const PINNED: f32 = -1.0;

/// How well the order still serves, in nanoseconds of counted work.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Staleness {
    /// Iterations since the last sort.
    iterations: f64,
    /// Work of the first of them.
    fresh: f64,
    /// Mean radius of a leaf then.
    leaf_radius: f64,
    /// What all of them took beyond the first.
    excess: f64,
    /// What the next one is expected to take beyond it.
    ahead: f64,
}

/// What one task of an iteration adds up.
#[derive(Clone, Copy, Default)]
pub(super) struct Sums {
    swing: f64,
    traction: f64,
    work: Work,
    repulse_ns: u64,
    attract_ns: u64,
    step_ns: u64,
}

impl ForceAtlas2 {
    /// Starts a layout of `topology` at the positions `start`, by node index.
    ///
    /// `edge_weights` are by edge table row: a weight that is not a number counts as 1, a negative one
    /// as 0. `radii` matter with [`Params::prevent_overlapping`] only, `mass` replaces degree + 1, and
    /// `mobility` scales every step, 0 pinning a node. Nodes that start on one spot are set apart.
    ///
    /// # Errors
    /// [`AlgoError::Length`] when an array does not fit the graph, [`AlgoError::BadValue`] for a position,
    /// radius, mass or mobility that is not usable, [`AlgoError::BadParam`] for a parameter.
    pub fn new(
        topology: &Arc<Topology>,
        edge_weights: Option<&[f32]>,
        params: Params,
        start: &[[f32; 2]],
        radii: Option<&[f32]>,
        mass: Option<&[f32]>,
        mobility: Option<&[f32]>,
    ) -> Result<Self, AlgoError> {
        params.validate()?;
        let n = topology.num_nodes() as usize;
        check_inputs(n, start, radii, mass, mobility)?;
        let masses_by_node = masses(topology, mass);
        let mut layout = Self {
            topology: Arc::clone(topology),
            weights: edge_weights.map(|w| crate::util::arc_weights(topology, w)),
            params,
            body_of: (0..n as u32).collect(),
            pinned: vec![false; n],
            mobility_by_node: mobility.map(<[f32]>::to_vec),
            node_of: (0..n as u32).collect(),
            points: start.to_vec(),
            forces: vec![[0.0; 2]; n],
            forces_before: vec![[0.0; 2]; n],
            masses: masses_by_node.clone(),
            mobility: mobility.map_or_else(|| vec![1.0; n], <[f32]>::to_vec),
            radii: radii.map(<[f32]>::to_vec),
            arcs: Arcs::new(topology),
            cells: Cells::new(n),
            sorter: order::Sorter::default(),
            isa: simd::Isa::detect(),
            bounds: Bounds::of(start),
            speed: Speed::new(),
            settle: Settle::new(),
            index: 0,
            wear: Staleness::default(),
            masses_by_node,
            clock: None,
            profile: Profile::default(),
        };
        layout.restrengthen();
        layout.sort();
        Ok(layout)
    }

    /// Does one iteration on the current rayon pool.
    ///
    /// # Errors
    /// [`AlgoError::Cancelled`]; the positions are then those before the call.
    pub fn iterate(&mut self, cancel: &CancelToken) -> Result<Iteration, AlgoError> {
        cancel.check()?;
        if self.points.is_empty() {
            self.index += 1;
            return Ok(self.report(Sums::default(), 0.0));
        }
        if self.sort_is_due() {
            self.sort();
        }
        let mut laps = Laps::start(self.clock);
        if self.arcs.follow_is_due() {
            self.arcs.follow();
            self.profile.relabels += 1;
            self.profile.relabel_ns += laps.lap();
        }
        self.cells.refit(&self.points, &self.masses, self.bounds);
        self.profile.refit_ns += laps.lap();
        let sums = self.forces(cancel)?;
        laps.lap();
        let n = self.points.len() as f64;
        let speed = self.speed.advance(n, self.params.jitter_tolerance, sums.swing, sums.traction);
        let moved = self.step(speed as f32);
        self.note_work(sums.work, moved);
        std::mem::swap(&mut self.forces, &mut self.forces_before);
        self.index += 1;
        self.settle.look(&self.points, &self.masses, &self.params);
        self.profile.count(sums.work);
        self.profile.repulse_ns += sums.repulse_ns;
        self.profile.attract_ns += sums.attract_ns;
        self.profile.step_ns += sums.step_ns + laps.lap();
        Ok(self.report(sums, moved))
    }

    fn report(&self, sums: Sums, moved: f64) -> Iteration {
        let b = self.bounds;
        let side = f64::from(b.side());
        Iteration {
            index: self.index,
            swing: sums.swing,
            traction: sums.traction,
            speed: self.speed.speed,
            mean_move: if side > 0.0 {
                (moved / self.points.len() as f64 / side) as f32
            } else {
                0.0
            },
            bounds: if self.points.is_empty() {
                [0.0; 4]
            } else {
                [b.low[0], b.low[1], b.high[0], b.high[1]]
            },
        }
    }

    /// Computes `forces` for all bodies.
    pub(super) fn forces(&mut self, cancel: &CancelToken) -> Result<Sums, AlgoError> {
        let p = &self.params;
        let exact = !p.barnes_hut_optimize || self.points.len() <= EXACT_BODIES_MAX;
        let radii = self.radii.as_deref().filter(|_| p.prevent_overlapping);
        let mut laps = Laps::start(self.clock);
        self.arcs.prepare(&self.points, radii, p.lin_log_mode);
        let prepare_ns = laps.lap();
        let law = Law {
            radii,
            overlap: (p.overlap_scaling_ratio / p.scaling_ratio) as f32,
            clearance: radii.map_or(0.0, |r| 2.0 * r.iter().fold(0.0f32, |a, b| a.max(*b))),
            ratio: (!exact).then(|| repulse::ratio(p.barnes_hut_theta)),
        };
        let field = Field {
            isa: self.isa,
            cells: &self.cells,
            points: &self.points,
            masses: &self.masses,
            law,
        };
        let task = Task {
            field,
            arcs: &self.arcs,
            params: p,
            mobility: &self.mobility,
            clock: self.clock,
        };
        let parts: Result<Vec<Sums>, AlgoError> = self
            .forces
            .par_chunks_mut(TASK)
            .zip(self.forces_before.par_chunks(TASK))
            .enumerate()
            .map_init(Scratch::default, |scratch, (i, (out, before))| {
                cancel.check()?;
                Ok(task.run(i, scratch, out, before))
            })
            .collect();
        let none = Sums { attract_ns: prepare_ns, ..Sums::default() };
        Ok(parts?.into_iter().fold(none, |a, b| Sums {
            swing: a.swing + b.swing,
            traction: a.traction + b.traction,
            work: a.work.add(b.work),
            repulse_ns: a.repulse_ns + b.repulse_ns,
            attract_ns: a.attract_ns + b.attract_ns,
            step_ns: a.step_ns + b.step_ns,
        }))
    }

    /// Moves every body along its force; returns the sum of the distances.
    fn step(&mut self, speed: f32) -> f64 {
        let p = &self.params;
        let rims = p.prevent_overlapping && self.radii.is_some();
        let locked_r = p.locked_r;
        let parts: Vec<(f64, Bounds)> = self
            .points
            .par_chunks_mut(TASK)
            .zip(self.forces.par_chunks(TASK).zip(self.forces_before.par_chunks(TASK)))
            .zip(self.masses.par_chunks(TASK).zip(self.mobility.par_chunks(TASK)))
            .map(|((points, (forces, before)), (masses, mobility))| {
                let mut moved = 0.0;
                let mut bounds = Bounds::EMPTY;
                for (i, p) in points.iter_mut().enumerate() {
                    let (f, b) = (forces[i], before[i]);
                    let swing = masses[i] * length(f[0] - b[0], f[1] - b[1]);
                    let mut k = speed / (1.0 + (speed * swing).sqrt());
                    if rims {
                        let df = length(f[0], f[1]).max(f32::MIN_POSITIVE);
                        k = (0.1 * k * df).min(10.0) / df;
                    }
                    k *= mobility[i].max(0.0);
                    let to = place(*p, [p[0] + f[0] * k, p[1] + f[1] * k], locked_r);
                    moved += f64::from(length(to[0] - p[0], to[1] - p[1]));
                    bounds = bounds.with(to);
                    *p = to;
                }
                (moved, bounds)
            })
            .collect();
        self.bounds = parts.iter().fold(Bounds::EMPTY, |a, (_, b)| a.union(*b));
        parts.iter().map(|(m, _)| m).sum()
    }

    fn note_work(&mut self, work: Work, moved: f64) {
        let leaves = &self.cells.levels[0].geo;
        let order = &mut self.wear;
        order.iterations += 1.0;
        if order.iterations == 1.0 {
            order.fresh = work.nanos();
            let logs: f64 = leaves.iter().map(|g| f64::from(g.r.max(1e-30)).ln()).sum();
            order.leaf_radius = (logs / leaves.len() as f64).exp();
        }
        order.excess += (work.nanos() - order.fresh).max(0.0);
        let step = moved / self.points.len() as f64 / order.leaf_radius;
        order.ahead =
            order.fresh * ((work.nanos() / order.fresh).sqrt() + step).powi(2) - order.fresh;
    }

    /// Whether sorting now is cheaper than going on: the next iteration would cost more beyond a fresh
    /// one than all iterations since the last sort cost on average, the sort included.
    fn sort_is_due(&self) -> bool {
        // Arcs that are behind already will be relabelled once, however many sorts there are until then.
        let arcs =
            if self.arcs.are_apart() { 0.0 } else { 2.0 * f64::from(self.topology.num_edges()) };
        let sort = SORT_NANOS * self.points.len() as f64 + RELABEL_NANOS * arcs;
        self.wear.iterations > 0.0
            && self.wear.ahead * self.wear.iterations > sort + self.wear.excess
    }

    /// Puts the bodies in curve order anew, with everything that is kept by body.
    pub(super) fn sort(&mut self) {
        let mut laps = Laps::start(self.clock);
        let mut order = Vec::new();
        self.sorter.sort(&self.points, self.bounds.low, self.bounds.high, &mut order);
        let side = self.bounds.side();
        let far =
            self.bounds.low.iter().chain(&self.bounds.high).fold(0.0f32, |a, v| a.max(v.abs()));
        let spread = if side > 0.0 {
            side * 1e-3
        } else {
            // Wide enough to show in coordinates of that size.
            (10.0 * (order.len() as f32).sqrt()).max(far * 1e-4)
        };
        if scatter(&mut self.points, &order, &self.mobility, &self.node_of, spread) {
            self.bounds = Bounds::of(&self.points);
            self.sorter.sort(&self.points, self.bounds.low, self.bounds.high, &mut order);
        }
        permute(&mut self.points, &order);
        permute(&mut self.forces_before, &order);
        permute(&mut self.masses, &order);
        permute(&mut self.mobility, &order);
        permute(&mut self.node_of, &order);
        if let Some(radii) = &mut self.radii {
            permute(radii, &order);
        }
        if self.settle.reference.len() == order.len() {
            permute(&mut self.settle.reference, &order);
        }
        for (body, node) in self.node_of.iter().enumerate() {
            self.body_of[*node as usize] = body as u32;
        }
        self.profile.sorts += 1;
        self.arcs.part(&order);
        self.profile.sort_ns += laps.lap();
        self.wear = Staleness::default();
    }

    fn restrengthen(&mut self) {
        let strength = Strength {
            weights: self.weights.as_deref(),
            masses: &self.masses_by_node,
            params: &self.params,
        };
        self.arcs.restrengthen(&self.topology, &self.node_of, &strength);
    }

    /// Positions in node-index order.
    pub fn positions(&self, out: &mut Vec<[f32; 2]>) {
        out.clear();
        out.extend(self.body_of.iter().map(|b| self.points[*b as usize]));
    }

    /// The parameters in force.
    #[must_use]
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Iterations done.
    #[must_use]
    pub fn iterations(&self) -> u64 {
        self.index
    }

    /// Changes the parameters; the layout goes on from where it is.
    ///
    /// # Errors
    /// [`AlgoError::BadParam`]; the old parameters stay then.
    pub fn set_params(&mut self, params: Params) -> Result<(), AlgoError> {
        params.validate()?;
        if params == self.params {
            return Ok(());
        }
        self.params = params;
        self.restrengthen();
        self.wear = Staleness::default();
        self.speed = Speed::new();
        self.settle.restart();
        Ok(())
    }

    /// Puts `node` at `point` and holds it there. A node or position that does not exist is ignored.
    pub fn pin(&mut self, node: u32, point: [f32; 2]) {
        let usable = point.iter().all(|v| v.is_finite() && v.abs() <= COORDINATE_MAX);
        if let Some(body) = self.body_of.get(node as usize).copied().filter(|_| usable) {
            self.points[body as usize] = point;
            self.mobility[body as usize] = PINNED;
            self.forces_before[body as usize] = [0.0; 2];
            self.pinned[node as usize] = true;
            self.bounds = self.bounds.with(point);
            self.settle.restart();
        }
    }

    /// Lets a pinned node move again.
    pub fn unpin(&mut self, node: u32) {
        if self.pinned.get(node as usize) == Some(&true) {
            self.pinned[node as usize] = false;
            let mobility = self.mobility_by_node.as_ref().map_or(1.0, |m| m[node as usize]);
            self.mobility[self.body_of[node as usize] as usize] = mobility;
            self.settle.restart();
        }
    }

    /// Whether the layout has come to rest: nodes still swing, but none travels, or the picture grows no more.
    #[must_use]
    pub fn settled(&self) -> bool {
        self.points.is_empty() || self.settle.settled()
    }

    /// Upper bound of the bytes that a layout of this size holds.
    #[must_use]
    pub fn footprint(num_nodes: u32, num_edges: u32) -> u64 {
        32 * u64::from(num_edges) + 160 * u64::from(num_nodes) + (1 << 20)
    }
}

/// Everything that one task reads.
#[derive(Clone, Copy)]
struct Task<'a> {
    field: Field<'a>,
    arcs: &'a Arcs,
    params: &'a Params,
    mobility: &'a [f32],
    clock: Option<Clock>,
}

impl Task<'_> {
    fn run(
        &self,
        task: usize,
        scratch: &mut Scratch,
        out: &mut [[f32; 2]],
        before: &[[f32; 2]],
    ) -> Sums {
        let (p, first) = (self.params, task * TASK);
        let mut laps = Laps::start(self.clock);
        out.fill([0.0; 2]);
        let work = self.field.task(task, scratch, out);
        let masses = &self.field.masses[first..first + out.len()];
        let k = p.scaling_ratio as f32;
        for (f, m) in out.iter_mut().zip(masses) {
            *f = [k * m * f[0], k * m * f[1]];
        }
        let repulse_ns = laps.lap();
        self.arcs.pull(self.field.points, self.field.law.radii, p.lin_log_mode, first, out);
        let (gravity, strong) = (p.gravity as f32, (p.scaling_ratio * p.gravity) as f32);
        let attract_ns = laps.lap();
        let mut sums = Sums { work, repulse_ns, attract_ns, ..Sums::default() };
        for (i, (f, m)) in out.iter_mut().zip(masses).enumerate() {
            let [x, y] = self.field.points[first + i];
            let g = if p.strong_gravity_mode {
                m * strong
            } else {
                m * gravity / (x * x + y * y + repulse::SOFTENING).sqrt()
            };
            *f = allowed(p, [x, y], [f[0] - x * g, f[1] - y * g]);
            if self.mobility[first + i] >= 0.0 {
                let (b, m) = (before[i], f64::from(*m));
                sums.swing += m * f64::from(length(b[0] - f[0], b[1] - f[1]));
                sums.traction += 0.5 * m * f64::from(length(b[0] + f[0], b[1] + f[1]));
            }
        }
        sums.step_ns = laps.lap();
        sums
    }
}

/// The part of a force that may move a body, given what is locked.
fn allowed(p: &Params, point: [f32; 2], f: [f32; 2]) -> [f32; 2] {
    let mut f = f;
    if p.locked_x {
        f[0] = 0.0;
    }
    if p.locked_y {
        f[1] = 0.0;
    }
    if p.locked_r {
        let r2 = point[0] * point[0] + point[1] * point[1];
        let along = if r2 > 0.0 { (f[0] * point[0] + f[1] * point[1]) / r2 } else { 0.0 };
        f = if r2 > 0.0 { [f[0] - along * point[0], f[1] - along * point[1]] } else { [0.0; 2] };
    }
    f
}

/// Where a body ends up that wants to go from `from` to `to`.
fn place(from: [f32; 2], to: [f32; 2], locked_r: bool) -> [f32; 2] {
    if !(to[0].is_finite() && to[1].is_finite()) {
        return from;
    }
    let mut to = to;
    if locked_r {
        let (old, new) = (length(from[0], from[1]), length(to[0], to[1]));
        let k = if new > 0.0 { old / new } else { 0.0 };
        to = if new > 0.0 { [to[0] * k, to[1] * k] } else { from };
    }
    to.map(|v| v.clamp(-COORDINATE_MAX, COORDINATE_MAX))
}

fn length(x: f32, y: f32) -> f32 {
    (x * x + y * y).sqrt()
}

/// Moves every free body that shares its spot with the one before it in `order`, by an amount that depends
/// on the node alone; whether there was one.
fn scatter(
    points: &mut [[f32; 2]],
    order: &[u32],
    mobility: &[f32],
    node_of: &[u32],
    spread: f32,
) -> bool {
    let Some((first, rest)) = order.split_first() else { return false };
    let mut last = points[*first as usize];
    let mut moved = false;
    for b in rest {
        let b = *b as usize;
        if points[b] == last && mobility[b] > 0.0 {
            let node = u64::from(node_of[b]);
            let angle = std::f64::consts::TAU * unit_f64(0, 1, node);
            let r = f64::from(spread) * unit_f64(0, 2, node).sqrt();
            points[b][0] += (r * angle.cos()) as f32;
            points[b][1] += (r * angle.sin()) as f32;
            moved = true;
        } else {
            last = points[b];
        }
    }
    moved
}

/// `v[i]` becomes what was `v[order[i]]`.
fn permute<T: Copy + Send + Sync>(v: &mut Vec<T>, order: &[u32]) {
    let mut out = Vec::with_capacity(v.len());
    order.par_iter().with_min_len(4096).map(|i| v[*i as usize]).collect_into_vec(&mut out);
    *v = out;
}
