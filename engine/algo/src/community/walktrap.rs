//! Communities by random walks (Pons and Latapy 2005, arXiv physics/0512106): walks of a few steps from two nodes of one
//! community end alike. Neighbouring communities merge by Ward's rule; the merges are cut where modularity is best.
//!
//! What a merge costs is asked of few pairs. A merge moves a community no farther than it tells, so that the triangle
//! inequality bounds the distance to each neighbour from below, and only a pair whose bound is the least of all is
//! measured. The larger community of a pair keeps the bound of the pair; one that merges looks over its list once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use graphlume_types::CancelToken;
use rayon::prelude::*;

use super::moved::Paths;
use super::network::Network;
use super::walks::{Ends, Walks};
use crate::AlgoError;
use crate::view::GraphView;
use crate::weighted_graph::renumber;

/// Nodes of a graph at most.
pub const NODES_MAX: u64 = 50_000;
/// Bytes that the ends of all walks may take.
const BYTES_MAX: u64 = 2 << 30;
/// Bytes that an arc takes at most while communities merge: in lists and in queues.
const ARC_BYTES: u64 = 96;
/// Nodes passed, in distances and unions of ends, between two looks at the cancel token.
const NODES_PER_CHECK: usize = 1 << 20;
/// Pairs that are measured at once, by all threads.
const TOGETHER: usize = 8;
/// Nodes from which on it pays to wake other threads for that.
const NODES_SHARED_MIN: usize = 4096;

/// The community of every node, numbered by first appearance. `steps` is the length of the walks.
///
/// # Errors
/// [`AlgoError::TooLarge`] and [`AlgoError::Memory`] before the memory is taken, [`AlgoError::Cancelled`].
pub fn run(view: &GraphView<'_>, steps: u64, cancel: &CancelToken) -> Result<Vec<u32>, AlgoError> {
    let instead = "community_leiden with objective_function=modularity takes any size";
    let too_large = |what, size, limit| AlgoError::TooLarge {
        algorithm: "community_walktrap",
        what,
        size,
        limit,
        instead,
    };
    let n = u64::from(view.num_nodes());
    if n > NODES_MAX {
        return Err(too_large("nodes", n, NODES_MAX));
    }
    cancel.check()?;
    let net = Network::new(view);
    let walks = Walks::new(&net, steps, cancel)?;
    let bytes = walks.bytes();
    if bytes > BYTES_MAX {
        return Err(too_large("bytes of walks", bytes, BYTES_MAX));
    }
    let _held = cancel.hold(bytes + net.ends.len() as u64 * ARC_BYTES)?;
    let ends = walks.all(cancel)?;
    Merging::new(&net, ends, cancel)?.run(cancel)
}

/// A neighbour of a community.
#[derive(Clone, Copy)]
struct Pair {
    /// The neighbour, or a community that has become a part of it.
    other: u32,
    /// Whether `far` is the distance itself, if the neighbour has not moved.
    measured: bool,
    /// Weight of the edges between the two.
    weight: f64,
    /// The distance of the two at least, when the path of `other` was `path` long.
    far: f64,
    path: f64,
}

/// A pair in the queue of the community that keeps it. The first in order is the cheapest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Queued {
    /// The bits of what merging the two costs at least. Costs are not negative, and their bits order as they do.
    cost: u64,
    other: u32,
    /// The bits of the length of its path: another length is news of another entry.
    path: u64,
    /// The bits of the distance at least.
    far: u64,
    measured: bool,
}

/// What becomes of a pair when its community merges.
#[derive(Clone, Copy, Default)]
struct Joined {
    weight: f64,
    /// The distance at least from each of the two that merge, and whether it is the distance itself.
    far: [Option<(f64, bool)>; 2],
}

