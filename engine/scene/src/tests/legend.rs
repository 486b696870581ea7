//! Additions of encodings of the legend, and of icons, to the legend.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array};
use serde_json::{Value, json};

use super::{Case, entries, ints, texts};

/// Five nodes in a path whose `type` is a, a, b, b, b, and whose `n` is 1 to 5; edges have `way`.
fn case() -> Case {
    let n: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0, 4.0, 5.0]));
    let kinds = texts(&["a", "a", "b", "b", "b"]);
    let columns = [("id", ints(&[1, 2, 3, 4, 5])), ("type", kinds), ("n", n)];
    let way = [("way", texts(&["x", "y", "x", "x"]))];
    Case::new((&[1, 2, 3, 4], &[2, 3, 4, 5]), &way, &columns)
}

fn fixed(outcomes: Value, attribute: &str) -> Value {
    json!({"attribute": attribute, "variation": "categorical",
           "mapping": {"categorical": {"fixed": outcomes, "other": null}}})
}

/// The looks of the entries, in their order.
fn looks(block: &Value) -> Vec<Value> {
    let of = |e: &Value| e.get("look").cloned().unwrap_or(Value::Null);
    block["entries"].as_array().unwrap().iter().map(of).collect()
}

fn said(case: &Case) -> Vec<String> {
    case.scene().notices.iter().map(|n| n.text.to_string()).collect()
}

#[test]
fn the_legend_of_the_drawn_colours_takes_the_looks_of_its_encodings() {
    // The column is that which the key says, and the nodes have the colours that they have without.
    let mut color = fixed(json!({"a": "#ff0000", "b": "#00ff00"}), "type");
    color.as_object_mut().unwrap().remove("attribute");
    let case = case()
        .encode("pointLegendTypeColorEncoding", color)
        .encode("pointLegendTypeSizeEncoding", fixed(json!({"a": 10, "b": 5}), "type"))
        .encode("pointLegendTypeOpacityEncoding", fixed(json!({"a": 0.5, "b": 1}), "type"))
        .encode("pointLegendTypeWeightEncoding", fixed(json!({"a": 0, "b": 2}), "type"));
    let (scene, plain) = (case.scene(), self::case().scene());
    assert_eq!((&scene.node_rgba, &scene.node_size), (&plain.node_rgba, &plain.node_size));
    let (drawn, before) = (&scene.legend["node_color"], &plain.legend["node_color"]);
    assert_eq!(entries(drawn), [("b".to_owned(), 3), ("a".to_owned(), 2)]);
    assert_eq!(drawn["entries"][0]["color"], before["entries"][0]["color"]);
    let wanted = [
        json!({"color": "#00ff00", "size": 8.0, "opacity": 1.0, "width": 4.0}),
        json!({"color": "#ff0000", "size": 16.0, "opacity": 0.5, "width": 0.5}),
    ];
    assert_eq!(looks(drawn), wanted);
    assert_eq!(scene.legend.get("blocks"), None, "it does not stand twice");
    assert!(scene.notices.is_empty(), "{:?}", scene.notices);
}

#[test]
fn another_column_has_a_block_of_its_own_with_all_of_its_values() {
    let mut color = fixed(json!({"x": "red"}), "way");
    color["mapping"]["categorical"]["other"] = json!("rgb(0, 0, 255)");
    let case = case().encode("edgeLegendPivotColorEncoding", color);
    let block = &case.scene().legend["blocks"][0];
    assert_eq!((&block["side"], &block["title"]), (&json!("edge"), &json!("way")));
    assert_eq!(entries(block), [("x".to_owned(), 3), ("y".to_owned(), 1)]);
    assert_eq!(looks(block), [json!({"color": "#ff0000"}), json!({"color": "#0000ff"})]);
    assert_eq!(block["entries"][0].get("color"), None, "no edge has it");
}

#[test]
fn bins_are_rows_with_their_ranges_and_gradients_are_ramps() {
    let bins = json!({"attribute": "n", "variation": "continuous", "mapping": {"continuous":
        {"bins": [[3, 4], [null, 8]], "comparator": "<"}}});
    let scene = case().encode("pointLegendTypeSizeEncoding", bins).scene();
    let block = &scene.legend["blocks"][0];
    assert_eq!(entries(block), [("< 3".to_owned(), 2), ("≥ 3".to_owned(), 3)], "in their order");
    assert_eq!(looks(block), [json!({"size": 8.0}), json!({"size": 16.0})]);
    let range = |at: usize| block["entries"][at]["range"].clone();
    assert_eq!((range(0), range(1)), (json!([null, 3.0f64.next_down()]), json!([3.0, null])));

    let ramp = json!({"attribute": "n", "variation": "continuous", "colors": ["black", "white"]});
    let scene = case().encode("pointLegendPivotColorEncoding", ramp).scene();
    let block = &scene.legend["blocks"][0];
    assert_eq!(
        (&block["kind"], &block["min"], &block["max"]),
        (&json!("continuous"), &json!(1.0), &json!(5.0))
    );
    assert_eq!((&block["stops"][1]["color"], &block["entries"]), (&json!("#ffffff"), &json!([])));
    let plain = json!({"attribute": "n", "variation": "continuous"});
    let scene = case().encode("pointLegendTypeOpacityEncoding", plain).scene();
    assert_eq!(scene.legend["blocks"][0]["lines"], json!(["opacity 1–5"]));
}

