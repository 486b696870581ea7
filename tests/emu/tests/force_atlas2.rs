//! The layout on the GPU against exact sums and against the layout on the CPU.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::VecDeque;
use std::sync::Arc;

use graphlume_algo::AlgoError;
use graphlume_algo::gpu::GpuGraph;
use graphlume_algo::gpu::force_atlas2::{GpuForceAtlas2, Params};
use graphlume_algo::layout::force_atlas2::ForceAtlas2;
use graphlume_device::cuda::Gpu;
use graphlume_emu::{Zoo, gpu_test};
use graphlume_graph::Topology;
use graphlume_types::hash::{h64, unit_f64};
use graphlume_types::{CancelReason, CancelToken};

/// The kernels of every iteration with a tree.
const TREE: &[&str] = &[
    "fa_keys",
    "fa_part",
    "fa_permute",
    "fa_relabel",
    "fa_leaves",
    "fa_repel",
    "fa_pull",
    "fa_speed",
    "fa_move",
    "fa_finish",
    "fa_positions",
];

/// A graph, and what a layout of it starts from.
#[derive(Clone)]
struct Case {
    topology: Arc<Topology>,
    params: Params,
    start: Vec<[f32; 2]>,
    weights: Option<Vec<f32>>,
    radii: Option<Vec<f32>>,
    mass: Option<Vec<f32>>,
    mobility: Option<Vec<f32>>,
}

impl Case {
    fn new(topology: Topology, start: Vec<[f32; 2]>) -> Self {
        let topology = Arc::new(topology);
        let params = Params::default();
        Self { topology, params, start, weights: None, radii: None, mass: None, mobility: None }
    }

    fn on_gpu(&self, gpu: &Gpu) -> GpuForceAtlas2 {
        let graph = Arc::new(GpuGraph::upload(gpu, &self.topology).unwrap());
        self.try_on_gpu(gpu, &graph).unwrap()
    }

    fn try_on_gpu(&self, gpu: &Gpu, graph: &Arc<GpuGraph>) -> Result<GpuForceAtlas2, AlgoError> {
        GpuForceAtlas2::new(
            gpu,
            graph,
            &self.topology,
            self.weights.as_deref(),
            self.params.clone(),
            &self.start,
            self.radii.as_deref(),
            self.mass.as_deref(),
            self.mobility.as_deref(),
        )
    }

    fn on_cpu(&self) -> ForceAtlas2 {
        ForceAtlas2::new(
            &self.topology,
            self.weights.as_deref(),
            self.params.clone(),
            &self.start,
            self.radii.as_deref(),
            self.mass.as_deref(),
            self.mobility.as_deref(),
        )
        .unwrap()
    }
}

fn run(layout: &mut GpuForceAtlas2, iterations: u64) -> Vec<[f32; 2]> {
    layout.iterate(iterations, &CancelToken::new()).unwrap();
    let mut out = Vec::new();
    layout.positions(&mut out).unwrap();
    assert!(out.iter().flatten().all(|v| v.is_finite()));
    out
}

fn run_cpu(layout: &mut ForceAtlas2, iterations: u64) -> Vec<[f32; 2]> {
    for _ in 0..iterations {
        layout.iterate(&CancelToken::new()).unwrap();
    }
    let mut out = Vec::new();
    layout.positions(&mut out);
    out
}

fn unit(stream: u64, i: u64) -> f64 {
    unit_f64(31, stream, i)
}

fn square(n: u32, side: f64) -> Vec<[f32; 2]> {
    (0..u64::from(n)).map(|i| [0, 1].map(|s| ((unit(s, i) - 0.5) * side) as f32)).collect()
}

fn edgeless(n: u32) -> Topology {
    Topology::from_coo(n, &[], &[])
}

