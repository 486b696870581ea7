//! Adjacency built on the device against the one built on the CPU.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use graphlume_algo::gpu::GpuGraph;
use graphlume_algo::gpu_graph::{Both, BothOptions};
use graphlume_device::cuda::{Gpu, Grid, View, kernels};
use graphlume_emu::{Zoo, gpu_test};
use graphlume_graph::Topology;
use graphlume_types::hash::h64;

/// The edges of a graph in the order of their rows.
fn coo(t: &Topology) -> (Vec<u32>, Vec<u32>) {
    let mut edges: Vec<(u32, u32, u32)> =
        (0..t.num_edges()).map(|p| t.edge(p)).map(|(a, b, row)| (row, a, b)).collect();
    edges.sort_unstable();
    edges.into_iter().map(|(_, a, b)| (a, b)).unzip()
}

fn assert_equal(gpu: &Gpu, graph: &GpuGraph, t: &Topology, name: &str) {
    let read = |view: View<'_, u32>| gpu.read(view).unwrap();
    assert_eq!(read(graph.out_offsets()), t.out_offsets(), "{name}");
    assert_eq!(read(graph.out_dst()), t.out_dst(), "{name}");
    assert_eq!(read(graph.out_row()), t.out_row(), "{name}");
    assert_eq!(read(graph.in_offsets()), t.in_offsets(), "{name}");
    assert_eq!(read(graph.in_src()), t.in_src(), "{name}");
}

#[test]
fn both_directions_equal_the_cpus() {
    gpu_test(&["csr_keys", "csr_split", "csr_offsets", "csr_degrees"], |gpu| {
        for Zoo { name, graph: t } in Zoo::all() {
            let (src, dst) = coo(&t);
            let s = gpu.upload("sources", &src).unwrap();
            let d = gpu.upload("destinations", &dst).unwrap();
            let built = GpuGraph::from_coo(gpu, t.num_nodes(), s.view(), d.view()).unwrap();
            assert_equal(gpu, &built, &t, name);
            assert_equal(gpu, &GpuGraph::upload(gpu, &t).unwrap(), &t, name);
            let degrees = gpu.read(built.degrees(gpu).unwrap().view()).unwrap();
            let want: Vec<u32> = (0..t.num_nodes()).map(|v| t.degree(v)).collect();
            assert_eq!(degrees, want, "{name}");
        }
    });
}

#[test]
fn building_stays_below_its_footprint() {
    gpu_test(&["csr_keys"], |gpu| {
        let t = Zoo::rmat(13, 8, 5);
        let (src, dst) = coo(&t);
        let s = gpu.upload("sources", &src).unwrap();
        let d = gpu.upload("destinations", &dst).unwrap();
        let before = gpu.budget().used();
        let built = GpuGraph::from_coo(gpu, t.num_nodes(), s.view(), d.view()).unwrap();
        let (n, m) = (u64::from(t.num_nodes()), u64::from(t.num_edges()));
        assert!(gpu.budget().used() - before <= GpuGraph::footprint(n, m));
        assert!(gpu.budget().peak() - before <= GpuGraph::build_footprint(n, m));
        assert_equal(gpu, &built, &t, "R-MAT");
    });
}

/// Each node's out-edges, then its in-edges, as (neighbour, row); loops counted apart.
fn both(t: &Topology, keep_loops: bool) -> (Vec<Vec<(u32, u32)>>, Vec<u32>) {
    let n = t.num_nodes() as usize;
    let mut lists = vec![Vec::new(); n];
    let mut loops = vec![0; n];
    let edges: Vec<_> = (0..t.num_edges()).map(|p| t.edge(p)).collect();
    for (a, b, row) in &edges {
        loops[*a as usize] += if a == b { 2 } else { 0 };
        if keep_loops || a != b {
            lists[*a as usize].push((*b, *row));
        }
    }
    for (a, b, row) in &edges {
        if keep_loops || a != b {
            lists[*b as usize].push((*a, *row));
        }
    }
    (lists, loops)
}

