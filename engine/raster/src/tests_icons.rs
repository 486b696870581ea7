#![allow(clippy::unwrap_used)]

use graphlume_scene::wire::Axis;
use graphlume_scene::{Anchor, IconLayer};
use graphlume_types::CancelToken;
use serde_json::{Value, json};

use super::*;
use crate::tests::NOTHING;

const BLUE: [u8; 4] = [109, 185, 252, 255];
/// One node of 60 pixels across in the middle of 200, joined to one far on its right.
const SIDE: usize = 200;
const DISC: f32 = 30.0;

fn layer(axis: Axis, place: Anchor, shown: Vec<u16>, look: Value) -> IconLayer {
    IconLayer { axis, place, shown, look }
}

fn drawing<'a>(icons: &'a [IconLayer], positions: &'a [[f32; 2]]) -> Drawing<'a> {
    Drawing {
        positions,
        node_rgba: &[BLUE, BLUE],
        node_size: &[240, 240],
        ends: &[[0, 1]],
        is_given: true,
        sizes_bound: true,
        icons,
        ..NOTHING
    }
}

fn settings() -> Settings {
    let window = Some(Window { left: -100.0, right: 100.0, top: 100.0, bottom: -100.0 });
    // The screen of this size makes diameters smaller, which this undoes.
    let point_size = 1.0 / graphlume_scene::drawn::screen_scale([SIDE as f64; 2]);
    let look = Look { arrows: Some(false), point_size, ..Look::default() };
    let background = Background::Color([20, 20, 20]);
    Settings {
        width: 200,
        height: 200,
        window,
        zoom: Some(1.0),
        look,
        background,
        ..Settings::default()
    }
}

fn drawn(icons: &[IconLayer]) -> Vec<[u8; 4]> {
    let bytes =
        pixels(&drawing(icons, &[[0.0, 0.0], [500.0, 0.0]]), &settings(), &CancelToken::new());
    bytes.unwrap().as_chunks::<4>().0.to_vec()
}

fn count(pixels: &[[u8; 4]], color: [u8; 3]) -> usize {
    pixels.iter().filter(|p| p[..3] == color).count()
}

/// The middle of all pixels of a colour.
fn middle(pixels: &[[u8; 4]], color: [u8; 3]) -> [f32; 2] {
    let all: Vec<usize> = (0..pixels.len()).filter(|i| pixels[*i][..3] == color).collect();
    let mean = |of: fn(usize) -> usize| {
        all.iter().map(|i| of(*i) as f32 + 0.5).sum::<f32>() / all.len().max(1) as f32
    };
    [mean(|i| i % SIDE), mean(|i| i / SIDE)]
}

#[test]
fn a_glyph_a_flag_and_a_text_stand_in_the_middle_of_their_disc() {
    // The disc is a little less than its size on the wire from 32 pixels on.
    let wide = count(&drawn(&[]), [109, 185, 252]) as f32;
    assert!(
        (40.0..DISC * 2.0).contains(&(wide / std::f32::consts::PI).sqrt().mul_add(2.0, 0.0)),
        "{wide}"
    );
    for entry in
        [json!({"glyph": "\u{f111}", "color": "#ff0000"}), json!({"text": "H", "color": "#ff0000"})]
    {
        let look = json!({"list": [entry]});
        let found = drawn(&[layer(Axis::Node, Anchor::Icon, vec![1, 0], look)]);
        let [x, y] = middle(&found, [255, 0, 0]);
        assert!(count(&found, [255, 0, 0]) > 60, "{entry}");
        assert!((x - 100.0).abs() < 1.0 && (y - 100.0).abs() < 1.0, "{entry} at {x} {y}");
    }
    let look = json!({"list": [{"flag": "de"}]});
    let found = drawn(&[layer(Axis::Node, Anchor::Icon, vec![1, 0], look)]);
    let bands =
        [[51, 51, 51], [216, 0, 39], [255, 218, 68]].map(|c| (count(&found, c), middle(&found, c)));
    assert!(bands.iter().all(|b| b.0 > 200 && (b.1[0] - 100.0).abs() < 1.5), "{bands:?}");
    assert!(bands[0].1[1] < bands[1].1[1] && bands[1].1[1] < bands[2].1[1], "{bands:?}");
    assert_eq!(
        found[100 * SIDE + 160][0..3],
        drawn(&[])[100 * SIDE + 160][0..3],
        "cut to its disc"
    );
    // Without a colour of its own the ink is what can be read on the disc.
    let look = json!({"list": [{"glyph": "\u{f111}"}]});
    let found = drawn(&[layer(Axis::Node, Anchor::Icon, vec![1, 0], look)]);
    assert!(count(&found, [16, 19, 26]) > 200);
}