/// Nodes in `groups` groups of every n-th node: within one, a pair is joined with probability `inside`,
/// else with `outside`.
fn planted(n: u32, groups: u32, inside: f64, outside: f64) -> Topology {
    let (mut src, mut dst) = (Vec::new(), Vec::new());
    for a in 0..n {
        for b in a + 1..n {
            let pair = u64::from(a) << 32 | u64::from(b);
            if unit(5, pair) < if a % groups == b % groups { inside } else { outside } {
                let (s, d) = if h64(31, 6, pair) & 1 == 0 { (a, b) } else { (b, a) };
                src.push(s);
                dst.push(d);
            }
        }
    }
    Topology::from_coo(n, &src, &dst)
}

fn grid(side: u32) -> Topology {
    let (mut src, mut dst) = (Vec::new(), Vec::new());
    for v in 0..side * side {
        if v % side + 1 < side {
            src.push(v);
            dst.push(v + 1);
        }
        if v + side < side * side {
            src.push(v);
            dst.push(v + side);
        }
    }
    Topology::from_coo(side * side, &src, &dst)
}

/// Zachary's karate club (1977), 78 edges.
fn karate() -> Topology {
    let rows: [(u32, &[u32]); 20] = [
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
    ];
    let more: [(u32, &[u32]); 6] = [
        (27, &[33]),
        (28, &[31, 33]),
        (29, &[32, 33]),
        (30, &[32, 33]),
        (31, &[32, 33]),
        (32, &[33]),
    ];
    let all = rows.iter().chain(&more);
    let (src, dst): (Vec<u32>, Vec<u32>) =
        all.flat_map(|(s, ends)| ends.iter().map(|d| (*s, *d))).unzip();
    assert_eq!(src.len(), 78);
    Topology::from_coo(34, &src, &dst)
}

/// Mean distance between two layouts, over the mean distance of the second from the origin.
fn deviation(got: &[[f32; 2]], want: &[[f32; 2]]) -> f64 {
    let far = |x: f32, y: f32| f64::from(x).hypot(f64::from(y));
    let d: f64 = got.iter().zip(want).map(|(g, w)| far(g[0] - w[0], g[1] - w[1])).sum();
    d / want.iter().map(|w| far(w[0], w[1])).sum::<f64>()
}

/// What all other bodies push body `i` with, summed in double precision.
fn exact(points: &[[f32; 2]], mass: &[f32], i: usize) -> [f64; 2] {
    let mut f = [0.0; 2];
    for (p, m) in points.iter().zip(mass) {
        let d = [0, 1].map(|k| f64::from(points[i][k]) - f64::from(p[k]));
        let w = f64::from(*m) / (d[0] * d[0] + d[1] * d[1] + f64::from(f32::EPSILON));
        f = [f[0] + d[0] * w, f[1] + d[1] * w];
    }
    f.map(|v| 2.0 * f64::from(mass[i]) * v)
}

/// Median and 95th percentile of the errors of the forces without edges and gravity, over the force itself
/// or, when that is larger, over `least` times the mean force.
fn force_errors(gpu: &Gpu, start: Vec<[f32; 2]>, theta: f64, least: f64) -> [f64; 2] {
    let n = start.len();
    let mut case = Case::new(edgeless(n as u32), start);
    case.params.gravity = 0.0;
    case.params.barnes_hut_theta = theta;
    let mass: Vec<f32> = (0..n as u64).map(|i| 1.0 + (h64(31, 7, i) % 9) as f32).collect();
    case.mass = Some(mass.clone());
    let mut layout = case.on_gpu(gpu);
    // Those on one spot have been set apart by now.
    let (mut points, mut forces) = (Vec::new(), Vec::new());
    layout.positions(&mut points).unwrap();
    layout.iterate(1, &CancelToken::new()).unwrap();
    layout.forces(&mut forces).unwrap();
    let bodies: Vec<usize> = (0..n).step_by(n.div_ceil(1500)).collect();
    let want: Vec<[f64; 2]> = bodies.iter().map(|i| exact(&points, &mass, *i)).collect();
    let size = |f: &[f64; 2]| f[0].hypot(f[1]);
    let floor = least * want.iter().map(size).sum::<f64>() / want.len() as f64;
    let errors = bodies.iter().zip(&want).map(|(i, want)| {
        let [x, y] = forces[*i].map(f64::from);
        let off = (x - want[0]).hypot(y - want[1]);
        if off == 0.0 { 0.0 } else { off / size(want).max(floor) }
    });
    let mut errors: Vec<f64> = errors.collect();
    errors.sort_by(f64::total_cmp);
    [errors[errors.len() / 2], errors[errors.len() * 95 / 100]]
}