#[test]
fn icons_and_badges_stand_in_the_rows_and_axes_below_them() {
    let badge = fixed(json!({"b": "DE"}), "type");
    let axis = json!({"attribute": "degree", "rows": [{"r": 1, "label": "inner"}, {"r": 2}, {"r": 3, "label": "outer"}]});
    let case = case()
        .encode("pointLegendTypeIconEncoding", fixed(json!({"a": "user", "b": "bug"}), "type"))
        .encode("pointLegendTypeBadgeTopRightEncoding", badge)
        .encode("pointLegendTypeAxisEncoding", axis);
    let scene = case.scene();
    assert!(scene.icons.is_empty(), "the nodes have none");
    let drawn = &scene.legend["node_color"];
    let (icons, badges) = (&drawn["signs"][0], &drawn["signs"][1]);
    assert_eq!((&icons["place"], &badges["place"]), (&json!(0), &json!(2)));
    let rows: Vec<&Value> =
        drawn["entries"].as_array().unwrap().iter().map(|e| &e["signs"]).collect();
    assert_eq!(rows, [&json!([1, 1]), &json!([2, 0])], "b, then a");
    assert_eq!(icons["list"], json!([{"glyph": "\u{f188}"}, {"glyph": "\u{f007}"}]));
    assert_eq!(badges["list"], json!([{"flag": "de"}]));
    let block = &scene.legend["blocks"][0];
    assert_eq!((&block["title"], &block["lines"]), (&json!("degree"), &json!(["inner", "outer"])));
}

#[test]
fn drawn_icons_have_rows_and_join_those_of_their_column() {
    let icon = |of| fixed(json!({"a": "user", "b": "bug", "x": "car"}), of);
    let scene = case()
        .encode("pointIconEncoding", icon("type"))
        .encode("edgeIconEncoding", icon("way"))
        .scene();
    assert_eq!(scene.legend["node_icon"], json!({"title": "type", "kind": "categorical"}));
    assert_eq!(scene.legend["node_color"]["entries"][1]["signs"], json!([2]));
    let block = &scene.legend["blocks"][0];
    assert_eq!((&block["side"], &block["title"]), (&json!("edge"), &json!("way")));
    assert_eq!(
        (&block["entries"][0]["signs"], &block["entries"][1]["signs"]),
        (&json!([1]), &json!([0]))
    );
    assert_eq!(block["signs"][0]["list"], json!([{"glyph": "\u{f1b9}"}]));
    // A legend of icons says how they are shown there.
    let scene = case()
        .encode("pointIconEncoding", icon("type"))
        .encode("pointLegendTypeIconEncoding", fixed(json!({"a": "star"}), "type"))
        .scene();
    let signs = &scene.legend["node_color"]["signs"];
    assert_eq!(
        (signs.as_array().map(Vec::len), &signs[0]["list"]),
        (Some(1), &json!([{"glyph": "\u{f005}"}]))
    );
}

#[test]
fn what_cannot_be_read_is_named_and_the_next_best_is_taken() {
    let case = case()
        .encode("pointLegendTypeColorEncoding", fixed(json!({"a": "no colour"}), "type"))
        .encode("pointLegendColorEncoding", json!({"variation": "categorical"}))
        .encode("pointLegendPivotSizeEncoding", fixed(json!({}), "nothing"))
        .encode("pointLegendTypeKeplerEncoding", json!({}))
        .encode("pointLegendTypeGlowEncoding", json!({}))
        .encode("edgeLegendTypeAxisEncoding", json!({"rows": 3}));
    let said = said(&case);
    for part in [
        "the node LegendTypeColor encoding of column \"type\" is ignored: one of its outcomes is no CSS colour",
        "node LegendColor encoding names no attribute",
        "column \"nothing\", which the node table does not have",
        "pointLegendTypeKeplerEncoding is kept with the dataset and not drawn: the layers of Kepler's maps are drawn",
        "pointLegendTypeGlowEncoding is kept with the dataset and not drawn: this kind",
        "the axis encoding has no list of rows",
    ] {
        assert!(said.iter().any(|text| text.contains(part)), "{part}: {said:?}");
    }
    let mut fallback = case;
    fallback.enc.node["complex"]["default"] =
        json!({"pointLegendTypeColorEncoding": fixed(json!({"a": "#123456"}), "type")});
    assert_eq!(looks(&fallback.scene().legend["node_color"])[1]["color"], "#123456");
}

#[test]
fn of_many_values_the_most_frequent_are_rows_or_what_a_mapping_makes_of_them() {
    let ids: Vec<i64> = (0..100).collect();
    let names: Vec<String> = ids.iter().map(|i| format!("v{}", i % 60)).collect();
    let names = texts(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let columns = [("id", ints(&ids)), ("k", names)];
    let case = || Case::new((&ids[1..], &ids[..99]), &[], &columns);
    let colors = json!({"attribute": "k", "variation": "categorical", "colors": ["red", "blue"]});
    let scene = case().encode("pointLegendTypeColorEncoding", colors).scene();
    let block = &scene.legend["blocks"][0];
    assert_eq!((entries(block).len(), &block["more"]), (24, &json!(36)));
    let mut mapped = fixed(json!({"v59": "red"}), "k");
    mapped["mapping"]["categorical"]["other"] = json!("blue");
    let scene = case().encode("pointLegendTypeColorEncoding", mapped).scene();
    let block = &scene.legend["blocks"][0];
    assert_eq!(entries(block), [("other".to_owned(), 99), ("v59".to_owned(), 1)]);
    // A picture that is written out in its address would be sent with every legend.
    let large = format!("data:image/png;base64,{}", "A".repeat(9_000));
    let scene =
        case().encode("pointIconEncoding", fixed(json!({"v1": large, "v2": "car"}), "k")).scene();
    assert_eq!(scene.legend["blocks"][0]["signs"][0]["list"], json!([{"glyph": "\u{f1b9}"}]));
}
