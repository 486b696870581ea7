//! Requests of a page to the engine about the session that it may watch. A [`ViewerGrant`] proves that it may.

use std::sync::Arc;

use graphlume_engine::{Control, EngineError, SessionReads, SessionState, Viewer};

use super::{Sessions, ViewerGrant};

impl Sessions {
    /// A user waits for an answer: long queries give way for a while.
    pub fn note_request(&self) {
        self.ctx.engine.note_request();
    }

    /// Attaches a viewer, for which the layout runs.
    ///
    /// # Errors
    /// [`EngineError::SessionNotFound`]; [`EngineError::Busy`] past the limit of viewers.
    pub async fn attach(&self, grant: &ViewerGrant) -> Result<Viewer, EngineError> {
        self.ctx.engine.attach(grant.target()).await
    }

    /// Changes how the layout runs, for a page that [`Sessions::may_control`], and answers the new state.
    ///
    /// # Errors
    /// An impossible setting, or a node that does not exist; a pin before the graph is there.
    pub async fn control(
        &self,
        grant: &ViewerGrant,
        control: Control,
    ) -> Result<Arc<SessionState>, EngineError> {
        self.ctx.engine.control(grant.target(), control).await
    }

    /// What may be read of the session and its graph.
    #[must_use]
    pub fn reads(&self, grant: &ViewerGrant) -> SessionReads {
        self.ctx.engine.reads(grant.target())
    }
}
