//! Icons, badges, axes, maps, and widths by weight.

use arrow_array::Float64Array;
use graphlume_types::Notice;

use super::*;
use crate::wire::{Axis, Decoded, Stamp, decode, encode_icons};
use crate::{Anchor, IconLayer};

fn floats(v: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(v.to_vec()))
}

fn icons(column: ArrayRef, encoding: Value) -> (Vec<IconLayer>, Vec<Notice>) {
    let case = Case::path(("k", column)).encode("pointIconEncoding", encoding);
    let scene = case.scene();
    (scene.icons, scene.notices)
}

/// What every element shows; null for nothing.
fn shown(layer: &IconLayer) -> Vec<Value> {
    let list = layer.look["list"].as_array().unwrap();
    let of = |s: &u16| s.checked_sub(1).map_or(Value::Null, |at| list[usize::from(at)].clone());
    layer.shown.iter().map(of).collect()
}

#[test]
fn a_bound_column_names_glyphs_flags_and_pictures() {
    let column = texts(&["fa-user", "DE", "data:image/png;base64,AA==", "nobody"]);
    let scene = Case::path(("k", column)).bind(json!({"node_icon": "k"}), json!({})).scene();
    let [layer] = scene.icons.as_slice() else { panic!("{:?}", scene.icons) };
    assert_eq!((layer.axis, layer.place), (Axis::Node, Anchor::Icon));
    assert_eq!(
        shown(layer),
        [
            json!({"glyph": "\u{f007}"}),
            json!({"flag": "de"}),
            json!({"image": "data:image/png;base64,AA=="}),
            Value::Null
        ]
    );
    let said: Vec<&str> = scene.notices.iter().map(|n| n.text.as_ref()).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("1 nodes have no icon: in column \"k\", \"nobody\" names no icon"),
        "{said:?}"
    );
    assert_eq!(scene.legend["node_icon"]["title"], "k");
}

/// The scene with a channel of the document over what the dataset binds.
fn changed(column: ArrayRef, channel: &str) -> crate::Scene {
    let mut case = Case::path(("k", column));
    let others = json!({channel: {"attribute": "k", "variation": "categorical"}});
    case = case.bind(json!({}), json!({}));
    case.enc = case.enc.changed(others.as_object().unwrap());
    case.scene()
}

#[test]
fn a_column_chosen_for_icons_shows_what_its_values_name_or_else_shapes() {
    let named = changed(texts(&["user", "bank", "user", "what"]), "node.icon");
    let user = json!({"glyph": "\u{f007}"});
    assert_eq!(shown(&named.icons[0])[0], user, "most values name icons");
    assert_eq!(shown(&named.icons[0])[3], Value::Null);

    let shapes = changed(texts(&["x1", "x2", "x2", "x3"]), "node.icon");
    let got = shown(&shapes.icons[0]);
    assert!(got.iter().all(|g| g["glyph"].is_string()), "{got:?}");
    assert_eq!(got[1], json!({"glyph": "\u{f111}"}), "the most frequent value is a circle");
    assert_eq!(got[1], got[2]);
    assert!(got[0] != got[1] && got[3] != got[1] && got[0] != got[3], "{got:?}");
    assert!(shapes.notices.is_empty(), "{:?}", shapes.notices);
    assert_eq!(shapes.legend["node_icon"]["title"], "k");
}

