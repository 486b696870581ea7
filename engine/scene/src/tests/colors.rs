use arrow_array::types::Int8Type;
use arrow_array::{
    BooleanArray, DictionaryArray, Float64Array, Int32Array, NullArray, TimestampSecondArray,
    UInt64Array,
};

use super::*;

fn node_colors(column: ArrayRef) -> (Vec<String>, Value, Vec<graphlume_types::Notice>) {
    let scene = Case::path(("c", column)).bind(json!({"node_color": "c"}), json!({})).scene();
    let legend = scene.legend["node_color"].clone();
    (colors(&scene.node_rgba), legend, scene.notices)
}

#[test]
fn packed_integers_are_rgba_and_opaque_when_no_value_has_an_opacity() {
    let (got, legend, _) = node_colors(ints(&[0xFF00_0000, 0x00FF_0000, 0x1234_5600, 0xFF00_0000]));
    assert_eq!(got, ["#ff0000", "#00ff00", "#123456", "#ff0000"]);
    assert_eq!(
        entries(&legend),
        [("#ff0000".into(), 2), ("#00ff00".into(), 1), ("#123456".into(), 1)]
    );
    let (got, ..) = node_colors(ints(&[0xFF00_0080, 0x00FF_00FF, 0, 0xFFFF_FFFF]));
    assert_eq!(got, ["#ff000080", "#00ff00", "#00000000", "#ffffff"]);
    let unsigned: ArrayRef = Arc::new(UInt64Array::from(vec![0xFF00_0000; 4]));
    assert_eq!(node_colors(unsigned).0, ["#ff0000"; 4]);
}

#[test]
fn small_integers_are_palette_codes() {
    let codes: ArrayRef = Arc::new(Int32Array::from(vec![67_006, 90_005, 96_000, 67_006]));
    assert_eq!(node_colors(codes).0, ["#990000", "#e31a1c", "#fbb4ae", "#990000"]);
    assert_eq!(node_colors(ints(&[67_006, 90_005, 96_000, 67_006])).0[..2], ["#990000", "#e31a1c"]);
    let index: ArrayRef = Arc::new(Int32Array::from(vec![Some(0), Some(1), Some(12), None]));
    let (got, legend, _) = node_colors(index);
    assert_eq!(got, ["#a6cee3", "#1f78b4", "#a6cee3", "#6b7589"]);
    assert_eq!(legend["entries"].as_array().unwrap().last().unwrap()["label"], "no value");
}

#[test]
fn integers_that_are_no_colours_are_shown_as_numbers() {
    let (got, legend, _) = node_colors(ints(&[-5, 7, 1_000_000, -5]));
    assert_eq!((legend["kind"].as_str(), got[0] == got[3]), (Some("categorical"), true));
    let many: Vec<i64> = (0..40).map(|i| i * 10_000_000_000).collect();
    let case =
        Case::new((&many[1..], &many[..39]), &[], &[("id", ints(&many)), ("c", ints(&many))]);
    let scene = case.bind(json!({"node_color": "c"}), json!({})).scene();
    assert_eq!(scene.legend["node_color"]["kind"], "continuous");
}

#[test]
fn text_is_colours_when_all_of_it_is_and_categories_otherwise() {
    let (got, legend, _) = node_colors(texts(&["red", "#0f0", "rgb(1,2,3)", "red"]));
    assert_eq!(got, ["#ff0000", "#00ff00", "#010203", "#ff0000"]);
    assert_eq!(entries(&legend)[0], ("red".into(), 2));
    let (got, legend, _) = node_colors(texts(&["red", "b", "a", "a"]));
    assert_eq!(got, ["#fdd141", "#ca5d2f", "#6db9fc", "#6db9fc"]);
    assert_eq!(entries(&legend), [("a".into(), 2), ("b".into(), 1), ("red".into(), 1)]);
    assert_eq!(
        (legend["title"].as_str(), legend["kind"].as_str()),
        (Some("c"), Some("categorical"))
    );
}

