use super::*;

#[test]
fn rings_and_lines_lie_under_edges_and_nodes_with_their_labels() {
    let square = Square::new();
    let row = |at, kind, width, label: &str| AxisRow {
        at,
        label: label.to_owned(),
        kind,
        width,
        ends: [None; 2],
    };
    let ring = AxisPlace::Ring(5.0);
    let rows = vec![
        row(ring, AxisKind::External, 2.0, "five"),
        row(AxisPlace::Y(10.0), AxisKind::Plain, 1.0, ""),
        row(AxisPlace::X(-4.0), AxisKind::Space, 1.0, ""),
    ];
    let under = Underlay { axes: rows, map: None };
    let window = Some(Window { left: -10.0, right: 10.0, top: 10.0, bottom: -10.0 });
    let look = Look { edge_opacity: 0.0, arrows: Some(false), ..Look::default() };
    let settings = Settings { window, look, ..settings() };
    let bare = drawn(&square.drawing(), &settings);
    let drawing = Drawing { underlay: Some(&under), ..square.drawing() };
    let found = drawn(&drawing, &settings);
    // Ten pixels a unit, and the origin in the middle.
    let lit = |x: usize, y: usize| found[y * 200 + x][1].saturating_sub(bare[y * 200 + x][1]);
    assert!(lit(49, 100) > 50 && lit(64, 135) > 20 && lit(40, 100) == 0, "the ring");
    assert!(lit(30, 0) > 20 && lit(30, 6) == 0, "the line at the upper rim");
    let dashes = (100..130).filter(|y| lit(60, *y) > 8).count();
    assert!((12..=18).contains(&dashes), "{dashes} of 30 pixels of a dashed line");
    assert_eq!(found[99 * 200 + 100], BLUE, "a node lies over them");
    // The label of an external ring stands above it.
    let text = |pixels: &[[u8; 4]]| pixels.iter().filter(|p| p[0] > 70).count();
    let above = |pixels: &[[u8; 4]]| text(&pixels[34 * 200..48 * 200]);
    assert!(above(&found) > above(&bare) + 20, "{} {}", above(&found), above(&bare));
    let file = String::from_utf8(svg(&drawing, &settings, &CancelToken::new()).unwrap()).unwrap();
    assert!(file.contains("<g id=\"underlay\"") && file.contains("r=\"50.00\""), "{file}");
    assert!(file.contains("stroke-dasharray=\"3 3\"") && file.contains(">five</text>"));
    assert_eq!(file.matches("<g ").count(), file.matches("</g>").count());
    let page = pdf(&drawing, &settings, &CancelToken::new()).unwrap();
    assert!(String::from_utf8_lossy(&streams(&page)[0]).contains("[3 3] 0 d"));
    // A picture without a background has them alone.
    let clear = Settings { background: Background::Clear, ..settings };
    let found = drawn(&drawing, &clear);
    assert!(found[100 * 200 + 49][3] > 50 && found[100 * 200 + 60][3] == 0);
}

#[test]
fn the_map_lies_under_the_nodes_that_are_on_it() {
    let square = Square::new();
    let under = Underlay { axes: Vec::new(), map: Some(MapPlace { scale: 1.0, shift: [0.0; 2] }) };
    let window = Some(Window { left: -100.0, right: 100.0, top: 100.0, bottom: -100.0 });
    let settings = Settings { window, ..settings() };
    let bare = drawn(&square.drawing(), &settings);
    let found = drawn(&Drawing { underlay: Some(&under), ..square.drawing() }, &settings);
    let lit = |x: usize, y: usize| found[y * 200 + x][1].saturating_sub(bare[y * 200 + x][1]);
    // The meridian at 30 degrees west crosses the Atlantic, and the north of Brazil has a coast.
    let coast = (40..60).any(|x| (90..110).any(|y| lit(x, y) > 40));
    assert!((5..18).contains(&lit(70, 130)) && coast, "{} {coast}", lit(70, 130));
}

struct Verbs;

impl EdgeNames for Verbs {
    fn of(&self, edges: &[u32]) -> Vec<String> {
        edges.iter().map(|e| format!("verb {e}")).collect()
    }
}

#[test]
fn few_edges_are_called_by_their_names_along_their_lines() {
    let at = [[2.0, 0.0], [10.0, 8.0], [0.0, 10.0], [0.0, -10.0]];
    let square = Square { ends: vec![[0, 1], [2, 3]], ..Square::new() };
    let drawing = Drawing {
        edge_names: Some(&Verbs),
        positions: &at,
        node_size: &[20; 4],
        ..square.drawing()
    };
    let window = Some(Window { left: -12.0, right: 12.0, top: 12.0, bottom: -12.0 });
    let settings = Settings { width: 400, height: 400, window, ..settings() };
    let bright = |p: &[[u8; 4]], [x, y]: [usize; 2]| {
        let rows = (y - 10..y + 10).flat_map(|y| (x - 10..x + 10).map(move |x| p[y * 400 + x]));
        rows.filter(|p| p.iter().take(3).all(|c| *c > 150)).count()
    };
    let bare = drawn(&Drawing { edge_names: None, ..drawing }, &settings);
    let found = drawn(&drawing, &settings);
    // The first edge runs to the upper right, the second down the middle.
    for place in [[295, 128], [200, 200]] {
        assert!(bright(&found, place) > bright(&bare, place) + 15, "at {place:?}");
    }
    // Its halo lies around its letters, which stand within 16 pixels of the line from (233, 200) to (367, 67), not in a box.
    let other = |i: &usize| (0..3).any(|c| bare[*i][c].abs_diff(found[*i][c]) > 2);
    let far = (0..400 * 400).filter(other).map(|i| [i % 400, i / 400]).filter(|[x, _]| *x > 240);
    let off = far.map(|[x, y]| (x as f32 + y as f32 - 433.0).abs() / 2f32.sqrt());
    assert!(off.fold(0.0, f32::max) < 17.0);
    let text = String::from_utf8(svg(&drawing, &settings, &CancelToken::new()).unwrap()).unwrap();
    assert!(text.contains(">verb 0</text>") && text.contains("rotate(-45 "), "{text}");
    assert!(pdf(&drawing, &settings, &CancelToken::new()).unwrap().starts_with(b"%PDF"));
    // A text that has no room on its line is left out, and so are all where edges are many.
    let small = Settings { width: 40, height: 40, ..settings.clone() };
    let of = |settings: &Settings, drawing: &Drawing<'_>| {
        let file = svg(drawing, settings, &CancelToken::new()).unwrap();
        String::from_utf8(file).unwrap().matches("<text").count()
    };
    assert_eq!((of(&settings, &drawing), of(&small, &drawing)), (2, 0));
    let many = vec![[0, 1]; 201];
    assert_eq!(of(&settings, &Drawing { ends: &many, ..drawing }), 0);
}
