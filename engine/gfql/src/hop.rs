//! Hops: which edges a step follows from a set of nodes, and what it reaches.

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::bind::RowFilter;
use crate::error::GfqlError;
use crate::set::{Grow, IdMap, IdSet};
use crate::wire::Direction;

/// Edges that are gathered before they are entered into the sets.
const BATCH_ARCS: u64 = if cfg!(test) { 24 } else { 1 << 21 };
/// Edges from which on several threads gather.
const PARALLEL_ARCS: u64 = if cfg!(test) { 8 } else { 1 << 14 };

/// Which edges may be followed and how far.
pub(crate) struct Hops<'a> {
    pub(crate) direction: Direction,
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
    /// Tests of edge rows.
    pub(crate) edge: &'a RowFilter,
    /// Edges, by position, that may be followed; all without one.
    pub(crate) edges: Option<&'a IdSet>,
    /// Nodes that there are.
    pub(crate) existing: &'a IdSet,
    /// Nodes that may be left.
    pub(crate) source: Option<&'a IdSet>,
    /// Nodes that may be reached.
    pub(crate) destination: Option<&'a IdSet>,
    /// Nodes that the last hop must reach.
    pub(crate) target: Option<&'a IdSet>,
    /// Whether the first nodes are left out unless they are reached again.
    pub(crate) wavefront: bool,
    /// Whether hop numbers are wanted.
    pub(crate) labels: bool,
    /// Whether paths of length zero count.
    pub(crate) zero_hop_seed: bool,
}

/// What was reached.
#[derive(Debug)]
pub(crate) struct Reached {
    pub(crate) nodes: IdSet,
    /// By position in the adjacency.
    pub(crate) edges: IdSet,
    /// Node to the hop at which it is reached.
    pub(crate) node_hops: IdMap<u32>,
    /// Edge to the hop that uses it first.
    pub(crate) edge_hops: IdMap<u32>,
}

/// Calls `f(position, other end)` for every edge at `v` that the direction follows. A self-loop is
/// followed once.
pub(crate) fn arcs(t: &Topology, v: u32, direction: Direction, mut f: impl FnMut(u32, u32)) {
    if direction != Direction::Reverse {
        let first = t.out_offsets()[v as usize];
        for (i, to) in t.out_neighbors(v).iter().enumerate() {
            f(first + i as u32, *to);
        }
    }
    if direction != Direction::Forward {
        let (mut last, mut position) = (u32::MAX, 0);
        for from in t.in_neighbors(v) {
            if *from == last {
                position += 1;
            } else {
                // The k-th of several edges from one node is the k-th in that node's list too.
                last = *from;
                let outs = t.out_neighbors(*from);
                position =
                    t.out_offsets()[*from as usize] + outs.partition_point(|to| *to < v) as u32;
            }
            if direction == Direction::Reverse || *from != v {
                f(position, *from);
            }
        }
    }
}

/// Calls `f(position, source, destination)` for the edges at ascending positions.
pub(crate) fn ends(t: &Topology, edges: &IdSet, mut f: impl FnMut(u32, u32, u32)) {
    let offsets = t.out_offsets();
    let mut source = 0_usize;
    for position in edges.iter() {
        if offsets[source + 1] <= position {
            let rest = &offsets[source + 1..];
            // Near neighbours are found by steps, far ones by halving.
            let near = rest.iter().take(8).position(|o| *o > position);
            source += near.unwrap_or_else(|| rest.partition_point(|o| *o <= position));
        }
        f(position, source as u32, t.out_dst()[position as usize]);
    }
}

/// The edges that may be followed, by the node that they are followed from.
struct Few(Vec<(u32, u32, u32)>);

impl Few {
    fn new(t: &Topology, edges: &IdSet, direction: Direction) -> Self {
        let mut list = Vec::with_capacity(edges.len() as usize);
        ends(t, edges, |position, s, d| {
            if direction != Direction::Reverse {
                list.push((s, position, d));
            }
            // A self-loop is followed once.
            if direction == Direction::Reverse || (direction == Direction::Undirected && s != d) {
                list.push((d, position, s));
            }
        });
        list.sort_unstable();
        Self(list)
    }

