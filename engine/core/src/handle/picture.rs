//! Pictures of sessions, and waiting for a layout that is worth one.

use std::sync::Arc;

use bytes::Bytes;
use graphlume_raster::Settings;

use super::EngineHandle;
use crate::cmd;
use crate::cmd::picture::PictureRequest;
use crate::error::EngineError;
use crate::messages::Phase;
use crate::residency::GraphFacts;
use crate::session::events::ViewerEvent;
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
        let broadcast =
            self.caller.call(cmd::follow::Follow { session: target.session.clone() }).await?;
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
        let epoch = self.loaded(&target).await?.epoch;
        let positions = self.reads(target.clone()).positions(epoch).await?;
        let (filters, collapsed) = (Arc::clone(&request.filters), Arc::clone(&request.collapsed));
        let parts = match filters.hides() || !collapsed.is_empty() {
            true => {
                let asked =
                    cmd::facets::PictureParts { target: target.clone(), filters, collapsed };
                Some(cmd::facets::of_engine(self.caller.call(asked).await?)?)
            }
            false => None,
        };
        let request = Box::new(request);
        self.caller.call(cmd::picture::Picture { target, epoch, positions, request, parts }).await
    }

    /// What is known of a session's graph, which is loaded first if need be.
    pub(super) async fn loaded(&self, target: &Target) -> Result<Arc<GraphFacts>, EngineError> {
        let broadcast =
            self.caller.call(cmd::follow::Follow { session: target.session.clone() }).await?;
        // A caller who does not wait for the layout waits for the graph all the same.
        let is_loaded =
            || broadcast.has_ended_loading() || broadcast.state().state == Phase::Waiting;
        self.look_until(target, is_loaded).await?;
        if broadcast.graph().is_none() {
            // Says why where the graph cannot be loaded.
            self.reads(target.clone()).names(Vec::new(), Vec::new()).await?;
        }
        let missing = || EngineError::NotLoaded(target.session.clone());
        broadcast.graph().ok_or_else(missing)
    }

    /// The frame of the groups that such a picture may show from afar, or bundle edges along, for its `groups`; none where
    /// it needs none. The search, which is made once for a graph, may take two minutes and goes on when the caller does
    /// not wait.
    ///
    /// # Errors
    /// As [`crate::SessionReads::groups`].
    pub async fn groups_of_picture(
        &self,
        target: impl Into<Target>,
        request: &PictureRequest,
    ) -> Result<Option<Bytes>, EngineError> {
        let target = target.into();
        let Settings { super_graph, bundle, .. } = request.settings;
        let graph = self.loaded(&target).await?;
        let is_many = graph.node_count as usize > graphlume_raster::MANY;
        if bundle || super_graph && is_many {
            return self.reads(target).groups(graph.epoch).await.map(Some);
        }
        Ok(None)
    }
}