#[test]
fn categories_beyond_twelve_leave_a_neutral_for_the_rare_ones() {
    let n = 30i64;
    let ids: Vec<i64> = (0..n * 2).collect();
    let group = |i: i64| if i < n { format!("g{i:02}") } else { format!("g{:02}", i % 11) };
    let groups: Vec<String> = ids.iter().map(|i| group(*i)).collect();
    let column = texts(&groups.iter().map(String::as_str).collect::<Vec<_>>());
    let case = Case::new((&ids[1..], &ids[..59]), &[], &[("id", ints(&ids)), ("g", column)]);
    let scene = case.bind(json!({"node_color": "g"}), json!({})).scene();
    let legend = &scene.legend["node_color"];
    let listed = entries(legend);
    assert_eq!(listed.len(), 12);
    assert_eq!(listed[11], ("other".into(), 19));
    assert_eq!(listed.iter().map(|e| e.1).sum::<u64>(), 60);
    let rare = colors(&scene.node_rgba[20..21]);
    assert_eq!((rare[0].as_str(), &legend["entries"][11]["color"]), ("#6b7589", &json!("#6b7589")));
}

#[test]
fn colours_of_categories_do_not_depend_on_the_order_of_rows() {
    let a = node_colors(texts(&["x", "y", "z", "z"])).0;
    let b = node_colors(texts(&["z", "z", "y", "x"])).0;
    assert_eq!(a, b.into_iter().rev().collect::<Vec<_>>());
}

#[test]
fn floats_are_a_ramp_and_skewed_ones_a_log_ramp() {
    let floats = |v: Vec<Option<f64>>| -> ArrayRef { Arc::new(Float64Array::from(v)) };
    let (got, legend, _) = node_colors(floats(vec![Some(0.0), Some(5.0), None, Some(10.0)]));
    assert_eq!(
        (got[0].as_str(), got[2].as_str(), got[3].as_str()),
        ("#5b4fa8", "#6b7589", "#fde725")
    );
    assert_eq!(
        (&legend["min"], &legend["max"], &legend["scale"]),
        (&json!(0.0), &json!(10.0), &json!("linear"))
    );
    assert_eq!(legend["stops"].as_array().unwrap().len(), 6);
    let (got, legend, _) = node_colors(floats(vec![Some(1.0), Some(1.0), Some(1e3), Some(1e6)]));
    assert_eq!((&legend["scale"], got[2].as_str()), (&json!("log"), "#30a991"));
    let (got, ..) =
        node_colors(floats(vec![Some(f64::INFINITY), Some(-1e308), Some(1e308), Some(0.0)]));
    assert_eq!((got[0].as_str(), got[2].as_str()), ("#6b7589", "#fde725"));
    let (got, ..) = node_colors(floats(vec![Some(3.0); 4]));
    assert_eq!(got[0], got[3]);
}

#[test]
fn times_booleans_and_categories_have_their_reading() {
    let times: ArrayRef = Arc::new(TimestampSecondArray::from(vec![0, 10, 20, 30]));
    let (_, legend, _) = node_colors(times);
    assert_eq!(legend["kind"], "continuous");
    assert!(legend["max"].as_str().unwrap().starts_with("1970-01-01T00:00:30"), "{legend}");
    let bools: ArrayRef = Arc::new(BooleanArray::from(vec![true, false, true, true]));
    assert_eq!(entries(&node_colors(bools).1), [("true".into(), 3), ("false".into(), 1)]);
    let keys: DictionaryArray<Int8Type> = vec!["b", "a", "b", "b"].into_iter().collect();
    assert_eq!(entries(&node_colors(Arc::new(keys)).1), [("b".into(), 3), ("a".into(), 1)]);
}

#[test]
fn an_empty_or_missing_column_is_a_warning_and_the_default_is_shown() {
    let default = Case::path(("c", texts(&["", "", "", ""]))).scene().node_rgba;
    for column in
        [Arc::new(NullArray::new(4)) as ArrayRef, Arc::new(Int64Array::from(vec![None; 4]))]
    {
        let (got, _, warnings) = node_colors(column);
        assert_eq!(got, colors(&default));
        assert!(warnings[0].text.contains("holds no value"), "{warnings:?}");
    }
    let case = Case::path(("c", texts(&["", "", "", ""])));
    let scene = case.bind(json!({"node_color": "nope"}), json!({"edge_color": 5})).scene();
    assert!(scene.notices[0].text.contains("\"nope\""), "{:?}", scene.notices);
    assert_eq!((scene.node_rgba, scene.edge_rgba), (default, None));
}

fn encoded(
    column: ArrayRef,
    encoding: Value,
) -> (Vec<String>, Value, Vec<graphlume_types::Notice>) {
    let scene = Case::path(("c", column)).encode("pointColorEncoding", encoding).scene();
    (colors(&scene.node_rgba), scene.legend["node_color"].clone(), scene.notices)
}