#[test]
fn joined_lists_hold_every_edge_at_both_ends() {
    gpu_test(&["csr_both_lengths", "csr_both_fill"], |gpu| {
        for Zoo { name, graph: t } in Zoo::all() {
            let graph = GpuGraph::upload(gpu, &t).unwrap();
            for options in [(false, false), (false, true), (true, true)] {
                let options = BothOptions { keep_loops: options.0, rows: options.1 };
                let got = Both::build(gpu, &graph, options).unwrap();
                let (lists, loops) = both(&t, options.keep_loops);
                let offsets = gpu.read(got.offsets.view()).unwrap();
                let want: Vec<u32> = lists
                    .iter()
                    .scan(0, |at, l| {
                        *at += l.len() as u32;
                        Some(*at)
                    })
                    .collect();
                assert_eq!((offsets[0], &offsets[1..]), (0, want.as_slice()), "{name}");
                let (ends, rows): (Vec<u32>, Vec<u32>) = lists.into_iter().flatten().unzip();
                assert_eq!(gpu.read(got.ends.view()).unwrap(), ends, "{name} {options:?}");
                if options.rows {
                    assert_eq!(gpu.read(got.rows.view()).unwrap(), rows, "{name} {options:?}");
                }
                assert_eq!(gpu.read(got.loops.view()).unwrap(), loops, "{name}");
            }
        }
    });
}

#[test]
fn any_number_of_blocks_fills_the_lists() {
    gpu_test(&["csr_both_fill"], |gpu| {
        let t = Zoo::rmat(10, 9, 2);
        let graph = GpuGraph::upload(gpu, &t).unwrap();
        let (n, m) = (t.num_nodes(), t.num_edges());
        let loops = gpu.zeros::<u32>("loops", n as usize).unwrap();
        let none = gpu.alloc::<u32>("none", 0).unwrap();
        for blocks in [1, 3, 64] {
            // With no joined lists yet, in-lists copied onto themselves are the simplest case.
            let mut ends = gpu.alloc::<u32>("ends", m as usize).unwrap();
            let mut rows = gpu.alloc::<u32>("rows", 0).unwrap();
            kernels::csr_both_fill(
                gpu,
                Grid::blocks(blocks, 256),
                n,
                m,
                1,
                0,
                0,
                graph.in_offsets(),
                graph.in_src(),
                none.view(),
                graph.out_offsets(),
                loops.view(),
                graph.in_offsets(),
                ends.view_mut(),
                rows.view_mut(),
            )
            .unwrap();
            assert_eq!(gpu.read(ends.view()).unwrap(), t.in_src(), "{blocks} blocks");
        }
    });
}

#[test]
fn weights_follow_the_rows_of_either_direction() {
    gpu_test(&["csr_weights"], |gpu| {
        let t = Zoo::rmat(8, 8, 1);
        let graph = GpuGraph::upload(gpu, &t).unwrap();
        let in_rows = graph.in_rows(gpu).unwrap();
        let mut sorted: Vec<(u32, u32, u32)> =
            (0..t.num_edges()).map(|p| t.edge(p)).map(|(a, b, row)| (b, a, row)).collect();
        sorted.sort_unstable();
        let want: Vec<u32> = sorted.iter().map(|e| e.2).collect();
        assert_eq!(gpu.read(in_rows.view()).unwrap(), want);
        // One weight is missing, one is not a number, some are negative.
        let mut by_row: Vec<f32> =
            (1..t.num_edges()).map(|r| (h64(1, 1, u64::from(r)) % 9) as f32 - 2.0).collect();
        by_row[17] = f32::NAN;
        let given = gpu.upload("weights", &by_row).unwrap();
        let weights = GpuGraph::weights(gpu, in_rows.view(), given.view()).unwrap();
        let clean = |row: &u32| {
            let w = by_row.get(*row as usize).copied().unwrap_or(1.0);
            if w.is_nan() { 1.0 } else { w.max(0.0) }
        };
        let want: Vec<f32> = want.iter().map(clean).collect();
        assert_eq!(gpu.read(weights.view()).unwrap(), want);
    });
}
