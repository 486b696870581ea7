//! Layouts as steps of the document: where the nodes were before one is kept, and comes back when it is taken back.

use std::sync::Arc;

use graphlume_engine::{Control, Placement, SessionState};
use graphlume_identity::Principal;
use graphlume_scene::wire;

use super::changing::plan;
use super::{SessionMeta, Sessions, ViewerGrant};
use crate::document::{ARRANGEMENT, Actor, Author, Layer, Planned, change_to, number_in};
use crate::error::ServiceError;

/// Bytes of a node of an arrangement: x, y and the third coordinate.
const NODE_BYTES: u64 = 12;

impl Sessions {
    /// Has the forces run, as a step when the layout is at rest; `for_millis` says for how long.
    ///
    /// # Errors
    /// As [`Self::lay_out`].
    pub async fn run_forces(
        &self,
        who: &Principal,
        grant: &ViewerGrant,
        for_millis: Option<u64>,
    ) -> Result<Arc<SessionState>, ServiceError> {
        let control = Control::Play { on: true, for_millis };
        let state = self.ctx.engine.info(grant.session.clone()).await?.state;
        match state.state.is_at_rest() && !state.playing {
            true => self.arrange(who, grant, ("Run layout", ""), control).await,
            false => Ok(self.control(grant, control).await?),
        }
    }

    /// Moves the nodes by `control`, as a step with a label; `by` is the name of the layout. Where there is no memory for what
    /// was before, the layout is no step, and no other one can be taken back either.
    pub(super) async fn arrange(
        &self,
        who: &Principal,
        grant: &ViewerGrant,
        (label, by): (&str, &str),
        control: Control,
    ) -> Result<Arc<SessionState>, ServiceError> {
        let _turn = self.shown(grant)?.room.turn().lock_owned().await;
        let meta = self.shown(grant)?;
        let shown = number_in(&meta.room.document());
        let is_kept = self.keep(grant, &meta, shown).await?;
        let state = self.control(grant, control).await?;
        if is_kept {
            let actor = who.session_owner().map_or(Actor::KeyHolder, Actor::User);
            let name = who.username().unwrap_or_default().to_owned();
            let change = change_to(shown + 1, by, &meta.room.payer())?;
            let label = label.to_owned();
            let step = |layer: &mut Layer| layer.plan(actor, label, None, vec![change]);
            let planned = plan(&meta.room, None, step)?;
            meta.room.commit(planned, Author { actor, name, orgs: who.orgs().into() });
            self.weigh(&meta);
        }
        Ok(state)
    }

    /// Puts the nodes where a step leads that takes a layout back or makes it again.
    pub(super) async fn rearrange(
        &self,
        grant: &ViewerGrant,
        meta: &SessionMeta,
        planned: &Planned,
    ) -> Result<(), ServiceError> {
        if planned.step.changes.iter().all(|change| change.path != ARRANGEMENT) {
            return Ok(());
        }
        let (from, to) = (number_in(&meta.room.document()), number_in(&planned.document));
        let gone = || ServiceError::Refused {
            slug: "arrangement-gone",
            message: "the places of the nodes before this layout are not kept any more".to_owned(),
        };
        let target = meta.room.arrangements(|kept| kept.get(to)).ok_or_else(gone)?;
        self.keep(grant, meta, from).await?;
        let placed = self.control(grant, Control::Place(target)).await;
        if placed.is_err() {
            // The elements are others by now, and so are those of all that is kept.
            meta.room.arrangements(|kept| kept.clear());
        }
        placed.map(drop).map_err(Into::into)
    }

    /// Keeps the positions of the nodes at this moment as the arrangement `number`. False before a graph is loaded, and where
    /// the memory of the server or the budget of the session's owner has no room for them, with nothing else kept.
    async fn keep(
        &self,
        grant: &ViewerGrant,
        meta: &SessionMeta,
        number: u64,
    ) -> Result<bool, ServiceError> {
        let info = self.ctx.engine.info(grant.session.clone()).await?;
        let Some(graph) = info.graph else { return Ok(false) };
        let payer = meta.room.payer();
        let paid = loop {
            match payer.pay(u64::from(graph.node_count) * NODE_BYTES) {
                Ok(paid) => break paid,
                Err(_) if meta.room.arrangements(|kept| kept.drop_oldest()) => {}
                Err(_) => return Ok(false),
            }
        };
        let epoch = graph.epoch;
        let frame = self.ctx.engine.reads(grant.target()).positions(epoch).await?;
        let depths = info.placed_depths;
        let read = move |_: &_| {
            let mut page = wire::Viewer::default();
            page.apply(&frame).map_err(|e| {
                ServiceError::Internal(format!("positions that cannot be read: {e}"))
            })?;
            Ok(page.positions)
        };
        let positions = self.ctx.blocking(read).await?;
        let placement = Placement { epoch, positions, depths, by: info.state.placed_by.clone() };
        meta.room.arrangements(|kept| kept.keep(number, placement, paid));
        Ok(true)
    }
}
