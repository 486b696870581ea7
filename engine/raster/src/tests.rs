#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Read;

use graphlume_scene::{Bits, IconLayer};
use graphlume_types::{CancelReason, CancelToken, Code, Coded};

use super::*;
use crate::edges::rare;

/// What the page draws by the same formulae.
mod samples;
/// What is selected, over what is not.
mod selected;
/// What lies under the nodes, and texts along edges.
mod underlay;

const BLUE: [u8; 4] = [109, 185, 252, 255];
const RED: [u8; 4] = [202, 93, 47, 255];

/// A picture of nothing at all, of which tests change what they are about.
pub(crate) const NOTHING: Drawing<'static> = Drawing {
    positions: &[],
    node_rgba: &[],
    node_chosen: None,
    node_size: &[],
    ends: &[],
    edge_rgba: None,
    edge_rgba_some: false,
    edge_width: None,
    visible: None,
    is_given: false,
    sizes_bound: false,
    names: None,
    edge_names: None,
    underlay: None,
    icons: &[],
    collapsed: None,
    selected: None,
    groups: &[],
};

/// Four nodes at the corners of a square, joined by two edges along its upper and lower side.
struct Square {
    rgba: Vec<[u8; 4]>,
    ends: Vec<[u32; 2]>,
}

const CORNERS: [[f32; 2]; 4] = [[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]];

impl Square {
    fn new() -> Self {
        Self { rgba: vec![BLUE, BLUE, RED, RED], ends: vec![[0, 1], [2, 3]] }
    }

    fn drawing(&self) -> Drawing<'_> {
        Drawing {
            positions: &CORNERS,
            node_rgba: &self.rgba,
            node_size: &[80, 80, 80, 80],
            ends: &self.ends,
            ..NOTHING
        }
    }
}

const SIDE: u32 = 200;

fn settings() -> Settings {
    let look = Look { arrows: Some(false), ..Look::default() };
    Settings { width: SIDE, height: SIDE, look, ..Settings::default() }
}

fn drawn(drawing: &Drawing<'_>, settings: &Settings) -> Vec<[u8; 4]> {
    let bytes = pixels(drawing, settings, &CancelToken::new()).unwrap();
    let [columns, rows] = settings.pixels();
    assert_eq!(bytes.len(), 4 * (columns * rows) as usize);
    bytes.as_chunks::<4>().0.to_vec()
}

/// Where a node is in a picture of [`SIDE`], as the fit of the page puts it.
fn place(v: usize) -> [usize; 2] {
    // A margin of 12 pixels, and of the rest the share of four nodes.
    let free = f64::from(SIDE - 24) * (0.36 + 0.1 * 2.0);
    let at = |x: f32| f64::from(SIDE) / 2.0 + (f64::from(x) - 5.0) / 10.0 * free;
    [at(CORNERS[v][0]) as usize, (f64::from(SIDE) - at(CORNERS[v][1])) as usize]
}

fn at(pixels: &[[u8; 4]], [x, y]: [usize; 2]) -> [u8; 4] {
    pixels[y * SIDE as usize + x]
}

#[test]
fn nodes_have_their_colours_where_they_are_and_the_rest_is_background() {
    let square = Square::new();
    let found = drawn(&square.drawing(), &settings());
    for (v, color) in square.rgba.iter().enumerate() {
        assert_eq!(at(&found, place(v)), *color, "node {v} at {:?}", place(v));
    }
    let near = |a: [u8; 4], b: [u8; 3]| (0..3).all(|c| a[c].abs_diff(b[c]) <= 3);
    assert!(near(at(&found, [100, 100]), [0x13, 0x16, 0x1e]), "{:?}", at(&found, [100, 100]));
    assert!(near(at(&found, [0, 0]), [0x0b, 0x0d, 0x12]), "{:?}", at(&found, [0, 0]));
}

