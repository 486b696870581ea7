//! The Leiden method (Traag, Waltman and van Eck 2019, Scientific Reports 9:5233) for modularity and for the
//! constant Potts model: local moving, refinement and aggregation, level after level, and all of it again from
//! what was found. Every community is connected.
//!
//! In a large graph whose search has a number of iterations, communities are refined on the first level, where nearly all
//! of refinement's gain is, and split into connected parts on the others: a fifth less time, the same modularity within
//! 0.0002 (bench/results/2026-11-26-algorithms.md).

mod refine;
pub mod spec;

use std::ops::{Add, AddAssign, Sub, SubAssign};

use graphlume_types::CancelToken;
use rayon::prelude::*;

use super::moving::{self, SEQUENTIAL_NODES_MAX, Size};
use super::network::Network;
use crate::AlgoError;
use crate::view::{GraphView, Lists};
use crate::weighted_graph::{by_arcs, renumber};

/// Rounds of local moving on one level at most.
const ROUNDS_MAX: usize = 24;
/// Iterations of a search until nothing changes, at most.
const ITERATIONS_MAX: u64 = 100;
/// Share of all weight that a round on the first level of a large graph gains at least, or it is the last; a tenth
/// of it on each further level and in each further iteration.
const GAIN_MIN: f64 = 6e-3;
/// The same for small graphs and for a search until nothing changes.
const GAIN_MIN_SMALL: f64 = 1e-9;
/// Share of all weight that a level of a large graph gains at least, or it is the last of its iteration. The first iteration
/// has all levels that gain, and one after an iteration that changed nothing has all there are, as have small graphs and a
/// search until nothing changes.
const LEVEL_GAIN_MIN: f64 = 2e-4;
/// The same in the last iteration.
const LEVEL_GAIN_MIN_LAST: f64 = 1e-5;

/// What makes a partition good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// Modularity: a node counts for its strength.
    Modularity,
    /// The constant Potts model: a node counts for its weight, 1 unless given.
    Cpm,
}

/// Parameters of [`run`]; the defaults are igraph's.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// What is made as large as possible.
    pub objective: Objective,
    /// Above 1 gives smaller communities.
    pub resolution: f64,
    /// How freely refinement draws among merges that do not lose, in units of weight; cuGraph calls it theta.
    pub beta: f64,
    /// Chooses the order in which nodes are visited and the merges that are drawn.
    pub seed: u64,
    /// Times that the whole method runs, each from the result of the last; below 0 until nothing changes.
    pub n_iterations: i64,
    /// Levels of one iteration at most.
    pub max_level: u64,
    /// What each node counts for with [`Objective::Cpm`]; 1 unless given.
    pub node_weights: Option<Vec<f64>>,
    /// What each node counts for as the target of edges, in a directed view; as [`Self::node_weights`] unless given.
    pub node_in_weights: Option<Vec<f64>>,
    /// Communities to begin with; each node alone unless given.
    pub initial_membership: Option<Vec<u32>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            objective: Objective::Cpm,
            resolution: 1.0,
            beta: 0.01,
            seed: 0,
            n_iterations: 2,
            max_level: u64::MAX,
            node_weights: None,
            node_in_weights: None,
            initial_membership: None,
        }
    }
}

/// What [`run`] finds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Communities {
    /// The community of every node, numbered by first appearance.
    pub labels: Vec<u32>,
    /// The objective, divided by the weight of all edge ends.
    pub quality: f64,
    /// Iterations done.
    pub iterations: u64,
}

/// What a node of a directed graph counts for: a link from one to another is as likely as the `out` of the one and the
/// `into` of the other are large (Leicht and Newman 2008, Physical Review Letters 100:118703).
#[derive(Clone, Copy, Default)]
struct Ends {
    out: f64,
    into: f64,
}

impl Add for Ends {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { out: self.out + other.out, into: self.into + other.into }
    }
}

impl Sub for Ends {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self { out: self.out - other.out, into: self.into - other.into }
    }
}

