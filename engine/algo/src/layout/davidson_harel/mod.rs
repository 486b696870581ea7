//! The layout of Davidson and Harel (1996): simulated annealing of an energy that counts distances of nodes, the border,
//! lengths of edges, crossings, and distances of nodes from edges.
//!
//! The energy is kept up to date instead of computed anew: a move changes the terms of one node and its edges alone.
//! Pairs of edges whose boxes do not meet cannot cross, and nodes farther from the box of an edge than the distance that
//! still counts are passed over.

mod energy;
mod near;

use graphlume_types::CancelToken;
use graphlume_types::hash::unit_f64;

use super::coordinates::{XY, coordinates};
use super::force_directed::balanced;
use super::given::{self, START};
use super::parts::{InducedSubgraph, assemble, parts};
use super::stress::{Job, PAIRS_NODES_MAX, Terms, epochs_for};
use crate::spec::{Cost, RANDOM_STATE, igraph, param};
use crate::{AlgoError, AlgorithmSpec, Dtype, Input, Kind, Output, ParamValues};
use energy::{Energy, Weights};
use near::fine_tune;

use Dtype::{Float, Int};

/// Edges of a graph that is annealed: a round looks at every pair of edges.
const EDGES_MAX: u32 = 5000;
/// Nodes of one that is: a round looks at every pair of nodes.
const NODES_MAX: usize = 20_000;
/// Moves of the first round go as far as this share of the side of the picture.
const FIRST_MOVE: f64 = 0.5;
/// The same from a start of little stress, and the share of the temperature there.
const STARTED_MOVE: f64 = 0.03;
const COLD: f64 = 0.01;
/// Share of the side that fine-tuning moves at first.
const FINE_MOVE: f64 = 0.02;
/// Pivots of the start of a large part.
const PIVOTS_MAX: usize = 100;
const WEIGHT: Option<(f64, f64)> = Some((-1e9, 1e9));

pub(crate) static DAVIDSON_HAREL: AlgorithmSpec = AlgorithmSpec {
    id: "davidson_harel",
    names: &[igraph("dh"), igraph("davidson_harel")],
    kind: Kind::Layout,
    params: &[
        START,
        param("maxiter", Int, "10", Some((0.0, 1e6)), "rounds of annealing, each a move a node"),
        param(
            "fineiter",
            Int,
            "null",
            Some((-1e6, 1e6)),
            "rounds that take better places alone; null or below 0 is log2 n, at least 10",
        ),
        param("cool_fact", Float, "0.75", Some((1e-6, 1.0 - 1e-6)), "factor of the temperature"),
        param("weight_node_dist", Float, "1.0", WEIGHT, "nodes push each other with 1/d^2"),
        param("weight_border", Float, "0.0", WEIGHT, "the border pushes nodes with 1/d^2"),
        param(
            "weight_edge_lengths",
            Float,
            "null",
            WEIGHT,
            "edges are short; null or below 0 is a tenth of the density",
        ),
        param(
            "weight_edge_crossings",
            Float,
            "null",
            WEIGHT,
            "edges do not cross; null or below 0 is 1 - sqrt(density)",
        ),
        param(
            "weight_node_edge_dist",
            Float,
            "null",
            WEIGHT,
            "edges keep off nodes; null or below 0 is 0.2 (1 - density)",
        ),
        RANDOM_STATE,
    ],
    outputs: XY,
    doc: "Annealing of distances, edge lengths and crossings (Davidson and Harel 1996), from a start of little stress. Of more \
          than 5000 edges or 20000 nodes the start is fine-tuned by what lies near each node. Components lie side by side.",
    paper: "Davidson and Harel 1996",
    cost: Cost::Quadratic,
    run: lay_out,
    ..AlgorithmSpec::BASE
};

