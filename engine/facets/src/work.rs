//! One question to a picture: what it is asked of, and where answers are kept.

use graphlume_expr::QueryError;
use graphlume_graph::Graph;
use graphlume_store::{Cache, PropertyGraph};
use graphlume_types::CancelToken;

use crate::picture::Picture;

/// The answers of one picture that are kept.
#[derive(Debug, Default)]
pub(crate) struct Caches {
    pub(crate) masks: Cache,
    pub(crate) columns: Cache,
}

pub(crate) struct Work<'a> {
    pub(crate) caches: &'a Caches,
    pub(crate) picture: &'a dyn Picture,
    pub(crate) graph: &'a PropertyGraph,
    pub(crate) frame: &'a Graph,
    pub(crate) cancel: &'a CancelToken,
}

impl<'a> Work<'a> {
    pub(crate) fn new(
        caches: &'a Caches,
        picture: &'a dyn Picture,
        cancel: &'a CancelToken,
    ) -> Result<Self, QueryError> {
        let graph = picture.graph(cancel)?;
        Ok(Self { caches, picture, graph, frame: graph.frame(cancel)?, cancel })
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
