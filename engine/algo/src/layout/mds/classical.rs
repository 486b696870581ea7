//! The exact method: the leading eigenvectors of the doubly centred squares of all distances.

use graphlume_types::CancelToken;
use rayon::prelude::*;

use super::hops::Local;
use crate::AlgoError;
use crate::eigen::{Search, largest};
use crate::power::{each, sum};

/// How exact the eigenvectors are.
const TOLERANCE: f64 = 1e-10;
const RESTARTS: usize = 300;

/// Places by the hops between the nodes of a part.
///
/// # Errors
/// [`AlgoError::Memory`] before the hops are made, [`AlgoError::Cancelled`].
pub(super) fn of_hops<const D: usize>(
    local: &Local<'_>,
    nodes: &[u32],
    cancel: &CancelToken,
) -> Result<Vec<[f64; D]>, AlgoError> {
    let n = nodes.len();
    let _held = cancel.hold((n as u64).pow(2) * size_of::<u16>() as u64)?;
    let hops = local.all_pairs(nodes, cancel)?;
    let row = |v: usize, x: &[f64]| {
        let row = &hops[v * n..(v + 1) * n];
        row.iter().zip(x).map(|(d, x)| f64::from(u32::from(*d) * u32::from(*d)) * x).sum()
    };
    places(n, row, cancel)
}

/// Places of the nodes of a part by the distances in a table of all `n` nodes.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub(super) fn of_matrix<const D: usize>(
    given: &[f64],
    n: usize,
    nodes: &[u32],
    cancel: &CancelToken,
) -> Result<Vec<[f64; D]>, AlgoError> {
    let row = |v: usize, x: &[f64]| {
        let row = &given[nodes[v] as usize * n..(nodes[v] as usize + 1) * n];
        nodes.iter().zip(x).map(|(u, x)| row[*u as usize].powi(2) * x).sum()
    };
    places(nodes.len(), row, cancel)
}

/// Places of `n` nodes; `row` is the inner product of a row of squared distances with its argument.
fn places<const D: usize>(
    n: usize,
    row: impl Fn(usize, &[f64]) -> f64 + Sync,
    cancel: &CancelToken,
) -> Result<Vec<[f64; D]>, AlgoError> {
    let mut centred = vec![0.0; n];
    let apply = |x: &[f64], image: &mut [f64]| {
        let mean = sum(n, |v| x[v]) / n as f64;
        each(&mut centred, |v, c| *c = x[v] - mean);
        let centred = &centred;
        let rows = image.par_iter_mut().enumerate().with_min_len(64);
        rows.try_for_each(|(v, value)| {
            if v % 64 == 0 {
                cancel.check()?;
            }
            *value = -0.5 * row(v, centred);
            Ok::<_, AlgoError>(())
        })?;
        let mean = sum(n, |v| image[v]) / n as f64;
        each(image, |_, value| *value -= mean);
        Ok(())
    };
    let search = Search { count: D, tolerance: TOLERANCE, restarts: RESTARTS, seed: 0 };
    let pairs = largest(n, search, apply, cancel)?;
    let mut points = vec![[0.0; D]; n];
    for (axis, (value, vector)) in pairs.values.iter().zip(&pairs.vectors).enumerate() {
        let scale = value.max(0.0).sqrt() * side(vector);
        points.iter_mut().zip(vector).for_each(|(p, x)| p[axis] = scale * x);
    }
    Ok(points)
}

/// The sign under which the largest entry of an axis, of equal ones the first, is positive.
pub(super) fn side(axis: &[f64]) -> f64 {
    let far = axis.iter().fold(0.0f64, |far, x| if x.abs() > far.abs() + 1e-9 { *x } else { far });
    if far < 0.0 { -1.0 } else { 1.0 }
}
