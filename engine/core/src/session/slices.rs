//! Turns of sessions: each moves for one slice, and layouts travel to the workers and back.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::Duration;

use graphlume_algo::AlgoError;
use graphlume_types::SessionId;

use crate::config::Config;
use crate::context::EngineContext;
use crate::error::EngineError;
use crate::messages::Backend;
use crate::residency::Residency;
use crate::scheduler::Scheduler;
use crate::session::arranging::Ending;
use crate::session::layout::{Layout, SLICE_ITERATIONS_MAX};
use crate::session::machine::VizSession;
use crate::session::slice::{FrameRequest, SliceReport, SliceRequest};
use crate::session::turns::Slice;
use crate::session::{SessionEvent, Sessions};
use crate::workers::Job;

/// How many iterations a slice may have, so that one slice per tick keeps the bound of the rate.
fn iterations_per_slice(config: &Config) -> u64 {
    match u64::from(config.iterations_per_s_max) {
        0 => SLICE_ITERATIONS_MAX,
        rate => {
            let tick_us = u64::try_from(config.tick.as_micros()).unwrap_or(u64::MAX);
            rate.saturating_mul(tick_us).div_ceil(1_000_000).clamp(1, SLICE_ITERATIONS_MAX)
        }
    }
}

/// How long a layout that was faster than the bound of the rate has to rest.
fn rest(config: &Config, report: &SliceReport) -> Option<Duration> {
    if config.iterations_per_s_max == 0 || report.iterations == 0 {
        return None;
    }
    let iterations = u32::try_from(report.iterations).unwrap_or(u32::MAX);
    let due = Duration::from_secs(1) * iterations / config.iterations_per_s_max;
    due.checked_sub(report.took).filter(|rest| !rest.is_zero())
}

/// Where the next slice of a session runs: on the device when its forces are there, or are to be
/// made and the graph is large enough.
fn backend_of(ctx: &EngineContext, session: &VizSession) -> Backend {
    let (Some(lease), Some(layout)) = (&session.lease, &session.layout) else {
        return Backend::Cpu;
    };
    let is_new = session.is_running()
        && layout.may_try_device()
        && ctx.usable_gpu().is_some()
        && lease.facts.edge_count >= ctx.config.gpu_edges_min;
    if layout.is_on_device() || is_new { Backend::Cuda } else { Backend::Cpu }
}

impl Sessions {
    /// Hands out slices while workers are free. A session whose workers are busy keeps its place.
    pub(crate) fn dispatch(&mut self, residency: &mut Residency, scheduler: &Scheduler) {
        let ctx = self.ctx.clone();
        let config = &ctx.config;
        let mut skipped = VecDeque::new();
        while self.turns.has_room(config, Backend::Cpu)
            || self.turns.has_room(config, Backend::Cuda)
        {
            let Some(id) = self.turns.waiting.pop_front() else { break };
            let Some(session) = self.live.get_mut(&id) else { continue };
            let backend = backend_of(&ctx, session);
            if !self.turns.has_room(config, backend) {
                skipped.push_back(id);
                continue;
            }
            session.queued = false;
            if session.wants_slice() {
                if backend == Backend::Cpu {
                    self.reserve_forces(&id, residency);
                }
                self.send_slice(&id, backend, scheduler);
            }
        }
        skipped.append(&mut self.turns.waiting);
        self.turns.waiting = skipped;
    }

    /// A layout that is to move needs memory for its forces; without it, it stands still and says so.
    fn reserve_forces(&mut self, id: &SessionId, residency: &mut Residency) {
        let Some(bytes) = self.live.get(id).and_then(VizSession::forces_wanted) else { return };
        let held = self.reserve(bytes, residency);
        let now = self.ctx.now();
        let Some(session) = self.live.get_mut(id) else { return };
        match (held, &mut session.layout) {
            (Ok(held), Some(layout)) => layout.give_forces(held),
            (Ok(_), None) => {}
            (Err(refused), _) => {
                session.cannot_run(&EngineError::from(refused).to_string(), now);
            }
        }
    }

    fn send_slice(&mut self, id: &SessionId, backend: Backend, scheduler: &Scheduler) {
        let pool = match backend {
            Backend::Cpu => &scheduler.pools().layouts,
            Backend::Cuda => &scheduler.pools().device,
        };
        let Some(session) = self.live.get_mut(id) else { return };
        if pool.check_room().is_err() {
            self.turns.push(session);
            return;
        }
        let Some((mut layout, request)) = slice_of(&self.ctx, session, backend) else { return };
        session.away = true;
        let generation = session.generation;
        let event =
            move |session, result| SessionEvent::Sliced { session, generation, backend, result };
        let report = self.reports.once(event(id.clone(), Err(EngineError::Dropped)));
        let (id, cpu, ctx) = (id.clone(), scheduler.cpu().clone(), self.ctx.clone());
        let run = move || {
            let clock = ctx.clock.as_ref();
            let done = match backend {
                Backend::Cpu => cpu.install(|| layout.slice(&request, clock)),
                // The pool is for those who compute with it.
                Backend::Cuda => {
                    let _step = ctx.steps.begin("a layout slice", clock.monotonic());
                    layout.slice(&request, clock)
                }
            };
            // The lease is given back before the loop hears of the slice.
            drop(request);
            report.send(event(id, Ok(Box::new(Slice { layout, report: done }))));
        };
        if pool.submit(Job::new("layout", run)).is_ok() {
            self.turns.away[backend as usize] += 1;
        }
    }

