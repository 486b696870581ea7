//! Communities.

pub mod cdlp;
pub mod ecg;
pub mod fastgreedy;
pub mod infomap;
pub mod label_propagation;
pub mod leading_eigenvector;
pub mod leiden;
pub mod louvain;
pub mod louvain_spec;
mod moving;
pub mod network;
pub mod spectral;
pub mod spinglass;
pub mod divisive;
pub mod specs;
pub mod walktrap;