/// Twenty dense groups with sparse rims.
fn clustered(n: u64) -> Vec<[f32; 2]> {
    (0..n)
        .map(|i| {
            let (c, r, a) = (i % 20, 50.0 * unit(3, i).powi(3), std::f64::consts::TAU * unit(4, i));
            [0, 1].map(|s| (1e3 * unit(s, c) + r * (a + 1.57 * s as f64).sin()) as f32)
        })
        .collect()
}

#[test]
fn the_far_field_is_exact_enough_on_even_and_on_clustered_layouts() {
    gpu_test(&[TREE, &["fa_top"]].concat(), |gpu| {
        for start in [square(5_000, 1000.0), clustered(5_000)] {
            let [median, p95] = force_errors(gpu, start, 1.0, 0.0);
            assert!(median < 0.002 && p95 < 0.01, "median {median} p95 {p95}");
        }
        let [median, p95] = force_errors(gpu, clustered(1_500), 0.3, 0.0);
        assert!(median < 5e-4 && p95 < 2e-3, "theta 0.3: median {median} p95 {p95}");
    });
}

#[test]
fn odd_arrangements_are_as_exact() {
    gpu_test(TREE, |gpu| {
        let line = (0..1_100).map(|i| [i as f32 * 0.5, 3.0]).collect();
        let two = (0..1_100u64)
            .map(|i| [(unit(0, i) + (i % 2) as f64 * 1e6) as f32, unit(1, i) as f32])
            .collect();
        let spot = vec![[7.0, -2.0]; 800];
        for (name, start) in [("line", line), ("two far clusters", two), ("one spot", spot)] {
            // Forces cancel out in the middle of a line, which says nothing about a layout.
            let [_, p95] = force_errors(gpu, start, 1.0, 1.0);
            assert!(p95 < 0.03, "{name}: p95 {p95}");
        }
    });
}

#[test]
fn few_bodies_are_summed_exactly() {
    gpu_test(&["fa_repel_all"], |gpu| {
        for n in [1, 2, 3, 31, 32, 33, 200, 512] {
            let [_, p95] = force_errors(gpu, square(n, 100.0), 1.0, 0.0);
            assert!(p95 < 2e-5, "{n} bodies: {p95}");
        }
    });
}

/// Every parameter, alone and in company, with all pairs summed.
fn variants() -> Vec<(&'static str, Params)> {
    let p = || Params { barnes_hut_optimize: false, ..Params::default() };
    vec![
        ("default", p()),
        ("cugraph", Params { barnes_hut_optimize: false, ..Params::cugraph() }),
        ("outbound", Params { outbound_attraction_distribution: true, ..p() }),
        ("double", Params { double_attraction: true, ..p() }),
        ("lin-log", Params { lin_log_mode: true, ..p() }),
        ("overlap", Params { prevent_overlapping: true, ..p() }),
        ("overlap 7", Params { prevent_overlapping: true, overlap_scaling_ratio: 7.0, ..p() }),
        ("overlap log", Params { prevent_overlapping: true, lin_log_mode: true, ..p() }),
        ("influence 0", Params { edge_weight_influence: 0.0, ..p() }),
        ("influence .5", Params { edge_weight_influence: 0.5, ..p() }),
        ("jitter", Params { jitter_tolerance: 0.3, ..p() }),
        ("scaling", Params { scaling_ratio: 11.0, ..p() }),
        ("strong", Params { strong_gravity_mode: true, ..p() }),
        ("gravity", Params { gravity: 6.0, ..p() }),
        ("locked x", Params { locked_x: true, ..p() }),
        ("locked y", Params { locked_y: true, ..p() }),
        ("locked r", Params { locked_r: true, ..p() }),
    ]
}