    fn arcs(&self, v: u32, mut f: impl FnMut(u32, u32)) {
        let from = self.0.partition_point(|(s, ..)| *s < v);
        let own = self.0[from..].iter().take_while(|(s, ..)| *s == v);
        own.for_each(|(_, position, to)| f(*position, *to));
    }
}

impl Hops<'_> {
    /// The edges as a list of their own, where looking through them costs less than looking through all
    /// edges at `frontier`.
    fn few(&self, t: &Topology, frontier: &[u32]) -> Option<Few> {
        let edges = self.edges?;
        let most = u64::from(edges.len()) * 4;
        let mut sum = 0;
        frontier.iter().find(|v| {
            sum += u64::from(t.degree(**v));
            sum > most
        })?;
        Some(Few::new(t, edges, self.direction))
    }

    fn allows(&self, t: &Topology, position: u32, to: u32, last: bool) -> bool {
        self.existing.contains(to)
            && self.destination.is_none_or(|d| d.contains(to))
            && (!last || self.target.is_none_or(|d| d.contains(to)))
            && self.edges.is_none_or(|e| e.contains(position))
            && (self.edge.is_trivial() || self.edge.passes(t.out_row()[position as usize]))
    }

    /// Enters the edges that leave `frontier` into `found`.
    fn expand(
        &self,
        t: &Topology,
        frontier: &[u32],
        few: Option<&Few>,
        last: bool,
        cancel: &CancelToken,
        mut found: impl FnMut(u32, u32, u32),
    ) -> Result<(), GfqlError> {
        let usable =
            |v: u32| self.existing.contains(v) && self.source.is_none_or(|s| s.contains(v));
        if let Some(few) = few {
            cancel.check()?;
            for v in frontier.iter().copied().filter(|v| usable(*v)) {
                few.arcs(v, |position, to| {
                    if self.allows(t, position, to, last) {
                        found(v, position, to);
                    }
                });
            }
            return Ok(());
        }
        let weight = |v: &u32| u64::from(t.degree(*v)) + 1;
        let mut rest = frontier;
        while !rest.is_empty() {
            cancel.check()?;
            let mut sum = 0;
            let fits = rest.iter().take_while(|v| {
                sum += weight(v);
                sum <= BATCH_ARCS
            });
            let (batch, next) = rest.split_at(fits.count().max(1));
            rest = next;
            if sum < PARALLEL_ARCS {
                for v in batch.iter().copied().filter(|v| usable(*v)) {
                    arcs(t, v, self.direction, |position, to| {
                        if self.allows(t, position, to, last) {
                            found(v, position, to);
                        }
                    });
                }
                continue;
            }
            if sum * 8 > u64::from(t.num_edges()) && !self.edge.is_trivial() {
                self.edge.run();
            }
            let parts: Vec<Vec<(u32, u32, u32)>> = batch
                .par_chunks(256)
                .map(|nodes| {
                    let mut part = Vec::new();
                    for v in nodes.iter().copied().filter(|v| usable(*v)) {
                        arcs(t, v, self.direction, |position, to| {
                            if self.allows(t, position, to, last) {
                                part.push((v, position, to));
                            }
                        });
                    }
                    part
                })
                .collect();
            parts.into_iter().flatten().for_each(|(v, position, to)| found(v, position, to));
        }
        Ok(())
    }

    /// Follows edges from `seeds`.
    pub(crate) fn run(
        &self,
        t: &Topology,
        seeds: &IdSet,
        cancel: &CancelToken,
    ) -> Result<Reached, GfqlError> {
        let (n, m) = (t.num_nodes(), t.num_edges());
        if self.max == Some(0) {
            return Ok(self.stay(seeds));
        }
        if self.is_everything(n, seeds) {
            let reached = |v: &u32| match self.direction {
                Direction::Forward => t.in_degree(*v) > 0,
                Direction::Reverse => t.out_degree(*v) > 0,
                Direction::Undirected => t.degree(*v) > 0,
            };
            let mut nodes = Grow::new(n);
            (0..n).filter(reached).for_each(|v| {
                nodes.insert(v);
            });
            return Ok(Reached {
                nodes: nodes.finish(),
                edges: IdSet::First(m),
                node_hops: IdMap::default(),
                edge_hops: IdMap::default(),
            });
        }
        if let Some(reached) = self.filtered(t, seeds, cancel)? {
            return Ok(reached);
        }
        // A walk that must go on although it finds nothing new keeps all it arrives at.
        let walk = self.min > 1;
        let labels = self.labels || walk;
        let (mut nodes, mut edges) = (Grow::new(n), Grow::new(m));
        let (mut node_hops, mut edge_hops) = (IdMap::default(), IdMap::default());
        let mut frontier = seeds.to_vec();
        let (mut hop, mut deepest, mut few) = (0, 0, None);
        while self.max.is_none_or(|max| hop < max) && !frontier.is_empty() {
            hop += 1;
            let last = self.max == Some(hop);
            let before = nodes.len();
            let mut arrived = walk.then(|| Grow::new(n));
            let mut left = Vec::new();
            let mut any = false;
            let mut fresh = Vec::new();
            if few.is_none() {
                few = self.few(t, &frontier);
            }
            self.expand(t, &frontier, few.as_ref(), last, cancel, |from, position, to| {
                any = true;
                if edges.insert(position) && labels {
                    edge_hops.insert(position, hop);
                }
                if hop == 1 && !self.wavefront {
                    left.push(from);
                }
                if labels {
                    node_hops.entry(to).or_insert(hop);
                }
                if let Some(arrived) = &mut arrived {
                    arrived.insert(to);
                }
                if hop > 1 || self.wavefront {
                    if nodes.insert(to) {
                        fresh.push(to);
                    }
                } else {
                    fresh.push(to);
                }
            })?;
            if hop == 1 && !self.wavefront {
                left.iter().for_each(|v| {
                    nodes.insert(*v);
                });
                fresh.retain(|v| nodes.insert(*v));
            }
            if any {
                deepest = hop;
            }
            let unmet = walk && self.max.is_some() && deepest < self.min;
            let grown = if hop == 1 { !fresh.is_empty() } else { nodes.len() > before };
            if !grown && !unmet {
                break;
            }
            frontier = match arrived {
                Some(arrived) => arrived.added().to_vec(),
                None => fresh,
            };
        }
        let mut reached =
            Reached { nodes: nodes.finish(), edges: edges.finish(), node_hops, edge_hops };
        if deepest < self.min {
            reached = self.stay(&IdSet::empty());
        } else if walk {
            self.prune(t, &mut reached);
        }
        self.close(t, seeds, reached)
    }

    /// One hop from all nodes over the edges that pass a test: the rows are tested as a whole, and their
    /// bits gathered into those of the edges.
    fn filtered(
        &self,
        t: &Topology,
        seeds: &IdSet,
        cancel: &CancelToken,
    ) -> Result<Option<Reached>, GfqlError> {
        /// Words of bits that a thread fills at a time.
        const WORDS: usize = 1 << 8;
        if !self.is_one_from_all(t.num_nodes(), seeds) || self.edge.is_never() {
            return Ok(None);
        }
        let passes = self.edge.run();
        cancel.check()?;
        let mut words = vec![0_u64; t.num_edges().div_ceil(64) as usize];
        let count: u64 = (words.par_chunks_mut(WORDS).zip(t.out_row().par_chunks(64 * WORDS)))
            .map(|(words, rows)| {
                let mut count = 0;
                for (word, rows) in words.iter_mut().zip(rows.chunks(64)) {
                    let bits = rows.iter().enumerate();
                    *word = bits.fold(0, |w, (i, row)| w | u64::from(passes[*row as usize]) << i);
                    count += u64::from(word.count_ones());
                }
                count
            })
            .sum();
        cancel.check()?;
        let edges = IdSet::Mask(words, count as u32);
        let mut nodes = Grow::new(t.num_nodes());
        ends(t, &edges, |_, s, d| {
            if self.direction != Direction::Forward {
                nodes.insert(s);
            }
            if self.direction != Direction::Reverse {
                nodes.insert(d);
            }
        });
        let (node_hops, edge_hops) = (IdMap::default(), IdMap::default());
        Ok(Some(Reached { nodes: nodes.finish(), edges, node_hops, edge_hops }))
    }

    /// Whether this is one hop from all nodes over all edges.
    fn is_everything(&self, n: u32, seeds: &IdSet) -> bool {
        self.edge.is_trivial() && self.is_one_from_all(n, seeds)
    }

    /// Whether this is one hop from all nodes, with no limit but the test of edges.
    fn is_one_from_all(&self, n: u32, seeds: &IdSet) -> bool {
        let whole = |set: &IdSet| matches!(set, IdSet::First(len) if *len == n);
        let limits = [self.edges, self.source, self.destination, self.target];
        self.max == Some(1)
            && self.min == 1
            && self.wavefront
            && !self.labels
            && limits.iter().all(Option::is_none)
            && whole(self.existing)
            && whole(seeds)
    }

    /// No hop at all.
    fn stay(&self, seeds: &IdSet) -> Reached {
        let may = |set: Option<&IdSet>, v| set.is_none_or(|s| s.contains(v));
        let keep = |v| may(self.source, v) && may(self.destination, v) && may(self.target, v);
        let nodes = if self.zero_hop_seed { seeds.filter(keep) } else { IdSet::empty() };
        let node_hops = nodes.iter().filter(|_| self.labels).map(|v| (v, 0)).collect();
        Reached { nodes, edges: IdSet::empty(), node_hops, edge_hops: IdMap::default() }
    }

    /// Keeps the edges on walks that get as far as the least number of hops, going back by the hop
    /// numbers of edges.
    fn prune(&self, t: &Topology, reached: &mut Reached) {
        let deepest = reached.edge_hops.values().copied().max().unwrap_or(0);
        if deepest < self.min {
            // Only a walk that uses an edge twice gets that far; it is left as it is.
            return;
        }
        let mut levels: Vec<Vec<(u32, u32, u32)>> = vec![Vec::new(); deepest as usize + 1];
        ends(t, &reached.edges, |position, s, d| {
            if let Some(hop) = reached.edge_hops.get(&position) {
                levels[*hop as usize].push((position, s, d));
            }
        });
        let mut nodes = Grow::new(t.num_nodes());
        let mut node_hops: IdMap<u32> = IdMap::default();
        let mut label = |v: u32, hop: u32| {
            let known = node_hops.entry(v).or_insert(hop);
            *known = hop.min(*known);
        };
        let mut kept = Vec::new();
        let mut feeds = Grow::new(t.num_nodes());
        for hop in (1..=deepest).rev() {
            let goal = hop >= self.min;
            let mut departures = Grow::new(t.num_nodes());
            for (position, s, d) in levels[hop as usize].drain(..) {
                let ways = match self.direction {
                    Direction::Forward => [Some((s, d)), None],
                    Direction::Reverse => [Some((d, s)), None],
                    Direction::Undirected => [Some((s, d)), Some((d, s))],
                };
                let mut used = false;
                for (from, to) in ways.into_iter().flatten() {
                    if goal {
                        nodes.insert(to);
                        label(to, hop);
                    }
                    if goal || feeds.contains(to) {
                        used = true;
                        departures.insert(from);
                        nodes.insert(from);
                        if hop > 1 {
                            label(from, hop - 1);
                        }
                    }
                }
                if used {
                    kept.push(position);
                }
            }
            feeds = departures;
        }
        reached.edges = IdSet::from_vec(kept);
        reached.nodes = reached.nodes.filter(|v| nodes.contains(v));
        reached.edge_hops.retain(|position, _| reached.edges.contains(*position));
        if self.direction == Direction::Undirected {
            reached.node_hops.retain(|v, _| nodes.contains(*v));
        } else {
            reached.node_hops = node_hops;
            let labelled = &reached.node_hops;
            reached.nodes = reached.nodes.filter(|v| labelled.contains_key(&v));
        }
    }

    /// Adds the ends of the edges; takes the first nodes out unless they are found again.
    fn close(
        &self,
        t: &Topology,
        seeds: &IdSet,
        mut reached: Reached,
    ) -> Result<Reached, GfqlError> {
        let arrived = reached.nodes;
        let mut nodes = Grow::new(t.num_nodes());
        nodes.extend(&arrived);
        ends(t, &reached.edges, |_, s, d| {
            nodes.insert(s);
            nodes.insert(d);
        });
        if self.zero_hop_seed && self.min == 0 {
            let stay = self.stay(seeds);
            nodes.extend(&stay.nodes);
        }
        let mut nodes = nodes.finish();
        if self.wavefront && self.min >= 1 {
            let again = if self.direction == Direction::Undirected && self.max != Some(1) {
                let found = rediscovered(t, &reached.edges, seeds);
                found.and(&arrived)
            } else {
                arrived
            };
            nodes = nodes.filter(|v| !seeds.contains(v) || again.contains(v));
        }
        if self.direction == Direction::Undirected && self.wavefront {
            reached.node_hops.retain(|v, _| !seeds.contains(*v));
        }
        Ok(Reached { nodes, ..reached })
    }
}

