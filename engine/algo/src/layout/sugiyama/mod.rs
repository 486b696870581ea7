//! Drawings in layers (Sugiyama, Tagawa and Toda 1981): few edges against the direction, short edges, few crossings, and
//! straight long edges.

mod acyclic;
mod layered;
mod layering;
pub(crate) mod parts;
mod place;
mod slices;
#[cfg(test)]
mod tests;

use graphlume_types::CancelToken;

use crate::component::weak;
use crate::input::Sign;
use crate::spec::{DIRECTED, ParamSpec, WEIGHTS, igraph, param};
use crate::{AlgoError, AlgorithmSpec, Cost, Dtype, Input, Kind, ParamValues};

use super::coordinates::{XY, coordinates};
use layered::Layered;
use parts::{Component, parts};

/// Nodes, and edges, of a part up to which its layers have the least total length of edges.
const SHORTEST_NODES: usize = 10_000;
const SHORTEST_EDGES: usize = 40_000;
/// Bends at most, in all; the longest edges have none where there would be more.
const BENDS_MAX: u64 = 1_000_000;

/// The range of a gap.
pub(crate) const GAP: Option<(f64, f64)> = Some((0.0, 1e6));
/// The room between neighbours of a layer.
pub(crate) const HGAP: ParamSpec =
    param("hgap", Dtype::Float, "1.0", GAP, "least distance of neighbours in a layer");
/// The room between layers.
pub(crate) const VGAP: ParamSpec =
    param("vgap", Dtype::Float, "1.0", GAP, "distance of the layers");
/// Sweeps.
pub(crate) const MAXITER: ParamSpec = param(
    "maxiter",
    Dtype::Int,
    "100",
    Some((1.0, 1e6)),
    "sweeps against crossings at most; after 24 the best is taken, and sooner in graphs of more than 200 thousand \
     pieces of edges",
);

pub(crate) static SUGIYAMA: AlgorithmSpec = AlgorithmSpec {
    id: "sugiyama",
    names: &[igraph("sugiyama")],
    kind: Kind::Layout,
    params: &[
        param(
            "layers",
            Dtype::NodeValues,
            "null",
            None,
            "the layer of every node, a whole number from 0: a list, a table or a node column; null chooses",
        ),
        WEIGHTS,
        HGAP,
        VGAP,
        MAXITER,
        DIRECTED,
    ],
    outputs: XY,
    doc: "Layers in which edges lead downwards, with few crossings; parts lie side by side. Layers are those of the least \
          total length of edges in parts of up to 10 thousand nodes and 40 thousand edges, else those of longest paths; \
          without directions they are the hops from the node of most edges. Edges over so many layers that all would have \
          more than a million bends are drawn straight.",
    paper: "Sugiyama, Tagawa and Toda 1981, IEEE Trans. Syst. Man Cybern. 11(2); Eades, Lin and Smyth 1993; \
            Gansner, Koutsofios, North and Vo 1993; Brandes and Köpf 2002",
    cost: Cost::LogLinear,
    run: |input, p| Ok(coordinates(&draw(input, p)?)),
    ..AlgorithmSpec::BASE
};

/// An edge between two nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) weight: f64,
}

/// All edges but loops, in the order of their sources.
pub(crate) fn edges(input: &Input<'_>, weights: Option<&[f64]>) -> Result<Vec<Edge>, AlgoError> {
    let t = input.topology;
    let mut edges = Vec::with_capacity(t.num_edges() as usize);
    for v in 0..t.num_nodes() {
        if v % (1 << 15) == 0 {
            input.cancel.check()?;
        }
        for (to, row) in t.out_neighbors(v).iter().zip(t.out_rows(v)) {
            let weight = weights.and_then(|w| w.get(*row as usize)).copied().unwrap_or(1.0);
            let weight = if weight.is_nan() { 1.0 } else { weight };
            if *to != v {
                edges.push(Edge { from: v, to: *to, weight });
            }
        }
    }
    Ok(edges)
}

/// The coordinates of a request.
fn draw(input: &Input<'_>, p: &ParamValues) -> Result<Vec<[f64; 2]>, AlgoError> {
    let given = layers(input, p)?;
    let weights = input.weights(p, Sign::NotNegative)?;
    let all = edges(input, weights.as_deref())?;
    let labels = weak::run(input.topology, input.cancel)?;
    let mut made: Vec<(Component, Vec<i64>)> = Vec::new();
    for mut part in parts(&labels, &all, input.cancel)? {
        let layer = match &given {
            Some(given) => part.nodes.iter().map(|v| given[*v as usize]).collect(),
            None if part.nodes.len() == 1 => vec![0],
            None if p.bool("directed") => downwards(&mut part, input)?,
            None => hops(&part),
        };
        input.cancel.check()?;
        point_down(&mut part, &layer);
        made.push((part, layer));
    }
    drop(all);
    let reach = reach(&made, input.cancel)?;
    let (hgap, vgap) = (p.float("hgap").unwrap_or(1.0), p.float("vgap").unwrap_or(1.0));
    let sweeps = p.count("maxiter") as usize;
    let mut points = vec![[0.0; 2]; input.num_nodes() as usize];
    let mut left = 0.0;
    for (i, (part, layer)) in made.iter().enumerate() {
        if i % 64 == 0 {
            input.cancel.check()?;
        }
        let x = across(part, layer, reach, sweeps, input)?;
        let mut width = 0.0f64;
        for ((v, x), layer) in part.nodes.iter().zip(&x).zip(layer) {
            points[*v as usize] = [(left + x) * hgap, *layer as f64 * vgap];
        }
        x.iter().for_each(|x| width = width.max(*x));
        left += width + 1.0;
    }
    Ok(points)
}

