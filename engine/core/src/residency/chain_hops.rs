//! Hops of a chain on the GPU: what is reached, which edges are followed, and what of a walk with a least number of hops
//! gets far enough. The rules are those of the hops of the query language, to the last node.

use graphlume_algo::gpu::chain::Followed;
use graphlume_graph::Direction;
use graphlume_store::{ChainHop, ChainJob};

use super::chain_sets::{Along, ChainError, Edges, Nodes, Sets};

/// Hops of a walk without a bound. Each looks at all edges, which pays for short walks only.
const HOPS_MAX: u32 = 64;

/// The sets that a hop is made of.
pub(super) struct HopSets {
    pub(super) seeds: Nodes,
    pub(super) from: Nodes,
    pub(super) to: Nodes,
    pub(super) last: Nodes,
    pub(super) edges: Option<Edges>,
}

/// A hop that is being taken.
pub(super) struct Walk<'a> {
    pub(super) sets: &'a Sets<'a>,
    pub(super) job: &'a ChainJob<'a>,
    pub(super) hop: &'a ChainHop,
    pub(super) of: HopSets,
}

/// What a walk has come upon.
struct Met {
    nodes: Nodes,
    edges: Edges,
}

impl Walk<'_> {
    /// The nodes that are reached with the ends of the edges that are followed, and these edges.
    pub(super) fn run(&self) -> Result<(Nodes, Edges), ChainError> {
        if self.hop.max == Some(0) {
            let nodes = if self.hop.stays { self.stay()? } else { self.sets.no_nodes()? };
            return Ok((nodes, self.sets.no_edges()?));
        }
        let met = if self.hop.min > 1 { self.far()? } else { self.near()? };
        self.close(met)
    }

    /// The seeds that may stay where they are.
    fn stay(&self) -> Result<Nodes, ChainError> {
        let of = &self.of;
        self.sets.and(&self.sets.and(&of.seeds, &of.from)?, &of.last)
    }

    /// One hop from a set of nodes: the nodes that it leads to, and the edges added to `kept`.
    fn step(
        &self,
        frontier: &Nodes,
        is_last: bool,
        kept: &mut graphlume_device::cuda::Buf<u32>,
    ) -> Result<Nodes, ChainError> {
        let from = self.sets.and(frontier, &self.of.from)?;
        let to = if is_last { &self.of.last } else { &self.of.to };
        let along =
            Along { direction: self.hop.direction, edges: self.of.edges.as_ref(), from: &from, to };
        let mut arrived = self.sets.zeros(self.sets.num_nodes())?;
        let into = Followed {
            kept: Some(kept.view_mut()),
            reached: Some(arrived.view_mut()),
            ..Followed::default()
        };
        self.sets.follow(&along, into)?;
        self.sets.nodes(arrived)
    }

    /// A walk that goes on from new nodes only.
    fn near(&self) -> Result<Met, ChainError> {
        let mut kept = self.sets.zeros(self.sets.num_edges())?;
        let mut frontier = self.of.seeds.clone();
        let mut nodes: Option<Nodes> = None;
        for hop in 1.. {
            let is_last = self.hop.max == Some(hop);
            let arrived = self.step(&frontier, is_last, &mut kept)?;
            let Some(before) = nodes.replace(arrived.clone()) else {
                if is_last || self.sets.count(&arrived)? == 0 {
                    break;
                }
                frontier = arrived;
                continue;
            };
            nodes = Some(self.sets.or(&before, &arrived)?);
            if is_last {
                break;
            }
            frontier = self.sets.without(&arrived, &before)?;
            if self.sets.count(&frontier)? == 0 {
                break;
            }
            self.check_depth(hop)?;
        }
        let nodes = match nodes {
            Some(nodes) => nodes,
            None => self.sets.no_nodes()?,
        };
        Ok(Met { nodes, edges: self.sets.edges(kept)? })
    }

    const fn check_depth(&self, hop: u32) -> Result<(), ChainError> {
        if self.hop.max.is_none() && hop >= HOPS_MAX {
            return Err(ChainError::TooDeep(HOPS_MAX));
        }
        Ok(())
    }

    /// A walk that must get further than one hop: it goes on from all nodes that it arrives at, and what does not get far
    /// enough goes.
    fn far(&self) -> Result<Met, ChainError> {
        let (min, max) = (self.hop.min, self.hop.max);
        let mut met = Met { nodes: self.sets.no_nodes()?, edges: self.sets.no_edges()? };
        // The edges that each hop is the first to follow.
        let mut levels: Vec<Edges> = Vec::new();
        let mut frontier = self.of.seeds.clone();
        let mut deepest = 0;
        for hop in (1..).take_while(|hop| max.is_none_or(|max| *hop <= max)) {
            let mut kept = self.sets.zeros(self.sets.num_edges())?;
            let arrived = self.step(&frontier, max == Some(hop), &mut kept)?;
            let kept = self.sets.edges(kept)?;
            levels.push(self.sets.edges_without(&kept, &met.edges)?);
            met.edges = self.sets.or_edges(&met.edges, &kept)?;
            let is_any = self.sets.count(&arrived)? > 0;
            if is_any {
                deepest = hop;
            }
            let fresh = self.sets.without(&arrived, &met.nodes)?;
            let grown = self.sets.count(&fresh)? > 0;
            met.nodes = self.sets.or(&met.nodes, &arrived)?;
            let unmet = max.is_some() && deepest < min;
            if !is_any || !grown && !unmet {
                break;
            }
            frontier = arrived;
            self.check_depth(hop)?;
        }
        if deepest < min {
            return Ok(Met { nodes: self.sets.no_nodes()?, edges: self.sets.no_edges()? });
        }
        self.prune(met, &levels)
    }

    /// Keeps the edges on walks that get as far as the least number of hops, going back by the hop that follows them first.
    fn prune(&self, met: Met, levels: &[Edges]) -> Result<Met, ChainError> {
        let mut deepest = 0;
        for (hop, level) in (1..).zip(levels) {
            if self.sets.count_edges(level)? > 0 {
                deepest = hop;
            }
        }
        if deepest < self.hop.min {
            // Only a walk that uses an edge twice gets that far; it is left as it is.
            return Ok(met);
        }
        let is_both_ways = self.hop.direction == Direction::Undirected;
        let mut kept = self.sets.zeros(self.sets.num_edges())?;
        let mut nodes = self.sets.no_nodes()?;
        let mut feeds = Nodes::All;
        let levels = (1..).zip(levels).take_while(|(hop, _)| *hop <= deepest);
        for (hop, level) in levels.collect::<Vec<(u32, &Edges)>>().into_iter().rev() {
            let is_goal = hop >= self.hop.min;
            let mut departures = self.sets.zeros(self.sets.num_nodes())?;
            let mut reached = self.sets.zeros(self.sets.num_nodes())?;
            let to = if is_goal { &Nodes::All } else { &feeds };
            let along =
                Along { direction: self.hop.direction, edges: Some(level), from: &Nodes::All, to };
            let into = Followed {
                kept: Some(kept.view_mut()),
                left: Some(departures.view_mut()),
                reached: is_goal.then(|| reached.view_mut()),
            };
            self.sets.follow(&along, into)?;
            if is_goal {
                nodes = self.sets.or(&nodes, &self.sets.nodes(reached)?)?;
            }
            feeds = self.sets.nodes(departures)?;
            // Of a walk that goes one way, a node that only the first hop leaves is none that it reaches.
            if is_both_ways || hop > 1 {
                nodes = self.sets.or(&nodes, &feeds)?;
            }
        }
        Ok(Met { nodes: self.sets.and(&met.nodes, &nodes)?, edges: self.sets.edges(kept)? })
    }

    /// Adds the ends of the edges; takes the seeds out unless they are found again.
    fn close(&self, met: Met) -> Result<(Nodes, Edges), ChainError> {
        let arrived = met.nodes;
        let mut ends = self.sets.zeros(self.sets.num_nodes())?;
        let along = Along {
            direction: Direction::Undirected,
            edges: Some(&met.edges),
            from: &Nodes::All,
            to: &Nodes::All,
        };
        self.sets
            .follow(&along, Followed { left: Some(ends.view_mut()), ..Followed::default() })?;
        let mut nodes = self.sets.or(&arrived, &self.sets.nodes(ends)?)?;
        if self.hop.stays && self.hop.min == 0 {
            nodes = self.sets.or(&nodes, &self.stay()?)?;
        }
        if self.hop.min >= 1 {
            let again = match (self.hop.direction, self.hop.max) {
                (Direction::Undirected, max) if max != Some(1) => {
                    self.sets.and(&self.rediscovered(&met.edges)?, &arrived)?
                }
                _ => arrived,
            };
            let others = self.sets.without(&nodes, &self.of.seeds)?;
            nodes = self.sets.or(&others, &again)?;
        }
        Ok((nodes, met.edges))
    }

    /// The seeds that the walk meets again. Where each seed that has an edge has one to a seed, that is seen here; the
    /// others need a look at the components, which the host takes.
    fn rediscovered(&self, edges: &Edges) -> Result<Nodes, ChainError> {
        let seeds = &self.of.seeds;
        let among = |to| {
            let mut left = self.sets.zeros(self.sets.num_nodes())?;
            let direction = Direction::Undirected;
            let along = Along { direction, edges: Some(edges), from: seeds, to };
            let into = Followed { left: Some(left.view_mut()), ..Followed::default() };
            self.sets.follow(&along, into)?;
            self.sets.nodes(left)
        };
        let (sure, open) = (among(seeds)?, among(&Nodes::All)?);
        if self.sets.count(&sure)? == self.sets.count(&open)? {
            return Ok(sure);
        }
        let (edges, seeds) = (self.sets.on_host(edges)?, self.sets.nodes_on_host(seeds)?);
        let found = (self.job.rediscovered)(self.job.topology, &edges, &seeds);
        self.sets.nodes_from_host(&found)
    }
}