/// The communities while they merge. One becomes a part of the other, which keeps its number.
struct Merging {
    ends: Vec<Ends>,
    size: Vec<f64>,
    strength: Vec<f64>,
    /// Weight inside, each edge once.
    inside: Vec<f64>,
    /// Neighbours; one whose distance was measured may stand there twice, with its weight once.
    lists: Vec<Vec<Pair>>,
    /// The pairs that a community keeps.
    queues: Vec<BinaryHeap<Reverse<Queued>>>,
    paths: Paths,
    total: f64,
    /// No pair that a community keeps costs less; and, for each, the bits of that in the heap.
    least: Vec<f64>,
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    /// For each community where it stands in `joined`, one more than that.
    place: Vec<u32>,
    joined: Vec<(u32, Joined)>,
    /// Nodes passed since the last look at the cancel token.
    passed: usize,
}

impl Merging {
    fn new(network: &Network, ends: Vec<Ends>, cancel: &CancelToken) -> Result<Self, AlgoError> {
        let n = ends.len();
        let strength = network.strengths();
        let total = strength.iter().sum::<f64>() / 2.0;
        let list = |v: usize| {
            cancel.check()?;
            let mut edges: Vec<(u32, f64)> = network.edges(v).collect();
            edges.sort_by_key(|e| e.0);
            let mut list: Vec<Pair> = Vec::with_capacity(edges.len());
            let mut passed = 0;
            for (other, weight) in edges {
                match list.last_mut().filter(|pair| pair.other == other) {
                    Some(pair) => pair.weight += weight,
                    None => {
                        // Of one size, the first of the two keeps the pair.
                        let keeps = v < other as usize;
                        let far = match keeps {
                            true => {
                                passed += n;
                                ends[v].distance(&ends[other as usize])
                            }
                            false => 0.0,
                        };
                        if passed >= NODES_PER_CHECK {
                            cancel.check()?;
                            passed = 0;
                        }
                        list.push(Pair { other, measured: keeps, weight, far, path: 0.0 });
                    }
                }
            }
            Ok(list)
        };
        let mut lists: Vec<Vec<Pair>> =
            (0..n).into_par_iter().map(list).collect::<Result<_, AlgoError>>()?;
        for v in 0..n {
            let (before, own) = lists.split_at_mut(v);
            for pair in own[0].iter_mut().take_while(|pair| (pair.other as usize) < v) {
                let first = &before[pair.other as usize];
                if let Ok(at) = first.binary_search_by_key(&(v as u32), |same| same.other) {
                    (pair.far, pair.measured) = (first[at].far, true);
                }
            }
        }
        let mut merging = Self {
            ends,
            size: vec![1.0; n],
            strength,
            inside: network.loops.iter().map(|l| l / 2.0).collect(),
            lists,
            queues: Vec::new(),
            paths: Paths::new(n),
            total,
            least: vec![f64::INFINITY; n],
            heap: BinaryHeap::new(),
            place: vec![0; n],
            joined: Vec::new(),
            passed: 0,
        };
        for c in 0..n as u32 {
            let kept = merging.lists[c as usize].iter().filter(|pair| c < pair.other);
            let queue: BinaryHeap<_> = kept.map(|pair| Reverse(merging.queued(c, pair))).collect();
            merging.open(c, queue.peek().map(|first| first.0.cost));
            merging.queues.push(queue);
        }
        Ok(merging)
    }

    fn run(mut self, cancel: &CancelToken) -> Result<Vec<u32>, AlgoError> {
        let n = self.size.len();
        let mut merges: Vec<(u32, u32)> = Vec::new();
        let mut modularity: f64 = (0..n).map(|c| self.part(c)).sum();
        let mut best = (modularity, 0);
        while let Some(Reverse((bits, c))) = self.heap.pop() {
            if self.least[c as usize].to_bits() != bits {
                continue;
            }
            self.least[c as usize] = f64::INFINITY;
            cancel.check()?;
            let Some(pair) = self.cheapest(c, cancel)? else { continue };
            let (a, b) = (c as usize, pair.other as usize);
            let before = self.part(a) + self.part(b);
            self.merge(a, b, pair);
            merges.push((c, pair.other));
            modularity += self.part(a) - before;
            if modularity > best.0 + 1e-12 {
                best = (modularity, merges.len());
            }
        }
        let mut labels: Vec<u32> = (0..n as u32).collect();
        for (into, gone) in merges[..best.1].iter().rev() {
            labels[*gone as usize] = labels[*into as usize];
        }
        renumber(&mut labels, n);
        Ok(labels)
    }

