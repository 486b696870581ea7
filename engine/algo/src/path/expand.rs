//! Hops of a query: from a set of nodes along the edges that filters allow. What is reached and
//! which edges were used come out as masks, the same at any number of threads and on the GPU
//! ([`crate::gpu::expand`]).

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use rayon::prelude::*;

pub use graphlume_graph::Direction;

use crate::AlgoError;

/// List entries below which a hop is done by one thread.
const SERIAL_MAX: u64 = 8192;
/// Entries of one piece of a long list.
const PIECE: usize = 16_384;
/// Nodes of the frontier that one thread takes at a time.
const NODES: usize = 64;

/// Which edges a hop may take. A mask has bit `i % 32` of word `i / 32` for item `i`.
#[derive(Clone, Copy, Debug)]
pub struct Hop<'a> {
    /// Which way edges are followed.
    pub direction: Direction,
    /// Nodes that may be reached; all when there is no mask.
    pub nodes: Option<&'a [u32]>,
    /// Edges, by row of the edge table, that may be taken; all when there is no mask.
    pub edges: Option<&'a [u32]>,
    /// Whether the edges taken are marked.
    pub mark: bool,
}

/// What was reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Mask of the nodes at the end of a taken edge. A seed is among them only if an edge leads to
    /// it.
    pub nodes: Vec<u32>,
    /// Mask by row of the edges taken; empty unless [`Hop::mark`].
    pub edges: Vec<u32>,
    /// Nodes reached in each hop and not before; ends with the first hop that reaches none.
    pub fresh: Vec<u32>,
}

/// One hop from the nodes of the mask `frontier`.
///
/// # Errors
/// [`AlgoError::Length`] for a mask that is too short, [`AlgoError::Cancelled`].
pub fn expand(
    topology: &Topology,
    frontier: &[u32],
    hop: &Hop<'_>,
    cancel: &CancelToken,
) -> Result<Reached, AlgoError> {
    let n = topology.num_nodes();
    AlgoError::check_len("frontier", frontier.len(), words(n), "32 nodes")?;
    let list = (0..n).filter(|v| bit(frontier, *v)).collect();
    from_list(topology, list, 1, hop, cancel)
}

/// Up to `hops` hops from `seeds`, each from the nodes that the one before reached first. A seed
/// that is not a node of the graph reaches nothing.
///
/// # Errors
/// Those of [`expand`].
pub fn walk(
    topology: &Topology,
    seeds: &[u32],
    hops: u32,
    hop: &Hop<'_>,
    cancel: &CancelToken,
) -> Result<Reached, AlgoError> {
    let mut list: Vec<u32> = seeds.iter().copied().filter(|v| *v < topology.num_nodes()).collect();
    list.sort_unstable();
    list.dedup();
    from_list(topology, list, hops, hop, cancel)
}

/// Words of a mask over `items`.
#[must_use]
pub const fn words(items: u32) -> usize {
    items.div_ceil(32) as usize
}

fn bit(mask: &[u32], i: u32) -> bool {
    mask[(i / 32) as usize] >> (i % 32) & 1 == 1
}

fn from_list(
    topology: &Topology,
    mut list: Vec<u32>,
    hops: u32,
    hop: &Hop<'_>,
    cancel: &CancelToken,
) -> Result<Reached, AlgoError> {
    let (n, m) = (topology.num_nodes(), topology.num_edges());
    for (what, mask, items, unit) in
        [("nodes", hop.nodes, n, "32 nodes"), ("edges", hop.edges, m, "32 edge rows")]
    {
        AlgoError::check_len(what, mask.map_or(words(items), <[u32]>::len), words(items), unit)?;
    }
    let zeros = |len| (0..len).map(|_| AtomicU32::new(0)).collect::<Vec<_>>();
    let step = HopPass {
        topology,
        hop,
        nodes: zeros(words(n)),
        edges: zeros(if hop.mark { words(m) } else { 0 }),
    };
    let mut fresh = Vec::new();
    for _ in 0..hops {
        cancel.check()?;
        list = step.run(&list);
        fresh.push(list.len() as u32);
        if list.is_empty() {
            break;
        }
    }
    let plain = |mask: Vec<AtomicU32>| mask.into_iter().map(AtomicU32::into_inner).collect();
    Ok(Reached { nodes: plain(step.nodes), edges: plain(step.edges), fresh })
}

