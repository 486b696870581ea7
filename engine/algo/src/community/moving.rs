//! Local moving over a [`Network`]: what Leiden and the ensemble method have in common with Louvain.
//!
//! A partition is worth the weight inside its communities, less `penalty / 2` times the product of the size of
//! each with itself. Nodes whose surroundings changed are visited in batches; within a batch all decide at once, by what was
//! true before it, and then move one after the other unless earlier moves have made theirs a loss. The batches
//! depend on the graph alone, and so does the result. Each thread has a copy of its own of the communities.

use std::ops::{Add, AddAssign, Range, Sub, SubAssign};

use graphlume_types::CancelToken;
use graphlume_types::hash::h64;

use super::network::Network;
use super::team::{Copied, Team};
use crate::AlgoError;
use crate::tally::{Tallies, Tally};
use crate::weight::Weight;
use crate::weighted_graph::CHUNK_ARCS;

/// Nodes up to which every batch is a single node.
pub(crate) const SEQUENTIAL_NODES_MAX: usize = 2_048;
/// Batches of one round over a larger graph, at most.
const BATCHES: usize = 128;
/// Arcs of a batch, at least; a round with fewer has batches of one.
const BATCH_ARCS_MIN: usize = 1 << 14;
/// Gain in units of weight below which a move is rounding.
const EPSILON: f64 = 1e-9;
/// In place of a community: the node becomes one of its own.
const ALONE: u32 = u32::MAX;
/// Nodes between two looks at the token.
const CHECK_NODES: usize = 512;
/// Arcs of a piece of a batch.
const PIECE_ARCS: usize = CHUNK_ARCS / 4;
/// Share of its neighbours, 1 in so many, that have to move before a node decides anew; one that is well connected hardly
/// ever follows fewer.
const MOVED_SHARE: u64 = 64;
/// More moves around a node than there can be: it decides in any case.
const IN_ANY_CASE: u32 = u32::MAX;

/// What a node or a community counts for. Sizes add up, and the product of two says how many links chance gives them.
pub(crate) trait Size:
    Copy + Default + Send + Sync + Add<Output = Self> + Sub<Output = Self> + AddAssign + SubAssign
{
    fn times(self, factor: f64) -> Self;
    fn product(self, other: Self) -> f64;
}

impl Size for f64 {
    #[inline(always)]
    fn times(self, factor: f64) -> Self {
        factor * self
    }

    #[inline(always)]
    fn product(self, other: Self) -> f64 {
        self * other
    }
}

/// What a partition is worth, and how it is looked for.
#[derive(Clone, Copy)]
pub(crate) struct Rule<'a, S = f64> {
    /// What each node counts for in the size of a community.
    pub(crate) sizes: &'a [S],
    /// What it costs two nodes of size 1 to be together.
    pub(crate) penalty: f64,
    /// The order in which nodes are visited; by index unless given.
    pub(crate) order: Option<&'a [u32]>,
    /// Chooses where each round begins.
    pub(crate) seed: u64,
    /// Gain of a round, in units of weight, below which it is the last.
    pub(crate) gain_min: f64,
    /// Rounds at most.
    pub(crate) rounds: usize,
    /// Nearly all nodes move in the first round, so it lets none rest: cheaper than counting moves around them.
    pub(crate) all_move: bool,
    /// Any move around a node lets it decide anew, not only those of a share of its neighbours.
    pub(crate) thorough: bool,
}

/// The communities of the nodes from `labels` on, which are numbered below the number of nodes, after moves, and what the
/// moves gained in units of weight.
pub(crate) fn settle<S: Size>(
    network: &Network,
    labels: Vec<u32>,
    rule: Rule<'_, S>,
    cancel: &CancelToken,
) -> Result<(Vec<u32>, f64), AlgoError> {
    match network.weights.as_deref() {
        None => settle_as(network, labels, rule, |_| 1_u32, cancel),
        Some(w) => settle_as(network, labels, rule, |at| w[at], cancel),
    }
}

