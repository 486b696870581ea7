//! The Louvain method (Blondel, Guillaume, Lambiotte and Lefebvre 2008, arXiv 0803.0476).
//!
//! Nodes whose surroundings changed are visited in batches. Within a batch all nodes decide at once, by what was true before
//! it, and then move one after the other unless earlier moves have made theirs a loss; short rounds and small graphs have
//! batches of one. Batches depend on the graph alone and weights are whole numbers, so the result is the same at any number
//! of threads. A GPU moves levels of more than [`SUB_ROUNDS_ARCS`] list entries by [`sub_rounds`] instead, and finds other
//! communities that are as good; [`search_from`] does the same here.

mod moving;
pub(crate) mod sub_rounds;
#[cfg(test)]
mod tests;

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use rayon::prelude::*;

use moving::{Moving, Rule, by_weight};

use crate::AlgoError;
use crate::weighted_graph::{CHUNK_ARCS, WeightedGraph, Weights, renumber};

/// On a GPU a level with more list entries moves by sub-rounds; what is smaller the CPU finishes.
pub const SUB_ROUNDS_ARCS: usize = 1 << 20;
/// Nodes up to which every batch is a single node.
const SEQUENTIAL_NODES_MAX: usize = 8_192;
/// Levels at most, unless asked otherwise.
const LEVELS_MAX: u64 = 100;
/// Gain of modularity in a round of the first level below which the next level begins; a tenth of it on
/// each further level.
const GAIN_MIN: f64 = 2e-3;
/// The same for small graphs, on all levels.
const GAIN_MIN_SMALL: f64 = 1e-7;

/// Parameters of [`find`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Chooses the order in which nodes are visited.
    pub seed: u64,
    /// Above 1 gives smaller communities.
    pub resolution: f64,
    /// Levels at most.
    pub max_level: u64,
    /// Gain of modularity from one level to the next below which the search ends.
    pub threshold: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self { seed: 0, resolution: 1.0, max_level: LEVELS_MAX, threshold: 1e-7 }
    }
}

/// What [`search`] finds, and what it took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Communities {
    /// The community of every node, numbered by first appearance.
    pub labels: Vec<u32>,
    /// Levels, each of a graph smaller than the one before.
    pub levels: u64,
    /// List entries that deciding nodes looked at, on all levels.
    pub visits: u64,
}

/// [`find`] with default levels and threshold.
///
/// # Errors
/// As [`find`].
pub fn run(
    topology: &Topology,
    weights: Option<&[f32]>,
    seed: u64,
    resolution: f64,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    find(topology, weights, &Options { seed, resolution, ..Options::default() }, cancel)
}

/// Communities of the undirected graph that `topology` spells, by node index, numbered by first appearance.
///
/// `weights` are by edge table row: one that is not a number counts as 1, a negative one as 0.
///
/// # Errors
/// [`AlgoError::Cancelled`], and [`AlgoError::BadParam`] for a resolution that is not positive.
pub fn find(
    topology: &Topology,
    weights: Option<&[f32]>,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    search(topology, weights, options, cancel).map(|c| c.labels)
}

