#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::naive::Naive;
use super::*;
use crate::testkit;
use crate::weighted_graph::WeightedGraph;

fn start(n: u32, side: f64) -> Vec<[f32; 2]> {
    (0..u64::from(n)).map(|i| [0, 1].map(|s| ((unit_f64(3, s, i) - 0.5) * side) as f32)).collect()
}

fn run(layout: &mut ForceAtlas2, iterations: usize) -> Vec<[f32; 2]> {
    for _ in 0..iterations {
        layout.iterate(&CancelToken::new()).unwrap();
    }
    let mut out = Vec::new();
    layout.positions(&mut out);
    assert!(out.iter().flatten().all(|v| v.is_finite()));
    out
}

/// Mean distance between the layout and its twin, over the mean distance from the origin.
fn deviation(got: &[[f32; 2]], want: &[[f64; 2]]) -> f64 {
    let mut d = 0.0;
    let mut r = 0.0;
    for (g, w) in got.iter().zip(want) {
        d += ((f64::from(g[0]) - w[0]).powi(2) + (f64::from(g[1]) - w[1]).powi(2)).sqrt();
        r += (w[0] * w[0] + w[1] * w[1]).sqrt();
    }
    d / r
}

/// Every parameter, alone and in company.
fn variants() -> Vec<(&'static str, Params)> {
    let exact = Params { barnes_hut_optimize: false, ..Params::default() };
    vec![
        ("default", exact.clone()),
        ("cugraph", Params { barnes_hut_optimize: false, ..Params::cugraph() }),
        ("outbound", Params { outbound_attraction_distribution: true, ..exact.clone() }),
        ("double", Params { double_attraction: true, ..exact.clone() }),
        ("lin-log", Params { lin_log_mode: true, ..exact.clone() }),
        ("overlap", Params { prevent_overlapping: true, ..exact.clone() }),
        (
            "overlap 7",
            Params { prevent_overlapping: true, overlap_scaling_ratio: 7.0, ..exact.clone() },
        ),
        ("overlap log", Params { prevent_overlapping: true, lin_log_mode: true, ..exact.clone() }),
        ("influence 0", Params { edge_weight_influence: 0.0, ..exact.clone() }),
        ("influence .5", Params { edge_weight_influence: 0.5, ..exact.clone() }),
        ("jitter", Params { jitter_tolerance: 0.3, ..exact.clone() }),
        ("scaling", Params { scaling_ratio: 11.0, ..exact.clone() }),
        ("strong", Params { strong_gravity_mode: true, ..exact.clone() }),
        ("gravity", Params { gravity: 6.0, ..exact.clone() }),
        ("locked x", Params { locked_x: true, ..exact.clone() }),
        ("locked y", Params { locked_y: true, ..exact }),
    ]
}

#[test]
fn every_parameter_acts_as_in_the_definition() {
    let topology = testkit::planted(60, 3, 0.3, 0.03);
    let n = topology.num_nodes();
    let start = start(n, 100.0);
    let weights: Vec<f32> = (0..topology.num_edges()).map(|r| 0.5 + (r % 7) as f32).collect();
    let radii: Vec<f32> = (0..n).map(|v| 1.0 + (v % 4) as f32).collect();
    for (name, params) in variants() {
        let mut naive = Naive::new(&topology, params.clone(), &start);
        naive.weights = weights.iter().map(|w| f64::from(*w)).collect();
        naive.radii = radii.iter().map(|r| f64::from(*r)).collect();
        let mut layout =
            ForceAtlas2::new(&topology, Some(&weights), params, &start, Some(&radii), None, None)
                .unwrap();
        for (iterations, tolerance) in [(1, 1e-4), (4, 2e-3)] {
            for _ in 0..iterations {
                naive.iterate(&topology);
            }
            let d = deviation(&run(&mut layout, iterations), &naive.points);
            assert!(d < tolerance, "{name}: {d} after {iterations} more");
        }
    }
}

