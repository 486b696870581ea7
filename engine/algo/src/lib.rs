//! Graph algorithms and layouts.
//!
//! Every algorithm is one file; [`registry::ALGORITHMS`] is the one list of them, from which names,
//! parameters and documentation are derived. All of them run on the current rayon pool and give the same
//! bits at any number of threads.

pub mod centrality;
pub mod community;
pub mod component;
mod eigen;
mod error;
pub mod gpu;
pub mod layout;
pub mod libraries;
pub mod params;
pub mod path;
pub mod registry;
pub mod schema;
pub mod spec;
#[cfg(test)]
pub(crate) mod testkit;
mod util;
pub mod view;
mod weighted_graph;

pub use error::AlgoError;
pub use params::ParamValues;
pub use registry::{ALGORITHMS, find, find_any, run};
pub use spec::{
    AlgorithmSpec, Column, Dtype, Input, Kind, Name, Output, OutputSpec, ParamSpec, Values,
};
pub use util::{did_you_mean, distinct_edges};