#[test]
fn a_list_of_colours_goes_round_for_categories_and_is_a_ramp_for_numbers() {
    let palette = json!(["red", "#00f"]);
    let (got, legend, _) = encoded(
        texts(&["c", "a", "b", "a"]),
        json!({"attribute": "c", "variation": "categorical", "colors": palette}),
    );
    assert_eq!(got, ["#ff0000", "#ff0000", "#0000ff", "#ff0000"]);
    assert_eq!(entries(&legend)[0], ("a".into(), 2));
    let (got, legend, _) = encoded(
        ints(&[0, 50, 100, 25]),
        json!({"attribute": "c", "variation": "continuous", "colors": ["black", "white"]}),
    );
    assert_eq!(got, ["#000000", "#808080", "#ffffff", "#404040"]);
    assert_eq!(legend["stops"][1], json!({"at": 1.0, "color": "#ffffff"}));
    let (got, ..) =
        encoded(texts(&["x", "x", "y", "y"]), json!({"attribute": "c", "colors": "Set1"}));
    assert_eq!((got[0].as_str(), got[2].as_str()), ("#e41a1c", "#377eb8"));
}

#[test]
fn mappings_colour_by_value_and_by_bin() {
    let fixed = json!({"categorical": {"fixed": {"1": "red", "2": "blue"}, "other": "gray"}});
    let (got, legend, _) = encoded(
        ints(&[1, 2, 3, 1]),
        json!({"attribute": "c", "variation": "categorical", "mapping": fixed}),
    );
    assert_eq!(got, ["#ff0000", "#0000ff", "#808080", "#ff0000"]);
    assert_eq!(entries(&legend), [("1".into(), 2), ("2".into(), 1), ("other".into(), 1)]);
    let bins = json!({"continuous": {"bins": [[2, "red"], [null, "blue"]]}});
    let (got, ..) = encoded(ints(&[1, 2, 3, 1]), json!({"attribute": "c", "mapping": bins}));
    assert_eq!(got, ["#ff0000", "#0000ff", "#0000ff", "#ff0000"]);
}

#[test]
fn a_bad_encoding_gives_way_to_the_next_best() {
    let column = || texts(&["red", "red", "blue", "blue"]);
    for bad in [
        json!({"attribute": "c"}),
        json!({"attribute": "nope", "colors": ["red"]}),
        json!({"colors": ["red"]}),
        json!({"attribute": "c", "colors": []}),
        json!({"attribute": "c", "colors": ["no colour"]}),
        json!({"attribute": "c", "colors": 7}),
        json!({"attribute": "c", "variation": "continuous", "colors": ["red", "blue"]}),
        json!({"attribute": "c", "mapping": {"fixed": {"red": {}}}}),
        json!({"attribute": "c", "mapping": {"bins": [[1, "red"]]}}),
        json!({"attribute": "c", "mapping": "red"}),
    ] {
        let case = Case::path(("c", column())).bind(json!({"node_color": "c"}), json!({}));
        let scene = case.encode("pointColorEncoding", bad.clone()).scene();
        assert_eq!(colors(&scene.node_rgba), ["#ff0000", "#ff0000", "#0000ff", "#0000ff"], "{bad}");
        assert_eq!(scene.notices.len(), 1, "{bad}: {:?}", scene.notices);
    }
}

#[test]
fn what_shows_now_wins_over_the_default_and_a_reset_goes_back_to_it() {
    let constant = |color: &str| json!({"attribute": "id", "colors": [color]});
    let mut case = Case::path(("c", texts(&["", "", "", ""])));
    case.enc.node["complex"] = json!({"default": {"pointColorEncoding": constant("red")}});
    assert_eq!(colors(&case.scene().node_rgba)[0], "#ff0000");
    let mut case = case.encode("pointColorEncoding", constant("blue"));
    assert_eq!(colors(&case.scene().node_rgba)[0], "#0000ff");
    case = case.encode("pointColorEncoding", json!({"reset": true}));
    assert_eq!(colors(&case.scene().node_rgba)[0], "#ff0000");
}

