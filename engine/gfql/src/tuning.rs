//! From which sizes on the language takes which way.

/// Thresholds of the language.
#[derive(Debug)]
pub(crate) struct Tuning {
    /// Edges of a graph from which on one hop over much of it is found edge by edge.
    pub(crate) single_edges_min: u32,
    /// The part of the edges that such a hop meets at least.
    pub(crate) single_edges_part: u64,
    /// Blocks of rows between two looks at the token.
    pub(crate) blocks_at_once: usize,
    /// Nodes above which all rows are tested at once.
    pub(crate) filter_all: u32,
    /// Bytes of a table that are taken as a whole without a look at its rows.
    pub(crate) small_bytes: u64,
    /// Arcs that are visited between two looks at the token.
    pub(crate) batch_arcs: u64,
    /// Arcs from which on threads share them.
    pub(crate) parallel_arcs: u64,
    /// Words of a set that a thread takes at once.
    pub(crate) words_at_once: usize,
    /// Words of a set between two looks at the token.
    pub(crate) words_per_check: usize,
    /// The part of the edges that a dense hop meets at least.
    pub(crate) dense_edges_part: u64,
    /// Edges of a graph from which on a hop may be dense.
    pub(crate) dense_edges_min: u32,
}

static SHIPPED: Tuning = Tuning {
    single_edges_min: 1 << 12,
    single_edges_part: 16,
    blocks_at_once: 1 << 3,
    filter_all: 1 << 12,
    small_bytes: 32 << 20,
    batch_arcs: 1 << 21,
    parallel_arcs: 1 << 14,
    words_at_once: 1 << 8,
    words_per_check: 1 << 10,
    dense_edges_part: 16,
    dense_edges_min: 1 << 12,
};

static SMALL: Tuning = Tuning {
    single_edges_min: 2,
    single_edges_part: 2,
    blocks_at_once: 2,
    filter_all: 2,
    small_bytes: 1,
    batch_arcs: 24,
    parallel_arcs: 8,
    words_at_once: 1,
    words_per_check: 1,
    dense_edges_part: 2,
    dense_edges_min: 4,
};

/// The thresholds that count in this process, see [`graphlume_types::tuning`].
#[inline]
pub(crate) fn tuning() -> &'static Tuning {
    if graphlume_types::tuning::is_small() { &SMALL } else { &SHIPPED }
}
