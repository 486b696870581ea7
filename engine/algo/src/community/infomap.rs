//! Infomap: communities that make the description of a random walk short (the two-level map equation, Rosvall and
//! Bergstrom 2008, arXiv 0707.0609; Rosvall, Axelsson and Bergstrom 2009, arXiv 0906.1405).
//!
//! Where edges lead one way the walk jumps to any node with probability 0.15; else it does not jump, and a node is
//! visited in proportion to the weight of its edges. Each trial moves single nodes, then communities as a whole, and
//! begins anew with single nodes until that no longer helps. Trials run in parallel.

use graphlume_types::CancelToken;
use graphlume_types::hash::h64;
use rayon::prelude::*;

use super::network::Network;
use crate::AlgoError;
use crate::tally::Tally;
use crate::view::GraphView;
use crate::weighted_graph::renumber;

/// Probability of a jump where edges lead one way.
const TELEPORTATION: f64 = 0.15;
/// Rounds over the nodes of one level at most.
const ROUNDS_MAX: u64 = 50;
/// Times that single nodes are moved again, at most.
const REPEATS_MAX: u64 = 30;
/// Bits below which a shorter description is rounding.
const EPSILON: f64 = 1e-10;
/// Steps of the walk until its visits are taken as settled.
const STEPS_MAX: usize = 400;
/// Nodes between two looks at the token.
const CHECK_NODES: usize = 512;

/// Parameters of [`run`]; the defaults are igraph's.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Independent searches, of which the best counts.
    pub trials: u64,
    /// In proportion to what a jump goes to each node; evenly unless given.
    pub vertex_weights: Option<Vec<f64>>,
    /// Chooses the order of moves.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { trials: 10, vertex_weights: None, seed: 0 }
    }
}

/// What [`run`] finds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Communities {
    /// The community of every node, numbered by first appearance.
    pub labels: Vec<u32>,
    /// Bits that one step of the walk takes.
    pub codelength: f64,
}

/// Communities of a view.
///
/// # Errors
/// [`AlgoError::Cancelled`]; [`AlgoError::Length`] for vertex weights that are not one for each node.
pub fn run(
    view: &GraphView<'_>,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Communities, AlgoError> {
    let n = view.num_nodes() as usize;
    if let Some(weights) = &options.vertex_weights {
        AlgoError::check_len("vertex_weights", weights.len(), n, "node")?;
    }
    let flow = match view.is_directed() {
        true => Flow::directed(view, options.vertex_weights.as_deref(), cancel)?,
        false => Flow::undirected(view),
    };
    if flow.net.ends.is_empty() {
        let labels = (0..n as u32).collect();
        let codelength = -flow.visits.iter().map(|p| plogp(*p)).sum::<f64>();
        return Ok(Communities { labels, codelength });
    }
    let trial = |k: u64| flow.trial(h64(options.seed, 60, k), cancel);
    let trials: Vec<Communities> =
        (0..options.trials.max(1)).into_par_iter().map(trial).collect::<Result<_, AlgoError>>()?;
    let better = |a: Communities, b: Communities| match b.codelength < a.codelength - EPSILON {
        true => b,
        false => a,
    };
    Ok(trials.into_iter().reduce(better).unwrap_or_default())
}

/// `p` times its logarithm to base 2.
#[inline]
fn plogp(p: f64) -> f64 {
    if p > 0.0 { p * p.log2() } else { 0.0 }
}

/// How a random walk moves over the nodes of one level.
struct Flow {
    /// For each pair of nodes the flow from one to the other in both directions together.
    net: Network,
    visits: Vec<f64>,
    /// Flow along edges to other nodes.
    exits: Vec<f64>,
    /// Flow out of each node by jumps; none where the walk does not jump.
    jumps: Vec<f64>,
    /// Share of the jumps that go to each node.
    targets: Vec<f64>,
    /// Sum over single nodes of [`plogp`] of their visits, the same on all levels.
    entropy: f64,
}

impl Flow {
    fn undirected(view: &GraphView<'_>) -> Self {
        let mut net = Network::new(view);
        let n = net.num_nodes();
        let strengths = net.strengths();
        let total: f64 = strengths.iter().sum();
        let scale = if total > 0.0 { 1.0 / total } else { 0.0 };
        let exits = (0..n).map(|v| (strengths[v] - net.loops[v]) * scale).collect();
        let weights = (0..net.ends.len()).map(|at| 2.0 * scale * net.weight(at)).collect();
        net.weights = Some(weights);
        net.loops.fill(0.0);
        let visits: Vec<f64> = strengths.iter().map(|s| s * scale).collect();
        let entropy = visits.iter().map(|p| plogp(*p)).sum();
        Self { net, visits, exits, jumps: vec![0.0; n], targets: vec![0.0; n], entropy }
    }

