//! Attraction along edges: every body pulls in its neighbours' positions, over both directions of the
//! graph, in curve order. Nothing is written by two threads.

use std::ops::Range;

use graphlume_graph::Topology;
use rayon::prelude::*;

use super::arc_order::Apart;
use super::cells::TASK;
use super::params::Params;
use super::repulse::SOFTENING;

/// Weights are bounded after the exponent is applied, so that no force leaves the range of `f32`.
const FACTOR_MAX: f32 = 1e9;

/// The neighbours of every body, in curve order or an earlier one of [`Apart`].
#[derive(Default)]
pub(super) struct Arcs {
    /// Where each body's arcs start; one more than bodies.
    offsets: Vec<usize>,
    /// The other ends: first those of out-edges, then those of in-edges.
    ends: Vec<u32>,
    /// Room for the next order.
    spare: Vec<u32>,
    /// Bits of the strength of each arc; empty when all are `uniform`.
    factors: Vec<u32>,
    uniform: f32,
    apart: Apart,
}

/// How strong an arc is, by node index.
pub(super) struct Strength<'a> {
    /// Weight of every arc in the order of [`crate::util::arc_weights`].
    pub(super) weights: Option<&'a [f32]>,
    pub(super) masses: &'a [f32],
    pub(super) params: &'a Params,
}

impl Strength<'_> {
    /// Whether the arcs differ in strength.
    fn varies(&self) -> bool {
        self.params.outbound_attraction_distribution
            || self.weights.is_some_and(|_| self.influence() != 0.0)
    }

    fn influence(&self) -> f32 {
        self.params.edge_weight_influence as f32
    }
}

impl Arcs {
    /// The arcs of `topology` with bodies in node order.
    pub(super) fn new(topology: &Topology) -> Self {
        let n = topology.num_nodes();
        let mut offsets = Vec::with_capacity(n as usize + 1);
        let mut ends = Vec::with_capacity(2 * topology.num_edges() as usize);
        offsets.push(0);
        for v in 0..n {
            ends.extend_from_slice(topology.out_neighbors(v));
            ends.extend_from_slice(topology.in_neighbors(v));
            offsets.push(ends.len());
        }
        Self { offsets, ends, uniform: 1.0, ..Self::default() }
    }

    /// Body `i` is now the one that was `order[i]`; the arcs stay where they are for the time being.
    pub(super) fn part(&mut self, order: &[u32]) {
        self.apart.part(order);
    }

    /// Whether the arcs are in another order than the bodies, and will follow soon in any case.
    pub(super) fn are_apart(&self) -> bool {
        self.apart.is_on()
    }

    /// Whether the arcs should follow the bodies; to be asked once an iteration.
    pub(super) fn follow_is_due(&mut self) -> bool {
        self.apart.follow_is_due()
    }

    /// Puts the arcs in the order of the bodies. Going from the old arcs, and not from the graph, meets
    /// memory in nearly its order.
    pub(super) fn follow(&mut self) {
        if !self.apart.is_on() {
            return;
        }
        let order = &self.apart.join();
        let mut now = vec![0u32; order.len()];
        for (i, old) in order.iter().enumerate() {
            now[*old as usize] = i as u32;
        }
        let mut offsets = Vec::with_capacity(order.len() + 1);
        offsets.push(0);
        let mut at = 0;
        offsets.extend(order.iter().map(|old| {
            at += self.offsets[*old as usize + 1] - self.offsets[*old as usize];
            at
        }));
        let starts = &self.offsets;
        permute_rows(&self.ends, starts, order, &offsets, &mut self.spare, |end| now[end as usize]);
        std::mem::swap(&mut self.ends, &mut self.spare);
        if !self.factors.is_empty() {
            permute_rows(&self.factors, starts, order, &offsets, &mut self.spare, |factor| factor);
            std::mem::swap(&mut self.factors, &mut self.spare);
        }
        self.offsets = offsets;
    }

