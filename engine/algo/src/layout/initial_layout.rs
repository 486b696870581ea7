//! Starting positions: a coarse picture of the graph, refined level by level (Walshaw 2003; Hachul and
//! Jünger 2005), so that a force layout begins unfolded and at its final size.
//!
//! Every component is contracted until few nodes are left, these are placed by classical scaling of their
//! distances (Torgerson 1952), and each finer level starts from the coarser one and runs a few iterations
//! of ForceAtlas2; trees start radially ([`super::radial_tree`]). Components are packed in rings, the largest in
//! the middle; what the forces would not hold together lies beside them ([`super::component_packing`]).

use std::sync::Arc;

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use graphlume_types::hash::{h64, unit_f64};
use rayon::prelude::*;

use super::arrange::lie_as_the_stage;
use super::component_packing::ComponentPacking;
use super::force_atlas2::{ForceAtlas2, Params};
use super::radial_tree;
use crate::AlgoError;
use crate::component::weak;
use crate::weighted_graph::WeightedGraph;

/// Nodes that are placed without contracting further.
const COARSEST: usize = 128;
/// Nodes of a group at most.
const GROUP_MAX: u32 = 8;
/// Components up to this size are placed by scaling alone.
const TINY: usize = 8;
/// Iterations of one level at most, and how many iterations over the finest level each may cost.
const ITERATIONS_MAX: f64 = 60.0;
const ITERATIONS_SHARE: f64 = 0.7;
/// Levels that could afford fewer go without.
const ITERATIONS_MIN: usize = 4;

/// Positions to start a force layout from, by node index.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn place(
    topology: &Arc<Topology>,
    seed: u64,
    cancel: &CancelToken,
) -> Result<Vec<[f32; 2]>, AlgoError> {
    cancel.check()?;
    let n = topology.num_nodes() as usize;
    let labels = weak::run(topology, cancel)?;
    let count = labels.iter().max().map_or(0, |l| *l as usize + 1);
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); count];
    for (v, l) in labels.iter().enumerate() {
        members[*l as usize].push(v as u32);
    }
    // Largest first; of equal size, the one with the smallest node.
    members.sort_by_key(|m| (std::cmp::Reverse(m.len()), m[0]));
    let whole = WeightedGraph::new(topology, None);
    let mut number = vec![0u32; n];
    for nodes in &members {
        for (i, v) in nodes.iter().enumerate() {
            number[*v as usize] = i as u32;
        }
    }
    let parts: Result<Vec<Vec<[f32; 2]>>, AlgoError> = members
        .par_iter()
        .map(|nodes| {
            if nodes.len() == 1 {
                return Ok(vec![[0.0; 2]]);
            }
            let masses = nodes.iter().map(|v| topology.degree(*v) as f32 + 1.0).collect();
            lay_out(whole.restrict(nodes, &number), masses, seed, cancel)
        })
        .collect();
    let parts = parts?;
    let centres = pack(&parts);
    let mut out = vec![[0.0; 2]; n];
    for ((nodes, part), c) in members.iter().zip(&parts).zip(centres) {
        for (v, p) in nodes.iter().zip(part) {
            out[*v as usize] = [p[0] + c[0], p[1] + c[1]];
        }
    }
    let packing = ComponentPacking::new(topology, &out, cancel)?;
    lie_as_the_stage(&mut out, packing.as_ref().map(ComponentPacking::inner));
    if let Some(packing) = packing {
        packing.place(&mut out, |_| false);
    }
    Ok(out)
}

/// One level of the hierarchy.
struct Level {
    net: WeightedGraph,
    masses: Vec<f32>,
    /// The node of the coarser level that each node became part of.
    group: Vec<u32>,
}

