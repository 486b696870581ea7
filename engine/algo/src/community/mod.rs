//! Communities.

pub mod cdlp;
pub mod divisive;
pub mod ecg;
pub mod fastgreedy;
pub mod infomap;
pub mod label_propagation;
pub mod leading_eigenvector;
pub mod leiden;
pub mod louvain;
pub mod louvain_spec;
mod moved;
mod moving;
pub mod network;
pub mod optimal;
mod searches;
pub mod specs;
pub mod spectral;
pub mod spinglass;
mod team;
mod walks;
pub mod walktrap;