#[test]
fn more_values_than_shapes_leave_the_rare_ones_without_an_icon_and_say_so() {
    let n = 20;
    let names: Vec<String> = (0..n).map(|v| format!("x{}", v.max(1))).collect();
    let column = texts(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let ids: Vec<i64> = (0..n).collect();
    let ends = (&ids[1..], &ids[..ids.len() - 1]);
    let mut case = Case::new(ends, &[], &[("id", ints(&ids)), ("k", column)]);
    case = case.bind(json!({}), json!({}));
    let others = json!({"node.icon": {"attribute": "k"}});
    case = case.bind(json!({}), json!({}));
    case.enc = case.enc.changed(others.as_object().unwrap());
    let scene = case.scene();
    let without = shown(&scene.icons[0]).iter().filter(|s| s.is_null()).count();
    assert_eq!(without, 7, "19 values, 12 shapes");
    assert!(scene.notices[0].text.starts_with("7 nodes have no icon"), "{:?}", scene.notices);
}

#[test]
fn a_column_chosen_for_opacities_fades_the_nodes() {
    let scene = changed(floats(&[0.0, 1.0, 0.5, 1.0]), "node.opacity");
    let alpha: Vec<u8> = scene.node_rgba.iter().map(|c| c[3]).collect();
    assert!(alpha[0] < alpha[2] && alpha[2] < alpha[1] && alpha[1] == alpha[3], "{alpha:?}");
    assert_eq!(scene.legend["node_opacity"]["title"], "k");
}

#[test]
fn names_of_two_capitals_are_countries_and_in_small_letters_icons() {
    let column = texts(&["TV", "tv", "at", "CHE"]);
    let (layers, notices) = icons(column, json!({"attribute": "k"}));
    assert!(notices.is_empty(), "{notices:?}");
    let want = [
        json!({"flag": "tv"}),
        json!({"glyph": "\u{f26c}"}),
        json!({"glyph": "\u{f1fa}"}),
        json!({"flag": "ch"}),
    ];
    assert_eq!(shown(&layers[0]), want);
}

#[test]
fn mappings_and_bins_choose_icons_and_texts() {
    let mapping =
        json!({"categorical": {"fixed": {"a": "laptop", "b": ""}, "other": "fa-question"}});
    let (layers, notices) =
        icons(texts(&["a", "b", "c", "a"]), json!({"attribute": "k", "mapping": mapping}));
    assert!(notices.is_empty(), "{notices:?}");
    let [a, b, c, d] = <[Value; 4]>::try_from(shown(&layers[0])).unwrap();
    assert_eq!(
        (a["glyph"].as_str(), b, c["glyph"].as_str()),
        (Some("\u{f109}"), Value::Null, Some("\u{f128}"))
    );
    assert_eq!(a, d);
    let bins = json!({"continuous": {"bins": [[5, "low"], [null, "a word that is long"]], "comparator": "<="}});
    let encoding = json!({"attribute": "k", "asText": true, "mapping": bins});
    let (layers, _) = icons(floats(&[5.0, 5.5, f64::NAN, 1.0]), encoding);
    let texts: Vec<Value> = shown(&layers[0]).iter().map(|e| e["text"].clone()).collect();
    assert_eq!(texts, [json!("low"), json!("a word that …"), Value::Null, json!("low")]);
}

#[test]
fn what_all_icons_share_is_read_and_nonsense_left_out() {
    let encoding = json!({
        "attribute": "k", "shape": "none", "blendMode": "multiply",
        "style": {"opacity": 0.5, "grayscale": "x", "url": 3},
        "border": {"width": 900, "color": "red", "stroke": "dashed"},
    });
    let (layers, _) = icons(texts(&["user", "user", "user", "user"]), encoding);
    let look = &layers[0].look;
    assert_eq!(look["shape"], "none");
    assert_eq!(look["blend"], "multiply");
    assert_eq!(look["style"], json!({"opacity": 0.5}));
    assert_eq!(look["border"], json!({"width": 20.0, "stroke": "dashed"}));
    assert_eq!(look["list"], json!([{"glyph": "\u{f007}", "border_color": "#ff0000"}]));
    let wild =
        json!({"attribute": "k", "shape": 3, "blendMode": "url(x)", "border": "3px", "style": []});
    let (layers, _) = icons(texts(&["user"; 4]), wild);
    assert_eq!(layers[0].look, json!({"title": "k", "list": [{"glyph": "\u{f007}"}]}));
}

#[test]
fn badges_have_a_side_and_colours_of_another_column() {
    let nodes = [
        ("id", ints(&[1, 2, 3, 4])),
        ("k", texts(&["a", "b", "a", "b"])),
        ("w", floats(&[0.0, 9.0, 9.0, 0.0])),
    ];
    let case = Case::new((&[1, 2, 3], &[2, 3, 4]), &[], &nodes);
    let background = json!({"attribute": "w", "variation": "continuous",
        "mapping": {"continuous": {"bins": [[5, "green"], [null, "red"]]}}});
    let encoding = json!({
        "attribute": "k", "color": "#fff", "bg": {"color": background},
        "mapping": {"categorical": {"fixed": {"a": "bug"}}},
    });
    let case = case.encode("pointBadgeBottomLeftEncoding", encoding);
    let scene = case.scene();
    assert!(scene.notices.is_empty(), "{:?}", scene.notices);
    let layer = &scene.icons[0];
    assert_eq!(layer.place, Anchor::BottomLeft);
    let bug = |bg: &str| json!({"glyph": "\u{f188}", "color": "#ffffff", "bg": bg});
    let bare = |bg: &str| json!({"color": "#ffffff", "bg": bg});
    assert_eq!(shown(layer), [bug("#008000"), bare("#ff0000"), bug("#ff0000"), bare("#008000")]);
}

#[test]
fn the_lesser_dimension_bounds_a_badge_and_nonsense_is_left_out() {
    let max = |dimensions: Value| {
        let badge = json!({"attribute": "k", "dimensions": dimensions,
            "mapping": {"categorical": {"fixed": {"a": "user"}}}});
        let case = Case::path(("k", texts(&["a"; 4]))).encode("pointBadgeTopEncoding", badge);
        case.scene().icons[0].look.get("max").cloned()
    };
    assert_eq!(max(json!({"maxHeight": 12, "maxWidth": 8})), Some(json!(8.0)));
    assert_eq!(max(json!({"maxHeight": 12})), Some(json!(12.0)));
    for nonsense in [json!(null), json!(3), json!({"maxWidth": "wide", "maxHeight": -4})] {
        assert_eq!(max(nonsense), None);
    }
}

#[test]
fn every_place_of_a_badge_is_read_and_the_cover_is_drawn_first() {
    let mut case = Case::path(("k", texts(&["bug"; 4])));
    let places = [
        "Top",
        "TopRight",
        "Right",
        "BottomRight",
        "Bottom",
        "BottomLeft",
        "Left",
        "TopLeft",
        "Cover",
    ];
    for place in places {
        case = case.encode(&format!("pointBadge{place}Encoding"), json!({"attribute": "k"}));
    }
    let scene = case.encode("pointIconEncoding", json!({"attribute": "k"})).scene();
    assert!(scene.notices.is_empty(), "{:?}", scene.notices);
    let found: Vec<u8> = scene.icons.iter().map(|l| l.place as u8).collect();
    assert_eq!(found, [9, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    for byte in found {
        assert_eq!(Anchor::of_byte(byte).map(|p| p as u8), Some(byte));
    }
    assert_eq!(Anchor::of_byte(10), None);
}

#[test]
fn edges_have_icons_by_position_and_columns_that_are_missing_are_named() {
    let case = Case::new((&[3, 1, 2], &[4, 2, 3]), &[("k", texts(&["bug", "car", "bus"]))], &[]);
    let scene = case.encode("edgeIconEncoding", json!({"attribute": "k"})).scene();
    // Edges lie by their source: 3 is the first node that is named.
    assert_eq!(scene.icons[0].axis, Axis::Edge);
    assert_eq!(scene.icons[0].shown.len(), 3);
    let of: Vec<Value> = shown(&scene.icons[0]).iter().map(|e| e["glyph"].clone()).collect();
    let rows = case_rows(&[3, 1, 2], &[4, 2, 3]);
    let want = ["\u{f188}", "\u{f1b9}", "\u{f207}"];
    assert_eq!(of, rows.iter().map(|r| json!(want[*r as usize])).collect::<Vec<_>>());
    let (layers, notices) = icons(texts(&["bug"; 4]), json!({"attribute": "nope"}));
    assert!(layers.is_empty());
    assert!(notices[0].text.contains("\"nope\""), "{notices:?}");
    let (layers, notices) =
        icons(texts(&["bug"; 4]), json!({"attribute": "k", "mapping": {"bins": [[1, "bug"]]}}));
    assert!(layers.is_empty());
    assert!(notices[0].text.contains("bins need a column of numbers"), "{notices:?}");
}

/// The table rows of edges by position.
fn case_rows(src: &[i64], dst: &[i64]) -> Vec<u32> {
    Case::new((src, dst), &[], &[]).graph.topology.out_row().to_vec()
}

#[test]
fn of_too_many_kinds_the_most_frequent_are_kept_and_the_rest_is_counted() {
    let n = crate::icons::ENTRIES_MAX as i64 + 10;
    let ids: Vec<i64> = (0..n).collect();
    // The last value is twice there.
    let words: Vec<String> = ids.iter().map(|i| format!("w{}", (i % (n - 1)).abs())).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let case = Case::new(
        (&ids[1..], &ids[..n as usize - 1]),
        &[],
        &[("id", ints(&ids)), ("k", texts(&words))],
    );
    let scene = case.encode("pointIconEncoding", json!({"attribute": "k", "asText": true})).scene();
    let layer = &scene.icons[0];
    assert_eq!(layer.look["list"].as_array().unwrap().len(), crate::icons::ENTRIES_MAX);
    assert_eq!(layer.shown.iter().filter(|s| **s == 0).count(), 9);
    assert_eq!((layer.shown[0], layer.shown[n as usize - 1]), (1, 1));
    assert!(scene.notices[0].text.contains("9 elements have none"), "{:?}", scene.notices);
}

#[test]
fn pictures_that_are_too_long_or_of_another_scheme_are_refused_by_name() {
    let long = format!("data:image/png;base64,{}", "A".repeat(1 << 17));
    let column =
        texts(&[&long, "javascript:alert(1)", "https://example.org/a.png", "data:text/html,x"]);
    let (layers, notices) = icons(column, json!({"attribute": "k"}));
    let of: Vec<bool> = shown(&layers[0]).iter().map(Value::is_null).collect();
    assert_eq!(of, [true, true, false, true]);
    let said: Vec<&str> = notices.iter().map(|n| n.text.as_ref()).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("longer than 128 KiB") && said[0].len() < 300, "{said:?}");
    assert!(said[1].contains("\"javascript:alert(1)\"") && said[1].contains("no http"), "{said:?}");
}

#[test]
fn icons_come_back_from_the_wire_and_broken_frames_are_errors() {
    let (layers, _) = icons(texts(&["user", "bug", "user", ""]), json!({"attribute": "k"}));
    let frame = encode_icons(Stamp::default(), &layers[0], &layers[0].shown);
    assert_eq!(decode(&frame).unwrap().payload, Decoded::Icons(layers[0].clone()));
    for cut in 0..frame.len() {
        assert!(decode(&frame[..cut]).is_err(), "{cut} bytes");
    }
    for (at, value) in [(48, 7), (49, 200), (52, 255), (frame.len() - 1, b'x')] {
        let mut wrong = frame.to_vec();
        wrong[at] = value;
        assert!(decode(&wrong).is_err(), "byte {at}");
    }
}

#[test]
fn axis_rows_are_read_and_those_without_a_place_are_named() {
    let rows = json!([
        {"r": 14, "external": true, "label": "outermost"},
        {"r": "12.5", "space": true},
        {"y": -2.0, "internal": true, "label": 7, "width": 99, "bounds": {"min": "40", "max": 400}},
        {"x": 0, "label": "-0.9985089453757765"},
        {"label": "nowhere"}, 5
    ]);
    let case = Case::path(("k", ints(&[1; 4])));
    let axis = json!({"attribute": "degree", "variation": "categorical", "rows": rows});
    let scene = case.encode("pointAxisEncoding", axis).scene();
    assert_eq!(
        scene.underlay["axes"],
        json!([
            {"r": 14.0, "label": "outermost", "kind": "external"},
            {"r": 12.5, "kind": "space"},
            {"y": -2.0, "label": "7", "kind": "internal", "width": 40.0, "min": 40.0, "max": 400.0},
            {"x": 0.0, "label": "-0.9985", "kind": "plain"},
        ])
    );
    let said: Vec<&str> = scene.notices.iter().map(|n| n.text.as_ref()).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].contains("2 of 6 axis rows") && said[0].contains("{\"label\":\"nowhere\"}"),
        "{said:?}"
    );
}

