use super::*;

fn star() -> Case {
    Case::new((&[0; 8], &[1, 2, 3, 4, 5, 6, 7, 8]), &[], &[])
}

#[test]
fn without_bindings_size_follows_the_degree_by_the_stated_formula() {
    let scene = star().scene();
    // 1.15 * (2 + 20 * sqrt(degree / largest)) * 1.25, in quarter pixels.
    assert_eq!(scene.node_size[0], (1.15f64 * 22.0 * 1.25 * 4.0).round() as u8);
    let leaf = 1.15 * (2.0 + 20.0 * (1.0f64 / 8.0).sqrt()) * 1.25 * 4.0;
    assert!(scene.node_size[1..].iter().all(|s| *s == leaf.round() as u8));
    let size = &scene.legend["node_size"];
    assert_eq!((&size["title"], &size["max"]), (&json!("degree"), &json!(8.0)));
    assert_eq!(scene.importance[..2], [8.0, 1.0]);
}

#[test]
fn many_nodes_are_drawn_smaller() {
    // A star, so that only one disc is large.
    let ids: Vec<i64> = (1..40_000).collect();
    let scene = Case::new((&vec![0; ids.len()], &ids), &[], &[]).scene();
    let full = 1.15 * 22.0 * (9_000.0f64 / 40_000.0).sqrt() * 4.0;
    assert_eq!(scene.node_size[0], full.round() as u8);
}

#[test]
fn discs_shrink_when_together_they_would_hide_each_other() {
    // In a ring all nodes have the largest degree there is.
    let ring = |n: i64| {
        let ids: Vec<i64> = (0..n).collect();
        let next: Vec<i64> = (0..n).map(|v| (v + 1) % n).collect();
        let sizes = Case::new((&ids, &next), &[], &[]).scene().node_size;
        assert!(sizes.iter().all(|s| *s == sizes[0]));
        f64::from(sizes[0]) / 4.0
    };
    let covered = |n: i64| std::f64::consts::FRAC_PI_4 * ring(n).powi(2) * n as f64;
    assert!((ring(100) - 1.15 * 22.0 * 1.25).abs() < 0.2, "a few have all the room they want");
    for n in [500, 1_000] {
        assert!((85_000.0..97_000.0).contains(&covered(n)), "{n}: {}", covered(n));
    }
    assert!(ring(40_000) >= 1.5, "every node still shows");
}

#[test]
fn nodes_are_coloured_by_degree_until_communities_are_known() {
    let case = star();
    let early = case.scene();
    assert!(early.colors_by_community);
    assert_eq!(colors(&early.node_rgba)[0], "#fde725");
    assert_eq!(early.legend["node_color"]["title"], "degree");
    assert_eq!((early.edge_rgba.as_ref(), early.edge_width.as_ref()), (None, None));
    let late = case.scene_with(Some(&[0, 0, 0, 0, 0, 1, 1, 1, 2]));
    assert_eq!(
        colors(&late.node_rgba)[..6],
        ["#6db9fc", "#6db9fc", "#6db9fc", "#6db9fc", "#6db9fc", "#ca5d2f"]
    );
    let legend = &late.legend["node_color"];
    assert_eq!(entries(legend), [("0".into(), 5), ("5".into(), 3), ("8".into(), 1)]);
    assert_eq!(legend["title"], "community");
}

#[test]
fn a_column_called_type_says_what_the_nodes_are() {
    let scene = Case::path(("type", texts(&["person", "person", "place", "person"]))).scene();
    assert!(!scene.colors_by_community);
    assert_eq!(entries(&scene.legend["node_color"]), [("person".into(), 3), ("place".into(), 1)]);
    let same = Case::path(("type", texts(&["person"; 4]))).scene();
    assert!(same.colors_by_community, "one type says nothing");
    let numbers = Case::path(("type", ints(&[1, 2, 1, 2]))).scene();
    assert!(numbers.colors_by_community, "numbers are no words");
}

