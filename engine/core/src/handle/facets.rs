//! Calls about what of a picture is shown.

use std::sync::Arc;

use graphlume_expr::QueryError;
use graphlume_facets::{FacetColumn, FilterSet, Histogram, Rule, Wanted};
use graphlume_scene::Members;

use super::EngineHandle;
use crate::cmd;
use crate::cmd::facets::Visible;
use crate::error::EngineError;
use crate::target::Target;

impl EngineHandle {
    /// What a set of filters leaves of a session's picture: masks, and how many elements each filter keeps. A filter that
    /// has a problem does nothing, and its problem is told beside it. The frames carry `revision`.
    ///
    /// # Errors
    /// [`EngineError::SessionNotFound`]; what loading the graph may answer; a full memory budget.
    pub async fn filter(
        &self,
        target: impl Into<Target>,
        set: Arc<FilterSet>,
        revision: u32,
    ) -> Result<Visible, EngineError> {
        let target = target.into();
        let asked = cmd::facets::FilterPicture { target, set, revision };
        cmd::facets::of_engine(self.caller.call(asked).await?)
    }

    /// Histograms of columns of a session's picture, in the order in which they are wanted: all elements, and those that
    /// pass every filter but brushes on the same column. An unknown column is the inner error.
    ///
    /// # Errors
    /// As [`Self::filter`].
    pub async fn histograms(
        &self,
        target: impl Into<Target>,
        set: Arc<FilterSet>,
        wanted: Vec<Wanted>,
    ) -> Result<Result<Vec<Histogram>, QueryError>, EngineError> {
        self.caller.call(cmd::facets::Histograms { target: target.into(), set, wanted }).await
    }

    /// How many nodes a session's graph has, which is loaded first if need be.
    ///
    /// # Errors
    /// [`EngineError::SessionNotFound`]; what loading the graph may answer.
    pub async fn node_count(&self, target: impl Into<Target>) -> Result<u32, EngineError> {
        Ok(self.loaded(&target.into()).await?.node_count)
    }

    /// The columns of a session's picture that may be filtered and brushed, those among them that follow from the graph.
    ///
    /// # Errors
    /// As [`Self::filter`].
    pub async fn facet_columns(
        &self,
        target: impl Into<Target>,
    ) -> Result<Vec<FacetColumn>, EngineError> {
        cmd::facets::of_engine(
            self.caller.call(cmd::facets::FacetColumns { target: target.into() }).await?,
        )
    }

    /// The elements that a rule means: nodes by index, edges by position in the outgoing adjacency. What is wrong with the
    /// rule is the inner error.
    ///
    /// # Errors
    /// As [`Self::filter`].
    pub async fn find(
        &self,
        target: impl Into<Target>,
        rule: Arc<Rule>,
    ) -> Result<Result<Members, QueryError>, EngineError> {
        self.caller.call(cmd::facets::Find { target: target.into(), rule }).await
    }
}