impl AddAssign for Ends {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Ends {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Size for Ends {
    fn times(self, factor: f64) -> Self {
        Self { out: factor * self.out, into: factor * self.into }
    }

    /// The mean of both directions.
    fn product(self, other: Self) -> f64 {
        0.5 * (self.out * other.into + self.into * other.out)
    }
}

/// Communities of a view. In a directed one a link may lead either way, and chance gives as many links from one node to
/// another as the out-strength of the one and the in-strength of the other say.
///
/// # Errors
/// [`AlgoError::Cancelled`]; [`AlgoError::BadParam`] for a resolution below 0; [`AlgoError::Length`] for node
/// weights or an initial membership that are not one for each node.
pub fn run(
    view: &GraphView<'_>,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Communities, AlgoError> {
    let n = view.num_nodes() as usize;
    check(options, n)?;
    cancel.check()?;
    let net = Network::new(view);
    let total: f64 = net.strengths().iter().sum();
    let by_total = |penalty: f64| if total == 0.0 { 0.0 } else { penalty / total };
    let ones = || vec![1.0; n];
    let is_modularity = options.objective == Objective::Modularity;
    if !view.is_directed() {
        let (sizes, penalty) = match (is_modularity, &options.node_weights) {
            (true, _) => (net.strengths(), by_total(options.resolution)),
            (false, weights) => (weights.clone().unwrap_or_else(ones), options.resolution),
        };
        return Search { net: &net, sizes: &sizes, penalty, total, options }.run(cancel);
    }
    let pairs = |out: Vec<f64>, into: Vec<f64>| -> Vec<Ends> {
        out.into_iter().zip(into).map(|(out, into)| Ends { out, into }).collect()
    };
    let (sizes, penalty) = if is_modularity {
        let strengths =
            |list: &Lists<'_>| (0..n as u32).map(|v| list.strength(v)).collect::<Vec<f64>>();
        (
            pairs(strengths(view.out()), strengths(view.incoming())),
            by_total(4.0 * options.resolution),
        )
    } else {
        let out = options.node_weights.clone().unwrap_or_else(ones);
        let into = options.node_in_weights.clone().unwrap_or_else(|| out.clone());
        (pairs(out, into), 2.0 * options.resolution)
    };
    Search { net: &net, sizes: &sizes, penalty, total, options }.run(cancel)
}

fn check(options: &Options, n: usize) -> Result<(), AlgoError> {
    for (what, got) in [
        ("node_weights", options.node_weights.as_ref().map(Vec::len)),
        ("node_in_weights", options.node_in_weights.as_ref().map(Vec::len)),
        ("initial_membership", options.initial_membership.as_ref().map(Vec::len)),
    ] {
        got.map_or(Ok(()), |got| AlgoError::check_len(what, got, n, "node"))?;
    }
    if options.resolution >= 0.0 && options.resolution.is_finite() {
        return Ok(());
    }
    Err(AlgoError::BadParam {
        algorithm: "leiden",
        name: "resolution".to_owned(),
        value: options.resolution.to_string(),
        expected: "a number of at least 0".to_owned(),
    })
}

/// As [`renumber`] for labels that may be far above the number of nodes.
fn compact(labels: &mut [u32], bound: usize) -> usize {
    if bound <= 4 * labels.len() {
        return renumber(labels, bound);
    }
    let mut sorted = labels.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    labels.iter_mut().for_each(|l| *l = sorted.partition_point(|s| *s < *l) as u32);
    renumber(labels, sorted.len())
}

/// The last level that an iteration came to.
struct Level<S> {
    /// The node of this level that each node of the graph is in; none where they are the same.
    inside: Option<Vec<u32>>,
    /// Graph and sizes of this level; none where they are those of the search.
    coarse: Option<(Network, Vec<S>)>,
    /// The community of each node of this level.
    labels: Vec<u32>,
}

impl<S> Level<S> {
    /// The community of each node of the graph, numbered by first appearance.
    fn of_nodes(&self) -> Vec<u32> {
        let mut labels = match &self.inside {
            None => self.labels.clone(),
            Some(inside) => inside.iter().map(|v| self.labels[*v as usize]).collect(),
        };
        renumber(&mut labels, self.labels.len());
        labels
    }
}

struct Search<'a, S> {
    net: &'a Network,
    sizes: &'a [S],
    penalty: f64,
    /// Sum of all strengths.
    total: f64,
    options: &'a Options,
}

impl<S: Size> Search<'_, S> {
    fn run(&self, cancel: &CancelToken) -> Result<Communities, AlgoError> {
        let (n, options) = (self.net.num_nodes(), self.options);
        let mut labels = options.initial_membership.clone().unwrap_or_default();
        if labels.is_empty() {
            labels = (0..n as u32).collect();
        } else {
            let bound = labels.iter().max().map_or(0, |l| *l as usize + 1);
            compact(&mut labels, bound);
        }
        let mut found = Communities::default();
        let least =
            if options.n_iterations < 0 { ITERATIONS_MAX } else { options.n_iterations as u64 };
        let mut last = Level { inside: None, coarse: None, labels };
        let mut whole = self.is_thorough();
        while found.iterations < least && self.net.ends.len() + n > 0 {
            let before = last.of_nodes();
            last = self.iteration(before.clone(), found.iterations, whole, cancel)?;
            found.iterations += 1;
            let same = last.of_nodes() == before;
            if same && whole {
                break;
            }
            whole = same || self.is_thorough();
        }
        cancel.check()?;
        // The nodes of every level are connected, so what is connected on the last one is connected in the graph.
        let (net, sizes) = self.level(&last.coarse);
        last.labels = connected(net, &last.labels);
        found.quality = self.quality(net, sizes, &last.labels);
        found.labels = last.of_nodes();
        Ok(found)
    }

