//! Limits of a picture: how many pixels and shapes it has at most.

/// Pixels of a side at most.
pub const SIDE_MAX: u32 = 8_192;
/// Pixels of a side at least.
pub const SIDE_MIN: u32 = 16;
/// Pixels of a picture at most: 8,192 by 4,882.
pub const PIXELS_MAX: u64 = 40_000_000;
/// Nodes and edges of a picture of shapes at most.
pub const ELEMENTS_MAX: usize = 20_000;
