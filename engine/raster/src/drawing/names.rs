//! Names of nodes and edges, which the caller looks up.

/// What nodes are called.
pub trait Names: Sync {
    /// The most important nodes of the whole graph, the most important first.
    fn known(&self) -> &[(u32, String)];

    /// The names of some nodes, at most 200, in the order asked.
    fn of(&self, nodes: &[u32]) -> Vec<String>;
}

impl std::fmt::Debug for dyn Names + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Names").field("known", &self.known().len()).finish_non_exhaustive()
    }
}

/// What edges are called.
pub trait EdgeNames: Sync {
    /// The names of some edges, in drawn order, at most 200, in the order asked.
    fn of(&self, edges: &[u32]) -> Vec<String>;
}

impl std::fmt::Debug for dyn EdgeNames + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EdgeNames")
    }
}
