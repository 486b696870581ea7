//! Pictures of sessions, and waiting for a layout that is worth one.

use bytes::Bytes;

use super::EngineHandle;
use crate::cmd;
use crate::cmd::picture::PictureRequest;
use crate::error::EngineError;
use crate::session::events::{Phase, ViewerEvent};
use crate::target::Target;

impl EngineHandle {
    /// Waits until a session has its graph and its layout does not run; looks at it meanwhile, for without viewers no
    /// layout does. Answers at once when the graph cannot be loaded.
    ///
    /// # Errors
    /// [`EngineError::SessionNotFound`]; [`EngineError::SessionClosed`] when it ends; [`EngineError::Busy`] past the limit of
    /// viewers.
    pub async fn at_rest(&self, target: impl Into<Target>) -> Result<(), EngineError> {
        let target = target.into();
        let broadcast = self.call(cmd::follow::Follow { session: target.session.clone() }).await?;
        let is_done = || {
            let state = broadcast.state();
            match state.state {
                Phase::Failed | Phase::Waiting => true,
                Phase::Loading | Phase::Running => false,
                Phase::Paused | Phase::Stopped | Phase::Settled => {
                    broadcast.graph().is_some() && !state.playing
                }
            }
        };
        self.look_until(&target, is_done).await
    }

    /// Looks at a session until `is_done`.
    async fn look_until(
        &self,
        target: &Target,
        is_done: impl Fn() -> bool,
    ) -> Result<(), EngineError> {
        if is_done() {
            return Ok(());
        }
        let mut viewer = self.attach(target.clone()).await?;
        while !is_done() {
            if let ViewerEvent::Closed(reason) = viewer.next(true).await {
                let session = target.session.clone();
                return Err(EngineError::SessionClosed { session, reason });
            }
        }
        Ok(())
    }

    /// A file of what a session shows now: positions, colours and sizes as the page draws them.
    ///
    /// # Errors
    /// A size that no picture may have; [`EngineError::NotLoaded`] before the first positions; [`EngineError::Busy`] when
    /// too many callers ask for something; what loading the graph may answer.
    pub async fn picture(
        &self,
        target: impl Into<Target>,
        request: PictureRequest,
    ) -> Result<Bytes, EngineError> {
        request.settings.check().map_err(|e| EngineError::from_coded(&e))?;
        let target = target.into();
        let broadcast = self.call(cmd::follow::Follow { session: target.session.clone() }).await?;
        // A caller who does not wait for the layout waits for the graph all the same.
        let is_loaded =
            || broadcast.has_ended_loading() || broadcast.state().state == Phase::Waiting;
        self.look_until(&target, is_loaded).await?;
        if broadcast.graph().is_none() {
            // Says why where the graph cannot be loaded.
            self.names(target.clone(), Vec::new(), Vec::new()).await?;
        }
        let missing = || EngineError::NotLoaded(target.session.clone());
        let epoch = broadcast.graph().ok_or_else(missing)?.epoch;
        let positions = self.positions(target.clone(), epoch).await?;
        let request = Box::new(request);
        self.call(cmd::picture::Picture { target, epoch, positions, request }).await
    }
}
