//! Layouts: coordinates for nodes. A layout is a file or a folder with its specification beside its code.

pub mod arrange;
pub(crate) mod auto;
pub(crate) mod bipartite;
pub(crate) mod circle;
pub mod component_packing;
pub(crate) mod coordinates;
pub(crate) mod davidson_harel;
pub mod force_atlas2;
pub mod force_atlas2_spec;
pub(crate) mod force_directed;
#[cfg(test)]
mod force_tests;
pub(crate) mod given;
pub(crate) mod grid;
pub mod initial_layout;
pub(crate) mod mds;
pub(crate) mod overlap;
pub(crate) mod packing;
pub(crate) mod parts;
pub(crate) mod point_grid;
mod radial_tree;
pub(crate) mod random;
pub(crate) mod reingold_tilford;
pub(crate) mod sphere;
pub(crate) mod star;
pub(crate) mod stress;
pub(crate) mod sugiyama;
pub mod umap;