#[test]
fn axes_of_a_document_take_the_place_of_those_of_the_dataset() {
    let case = Case::path(("k", ints(&[1; 4])));
    let mut case = case.encode("pointAxisEncoding", json!({"rows": [{"r": 1}]}));
    let others = json!({"node.axis": {"rows": [{"y": 2}]}});
    case.enc = case.enc.changed(others.as_object().unwrap());
    assert_eq!(case.scene().underlay["axes"], json!([{"y": 2.0, "kind": "plain"}]));
    let others = json!({"node.axis": {"rows": []}});
    case.enc = case.enc.changed(others.as_object().unwrap());
    assert_eq!(case.scene().underlay["axes"], json!([]), "none at all");
}

#[test]
fn axis_rows_of_a_script_are_all_drawn_or_the_first_that_is_not_is_named() {
    let rows = |rows: Value| crate::check_axis_rows(&json!({ "rows": rows }));
    assert_eq!(rows(json!([{"r": -1}, {"x": "2"}, {"y": 0.5, "label": 7}])), Ok(()));
    assert_eq!(rows(json!([])), Ok(()));
    assert_eq!(rows(json!(vec![json!({"r": 1}); crate::AXIS_ROWS_MAX])), Ok(()));
    for (given, told) in [
        (json!([{"r": 1}, {"r": "far"}]), "rows[1] is"),
        (json!([5]), "rows[0] is 5, which has no number in r, x or y; give it one"),
        (json!({"r": 1}), "no list"),
        (json!(vec![json!({"r": 1}); crate::AXIS_ROWS_MAX + 1]), "501 entries; at most 500"),
    ] {
        let said = rows(given).expect_err("refused");
        assert!(said.contains(told), "{said}");
    }
}

