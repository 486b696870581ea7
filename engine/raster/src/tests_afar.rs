//! The view from afar, collapsed nodes and bundled edges, by their pixels.

#![allow(clippy::unwrap_used)]

use graphlume_scene::Bits;
use graphlume_scene::wire::NO_GROUP;
use graphlume_types::CancelToken;

use super::*;
use crate::tests::NOTHING;

const BLUE: [u8; 4] = [109, 185, 252, 255];
const RED: [u8; 4] = [202, 93, 47, 255];
const SIDE: u32 = 400;
const BACK: [u8; 3] = [20, 20, 20];

/// Two squares of nodes side by side, one blue and one red, each a group; some edges lead from one to the other.
struct Two {
    positions: Vec<[f32; 2]>,
    rgba: Vec<[u8; 4]>,
    sizes: Vec<u8>,
    ends: Vec<[u32; 2]>,
    groups: Vec<Vec<u16>>,
}

impl Two {
    /// Squares with so many nodes a side, from x = -100 to -20 and from 20 to 100.
    fn new(side: u32) -> Self {
        let count = side * side;
        let at = |v: u32| {
            let (k, cell) = (v % count, 80.0 / (side - 1) as f32);
            let left = if v < count { -100.0 } else { 20.0 };
            [left + (k % side) as f32 * cell, (k / side) as f32 * cell - 40.0]
        };
        let is_left = |v: u32| v < count;
        let all = 0..2 * count;
        Self {
            positions: all.clone().map(at).collect(),
            rgba: all.clone().map(|v| if is_left(v) { BLUE } else { RED }).collect(),
            sizes: vec![8; 2 * count as usize],
            ends: vec![[0, 1], [0, count], [1, count + 1]],
            groups: vec![all.map(|v| u16::from(!is_left(v))).collect()],
        }
    }

    fn drawing(&self) -> Drawing<'_> {
        Drawing {
            positions: &self.positions,
            node_rgba: &self.rgba,
            node_size: &self.sizes,
            ends: &self.ends,
            is_given: true,
            sizes_bound: true,
            groups: &self.groups,
            ..NOTHING
        }
    }
}

struct Numbered;

impl Names for Numbered {
    fn known(&self) -> &[(u32, String)] {
        &[]
    }

    fn of(&self, nodes: &[u32]) -> Vec<String> {
        nodes.iter().map(|v| format!("node {v}")).collect()
    }
}

/// Two pixels for each unit of the graph.
fn settings() -> Settings {
    let window = Some(Window { left: -100.0, right: 100.0, top: 100.0, bottom: -100.0 });
    let look = Look { arrows: Some(false), ..Look::default() };
    let background = Background::Color(BACK);
    Settings {
        width: SIDE,
        height: SIDE,
        window,
        zoom: Some(1.0),
        look,
        background,
        ..Settings::default()
    }
}

fn drawn(drawing: &Drawing<'_>, settings: &Settings) -> Vec<[u8; 4]> {
    let bytes = pixels(drawing, settings, &CancelToken::new()).unwrap();
    bytes.as_chunks::<4>().0.to_vec()
}

/// The pixel of a place of the graph.
fn at(shown: &[[u8; 4]], x: f32, y: f32) -> [u8; 3] {
    let [column, row] = [200.0 + 2.0 * x, 200.0 - 2.0 * y].map(|c| c as usize);
    let [r, g, b, _] = shown[row * SIDE as usize + column];
    [r, g, b]
}

fn is_near(a: [u8; 3], b: [u8; 3], far: u8) -> bool {
    (0..3).all(|c| a[c].abs_diff(b[c]) <= far)
}

/// What a colour is within a disc: partly the background, and let through by the rest.
fn inside(color: [u8; 4]) -> [u8; 3] {
    [0, 1, 2].map(|c| {
        let (own, back) = (f32::from(color[c]), f32::from(BACK[c]));
        ((own + (back - own) * 0.45) * 0.86 + back * 0.14) as u8
    })
}

