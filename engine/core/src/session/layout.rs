//! The layout of one session: a value that moves between the loop, which decides, and a worker, which
//! runs a slice of it and brings it back.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use graphlume_algo::AlgoError;
use graphlume_algo::layout::component_packing::ComponentPacking;
use graphlume_algo::layout::force_atlas2::{Balance, ForceAtlas2, Params};
use graphlume_types::{Clock, Reservation};

use crate::checkpoint::Checkpoint;
use crate::context::EngineContext;
use crate::device::gpu_device::MayBeShort;
use crate::frames::{FrameEncoder, FrameFlags, PositionFrame};
use crate::messages::Backend;
use crate::residency::Lease;
use crate::session::displaced::is_displaced;
use crate::session::following;
use crate::session::force_atlas2;
use crate::session::live_layout::{LayoutInput, LiveLayout};
use crate::session::missing::fill_missing;
use crate::session::placement::Placement;
use crate::session::slice::{FrameRequest, PinChange, SliceReport, SliceRequest};

/// Iterations of one slice at most, so that tiny graphs give the loop its turn too.
pub(crate) const SLICE_ITERATIONS_MAX: u64 = 256;

/// How old the copied positions of a layout on the device may become.
const COPY_EVERY: Duration = Duration::from_secs(5);

/// The device could not take a layout.
#[derive(Debug, Clone)]
struct Refusal {
    why: String,
    /// Memory may be free again another time.
    is_for_now: bool,
}

/// Positions and the forces that move them.
pub(crate) struct Layout {
    epoch: u32,
    positions: Vec<[f32; 2]>,
    /// Where the next positions are read to.
    spare: Vec<[f32; 2]>,
    /// Whether the forces have moved nodes since `positions` was copied out.
    stale: bool,
    forces: Option<Box<dyn LiveLayout>>,
    /// Why the device does not run the forces although there is one, and whether that stays so.
    refusal: Option<Refusal>,
    /// Times that the device was out of memory in a row.
    shortages: u32,
    /// What keeps forces from giving bound positions another size, and for which of the modes linLog and strongGravity
    /// it was found.
    balance: Option<([bool; 2], Option<Balance>)>,
    /// Nodes that the forces would not hold together; with the forces.
    packing: Option<ComponentPacking>,
    /// Whether a run has ended whose positions are still to be arranged.
    is_unarranged: bool,
    pins: BTreeMap<u32, [f32; 2]>,
    encoder: FrameEncoder,
    iterations: u64,
    /// Whether forces or a layout that was named have moved nodes from where they began.
    is_displaced: bool,
    last_frame: Option<Instant>,
    /// When positions were last copied out of the forces.
    copied: Option<Instant>,
    _held: Reservation,
    forces_held: Option<Reservation>,
}

impl Layout {
    /// A layout at rest at the positions of an earlier run, else at the graph's start positions. `seq` is
    /// the last frame number that the session has used.
    pub(crate) fn new(
        lease: &Lease,
        seq: u32,
        held: Reservation,
        checkpoint: Option<Checkpoint>,
    ) -> Self {
        let (iterations, pinned, positions) = match checkpoint {
            Some(s) => (s.metadata.iterations, s.metadata.pins, s.positions),
            None => (0, Vec::new(), lease.start().map(<[_]>::to_vec).unwrap_or_default()),
        };
        let at = |node: u32| positions.get(node as usize).map(|at| (node, *at));
        let pins = pinned.into_iter().filter_map(at).collect();
        let is_displaced = is_displaced(lease.start(), &positions, &pins);
        Self {
            epoch: lease.facts.epoch,
            positions,
            spare: Vec::new(),
            stale: false,
            forces: None,
            refusal: None,
            shortages: 0,
            balance: None,
            packing: None,
            is_unarranged: false,
            pins,
            encoder: FrameEncoder::new(seq),
            iterations,
            is_displaced,
            last_frame: None,
            copied: None,
            _held: held,
            forces_held: None,
        }
    }

    /// Bytes of a layout at rest, with one copy on its way to the disk.
    pub(crate) fn footprint(num_nodes: u32) -> u64 {
        u64::from(num_nodes) * (3 * 8 + FrameEncoder::BYTES_PER_NODE)
    }

    /// Bytes of the forces.
    pub(crate) fn forces_footprint(num_nodes: u32, num_edges: u32) -> u64 {
        ForceAtlas2::footprint(num_nodes, num_edges) + ComponentPacking::footprint(num_nodes)
    }

