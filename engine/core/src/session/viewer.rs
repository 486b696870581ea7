//! One viewer of a session: a place in the latest-value slot.

use graphlume_types::{DatasetId, SessionId};
use serde_json::{Value, json};

use crate::handle::EngineHandle;
use crate::session::slot::{Cursor, Presence, SessionState, Slot, ViewerEvent};

/// A viewer attached to a session; detached on drop.
pub struct Viewer {
    presence: Presence,
    cursor: Cursor,
    engine: EngineHandle,
}

impl std::fmt::Debug for Viewer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Viewer").field("session", self.session()).finish_non_exhaustive()
    }
}

impl Viewer {
    pub(crate) fn new(presence: Presence, engine: EngineHandle) -> Self {
        Self { presence, cursor: Cursor::default(), engine }
    }

    fn slot(&self) -> &Slot {
        &self.presence.slot
    }

    /// The session.
    #[must_use]
    pub fn session(&self) -> &SessionId {
        &self.slot().session
    }

    /// The dataset that the session shows.
    #[must_use]
    pub fn dataset(&self) -> DatasetId {
        self.slot().dataset
    }

    /// The session's present state.
    #[must_use]
    pub fn state(&self) -> std::sync::Arc<SessionState> {
        self.slot().state()
    }

    /// The parts of the `hello` message that the engine knows: session, dataset, state, detail.
    #[must_use]
    pub fn hello(&self) -> Value {
        let state = self.state();
        json!({
            "session": self.session(), "dataset": self.dataset(),
            "state": state.state, "detail": state.detail,
        })
    }

    /// The page reconnects and still shows frame `seq` of `epoch`. What it has is not sent again.
    pub fn resume(&mut self, epoch: u32, seq: u32) {
        let Self { presence, cursor, .. } = self;
        cursor.resume(&presence.slot, epoch, seq);
    }

    /// Whether the page is visible. A session that nobody watches pauses.
    pub fn set_visible(&mut self, visible: bool) {
        if self.presence.set_watching(visible) {
            self.engine.wake();
        }
    }

    /// What there is to tell at this moment. Frames are withheld unless `frames`; use that while the
    /// page owes acknowledgements.
    pub fn try_next(&mut self, frames: bool) -> Option<ViewerEvent> {
        self.cursor.take(&self.presence.slot, frames)
    }

    /// Waits for the next thing to tell. Dropping the future loses nothing, so it may be raced against
    /// the page's messages and called again with another `frames`. Pending for ever after `Closed`.
    pub async fn next(&mut self, frames: bool) -> ViewerEvent {
        loop {
            let changed = self.slot().listen();
            if let Some(event) = self.try_next(frames) {
                return event;
            }
            changed.await;
        }
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.engine.wake();
    }
}