fn first(color: [u8; 4]) -> [u8; 3] {
    [color[0], color[1], color[2]]
}

#[test]
fn many_nodes_are_communities_from_afar_and_nodes_near_by() {
    let two = Two::new(50);
    let drawing = two.drawing();
    let far = drawn(&drawing, &settings());
    // The nodes behind shine through, but the discs have one colour in their middles.
    assert!(is_near(at(&far, -60.5, 0.5), inside(BLUE), 24), "{:?}", at(&far, -60.5, 0.5));
    assert!(is_near(at(&far, 60.5, 0.5), inside(RED), 24), "{:?}", at(&far, 60.5, 0.5));
    // 12 % of the picture for two discs of one size: 55 pixels of radius each, whose rims have the whole colour.
    let rim = (0.12 * 400.0f32 * 400.0 / 2.0 / std::f32::consts::PI).sqrt() - 0.6;
    assert!(is_near(at(&far, -60.0 + rim / 2.0, 0.0), first(BLUE), 30));
    let nodes = drawn(&drawing, &Settings { super_graph: false, ..settings() });
    assert!(!is_near(at(&nodes, -60.0 + rim / 2.0, 0.0), at(&far, -60.0 + rim / 2.0, 0.0), 30));
    // Near by, nodes are 8 pixels apart.
    let window = Some(Window { left: -80.0, right: -40.0, top: 20.0, bottom: -20.0 });
    let near = Settings { window, zoom: Some(5.0), ..settings() };
    let without = Settings { super_graph: false, ..near.clone() };
    assert!(drawn(&drawing, &near) == drawn(&drawing, &without));
    // A graph whose nodes can all be told apart has no communities.
    let few = Two::new(30);
    let without = Settings { super_graph: false, ..settings() };
    assert!(drawn(&few.drawing(), &settings()) == drawn(&few.drawing(), &without));
}

#[test]
fn communities_have_the_name_of_their_largest_node_and_their_number() {
    let mut two = Two::new(50);
    two.sizes[7] = 9;
    let drawing = Drawing { names: Some(&Numbered), ..two.drawing() };
    let file = svg(&Drawing { ends: &[], ..drawing }, &settings(), &CancelToken::new()).unwrap();
    let file = String::from_utf8(file).unwrap();
    for text in [">node 7</text>", ">node 2500</text>"] {
        assert_eq!(file.matches(text).count(), 1, "{text}");
    }
    assert_eq!(file.matches(">2,500</text>").count(), 2);
    let paper = pdf(&Drawing { ends: &[], ..drawing }, &settings(), &CancelToken::new()).unwrap();
    assert!(paper.starts_with(b"%PDF"));
    // What filters hide is not counted.
    let some: Vec<u32> = (0..5_000).filter(|v| *v < 2_400 || *v >= 2_500).collect();
    let [nodes, edges] = [Bits::new(5_000, &some), Bits::all(3)];
    let filtered = Drawing { visible: Some([&nodes, &edges]), ..drawing };
    let file = svg(&filtered, &settings(), &CancelToken::new()).unwrap();
    assert!(String::from_utf8(file).unwrap().contains(">2,400</text>"));
}