    pub(crate) const fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(crate) const fn seq(&self) -> u32 {
        self.encoder.seq()
    }

    pub(crate) const fn iterations(&self) -> u64 {
        self.iterations
    }

    /// Whether nodes stand elsewhere than where they began, which is where the data has them if it says so. Those that viewers
    /// hold do not count.
    pub(crate) const fn is_displaced(&self) -> bool {
        self.is_displaced
    }

    /// Whether the layout still needs main memory for its forces.
    pub(crate) const fn needs_forces(&self) -> bool {
        self.forces_held.is_none()
    }

    /// Whether the forces run on the device now.
    pub(crate) fn is_on_device(&self) -> bool {
        self.forces.as_ref().is_some_and(|f| f.is_on_device())
    }

    /// Whether forces that are yet to be made may be tried on the device.
    pub(crate) const fn may_try_device(&self) -> bool {
        self.forces.is_none() && self.refusal.is_none()
    }

    /// What computes a layout of a graph with so many edges, and why not the device. The reason depends on
    /// the device as it is now, not on whether the layout has been told.
    pub(crate) fn backend(&self, ctx: &EngineContext, edges: u32) -> (Backend, String) {
        if self.is_on_device() {
            return (Backend::Cuda, String::new());
        }
        let min = ctx.config.gpu_edges_min;
        let why = match (&self.refusal, &ctx.gpu) {
            (Some(refusal), _) => refusal.why.clone(),
            (None, Ok(gpu)) => match gpu.why_lost() {
                Some(why) => why,
                None if edges < min => format!("graphs under {min} edges are faster on the CPU"),
                None => String::new(),
            },
            (None, Err(_)) => String::new(),
        };
        (Backend::Cpu, why)
    }

    /// Whether others that stand still should make room on the device for another try.
    pub(crate) const fn wants_room(&self) -> bool {
        self.shortages == 1 && self.may_try_device()
    }

    /// The device is gone: the forces start again on the CPU from the last positions.
    pub(crate) fn leave_device(&mut self, why: &str) {
        if self.is_on_device() {
            self.drop_forces();
        }
        self.refusal = Some(Refusal { why: why.to_owned(), is_for_now: false });
    }

    fn drop_forces(&mut self) {
        if let Some(forces) = self.forces.take() {
            forces.leave_device();
        }
        self.stale = false;
        self.packing = None;
    }

    pub(crate) fn give_forces(&mut self, held: Reservation) {
        self.forces_held = Some(held);
    }

    /// Gives the memory of the forces back; the positions stay. The loop calls it, and never waits for
    /// the device: forces there keep what was copied out last, by the frame that ended their run.
    pub(crate) fn rest(&mut self) {
        if !self.is_on_device() {
            self.sync();
        }
        self.drop_forces();
        self.forces_held = None;
        self.shortages = 0;
        self.refusal = self.refusal.take().filter(|r| !r.is_for_now);
    }

    /// Copies the positions out of the forces. Forces whose device fails are given up.
    fn sync(&mut self) {
        if !std::mem::take(&mut self.stale) {
            return;
        }
        let Some(forces) = &mut self.forces else { return };
        let mut positions = std::mem::take(&mut self.spare);
        let copied = forces.positions(&mut positions);
        if let Err(e) = copied {
            return self.device_failed(&e);
        }
        self.spare = std::mem::replace(&mut self.positions, positions);
        if let Some(packing) = &self.packing {
            let pins = &self.pins;
            packing.place(&mut self.positions, |v| pins.contains_key(&v));
        }
    }

    /// The forces end, and go on from the last positions: on the device after a lack of memory, as long
    /// as others may make room, else on the CPU.
    fn device_failed(&mut self, e: &AlgoError) {
        self.drop_forces();
        if e.is_short() {
            self.shortages += 1;
            if self.shortages <= 1 {
                return;
            }
        }
        self.refusal = Some(Refusal { why: e.to_string(), is_for_now: e.is_short() });
    }

