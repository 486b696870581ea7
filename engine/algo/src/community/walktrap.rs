//! Communities by random walks (Pons and Latapy 2005, arXiv physics/0512106): walks of a few steps from two nodes of one
//! community end alike. Neighbouring communities merge by Ward's rule; the merges are cut where modularity is best.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use graphlume_types::CancelToken;
use rayon::prelude::*;

use super::network::Network;
use crate::AlgoError;
use crate::view::GraphView;
use crate::weighted_graph::renumber;

/// Nodes of a graph at most.
pub const NODES_MAX: u64 = 50_000;
/// Bytes that the ends of all walks may take.
const BYTES_MAX: u64 = 2 << 30;
/// Nodes whose walks are looked at to foretell the bytes of all.
const SAMPLE: usize = 64;
/// Merges between two looks at the cancel token.
const MERGES_PER_CHECK: usize = 16;

/// Where the walks of a community end: nodes, ascending, and shares over the root of the strength of the node.
type Ends = Vec<(u32, f32)>;

/// The community of every node, numbered by first appearance. `steps` is the length of the walks.
///
/// # Errors
/// [`AlgoError::TooLarge`] before the memory is taken, [`AlgoError::Cancelled`].
pub fn run(view: &GraphView<'_>, steps: u64, cancel: &CancelToken) -> Result<Vec<u32>, AlgoError> {
    let instead = "community_leiden with objective_function=modularity takes any size";
    let too_large = |what, size, limit| AlgoError::TooLarge {
        algorithm: "community_walktrap",
        what,
        size,
        limit,
        instead,
    };
    let n = view.num_nodes() as usize;
    if n as u64 > NODES_MAX {
        return Err(too_large("nodes", n as u64, NODES_MAX));
    }
    cancel.check()?;
    let net = Network::new(view);
    let walks = Walks::new(&net, steps);
    let sample: Vec<usize> = (0..n).step_by((n / SAMPLE).max(1)).collect();
    let lengths = sample.par_iter().map_init(|| vec![0.0; n], |x, v| walks.from(*v, x).len());
    let mean = lengths.sum::<usize>() as f64 / sample.len().max(1) as f64;
    let bytes = (mean * 8.0 * n as f64) as u64;
    if bytes > BYTES_MAX {
        return Err(too_large("bytes of walks", bytes, BYTES_MAX));
    }
    let ends = (0..n).into_par_iter().map_init(
        || vec![0.0; n],
        |x, v| {
            cancel.check()?;
            Ok(walks.from(v, x))
        },
    );
    let ends: Vec<Ends> = ends.collect::<Result<_, AlgoError>>()?;
    Merging::new(&net, ends).run(cancel)
}

/// The steps of a walker. Each node has a loop of the mean weight of its edges, so that walks of odd and even length
/// reach the same nodes.
struct Walks<'a> {
    net: &'a Network,
    steps: u64,
    strength: Vec<f64>,
    own: Vec<f64>,
}

impl<'a> Walks<'a> {
    fn new(net: &'a Network, steps: u64) -> Self {
        let plain = net.strengths();
        let own: Vec<f64> = (0..net.num_nodes())
            .map(|v| match net.degree(v) {
                0 => 1.0,
                d => plain[v] / d as f64 + net.loops[v],
            })
            .collect();
        let strength =
            plain.iter().zip(&own).zip(&net.loops).map(|((s, o), l)| s + o - l).collect();
        Self { net, steps, strength, own }
    }

    /// The ends of the walks from `v`; `x` is all 0 before and after.
    fn from(&self, v: usize, x: &mut [f64]) -> Ends {
        let mut at = vec![v as u32];
        x[v] = 1.0;
        let mut next: Vec<(u32, f64)> = Vec::new();
        for _ in 0..self.steps {
            next.clear();
            for u in &at {
                let u = *u as usize;
                let share = std::mem::take(&mut x[u]) / self.strength[u];
                next.push((u as u32, share * self.own[u]));
                next.extend(self.net.edges(u).map(|(to, w)| (to, share * w)));
            }
            at.clear();
            for (to, share) in &next {
                if x[*to as usize] == 0.0 {
                    at.push(*to);
                }
                x[*to as usize] += share;
            }
            at.retain(|u| x[*u as usize] != 0.0);
        }
        at.sort_unstable();
        at.dedup();
        let of = |u: &u32| {
            let share = std::mem::take(&mut x[*u as usize]);
            (*u, (share / self.strength[*u as usize].sqrt()) as f32)
        };
        at.iter().map(of).collect()
    }
}

/// The communities while they merge. A merge makes a new one; numbers of the old are not used again.
struct Merging {
    n: usize,
    ends: Vec<Ends>,
    size: Vec<f64>,
    strength: Vec<f64>,
    /// Weight inside, each edge once.
    inside: Vec<f64>,
    /// Neighbouring communities with what merging costs and the weight between.
    near: Vec<BTreeMap<u32, (f64, f64)>>,
    total: f64,
}

impl Merging {
    fn new(net: &Network, ends: Vec<Ends>) -> Self {
        let n = ends.len();
        let strength = net.strengths();
        let total = strength.iter().sum::<f64>() / 2.0;
        let inside = net.loops.iter().map(|l| l / 2.0).collect();
        let near: Vec<BTreeMap<u32, (f64, f64)>> = (0..n)
            .into_par_iter()
            .map(|v| {
                let mut near = BTreeMap::new();
                for (u, w) in net.edges(v) {
                    let (a, b) = (v.min(u as usize), v.max(u as usize));
                    let entry = near
                        .entry(u)
                        .or_insert_with(|| (0.5 * distance(&ends[a], &ends[b]) / n as f64, 0.0));
                    entry.1 += w;
                }
                near
            })
            .collect();
        Self { n, ends, size: vec![1.0; n], strength, inside, near, total }
    }