    /// One run through the levels, from `labels` on: the `whole` of them, or those that gain.
    fn iteration(
        &self,
        labels: Vec<u32>,
        iteration: u64,
        whole: bool,
        cancel: &CancelToken,
    ) -> Result<Level<S>, AlgoError> {
        // The node of the present level that each node of the graph is in; none until there is a second level.
        let mut inside: Option<Vec<u32>> = None;
        let mut coarse: Option<(Network, Vec<S>)> = None;
        let mut present = labels;
        let is_last = iteration + 1 >= self.options.n_iterations.unsigned_abs();
        let level_share_min = match (iteration, is_last) {
            (0, _) => 0.0,
            (_, false) => LEVEL_GAIN_MIN,
            (_, true) => LEVEL_GAIN_MIN_LAST,
        };
        for level in 0..self.options.max_level {
            let (net, sizes) = self.level(&coarse);
            let seed = self.options.seed.wrapping_add(iteration << 16 | level);
            let rule = moving::Rule {
                sizes,
                penalty: self.penalty,
                order: None,
                seed,
                gain_min: self.gain_min(GAIN_MIN / 10f64.powi((level + iteration).min(300) as i32)),
                rounds: ROUNDS_MAX,
                all_move: iteration + level == 0 && self.options.initial_membership.is_none(),
                thorough: whole || self.is_thorough(),
            };
            let gain;
            (present, gain) = moving::settle(net, present, rule, cancel)?;
            let groups = renumber(&mut present, net.num_nodes());
            if groups == net.num_nodes() || (!whole && gain <= self.gain_min(level_share_min)) {
                break;
            }
            let (fine, above) = if whole || level == 0 {
                let (penalty, beta) = (self.penalty, self.options.beta);
                let rule = refine::Rule { sizes, penalty, beta, seed };
                refine::refine(net, &present, groups, rule, cancel)?
            } else {
                cancel.check()?;
                connected_within(net, &present)
            };
            if above.len() == net.num_nodes() {
                break;
            }
            let next = net.contract_loosely(&fine, above.len());
            let mut next_sizes = vec![S::default(); above.len()];
            for (part, size) in fine.iter().zip(sizes) {
                next_sizes[*part as usize] += *size;
            }
            inside = Some(match inside {
                None => fine,
                Some(before) => before.into_iter().map(|v| fine[v as usize]).collect(),
            });
            (present, coarse) = (above, Some((next, next_sizes)));
        }
        Ok(Level { inside, coarse, labels: present })
    }

