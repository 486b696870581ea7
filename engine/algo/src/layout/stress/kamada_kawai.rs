//! The layout of Kamada and Kawai with the parameters of python-igraph.

use super::{Job, Terms, epochs_for};
use crate::input::Sign;
use crate::layout::coordinates::{DIM, XY, XYZ, coordinates, is_3d};
use crate::layout::given::{self, Bounds, MAXX, MAXY, MAXZ, MINX, MINY, MINZ, START};
use crate::layout::parts::{InducedSubgraph, assemble, parts};
use crate::spec::{Cost, RANDOM_STATE, igraph, param};
use crate::{AlgoError, AlgorithmSpec, Dtype, Input, Kind, Output, ParamSpec, ParamValues};

const PAPER: &str = "Kamada and Kawai 1989; Gansner, Koren and North 2004; Zheng, Pawar and Goodman 2019; Ortmann, Klimenta and Brandes 2016";
/// Nodes that the layout takes: 24 sampled distances of each take 800 MB then.
const NODES_MAX: u64 = 4_000_000;
/// Moves of igraph that take the place of all our epochs: 50 a node.
const MOVES_A_NODE: f64 = 50.0;

const MAXITER: ParamSpec = param(
    "maxiter",
    Dtype::Int,
    "null",
    Some((0.0, 1e15)),
    "moves of one node; null is about 50 a node, 0 leaves the start",
);
const EPSILON: ParamSpec = param(
    "epsilon",
    Dtype::Float,
    "0.0",
    Some((0.0, 1e300)),
    "ends when the energy changes by no more from one round to the next; 0 never does",
);
const KKCONST: ParamSpec = param(
    "kkconst",
    Dtype::Float,
    "null",
    Some((1e-300, 1e300)),
    "factor of the energy, which matters beside epsilon alone; null is the number of nodes",
);
const WEIGHTS: ParamSpec = param(
    "weights",
    Dtype::EdgeColumn,
    "null",
    None,
    "edge column of the lengths, above 0; null is 1 each",
);

pub(crate) static KAMADA_KAWAI: AlgorithmSpec = AlgorithmSpec {
    id: "kamada_kawai",
    names: &[igraph("kk"), igraph("kamada_kawai")],
    kind: Kind::Layout,
    params: &[
        MAXITER,
        EPSILON,
        KKCONST,
        START,
        MINX,
        MAXX,
        MINY,
        MAXY,
        MINZ,
        MAXZ,
        DIM,
        WEIGHTS,
        RANDOM_STATE,
    ],
    outputs: XY,
    doc: "Distances as in the graph (Kamada and Kawai 1989): one hop is sqrt(n) over the diameter. All pairs count up to \
          5000 nodes of a component, above the edges and up to 160 sampled pivots. Components lie side by side.",
    paper: PAPER,
    cost: Cost::Quadratic,
    run: |input, p| if is_3d(p) { run::<3>(input, p) } else { run::<2>(input, p) },
    ..AlgorithmSpec::BASE
};

pub(crate) static KAMADA_KAWAI_3D: AlgorithmSpec = AlgorithmSpec {
    id: "kamada_kawai_3d",
    names: &[igraph("kk_3d"), igraph("kk3d"), igraph("kamada_kawai_3d")],
    params: &[
        MAXITER,
        EPSILON,
        KKCONST,
        START,
        MINX,
        MAXX,
        MINY,
        MAXY,
        MINZ,
        MAXZ,
        WEIGHTS,
        RANDOM_STATE,
    ],
    outputs: XYZ,
    doc: "As `kamada_kawai`, in space.",
    run: run::<3>,
    ..KAMADA_KAWAI
};

fn run<const D: usize>(input: &Input<'_>, p: &ParamValues) -> Result<Output, AlgoError> {
    let n = input.num_nodes() as usize;
    if n as u64 > NODES_MAX {
        return Err(AlgoError::TooLarge {
            algorithm: p.spec().id,
            what: "nodes",
            size: n as u64,
            limit: NODES_MAX,
            instead: "lay it out with force_atlas2",
        });
    }
    let weights = input.weights(p, Sign::Positive)?;
    let start = given::start::<D>(input, p)?;
    let bounds = given::bounds::<D>(input, p)?;
    let whole = start.is_some() || bounds.is_some();
    let parts = parts(input.topology, weights.as_deref(), whole, input.cancel)?;
    let mut places = Vec::with_capacity(parts.len());
    let mut longest = 0.0f64;
    for part in &parts {
        if part.len() == 1 && !whole {
            places.push(vec![[0.0; D]]);
            continue;
        }
        let (at, far) = part_of(input, p, part, start.as_deref(), bounds.as_deref())?;
        places.push(at);
        longest = longest.max(far);
    }
    let hop = (n as f64).sqrt() / if longest > 0.0 { longest } else { 1.0 };
    let mut points = assemble(n, &parts, places, 1.0);
    points.iter_mut().flatten().for_each(|x| *x *= hop);
    // What the factor rounded may lie outside by the last digit.
    for (at, bounds) in points.iter_mut().zip(bounds.iter().flatten()) {
        given::clamp(at, bounds);
    }
    Ok(coordinates(&points))
}

/// The positions of a part in lengths of the graph, and the largest distance in it.
fn part_of<const D: usize>(
    input: &Input<'_>,
    p: &ParamValues,
    part: &InducedSubgraph,
    start: Option<&[[f64; D]]>,
    bounds: Option<&[Bounds<D>]>,
) -> Result<(Vec<[f64; D]>, f64), AlgoError> {
    let n = part.len() as f64;
    let usual = epochs_for(part.len());
    let share = p.int("maxiter").map_or(1.0, |moves| moves as f64 / (MOVES_A_NODE * n));
    let mut job = Job {
        part,
        start: None,
        bounds: None,
        epochs: (usual as f64 * share).ceil().min(20.0 * usual as f64) as u64,
        epsilon: p.float("epsilon").unwrap_or(0.0),
        scale: 0.5 * p.float("kkconst").unwrap_or(n),
        seed: p.count("random_state"),
        cancel: input.cancel,
    };
    let terms = Terms::new(&job, super::PAIRS_NODES_MAX, usize::MAX)?;
    // Displayed lengths, in which starts and bounds are given, over those of the graph.
    let hop = n.sqrt() / terms.longest();
    let in_graph = |at: &[f64; D]| at.map(|x| x / hop);
    job.start = start.map(|start| start.iter().map(in_graph).collect());
    job.bounds = bounds
        .map(|bounds| bounds.iter().map(|[low, high]| [in_graph(low), in_graph(high)]).collect());
    Ok((terms.solve(&job)?, terms.longest()))
}