    /// What a community adds to modularity.
    fn part(&self, c: usize) -> f64 {
        if self.total == 0.0 {
            return 0.0;
        }
        self.inside[c] / self.total - (self.strength[c] / (2.0 * self.total)).powi(2)
    }

    /// Whether `c` keeps its pair with `d`.
    fn keeps(&self, c: u32, d: u32) -> bool {
        let (sc, sd) = (self.size[c as usize], self.size[d as usize]);
        sc > sd || (sc == sd && c < d)
    }

    /// What merging two communities costs that are so far from each other (Ward's rule).
    fn cost(&self, c: u32, d: u32, far: f64) -> f64 {
        let (sc, sd) = (self.size[c as usize], self.size[d as usize]);
        sc * sd / (sc + sd) * far * far
    }

    /// The pair of `c` as it stands in its queue.
    fn queued(&self, c: u32, pair: &Pair) -> Queued {
        let (other, measured) = (pair.other, pair.measured);
        let cost = self.cost(c, other, pair.far).to_bits();
        Queued { cost, other, path: pair.path.to_bits(), far: pair.far.to_bits(), measured }
    }

    /// The first in the queue of `c` costs so much.
    fn open(&mut self, c: u32, cost: Option<u64>) {
        if let Some(bits) = cost.filter(|bits| f64::from_bits(*bits) < self.least[c as usize]) {
            self.least[c as usize] = f64::from_bits(bits);
            self.heap.push(Reverse((bits, c)));
        }
    }

    /// The pair of `c` that is the cheapest of all pairs, if that is one that `c` keeps.
    fn cheapest(&mut self, c: u32, cancel: &CancelToken) -> Result<Option<Pair>, AlgoError> {
        while let Some(Reverse(first)) = self.queues[c as usize].peek().copied() {
            let other = first.other;
            if self.paths.of(other) != (other, f64::from_bits(first.path)) {
                // It has merged since, and another entry tells.
                self.queues[c as usize].pop();
                continue;
            }
            if self.heap.peek().is_some_and(|next| first.cost > next.0.0) {
                self.open(c, Some(first.cost));
                break;
            }
            if first.measured {
                let (far, path) = (f64::from_bits(first.far), f64::from_bits(first.path));
                let (weight, measured) = (0.0, true);
                return Ok(Some(Pair { other, measured, weight, far, path }));
            }
            self.measure(c, cancel)?;
        }
        Ok(None)
    }

    /// Measures the first pairs in the queue of `c`.
    fn measure(&mut self, c: u32, cancel: &CancelToken) -> Result<(), AlgoError> {
        let queue = &mut self.queues[c as usize];
        let mut first = Vec::with_capacity(TOGETHER);
        while let Some(Reverse(next)) = queue.peek().filter(|next| !next.0.measured).copied() {
            queue.pop();
            if self.paths.of(next.other) == (next.other, f64::from_bits(next.path)) {
                first.push(next);
            }
            if first.len() == TOGETHER {
                break;
            }
        }
        self.passed += first.len() * self.ends.len();
        if self.passed >= NODES_PER_CHECK {
            cancel.check()?;
            self.passed = 0;
        }
        let ends = &self.ends;
        let alone = if ends.len() < NODES_SHARED_MIN { TOGETHER } else { 1 };
        let pairs = first.par_iter().with_min_len(alone).map(|queued| Pair {
            other: queued.other,
            measured: true,
            weight: 0.0,
            far: ends[c as usize].distance(&ends[queued.other as usize]),
            path: f64::from_bits(queued.path),
        });
        let pairs: Vec<Pair> = pairs.collect();
        for pair in pairs {
            let queued = self.queued(c, &pair);
            self.queues[c as usize].push(Reverse(queued));
            self.lists[c as usize].push(pair);
        }
        Ok(())
    }