    /// Recomputes the strength of every arc.
    pub(super) fn restrengthen(
        &mut self,
        topology: &Topology,
        node_of: &[u32],
        strength: &Strength<'_>,
    ) {
        self.follow();
        let p = strength.params;
        self.uniform = if p.double_attraction { 2.0 } else { 1.0 };
        if !strength.varies() {
            self.factors = Vec::new();
            return;
        }
        self.factors.resize(self.ends.len(), 0);
        let mean = mean(strength.masses);
        let starts: Option<Vec<usize>> = strength.weights.map(|_| arc_starts(topology));
        let influence = strength.influence();
        let chunks = split(&mut self.factors, &self.offsets);
        chunks.into_par_iter().zip(node_of.par_chunks(TASK)).for_each(|(factors, nodes)| {
            let mut factors = factors.iter_mut();
            for v in nodes {
                let outs = topology.out_neighbors(*v).iter().map(|u| (*v, *u));
                let ins = topology.in_neighbors(*v).iter().map(|u| (*u, *v));
                // The shorter side must lead: zip takes one item too many from a leader that lasts longer.
                for (k, ((src, dst), factor)) in outs.chain(ins).zip(&mut factors).enumerate() {
                    let w = match (strength.weights, &starts) {
                        (Some(w), Some(starts)) => power(w[starts[*v as usize] + k], influence),
                        _ => 1.0,
                    };
                    let share = |v: u32| mean / strength.masses[v as usize].max(f32::MIN_POSITIVE);
                    let share = match (p.outbound_attraction_distribution, p.double_attraction) {
                        (true, true) => share(src) + share(dst),
                        (true, false) => share(src),
                        (false, true) => 2.0,
                        (false, false) => 1.0,
                    };
                    *factor = (w * share).min(FACTOR_MAX).to_bits();
                }
            }
        });
    }

    /// Must precede [`Self::pull`] whenever bodies have moved: computes all pulls where the arcs are, if
    /// these have an order of their own.
    pub(super) fn prepare(&mut self, points: &[[f32; 2]], radii: Option<&[f32]>, lin_log: bool) {
        if !self.apart.is_on() {
            return;
        }
        self.apart.fetch(points, radii);
        let mut pulls = std::mem::take(&mut self.apart.pulls);
        let (points, at) = (&self.apart.points, &self.apart.radii);
        let radii = radii.map(|_| at.as_slice());
        pulls.par_chunks_mut(TASK).enumerate().for_each(|(task, out)| {
            out.fill([0.0; 2]);
            self.pull_rows(points, radii, lin_log, task * TASK, out);
        });
        self.apart.pulls = pulls;
    }

    /// Adds to `out` the pull on the bodies `first..first + out.len()`.
    pub(super) fn pull(
        &self,
        points: &[[f32; 2]],
        radii: Option<&[f32]>,
        lin_log: bool,
        first: usize,
        out: &mut [[f32; 2]],
    ) {
        if self.apart.is_on() {
            self.apart.hand_out(first, out);
        } else {
            self.pull_rows(points, radii, lin_log, first, out);
        }
    }

    /// Adds to `out` the pull on the rows `first..first + out.len()`.
    fn pull_rows(
        &self,
        points: &[[f32; 2]],
        radii: Option<&[f32]>,
        lin_log: bool,
        first: usize,
        out: &mut [[f32; 2]],
    ) {
        for (i, f) in out.iter_mut().enumerate() {
            let range = self.offsets[first + i]..self.offsets[first + i + 1];
            let ends = &self.ends[range.clone()];
            let at = points[first + i];
            let pull = match (radii, lin_log) {
                (Some(radii), _) => self.pull_rims(points, radii, lin_log, first + i, range),
                (None, true) => self.pull_log(points, at, range),
                (None, false) if self.factors.is_empty() => {
                    let p = pull_linear(points, at, ends);
                    [p[0] * self.uniform, p[1] * self.uniform]
                }
                (None, false) => pull_weighted(points, at, ends, &self.factors[range]),
            };
            f[0] += pull[0];
            f[1] += pull[1];
        }
    }

    fn factor(&self, arc: usize) -> f32 {
        self.factors.get(arc).map_or(self.uniform, |bits| f32::from_bits(*bits))
    }

    fn pull_log(&self, points: &[[f32; 2]], point: [f32; 2], range: Range<usize>) -> [f32; 2] {
        let mut sum = [0.0; 2];
        for arc in range {
            let p = points[self.ends[arc] as usize];
            let (dx, dy) = (p[0] - point[0], p[1] - point[1]);
            let d = (dx * dx + dy * dy + SOFTENING).sqrt();
            let w = self.factor(arc) * ln_1p(d) / d;
            sum[0] += dx * w;
            sum[1] += dy * w;
        }
        sum
    }

    /// Pull from rim to rim; none between bodies that overlap.
    fn pull_rims(
        &self,
        points: &[[f32; 2]],
        radii: &[f32],
        lin_log: bool,
        body: usize,
        range: Range<usize>,
    ) -> [f32; 2] {
        let at = points[body];
        let mut sum = [0.0; 2];
        for arc in range {
            let j = self.ends[arc] as usize;
            let (dx, dy) = (points[j][0] - at[0], points[j][1] - at[1]);
            let d = (dx * dx + dy * dy + SOFTENING).sqrt();
            let gap = d - radii[body] - radii[j];
            if gap > 0.0 {
                let w = self.factor(arc) * if lin_log { ln_1p(gap) } else { gap } / d;
                sum[0] += dx * w;
                sum[1] += dy * w;
            }
        }
        sum
    }

