//! Nearest rows of many: a search from row to row (NN-descent; Dong, Moses and Li 2011, WWW), begun in the leaves of random
//! projection trees (Dasgupta and Freund 2008, STOC). Each row looks itself at the neighbours of its neighbours as they
//! were before the iteration, so that the result does not depend on the threads.

use graphlume_types::hash::h64;
use rayon::prelude::*;

use super::Features;
use super::metric::Metric;
use super::neighbors::{Nearest, Neighbors};
use super::pace::Pace;
use super::trees;
use crate::AlgoError;

/// Neighbours that are searched for, at least: short lists lead nowhere.
const WIDTH_MIN: usize = 20;
/// Neighbours of a row that an iteration goes on from, of the new and of the old ones, each way.
const SAMPLED: usize = 16;
const ITERATIONS: u64 = 16;
/// The search ends when a smaller share of the neighbours changes.
const ENOUGH: f64 = 0.001;
/// Stream of the random numbers.
const STREAM: u64 = 0x0D35;

/// The neighbours of a row that an iteration goes on from.
#[derive(Clone, Default)]
struct Candidates {
    new: Vec<u32>,
    old: Vec<u32>,
}

/// A row's neighbours, and which of them no iteration has gone on from.
struct List {
    nearest: Nearest,
    /// Ids, sorted.
    new: Vec<u32>,
}

impl List {
    /// Takes the next neighbours, and returns how many were not there.
    fn replace(&mut self, nearest: Nearest, pace: &Pace<'_>) -> Result<usize, AlgoError> {
        pace.piece(64 * self.nearest.items.len())?;
        let mut before: Vec<u32> = self.nearest.items.iter().map(|item| item.1).collect();
        before.sort_unstable();
        let mut came = 0;
        let is_new = |id: &u32| {
            let is_there = before.binary_search(id).is_ok();
            came += usize::from(!is_there);
            !is_there || self.new.binary_search(id).is_ok()
        };
        let mut new: Vec<u32> = nearest.items.iter().map(|item| item.1).filter(is_new).collect();
        new.sort_unstable();
        *self = Self { nearest, new };
        Ok(came)
    }
}

/// The nearest rows, nearly all of them.
pub(super) fn nearest(
    rows: &Features,
    metric: Metric,
    width: usize,
    seed: u64,
    pace: &Pace<'_>,
) -> Result<Neighbors, AlgoError> {
    let limit = (width - 1).max(WIDTH_MIN).min(rows.rows - 1);
    let leaves = trees::leaves(rows, seed, pace)?;
    let mut lists: Vec<List> = map(rows.rows, |i| {
        let mut others: Vec<u32> = leaves.iter().flat_map(|tree| tree.of(i)).copied().collect();
        // Rows that no tree has put beside enough others.
        others.extend((0..limit as u64).map(|k| random_row(seed, i, k, rows.rows)));
        let nearest = offer(rows, metric, i, Nearest::new(limit), others, pace)?;
        let mut new: Vec<u32> = nearest.items.iter().map(|item| item.1).collect();
        new.sort_unstable();
        Ok(List { nearest, new })
    })?;
    drop(leaves);
    for iteration in 0..ITERATIONS {
        let candidates = candidates(&mut lists, h64(seed, STREAM, iteration), pace)?;
        let found: Vec<Nearest> = map(rows.rows, |i| {
            let others = reached(&candidates, i);
            offer(rows, metric, i, lists[i].nearest.clone(), others, pace)
        })?;
        let changes: Result<Vec<usize>, AlgoError> =
            lists.par_iter_mut().zip(found).map(|(list, near)| list.replace(near, pace)).collect();
        let changes: usize = changes?.iter().sum();
        if changes as f64 <= ENOUGH * (rows.rows * limit) as f64 {
            break;
        }
    }
    let lists = lists.into_iter().map(|list| list.nearest).collect();
    Ok(Neighbors::of_lists(lists, width))
}

