//! Eigenvectors of large symmetric operators to the largest eigenvalues: Lanczos with full reorthogonalisation and
//! thick restart (Wu and Simon 2000, SIAM J. Matrix Anal. Appl. 22), and Jacobi's method for what is small. Sums are
//! cut by position, so that their bits do not depend on the threads.

use graphlume_types::CancelToken;
use graphlume_types::hash::unit_f64;
use rayon::prelude::*;

use crate::AlgoError;

/// Entries that are summed in one piece.
const CHUNK: usize = 1 << 12;
/// Rotations of Jacobi's method, each of which passes four rows, between two looks at the cancel token.
const ROTATIONS_PER_CHECK: usize = 32;
/// Sweeps of Jacobi's method at most; it needs about ten.
const SWEEPS_MAX: usize = 60;

/// Eigenvalues, largest first, with unit vectors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Eigenpairs {
    pub(crate) values: Vec<f64>,
    pub(crate) vectors: Vec<Vec<f64>>,
}

/// What is looked for, and how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    /// Eigenpairs.
    pub(crate) count: usize,
    /// Length of the residual, over that of the largest eigenvalue, that is small enough.
    pub(crate) tolerance: f64,
    /// Restarts at most; then what there is has to do.
    pub(crate) restarts: usize,
    /// Chooses the first vector.
    pub(crate) seed: u64,
}

/// The eigenpairs to the largest eigenvalues of the symmetric operator on `n` numbers that `apply` is: it writes
/// the image of its first argument into the second.
///
/// # Errors
/// [`AlgoError::Memory`] before the basis is made; [`AlgoError::Cancelled`].
pub(crate) fn largest(
    n: usize,
    search: Search,
    mut apply: impl FnMut(&[f64], &mut [f64]) -> Result<(), AlgoError>,
    cancel: &CancelToken,
) -> Result<Eigenpairs, AlgoError> {
    let count = search.count.min(n);
    if count == 0 {
        return Ok(Eigenpairs::default());
    }
    let size = (2 * count + 24).min(n);
    let _held = cancel.hold(bytes_of(size, n))?;
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(size + 1);
    let mut stream = 0;
    push_random(&mut basis, n, search.seed, &mut stream);
    let mut projected = vec![vec![0.0; size]; size];
    let mut done = 0;
    for restart in 0..=search.restarts {
        let mut rest = 0.0;
        for j in done..size {
            cancel.check()?;
            let mut w = vec![0.0; n];
            apply(&basis[j], &mut w)?;
            let before = dot(&w, &w).sqrt();
            for _ in 0..2 {
                for (i, h) in orthogonalise(&mut w, &basis).into_iter().enumerate() {
                    projected[i][j] += h;
                }
            }
            rest = dot(&w, &w).sqrt();
            if basis.len() == n {
                rest = 0.0;
            } else if rest <= 1e-13 * before.max(1e-300) || rest == 0.0 {
                // The basis holds all that can be reached: go on with what it lacks.
                rest = 0.0;
                push_random(&mut basis, n, search.seed, &mut stream);
            } else {
                w.iter_mut().for_each(|x| *x /= rest);
                basis.push(w);
            }
        }
        // The lower half mirrors the upper one.
        for i in 1..size {
            let (above, below) = projected.split_at_mut(i);
            above.iter().zip(&mut below[0]).for_each(|(row, entry)| *entry = row[i]);
        }
        let small = jacobi(&projected, cancel)?;
        let scale = small.values.iter().fold(0.0, |a: f64, v| a.max(v.abs()));
        let residual = |i: usize| (rest * small.vectors[i][size - 1]).abs();
        let enough = (0..count).all(|i| residual(i) <= search.tolerance * scale.max(1e-300));
        if enough || restart == search.restarts || basis.len() <= size {
            let vectors = combine(&basis[..size], &small.vectors[..count], cancel)?;
            return Ok(Eigenpairs { values: small.values[..count].to_vec(), vectors });
        }
        // The best of the basis and the direction in which it grows.
        let keep = (count + (size - count) / 2).min(size - 1);
        let next = basis.swap_remove(size);
        basis = combine(&basis[..size], &small.vectors[..keep], cancel)?;
        basis.push(next);
        projected.iter_mut().for_each(|row| row.fill(0.0));
        for (i, value) in small.values[..keep].iter().enumerate() {
            projected[i][i] = *value;
        }
        done = keep;
    }
    Ok(Eigenpairs::default())
}