/// The seeds that a walk over `edges` meets again without using an edge twice: those that share a
/// component with another seed, and those on a cycle.
fn rediscovered(t: &Topology, edges: &IdSet, seeds: &IdSet) -> IdSet {
    let mut pairs = Vec::with_capacity(edges.len() as usize);
    let mut sure = Grow::new(t.num_nodes());
    let mut open = Grow::new(t.num_nodes());
    ends(t, edges, |_, s, d| {
        pairs.push((s, d));
        let both = seeds.contains(s) && seeds.contains(d);
        for v in [s, d] {
            if both {
                sure.insert(v);
            }
            if seeds.contains(v) {
                open.insert(v);
            }
        }
    });
    // An edge between two seeds, or a loop at one, settles them without a look at the rest.
    if sure.len() == open.len() {
        return sure.finish();
    }
    let local = IdSet::from_vec(pairs.iter().flat_map(|(s, d)| [*s, *d]).collect()).to_vec();
    let number = |v: u32| local.partition_point(|x| *x < v);
    let pairs: Vec<(usize, usize)> = pairs.iter().map(|(s, d)| (number(*s), number(*d))).collect();
    let mut root: Vec<usize> = (0..local.len()).collect();
    fn find(root: &mut [usize], mut v: usize) -> usize {
        while root[v] != v {
            root[v] = root[root[v]];
            v = root[v];
        }
        v
    }
    let mut incident = vec![Vec::new(); local.len()];
    let mut degree = vec![0_u32; local.len()];
    let mut looped = vec![false; local.len()];
    for (i, (a, b)) in pairs.iter().enumerate() {
        if a == b {
            looped[*a] = true;
            continue;
        }
        let (x, y) = (find(&mut root, *a), find(&mut root, *b));
        root[x.max(y)] = x.min(y);
        for v in [*a, *b] {
            incident[v].push(i);
            degree[v] += 1;
        }
    }
    let mut used = vec![false; pairs.len()];
    let mut leaves: Vec<usize> = (0..local.len()).filter(|v| degree[*v] == 1).collect();
    while let Some(leaf) = leaves.pop() {
        for i in &incident[leaf] {
            if std::mem::replace(&mut used[*i], true) {
                continue;
            }
            let (a, b) = pairs[*i];
            for v in [a, b] {
                degree[v] -= 1;
            }
            let other = if a == leaf { b } else { a };
            if degree[other] == 1 {
                leaves.push(other);
            }
        }
    }
    let mut seeds_of = vec![0_u32; local.len()];
    for (i, v) in local.iter().enumerate() {
        if seeds.contains(*v) {
            seeds_of[find(&mut root, i)] += 1;
        }
    }
    let again =
        |i: usize, root: &mut [usize]| seeds_of[find(root, i)] > 1 || degree[i] > 0 || looped[i];
    let met = local.iter().enumerate().filter(|(_, v)| seeds.contains(**v));
    IdSet::List(met.filter(|(i, _)| again(*i, &mut root)).map(|(_, v)| *v).collect())
}