    /// Runs one slice; on a worker, inside the CPU pool.
    pub(crate) fn slice(&mut self, request: &SliceRequest, clock: &dyn Clock) -> SliceReport {
        let begun = clock.monotonic();
        if let Some(placement) = &request.placement {
            self.place(placement);
            self.is_displaced = is_displaced(request.lease.start(), &self.positions, &self.pins);
        }
        let followers = self.followers(request);
        for change in &request.pin_changes {
            self.change_pin(*change);
        }
        for (node, [dx, dy]) in followers {
            let [x, y] = &mut self.positions[node as usize];
            (*x, *y) = (*x + dx, *y + dy);
        }
        let mut report = SliceReport {
            moved_by_viewers: request.placement.is_some() || !request.pin_changes.is_empty(),
            ..SliceReport::default()
        };
        self.is_unarranged &= !request.run;
        // The first picture does not wait for forces.
        if request.run && self.last_frame.is_some() {
            match self.iterate(request, clock, begun, &mut report) {
                Err(e @ AlgoError::Device(_)) => self.device_failed(&e),
                done => report.failed = done.err(),
            }
            self.end_run(request, &report);
        }
        if self.is_unarranged && request.gpu.is_none() {
            let arranged = self.arrange(request);
            report.failed = report.failed.take().or(arranged.err());
        }
        let now = clock.monotonic();
        // What is kept is shown, too: a restart goes on from a picture that viewers know.
        let due = request.copy
            || self
                .last_frame
                .is_none_or(|at| now.saturating_duration_since(at) >= request.frame_interval);
        let key = request.frame == FrameRequest::Key;
        // At rest no later slice would show where a drag has ended.
        let pinned = !request.pin_changes.is_empty() && (due || !request.run);
        if key || pinned || (due && report.iterations > 0) {
            self.last_frame = Some(now);
            let goes_on = request.run && request.flags.running && !report.converged;
            report.frame = Some(self.frame(key, request.flags, goes_on, now));
        }
        if request.exact {
            self.sync();
            report.exact = Some(self.encoder.exact(&self.positions, self.epoch, request.flags));
        }
        if request.copy {
            self.sync();
            self.copied = Some(now);
            let pins = self.pins.keys().copied().collect();
            report.copy = Some((self.positions.clone(), pins));
        }
        report.took = clock.monotonic().saturating_duration_since(begun);
        report
    }

    /// Notes a run that ends with this slice. Positions on the device are copied out: what arranges them is the processor,
    /// in the next slice, because work on the device is watched for how long it takes.
    fn end_run(&mut self, request: &SliceRequest, report: &SliceReport) {
        let Some(ending) = request.ending.as_ref().filter(|_| report.iterations > 0) else {
            return;
        };
        if ending.is_here(report.converged, self.iterations, report.iterations) {
            self.sync();
            self.drop_forces();
            self.is_unarranged = true;
        }
    }

    /// Arranges the positions of a run that has ended.
    fn arrange(&mut self, request: &SliceRequest) -> Result<(), AlgoError> {
        self.is_unarranged = false;
        let Some(ending) = &request.ending else { return Ok(()) };
        let topology = &request.lease.graph.topology;
        ending.arrange(topology, &mut self.positions, &self.pins, &request.cancel)
    }

    /// A frame, made on the device while the layout runs there. Positions are copied out at least every few
    /// seconds and by the frame that ends a run, for that is what is left when the device is lost.
    fn frame(
        &mut self,
        key: bool,
        flags: FrameFlags,
        goes_on: bool,
        now: Instant,
    ) -> PositionFrame {
        let is_fresh = self.copied.is_some_and(|at| now.saturating_duration_since(at) < COPY_EVERY);
        if goes_on && is_fresh && self.stale && self.packing.is_none() {
            let nodes = u32::try_from(self.positions.len()).unwrap_or(u32::MAX);
            let (encoder, epoch) = (&mut self.encoder, self.epoch);
            let source = self.forces.as_mut().and_then(|f| f.frames(nodes));
            match source.map(|mut s| encoder.encode_from(&mut s, epoch, key, flags)) {
                Some(Ok(frame)) => return frame,
                Some(Err(e)) => self.device_failed(&e),
                None => {}
            }
        }
        self.sync();
        self.copied = Some(now);
        let (encoder, epoch) = (&mut self.encoder, self.epoch);
        if goes_on {
            encoder.encode(&self.positions, epoch, key, flags)
        } else {
            encoder.encode_at_rest(&self.positions, epoch, key, flags)
        }
    }

    /// Moves all nodes that are not held, and whose place is finite.
    fn place(&mut self, placement: &Placement) {
        self.sync();
        self.drop_forces();
        self.balance = None;
        for (v, (at, to)) in (0..).zip(self.positions.iter_mut().zip(&placement.positions)) {
            if to.iter().all(|x| x.is_finite()) && !self.pins.contains_key(&v) {
                *at = *to;
            }
        }
    }