/// Four cities as degrees, and as a client with a radius of 637.8137 projects them.
const CITIES: [[f64; 2]; 4] = [[13.4, 52.5], [-74.0, 40.7], [151.2, -33.9], [28.0, -26.2]];

fn cities(with: &[(&str, ArrayRef)], bound: Value) -> Scene {
    let degrees = |k: usize| floats(&CITIES.map(|c| c[k]));
    let mut nodes =
        vec![("id", ints(&[1, 2, 3, 4])), ("longitude", degrees(0)), ("latitude", degrees(1))];
    nodes.extend_from_slice(with);
    Case::new((&[1, 2, 3], &[2, 3, 4]), &[], &nodes).bind(bound, json!({})).scene()
}

#[test]
fn a_map_lies_under_nodes_that_lie_where_their_degrees_say() {
    let radius = 637.8137;
    let x = floats(&CITIES.map(|c| radius * c[0].to_radians()));
    let y = floats(&CITIES.map(|c| radius * c[1].to_radians().tan().asinh()));
    let scene = cities(&[("px", x.clone()), ("py", y)], json!({"node_x": "px", "node_y": "py"}));
    let map = &scene.underlay["map"];
    assert!(
        (map["scale"].as_f64().unwrap() - radius * std::f64::consts::PI / 180.0).abs() < 1e-4,
        "{map}"
    );
    assert!(
        map["x"].as_f64().unwrap().abs() < 1e-3 && map["y"].as_f64().unwrap().abs() < 1e-3,
        "{map}"
    );
    // Places that have nothing to do with the degrees.
    let elsewhere = cities(
        &[("px", x), ("py", floats(&[3.0, 1.0, 4.0, 1.0]))],
        json!({"node_x": "px", "node_y": "py"}),
    );
    assert_eq!(elsewhere.underlay["map"], Value::Null);
}