#[test]
fn mass_and_mobility_replace_their_defaults() {
    let topology = testkit::planted(40, 2, 0.3, 0.05);
    let n = topology.num_nodes();
    let start = start(n, 50.0);
    let mass: Vec<f32> = (0..n).map(|v| 1.0 + v as f32 / 10.0).collect();
    let mobility: Vec<f32> = (0..n).map(|v| (v % 3) as f32 / 2.0).collect();
    let params = Params { barnes_hut_optimize: false, ..Params::default() };
    let mut naive = Naive::new(&topology, params.clone(), &start);
    naive.masses = mass.iter().map(|m| f64::from(*m)).collect();
    naive.mobility = mobility.iter().map(|m| f64::from(*m)).collect();
    let mut layout =
        ForceAtlas2::new(&topology, None, params, &start, None, Some(&mass), Some(&mobility))
            .unwrap();
    for _ in 0..5 {
        naive.iterate(&topology);
    }
    let got = run(&mut layout, 5);
    assert!(deviation(&got, &naive.points) < 2e-3);
    assert_eq!(got[0], start[0], "mobility 0 holds a node");
}

/// Relative errors of the repulsive forces, sorted, on every instruction set.
fn force_errors(topology: &Arc<Topology>, points: &[[f32; 2]], isa: simd::Isa) -> Vec<f64> {
    let mut layout =
        ForceAtlas2::new(topology, None, Params::default(), points, None, None, None).unwrap();
    layout.isa = isa;
    layout.cells.refit(&layout.points, &layout.masses, layout.bounds);
    let mut params = Params { gravity: 0.0, ..Params::default() };
    layout.params = params.clone();
    layout.arcs = Arcs::default();
    layout.arcs = Arcs::new(&testkit::from_edges(topology.num_nodes(), &[]));
    layout.forces(&CancelToken::new()).unwrap();
    params.barnes_hut_optimize = false;
    let got = layout.forces.clone();
    layout.params = params;
    layout.forces(&CancelToken::new()).unwrap();
    let mut errors: Vec<f64> = got
        .iter()
        .zip(&layout.forces)
        .map(|(g, w)| {
            let d = f64::from((g[0] - w[0]).powi(2) + (g[1] - w[1]).powi(2)).sqrt();
            d / f64::from(w[0].powi(2) + w[1].powi(2)).sqrt()
        })
        .collect();
    errors.sort_by(f64::total_cmp);
    errors
}

fn instruction_sets() -> Vec<simd::Isa> {
    [simd::Isa::Portable, simd::Isa::Avx2, simd::Isa::Avx512]
        .into_iter()
        .filter(|i| *i <= simd::Isa::detect())
        .collect()
}

#[test]
fn the_far_field_is_exact_enough_on_even_and_on_clustered_layouts() {
    let topology = testkit::planted(6000, 20, 0.05, 0.0005);
    let even = start(6000, 1000.0);
    let clustered: Vec<[f32; 2]> = (0..6000u64)
        .map(|i| {
            let c = i % 20;
            let r = 0.5 * unit_f64(9, 3, i).powi(3);
            let a = std::f64::consts::TAU * unit_f64(9, 4, i);
            [0, 1]
                .map(|s| (1e3 * unit_f64(9, s, c) + 100.0 * r * (a + 1.57 * s as f64).sin()) as f32)
        })
        .collect();
    for points in [even, clustered] {
        for isa in instruction_sets() {
            let errors = force_errors(&topology, &points, isa);
            let (median, p95) = (errors[errors.len() / 2], errors[errors.len() * 95 / 100]);
            assert!(median < 0.002 && p95 < 0.02, "{isa:?}: median {median} p95 {p95}");
        }
    }
}

fn layout_of(topology: &Arc<Topology>, start: &[[f32; 2]]) -> ForceAtlas2 {
    ForceAtlas2::new(topology, None, Params::default(), start, None, None, None).unwrap()
}

#[test]
fn the_bits_do_not_depend_on_threads_or_on_being_run_again() {
    let topology = testkit::planted(9000, 30, 0.02, 0.0002);
    let start = start(9000, 1000.0);
    let once = || run(&mut layout_of(&topology, &start), 30);
    let [a, b, c] = testkit::at_1_2_3_threads(once);
    assert!(a == b && b == c && a == once());
}

