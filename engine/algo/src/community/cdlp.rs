//! Community detection by label propagation as the Graphalytics benchmark defines it (Iosup et al. 2016, PVLDB 9):
//! all nodes take at once the label that is most frequent among their neighbours, the smallest where several are,
//! for a fixed number of rounds.

use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::AlgoError;
use crate::tally::Tallies;
use crate::view::{GraphView, Lists};
use crate::weighted_graph::by_arcs;

/// Parameters of [`run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Rounds.
    pub max_iterations: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { max_iterations: 10 }
    }
}

/// The label of every node: the index of a node. Labels begin as the nodes' own. In a directed view both directions
/// count, so that two nodes with an edge each way count twice for each other.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn run(
    view: &GraphView<'_>,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    let n = view.num_nodes();
    let lists: Vec<&Lists<'_>> = match view.is_directed() {
        true => vec![view.out(), view.incoming()],
        false => vec![view.out()],
    };
    let arcs = |v: u32| lists.iter().map(|l| l.degree(v) as usize).sum::<usize>();
    let mut work = Vec::with_capacity(n as usize + 1);
    let mut at = 0;
    work.push(0);
    for v in 0..n {
        at += 1 + arcs(v);
        work.push(at);
    }
    let ranges = by_arcs(&work);
    let tallies = Tallies::<u32>::new(n as usize);
    let mut labels: Vec<u32> = (0..n).collect();
    let mut next = labels.clone();
    for _ in 0..options.max_iterations {
        let mut parts = Vec::with_capacity(ranges.len());
        let mut left = &mut next[..];
        for range in &ranges {
            let (own, rest) = left.split_at_mut(range.len());
            left = rest;
            parts.push((range.clone(), own));
        }
        parts.into_par_iter().try_for_each(|(nodes, next)| {
            cancel.check()?;
            tallies.with(|tally| {
                for (v, next) in nodes.zip(next) {
                    for list in &lists {
                        let near = list.neighbors(v as u32).iter();
                        tally.extend(near.map(|u| (labels[*u as usize], 1)));
                    }
                    let mut best = (labels[v], 0);
                    tally.drain(|l, count| {
                        if count > best.1 || (count == best.1 && l < best.0) {
                            best = (l, count);
                        }
                    });
                    *next = best.0;
                }
            });
            Ok::<(), AlgoError>(())
        })?;
        std::mem::swap(&mut labels, &mut next);
        if labels == next {
            break;
        }
    }
    Ok(labels)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::collections::BTreeMap;

    use graphlume_graph::Topology;

    use super::*;
    use crate::testkit;
    use crate::view::{Copies, Loops, Shape};

    fn view(t: &Topology, directed: bool) -> GraphView<'_> {
        let shape = Shape { directed, copies: Copies::Keep, loops: Loops::Once };
        GraphView::new(t, None, shape).unwrap()
    }

    fn naive(view: &GraphView<'_>, rounds: u32) -> Vec<u32> {
        let mut labels: Vec<u32> = (0..view.num_nodes()).collect();
        for _ in 0..rounds {
            let of = |v: u32| {
                let mut counts = BTreeMap::new();
                let both = view.is_directed().then(|| view.incoming().neighbors(v));
                let near = view.out().neighbors(v).iter().chain(both.into_iter().flatten());
                near.for_each(|u| *counts.entry(labels[*u as usize]).or_insert(0) += 1);
                let most = counts.values().max().copied();
                counts.into_iter().find(|c| Some(c.1) == most).map_or(labels[v as usize], |c| c.0)
            };
            labels = (0..view.num_nodes()).map(of).collect();
        }
        labels
    }

    #[test]
    fn labels_are_those_of_the_definition() {
        for (name, t) in testkit::zoo() {
            for directed in [false, true] {
                for rounds in [0, 1, 2, 10] {
                    let view = view(&t, directed);
                    let options = Options { max_iterations: rounds };
                    let found = run(&view, &options, &CancelToken::new()).unwrap();
                    assert_eq!(found, naive(&view, rounds), "{name}");
                }
            }
        }
    }

    #[test]
    fn an_edge_each_way_counts_twice() {
        // 3 has two edges with 2, and one each with 0 and 1.
        let t = testkit::from_edges(4, &[(0, 3), (1, 3), (2, 3), (3, 2)]);
        let options = Options { max_iterations: 1 };
        let found = run(&view(&t, true), &options, &CancelToken::new()).unwrap();
        assert_eq!(found, [3, 3, 3, 2]);
    }

    #[test]
    fn labels_are_the_same_at_any_number_of_threads() {
        let t = testkit::planted(3000, 30, 0.2, 0.002);
        let find = || run(&view(&t, false), &Options::default(), &CancelToken::new()).unwrap();
        let [one, two, three] = testkit::at_1_2_3_threads(find);
        assert!(one == two && two == three);
    }
}
