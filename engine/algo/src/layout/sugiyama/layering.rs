//! The layers of the nodes of an acyclic graph: those of the least total length of edges by network simplex (Gansner,
//! Koutsofios, North and Vo 1993, IEEE Trans. Softw. Eng. 19(3)), or by longest paths.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use graphlume_types::CancelToken;
use graphlume_types::hash::h64;

use super::layered::look;
use super::{Edge, slices};
use crate::AlgoError;

/// Exchanges of tree edges between two looks at the token.
const LOOK: usize = 16;
/// Tree edges of negative cut value among which the least is taken.
const LOOK_FOR: usize = 30;
/// Exchanges for each node after which the layers, which fit the edges at any time, are taken as they are.
const EXCHANGES: usize = 40;
/// The least length of an edge, and what may be added to it, by which no exchange leaves all layers as they are, and so none
/// comes again. The noise of all edges of a path stays below half a unit.
const UNIT: i64 = 1 << 36;
const NOISE: i64 = 1 << 20;
/// Rounds in which single nodes are moved.
const ROUNDS: usize = 20;
const NONE: u32 = u32::MAX;

/// The length of the longest path that ends in each of the nodes; edges lead from smaller to larger `place`.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub(super) fn longest_paths(
    n: usize,
    edges: &[Edge],
    place: &[u32],
    cancel: &CancelToken,
) -> Result<Vec<i64>, AlgoError> {
    let mut sorted: Vec<(u32, u32, u32)> =
        edges.iter().map(|e| (place[e.from as usize], e.from, e.to)).collect();
    slices::sort(&mut sorted, |s| *s, cancel)?;
    let mut layer = vec![0i64; n];
    slices::each(&sorted, cancel, |(_, from, to)| {
        layer[*to as usize] = layer[*to as usize].max(layer[*from as usize] + 1);
    })?;
    Ok(layer)
}

