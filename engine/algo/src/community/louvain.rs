//! The Louvain method (Blondel, Guillaume, Lambiotte and Lefebvre 2008, arXiv 0803.0476).
//!
//! Nodes whose surroundings changed are visited in batches. Within a batch all nodes decide at once, by what
//! was true before it, and then move one after the other unless earlier moves have made theirs a loss; short
//! rounds and small graphs have batches of one. The batches depend on the graph alone and weights are whole
//! numbers, so the result is the same at any number of threads.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use graphlume_types::hash::h64;
use rayon::prelude::*;

use crate::AlgoError;
use crate::weighted_graph::{CHUNK_ARCS, Tallies, Tally, Weight, WeightedGraph, Weights, renumber};

/// Nodes up to which every batch is a single node.
const SEQUENTIAL_NODES_MAX: usize = 8_192;
/// Batches of one round over a larger graph, at most.
const BATCHES: usize = 128;
/// Arcs of a batch, at least; a round with fewer has batches of one.
const BATCH_ARCS_MIN: usize = 1 << 14;
/// Rounds of one level at most.
const ROUNDS_MAX: usize = 24;
/// Levels at most, unless asked otherwise.
const LEVELS_MAX: u64 = 100;
/// Gain of modularity in a round of the first level below which the next level begins; a tenth of it on
/// each further level.
const GAIN_MIN: f64 = 3e-3;
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
    options.check()?;
    let net = WeightedGraph::new(topology, weights);
    let mut found = if net.num_nodes() <= SEQUENTIAL_NODES_MAX {
        small(&net, options, cancel)?
    } else {
        levels(net, 0, options, cancel)?
    };
    let bound = found.labels.len();
    renumber(&mut found.labels, bound);
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
    seed: u64,
    resolution: f64,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    let options = Options { seed, resolution, ..Options::default() };
    options.check()?;
    levels(net, level, &options, cancel).map(|c| c.labels)
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

/// Levels from `first` on: nodes move, communities become the nodes of the next level.
fn levels(
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
    /// Modularity when every node is a community of its own.
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
    let twice = net.total_strength();
    let small = u32::try_from(twice).is_ok();
    let rule = Rule { seed, gain_min, resolution: options.resolution, twice: twice as f64 };
    match &net.weights {
        Weights::Unit if small => Moving::new(net, labels, rule, |_| 1u32).run(cancel),
        Weights::Unit => Moving::new(net, labels, rule, |_| 1u64).run(cancel),
        Weights::Small(w) => Moving::new(net, labels, rule, |k| w[k]).run(cancel),
        Weights::Large(w) => Moving::new(net, labels, rule, |k| w[k]).run(cancel),
    }
}

/// What the moving phase goes by.
#[derive(Clone, Copy)]
struct Rule {
    seed: u64,
    gain_min: f64,
    resolution: f64,
    /// Twice the weight of all edges.
    twice: f64,
}

/// A node that wants to move.
struct Move {
    node: u32,
    to: u32,
    /// By how much the links to the other community outweigh those to its own.
    links: f64,
}

/// The state of one level.
struct Moving<'a, W, F> {
    net: &'a WeightedGraph,
    rule: Rule,
    /// Weight of each list entry.
    weight: F,
    labels: Vec<u32>,
    strength: Vec<W>,
    /// Sum of the strengths of each community.
    total: Vec<W>,
    tallies: Tallies<W>,
    /// Nodes whose surroundings changed since they last decided.
    active: Vec<AtomicBool>,
    /// List entries that deciding nodes looked at.
    visits: u64,
}

impl<'a, W: Weight, F: Fn(usize) -> W + Sync> Moving<'a, W, F> {
    fn new(net: &'a WeightedGraph, labels: Vec<u32>, rule: Rule, weight: F) -> Self {
        let n = net.num_nodes();
        let strength: Vec<W> =
            (0..n).into_par_iter().with_min_len(1024).map(|v| W::of(net.strength(v))).collect();
        let mut total = vec![W::default(); n];
        for (l, s) in labels.iter().zip(&strength) {
            total[*l as usize] += *s;
        }
        let active = (0..n).map(|_| AtomicBool::new(true)).collect();
        let tallies = Tallies::new(n);
        Self { net, rule, weight, labels, strength, total, tallies, active, visits: 0 }
    }

    fn run(mut self, cancel: &CancelToken) -> Result<(Vec<u32>, u64), AlgoError> {
        let n = self.net.num_nodes();
        let small = n <= SEQUENTIAL_NODES_MAX;
        let mut list: Vec<u32> = Vec::new();
        // Nodes of a graph without weight have nowhere to go.
        let rounds = if self.rule.twice == 0.0 { 0 } else { ROUNDS_MAX };
        for round in 0..rounds {
            cancel.check()?;
            list.clear();
            list.extend((0..n as u32).filter(|v| small || self.active[*v as usize].load(Relaxed)));
            if list.is_empty() {
                break;
            }
            let first = h64(self.rule.seed, 77, round as u64) as usize % list.len();
            list.rotate_left(first);
            let arcs = if small { 0 } else { list.iter().map(|v| self.degree(*v)).sum() };
            let gain = if arcs < BATCH_ARCS_MIN {
                self.one_by_one(&list)
            } else {
                // In the first round nearly all move, so all stay awake: cheaper than waking them.
                self.by_batches(&list, arcs, round > 0, cancel)?
            };
            if gain * 2.0 / self.rule.twice < self.rule.gain_min {
                break;
            }
        }
        Ok((self.labels, self.visits))
    }