#[test]
fn every_parameter_acts_as_on_the_cpu() {
    gpu_test(&["fa_strength", "fa_pull", "fa_move"], |gpu| {
        let topology = planted(60, 3, 0.3, 0.03);
        let mut case = Case::new(topology, square(60, 100.0));
        let edges = case.topology.num_edges();
        case.weights = Some((0..edges).map(|r| 0.5 + (r % 7) as f32).collect());
        case.radii = Some((0..60).map(|v| 1.0 + (v % 4) as f32).collect());
        for (name, params) in variants() {
            case.params = params;
            let (mut got, mut want) = (case.on_gpu(gpu), case.on_cpu());
            for (iterations, tolerance) in [(1, 1e-5), (4, 1e-3)] {
                let d = deviation(&run(&mut got, iterations), &run_cpu(&mut want, iterations));
                assert!(d < tolerance, "{name}: {d} after {iterations} more");
            }
        }
    });
}

#[test]
fn an_iteration_with_a_tree_is_that_of_the_cpu_and_reports_the_same() {
    gpu_test(TREE, |gpu| {
        let mut case = Case::new(Zoo::planted(1_500, 10, 3), square(1_500, 500.0));
        for rims in [false, true] {
            case.params.prevent_overlapping = rims;
            case.radii = rims.then(|| (0..1_500).map(|v| 0.5 + (v % 3) as f32).collect());
            let (mut got, mut want) = (case.on_gpu(gpu), case.on_cpu());
            let cancel = CancelToken::new();
            let (g, w) = (got.iterate(1, &cancel).unwrap(), want.iterate(&cancel).unwrap());
            assert_eq!((g.index, got.iterations()), (1, 1));
            let d = deviation(&run(&mut got, 0), &run_cpu(&mut want, 0));
            assert!(d < 2e-3, "{d}");
            for (a, b) in [(g.swing, w.swing), (g.traction, w.traction), (g.speed, w.speed)] {
                assert!((a / b - 1.0).abs() < 0.02, "{g:?} {w:?}");
            }
            assert!((f64::from(g.mean_move / w.mean_move) - 1.0).abs() < 0.02, "{g:?} {w:?}");
            for (a, b) in g.bounds.iter().zip(w.bounds) {
                assert!((a - b).abs() < 5.0, "{g:?} {w:?}");
            }
        }
    });
}

#[test]
fn bodies_of_every_degree_are_pulled_by_all_their_arcs() {
    gpu_test(&["fa_pull", "fa_pull_wide", "fa_pull_hubs"], |gpu| {
        let n = 6_001;
        let star = Zoo::star(n - 1);
        let (mut src, mut dst) = (Vec::new(), Vec::new());
        for v in 0..star.num_nodes() {
            dst.extend_from_slice(star.out_neighbors(v));
            src.resize(dst.len(), v);
        }
        // A second one of middling degree, loops, and parallel edges.
        for v in 0..300 {
            src.extend([5, 7]);
            dst.extend([v, 7]);
        }
        let mut case = Case::new(Topology::from_coo(n, &src, &dst), square(n, 900.0));
        case.weights = Some((0..src.len()).map(|r| 0.1 + (r % 5) as f32).collect());
        for influence in [0.0, 1.0] {
            case.params.edge_weight_influence = influence;
            let (got, want) = (run(&mut case.on_gpu(gpu), 1), run_cpu(&mut case.on_cpu(), 1));
            let d = deviation(&got, &want);
            assert!(d < 2e-3, "influence {influence}: {d}");
            for hub in [0, 5, 7] {
                let off = (got[hub][0] - want[hub][0]).hypot(got[hub][1] - want[hub][1]);
                let size = want[hub][0].hypot(want[hub][1]).max(1.0);
                assert!(off < 5e-3 * size, "{hub}: {:?} {:?}", got[hub], want[hub]);
            }
        }
    });
}

