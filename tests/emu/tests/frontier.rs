//! Hops on the device against those of the CPU.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use graphlume_algo::gpu::GpuGraph;
use graphlume_algo::gpu::expand::{Expander, Hop};
use graphlume_algo::path::expand::{self as cpu, Direction, words};
use graphlume_device::cuda::{Gpu, Grid, kernels};
use graphlume_emu::{Zoo, gpu_test};
use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use graphlume_types::hash::h64;

const DIRECTIONS: [Direction; 3] = [Direction::Forward, Direction::Reverse, Direction::Undirected];

fn random_mask(items: u32, stream: u64) -> Vec<u32> {
    let word = |w| h64(3, stream, 2 * w) as u32 | h64(3, stream, 2 * w + 1) as u32;
    (0..words(items) as u64).map(word).collect()
}

/// A case: `filters` has bit 0 for a node mask, bit 1 for an edge mask, bit 2 for marking.
fn check(gpu: &Gpu, topology: &Topology, seeds: &[u32], hops: u32, filters: u32, name: &str) {
    let token = CancelToken::new();
    let graph = GpuGraph::upload(gpu, topology).unwrap();
    let mut expander = Expander::new(gpu, &graph).unwrap();
    let (nodes, edges) =
        (random_mask(topology.num_nodes(), 0), random_mask(topology.num_edges(), 1));
    let on_nodes = gpu.upload("nodes", &nodes).unwrap();
    let on_edges = gpu.upload("edges", &edges).unwrap();
    for direction in DIRECTIONS {
        let mark = filters & 4 != 0;
        let hop = cpu::Hop {
            direction,
            nodes: (filters & 1 != 0).then_some(nodes.as_slice()),
            edges: (filters & 2 != 0).then_some(edges.as_slice()),
            mark,
        };
        let on_device = Hop {
            direction,
            nodes: hop.nodes.map(|_| on_nodes.view()),
            edges: hop.edges.map(|_| on_edges.view()),
            mark,
        };
        let want = cpu::walk(topology, seeds, hops, &hop, &token).unwrap();
        let got = expander.walk(&graph, seeds, hops, &on_device, &token).unwrap();
        let case = format!("{name} {direction:?} filters {filters} hops {hops}");
        assert_eq!(gpu.read(got.nodes.view()).unwrap(), want.nodes, "{case}");
        assert_eq!(gpu.read(got.edges.view()).unwrap(), want.edges, "{case}");
        assert_eq!(got.fresh(gpu).unwrap(), want.fresh, "{case}");
    }
}

#[test]
fn walks_equal_the_cpus() {
    gpu_test(&["fr_seeds", "fr_push", "fr_push_big"], |gpu| {
        for Zoo { name, graph } in Zoo::all() {
            for filters in [0, 1, 3, 4, 7] {
                check(gpu, &graph, &[0, 33, 33, 5, u32::MAX], 2, filters, name);
            }
            check(gpu, &graph, &[], 3, 7, name);
            check(gpu, &graph, &[1], 0, 7, name);
        }
        // Looks in between, also when the walk ends just at one.
        for nodes in [17, 18, 34, 60] {
            let path: Vec<u32> = (0..nodes).collect();
            let topology = Topology::from_coo(nodes, &path[..path.len() - 1], &path[1..]);
            check(gpu, &topology, &[0], u32::MAX, 4, "a path");
        }
    });
}

#[test]
fn one_hop_from_a_mask_equals_the_cpus() {
    gpu_test(&["fr_list", "fr_push"], |gpu| {
        let token = CancelToken::new();
        for Zoo { name, graph: topology } in Zoo::all() {
            let graph = GpuGraph::upload(gpu, &topology).unwrap();
            let mut expander = Expander::new(gpu, &graph).unwrap();
            let mut mask = random_mask(topology.num_nodes(), 7);
            // Bits past the last node mean nothing.
            mask.iter_mut().for_each(|w| *w |= 0xf000_0000);
            let frontier = gpu.upload("frontier", &mask).unwrap();
            for direction in DIRECTIONS {
                let hop = cpu::Hop { direction, nodes: None, edges: None, mark: true };
                let want = cpu::expand(&topology, &mask, &hop, &token).unwrap();
                let hop = Hop { direction, nodes: None, edges: None, mark: true };
                let got = expander.expand(&graph, frontier.view(), &hop, &token).unwrap();
                assert_eq!(gpu.read(got.nodes.view()).unwrap(), want.nodes, "{name}");
                assert_eq!(gpu.read(got.edges.view()).unwrap(), want.edges, "{name}");
                assert_eq!(got.fresh(gpu).unwrap(), want.fresh, "{name}");
            }
        }
    });
}

