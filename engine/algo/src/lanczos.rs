//! The eigenvector to the largest eigenvalue of a large symmetric operator: Lanczos' recurrence of three terms (1950, J.
//! Res. Nat. Bur. Stand. 45), begun anew from the best vector where the basis is full. Sums are cut by position, so that
//! their bits do not depend on the threads.

use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::AlgoError;
use crate::power::{each, sum};

/// Vectors of the basis at most, and at least.
const BASIS: (usize, usize) = (32, 6);
/// Bytes that the basis may take where it has more vectors than the least.
const BASIS_BYTES: usize = 256 << 20;
/// Length of the residual, over the eigenvalue, that is small enough.
const TOLERANCE: f64 = 1e-12;
/// Halvings of the interval that holds an eigenvalue.
const HALVINGS: usize = 100;
/// Entries of one unit of parallel work.
const CHUNK: usize = 4096;

/// A unit vector, and whether it is exact enough.
pub(crate) struct Dominant {
    pub(crate) vector: Vec<f64>,
    /// Length of the residual over the eigenvalue.
    pub(crate) residual: f64,
    pub(crate) is_exact: bool,
}

/// The eigenvector to the largest eigenvalue of the symmetric operator that `apply` is: it writes the image of its first
/// argument into the second. Where several have that eigenvalue, it is the one that `start` leads to. After `products`
/// images it is as exact as it is then.
///
/// # Errors
/// Those of `apply`, and [`AlgoError::Cancelled`].
pub(crate) fn dominant(
    start: Vec<f64>,
    products: usize,
    mut apply: impl FnMut(&[f64], &mut [f64]) -> Result<(), AlgoError>,
    cancel: &CancelToken,
) -> Result<Dominant, AlgoError> {
    let n = start.len();
    let size = (BASIS_BYTES / (8 * n.max(1))).clamp(BASIS.1, BASIS.0).min(n.max(1));
    let mut x = unit(start);
    let mut left = products;
    loop {
        let (mut diagonal, mut beside) = (Vec::with_capacity(size), Vec::with_capacity(size));
        let mut basis = vec![x];
        let (mut found, mut residual) = (Vec::new(), f64::INFINITY);
        while diagonal.len() < size && left > 0 {
            cancel.check()?;
            left -= 1;
            let j = diagonal.len();
            let mut next = vec![0.0; n];
            apply(&basis[j], &mut next)?;
            let own = dot(&next, &basis[j]);
            let (this, before) = (&basis[j], j.checked_sub(1).map(|i| (&basis[i], beside[i])));
            each(&mut next, |v, value| {
                *value -= own * this[v] + before.map_or(0.0, |(b, by)| by * b[v]);
            });
            diagonal.push(own);
            let length = dot(&next, &next).sqrt();
            let top = top_of_tridiagonal(&diagonal, &beside);
            // The entries of a residual add up to this, whatever the basis is.
            residual = length * top.1[j].abs() / top.0.abs().max(f64::MIN_POSITIVE);
            found = top.1;
            if residual <= TOLERANCE || length <= f64::MIN_POSITIVE {
                residual = residual.min(TOLERANCE);
                break;
            }
            each(&mut next, |_, value| *value /= length);
            beside.push(length);
            basis.push(next);
        }
        x = vec![0.0; n];
        x.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, part)| {
            for (vector, by) in basis.iter().zip(&found) {
                let vector = &vector[chunk * CHUNK..];
                part.iter_mut().zip(vector).for_each(|(x, b)| *x += by * b);
            }
        });
        x = unit(x);
        if residual <= TOLERANCE || left == 0 {
            return Ok(Dominant { vector: x, residual, is_exact: residual <= TOLERANCE });
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    sum(a.len(), |v| a[v] * b[v])
}

fn unit(mut x: Vec<f64>) -> Vec<f64> {
    let length = dot(&x, &x).sqrt();
    if length > 0.0 {
        each(&mut x, |_, value| *value /= length);
    }
    x
}

