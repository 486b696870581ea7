//! Ends of short random walks from every node, which [`walktrap`](super::walktrap) compares.

use graphlume_types::CancelToken;
use rayon::prelude::*;

use super::network::Network;
use crate::AlgoError;

/// Nodes whose walks are looked at to foretell the bytes of all.
const SAMPLE: usize = 64;
/// Shares handed on, and nodes of a distance, between two looks at the cancel token.
const WORK_PER_CHECK: usize = 1 << 18;
/// Walks that are followed together where they reach most nodes.
const TOGETHER: usize = 16;
/// Entries whose squares are added in 32 bits before they are added up in 64.
const BLOCK: usize = 128;
/// Sums of squares that run side by side.
const LANES: usize = 16;

/// Where the walks of a community end: shares over the root of the strength of the node.
pub(super) enum Ends {
    /// Nodes, ascending, with their shares.
    Few(Vec<(u32, f32)>),
    /// The share of every node, where most nodes have one, and the sum of the squares.
    All(Vec<f32>, f64),
}

impl Ends {
    fn all(shares: Vec<f32>) -> Self {
        let square = shares.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
        Self::All(shares, square)
    }

    /// The distance of two.
    pub(super) fn distance(&self, other: &Self) -> f64 {
        let square = match (self, other) {
            (Self::Few(a), Self::Few(b)) => of_few(a, b),
            (Self::All(a, _), Self::All(b, _)) => of_all(a, b),
            (Self::All(all, square), Self::Few(few)) | (Self::Few(few), Self::All(all, square)) => {
                few.iter().fold(*square, |sum, (u, share)| {
                    let (x, y) = (f64::from(*share), f64::from(all[*u as usize]));
                    sum + x * (x - 2.0 * y)
                })
            }
        };
        square.max(0.0).sqrt()
    }

    /// Where the walks end of two communities together whose shares of the size are `wa` and `wb`, among `n` nodes.
    pub(super) fn together(self, wa: f64, other: Self, wb: f64, n: usize) -> Self {
        let (all, few, w_all, w_few) = match (self, other) {
            (Self::All(mut a, _), Self::All(b, _)) => {
                for (x, y) in a.iter_mut().zip(&b) {
                    *x = (wa * f64::from(*x) + wb * f64::from(*y)) as f32;
                }
                return Self::all(a);
            }
            (Self::Few(a), Self::Few(b)) => {
                let made = few_together(&a, wa, &b, wb);
                if !reaches_most(made.len(), n) {
                    return Self::Few(made);
                }
                (vec![0.0; n], made, 1.0, 1.0)
            }
            (Self::All(all, _), Self::Few(few)) => (all, few, wa, wb),
            (Self::Few(few), Self::All(all, _)) => (all, few, wb, wa),
        };
        let mut all = all;
        all.iter_mut().for_each(|x| *x = (w_all * f64::from(*x)) as f32);
        for (u, share) in few {
            let x = &mut all[u as usize];
            *x = (f64::from(*x) + w_few * f64::from(share)) as f32;
        }
        Self::all(all)
    }
}

/// From how many ends on those of all nodes take less memory.
fn reaches_most(ends: usize, n: usize) -> bool {
    2 * ends > n
}

