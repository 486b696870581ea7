//! The layers of the nodes of an acyclic graph: those of the least total length of edges by network simplex (Gansner,
//! Koutsofios, North and Vo 1993, IEEE Trans. Softw. Eng. 19(3)), or by longest paths.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use graphlume_types::CancelToken;

use super::Edge;
use crate::AlgoError;

/// Exchanges of tree edges between two looks at the token.
const LOOK: usize = 16;
/// Tree edges of negative cut value among which the least is taken.
const LOOK_FOR: usize = 30;
/// Exchanges for each node after which the layers, which fit the edges at any time, are taken as they are.
const EXCHANGES: usize = 40;
const NONE: u32 = u32::MAX;

/// The length of the longest path that ends in each of the nodes; edges lead from smaller to larger `place`.
pub(super) fn longest_paths(n: usize, edges: &[Edge], place: &[u32]) -> Vec<i64> {
    let mut sorted: Vec<(u32, u32, u32)> =
        edges.iter().map(|e| (place[e.from as usize], e.from, e.to)).collect();
    sorted.sort_unstable();
    let mut layer = vec![0i64; n];
    for (_, from, to) in sorted {
        layer[to as usize] = layer[to as usize].max(layer[from as usize] + 1);
    }
    layer
}

/// A spanning tree of tight edges, with the net weight that leaves the subtree of each node.
struct Tree<'a> {
    edges: &'a [Edge],
    /// Edges of each node of either direction.
    incident: Vec<Vec<u32>>,
    layer: Vec<i64>,
    parent: Vec<u32>,
    /// The edge to the parent.
    link: Vec<u32>,
    children: Vec<Vec<u32>>,
    /// Weight of the edges that leave the subtree, less that of those that enter it.
    net: Vec<f64>,
}

/// Layers of the least total weighted length of edges of a connected graph, starting from `layer`, which fits them.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub(super) fn shortest(
    layer: Vec<i64>,
    edges: &[Edge],
    cancel: &CancelToken,
) -> Result<Vec<i64>, AlgoError> {
    let n = layer.len();
    let mut tree = Tree::tight(layer, edges);
    let scale: f64 = edges.iter().map(|e| e.weight).sum();
    let (mut at, mut exchanges) = (0, 0);
    while let Some(v) = tree.leaving(&mut at, -1e-12 * scale.max(1.0)) {
        if exchanges % LOOK == 0 {
            cancel.check()?;
        }
        exchanges += 1;
        if exchanges > EXCHANGES * n + 100 || !tree.exchange(v) {
            break;
        }
    }
    Ok(tree.layer)
}

impl<'a> Tree<'a> {
    /// Moves nodes until a spanning tree of tight edges connects them, growing it by the edge that lacks least.
    fn tight(layer: Vec<i64>, edges: &'a [Edge]) -> Self {
        let n = layer.len();
        let mut incident = vec![Vec::new(); n];
        for (i, e) in edges.iter().enumerate() {
            incident[e.from as usize].push(i as u32);
            incident[e.to as usize].push(i as u32);
        }
        let mut tree = Self {
            edges,
            incident,
            layer,
            parent: vec![NONE; n],
            link: vec![NONE; n],
            children: vec![Vec::new(); n],
            net: vec![0.0; n],
        };
        // How far the tree has moved down, and the edges that leave and enter it by what they lacked with it unmoved.
        let (mut moved, mut heaps) = (0i64, [BinaryHeap::new(), BinaryHeap::new()]);
        let (mut inside, mut order) = (vec![false; n], Vec::with_capacity(n));
        tree.join(0, moved, &mut inside, &mut heaps);
        order.push(0u32);
        while order.len() < n {
            let mut top = |side: usize| loop {
                let Reverse((key, edge)) = heaps[side].peek().copied()?;
                let e = edges[edge as usize];
                if !(inside[e.from as usize] && inside[e.to as usize]) {
                    return Some((key, edge));
                }
                heaps[side].pop();
            };
            // Moving down shortens what leaves and lengthens what enters.
            let leaves = top(0).map(|(key, edge)| (key - moved, edge, 1));
            let enters = top(1).map(|(key, edge)| (key + moved, edge, -1));
            let Some((lack, edge, way)) = leaves.into_iter().chain(enters).min() else { break };
            moved += way * lack;
            let e = edges[edge as usize];
            let (old, new) = if inside[e.from as usize] { (e.from, e.to) } else { (e.to, e.from) };
            tree.parent[new as usize] = old;
            tree.link[new as usize] = edge;
            tree.children[old as usize].push(new);
            tree.join(new, moved, &mut inside, &mut heaps);
            order.push(new);
        }
        tree.layer.iter_mut().for_each(|l| *l += moved);
        for e in edges {
            tree.net[e.from as usize] += e.weight;
            tree.net[e.to as usize] -= e.weight;
        }
        for v in order.iter().skip(1).rev() {
            let own = tree.net[*v as usize];
            tree.net[tree.parent[*v as usize] as usize] += own;
        }
        tree
    }

