//! The specifications of the community methods, but for those with a file of their own, by their names in cuGraph and igraph.

use super::network::modularity;
use super::spinglass::UpdateRule;
use super::{
    cdlp, divisive, ecg, fastgreedy, infomap, label_propagation, leading_eigenvector, searches,
    spectral, spinglass, walktrap,
};
use crate::input::Sign;
use crate::spec::{
    AlgorithmSpec, Cost, DIRECTED, Dtype, OutputSpec, ParamSpec, RANDOM_STATE, WEIGHTS, cugraph,
    extra, ignored, igraph, only, output, param,
};
use crate::view::{Copies, GraphView, Loops, Shape};
use crate::{AlgoError, Input, Output, ParamValues, Values};

use Dtype::{Choice, Float, Int, NodeValues};

pub(super) const RESOLUTION: ParamSpec =
    param("resolution", Float, "1.0", Some((0.0, 1e6)), "larger values give smaller communities");
const LABELS: &str = "community, numbered from 0 by first appearance";
const POSITIVE: Option<(f64, f64)> = Some((1.0, 1e9));

pub(super) const fn label(name: &'static str) -> OutputSpec {
    output(name, Int, LABELS)
}

/// What the methods of communities have in common.
pub(super) const BASE: AlgorithmSpec =
    AlgorithmSpec { cost: Cost::Iterative, ..AlgorithmSpec::BASE };

/// The undirected graph with the weights of the request.
pub(super) fn undirected<'a>(
    input: &Input<'a>,
    p: &ParamValues,
    sign: Sign,
) -> Result<GraphView<'a>, AlgoError> {
    let weights = input.weights(p, sign)?;
    input.view(false, weights.as_deref())
}

/// Whole numbers of a table of nodes, -1 where there is none.
pub(super) fn membership(
    input: &Input<'_>,
    p: &ParamValues,
    name: &str,
) -> Result<Option<Vec<i64>>, AlgoError> {
    let found = input.node_values(p, name)?;
    Ok(found.map(|v| v.into_iter().map(|l| l.map_or(-1, |l| l as i64)).collect()))
}

/// Weights of nodes, 1 where there is none.
pub(super) fn node_weights(
    input: &Input<'_>,
    p: &ParamValues,
    name: &str,
) -> Result<Option<Vec<f64>>, AlgoError> {
    let found = input.node_values(p, name)?;
    Ok(found.map(|v| v.into_iter().map(|w| w.unwrap_or(1.0)).collect()))
}

/// cuGraph's `ecg`.
pub static ECG: AlgorithmSpec = AlgorithmSpec {
    id: "ecg",
    names: &[cugraph("ecg")],
    params: &[
        param(
            "min_weight",
            Float,
            "0.0001",
            Some((0.0, 1e9)),
            "weight of an edge that no run keeps",
        ),
        param("ensemble_size", Int, "100", Some((1.0, 1e5)), "runs that vote"),
        param("max_level", Int, "10", Some((1.0, 500.0)), "levels of the last run at most"),
        param("threshold", Float, "1e-7", Some((0.0, 1.0)), "gain below which the last run ends"),
        param(
            "resolution",
            Float,
            "1.0",
            Some((1e-6, 1.0)),
            "larger values give smaller communities",
        ),
        RANDOM_STATE,
    ],
    accepted: &[only("weight", "[]")],
    outputs: &[label("ecg")],
    doc: "Ensemble clustering: many one-level Louvain runs vote on the edges, and one run follows the votes.",
    paper: "Poulin and Théberge 2018",
    run: |input, p| {
        let view = undirected(input, p, Sign::NotNegative)?;
        let options = ecg::Options {
            min_weight: p.float("min_weight").unwrap_or(1e-4),
            ensemble_size: p.count("ensemble_size"),
            max_level: p.count("max_level"),
            threshold: p.float("threshold").unwrap_or(1e-7),
            resolution: p.float("resolution").unwrap_or(1.0),
            seed: p.count("random_state"),
        };
        let arcs = view.num_arcs() as u64 * options.ensemble_size;
        let labels = searches::best(arcs, options.seed, |seed| {
            let labels = ecg::run(&view, &ecg::Options { seed, ..options }, input.cancel)?;
            Ok((modularity(&view, &labels, options.resolution), labels))
        })?;
        Ok(Output::labels("ecg", &labels))
    },
    ..BASE
};

