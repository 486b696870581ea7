//! Communities.

pub mod louvain;
