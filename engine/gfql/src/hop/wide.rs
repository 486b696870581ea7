//! Several hops over a large part of all edges: each is found by a look at all edges, as long as it meets so many.

use graphlume_expr::QueryError;
use graphlume_graph::Topology;
use graphlume_store::ids::{IdMap, IdSet};
use graphlume_types::CancelToken;

use super::{Hops, Reached};
use crate::tuning::tuning;

/// What the first hops have come upon.
pub(super) struct Wide {
    nodes: Vec<u64>,
    edges: Vec<u64>,
    /// Hops so far; without any the rest is empty.
    pub(super) hop: u32,
    /// The nodes that the next hop leaves.
    pub(super) frontier: IdSet,
}

impl Wide {
    pub(super) fn reached(self) -> Reached {
        Reached {
            nodes: IdSet::of_words(self.nodes),
            edges: IdSet::of_words(self.edges),
            left: None,
            node_hops: IdMap::default(),
            edge_hops: IdMap::default(),
        }
    }
}

impl Hops<'_> {
    /// The first hops, as long as each meets a large part of all edges; none of a walk whose hops are numbered.
    pub(super) fn wide(
        &self,
        t: &Topology,
        seeds: &IdSet,
        cancel: &CancelToken,
    ) -> Result<Wide, QueryError> {
        let (n, m) = (t.num_nodes(), t.num_edges());
        let mut wide = Wide { nodes: vec![], edges: vec![], hop: 0, frontier: seeds.clone() };
        let dense = seeds.is_dense() && self.edges.is_none_or(IdSet::is_dense);
        let plain = self.min <= 1 && self.wavefront && !self.labels && !self.edge.is_never();
        if !plain || !dense || m < tuning().dense_edges_min {
            return Ok(wide);
        }
        while self.max.is_none_or(|max| wide.hop < max) && self.is_wide(t, &wide.frontier) {
            if wide.hop == 0 {
                wide.nodes = vec![0; n.div_ceil(64) as usize];
                wide.edges = vec![0; m.div_ceil(64) as usize];
            }
            wide.hop += 1;
            let last = self.max == Some(wide.hop);
            let found = self.sweep(t, &wide.frontier, last, cancel)?;
            let edges = wide.edges.iter_mut().zip((0..).step_by(64));
            edges.for_each(|(word, first)| *word |= found.edges.word(first));
            let mut fresh = Vec::with_capacity(wide.nodes.len());
            for (word, first) in wide.nodes.iter_mut().zip((0..).step_by(64)) {
                let reached = found.nodes.word(first);
                fresh.push(reached & !*word);
                *word |= reached;
            }
            wide.frontier = IdSet::of_words(fresh);
        }
        Ok(wide)
    }
}
