//! One hop over all edges on the device against a look at every edge on the host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use graphlume_algo::gpu::GpuGraph;
use graphlume_algo::gpu::chain::{Follow, Followed, follow};
use graphlume_algo::path::expand::{Direction, words};
use graphlume_device::cuda::{Gpu, Grid, kernels};
use graphlume_emu::{Zoo, gpu_test};
use graphlume_graph::Topology;
use graphlume_types::hash::h64;

const DIRECTIONS: [Direction; 3] = [Direction::Forward, Direction::Reverse, Direction::Undirected];

fn random_mask(items: u32, stream: u64) -> Vec<u32> {
    let mut mask: Vec<u32> = (0..words(items) as u64).map(|w| h64(5, stream, w) as u32).collect();
    if let (Some(last), left @ 1..) = (mask.last_mut(), items % 32) {
        *last &= (1 << left) - 1;
    }
    mask
}

fn bit(mask: &[u32], i: u32) -> bool {
    mask[i as usize / 32] >> (i % 32) & 1 == 1
}

fn set(mask: &mut [u32], i: u32) {
    mask[i as usize / 32] |= 1 << (i % 32);
}

/// Kept edges, nodes left, nodes reached.
type Masks = [Vec<u32>; 3];

/// What the host finds; `filters` has bit 0 for a mask of edges, bit 1 for one of nodes left, bit 2 for one of nodes
/// reached.
fn on_the_host(t: &Topology, direction: Direction, filters: u32, given: &Masks) -> Masks {
    let mut found =
        [words(t.num_edges()), words(t.num_nodes()), words(t.num_nodes())].map(|w| vec![0; w]);
    for p in 0..t.num_edges() {
        let (s, d, _) = t.edge(p);
        if filters & 1 != 0 && !bit(&given[0], p) {
            continue;
        }
        let ways = [(direction.follows_out(), s, d), (direction.follows_in(), d, s)];
        for (_, from, to) in ways.into_iter().filter(|way| way.0) {
            let leaves = filters & 2 == 0 || bit(&given[1], from);
            if leaves && (filters & 4 == 0 || bit(&given[2], to)) {
                set(&mut found[0], p);
                set(&mut found[1], from);
                set(&mut found[2], to);
            }
        }
    }
    found
}

fn check(gpu: &Gpu, topology: &Topology, name: &str) {
    let graph = GpuGraph::upload(gpu, topology).unwrap();
    let (n, m) = (topology.num_nodes(), topology.num_edges());
    let given = [random_mask(m, 0), random_mask(n, 1), random_mask(n, 2)];
    let [edges, from, to] = given.each_ref().map(|mask| gpu.upload("given", mask).unwrap());
    for direction in DIRECTIONS {
        for filters in 0..8 {
            let want = on_the_host(topology, direction, filters, &given);
            let hop = Follow {
                direction,
                edges: (filters & 1 != 0).then(|| edges.view()),
                from: (filters & 2 != 0).then(|| from.view()),
                to: (filters & 4 != 0).then(|| to.view()),
            };
            let mut kept = gpu.zeros::<u32>("kept", words(m)).unwrap();
            let mut left = gpu.zeros::<u32>("left", words(n)).unwrap();
            let mut reached = gpu.zeros::<u32>("reached", words(n)).unwrap();
            let into = Followed {
                kept: Some(kept.view_mut()),
                left: Some(left.view_mut()),
                reached: Some(reached.view_mut()),
            };
            follow(gpu, &graph, &hop, into).unwrap();
            let got = [&kept, &left, &reached].map(|mask| gpu.read(mask.view()).unwrap());
            assert_eq!(got, want, "{name} {direction:?} {filters}");
            // One output alone, added to what is there.
            let mut all = gpu.upload("kept", &vec![u32::MAX; words(m)]).unwrap();
            let into = Followed { kept: Some(all.view_mut()), ..Followed::default() };
            follow(gpu, &graph, &hop, into).unwrap();
            assert_eq!(gpu.read(all.view()).unwrap(), vec![u32::MAX; words(m)], "{name}");
        }
    }
}

#[test]
fn hops_over_all_edges_equal_the_hosts() {
    gpu_test(&["chain_follow"], |gpu| {
        for Zoo { name, graph } in Zoo::all() {
            check(gpu, &graph, name);
        }
    });
}

#[test]
fn any_grid_keeps_the_same() {
    gpu_test(&["chain_follow"], |gpu| {
        let topology = Zoo::rmat(10, 12, 4);
        let graph = GpuGraph::upload(gpu, &topology).unwrap();
        let (n, m) = (topology.num_nodes(), topology.num_edges());
        let given = [random_mask(m, 0), random_mask(n, 1), random_mask(n, 2)];
        let [edges, from, to] = given.each_ref().map(|mask| gpu.upload("given", mask).unwrap());
        let want = on_the_host(&topology, Direction::Undirected, 7, &given);
        for (blocks, threads) in [(1, 256), (2, 64), (9, 256)] {
            let mut kept = gpu.zeros::<u32>("kept", words(m)).unwrap();
            let mut left = gpu.zeros::<u32>("left", words(n)).unwrap();
            let mut reached = gpu.zeros::<u32>("reached", words(n)).unwrap();
            kernels::chain_follow(
                gpu,
                Grid::blocks(blocks, threads),
                n,
                m,
                255,
                graph.out_offsets(),
                graph.out_dst(),
                edges.view(),
                from.view(),
                to.view(),
                kept.view_mut(),
                left.view_mut(),
                reached.view_mut(),
            )
            .unwrap();
            let got = [&kept, &left, &reached].map(|mask| gpu.read(mask.view()).unwrap());
            assert_eq!(got, want, "{blocks} blocks of {threads}");
        }
    });
}

#[test]
fn masks_that_are_too_short_are_refused() {
    gpu_test(&[], |gpu| {
        let topology = Zoo::rmat(7, 4, 4);
        let graph = GpuGraph::upload(gpu, &topology).unwrap();
        let short = gpu.zeros::<u32>("short", 1).unwrap();
        let hop = Follow {
            direction: Direction::Forward,
            edges: None,
            from: Some(short.view()),
            to: None,
        };
        let refused = follow(gpu, &graph, &hop, Followed::default()).unwrap_err();
        assert!(refused.to_string().contains("from"), "{refused}");
    });
}
