//! Makes sure that a session exists.

use graphlume_types::{DatasetId, SessionId, limits};

use crate::command::{Apply, Call};
use crate::core::Core;
use crate::error::{ClosedReason, EngineError};
use crate::lane::Lane;
use crate::session::keeping::Keeping;
use crate::session::machine::VizSession;
use crate::settings::LayoutSettings;

pub(crate) struct Open {
    pub(crate) session: SessionId,
    pub(crate) dataset: DatasetId,
    pub(crate) settings: LayoutSettings,
}

impl Apply for Open {
    type Answer = ();
    const LANE: Lane = Lane::Control;

    fn apply(self, core: &mut Core, call: Call<()>) {
        call.reply.send(self.open(core));
    }
}

impl Open {
    fn open(self, core: &mut Core) -> Result<(), EngineError> {
        let Self { session: id, dataset, settings } = self;
        if let Ok(present) = core.session(&id) {
            if present.dataset == dataset {
                return Ok(());
            }
            if present.viewers() > 0 {
                let dataset = present.dataset;
                return Err(EngineError::SessionTaken { session: id, dataset });
            }
            core.close_session(&id, ClosedReason::Replaced);
        }
        if core.sessions.len() >= limits::SESSIONS_MAX {
            close_longest_unwatched(core)?;
        }
        let now = core.now();
        let keeping = Keeping::new(core.keeper.is_some());
        let mut session = VizSession::new(id.clone(), dataset, settings, keeping, now);
        // A slice that is still away from an earlier session of this name must not come home to this one.
        core.opened += 1;
        session.generation = core.opened << 32;
        core.sessions.insert(id.clone(), session);
        core.want_graph(&id, false);
        Ok(())
    }
}

/// Makes place for another session: the one without viewers that nobody has watched for longest goes.
fn close_longest_unwatched(core: &mut Core) -> Result<(), EngineError> {
    let now = core.now();
    let longest = core
        .sessions
        .values()
        .filter(|s| s.viewers() == 0)
        .max_by_key(|s| (s.unwatched_for(now), s.id.clone()))
        .map(|s| s.id.clone());
    let busy = EngineError::Busy { what: "sessions", limit: limits::SESSIONS_MAX };
    let id = longest.ok_or(busy)?;
    core.close_session(&id, ClosedReason::Idle);
    Ok(())
}