    /// How far nodes go with those that viewers move, of a layout by forces that is at rest.
    fn followers(&self, request: &SliceRequest) -> Vec<(u32, [f32; 2])> {
        let is_at_rest = !request.run && self.forces.is_none() && self.iterations > 0;
        if !is_at_rest || request.keeps_size {
            return vec![];
        }
        let topology = &request.lease.graph.topology;
        following::followers(topology, &self.positions, &request.pin_changes, &self.pins)
    }

    fn change_pin(&mut self, change: PinChange) {
        match change {
            PinChange::Pin { node, at } => {
                self.sync();
                self.pins.insert(node, at);
                if let Some(p) = self.positions.get_mut(node as usize) {
                    *p = at;
                }
                if let Some(f) = &mut self.forces {
                    f.pin(node, at);
                }
            }
            PinChange::Unpin { node } => {
                self.pins.remove(&node);
                if let Some(f) = &mut self.forces {
                    f.unpin(node);
                }
            }
        }
    }

    fn iterate(
        &mut self,
        request: &SliceRequest,
        clock: &dyn Clock,
        begun: Instant,
        report: &mut SliceReport,
    ) -> Result<(), AlgoError> {
        let params = self.params(request);
        let forces = match &mut self.forces {
            Some(forces) => {
                if *forces.params() != params {
                    forces.set_params(params)?;
                }
                forces
            }
            None => {
                let forces = self.start(request, &params)?;
                self.shortages = 0;
                self.forces.insert(forces)
            }
        };
        let mut each = None;
        let mut done = Ok(());
        while done.is_ok() {
            let before = forces.iterations();
            let spent = clock.monotonic().saturating_duration_since(begun);
            let left = request.budget.saturating_sub(spent);
            let most = request.iterations_max - report.iterations;
            done = forces.iterate(most, left, each, &request.cancel);
            report.iterations += forces.iterations() - before;
            let spent = clock.monotonic().saturating_duration_since(begun);
            each = u32::try_from(report.iterations).ok().and_then(|n| spent.checked_div(n));
            report.converged = request.stop_at_rest && forces.settled();
            if spent >= request.budget
                || report.iterations >= request.iterations_max
                || report.converged
            {
                break;
            }
        }
        self.iterations += report.iterations;
        self.is_displaced |= report.iterations > 0;
        self.stale |= report.iterations > 0;
        done
    }

    /// The parameters that the session asks for, at the size of bound positions.
    fn params(&mut self, request: &SliceRequest) -> Params {
        let params = request.params.clone();
        if !request.keeps_size {
            return params;
        }
        let modes = [params.lin_log_mode, params.strong_gravity_mode];
        let found = match self.balance {
            Some((of, found)) if of == modes => found,
            _ => {
                let topology = &request.lease.graph.topology;
                fill_missing(topology, &mut self.positions);
                Balance::at(topology, &params, &self.positions)
            }
        };
        self.balance = Some((modes, found));
        match found {
            Some(balance) => balance.applied(params),
            None => params,
        }
    }

    /// The forces from the present positions, on the device when the request names one.
    fn start(
        &mut self,
        request: &SliceRequest,
        params: &Params,
    ) -> Result<Box<dyn LiveLayout>, AlgoError> {
        let topology = &request.lease.graph.topology;
        fill_missing(topology, &mut self.positions);
        // Positions that the dataset binds, or that a named layout found, stay: no small component is moved beside the others.
        if !request.keeps_size {
            self.packing = ComponentPacking::new(topology, &self.positions, &request.cancel)?;
        }
        // Nothing holds the packed nodes but gravity, which is too weak against the rest of the
        // graph.
        let mobility = self.packing.as_ref().map(|p| p.mobility(topology.num_nodes()));
        let input = LayoutInput {
            lease: &request.lease,
            params,
            positions: &self.positions,
            mobility: mobility.as_deref(),
        };
        let mut forces = match &request.gpu {
            Some(gpu) => force_atlas2::on_device(gpu, &input)?,
            None => force_atlas2::on_cpu(&input)?,
        };
        for (node, at) in &self.pins {
            forces.pin(*node, *at);
        }
        Ok(forces)
    }
}

impl Drop for Layout {
    fn drop(&mut self) {
        self.drop_forces();
    }
}
