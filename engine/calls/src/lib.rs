//! Calls on graphs that every query language has: degrees, algorithms, layouts, UMAP, and how a graph is shown.
//!
//! GFQL names them as calls of a chain ([`list::GRAPH_CALLS`]), Cypher as procedures ([`procedure()`]). A call takes a graph and
//! named parameters, and makes a graph; a language gives it a [`context::CallContext`].

mod algorithm;
pub mod context;
pub mod graph;
pub mod layout;
mod levels;
pub mod list;
pub mod params;
pub mod procedure;
pub mod show;
pub mod signature;
mod umap;