#[test]
fn neither_the_order_of_arcs_nor_being_watched_changes_a_bit() {
    let topology = testkit::planted(3000, 10, 0.03, 0.003);
    let n = topology.num_nodes();
    let start = start(n, 1000.0);
    let weights: Vec<f32> = (0..topology.num_edges()).map(|r| 0.5 + (r % 7) as f32).collect();
    let radii: Vec<f32> = (0..n).map(|v| 1.0 + (v % 4) as f32).collect();
    for params in [
        Params::default(),
        Params { lin_log_mode: true, ..Params::default() },
        Params { prevent_overlapping: true, ..Params::default() },
    ] {
        for weights in [None, Some(weights.as_slice())] {
            let new = || {
                ForceAtlas2::new(
                    &topology,
                    weights,
                    params.clone(),
                    &start,
                    Some(&radii),
                    None,
                    None,
                )
                .unwrap()
            };
            let (mut apart, mut joined) = (new(), new());
            assert!(apart.arcs.are_apart());
            apart.watch(|| 0);
            // Few enough iterations that nothing but the order of the arcs tells the two apart.
            joined.arcs.follow();
            joined.sort();
            apart.sort();
            joined.arcs.follow();
            assert!(apart.arcs.are_apart() && !joined.arcs.are_apart());
            for layout in [&mut apart, &mut joined] {
                layout.cells.refit(&layout.points, &layout.masses, layout.bounds);
                layout.forces(&CancelToken::new()).unwrap();
            }
            assert!(apart.forces == joined.forces);
            let got = run(&mut apart, 20);
            let profile = *apart.profile();
            assert!(profile.iterations == 20 && profile.sorts > 1 && profile.relabels > 0);
            assert!(profile.near > 0 && profile.far > 0 && profile.repulse_ns == 0);
            let mut unwatched = new();
            unwatched.sort();
            assert!(got == run(&mut unwatched, 20));
        }
    }
}

#[test]
fn every_instruction_set_draws_nearly_the_same() {
    let topology = testkit::planted(600, 6, 0.1, 0.01);
    let start = start(600, 300.0);
    let layouts: Vec<Vec<[f32; 2]>> = instruction_sets()
        .into_iter()
        .map(|isa| {
            let mut layout = layout_of(&topology, &start);
            layout.isa = isa;
            run(&mut layout, 3)
        })
        .collect();
    let first: Vec<[f64; 2]> = layouts[0].iter().map(|p| p.map(f64::from)).collect();
    for other in &layouts {
        assert!(deviation(other, &first) < 1e-3);
    }
}

#[test]
fn nodes_on_one_spot_part_and_nothing_becomes_infinite() {
    for (name, topology) in testkit::zoo() {
        let n = topology.num_nodes() as usize;
        for at in [[0.0f32; 2], [1e4, -1e4], [1e9, -1e9], [1e15, 1e15]] {
            let got = run(&mut layout_of(&topology, &vec![at; n]), 60);
            // Farther out, neighbouring numbers of single precision lie too far apart.
            for i in 0..if at[0] < 1e5 { n.min(60) } else { 0 } {
                for j in 0..i {
                    assert_ne!(got[i], got[j], "{name}: nodes {i} and {j} at {at:?}");
                }
            }
        }
    }
}

#[test]
fn large_stars_and_heaps_of_isolated_nodes_stay_fast_and_bounded() {
    let spot = |n: usize| vec![[0.0f32; 2]; n];
    for topology in [testkit::star(100_000), testkit::from_edges(50_000, &[])] {
        let n = topology.num_nodes() as usize;
        let mut layout = layout_of(&topology, &spot(n));
        let got = run(&mut layout, 12);
        let bound = 4.0 * f64::from(topology.num_edges() * 2 + n as u32);
        assert!(got.iter().flatten().all(|v| f64::from(v.abs()) < bound));
    }
}

