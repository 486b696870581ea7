//! First positions of the rows.

use graphlume_types::hash::unit_f64;
use rayon::prelude::*;

use super::fuzzy::Fuzzy;
use super::pace::Pace;
use super::{Features, Options, Start};
use crate::AlgoError;
use crate::eigen::{Search, largest};

/// Half the width of the start.
const HALF: f64 = 10.0;
/// Noise that parts rows of one place.
const NOISE: f64 = 1e-3;
/// Parts up to which each has as much room as is between it and the nearest.
const ROOM_PARTS: usize = 1000;
/// Rows of one unit of parallel work.
const CHUNK: usize = 1 << 12;
/// Streams of the random numbers, apart from each other by more than there are dimensions.
const RANDOM: u64 = 0x57A0_0000;
const SHAKE: u64 = 0x57A1_0000;
const SEARCH: Search = Search { count: 0, tolerance: 1e-4, restarts: 30, seed: 0 };

/// Coordinates by row, each from -10 to 10.
pub(super) fn positions(
    features: &Features,
    graph: &Fuzzy,
    options: &Options,
    pace: &Pace<'_>,
) -> Result<Vec<f32>, AlgoError> {
    let (n, dims) = (graph.num_rows(), options.dims);
    let columns = match options.start {
        Start::Spectral if n > dims + 1 => spectral(features, graph, options, pace)?,
        Start::Pca if n > dims => principal(features, dims, options.seed, pace)?,
        _ => return Ok(random(n, options)),
    };
    let most = columns.iter().flatten().fold(0.0, |most: f64, x| most.max(x.abs()));
    if most == 0.0 || !most.is_finite() {
        return Ok(random(n, options));
    }
    let mut points = vec![0.0; n * dims];
    for (c, column) in columns.iter().enumerate() {
        for (i, x) in column.iter().enumerate() {
            let shake = unit_f64(options.seed, SHAKE + c as u64, i as u64) - 0.5;
            points[i * dims + c] = (x * HALF / most + NOISE * shake) as f32;
        }
    }
    Ok(points)
}

/// Places by lot.
fn random(n: usize, options: &Options) -> Vec<f32> {
    let at = |i: usize, c: usize| unit_f64(options.seed, RANDOM + c as u64, i as u64);
    let at = |i, c| (HALF * (2.0 * at(i, c) - 1.0)) as f32;
    (0..n).flat_map(|i| (0..options.dims).map(move |c| at(i, c))).collect()
}

/// The coordinates of rows along the axes of most variance, an axis each.
fn principal(
    features: &Features,
    dims: usize,
    seed: u64,
    pace: &Pace<'_>,
) -> Result<Vec<Vec<f64>>, AlgoError> {
    let (n, columns) = (features.rows, features.columns);
    let mut means = vec![0.0; columns];
    for i in 0..n {
        pace.piece(columns)?;
        means.iter_mut().zip(features.row(i)).for_each(|(m, x)| *m += f64::from(*x));
    }
    means.iter_mut().for_each(|m| *m /= n as f64);
    let rows_of_piece = Pace::items(2 * columns).min(CHUNK);
    let along = |axis: &[f64], i: usize| -> f64 {
        let terms = features.row(i).iter().zip(&means).zip(axis);
        terms.map(|((x, m), a)| (f64::from(*x) - m) * a).sum()
    };
    let pieces = n.div_ceil(rows_of_piece);
    let apply = |axis: &[f64], image: &mut [f64]| {
        let of_piece = |p: usize| {
            pace.piece(rows_of_piece * 2 * columns)?;
            let mut sum = vec![0.0; columns];
            for i in p * rows_of_piece..n.min((p + 1) * rows_of_piece) {
                let share = along(axis, i);
                let terms = features.row(i).iter().zip(&means);
                sum.iter_mut().zip(terms).for_each(|(s, (x, m))| *s += share * (f64::from(*x) - m));
            }
            Ok(sum)
        };
        let sums: Result<Vec<Vec<f64>>, AlgoError> =
            (0..pieces).into_par_iter().map(of_piece).collect();
        image.fill(0.0);
        sums?.iter().for_each(|sum| image.iter_mut().zip(sum).for_each(|(y, s)| *y += s));
        Ok(())
    };
    let search = Search { count: dims, seed, ..SEARCH };
    let axes = largest(columns, search, apply, pace.cancel())?.vectors;
    let place = |axis: &[f64], i: usize| {
        pace.piece(columns)?;
        Ok(along(axis, i))
    };
    let made: Result<Vec<Vec<f64>>, AlgoError> =
        axes.iter().map(|axis| (0..n).into_par_iter().map(|i| place(axis, i)).collect()).collect();
    let mut made = made?;
    // Tables of fewer columns have nothing to tell of the other axes.
    made.resize(dims, vec![0.0; n]);
    Ok(made)
}

