use arrow_array::Float64Array;

use super::*;

fn floats(v: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(v.to_vec()))
}

#[test]
fn a_bound_size_is_an_area_and_decides_the_importance() {
    let case = Case::path(("w", floats(&[100.0, 25.0, 0.0, f64::NAN])));
    let scene = case.bind(json!({"node_size": "w"}), json!({})).scene();
    let size = |share: f64| (1.15 * (2.0 + 20.0 * share) * 1.25 * 4.0).round() as u8;
    assert_eq!(scene.node_size, [size(1.0), size(0.5), size(0.0), size(0.0)]);
    assert_eq!(scene.importance, [100.0, 25.0, 0.0, 0.0]);
    assert_eq!(scene.legend["node_size"]["title"], "w");
    assert_eq!(scene.label_candidates[0].0, 0);
}

#[test]
fn a_mapped_size_is_a_diameter() {
    let mapping = json!({"categorical": {"fixed": {"big": 200, "mid": 100}, "other": 50}});
    let encoding = json!({"attribute": "k", "variation": "categorical", "mapping": mapping});
    let case = Case::path(("k", texts(&["big", "mid", "x", "mid"])));
    let sizes = case.encode("pointSizeEncoding", encoding).scene().node_size;
    assert_eq!(sizes[0], (1.15f64 * 22.0 * 1.25 * 4.0).round() as u8);
    for (v, share) in [(1, 0.5), (2, 0.25), (3, 0.5)] {
        assert!((f64::from(sizes[v]) / f64::from(sizes[0]) - share).abs() < 0.01, "{sizes:?}");
    }
}

#[test]
fn sizes_that_make_no_sense_fall_back_to_the_degree() {
    let default = Case::path(("w", floats(&[0.0; 4]))).scene().node_size;
    for column in [texts(&["a", "b", "c", "d"]), floats(&[f64::NAN; 4])] {
        let scene = Case::path(("w", column)).bind(json!({"node_size": "w"}), json!({})).scene();
        assert_eq!(scene.node_size, default);
        assert!(scene.notices[0].text.contains("node size column \"w\""), "{:?}", scene.notices);
    }
    let wild = Case::path(("w", floats(&[-1e308, 1e308, f64::INFINITY, 0.0])));
    let scene = wild.bind(json!({"node_size": "w"}), json!({})).scene();
    assert!(scene.node_size.iter().all(|s| (6..=255).contains(s)));
    let negative = Case::path(("w", floats(&[-4.0, 0.0, 0.0, 0.0])));
    let sizes = negative.bind(json!({"node_size": "w"}), json!({})).scene().node_size;
    assert!(sizes[0] < sizes[1], "{sizes:?}");
}

#[test]
fn opacities_are_shares_percents_or_bytes() {
    let alpha = |v: &[f64]| -> Vec<u8> {
        let case = Case::path(("o", floats(v))).bind(json!({"node_opacity": "o"}), json!({}));
        case.scene().node_rgba.iter().map(|c| c[3]).collect()
    };
    assert_eq!(alpha(&[0.0, 0.5, 1.0, f64::NAN]), [0, 128, 255, 255]);
    assert_eq!(alpha(&[0.0, 50.0, 100.0, 100.0]), [0, 128, 255, 255]);
    assert_eq!(alpha(&[0.0, 128.0, 255.0, 255.0]), [0, 128, 255, 255]);
}

#[test]
fn a_derived_degree_can_be_bound_without_a_column() {
    let case = Case::path(("c", texts(&["", "", "", ""])));
    let scene =
        case.bind(json!({"node_size": "degree_out", "node_color": "degree"}), json!({})).scene();
    assert_eq!(scene.importance, [1.0, 1.0, 1.0, 0.0]);
    assert_eq!(scene.legend["node_color"]["title"], "degree");
    assert!(scene.notices.is_empty(), "{:?}", scene.notices);
}