#[test]
fn gravity_holds_isolated_nodes() {
    let topology = testkit::from_edges(30, &[]);
    let got = run(&mut layout_of(&topology, &start(30, 10.0)), 2000);
    // Equilibrium of n nodes of mass 1 with repulsion 2: none farther than about 2 n.
    let far = got.iter().map(|p| p[0].hypot(p[1])).fold(0.0, f32::max);
    assert!((10.0..70.0).contains(&far), "{far}");
}

#[test]
fn locks_and_pins_hold_and_can_be_undone() {
    let topology = testkit::planted(300, 3, 0.1, 0.01);
    let start = start(300, 200.0);
    let with = |params: Params| {
        run(&mut ForceAtlas2::new(&topology, None, params, &start, None, None, None).unwrap(), 20)
    };
    for (s, g) in start.iter().zip(with(Params { locked_x: true, ..Params::default() })) {
        assert!(s[0] == g[0] && s[1] != g[1]);
    }
    for (s, g) in start.iter().zip(with(Params { locked_y: true, ..Params::default() })) {
        assert!(s[1] == g[1] && s[0] != g[0]);
    }
    for (s, g) in start.iter().zip(with(Params { locked_r: true, ..Params::default() })) {
        let (a, b) = (s[0].hypot(s[1]), g[0].hypot(g[1]));
        assert!((a - b).abs() < 1e-3 * a && *s != g);
    }
    let mut layout = layout_of(&topology, &start);
    layout.pin(7, [55.0, -5.0]);
    layout.pin(9999, [0.0; 2]);
    layout.pin(8, [f32::NAN, 0.0]);
    assert_eq!(run(&mut layout, 20)[7], [55.0, -5.0]);
    layout.unpin(7);
    assert_ne!(run(&mut layout, 5)[7], [55.0, -5.0]);
}

#[test]
fn parameters_can_change_while_it_runs() {
    let topology = testkit::planted(300, 3, 0.1, 0.01);
    let mut layout = layout_of(&topology, &start(300, 200.0));
    let spread = |p: &[[f32; 2]]| p.iter().map(|p| p[0].hypot(p[1])).sum::<f32>();
    let before = spread(&run(&mut layout, 200));
    layout.set_params(Params { scaling_ratio: 50.0, ..Params::default() }).unwrap();
    assert!(spread(&run(&mut layout, 200)) > 2.0 * before);
    assert!(layout.set_params(Params { gravity: f64::NAN, ..Params::default() }).is_err());
    assert!(layout.set_params(Params { barnes_hut_theta: 9.0, ..Params::default() }).is_err());
    assert_eq!(layout.params().scaling_ratio, 50.0);
}

#[test]
fn a_layout_settles_when_it_is_done_and_wakes_when_touched() {
    let cancel = CancelToken::new();
    for topology in [testkit::karate(), testkit::grid(15), testkit::planted(400, 4, 0.1, 0.005)] {
        let start = crate::layout::initial_layout::place(&topology, 0, &cancel).unwrap();
        let mut layout = layout_of(&topology, &start);
        let mut iterations = 0;
        while !layout.settled() && iterations < 600 {
            layout.iterate(&cancel).unwrap();
            iterations += 1;
        }
        assert!(layout.settled(), "not after {iterations}");
        layout.pin(0, [1e4, 0.0]);
        assert!(!layout.settled());
    }
    // From a random start a grid unfolds for long: 150 iterations are far from enough.
    let mut layout = layout_of(&testkit::grid(40), &start(1600, 100.0));
    for _ in 0..150 {
        layout.iterate(&cancel).unwrap();
        assert!(!layout.settled());
    }
}