    fn directed(
        view: &GraphView<'_>,
        vertex_weights: Option<&[f64]>,
        cancel: &CancelToken,
    ) -> Result<Self, AlgoError> {
        let n = view.num_nodes() as usize;
        let all: f64 = vertex_weights.map_or(n as f64, |w| w.iter().sum());
        let targets: Vec<f64> = (0..n)
            .map(|v| vertex_weights.map_or(1.0, |w| w[v]) / all.max(f64::MIN_POSITIVE))
            .collect();
        let strength: Vec<f64> = (0..n as u32).map(|v| view.out().strength(v)).collect();
        let visits = walk(view, &strength, &targets, cancel)?;
        let step = 1.0 - TELEPORTATION;
        let along = |v: u32, w: f64| step * visits[v as usize] * w / strength[v as usize];
        // The network lists the edges of a node by direction: first those out of it, then those into it.
        let mut net = Network::new(view);
        let mut weights = Vec::with_capacity(net.ends.len());
        let (mut exits, mut jumps) = (vec![0.0; n], vec![0.0; n]);
        for v in 0..n as u32 {
            let i = v as usize;
            let out = view.out().weighted(v).filter(|e| e.0 != v);
            for (_, w) in out {
                let flow = if strength[i] > 0.0 { along(v, w) } else { 0.0 };
                exits[i] += flow;
                weights.push(flow);
            }
            for (u, w) in view.incoming().weighted(v).filter(|e| e.0 != v) {
                weights.push(if strength[u as usize] > 0.0 { along(u, w) } else { 0.0 });
            }
            jumps[i] = visits[i] * if strength[i] > 0.0 { TELEPORTATION } else { 1.0 };
        }
        net.weights = Some(weights);
        net.loops.fill(0.0);
        let entropy = visits.iter().map(|p| plogp(*p)).sum();
        Ok(Self { net, visits, exits, jumps, targets, entropy })
    }

    /// The level whose nodes are the groups `labels`.
    fn contract(&self, labels: &[u32], groups: usize) -> Self {
        let mut net = self.net.contract(labels, groups);
        let mut exits = vec![0.0; groups];
        let sum = |values: &[f64]| {
            let mut sums = vec![0.0; groups];
            labels.iter().zip(values).for_each(|(l, x)| sums[*l as usize] += x);
            sums
        };
        // Within a group each flow is counted at both ends, and in both directions.
        for (g, all) in sum(&self.exits).iter().enumerate() {
            exits[g] = (all - net.loops[g] / 2.0).max(0.0);
        }
        net.loops.fill(0.0);
        Self {
            net,
            visits: sum(&self.visits),
            exits,
            jumps: sum(&self.jumps),
            targets: sum(&self.targets),
            entropy: self.entropy,
        }
    }

    /// One search.
    fn trial(&self, seed: u64, cancel: &CancelToken) -> Result<Communities, AlgoError> {
        let n = self.net.num_nodes();
        let mut best = self.climb((0..n as u32).collect(), seed, cancel)?;
        for repeat in 1..REPEATS_MAX {
            let again = self.climb(best.labels.clone(), h64(seed, 61, repeat), cancel)?;
            if again.codelength > best.codelength - EPSILON {
                break;
            }
            best = again;
        }
        renumber(&mut best.labels, n);
        Ok(best)
    }

    /// Moves single nodes from `labels` on, then communities, level after level.
    fn climb(
        &self,
        labels: Vec<u32>,
        seed: u64,
        cancel: &CancelToken,
    ) -> Result<Communities, AlgoError> {
        let mut moving = Moving::new(self, labels);
        moving.settle(seed, cancel)?;
        let mut found = Communities { codelength: moving.codelength(), labels: moving.labels };
        let mut groups = renumber(&mut found.labels, self.net.num_nodes());
        let mut level = self.contract(&found.labels, groups);
        loop {
            let mut moving = Moving::new(&level, (0..groups as u32).collect());
            moving.settle(seed, cancel)?;
            let codelength = moving.codelength();
            let mut above = moving.labels;
            let k = renumber(&mut above, groups);
            if k == groups {
                return Ok(found);
            }
            found.labels.iter_mut().for_each(|l| *l = above[*l as usize]);
            found.codelength = codelength;
            level = level.contract(&above, k);
            groups = k;
        }
    }
}

