//! Searches on the device against those of the CPU.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use graphlume_algo::gpu::{GpuGraph, bfs, sssp};
use graphlume_algo::path::{bfs as cpu_bfs, sssp as cpu_sssp};
use graphlume_emu::{Zoo, gpu_test};
use graphlume_graph::Topology;
use graphlume_types::hash::h64;
use graphlume_types::{CancelReason, CancelToken};

const BFS: [&str; 8] = [
    "bfs_start",
    "bfs_turn",
    "bfs_narrow",
    "bfs_push",
    "bfs_push_big",
    "bfs_pull",
    "bfs_pull_big",
    "bfs_close",
];

fn from_edges(n: u32, edges: &[(u32, u32)]) -> Topology {
    let (src, dst): (Vec<u32>, Vec<u32>) = edges.iter().copied().unzip();
    Topology::from_coo(n, &src, &dst)
}

/// A node that pulls over a list of thousands, of which only the last entries are on the frontier:
/// a source with many neighbours, all of which point at the last node, after many that are never
/// reached.
fn late_hub() -> Topology {
    let mut edges: Vec<(u32, u32)> = (6_000..7_000).map(|v| (7_000, v)).collect();
    edges.extend((0..7_000).map(|v| (v, 7_001)));
    edges.extend((6_000..6_900).map(|v| (v, 5_999)));
    from_edges(7_002, &edges)
}

#[test]
fn hops_and_predecessors_equal_the_cpus() {
    gpu_test(&BFS, |gpu| {
        let token = CancelToken::new();
        for Zoo { name, graph: topology } in Zoo::all() {
            let graph = GpuGraph::upload(gpu, &topology).unwrap();
            let last = topology.num_nodes().saturating_sub(1);
            for (source, directed, limit) in [
                (0, true, None),
                (0, false, None),
                (last, false, Some(2)),
                (last / 2, true, Some(0)),
                (u32::MAX, false, None),
            ] {
                let want = cpu_bfs::run(&topology, source, directed, limit, &token).unwrap();
                let got = bfs::run(gpu, &graph, source, directed, limit, &token).unwrap();
                assert!(got == want, "{name} from {source} directed {directed} {limit:?}");
            }
        }
    });
}

#[test]
fn searches_that_change_direction_equal_the_cpus() {
    gpu_test(&BFS, |gpu| {
        let token = CancelToken::new();
        let rmat = Zoo::rmat(12, 16, 9);
        let hub = (0..rmat.num_nodes()).max_by_key(|v| rmat.out_degree(*v)).unwrap();
        for (topology, source) in [(rmat, hub), (late_hub(), 7_000), (Zoo::star(6_000), 3)] {
            let graph = GpuGraph::upload(gpu, &topology).unwrap();
            for directed in [true, false] {
                let want = cpu_bfs::run(&topology, source, directed, None, &token).unwrap();
                let got = bfs::run(gpu, &graph, source, directed, None, &token).unwrap();
                assert!(got.distance == want.distance, "from {source} directed {directed}");
                assert!(got.predecessor == want.predecessor, "from {source} directed {directed}");
            }
        }
    });
}

/// Layers of `sizes`, each node joined to some of the layer before: wide ones are pulled, narrow
/// ones pushed.
fn layers(sizes: &[u32]) -> (Topology, u32) {
    let (mut edges, mut first) = (Vec::new(), 1);
    for (layer, size) in sizes.iter().enumerate().skip(1) {
        for v in first..first + size {
            for k in 0..6 {
                let before = h64(k, layer as u64, u64::from(v)) % u64::from(sizes[layer - 1]);
                edges.push((first - sizes[layer - 1] + before as u32, v));
            }
        }
        first += size;
    }
    (from_edges(first, &edges), first)
}

#[test]
fn a_change_of_direction_may_fall_on_any_level() {
    gpu_test(&BFS[..5], |gpu| {
        let token = CancelToken::new();
        for wide in 1..=6 {
            let sizes = [&[1, 80][..], &vec![500; wide], &[20, 3, 40, 1, 1, 2]].concat();
            let (topology, n) = layers(&sizes);
            let graph = GpuGraph::upload(gpu, &topology).unwrap();
            for (source, directed) in [(0, true), (0, false), (n - 1, false)] {
                let want = cpu_bfs::run(&topology, source, directed, None, &token).unwrap();
                let got = bfs::run(gpu, &graph, source, directed, None, &token).unwrap();
                assert!(got == want, "{wide} wide layers, directed {directed}");
            }
        }
    });
}