#[test]
fn any_grid_reaches_the_same() {
    gpu_test(&["fr_push", "fr_push_big"], |gpu| {
        let topology = Zoo::rmat(11, 12, 4);
        let graph = GpuGraph::upload(gpu, &topology).unwrap();
        let (n, m) = (topology.num_nodes(), topology.num_edges());
        let hub = (0..n).max_by_key(|v| topology.degree(*v)).unwrap();
        let seeds: Vec<u32> = (0..90).chain([hub]).collect();
        let hop = cpu::Hop { direction: Direction::Forward, nodes: None, edges: None, mark: true };
        let want = cpu::walk(&topology, &seeds, 1, &hop, &CancelToken::new()).unwrap();
        let none = gpu.alloc::<u32>("none", 0).unwrap();
        for (blocks, threads) in [(1, 32), (2, 96), (9, 256)] {
            let grid = Grid::blocks(blocks, threads);
            let list = gpu.upload("list", &[seeds.clone(), vec![0; n as usize]].concat()).unwrap();
            let mut nodes = gpu.zeros::<u32>("nodes", words(n)).unwrap();
            let mut edges = gpu.zeros::<u32>("edges", words(m)).unwrap();
            let mut next = gpu.alloc::<u32>("next", n as usize).unwrap();
            let mut big = gpu.alloc::<u32>("big", n as usize).unwrap();
            let mut counts = gpu.upload("counts", &[seeds.len() as u32, 0, 0]).unwrap();
            kernels::fr_push(
                gpu,
                grid,
                n,
                0,
                1 | 16,
                list.view(),
                graph.out_offsets(),
                graph.out_dst(),
                graph.out_row(),
                graph.in_offsets(),
                graph.in_src(),
                none.view(),
                none.view(),
                none.view(),
                nodes.view_mut(),
                edges.view_mut(),
                next.view_mut(),
                big.view_mut(),
                counts.view_mut(),
            )
            .unwrap();
            kernels::fr_push_big(
                gpu,
                grid,
                n,
                0,
                1 | 16,
                big.view(),
                graph.out_offsets(),
                graph.out_dst(),
                graph.out_row(),
                graph.in_offsets(),
                graph.in_src(),
                none.view(),
                none.view(),
                none.view(),
                nodes.view_mut(),
                edges.view_mut(),
                next.view_mut(),
                counts.view_mut(),
            )
            .unwrap();
            assert_eq!(gpu.read(nodes.view()).unwrap(), want.nodes, "{blocks} {threads}");
            assert_eq!(gpu.read(edges.view()).unwrap(), want.edges, "{blocks} {threads}");
            let [_, _, fresh] = gpu.read(counts.view()).unwrap()[..] else { panic!() };
            assert_eq!(fresh, want.fresh[0]);
            let mut list = gpu.read(next.slice(..fresh as usize)).unwrap();
            list.sort_unstable();
            let reached = (0..n).filter(|v| want.nodes[(v / 32) as usize] >> (v % 32) & 1 == 1);
            assert!(list.into_iter().eq(reached), "{blocks} {threads}");
        }
    });
}

#[test]
fn wrong_masks_are_refused_and_memory_stays_below_the_footprint() {
    gpu_test(&["fr_push"], |gpu| {
        let topology = Zoo::rmat(11, 8, 3);
        let graph = GpuGraph::upload(gpu, &topology).unwrap();
        let (n, m) = (u64::from(graph.num_nodes()), u64::from(graph.num_edges()));
        let mut expander = Expander::new(gpu, &graph).unwrap();
        let short = gpu.zeros::<u32>("short", 3).unwrap();
        let token = CancelToken::new();
        let hop = Hop { direction: Direction::Reverse, nodes: None, edges: None, mark: true };
        assert!(expander.expand(&graph, short.view(), &hop, &token).is_err());
        let narrow = Hop { edges: Some(short.view()), ..hop };
        assert!(expander.walk(&graph, &[0], 1, &narrow, &token).is_err());
        let seeds: Vec<u32> = (0..50).collect();
        drop(expander.walk(&graph, &seeds, 2, &hop, &token).unwrap());
        let most = GpuGraph::footprint(n, m) + Expander::footprint(n, m, true);
        assert!(gpu.budget().peak() <= most, "{} of {most}", gpu.budget().peak());
        token.cancel(graphlume_types::CancelReason::Superseded);
        assert!(expander.walk(&graph, &seeds, 2, &hop, &token).is_err());
    });
}