#[test]
fn edges_have_colours_of_their_own_by_position_of_the_adjacency() {
    // Rows are not in the order of the adjacency.
    let edges: (&[i64], &[i64]) = (&[3, 1, 2], &[1, 2, 3]);
    let case = Case::new(edges, &[("k", texts(&["red", "lime", "blue"]))], &[]);
    let case = case.bind(json!({}), json!({"edge_color": "k"}));
    let scene = case.scene();
    let by_row = ["#ff0000", "#00ff00", "#0000ff"];
    let got = colors(&scene.edge_rgba.unwrap());
    for pos in 0..3 {
        assert_eq!(got[pos as usize], by_row[case.graph.topology.edge(pos).2 as usize]);
    }
    assert_eq!(entries(&scene.legend["edge_color"]).len(), 3);
    let ends =
        case.bind(json!({}), json!({"edge_source_color": "k", "edge_destination_color": "k"}));
    assert_eq!(colors(&ends.scene().edge_rgba.unwrap()), [got.clone(), got].concat());
}

#[test]
fn an_edge_has_the_colours_bound_to_its_two_ends() {
    let edges: (&[i64], &[i64]) = (&[3, 1, 2], &[1, 2, 3]);
    let columns =
        [("a", texts(&["red", "lime", "blue"])), ("b", texts(&["white", "lime", "black"]))];
    let case = Case::new(edges, &columns, &[]);
    let ends = json!({"edge_source_color": "a", "edge_destination_color": "b"});
    let scene = case.bind(json!({}), ends).scene();
    let got = colors(&scene.edge_rgba.unwrap());
    // Nodes are numbered as they come, so the edge of 3 is the first of the adjacency.
    assert_eq!(got[..3], ["#ff0000", "#00ff00", "#0000ff"]);
    assert_eq!(got[3..], ["#ffffff", "#00ff00", "#000000"]);
    let legend = &scene.legend["edge_color"];
    assert_eq!(legend["title"], "a → b");
    let counts = entries(legend).iter().map(|(_, count)| count).sum::<u64>();
    assert_eq!((entries(legend).len(), counts), (5, 6), "lime is at both ends: {legend}");
    assert!(scene.notices.is_empty(), "{:?}", scene.notices);
}

/// Indices of the nodes whose colour was chosen, and which entries of the legend say so.
fn chosen(scene: &Scene) -> (Vec<u32>, Vec<bool>) {
    let entries = scene.legend["node_color"]["entries"].as_array().unwrap();
    (scene.node_chosen.iter().collect(), entries.iter().map(|e| e["chosen"] == true).collect())
}

#[test]
fn built_in_hues_that_somebody_chose_are_told_from_those_that_stand_for_nothing_chosen() {
    let kinds = || texts(&["a", "b", "a", "c"]);
    // Nobody chose the hues of categories.
    let plain = Case::path(("k", kinds())).bind(json!({"node_color": "k"}), json!({})).scene();
    assert_eq!(chosen(&plain), (vec![], vec![false; 3]));
    assert_eq!(colors(&plain.node_rgba)[0], "#6db9fc");
    // A mapping may name one of them, and a colour of its own; what it leaves out has none of either.
    let encoding = json!({"graphType": "point", "encodingType": "color", "attribute": "k",
        "mapping": {"categorical": {"fixed": {"a": "#6db9fc", "b": "#123456"}}}});
    let mapped = Case::path(("k", kinds())).encode("pointColorEncoding", encoding).scene();
    assert_eq!(chosen(&mapped).0, [0, 2]);
    assert_eq!(chosen(&mapped).1, [true, false, false]);
    // So may texts that are colours, packed numbers, and the stops of a gradient.
    let literal = texts(&["#fdd141", "red", "#FDD141", "#6b7589"]);
    let literal = Case::path(("k", literal)).bind(json!({"node_color": "k"}), json!({})).scene();
    assert_eq!(chosen(&literal).0, [0, 2, 3]);
    let packed = ints(&[0x6DB9_FC00, 0xFF00_0000, 0x6DB9_FC00, 0xFF00_0000]);
    let packed = Case::path(("k", packed)).bind(json!({"node_color": "k"}), json!({})).scene();
    assert_eq!(chosen(&packed).0, [0, 2]);
    let encoding = json!({"graphType": "point", "encodingType": "color", "attribute": "k",
        "variation": "continuous", "colors": ["#000000", "#6db9fc"]});
    let ramp =
        Case::path(("k", ints(&[1, 2, 3, 4]))).encode("pointColorEncoding", encoding).scene();
    assert_eq!(ramp.node_chosen.iter().collect::<Vec<_>>(), [3]);
}