fn lay_out(input: &Input<'_>, p: &ParamValues) -> Result<Output, AlgoError> {
    let (n, m) = (input.num_nodes() as usize, input.topology.num_edges());
    let is_annealed = m <= EDGES_MAX && n <= NODES_MAX;
    let start = given::start::<2>(input, p)?;
    let parts = parts(input.topology, None, start.is_some(), input.cancel)?;
    let weights = weights_of(p, n, m);
    let mut places = Vec::with_capacity(parts.len());
    for part in &parts {
        if part.len() == 1 {
            places.push(start.clone().unwrap_or_else(|| vec![[0.0; 2]]));
            continue;
        }
        let begin = match &start {
            Some(start) => start.clone(),
            None => drawn(part, p.count("random_state"), input.cancel)?,
        };
        places.push(if is_annealed {
            anneal(part, begin, start.is_some(), &weights, p, input.cancel)?
        } else {
            let rounds = rounds_of(p, part.len());
            let seed = p.count("random_state");
            fine_tune(
                part,
                (begin, start.is_some()),
                &weights,
                rounds[0] + rounds[1],
                seed,
                input.cancel,
            )?
        });
    }
    Ok(coordinates(&assemble(n, &parts, places, 2.0)))
}

/// The weights of the terms; where none is given, by the density of the graph.
fn weights_of(p: &ParamValues, n: usize, m: u32) -> Weights {
    let pairs = 0.5 * n as f64 * (n as f64 - 1.0);
    let density = if pairs > 0.0 { (f64::from(m) / pairs).min(1.0) } else { 0.0 };
    let or = |name: &str, usual: f64| p.float(name).filter(|w| *w >= 0.0).unwrap_or(usual);
    Weights {
        node_dist: p.float("weight_node_dist").unwrap_or(1.0),
        border: p.float("weight_border").unwrap_or(0.0),
        edge_lengths: or("weight_edge_lengths", density / 10.0),
        edge_crossings: or("weight_edge_crossings", 1.0 - density.sqrt()),
        node_edge_dist: or("weight_node_edge_dist", 0.2 * (1.0 - density)),
    }
}

/// A start of little stress in which forces have drawn neighbours together.
fn drawn(
    part: &InducedSubgraph,
    seed: u64,
    cancel: &CancelToken,
) -> Result<Vec<[f64; 2]>, AlgoError> {
    let job = Job {
        part,
        start: None,
        bounds: None,
        epochs: epochs_for(part.len()),
        epsilon: 0.0,
        scale: 1.0,
        seed,
        cancel,
    };
    let start = Terms::new(&job, PAIRS_NODES_MAX, PIVOTS_MAX)?.solve(&job)?;
    balanced(part, &start, seed, cancel)
}

/// How many rounds of annealing and of fine-tuning a part of `n` nodes gets.
fn rounds_of(p: &ParamValues, n: usize) -> [u64; 2] {
    let usual = ((n as f64).log2().ceil() as u64).max(10);
    [p.count("maxiter"), p.limit("fineiter").unwrap_or(usual)]
}

/// The rounds of annealing, then those that take better places alone.
fn anneal(
    part: &InducedSubgraph,
    begin: Vec<[f64; 2]>,
    given: bool,
    weights: &Weights,
    p: &ParamValues,
    cancel: &CancelToken,
) -> Result<Vec<[f64; 2]>, AlgoError> {
    let n = part.len();
    let [rounds, fine] = rounds_of(p, n);
    if rounds + fine == 0 {
        return Ok(begin);
    }
    let mut energy = Energy::new(part, begin, *weights);
    if !given {
        energy.fit(cancel)?;
    }
    let cool = p.float("cool_fact").unwrap_or(0.75);
    let seed = p.count("random_state");
    let side = energy.side();
    // A start of little stress is nearly right: annealing begins as cold as a given one does after some rounds.
    let mut reach = if given { FIRST_MOVE } else { STARTED_MOVE } * side;
    let mut temperature = energy.typical(cancel)? * if given { 1.0 } else { COLD };
    for round in 0..rounds + fine {
        if round == rounds {
            reach = reach.min(FINE_MOVE * side);
        }
        let hot = if round < rounds { temperature } else { 0.0 };
        for v in 0..n {
            cancel.check()?;
            let draw = |stream: u64| unit_f64(seed, 80 + stream, (round << 24) + v as u64);
            let (sin, cos) = (std::f64::consts::TAU * draw(0)).sin_cos();
            let far = reach * draw(1).sqrt();
            energy.try_move(v, [far * cos, far * sin], hot, draw(2));
        }
        temperature *= cool;
        reach *= cool.max(0.5);
    }
    Ok(energy.into_points())
}