    fn level<'b>(&'b self, coarse: &'b Option<(Network, Vec<S>)>) -> (&'b Network, &'b [S]) {
        coarse.as_ref().map_or((self.net, self.sizes), |(net, sizes)| (net, sizes))
    }

    /// Whether small gains count: in a small graph, and in a search until nothing changes.
    fn is_thorough(&self) -> bool {
        self.net.num_nodes() <= SEQUENTIAL_NODES_MAX || self.options.n_iterations < 0
    }

    /// A share of all weight as a gain, or next to none where small gains count.
    fn gain_min(&self, share: f64) -> f64 {
        let share = if self.is_thorough() { GAIN_MIN_SMALL } else { share };
        share * self.total.abs() / 2.0
    }

    /// What the communities are worth, over the weight of all edge ends.
    fn quality(&self, network: &Network, sizes: &[S], labels: &[u32]) -> f64 {
        if self.total == 0.0 {
            return 0.0;
        }
        let mut total = vec![S::default(); labels.len()];
        labels.iter().zip(sizes).for_each(|(own, size)| total[*own as usize] += *size);
        let within = |v: usize| {
            let own = labels[v];
            let ends =
                network.edges(v).map(|(u, w)| if labels[u as usize] == own { w } else { 0.0 });
            network.loops[v] + ends.sum::<f64>()
        };
        let parts: Vec<f64> = by_arcs(&network.offsets)
            .into_par_iter()
            .map(|range| range.map(within).sum::<f64>())
            .collect();
        let inside: f64 = parts.into_iter().sum();
        (inside - self.penalty * total.iter().map(|t| t.product(*t)).sum::<f64>()) / self.total
    }
}

/// The connected parts of the communities, numbered by first appearance.
fn connected(net: &Network, labels: &[u32]) -> Vec<u32> {
    let n = labels.len();
    let (mut parts, mut next) = (vec![u32::MAX; n], 0);
    // Members of each community that are in no part yet: once there are none, no list of it needs to be read. The member
    // with most neighbours comes first, as it reaches most of them.
    let (mut left, mut first) = (vec![0u32; n], vec![u32::MAX; n]);
    for (v, own) in labels.iter().enumerate() {
        left[*own as usize] += 1;
        let first = &mut first[*own as usize];
        if *first == u32::MAX || net.degree(v) > net.degree(*first as usize) {
            *first = v as u32;
        }
    }
    let mut queue = Vec::new();
    for v in 0..n {
        let own = labels[v] as usize;
        for from in [first[own] as usize, v] {
            if parts[v] != u32::MAX || parts[from] != u32::MAX {
                continue;
            }
            queue.clear();
            queue.push(from);
            parts[from] = next;
            left[own] -= 1;
            let mut at = 0;
            while at < queue.len() && left[own] > 0 {
                for w in &net.ends[net.range(queue[at])] {
                    let w = *w as usize;
                    if labels[w] as usize == own && parts[w] == u32::MAX {
                        parts[w] = next;
                        left[own] -= 1;
                        queue.push(w);
                    }
                }
                at += 1;
            }
            next += 1;
        }
    }
    renumber(&mut parts, next as usize);
    parts
}

/// [`connected`] parts, and for each its community.
fn connected_within(network: &Network, labels: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let parts = connected(network, labels);
    let count = parts.iter().max().map_or(0, |last| *last as usize + 1);
    let mut above = vec![0; count];
    for (part, own) in parts.iter().zip(labels) {
        above[*part as usize] = *own;
    }
    (parts, above)
}

#[cfg(test)]
mod tests;