/// Mean length of an edge over the mean distance from the centre.
fn edges_beside_the_whole(topology: &Arc<Topology>, points: &[[f32; 2]]) -> f64 {
    let far = |p: [f32; 2], q: [f32; 2]| f64::from((p[0] - q[0]).hypot(p[1] - q[1]));
    let n = points.len() as f32;
    let centre = points.iter().fold([0.0f32; 2], |a, p| [a[0] + p[0] / n, a[1] + p[1] / n]);
    let radius = points.iter().map(|p| far(*p, centre)).sum::<f64>() / points.len() as f64;
    let net = WeightedGraph::new(topology, None);
    let ends = (0..points.len()).flat_map(|v| net.edges(v).map(move |(u, _)| (v, u as usize)));
    let lengths: Vec<f64> = ends.map(|(v, u)| far(points[v], points[u])).collect();
    lengths.iter().sum::<f64>() / lengths.len() as f64 / radius
}

#[test]
fn a_crowd_that_gets_no_better_settles_after_the_same_iterations_at_any_number_of_threads() {
    let cancel = CancelToken::new();
    let topology = testkit::planted(8000, 4, 0.01, 0.002);
    let start = crate::layout::initial_layout::place(&topology, 0, &cancel).unwrap();
    let until_it_stands = || {
        let mut layout = layout_of(&topology, &start);
        while !layout.settled() && layout.iterations() < 600 {
            layout.iterate(&cancel).unwrap();
        }
        layout
    };
    let counts = testkit::at_1_2_3_threads(|| until_it_stands().iterations());
    assert!(counts[0] < 160 && counts == [counts[0]; 3], "{counts:?}");
    let mut layout = until_it_stands();
    let mut points = Vec::new();
    layout.positions(&mut points);
    let then = edges_beside_the_whole(&topology, &points);
    let later = edges_beside_the_whole(&topology, &run(&mut layout, 300));
    assert!(then < 1.02 * later, "{then} at rest, {later} after 300 more");
}

#[test]
fn arrays_that_do_not_fit_and_values_out_of_range_are_refused() {
    let topology = testkit::karate();
    let ok = start(34, 10.0);
    let new = |start: &[[f32; 2]], radii: Option<&[f32]>, mass: Option<&[f32]>| {
        ForceAtlas2::new(&topology, None, Params::default(), start, radii, mass, None).map(|_| ())
    };
    assert!(matches!(new(&ok[1..], None, None), Err(AlgoError::Length { what: "start", .. })));
    let mut bad = ok.clone();
    bad[3][1] = f32::NAN;
    assert!(matches!(new(&bad, None, None), Err(AlgoError::BadValue { index: 3, .. })));
    assert!(new(&ok, Some(&[1.0; 33]), None).is_err());
    assert!(new(&ok, Some(&[-1.0; 34]), None).is_err());
    assert!(new(&ok, None, Some(&[0.0; 34])).is_err());
    let odd = vec![f32::NAN, -3.0];
    let mut layout =
        ForceAtlas2::new(&topology, Some(&odd), Params::default(), &ok, None, None, None).unwrap();
    run(&mut layout, 50);
}

#[test]
fn a_cancelled_iteration_moves_nothing() {
    let topology = testkit::karate();
    let mut layout = layout_of(&topology, &start(34, 10.0));
    let before = run(&mut layout, 3);
    let cancel = CancelToken::new();
    cancel.cancel(graphlume_types::CancelReason::Shutdown);
    assert!(matches!(layout.iterate(&cancel), Err(AlgoError::Cancelled(_))));
    let mut after = Vec::new();
    layout.positions(&mut after);
    assert_eq!(before, after);
}

#[test]
fn the_footprint_bounds_what_is_held() {
    let topology = testkit::planted(3000, 10, 0.03, 0.003);
    let weights = vec![1.5; topology.num_edges() as usize];
    let start = start(3000, 100.0);
    let mut layout =
        ForceAtlas2::new(&topology, Some(&weights), Params::default(), &start, None, None, None)
            .unwrap();
    run(&mut layout, 10);
    let cells: usize = layout.cells.levels.iter().map(|l| l.len() * 56).sum();
    let held =
        layout.arcs.bytes() + layout.sorter.bytes() + cells + 4 * weights.len() * 2 + 3000 * 60;
    let bound = ForceAtlas2::footprint(3000, topology.num_edges());
    assert!((held as u64) < bound, "{held} {bound}");
}