/// The largest eigenvalue of a symmetric tridiagonal matrix, and its unit vector.
fn top_of_tridiagonal(diagonal: &[f64], beside: &[f64]) -> (f64, Vec<f64>) {
    let n = diagonal.len();
    let around = |i: usize| {
        let before = if i > 0 { beside[i - 1].abs() } else { 0.0 };
        before + beside.get(i).filter(|_| i + 1 < n).map_or(0.0, |b| b.abs())
    };
    let circles = (0..n).map(|i| (diagonal[i] - around(i), diagonal[i] + around(i)));
    let (mut low, mut high) = circles
        .fold((f64::INFINITY, f64::NEG_INFINITY), |all, one| (all.0.min(one.0), all.1.max(one.1)));
    // The circle of the largest diagonal entry holds or precedes the eigenvalue.
    low = diagonal.iter().copied().fold(low, f64::max);
    let width = (high - low).max(f64::MIN_POSITIVE);
    high += 1e-15 * width.max(high.abs());
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        // Above all eigenvalues the matrix less its diagonal is positive definite.
        if pivots(diagonal, beside, middle, |_, _| ()) {
            high = middle;
        } else {
            low = middle;
        }
    }
    // Two steps of inverse iteration from above, where elimination needs no exchange of rows.
    let mut vector = vec![1.0; n];
    let mut pivot = vec![0.0; n];
    let above = high + 4.0 * f64::EPSILON * high.abs().max(width);
    pivots(diagonal, beside, above, |i, p| pivot[i] = p);
    for _ in 0..3 {
        for i in 1..n {
            vector[i] += beside[i - 1] / pivot[i - 1] * vector[i - 1];
        }
        for i in (0..n).rev() {
            let behind = if i + 1 < n { beside[i] * vector[i + 1] } else { 0.0 };
            vector[i] = (vector[i] + behind) / pivot[i];
        }
        let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length > 0.0 && length.is_finite() {
            vector.iter_mut().for_each(|x| *x /= length);
        } else {
            // A single entry, whose eigenvalue is exact.
            vector = vec![0.0; n];
            vector[0] = 1.0;
        }
    }
    (high, vector)
}

/// Whether `shift` is above all eigenvalues: the pivots of the elimination of `shift` less the matrix are positive, as far
/// as they are given.
fn pivots(diagonal: &[f64], beside: &[f64], shift: f64, mut give: impl FnMut(usize, f64)) -> bool {
    let mut before = f64::INFINITY;
    for (i, entry) in diagonal.iter().enumerate() {
        let by = if i > 0 { beside[i - 1] * beside[i - 1] / before } else { 0.0 };
        let pivot = shift - entry - by;
        give(i, pivot);
        if pivot <= 0.0 {
            return false;
        }
        before = pivot;
    }
    true
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testkit;

    /// A path's adjacency matrix, whose eigenvalues are known.
    fn path(x: &[f64], y: &mut [f64]) -> Result<(), AlgoError> {
        for (i, image) in y.iter_mut().enumerate() {
            let near = [i.checked_sub(1), (i + 1 < x.len()).then_some(i + 1)];
            *image = near.into_iter().flatten().map(|j| x[j]).sum();
        }
        Ok(())
    }

    fn of_path(n: usize) -> Dominant {
        dominant(vec![1.0; n], 20_000, path, &CancelToken::new()).unwrap()
    }

    #[test]
    fn the_eigenvector_of_a_path_is_that_of_the_formula() {
        for n in [1, 2, 3, 10, 60, 300] {
            let found = of_path(n);
            assert!(found.is_exact, "{n} {}", found.residual);
            let at = |i: usize| (std::f64::consts::PI * (i + 1) as f64 / (n + 1) as f64).sin();
            let length = (0..n).map(|i| at(i) * at(i)).sum::<f64>().sqrt();
            for (i, x) in found.vector.iter().enumerate() {
                assert!((x.abs() - at(i) / length).abs() < 1e-7, "{n} {i} {x}");
            }
        }
    }

    #[test]
    fn of_several_to_one_eigenvalue_it_is_the_one_that_the_start_leads_to() {
        let twice = |x: &[f64], y: &mut [f64]| {
            y.iter_mut()
                .zip(x)
                .enumerate()
                .for_each(|(i, (y, x))| *y = if i < 3 { 2.0 * x } else { *x });
            Ok(())
        };
        let start = vec![3.0, 0.0, 4.0, 1.0, 1.0];
        let found = dominant(start, 100, twice, &CancelToken::new()).unwrap().vector;
        for (x, expected) in found.iter().zip([0.6, 0.0, 0.8, 0.0, 0.0]) {
            assert!((x.abs() - expected).abs() < 1e-9, "{found:?}");
        }
        let zero = |_: &[f64], y: &mut [f64]| {
            y.fill(0.0);
            Ok(())
        };
        let found = dominant(vec![1.0; 4], 100, zero, &CancelToken::new()).unwrap();
        assert!(found.is_exact && found.vector.iter().all(|x| (x.abs() - 0.5).abs() < 1e-12));
        assert!(of_path(0).vector.is_empty());
    }

    #[test]
    fn bits_do_not_depend_on_the_threads() {
        let [one, two, three] = testkit::at_1_2_3_threads(|| {
            dominant(vec![1.0; 20_000], 100, path, &CancelToken::new()).unwrap().vector
        });
        assert!(one == two && two == three);
    }
}