fn settle_as<S: Size, W: Weight>(
    net: &Network,
    labels: Vec<u32>,
    rule: Rule<'_, S>,
    weight: impl Fn(usize) -> W + Sync,
    cancel: &CancelToken,
) -> Result<(Vec<u32>, f64), AlgoError> {
    let n = net.num_nodes();
    let chooser = Chooser { net, rule, weight, tallies: Tallies::new(n) };
    let pieces = match n <= SEQUENTIAL_NODES_MAX || net.ends.len() < BATCH_ARCS_MIN {
        true => 1,
        false => (net.ends.len() / BATCHES).max(BATCH_ARCS_MIN) / PIECE_ARCS,
    };
    let initial = (pieces > 1).then(|| labels.clone());
    let copy = || Places::new(initial.clone().unwrap_or_default(), rule.sizes);
    let work = |places: &Places<S>, nodes: &[u32]| chooser.wishes(places, nodes);
    Team::with(pieces - 1, copy, work, |team| Moving::new(&chooser, team, labels).run(cancel))
}

/// A node that wants to move.
struct Move {
    node: u32,
    to: u32,
    /// By how much the links to the other community outweigh those to its own.
    links: f64,
}

/// A move that was made.
#[derive(Clone, Copy)]
struct Moved<S> {
    node: u32,
    to: u32,
    size: S,
}

/// Who is where.
struct Places<S> {
    labels: Vec<u32>,
    /// Size of each community.
    total: Vec<S>,
    /// Nodes of each community.
    count: Vec<u32>,
}

impl<S: Size> Places<S> {
    fn new(labels: Vec<u32>, sizes: &[S]) -> Self {
        let n = labels.len();
        let (mut total, mut count) = (vec![S::default(); n], vec![0; n]);
        for (l, s) in labels.iter().zip(sizes) {
            total[*l as usize] += *s;
            count[*l as usize] += 1;
        }
        Self { labels, total, count }
    }
}

impl<S: Size> Copied for Places<S> {
    type Change = Moved<S>;
    type Found = Vec<Move>;

    fn make(&mut self, moved: Moved<S>) {
        let (own, to) = (self.labels[moved.node as usize] as usize, moved.to as usize);
        self.total[own] -= moved.size;
        self.count[own] -= 1;
        if self.count[own] == 0 {
            self.total[own] = S::default();
        }
        self.total[to] += moved.size;
        self.count[to] += 1;
        self.labels[moved.node as usize] = moved.to;
    }
}

/// Finds where nodes had better be.
struct Chooser<'a, S, W, F> {
    net: &'a Network,
    rule: Rule<'a, S>,
    weight: F,
    /// Weights by community, whole numbers where each is 1.
    tallies: Tallies<W>,
}

impl<S: Size, W: Weight, F: Fn(usize) -> W + Sync> Chooser<'_, S, W, F> {
    fn wishes(&self, places: &Places<S>, nodes: &[u32]) -> Vec<Move> {
        self.tallies
            .with(|tally| nodes.iter().filter_map(|v| self.best(places, *v, tally)).collect())
    }

    /// The community that `v` had better join, when there is one.
    #[inline(always)]
    fn best(&self, places: &Places<S>, v: u32, tally: &mut Tally<W>) -> Option<Move> {
        let Places { labels, total, count } = places;
        let range = self.net.range(v as usize);
        let ends = self.net.ends[range.clone()].iter().enumerate();
        tally.extend(ends.map(|(k, u)| (labels[*u as usize], (self.weight)(range.start + k))));
        let (own, size) = (labels[v as usize], self.rule.sizes[v as usize]);
        let pull = size.times(self.rule.penalty);
        let links_own = tally.get(own).float();
        let stay = links_own - pull.product(total[own as usize] - size);
        let mut best = (own, stay, 0.0);
        tally.drain(|l, links| {
            let links = links.float();
            let s = links - pull.product(total[l as usize]);
            if l != own && (s > best.1 || (s == best.1 && l < best.0 && best.0 != own)) {
                best = (l, s, links);
            }
        });
        if best.1 < -EPSILON && count[own as usize] > 1 {
            best = (ALONE, 0.0, 0.0);
        }
        (best.0 != own && best.1 > stay + EPSILON).then_some(Move {
            node: v,
            to: best.0,
            links: best.2 - links_own,
        })
    }
}

struct Moving<'a, S: Size, W, F> {
    chooser: &'a Chooser<'a, S, W, F>,
    team: &'a Team<Places<S>>,
    places: Places<S>,
    /// Communities that lost their last node; some have one again.
    empty: Vec<u32>,
    /// How many moves there were around each node since it last decided.
    around: Vec<u32>,
    /// Moves that helpers do not know of yet.
    news: Vec<Moved<S>>,
}

