//! Collections of a session: workers render the picture with them over it.

use std::sync::Arc;

use graphlume_types::{Caller, CancelReason, CancelToken, Cancelled, Reservation, SessionId};

use crate::error::EngineError;
use crate::frames::SceneFrames;
use crate::query_scheduler::{Progress, Quantum};
use crate::reply::Reply;
use crate::residency::{Lease, Residency};
use crate::scheduler::Scheduler;
use crate::session::broadcast::SessionBroadcast;
use crate::session::collection_set::{
    CollectionMembers, CollectionRender, CollectionSet, CollectionsView,
};
use crate::session::collection_state::Plan;
use crate::session::painting::{Changes, render};
use crate::session::{SessionEvent, Sessions};

impl Sessions {
    /// Gives a session its collections. `members` are those that were evaluated just now. The answer comes
    /// when the picture shows them, or at once when there is no picture yet.
    pub(crate) fn set_collections(
        &mut self,
        id: &SessionId,
        (set, members, caller): (Arc<CollectionSet>, Vec<(String, CollectionMembers)>, Caller),
        reply: Reply<Arc<CollectionsView>>,
        residency: &mut Residency,
        scheduler: &Scheduler,
    ) {
        let Some(session) = self.live.get_mut(id) else { return };
        let collections = &mut session.collections;
        collections.caller = caller;
        if collections.replace(set, members) {
            session.broadcast.set_collections(collections.shown());
        }
        if session.lease.is_none() {
            return reply.send(Ok(collections.shown()));
        }
        collections.waiters.push(reply);
        self.render_collections(id, residency, scheduler);
    }

    /// Renders the collections of a session over its picture, unless that is what it shows.
    pub(super) fn render_collections(
        &mut self,
        id: &SessionId,
        residency: &mut Residency,
        scheduler: &Scheduler,
    ) {
        let Some(session) = self.live.get_mut(id) else { return };
        let Some(lease) = session.lease.clone() else { return };
        let Some(base) = residency.scene(lease.dataset) else { return };
        let bytes = match session.collections.plan(&base, &lease) {
            Plan::Wait => return,
            Plan::Shown(scene) => {
                if let Some(scene) = scene {
                    session.broadcast.set_scene(scene);
                }
                return self.collections_shown(id);
            }
            Plan::Render { bytes } => bytes,
        };
        let caller = session.collections.caller;
        let held = bytes.map(|bytes| self.reserve(bytes, residency)).transpose();
        let ready = held
            .map_err(EngineError::from)
            .and_then(|held| scheduler.queries().check_room(caller).map(|()| held));
        match ready {
            Ok(held) => self.send_render(id, lease, base, held, scheduler),
            Err(error) => self.collections_failed(id, &error),
        }
    }

    /// Has a worker render; `held` is memory for it beyond what the session has.
    fn send_render(
        &mut self,
        id: &SessionId,
        lease: Lease,
        base: Arc<SceneFrames>,
        held: Option<Reservation>,
        scheduler: &Scheduler,
    ) {
        let Some(session) = self.live.get_mut(id) else { return };
        let collections = &mut session.collections;
        if held.is_some() {
            collections.held = held;
        }
        let (set, members) = (collections.set.clone(), collections.members.clone());
        let renderings = collections.renderings;
        let cancel = CancelToken::with_deadline(self.ctx.now() + self.ctx.config.call_time);
        let (session_id, broadcast) = (id.clone(), session.broadcast.clone());
        let lost = SessionEvent::CollectionsRendered {
            session: id.clone(),
            broadcast: broadcast.clone(),
            result: Err(EngineError::Dropped),
        };
        let (mut report, ctx) = (Some(self.reports.once(lost)), self.ctx.clone());
        let (stop, mut members) = (cancel.clone(), members);
        let foreground = Arc::clone(&ctx.foreground);
        let mut cancel = cancel;
        let run = move |quantum| {
            let token = Quantum::token(quantum, &cancel);
            let changes = Changes { set: &set, members: std::mem::take(&mut members), renderings };
            let done = render(&lease, base.clone(), changes, &ctx, &token);
            if token.check() == Err(Cancelled(CancelReason::TurnOver)) {
                // What was found counts.
                members = done.members;
                cancel = cancel.giving_way(&foreground);
                return Progress::Preempted;
            }
            if let Some(report) = report.take() {
                report.send(SessionEvent::CollectionsRendered {
                    session: session_id.clone(),
                    broadcast: Arc::clone(&broadcast),
                    result: Ok(Box::new(done)),
                });
            }
            Progress::Answered
        };
        // Rules may be queries: the last caller to change them has one turn at a time.
        let caller = collections.caller;
        scheduler.queries().submit(caller, stop, Box::new(run));
        session.collections.away = true;
    }

    /// A worker has rendered, or was lost.
    pub(super) fn on_collections_rendered(
        &mut self,
        id: &SessionId,
        broadcast: &Arc<SessionBroadcast>,
        result: Result<Box<CollectionRender>, EngineError>,
        residency: &mut Residency,
        scheduler: &Scheduler,
    ) {
        // The name may stand for another session by now.
        let session = self.live.get_mut(id).filter(|s| Arc::ptr_eq(&s.broadcast, broadcast));
        let Some(session) = session else { return };
        let collections = &mut session.collections;
        collections.away = false;
        let again = std::mem::take(&mut collections.again);
        let render = match result {
            Ok(render) => *render,
            Err(e) => return self.collections_failed(id, &e),
        };
        let epoch = session.lease.as_ref().map(|l| l.facts.epoch);
        let mut is_late = epoch != Some(render.base.epoch);
        if !is_late {
            let scene = render.scene.clone();
            is_late = collections.take(render);
            session.broadcast.set_scene(scene);
            is_late |= again;
        }
        match is_late {
            true => self.render_collections(id, residency, scheduler),
            false => self.collections_shown(id),
        }
    }

    /// The picture is as it should be.
    fn collections_shown(&mut self, id: &SessionId) {
        let Some(session) = self.live.get_mut(id) else { return };
        let shown = session.collections.shown();
        if session.collections.set.revision > 0 {
            session.broadcast.set_collections(shown.clone());
        }
        session.collections.answer(&shown);
    }

    fn collections_failed(&mut self, id: &SessionId, error: &EngineError) {
        tracing::warn!(session = %id, %error, "collections were not rendered");
        let Some(session) = self.live.get_mut(id) else { return };
        for waiter in session.collections.waiters.drain(..) {
            waiter.send(Err(error.clone()));
        }
    }
}
