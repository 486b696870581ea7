//! The end of a walk over several hops: what did not get far enough goes, and the ends of edges come in.

use graphlume_expr::QueryError;
use graphlume_graph::Topology;
use graphlume_store::ids::{Grow, IdMap, IdSet};

use super::{Hops, Reached, ends};
use graphlume_graph::Direction;

impl Hops<'_> {
    /// No hop at all.
    pub(super) fn stay(&self, seeds: &IdSet) -> Reached {
        let may = |set: Option<&IdSet>, v| set.is_none_or(|s| s.contains(v));
        let keep = |v| may(self.source, v) && may(self.destination, v) && may(self.target, v);
        let nodes = if self.zero_hop_seed { seeds.filter(keep) } else { IdSet::empty() };
        let node_hops = nodes.iter().filter(|_| self.labels).map(|v| (v, 0)).collect();
        Reached { nodes, edges: IdSet::empty(), left: None, node_hops, edge_hops: IdMap::default() }
    }

    /// Keeps the edges on walks that get as far as the least number of hops, going back by the hop
    /// numbers of edges.
    pub(super) fn prune(&self, t: &Topology, reached: &mut Reached) {
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
    pub(super) fn close(
        &self,
        t: &Topology,
        seeds: &IdSet,
        mut reached: Reached,
    ) -> Result<Reached, QueryError> {
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

/// Takes away nodes with one edge, and that edge, until there are none: a node that has edges left is on a cycle or
/// between two.
fn take_leaves(pairs: &[(usize, usize)], incident: &[Vec<usize>], degree: &mut [u32]) {
    let mut used = vec![false; pairs.len()];
    let mut leaves: Vec<usize> = (0..degree.len()).filter(|v| degree[*v] == 1).collect();
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
}

/// The seeds that a walk over `edges` meets again without using an edge twice: those that share a
/// component with another seed, and those on a cycle.
pub(crate) fn rediscovered(t: &Topology, edges: &IdSet, seeds: &IdSet) -> IdSet {
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
    take_leaves(&pairs, &incident, &mut degree);
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