#[test]
fn degrees_alone_place_the_nodes_on_the_map() {
    for bound in [json!({"node_longitude": "longitude", "node_latitude": "latitude"}), json!({})] {
        let scene = cities(&[], bound.clone());
        let places = scene.positions.unwrap();
        assert!(
            (places[0][0] - 13.4).abs() < 1e-4 && (places[0][1] - 62.0).abs() < 0.5,
            "{places:?}"
        );
        let scale = scene.underlay["map"]["scale"].as_f64().unwrap();
        assert!((scale - 1.0).abs() < 1e-6, "{scale} for {bound}");
        let told = scene.notices.iter().any(|n| n.slug == "positions-from-columns");
        assert_eq!(told, bound == json!({}), "{:?}", scene.notices);
    }
    let nodes = [
        ("id", ints(&[1, 2])),
        ("longitude", floats(&[1e6, 0.0])),
        ("latitude", floats(&[1.0, 2.0])),
    ];
    let scene = Case::new((&[1], &[2]), &[], &nodes).scene();
    assert_eq!(scene.positions, None, "columns of this name that hold no degrees");
}

#[test]
fn edges_are_called_by_their_label_else_their_title_else_their_ends() {
    let nodes = [("id", ints(&[1, 2, 3, 4])), ("n", texts(&["ann", "bob", "cid", ""]))];
    let long = "x".repeat(100);
    let edges = [("l", texts(&["knows", "", &long])), ("t", texts(&["title", "other", "third"]))];
    let case = Case::new((&[1, 2, 3], &[2, 3, 4]), &edges, &nodes);
    let names = |case: &Case| {
        crate::edge_names(&case.graph, case.nodes.as_ref(), &case.edges, &case.enc, &[2, 0, 1, 9])
    };
    let plain = case.bind(json!({"node_title": "n"}), json!({}));
    assert_eq!(names(&plain), ["cid → 4", "ann → bob", "bob → cid", ""]);
    assert!(!plain.scene().edges_named);
    let bound = plain.bind(json!({}), json!({"edge_label": "l", "edge_title": "t"}));
    assert_eq!(
        names(&bound),
        [format!("{}…", "x".repeat(80)), "knows".to_owned(), "other".to_owned(), String::new()]
    );
    assert!(bound.scene().edges_named);
    let missing = bound.bind(json!({}), json!({"edge_label": "nope"})).scene();
    assert!(
        !missing.edges_named && missing.notices[0].text.contains("\"nope\""),
        "{:?}",
        missing.notices
    );
}

