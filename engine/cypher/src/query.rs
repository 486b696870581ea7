//! A query that was read, with its plan.

use std::sync::Arc;

use graphlume_expr::QueryError;

use crate::bind::{NumberIds, Written};
use crate::plan::Plan;
use crate::{ast, bind};

/// A query that can be run any number of times.
#[derive(Clone, Debug)]
pub struct Query {
    /// The plan where nothing is known of the graph.
    pub(crate) plan: Plan,
    /// What it was made of, where what is known of a graph could make another.
    pub(crate) source: Option<Arc<Source>>,
}

#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) text: String,
    pub(crate) ids: NumberIds,
    pub(crate) tree: ast::Union,
}

impl Source {
    pub(crate) fn written(&self) -> Written<'_> {
        Written { text: &self.text, ids: &self.ids }
    }
}

impl Query {
    pub(crate) fn new(from: Written<'_>, tree: ast::Union) -> Result<Self, QueryError> {
        let plan = bind::bind(from, &tree, None)?;
        let (text, ids) = (from.text.to_owned(), from.ids.clone());
        let source = plan.open.then(|| Arc::new(Source { text, ids, tree }));
        Ok(Self { plan, source })
    }

    /// Names of the result columns; those of a procedure that is the whole query are not known yet.
    #[must_use]
    pub fn columns(&self) -> Vec<&str> {
        self.plan.columns.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Names of the parameters that must be given.
    #[must_use]
    pub fn params(&self) -> &[String] {
        &self.plan.params
    }
}
