//! The energy of Davidson and Harel, by node.

use graphlume_types::CancelToken;

use crate::AlgoError;
use crate::layout::parts::InducedSubgraph;

/// Squared distances below this count as this.
pub(super) const CLOSE: f64 = 1e-6;
/// Distance of a node from an edge beyond which the term is below a hundredth of its weight.
const EDGE_REACH: f64 = 10.0;
/// Edges between two checks for cancellation of the first sum.
const FEW: usize = 64;

/// The weights of the terms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    pub(super) node_dist: f64,
    pub(super) border: f64,
    pub(super) edge_lengths: f64,
    pub(super) edge_crossings: f64,
    pub(super) node_edge_dist: f64,
}

/// A box, `[least, greatest]` of each coordinate.
#[derive(Clone, Copy, Debug)]
struct Box2 {
    low: [f32; 2],
    high: [f32; 2],
}

impl Box2 {
    fn of(a: [f64; 2], b: [f64; 2]) -> Self {
        let (a, b) = (a.map(|x| x as f32), b.map(|x| x as f32));
        // Single precision may round to the inside: the box is a little wider.
        let slack = |x: f32| x.abs() * 1e-6;
        Self {
            low: [0, 1].map(|c| a[c].min(b[c]) - slack(a[c].min(b[c]))),
            high: [0, 1].map(|c| a[c].max(b[c]) + slack(a[c].max(b[c]))),
        }
    }

    fn meets(&self, o: &Self) -> bool {
        let apart = |c: usize| (self.low[c] > o.high[c]) | (o.low[c] > self.high[c]);
        !(apart(0) | apart(1))
    }

    fn wider(self, by: f32) -> Self {
        Self { low: self.low.map(|x| x - by), high: self.high.map(|x| x + by) }
    }
}

/// A layout with the boxes of its edges.
pub(super) struct Energy<'a> {
    part: &'a InducedSubgraph,
    weights: Weights,
    points: Vec<[f64; 2]>,
    /// Each edge once, and the edges of every node.
    edges: Vec<(u32, u32)>,
    boxes: Vec<Box2>,
    offsets: Vec<usize>,
    own: Vec<u32>,
    /// The box of the picture, which nodes do not leave where the border counts.
    frame: Box2,
}

impl<'a> Energy<'a> {
    pub(super) fn new(part: &'a InducedSubgraph, points: Vec<[f64; 2]>, weights: Weights) -> Self {
        let n = part.len();
        let mut edges = Vec::with_capacity(part.num_edges());
        for v in 0..n {
            edges.extend(part.edges(v).filter(|(u, _)| *u > v).map(|(u, _)| (v as u32, u as u32)));
        }
        let mut of_node: Vec<Vec<u32>> = vec![Vec::new(); n];
        for (e, (a, b)) in (0..).zip(&edges) {
            of_node[*a as usize].push(e);
            of_node[*b as usize].push(e);
        }
        let mut offsets = vec![0];
        offsets.extend(of_node.iter().scan(0, |at, list| {
            *at += list.len();
            Some(*at)
        }));
        let frame = Box2::of([0.0; 2], [0.0; 2]);
        let own = of_node.concat();
        let mut made =
            Self { part, weights, points, edges, boxes: Vec::new(), offsets, own, frame };
        made.measure();
        made
    }

    fn measure(&mut self) {
        let at = |v: u32| self.points[v as usize];
        self.boxes = self.edges.iter().map(|(a, b)| Box2::of(at(*a), at(*b))).collect();
        let empty = Box2 { low: [f32::INFINITY; 2], high: [f32::NEG_INFINITY; 2] };
        self.frame = self.points.iter().fold(empty, |frame, at| Box2 {
            low: [0, 1].map(|c| frame.low[c].min(at[c] as f32)),
            high: [0, 1].map(|c| frame.high[c].max(at[c] as f32)),
        });
        // Room for moves outwards.
        let room = 0.25 * self.side() as f32 + 1.0;
        self.frame = self.frame.wider(room);
    }

