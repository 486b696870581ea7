//! Hops between the nodes of a part: from one node, and from up to 64 at once (Then and others 2014, "The more the merrier").

use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::AlgoError;
use crate::view::Lists;

/// Searches that go side by side, one in each bit.
pub(super) const LANES: usize = 64;
/// Arcs between two looks at the token.
const LOOK: usize = 1 << 18;

/// The parts of a graph, and the places of nodes in their part.
pub(super) struct Local<'a> {
    lists: &'a Lists<'a>,
    place: Vec<u32>,
    parts: Vec<Vec<u32>>,
}

impl<'a> Local<'a> {
    pub(super) fn new(lists: &'a Lists<'a>, labels: &[u32]) -> Self {
        let many = labels.iter().max().map_or(0, |l| *l as usize + 1);
        let mut parts = vec![Vec::new(); many];
        let mut place = Vec::with_capacity(labels.len());
        for (label, v) in labels.iter().zip(0..) {
            let part: &mut Vec<u32> = &mut parts[*label as usize];
            place.push(part.len() as u32);
            part.push(v);
        }
        Self { lists, place, parts }
    }

    /// The nodes of each part, ascending.
    pub(super) fn parts(&self) -> &[Vec<u32>] {
        &self.parts
    }

    pub(super) fn take_parts(&mut self) -> Vec<Vec<u32>> {
        std::mem::take(&mut self.parts)
    }

    /// Edges of a node.
    pub(super) fn degree(&self, v: u32) -> usize {
        self.lists.neighbors(v).len()
    }

    /// The places of the neighbours of `v` in its part.
    fn near(&self, v: u32) -> impl Iterator<Item = u32> + '_ {
        self.lists.neighbors(v).iter().map(|u| self.place[*u as usize])
    }

    /// Hops from the node at place `source` of the part `nodes`, by place.
    ///
    /// # Errors
    /// [`AlgoError::Cancelled`].
    pub(super) fn to_all(
        &self,
        nodes: &[u32],
        source: u32,
        cancel: &CancelToken,
    ) -> Result<Vec<u32>, AlgoError> {
        let mut hops = vec![u32::MAX; nodes.len()];
        hops[source as usize] = 0;
        let mut queue = Vec::with_capacity(nodes.len());
        queue.push(source);
        let (mut at, mut work) = (0, 0);
        while let Some(v) = queue.get(at).copied() {
            at += 1;
            work += self.degree(nodes[v as usize]) + 1;
            if work >= LOOK {
                work = 0;
                cancel.check()?;
            }
            for u in self.near(nodes[v as usize]) {
                if hops[u as usize] == u32::MAX {
                    hops[u as usize] = hops[v as usize] + 1;
                    queue.push(u);
                }
            }
        }
        Ok(hops)
    }

    /// Searches from the nodes at the places `sources`, at most [`LANES`], and tells `found` the place of a node, the searches
    /// that meet it, as bits, and the hops.
    ///
    /// # Errors
    /// [`AlgoError::Cancelled`].
    pub(super) fn to_all_of_many(
        &self,
        nodes: &[u32],
        sources: &[u32],
        cancel: &CancelToken,
        mut found: impl FnMut(usize, u64, u32),
    ) -> Result<(), AlgoError> {
        let n = nodes.len();
        let (mut seen, mut now, mut next) = (vec![0u64; n], vec![0u64; n], vec![0u64; n]);
        let (mut active, mut reached) = (Vec::new(), Vec::new());
        for (lane, source) in sources.iter().enumerate() {
            if now[*source as usize] == 0 {
                active.push(*source);
            }
            now[*source as usize] |= 1 << lane;
            seen[*source as usize] |= 1 << lane;
        }
        active.iter().for_each(|v| found(*v as usize, now[*v as usize], 0));
        let (mut hops, mut work) = (0, 0);
        while !active.is_empty() {
            hops += 1;
            for v in &active {
                work += self.degree(nodes[*v as usize]) + 1;
                if work >= LOOK {
                    work = 0;
                    cancel.check()?;
                }
                let bits = std::mem::take(&mut now[*v as usize]);
                for u in self.near(nodes[*v as usize]) {
                    let fresh = bits & !seen[u as usize];
                    if fresh != 0 {
                        if next[u as usize] == 0 {
                            reached.push(u);
                        }
                        next[u as usize] |= fresh;
                    }
                }
            }
            for u in &reached {
                seen[*u as usize] |= next[*u as usize];
                found(*u as usize, next[*u as usize], hops);
            }
            active.clear();
            std::mem::swap(&mut active, &mut reached);
            std::mem::swap(&mut now, &mut next);
        }
        Ok(())
    }

    /// Hops between all nodes of a part of fewer than 2¹⁶, a row for each.
    ///
    /// # Errors
    /// [`AlgoError::Cancelled`].
    pub(super) fn all_pairs(
        &self,
        nodes: &[u32],
        cancel: &CancelToken,
    ) -> Result<Vec<u16>, AlgoError> {
        let n = nodes.len();
        let mut hops = vec![0u16; n * n];
        let one = |(block, rows): (usize, &mut [u16])| {
            cancel.check()?;
            let first = (block * LANES) as u32;
            let sources: Vec<u32> = (first..first + (rows.len() / n) as u32).collect();
            self.to_all_of_many(nodes, &sources, cancel, |v, mut bits, hops| {
                while bits != 0 {
                    rows[bits.trailing_zeros() as usize * n + v] = hops as u16;
                    bits &= bits - 1;
                }
            })
        };
        hops.par_chunks_mut(LANES * n).enumerate().try_for_each(one)?;
        Ok(hops)
    }
}