#[test]
fn badges_sit_on_the_rim_on_plates_and_borders_lie_around() {
    let look =
        |color: &str| json!({"list": [{"glyph": "\u{f111}", "color": color, "bg": "#ffffff"}]});
    let places = [
        (Anchor::Top, [0.0, -1.0]),
        (Anchor::Right, [1.0, 0.0]),
        (Anchor::BottomLeft, [-0.71, 0.71]),
    ];
    for (place, side) in places {
        let found = drawn(&[layer(Axis::Node, place, vec![1, 0], look("#ff0000"))]);
        let [x, y] = middle(&found, [255, 0, 0]);
        let off = [x - 100.0, y - 100.0];
        let far = off[0].hypot(off[1]);
        assert!((20.0..32.0).contains(&far), "{place:?} is {far} pixels off");
        assert!((0..2).all(|c| (off[c] / far - side[c]).abs() < 0.06), "{place:?} at {off:?}");
        assert!(count(&found, [255, 255, 255]) > 60, "no plate");
    }
    let bordered = |stroke: &str| {
        let look = json!({"border": {"width": 6, "stroke": stroke}, "list": [{"text": "", "bg": "#ffffff", "border_color": "#00ff00"}]});
        count(&drawn(&[layer(Axis::Node, Anchor::Icon, vec![1, 0], look)]), [0, 255, 0])
    };
    let [solid, dashed, double, none] = ["solid", "dashed", "double", "none"].map(bordered);
    assert!(solid > 500 && none == 0, "{solid} {none}");
    assert!(dashed > solid / 4 && dashed < solid * 2 / 3, "{dashed} of {solid}");
    assert!(double > solid / 5 && double < solid * 3 / 4, "{double} of {solid}");
}

#[test]
fn signs_are_mixed_with_their_discs_as_css_mixes_colours() {
    let look = json!({"blend": "multiply", "list": [{"glyph": "\u{f111}", "color": "#ff0000", "bg": "#808080"}]});
    let found = drawn(&[layer(Axis::Node, Anchor::Icon, vec![1, 0], look)]);
    assert!(count(&found, [128, 0, 0]) > 200);
    let look =
        json!({"style": {"grayscale": 1}, "list": [{"glyph": "\u{f111}", "color": "#ff0000"}]});
    let found = drawn(&[layer(Axis::Node, Anchor::Icon, vec![1, 0], look)]);
    assert!(count(&found, [54, 54, 54]) > 200);
    // A picture by its address is nowhere asked for.
    let look = json!({"list": [{"image": "https://elsewhere.example/a.png"}]});
    assert!(drawn(&[layer(Axis::Node, Anchor::Icon, vec![1, 0], look)]) == drawn(&[]));
}

#[test]
fn icons_of_edges_stand_on_the_middle_of_their_line() {
    let look = json!({"list": [{"glyph": "\u{f111}", "color": "#ff0000"}]});
    let icons = [layer(Axis::Edge, Anchor::Icon, vec![1], look)];
    let at = [[-80.0, 0.0], [80.0, 40.0]];
    let bytes = pixels(&drawing(&icons, &at), &settings(), &CancelToken::new()).unwrap();
    let [x, y] = middle(bytes.as_chunks::<4>().0, [255, 0, 0]);
    assert!((x - 100.0).abs() < 1.0 && (y - 80.0).abs() < 1.0, "{x} {y}");
}

#[test]
fn icons_are_outlines_in_files_of_shapes_and_the_same_in_any_bands() {
    let look = json!({"list": [{"flag": "de"}, {"glyph": "\u{f111}"}]});
    let icons = [layer(Axis::Node, Anchor::Icon, vec![1, 2], look)];
    let drawing = drawing(&icons, &[[-50.0, 0.0], [50.0, 0.0]]);
    let text = String::from_utf8(svg(&drawing, &settings(), &CancelToken::new()).unwrap()).unwrap();
    assert_eq!(text.matches("<clipPath").count(), 1);
    assert_eq!(text.matches("clip-path=\"url(#disc1)\"").count(), 3, "{text}");
    assert_eq!(text.matches("<path").count(), 1 + 3 + 1, "an edge, a flag and a glyph: {text}");
    assert!(pdf(&drawing, &settings(), &CancelToken::new()).unwrap().starts_with(b"%PDF"));
    // Twice the pixels show the same shapes.
    let double = Settings { scale: 2.0, ..settings() };
    let [one, two] = [settings(), double]
        .map(|s| pixels(&drawing, &s, &CancelToken::new()).unwrap().as_chunks::<4>().0.to_vec());
    let [few, many] = [&one, &two].map(|p| count(p, [216, 0, 39]) as f32);
    assert!((many / few - 4.0).abs() < 0.5, "{few} {many}");
}

#[test]
fn a_badge_is_no_larger_than_its_dimensions_say() {
    let badge = |max: Option<f32>| {
        let look = json!({"title": "k", "max": max, "list": [{"bg": "#ff0000"}]});
        let of = |place| {
            count(&drawn(&[layer(Axis::Node, place, vec![1, 0], look.clone())]), [255, 0, 0])
        };
        [of(Anchor::Top), of(Anchor::Cover), of(Anchor::Icon)]
    };
    let disc = |r: f32| (std::f32::consts::PI * r * r) as usize;
    let [free, cover, icon] = badge(None);
    assert!(free > disc(10.0) && cover > disc(22.0), "{free} {cover}");
    let [bounded, covered, own] = badge(Some(10.0));
    // Red pixels are whole ones, not those at the rim.
    for count in [bounded, covered] {
        assert!(count > disc(4.0) && count < disc(5.3), "{count}");
    }
    assert_eq!(own, icon, "an icon has its disc");
}
