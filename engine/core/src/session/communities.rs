//! Communities of a graph and the picture coloured by them, looked for once per dataset after the first
//! picture, when nothing but communities would give the nodes meaningful colours.

use std::sync::Arc;

use graphlume_types::{DatasetId, SessionId};

use crate::error::EngineError;
use crate::frames::SceneFrames;
use crate::residency::Residency;
use crate::scheduler::Scheduler;
use crate::session::community_search::coloured_scene;
use crate::session::{SessionEvent, Sessions};
use crate::workers::Job;

impl Sessions {
    /// Begins the search if it is to be made and has not begun.
    pub(super) fn request_communities(
        &self,
        dataset: DatasetId,
        residency: &mut Residency,
        scheduler: &Scheduler,
    ) {
        let Some(lease) = residency.lacks_communities(dataset) else { return };
        if scheduler.pools().background.check_room().is_err() {
            return;
        }
        residency.begin_communities(dataset);
        let epoch = lease.facts.epoch;
        let event = move |result| SessionEvent::Communities { dataset, epoch, result };
        let report = self.reports.once(event(Err(EngineError::Dropped)));
        let (ctx, cpu) = (self.ctx.clone(), scheduler.cpu().clone());
        let run = move || {
            let result = cpu.install(|| coloured_scene(&ctx, &lease));
            drop(lease);
            report.send(event(result.map(Arc::new)));
        };
        let _ = scheduler.pools().background.submit(Job::new("communities", run));
    }

    /// The colours are there, or could not be found within the time; then the first ones stay.
    pub(super) fn on_communities(
        &mut self,
        dataset: DatasetId,
        epoch: u32,
        result: Result<Arc<SceneFrames>, EngineError>,
        residency: &mut Residency,
        scheduler: &Scheduler,
    ) {
        let scene = result
            .inspect_err(|error| tracing::info!(%dataset, %error, "no colours by community"))
            .ok();
        let is_present = residency.end_communities(dataset, epoch, scene.clone());
        let (true, Some(scene)) = (is_present, scene) else { return };
        let mut with_collections: Vec<SessionId> = Vec::new();
        for session in self.live.values().filter(|s| s.dataset == dataset) {
            if session.broadcast.graph().is_none_or(|g| g.epoch != epoch) {
                continue;
            }
            if session.collections.are_shown() {
                with_collections.push(session.id.clone());
            } else {
                session.broadcast.set_scene(scene.clone());
            }
        }
        for id in with_collections {
            self.render_collections(&id, residency, scheduler);
        }
    }
}
