//! Facets of a picture: filters, masks and histograms of columns that follow each other.
//!
//! A [`FilterSet`] of a session is evaluated over the graph that is drawn: every [`Rule`] becomes a set of bits, which is
//! kept, so that moving one brush costs one mask; joined they say which nodes and edges are visible. A histogram counts
//! what passes everything but the brushes on its own column (crossfiltering, as in Weaver, "Cross-Filtered Views for
//! Multidimensional Visual Analysis", 2010).
//!
//! Expressions, brushes, Cypher and operations are all evaluated by the query engine: [`graphlume_store::filter`] tests the
//! columns. What is here is the grammar of the clients' filters, columns that follow from the graph (see [`Derived`]), and
//! what is kept between two questions.

mod check;
mod column;
mod expr;
mod filtered;
mod histogram;
mod mask;
mod picture;
mod rule;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
mod visible;
mod work;

use graphlume_expr::QueryError;
use graphlume_graph::canon::Column;
use graphlume_scene::{Members, NodeColumn};
use graphlume_types::CancelToken;
use std::sync::Arc;

pub use column::{ColumnKind, Derived, FacetColumn};
pub use filtered::{FilterCount, Filtered};
pub use histogram::{BINS_MAX, Count, Histogram, Parts, VALUES_MAX, Wanted};
pub use picture::Picture;
pub use rule::{Axis, Brush, Filter, FilterKind, FilterSet, Kept, NodeBytes, Rule};

use work::{Caches, Work};

/// What is kept of one picture between questions: masks of rules, and columns ready to be counted. What was not asked for
/// the longest time goes when the room of its kind (as much as the graph keeps for queries) or the memory budget is full.
#[derive(Debug, Default)]
pub struct Facets {
    caches: Caches,
}

impl Facets {
    /// The columns that may be filtered and brushed: those of the nodes, those that follow from the graph, those of the edges.
    ///
    /// # Errors
    /// Those of [`Picture::graph`].
    pub fn columns(
        &self,
        picture: &dyn Picture,
        cancel: &CancelToken,
    ) -> Result<Vec<FacetColumn>, QueryError> {
        Work::new(&self.caches, picture, cancel)?.columns()
    }

    /// A column of the nodes that follows from the graph, one row a node; nothing for another name.
    ///
    /// # Errors
    /// When it cannot be computed.
    pub fn derived(
        &self,
        picture: &dyn Picture,
        name: &str,
        cancel: &CancelToken,
    ) -> Result<Option<NodeColumn>, QueryError> {
        let Some(derived) = Derived::ALL.into_iter().find(|d| d.name() == name) else {
            return Ok(None);
        };
        match Work::new(&self.caches, picture, cancel)?.derived(derived)?.as_ref() {
            Column::Int(numbers) => Ok(Some((name.to_owned(), Arc::new(numbers.clone())))),
            _ => Ok(None),
        }
    }

    /// What a set of filters leaves of a picture. A filter that has a problem does nothing, and its problem is told.
    ///
    /// # Errors
    /// Those of [`Picture::graph`], a full memory budget, or because the work was stopped.
    pub fn filter(
        &self,
        picture: &dyn Picture,
        set: &FilterSet,
        cancel: &CancelToken,
    ) -> Result<Filtered, QueryError> {
        Work::new(&self.caches, picture, cancel)?.filtered(set)
    }

    /// Histograms of columns under a set of filters, in the order in which they are wanted.
    ///
    /// # Errors
    /// Those of [`Facets::filter`], and a column that does not exist.
    pub fn histograms(
        &self,
        picture: &dyn Picture,
        set: &FilterSet,
        wanted: &[Wanted],
        cancel: &CancelToken,
    ) -> Result<Vec<Histogram>, QueryError> {
        Work::new(&self.caches, picture, cancel)?.histograms(set, wanted)
    }

    /// The elements that a rule means: nodes by index, edges by position in the outgoing adjacency. Of a set of nodes the
    /// edges among them are part; of a rule about edges alone their ends are the nodes.
    ///
    /// # Errors
    /// [`QueryError`] of the rule, a full memory budget, or because the work was stopped.
    pub fn members(
        &self,
        picture: &dyn Picture,
        rule: &Arc<Rule>,
        cancel: &CancelToken,
    ) -> Result<Members, QueryError> {
        Work::new(&self.caches, picture, cancel)?.members(rule)
    }
}
