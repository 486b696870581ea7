//! PageRank on the device against that of the CPU.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use graphlume_algo::AlgoError;
use graphlume_algo::centrality::pagerank::{self, Options};
use graphlume_algo::gpu::GpuGraph;
use graphlume_algo::gpu::pagerank::{Plan, footprint};
use graphlume_device::cuda::Gpu;
use graphlume_emu::{Zoo, gpu_test};
use graphlume_graph::Topology;
use graphlume_types::{CancelReason, CancelToken};

fn on_device(
    gpu: &Gpu,
    topology: &Topology,
    weights: Option<&[f32]>,
    options: Options,
    personalization: Option<&[f64]>,
) -> Result<Vec<f64>, AlgoError> {
    let graph = GpuGraph::upload(gpu, topology).unwrap();
    let token = CancelToken::new();
    let plan = Plan::new(gpu, &graph, weights, options.directed, &token)?;
    plan.run(gpu, &graph, options, personalization, &token)
}

/// The sum of the differences; ranks sum to 1, so that this is the relative error too.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum()
}

#[test]
fn ranks_equal_the_cpus() {
    let kernels = [
        "pr_classes",
        "pr_class_counts",
        "pr_chunk_lengths",
        "pr_chunks",
        "pr_inverse",
        "pr_start",
        "pr_pull_f32",
        "pr_hubs_f32",
        "pr_close",
    ];
    gpu_test(&kernels, |gpu| {
        for Zoo { name, graph } in Zoo::all() {
            // A star takes the most iterations: one with a centre that just needs chunks will do.
            let topology = if name == "star" { Zoo::star(2_200) } else { graph };
            let weights: Vec<f32> = (0..topology.num_edges()).map(|r| (r % 5) as f32).collect();
            // With changes that shrink by 0.85 or more, each is off by 0.85 / 0.15 tolerances at
            // most.
            for (directed, weights, tol) in [
                (true, None, 1e-5),
                (true, None, 5e-8),
                (false, None, 5e-8),
                (true, Some(&weights[..]), 5e-8),
                (false, Some(&weights), 1e-5),
            ] {
                let options = Options { directed, tol, max_iter: 300, ..Options::default() };
                let token = CancelToken::new();
                let want = pagerank::run(&topology, weights, options, &token).unwrap();
                let got = on_device(gpu, &topology, weights, options, None).unwrap();
                let far = distance(&got, &want);
                let most = 2.0 * tol * 0.85 / 0.15;
                assert!(far <= most, "{name} directed {directed} tol {tol:e}: {far:e}");
            }
        }
    });
}

#[test]
fn two_runs_give_the_same_bits() {
    gpu_test(&["pr_pull_f32", "pr_pull_f64"], |gpu| {
        let (topology, token) = (Zoo::rmat(10, 8, 3), CancelToken::new());
        let graph = GpuGraph::upload(gpu, &topology).unwrap();
        for directed in [true, false] {
            let options = Options { directed, ..Options::default() };
            let run = || {
                let plan = Plan::new(gpu, &graph, None, directed, &token).unwrap();
                let ranks = plan.run(gpu, &graph, options, None, &token).unwrap();
                ranks.iter().map(|r| r.to_bits()).collect::<Vec<_>>()
            };
            assert_eq!(run(), run(), "directed {directed}");
        }
    });
}

#[test]
fn small_tolerances_are_met_in_double_precision() {
    gpu_test(&["pr_widen", "pr_pull_f64", "pr_hubs_f64"], |gpu| {
        for topology in [Zoo::star(3_000), Zoo::rmat(9, 8, 5), Zoo::planted(600, 6, 1)] {
            for directed in [true, false] {
                let options = Options { directed, tol: 1e-12, max_iter: 300, ..Options::default() };
                let token = CancelToken::new();
                let want = pagerank::run(&topology, None, options, &token).unwrap();
                let got = on_device(gpu, &topology, None, options, None).unwrap();
                let far = distance(&got, &want);
                assert!(far <= 1e-11, "directed {directed}: {far:e}");
            }
        }
    });
}

