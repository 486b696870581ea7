//! Similarity of the two ends of edges by their neighbours: Jaccard (1901), overlap (Szymkiewicz 1934, Simpson 1943) and
//! Sørensen (1948), by the numbers of neighbours, by the weights of edges, or by the weights of nodes.

use std::collections::HashSet;

use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::input::Sign;
use crate::spec::{
    AlgorithmSpec, Cost, Dtype, Gives, OutputSpec, ParamSpec, cugraph, ignored, output, param,
};
use crate::view::GraphView;
use crate::{AlgoError, Input, Output, ParamValues, Values};

/// Nodes of one unit of parallel work.
const NODES: usize = 64;

/// Which coefficient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coefficient {
    /// What both have over what either has.
    Jaccard,
    /// What both have over what the one with less has.
    Overlap,
    /// Twice what both have over what each has.
    Sorensen,
}

impl Coefficient {
    fn of(self, both: f64, a: f64, b: f64) -> f64 {
        let (part, whole) = match self {
            Self::Jaccard => (both, a + b - both),
            Self::Overlap => (both, a.min(b)),
            Self::Sorensen => (2.0 * both, a + b),
        };
        if whole > 0.0 { part / whole } else { 0.0 }
    }
}

/// What a neighbour counts.
#[derive(Clone, Copy, Debug)]
pub enum Counts<'a> {
    /// 1, or the weight of the edge to it in a weighted view, of which both have the smaller.
    Edges,
    /// The weight of the neighbour.
    Nodes(&'a [f64]),
}

/// The coefficient of the two ends of every arc of an undirected view.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn run(
    view: &GraphView<'_>,
    coefficient: Coefficient,
    counts: Counts<'_>,
    cancel: &CancelToken,
) -> Result<Vec<f64>, AlgoError> {
    let n = view.num_nodes() as usize;
    let out = view.out();
    let whole = |v: u32| match counts {
        Counts::Edges => out.strength(v),
        Counts::Nodes(w) => out.neighbors(v).iter().map(|u| w[*u as usize]).sum(),
    };
    let wholes: Vec<f64> = (0..n as u32).into_par_iter().with_min_len(NODES).map(whole).collect();
    // Each edge is looked at from the end with the longer list, whose neighbours are marked; the shorter one is walked.
    let size = |v: u32| (out.degree(v), v);
    let of_chunk = |places: &mut Vec<u32>, first: usize| {
        let mut values = Vec::new();
        for v in first as u32..n.min(first + NODES) as u32 {
            cancel.check()?;
            for (place, u) in out.range(v).zip(out.neighbors(v)) {
                places[*u as usize] = place as u32 + 1;
            }
            values.extend(out.neighbors(v).iter().map(|u| {
                if size(*u) > size(v) {
                    return 0.0;
                }
                let both = shared(view, counts, places, *u);
                coefficient.of(both, wholes[v as usize], wholes[*u as usize])
            }));
            out.neighbors(v).iter().for_each(|u| places[*u as usize] = 0);
        }
        Ok(values)
    };
    let chunks: Vec<usize> = (0..n).step_by(NODES).collect();
    let parts = chunks.into_par_iter().map_init(|| vec![0u32; n], of_chunk);
    let found = parts.collect::<Result<Vec<Vec<f64>>, AlgoError>>()?.concat();
    // The arc from the other end has the same value.
    let of_arc = |v: u32| {
        out.range(v).map(move |at| {
            let u = out.all_neighbors()[at];
            if size(u) <= size(v) {
                return at;
            }
            out.range(u).start + out.neighbors(u).partition_point(|w| *w < v)
        })
    };
    let places = (0..n as u32).into_par_iter().with_min_len(NODES).flat_map_iter(of_arc);
    Ok(places.map(|at| found[at]).collect())
}