    /// Bytes held.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        8 * self.offsets.capacity()
            + 4 * (self.ends.capacity() + self.spare.capacity() + self.factors.capacity())
            + self.apart.bytes()
    }
}

/// Writes the rows of `from` to `to` in the order `order`, every entry through `f`.
fn permute_rows(
    from: &[u32],
    starts: &[usize],
    order: &[u32],
    offsets: &[usize],
    to: &mut Vec<u32>,
    f: impl Fn(u32) -> u32 + Sync,
) {
    to.resize(from.len(), 0);
    let pieces = split(to, offsets).into_par_iter().zip(order.par_chunks(TASK));
    pieces.for_each(|(mut out, bodies)| {
        for old in bodies {
            let row = &from[starts[*old as usize]..starts[*old as usize + 1]];
            let (here, rest) = out.split_at_mut(row.len());
            for (new, old) in here.iter_mut().zip(row) {
                *new = f(*old);
            }
            out = rest;
        }
    });
}

/// The pieces of an array by arc that belong to each chunk of bodies.
fn split<'a, T>(mut rest: &'a mut [T], offsets: &[usize]) -> Vec<&'a mut [T]> {
    let n = offsets.len() - 1;
    let mut pieces = Vec::with_capacity(n.div_ceil(TASK));
    let mut body = 0;
    while body < n {
        let next = (body + TASK).min(n);
        let (piece, tail) = rest.split_at_mut(offsets[next] - offsets[body]);
        pieces.push(piece);
        rest = tail;
        body = next;
    }
    pieces
}

fn arc_starts(topology: &Topology) -> Vec<usize> {
    let mut at = 0;
    (0..topology.num_nodes())
        .map(|v| {
            let start = at;
            at += topology.degree(v) as usize;
            start
        })
        .collect()
}

/// Mean of the masses in a fixed order, 1 when there is none.
pub(crate) fn mean(masses: &[f32]) -> f32 {
    if masses.is_empty() {
        return 1.0;
    }
    (masses.iter().map(|m| f64::from(*m)).sum::<f64>() / masses.len() as f64) as f32
}

fn power(w: f32, influence: f32) -> f32 {
    if influence == 1.0 { w } else { w.powf(influence).clamp(0.0, FACTOR_MAX) }
}

#[inline]
fn pull_linear(points: &[[f32; 2]], point: [f32; 2], ends: &[u32]) -> [f32; 2] {
    let mut a = [0.0f32; 4];
    let mut pairs = ends.chunks_exact(2);
    for pair in &mut pairs {
        let (p, q) = (points[pair[0] as usize], points[pair[1] as usize]);
        a[0] += p[0] - point[0];
        a[1] += p[1] - point[1];
        a[2] += q[0] - point[0];
        a[3] += q[1] - point[1];
    }
    for end in pairs.remainder() {
        let p = points[*end as usize];
        a[0] += p[0] - point[0];
        a[1] += p[1] - point[1];
    }
    [a[0] + a[2], a[1] + a[3]]
}

#[inline]
fn pull_weighted(points: &[[f32; 2]], point: [f32; 2], ends: &[u32], factors: &[u32]) -> [f32; 2] {
    let mut a = [0.0f32; 2];
    for (end, bits) in ends.iter().zip(factors) {
        let w = f32::from_bits(*bits);
        let p = points[*end as usize];
        a[0] += w * (p[0] - point[0]);
        a[1] += w * (p[1] - point[1]);
    }
    a
}

/// `ln(1 + d)` for `d >= 0` with a relative error of about 1e-6.
#[inline]
fn ln_1p(d: f32) -> f32 {
    let v = 1.0 + d;
    let bits = v.to_bits();
    // Mantissa in [sqrt(1/2), sqrt(2)), exponent to match.
    let shifted = bits.wrapping_sub(0x3f35_04f3);
    let exponent = (shifted as i32) >> 23;
    let mantissa = f32::from_bits((shifted & 0x007f_ffff) + 0x3f35_04f3);
    // What rounding of 1 + d lost matters for small d.
    let lost = if d < 1.0 { (d - (v - 1.0)) / v } else { 0.0 };
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let z = s * s;
    let series = 2.0 * s * (1.0 + z * (1.0 / 3.0 + z * (0.2 + z * (1.0 / 7.0 + z / 9.0))));
    exponent as f32 * std::f32::consts::LN_2 + series + lost
}
