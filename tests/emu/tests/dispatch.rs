//! Algorithms of the registry through the dispatcher, on the device and on the CPU.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::{Arc, OnceLock};

use graphlume_algo::dispatch::OneGraph;
use graphlume_algo::gpu::{GpuGraph, forms};
use graphlume_algo::input::Unnamed;
use graphlume_algo::{
    ALGORITHMS, Accelerator, AlgoError, AlgorithmSpec, Input, Kind, Output, ParamValues, Values,
    run,
};
use graphlume_algo::{ComputedOn, Work};
use graphlume_device::cuda::{Gpu, GpuOptions};
use graphlume_emu::emulator::{self, Times};
use graphlume_emu::{Zoo, fault_test, gpu_test};
use graphlume_graph::Topology;
use graphlume_types::CancelToken;

fn find(library: &str, name: &str) -> &'static AlgorithmSpec {
    graphlume_algo::find(Kind::Compute, library, name).unwrap()
}

/// The answer of a name of a library, with weights or without.
fn answer(
    spec: &'static AlgorithmSpec,
    t: &Arc<Topology>,
    weights: Option<&[f64]>,
    pairs: &[&str],
    device: Option<&dyn Accelerator>,
) -> Result<Output, AlgoError> {
    let (data, cancel) = (Unnamed(t.num_nodes()), CancelToken::new());
    let library = spec.names[0].library;
    let input = Input { library, weights, device, ..Input::plain(t, &data, &cancel) };
    run(spec, &input, &ParamValues::from_pairs(spec, pairs)?)
}

/// Equal, numbers up to `tol`.
fn same(a: &Output, b: &Output, tol: f64) -> bool {
    let close = |a: &Values, b: &Values| match (a, b) {
        (Values::F64(a), Values::F64(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tol)
        }
        (a, b) => a == b,
    };
    let columns = a.columns.iter().zip(&b.columns);
    a.columns.len() == b.columns.len()
        && columns.into_iter().all(|(a, b)| a.name == b.name && close(&a.values, &b.values))
}

/// Modularity (Newman and Girvan 2004) of the communities.
fn modularity(t: &Topology, output: &Output) -> f64 {
    let Values::I64(labels) = &output.columns[0].values else { panic!("labels") };
    let m = f64::from(t.num_edges());
    let (mut inside, mut total) = (0.0, std::collections::HashMap::<i64, f64>::new());
    for at in 0..t.num_edges() {
        let (a, b, _) = t.edge(at);
        let (a, b) = (labels[a as usize], labels[b as usize]);
        inside += f64::from(u8::from(a == b));
        *total.entry(a).or_default() += 1.0;
        *total.entry(b).or_default() += 1.0;
    }
    inside / m - total.values().map(|d| (d / (2.0 * m)).powi(2)).sum::<f64>()
}

/// Every form of the registry, with parameters that it takes.
const EXACT: &[(&str, &str, &[&str])] = &[
    ("cugraph", "pagerank", &["tol=1e-10", "max_iter=1000"]),
    ("cugraph", "pagerank", &["tol=1e-10", "max_iter=1000", "directed=false"]),
    ("igraph", "pagerank", &[]),
    ("cugraph", "weakly_connected_components", &[]),
    ("cugraph", "connected_components", &[]),
    ("cugraph", "bfs", &[]),
    ("cugraph", "bfs", &["directed=false", "depth_limit=2"]),
    ("cugraph", "sssp", &[]),
    ("cugraph", "sssp", &["directed=false"]),
    ("cugraph", "shortest_path", &[]),
];

#[test]
fn every_form_gives_the_columns_of_the_cpu_on_every_graph() {
    gpu_test(&["cc_link_mid", "bfs_push", "pr_inverse"], |gpu| {
        let device = OneGraph { gpu: gpu.clone(), edges_min: 0 };
        for Zoo { name, graph } in Zoo::all() {
            let t = Arc::new(graph);
            let weights: Vec<f64> = (0..t.num_edges()).map(|r| f64::from(r % 7) + 0.5).collect();
            for (library, algorithm, pairs) in EXACT {
                for weights in [None, Some(&weights[..])] {
                    let what = format!("{library}.{algorithm} {pairs:?} on {name}");
                    let spec = find(library, algorithm);
                    let want = answer(spec, &t, weights, pairs, None).unwrap();
                    let got = answer(spec, &t, weights, pairs, Some(&device)).unwrap();
                    assert_eq!(want.place, ComputedOn::Cpu);
                    if let ComputedOn::CpuBecause(why) = &got.place {
                        assert!(why.contains("weights") && weights.is_some(), "{what}: {why}");
                    }
                    assert!(same(&want, &got, 1e-6), "{what}: {want:?} {got:?}");
                }
            }
        }
    });
}

/// A graph that is large enough to come to the device has communities there that are as good as those of the CPU, which moves
/// by a rule of its own: by single nodes in a graph that has as few as this one, which brings a little more.
#[test]
fn communities_of_the_device_are_as_good_as_those_of_the_cpu() {
    gpu_test(&["lv_fold_block"], |gpu| {
        let device = OneGraph { gpu: gpu.clone(), edges_min: 0 };
        let t = Arc::new(Zoo::rmat(13, 72, 5));
        let weights: Vec<f64> = (0..t.num_edges()).map(|r| f64::from(r % 7) + 0.5).collect();
        let cases = [
            ("cugraph", "louvain", Some(&weights[..]), &["random_state=5", "max_level=3"][..]),
            ("igraph", "community_multilevel", None, &[][..]),
        ];
        for (library, algorithm, weights, pairs) in cases {
            let spec = find(library, algorithm);
            let want = answer(spec, &t, weights, pairs, None).unwrap();
            let got = answer(spec, &t, weights, pairs, Some(&device)).unwrap();
            assert!(matches!(got.place, ComputedOn::Gpu(_)), "{:?}", got.place);
            let (want, got) = (modularity(&t, &want), modularity(&t, &got));
            assert!(want > 0.02 && (want - got).abs() < 0.003, "{algorithm}: {want} {got}");
        }
    });
}