#[test]
fn mass_and_mobility_replace_their_defaults() {
    gpu_test(&["fa_move", "fa_pull"], |gpu| {
        let mut case = Case::new(planted(40, 2, 0.3, 0.05), square(40, 50.0));
        case.mass = Some((0..40).map(|v| 1.0 + v as f32 / 10.0).collect());
        case.mobility = Some((0..40).map(|v| (v % 3) as f32 / 2.0).collect());
        let got = run(&mut case.on_gpu(gpu), 5);
        assert!(deviation(&got, &run_cpu(&mut case.on_cpu(), 5)) < 1e-3);
        assert!((0..40).all(|v| (got[v] == case.start[v]) == (v % 3 == 0)));
    });
}

/// Stress of a layout at the scale that suits it best (Gansner, Koren and North 2004).
fn stress(topology: &Topology, points: &[[f32; 2]]) -> f64 {
    let n = topology.num_nodes();
    let (mut sums, mut pairs) = ([0.0; 3], Vec::new());
    for from in 0..n {
        let mut depth = vec![u32::MAX; n as usize];
        let mut queue = VecDeque::from([from]);
        depth[from as usize] = 0;
        while let Some(v) = queue.pop_front() {
            for u in topology.out_neighbors(v).iter().chain(topology.in_neighbors(v)) {
                if depth[*u as usize] == u32::MAX {
                    depth[*u as usize] = depth[v as usize] + 1;
                    queue.push_back(*u);
                }
            }
        }
        for to in from + 1..n {
            let (p, q) = (points[from as usize], points[to as usize]);
            let far = f64::from(p[0] - q[0]).hypot(f64::from(p[1] - q[1]));
            pairs.push((f64::from(depth[to as usize]), far));
        }
    }
    for (want, far) in &pairs {
        sums[0] += far / want;
        sums[1] += far * far / want / want;
        sums[2] += 1.0;
    }
    let scale = sums[0] / sums[1];
    pairs.iter().map(|(want, far)| (scale * far / want - 1.0).powi(2)).sum::<f64>() / sums[2]
}

#[test]
fn layouts_are_as_good_as_the_cpus() {
    gpu_test(&["fa_repel", "fa_repel_all"], |gpu| {
        for (name, topology) in [("karate", karate()), ("grid", grid(24))] {
            let n = topology.num_nodes();
            // Where a start on the host would put them, roughly: random starts fold.
            let side = f64::from(n).sqrt().ceil();
            let noise = square(n, 3.0);
            let start = (0..n as usize)
                .map(|v| {
                    let (x, y) = (v as f64 % side, (v as f64 / side).floor());
                    [noise[v][0] + 3.0 * x as f32, noise[v][1] + 3.0 * y as f32]
                })
                .collect();
            let case = Case::new(topology, start);
            let got = stress(&case.topology, &run(&mut case.on_gpu(gpu), 50));
            let want = stress(&case.topology, &run_cpu(&mut case.on_cpu(), 50));
            assert!((got / want - 1.0).abs() < 0.03, "{name}: {got} on the GPU, {want} on the CPU");
        }
    });
}

#[test]
fn the_bits_do_not_depend_on_how_iterations_are_dealt_out() {
    gpu_test(TREE, |gpu| {
        let case = Case::new(Zoo::planted(700, 7, 9), square(700, 100.0));
        let once = run(&mut case.on_gpu(gpu), 21);
        assert!(once == run(&mut case.on_gpu(gpu), 21), "a second run");
        let mut layout = case.on_gpu(gpu);
        for part in [1, 2, 3, 4, 5, 6] {
            run(&mut layout, part);
        }
        assert!(once == run(&mut layout, 0), "in parts");
    });
}

