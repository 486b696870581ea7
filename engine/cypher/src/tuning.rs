//! From which sizes on the language takes which way.

/// Thresholds of the language.
#[derive(Debug)]
pub(crate) struct Tuning {
    /// Nodes from which on the numbers of a property are kept.
    pub(crate) numbers_nodes_min: u32,
    /// Rows before it pays to number the values of a whole column, or to remember nodes.
    pub(crate) rows_before_memo: usize,
    /// Relationships without a match that a thread scans before it reports them.
    pub(crate) waste_step: u32,
    /// Nodes from which on an index pays.
    pub(crate) index_nodes_min: u32,
    /// The part of all nodes beyond which looking at each costs less than an index.
    pub(crate) index_found_part: usize,
    /// Nodes that a thread is done with before another has begun.
    pub(crate) narrow_max: usize,
    /// Rows between two looks at the cancel token.
    pub(crate) rows_per_check: u32,
    /// Nodes up to which a label is looked for on all of them at once, and then known.
    pub(crate) labels_at_once: u32,
    /// Rows and steps of all threads before a run can count as busy.
    pub(crate) busy_ticks: usize,
    /// Nodes below which sharing out does not pay.
    pub(crate) shared_nodes_min: u32,
    /// Rows below which sharing out does not pay.
    pub(crate) shared_rows_min: usize,
    /// Threads below which work is not divided.
    pub(crate) shared_threads_min: usize,
    /// Relationships of one step up to which the nodes that are met are kept by hash; beyond it, and beyond a part of
    /// all nodes, every node has a place.
    pub(crate) few_edges: u64,
    /// Nodes that a thread takes at once where paths are counted.
    pub(crate) tally_nodes_at_once: usize,
    /// The same, of nodes that are all of an end of a relation.
    pub(crate) tally_ends_at_once: usize,
    /// Nodes that are tested before the first row is made.
    pub(crate) scan_nodes_at_first: u32,
    /// Nodes that a thread tests at once.
    pub(crate) mask_nodes_at_once: usize,
    /// Rows from which on the least and greatest number of each block are kept.
    pub(crate) block_ends_rows_min: usize,
}

static SHIPPED: Tuning = Tuning {
    numbers_nodes_min: 1 << 12,
    rows_before_memo: 4_096,
    waste_step: 1 << 12,
    index_nodes_min: 1 << 12,
    index_found_part: 8,
    narrow_max: 1 << 10,
    rows_per_check: 512,
    labels_at_once: 1 << 16,
    busy_ticks: 1 << 12,
    shared_nodes_min: 1 << 13,
    shared_rows_min: 1 << 12,
    shared_threads_min: 2,
    few_edges: 1_024,
    tally_nodes_at_once: 1_024,
    tally_ends_at_once: 64,
    scan_nodes_at_first: 64,
    mask_nodes_at_once: 1 << 14,
    block_ends_rows_min: 1 << 17,
};

static SMALL: Tuning = Tuning {
    numbers_nodes_min: 2,
    rows_before_memo: 1,
    waste_step: 2,
    index_nodes_min: 2,
    index_found_part: 1,
    narrow_max: 2,
    rows_per_check: 16,
    labels_at_once: 4,
    busy_ticks: 1,
    shared_nodes_min: 2,
    shared_rows_min: 2,
    shared_threads_min: 1,
    few_edges: 4,
    tally_nodes_at_once: 3,
    tally_ends_at_once: 2,
    scan_nodes_at_first: 1,
    mask_nodes_at_once: 4,
    block_ends_rows_min: 2,
};

/// The thresholds that count in this process, see [`graphlume_types::tuning`].
#[inline]
pub(crate) fn tuning() -> &'static Tuning {
    if graphlume_types::tuning::is_small() { &SMALL } else { &SHIPPED }
}
