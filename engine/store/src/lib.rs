//! A graph with properties in memory, and what its columns and its adjacency are asked through: what the query languages
//! have in common.
//!
//! [`PropertyGraph`] holds the tables, numbers the nodes and builds the adjacency when the first question needs it; what
//! follows from them (typed adjacency, numbers of values, ranges of numbers) is kept in one cache with a bound, under a key
//! that names its type, and counts in the memory budget. [`filter`] tests rows of a table, [`ids`] are sets of nodes or
//! rows, [`dictionary`] numbers the values of text columns, [`materialize`] makes tables of chosen rows.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{ArrayRef, Int64Array, RecordBatch};
//! use graphlume_store::{Bindings, PropertyGraph};
//! use graphlume_table::Table;
//! use graphlume_types::CancelToken;
//!
//! let column = |values: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(values)) };
//! let edges = RecordBatch::try_from_iter([("src", column(vec![1, 1])), ("dst", column(vec![2, 3]))])?;
//! let bindings = Bindings {
//!     source: Some("src".to_owned()),
//!     destination: Some("dst".to_owned()),
//!     ..Bindings::default()
//! };
//! let graph = PropertyGraph::new(None, Some(Table::try_new(edges)?), bindings)?;
//! assert_eq!(graph.node_table(&CancelToken::new())?.num_rows(), 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cache;
mod chain_job;
pub mod dictionary;
pub mod filter;
pub mod ids;
pub mod materialize;
mod property_graph;
mod tally_job;
mod tuning;

pub use cache::{Cache, CacheKey, made};
pub use chain_job::{
    ChainAnswer, ChainColumn, ChainDevice, ChainHop, ChainJob, ChainStep, EdgeSet, NodeSet,
    Rediscovered,
};
pub use property_graph::{Bindings, CallOp, NODE_ID, PositionColumns, PropertyGraph};
pub use tally_job::{
    TallyAnswer, TallyBranch, TallyDevice, TallyFold, TallyJob, TallyMarks, TallyRelation,
    TallyStep, TallySums, TallyWanted,
};
pub use tuning::{Tuning, tuning};
