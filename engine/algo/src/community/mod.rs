//! Communities.

pub mod cdlp;
pub mod ecg;
pub mod fastgreedy;
pub mod infomap;
pub mod label_propagation;
pub mod leading_eigenvector;
pub mod leiden;
pub mod louvain;
mod moving;
pub mod network;
pub mod spectral;
pub mod spinglass;
