//! An order of the nodes in which few edges lead back (Eades, Lin and Smyth 1993).

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use graphlume_types::CancelToken;

use super::layered::look;
use super::{Edge, slices};
use crate::AlgoError;

/// A node that may come next, by what leaves it less what enters it. Entries of other values than the node's are old.
struct Candidate {
    excess: f64,
    node: u32,
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.excess.total_cmp(&other.excess).then(other.node.cmp(&self.node))
    }
}

/// What is left of the graph while nodes are taken out of it.
struct Rest<'a> {
    edges: &'a [Edge],
    /// Edges of each node, of either direction, as starts and numbers.
    starts: Vec<u32>,
    at: Vec<u32>,
    /// Edges that enter and leave each node.
    count: [Vec<u32>; 2],
    excess: Vec<f64>,
    taken: Vec<bool>,
    /// Nodes that nothing leaves, and nodes that nothing enters.
    ends: [Vec<u32>; 2],
    heap: BinaryHeap<Candidate>,
    /// Work since the last look at the token.
    looks: usize,
}

const IN: usize = 0;
const OUT: usize = 1;

impl<'a> Rest<'a> {
    fn new(n: usize, edges: &'a [Edge], cancel: &CancelToken) -> Result<Self, AlgoError> {
        let (mut count, mut excess) = ([vec![0u32; n], vec![0u32; n]], vec![0.0; n]);
        let mut starts = vec![0u32; n + 1];
        slices::each(edges, cancel, |e| {
            count[OUT][e.from as usize] += 1;
            count[IN][e.to as usize] += 1;
            excess[e.from as usize] += e.weight;
            excess[e.to as usize] -= e.weight;
            starts[e.from as usize + 1] += 1;
            starts[e.to as usize + 1] += 1;
        })?;
        for v in 0..n {
            starts[v + 1] += starts[v];
        }
        let mut free = starts.clone();
        let mut at = vec![0u32; 2 * edges.len()];
        let mut i = 0;
        slices::each(edges, cancel, |e| {
            for v in [e.from, e.to] {
                at[free[v as usize] as usize] = i;
                free[v as usize] += 1;
            }
            i += 1;
        })?;
        let heap = excess.iter().zip(0..);
        let heap = heap.map(|(excess, node)| Candidate { excess: *excess, node }).collect();
        let without = |count: &[u32]| (0..n as u32).filter(|v| count[*v as usize] == 0).collect();
        let ends = [without(&count[OUT]), without(&count[IN])];
        Ok(Self { edges, starts, at, count, excess, taken: vec![false; n], ends, heap, looks: 0 })
    }

    /// Takes `v` out; its neighbours may become ends. A few nodes may have most of the edges, which are what is counted
    /// between two looks at the token.
    fn take(&mut self, v: u32, cancel: &CancelToken) -> Result<(), AlgoError> {
        self.taken[v as usize] = true;
        let own = self.starts[v as usize] as usize..self.starts[v as usize + 1] as usize;
        look(&mut self.looks, own.len(), cancel)?;
        for i in own {
            let e = self.edges[self.at[i] as usize];
            let (other, side, change) =
                if e.from == v { (e.to, IN, e.weight) } else { (e.from, OUT, -e.weight) };
            if self.taken[other as usize] {
                continue;
            }
            let left = &mut self.count[side][other as usize];
            *left -= 1;
            if *left == 0 {
                self.ends[1 - side].push(other);
            }
            self.excess[other as usize] += change;
            let excess = self.excess[other as usize];
            self.heap.push(Candidate { excess, node: other });
        }
        Ok(())
    }

    /// The node of the largest excess.
    fn most(&mut self) -> Option<u32> {
        while let Some(c) = self.heap.pop() {
            let v = c.node as usize;
            if !self.taken[v] && self.excess[v].total_cmp(&c.excess) == Ordering::Equal {
                return Some(c.node);
            }
        }
        None
    }
}

/// The place of each of `n` nodes in an order with few edges, by weight, from later to earlier ones; none in an acyclic
/// graph.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub(super) fn order(n: usize, edges: &[Edge], cancel: &CancelToken) -> Result<Vec<u32>, AlgoError> {
    let mut rest = Rest::new(n, edges, cancel)?;
    let (mut place, mut first, mut last) = (vec![0u32; n], 0u32, n as u32);
    while first < last {
        // A node without edges is both; what was taken by the other list is passed over.
        if let Some(v) = rest.ends[IN].pop() {
            if !rest.taken[v as usize] {
                last -= 1;
                place[v as usize] = last;
                rest.take(v, cancel)?;
            }
        } else if let Some(v) = rest.ends[OUT].pop() {
            if !rest.taken[v as usize] {
                place[v as usize] = first;
                first += 1;
                rest.take(v, cancel)?;
            }
        } else if let Some(v) = rest.most() {
            place[v as usize] = first;
            first += 1;
            rest.take(v, cancel)?;
        }
    }
    Ok(place)
}