    /// The larger side of the picture.
    pub(super) fn side(&self) -> f64 {
        let [x, y] = [0, 1].map(|c| f64::from(self.frame.high[c] - self.frame.low[c]));
        x.max(y)
    }

    pub(super) fn into_points(self) -> Vec<[f64; 2]> {
        self.points
    }

    /// Scales the layout so that the terms that grow with it and those that fall do the same work.
    pub(super) fn fit(&mut self, cancel: &CancelToken) -> Result<(), AlgoError> {
        let (mut push, mut pull) = (0.0, 0.0);
        for v in 0..self.points.len() {
            if v % FEW == 0 {
                cancel.check()?;
            }
            for u in 0..v {
                push += 1.0 / square(self.points[v], self.points[u]).max(CLOSE);
            }
        }
        for (a, b) in &self.edges {
            pull += square(self.points[*a as usize], self.points[*b as usize]);
        }
        let ratio = self.weights.node_dist * push / (self.weights.edge_lengths * pull);
        let scale = ratio.powf(0.25);
        if scale.is_finite() && scale > 0.0 {
            self.points.iter_mut().flatten().for_each(|x| *x *= scale);
            self.measure();
        }
        Ok(())
    }

    /// The mean energy of a node.
    pub(super) fn typical(&self, cancel: &CancelToken) -> Result<f64, AlgoError> {
        let n = self.points.len();
        let step = n.div_ceil(FEW).max(1);
        let (mut sum, mut count) = (0.0, 0.0);
        for v in (0..n).step_by(step) {
            cancel.check()?;
            sum += self.of(v, self.points[v]);
            count += 1.0;
        }
        Ok(sum / count)
    }

    /// The terms that depend on `v` if it were at `point`.
    pub(super) fn of(&self, v: usize, point: [f64; 2]) -> f64 {
        let w = &self.weights;
        let mut sum = 0.0;
        if w.node_dist != 0.0 {
            let mut near = 0.0;
            for (u, other) in self.points.iter().enumerate() {
                let inverse = 1.0 / square(point, *other).max(CLOSE);
                near += if u == v { 0.0 } else { inverse };
            }
            sum += w.node_dist * near;
        }
        if w.border != 0.0 {
            for (c, x) in point.iter().enumerate() {
                for side in [self.frame.low[c], self.frame.high[c]] {
                    sum += w.border / (x - f64::from(side)).powi(2).max(CLOSE);
                }
            }
        }
        for (u, _) in self.part.edges(v) {
            sum += w.edge_lengths * square(point, self.points[u]);
        }
        if w.edge_crossings != 0.0 {
            sum += w.edge_crossings * self.crossings(v, point) as f64;
        }
        if w.node_edge_dist != 0.0 {
            sum += w.node_edge_dist * self.edge_distances(v, point);
        }
        sum
    }

    /// How many edges cross those of `v` if it were at `point`.
    fn crossings(&self, v: usize, point: [f64; 2]) -> usize {
        let mut count = 0;
        for e in self.of_node(v) {
            let to = self.other(*e, v);
            let end = self.points[to];
            let own = Box2::of(point, end);
            for (k, other) in self.boxes.iter().enumerate() {
                if !own.meets(other) {
                    continue;
                }
                let (a, b) = self.edges[k];
                let shares = |x: u32| x as usize == v || x as usize == to;
                if !shares(a) && !shares(b) {
                    let line = [self.points[a as usize], self.points[b as usize]];
                    count += usize::from(cross([point, end], line));
                }
            }
        }
        count
    }

