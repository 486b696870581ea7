//! A graph in memory as the picture that rules are evaluated on.

use std::sync::Arc;

use bytes::Bytes;
use graphlume_expr::{ErrorCode, QueryError};
use graphlume_facets::{FacetColumn, FilterSet, Filtered, Histogram, Picture, Rule, Wanted};
use graphlume_scene::{EdgeOrder, Members, NodeColumn};
use graphlume_store::PropertyGraph;
use graphlume_types::CancelToken;

use crate::context::EngineContext;
use crate::residency::Lease;
use crate::session::community_search;

/// A graph in memory, asked by one caller, inside the CPU pool.
pub(crate) struct DrawnPicture<'a> {
    pub(crate) lease: &'a Lease,
    pub(crate) ctx: &'a EngineContext,
    pub(crate) cancel: &'a CancelToken,
}

impl DrawnPicture<'_> {
    pub(crate) fn columns(&self) -> Result<Vec<FacetColumn>, QueryError> {
        self.lease.facets.columns(self, self.cancel)
    }

    pub(crate) fn filter(&self, set: &FilterSet) -> Result<Filtered, QueryError> {
        self.lease.facets.filter(self, set, self.cancel)
    }

    pub(crate) fn histograms(
        &self,
        set: &FilterSet,
        wanted: &[Wanted],
    ) -> Result<Vec<Histogram>, QueryError> {
        self.lease.facets.histograms(self, set, wanted, self.cancel)
    }

    /// A column of the nodes that follows from the graph, one row a node.
    pub(crate) fn derived(&self, name: &str) -> Result<Option<NodeColumn>, QueryError> {
        self.lease.facets.derived(self, name, self.cancel)
    }

    pub(crate) fn members(&self, rule: &Arc<Rule>) -> Result<Members, QueryError> {
        self.lease.facets.members(self, rule, self.cancel)
    }
}

impl Picture for DrawnPicture<'_> {
    fn graph(&self, cancel: &CancelToken) -> Result<&PropertyGraph, QueryError> {
        self.lease.drawn(cancel)
    }

    fn order(&self) -> EdgeOrder {
        self.lease.order
    }

    fn ends(&self) -> Bytes {
        self.lease.edge_stream()
    }

    fn communities(&self, cancel: &CancelToken) -> Result<Arc<Vec<u32>>, QueryError> {
        let found = community_search::of(self.ctx, self.lease);
        // They were kept for the next caller, however long this one has waited.
        cancel.check()?;
        found.map_err(|error| {
            let text = format!("the communities of this graph were not found: {error}");
            QueryError::new(ErrorCode::CallFailed, text)
                .field("community")
                .suggest("use the column component, or ask again when the server is less busy")
        })
    }
}