struct HopPass<'a> {
    topology: &'a Topology,
    hop: &'a Hop<'a>,
    nodes: Vec<AtomicU32>,
    edges: Vec<AtomicU32>,
}

impl HopPass<'_> {
    /// The nodes that the edges of `list` reach first.
    fn run(&self, list: &[u32]) -> Vec<u32> {
        let arcs: u64 = list.iter().map(|v| u64::from(self.topology.degree(*v))).sum();
        if arcs <= SERIAL_MAX {
            let mut next = Vec::new();
            list.iter().for_each(|v| self.node(*v, &mut next));
            return next;
        }
        let parts: Vec<Vec<u32>> = list
            .par_chunks(NODES)
            .map(|nodes| {
                let mut next = Vec::new();
                nodes.iter().for_each(|v| self.node(*v, &mut next));
                next
            })
            .collect();
        parts.concat()
    }

    fn node(&self, v: u32, next: &mut Vec<u32>) {
        let outs = self.topology.out_neighbors(v).len();
        if self.hop.direction.follows_out() {
            self.pieces(outs, next, |range, next| self.outs(v, range, next));
        }
        if self.hop.direction.follows_in() {
            let ins = self.topology.in_neighbors(v).len();
            self.pieces(ins, next, |range, next| self.ins(v, range, next));
        }
    }

    /// A list of `len` entries, in parallel when it is long.
    fn pieces(
        &self,
        len: usize,
        next: &mut Vec<u32>,
        follow: impl Fn(std::ops::Range<usize>, &mut Vec<u32>) + Sync,
    ) {
        if len <= 2 * PIECE {
            return follow(0..len, next);
        }
        let parts: Vec<Vec<u32>> = (0..len.div_ceil(PIECE))
            .into_par_iter()
            .map(|i| {
                let mut part = Vec::new();
                follow(i * PIECE..len.min((i + 1) * PIECE), &mut part);
                part
            })
            .collect();
        next.extend(parts.into_iter().flatten());
    }

    fn outs(&self, v: u32, range: std::ops::Range<usize>, next: &mut Vec<u32>) {
        let ends = &self.topology.out_neighbors(v)[range.clone()];
        let rows = &self.topology.out_rows(v)[range];
        for (u, row) in ends.iter().zip(rows) {
            self.take(*u, || *row, next);
        }
    }

    fn ins(&self, v: u32, range: std::ops::Range<usize>, next: &mut Vec<u32>) {
        let list = self.topology.in_neighbors(v);
        for i in range {
            let u = list[i];
            // The k-th of several edges from one source is the k-th in that source's list too.
            let row = || {
                let before = i - list[..i].partition_point(|s| *s < u);
                let outs = self.topology.out_neighbors(u);
                self.topology.out_rows(u)[outs.partition_point(|d| *d < v) + before]
            };
            self.take(u, row, next);
        }
    }

    #[inline(always)]
    fn take(&self, u: u32, row: impl Fn() -> u32, next: &mut Vec<u32>) {
        if self.hop.nodes.is_some_and(|mask| !bit(mask, u)) {
            return;
        }
        if self.hop.mark || self.hop.edges.is_some() {
            let row = row();
            if self.hop.edges.is_some_and(|mask| !bit(mask, row)) {
                return;
            }
            if self.hop.mark {
                set(&self.edges, row);
            }
        }
        if set(&self.nodes, u) {
            next.push(u);
        }
    }
}