    fn run(mut self, cancel: &CancelToken) -> Result<Vec<u32>, AlgoError> {
        let mut heap = BinaryHeap::new();
        for (a, near) in self.near.iter().enumerate() {
            let later = near.range(a as u32 + 1..);
            heap.extend(later.map(|(b, (cost, _))| Reverse((cost.to_bits(), a as u32, *b))));
        }
        let mut merges: Vec<(u32, u32)> = Vec::new();
        let mut modularity: f64 = (0..self.n).map(|c| self.part(c)).sum();
        let mut best = (modularity, 0);
        while let Some(Reverse((bits, a, b))) = heap.pop() {
            let known = self.near[a as usize].get(&b).map(|(cost, _)| cost.to_bits());
            if known != Some(bits) {
                continue;
            }
            if merges.len().is_multiple_of(MERGES_PER_CHECK) {
                cancel.check()?;
            }
            let before = self.part(a as usize) + self.part(b as usize);
            let made = self.merge(a as usize, b as usize);
            for (c, (cost, _)) in &self.near[made] {
                heap.push(Reverse((cost.to_bits(), *c, made as u32)));
            }
            merges.push((a, b));
            modularity += self.part(made) - before;
            if modularity > best.0 + 1e-12 {
                best = (modularity, merges.len());
            }
        }
        let mut into: Vec<u32> = (0..(self.n + best.1) as u32).collect();
        for (k, (a, b)) in merges[..best.1].iter().enumerate().rev() {
            let made = into[self.n + k];
            (into[*a as usize], into[*b as usize]) = (made, made);
        }
        let mut labels = into[..self.n].to_vec();
        renumber(&mut labels, into.len());
        Ok(labels)
    }

    /// What a community adds to modularity.
    fn part(&self, c: usize) -> f64 {
        if self.total == 0.0 {
            return 0.0;
        }
        self.inside[c] / self.total - (self.strength[c] / (2.0 * self.total)).powi(2)
    }

    /// Merges two communities into a new one, whose number it returns.
    fn merge(&mut self, a: usize, b: usize) -> usize {
        let made = self.ends.len();
        let (sa, sb) = (self.size[a], self.size[b]);
        let (near_a, near_b) =
            (std::mem::take(&mut self.near[a]), std::mem::take(&mut self.near[b]));
        let (between, weight) = near_a.get(&(b as u32)).copied().unwrap_or_default();
        let (ends_a, ends_b) =
            (std::mem::take(&mut self.ends[a]), std::mem::take(&mut self.ends[b]));
        self.ends.push(mean(&ends_a, sa, &ends_b, sb));
        self.size.push(sa + sb);
        self.strength.push(self.strength[a] + self.strength[b]);
        self.inside.push(self.inside[a] + self.inside[b] + weight);
        let mut near = BTreeMap::new();
        let others = near_a.keys().chain(near_b.keys().filter(|c| !near_a.contains_key(c)));
        for c in others.filter(|c| **c as usize != a && **c as usize != b) {
            let sc = self.size[*c as usize];
            let (of_a, of_b) = (near_a.get(c), near_b.get(c));
            let weight = of_a.map_or(0.0, |e| e.1) + of_b.map_or(0.0, |e| e.1);
            let cost = match (of_a, of_b) {
                // By what both cost before (Pons and Latapy 2005, theorem 4).
                (Some(x), Some(y)) => {
                    ((sa + sc) * x.0 + (sb + sc) * y.0 - sc * between) / (sa + sb + sc)
                }
                _ => {
                    let apart = distance(&self.ends[made], &self.ends[*c as usize]);
                    (sa + sb) * sc / (sa + sb + sc) * apart / self.n as f64
                }
            };
            near.insert(*c, (cost.max(0.0), weight));
            let back = &mut self.near[*c as usize];
            back.remove(&(a as u32));
            back.remove(&(b as u32));
            back.insert(made as u32, (cost.max(0.0), weight));
        }
        self.near.push(near);
        made
    }
}

/// The square of the distance of two ends.
fn distance(a: &Ends, b: &Ends) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < a.len() || j < b.len() {
        let (x, y) = (a.get(i).map_or(u32::MAX, |e| e.0), b.get(j).map_or(u32::MAX, |e| e.0));
        let apart = match x.cmp(&y) {
            std::cmp::Ordering::Less => f64::from(a[i].1),
            std::cmp::Ordering::Greater => f64::from(b[j].1),
            std::cmp::Ordering::Equal => f64::from(a[i].1) - f64::from(b[j].1),
        };
        sum += apart * apart;
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    sum
}

/// The ends of the walks of two communities together.
fn mean(a: &Ends, sa: f64, b: &Ends, sb: f64) -> Ends {
    let (mut i, mut j) = (0, 0);
    let mut made = Vec::with_capacity(a.len().max(b.len()));
    let (wa, wb) = (sa / (sa + sb), sb / (sa + sb));
    while i < a.len() || j < b.len() {
        let (x, y) = (a.get(i).map_or(u32::MAX, |e| e.0), b.get(j).map_or(u32::MAX, |e| e.0));
        let own = if x <= y { wa * f64::from(a[i].1) } else { 0.0 };
        let other = if y <= x { wb * f64::from(b[j].1) } else { 0.0 };
        made.push((x.min(y), (own + other) as f32));
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    made
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

    #[test]
    fn karate_is_cut_well() {
        let t = testkit::karate();
        let view = GraphView::new(&t, None, SHAPE).unwrap();
        let labels = run(&view, 4, &CancelToken::new()).unwrap();
        assert!(modularity(&view, &labels, 1.0) > 0.34);
    }
}
