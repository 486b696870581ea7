//! The graphs that every graph kernel is tested on.

use graphlume_graph::Topology;
use graphlume_types::hash::{h64, unit_f64};

/// A named graph.
#[derive(Clone, Debug)]
pub struct Zoo {
    /// For messages.
    pub name: &'static str,
    /// Its edges, in both directions of adjacency.
    pub graph: Topology,
}

impl Zoo {
    /// All kinds, from the empty graph to some ten thousand edges; with `GRAPHLUME_ZOO=short` to some hundreds, for tools that
    /// slow a run a hundred times.
    ///
    /// # Panics
    /// When `GRAPHLUME_ZOO` has another value.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let mut zoo = Self::small();
        match std::env::var("GRAPHLUME_ZOO").as_deref() {
            Err(_) | Ok("") => {}
            Ok("short") => {
                zoo.push(Self::new("star", star(300)));
                zoo.push(Self::new("path", path(90)));
                zoo.push(Self::new("disconnected", disconnected()));
                zoo.push(Self::new("rmat", rmat(7, 6, 7)));
                zoo.push(Self::new("planted", planted(120, 4, 11)));
                return zoo;
            }
            Ok(other) => panic!("GRAPHLUME_ZOO={other}: known is short"),
        }
        zoo.push(Self::new("star", star(6_000)));
        zoo.push(Self::new("path", path(700)));
        zoo.push(Self::new("clique", clique(65)));
        zoo.push(Self::new("disconnected", disconnected()));
        zoo.push(Self::new("rmat", rmat(10, 8, 7)));
        zoo.push(Self::new("planted", planted(1_200, 12, 11)));
        zoo.push(Self::new("lfr", lfr(600, 13)));
        zoo
    }

    /// The corner cases alone, each below 100 edges: cheap enough for the slowest kernels.
    #[must_use]
    pub fn small() -> Vec<Self> {
        vec![
            Self::new("empty", (0, Vec::new())),
            Self::new("one node", (1, Vec::new())),
            Self::new("one node with a self-loop", (1, vec![(0, 0)])),
            Self::new("isolated nodes", (33, Vec::new())),
            Self::new("self-loops", (5, vec![(0, 0), (0, 1), (1, 1), (1, 1), (3, 4), (4, 4)])),
            Self::new("parallel edges", (4, parallel())),
            Self::new("a pair both ways", (2, vec![(0, 1), (1, 0)])),
            Self::new("short path", path(34)),
            Self::new("small clique", clique(9)),
        ]
    }

    /// A star whose centre, node 0, has `leaves` out-edges to odd leaves and in-edges from even ones.
    #[must_use]
    pub fn star(leaves: u32) -> Topology {
        topology(&star(leaves))
    }

    /// An R-MAT graph of `2^scale` nodes and `2^scale * degree` edges (Chakrabarti, Zhan and
    /// Faloutsos, SDM 2004; the Graph500 parameters). Self-loops and parallel edges occur.
    #[must_use]
    pub fn rmat(scale: u32, degree: u32, seed: u64) -> Topology {
        topology(&rmat(scale, degree, seed))
    }

    /// `nodes` nodes in `communities` groups of consecutive nodes: each node has six edges into its
    /// own group and one to anywhere.
    #[must_use]
    pub fn planted(nodes: u32, communities: u32, seed: u64) -> Topology {
        topology(&planted(nodes, communities, seed))
    }

    fn new(name: &'static str, edges: EdgeList) -> Self {
        Self { name, graph: topology(&edges) }
    }
}

type EdgeList = (u32, Vec<(u32, u32)>);

fn topology((n, edges): &EdgeList) -> Topology {
    let (src, dst): (Vec<u32>, Vec<u32>) = edges.iter().copied().unzip();
    Topology::from_coo(*n, &src, &dst)
}

fn parallel() -> Vec<(u32, u32)> {
    let mut edges = vec![(0, 1); 40];
    edges.extend([(1, 0), (1, 2), (1, 2), (2, 3), (3, 2)]);
    edges
}

fn star(leaves: u32) -> EdgeList {
    let edge = |leaf: u32| if leaf % 2 == 1 { (0, leaf) } else { (leaf, 0) };
    (leaves + 1, (1..=leaves).map(edge).collect())
}

fn path(nodes: u32) -> EdgeList {
    (nodes, (1..nodes).map(|v| (v - 1, v)).collect())
}

fn clique(nodes: u32) -> EdgeList {
    let pairs = (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b)));
    (nodes, pairs.filter(|(a, b)| a < b).collect())
}

/// A path, a cycle, a clique and a star that share no node, with isolated nodes between and after them.
fn disconnected() -> EdgeList {
    let (mut edges, mut next) = (Vec::new(), 3);
    let cycle = (50, (0..50).map(|v| (v, (v + 1) % 50)).collect());
    for (n, part) in [path(40), cycle, clique(12), star(70)] {
        edges.extend(part.into_iter().map(|(a, b)| (a + next, b + next)));
        next += n + 2;
    }
    (next + 5, edges)
}