#[test]
fn a_collapsed_community_is_one_disc_and_its_edges_end_there() {
    let two = Two::new(10);
    let plain = two.drawing();
    let left: Vec<u32> = (0..100).collect();
    let entries = [("Left".to_owned(), Bits::new(200, &left))];
    let collapsed = Collapsed::of(&entries, &plain);
    let drawing = collapsed.applied(plain);
    let shown = drawn(&drawing, &settings());
    // Members are gone: where the first of them was is the background, as the whole of the square off the disc.
    assert!(!is_near(at(&drawn(&plain, &settings()), -99.5, -39.5), BACK, 20));
    for (x, y) in [(-99.5, -39.5), (-99.5, 39.5), (-21.0, 39.5)] {
        assert!(is_near(at(&shown, x, y), BACK, 4), "{x} {y} {:?}", at(&shown, x, y));
    }
    // Half of the nodes take half of 12 % of the picture.
    assert!(is_near(at(&shown, -60.0, 0.0), inside(BLUE), 20), "{:?}", at(&shown, -60.0, 0.0));
    let r = (0.12 * 400.0f32 * 400.0 / 2.0 / std::f32::consts::PI).sqrt() / 2.0;
    assert!(is_near(at(&shown, -60.0 + r - 0.3, 0.0), first(BLUE), 60));
    // Edges from the red side lead to the middle: halfway there is ink that is not there without them.
    let without = Drawing { ends: &[], ..plain };
    let bare = drawn(&Collapsed::of(&entries, &without).applied(without), &settings());
    let way = |shown: &[[u8; 4]]| u32::from(at(shown, -10.0, -25.0)[0]);
    assert!(way(&shown) > way(&bare) + 15, "{} {}", way(&shown), way(&bare));
    // The edge among members is gone, the other two are not.
    assert_eq!(drawing.visible.unwrap().map(Bits::len), [100, 2]);
}

#[test]
fn a_collapsed_disc_has_its_name_and_the_number_of_members_that_filters_leave() {
    let two = Two::new(10);
    let some: Vec<u32> = (40..200).collect();
    let [nodes, edges] = [Bits::new(200, &some), Bits::new(3, &[])];
    let plain =
        Drawing { visible: Some([&nodes, &edges]), names: Some(&Numbered), ..two.drawing() };
    let left: Vec<u32> = (0..100).collect();
    let both: Vec<u32> = (50..150).collect();
    let entries = [
        ("Left & first".to_owned(), Bits::new(200, &left)),
        ("Second".to_owned(), Bits::new(200, &both)),
    ];
    let collapsed = Collapsed::of(&entries, &plain);
    let file = svg(&collapsed.applied(plain), &settings(), &CancelToken::new()).unwrap();
    let file = String::from_utf8(file).unwrap();
    for text in [">Left &amp; first</text>", ">60</text>", ">Second</text>", ">50</text>"] {
        assert_eq!(file.matches(text).count(), 1, "{text}: {file}");
    }
    // Fifty nodes are left as they are.
    assert_eq!(collapsed.applied(plain).visible.unwrap()[0].len(), 50);
    // Without a window the disc is in the picture, although no visible node is near it.
    let fitted = Settings { window: None, zoom: None, ..settings() };
    let shown = drawn(&collapsed.applied(plain), &fitted);
    let blue = shown.iter().filter(|p| is_near(first(**p), inside(BLUE), 12)).count();
    assert!(blue > 400, "{blue}");
    // And wholly: nothing of a second rim, four pixels from the first, is on the rows and columns at its border.
    let column = |k: usize| shown.iter().skip(k).step_by(SIDE as usize);
    let border = shown[..400]
        .iter()
        .chain(&shown[SIDE as usize * 399..])
        .chain(column(0))
        .chain(column(399));
    assert!(border.clone().count() == 1600 && border.clone().all(|p| is_near(first(*p), BACK, 2)));
}