    /// Takes `v` into the tree, whose layers stand without what it has `moved`, and its edges to nodes outside.
    fn join(
        &mut self,
        v: u32,
        moved: i64,
        inside: &mut [bool],
        heaps: &mut [BinaryHeap<Reverse<(i64, u32)>>; 2],
    ) {
        inside[v as usize] = true;
        let own = self.layer[v as usize];
        self.layer[v as usize] = own - moved;
        for i in &self.incident[v as usize] {
            let e = self.edges[*i as usize];
            let (other, side) = if e.from == v { (e.to, 0) } else { (e.from, 1) };
            if inside[other as usize] {
                continue;
            }
            let far = self.layer[other as usize];
            let key = if side == 0 { far - own - 1 + moved } else { own - far - 1 - moved };
            heaps[side].push(Reverse((key, *i)));
        }
    }

    /// The cut value of the edge to the parent of `v`.
    fn cut(&self, v: usize) -> f64 {
        let e = self.edges[self.link[v] as usize];
        if e.from as usize == v { self.net[v] } else { -self.net[v] }
    }

    /// A node whose edge to its parent has a cut value below `bound`, from `at` on round.
    fn leaving(&self, at: &mut usize, bound: f64) -> Option<usize> {
        let n = self.layer.len();
        let (mut best, mut found) = (None, 0);
        for _ in 0..n {
            let v = *at;
            *at = (*at + 1) % n;
            if self.link[v] == NONE {
                continue;
            }
            let cut = self.cut(v);
            if cut < bound {
                found += 1;
                if best.is_none_or(|(b, _)| cut < b) {
                    best = Some((cut, v));
                }
                if found == LOOK_FOR {
                    break;
                }
            }
        }
        best.map(|(_, v)| v)
    }

    /// Replaces the edge from `v` to its parent by that between the two parts, against it, which lacks least. Whether there
    /// is one.
    fn exchange(&mut self, v: usize) -> bool {
        let mut part = vec![v as u32];
        let mut is_part = std::collections::HashSet::from([v as u32]);
        let mut at = 0;
        while let Some(u) = part.get(at).copied() {
            at += 1;
            for c in &self.children[u as usize] {
                is_part.insert(*c);
                part.push(*c);
            }
        }
        // The old edge leaves the part: the new one enters it, or the other way round.
        let leaves = self.edges[self.link[v] as usize].from as usize == v;
        let mut best: Option<(i64, u32)> = None;
        for u in &part {
            for i in &self.incident[*u as usize] {
                let e = self.edges[*i as usize];
                let (own, other) = if leaves { (e.to, e.from) } else { (e.from, e.to) };
                if own != *u || is_part.contains(&other) {
                    continue;
                }
                let lack = self.layer[e.to as usize] - self.layer[e.from as usize] - 1;
                if best.is_none_or(|b| (lack, *i) < b) {
                    best = Some((lack, *i));
                }
            }
        }
        let Some((lack, edge)) = best else { return false };
        let by = if leaves { -lack } else { lack };
        part.iter().for_each(|u| self.layer[*u as usize] += by);
        let e = self.edges[edge as usize];
        let (inner, outer) =
            if is_part.contains(&e.from) { (e.from, e.to) } else { (e.to, e.from) };
        self.hang(v, inner as usize, outer as usize, edge);
        true
    }

    /// Cuts the subtree of `v` off and hangs it on `outer` by its node `inner`.
    fn hang(&mut self, v: usize, inner: usize, outer: usize, edge: u32) {
        let whole = self.net[v];
        let old = self.parent[v] as usize;
        self.children[old].retain(|c| *c as usize != v);
        self.add_above(old, -whole);
        // Turns the way from `inner` up to `v` round.
        let (mut child, mut above, mut link) = (inner, outer as u32, edge);
        let mut below = 0.0;
        loop {
            let (next, its_link) = (self.parent[child], self.link[child]);
            let net = self.net[child];
            self.parent[child] = above;
            self.link[child] = link;
            self.children[above as usize].push(child as u32);
            self.net[child] = whole - below;
            if child == v {
                break;
            }
            self.children[next as usize].retain(|c| *c as usize != child);
            below = net;
            (above, link, child) = (child as u32, its_link, next as usize);
        }
        self.add_above(outer, whole);
    }

    /// Adds to the net weight of a node and of all above it.
    fn add_above(&mut self, mut v: usize, by: f64) {
        loop {
            self.net[v] += by;
            if self.parent[v] == NONE {
                return;
            }
            v = self.parent[v] as usize;
        }
    }
}