#[test]
fn edges_have_widths_weights_and_opacities() {
    let edges: (&[i64], &[i64]) = (&[3, 1, 2], &[1, 2, 3]);
    let case = Case::new(edges, &[("w", floats(&[4.0, 1.0, f64::NAN]))], &[]);
    let case =
        case.bind(json!({}), json!({"edge_size": "w", "edge_weight": "w", "edge_opacity": "w"}));
    let scene = case.scene();
    assert_eq!(scene.edge_weights, Some(vec![4.0, 1.0, 1.0]));
    let (width, rgba) = (scene.edge_width.unwrap(), scene.edge_rgba.unwrap());
    let of_row = |row| (0..3).find(|p| case.graph.topology.edge(*p).2 == row).unwrap() as usize;
    assert_eq!([width[of_row(0)], width[of_row(1)], width[of_row(2)]], [64, 36, 8]);
    assert_eq!([rgba[of_row(0)][3], rgba[of_row(1)][3], rgba[of_row(2)][3]], [10, 3, 255]);
    // Without a colour of its own an edge is drawn half-way between its ends.
    let (src, dst, _) = case.graph.topology.edge(0);
    let ends = [scene.node_rgba[src as usize][0], scene.node_rgba[dst as usize][0]];
    assert!(rgba[0][0] >= ends[0].min(ends[1]) && rgba[0][0] <= ends[0].max(ends[1]));
    assert_eq!(scene.legend["edge_size"]["title"], "w");
}

#[test]
fn weights_of_nodes_are_masses_in_shares_of_their_mean() {
    let path = |weights: &[f64]| Case::path(("w", floats(weights)));
    let masses = |case: &Case| case.scene().node_masses;
    let bound = |weights: &[f64]| path(weights).bind(json!({"node_weight": "w"}), json!({}));
    assert_eq!(masses(&path(&[1.0; 4])), None, "nothing is bound");
    // Degrees of 1, 2, 2, 1, and weights of a mean of 200; what has none has the mean.
    let case = bound(&[100.0, 200.0, 300.0, f64::NAN]);
    assert_eq!(masses(&case), Some(vec![1.0, 3.0, 4.5, 2.0]));
    assert!(case.scene().notices.is_empty(), "{:?}", case.scene().notices);
    // Another unit is the same picture.
    assert_eq!(masses(&bound(&[1e-7, 2e-7, 3e-7, f64::NAN])), masses(&case));
    let case = bound(&[-5.0, 0.0, 4.0, 4.0]);
    assert_eq!(masses(&case), Some(vec![0.02, 0.03, 6.0, 4.0]));
    assert!(case.scene().notices[0].text.contains("\"w\" has 2 values of 0 and less"));
    for useless in [[0.0; 4], [-1.0; 4]] {
        let scene = bound(&useless).scene();
        assert_eq!(scene.node_masses, None);
        assert!(scene.notices.iter().any(|n| n.text.contains("by their degree alone")));
    }
    let text = Case::path(("w", texts(&["a"; 4]))).bind(json!({"node_weight": "w"}), json!({}));
    assert!(text.scene().notices[0].text.contains("holds no number"), "{:?}", text.scene().notices);
    let mapped = path(&[1.0, 1.0, 2.0, 2.0]).encode(
        "pointWeightEncoding",
        json!({"attribute": "w", "mapping": {"fixed": {"1": 1, "2": 3}}}),
    );
    assert_eq!(masses(&mapped), Some(vec![1.0, 1.5, 4.5, 3.0]));
}

#[test]
fn weights_can_be_mapped_and_negative_ones_count_as_nothing() {
    let edges: (&[i64], &[i64]) = (&[1, 2], &[2, 3]);
    let case =
        Case::new(edges, &[("k", texts(&["near", "far"])), ("w", floats(&[-2.0, 3.0]))], &[]);
    let mapping = json!({"fixed": {"near": 5, "far": 0.5}});
    let mapped = case.encode("edgeWeightEncoding", json!({"attribute": "k", "mapping": mapping}));
    assert_eq!(mapped.scene().edge_weights, Some(vec![5.0, 0.5]));
    let scene = mapped.bind(json!({}), json!({"edge_weight": "w"})).scene();
    assert_eq!(scene.edge_weights, Some(vec![0.0, 3.0]));
    assert!(scene.notices[0].text.contains("negative"), "{:?}", scene.notices);
}