#[test]
fn a_disc_stays_while_filters_leave_one_of_its_members_and_is_wholly_in_the_picture_at_any_zoom() {
    let two = Two::new(10);
    let left: Vec<u32> = (0..100).collect();
    let entries = [("Left".to_owned(), Bits::new(200, &left))];
    // One member and half of the red square, 80 units away: zoomed in, so that discs are larger.
    for (kept, count) in [(vec![7], Some("1")), (vec![], None)] {
        let some: Vec<u32> = kept.into_iter().chain(100..150).collect();
        let [nodes, edges] = [Bits::new(200, &some), Bits::all(3)];
        let plain =
            Drawing { visible: Some([&nodes, &edges]), names: Some(&Numbered), ..two.drawing() };
        let collapsed = Collapsed::of(&entries, &plain);
        let drawing = collapsed.applied(plain);
        let fitted = Settings { window: None, zoom: None, ..settings() };
        let file = svg(&drawing, &fitted, &CancelToken::new()).unwrap();
        let file = String::from_utf8(file).unwrap();
        assert_eq!(file.contains(">Left</text>"), count.is_some(), "{file}");
        assert!(count.is_none_or(|count| file.contains(&format!(">{count}</text>"))), "{file}");
        let shown = drawn(&drawing, &fitted);
        let blue = shown.iter().filter(|p| is_near(first(**p), inside(BLUE), 12)).count();
        assert_eq!(blue > 20, count.is_some(), "{blue}");
    }
    // Of all but few, a disc that is the larger the more what is left is zoomed in.
    let some: Vec<u32> = (0..101).collect();
    let [nodes, edges] = [Bits::new(200, &some), Bits::new(3, &[])];
    let plain = Drawing { visible: Some([&nodes, &edges]), ..two.drawing() };
    let collapsed = Collapsed::of(&entries, &plain);
    let fitted = Settings { window: None, zoom: None, ..settings() };
    let shown = drawn(&collapsed.applied(plain), &fitted);
    let column = |k: usize| shown.iter().skip(k).step_by(SIDE as usize);
    let rows = shown[..400].iter().chain(&shown[SIDE as usize * 399..]);
    assert!(rows.chain(column(0)).chain(column(399)).all(|p| is_near(first(*p), BACK, 2)));
    assert!(shown.iter().filter(|p| is_near(first(**p), inside(BLUE), 12)).count() > 4_000);
}

#[test]
fn bundled_edges_run_through_the_middles_of_their_communities() {
    let mut two = Two::new(10);
    // From the lower corner of one to the upper corner of the other.
    two.ends = vec![[0, 199]];
    let look = Look { point_opacity: 0.0, ..settings().look };
    let settings = || Settings { look, ..settings() };
    let straight = drawn(&two.drawing(), &settings());
    let bundle = Settings { bundle: true, ..settings() };
    let bundled = drawn(&two.drawing(), &bundle);
    // At x = -60 the straight line is at y = -24; the curve with β = 0.8, whose third control points are at (-54.7, -2.7) and
    // (54.7, 2.7), is at -18.6.
    let row = |shown: &[[u8; 4]]| {
        let light =
            |y: i16| at(shown, -60.0, f32::from(y) / 2.0).iter().map(|c| u32::from(*c)).sum();
        let rows = (-70..=0i16).map(|y| (light(y), y));
        rows.max().map(|(light, y): (u32, i16)| (light > 80, f32::from(y) / 2.0)).unwrap()
    };
    let (far, near) = (row(&straight), row(&bundled));
    assert!(far.0 && (far.1 + 24.0).abs() < 1.2, "{far:?}");
    assert!(near.0 && (near.1 + 18.6).abs() < 1.2, "{near:?}");
    // Those within a community, and all where no community is known, stay as they are.
    two.ends = vec![[0, 99]];
    let [inner, inner_bundled] =
        [settings(), bundle.clone()].map(|s| row(&drawn(&two.drawing(), &s)));
    assert!(inner.0 && inner == inner_bundled, "{inner:?} {inner_bundled:?}");
    two.ends = vec![[0, 199]];
    two.groups = vec![vec![NO_GROUP; 200]];
    let unknown = row(&drawn(&two.drawing(), &bundle));
    assert!((unknown.1 - far.1).abs() < 0.6, "{unknown:?}");
    let text = |two: &Two| {
        let file = svg(&two.drawing(), &bundle, &CancelToken::new()).unwrap();
        String::from_utf8(file).unwrap()
    };
    assert!(!text(&two).contains('C'));
    two.groups = Two::new(10).groups;
    let paths = text(&two);
    assert!(paths.contains("<path d=\"M0 280C"), "{paths}");
}