#[test]
fn edges_are_drawn_between_their_ends_and_nowhere_else() {
    let square = Square::new();
    let found = drawn(&square.drawing(), &settings());
    let light =
        |[x, y]: [usize; 2]| at(&found, [x, y]).iter().take(3).map(|c| u32::from(*c)).sum::<u32>();
    let [left, right] = [place(0), place(1)];
    let middle = [usize::midpoint(left[0], right[0]), left[1]];
    assert!(light(middle) > light([middle[0], middle[1] - 6]) + 60);
    // No edge along the sides.
    let side = [left[0], usize::midpoint(place(0)[1], place(2)[1])];
    assert!(light(side) < light(middle) - 60);
    let bare = Drawing { ends: &[], ..square.drawing() };
    let without = drawn(&bare, &settings());
    assert!(at(&without, middle)[2] < 40);
}

#[test]
fn a_light_picture_has_light_hues_and_a_transparent_one_no_background() {
    let square = Square::new();
    let light = drawn(&square.drawing(), &Settings { theme: Theme::Light, ..settings() });
    assert_eq!(at(&light, place(0)), [0x32, 0x7c, 0xb9, 255]);
    assert_eq!(at(&light, [100, 100]), [255, 255, 255, 255]);
    // A hue that was chosen is the same on light; the other nodes of that hue are not.
    let first = Bits::new(4, &[0]);
    let chosen = Drawing { node_chosen: Some(&first), ..square.drawing() };
    let light = drawn(&chosen, &Settings { theme: Theme::Light, ..settings() });
    assert_eq!(at(&light, place(0)), BLUE);
    assert_eq!(at(&light, place(1)), [0x32, 0x7c, 0xb9, 255]);
    let clear = drawn(&square.drawing(), &Settings { background: Background::Clear, ..settings() });
    assert_eq!(at(&clear, [0, 0])[3], 0);
    assert_eq!(at(&clear, place(3)), RED);
    let edge = at(&clear, [100, place(0)[1]]);
    assert!((60..220).contains(&edge[3]) && edge[2] > edge[0], "{edge:?}");
}

/// The pixels of a file with one chunk of data, and their channels.
fn unpacked(file: &[u8]) -> (Vec<u8>, usize) {
    let number = |at: usize| u32::from_be_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let (width, height) = (number(16), number(20));
    let channels = if file[25] == 6 { 4 } else { 3 };
    // After the signature of 8 bytes and a head of 25.
    let length = number(33);
    assert_eq!(&file[37..41], b"IDAT");
    let mut rows = Vec::new();
    flate2::read::ZlibDecoder::new(&file[41..41 + length]).read_to_end(&mut rows).unwrap();
    let wide = channels * width;
    assert_eq!(rows.len(), (wide + 1) * height);
    let mut out: Vec<u8> = Vec::new();
    for (y, row) in rows.chunks(wide + 1).enumerate() {
        for (i, byte) in row[1..].iter().enumerate() {
            let at = |back: usize, up: usize| {
                if i >= back && y >= up { out[(y - up) * wide + i - back] } else { 0 }
            };
            let (left, above, corner) = (at(channels, 0), at(0, 1), at(channels, 1));
            let [a, b, c] = [left, above, corner].map(i16::from);
            let far = |x: i16| (a + b - c - x).abs();
            let nearest = [left, above, corner].into_iter().min_by_key(|x| far(i16::from(*x)));
            let predicted = match row[0] {
                1 => left,
                2 => above,
                _ => nearest.unwrap(),
            };
            let value = byte.wrapping_add(predicted);
            out.push(value);
        }
    }
    (out, channels)
}

#[test]
fn the_file_is_a_png_of_these_pixels_at_any_number_of_threads() {
    let square = Square::new();
    for background in [Background::Theme, Background::Clear] {
        let settings = Settings { background, ..settings() };
        let file = png(&square.drawing(), &settings, &CancelToken::new()).unwrap();
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let again = one.install(|| png(&square.drawing(), &settings, &CancelToken::new()).unwrap());
        assert!(file == again, "depends on the threads");
        let (read, channels) = unpacked(&file);
        let expected = drawn(&square.drawing(), &settings);
        assert_eq!(channels, if background == Background::Clear { 4 } else { 3 });
        let bytes: Vec<u8> = expected.iter().flat_map(|p| p[..channels].to_vec()).collect();
        assert!(read == bytes);
    }
}

