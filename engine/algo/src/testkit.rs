//! Graphs that tests share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use graphlume_graph::Topology;
use graphlume_types::hash::{h64, unit_f64};

pub(crate) fn from_edges(n: u32, edges: &[(u32, u32)]) -> Arc<Topology> {
    let (src, dst): (Vec<u32>, Vec<u32>) = edges.iter().copied().unzip();
    Arc::new(Topology::from_coo(n, &src, &dst))
}

/// `groups` equal groups; a pair within one is joined with probability `inside`, another with `outside`.
pub(crate) fn planted(n: u32, groups: u32, inside: f64, outside: f64) -> Arc<Topology> {
    let mut edges = Vec::new();
    for a in 0..n {
        for b in a + 1..n {
            let p = if a % groups == b % groups { inside } else { outside };
            let pair = u64::from(a) << 32 | u64::from(b);
            if unit_f64(5, 0, pair) < p {
                edges.push(if h64(5, 1, pair) & 1 == 0 { (a, b) } else { (b, a) });
            }
        }
    }
    from_edges(n, &edges)
}

pub(crate) fn path(n: u32) -> Arc<Topology> {
    from_edges(n, &(1..n).map(|v| (v - 1, v)).collect::<Vec<_>>())
}

pub(crate) fn star(leaves: u32) -> Arc<Topology> {
    from_edges(leaves + 1, &(1..=leaves).map(|v| (0, v)).collect::<Vec<_>>())
}

pub(crate) fn clique(n: u32) -> Arc<Topology> {
    let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b)));
    from_edges(n, &pairs.collect::<Vec<_>>())
}

pub(crate) fn grid(side: u32) -> Arc<Topology> {
    let mut edges = Vec::new();
    for y in 0..side {
        for x in 0..side {
            let v = y * side + x;
            if x + 1 < side {
                edges.push((v, v + 1));
            }
            if y + 1 < side {
                edges.push((v, v + side));
            }
        }
    }
    from_edges(side * side, &edges)
}

/// Zachary's karate club (1977), as 78 undirected edges.
pub(crate) fn karate() -> Arc<Topology> {
    let rows: [(u32, &[u32]); 21] = [
        (0, &[1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31]),
        (1, &[2, 3, 7, 13, 17, 19, 21, 30]),
        (2, &[3, 7, 8, 9, 13, 27, 28, 32]),
        (3, &[7, 12, 13]),
        (4, &[6, 10]),
        (5, &[6, 10, 16]),
        (6, &[16]),
        (8, &[30, 32, 33]),
        (9, &[33]),
        (13, &[33]),
        (14, &[32, 33]),
        (15, &[32, 33]),
        (18, &[32, 33]),
        (19, &[33]),
        (20, &[32, 33]),
        (22, &[32, 33]),
        (23, &[25, 27, 29, 32, 33]),
        (24, &[25, 27, 31]),
        (25, &[31]),
        (26, &[29, 33]),
        (27, &[33]),
    ];
    let more: [(u32, &[u32]); 5] =
        [(28, &[31, 33]), (29, &[32, 33]), (30, &[32, 33]), (31, &[32, 33]), (32, &[33])];
    let edges: Vec<(u32, u32)> =
        rows.iter().chain(&more).flat_map(|(a, bs)| bs.iter().map(|b| (*a, *b))).collect();
    assert_eq!(edges.len(), 78);
    from_edges(34, &edges)
}

/// Graphs on which everything must work: the odd, the degenerate and the ordinary.
pub(crate) fn zoo() -> Vec<(&'static str, Arc<Topology>)> {
    vec![
        ("empty", from_edges(0, &[])),
        ("one node", from_edges(1, &[])),
        ("one loop", from_edges(1, &[(0, 0)])),
        ("two nodes", from_edges(2, &[])),
        ("one edge", from_edges(2, &[(1, 0)])),
        ("isolated", from_edges(50, &[])),
        (
            "loops and parallels",
            from_edges(5, &[(0, 0), (0, 1), (0, 1), (1, 0), (2, 2), (2, 3), (3, 2)]),
        ),
        ("path", path(40)),
        ("star", star(60)),
        ("clique", clique(20)),
        ("grid", grid(9)),
        ("karate", karate()),
        ("two parts", from_edges(9, &[(0, 1), (1, 2), (2, 0), (4, 5), (5, 6), (6, 7), (7, 4)])),
        ("planted", planted(300, 5, 0.2, 0.01)),
    ]
}

/// Runs `f` on pools of 1, 2 and 3 threads and returns the three results.
pub(crate) fn at_1_2_3_threads<T: Send>(f: impl Fn() -> T + Sync) -> [T; 3] {
    [1, 2, 3].map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap().install(&f))
}