const SPECTRAL: &[ParamSpec] = &[
    param("num_clusters", Int, "8", POSITIVE, "clusters; fewer where there are not as many nodes"),
    param("num_eigen_vects", Int, "null", POSITIVE, "eigenvectors; null is as many as clusters"),
    param("evs_tolerance", Float, "1e-5", Some((0.0, 1.0)), "residual that is small enough"),
    param("evs_max_iter", Int, "100", POSITIVE, "restarts of the search for eigenvectors at most"),
    param("kmean_tolerance", Float, "1e-5", Some((0.0, 1.0)), "change below which k-means ends"),
    param("kmean_max_iter", Int, "100", POSITIVE, "rounds of k-means at most"),
    RANDOM_STATE,
];

fn spectral_labels(
    input: &Input<'_>,
    p: &ParamValues,
    objective: spectral::Objective,
) -> Result<Vec<u32>, AlgoError> {
    let view = undirected(input, p, Sign::NotNegative)?;
    let count =
        |name: &str, default| p.limit(name).map_or(default, |v| v.min(u64::from(u32::MAX)) as u32);
    let options = spectral::Options {
        objective,
        num_clusters: count("num_clusters", 8),
        num_eigen_vects: p.limit("num_eigen_vects").map(|_| count("num_eigen_vects", 8)),
        evs_tolerance: p.float("evs_tolerance").unwrap_or(1e-5),
        evs_max_iter: count("evs_max_iter", 100),
        kmean_tolerance: p.float("kmean_tolerance").unwrap_or(1e-5),
        kmean_max_iter: count("kmean_max_iter", 100),
        seed: p.count("random_state"),
    };
    spectral::run(&view, &options, input.cancel)
}

/// cuGraph's `spectralBalancedCutClustering`.
pub static SPECTRAL_CUT: AlgorithmSpec = AlgorithmSpec {
    id: "spectral_balanced_cut",
    names: &[cugraph("spectralBalancedCutClustering")],
    params: SPECTRAL,
    outputs: &[label("spectralBalancedCutClustering")],
    doc: "Clusters with little weight between them, by eigenvectors of the normalized Laplacian.",
    paper: "Shi and Malik 2000; Ng, Jordan and Weiss 2001",
    run: |input, p| {
        let labels = spectral_labels(input, p, spectral::Objective::BalancedCut)?;
        Ok(Output::labels("spectralBalancedCutClustering", &labels))
    },
    ..BASE
};

/// cuGraph's `spectralModularityMaximizationClustering`.
pub static SPECTRAL_MODULARITY: AlgorithmSpec = AlgorithmSpec {
    id: "spectral_modularity",
    names: &[cugraph("spectralModularityMaximizationClustering")],
    params: SPECTRAL,
    outputs: &[label("spectralModularityMaximizationClustering")],
    doc: "Clusters of high modularity, by eigenvectors of the modularity matrix.",
    paper: "Newman 2006; White and Smyth 2005",
    run: |input, p| {
        let labels = spectral_labels(input, p, spectral::Objective::Modularity)?;
        Ok(Output::labels("spectralModularityMaximizationClustering", &labels))
    },
    ..BASE
};

/// igraph's `community_label_propagation`.
pub static LABEL_PROPAGATION: AlgorithmSpec = AlgorithmSpec {
    id: "community_label_propagation",
    names: &[igraph("community_label_propagation")],
    params: &[
        WEIGHTS,
        param("initial", NodeValues, "null", None, "labels to begin with; a negative one is none"),
        param("fixed", NodeValues, "null", None, "nodes that keep their label: other than 0"),
        DIRECTED,
        RANDOM_STATE,
    ],
    outputs: &[label("community_label_propagation")],
    doc: "Communities by propagation of labels: each node takes the commonest of its neighbours.",
    paper: "Raghavan, Albert and Kumara 2007",
    run: |input, p| {
        let weights = input.weights(p, Sign::NotNegative)?;
        let view = input.view(p.bool("directed"), weights.as_deref())?;
        let fixed = input.node_values(p, "fixed")?;
        let fixed = fixed.map(|f| f.into_iter().map(|f| f.is_some_and(|f| f != 0.0)).collect());
        let initial = membership(input, p, "initial")?;
        let options = label_propagation::Options { seed: p.count("random_state"), initial, fixed };
        let labels = label_propagation::run(&view, &options, input.cancel)?;
        Ok(Output::labels("community_label_propagation", &labels))
    },
    ..BASE
};

