//! Communities.

pub mod louvain;
pub mod louvain_spec;