/// What the neighbours of `u` count that are also those of the node whose places are marked, from 1 on.
fn shared(view: &GraphView<'_>, counts: Counts<'_>, places: &[u32], u: u32) -> f64 {
    let out = view.out();
    let list = out.neighbors(u);
    match counts {
        Counts::Nodes(w) => {
            let both = list.iter().filter(|v| places[**v as usize] > 0);
            both.map(|v| w[*v as usize]).sum()
        }
        Counts::Edges if !view.is_weighted() => {
            let both: u32 = list.iter().map(|v| u32::from(places[*v as usize] > 0)).sum();
            f64::from(both)
        }
        Counts::Edges => {
            let both = out.weighted(u).map(|(v, w)| (places[v as usize], w));
            let both = both.filter(|(place, _)| *place > 0);
            both.map(|(place, w)| w.min(out.weight(place as usize - 1))).sum()
        }
    }
}

/// The column of edges of a similarity: `pairs` names the parameter that limits it to some pairs.
fn column(
    input: &Input<'_>,
    p: &ParamValues,
    name: &'static str,
    coefficient: Coefficient,
    form: Form,
) -> Result<Output, AlgoError> {
    let weighted = form == Form::Weighted || form == Form::Plain && p.bool("use_weight");
    let weights = if weighted { input.weights(p, Sign::NotNegative)? } else { None };
    let view = input.view(false, weights.as_deref())?;
    let of_nodes = match form {
        Form::Weighted => input.node_values(p, "weights")?,
        _ => None,
    };
    let of_nodes: Option<Vec<f64>> =
        of_nodes.map(|w| w.into_iter().map(|w| w.unwrap_or(0.0)).collect());
    if let Some(index) = of_nodes.as_ref().and_then(|w| w.iter().position(|w| *w < 0.0)) {
        return Err(AlgoError::BadValue {
            what: "weight",
            unit: "node",
            index,
            value: of_nodes.as_ref().map_or(0.0, |w| w[index]),
            expected: "a number that is not negative",
        });
    }
    let counts = of_nodes.as_deref().map_or(Counts::Edges, Counts::Nodes);
    let of_arc = run(&view, coefficient, counts, input.cancel)?;
    let mut by_row = view.by_row(input.topology, &of_arc);
    let asked = match form {
        Form::Alias => input.pairs(p, "ebunch")?,
        _ => input.pairs(p, "vertex_pair")?,
    };
    if let Some(asked) = asked {
        let asked: HashSet<(u32, u32)> =
            asked.into_iter().map(|(a, b)| (a.min(b), a.max(b))).collect();
        for at in 0..input.topology.num_edges() {
            let (from, to, row) = input.topology.edge(at);
            if !asked.contains(&(from.min(to), from.max(to))) {
                by_row[row as usize] = None;
            }
        }
    }
    Ok(Output::edges(name, Values::F64OrNull(by_row)))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    Weighted,
    Alias,
}

const PAIR: ParamSpec = param(
    "vertex_pair",
    Dtype::Pairs,
    "null",
    None,
    "pairs that get a value, where an edge joins them; null is every edge",
);
const USE_WEIGHT: ParamSpec = param(
    "use_weight",
    Dtype::Bool,
    "false",
    None,
    "count the weights of edges: of two the smaller is what both have",
);
const EBUNCH: ParamSpec =
    param("ebunch", Dtype::Pairs, "null", None, "pairs that get a value; null is every edge");
const WEIGHTS: ParamSpec = param(
    "weights",
    Dtype::NodeValues,
    "null",
    None,
    "weights of nodes: a neighbour counts its weight; null counts the weights of edges",
);
const PLAIN: &[ParamSpec] = &[PAIR, USE_WEIGHT];
const WEIGHTED: &[ParamSpec] = &[PAIR, WEIGHTS];
const ALIAS: &[ParamSpec] = &[EBUNCH];
const JACCARD_COEFF: &[OutputSpec] =
    &[output("jaccard_coeff", Dtype::Float, "share of the neighbours of either that both have")];
const OVERLAP_COEFF: &[OutputSpec] =
    &[output("overlap_coeff", Dtype::Float, "share of the smaller neighbourhood that both have")];
const SORENSEN_COEFF: &[OutputSpec] =
    &[output("sorensen_coeff", Dtype::Float, "twice what both have over what each has")];

const BASE: AlgorithmSpec = AlgorithmSpec {
    simple_only: true,
    accepted: &[ignored("do_expensive_check"), ignored("directed")],
    gives: Gives::Edges,
    cost: Cost::Wedges,
    ..AlgorithmSpec::BASE
};