/// The label propagation of LDBC Graphalytics.
pub static CDLP: AlgorithmSpec = AlgorithmSpec {
    id: "cdlp",
    names: &[extra("cugraph", "cdlp")],
    params: &[param("iterations", Int, "10", Some((0.0, 1e6)), "rounds"), DIRECTED],
    outputs: &[output("cdlp", Dtype::Node, "the node whose label it has in the end")],
    doc: "Synchronous label propagation for a fixed number of rounds; of labels as common the least wins.",
    paper: "Iosup et al. 2016",
    run: |input, p| {
        let directed = p.bool("directed");
        let copies = if directed { Copies::Keep } else { Copies::Least };
        let shape = Shape { directed, copies, loops: Loops::Once };
        let view = input.shaped(None, shape)?;
        let rounds = u32::try_from(p.count("iterations")).unwrap_or(u32::MAX);
        let options = cdlp::Options { max_iterations: rounds };
        let labels = cdlp::run(&view, &options, input.cancel)?;
        Ok(Output::one("cdlp", Values::Nodes(labels.into_iter().map(Some).collect())))
    },
    ..BASE
};

/// igraph's `community_infomap`.
pub static INFOMAP: AlgorithmSpec = AlgorithmSpec {
    id: "community_infomap",
    names: &[igraph("community_infomap")],
    params: &[
        param("edge_weights", Dtype::EdgeColumn, "null", None, "edge column; null is 1 each"),
        param("vertex_weights", NodeValues, "null", None, "in proportion to what a jump leads to"),
        param("trials", Int, "10", Some((1.0, 1e4)), "searches, of which the best counts"),
        param(
            "directed",
            Dtype::Bool,
            "false",
            None,
            "walk along edges one way only and jump with a probability of 0.15; igraph 1.0 walks either way on any graph",
        ),
        RANDOM_STATE,
    ],
    outputs: &[label("community_infomap")],
    doc: "Communities that describe a random walk in the fewest bits (two-level map equation).",
    paper: "Rosvall and Bergstrom 2008",
    run: |input, p| {
        let weights = input.weights(p, Sign::NotNegative)?;
        let view = input.view(p.bool("directed"), weights.as_deref())?;
        let options = infomap::Options {
            trials: p.count("trials"),
            vertex_weights: node_weights(input, p, "vertex_weights")?,
            seed: p.count("random_state"),
        };
        let found = infomap::run(&view, &options, input.cancel)?;
        Ok(Output::labels("community_infomap", &found.labels))
    },
    ..BASE
};

/// igraph's `community_fastgreedy`.
pub static FASTGREEDY: AlgorithmSpec = AlgorithmSpec {
    id: "community_fastgreedy",
    names: &[igraph("community_fastgreedy")],
    params: &[WEIGHTS],
    outputs: &[label("community_fastgreedy")],
    doc: "Communities by greedy merging for modularity. Copies of an edge are one with the sum of their weights.",
    paper: "Clauset, Newman and Moore 2004",
    run: |input, p| {
        let view = undirected(input, p, Sign::NotNegative)?;
        Ok(Output::labels("community_fastgreedy", &fastgreedy::run(&view, input.cancel)?))
    },
    ..BASE
};

const CLUSTERS: ParamSpec =
    param("clusters", Int, "null", POSITIVE, "communities; null is as many as are best");

/// igraph's `community_leading_eigenvector`.
pub static LEADING_EIGENVECTOR: AlgorithmSpec = AlgorithmSpec {
    id: "community_leading_eigenvector",
    names: &[igraph("community_leading_eigenvector")],
    params: &[CLUSTERS, WEIGHTS, RANDOM_STATE],
    accepted: &[ignored("arpack_options")],
    outputs: &[label("community_leading_eigenvector")],
    doc: "Communities by splitting at the leading eigenvector of the modularity matrix.",
    paper: "Newman 2006",
    run: |input, p| {
        let view = undirected(input, p, Sign::NotNegative)?;
        let clusters = p.limit("clusters").map(|c| c.min(u64::from(u32::MAX)) as u32);
        let options = leading_eigenvector::Options { clusters, seed: p.count("random_state") };
        let labels = leading_eigenvector::run(&view, &options, input.cancel)?;
        Ok(Output::labels("community_leading_eigenvector", &labels))
    },
    ..BASE
};