#[test]
fn groups_of_another_graph_are_refused() {
    let two = Two::new(10);
    let short = [vec![0u16; 7]];
    let drawing = Drawing { groups: &short, ..two.drawing() };
    let refused = pixels(&drawing, &settings(), &CancelToken::new()).unwrap_err().to_string();
    assert!(refused.contains("groups") && refused.contains("200"), "{refused}");
}

struct Ways;

impl EdgeNames for Ways {
    fn of(&self, edges: &[u32]) -> Vec<String> {
        edges.iter().map(|e| format!("way {e}")).collect()
    }
}

#[test]
fn texts_of_bundled_edges_stand_on_their_curves_and_not_on_the_straight_lines() {
    let mut two = Two::new(10);
    // From the lower corner of one to the upper corner of the other, and the other way.
    two.ends = vec![[0, 199], [199, 0]];
    let drawing = Drawing { edge_names: Some(&Ways), ..two.drawing() };
    let look = Look { point_opacity: 0.0, ..settings().look };
    let [straight, bundled] = [false, true].map(|bundle| {
        let settings = Settings { look, bundle, ..settings() };
        let file = svg(&drawing, &settings, &CancelToken::new()).unwrap();
        String::from_utf8(file).unwrap()
    });
    // The angle and the middle of each text.
    let texts = |file: &str| -> Vec<[f32; 3]> {
        let turns = file.split("<text").skip(1).filter_map(|text| {
            let (_, turn) = text.split_once("rotate(")?;
            let numbers = turn.split_once(')')?.0;
            let all: Vec<f32> = numbers.split(' ').filter_map(|n| n.parse().ok()).collect();
            <[f32; 3]>::try_from(all).ok()
        });
        turns.collect()
    };
    let view = |p: [f32; 2]| [200.0 + 2.0 * p[0], 200.0 - 2.0 * p[1]];
    let (a, b) = ([-100.0f32, -40.0], [100.0f32, 40.0]);
    // The inner control points: by 0.8 between a third of the way and the middles of the squares.
    let led = |share: f32, hub: [f32; 2]| {
        [0, 1].map(|c| (a[c] + (b[c] - a[c]) * share) * 0.2 + hub[c] * 0.8)
    };
    let (p, q) = (led(1.0 / 3.0, [-60.0, 0.0]), led(2.0 / 3.0, [60.0, 0.0]));
    let curve = |t: f32| {
        let u = 1.0 - t;
        let w = [u * u * u, 3.0 * u * u * t, 3.0 * u * t * t, t * t * t];
        view([0, 1].map(|c| w[0] * a[c] + w[1] * p[c] + w[2] * q[c] + w[3] * b[c]))
    };
    let off = |at: [f32; 2]| {
        let ways = (0..=400u16).map(|k| curve(f32::from(k) / 400.0));
        ways.map(|w| (w[0] - at[0]).hypot(w[1] - at[1])).fold(f32::MAX, f32::min)
    };
    let found = texts(&bundled);
    assert_eq!(found.len(), 2, "each direction has its own place: {bundled}");
    for [turn, x, y] in &found {
        // A text stands 7.5 pixels beside its line, which the straight one is not here.
        assert!((off([*x, *y]) - 7.5).abs() < 1.0, "{turn} {x} {y}");
    }
    assert!((found[0][1] - found[1][1]).abs() > 40.0, "{found:?}");
    // Of the slope that the curve has there, 3/4 (b + q - p - a) in its middle, where the straight line rises by 22 degrees.
    let slope = [0, 1].map(|c| b[c] + q[c] - p[c] - a[c]);
    let angle = slope[1].atan2(slope[0]).to_degrees();
    assert!(found.iter().all(|[turn, ..]| (turn + angle).abs() < 1.0), "{angle}: {found:?}");
    let [turn, ..] = texts(&straight)[0];
    assert!((turn.abs() - angle.abs()).abs() > 3.0, "{turn}");
}