    /// Makes `b` a part of `a`, which are as far from each other as `pair` tells.
    fn merge(&mut self, a: usize, b: usize, pair: Pair) {
        let (sa, sb) = (self.size[a], self.size[b]);
        let (wa, wb) = (sa / (sa + sb), sb / (sa + sb));
        let lists = [a, b].map(|c| std::mem::take(&mut self.lists[c]));
        let mut between = 0.0;
        for (side, list) in lists.iter().enumerate() {
            for pair in list {
                let (other, path) = self.paths.of(pair.other);
                if other as usize == a || other as usize == b {
                    between += if side == 0 { pair.weight } else { 0.0 };
                    continue;
                }
                let far = (pair.far - (path - pair.path)).max(0.0);
                let measured = pair.measured && path == pair.path && other == pair.other;
                let joined = self.joined_of(other);
                joined.weight += pair.weight;
                let known = &mut joined.far[side];
                if known.is_none_or(|known| known < (far, measured)) {
                    *known = Some((far, measured));
                }
            }
        }
        let n = self.ends.len();
        let [own, gone] =
            [a, b].map(|c| std::mem::replace(&mut self.ends[c], Ends::Few(Vec::new())));
        self.ends[a] = own.together(wa, gone, wb, n);
        self.size[a] += sb;
        self.strength[a] += self.strength[b];
        self.inside[a] += self.inside[b] + between;
        self.paths.join(a, b, wb * pair.far, wa * pair.far);
        let mut list = lists.into_iter().next().unwrap_or_default();
        list.clear();
        let mut queue = std::mem::take(&mut self.queues[a]).into_vec();
        queue.clear();
        self.queues[b] = BinaryHeap::new();
        (self.least[a], self.least[b]) = (f64::INFINITY, f64::INFINITY);
        for (other, joined) in std::mem::take(&mut self.joined) {
            self.place[other as usize] = 0;
            let (far, measured) = joined.together(wa, wb, pair.far);
            let path = self.paths.of(other).1;
            let pair = Pair { other, measured, weight: joined.weight, far, path };
            list.push(pair);
            if self.keeps(a as u32, other) {
                queue.push(Reverse(self.queued(a as u32, &pair)));
            } else {
                let own = Pair { other: a as u32, path: self.paths.of(a as u32).1, ..pair };
                let queued = self.queued(other, &own);
                self.queues[other as usize].push(Reverse(queued));
                self.open(other, Some(queued.cost));
            }
        }
        self.lists[a] = list;
        self.queues[a] = queue.into();
        let first = self.queues[a].peek().map(|first| first.0.cost);
        self.open(a as u32, first);
    }

    /// The entry of a neighbour of the two that merge.
    fn joined_of(&mut self, other: u32) -> &mut Joined {
        let place = &mut self.place[other as usize];
        if *place == 0 {
            self.joined.push((other, Joined::default()));
            *place = self.joined.len() as u32;
        }
        let at = *place as usize - 1;
        &mut self.joined[at].1
    }
}