#[test]
fn bodies_are_sorted_anew_when_the_order_has_worn_out() {
    gpu_test(TREE, |gpu| {
        let case = Case::new(Zoo::planted(1_200, 6, 9), square(1_200, 5.0));
        let mut layout = case.on_gpu(gpu);
        let sorts = gpu.launches("fa_permute");
        run(&mut layout, 24);
        let sorted = gpu.launches("fa_permute") - sorts;
        assert!((1..12).contains(&sorted), "{sorted} sorts in 24 iterations");
    });
}

#[test]
fn pins_hold_and_can_be_undone() {
    gpu_test(&["fa_pin", "fa_bounds"], |gpu| {
        let case = Case::new(Zoo::planted(600, 3, 5), square(600, 200.0));
        let mut layout = case.on_gpu(gpu);
        layout.pin(7, [55.0, -5.0]);
        layout.pin(9_999, [0.0; 2]);
        layout.pin(8, [f32::NAN, 0.0]);
        layout.unpin(3);
        let mut now = Vec::new();
        layout.positions(&mut now).unwrap();
        assert_eq!((now[7], now[8]), ([55.0, -5.0], case.start[8]), "at once");
        assert_eq!(run(&mut layout, 12)[7], [55.0, -5.0]);
        layout.pin(7, [3e4, 0.0]);
        assert_eq!(run(&mut layout, 2)[7], [3e4, 0.0]);
        layout.unpin(7);
        assert_ne!(run(&mut layout, 3)[7], [3e4, 0.0]);
    });
}

#[test]
fn parameters_can_change_while_it_runs() {
    gpu_test(&["fa_repel", "fa_repel_all", "fa_strength"], |gpu| {
        let case = Case::new(Zoo::planted(600, 3, 5), square(600, 100.0));
        let mut layout = case.on_gpu(gpu);
        let mean = |p: &[[f32; 2]]| p.iter().map(|p| p[0].hypot(p[1])).sum::<f32>();
        let before = mean(&run(&mut layout, 30));
        let stronger = Params { scaling_ratio: 50.0, ..Params::default() };
        layout.set_params(stronger.clone()).unwrap();
        assert!(mean(&run(&mut layout, 40)) > 2.0 * before);
        for theta in [f64::NAN, 9.0] {
            let bad = Params { barnes_hut_theta: theta, ..Params::default() };
            assert!(matches!(layout.set_params(bad), Err(AlgoError::BadParam { .. })));
        }
        assert_eq!(*layout.params(), stronger);
        // Other kernels and other arrays: what was recorded must not be used any more.
        let params = Params {
            barnes_hut_optimize: false,
            outbound_attraction_distribution: true,
            ..Params::default()
        };
        layout.set_params(params.clone()).unwrap();
        let mut twin = case.clone();
        layout.positions(&mut twin.start).unwrap();
        twin.params = params;
        run(&mut layout, 1);
        let got = run(&mut layout, 1);
        let want = run_cpu(&mut twin.on_cpu(), 2);
        let d = deviation(&got, &want);
        // The force before the change counts for the swing of the first iteration.
        assert!(d < 0.05, "{d}");
    });
}

#[test]
fn a_layout_settles_when_it_is_done_and_wakes_when_touched() {
    gpu_test(&["fa_look", "fa_rest"], |gpu| {
        let case = Case::new(karate(), square(34, 30.0));
        let mut layout = case.on_gpu(gpu);
        let mut iterations = 0u64;
        while !layout.settled() && iterations < 600 {
            run(&mut layout, 16);
            iterations += 16;
        }
        assert!(layout.settled(), "not after {iterations}");
        let mut cpu = case.on_cpu();
        let mut on_cpu = 0u64;
        while !cpu.settled() {
            run_cpu(&mut cpu, 1);
            on_cpu += 1;
        }
        assert!(iterations.abs_diff(on_cpu) <= 64, "{iterations}, on the CPU {on_cpu}");
        layout.pin(0, [1e4, 0.0]);
        assert!(!layout.settled());
        run(&mut layout, 16);
        assert!(!layout.settled());
    });
}

