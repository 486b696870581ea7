//! Tidy drawings of trees (Reingold and Tilford 1981), in linear time (Buchheim, Jünger and Leipert 2002), with the
//! geometry of python-igraph's layouts of the same names: siblings in index order, a parent over the mean of its children.

mod place;
mod roots;
#[cfg(test)]
mod tests;
mod tree;

use super::coordinates::{XY, coordinates};
use crate::spec::{DIRECTED, ParamSpec, igraph, param};
use crate::view::GraphView;
use crate::{AlgoError, AlgorithmSpec, Dtype, Input, Kind, ParamValues};
use roots::Follow;
use tree::Tree;

/// Levels that roots may lie lower than they would, of all roots together: each is a node of the drawing.
const LEVELS_MAX: u64 = 10_000_000;

const PAPER: &str = "Reingold and Tilford 1981, IEEE Trans. Softw. Eng. 7(2); Buchheim, Jünger and Leipert 2002, GD";

const PARAMS: &[ParamSpec] = &[
    param(
        "mode",
        Dtype::Choice(&["out", "in", "all"]),
        "\"out\"",
        None,
        "which edges lead from a parent to its children: out, in, or all for either way",
    ),
    param(
        "root",
        Dtype::Nodes,
        "null",
        None,
        "the root or roots; null chooses in each part the node of most edges, and of a graph of 500 nodes or more the \
         node of least eccentricity where nodes times edges are at most 500 million",
    ),
    param(
        "rootlevel",
        Dtype::IntList,
        "null",
        None,
        "for several roots, how many levels each lies lower than it would",
    ),
    DIRECTED,
];

pub(crate) static RT: AlgorithmSpec = AlgorithmSpec {
    id: "reingold_tilford",
    names: &[igraph("rt"), igraph("tree"), igraph("reingold_tilford")],
    kind: Kind::Layout,
    params: PARAMS,
    outputs: XY,
    doc: "A tidy tree of the breadth-first search: y is the depth, downwards from 0, and siblings are at least 1 apart. \
          Several roots hang on a root that is not shown, and lie at y = 1; nodes that no root reaches hang beside them.",
    paper: PAPER,
    run: |input, p| Ok(coordinates(&tidy(input, p)?)),
    ..AlgorithmSpec::BASE
};

pub(crate) static RT_CIRCULAR: AlgorithmSpec = AlgorithmSpec {
    id: "reingold_tilford_circular",
    names: &[igraph("rt_circular"), igraph("reingold_tilford_circular")],
    kind: Kind::Layout,
    params: PARAMS,
    outputs: XY,
    doc: "The tidy tree bent round its root: the radius is the depth.",
    paper: PAPER,
    run: |input, p| {
        let mut points = tidy(input, p)?;
        bend(&mut points);
        Ok(coordinates(&points))
    },
    ..AlgorithmSpec::BASE
};

/// The tidy tree of a request.
fn tidy(input: &Input<'_>, p: &ParamValues) -> Result<Vec<[f64; 2]>, AlgoError> {
    let n = input.num_nodes() as usize;
    if n == 0 {
        return Ok(Vec::new());
    }
    let mode = p.text("mode").unwrap_or_default();
    let follow = if p.bool("directed") { Follow::of(&mode) } else { Follow::All };
    let view = lists(input, follow)?;
    let given = input.nodes(p, "root")?.filter(|roots| !roots.is_empty());
    let levels = levels(p, given.as_deref())?;
    let roots = match given {
        Some(roots) => roots,
        None => roots::automatic(&view, follow, input)?,
    };
    let tree = Tree::new(&view, &roots, &levels, input.cancel)?;
    let mut points = place::tidy(&tree, input.cancel)?;
    points.truncate(n);
    Ok(points)
}

/// The edges from parents to children.
fn lists<'a>(input: &Input<'a>, follow: Follow) -> Result<GraphView<'a>, AlgoError> {
    let view = input.view(follow != Follow::All, None)?;
    Ok(if follow == Follow::In { view.reversed() } else { view })
}

/// How much lower each of several roots lies; nothing for one, and for those that are chosen.
fn levels(p: &ParamValues, roots: Option<&[u32]>) -> Result<Vec<u32>, AlgoError> {
    if !p.is_given("rootlevel") {
        return Ok(Vec::new());
    }
    let wrong = |value: String, expected: &str| p.bad("rootlevel", value, expected.to_owned());
    let numbers = p.numbers("rootlevel").unwrap_or_default();
    let whole = |x: &f64| (x.fract() == 0.0 && (0.0..=1e7).contains(x)).then_some(*x as u32);
    let levels: Option<Vec<u32>> = numbers.iter().map(whole).collect();
    let levels = levels
        .ok_or_else(|| wrong("no such list".to_owned(), "whole numbers from 0 to 10 million"))?;
    let Some(roots) = roots.filter(|_| !levels.is_empty()) else { return Ok(Vec::new()) };
    if levels.len() != roots.len() {
        let expected = format!("one number for each of the {} roots", roots.len());
        return Err(wrong(format!("{} numbers", levels.len()), &expected));
    }
    let sum: u64 = levels.iter().map(|l| u64::from(*l)).sum();
    if sum > LEVELS_MAX {
        return Err(wrong(format!("{sum} levels in all"), "at most 10 million in all"));
    }
    Ok(if roots.len() > 1 { levels } else { Vec::new() })
}

/// Turns depths into radii, and abscissae into angles that fill the circle.
fn bend(points: &mut [[f64; 2]]) {
    let n = points.len() as f64;
    let (low, high) = points
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| (low.min(p[0]), high.max(p[0])));
    let full = std::f64::consts::TAU * (n - 1.0) / n;
    let ratio = if high > low { full / (high - low) } else { full };
    for p in points {
        let (sin, cos) = ((p[0] - low) * ratio).sin_cos();
        *p = [p[1] * cos, p[1] * sin];
    }
}