    /// The sum of 1/d^2 over the distances of `v` at `point` from other edges, and of other nodes from its edges.
    fn edge_distances(&self, v: usize, point: [f64; 2]) -> f64 {
        let mut sum = 0.0;
        let here = Box2::of(point, point).wider(EDGE_REACH as f32);
        for (e, own) in self.boxes.iter().enumerate() {
            let (a, b) = (self.edges[e].0 as usize, self.edges[e].1 as usize);
            if own.meets(&here) && a != v && b != v {
                sum += 1.0 / from_edge(point, [self.points[a], self.points[b]]).max(CLOSE);
            }
        }
        for e in self.of_node(v) {
            let to = self.other(*e, v);
            let line = [point, self.points[to]];
            let around = Box2::of(line[0], line[1]).wider(EDGE_REACH as f32);
            for (u, other) in self.points.iter().enumerate() {
                let near = around.meets(&Box2::of(*other, *other));
                if near && u != v && u != to {
                    sum += 1.0 / from_edge(*other, line).max(CLOSE);
                }
            }
        }
        sum
    }

    fn of_node(&self, v: usize) -> &[u32] {
        &self.own[self.offsets[v]..self.offsets[v + 1]]
    }

    fn other(&self, e: u32, v: usize) -> usize {
        let (a, b) = self.edges[e as usize];
        if a as usize == v { b as usize } else { a as usize }
    }

    /// Moves a node where that lowers the energy, or by chance where it raises it little for the temperature (Metropolis
    /// et al. 1953). `draw` is drawn from 0 to 1.
    pub(super) fn try_move(&mut self, v: usize, by: [f64; 2], temperature: f64, draw: f64) {
        let from = self.points[v];
        let mut to = [from[0] + by[0], from[1] + by[1]];
        for (c, x) in to.iter_mut().enumerate() {
            *x = x.clamp(f64::from(self.frame.low[c]), f64::from(self.frame.high[c]));
        }
        let change = self.of(v, to) - self.of(v, from);
        if change < 0.0 || temperature > 0.0 && draw < (-change / temperature).exp() {
            self.points[v] = to;
            for k in self.offsets[v]..self.offsets[v + 1] {
                let e = self.own[k] as usize;
                let (a, b) = self.edges[e];
                self.boxes[e] = Box2::of(self.points[a as usize], self.points[b as usize]);
            }
        }
    }
}

pub(super) fn square(a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)
}

/// Twice the area of a triangle, above 0 when it turns left.
fn turn(a: [f64; 2], b: [f64; 2], c: [f64; 2]) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// Whether two lines without a common end cross in an inner point of both.
pub(super) fn cross(p: [[f64; 2]; 2], q: [[f64; 2]; 2]) -> bool {
    turn(p[0], p[1], q[0]) * turn(p[0], p[1], q[1]) < 0.0
        && turn(q[0], q[1], p[0]) * turn(q[0], q[1], p[1]) < 0.0
}

/// The squared distance of a point from a line between two.
pub(super) fn from_edge(point: [f64; 2], line: [[f64; 2]; 2]) -> f64 {
    let by = [line[1][0] - line[0][0], line[1][1] - line[0][1]];
    let length = by[0] * by[0] + by[1] * by[1];
    let along = (point[0] - line[0][0]) * by[0] + (point[1] - line[0][1]) * by[1];
    let share = if length > 0.0 { (along / length).clamp(0.0, 1.0) } else { 0.0 };
    square(point, [line[0][0] + share * by[0], line[0][1] + share * by[1]])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn lines_cross_inside_alone_and_distances_end_at_the_ends() {
        let line = |a: [f64; 2], b: [f64; 2]| [a, b];
        let flat = line([0.0, 0.0], [2.0, 0.0]);
        assert!(cross(flat, line([1.0, -1.0], [1.0, 1.0])));
        assert!(!cross(flat, line([3.0, -1.0], [3.0, 1.0])));
        assert!(!cross(flat, line([1.0, 0.0], [1.0, 1.0])));
        assert_eq!(from_edge([1.0, 2.0], flat), 4.0);
        assert_eq!(from_edge([5.0, 4.0], flat), 25.0);
    }
}
