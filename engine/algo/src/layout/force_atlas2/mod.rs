//! ForceAtlas2 (Jacomy, Venturini, Heymann and Bastian 2014, PLoS ONE 9(6): e98679).
//!
//! Nodes push each other with `k (deg_i + 1)(deg_j + 1) / d`, edges pull with `d`, gravity pulls to the
//! origin, and a global speed adapts to how much the nodes swing.
//!
//! Bodies are kept in the order of a Hilbert curve ([`order`]), over which an implicit tree lies
//! ([`cells`]); the far field is expanded ([`repulse`]). When the bodies have moved so much that the order
//! no longer serves, they are sorted anew; what that costs is weighed against what it saves, in counted
//! work, never in measured time, so that the same input gives the same bits.

mod arc_order;
mod attract;
pub(super) mod cells;
mod engine;
mod given;
mod inputs;
#[cfg(test)]
mod naive;
pub(super) mod order;
mod params;
mod profile;
pub(super) mod repulse;
mod settle;
pub(crate) mod simd;
mod speed;
pub(super) mod tables;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use graphlume_types::hash::unit_f64;
use rayon::prelude::*;

use crate::AlgoError;
pub(crate) use attract::mean;
use attract::{Arcs, Strength};
use cells::{Bounds, Cells, TASK};
pub(crate) use engine::PINNED;
pub use given::Balance;
pub(crate) use inputs::{check_inputs, masses};
pub use params::Params;
pub use profile::{Clock, Profile};
pub(crate) use repulse::ratio;
use repulse::{Field, Law, Scratch, Work};
use settle::Settle;
pub(crate) use settle::{EXCHANGE, LOOKS, REST, STEADY, WINDOW, telling_size};
use speed::Speed;

/// Coordinates beyond this would leave the range of `f32` when squared.
pub(crate) const COORDINATE_MAX: f32 = 1e15;
/// Up to this many bodies all pairs are summed: cheaper than a tree, and exact.
const EXACT_BODIES_MAX: usize = 192;

/// What one iteration did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iteration {
    /// Iterations done so far, this one included.
    pub index: u64,
    /// Sum over the nodes of mass times change of force.
    pub swing: f64,
    /// Sum over the nodes of mass times mean force.
    pub traction: f64,
    /// The global speed.
    pub speed: f64,
    /// Mean distance that a node moved, over the larger side of the bounding box.
    pub mean_move: f32,
    /// Bounding box: least x, least y, greatest x, greatest y; zeros without nodes.
    pub bounds: [f32; 4],
}

/// A ForceAtlas2 layout in progress.
pub struct ForceAtlas2 {
    topology: Arc<Topology>,
    weights: Option<Vec<f32>>,
    params: Params,
    // By node index.
    masses_by_node: Vec<f32>,
    body_of: Vec<u32>,
    pinned: Vec<bool>,
    mobility_by_node: Option<Vec<f32>>,
    // By body: in curve order.
    node_of: Vec<u32>,
    points: Vec<[f32; 2]>,
    forces: Vec<[f32; 2]>,
    forces_before: Vec<[f32; 2]>,
    masses: Vec<f32>,
    mobility: Vec<f32>,
    radii: Option<Vec<f32>>,
    arcs: Arcs,
    cells: Cells,
    sorter: order::Sorter,
    isa: simd::Isa,
    bounds: Bounds,
    speed: Speed,
    settle: Settle,
    index: u64,
    wear: engine::Staleness,
    clock: Option<Clock>,
    profile: Profile,
}
