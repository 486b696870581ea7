//! The fine-tuning of graphs that are too large for all pairs: nodes take better places by what lies near them.
//!
//! Crossings and distances are counted among the nodes of the cells around a node and some of their edges. What lies
//! farther is taken to balance at the start, whose smooth terms then pull nowhere: the places that forces have found stay,
//! and small moves undo crossings and lift nodes off edges.

use graphlume_types::CancelToken;
use graphlume_types::hash::unit_f64;
use rayon::prelude::*;

use super::energy::{CLOSE, Weights, cross, from_edge, square};
use crate::AlgoError;
use crate::layout::parts::InducedSubgraph;
use crate::layout::point_grid::PointGrid;

/// Width of a cell over the mean length of an edge.
const CELL: f64 = 1.0;
/// Nodes of a cell that count, edges of each of them, and edges of the node that moves.
const CELL_NODES_MAX: usize = 4;
const EDGES_MAX: usize = 3;
const OWN_MAX: usize = 8;
/// Shares of the nodes that move at the same time, one after the other.
const TURNS: usize = 4;
/// Nodes of one unit of parallel work.
const CHUNK: usize = 1 << 8;
/// Pairs of nodes that the size of the picture is found by: all others of so many.
const SIZE_SOURCES: usize = 64;
/// The first moves over the mean length of an edge, and how they fall from round to round.
const FIRST_MOVE: f64 = 0.5;
const FALL: f64 = 0.85;
/// Stream of the moves.
const STREAM: u64 = 84;

/// Moves the nodes of a part for so many rounds. Points that were `given` keep the size of their picture.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub(super) fn fine_tune(
    part: &InducedSubgraph,
    (points, given): (Vec<[f64; 2]>, bool),
    weights: &Weights,
    rounds: u64,
    seed: u64,
    cancel: &CancelToken,
) -> Result<Vec<[f64; 2]>, AlgoError> {
    if rounds == 0 {
        return Ok(points);
    }
    let mut tuning = Tuning { part, weights, points, balance: Vec::new() };
    let length = tuning.fit(given, cancel)?;
    if length <= 0.0 {
        return Ok(tuning.points);
    }
    let all: Vec<u32> = (0..part.len() as u32).collect();
    // Nodes that move at the same time are drawn, so that few of them are near one another.
    let mut turns = vec![Vec::new(); TURNS];
    for v in &all {
        turns[(unit_f64(seed, STREAM, u64::from(*v)) * TURNS as f64) as usize].push(*v);
    }
    let mut reach = FIRST_MOVE * length;
    for round in 0..rounds {
        let grid = PointGrid::new(&tuning.points, &all, CELL * length, cancel)?;
        if round == 0 {
            tuning.balance =
                tuning.by_chunk(&all, &grid, cancel, |v, near| tuning.slope(v, near))?;
        }
        for turn in &turns {
            let step = |v: usize, near: &Near| {
                let draw = |c: u64| unit_f64(seed, STREAM + c, (round << 32) + v as u64);
                let (sin, cos) = (std::f64::consts::TAU * draw(1)).sin_cos();
                let far = reach * draw(2).sqrt();
                let from = tuning.points[v];
                let to = [from[0] + far * cos, from[1] + far * sin];
                let is_better = tuning.energy(v, to, near) < tuning.energy(v, from, near);
                if is_better { to } else { from }
            };
            let moved = tuning.by_chunk(turn, &grid, cancel, step)?;
            for (v, at) in turn.iter().zip(moved) {
                tuning.points[*v as usize] = at;
            }
        }
        reach *= FALL;
    }
    Ok(tuning.points)
}

/// What lies near a node.
#[derive(Default)]
struct Near {
    nodes: Vec<usize>,
    edges: Vec<(usize, usize)>,
    own: Vec<usize>,
}

impl Near {
    fn gather(&mut self, part: &InducedSubgraph, grid: &PointGrid, points: &[[f64; 2]], v: usize) {
        self.nodes.clear();
        self.edges.clear();
        self.own.clear();
        self.own.extend(part.edges(v).map(|(u, _)| u).filter(|u| *u != v).take(OWN_MAX));
        grid.around(points[v], CELL_NODES_MAX, |u| {
            if u != v {
                self.nodes.push(u);
            }
        });
        for u in &self.nodes {
            let edges = part.edges(*u).map(|(w, _)| w).filter(|w| *w != v && w != u);
            self.edges.extend(edges.take(EDGES_MAX).map(|w| (*u, w)));
        }
    }
}