/// cuGraph's `jaccard`.
pub static JACCARD: AlgorithmSpec = AlgorithmSpec {
    id: "jaccard",
    names: &[cugraph("jaccard")],
    params: PLAIN,
    outputs: JACCARD_COEFF,
    doc: "Jaccard similarity of the ends of every edge.",
    paper: "Jaccard 1901",
    run: |input, p| column(input, p, "jaccard_coeff", Coefficient::Jaccard, Form::Plain),
    ..BASE
};

/// cuGraph's former `jaccard_w`.
pub static JACCARD_W: AlgorithmSpec = AlgorithmSpec {
    id: "jaccard_w",
    names: &[cugraph("jaccard_w")],
    params: WEIGHTED,
    outputs: JACCARD_COEFF,
    doc: "Jaccard similarity of the ends of every edge by weights.",
    paper: "Jaccard 1901",
    run: |input, p| column(input, p, "jaccard_coeff", Coefficient::Jaccard, Form::Weighted),
    ..BASE
};

/// cuGraph's `overlap`.
pub static OVERLAP: AlgorithmSpec = AlgorithmSpec {
    id: "overlap",
    names: &[cugraph("overlap")],
    params: PLAIN,
    outputs: OVERLAP_COEFF,
    doc: "Overlap coefficient of the ends of every edge.",
    paper: "Simpson 1943",
    run: |input, p| column(input, p, "overlap_coeff", Coefficient::Overlap, Form::Plain),
    ..BASE
};

/// cuGraph's `overlap_coefficient`.
pub static OVERLAP_COEFFICIENT: AlgorithmSpec = AlgorithmSpec {
    id: "overlap_coefficient",
    names: &[cugraph("overlap_coefficient")],
    params: ALIAS,
    outputs: OVERLAP_COEFF,
    doc: "Overlap coefficient of the ends of every edge.",
    paper: "Simpson 1943",
    run: |input, p| column(input, p, "overlap_coeff", Coefficient::Overlap, Form::Alias),
    ..BASE
};

/// cuGraph's former `overlap_w`.
pub static OVERLAP_W: AlgorithmSpec = AlgorithmSpec {
    id: "overlap_w",
    names: &[cugraph("overlap_w")],
    params: WEIGHTED,
    outputs: OVERLAP_COEFF,
    doc: "Overlap coefficient of the ends of every edge by weights.",
    paper: "Simpson 1943",
    run: |input, p| column(input, p, "overlap_coeff", Coefficient::Overlap, Form::Weighted),
    ..BASE
};

/// cuGraph's `sorensen`.
pub static SORENSEN: AlgorithmSpec = AlgorithmSpec {
    id: "sorensen",
    names: &[cugraph("sorensen")],
    params: PLAIN,
    outputs: SORENSEN_COEFF,
    doc: "Sørensen coefficient of the ends of every edge.",
    paper: "Dice 1945; Sørensen 1948",
    run: |input, p| column(input, p, "sorensen_coeff", Coefficient::Sorensen, Form::Plain),
    ..BASE
};

/// cuGraph's `sorensen_coefficient`.
pub static SORENSEN_COEFFICIENT: AlgorithmSpec = AlgorithmSpec {
    id: "sorensen_coefficient",
    names: &[cugraph("sorensen_coefficient")],
    params: ALIAS,
    outputs: SORENSEN_COEFF,
    doc: "Sørensen coefficient of the ends of every edge.",
    paper: "Dice 1945; Sørensen 1948",
    run: |input, p| column(input, p, "sorensen_coeff", Coefficient::Sorensen, Form::Alias),
    ..BASE
};

/// cuGraph's former `sorensen_w`.
pub static SORENSEN_W: AlgorithmSpec = AlgorithmSpec {
    id: "sorensen_w",
    names: &[cugraph("sorensen_w")],
    params: WEIGHTED,
    outputs: SORENSEN_COEFF,
    doc: "Sørensen coefficient of the ends of every edge by weights.",
    paper: "Dice 1945; Sørensen 1948",
    run: |input, p| column(input, p, "sorensen_coeff", Coefficient::Sorensen, Form::Weighted),
    ..BASE
};
