//! Graphs of sessions: requests for them, and their updates.

use std::sync::Arc;

use graphlume_types::{DatasetId, SessionId};

use crate::frames::SceneFrames;
use crate::residency::{Availability, Lease, Need, Residency, Update};
use crate::scheduler::Scheduler;
use crate::session::Sessions;
use crate::session::checkpointing::LayoutStart;
use crate::session::machine::VizSession;
use crate::session::state::GraphState;

impl VizSession {
    /// The graph has other columns now, and this picture. Whether collections have to be rendered over it first.
    fn take_columns(&mut self, lease: &Lease, scene: &Arc<SceneFrames>) -> bool {
        if self.lease.is_some() {
            self.lease = Some(lease.clone());
        }
        self.checkpoints.layout_ended();
        self.broadcast.set_facts(lease.facts.clone());
        let has_collections = self.collections.are_shown();
        if !has_collections {
            self.broadcast.set_scene(scene.clone());
        }
        has_collections
    }
}

impl Sessions {
    /// Gives the session its graph, or makes it wait for one.
    pub(crate) fn request_graph(
        &mut self,
        id: &SessionId,
        need: Need,
        residency: &mut Residency,
        scheduler: &Scheduler,
    ) {
        let Some(session) = self.live.get_mut(id) else { return };
        let state = match residency.request(session.dataset, need, scheduler) {
            Availability::Ready(lease) => return self.take_graph(id, lease, residency, scheduler),
            Availability::Loading(stage) => GraphState::Loading(stage),
            Availability::Refused(error) => GraphState::from(&error),
        };
        session.graph_missing(state, self.ctx.now());
    }

    /// The dataset is resident: the session takes the lease and gets a layout.
    fn take_graph(
        &mut self,
        id: &SessionId,
        lease: Lease,
        residency: &mut Residency,
        scheduler: &Scheduler,
    ) {
        let now = self.ctx.now();
        let Some(session) = self.live.get(id).filter(|s| s.lease.is_none()) else { return };
        let epoch = lease.facts.epoch;
        let continues = session.layout.as_ref().is_some_and(|l| l.epoch() == epoch);
        let start = match continues {
            true => Some(LayoutStart::Continued),
            false => self.new_layout(id, &lease, residency, scheduler),
        };
        let (Some(start), Some(session)) = (start, self.live.get_mut(id)) else { return };
        let scene = residency.scene(lease.dataset).unwrap_or_else(|| lease.scene.clone());
        let rendered = session.collections.rendered(&scene);
        session.graph_ready(lease, rendered.unwrap_or(scene), start, now);
        session.show_backend(&self.ctx, now);
        // A session that is watched already runs in this turn.
        self.tick_due = true;
        self.turns.push(session);
        self.render_collections(id, residency, scheduler);
    }

    /// Tells sessions the news of a dataset.
    pub(crate) fn on_update(
        &mut self,
        update: Update,
        residency: &mut Residency,
        scheduler: &Scheduler,
    ) {
        match update {
            Update::Stage(dataset, stage) => {
                let is_loading = |s: &VizSession| matches!(s.graph, GraphState::Loading(_));
                self.graph_missing(dataset, &GraphState::Loading(stage), is_loading);
            }
            Update::LoadFailed(dataset, error) => {
                self.graph_missing(dataset, &GraphState::from(&error), |s| s.lease.is_none());
            }
            Update::PlacingFailed(dataset, error) => {
                self.graph_missing(dataset, &GraphState::from(&error), VizSession::waits_for_graph);
            }
            Update::Changed(dataset) => {
                let waiting = self.live.values();
                let waiting = waiting.filter(|s| s.dataset == dataset && s.waits_for_graph());
                let waiting: Vec<SessionId> = waiting.map(|s| s.id.clone()).collect();
                for id in waiting {
                    self.request_graph(&id, Need::PICTURE, residency, scheduler);
                }
            }
            Update::Columns(dataset) => self.take_columns(dataset, residency, scheduler),
            Update::Replaced(dataset) => {
                let now = self.ctx.now();
                for session in self.live.values_mut().filter(|s| s.dataset == dataset) {
                    session.reset(now);
                }
                self.request_graphs_of(dataset, residency, scheduler);
            }
        }
    }

    /// The graph that is shown has other columns now: colours, sizes, names and collections follow.
    fn take_columns(
        &mut self,
        dataset: DatasetId,
        residency: &mut Residency,
        scheduler: &Scheduler,
    ) {
        let Some((lease, scene)) = residency.shown(dataset) else { return };
        let (mut with_collections, mut is_shown) = (Vec::new(), false);
        for session in self.live.values_mut().filter(|s| s.dataset == dataset) {
            if session.broadcast.graph().is_none_or(|g| g.epoch != lease.facts.epoch) {
                continue;
            }
            is_shown = true;
            if session.take_columns(&lease, &scene) {
                with_collections.push(session.id.clone());
            }
        }
        for id in with_collections {
            self.render_collections(&id, residency, scheduler);
        }
        // Who waits for the graph waits for this one.
        self.on_update(Update::Changed(dataset), residency, scheduler);
        self.tick_due = true;
        if is_shown {
            self.request_communities(dataset, residency, scheduler);
        }
    }

    /// Shows those of a dataset's sessions that `whose` names why they have no graph.
    fn graph_missing(
        &mut self,
        dataset: DatasetId,
        state: &GraphState,
        whose: impl Fn(&VizSession) -> bool,
    ) {
        let now = self.ctx.now();
        for session in self.live.values_mut().filter(|s| s.dataset == dataset && whose(s)) {
            session.graph_missing(state.clone(), now);
        }
    }

    /// A load of the dataset was started for another reason than a session: those that wait show its stage.
    pub(crate) fn show_loading(&mut self, dataset: DatasetId, stage: &'static str) {
        self.graph_missing(dataset, &GraphState::Loading(stage), VizSession::waits_for_graph);
    }

    /// The dataset has other data now: its sessions begin again. Whether there are any.
    pub(crate) fn reset_all_of(&mut self, dataset: DatasetId) -> bool {
        let (now, mut any) = (self.ctx.now(), false);
        for session in self.live.values_mut().filter(|s| s.dataset == dataset) {
            session.reset(now);
            any = true;
        }
        any
    }

    /// Asks for the graph of every session of a dataset.
    pub(crate) fn request_graphs_of(
        &mut self,
        dataset: DatasetId,
        residency: &mut Residency,
        scheduler: &Scheduler,
    ) {
        for id in self.ids_of(dataset) {
            self.request_graph(&id, Need::PICTURE, residency, scheduler);
        }
    }
}