#[test]
fn an_edge_is_as_wide_as_its_weight_where_no_size_is_bound() {
    let columns = [("w", floats(&[1.0, 4.0, f64::NAN])), ("s2", floats(&[2.0, 2.0, 1.0]))];
    let case = || Case::new((&[1, 2, 3], &[2, 3, 4]), &columns, &[]);
    let scene = case().bind(json!({}), json!({"edge_weight": "w"})).scene();
    assert_eq!(scene.edge_width, Some(vec![36, 64, 8]));
    assert_eq!(scene.edge_weights, Some(vec![1.0, 4.0, 1.0]));
    assert_eq!(scene.legend["edge_size"]["title"], "w");
    let both = case().bind(json!({}), json!({"edge_weight": "w", "edge_size": "s2"})).scene();
    assert_eq!(both.legend["edge_size"]["title"], "s2");
}

#[test]
fn opacities_have_their_own_entries_in_the_legend() {
    let columns = [("w", floats(&[0.25, 0.5, 1.0]))];
    let case = Case::new(
        (&[1, 2, 3], &[2, 3, 4]),
        &columns,
        &[("id", ints(&[1, 2, 3, 4])), ("o", floats(&[1.0, 50.0, 100.0, 20.0]))],
    );
    let scene = case.bind(json!({"node_opacity": "o"}), json!({"edge_opacity": "w"})).scene();
    assert_eq!(
        scene.legend["node_opacity"],
        json!({"title": "o", "kind": "continuous", "min": 1.0, "max": 100.0, "scale": "linear"})
    );
    assert_eq!(scene.legend["edge_opacity"]["title"], "w");
    assert_eq!(scene.node_rgba[1][3], 128);
}
