//! Graph algorithms and layouts.
//!
//! Every algorithm is one file; [`registry::ALGORITHMS`] is the one list of them, from which names,
//! parameters and documentation are derived. All of them run on the current rayon pool and give the same
//! bits at any number of threads.

mod accelerator;
mod buckets;
pub mod centrality;
pub mod community;
pub mod component;
pub mod dispatch;
mod eigen;
mod error;
pub mod gpu;
pub mod gpu_graph;
pub mod input;
mod lanczos;
pub mod layout;
pub mod libraries;
pub mod networkx;
pub mod output;
pub mod params;
pub mod path;
mod place;
mod power;
pub mod reference;
pub mod registry;
pub mod schema;
pub mod similarity;
pub mod spec;
pub mod start;
mod tally;
#[cfg(test)]
pub(crate) mod testkit;
pub mod tree;
pub mod triangle;
mod util;
mod vertex_set;
pub mod view;
mod weight;
mod weighted_graph;

pub use accelerator::{Accelerator, DeviceJob, Prepared, Work};
pub use error::AlgoError;
pub use input::{ColumnError, GraphData, Input};
pub use output::{Column, Output, Subgraph, Values};
pub use params::ParamValues;
pub use place::ComputedOn;
pub use registry::{ALGORITHMS, find, find_any, run};
pub use spec::{AlgorithmSpec, Cost, Dtype, Gives, Kind, Name, OutputSpec, ParamSpec};
pub use util::{did_you_mean, distinct_edges};