/// Dense iteration with restarts and dangling rank by `shares`.
fn naive(t: &Topology, shares: &[f64]) -> Vec<f64> {
    let n = t.num_nodes() as usize;
    let mut x = vec![1.0 / n as f64; n];
    for _ in 0..200 {
        let lost: f64 = (0..n).filter(|v| t.out_degree(*v as u32) == 0).map(|v| x[v]).sum();
        let mut next: Vec<f64> = shares.iter().map(|s| s * (0.15 + 0.85 * lost)).collect();
        for p in 0..t.num_edges() {
            let (a, b, _) = t.edge(p);
            next[b as usize] += 0.85 * x[a as usize] / f64::from(t.out_degree(a));
        }
        x = next;
    }
    x
}

#[test]
fn restarts_go_where_the_personalization_says() {
    gpu_test(&["pr_pull_f32"], |gpu| {
        let topology = Zoo::rmat(8, 6, 2);
        let mut given: Vec<f64> = (0..topology.num_nodes()).map(|v| f64::from(v % 3)).collect();
        let total: f64 = given.iter().sum();
        let shares: Vec<f64> = given.iter().map(|p| p / total).collect();
        let options = Options { tol: 1e-10, max_iter: 200, ..Options::default() };
        let got = on_device(gpu, &topology, None, options, Some(&given)).unwrap();
        let far = distance(&got, &naive(&topology, &shares));
        assert!(far < 1e-8, "{far:e}");
        given[4] = -1.0;
        let bad = on_device(gpu, &topology, None, options, Some(&given)).unwrap_err();
        assert!(matches!(bad, AlgoError::BadValue { index: 4, .. }), "{bad}");
        let short = on_device(gpu, &topology, None, options, Some(&given[1..])).unwrap_err();
        assert!(matches!(short, AlgoError::Length { .. }), "{short}");
    });
}

#[test]
fn iterations_end_where_the_cpus_do() {
    gpu_test(&["pr_pull_f32", "pr_close"], |gpu| {
        let topology = Zoo::rmat(9, 8, 5);
        for max_iter in [0, 1, 3, 7] {
            let options = Options { max_iter, tol: 1e-9, ..Options::default() };
            let e = on_device(gpu, &topology, None, options, None).unwrap_err();
            let AlgoError::NotConverged { iterations, change, .. } = e else { panic!("{e}") };
            assert_eq!(iterations, max_iter);
            assert!(change > 1e-9);
            let options = Options { must_converge: false, ..options };
            let token = CancelToken::new();
            let want = pagerank::run(&topology, None, options, &token).unwrap();
            let got = on_device(gpu, &topology, None, options, None).unwrap();
            assert!(distance(&got, &want) < 1e-6, "{max_iter}");
        }
    });
}

#[test]
fn a_cancelled_run_says_so_and_memory_stays_below_the_footprint() {
    gpu_test(&["pr_pull_f32"], |gpu| {
        let topology = Zoo::rmat(12, 8, 3);
        let (n, m) = (u64::from(topology.num_nodes()), u64::from(topology.num_edges()));
        let weights = vec![0.5; m as usize];
        let graph = GpuGraph::upload(gpu, &topology).unwrap();
        let (held, token) = (GpuGraph::footprint(n, m), CancelToken::new());
        for (weights, directed) in [(None, true), (None, false), (Some(&weights[..]), false)] {
            let plan = Plan::new(gpu, &graph, weights, directed, &token).unwrap();
            plan.run(gpu, &graph, Options { directed, ..Options::default() }, None, &token)
                .unwrap();
            let most = held + footprint(n, m, weights.is_some(), directed);
            let peak = gpu.budget().peak();
            assert!(peak <= most, "weighted {} directed {directed}: {peak}", weights.is_some());
        }
        let plan = Plan::new(gpu, &graph, None, true, &token).unwrap();
        token.cancel(CancelReason::Shutdown);
        assert!(plan.run(gpu, &graph, Options::default(), None, &token).is_err());
        assert!(Plan::new(gpu, &graph, None, true, &token).is_err());
    });
}