#[test]
fn bound_positions_are_taken_as_they_are_and_gaps_are_nan() {
    let x: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.5), None, Some(1e300), Some(-2.0)]));
    let columns = [("id", ints(&[1, 2, 3, 4])), ("x", x), ("y", ints(&[10, 20, 30, 40]))];
    let case = Case::new((&[1, 2, 3, 9], &[2, 3, 4, 1]), &[], &columns);
    let case = case.bind(json!({"node_x": "x", "node_y": "y"}), json!({}));
    let got = case.scene().positions.unwrap();
    assert_eq!((got[0], got[3]), ([1.5, 10.0], [-2.0, 40.0]));
    assert!([1, 2, 4].into_iter().all(|v: usize| got[v][0].is_nan() && got[v][1].is_nan()));
    let half = case.bind(json!({"node_x": "x"}), json!({})).scene();
    assert!(half.positions.is_none() && half.notices[0].text.contains("need both"));
    let missing =
        Case::path(("c", ints(&[1; 4]))).bind(json!({"node_x": "x", "node_y": "y"}), json!({}));
    assert!(missing.scene().positions.is_none());
}

#[test]
fn discs_that_given_positions_crowd_are_smaller_unless_somebody_bound_their_sizes() {
    let columns =
        |x: &[f64]| [("id", ints(&[1, 2, 3, 4])), ("x", floats(x)), ("y", floats(&[0.0; 4]))];
    let case = |x: &[f64], node: Value| {
        Case::new((&[1, 2, 3], &[2, 3, 4]), &[], &columns(x)).bind(node, json!({})).scene()
    };
    let at = json!({"node_x": "x", "node_y": "y"});
    let [roomy, crowded] = [[0.0, 300.0, 600.0, 900.0], [0.0, 2.0, 600.0, 900.0]];
    let (free, tight) = (case(&roomy, at.clone()).node_size, case(&crowded, at.clone()).node_size);
    assert_eq!(free, crate::degree_sizes(&[1.0, 2.0, 2.0, 1.0]));
    // Two of them 1.6 pixels apart: of a half of their diameters, which is less than the least, nothing else is left.
    for v in 0..2 {
        let least = (f64::from(free[v]) * 0.6).round() as u8;
        assert!((least..free[v] - 8).contains(&tight[v]), "{free:?} {tight:?}");
    }
    assert_eq!(free[2..], tight[2..]);
    let bound = json!({"node_x": "x", "node_y": "y", "node_size": "id"});
    assert_eq!(case(&roomy, bound.clone()).node_size, case(&crowded, bound).node_size);
}

#[test]
fn columns_x_and_y_are_positions_where_none_are_bound() {
    let columns = |y: ArrayRef| [("id", ints(&[1, 2])), ("x", floats(&[1.5, -2.0])), ("y", y)];
    let case = |y: ArrayRef| Case::new((&[1, 2], &[2, 9]), &[], &columns(y));
    let scene = case(ints(&[10, 40])).scene();
    let got = scene.positions.unwrap();
    assert_eq!(got[..2], [[1.5, 10.0], [-2.0, 40.0]]);
    assert!(got[2][0].is_nan());
    assert_eq!(scene.notices[0].slug, "positions-from-columns");
    let left_alone = [case(texts(&["1", "2"])), case(floats(&[f64::NAN; 2]))];
    let bound = case(ints(&[10, 40])).bind(json!({"node_x": "x"}), json!({}));
    for case in left_alone.into_iter().chain([bound]) {
        let scene = case.scene();
        assert!(scene.positions.is_none(), "{:?}", scene.notices);
        assert!(scene.notices.iter().all(|n| n.slug != "positions-from-columns"));
    }
}

#[test]
fn longitude_and_latitude_are_projected_as_web_maps_do() {
    let columns = [
        ("id", ints(&[1, 2, 3])),
        ("lon", floats(&[0.0, 180.0, -90.0])),
        ("lat", floats(&[0.0, 85.051_128_78, 90.0])),
    ];
    let case = Case::new((&[1], &[2]), &[], &columns);
    let case = case.bind(json!({"node_longitude": "lon", "node_latitude": "lat"}), json!({}));
    let got = case.scene().positions.unwrap();
    assert_eq!(got[0], [0.0, 0.0]);
    assert!((got[1][1] - 180.0).abs() < 1e-3 && (got[2][1] - 180.0).abs() < 1e-3, "{got:?}");
}
