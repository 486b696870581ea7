//! Requests of a page to the engine about the session that it may watch. A [`ViewerGrant`] proves that it may.

use std::sync::Arc;

use bytes::Bytes;
use graphlume_engine::{Control, EngineError, SearchHit, SessionState, Viewer};
use serde_json::Value;

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

    /// The edges of `epoch` in drawn order, as the page reads them.
    ///
    /// # Errors
    /// [`EngineError::Epoch`] when another element set is shown.
    pub async fn edges(&self, grant: &ViewerGrant, epoch: u32) -> Result<Bytes, EngineError> {
        self.ctx.engine.edges(grant.target(), epoch).await
    }

    /// The groups of the nodes of `epoch` for the view from afar, as the page reads them.
    ///
    /// # Errors
    /// [`EngineError::Epoch`]; [`EngineError::Cancelled`] when none were found in time.
    pub async fn groups(&self, grant: &ViewerGrant, epoch: u32) -> Result<Bytes, EngineError> {
        self.ctx.engine.groups(grant.target(), epoch).await
    }

    /// The third coordinate of the nodes of `epoch`, as the page reads it.
    ///
    /// # Errors
    /// [`EngineError::Epoch`]; [`EngineError::NoDepth`] where no node has one.
    pub async fn depth(&self, grant: &ViewerGrant, epoch: u32) -> Result<Bytes, EngineError> {
        self.ctx.engine.depth(grant.target(), epoch).await
    }

    /// The present positions as one exact frame.
    ///
    /// # Errors
    /// [`EngineError::Epoch`]; [`EngineError::NotLoaded`] before the first positions.
    pub async fn positions(&self, grant: &ViewerGrant, epoch: u32) -> Result<Bytes, EngineError> {
        self.ctx.engine.positions(grant.target(), epoch).await
    }

    /// The hover card of a node.
    ///
    /// # Errors
    /// [`EngineError::Index`]; what loading the graph may answer.
    pub async fn node_card(&self, grant: &ViewerGrant, index: u32) -> Result<Value, EngineError> {
        self.ctx.engine.node_card(grant.target(), index).await
    }

    /// What nodes, and edges by their drawn index, are called in the picture, in the order asked.
    ///
    /// # Errors
    /// What loading the graph may answer.
    pub async fn names(
        &self,
        grant: &ViewerGrant,
        nodes: Vec<u32>,
        edges: Vec<u32>,
    ) -> Result<[Vec<String>; 2], EngineError> {
        self.ctx.engine.names(grant.target(), nodes, edges).await
    }

    /// The hover card of an edge, by its drawn index.
    ///
    /// # Errors
    /// [`EngineError::Index`]; what loading the graph may answer.
    pub async fn edge_card(&self, grant: &ViewerGrant, drawn: u32) -> Result<Value, EngineError> {
        self.ctx.engine.edge_card(grant.target(), drawn).await
    }

    /// Nodes whose label or id contains `text`, the best matches first.
    ///
    /// # Errors
    /// What loading the graph may answer.
    pub async fn search(
        &self,
        grant: &ViewerGrant,
        text: String,
        limit: usize,
    ) -> Result<Vec<SearchHit>, EngineError> {
        self.ctx.engine.search(grant.target(), text, limit).await
    }
}