impl Joined {
    /// The distance at least from the two together, which were `apart` from each other and have the shares `wa` and
    /// `wb` of their size, and whether it is the distance itself.
    fn together(&self, wa: f64, wb: f64, apart: f64) -> (f64, bool) {
        let from = |side: Option<(f64, bool)>, moved: f64| side.map_or(0.0, |s| s.0 - moved);
        let least = from(self.far[0], wb * apart).max(from(self.far[1], wa * apart)).max(0.0);
        let [Some(a), Some(b)] = self.far else { return (least, false) };
        // By what both were before (Pons and Latapy 2005, theorem 4), which is a bound where those are.
        let square = wa * a.0 * a.0 + wb * b.0 * b.0 - wa * wb * apart * apart;
        let exact = a.1 && b.1;
        let far = square.max(0.0).sqrt();
        (if exact { far } else { far.max(least) }, exact)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::community::network::modularity;
    use crate::testkit;
    use crate::view::{Copies, Loops, Shape};

    const SHAPE: Shape = Shape { directed: false, copies: Copies::Keep, loops: Loops::Twice };

    #[test]
    fn planted_groups_are_found_at_any_number_of_threads() {
        let t = testkit::planted(300, 5, 0.2, 0.01);
        let view = GraphView::new(&t, None, SHAPE).unwrap();
        let cancel = CancelToken::new();
        let [one, two, three] = testkit::at_1_2_3_threads(|| run(&view, 4, &cancel).unwrap());
        assert!(one == two && one == three);
        let planted: Vec<u32> = (0..300).map(|v| v % 5).collect();
        let (found, best) = (modularity(&view, &one, 1.0), modularity(&view, &planted, 1.0));
        assert!(found > best - 0.05, "{found} {best}");
    }

    /// Merges the pair of least cost of all, each distance anew.
    fn naive(view: &GraphView<'_>, steps: u64) -> Vec<u32> {
        let net = Network::new(view);
        let n = net.num_nodes();
        let mut ends: Vec<Option<(Ends, f64)>> = Walks::new(&net, steps, &CancelToken::new())
            .unwrap()
            .all(&CancelToken::new())
            .unwrap()
            .into_iter()
            .map(|e| Some((e, 1.0)))
            .collect();
        let mut labels: Vec<u32> = (0..n as u32).collect();
        let mut best = (modularity(view, &labels, 1.0), labels.clone());
        loop {
            let mut least = (f64::INFINITY, 0, 0);
            for v in 0..n {
                for (u, _) in net.edges(v) {
                    let (a, b) = (labels[v] as usize, labels[u as usize] as usize);
                    if a < b {
                        let ((x, sa), (y, sb)) =
                            (ends[a].as_ref().unwrap(), ends[b].as_ref().unwrap());
                        let cost = sa * sb / (sa + sb) * x.distance(y).powi(2);
                        if cost < least.0 {
                            least = (cost, a, b);
                        }
                    }
                }
            }
            let (_, a, b) = least;
            if a == b {
                renumber(&mut best.1, n);
                return best.1;
            }
            let ((x, sa), (y, sb)) = (ends[a].take().unwrap(), ends[b].take().unwrap());
            let size = sa + sb;
            ends[a] = Some((x.together(sa / size, y, sb / size, n), size));
            labels.iter_mut().filter(|l| **l as usize == b).for_each(|l| *l = a as u32);
            let now = modularity(view, &labels, 1.0);
            if now > best.0 + 1e-12 {
                best = (now, labels.clone());
            }
        }
    }

    #[test]
    fn merges_are_the_cheapest_at_every_step() {
        for (name, t) in testkit::zoo() {
            if t.num_nodes() > 60 {
                continue;
            }
            // No two merges cost the same.
            let distinct: Vec<f64> =
                (0..t.num_edges()).map(|r| 1.0 + (f64::from(r) * 0.61).fract()).collect();
            let view = GraphView::new(&t, Some(&distinct), SHAPE).unwrap();
            for steps in [1, 4] {
                let found = run(&view, steps, &CancelToken::new()).unwrap();
                assert_eq!(found, naive(&view, steps), "{name} {steps}");
            }
        }
    }

    #[test]
    fn long_walks_are_stopped_amid_the_first_and_charged_before_they_are_kept() {
        use std::time::{Duration, Instant};

        use graphlume_types::{Budget, Cancelled, MemoryConsumer};

        let t = testkit::planted(300, 5, 0.2, 0.01);
        let view = GraphView::new(&t, None, SHAPE).unwrap();
        // A walk of so many steps never ends: that the run ends at all is the test.
        let soon = CancelToken::with_deadline(Instant::now() + Duration::from_millis(20));
        let stopped = run(&view, 1 << 40, &soon);
        assert!(matches!(stopped, Err(AlgoError::Cancelled(Cancelled(_)))));
        let share = MemoryConsumer::new(Budget::new("host", 1 << 30), 1 << 10, None);
        let refused = run(&view, 4, &CancelToken::new().with_memory(share.clone()));
        assert!(matches!(refused, Err(AlgoError::Memory(_))));
        assert_eq!(share.used(), 0);
    }

    #[test]
    fn karate_is_cut_well() {
        let t = testkit::karate();
        let view = GraphView::new(&t, None, SHAPE).unwrap();
        let labels = run(&view, 4, &CancelToken::new()).unwrap();
        assert!(modularity(&view, &labels, 1.0) > 0.34);
    }
}