/// How often the walk visits each node in the long run.
fn walk(
    view: &GraphView<'_>,
    strength: &[f64],
    targets: &[f64],
    cancel: &CancelToken,
) -> Result<Vec<f64>, AlgoError> {
    let n = strength.len();
    let step = 1.0 - TELEPORTATION;
    let mut visits = vec![1.0 / n.max(1) as f64; n];
    for _ in 0..STEPS_MAX {
        cancel.check()?;
        let lost: f64 = (0..n).filter(|v| strength[*v] <= 0.0).map(|v| visits[v]).sum();
        let jump = TELEPORTATION + step * lost;
        let pull = |v: usize| {
            let share = |(u, w): (u32, f64)| match strength[u as usize] > 0.0 {
                true => visits[u as usize] * w / strength[u as usize],
                false => 0.0,
            };
            jump * targets[v] + step * view.incoming().weighted(v as u32).map(share).sum::<f64>()
        };
        let mut next: Vec<f64> = (0..n).into_par_iter().with_min_len(512).map(pull).collect();
        let all: f64 = next.iter().sum();
        next.iter_mut().for_each(|p| *p /= all);
        let change: f64 = next.iter().zip(&visits).map(|(a, b)| (a - b).abs()).sum();
        visits = next;
        if change < 1e-15 {
            break;
        }
    }
    Ok(visits)
}

/// What is summed up for each community.
#[derive(Clone, Copy, Default)]
struct Module {
    visits: f64,
    exits: f64,
    jumps: f64,
    targets: f64,
    members: u32,
}

impl Module {
    /// Rate at which the walk leaves.
    fn leaves(&self) -> f64 {
        (self.exits + self.jumps * (1.0 - self.targets)).max(0.0)
    }

    /// What it adds to the description, but for the rate of leaving any.
    fn bits(&self) -> f64 {
        let q = self.leaves();
        plogp(q + self.visits) - 2.0 * plogp(q)
    }
}

/// The state of one level.
struct Moving<'a> {
    flow: &'a Flow,
    labels: Vec<u32>,
    modules: Vec<Module>,
    /// Rate at which the walk leaves any community.
    leaves: f64,
    empty: Vec<u32>,
    active: Vec<bool>,
    tally: Tally<f64>,
    /// Communities that a node may join with its links to them.
    choices: Vec<(u32, f64)>,
}

impl<'a> Moving<'a> {
    fn new(flow: &'a Flow, labels: Vec<u32>) -> Self {
        let n = flow.net.num_nodes();
        let mut modules = vec![Module::default(); n];
        for (v, l) in labels.iter().enumerate() {
            let m = &mut modules[*l as usize];
            m.visits += flow.visits[v];
            m.exits += flow.exits[v];
            m.jumps += flow.jumps[v];
            m.targets += flow.targets[v];
            m.members += 1;
            let own = flow.net.edges(v).filter(|e| labels[e.0 as usize] == *l);
            m.exits -= own.map(|e| e.1).sum::<f64>() / 2.0;
        }
        let leaves = modules.iter().map(Module::leaves).sum();
        let empty = (0..n as u32).rev().filter(|c| modules[*c as usize].members == 0).collect();
        let (active, tally) = (vec![true; n], Tally::new(n));
        Self { flow, labels, modules, leaves, empty, active, tally, choices: Vec::new() }
    }

    /// Bits of one step of the walk.
    fn codelength(&self) -> f64 {
        let leaves: f64 = self.modules.iter().map(Module::leaves).sum();
        plogp(leaves) - self.flow.entropy + self.modules.iter().map(Module::bits).sum::<f64>()
    }

    /// Moves nodes until none has a better place.
    fn settle(&mut self, seed: u64, cancel: &CancelToken) -> Result<(), AlgoError> {
        let n = self.labels.len();
        let mut order: Vec<u32> = (0..n as u32).collect();
        for round in 0..ROUNDS_MAX {
            for i in (1..n).rev() {
                let j = h64(seed, round, i as u64) % (i as u64 + 1);
                order.swap(i, j as usize);
            }
            let mut moves = 0;
            for (k, v) in order.iter().enumerate() {
                if k % CHECK_NODES == 0 {
                    cancel.check()?;
                }
                if std::mem::take(&mut self.active[*v as usize]) && self.place(*v as usize) {
                    moves += 1;
                }
            }
            if moves == 0 {
                break;
            }
        }
        Ok(())
    }

    /// `module` with `v` in it (`sign` 1) or without (-1), which has `links` with its other members.
    fn changed(&self, module: u32, v: usize, links: f64, sign: f64) -> Module {
        let (m, flow) = (self.modules[module as usize], self.flow);
        Module {
            visits: m.visits + sign * flow.visits[v],
            exits: m.exits + sign * (flow.exits[v] - links),
            jumps: m.jumps + sign * flow.jumps[v],
            targets: m.targets + sign * flow.targets[v],
            members: if sign > 0.0 { m.members + 1 } else { m.members - 1 },
        }
    }