/// A GPU that keeps one graph, as the engine keeps those of datasets.
#[derive(Debug)]
struct Keeps {
    device: OneGraph,
    graph: OnceLock<GpuGraph>,
}

impl Accelerator for Keeps {
    fn name(&self) -> String {
        self.device.name()
    }
    fn edges_min(&self) -> u32 {
        0
    }
    fn memory_bytes(&self) -> u64 {
        self.device.memory_bytes()
    }
    fn run(&self, t: &Arc<Topology>, work: &mut Work<'_>) -> Result<Output, AlgoError> {
        let gpu = &self.device.gpu;
        let graph = self.graph.get_or_init(|| GpuGraph::upload(gpu, t).unwrap());
        // As the engine does: every call has a stream.
        work(&gpu.stream()?, graph)
    }
    fn failed(&self, _: &'static str, error: &AlgoError) {
        panic!("{error}");
    }
}

#[test]
fn what_an_algorithm_makes_ready_stays_with_the_graph() {
    gpu_test(&["pr_classes", "pr_pull_f32"], |gpu| {
        let t = Arc::new(Zoo::rmat(9, 8, 4));
        let device = OneGraph { gpu: gpu.clone(), edges_min: 0 };
        let keeps = Keeps { device, graph: OnceLock::new() };
        let spec = find("igraph", "pagerank");
        let ranks = |pairs: &[&str]| {
            let want = answer(spec, &t, None, pairs, None).unwrap();
            let got = answer(spec, &t, None, pairs, Some(&keeps)).unwrap();
            assert!(
                matches!(got.place, ComputedOn::Gpu(_)) && same(&want, &got, 1e-6),
                "{pairs:?}"
            );
        };
        ranks(&[]);
        let graph = keeps.graph.get().unwrap();
        assert_eq!(graph.plans(), ["pagerank"]);
        let kept = gpu.budget().used();
        ranks(&["damping=0.5"]);
        assert_eq!(gpu.budget().used(), kept, "the plan was made once");
        ranks(&["directed=false"]);
        ranks(&["directed=false"]);
        assert_eq!(graph.plans(), ["pagerank", "pagerank, undirected"]);
        assert!(graph.forget_plans() && !graph.forget_plans());
        assert_eq!(graph.plans(), [""; 0]);
        assert!(gpu.budget().used() < kept);
        ranks(&[]);
    });
}

#[test]
fn what_the_device_does_not_take_is_answered_by_the_cpu_with_the_reason() {
    gpu_test(&[], |gpu| {
        let t = Arc::new(Zoo::planted(200, 4, 3));
        let device = OneGraph { gpu: gpu.clone(), edges_min: 0 };
        let reason = |spec, pairs: &[&str], device: &OneGraph| match answer(
            spec,
            &t,
            None,
            pairs,
            Some(device),
        )
        .unwrap()
        .place
        {
            ComputedOn::CpuBecause(why) => why,
            other => panic!("{other:?}"),
        };
        let formless =
            ALGORITHMS.iter().filter(|s| s.kind == Kind::Compute && forms::of(s.id).is_none());
        let core = formless.copied().find(|s| s.id == "core_number").unwrap();
        assert_eq!(reason(core, &[], &device), "it has no form for the GPU");
        let components = find("cugraph", "connected_components");
        assert!(reason(components, &["connection=strong"], &device).contains("strong"));
        assert!(reason(find("cugraph", "louvain"), &[], &device).contains("524288 edges"));
        assert!(reason(find("cugraph", "bfs"), &["start=[1,2]"], &device).contains("several"));
        let picky = OneGraph { gpu: gpu.clone(), edges_min: 1_000_000 };
        let why = reason(components, &[], &picky);
        assert!(why.contains("1000000 of --gpu-edges-min"), "{why}");
        let options = GpuOptions { memory_limit: Some(16 << 10), ..GpuOptions::default() };
        let small = OneGraph { gpu: Gpu::open(&options).unwrap(), edges_min: 0 };
        assert!(reason(components, &[], &small).contains("bytes of device memory"));
        assert_eq!(small.gpu.budget().used(), 0);
    });
}

#[test]
fn faulty_device_at_every_call_costs_a_reason_and_nothing_else() {
    fault_test(|| {
        let t = Arc::new(Zoo::rmat(8, 8, 2));
        for (library, name) in [("cugraph", "pagerank"), ("cugraph", "bfs"), ("cugraph", "sssp")] {
            let spec = find(library, name);
            let want = answer(spec, &t, None, &[], None).unwrap();
            for k in 1.. {
                let device = OneGraph::open(0).unwrap();
                let opened = device.gpu.budget().used();
                emulator::refuse_memory(k, Times::FromThenOn);
                let got = answer(spec, &t, None, &[], Some(&device)).unwrap();
                emulator::clear();
                assert_eq!(device.gpu.budget().used(), opened, "{name} {k}");
                assert!(same(&want, &got, 1e-4), "{name} {k}");
                match got.place {
                    ComputedOn::Gpu(_) => break,
                    ComputedOn::CpuBecause(why) => assert!(why.contains("GPU failed"), "{why}"),
                    ComputedOn::Cpu => panic!("{name} {k}: nothing is said"),
                }
                assert!(k < 200, "{name}");
            }
        }
    });
}
