//! Arrangement of the picture of a force layout that has come to rest, so that it can be read on a screen.
//!
//! Forces know neither a screen nor how large nodes are drawn: they leave a round picture with a crowd in its middle and
//! most of the screen empty, and nodes that hide each other. [`arrange`] turns the picture to lie as the screen does and
//! evens its radii out ([`fill`]), puts small components beside it ([`super::component_packing`]), spreads crowds
//! ([`diffusion`]) and sets discs apart that still overlap ([`super::overlap`]). Each step does as little as is needed: a
//! picture that fills the screen and whose nodes lie apart stays as it is.

mod diffusion;
mod fill;
mod view;

use graphlume_types::CancelToken;
use graphlume_types::stage::STAGE;
use rayon::prelude::*;

use super::component_packing::ComponentPacking;
use super::overlap;
use crate::AlgoError;

pub(super) use fill::lie_as_the_stage;
pub use view::{ViewBox, box_share};

/// Part of the stage that discs may cover together for them to be set apart. Above it there is no room for all of them; at
/// the smallest size that is drawn, this many are some 150,000 nodes.
pub const COVER_MAX: f64 = 0.35;
/// Moves of discs out of those that they overlap, all rounds together, and the rounds that any picture and at most has.
const MOVES: usize = 1_000_000;
const ROUNDS_MIN: usize = 24;
const ROUNDS_MAX: usize = 150;
/// One disc of so many may go on overlapping another.
const FEW: usize = 200;
/// Free pixels between two discs.
const GAP: f64 = 0.5;

/// Arranges `points`, by node index, for the stage, where node `v` is drawn `diameters[v]` pixels wide. `packing` are the
/// small components that lie beside the picture. Nodes that are `held` stay; then the others are set apart and nothing
/// else is done. The middle and the size of the picture in the units of the layout stay.
///
/// The same bits at any number of threads. Takes time in proportion to the nodes, up to sorting.
///
/// # Errors
/// [`AlgoError::Cancelled`], and [`AlgoError::Length`] unless there is a diameter for each node; the points are then what
/// they were.
pub fn arrange(
    points: &mut [[f32; 2]],
    diameters: &[f32],
    packing: Option<&ComponentPacking>,
    held: impl Fn(u32) -> bool,
    seed: u64,
    cancel: &CancelToken,
) -> Result<(), AlgoError> {
    AlgoError::check_len("diameters", diameters.len(), points.len(), "node")?;
    cancel.check()?;
    if points.len() < 2 || points.as_flattened().iter().any(|x| !x.is_finite()) {
        return Ok(());
    }
    let held: Vec<bool> = (0..points.len() as u32).map(held).collect();
    let mut at: Vec<[f64; 2]> = points.par_iter().map(|p| p.map(f64::from)).collect();
    let all: Vec<u32> = (0..points.len() as u32).collect();
    let packing = packing.filter(|_| !held.contains(&true));
    let inner = packing.map_or(all.as_slice(), ComponentPacking::inner);
    if !held.contains(&true) {
        let beside = packing.map_or(0.0, ComponentPacking::share);
        fill::fill(&mut at, inner, beside);
        cancel.check()?;
        if let Some(packing) = packing {
            packing.place(&mut at, |_| false);
        }
    }
    set_apart(&mut at, inner, diameters, &held, seed, cancel)?;
    if let Some(packing) = packing {
        // Beside the picture as it is now.
        packing.place(&mut at, |_| false);
    }
    for (to, p) in points.iter_mut().zip(&at) {
        *to = p.map(|x| x as f32);
    }
    Ok(())
}

/// Moves the discs of the nodes `inner` apart where the picture of all fits the stage, if there is room.
fn set_apart(
    at: &mut [[f64; 2]],
    inner: &[u32],
    diameters: &[f32],
    held: &[bool],
    seed: u64,
    cancel: &CancelToken,
) -> Result<(), AlgoError> {
    let radius = |v: &u32| 0.5 * (f64::from(diameters[*v as usize]) + GAP);
    let radii: Vec<f64> = inner.iter().map(radius).collect();
    // Summed by few, so that the threads do not decide the last bits.
    let cover: f64 = radii.iter().map(|r| std::f64::consts::PI * r * r).sum();
    if cover > COVER_MAX * STAGE[0] * STAGE[1] {
        return Ok(());
    }
    let Some(view) = ViewBox::of(at) else { return Ok(()) };
    let held: Vec<bool> = inner.iter().map(|v| held[*v as usize]).collect();
    let mut own: Vec<[f64; 2]> = inner.iter().map(|v| at[*v as usize]).collect();
    view.to_pixels(&mut own);
    if !overlap::any(&own, &radii, cancel)? {
        return Ok(());
    }
    if !held.contains(&true) {
        let before = ViewBox::of(&own).map_or(0.0, |view| view.scale);
        diffusion::spread(&mut own, &radii, cancel)?;
        // Crowds at the rim have made the picture larger, and everything in it would be shown smaller.
        let shrink = ViewBox::of(&own).map_or(1.0, |view| view.scale / before).min(1.0);
        own.iter_mut().flatten().for_each(|x| *x *= shrink);
    }
    let rounds = (MOVES / own.len().max(1)).clamp(ROUNDS_MIN, ROUNDS_MAX);
    let few = own.len() / FEW;
    overlap::part(&mut own, &radii, &held, [rounds, few], seed, cancel)?;
    view.to_units(&mut own);
    for (v, p) in inner.iter().zip(&own) {
        at[*v as usize] = *p;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
