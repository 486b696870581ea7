//! The method for large parts (Brandes and Pich 2007): hops from some nodes to all, and the leading singular vectors of their
//! doubly centred squares.

use graphlume_types::CancelToken;
use graphlume_types::hash::h64;
use rayon::prelude::*;

use super::classical::side;
use super::hops::{LANES, Local};
use crate::AlgoError;
use crate::eigen::jacobi;

/// Pivots that lie as far from those before them as can be; the others are drawn.
const FAR: usize = 16;
/// Numbers at most, of all pivots together; larger graphs have fewer pivots, and at least some.
const NUMBERS_MAX: usize = 100_000_000;
const LEAST: usize = 4;
/// Nodes of one unit of parallel work at least, and units at most.
const CHUNK: usize = 4096;
const CHUNKS: usize = 64;

/// Places of the nodes of a part.
///
/// # Errors
/// [`AlgoError::Memory`] before the distances are made, [`AlgoError::Cancelled`].
pub(super) fn scaled<const D: usize>(
    local: &Local<'_>,
    nodes: &[u32],
    cancel: &CancelToken,
) -> Result<Vec<[f64; D]>, AlgoError> {
    let (n, mut table, many) = (nodes.len(), Vec::new(), pivots(nodes.len()));
    let _held = cancel.hold((n * many * size_of::<f32>()) as u64)?;
    distances(local, nodes, many, &mut table, cancel)?;
    centre(&mut table, many);
    cancel.check()?;
    let chunk = CHUNK.max(n.div_ceil(CHUNKS)) * many;
    let sums = table.par_chunks(chunk).map(|rows| {
        let mut sum = vec![0.0f64; many * many];
        for (i, row) in rows.chunks_exact(many).enumerate() {
            if i % CHUNK == 0 {
                cancel.check()?;
            }
            for (a, x) in row.iter().enumerate() {
                let x = f64::from(*x);
                let into = &mut sum[a * many..a * many + a + 1];
                into.iter_mut().zip(row).for_each(|(s, y)| *s += x * f64::from(*y));
            }
        }
        Ok(sum)
    });
    let sums = sums.collect::<Result<Vec<_>, AlgoError>>()?;
    let entry = |a: usize, b: usize| sums.iter().map(|s| s[a.max(b) * many + a.min(b)]).sum();
    let products: Vec<Vec<f64>> =
        (0..many).map(|a| (0..many).map(|b| entry(a, b)).collect()).collect();
    let pairs = jacobi(&products, cancel)?;
    cancel.check()?;
    let mut points = vec![[0.0; D]; n];
    for axis in 0..D.min(many) {
        let (vector, singular) = (&pairs.vectors[axis], pairs.values[axis].max(0.0).sqrt());
        if singular <= 1e-12 * pairs.values[0].max(0.0).sqrt() {
            continue;
        }
        // A singular value is that of the exact method by the share of the pivots, in the root.
        let scale = (singular * (n as f64 / many as f64).sqrt()).sqrt() / singular;
        points.par_iter_mut().zip(table.par_chunks(many)).for_each(|(p, row)| {
            let along: f64 = row.iter().zip(vector).map(|(x, v)| f64::from(*x) * v).sum();
            p[axis] = scale * along;
        });
        let own: Vec<f64> = points.iter().map(|p| p[axis]).collect();
        let sign = side(&own);
        points.iter_mut().for_each(|p| p[axis] *= sign);
    }
    Ok(points)
}

/// The number of pivots of so many nodes.
fn pivots(n: usize) -> usize {
    (NUMBERS_MAX / n).clamp(LEAST, FAR + LANES).min(n)
}

/// Squared hops to each node from `many` pivots, a row for each node.
fn distances(
    local: &Local<'_>,
    nodes: &[u32],
    many: usize,
    table: &mut Vec<f32>,
    cancel: &CancelToken,
) -> Result<(), AlgoError> {
    let n = nodes.len();
    table.resize(n * many, 0.0);
    let square = |hops: u32| (f64::from(hops) * f64::from(hops)) as f32;
    let mut pivot = (0..n).rev().max_by_key(|v| local.degree(nodes[*v])).unwrap_or(0);
    let mut nearest = vec![u32::MAX; n];
    let far = FAR.min(many);
    for column in 0..far {
        let hops = local.to_all(nodes, pivot as u32, cancel)?;
        for (v, d) in hops.iter().enumerate() {
            table[v * many + column] = square(*d);
            nearest[v] = nearest[v].min(*d);
        }
        pivot = (0..n).rev().max_by_key(|v| nearest[*v]).unwrap_or(0);
    }
    let drawn = (far..many).map(|i| (h64(0, 50, i as u64) % n as u64) as u32);
    let drawn: Vec<u32> = drawn.collect();
    local.to_all_of_many(nodes, &drawn, cancel, |v, mut bits, hops| {
        while bits != 0 {
            table[v * many + far + bits.trailing_zeros() as usize] = square(hops);
            bits &= bits - 1;
        }
    })
}

/// Takes the means of rows and columns out of the table, and halves and turns it.
fn centre(table: &mut [f32], many: usize) {
    let n = table.len() / many;
    let mut columns = vec![0.0f64; many];
    for row in table.chunks_exact(many) {
        columns.iter_mut().zip(row).for_each(|(c, x)| *c += f64::from(*x));
    }
    columns.iter_mut().for_each(|c| *c /= n as f64);
    let all = columns.iter().sum::<f64>() / many as f64;
    table.par_chunks_mut(many).for_each(|row| {
        let mean = row.iter().map(|x| f64::from(*x)).sum::<f64>() / many as f64;
        for (x, column) in row.iter_mut().zip(&columns) {
            *x = (-0.5 * (f64::from(*x) - mean - column + all)) as f32;
        }
    });
}