/// The eigenvectors of the normalized Laplacian to the smallest eigenvalues but the first (Belkin and Niyogi 2003). Parts
/// that nothing joins have places of their own, by the axes of most variance of their means.
fn spectral(
    features: &Features,
    graph: &Fuzzy,
    options: &Options,
    pace: &Pace<'_>,
) -> Result<Vec<Vec<f64>>, AlgoError> {
    let parts = parts(graph, pace)?;
    let n = graph.num_rows();
    if parts.len() == 1 {
        let rows: Vec<u32> = (0..n as u32).collect();
        return of_part(graph, &rows, options, pace);
    }
    let centers = centers(features, &parts, options, pace)?;
    let mut made = vec![vec![0.0; n]; options.dims];
    for (p, rows) in parts.iter().enumerate() {
        pace.piece(parts.len().min(ROOM_PARTS) * options.dims)?;
        let away = |q: &Vec<f64>| -> f64 {
            centers[p].iter().zip(q).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
        };
        let others = centers.iter().enumerate().filter(|(q, _)| *q != p).map(|(_, c)| away(c));
        let room = if parts.len() <= ROOM_PARTS {
            others.fold(f64::INFINITY, f64::min) / 2.0
        } else {
            1.0 / (parts.len() as f64).sqrt()
        };
        let inner = of_part(graph, rows, options, pace)?;
        let most = inner.iter().flatten().fold(0.0, |most: f64, x| most.max(x.abs()));
        let scale = if most > 0.0 { room / most } else { 0.0 };
        for (c, column) in inner.iter().enumerate() {
            for (i, x) in rows.iter().zip(column) {
                made[c][*i as usize] = centers[p][c] + scale * x;
            }
        }
    }
    Ok(made)
}

/// The rows of each part of the graph.
fn parts(graph: &Fuzzy, pace: &Pace<'_>) -> Result<Vec<Vec<u32>>, AlgoError> {
    let mut part = vec![false; graph.num_rows()];
    let mut found = Vec::new();
    for first in 0..graph.num_rows() {
        if std::mem::replace(&mut part[first], true) {
            continue;
        }
        let mut rows = vec![first as u32];
        let mut at = 0;
        while let Some(i) = rows.get(at).copied() {
            at += 1;
            pace.piece(8 * graph.row(i as usize).0.len())?;
            for j in graph.row(i as usize).0 {
                if !std::mem::replace(&mut part[*j as usize], true) {
                    rows.push(*j);
                }
            }
        }
        rows.sort_unstable();
        found.push(rows);
    }
    Ok(found)
}

/// Where the parts stand, in the order of the parts: a circle's points for parts that the table puts in one place.
fn centers(
    features: &Features,
    parts: &[Vec<u32>],
    options: &Options,
    pace: &Pace<'_>,
) -> Result<Vec<Vec<f64>>, AlgoError> {
    let columns = features.columns;
    let mut values = Vec::with_capacity(parts.len() * columns);
    for rows in parts {
        let mut mean = vec![0.0_f64; columns];
        for i in rows {
            pace.piece(columns)?;
            mean.iter_mut().zip(features.row(*i as usize)).for_each(|(m, x)| *m += f64::from(*x));
        }
        values.extend(mean.iter().map(|m| (m / rows.len() as f64) as f32));
    }
    let means = Features { rows: parts.len(), columns, values };
    let axes = principal(&means, options.dims, options.seed, pace)?;
    let most = axes.iter().flatten().fold(0.0, |most: f64, x| most.max(x.abs()));
    let turn = |p: usize| std::f64::consts::TAU * p as f64 / parts.len() as f64;
    Ok((0..parts.len())
        .map(|p| {
            let circle = [turn(p).cos(), turn(p).sin()];
            // A little of the circle parts means that are the same.
            let shift = |c: usize| 0.05 * circle.get(c).copied().unwrap_or(0.0);
            let scale = if most > 0.0 { 1.0 / most } else { 0.0 };
            axes.iter().enumerate().map(|(c, axis)| axis[p] * scale + shift(c)).collect()
        })
        .collect())
}

/// The eigenvectors of one part, whose rows are sorted, an axis each.
fn of_part(
    graph: &Fuzzy,
    rows: &[u32],
    options: &Options,
    pace: &Pace<'_>,
) -> Result<Vec<Vec<f64>>, AlgoError> {
    let (n, dims) = (rows.len(), options.dims);
    if n <= dims + 1 {
        let at = |i: usize, c: usize| unit_f64(options.seed, RANDOM + c as u64, i as u64) - 0.5;
        return Ok((0..dims).map(|c| (0..n).map(|i| at(i, c)).collect()).collect());
    }
    let whole = n == graph.num_rows();
    let place = |id: u32| if whole { id as usize } else { rows.partition_point(|r| *r < id) };
    let root: Vec<f64> = rows
        .iter()
        .map(|i| graph.row(*i as usize).1.iter().map(|w| f64::from(*w)).sum::<f64>().sqrt())
        .collect();
    let apply = |x: &[f64], image: &mut [f64]| {
        image.par_chunks_mut(CHUNK).enumerate().try_for_each(|(chunk, image)| {
            pace.piece(CHUNK * options.neighbors)?;
            for (i, y) in (chunk * CHUNK..).zip(image) {
                let (ids, weights) = graph.row(rows[i] as usize);
                let term = |(id, w): (&u32, &f32)| {
                    let j = place(*id);
                    f64::from(*w) * x[j] / root[j].max(1e-300)
                };
                // One more than the matrix, so that none of the eigenvalues is below 0.
                *y = x[i] + ids.iter().zip(weights).map(term).sum::<f64>() / root[i].max(1e-300);
            }
            Ok(())
        })
    };
    let search = Search { count: dims + 1, seed: options.seed, ..SEARCH };
    let found = largest(n, search, apply, pace.cancel())?;
    let mut made: Vec<Vec<f64>> = found.vectors.into_iter().skip(1).collect();
    made.resize(dims, vec![0.0; n]);
    Ok(made)
}