    fn degree(&self, v: u32) -> usize {
        self.net.offsets[v as usize + 1] - self.net.offsets[v as usize]
    }

    /// Visits the nodes of `list` that are active when their turn comes; returns the gain.
    fn one_by_one(&mut self, list: &[u32]) -> f64 {
        let mut gain = 0.0;
        for v in list {
            if !self.active[*v as usize].swap(false, Relaxed) {
                continue;
            }
            self.visits += self.degree(*v) as u64;
            if let Some(m) = self.tallies.with(|tally| self.best(*v, tally)) {
                gain += self.apply(&m).unwrap_or(0.0);
                self.wake(&m);
            }
        }
        gain
    }

    fn by_batches(
        &mut self,
        list: &[u32],
        arcs: usize,
        rest_after: bool,
        cancel: &CancelToken,
    ) -> Result<f64, AlgoError> {
        let mut gain = 0.0;
        self.visits += arcs as u64;
        let batch_arcs = (arcs / BATCHES).max(BATCH_ARCS_MIN);
        let mut rest = list;
        while !rest.is_empty() {
            cancel.check()?;
            let (batch, next) = self.cut(rest, batch_arcs);
            rest = next;
            let mut chunks = Vec::new();
            let mut left = batch;
            while !left.is_empty() {
                let (chunk, next) = self.cut(left, CHUNK_ARCS / 4);
                chunks.push(chunk);
                left = next;
            }
            let decide = |chunk: &[u32]| {
                if rest_after {
                    chunk.iter().for_each(|v| self.active[*v as usize].store(false, Relaxed));
                }
                self.tallies
                    .with(|tally| chunk.iter().filter_map(|v| self.best(*v, tally)).collect())
            };
            let wishes: Vec<Vec<Move>> = chunks.into_par_iter().map(decide).collect();
            let mut moves: Vec<Move> = Vec::new();
            for m in wishes.into_iter().flatten() {
                match self.apply(&m) {
                    Some(better) => {
                        gain += better;
                        moves.push(m);
                    }
                    // Others came first: it decides anew in the next round.
                    None => self.active[m.node as usize].store(true, Relaxed),
                }
            }
            if rest_after {
                moves.par_iter().with_min_len(64).for_each(|m| self.wake(m));
            }
        }
        Ok(gain)
    }

    /// Splits off the first nodes, with about `arcs` arcs.
    fn cut<'b>(&self, list: &'b [u32], arcs: usize) -> (&'b [u32], &'b [u32]) {
        let mut sum = 0;
        let end = list.iter().position(|v| {
            sum += self.degree(*v);
            sum >= arcs
        });
        list.split_at(end.map_or(list.len(), |e| e + 1))
    }

    /// The community that `v` had better join, when there is one.
    #[inline(always)]
    fn best(&self, v: u32, tally: &mut Tally<W>) -> Option<Move> {
        let range = self.net.offsets[v as usize]..self.net.offsets[v as usize + 1];
        let ends = self.net.ends[range.clone()].iter().enumerate();
        tally.extend(ends.map(|(k, u)| (self.labels[*u as usize], (self.weight)(range.start + k))));
        let (own, k) = (self.labels[v as usize], self.strength[v as usize].float());
        let pull = self.rule.resolution * k / self.rule.twice;
        let links_own = tally.get(own).float();
        let stay = links_own - pull * (self.total[own as usize].float() - k);
        let mut best = (own, stay, 0.0);
        tally.drain(|l, links| {
            let links = links.float();
            let s = links - pull * self.total[l as usize].float();
            if l != own && (s > best.1 || (s == best.1 && l < best.0 && best.0 != own)) {
                best = (l, s, links);
            }
        });
        (best.0 != own && best.1 > stay + 1e-9).then_some(Move {
            node: v,
            to: best.0,
            links: best.2 - links_own,
        })
    }

    /// Moves the node when that still is a gain; returns the gain in units of edge weight.
    fn apply(&mut self, m: &Move) -> Option<f64> {
        let (own, k) = (self.labels[m.node as usize] as usize, self.strength[m.node as usize]);
        let to = m.to as usize;
        let pull = self.rule.resolution * k.float() / self.rule.twice;
        let more = self.total[to].float() - self.total[own].float() + k.float();
        let gain = m.links - pull * more;
        // An empty community is one whose members have all left since the decision.
        if gain <= 1e-9 || self.total[to] == W::default() {
            return None;
        }
        self.total[own] -= k;
        self.total[to] += k;
        self.labels[m.node as usize] = m.to;
        Some(gain)
    }

    /// Wakes the neighbours of a node that moved.
    fn wake(&self, m: &Move) {
        let v = m.node as usize;
        for u in &self.net.ends[self.net.offsets[v]..self.net.offsets[v + 1]] {
            if self.labels[*u as usize] != m.to {
                self.active[*u as usize].store(true, Relaxed);
            }
        }
    }
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
        let above = continue_from(again, 1, 0, 1.0, &CancelToken::new()).unwrap();
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