/// Weights of a kind: equal, few different ones with zeros among them, or many.
fn weights(m: u32, kind: u64) -> Option<Vec<f32>> {
    let draw = |row: u32| match (h64(kind, 0, u64::from(row)), kind) {
        (r, 1) => (r % 3) as f32,
        (r, _) => (r % 1_000_003) as f32 * 1.7e-3,
    };
    (kind > 0).then(|| (0..m).map(draw).collect())
}

#[test]
fn distances_and_predecessors_equal_the_cpus() {
    let kernels = [
        "sp_start",
        "sp_push",
        "sp_push_big",
        "sp_turn",
        "sp_least",
        "sp_bucket",
        "sp_close",
        "sp_predecessors",
        "sp_levels",
    ];
    gpu_test(&kernels, |gpu| {
        let token = CancelToken::new();
        for Zoo { name, graph: topology } in Zoo::all() {
            let graph = GpuGraph::upload(gpu, &topology).unwrap();
            for (kind, directed, cutoff) in [
                (0, true, f64::INFINITY),
                (1, false, f64::INFINITY),
                (2, true, f64::INFINITY),
                (2, false, 300.0),
            ] {
                let by_row = weights(topology.num_edges(), kind);
                let by_row = by_row.as_deref();
                let want = cpu_sssp::run(&topology, 0, directed, by_row, cutoff, &token).unwrap();
                let got = sssp::run(gpu, &graph, 0, directed, by_row, cutoff, &token).unwrap();
                assert!(got == want, "{name} kind {kind} directed {directed}");
            }
        }
    });
}

#[test]
fn weights_beyond_number_and_missing_sources_are_as_on_the_cpu() {
    gpu_test(&["sp_push"], |gpu| {
        let token = CancelToken::new();
        let topology = from_edges(5, &[(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)]);
        let graph = GpuGraph::upload(gpu, &topology).unwrap();
        let by_row = [f32::NAN, f32::INFINITY, 1.0, 1e-30, 0.0];
        for source in [0, 2, 9] {
            let run = |cutoff| {
                let by_row = Some(by_row.as_slice());
                let want = cpu_sssp::run(&topology, source, true, by_row, cutoff, &token).unwrap();
                let got = sssp::run(gpu, &graph, source, true, by_row, cutoff, &token).unwrap();
                assert_eq!(got, want, "from {source} to {cutoff}");
            };
            [f64::INFINITY, 1.0, 0.0].into_iter().for_each(run);
        }
        let negative = Some([1.0, -1.0].as_slice());
        assert!(sssp::run(gpu, &graph, 0, true, negative, 1.0, &token).is_err());
    });
}

#[test]
fn cancelled_searches_say_so_and_memory_stays_below_the_footprints() {
    gpu_test(&["bfs_push", "sp_push"], |gpu| {
        let topology = Zoo::rmat(11, 8, 3);
        let graph = GpuGraph::upload(gpu, &topology).unwrap();
        let (n, m) = (u64::from(graph.num_nodes()), u64::from(graph.num_edges()));
        let (held, token) = (GpuGraph::footprint(n, m), CancelToken::new());
        let inf = f64::INFINITY;
        bfs::run(gpu, &graph, 0, false, None, &token).unwrap();
        assert!(gpu.budget().peak() <= held + bfs::footprint(n, m));
        let by_row = weights(topology.num_edges(), 2);
        sssp::run(gpu, &graph, 0, false, by_row.as_deref(), inf, &token).unwrap();
        assert!(gpu.budget().peak() <= held + sssp::footprint(n, m));
        token.cancel(CancelReason::Deadline);
        assert!(bfs::run(gpu, &graph, 0, true, None, &token).is_err());
        assert!(sssp::run(gpu, &graph, 0, true, None, inf, &token).is_err());
    });
}
