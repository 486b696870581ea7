//! Greedy merging by modularity (Clauset, Newman and Moore 2004, arXiv cond-mat/0408187): the two communities whose
//! union gains most become one, until no union gains.

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
        Merging::new(&net, strengths, total, cancel)?.run(&mut into, cancel)?;
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

struct Merging {
    /// For each community its neighbours, ascending, with the weight between them.
    lists: Vec<Vec<(u32, f64)>>,
    strengths: Vec<f64>,
    total: f64,
    /// The best union of each community with one of its neighbours.
    best: Vec<Option<Union>>,
    /// Best unions of communities; those that are not any more are passed over.
    heap: BinaryHeap<Union>,
}

impl Merging {
    fn new(
        net: &Network,
        strengths: Vec<f64>,
        total: f64,
        cancel: &CancelToken,
    ) -> Result<Self, AlgoError> {
        let n = net.num_nodes();
        let mut lists = Vec::with_capacity(n);
        for v in 0..n {
            if v % 1024 == 0 {
                cancel.check()?;
            }
            let mut list: Vec<(u32, f64)> = net.edges(v).collect();
            list.sort_by_key(|e| e.0);
            list.dedup_by(|next, first| {
                let same = next.0 == first.0;
                if same {
                    first.1 += next.1;
                }
                same
            });
            lists.push(list);
        }
        let best = vec![None; n];
        let mut merging = Self { lists, strengths, total, best, heap: BinaryHeap::new() };
        for v in 0..n as u32 {
            merging.look(v);
        }
        Ok(merging)
    }

    fn union(&self, a: u32, b: u32, weight: f64) -> Union {
        // Half of the gain of modularity, times the weight of all edge ends.
        let gain = weight - self.strengths[a as usize] * self.strengths[b as usize] / self.total;
        Union { gain, low: a.min(b), high: a.max(b) }
    }

    /// Finds the best union of `c` with a neighbour.
    fn look(&mut self, c: u32) {
        let unions = self.lists[c as usize].iter().map(|(d, w)| self.union(c, *d, *w));
        let best = unions.max();
        self.set(c, best);
    }

    fn set(&mut self, c: u32, best: Option<Union>) {
        self.best[c as usize] = best;
        self.heap.extend(best);
    }

    /// Merges while that gains; `into` becomes the community that each was merged into.
    fn run(mut self, into: &mut [u32], cancel: &CancelToken) -> Result<(), AlgoError> {
        let least = EPSILON * self.total;
        let mut merges = Vec::new();
        let mut entries = 0;
        while let Some(next) = self.heap.pop() {
            let Union { gain, low, high } = next;
            if gain <= least {
                break;
            }
            if self.best[low as usize] != Some(next) && self.best[high as usize] != Some(next) {
                continue;
            }
            entries += self.merge(low, high);
            merges.push((low, high));
            if entries > CHECK_ENTRIES {
                entries = 0;
                cancel.check()?;
            }
        }
        for (low, high) in merges.into_iter().rev() {
            into[high as usize] = into[low as usize];
        }
        Ok(())
    }

    /// Makes `high` a part of `low`; returns the entries that were looked at.
    fn merge(&mut self, low: u32, high: u32) -> usize {
        let gone = std::mem::take(&mut self.lists[high as usize]);
        let own = std::mem::take(&mut self.lists[low as usize]);
        let mut entries = own.len() + gone.len();
        self.strengths[low as usize] += std::mem::take(&mut self.strengths[high as usize]);
        self.best[high as usize] = None;
        let union = unite(&own, &gone, low, high);
        for (d, w) in &union {
            let list = &mut self.lists[*d as usize];
            entries += list.len() / 8;
            if let Ok(at) = list.binary_search_by_key(&high, |e| e.0) {
                list.remove(at);
            }
            match list.binary_search_by_key(&low, |e| e.0) {
                Ok(at) => list[at].1 = *w,
                Err(at) => list.insert(at, (low, *w)),
            }
            let now = self.union(low, *d, *w);
            match self.best[*d as usize] {
                // Its best union was with one of the two: any may be the best now, unless this one is better.
                Some(best) if [best.low, best.high].iter().any(|c| [low, high].contains(c)) => {
                    if now > best {
                        self.set(*d, Some(now));
                    } else {
                        entries += self.lists[*d as usize].len();
                        self.look(*d);
                    }
                }
                Some(best) if best > now => {}
                _ => self.set(*d, Some(now)),
            }
        }
        self.lists[low as usize] = union;
        self.look(low);
        entries
    }
}

/// The neighbours of the union of two communities.
fn unite(a: &[(u32, f64)], b: &[(u32, f64)], low: u32, high: u32) -> Vec<(u32, f64)> {
    let mut union = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let (x, y) = (a.get(i).map(|e| e.0), b.get(j).map(|e| e.0));
        let next = x.into_iter().chain(y).min().unwrap_or(0);
        let mut weight = 0.0;
        if x == Some(next) {
            weight += a[i].1;
            i += 1;
        }
        if y == Some(next) {
            weight += b[j].1;
            j += 1;
        }
        if next != low && next != high {
            union.push((next, weight));
        }
    }
    union
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