    /// A layout has come back, or was lost.
    pub(super) fn on_sliced(
        &mut self,
        id: &SessionId,
        generation: u64,
        backend: Backend,
        result: Result<Box<Slice>, EngineError>,
        residency: &mut Residency,
        scheduler: &Scheduler,
    ) {
        let now = self.ctx.now();
        if let Ok(slice) = &result {
            count(&self.ctx, backend, &slice.report);
        }
        let Some(session) = self.live.get_mut(id).filter(|s| s.generation == generation) else {
            return;
        };
        let dataset = session.dataset;
        match result {
            Ok(slice) => {
                let Slice { mut layout, mut report } = *slice;
                // The loss was told to the layouts that were here then, and to none that was away.
                if let Some(why) = self.ctx.why_gpu_lost() {
                    layout.leave_device(&why);
                }
                let wants_room = layout.wants_room();
                let failed = report.failed.take();
                session.rest_until = rest(&self.ctx.config, &report).map(|rest| now + rest);
                session.slice_done(layout, report, now);
                session.show_backend(&self.ctx, now);
                if let Some(e) = failed
                    && !matches!(e, AlgoError::Cancelled(_))
                {
                    session.slice_failed(&EngineError::from_coded(&e), now);
                }
                if wants_room {
                    self.rest_idle_layouts();
                }
            }
            Err(error) => session.slice_failed(&error, now),
        }
        self.write_checkpoint(id, scheduler);
        if let Some(session) = self.live.get_mut(id) {
            self.turns.push(session);
        }
        self.request_communities(dataset, residency, scheduler);
    }

    /// Layouts that stand still give their memory on the device back.
    fn rest_idle_layouts(&mut self) {
        for session in self.live.values_mut().filter(|s| !s.is_running()) {
            if let Some(layout) = session.layout.as_mut().filter(|l| l.is_on_device()) {
                layout.rest();
            }
        }
    }
}

/// The layout of a session and what a worker is to do with it; none while either is missing.
fn slice_of(
    ctx: &EngineContext,
    session: &mut VizSession,
    backend: Backend,
) -> Option<(Box<Layout>, SliceRequest)> {
    let lease = session.lease.clone()?;
    let layout = session.layout.take()?;
    let (config, now) = (&ctx.config, ctx.now());
    let gpu = ctx.usable_gpu().filter(|_| backend == Backend::Cuda).cloned();
    // A device that was lost this moment: the next slice goes to the CPU.
    let is_stranded = backend == Backend::Cuda && gpu.is_none() && !layout.is_on_device();
    let keeps_size = lease.facts.has_positions || !session.placed.by.is_empty();
    let request = SliceRequest {
        ending: ending_of(session, keeps_size),
        run: session.is_running() && !is_stranded,
        params: session.settings.params(lease.facts.node_count),
        keeps_size,
        lease,
        pin_changes: std::mem::take(&mut session.pin_changes),
        placement: session.placement.take(),
        frame: if std::mem::take(&mut session.key_wanted) {
            FrameRequest::Key
        } else {
            FrameRequest::WhenDue
        },
        flags: session.frame_flags(),
        exact: !session.exact_waiters.is_empty(),
        copy: session.checkpoints.takes_copy(now),
        budget: config.slice,
        iterations_max: iterations_per_slice(config)
            .min(session.iterations_left().unwrap_or(u64::MAX).max(1)),
        stop_at_rest: config.stop_at_rest,
        frame_interval: config.frame_interval,
        cancel: session.cancel.clone(),
        gpu,
    };
    Some((layout, request))
}

/// How the picture is arranged when the run ends. Given positions stay where they are, and so do coordinates that are locked.
fn ending_of(session: &VizSession, keeps_size: bool) -> Option<Ending> {
    let settings = &session.settings;
    if keeps_size || settings.locked_x || settings.locked_y || settings.locked_r {
        return None;
    }
    let (left, settle_after) = (session.iterations_left(), session.settle_after);
    session.broadcast.scene().map(|scene| Ending { left, settle_after, scene })
}

/// Counts what a slice did.
fn count(ctx: &EngineContext, backend: Backend, report: &SliceReport) {
    let counters = &ctx.counters;
    counters.iterations.fetch_add(report.iterations, Ordering::Relaxed);
    if backend == Backend::Cuda {
        counters.device_iterations.fetch_add(report.iterations, Ordering::Relaxed);
    }
    if let Some(frame) = &report.frame {
        counters.frames.fetch_add(1, Ordering::Relaxed);
        counters.frame_bytes.fetch_add(frame.bytes.len() as u64, Ordering::Relaxed);
    }
}
