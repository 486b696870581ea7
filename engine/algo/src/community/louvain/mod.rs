//! The Louvain method (Blondel, Guillaume, Lambiotte and Lefebvre 2008, arXiv 0803.0476).
//!
//! Nodes whose surroundings changed are visited in batches. Within a batch all nodes decide at once, by what was true before
//! it, and then move one after the other unless earlier moves have made theirs a loss; short rounds and small graphs have
//! batches of one. Batches depend on the graph alone and weights are whole numbers, so the result is the same at any number
//! of threads. A GPU moves levels of more than [`SUB_ROUNDS_ARCS`] list entries by [`sub_rounds`] instead, and finds other
//! communities that are as good; [`search_from`] does the same here.

mod moving;
pub(crate) mod sub_rounds;

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
    mut net: WeightedGraph,
    options: &Options,
    arcs: usize,
    cancel: &CancelToken,
) -> Result<Communities, AlgoError> {
    let labels = (0..net.num_nodes() as u32).collect();
    let mut found = Communities { labels, levels: 0, visits: 0 };
    let compose = |labels: &mut Vec<u32>, groups: &[u32]| {
        let labels = labels.par_iter_mut().with_min_len(CHUNK_ARCS);
        labels.for_each(|l| *l = groups[*l as usize]);
    };
    while found.levels < options.max_level {
        if net.ends.len() <= arcs {
            let rest = levels(net, found.levels as usize, options, cancel)?;
            compose(&mut found.labels, &rest.labels);
            found.levels += rest.levels;
            found.visits += rest.visits;
            break;
        }
        let depth = found.levels;
        let seed = options.seed.wrapping_add(depth);
        let rule = Rule::new(&net, options, seed, sub_rounds::gain_min(depth));
        let (mut groups, gain, visits) = sub_rounds::settle(&net, rule, cancel)?;
        found.visits += visits;
        let k = renumber(&mut groups, net.num_nodes());
        if k == net.num_nodes() {
            break;
        }
        found.levels += 1;
        compose(&mut found.labels, &groups);
        net = net.contract(&groups, k);
        if depth > 0 && gain < options.threshold {
            break;
        }
    }
    Ok(found)
}

