//! From which sizes on the store takes which way.

/// Thresholds of the store.
#[derive(Debug)]
pub struct Tuning {
    /// Rows of a text column from which on its values are numbered.
    pub coded_rows_min: usize,
    /// Rows from which on numbers of values are kept in a byte each.
    pub small_codes_rows_min: usize,
    /// Indices up to which a set that grows has a bit for each.
    pub bits_always: u32,
    /// A set with more than this part of its bound is kept as bits.
    pub bits_part: u64,
    /// Indices that are worth the work of several threads.
    pub many: u32,
    /// Rows of a column of numbers from which on a byte a row pays.
    pub histogram_rows_min: usize,
    /// Tests of a column before it gets a histogram: making it takes as long as some tests.
    pub histogram_tests_before: u32,
    /// Ranges of a histogram, at most 250.
    pub histogram_ranges: usize,
    /// Rows from which on columns are gathered by several threads.
    pub gather_rows_shared: usize,
    /// Words of rows that are listed at once, at most 64.
    pub block_words: usize,
}

static SHIPPED: Tuning = Tuning {
    coded_rows_min: 1 << 12,
    small_codes_rows_min: 1 << 16,
    bits_always: 1 << 17,
    bits_part: 128,
    many: 1 << 11,
    histogram_rows_min: 1 << 18,
    histogram_tests_before: 3,
    histogram_ranges: 250,
    gather_rows_shared: 1 << 12,
    block_words: 64,
};

static SMALL: Tuning = Tuning {
    coded_rows_min: 2,
    small_codes_rows_min: 2,
    bits_always: 3,
    bits_part: 2,
    many: 3,
    histogram_rows_min: 2,
    histogram_tests_before: 1,
    histogram_ranges: 4,
    gather_rows_shared: 2,
    block_words: 2,
};

/// The thresholds that count in this process, see [`graphlume_types::tuning`].
#[inline]
#[must_use]
pub fn tuning() -> &'static Tuning {
    if graphlume_types::tuning::is_small() { &SMALL } else { &SHIPPED }
}
