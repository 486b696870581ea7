//! Label propagation (Raghavan, Albert and Kumara 2007, arXiv 0709.2938): every node takes the label that weighs
//! most among its neighbours, until none would change.
//!
//! Nodes take turns in an order drawn from the seed. In the first rounds those of a batch decide at once; then one
//! after the other, so that two nodes do not swap labels for ever. Batches depend on the graph alone.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use graphlume_types::CancelToken;
use graphlume_types::hash::h64;
use rayon::prelude::*;

use crate::AlgoError;
use crate::tally::{Tallies, Tally};
use crate::view::{GraphView, Lists};
use crate::weighted_graph::{CHUNK_ARCS, renumber};

/// Rounds in which nodes decide in batches.
const BATCH_ROUNDS: u64 = 6;
/// Batches of one round over a large graph, at most.
const BATCHES: usize = 64;
/// Arcs of a batch, at least; a round with fewer has batches of one.
const BATCH_ARCS_MIN: usize = 1 << 14;
/// Rounds at most: with edges of one direction there need not be an end.
const ROUNDS_MAX: u64 = 1000;
/// Nodes between two looks at the token.
const CHECK_NODES: usize = 512;
/// In place of a label.
const NONE: u32 = u32::MAX;

/// Parameters of [`run`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Chooses the order of turns and among labels of equal weight.
    pub seed: u64,
    /// Labels to begin with; a negative one means none. Each node its own unless given.
    pub initial: Option<Vec<i64>>,
    /// Nodes that keep the label that they begin with.
    pub fixed: Option<Vec<bool>>,
}

/// The label of every node, numbered by first appearance. In a directed view labels travel along the edges.
///
/// # Errors
/// [`AlgoError::Cancelled`]; [`AlgoError::Length`] for `initial` or `fixed` that are not one for each node.
pub fn run(
    view: &GraphView<'_>,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    let n = view.num_nodes() as usize;
    for (what, got) in [
        ("initial", options.initial.as_ref().map(Vec::len)),
        ("fixed", options.fixed.as_ref().map(Vec::len)),
    ] {
        got.map_or(Ok(()), |got| AlgoError::check_len(what, got, n, "node"))?;
    }
    let labels = match &options.initial {
        None => (0..n as u32).collect(),
        Some(initial) => compact(initial),
    };
    let fixed = |v: &u32| {
        let fixed = options.fixed.as_ref().is_some_and(|f| f[*v as usize]);
        fixed && labels[*v as usize] != NONE
    };
    let free: Vec<u32> = (0..n as u32).filter(|v| !fixed(v)).collect();
    let spreading = Spreading {
        lists: view.incoming(),
        wakes: view.out(),
        seed: options.seed,
        tallies: Tallies::new(n),
        active: (0..n).map(|_| AtomicBool::new(true)).collect(),
        labels,
    };
    let mut labels = spreading.run(free, cancel)?;
    name_the_rest(view, &mut labels);
    renumber(&mut labels, 2 * n);
    Ok(labels)
}

/// Labels below the number of nodes, the same for the same; [`NONE`] for negative ones.
fn compact(initial: &[i64]) -> Vec<u32> {
    let mut sorted: Vec<i64> = initial.iter().copied().filter(|l| *l >= 0).collect();
    sorted.sort_unstable();
    sorted.dedup();
    let place = |l: i64| if l < 0 { NONE } else { sorted.partition_point(|s| *s < l) as u32 };
    initial.iter().map(|l| place(*l)).collect()
}

/// Gives a label of its own to each connected part that no label reached.
fn name_the_rest(view: &GraphView<'_>, labels: &mut [u32]) {
    let mut next = labels.len() as u32;
    let mut queue = Vec::new();
    for v in 0..view.num_nodes() {
        if labels[v as usize] != NONE {
            continue;
        }
        labels[v as usize] = next;
        queue.push(v);
        while let Some(u) = queue.pop() {
            for w in view.out().neighbors(u).iter().chain(view.incoming().neighbors(u)) {
                if labels[*w as usize] == NONE {
                    labels[*w as usize] = next;
                    queue.push(*w);
                }
            }
        }
        next += 1;
    }
}