/// Places a connected graph about the origin.
fn lay_out(
    net: WeightedGraph,
    masses: Vec<f32>,
    seed: u64,
    cancel: &CancelToken,
) -> Result<Vec<[f32; 2]>, AlgoError> {
    if net.num_nodes() > TINY
        && let Some(mut points) = radial_tree::place(&net, seed)
    {
        fit(&net, &masses, &mut points);
        return Ok(points);
    }
    let finest = net.num_nodes() as f64 + net.ends.len() as f64;
    let mut levels = vec![Level { net, masses, group: Vec::new() }];
    loop {
        cancel.check()?;
        let level = levels.len() as u64;
        let Some(last) = levels.last_mut() else { break };
        if last.net.num_nodes() <= COARSEST {
            break;
        }
        let (group, groups) = gather(&last.net, &last.masses, seed ^ level);
        if groups as f64 > 0.97 * last.net.num_nodes() as f64 {
            break;
        }
        let mut masses = vec![0.0; groups];
        for (g, m) in group.iter().zip(&last.masses) {
            masses[*g as usize] += m;
        }
        let net = last.net.contract(&group, groups);
        last.group = group;
        levels.push(Level { net, masses, group: Vec::new() });
    }
    let mut points: Vec<[f32; 2]> = Vec::new();
    for (depth, level) in levels.iter().enumerate().rev() {
        points = if level.group.is_empty() {
            coarsest(&level.net, seed)
        } else {
            descend(level, &points, seed)
        };
        if level.group.is_empty() {
            fit(&level.net, &level.masses, &mut points);
        }
        let size = level.net.num_nodes() as f64 + level.net.ends.len() as f64;
        let iterations = if level.group.is_empty() && points.len() <= 4 * COARSEST {
            ITERATIONS_MAX as usize
        } else {
            (ITERATIONS_SHARE * finest / size).min(ITERATIONS_MAX) as usize
        };
        // Setting up a layout costs as much as a few iterations.
        let coarse = depth > 0 || levels.len() == 1;
        if coarse && iterations >= ITERATIONS_MIN && points.len() > TINY {
            points = relax(level, &points, iterations, cancel)?;
        }
    }
    fit(&levels[0].net, &levels[0].masses, &mut points);
    Ok(points)
}

/// Gathers nodes into groups of neighbours; returns the group of each node and their number.
///
/// Nodes of small degree choose first. A node whose neighbours are all in full groups joins others in the
/// same situation around the same neighbour, so that the leaves of a star contract too.
fn gather(graph: &WeightedGraph, masses: &[f32], seed: u64) -> (Vec<u32>, usize) {
    const NONE: u32 = u32::MAX;
    let n = graph.num_nodes();
    let mut order: Vec<u64> = (0..n)
        .map(|v| {
            let degree = (graph.offsets[v + 1] - graph.offsets[v]).min(255) as u64;
            degree << 56 | (h64(seed, 1, v as u64) >> 40) << 32 | v as u64
        })
        .collect();
    order.par_sort_unstable();
    let mut group = vec![NONE; n];
    let mut sizes: Vec<u32> = Vec::with_capacity(n / 2);
    // The group that the next stranded node around each node joins.
    let mut stranded = vec![NONE; n];
    for v in order.iter().map(|o| (*o & 0xffff_ffff) as usize) {
        if group[v] != NONE {
            continue;
        }
        let mut best: Option<(f32, u32)> = None;
        let mut heaviest: Option<(u64, u32)> = None;
        for (u, w) in graph.edges(v) {
            if heaviest.is_none_or(|(h, _)| w > h) {
                heaviest = Some((w, u));
            }
            let g = group[u as usize];
            let size = if g == NONE { 1 } else { sizes[g as usize] };
            let score = w as f32 / (masses[u as usize] * size as f32);
            if size < GROUP_MAX && best.is_none_or(|(b, _)| score > b) {
                best = Some((score, u));
            }
        }
        let fresh = sizes.len() as u32;
        let g = match (best, heaviest) {
            (Some((_, u)), _) if group[u as usize] == NONE => {
                group[u as usize] = fresh;
                sizes.push(1);
                fresh
            }
            (Some((_, u)), _) => group[u as usize],
            (None, Some((_, u))) => {
                let open = stranded[u as usize];
                if open != NONE && sizes[open as usize] < GROUP_MAX {
                    open
                } else {
                    stranded[u as usize] = fresh;
                    sizes.push(0);
                    fresh
                }
            }
            (None, None) => {
                sizes.push(0);
                fresh
            }
        };
        group[v] = g;
        sizes[g as usize] += 1;
    }
    (group, sizes.len())
}