/// Moves nodes one after the other to where their edges are shortest, up to so many times round, by the order of `place`.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub(super) fn settle(
    layer: &mut [i64],
    edges: &[Edge],
    place: &[u32],
    cancel: &CancelToken,
) -> Result<(), AlgoError> {
    let n = layer.len();
    let mut order = vec![0u32; n];
    place.iter().zip(0..).for_each(|(p, v)| order[*p as usize] = v);
    let incident = Incident::new(n, edges, cancel)?;
    let mut pull = vec![0.0; n];
    for e in edges {
        pull[e.from as usize] += e.weight;
        pull[e.to as usize] -= e.weight;
    }
    let mut looks = 0;
    for round in 0..ROUNDS {
        let mut moved = false;
        for i in 0..n {
            let v = order[if round % 2 == 0 { n - 1 - i } else { i }];
            look(&mut looks, incident.of(v).len(), cancel)?;
            let own = pull[v as usize];
            let ends = incident.of(v).iter().map(|i| edges[*i as usize]);
            let to = if own > 0.0 {
                let below = ends.filter(|e| e.from == v).map(|e| layer[e.to as usize]);
                below.min().map(|l| l - 1)
            } else if own < 0.0 {
                let above = ends.filter(|e| e.to == v).map(|e| layer[e.from as usize]);
                above.max().map(|l| l + 1)
            } else {
                None
            };
            if let Some(to) = to.filter(|to| *to != layer[v as usize]) {
                layer[v as usize] = to;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    Ok(())
}

/// The least length of edge `i`, in parts of [`UNIT`].
fn length(i: u32) -> i64 {
    UNIT + (h64(0, 0, u64::from(i)) % NOISE.unsigned_abs()) as i64
}

/// The edges of each node, of either direction.
struct Incident {
    starts: Vec<u32>,
    edges: Vec<u32>,
}

impl Incident {
    fn new(n: usize, edges: &[Edge], cancel: &CancelToken) -> Result<Self, AlgoError> {
        let mut starts = vec![0u32; n + 1];
        slices::each(edges, cancel, |e| {
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
        Ok(Self { starts, edges: at })
    }

    fn of(&self, v: u32) -> &[u32] {
        &self.edges[self.starts[v as usize] as usize..self.starts[v as usize + 1] as usize]
    }
}

/// A spanning tree of tight edges, with the net weight that leaves the subtree of each node.
struct Tree<'a> {
    edges: &'a [Edge],
    incident: Incident,
    layer: Vec<i64>,
    parent: Vec<u32>,
    /// The edge to the parent.
    link: Vec<u32>,
    children: Vec<Vec<u32>>,
    /// Weight of the edges that leave the subtree, less that of those that enter it.
    net: Vec<f64>,
    /// Nodes below each one, and itself.
    size: Vec<u32>,
    /// The last exchange that moved each node.
    stamp: Vec<u32>,
    exchanges: u32,
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
    let layer = layer.into_iter().map(|l| l * (UNIT + NOISE)).collect();
    let mut tree = Tree::tight(layer, edges, cancel)?;
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
    let first = tree.layer.first().copied().unwrap_or(0);
    let whole = |l: i64| (l - first + UNIT / 2).div_euclid(UNIT);
    Ok(tree.layer.into_iter().map(whole).collect())
}

impl<'a> Tree<'a> {
    /// Moves nodes until a spanning tree of tight edges connects them, growing it by the edge that lacks least.
    fn tight(layer: Vec<i64>, edges: &'a [Edge], cancel: &CancelToken) -> Result<Self, AlgoError> {
        let n = layer.len();
        let mut tree = Self {
            edges,
            incident: Incident::new(n, edges, cancel)?,
            layer,
            parent: vec![NONE; n],
            link: vec![NONE; n],
            children: vec![Vec::new(); n],
            net: vec![0.0; n],
            size: vec![1; n],
            stamp: vec![0; n],
            exchanges: 0,
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
            let (net, size) = (tree.net[*v as usize], tree.size[*v as usize]);
            let above = tree.parent[*v as usize] as usize;
            tree.net[above] += net;
            tree.size[above] += size;
        }
        Ok(tree)
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
        for i in self.incident.of(v) {
            let e = self.edges[*i as usize];
            let (other, side) = if e.from == v { (e.to, 0) } else { (e.from, 1) };
            if inside[other as usize] {
                continue;
            }
            let far = self.layer[other as usize];
            let lack = if side == 0 { far - own } else { own - far } - length(*i);
            let key = if side == 0 { lack + moved } else { lack - moved };
            heaps[side].push(Reverse((key, *i)));
        }
    }

    /// The cut value of the edge to the parent of `v`.
    fn cut(&self, v: usize) -> f64 {
        let e = self.edges[self.link[v] as usize];
        if e.from as usize == v { self.net[v] } else { -self.net[v] }
    }

    /// A node whose edge to its parent has a cut value below `bound`, from `index` on round.
    fn leaving(&self, index: &mut usize, bound: f64) -> Option<usize> {
        let n = self.layer.len();
        let (mut best, mut found) = (None, 0);
        for _ in 0..n {
            let v = *index;
            *index = (*index + 1) % n;
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

    /// The nodes of the smaller of the two parts that the edge from `v` to its parent joins, and whether it is that of `v`.
    fn part(&mut self, v: usize) -> (Vec<u32>, bool) {
        self.exchanges += 1;
        let stamp = self.exchanges;
        let own = 2 * self.size[v] as usize <= self.layer.len();
        let mut part = vec![if own { v as u32 } else { self.parent[v] }];
        self.stamp[part[0] as usize] = stamp;
        // The other part begins at the parent, and does not come down to `v`.
        if !own {
            self.stamp[v] = stamp;
        }
        let mut at = 0;
        while let Some(u) = part.get(at).copied() {
            at += 1;
            let above = (!own).then_some(self.parent[u as usize]).filter(|p| *p != NONE);
            for c in self.children[u as usize].iter().copied().chain(above) {
                if self.stamp[c as usize] != stamp {
                    self.stamp[c as usize] = stamp;
                    part.push(c);
                }
            }
        }
        if !own {
            self.stamp[v] = 0;
        }
        (part, own)
    }

    /// Replaces the edge from `v` to its parent by that between the two parts, against it, which lacks least. Whether there
    /// is one.
    fn exchange(&mut self, v: usize) -> bool {
        let (part, own) = self.part(v);
        let is_part = |u: u32| self.stamp[u as usize] == self.exchanges;
        // The old edge leaves the part: the new one enters it, or the other way round.
        let leaves = (self.edges[self.link[v] as usize].from as usize == v) == own;
        let mut best: Option<(i64, u32)> = None;
        'search: for u in &part {
            for i in self.incident.of(*u) {
                let e = self.edges[*i as usize];
                let (near, far) = if leaves { (e.to, e.from) } else { (e.from, e.to) };
                if near != *u || is_part(far) {
                    continue;
                }
                let lack = self.layer[e.to as usize] - self.layer[e.from as usize] - length(*i);
                if best.is_none_or(|b| (lack, *i) < b) {
                    best = Some((lack, *i));
                }
                if lack == 0 {
                    break 'search;
                }
            }
        }
        let Some((lack, edge)) = best else { return false };
        let e = self.edges[edge as usize];
        let (inner, outer) = if is_part(e.from) == own { (e.from, e.to) } else { (e.to, e.from) };
        let by = if leaves { -lack } else { lack };
        part.iter().for_each(|u| self.layer[*u as usize] += by);
        self.hang(v, inner as usize, outer as usize, edge);
        true
    }

    /// Cuts the subtree of `v` off and hangs it on `outer` by its node `inner`.
    fn hang(&mut self, v: usize, inner: usize, outer: usize, edge: u32) {
        let (whole, many) = (self.net[v], self.size[v]);
        let old = self.parent[v] as usize;
        self.children[old].retain(|c| *c as usize != v);
        self.add_above(old, -whole, many.wrapping_neg());
        // Turns the way from `inner` up to `v` round.
        let (mut child, mut above, mut link) = (inner, outer as u32, edge);
        let mut below = (0.0, 0);
        loop {
            let (next, its_link) = (self.parent[child], self.link[child]);
            let now = (self.net[child], self.size[child]);
            self.parent[child] = above;
            self.link[child] = link;
            self.children[above as usize].push(child as u32);
            self.net[child] = whole - below.0;
            self.size[child] = many - below.1;
            if child == v {
                break;
            }
            self.children[next as usize].retain(|c| *c as usize != child);
            below = now;
            (above, link, child) = (child as u32, its_link, next as usize);
        }
        self.add_above(outer, whole, many);
    }

    /// Adds to the net weight and the size of a node and of all above it.
    fn add_above(&mut self, mut v: usize, by: f64, many: u32) {
        loop {
            self.net[v] += by;
            self.size[v] = self.size[v].wrapping_add(many);
            if self.parent[v] == NONE {
                return;
            }
            v = self.parent[v] as usize;
        }
    }
}