fn rmat(scale: u32, degree: u32, seed: u64) -> EdgeList {
    let n = 1u32 << scale;
    let draw = |edge: u64| {
        let (mut src, mut dst) = (0, 0);
        for level in 0..scale {
            let (right, down) = match h64(seed, u64::from(level), edge) % 100 {
                0..57 => (0, 0),
                57..76 => (1, 0),
                76..95 => (0, 1),
                _ => (1, 1),
            };
            src = src << 1 | down;
            dst = dst << 1 | right;
        }
        (src, dst)
    };
    (n, (0..u64::from(n) * u64::from(degree)).map(draw).collect())
}

fn planted(nodes: u32, communities: u32, seed: u64) -> EdgeList {
    let size = nodes / communities;
    assert!(size > 1 && nodes.is_multiple_of(communities), "{nodes} nodes in {communities} groups");
    let below = |stream, counter, n: u32| (h64(seed, stream, counter) % u64::from(n)) as u32;
    let mut edges = Vec::new();
    for v in 0..nodes {
        let first = v / size * size;
        for k in 0..6 {
            edges.push((v, first + below(k, u64::from(v), size)));
        }
        edges.push((v, below(6, u64::from(v), nodes)));
    }
    (nodes, edges)
}

/// A whole number from `least` to `most` by a power law of the given exponent.
fn power_law(least: u32, most: u32, exponent: f64, draw: f64) -> u32 {
    let (low, high) = (f64::from(least), f64::from(most) + 1.0);
    let k = 1.0 - exponent;
    let x = (low.powf(k) + draw * (high.powf(k) - low.powf(k))).powf(1.0 / k);
    (x as u32).clamp(least, most)
}

/// A graph in the manner of Lancichinetti, Fortunato and Radicchi (Phys. Rev. E 78, 2008): power laws in the
/// degrees (4 to 120, exponent 2.5) and in the community sizes (15 to 120, exponent 1.5), and three
/// edges of ten that leave their community.
fn lfr(nodes: u32, seed: u64) -> EdgeList {
    let mut edges = Vec::new();
    let (mut first, mut community) = (0, 0);
    while first < nodes {
        let size = power_law(15, 120, 1.5, unit_f64(seed, 1, community));
        let rest = nodes - first;
        let size = if rest < size + 15 { rest } else { size };
        for v in first..first + size {
            let degree = power_law(4, 120, 2.5, unit_f64(seed, 2, u64::from(v)));
            // Each edge has two ends, so half of them begin here.
            for k in 0..u64::from(degree.div_ceil(2)) {
                let draw = |stream| h64(seed, stream, u64::from(v) << 16 | k);
                let end = match draw(3) % 10 {
                    0..3 => draw(4) % u64::from(nodes),
                    _ => u64::from(first) + draw(4) % u64::from(size),
                };
                edges.push((v, end as u32));
            }
        }
        first += size;
        community += 1;
    }
    (nodes, edges)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_zoo_holds_what_its_names_say() {
        let zoo = Zoo::all();
        let names: BTreeSet<&str> = zoo.iter().map(|z| z.name).collect();
        assert_eq!(names.len(), zoo.len());
        let find = |name| &zoo.iter().find(|z| z.name == name).unwrap().graph;
        assert_eq!(find("empty").num_nodes(), 0);
        assert_eq!(find("star").degree(0), 6_000);
        assert_eq!(find("clique").num_edges(), 65 * 64 / 2);
        assert_eq!(find("rmat").num_edges(), 8 << 10);
        assert_eq!(find("parallel edges").out_neighbors(0), [1; 40]);
        let hub = (0..1 << 10).map(|v| find("rmat").degree(v)).max().unwrap();
        assert!(hub > 200, "R-MAT is skewed: {hub}");
        let lfr = find("lfr");
        let mut degrees: Vec<u32> = (0..lfr.num_nodes()).map(|v| lfr.degree(v)).collect();
        degrees.sort_unstable();
        let (median, most) = (degrees[degrees.len() / 2], degrees[degrees.len() - 1]);
        assert!(most > 5 * median, "LFR is skewed: {median} {most}");
    }

    #[test]
    fn planted_groups_hold_most_edges() {
        let graph = Zoo::planted(1_200, 12, 11);
        let group = |v: u32| v / 100;
        let inside =
            |v: u32| graph.out_neighbors(v).iter().filter(|w| group(**w) == group(v)).count();
        let total: usize = (0..1_200).map(inside).sum();
        assert!(total * 10 > 8 * graph.num_edges() as usize, "{total}");
    }
}