/// Bytes of a search with a basis of `size` vectors of `n` numbers: two bases when it restarts, and the projected operator
/// with what becomes of it and of its axes.
fn bytes_of(size: usize, n: usize) -> u64 {
    let (size, n) = (size as u64, n as u64);
    (2 * size.saturating_mul(n)).saturating_add(3 * size.saturating_mul(size)).saturating_mul(8)
}

/// Appends a random unit vector at right angles to the others.
fn push_random(basis: &mut Vec<Vec<f64>>, n: usize, seed: u64, stream: &mut u64) {
    for _ in 0..10 {
        *stream += 1;
        let mut w: Vec<f64> = (0..n as u64).map(|i| unit_f64(seed, *stream, i) - 0.5).collect();
        orthogonalise(&mut w, basis);
        orthogonalise(&mut w, basis);
        let length = dot(&w, &w).sqrt();
        if length > 1e-8 {
            w.iter_mut().for_each(|x| *x /= length);
            basis.push(w);
            return;
        }
    }
    // There is nothing else, as rounding has it.
    basis.push(vec![0.0; n]);
}

/// Takes from `w` its share of each vector of the basis, and returns the shares.
fn orthogonalise(w: &mut [f64], basis: &[Vec<f64>]) -> Vec<f64> {
    let whole: &[f64] = w;
    let pieces: Vec<Vec<f64>> = whole
        .par_chunks(CHUNK)
        .enumerate()
        .map(|(c, part)| basis.iter().map(|b| plain_dot(part, &b[c * CHUNK..])).collect())
        .collect();
    let mut shares = vec![0.0; basis.len()];
    for piece in pieces {
        shares.iter_mut().zip(piece).for_each(|(s, p)| *s += p);
    }
    w.par_chunks_mut(CHUNK).enumerate().for_each(|(c, part)| {
        for (b, share) in basis.iter().zip(&shares) {
            part.iter_mut().zip(&b[c * CHUNK..]).for_each(|(x, y)| *x -= share * y);
        }
    });
    shares
}

/// Sums of the basis with the given shares.
fn combine(
    basis: &[Vec<f64>],
    shares: &[Vec<f64>],
    cancel: &CancelToken,
) -> Result<Vec<Vec<f64>>, AlgoError> {
    let n = basis.first().map_or(0, Vec::len);
    let one = |share: &Vec<f64>| {
        let mut sum = vec![0.0; n];
        for (b, s) in basis.iter().zip(share) {
            cancel.check()?;
            sum.iter_mut().zip(b).for_each(|(x, y)| *x += s * y);
        }
        Ok(sum)
    };
    shares.par_iter().map(one).collect()
}

/// Inner product.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    if a.len() <= CHUNK {
        return plain_dot(a, b);
    }
    let parts: Vec<f64> =
        a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK)).map(|(a, b)| plain_dot(a, b)).collect();
    parts.into_iter().sum()
}

fn plain_dot(a: &[f64], b: &[f64]) -> f64 {
    // Four sums, which the processor adds side by side.
    let mut sums = [0.0; 4];
    let (fours, rest) = a.as_chunks::<4>();
    let (others, _) = b.as_chunks::<4>();
    for (x, y) in fours.iter().zip(others) {
        (0..4).for_each(|i| sums[i] += x[i] * y[i]);
    }
    let tail = rest.iter().zip(&b[4 * fours.len()..]).map(|(x, y)| x * y).sum::<f64>();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + tail
}