#[test]
fn many_edges_are_thin_lines_whose_ink_is_that_of_all() {
    // Two bundles of edges far more than the soft tier takes.
    let ends: Vec<[u32; 2]> =
        (0..130_000).map(|e| if e % 2 == 0 { [0, 1] } else { [2, 3] }).collect();
    let square = Square { ends, ..Square::new() };
    let found = drawn(&square.drawing(), &settings());
    let middle = at(&found, [100, place(0)[1]]);
    // Nothing covers more than 78 % of the background.
    assert!(middle[2] > 120 && middle[2] < 210, "{middle:?}");
}

#[test]
fn parallel_edges_fan_out_loops_are_circles_and_rare_colours_stand_out() {
    let mut square = Square { ends: vec![[0, 1]; 3], ..Square::new() };
    let found = drawn(&square.drawing(), &settings());
    let row = place(0)[1];
    let lit = |y: usize| at(&found, [100, y])[2] > 60;
    let lines = (row - 30..row + 30).filter(|y| lit(*y) && !lit(y - 1)).count();
    assert_eq!(lines, 3);
    square.ends = vec![[3, 3]];
    let found = drawn(&square.drawing(), &settings());
    let [x, y] = place(3);
    let above = (y - 30..y - 12).any(|y| at(&found, [x + 6, y])[0] > 60);
    assert!(above, "no loop above the node");
    let mut rgba = vec![[100, 100, 100, 255]; 100];
    rgba[7] = [255, 0, 0, 255];
    assert_eq!(rare::edges(&rgba, false), [7]);
    let scale: Vec<[u8; 4]> = (0..100).map(|c| [c, 0, 0, 255]).collect();
    assert!(rare::edges(&scale, false).is_empty(), "a scale has no rare colours");
}