/// Sets bit `i`; whether it was this call that did.
fn set(mask: &[AtomicU32], i: u32) -> bool {
    let (word, bit) = (&mask[(i / 32) as usize], 1 << (i % 32));
    word.load(Relaxed) & bit == 0 && word.fetch_or(bit, Relaxed) & bit == 0
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use graphlume_types::hash::h64;

    use super::*;
    use crate::testkit;

    /// Every edge looked at in every hop.
    fn naive(t: &Topology, seeds: &[u32], hops: u32, hop: &Hop<'_>) -> Reached {
        let (n, m) = (t.num_nodes(), t.num_edges());
        let mut reached = Reached {
            nodes: vec![0; words(n)],
            edges: vec![0; if hop.mark { words(m) } else { 0 }],
            fresh: Vec::new(),
        };
        let mut frontier: Vec<bool> = (0..n).map(|v| seeds.contains(&v)).collect();
        for _ in 0..hops {
            let mut next = vec![false; n as usize];
            for (a, b, row) in (0..m).map(|p| t.edge(p)) {
                let ways =
                    [(a, b, hop.direction.follows_out()), (b, a, hop.direction.follows_in())];
                for (from, to, open) in ways {
                    if open
                        && frontier[from as usize]
                        && hop.nodes.is_none_or(|mask| bit(mask, to))
                        && hop.edges.is_none_or(|mask| bit(mask, row))
                    {
                        if hop.mark {
                            reached.edges[(row / 32) as usize] |= 1 << (row % 32);
                        }
                        next[to as usize] |= !bit(&reached.nodes, to);
                    }
                }
            }
            for v in (0..n).filter(|v| next[*v as usize]) {
                reached.nodes[(v / 32) as usize] |= 1 << (v % 32);
            }
            reached.fresh.push(next.iter().filter(|f| **f).count() as u32);
            frontier = next;
            if reached.fresh.last() == Some(&0) {
                break;
            }
        }
        reached
    }

    fn random_mask(items: u32, stream: u64) -> Vec<u32> {
        let word = |w| h64(3, stream, 2 * w) as u32 | h64(3, stream, 2 * w + 1) as u32;
        (0..words(items) as u64).map(word).collect()
    }

    #[test]
    fn hops_are_those_of_looking_at_every_edge() {
        for (name, t) in testkit::zoo() {
            let (nodes, edges) = (random_mask(t.num_nodes(), 0), random_mask(t.num_edges(), 1));
            for direction in [Direction::Forward, Direction::Reverse, Direction::Undirected] {
                for filters in 0..8 {
                    let hop = Hop {
                        direction,
                        nodes: (filters & 1 != 0).then_some(&nodes),
                        edges: (filters & 2 != 0).then_some(&edges),
                        mark: filters & 4 != 0,
                    };
                    let seeds = [0, 7, 0, 1_000_000];
                    for hops in [0, 1, 2, 100] {
                        let got = walk(&t, &seeds, hops, &hop, &CancelToken::new()).unwrap();
                        let want = naive(&t, &seeds, hops, &hop);
                        assert_eq!(got, want, "{name} {direction:?} {filters} {hops}");
                    }
                }
            }
        }
    }

    #[test]
    fn many_edges_and_a_hub_are_shared_among_threads_with_the_same_result() {
        let star = testkit::star(40_000);
        let planted = testkit::planted(2000, 4, 0.02, 0.005);
        for t in [star, planted] {
            let all = random_mask(t.num_nodes(), 2);
            let hop =
                Hop { direction: Direction::Undirected, nodes: None, edges: None, mark: true };
            let [a, b, c] = testkit::at_1_2_3_threads(|| {
                let masks = expand(&t, &all, &hop, &CancelToken::new()).unwrap();
                (masks, walk(&t, &[0], 2, &hop, &CancelToken::new()).unwrap())
            });
            assert!(a == b && b == c);
            let seeds: Vec<u32> = (0..t.num_nodes()).filter(|v| bit(&all, *v)).collect();
            assert_eq!(a.0, walk(&t, &seeds, 1, &hop, &CancelToken::new()).unwrap());
        }
    }

    #[test]
    fn a_mask_of_the_wrong_length_is_refused() {
        let t = testkit::path(40);
        let hop = Hop { direction: Direction::Forward, nodes: None, edges: None, mark: false };
        let short = expand(&t, &[1], &hop, &CancelToken::new()).unwrap_err();
        assert!(matches!(short, AlgoError::Length { what: "frontier", got: 1, expected: 2, .. }));
        let hop = Hop { edges: Some(&[]), ..hop };
        assert!(walk(&t, &[0], 1, &hop, &CancelToken::new()).is_err());
    }
}