/// What `of_row` gives for each of `n` rows.
fn map<T: Send>(
    n: usize,
    of_row: impl Fn(usize) -> Result<T, AlgoError> + Send + Sync,
) -> Result<Vec<T>, AlgoError> {
    (0..n).into_par_iter().map(of_row).collect()
}

fn random_row(seed: u64, i: usize, k: u64, n: usize) -> u32 {
    let number = h64(seed, STREAM + 1, (i as u64) << 16 | k) >> 32;
    ((number * n as u64) >> 32) as u32
}

/// The list with those of `others` that are nearer than its last.
fn offer(
    rows: &Features,
    metric: Metric,
    i: usize,
    mut nearest: Nearest,
    mut others: Vec<u32>,
    pace: &Pace<'_>,
) -> Result<Nearest, AlgoError> {
    others.sort_unstable();
    others.dedup();
    let mut known: Vec<u32> = nearest.items.iter().map(|item| item.1).collect();
    known.push(i as u32);
    known.sort_unstable();
    let row = rows.row(i);
    for some in others.chunks(Pace::items(rows.columns)) {
        pace.piece(some.len() * rows.columns)?;
        for j in some.iter().filter(|j| known.binary_search(j).is_err()) {
            nearest.offer(metric.between(row, rows.row(*j as usize)), *j);
        }
    }
    Ok(nearest)
}

/// The rows that an iteration goes on from, drawn from each list; new ones are new no more.
fn candidates(
    lists: &mut [List],
    seed: u64,
    pace: &Pace<'_>,
) -> Result<Vec<Candidates>, AlgoError> {
    let draw = |from: usize, to: u32| h64(seed, 0, (from as u64) << 32 | u64::from(to));
    let found: Result<Vec<Candidates>, AlgoError> = lists
        .par_iter_mut()
        .enumerate()
        .map(|(i, list)| {
            pace.piece(64 * list.nearest.items.len())?;
            let (mut new, mut old) = (Vec::new(), Vec::new());
            for (_, id) in &list.nearest.items {
                let is_new = list.new.binary_search(id).is_ok();
                if is_new { &mut new } else { &mut old }.push((draw(i, *id), *id));
            }
            let new = drawn(new);
            list.new.retain(|id| !new.contains(id));
            Ok(Candidates { new, old: drawn(old) })
        })
        .collect();
    let mut found = found?;
    // The rows that name a row, of which again some are drawn.
    let mut back: Vec<[Vec<(u64, u32)>; 2]> = vec![[Vec::new(), Vec::new()]; lists.len()];
    let piece = Pace::items(8 * SAMPLED);
    for (i, of_row) in found.iter().enumerate() {
        if i % piece == 0 {
            pace.piece(piece * 8 * SAMPLED)?;
        }
        for (side, ids) in [&of_row.new, &of_row.old].into_iter().enumerate() {
            for to in ids {
                let names = &mut back[*to as usize][side];
                names.push((draw(*to as usize, i as u32), i as u32));
                if names.len() >= 4 * SAMPLED {
                    names.select_nth_unstable(SAMPLED);
                    names.truncate(SAMPLED);
                }
            }
        }
    }
    found.par_iter_mut().zip(back).try_for_each(|(of_row, [new, old])| {
        pace.piece(64 * (new.len() + old.len()))?;
        of_row.new.extend(drawn(new));
        of_row.old.extend(drawn(old));
        Ok::<(), AlgoError>(())
    })?;
    Ok(found)
}

/// The ids with the smallest numbers.
fn drawn(mut items: Vec<(u64, u32)>) -> Vec<u32> {
    items.sort_unstable();
    items.into_iter().take(SAMPLED).map(|item| item.1).collect()
}

/// The rows that are two steps from row `i`, at least one of which is new, and those that name it.
fn reached(candidates: &[Candidates], i: usize) -> Vec<u32> {
    let own = &candidates[i];
    let mut others = own.new.clone();
    others.extend(&own.old);
    for j in &own.new {
        others.extend(&candidates[*j as usize].new);
        others.extend(&candidates[*j as usize].old);
    }
    for j in &own.old {
        others.extend(&candidates[*j as usize].new);
    }
    others
}