/// igraph's `community_walktrap`.
pub static WALKTRAP: AlgorithmSpec = AlgorithmSpec {
    id: "community_walktrap",
    names: &[igraph("community_walktrap")],
    params: &[WEIGHTS, param("steps", Int, "4", Some((1.0, 100.0)), "length of the walks")],
    outputs: &[label("community_walktrap")],
    doc: "Communities by where short random walks end.",
    paper: "Pons and Latapy 2005",
    cost: Cost::Quadratic,
    run: |input, p| {
        let view = undirected(input, p, Sign::NotNegative)?;
        let labels = walktrap::run(&view, p.count("steps"), input.cancel)?;
        Ok(Output::labels("community_walktrap", &labels))
    },
    ..BASE
};

/// igraph's `community_edge_betweenness`.
pub static EDGE_BETWEENNESS: AlgorithmSpec = AlgorithmSpec {
    id: "community_edge_betweenness",
    names: &[igraph("community_edge_betweenness")],
    params: &[CLUSTERS, DIRECTED, WEIGHTS],
    outputs: &[label("community_edge_betweenness")],
    doc: "Communities by taking away, one by one, the edges that most shortest paths pass.",
    paper: "Girvan and Newman 2002",
    cost: Cost::Quadratic,
    run: |input, p| {
        let weights = input.weights(p, Sign::Positive)?;
        let view = input.view(p.bool("directed"), weights.as_deref())?;
        let labels = divisive::run(&view, p.limit("clusters"), input.cancel)?;
        Ok(Output::labels("community_edge_betweenness", &labels))
    },
    ..BASE
};

/// igraph's `community_spinglass`.
pub static SPINGLASS: AlgorithmSpec = AlgorithmSpec {
    id: "community_spinglass",
    names: &[igraph("community_spinglass")],
    params: &[
        WEIGHTS,
        param("spins", Int, "25", Some((2.0, 1e4)), "communities at most"),
        param("start_temp", Float, "1.0", Some((1e-9, 1e9)), "temperature to begin with"),
        param("stop_temp", Float, "0.01", Some((1e-9, 1e9)), "temperature to end with"),
        param(
            "cool_fact",
            Float,
            "0.99",
            Some((1e-3, 0.9999)),
            "what the temperature is multiplied by",
        ),
        param(
            "update_rule",
            Choice(&["config", "simple"]),
            "\"config\"",
            None,
            "what is expected between nodes: by their strengths, or the same for all",
        ),
        param("gamma", Float, "1.0", Some((0.0, 1e6)), "larger values give smaller communities"),
        param(
            "implementation",
            Choice(&["orig", "neg"]),
            "\"orig\"",
            None,
            "neg: negative weights count as such",
        ),
        param("lambda_", Float, "1.0", Some((0.0, 1e6)), "as gamma, for negative weights"),
        RANDOM_STATE,
    ],
    accepted: &[ignored("parupdate")],
    outputs: &[label("community_spinglass")],
    doc: "Communities by simulated annealing of a Potts model; every component by itself.",
    paper: "Reichardt and Bornholdt 2006; Traag and Bruggeman 2009",
    cost: Cost::Quadratic,
    run: |input, p| {
        let negative = p.text("implementation").as_deref() == Some("neg");
        let view = undirected(input, p, if negative { Sign::Any } else { Sign::NotNegative })?;
        let simple = p.text("update_rule").as_deref() == Some("simple");
        let number = |name: &str, default| p.float(name).unwrap_or(default);
        let options = spinglass::Options {
            spins: p.count("spins") as u32,
            start_temp: number("start_temp", 1.0),
            stop_temp: number("stop_temp", 0.01),
            cool_fact: number("cool_fact", 0.99),
            update_rule: if simple { UpdateRule::Simple } else { UpdateRule::Config },
            gamma: number("gamma", 1.0),
            negative,
            lambda: number("lambda_", 1.0),
            seed: p.count("random_state"),
        };
        // An annealing looks at every arc some thousand times.
        let labels = searches::best(2_000 * view.num_arcs() as u64, options.seed, |seed| {
            let options = spinglass::Options { seed, ..options };
            let labels = spinglass::run(&view, &options, input.cancel)?;
            Ok((modularity(&view, &labels, options.gamma), labels))
        })?;
        Ok(Output::labels("community_spinglass", &labels))
    },
    ..BASE
};
