//! Centralities.

pub mod betweenness;
pub mod betweenness_spec;
mod brandes_lanes;
mod brandes_steps;
pub mod closeness;
pub mod constraint;
pub mod eigenvector;
pub mod hits;
pub mod katz;
pub mod pagerank;
pub mod personalized;
mod rows;
