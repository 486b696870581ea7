//! The end of a walk over several hops: what did not get far enough goes, and the ends of edges come in.

use graphlume_expr::QueryError;
use graphlume_graph::Topology;
use graphlume_store::ids::{Grow, IdMap, IdSet};
use graphlume_types::CancelToken;

use super::{Hops, Reached, ends, ends_of, kept_edges};
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
        cancel: &CancelToken,
    ) -> Result<Reached, QueryError> {
        let arrived = reached.nodes;
        let n = t.num_nodes();
        let met = if reached.edges.is_many() {
            ends_of(t, &reached.edges, (true, true), cancel)?
        } else {
            let mut met = Grow::new(n);
            ends(t, &reached.edges, |_, s, d| {
                met.insert(s);
                met.insert(d);
            });
            met.finish()
        };
        let stay = match self.zero_hop_seed && self.min == 0 {
            true => self.stay(seeds).nodes,
            false => IdSet::empty(),
        };
        let mut nodes = IdSet::union(&[&arrived, &met, &stay], n);
        if self.wavefront && self.min >= 1 {
            let again = if self.direction == Direction::Undirected && self.max != Some(1) {
                met_again(t, &reached.edges, seeds, cancel)?.and(&arrived)
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

/// The seeds that a walk over `edges` meets again without using an edge twice, for the graph of a device, where nothing is stopped.
pub(crate) fn rediscovered(t: &Topology, edges: &IdSet, seeds: &IdSet) -> IdSet {
    met_again(t, edges, seeds, &CancelToken::new()).unwrap_or_else(|_| IdSet::empty())
}

/// The seeds that a walk over `edges` meets again without using an edge twice: those that share a
/// component with another seed, and those on a cycle.
fn met_again(
    t: &Topology,
    edges: &IdSet,
    seeds: &IdSet,
    cancel: &CancelToken,
) -> Result<IdSet, QueryError> {
    if edges.is_many() {
        among_many(t, edges, seeds, cancel)
    } else {
        Ok(among_few(t, edges, seeds))
    }
}

/// Nodes and edges of a graph between two looks at the token.
const STEPS_PER_CHECK: usize = 1 << 16;

/// [`met_again`] over a set of edges that has bits: all nodes have a place, whether they are met or not.
fn among_many(
    t: &Topology,
    edges: &IdSet,
    seeds: &IdSet,
    cancel: &CancelToken,
) -> Result<IdSet, QueryError> {
    let n = t.num_nodes();
    let seeds = seeds.clone().dense(n);
    // An edge between two seeds, or a loop at one, settles them without a look at the rest.
    let between = kept_edges(t, edges, &seeds, cancel, |_, _, d| seeds.contains(d))?;
    let sure = between.both_ends(n);
    let open = seeds.and(&ends_of(t, edges, (true, true), cancel)?);
    if sure.len() == open.len() {
        return Ok(sure);
    }
    let _held = cancel.hold(u64::from(n) * 16)?;
    let mut root: Vec<u32> = (0..n).collect();
    // Of each node: its edges, and the other ends of these, combined so that a single one that is left can be read.
    let (mut degree, mut others) = (vec![0_u32; n as usize], vec![0_u32; n as usize]);
    let mut steps = 0;
    for s in 0..n {
        let first = t.out_offsets()[s as usize];
        steps += 1 + t.out_neighbors(s).len();
        if steps >= STEPS_PER_CHECK {
            cancel.check()?;
            steps = 0;
        }
        for (d, position) in t.out_neighbors(s).iter().zip(first..) {
            if s == *d || !edges.contains(position) {
                continue;
            }
            let (a, b) = (find(&mut root, s), find(&mut root, *d));
            root[a.max(b) as usize] = a.min(b);
            for (v, other) in [(s, *d), (*d, s)] {
                degree[v as usize] += 1;
                others[v as usize] ^= other;
            }
        }
    }
    // Takes away nodes with one edge, and that edge, until there are none.
    let mut leaves: Vec<u32> = (0..n).filter(|v| degree[*v as usize] == 1).collect();
    while let Some(leaf) = leaves.pop() {
        steps += 1;
        if steps >= STEPS_PER_CHECK {
            cancel.check()?;
            steps = 0;
        }
        if degree[leaf as usize] != 1 {
            continue;
        }
        let other = others[leaf as usize];
        degree[leaf as usize] = 0;
        degree[other as usize] -= 1;
        others[other as usize] ^= leaf;
        if degree[other as usize] == 1 {
            leaves.push(other);
        }
    }
    let mut seeds_of = vec![0_u32; n as usize];
    open.for_each(|v| seeds_of[find(&mut root, v) as usize] += 1);
    Ok(open.filter(|v| {
        sure.contains(v) || degree[v as usize] > 0 || seeds_of[find(&mut root, v) as usize] > 1
    }))
}

/// The least node that is known to be connected with `v`.
fn find(root: &mut [u32], mut v: u32) -> u32 {
    while root[v as usize] != v {
        root[v as usize] = root[root[v as usize] as usize];
        v = root[v as usize];
    }
    v
}

/// [`met_again`] over a list of edges: only the nodes at their ends have a place.
fn among_few(t: &Topology, edges: &IdSet, seeds: &IdSet) -> IdSet {
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
    let mut root: Vec<u32> = (0..local.len() as u32).collect();
    let mut incident = vec![Vec::new(); local.len()];
    let mut degree = vec![0_u32; local.len()];
    let mut looped = vec![false; local.len()];
    for (i, (a, b)) in pairs.iter().enumerate() {
        if a == b {
            looped[*a] = true;
            continue;
        }
        let (x, y) = (find(&mut root, *a as u32), find(&mut root, *b as u32));
        root[x.max(y) as usize] = x.min(y);
        for v in [*a, *b] {
            incident[v].push(i);
            degree[v] += 1;
        }
    }
    take_leaves(&pairs, &incident, &mut degree);
    let mut seeds_of = vec![0_u32; local.len()];
    for (i, v) in local.iter().enumerate() {
        if seeds.contains(*v) {
            seeds_of[find(&mut root, i as u32) as usize] += 1;
        }
    }
    let again = |i: usize, root: &mut [u32]| {
        seeds_of[find(root, i as u32) as usize] > 1 || degree[i] > 0 || looped[i]
    };
    let met = local.iter().enumerate().filter(|(_, v)| seeds.contains(**v));
    IdSet::List(met.filter(|(i, _)| again(*i, &mut root)).map(|(_, v)| *v).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    use graphlume_store::{Bindings, PropertyGraph};
    use graphlume_table::Table;
    use graphlume_types::hash::h64;

    use super::*;

    /// Few edges among many nodes: trees, some cycles, loops and copies.
    fn graph(seed: u64, nodes: u64, edges: u64) -> PropertyGraph {
        graphlume_types::tuning::use_small(true);
        let end = |stream| -> ArrayRef {
            let ends = (0..edges).map(|i| (h64(seed, stream, i) % nodes) as i64);
            Arc::new(Int64Array::from_iter_values(ends))
        };
        let name = |n: &str| Some(n.to_owned());
        let bindings = Bindings { node: None, source: name("s"), destination: name("d") };
        let batch = RecordBatch::try_from_iter([("s", end(1)), ("d", end(2))]).unwrap();
        PropertyGraph::new(None, Some(Table::try_new(batch).unwrap()), bindings).unwrap()
    }

    #[test]
    fn seeds_are_met_again_alike_among_few_edges_and_among_many() {
        let cancel = CancelToken::new();
        let (mut met, mut missed) = (0, 0);
        for seed in 0..2_000 {
            let graph = graph(seed, 12 + seed % 30, 3 + seed % 25);
            let t = graph.topology(&cancel).unwrap();
            let some = |stream, count, part| {
                let all =
                    (0..count).filter(|i| !h64(seed, stream, u64::from(*i)).is_multiple_of(part));
                IdSet::from_vec(all.collect())
            };
            let edges = some(3, t.num_edges(), 5);
            let seeds = IdSet::from_vec(
                (0..t.num_nodes())
                    .filter(|v| h64(seed, 4, u64::from(*v)).is_multiple_of(4))
                    .collect(),
            );
            let few = among_few(t, &edges, &seeds).to_vec();
            let many = edges.clone().dense(t.num_edges());
            assert_eq!(among_many(t, &many, &seeds, &cancel).unwrap().to_vec(), few, "seed {seed}");
            met += few.len();
            missed += seeds.len() as usize - few.len();
        }
        assert!(met > 1_000 && missed > 1_000, "{met} {missed}");
    }
}
