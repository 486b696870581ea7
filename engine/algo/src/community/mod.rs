//! Communities.

pub mod leiden;
pub mod louvain;
mod moving;
pub mod network;
