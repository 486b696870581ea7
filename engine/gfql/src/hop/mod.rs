//! Hops: which edges a step follows from a set of nodes, and what it reaches.

mod close;
mod dense;
mod wide;

use graphlume_expr::QueryError;
use graphlume_graph::Topology;
use graphlume_store::filter::RowFilter;
use graphlume_store::ids::{Grow, IdMap, IdSet};
use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::tuning::tuning;
pub(crate) use close::rediscovered;
pub(crate) use dense::{Marks, edges_at, ends_of, joined, kept_edges, piece_size};
use graphlume_graph::Direction;
use wide::Wide;

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
    /// The nodes that the edges were followed from, where that is known.
    pub(crate) left: Option<IdSet>,
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
    ) -> Result<(), QueryError> {
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
                sum <= tuning().batch_arcs
            });
            let (batch, next) = rest.split_at(fits.count().max(1));
            rest = next;
            if sum < tuning().parallel_arcs {
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
    ) -> Result<Reached, QueryError> {
        let (n, m) = (t.num_nodes(), t.num_edges());
        if self.max == Some(0) {
            return Ok(self.stay(seeds));
        }
        if self.is_everything(t, seeds) {
            return Ok(self.everything(t));
        }
        if let Some(reached) = self.dense(t, seeds, cancel)? {
            return Ok(reached);
        }
        // A walk that must go on although it finds nothing new keeps all it arrives at.
        let walk = self.min > 1;
        let labels = self.labels || walk;
        let mut walked = Walked::new(n, m);
        let wide = self.wide(t, seeds, cancel)?;
        if self.max == Some(wide.hop) || wide.frontier.is_empty() && wide.hop > 0 {
            return self.close(t, seeds, wide.reached(), cancel);
        }
        let mut frontier = wide.frontier.to_vec();
        let (mut hop, mut deepest, mut few) = (wide.hop, wide.hop, None);
        walked.begin(wide);
        while self.max.is_none_or(|max| hop < max) && !frontier.is_empty() {
            hop += 1;
            let last = self.max == Some(hop);
            let before = walked.nodes.len();
            walked.arrived = walk.then(|| Grow::new(n));
            walked.any = false;
            walked.fresh = Vec::new();
            let first = hop == 1 && !self.wavefront;
            if few.is_none() {
                few = self.few(t, &frontier);
            }
            self.expand(t, &frontier, few.as_ref(), last, cancel, |from, position, to| {
                walked.meet((from, position, to), hop, first, labels);
            })?;
            if first {
                walked.settle_first();
            }
            if walked.any {
                deepest = hop;
            }
            let unmet = walk && self.max.is_some() && deepest < self.min;
            let grown =
                if hop == 1 { !walked.fresh.is_empty() } else { walked.nodes.len() > before };
            if !grown && !unmet {
                break;
            }
            frontier = match &walked.arrived {
                Some(arrived) => arrived.added().to_vec(),
                None => std::mem::take(&mut walked.fresh),
            };
        }
        let mut reached = walked.finish();
        if deepest < self.min {
            reached = self.stay(&IdSet::empty());
        } else if walk {
            self.prune(t, &mut reached);
        }
        self.close(t, seeds, reached, cancel)
    }
}

/// What a walk has come upon so far.
struct Walked {
    nodes: Grow,
    edges: Grow,
    node_hops: IdMap<u32>,
    edge_hops: IdMap<u32>,
    /// Of the present hop: all nodes that it arrives at, where they are asked for.
    arrived: Option<Grow>,
    /// Of the present hop: the nodes that are new.
    fresh: Vec<u32>,
    /// Whether the present hop follows any edge.
    any: bool,
    /// The nodes that the first hop leaves.
    left: Vec<u32>,
}

impl Walked {
    fn new(nodes: u32, edges: u32) -> Self {
        Self {
            nodes: Grow::new(nodes),
            edges: Grow::new(edges),
            node_hops: IdMap::default(),
            edge_hops: IdMap::default(),
            arrived: None,
            fresh: Vec::new(),
            any: false,
            left: Vec::new(),
        }
    }

    /// Goes on with what the first hops reached.
    fn begin(&mut self, wide: Wide) {
        let reached = wide.reached();
        self.nodes.extend(&reached.nodes);
        self.edges.extend(&reached.edges);
    }

    /// An edge is followed. In the first hop of a walk that keeps its seeds, those come before the nodes they lead to.
    #[inline(always)]
    fn meet(&mut self, (from, position, to): (u32, u32, u32), hop: u32, first: bool, labels: bool) {
        self.any = true;
        if self.edges.insert(position) && labels {
            self.edge_hops.insert(position, hop);
        }
        if labels {
            self.node_hops.entry(to).or_insert(hop);
        }
        if let Some(arrived) = &mut self.arrived {
            arrived.insert(to);
        }
        if first {
            self.left.push(from);
            self.fresh.push(to);
        } else if self.nodes.insert(to) {
            self.fresh.push(to);
        }
    }

    /// Ends the first hop of a walk that keeps its seeds.
    fn settle_first(&mut self) {
        for v in self.left.drain(..) {
            self.nodes.insert(v);
        }
        self.fresh.retain(|v| self.nodes.insert(*v));
    }

    fn finish(self) -> Reached {
        Reached {
            nodes: self.nodes.finish(),
            edges: self.edges.finish(),
            left: None,
            node_hops: self.node_hops,
            edge_hops: self.edge_hops,
        }
    }
}
