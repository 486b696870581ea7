//! Greedy merging by modularity (Clauset, Newman and Moore 2004, arXiv cond-mat/0408187): the two communities whose
//! union gains most become one, until no union gains.
//!
//! A merge changes what all unions of the merged community gain, but makes that more for those alone that touch the
//! smaller part. So the stronger community of a pair keeps it, and one that merges looks over its own list once; the
//! lists of its neighbours stay as they are, and say by whom each entry has been swallowed when they are looked over.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use graphlume_types::CancelToken;

use super::network::Network;
use crate::AlgoError;
use crate::view::GraphView;
use crate::weighted_graph::renumber;

/// Entries of lists between two looks at the token.
const CHECK_ENTRIES: usize = 1 << 16;
/// Gain, over that of one edge, that is rounding.
const EPSILON: f64 = 1e-12;

/// The community of every node, numbered by first appearance. Parallel edges count as one with the sum of their
/// weights. Of unions that gain the same, that of the smallest pair of communities comes first, a community being
/// named by its first node.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn run(view: &GraphView<'_>, cancel: &CancelToken) -> Result<Vec<u32>, AlgoError> {
    let net = Network::new(view);
    let n = net.num_nodes();
    let strengths = net.strengths();
    let total: f64 = strengths.iter().sum();
    let mut into: Vec<u32> = (0..n as u32).collect();
    if total > 0.0 {
        into = Merging::new(&net, strengths, total, cancel)?.run(cancel)?;
    }
    // A community is merged into one with a smaller name.
    for v in 0..n {
        into[v] = into[into[v] as usize];
    }
    renumber(&mut into, n);
    Ok(into)
}

/// A union, which gains `gain`.
#[derive(Clone, Copy, PartialEq)]
struct Union {
    gain: f64,
    low: u32,
    high: u32,
}

impl Eq for Union {}

impl Ord for Union {
    fn cmp(&self, other: &Self) -> Ordering {
        let pair = (other.low, other.high).cmp(&(self.low, self.high));
        self.gain.total_cmp(&other.gain).then(pair)
    }
}

impl PartialOrd for Union {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The best union that a community keeps, as it was found: it gains less, or is none any more, where one of the two has
/// merged since.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Best {
    union: Union,
    /// The community that keeps it, and how often that and the other had merged.
    keeper: u32,
    merges: [u32; 2],
}

struct Merging {
    /// For each community its neighbours with the weight between them. A neighbour may have become a part of another
    /// since, or stand there twice.
    lists: Vec<Vec<(u32, f64)>>,
    strengths: Vec<f64>,
    total: f64,
    /// What each community is a part of; itself, while it is none.
    into: Vec<u32>,
    /// How often each has merged.
    merges: Vec<u32>,
    /// The best union that each community keeps.
    best: Vec<Option<Best>>,
    heap: BinaryHeap<Best>,
    /// For each community where it stands in the list that is looked over, one more than that.
    place: Vec<u32>,
}

impl Merging {
    fn new(
        network: &Network,
        strengths: Vec<f64>,
        total: f64,
        cancel: &CancelToken,
    ) -> Result<Self, AlgoError> {
        let n = network.num_nodes();
        let mut merging = Self {
            lists: (0..n).map(|v| network.edges(v).collect()).collect(),
            strengths,
            total,
            into: (0..n as u32).collect(),
            merges: vec![0; n],
            best: vec![None; n],
            heap: BinaryHeap::with_capacity(n),
            place: vec![0; n],
        };
        for v in 0..n as u32 {
            if v.is_multiple_of(1024) {
                cancel.check()?;
            }
            merging.look(v, false);
        }
        Ok(merging)
    }

    fn union(&self, a: u32, b: u32, weight: f64) -> Union {
        // Half of the gain of modularity, times the weight of all edge ends.
        let gain = weight - self.strengths[a as usize] * self.strengths[b as usize] / self.total;
        Union { gain, low: a.min(b), high: a.max(b) }
    }

    /// Whether `c` keeps its union with `d`.
    fn keeps(&self, c: u32, d: u32) -> bool {
        let (sc, sd) = (self.strengths[c as usize], self.strengths[d as usize]);
        sc > sd || (sc == sd && c < d)
    }

    /// The community that `c` has become a part of.
    fn whole(&mut self, c: u32) -> u32 {
        let mut root = c;
        while self.into[root as usize] != root {
            root = self.into[root as usize];
        }
        let mut at = c;
        while self.into[at as usize] != root {
            at = std::mem::replace(&mut self.into[at as usize], root);
        }
        root
    }

    fn best_of(&self, keeper: u32, other: u32, union: Union) -> Best {
        let merges = [keeper, other].map(|c| self.merges[c as usize]);
        Best { union, keeper, merges }
    }

    fn set(&mut self, c: u32, best: Option<Best>) {
        self.best[c as usize] = best;
        self.heap.extend(best);
    }

