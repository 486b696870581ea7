//! The engine's state, in parts that each own what is theirs, and what concerns several of them.

mod device_monitor;
mod event;

use std::marker::PhantomData;
use std::sync::Arc;

use crossbeam::channel::Sender;
use graphlume_types::DatasetId;

use crate::checkpoint::CheckpointStore;
use crate::context::EngineContext;
use crate::error::{ClosedReason, EngineError};
use crate::loader::Loader;
use crate::messages::Backend;
use crate::report::Reports;
use crate::residency::{Availability, Need, Residency, ResidencyEvent};
use crate::scheduler::Scheduler;
use crate::session::{SessionEvent, Sessions};

pub(crate) use device_monitor::DeviceMonitor;
pub(crate) use event::EngineEvent;

/// The state of the engine. Not `Send`: made on the engine thread, it cannot leave it, so that no
/// lock is needed and none exists.
pub(crate) struct Engine {
    pub(crate) ctx: Arc<EngineContext>,
    pub(crate) residency: Residency,
    pub(crate) sessions: Sessions,
    pub(crate) scheduler: Scheduler,
    pub(crate) device: DeviceMonitor,
    stopping: bool,
    _thread: PhantomData<*const ()>,
}

/// What an engine is made of.
pub(crate) struct EngineParts {
    pub(crate) ctx: Arc<EngineContext>,
    pub(crate) scheduler: Scheduler,
    pub(crate) loader: Arc<dyn Loader>,
    /// Where sessions keep their positions; without it, they end with the engine.
    pub(crate) checkpoints: Option<Arc<dyn CheckpointStore>>,
    pub(crate) events: Sender<EngineEvent>,
}

/// A part of the engine that a command may take instead of all of it.
pub(crate) trait EnginePart {
    fn of(engine: &mut Engine) -> &mut Self;
}

impl EnginePart for Engine {
    fn of(engine: &mut Engine) -> &mut Self {
        engine
    }
}

impl EnginePart for Sessions {
    fn of(engine: &mut Engine) -> &mut Self {
        &mut engine.sessions
    }
}

impl Engine {
    pub(crate) fn new(parts: EngineParts) -> Self {
        let EngineParts { ctx, scheduler, loader, checkpoints, events } = parts;
        Self {
            residency: Residency::new(ctx.clone(), loader, Reports::new(events.clone())),
            sessions: Sessions::new(ctx.clone(), checkpoints, Reports::new(events.clone())),
            device: DeviceMonitor::new(ctx.clone(), Reports::new(events)),
            scheduler,
            ctx,
            stopping: false,
            _thread: PhantomData,
        }
    }

    /// Whether the engine has stopped and its loop is to end.
    pub(crate) const fn is_stopping(&self) -> bool {
        self.stopping
    }

    /// Takes in what another thread reports.
    pub(crate) fn on_event(&mut self, event: EngineEvent) {
        match event {
            EngineEvent::Residency(ResidencyEvent::MemoryWanted { bytes, answer }) => {
                let _ = answer.try_send(self.sessions.reserve(bytes, &mut self.residency));
            }
            EngineEvent::Residency(event) => {
                let Self { residency, sessions, scheduler, .. } = self;
                if let Some(update) = residency.on_event(event, scheduler) {
                    sessions.on_update(update, residency, scheduler);
                }
            }
            EngineEvent::Session(event) => {
                if matches!(event, SessionEvent::Sliced { backend: Backend::Cuda, .. }) {
                    self.look_after_device();
                }
                self.sessions.on_event(event, &mut self.residency, &self.scheduler);
            }
            EngineEvent::Canary(result) => {
                self.device.on_canary(result);
                self.look_after_device();
                self.device.answer(&Ok(()));
            }
        }
    }

    fn look_after_device(&mut self) {
        self.device.look(&mut self.sessions, &self.residency, &self.scheduler);
    }

    /// Starts a load unless one runs or the graph is there, even if the last one failed a moment ago.
    ///
    /// # Errors
    /// [`EngineError::Busy`] when too many datasets wait for a loader.
    pub(crate) fn load_again(&mut self, dataset: DatasetId) -> Result<(), EngineError> {
        match self.residency.request(dataset, Need::PICTURE_AGAIN, &self.scheduler) {
            Availability::Loading(stage) => self.sessions.show_loading(dataset, stage),
            Availability::Refused(error @ EngineError::Busy { .. }) => return Err(error),
            Availability::Refused(_) | Availability::Ready(_) => {}
        }
        Ok(())
    }

    /// The dataset has other data now: its sessions load again under a new epoch.
    ///
    /// # Errors
    /// As [`Self::load_again`].
    pub(crate) fn dataset_changed(
        &mut self,
        dataset: DatasetId,
        answer: &EngineError,
    ) -> Result<(), EngineError> {
        self.residency.forget(dataset, answer, &self.scheduler);
        self.sessions.discard_dataset_checkpoints(dataset, &self.scheduler);
        if !self.sessions.reset_all_of(dataset) {
            return Ok(());
        }
        let loading = self.load_again(dataset);
        self.sessions.request_graphs_of(dataset, &mut self.residency, &self.scheduler);
        loading
    }

    /// The dataset is gone; `answer` is what its callers are told.
    pub(crate) fn dataset_gone(&mut self, dataset: DatasetId, answer: &EngineError) {
        self.sessions.close_all_of(dataset, ClosedReason::DatasetGone, &self.scheduler);
        self.sessions.discard_dataset_checkpoints(dataset, &self.scheduler);
        self.residency.forget(dataset, answer, &self.scheduler);
    }

    /// Looks at every session and at the device, and notes the gauges.
    pub(crate) fn tick(&mut self) {
        self.residency.answer_late(&self.scheduler);
        let mut gauges = self.sessions.tick(&mut self.residency, &self.scheduler);
        gauges.resident_graphs = self.residency.num_resident();
        gauges.jobs_waiting = self.scheduler.jobs_waiting() + self.residency.jobs_waiting();
        gauges.loads_waiting = self.scheduler.pools().loaders.depth();
        self.ctx.set_gauges(gauges);
        self.look_after_device();
    }

    /// Hands out layout slices while workers are free.
    pub(crate) fn dispatch(&mut self) {
        self.sessions.dispatch(&mut self.residency, &self.scheduler);
    }

    /// Ends everything: loads, layouts, sessions, waiting callers.
    pub(crate) fn stop(&mut self) {
        self.stopping = true;
        self.ctx.note_stopping();
        self.residency.stop(&self.scheduler);
        self.sessions.stop(&self.scheduler);
        self.device.answer(&Err(EngineError::Stopped));
    }

    /// Lets the threads go, without waiting for work on a device that does not come back.
    pub(crate) fn close(self) {
        let waits_for_device = self.ctx.restart_reason().is_none();
        self.scheduler.close(waits_for_device);
    }
}