/// Positions of a level from those of the coarser one: each node starts at its group, drawn half way to
/// the mean of its neighbours' groups, so that the members of a group part in the right direction.
fn descend(level: &Level, coarse: &[[f32; 2]], seed: u64) -> Vec<[f32; 2]> {
    let bounds =
        coarse.iter().fold([0.0f32; 2], |a, p| [a[0].max(p[0].abs()), a[1].max(p[1].abs())]);
    let jitter = 0.5 * bounds[0].max(bounds[1]) / (coarse.len() as f32).sqrt();
    (0..level.net.num_nodes())
        .into_par_iter()
        .map(|v| {
            let own = coarse[level.group[v] as usize];
            let (mut sum, mut total) = ([0.0f64; 2], 0.0f64);
            for (u, w) in level.net.edges(v) {
                let p = coarse[level.group[u as usize] as usize];
                sum[0] += w as f64 * f64::from(p[0]);
                sum[1] += w as f64 * f64::from(p[1]);
                total += w as f64;
            }
            let total = total.max(1e-9);
            [0, 1].map(|c| {
                let shake = (unit_f64(seed, 10 + c as u64, v as u64) as f32 - 0.5) * jitter;
                0.5 * own[c] + 0.5 * (sum[c] / total) as f32 + shake
            })
        })
        .collect()
}