#[test]
fn graphs_of_all_kinds_and_nodes_on_one_spot_stay_finite_and_part() {
    gpu_test(&["fa_part", "fa_bounds", "fa_pull_wide"], |gpu| {
        // The star has a test of its own.
        for zoo in Zoo::all().into_iter().filter(|z| z.graph.num_nodes() < 2_000) {
            let n = zoo.graph.num_nodes();
            let spots: &[f32] = if n == 33 { &[0.0, 1e4, 1e9, 1e15] } else { &[1e4] };
            for spot in spots {
                let start = vec![[*spot, -*spot]; n as usize];
                let got = run(&mut Case::new(zoo.graph.clone(), start).on_gpu(gpu), 1);
                // Farther out, neighbouring numbers of single precision lie too far apart.
                for i in 0..if *spot < 1e5 { got.len().min(60) } else { 0 } {
                    assert!((0..i).all(|j| got[i] != got[j]), "{}: node {i}", zoo.name);
                }
            }
        }
    });
}

#[test]
fn an_empty_layout_and_a_cancelled_one_are_answered() {
    gpu_test(&["fa_move"], |gpu| {
        let mut empty = Case::new(edgeless(0), Vec::new()).on_gpu(gpu);
        assert_eq!(empty.iterate(3, &CancelToken::new()).unwrap().bounds, [0.0; 4]);
        assert!(empty.settled() && run(&mut empty, 1).is_empty() && empty.iterations() == 4);
        let case = Case::new(karate(), square(34, 10.0));
        let mut layout = case.on_gpu(gpu);
        let before = run(&mut layout, 3);
        let cancel = CancelToken::new();
        cancel.cancel(CancelReason::Shutdown);
        assert!(matches!(layout.iterate(5, &cancel), Err(AlgoError::Cancelled(_))));
        assert_eq!(before, run(&mut layout, 0));
    });
}

#[test]
fn arrays_that_do_not_fit_and_values_out_of_range_are_refused() {
    gpu_test(&[], |gpu| {
        let case = Case::new(karate(), square(34, 10.0));
        let graph = Arc::new(GpuGraph::upload(gpu, &case.topology).unwrap());
        let refused = |change: fn(&mut Case)| {
            let mut bad = case.clone();
            change(&mut bad);
            bad.try_on_gpu(gpu, &graph).err().expect("refused")
        };
        let short = refused(|c| c.start.truncate(33));
        assert!(matches!(short, AlgoError::Length { what: "start", .. }));
        let odd = refused(|c| c.start[3][1] = f32::NAN);
        assert!(matches!(odd, AlgoError::BadValue { index: 3, .. }));
        assert!(matches!(refused(|c| c.radii = Some(vec![-1.0; 34])), AlgoError::BadValue { .. }));
        assert!(matches!(refused(|c| c.mass = Some(vec![0.0; 34])), AlgoError::BadValue { .. }));
        assert!(matches!(refused(|c| c.params.gravity = -1.0), AlgoError::BadParam { .. }));
        let mut odd = case.clone();
        odd.weights = Some(vec![f32::NAN, -3.0]);
        run(&mut odd.try_on_gpu(gpu, &graph).unwrap(), 5);
    });
}

#[test]
fn the_footprint_bounds_what_is_held() {
    gpu_test(&["fa_permute"], |gpu| {
        let mut case = Case::new(Zoo::planted(3_000, 10, 2), square(3_000, 100.0));
        let edges = case.topology.num_edges();
        case.weights = Some(vec![1.5; edges as usize]);
        case.radii = Some(vec![1.0; 3_000]);
        let graph = Arc::new(GpuGraph::upload(gpu, &case.topology).unwrap());
        let before = gpu.budget().used();
        let mut layout = case.try_on_gpu(gpu, &graph).unwrap();
        run(&mut layout, 1);
        let held = gpu.budget().used() - before;
        let bound = GpuForceAtlas2::footprint(3_000, edges);
        assert!(held <= bound && 16 * u64::from(edges) < held, "{held} of {bound}");
    });
}