#[test]
fn what_is_bound_wins_over_communities() {
    let case = Case::path(("c", texts(&["red"; 4]))).bind(json!({"node_color": "c"}), json!({}));
    let scene = case.scene_with(Some(&[0, 1, 2, 3]));
    assert_eq!(
        (colors(&scene.node_rgba)[3].as_str(), scene.colors_by_community),
        ("#ff0000", false)
    );
}

#[test]
fn parts_that_do_not_belong_together_are_an_error() {
    let case = star();
    let with = |nodes: Option<&Table>, edges: &Table, c: Option<&[u32]>| {
        crate::build(&case.graph, nodes, edges, &case.enc, c).map(|_| ()).map_err(|e| e.to_string())
    };
    assert!(with(None, &case.edges, Some(&[0])).unwrap_err().contains("1 community labels"));
    assert!(with(None, &case.edges, Some(&[99; 9])).unwrap_err().contains("99"));
    let short = table(&[("s", ints(&[1]))]);
    assert!(with(None, &short, None).unwrap_err().contains("edges table"));
    let path = Case::path(("c", ints(&[1, 2, 3, 4])));
    let error = crate::build(&path.graph, None, &path.edges, &path.enc, None).unwrap_err();
    assert!(error.to_string().contains("nodes table"), "{error}");
}

#[test]
fn graphs_of_no_and_of_one_node_have_scenes() {
    let empty = Case::new((&[], &[]), &[], &[]).scene_with(Some(&[]));
    assert_eq!((empty.node_rgba.len(), empty.label_candidates.len()), (0, 0));
    let one = Case::new((&[], &[]), &[], &[("id", ints(&[7]))]).scene_with(Some(&[0]));
    assert_eq!((one.node_rgba.len(), one.label_candidates), (1, vec![(0, "7".to_owned())]));
    assert_eq!(one.node_size, [(1.15f64 * 2.0 * 1.25 * 4.0).round() as u8]);
}

#[test]
fn encodings_of_any_shape_never_fail() {
    let shapes = [
        json!(null),
        json!([]),
        json!(5),
        json!({"bindings": []}),
        json!({"complex": 3}),
        json!({"bindings": {"node_color": null, "node_size": {}, "node_x": 4, "node_label": ""}}),
        json!({"complex": {"current": {"pointColorEncoding": null, "pointSizeEncoding": []}}}),
    ];
    for shape in shapes {
        let mut case = star();
        case.enc = Encodings::new(shape.clone(), shape.clone(), shape.clone());
        assert_eq!(case.scene().node_rgba.len(), 9, "{shape}");
    }
}

#[test]
fn encodings_that_are_not_drawn_are_named() {
    let case = star()
        .encode("edgeKeplerEncoding", json!({"datasets": []}))
        .encode("pointLegendColorEncoding", json!({}))
        .encode("edgeGlowEncoding", json!({}));
    let scene = case.scene();
    let said: Vec<&str> = scene.notices.iter().map(|n| n.text.as_ref()).collect();
    let starts = [
        "edgeKeplerEncoding is kept with the dataset and not drawn: this kind of encoding is unknown",
        "edgeGlowEncoding is kept with the dataset and not drawn: this kind of encoding is unknown",
        "node LegendColor encoding names no attribute: ignored",
    ];
    assert_eq!(said.len(), starts.len(), "{said:?}");
    for start in starts {
        assert!(said.iter().any(|text| text.starts_with(start)), "{start}: {said:?}");
    }
}

#[test]
fn the_number_of_threads_does_not_show() {
    let ids: Vec<i64> = (0..30_000).collect();
    let groups: Vec<String> = ids.iter().map(|i| format!("g{}", i * i % 37)).collect();
    let column = texts(&groups.iter().map(String::as_str).collect::<Vec<_>>());
    let case = Case::new((&ids[1..], &ids[..29_999]), &[], &[("id", ints(&ids)), ("type", column)]);
    let communities: Vec<u32> = (0..30_000).map(|i| i / 100).collect();
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| (case.scene(), case.scene_with(Some(&communities))))
    };
    assert_eq!(on(1), on(4));
}