    /// Moves `v` to where the description is shortest; returns whether it moved.
    fn place(&mut self, v: usize) -> bool {
        let own = self.labels[v];
        let range = self.flow.net.range(v);
        let ends = self.flow.net.ends[range.clone()].iter();
        let labels = &self.labels;
        let weight = |k: usize| self.flow.net.weight(range.start + k);
        self.tally.extend(ends.enumerate().map(|(k, u)| (labels[*u as usize], weight(k))));
        let links_own = self.tally.get(own);
        let mut choices = std::mem::take(&mut self.choices);
        choices.clear();
        self.tally.drain(|l, links| {
            if l != own && links > 0.0 {
                choices.push((l, links));
            }
        });
        if self.modules[own as usize].members > 1 {
            choices.extend(self.empty.last().map(|c| (*c, 0.0)));
        }
        let mut without = self.changed(own, v, links_own, -1.0);
        if without.members == 0 {
            without = Module::default();
        }
        let before = self.modules[own as usize];
        let (mut best, mut best_change) = (None, -EPSILON);
        for (to, links) in choices.iter().copied() {
            let with = self.changed(to, v, links, 1.0);
            let there = self.modules[to as usize];
            let leaves =
                self.leaves - before.leaves() - there.leaves() + without.leaves() + with.leaves();
            let change = plogp(leaves) - plogp(self.leaves) + without.bits() + with.bits()
                - before.bits()
                - there.bits();
            if change < best_change {
                best_change = change;
                best = Some((to, with, leaves));
            }
        }
        self.choices = choices;
        let Some((to, with, leaves)) = best else { return false };
        if self.empty.last() == Some(&to) {
            self.empty.pop();
        }
        if without.members == 0 {
            self.empty.push(own);
        }
        (self.modules[own as usize], self.modules[to as usize]) = (without, with);
        (self.labels[v], self.leaves) = (to, leaves);
        for u in &self.flow.net.ends[range] {
            if self.labels[*u as usize] != to {
                self.active[*u as usize] = true;
            }
        }
        true
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use graphlume_graph::Topology;

    use super::*;
    use crate::testkit;
    use crate::view::{Copies, Loops, Shape};

    fn find(t: &Topology, directed: bool, options: &Options) -> Communities {
        let shape = Shape { directed, copies: Copies::Keep, loops: Loops::Twice };
        let view = GraphView::new(t, None, shape).unwrap();
        run(&view, options, &CancelToken::new()).unwrap()
    }

    #[test]
    fn the_karate_club_is_described_as_shortly_as_is_known() {
        let found = find(&testkit::karate(), false, &Options::default());
        assert!((found.codelength - 4.311_792_645_8).abs() < 1e-9, "{}", found.codelength);
        assert_eq!(found.labels.iter().max(), Some(&2));
    }

    #[test]
    fn two_triangles_have_the_length_of_the_formula() {
        let t = testkit::from_edges(6, &[(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3)]);
        let found = find(&t, false, &Options::default());
        assert_eq!(found.labels, [0, 0, 0, 1, 1, 1]);
        let (q, p) = (1.0 / 14.0, 0.5);
        let nodes = 4.0 * plogp(2.0 / 14.0) + 2.0 * plogp(3.0 / 14.0);
        let expected = plogp(2.0 * q) - 4.0 * plogp(q) - nodes + 2.0 * plogp(p + q);
        assert!((found.codelength - expected).abs() < 1e-12);
    }

    #[test]
    fn a_walk_that_jumps_stays_in_directed_rings() {
        let ring = |at: u32| (0..6).map(move |i| (at + i, at + (i + 1) % 6));
        let edges: Vec<(u32, u32)> = ring(0).chain(ring(6)).chain([(0, 6), (7, 1)]).collect();
        let t = testkit::from_edges(12, &edges);
        let found = find(&t, true, &Options::default());
        assert_eq!(found.labels, [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]);
        let heavy = Options { vertex_weights: Some(vec![1.0; 12]), ..Options::default() };
        assert_eq!(find(&t, true, &heavy), found);
    }

    #[test]
    fn degenerate_graphs_and_any_number_of_threads() {
        for (name, t) in testkit::zoo() {
            for directed in [false, true] {
                let found = find(&t, directed, &Options::default());
                assert_eq!(found.labels.len(), t.num_nodes() as usize, "{name}");
                assert!(found.codelength.is_finite(), "{name}");
            }
        }
        let t = testkit::planted(1000, 20, 0.3, 0.005);
        let [one, two, three] = testkit::at_1_2_3_threads(|| find(&t, false, &Options::default()));
        assert!(one == two && two == three);
        assert_eq!(one.labels, (0..1000).map(|v| v % 20).collect::<Vec<u32>>());
    }
}