/// All eigenpairs of a small symmetric matrix, largest first.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub(crate) fn jacobi(matrix: &[Vec<f64>], cancel: &CancelToken) -> Result<Eigenpairs, AlgoError> {
    let n = matrix.len();
    let mut a = matrix.to_vec();
    // Row `i` is what becomes of the `i`-th axis.
    let mut axes: Vec<Vec<f64>> = (0..n).map(|i| unit(n, i)).collect();
    let square = |a: &[Vec<f64>], off: bool| -> f64 {
        let of = |i: usize| (0..n).filter(move |j| !off || *j != i).map(move |j| (i, j));
        (0..n).flat_map(of).map(|(i, j)| a[i][j] * a[i][j]).sum()
    };
    let whole = square(&a, false);
    for _ in 0..SWEEPS_MAX {
        if square(&a, true) <= 1e-30 * whole {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                if q % ROTATIONS_PER_CHECK == 0 {
                    cancel.check()?;
                }
                rotate(&mut a, &mut axes, p, q);
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|i, j| a[*j][*j].total_cmp(&a[*i][*i]).then(i.cmp(j)));
    Ok(Eigenpairs {
        values: order.iter().map(|i| a[*i][*i]).collect(),
        vectors: order.iter().map(|i| std::mem::take(&mut axes[*i])).collect(),
    })
}

fn unit(n: usize, i: usize) -> Vec<f64> {
    let mut axis = vec![0.0; n];
    axis[i] = 1.0;
    axis
}

/// Turns the axes `p` and `q` so that the entry between them becomes 0.
fn rotate(a: &mut [Vec<f64>], axes: &mut [Vec<f64>], p: usize, q: usize) {
    let between = a[p][q];
    if between == 0.0 {
        return;
    }
    let theta = (a[q][q] - a[p][p]) / (2.0 * between);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let t = if theta == 0.0 { 1.0 } else { t };
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    for row in a.iter_mut() {
        (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
    }
    for rows in [a, axes] {
        let (low, high) = rows.split_at_mut(q);
        for (x, y) in low[p].iter_mut().zip(&mut high[0]) {
            (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::testkit;

    /// A path's Laplacian, negated, whose eigenvalues are known.
    fn path(x: &[f64], y: &mut [f64]) -> Result<(), AlgoError> {
        let n = x.len();
        for i in 0..n {
            let near = [i.checked_sub(1), (i + 1 < n).then_some(i + 1)];
            y[i] = near.into_iter().flatten().map(|j| x[j] - x[i]).sum();
        }
        Ok(())
    }

    #[test]
    fn the_eigenvalues_of_a_path_are_those_of_the_formula() {
        for n in [1, 2, 3, 10, 60, 400] {
            let search = Search { count: 4, tolerance: 1e-10, restarts: 500, seed: 0 };
            let found = largest(n, search, path, &CancelToken::new()).unwrap();
            assert_eq!(found.values.len(), n.min(4));
            for (k, (value, vector)) in found.values.iter().zip(&found.vectors).enumerate() {
                let angle = std::f64::consts::PI * k as f64 / n as f64;
                assert!((value + 2.0 - 2.0 * angle.cos()).abs() < 1e-9, "{n} {k} {value}");
                let mut image = vec![0.0; n];
                path(vector, &mut image).unwrap();
                let off: f64 = (0..n).map(|i| (image[i] - value * vector[i]).abs()).sum();
                assert!(off < 1e-7, "{n} {k}: {off}");
            }
        }
    }

    #[test]
    fn repeated_eigenvalues_are_found_as_often_as_they_are_there() {
        // Three twos and many ones.
        let apply = |x: &[f64], y: &mut [f64]| {
            y.iter_mut()
                .zip(x)
                .enumerate()
                .for_each(|(i, (y, x))| *y = x * if i < 3 { 2.0 } else { 1.0 });
            Ok(())
        };
        let search = Search { count: 4, tolerance: 1e-10, restarts: 50, seed: 0 };
        let found = largest(50, search, apply, &CancelToken::new()).unwrap();
        for (value, expected) in found.values.iter().zip([2.0, 2.0, 2.0, 1.0]) {
            assert!((value - expected).abs() < 1e-9, "{:?}", found.values);
        }
    }

    #[test]
    fn bits_do_not_depend_on_the_threads() {
        let search = Search { count: 3, tolerance: 1e-3, restarts: 3, seed: 1 };
        let run = || largest(20_000, search, path, &CancelToken::new()).unwrap().vectors;
        let [one, two, three] = testkit::at_1_2_3_threads(run);
        assert!(one == two && two == three);
    }
}