struct Spreading<'a> {
    /// Where labels come from.
    lists: &'a Lists<'a>,
    /// Where they go.
    wakes: &'a Lists<'a>,
    seed: u64,
    labels: Vec<u32>,
    tallies: Tallies<f64>,
    /// Nodes around which a label changed since they last decided.
    active: Vec<AtomicBool>,
}

impl Spreading<'_> {
    fn run(mut self, free: Vec<u32>, cancel: &CancelToken) -> Result<Vec<u32>, AlgoError> {
        let mut list = free.clone();
        for round in 0..ROUNDS_MAX {
            cancel.check()?;
            let active = |v: &u32| self.active[*v as usize].load(Relaxed);
            if round > 0 {
                list = free.par_iter().with_min_len(4096).copied().filter(active).collect();
            }
            if list.is_empty() {
                break;
            }
            for i in (1..list.len()).rev() {
                let j = h64(self.seed, round << 1, i as u64) % (i as u64 + 1);
                list.swap(i, j as usize);
            }
            let arcs: usize = list.iter().map(|v| self.lists.degree(*v) as usize).sum();
            if round < BATCH_ROUNDS && arcs >= BATCH_ARCS_MIN {
                self.by_batches(&list, arcs, round, cancel)?;
            } else {
                self.one_by_one(&list, round, cancel)?;
            }
        }
        Ok(self.labels)
    }

    fn one_by_one(
        &mut self,
        list: &[u32],
        round: u64,
        cancel: &CancelToken,
    ) -> Result<(), AlgoError> {
        for (k, v) in list.iter().enumerate() {
            if k % CHECK_NODES == 0 {
                cancel.check()?;
            }
            self.active[*v as usize].store(false, Relaxed);
            if let Some(label) = self.tallies.with(|tally| self.choose(*v, round, tally)) {
                self.labels[*v as usize] = label;
                self.wake(*v);
            }
        }
        Ok(())
    }

    fn by_batches(
        &mut self,
        list: &[u32],
        arcs: usize,
        round: u64,
        cancel: &CancelToken,
    ) -> Result<(), AlgoError> {
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
            let decide = |chunk: &[u32]| -> Vec<(u32, u32)> {
                chunk.iter().for_each(|v| self.active[*v as usize].store(false, Relaxed));
                self.tallies.with(|tally| {
                    chunk
                        .iter()
                        .filter_map(|v| Some((*v, self.choose(*v, round, tally)?)))
                        .collect()
                })
            };
            let changes: Vec<Vec<(u32, u32)>> = chunks.into_par_iter().map(decide).collect();
            for (v, label) in changes.iter().flatten() {
                self.labels[*v as usize] = *label;
            }
            changes.par_iter().flatten_iter().for_each(|(v, _)| self.wake(*v));
        }
        Ok(())
    }

    /// Splits off the first nodes, with about `arcs` arcs.
    fn cut<'b>(&self, list: &'b [u32], arcs: usize) -> (&'b [u32], &'b [u32]) {
        let mut sum = 0;
        let end = list.iter().position(|v| {
            sum += self.lists.degree(*v) as usize;
            sum >= arcs
        });
        list.split_at(end.map_or(list.len(), |e| e + 1))
    }

    /// The label that `v` takes instead of its own, which it keeps when none weighs more.
    fn choose(&self, v: u32, round: u64, tally: &mut Tally<f64>) -> Option<u32> {
        let range = self.lists.range(v);
        let label = |at: usize| self.labels[self.lists.all_neighbors()[at] as usize];
        let items = range.map(|at| match label(at) {
            NONE => (0, 0.0),
            label => (label, self.lists.weight(at)),
        });
        tally.extend(items);
        let own = self.labels[v as usize];
        let mut best = (own, if own == NONE { 0.0 } else { tally.get(own) });
        let mut ties = u64::from(best.1 > 0.0);
        let kept = best.1;
        tally.drain(|l, weight| {
            if weight > best.1 {
                (best, ties) = ((l, weight), 1);
            } else if weight == best.1 && weight > kept {
                // One of those of equal weight, each as likely as the others.
                ties += 1;
                if h64(self.seed, round << 1 | 1, u64::from(v) << 32 | u64::from(l))
                    .is_multiple_of(ties)
                {
                    best.0 = l;
                }
            }
        });
        (best.0 != own).then_some(best.0)
    }

    fn wake(&self, v: u32) {
        let own = self.labels[v as usize];
        for u in self.wakes.neighbors(v) {
            if self.labels[*u as usize] != own {
                self.active[*u as usize].store(true, Relaxed);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use graphlume_graph::Topology;

    use super::*;
    use crate::testkit;
    use crate::view::{Copies, Loops, Shape};

    fn view(t: &Topology, directed: bool) -> GraphView<'_> {
        let shape = Shape { directed, copies: Copies::Keep, loops: Loops::Once };
        GraphView::new(t, None, shape).unwrap()
    }

    fn find(t: &Topology, options: &Options) -> Vec<u32> {
        run(&view(t, false), options, &CancelToken::new()).unwrap()
    }

    #[test]
    fn every_label_is_one_that_most_neighbours_have() {
        for (name, t) in testkit::zoo() {
            for seed in 0..5 {
                let labels = find(&t, &Options { seed, ..Options::default() });
                let view = view(&t, false);
                for v in 0..t.num_nodes() {
                    let count = |l: u32| {
                        let near = view.out().neighbors(v).iter();
                        near.filter(|u| labels[**u as usize] == l).count()
                    };
                    let most = (0..t.num_nodes()).map(count).max().unwrap();
                    assert_eq!(count(labels[v as usize]), most, "{name}, node {v}");
                }
            }
        }
    }

    #[test]
    fn labels_are_the_same_at_any_number_of_threads() {
        let t = testkit::planted(3000, 30, 0.2, 0.002);
        let [one, two, three] = testkit::at_1_2_3_threads(|| find(&t, &Options::default()));
        assert!(one == two && two == three);
        let truth: Vec<u32> = (0..3000).map(|v| v % 30).collect();
        let agree = (0..3000).filter(|v| one[*v] == one[*v % 30]).count();
        assert!(agree > 2900, "{agree}");
        assert_eq!(truth.len(), one.len());
    }

    #[test]
    fn given_labels_spread_and_fixed_ones_stay() {
        let t = testkit::path(6);
        let mut initial = vec![-1; 6];
        (initial[0], initial[5]) = (7, 9);
        let mut fixed = vec![false; 6];
        (fixed[0], fixed[5]) = (true, true);
        let options = Options { initial: Some(initial), fixed: Some(fixed), seed: 1 };
        let labels = find(&t, &options);
        assert_eq!((labels[0], labels[5], labels.iter().max()), (0, 1, Some(&1)));
        // No label reaches the second part, which has one of its own then.
        let parts = testkit::from_edges(4, &[(0, 1), (2, 3)]);
        let options = Options { initial: Some(vec![3, -1, -1, -1]), ..Options::default() };
        assert_eq!(find(&parts, &options), [0, 0, 1, 1]);
        let short = Options { initial: Some(vec![1]), ..Options::default() };
        assert!(run(&view(&t, false), &short, &CancelToken::new()).is_err());
    }

    #[test]
    fn labels_travel_along_directed_edges() {
        let t = testkit::from_edges(3, &[(0, 1), (1, 2)]);
        let labels = run(&view(&t, true), &Options::default(), &CancelToken::new()).unwrap();
        assert_eq!(labels, [0, 0, 0]);
    }
}
