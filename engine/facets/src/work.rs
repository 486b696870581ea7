//! One question to a picture: what it is asked of, and where answers are kept.

use graphlume_expr::QueryError;
use graphlume_graph::Graph;
use graphlume_store::PropertyGraph;
use graphlume_types::CancelToken;

use crate::{Facets, Picture};

pub(crate) struct Work<'a> {
    pub(crate) facets: &'a Facets,
    pub(crate) picture: &'a dyn Picture,
    pub(crate) graph: &'a PropertyGraph,
    pub(crate) frame: &'a Graph,
    pub(crate) cancel: &'a CancelToken,
}

impl<'a> Work<'a> {
    pub(crate) fn new(
        facets: &'a Facets,
        picture: &'a dyn Picture,
        cancel: &'a CancelToken,
    ) -> Result<Self, QueryError> {
        let graph = picture.graph(cancel)?;
        Ok(Self { facets, picture, graph, frame: graph.frame(cancel)?, cancel })
    }

    /// Nodes.
    pub(crate) fn nodes(&self) -> u32 {
        self.frame.topology.num_nodes()
    }

    /// Edges.
    pub(crate) fn edges(&self) -> u32 {
        self.frame.topology.num_edges()
    }

    /// Bytes that are kept at most of each kind of answer.
    pub(crate) fn keep_max(&self) -> u64 {
        self.graph.keep_max()
    }
}
