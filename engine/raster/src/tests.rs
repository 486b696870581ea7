#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Read;

use graphlume_types::{CancelReason, CancelToken, Code, Coded};

use super::*;

const BLUE: [u8; 4] = [109, 185, 252, 255];
const RED: [u8; 4] = [202, 93, 47, 255];

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
            edge_rgba: None,
            edge_width: None,
            is_given: false,
        }
    }
}

const SIDE: u32 = 200;

fn settings() -> Settings {
    Settings { width: SIDE, height: SIDE, arrows: false, ..Settings::default() }
}

fn drawn(drawing: &Drawing<'_>, settings: &Settings) -> Vec<[u8; 4]> {
    let bytes = pixels(drawing, settings, &CancelToken::new()).unwrap();
    assert_eq!(bytes.len(), 4 * (settings.width * settings.height) as usize);
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
    assert_eq!(at(&light, place(0)), [0x3e, 0x7a, 0xae, 255]);
    assert_eq!(at(&light, [100, 100]), [255, 255, 255, 255]);
    let clear = drawn(&square.drawing(), &Settings { transparent: true, ..settings() });
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
    for transparent in [false, true] {
        let settings = Settings { transparent, ..settings() };
        let file = png(&square.drawing(), &settings, &CancelToken::new()).unwrap();
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let again = one.install(|| png(&square.drawing(), &settings, &CancelToken::new()).unwrap());
        assert!(file == again, "depends on the threads");
        let (read, channels) = unpacked(&file);
        let expected = drawn(&square.drawing(), &settings);
        assert_eq!(channels, if transparent { 4 } else { 3 });
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
    assert_eq!(rare::edges(&rgba), [7]);
    let scale: Vec<[u8; 4]> = (0..100).map(|c| [c, 0, 0, 255]).collect();
    assert!(rare::edges(&scale).is_empty(), "a scale has no rare colours");
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
