//! The engine's look at its processors: the known-answer job, the memory that the GPU is to free, and its loss.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::canary::Canary;
use crate::context::EngineContext;
use crate::device::OnDeviceLost;
use crate::device::gpu_device::GpuDevice;
use crate::error::EngineError;
use crate::reply::Reply;
use crate::report::Reports;
use crate::residency::Residency;
use crate::scheduler::Scheduler;
use crate::session::Sessions;
use crate::workers::Job;

/// What is known of the processors, and who waits for news.
pub(crate) struct DeviceMonitor {
    ctx: Arc<EngineContext>,
    reports: Reports<Canary>,
    canary_runs: bool,
    canary_waiters: Vec<Reply<()>>,
    /// The loss of the GPU has been dealt with.
    is_given_up: bool,
}

impl DeviceMonitor {
    pub(super) fn new(ctx: Arc<EngineContext>, reports: Reports<Canary>) -> Self {
        Self { ctx, reports, canary_runs: false, canary_waiters: Vec::new(), is_given_up: false }
    }

    /// Answers when the known-answer job has run; any number of callers share one run.
    pub(crate) fn run_canary(&mut self, reply: Reply<()>, scheduler: &Scheduler) {
        let readers = &scheduler.pools().readers;
        if !self.canary_runs {
            if let Err(e) = readers.check_room() {
                return reply.send(Err(e));
            }
            let (cpu, ctx) = (scheduler.cpu().clone(), self.ctx.clone());
            let report = self.reports.once(Canary::panicked());
            let run = move || {
                let result = cpu.install(|| Canary::run(ctx.clock.as_ref()));
                if let Some(gpu) = ctx.usable_gpu() {
                    let _step = ctx.steps.begin("the canary", ctx.now());
                    gpu.run_canary(ctx.clock.as_ref());
                }
                report.send(result);
            };
            self.canary_runs = readers.submit(Job::new("canary", run)).is_ok();
        }
        self.canary_waiters.push(reply);
    }

    /// The known-answer job has run.
    pub(super) fn on_canary(&mut self, result: Canary) {
        self.canary_runs = false;
        self.ctx.set_canary(result);
    }

    /// Answers those who wait for the known-answer job.
    pub(super) fn answer(&mut self, answer: &Result<(), EngineError>) {
        for waiter in self.canary_waiters.drain(..) {
            waiter.send(answer.clone());
        }
    }

    /// Deals with a lost GPU, once, and has what was left on a working one freed.
    pub(super) fn look(
        &mut self,
        sessions: &mut Sessions,
        residency: &Residency,
        scheduler: &Scheduler,
    ) {
        let Ok(gpu) = &self.ctx.gpu else { return };
        let gpu = gpu.clone();
        if let Some(why) = gpu.why_lost() {
            if !std::mem::replace(&mut self.is_given_up, true) {
                self.give_up(&gpu, why, sessions);
            }
        } else {
            gpu.keep_only(|key| residency.is_resident(key));
        }
        let background = &scheduler.pools().background;
        if gpu.has_deferred() && background.check_room().is_ok() {
            let ctx = self.ctx.clone();
            let run = move || {
                let _step = ctx.steps.begin("giving memory back", ctx.now());
                gpu.reclaim();
            };
            let _ = background.submit(Job::new("giving device memory back", run));
        }
    }

    /// Nothing on the GPU can be used any more.
    fn give_up(&self, gpu: &GpuDevice, why: String, sessions: &mut Sessions) {
        self.ctx.counters.device_losses.fetch_add(1, Ordering::Relaxed);
        tracing::error!(gpu = gpu.gpu.info().name, "{why}");
        gpu.keep_only(|_| false);
        sessions.leave_device(&why);
        if self.ctx.config.on_device_lost == OnDeviceLost::Exit {
            self.ctx.want_restart(why);
        }
    }
}