/// As [`find`], with the work it took.
///
/// # Errors
/// As [`find`].
pub fn search(
    topology: &Topology,
    weights: Option<&[f32]>,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Communities, AlgoError> {
    search_from(topology, weights, options, usize::MAX, cancel)
}

/// As [`search`], with sub-rounds on levels of more than `arcs` list entries: with [`SUB_ROUNDS_ARCS`] it finds the communities
/// that a GPU finds.
///
/// # Errors
/// As [`find`].
pub fn search_from(
    topology: &Topology,
    weights: Option<&[f32]>,
    options: &Options,
    arcs: usize,
    cancel: &CancelToken,
) -> Result<Communities, AlgoError> {
    options.check()?;
    // A GPU has both lists of every node: there the rule is that of a graph with each of its edges in both directions.
    let net = match weights {
        None if arcs == usize::MAX => WeightedGraph::in_units(topology),
        _ => WeightedGraph::new(topology, weights),
    };
    let mut found = if net.ends.len() > arcs {
        by_sub_rounds(net, options, arcs, cancel)?
    } else if net.num_nodes() <= SEQUENTIAL_NODES_MAX {
        small(&net, options, cancel)?
    } else {
        levels(net, 0, options, cancel)?
    };
    let bound = found.labels.len();
    renumber(&mut found.labels, bound);
    Ok(found)
}

/// Levels by sub-rounds until one has at most `arcs` list entries, and the others as [`levels`] makes them.
fn by_sub_rounds(
    mut graph: WeightedGraph,
    options: &Options,
    arcs: usize,
    cancel: &CancelToken,
) -> Result<Communities, AlgoError> {
    let labels = (0..graph.num_nodes() as u32).collect();
    let mut found = Communities { labels, levels: 0, visits: 0 };
    let compose = |labels: &mut Vec<u32>, groups: &[u32]| {
        let labels = labels.par_iter_mut().with_min_len(CHUNK_ARCS);
        labels.for_each(|l| *l = groups[*l as usize]);
    };
    while found.levels < options.max_level {
        if graph.ends.len() <= arcs {
            let rest = levels(graph, found.levels as usize, options, cancel)?;
            compose(&mut found.labels, &rest.labels);
            found.levels += rest.levels;
            found.visits += rest.visits;
            break;
        }
        let depth = found.levels;
        let seed = options.seed.wrapping_add(depth);
        let rule = Rule::new(&graph, options, seed, sub_rounds::gain_min(depth));
        let (mut groups, gain, visits) = sub_rounds::settle(&graph, rule, cancel)?;
        found.visits += visits;
        let k = renumber(&mut groups, graph.num_nodes());
        if k == graph.num_nodes() {
            break;
        }
        found.levels += 1;
        compose(&mut found.labels, &groups);
        graph = graph.contract(&groups, k);
        if depth > 0 && gain < options.threshold {
            break;
        }
    }
    Ok(found)
}

/// The levels from `level` on over `graph`, the result of earlier ones that were made elsewhere: the
/// community of each node of `graph`, numbered from 0.
///
/// # Errors
/// As [`find`].
#[allow(dead_code, reason = "the way back from a device, which not every build has")]
pub(crate) fn continue_from(
    graph: WeightedGraph,
    level: usize,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    options.check()?;
    levels(graph, level, options, cancel).map(|c| c.labels)
}

impl Options {
    fn check(&self) -> Result<(), AlgoError> {
        if self.resolution > 0.0 && self.resolution.is_finite() {
            return Ok(());
        }
        Err(AlgoError::BadParam {
            algorithm: "louvain",
            name: "resolution".to_owned(),
            value: self.resolution.to_string(),
            expected: "a number above 0".to_owned(),
        })
    }
}

/// Time does not matter here, so single nodes may correct what whole groups decided.
fn small(
    graph: &WeightedGraph,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Communities, AlgoError> {
    let singles = (0..graph.num_nodes() as u32).collect();
    let (mut labels, mut visits) =
        settle(graph, singles, options, options.seed, GAIN_MIN_SMALL, cancel)?;
    let mut above = Communities::default();
    let k = renumber(&mut labels, graph.num_nodes());
    if k < graph.num_nodes() && options.max_level > 1 {
        above = levels(graph.contract(&labels, k), 1, options, cancel)?;
        labels.iter_mut().for_each(|l| *l = above.labels[*l as usize]);
    }
    let (labels, again) = settle(graph, labels, options, options.seed, GAIN_MIN_SMALL, cancel)?;
    visits += again + above.visits;
    Ok(Communities { labels, levels: above.levels + 1, visits })
}

/// Levels from `first` on. Nodes without neighbours stay alone on all of them, so only the others are looked at; a
/// graph of the web's kind has more of them than of others.
fn levels(
    graph: WeightedGraph,
    first: usize,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Communities, AlgoError> {
    let Some((part, linked)) = graph.linked() else {
        return levels_of_all(graph, first, options, cancel);
    };
    let found = levels_of_all(part, first, options, cancel)?;
    // A community of the part is named by the part's numbers, which are below that of its nodes.
    let mut alone = linked.len() as u32;
    let mut of_linked = linked.iter().zip(&found.labels).peekable();
    let labels = (0..graph.num_nodes() as u32).map(|v| {
        if let Some((_, label)) = of_linked.next_if(|(u, _)| **u == v) {
            return *label;
        }
        alone += 1;
        alone - 1
    });
    Ok(Communities { labels: labels.collect(), ..found })
}

/// Levels from `first` on: nodes move, communities become the nodes of the next level.
fn levels_of_all(
    mut graph: WeightedGraph,
    first: usize,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Communities, AlgoError> {
    let labels = (0..graph.num_nodes() as u32).collect();
    let mut found = Communities { labels, levels: 0, visits: 0 };
    let small = graph.num_nodes() <= SEQUENTIAL_NODES_MAX && first <= 1;
    let mut before = f64::NEG_INFINITY;
    for level in first as u64..options.max_level {
        let gain_min = match small {
            true => GAIN_MIN_SMALL,
            false => GAIN_MIN / 10f64.powi(level.min(300) as i32),
        };
        let singles = (0..graph.num_nodes() as u32).collect();
        let seed = options.seed.wrapping_add(level);
        let (mut groups, visits) = settle(&graph, singles, options, seed, gain_min, cancel)?;
        found.levels += 1;
        found.visits += visits;
        let k = renumber(&mut groups, graph.num_nodes());
        let labels = found.labels.par_iter_mut().with_min_len(CHUNK_ARCS);
        labels.for_each(|l| *l = groups[*l as usize]);
        if k == graph.num_nodes() {
            break;
        }
        graph = graph.contract(&groups, k);
        let now = graph.modularity(options.resolution);
        if now - before < options.threshold {
            break;
        }
        before = now;
    }
    Ok(found)
}

impl WeightedGraph {
    /// Modularity when every node is a community of its own, without what those add that were left out.
    fn modularity(&self, resolution: f64) -> f64 {
        let twice = self.total_strength() as f64;
        if twice == 0.0 {
            return 0.0;
        }
        let square = |v| (self.strength(v) as f64 / twice).powi(2);
        let inside = self.loops.iter().sum::<u64>() as f64 / twice;
        inside - resolution * (0..self.num_nodes()).map(square).sum::<f64>()
    }
}

/// The local moving phase on one level: communities from `labels` on, until a round gains little, and
/// the list entries looked at.
fn settle(
    graph: &WeightedGraph,
    labels: Vec<u32>,
    options: &Options,
    seed: u64,
    gain_min: f64,
    cancel: &CancelToken,
) -> Result<(Vec<u32>, u64), AlgoError> {
    let rule = Rule::new(graph, options, seed, gain_min);
    by_weight!(graph, |weight| Moving::new(graph, labels, rule, weight).run(cancel))
}

/// Modularity (Newman and Girvan 2004) of a partition of the undirected graph that `topology` spells.
#[must_use]
pub fn modularity(topology: &Topology, labels: &[u32]) -> f64 {
    let groups = labels.iter().max().map_or(0, |l| *l as usize + 1);
    let twice = 2.0 * f64::from(topology.num_edges());
    if twice == 0.0 {
        return 0.0;
    }
    let (mut inside, mut total) = (0.0, vec![0.0; groups]);
    for v in 0..topology.num_nodes() {
        let own = labels[v as usize];
        total[own as usize] += f64::from(topology.degree(v));
        inside += 2.0
            * topology.out_neighbors(v).iter().filter(|u| labels[**u as usize] == own).count()
                as f64;
    }
    inside / twice - total.iter().map(|t| (t / twice).powi(2)).sum::<f64>()
}