/// The square of the distance of two lists of every share.
fn of_all(a: &[f32], b: &[f32]) -> f64 {
    let block = |(a, b): (&[f32], &[f32])| {
        let mut sums = [0.0f32; LANES];
        let (mut whole_a, mut whole_b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
        for (a, b) in (&mut whole_a).zip(&mut whole_b) {
            for lane in 0..LANES {
                let apart = a[lane] - b[lane];
                sums[lane] += apart * apart;
            }
        }
        let rest = whole_a.remainder().iter().zip(whole_b.remainder());
        let rest: f32 = rest.map(|(x, y)| (x - y) * (x - y)).sum();
        f64::from(sums.iter().sum::<f32>() + rest)
    };
    a.chunks(BLOCK).zip(b.chunks(BLOCK)).map(block).sum()
}

/// The square of the distance of two ascending lists.
fn of_few(a: &[(u32, f32)], b: &[(u32, f32)]) -> f64 {
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

/// Two ascending lists as one, each with its share of the size.
fn few_together(a: &[(u32, f32)], wa: f64, b: &[(u32, f32)], wb: f64) -> Vec<(u32, f32)> {
    let (mut i, mut j) = (0, 0);
    let mut made = Vec::with_capacity(a.len().max(b.len()));
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

/// The steps of a walker. Each node has a loop of the mean weight of its edges, so that walks of odd and even length
/// reach the same nodes.
pub(super) struct Walks<'a> {
    net: &'a Network,
    steps: u64,
    strength: Vec<f64>,
    own: Vec<f64>,
    /// Nodes that a walk reaches, on average.
    mean: f64,
}

impl<'a> Walks<'a> {
    /// Walks of `steps` steps; some are followed to foretell the bytes of all.
    ///
    /// # Errors
    /// [`AlgoError::Cancelled`].
    pub(super) fn new(
        network: &'a Network,
        steps: u64,
        cancel: &CancelToken,
    ) -> Result<Self, AlgoError> {
        let n = network.num_nodes();
        let plain = network.strengths();
        let own: Vec<f64> = (0..n)
            .map(|v| match network.degree(v) {
                0 => 1.0,
                d => plain[v] / d as f64 + network.loops[v],
            })
            .collect();
        let strength =
            plain.iter().zip(&own).zip(&network.loops).map(|((s, o), l)| s + o - l).collect();
        let mut walks = Self { net: network, steps, strength, own, mean: 0.0 };
        let sample: Vec<usize> = (0..n).step_by((n / SAMPLE).max(1)).collect();
        let length = |x: &mut Vec<f64>, v: &usize| walks.from(*v, x, cancel).map(|ends| ends.len());
        let lengths = sample.par_iter().map_init(|| vec![0.0; n], length);
        let all = lengths.try_reduce(|| 0, |a, b| Ok(a + b))?;
        walks.mean = all as f64 / sample.len().max(1) as f64;
        Ok(walks)
    }

    /// Bytes that the ends of all walks take.
    pub(super) fn bytes(&self) -> u64 {
        let n = self.strength.len() as f64;
        (n * (8.0 * self.mean).min(4.0 * n)) as u64
    }

    /// The ends of the walks from every node.
    pub(super) fn all(&self, cancel: &CancelToken) -> Result<Vec<Ends>, AlgoError> {
        let n = self.strength.len();
        if reaches_most(self.mean as usize, n) {
            let firsts: Vec<usize> = (0..n).step_by(TOGETHER).collect();
            let blocks = firsts.into_par_iter().map(|first| self.block(first, cancel));
            let blocks: Vec<Vec<Ends>> = blocks.collect::<Result<_, AlgoError>>()?;
            return Ok(blocks.into_iter().flatten().collect());
        }
        let ends = (0..n).into_par_iter().map_init(
            || vec![0.0; n],
            |x, v| {
                let few = self.from(v, x, cancel)?;
                if !reaches_most(few.len(), n) {
                    return Ok(Ends::Few(few));
                }
                let mut all = vec![0.0; n];
                few.iter().for_each(|(u, share)| all[*u as usize] = *share);
                Ok(Ends::all(all))
            },
        );
        ends.collect()
    }

    /// The ends of the walks from [`TOGETHER`] nodes, each looking at the arcs of all nodes.
    fn block(&self, first: usize, cancel: &CancelToken) -> Result<Vec<Ends>, AlgoError> {
        let n = self.strength.len();
        let count = TOGETHER.min(n - first);
        let mut at = vec![[0.0f32; TOGETHER]; n];
        let mut next = vec![[0.0f32; TOGETHER]; n];
        for (lane, v) in (first..first + count).enumerate() {
            let mut begin = |u: usize, share: f64| at[u][lane] += share as f32;
            if self.steps == 0 {
                begin(v, 1.0);
                continue;
            }
            let share = self.strength[v].recip();
            begin(v, share * self.own[v]);
            self.net.edges(v).for_each(|(u, w)| begin(u as usize, share * w));
        }
        for _ in 1..self.steps {
            cancel.check()?;
            for (x, strength) in at.iter_mut().zip(&self.strength) {
                let share = strength.recip() as f32;
                x.iter_mut().for_each(|x| *x *= share);
            }
            for (v, sum) in next.iter_mut().enumerate() {
                let own = self.own[v] as f32;
                *sum = at[v].map(|x| x * own);
                let range = self.net.range(v);
                match self.net.weights.as_deref() {
                    None => {
                        for u in &self.net.ends[range] {
                            let from = &at[*u as usize];
                            (0..TOGETHER).for_each(|lane| sum[lane] += from[lane]);
                        }
                    }
                    Some(w) => {
                        for (u, w) in self.net.ends[range.clone()].iter().zip(&w[range]) {
                            let from = &at[*u as usize];
                            let w = *w as f32;
                            (0..TOGETHER).for_each(|lane| sum[lane] += w * from[lane]);
                        }
                    }
                }
            }
            std::mem::swap(&mut at, &mut next);
        }
        let share = |lane: usize| {
            let shares = at.iter().zip(&self.strength);
            Ends::all(shares.map(|(x, s)| (f64::from(x[lane]) / s.sqrt()) as f32).collect())
        };
        Ok((0..count).map(share).collect())
    }

    /// The ends of the walks from `v`; `x` is all 0 before, and after unless the work was stopped.
    fn from(
        &self,
        v: usize,
        x: &mut [f64],
        cancel: &CancelToken,
    ) -> Result<Vec<(u32, f32)>, AlgoError> {
        cancel.check()?;
        let mut at = vec![v as u32];
        x[v] = 1.0;
        let mut next: Vec<(u32, f64)> = Vec::new();
        let mut passed = 0;
        for _ in 0..self.steps {
            next.clear();
            for u in &at {
                let u = *u as usize;
                passed += 1 + self.net.degree(u);
                if passed >= WORK_PER_CHECK {
                    cancel.check()?;
                    passed = 0;
                }
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
        Ok(at.iter().map(of).collect())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testkit;
    use crate::view::{Copies, GraphView, Loops, Shape};

    const SHAPE: Shape = Shape { directed: false, copies: Copies::Keep, loops: Loops::Twice };

    fn listed(few: &[(u32, f32)], n: usize) -> Ends {
        let mut all = vec![0.0; n];
        few.iter().for_each(|(u, share)| all[*u as usize] = *share);
        Ends::all(all)
    }

    #[test]
    fn a_block_of_walks_ends_where_each_walk_alone_ends() {
        let t = testkit::planted(301, 5, 0.2, 0.01);
        let weights: Vec<f64> = (0..t.num_edges()).map(|r| 1.0 + f64::from(r % 3)).collect();
        for weights in [None, Some(&weights[..])] {
            let view = GraphView::new(&t, weights, SHAPE).unwrap();
            let net = Network::new(&view);
            let cancel = CancelToken::new();
            let walks = Walks::new(&net, 4, &cancel).unwrap();
            assert!(reaches_most(walks.mean as usize, 301));
            let blocks = walks.all(&cancel).unwrap();
            let mut x = vec![0.0; 301];
            for (v, ends) in blocks.iter().enumerate() {
                let alone = listed(&walks.from(v, &mut x, &cancel).unwrap(), 301);
                assert!(ends.distance(&alone) < 1e-6, "{v}");
            }
        }
    }

    #[test]
    fn both_forms_have_the_same_distances_and_the_same_union() {
        let few: Vec<(u32, f32)> = (0..40).map(|u| (u * 2, 0.01 * (u % 7) as f32)).collect();
        let other: Vec<(u32, f32)> = (0..60).map(|u| (u, 0.02 * (u % 5) as f32)).collect();
        let forms = |list: &Vec<(u32, f32)>| [Ends::Few(list.clone()), listed(list, 200)];
        let expected = Ends::Few(few.clone()).distance(&Ends::Few(other.clone()));
        assert!(expected > 0.1);
        for a in forms(&few) {
            for b in forms(&other) {
                assert!((a.distance(&b) - expected).abs() < 1e-6);
            }
        }
        let union = Ends::Few(few_together(&few, 0.25, &other, 0.75));
        for kind in 0..4 {
            let pick = |list: &Vec<(u32, f32)>, all: bool| match all {
                true => listed(list, 200),
                false => Ends::Few(list.clone()),
            };
            let (a, b) = (pick(&few, kind & 1 == 1), pick(&other, kind & 2 == 2));
            assert!(a.together(0.25, b, 0.75, 200).distance(&union) < 1e-6, "{kind}");
        }
    }
}