#[test]
fn what_cannot_be_drawn_is_refused_by_name_and_what_has_no_place_is_left_out() {
    let square = Square::new();
    let cancel = CancelToken::new();
    let wide = Settings { width: 9_000, ..settings() };
    let e = png(&square.drawing(), &wide, &cancel).unwrap_err();
    assert_eq!(e.code(), Code::InvalidArgument);
    let text = e.to_string();
    assert!(text.contains("width=9000") && text.contains("8192"), "{text}");
    let short = Drawing { node_size: &[1, 2], ..square.drawing() };
    assert!(matches!(pixels(&short, &settings(), &cancel), Err(RasterError::Length { .. })));
    let beyond = Drawing { ends: &[[0, 9]], ..square.drawing() };
    assert!(matches!(pixels(&beyond, &settings(), &cancel), Err(RasterError::Node { .. })));
    let lost = [[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [f32::NAN, 1.0]];
    let found = drawn(&Drawing { positions: &lost, ..square.drawing() }, &settings());
    assert!(found.contains(&BLUE));
    cancel.cancel(CancelReason::ClientGone);
    assert!(matches!(
        pixels(&square.drawing(), &settings(), &cancel),
        Err(RasterError::Cancelled(_))
    ));
    let none =
        Drawing { positions: &[], node_rgba: &[], node_size: &[], ends: &[], ..square.drawing() };
    assert_eq!(drawn(&none, &settings()).len(), (SIDE * SIDE) as usize);
}

#[test]
fn what_filters_hide_is_not_drawn_and_the_rest_is_fitted() {
    let square = Square::new();
    let [nodes, edges] = [Bits::new(4, &[0, 1]), Bits::new(2, &[0])];
    let visible = Some([&nodes, &edges]);
    let window = Some(Window { left: -2.0, right: 12.0, top: 12.0, bottom: -2.0 });
    let settings = Settings { window, ..settings() };
    let all = drawn(&square.drawing(), &settings);
    let some = drawn(&Drawing { visible, ..square.drawing() }, &settings);
    let at = |x: f64, y: f64| {
        let scale = f64::from(SIDE) / 14.0;
        [((x + 2.0) * scale) as usize, (f64::from(SIDE) - (y + 2.0) * scale) as usize]
    };
    assert_eq!(self::at(&all, at(0.0, 10.0)), RED);
    assert!(!some.contains(&RED), "a hidden node is drawn");
    assert_eq!(self::at(&some, at(0.0, 0.0)), BLUE);
    let [x, y] = at(5.0, 10.0);
    assert!(self::at(&all, [x, y])[0] > 60 && self::at(&some, [x, y])[0] < 30, "a hidden edge");
    // Without a window what is visible lies in the middle.
    let fitted = drawn(&Drawing { visible, ..square.drawing() }, &self::settings());
    let blue = |y: usize| (0..SIDE as usize).any(|x| self::at(&fitted, [x, y]) == BLUE);
    assert!(blue(100) && !blue(60) && !blue(140));
}

#[test]
fn a_scale_draws_the_same_picture_with_more_pixels() {
    let square = Square::new();
    let one = drawn(&square.drawing(), &settings());
    let settings = Settings { scale: 2.0, ..settings() };
    assert_eq!(settings.pixels(), [2 * SIDE; 2]);
    let two = drawn(&square.drawing(), &settings);
    let wide = 2 * SIDE as usize;
    let mut far = 0;
    for (i, pixel) in one.iter().enumerate() {
        let (x, y) = (i % SIDE as usize, i / SIDE as usize);
        let four = [0, 1, wide, wide + 1].map(|k| two[2 * y * wide + 2 * x + k]);
        let mean = |c: usize| four.iter().map(|p| u32::from(p[c])).sum::<u32>() / 4;
        far += usize::from((0..3).any(|c| mean(c).abs_diff(u32::from(pixel[c])) > 24));
    }
    // Rims of discs and lines are softer where pixels are larger.
    assert!(far < one.len() / 100, "{far} pixels are others");
}

#[test]
fn arrow_heads_are_drawn_where_edges_show_that_they_have_a_direction() {
    let square = Square { ends: vec![[0, 1], [1, 3], [3, 0]], ..Square::new() };
    let with = |arrows| Settings { look: Look { arrows, ..Look::default() }, ..settings() };
    let sets = [Some(true), Some(false), None].map(|a| drawn(&square.drawing(), &with(a)));
    assert!(sets[0] != sets[1] && sets[0] == sets[2], "a cycle has a direction");
    let square = Square { ends: vec![[0, 1], [0, 3], [1, 3]], ..Square::new() };
    let sets = [Some(true), Some(false), None].map(|a| drawn(&square.drawing(), &with(a)));
    assert!(sets[0] != sets[1] && sets[1] == sets[2], "an order may be an undirected graph");
}

#[test]
fn sizes_and_looks_are_refused_or_obeyed() {
    let refused = |settings: Settings| settings.check().unwrap_err().to_string();
    let text = refused(Settings { scale: 9.0, ..settings() });
    assert!(text.contains("scale=9") && text.contains("0.25 to 8"), "{text}");
    let text = refused(Settings { width: 8_192, height: 8_192, ..settings() });
    assert!(text.contains("8192 by 8192") && text.contains("40000000"), "{text}");
    let window = Some(Window { left: 1.0, right: 0.0, top: 1.0, bottom: 0.0 });
    assert!(refused(Settings { window, ..settings() }).contains("left"));
    let square = Square::new();
    let look = Look { edge_opacity: 0.0, point_opacity: 0.0, ..Look::default() };
    let background = Background::Color([10, 20, 30]);
    let empty = drawn(&square.drawing(), &Settings { look, background, ..settings() });
    assert!(empty.iter().all(|p| *p == [10, 20, 30, 255]));
    let look = Look { point_size: 3.0, ..Look::default() };
    let [small, large] = [settings(), Settings { look, ..settings() }]
        .map(|s| drawn(&square.drawing(), &s).iter().filter(|p| **p == BLUE).count());
    assert!(large > 4 * small, "{small} and {large} pixels");
}

#[test]
fn an_opacity_of_0_may_stand_for_the_look_of_an_edge_without_a_colour() {
    let square = Square::new();
    let rgba = [[0, 255, 0, 255], [0; 4]];
    let some = Drawing { edge_rgba: Some(&rgba), edge_rgba_some: true, ..square.drawing() };
    let found = drawn(&some, &settings());
    let [lower, upper] = [0, 2].map(|v| at(&found, [100, place(v)[1]]));
    assert!(lower[1] > 100 && lower[0] < 60, "{lower:?}");
    assert!(upper[0] > upper[1] + 30, "the colour of its ends: {upper:?}");
    assert!(rare::edges(&[rgba[0], rgba[1]].repeat(30), true).is_empty());
}

struct Named([(u32, String); 4]);

impl Names for Named {
    fn known(&self) -> &[(u32, String)] {
        &self.0
    }

    fn of(&self, nodes: &[u32]) -> Vec<String> {
        nodes.iter().map(|v| self.0[*v as usize].1.clone()).collect()
    }
}

#[test]
fn names_stand_beside_their_nodes_and_title_and_legend_beside_the_graph() {
    let square = Square::new();
    let named = Named([0, 1, 2, 3].map(|v| (v, format!("node {v}"))));
    let names: Option<&dyn Names> = Some(&named);
    let settings = Settings { width: 400, height: 300, ..settings() };
    let of = |names, settings: &Settings| drawn(&Drawing { names, ..square.drawing() }, settings);
    let (bare, with) = (of(None, &settings), of(names, &settings));
    let bright = |p: &[u8; 4]| p.iter().take(3).all(|c| *c > 200);
    let letters = |pixels: &[[u8; 4]]| pixels.iter().filter(|p| bright(p)).count();
    assert_eq!(letters(&bare), 0);
    assert!(letters(&with) > 100, "{}", letters(&with));
    let [nodes, edges] = [Bits::new(4, &[0]), Bits::new(2, &[])];
    let visible = Some([&nodes, &edges]);
    let one = drawn(&Drawing { names, visible, ..square.drawing() }, &settings);
    assert!(letters(&one) * 3 < letters(&with), "a hidden node is named");
    // A legend on the left, and the graph on its right.
    let key = Key {
        title: "kind".to_owned(),
        entries: vec![Row {
            name: "blue".to_owned(),
            color: Some([0, 255, 0]),
            count: Some(2),
            ..Row::default()
        }],
        ..Key::default()
    };
    let legend = Some(Legend { keys: vec![key], scales: Vec::new() });
    let title = Some("A square".to_owned());
    let told = of(None, &Settings { legend, title, ..settings.clone() });
    let columns = |pixels: &[[u8; 4]], color: [u8; 4]| -> Vec<usize> {
        (0..pixels.len()).filter(|i| pixels[*i] == color).map(|i| i % 400).collect()
    };
    let swatch = columns(&told, [0, 255, 0, 255]);
    assert!(swatch.len() > 60 && swatch.iter().all(|x| *x < 40), "{}", swatch.len());
    let least = |pixels| columns(pixels, BLUE).into_iter().min().unwrap();
    assert!(least(&told) > least(&bare) && least(&told) > 130, "{}", least(&told));
    assert!(told[..400 * 40].iter().filter(|p| bright(p)).count() > 60, "no title");
    // In a legend, as in the picture, hues of nodes follow the theme unless they were chosen; edges keep theirs.
    let hue = |side: Side, chosen: bool| {
        let row =
            Row { name: "a".to_owned(), color: Some([109, 185, 252]), chosen, ..Row::default() };
        Key { title: "kind".to_owned(), side, entries: vec![row], ..Key::default() }
    };
    for (side, chosen, shown) in [
        (Side::Nodes, false, [0x32, 0x7c, 0xb9, 255]),
        (Side::Nodes, true, BLUE),
        (Side::Edges, false, BLUE),
    ] {
        let legend = Some(Legend { keys: vec![hue(side, chosen)], scales: Vec::new() });
        let light = Settings { legend, theme: Theme::Light, ..settings.clone() };
        let told = drawn(
            &Drawing { positions: &[], node_rgba: &[], node_size: &[], ends: &[], ..NOTHING },
            &light,
        );
        assert!(columns(&told, shown).len() > 8, "{side:?} {chosen}");
    }
    // Light pictures have dark letters.
    let light = of(names, &Settings { theme: Theme::Light, ..settings });
    assert!(light.iter().filter(|p| p.iter().take(3).all(|c| *c < 60)).count() > 100);
}

/// The streams of a PDF file, unpacked where they are packed.
fn streams(file: &[u8]) -> Vec<Vec<u8>> {
    let find = |from: usize, what: &[u8]| {
        file[from..].windows(what.len()).position(|w| w == what).map(|at| from + at)
    };
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(begin) = find(at, b"\nstream\n") {
        let end = find(begin + 8, b"\nendstream").unwrap();
        let mut out = Vec::new();
        let raw = &file[begin + 8..end];
        if flate2::read::ZlibDecoder::new(raw).read_to_end(&mut out).is_err() {
            out = raw.to_vec();
        }
        found.push(out);
        at = end;
    }
    found
}

#[test]
fn shapes_and_texts_are_written_as_such() {
    let square = Square { ends: vec![[0, 1], [2, 3], [3, 3], [0, 1]], ..Square::new() };
    let named = Named([0, 1, 2, 3].map(|v| (v, format!("<node> {v} 東"))));
    let drawing = Drawing { names: Some(&named), ..square.drawing() };
    let title = Some("Squares & circles".to_owned());
    let settings = Settings { width: 400, height: 300, title, ..settings() };
    let cancel = CancelToken::new();
    let text = String::from_utf8(svg(&drawing, &settings, &cancel).unwrap()).unwrap();
    assert!(text.starts_with("<svg xmlns=") && text.ends_with("</svg>\n"));
    assert_eq!(text.matches("<circle").count(), 4 + 1, "nodes and a loop: {text}");
    assert_eq!(text.matches("<path").count(), 3);
    assert!(text.contains("<title>Squares &amp; circles</title>"));
    // Whoever shows the file has a font for any script.
    assert_eq!(text.matches("&lt;node&gt;").count(), 4);
    assert!(text.contains("fill=\"#6db9fc\"") && text.contains("url(#ground)"));
    let clear = Settings { background: Background::Clear, ..settings.clone() };
    let text = String::from_utf8(svg(&drawing, &clear, &cancel).unwrap()).unwrap();
    assert!(!text.contains("url(#ground)") && !text.contains("<rect width"));

    let plain = Named([0, 1, 2, 3].map(|v| (v, format!("node {v}"))));
    let drawing = Drawing { names: Some(&plain), ..square.drawing() };
    // Names of points of interest would be bold as the title is.
    let labels = Labels { must: 0, ..Labels::default() };
    let file = pdf(&drawing, &Settings { labels, ..settings }, &cancel).unwrap();
    assert!(file.starts_with(b"%PDF-1.") && file.ends_with(b"%%EOF"));
    let found = streams(&file);
    let page = String::from_utf8_lossy(&found[0]).into_owned();
    // A shown text for each name and the title, and one more for the halo of each.
    assert_eq!(page.matches(" Tj").count(), 2 * 5, "{page}");
    let fonts = found.iter().filter(|s| s.starts_with(&[0, 1, 0, 0])).count();
    assert_eq!(fonts, 2, "names and title have a font each");
    let letters =
        found.iter().filter(|s| String::from_utf8_lossy(s).contains("beginbfchar")).count();
    assert_eq!(letters, 2);
}

#[test]
fn too_many_elements_for_shapes_are_refused_with_the_limit() {
    let square = Square { ends: vec![[0, 1]; ELEMENTS_MAX], ..Square::new() };
    let cancel = CancelToken::new();
    let text = svg(&square.drawing(), &settings(), &cancel).unwrap_err();
    assert_eq!((text.code(), text.slug()), (Code::InvalidArgument, "picture-elements"));
    let text = text.to_string();
    assert!(text.contains("20000 nodes and edges") && text.contains("PNG"), "{text}");
    assert!(pdf(&square.drawing(), &settings(), &cancel).is_err());
    let [nodes, edges] = [Bits::new(4, &[0, 1]), Bits::new(20_000, &[0, 1, 2])];
    let some = Drawing { visible: Some([&nodes, &edges]), ..square.drawing() };
    assert!(Format::Svg.draw(&some, &settings(), &cancel).is_ok(), "hidden ones do not count");
    assert!(Format::Png.draw(&square.drawing(), &settings(), &cancel).is_ok());
}