impl<'a, S: Size, W: Weight, F: Fn(usize) -> W + Sync> Moving<'a, S, W, F> {
    fn new(chooser: &'a Chooser<'a, S, W, F>, team: &'a Team<Places<S>>, labels: Vec<u32>) -> Self {
        let n = labels.len();
        let places = Places::new(labels, chooser.rule.sizes);
        let empty = (0..n as u32).rev().filter(|c| places.count[*c as usize] == 0).collect();
        Self { chooser, team, places, empty, around: vec![IN_ANY_CASE; n], news: Vec::new() }
    }

    fn run(mut self, cancel: &CancelToken) -> Result<(Vec<u32>, f64), AlgoError> {
        let Chooser { net, rule, .. } = self.chooser;
        let n = net.num_nodes();
        let mut gained = 0.0;
        let small = n <= SEQUENTIAL_NODES_MAX;
        let mut list: Vec<u32> = Vec::new();
        for round in 0..rule.rounds {
            cancel.check()?;
            list.clear();
            let due = |v: &u32| small || self.is_due(*v);
            match rule.order {
                Some(order) => list.extend(order.iter().copied().filter(due)),
                None => list.extend((0..n as u32).filter(due)),
            }
            if list.is_empty() {
                break;
            }
            let first = h64(rule.seed, 77, round as u64) as usize % list.len();
            list.rotate_left(first);
            let arcs = if small { 0 } else { list.iter().map(|v| net.degree(*v as usize)).sum() };
            let gain = if arcs < BATCH_ARCS_MIN {
                self.one_by_one(&list, cancel)?
            } else {
                self.by_batches(&list, arcs, round > 0 || !rule.all_move, cancel)?
            };
            gained += gain;
            if gain <= rule.gain_min {
                break;
            }
        }
        Ok((self.places.labels, gained))
    }

    /// Whether enough moved around `v` since it last decided.
    fn is_due(&self, v: u32) -> bool {
        let around = u64::from(self.around[v as usize]);
        let enough = || around * MOVED_SHARE > self.chooser.net.degree(v as usize) as u64;
        around > 0 && (self.chooser.rule.thorough || enough())
    }

    /// Visits the nodes of `list` that are due when their turn comes; returns the gain.
    fn one_by_one(&mut self, list: &[u32], cancel: &CancelToken) -> Result<f64, AlgoError> {
        let mut gain = 0.0;
        for (k, v) in list.iter().enumerate() {
            if k % CHECK_NODES == 0 {
                cancel.check()?;
            }
            if !self.is_due(*v) {
                continue;
            }
            self.around[*v as usize] = 0;
            let chooser = self.chooser;
            if let Some(m) = chooser.tallies.with(|tally| chooser.best(&self.places, *v, tally)) {
                gain += self.apply(&m).unwrap_or(0.0);
                count_around(chooser.net, &self.places.labels, &mut self.around, m.node as usize);
            }
        }
        Ok(gain)
    }

    /// Visits the nodes of `list`, which have so many arcs; those that do not move rest if told so. Returns the gain.
    fn by_batches(
        &mut self,
        list: &[u32],
        arcs: usize,
        rest_after: bool,
        cancel: &CancelToken,
    ) -> Result<f64, AlgoError> {
        let mut gain = 0.0;
        let batch_arcs = (arcs / BATCHES).max(BATCH_ARCS_MIN);
        let mut rest = list;
        // Nodes of the last batch that moved: the moves around others are counted while helpers are at work on the next.
        let mut moved: Vec<u32> = Vec::new();
        while !rest.is_empty() {
            cancel.check()?;
            let batch;
            (batch, rest) = rest.split_at(self.cut(rest, batch_arcs));
            let wishes = self.decide(batch, &moved);
            moved.clear();
            if rest_after {
                batch.iter().for_each(|v| self.around[*v as usize] = 0);
            }
            for m in wishes.into_iter().flatten() {
                match self.apply(&m) {
                    Some(better) => {
                        gain += better;
                        moved.push(m.node);
                    }
                    // Others came first: it decides anew in the next round.
                    None => self.around[m.node as usize] = IN_ANY_CASE,
                }
            }
            if !rest_after {
                moved.clear();
            }
        }
        self.count_moved(&moved);
        Ok(gain)
    }