    /// Looks over the list of `c`, which becomes that of its neighbours as they are now, and finds the best union that it
    /// keeps. When `c` has just merged, neighbours that keep their union with it hear of that. Gives the entries.
    fn look(&mut self, c: u32, merged: bool) -> usize {
        let mut list = std::mem::take(&mut self.lists[c as usize]);
        let entries = list.len();
        let mut kept = 0;
        for at in 0..entries {
            let (d, w) = list[at];
            let d = self.whole(d);
            if d == c {
                continue;
            }
            let place = &mut self.place[d as usize];
            if *place == 0 {
                list[kept] = (d, w);
                kept += 1;
                *place = kept as u32;
            } else {
                list[*place as usize - 1].1 += w;
            }
        }
        list.truncate(kept);
        let mut best: Option<Union> = None;
        for (d, w) in &list {
            self.place[*d as usize] = 0;
            let union = self.union(c, *d, *w);
            if self.keeps(c, *d) {
                best = best.max(Some(union));
            } else if merged && self.best[*d as usize].is_none_or(|b| b.union < union) {
                self.set(*d, Some(self.best_of(*d, c, union)));
            }
        }
        self.lists[c as usize] = list;
        let best = best.map(|union| {
            let other = if union.low == c { union.high } else { union.low };
            self.best_of(c, other, union)
        });
        self.set(c, best);
        entries
    }

    /// Merges while that gains; gives the community that each was merged into.
    fn run(mut self, cancel: &CancelToken) -> Result<Vec<u32>, AlgoError> {
        let least = EPSILON * self.total;
        let mut merges = Vec::new();
        let mut entries = 0;
        while let Some(next) = self.heap.pop() {
            if self.best[next.keeper as usize] != Some(next) {
                continue;
            }
            let Union { gain, low, high } = next.union;
            // What is out of date gains no more than it did.
            if gain <= least {
                break;
            }
            let other = if low == next.keeper { high } else { low };
            let is_whole = |c: u32| self.into[c as usize] == c;
            let now = [next.keeper, other].map(|c| self.merges[c as usize]);
            if is_whole(other) && now == next.merges {
                entries += self.merge(low, high);
                merges.push((low, high));
            } else {
                entries += self.look(next.keeper, false);
            }
            if entries > CHECK_ENTRIES {
                entries = 0;
                cancel.check()?;
            }
        }
        let mut into: Vec<u32> = (0..self.into.len() as u32).collect();
        for (low, high) in merges.into_iter().rev() {
            into[high as usize] = into[low as usize];
        }
        Ok(into)
    }

    /// Makes `high` a part of `low`; returns the entries that were looked at.
    fn merge(&mut self, low: u32, high: u32) -> usize {
        let (low_at, high_at) = (low as usize, high as usize);
        let mut shorter = std::mem::take(&mut self.lists[high_at]);
        if shorter.len() > self.lists[low_at].len() {
            std::mem::swap(&mut shorter, &mut self.lists[low_at]);
        }
        self.lists[low_at].extend(shorter);
        self.strengths[low_at] += std::mem::take(&mut self.strengths[high_at]);
        self.into[high_at] = low;
        self.merges[low_at] += 1;
        self.best[high_at] = None;
        self.look(low, true)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use graphlume_graph::Topology;

    use super::*;
    use crate::community::network::modularity;
    use crate::testkit;
    use crate::view::{Copies, Loops, Shape};

    fn view<'a>(t: &'a Topology, weights: Option<&[f64]>) -> GraphView<'a> {
        let shape = Shape { directed: false, copies: Copies::Keep, loops: Loops::Twice };
        GraphView::new(t, weights, shape).unwrap()
    }

    /// Tries every union by modularity as such.
    fn naive(view: &GraphView<'_>) -> Vec<u32> {
        let mut labels: Vec<u32> = (0..view.num_nodes()).collect();
        loop {
            let now = modularity(view, &labels, 1.0);
            let mut best = (1e-12, 0, 0);
            for a in 0..view.num_nodes() {
                for b in a + 1..view.num_nodes() {
                    let is = |c: u32| labels.contains(&c);
                    if is(a) && is(b) {
                        let with: Vec<u32> =
                            labels.iter().map(|l| if *l == b { a } else { *l }).collect();
                        let gain = modularity(view, &with, 1.0) - now;
                        if gain > best.0 + 1e-12 {
                            best = (gain, a, b);
                        }
                    }
                }
            }
            if best.1 == best.2 {
                renumber(&mut labels, view.num_nodes() as usize);
                return labels;
            }
            labels.iter_mut().for_each(|l| *l = if *l == best.2 { best.1 } else { *l });
        }
    }

    #[test]
    fn unions_are_the_best_at_every_step() {
        for (name, t) in testkit::zoo() {
            if t.num_nodes() > 25 {
                continue;
            }
            let distinct: Vec<f64> =
                (0..t.num_edges()).map(|r| 1.0 + (f64::from(r) * 0.61).fract()).collect();
            let view = view(&t, Some(&distinct));
            assert_eq!(run(&view, &CancelToken::new()).unwrap(), naive(&view), "{name}");
        }
    }

    #[test]
    fn the_karate_club_has_the_modularity_of_the_paper() {
        let t = testkit::karate();
        let labels = run(&view(&t, None), &CancelToken::new()).unwrap();
        let q = modularity(&view(&t, None), &labels, 1.0);
        assert!((q - 0.380_670_611_4).abs() < 1e-9, "{q}");
        assert_eq!(run(&view(&testkit::star(9), None), &CancelToken::new()).unwrap(), [0; 10]);
    }
}