/// Some iterations of ForceAtlas2 on a level.
fn relax(
    level: &Level,
    points: &[[f32; 2]],
    iterations: usize,
    cancel: &CancelToken,
) -> Result<Vec<[f32; 2]>, AlgoError> {
    let n = level.net.num_nodes();
    let (mut src, mut dst, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    for v in 0..n {
        for (u, w) in level.net.edges(v).filter(|(u, _)| *u as usize > v) {
            src.push(v as u32);
            dst.push(u);
            weights.push(w as f32);
        }
    }
    let topology = Arc::new(Topology::from_coo(n as u32, &src, &dst));
    let mut layout = ForceAtlas2::new(
        &topology,
        Some(&weights),
        Params::default(),
        points,
        None,
        Some(&level.masses),
        None,
    )?;
    for _ in 0..iterations {
        layout.iterate(cancel)?;
    }
    let mut out = Vec::new();
    layout.positions(&mut out);
    Ok(out)
}

/// Scales a layout to the size at which the pull of edges and gravity balances the push of all pairs, and
/// moves its centre of mass to the origin.
///
/// At equilibrium the virials are equal: with distances scaled by `s`, edges give `s^2` times the sum of
/// `w d^2`, gravity `s` times the sum of `m r`, and every pair gives `k m m'` at any distance.
fn fit(graph: &WeightedGraph, masses: &[f32], points: &mut [[f32; 2]]) {
    let p = Params::default();
    let total: f64 = masses.iter().map(|m| f64::from(*m)).sum();
    let mean =
        |c: usize| points.iter().zip(masses).map(|(p, m)| f64::from(p[c] * m)).sum::<f64>() / total;
    let centre = [mean(0) as f32, mean(1) as f32];
    for q in points.iter_mut() {
        *q = [q[0] - centre[0], q[1] - centre[1]];
    }
    let squares: f64 = masses.iter().map(|m| f64::from(*m).powi(2)).sum();
    let push = p.scaling_ratio * (total * total - squares) / 2.0;
    let square = |a: [f32; 2], b: [f32; 2]| {
        let (dx, dy) = (f64::from(a[0] - b[0]), f64::from(a[1] - b[1]));
        dx * dx + dy * dy
    };
    let mut pull = 0.0;
    for v in 0..graph.num_nodes() {
        for (u, w) in graph.edges(v).filter(|(u, _)| *u as usize > v) {
            pull += w as f64 * square(points[v], points[u as usize]);
        }
    }
    let gravity: f64 = points
        .iter()
        .zip(masses)
        .map(|(q, m)| p.gravity * f64::from(*m) * square(*q, [0.0; 2]).sqrt())
        .sum();
    if push <= 0.0 || pull + gravity <= 0.0 {
        return;
    }
    // The positive root of pull s^2 + gravity s = push, in the form that does not cancel.
    let s = (2.0 * push / (gravity + (gravity * gravity + 4.0 * pull * push).sqrt())) as f32;
    if s.is_finite() && s > 0.0 {
        for q in points.iter_mut() {
            *q = [q[0] * s, q[1] * s];
        }
    }
}

/// Positions of the coarsest level: classical scaling of hop distances.
fn coarsest(graph: &WeightedGraph, seed: u64) -> Vec<[f32; 2]> {
    let n = graph.num_nodes();
    if n > 4 * COARSEST {
        // A graph that does not contract, such as a huge clique, has no shape to find.
        let side = (n as f32).sqrt();
        let at = |s, v| (unit_f64(seed, s, v as u64) as f32 - 0.5) * side;
        return (0..n).map(|v| [at(20, v), at(21, v)]).collect();
    }
    let mut b: Vec<f64> = Vec::with_capacity(n * n);
    for v in 0..n {
        b.extend(hops(graph, v).iter().map(|d| f64::from(*d).powi(2)));
    }
    let row: Vec<f64> =
        (0..n).map(|v| b[v * n..(v + 1) * n].iter().sum::<f64>() / n as f64).collect();
    let all = row.iter().sum::<f64>() / n as f64;
    for v in 0..n {
        for u in 0..n {
            b[v * n + u] = -0.5 * (b[v * n + u] - row[v] - row[u] + all);
        }
    }
    let first = leading(&b, n, None, seed);
    let second = leading(&b, n, Some(&first), seed ^ 1);
    // Nodes with the same neighbours have the same distances: a little noise sets them apart.
    let noise = |s, v| 0.05 * (unit_f64(seed, s, v as u64) - 0.5);
    (0..n).map(|v| [(first[v] + noise(22, v)) as f32, (second[v] + noise(23, v)) as f32]).collect()
}

/// Hop distances from `source`.
fn hops(graph: &WeightedGraph, source: usize) -> Vec<u32> {
    let n = graph.num_nodes();
    let mut distance = vec![u32::MAX; n];
    let mut queue = Vec::with_capacity(n);
    distance[source] = 0;
    queue.push(source as u32);
    let mut at = 0;
    while let Some(v) = queue.get(at).map(|v| *v as usize) {
        at += 1;
        for (u, _) in graph.edges(v) {
            if distance[u as usize] == u32::MAX {
                distance[u as usize] = distance[v] + 1;
                queue.push(u);
            }
        }
    }
    // Only a component is laid out, so everything was reached.
    distance.iter_mut().filter(|d| **d == u32::MAX).for_each(|d| *d = n as u32);
    distance
}

/// Leading eigenvector of the symmetric matrix `b`, scaled by the root of its eigenvalue, by power
/// iteration in the complement of `other`.
fn leading(b: &[f64], n: usize, other: Option<&[f64]>, seed: u64) -> Vec<f64> {
    let mut x: Vec<f64> = (0..n).map(|v| unit_f64(seed, 30, v as u64) - 0.5).collect();
    let mut value = 0.0;
    for _ in 0..100 {
        if let Some(o) = other {
            let square: f64 = o.iter().map(|v| v * v).sum();
            let along: f64 = x.iter().zip(o).map(|(a, b)| a * b).sum::<f64>() / square.max(1e-300);
            x.iter_mut().zip(o).for_each(|(a, b)| *a -= along * b);
        }
        let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
        if norm < 1e-12 {
            return vec![0.0; n];
        }
        x.iter_mut().for_each(|v| *v /= norm);
        x = (0..n)
            .map(|v| b[v * n..(v + 1) * n].iter().zip(&x).map(|(a, b)| a * b).sum())
            .collect();
        value = x.iter().map(|v| v * v).sum::<f64>().sqrt();
    }
    let scale = if value > 0.0 { value.powf(-0.5) } else { 0.0 };
    x.iter().map(|v| v * scale).collect()
}

/// Centres for parts that come largest first: the first in the middle, the others on rings around it.
fn pack(parts: &[Vec<[f32; 2]>]) -> Vec<[f32; 2]> {
    let radius =
        |part: &Vec<[f32; 2]>| part.iter().map(|p| p[0].hypot(p[1])).fold(0.0f32, f32::max);
    let largest = parts.first().map_or(0.0, |p| radius(p) / (p.len() as f32).sqrt());
    let margin = (0.5 * largest).max(2.0);
    let mut centres = Vec::with_capacity(parts.len());
    let (mut inner, mut next) = (0.0f64, 0usize);
    while next < parts.len() {
        let r = f64::from(radius(&parts[next]) + margin);
        if next == 0 {
            centres.push([0.0; 2]);
            (inner, next) = (r, 1);
            continue;
        }
        // One ring: the first of its parts is the largest and sets its width.
        let ring = inner + r;
        let mut angle = 0.0f64;
        while next < parts.len() {
            let r = f64::from(radius(&parts[next]) + margin);
            let width = 2.0 * (r / ring).min(1.0).asin();
            if angle > 0.0 && angle + width > std::f64::consts::TAU {
                break;
            }
            let (sin, cos) = (angle + width / 2.0).sin_cos();
            centres.push([(ring * cos) as f32, (ring * sin) as f32]);
            angle += width;
            next += 1;
        }
        inner = ring + r;
    }
    centres
}

#[cfg(test)]
mod tests;
