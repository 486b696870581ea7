//! The algorithms on the GPU. Each works on a [`GpuGraph`], gives what its CPU counterpart gives (integers
//! equal, floats within what its documentation states, the same bits in every run on one device), states
//! an upper bound of the device memory it takes, and asks its [`CancelToken`](graphlume_types::CancelToken)
//! between launches, each of which is bounded.

pub mod bfs;
pub mod chain;
pub mod components;
pub mod expand;
pub mod force_atlas2;
pub mod forms;
pub mod frames;
pub mod louvain;
mod louvain_aggregate;
mod louvain_level;
mod louvain_move;
pub mod pagerank;
pub mod relation;
pub mod sssp;
pub mod tally;
pub mod tally_sums;

pub use crate::gpu_graph::GpuGraph;