struct Tuning<'a> {
    part: &'a InducedSubgraph,
    weights: &'a Weights,
    points: Vec<[f64; 2]>,
    /// By node, the slope of the smooth terms at the start, which what is far away holds up.
    balance: Vec<[f64; 2]>,
}

impl Tuning<'_> {
    /// Scales a picture that was not given so that pushes and pulls do the same work; gives the mean length of an edge.
    fn fit(&mut self, given: bool, cancel: &CancelToken) -> Result<f64, AlgoError> {
        let (n, w) = (self.points.len(), self.weights);
        let many = n.min(SIZE_SOURCES);
        let mut push = 0.0;
        for v in (0..many).map(|k| k * n / many) {
            cancel.check()?;
            let at = self.points[v];
            let others = (0..n).filter(|u| *u != v).map(|u| square(at, self.points[u]).max(CLOSE));
            push += others.map(|d| 1.0 / d).sum::<f64>();
        }
        push *= 0.5 * n as f64 / many as f64;
        let (mut squares, mut lengths, mut ends) = (0.0, 0.0, 0.0);
        for v in 0..n {
            if v.is_multiple_of(CHUNK) {
                cancel.check()?;
            }
            for (u, _) in self.part.edges(v) {
                let d = square(self.points[v], self.points[u]);
                (squares, lengths, ends) = (squares + d, lengths + d.sqrt(), ends + 1.0);
            }
        }
        let scale = (w.node_dist * push / (w.edge_lengths * 0.5 * squares)).powf(0.25);
        if given || !(scale.is_finite() && scale > 0.0 && ends > 0.0) {
            return Ok(if ends > 0.0 { lengths / ends } else { 0.0 });
        }
        self.points.iter_mut().flatten().for_each(|x| *x *= scale);
        Ok(scale * lengths / ends)
    }

    /// What `f` makes of each node and what lies near it.
    fn by_chunk<T: Send>(
        &self,
        nodes: &[u32],
        grid: &PointGrid,
        cancel: &CancelToken,
        f: impl Fn(usize, &Near) -> T + Sync,
    ) -> Result<Vec<T>, AlgoError> {
        let chunk = |chunk: &[u32]| -> Result<Vec<T>, AlgoError> {
            cancel.check()?;
            let mut near = Near::default();
            let each = |v: &u32| {
                near.gather(self.part, grid, &self.points, *v as usize);
                f(*v as usize, &near)
            };
            Ok(chunk.iter().map(each).collect())
        };
        let all: Vec<Vec<T>> = nodes.par_chunks(CHUNK).map(chunk).collect::<Result<_, _>>()?;
        Ok(all.into_iter().flatten().collect())
    }

    /// The slope of the smooth terms where a node is now.
    fn slope(&self, v: usize, near: &Near) -> [f64; 2] {
        let (at, w) = (self.points[v], self.weights);
        let mut slope = [0.0; 2];
        for u in &near.nodes {
            let d = square(at, self.points[*u]).max(CLOSE);
            for c in 0..2 {
                slope[c] -= 2.0 * w.node_dist * (at[c] - self.points[*u][c]) / (d * d);
            }
        }
        for u in &near.own {
            for c in 0..2 {
                slope[c] += 2.0 * w.edge_lengths * (at[c] - self.points[*u][c]);
            }
        }
        slope
    }

    /// The terms of `v` at `point` among what is near.
    fn energy(&self, v: usize, point: [f64; 2], near: &Near) -> f64 {
        let (w, points) = (self.weights, &self.points);
        let mut sum = -(self.balance[v][0] * point[0] + self.balance[v][1] * point[1]);
        for u in &near.nodes {
            sum += w.node_dist / square(point, points[*u]).max(CLOSE);
        }
        for u in &near.own {
            let own = [point, points[*u]];
            sum += w.edge_lengths * square(point, own[1]);
            for (a, b) in near.edges.iter().filter(|(a, b)| a != u && b != u) {
                sum += w.edge_crossings * f64::from(u8::from(cross(own, [points[*a], points[*b]])));
            }
            for other in near.nodes.iter().filter(|other| *other != u) {
                sum += w.node_edge_dist / from_edge(points[*other], own).max(CLOSE);
            }
        }
        for (a, b) in &near.edges {
            sum += w.node_edge_dist / from_edge(point, [points[*a], points[*b]]).max(CLOSE);
        }
        sum
    }
}
