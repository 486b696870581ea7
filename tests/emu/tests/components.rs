//! Connected components on the device against those of the CPU.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use graphlume_algo::component::weak;
use graphlume_algo::gpu::{GpuGraph, components};
use graphlume_device::cuda::{Grid, kernels};
use graphlume_emu::{Zoo, gpu_test};
use graphlume_graph::Topology;
use graphlume_types::{CancelReason, CancelToken};

#[test]
fn labels_equal_the_cpus() {
    let names = [
        "cc_init",
        "cc_sample",
        "cc_compress",
        "cc_giant",
        "cc_link_low",
        "cc_link_mid",
        "cc_link_big",
        "cc_flags",
        "cc_labels",
    ];
    gpu_test(&names, |gpu| {
        let mut zoo: Vec<(&str, Topology)> =
            Zoo::all().into_iter().map(|z| (z.name, z.graph)).collect();
        // Every class of work list outside the giant component: hubs, middling and small nodes.
        let hub = 2_000..3_500;
        let fan = hub.clone().map(|v| if v % 2 == 0 { (1_999, v) } else { (v, 1_999) });
        let spokes = (5_000..5_200).map(|v| (5_000 + (v - 5_000) / 40, v));
        let edges: Vec<(u32, u32)> =
            (0..1_900).map(|v| (v, (v + 1) % 1_900)).chain(fan).chain(spokes).collect();
        let (src, dst): (Vec<u32>, Vec<u32>) = edges.into_iter().unzip();
        zoo.push(("parts of every class", Topology::from_coo(5_300, &src, &dst)));
        for (name, topology) in zoo {
            let graph = GpuGraph::upload(gpu, &topology).unwrap();
            let token = CancelToken::new();
            let want = weak::run(&topology, &token).unwrap();
            assert_eq!(components::run(gpu, &graph, &token).unwrap(), want, "{name}");
        }
    });
}

#[test]
fn any_grid_links_the_same() {
    gpu_test(&["cc_init", "cc_sample", "cc_link_low", "cc_link_mid", "cc_link_big"], |gpu| {
        let topology = Zoo::star(5_001);
        let graph = GpuGraph::upload(gpu, &topology).unwrap();
        let n = graph.num_nodes();
        for (blocks, threads) in [(1, 32), (3, 96), (7, 256)] {
            let grid = Grid::blocks(blocks, threads);
            let (outs, dst, ins, src) =
                (graph.out_offsets(), graph.out_dst(), graph.in_offsets(), graph.in_src());
            // Nothing hangs together before, and there is no giant: every edge is linked by the
            // lists.
            let own: Vec<u32> = (0..n).collect();
            let mut parent = gpu.upload("parents", &own).unwrap();
            let giant = gpu.upload("giant", &[u32::MAX]).unwrap();
            let mut mid = gpu.alloc::<u32>("mid", n as usize).unwrap();
            let mut big = gpu.alloc::<u32>("big", n as usize).unwrap();
            let mut counts = gpu.zeros::<u32>("counts", 2).unwrap();
            kernels::cc_sample(gpu, grid, n, outs, dst, parent.view_mut()).unwrap();
            let (p, m, b) = (parent.view_mut(), mid.view_mut(), big.view_mut());
            let c = counts.view_mut();
            kernels::cc_link_low(gpu, grid, n, giant.view(), outs, dst, ins, src, p, m, b, c)
                .unwrap();
            assert_eq!(gpu.read(counts.view()).unwrap(), [0, 1], "the centre has long lists");
            let (c, p) = (counts.view(), parent.view_mut());
            kernels::cc_link_mid(gpu, grid, n, c, mid.view(), outs, dst, ins, src, p).unwrap();
            let p = parent.view_mut();
            kernels::cc_link_big(gpu, grid, n, c, big.view(), outs, dst, ins, src, p).unwrap();
            kernels::cc_compress(gpu, grid, n, parent.view_mut()).unwrap();
            assert_eq!(gpu.read(parent.view()).unwrap(), vec![0; n as usize], "{blocks} {threads}");
            kernels::cc_init(gpu, grid, n, outs, dst, ins, src, parent.view_mut()).unwrap();
            assert!(gpu.read(parent.view()).unwrap().iter().all(|p| *p == 0));
        }
    });
}

#[test]
fn a_cancelled_run_says_so_and_memory_stays_below_the_footprint() {
    gpu_test(&["cc_labels"], |gpu| {
        let topology = Zoo::rmat(12, 8, 3);
        let graph = GpuGraph::upload(gpu, &topology).unwrap();
        let (n, m) = (u64::from(graph.num_nodes()), u64::from(graph.num_edges()));
        assert!(gpu.budget().peak() <= GpuGraph::footprint(n, m));
        components::run(gpu, &graph, &CancelToken::new()).unwrap();
        let most = GpuGraph::footprint(n, m) + components::footprint(n, m);
        assert!(gpu.budget().peak() <= most, "{} of {most}", gpu.budget().peak());
        let token = CancelToken::new();
        token.cancel(CancelReason::ClientGone);
        assert!(components::run(gpu, &graph, &token).is_err());
    });
}
