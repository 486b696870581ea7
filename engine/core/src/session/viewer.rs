//! One viewer of a session: how far it has read of what the session broadcasts.

use std::sync::Arc;

use graphlume_types::{DatasetId, SessionId};

use crate::context::EngineContext;
use crate::messages::SessionState;
use crate::session::broadcast::{Cursor, Presence, SessionBroadcast};
use crate::session::events::ViewerEvent;

/// A viewer attached to a session; detached on drop.
pub struct Viewer {
    presence: Presence,
    cursor: Cursor,
    ctx: Arc<EngineContext>,
}

impl std::fmt::Debug for Viewer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Viewer").field("session", self.session()).finish_non_exhaustive()
    }
}

impl Viewer {
    pub(crate) fn new(presence: Presence, ctx: Arc<EngineContext>) -> Self {
        Self { presence, cursor: Cursor::default(), ctx }
    }

    fn broadcast(&self) -> &SessionBroadcast {
        &self.presence.broadcast
    }

    /// The session.
    #[must_use]
    pub fn session(&self) -> &SessionId {
        &self.broadcast().session
    }

    /// The dataset that the session shows.
    #[must_use]
    pub fn dataset(&self) -> DatasetId {
        self.broadcast().dataset
    }

    /// The session's present state.
    #[must_use]
    pub fn state(&self) -> Arc<SessionState> {
        self.broadcast().state()
    }

    /// The page reconnects and still shows frame `seq` of `epoch`. What it has is not sent again.
    pub fn resume(&mut self, epoch: u32, seq: u32) {
        let Self { presence, cursor, .. } = self;
        cursor.resume(&presence.broadcast, epoch, seq);
    }

    /// Whether the page is visible. A session without visible pages pauses.
    pub fn set_visible(&mut self, visible: bool) {
        if self.presence.set_watching(visible) {
            self.ctx.wake();
        }
    }

    /// What there is to tell at this moment. Frames are withheld unless `frames`; use that while the
    /// page owes acknowledgements.
    pub fn try_next(&mut self, frames: bool) -> Option<ViewerEvent> {
        self.cursor.take(&self.presence.broadcast, frames)
    }

    /// Waits for the next thing to tell. Dropping the future loses nothing, so it may be raced against
    /// the page's messages and called again with another `frames`. Pending for ever after `Closed`.
    pub async fn next(&mut self, frames: bool) -> ViewerEvent {
        loop {
            let changed = self.broadcast().listen();
            if let Some(event) = self.try_next(frames) {
                return event;
            }
            changed.await;
        }
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.ctx.wake();
    }
}