/// The levels from `level` on over `net`, the result of earlier ones that were made elsewhere: the
/// community of each node of `net`, numbered from 0.
///
/// # Errors
/// As [`find`].
#[allow(dead_code, reason = "the way back from a device, which not every build has")]
pub(crate) fn continue_from(
    net: WeightedGraph,
    level: usize,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    options.check()?;
    levels(net, level, options, cancel).map(|c| c.labels)
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
    net: &WeightedGraph,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Communities, AlgoError> {
    let singles = (0..net.num_nodes() as u32).collect();
    let (mut labels, mut visits) =
        settle(net, singles, options, options.seed, GAIN_MIN_SMALL, cancel)?;
    let mut above = Communities::default();
    let k = renumber(&mut labels, net.num_nodes());
    if k < net.num_nodes() && options.max_level > 1 {
        above = levels(net.contract(&labels, k), 1, options, cancel)?;
        labels.iter_mut().for_each(|l| *l = above.labels[*l as usize]);
    }
    let (labels, again) = settle(net, labels, options, options.seed, GAIN_MIN_SMALL, cancel)?;
    visits += again + above.visits;
    Ok(Communities { labels, levels: above.levels + 1, visits })
}

/// Levels from `first` on. Nodes without neighbours stay alone on all of them, so only the others are looked at; a
/// graph of the web's kind has more of them than of others.
fn levels(
    net: WeightedGraph,
    first: usize,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Communities, AlgoError> {
    let Some((part, linked)) = net.linked() else {
        return levels_of_all(net, first, options, cancel);
    };
    let found = levels_of_all(part, first, options, cancel)?;
    // A community of the part is named by the part's numbers, which are below that of its nodes.
    let mut alone = linked.len() as u32;
    let mut of_linked = linked.iter().zip(&found.labels).peekable();
    let labels = (0..net.num_nodes() as u32).map(|v| {
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
    mut net: WeightedGraph,
    first: usize,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Communities, AlgoError> {
    let labels = (0..net.num_nodes() as u32).collect();
    let mut found = Communities { labels, levels: 0, visits: 0 };
    let small = net.num_nodes() <= SEQUENTIAL_NODES_MAX && first <= 1;
    let mut before = f64::NEG_INFINITY;
    for level in first as u64..options.max_level {
        let gain_min = match small {
            true => GAIN_MIN_SMALL,
            false => GAIN_MIN / 10f64.powi(level.min(300) as i32),
        };
        let singles = (0..net.num_nodes() as u32).collect();
        let seed = options.seed.wrapping_add(level);
        let (mut groups, visits) = settle(&net, singles, options, seed, gain_min, cancel)?;
        found.levels += 1;
        found.visits += visits;
        let k = renumber(&mut groups, net.num_nodes());
        let labels = found.labels.par_iter_mut().with_min_len(CHUNK_ARCS);
        labels.for_each(|l| *l = groups[*l as usize]);
        if k == net.num_nodes() {
            break;
        }
        net = net.contract(&groups, k);
        let now = net.modularity(options.resolution);
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
    net: &WeightedGraph,
    labels: Vec<u32>,
    options: &Options,
    seed: u64,
    gain_min: f64,
    cancel: &CancelToken,
) -> Result<(Vec<u32>, u64), AlgoError> {
    let rule = Rule::new(net, options, seed, gain_min);
    by_weight!(net, |weight| Moving::new(net, labels, rule, weight).run(cancel))
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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::collections::HashMap;

    use graphlume_types::hash::h64;

    use super::*;
    use crate::testkit;

    fn find(t: &Topology, seed: u64) -> Vec<u32> {
        run(t, None, seed, 1.0, &CancelToken::new()).unwrap()
    }

    #[test]
    fn modularity_is_that_of_the_definition() {
        // Two triangles joined by one edge: 6/7 of the edges inside, half of the ends on each side.
        let t = testkit::from_edges(6, &[(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3)]);
        assert!((modularity(&t, &[0, 0, 0, 1, 1, 1]) - (6.0 / 7.0 - 0.5)).abs() < 1e-12);
        assert_eq!(find(&t, 0), [0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn the_karate_club_splits_as_well_as_is_known() {
        for seed in 0..10 {
            let t = testkit::karate();
            let q = modularity(&t, &find(&t, seed));
            assert!((if seed == 0 { 0.41 } else { 0.4 }..=0.4198).contains(&q), "seed {seed}: {q}");
        }
    }

    #[test]
    fn planted_communities_are_found_at_any_number_of_threads() {
        // Large enough for parallel batches.
        let groups = 40;
        let mut edges = Vec::new();
        for i in 0..120_000u64 {
            let a = h64(1, 0, i) % 12_000;
            let b = if h64(1, 1, i) % 10 < 8 {
                a % groups + groups * (h64(1, 2, i) % 300)
            } else {
                h64(1, 3, i) % 12_000
            };
            edges.push((a as u32, b as u32));
        }
        let t = testkit::from_edges(12_000, &edges);
        let truth: Vec<u32> = (0..12_000).map(|v| v % groups as u32).collect();
        let [one, two, three] = testkit::at_1_2_3_threads(|| find(&t, 3));
        assert!(one == two && two == three);
        let (found, planted) = (modularity(&t, &one), modularity(&t, &truth));
        assert!(found > planted - 0.005, "{found} {planted}");
        assert_eq!(one[0], 0, "labels are numbered by first appearance");
    }

    #[test]
    fn sub_rounds_find_as_good_communities_at_any_number_of_threads() {
        let t = testkit::planted(3000, 60, 0.2, 0.002);
        let by_sub_rounds = |arcs| {
            search_from(&t, None, &Options::default(), arcs, &CancelToken::new()).unwrap().labels
        };
        let batches = modularity(&t, &by_sub_rounds(usize::MAX));
        for arcs in [0, 4_000] {
            let [one, two, three] = testkit::at_1_2_3_threads(|| by_sub_rounds(arcs));
            assert!(one == two && two == three);
            assert!(modularity(&t, &one) > batches - 0.005, "{arcs}: {}", modularity(&t, &one));
        }
    }

    #[test]
    fn hubs_that_come_first_make_no_worse_communities() {
        let end = |stream, i| (h64(5, stream, i) as f64 / 2f64.powi(64)).powi(3) * 20_000.0;
        let ends = |i| (end(0, i) as u32, end(1, i) as u32);
        let by = |number: fn(u32) -> u32| {
            let edges: Vec<_> =
                (0..160_000).map(ends).map(|(a, b)| (number(a), number(b))).collect();
            let t = testkit::from_edges(20_000, &edges);
            (0..4).map(|seed| modularity(&t, &find(&t, seed))).sum::<f64>() / 4.0
        };
        // The second numbers them by a fixed permutation.
        let (hubs_first, mixed) = (by(|v| v), by(|v| (v * 7_919 + 13) % 20_000));
        assert!(hubs_first > mixed - 0.0015, "{hubs_first} {mixed}");
    }

    #[test]
    fn the_rule_of_a_card_is_as_good_on_a_skewed_graph() {
        // Few nodes have most of the edges.
        let end = |stream, i| (h64(5, stream, i) as f64 / 2f64.powi(64)).powi(3) * 20_000.0;
        let edges: Vec<_> = (0..160_000).map(|i| (end(0, i) as u32, end(1, i) as u32)).collect();
        let t = testkit::from_edges(20_000, &edges);
        let mean = |arcs| {
            let of = |seed| {
                let options = Options { seed, ..Options::default() };
                let found = search_from(&t, None, &options, arcs, &CancelToken::new()).unwrap();
                modularity(&t, &found.labels)
            };
            (0..4).map(of).sum::<f64>() / 4.0
        };
        let (batches, card) = (mean(usize::MAX), mean(20_000));
        assert!((card - batches).abs() < 0.001, "{card} {batches}");
    }

    #[test]
    fn nodes_without_neighbours_stay_alone_and_change_nothing_else() {
        let t = testkit::planted(3000, 60, 0.2, 0.002);
        let (mut src, mut dst) = (Vec::new(), Vec::new());
        for v in 0..3000 {
            dst.extend(t.out_neighbors(v).iter().map(|u| u * 3));
            src.resize(dst.len(), v * 3);
        }
        // Two of three have no neighbour; some of these have a loop, which counts in the whole weight.
        for v in (1..9000).step_by(30) {
            src.push(v);
            dst.push(v);
        }
        let sparse = Topology::from_coo(9000, &src, &dst);
        for arcs in [0, usize::MAX] {
            let [one, two, three] = testkit::at_1_2_3_threads(|| {
                let options = Options::default();
                search_from(&sparse, None, &options, arcs, &CancelToken::new()).unwrap().labels
            });
            assert!(one == two && two == three);
            let mut members = HashMap::new();
            one.iter().for_each(|l| *members.entry(*l).or_insert(0) += 1);
            assert!((0..9000).all(|v| v % 3 == 0 || members[&one[v]] == 1));
            let truth: Vec<u32> =
                (0..9000).map(|v| if v % 3 == 0 { v / 3 % 60 } else { v }).collect();
            assert!(modularity(&sparse, &one) > modularity(&sparse, &truth) - 0.005, "{arcs}");
            let mut seen = 0;
            for label in &one {
                assert!(*label <= seen, "numbered by first appearance");
                seen += u32::from(*label == seen);
            }
        }
    }

    #[test]
    fn weights_and_resolution_decide() {
        let t = testkit::from_edges(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]);
        let with = |w: &[f32]| run(&t, Some(w), 0, 1.0, &CancelToken::new()).unwrap();
        assert_eq!(with(&[9.0, 0.1, 9.0, 0.1]), [0, 0, 1, 1]);
        assert_eq!(with(&[0.1, 9.0, 0.1, 9.0]), [0, 1, 1, 0]);
        let k = testkit::karate();
        let count =
            |r| run(&k, None, 0, r, &CancelToken::new()).unwrap().into_iter().max().unwrap();
        assert!(count(4.0) > count(1.0) && count(1.0) > count(0.1));
        assert!(run(&k, None, 0, 0.0, &CancelToken::new()).is_err());
    }

    #[test]
    fn later_levels_continue_what_was_contracted_elsewhere() {
        let groups = 60u32;
        let t = testkit::planted(3000, groups, 0.2, 0.002);
        let net = WeightedGraph::new(&t, None);
        // Halves of the planted groups, as a first level might find them.
        let halves: Vec<u32> = (0..3000).map(|v| v % groups * 2 + v / 1500).collect();
        let coarse = net.contract(&halves, 2 * groups as usize);
        let weights = (0..coarse.num_nodes()).flat_map(|v| coarse.edges(v)).map(|e| e.1).collect();
        let again = WeightedGraph::from_parts(coarse.offsets, coarse.ends, weights, coarse.loops);
        assert_eq!(again.total_strength(), 2 * u64::from(t.num_edges()));
        let above = continue_from(again, 1, &Options::default(), &CancelToken::new()).unwrap();
        let labels: Vec<u32> = halves.iter().map(|h| above[*h as usize]).collect();
        let truth: Vec<u32> = (0..3000).map(|v| v % groups).collect();
        assert!(modularity(&t, &labels) > modularity(&t, &truth) - 0.005);
    }

    #[test]
    fn levels_and_threshold_end_the_search() {
        let t = testkit::planted(3000, 60, 0.2, 0.002);
        let at = |options: Options| {
            modularity(&t, &super::find(&t, None, &options, &CancelToken::new()).unwrap())
        };
        let full = at(Options::default());
        assert!(at(Options { max_level: 1, ..Options::default() }) <= full);
        assert!(at(Options { threshold: 1.0, ..Options::default() }) <= full + 1e-12);
    }
}