/// Turns edges that lead upwards round, and takes those within a layer out, which cross nothing.
pub(crate) fn point_down(part: &mut Component, layer: &[i64]) {
    part.edges.retain_mut(|e| {
        let (from, to) = (layer[e.from as usize], layer[e.to as usize]);
        if from > to {
            std::mem::swap(&mut e.from, &mut e.to);
        }
        from != to
    });
}

/// The layers of a request.
fn layers(input: &Input<'_>, p: &ParamValues) -> Result<Option<Vec<i64>>, AlgoError> {
    let Some(values) = input.node_values(p, "layers")? else { return Ok(None) };
    let expected = || "a whole number from 0 to 1000000000 for each node".to_owned();
    let whole = |(v, value): (usize, Option<f64>)| match value {
        Some(x) if x.fract() == 0.0 && (0.0..=1e9).contains(&x) => Ok(x as i64),
        Some(x) => Err(p.bad("layers", format!("{x} for node {v}"), expected())),
        None => Err(p.bad("layers", format!("without a value for node {v}"), expected())),
    };
    values.into_iter().enumerate().map(whole).collect::<Result<_, _>>().map(Some)
}

/// Layers in which edges lead downwards, once few of them are turned round; it turns them.
fn downwards(part: &mut Component, input: &Input<'_>) -> Result<Vec<i64>, AlgoError> {
    let n = part.nodes.len();
    let place = acyclic::order(n, &part.edges, input.cancel)?;
    for e in &mut part.edges {
        if place[e.from as usize] > place[e.to as usize] {
            std::mem::swap(&mut e.from, &mut e.to);
        }
    }
    merge(&mut part.edges, input.cancel)?;
    let mut layer = layering::longest_paths(n, &part.edges, &place, input.cancel)?;
    layering::settle(&mut layer, &part.edges, &place, input.cancel)?;
    if n <= SHORTEST_NODES && part.edges.len() <= SHORTEST_EDGES {
        layer = layering::shortest(layer, &part.edges, input.cancel)?;
    }
    let least = layer.iter().copied().min().unwrap_or(0);
    layer.iter_mut().for_each(|l| *l -= least);
    Ok(layer)
}

/// Makes edges with the same ends one, of the sum of their weights.
fn merge(edges: &mut Vec<Edge>, cancel: &CancelToken) -> Result<(), AlgoError> {
    slices::sort(edges, |e| (e.from, e.to), cancel)?;
    edges.dedup_by(|next, first| {
        let same = (next.from, next.to) == (first.from, first.to);
        first.weight += if same { next.weight } else { 0.0 };
        same
    });
    Ok(())
}

/// Hops from the node of most edges, of several the first.
fn hops(part: &Component) -> Vec<i64> {
    let n = part.nodes.len();
    let mut near = vec![Vec::new(); n];
    for e in &part.edges {
        near[e.from as usize].push(e.to);
        near[e.to as usize].push(e.from);
    }
    let root = (0..n).rev().max_by_key(|v| near[*v].len()).unwrap_or(0);
    let mut layer = vec![-1i64; n];
    layer[root] = 0;
    let mut queue = vec![root as u32];
    let mut at = 0;
    while let Some(v) = queue.get(at).copied() {
        at += 1;
        for u in &near[v as usize] {
            if layer[*u as usize] < 0 {
                layer[*u as usize] = layer[v as usize] + 1;
                queue.push(*u);
            }
        }
    }
    layer
}

/// The most layers that an edge may lead over and have bends, so that there are not too many of them.
fn reach(parts: &[(Component, Vec<i64>)], cancel: &CancelToken) -> Result<u32, AlgoError> {
    let mut spans: Vec<u32> = Vec::new();
    for (part, layer) in parts {
        let rank = ranks(layer);
        let span = |e: &Edge| rank[e.to as usize] - rank[e.from as usize];
        spans.extend(part.edges.iter().map(span).filter(|s| *s > 1));
    }
    slices::sort(&mut spans, |s| *s, cancel)?;
    let (mut bends, mut reach) = (0u64, 1);
    for same in spans.chunk_by(|a, b| a == b) {
        bends += same.len() as u64 * u64::from(same[0] - 1);
        if bends > BENDS_MAX {
            return Ok(reach);
        }
        reach = same[0];
    }
    Ok(u32::MAX)
}

/// The layers numbered from 0 without gaps.
fn ranks(layer: &[i64]) -> Vec<u32> {
    let mut used = layer.to_vec();
    used.sort_unstable();
    used.dedup();
    layer.iter().map(|l| used.partition_point(|u| u < l) as u32).collect()
}

/// The abscissae of a part's nodes, and behind them those of its bends, from 0 on.
pub(crate) fn across(
    part: &Component,
    layer: &[i64],
    reach: u32,
    sweeps: usize,
    input: &Input<'_>,
) -> Result<Vec<f64>, AlgoError> {
    if part.nodes.len() == 1 {
        return Ok(vec![0.0]);
    }
    let mut pairs: Vec<(u32, u32)> = part.edges.iter().map(|e| (e.from, e.to)).collect();
    slices::sort(&mut pairs, |p| *p, input.cancel)?;
    pairs.dedup();
    let mut g = Layered::new(&ranks(layer), &pairs, reach, input.cancel)?;
    g.reduce(sweeps, input.cancel)?;
    place::abscissae(&g, input.cancel)
}