    /// What the nodes of a batch want, in the order of the batch, with the moves around others counted for those that moved.
    fn decide(&mut self, batch: &[u32], moved: &[u32]) -> Vec<Vec<Move>> {
        let chooser = self.chooser;
        if !self.team.has_helpers() {
            self.count_moved(moved);
            return vec![chooser.wishes(&self.places, batch)];
        }
        let mut pieces: Vec<Range<usize>> = Vec::new();
        let mut start = 0;
        while start < batch.len() {
            let end = start + self.cut(&batch[start..], PIECE_ARCS);
            pieces.push(start..end);
            start = end;
        }
        let Self { places, around, news, team, .. } = self;
        let aside = || {
            for v in moved {
                count_around(chooser.net, &places.labels, around, *v as usize);
            }
        };
        team.share(batch, pieces, news, aside, |nodes| chooser.wishes(places, nodes))
    }

    /// How many of the first nodes of a list have about `arcs` arcs.
    fn cut(&self, list: &[u32], arcs: usize) -> usize {
        let mut sum = 0;
        let end = list.iter().position(|v| {
            sum += self.chooser.net.degree(*v as usize);
            sum >= arcs
        });
        end.map_or(list.len(), |e| e + 1)
    }

    /// Moves the node when that still is a gain; returns the gain in units of weight.
    fn apply(&mut self, m: &Move) -> Option<f64> {
        let Rule { sizes, penalty, .. } = self.chooser.rule;
        let size = sizes[m.node as usize];
        let to = if m.to == ALONE { self.free()? } else { m.to };
        let Places { labels, total, count } = &self.places;
        let own = labels[m.node as usize];
        let more = total[to as usize] - total[own as usize] + size;
        let gain = m.links - size.times(penalty).product(more);
        // An empty community is one whose members have all left since the decision.
        if gain <= EPSILON || (m.to != ALONE && count[to as usize] == 0) {
            return None;
        }
        let moved = Moved { node: m.node, to, size };
        self.places.make(moved);
        if self.places.count[own as usize] == 0 {
            self.empty.push(own);
        }
        if self.team.has_helpers() {
            self.news.push(moved);
        }
        Some(gain)
    }

    /// A community without nodes.
    fn free(&mut self) -> Option<u32> {
        while let Some(c) = self.empty.last() {
            if self.places.count[*c as usize] == 0 {
                return Some(*c);
            }
            self.empty.pop();
        }
        None
    }

    /// Counts the moves of `moved` around their neighbours.
    fn count_moved(&mut self, moved: &[u32]) {
        for v in moved {
            let labels = &self.places.labels;
            count_around(self.chooser.net, labels, &mut self.around, *v as usize);
        }
    }
}

/// Counts a move of `v` around its neighbours in other communities.
fn count_around(network: &Network, labels: &[u32], around: &mut [u32], v: usize) {
    for u in &network.ends[network.range(v)] {
        let moves = &mut around[*u as usize];
        *moves = moves.saturating_add(u32::from(labels[*u as usize] != labels[v]));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testkit;
    use crate::view::{Copies, GraphView, Loops, Shape};

    #[test]
    fn a_hub_decides_anew_after_a_share_of_its_neighbours_moved() {
        let star: Vec<(u32, u32)> = (1..=128).map(|leaf| (0, leaf)).collect();
        let t = testkit::from_edges(129, &star);
        let shape = Shape { directed: false, copies: Copies::Keep, loops: Loops::Twice };
        let net = Network::new(&GraphView::new(&t, None, shape).unwrap());
        let sizes = net.strengths();
        for (thorough, moves_until_due) in [(true, 1), (false, 3)] {
            let rule = Rule {
                sizes: &sizes,
                penalty: 1.0 / 256.0,
                order: None,
                seed: 0,
                gain_min: 0.0,
                rounds: 1,
                all_move: false,
                thorough,
            };
            let chooser =
                Chooser { net: &net, rule, weight: |_| 1_u32, tallies: Tallies::new(129) };
            let copy = || Places::new(Vec::new(), &[]);
            let work = |_: &Places<f64>, _: &[u32]| Vec::new();
            let moves = Team::with(0, copy, work, |team| {
                let mut moving = Moving::new(&chooser, team, (0..129).collect());
                assert!(moving.is_due(0) && moving.is_due(5));
                moving.around.fill(0);
                assert!(!moving.is_due(0));
                (1..10).find(|leaf| {
                    moving.count_moved(&[*leaf]);
                    moving.is_due(0)
                })
            });
            assert_eq!(moves, Some(moves_until_due));
        }
    }
}
