use super::*;
use crate::drawing::DIMMED;

/// The strongest channel of a pixel over the background.
fn strength(picture: &[[u8; 4]], [row, column]: [usize; 2]) -> f32 {
    let back = Theme::Dark.background()[0].map(|c| c * 255.0);
    let pixel = picture[row * SIDE as usize + column];
    (0..3).map(|c| (f32::from(pixel[c]) - back[c]).abs()).fold(0.0, f32::max)
}

fn middle(v: usize) -> [usize; 2] {
    let [column, row] = place(v);
    [row, column]
}

/// A picture of the square with these nodes selected.
fn of(square: &Square, nodes: Option<&Bits>) -> Vec<[u8; 4]> {
    drawn(&Drawing { selected: nodes, ..square.drawing() }, &settings())
}

#[test]
fn discs_and_edges_that_are_not_selected_keep_little() {
    let square = Square::new();
    let plain = of(&square, None);
    let some = of(&square, Some(&Bits::new(4, &[0, 1])));
    for v in 0..2 {
        assert_eq!(strength(&some, middle(v)), strength(&plain, middle(v)), "node {v}");
    }
    for v in 2..4 {
        let left = strength(&some, middle(v)) / strength(&plain, middle(v));
        assert!((left - DIMMED).abs() < 0.02, "node {v} keeps {left}");
    }
    // Halfway along the edges: the one with both ends selected is drawn once more, the other one is fainter.
    let between = |a: usize, b: usize| {
        let ([ra, ca], [rb, cb]) = (middle(a), middle(b));
        [usize::midpoint(ra, rb), usize::midpoint(ca, cb)]
    };
    assert!(strength(&some, between(0, 1)) >= strength(&plain, between(0, 1)));
    let left = strength(&some, between(2, 3)) / strength(&plain, between(2, 3));
    assert!((left - DIMMED).abs() < 0.06, "the edge keeps {left}");
    // All, and none: no node is fainter for the first, and every one for the second.
    let all = of(&square, Some(&Bits::all(4)));
    let none = of(&square, Some(&Bits::new(4, &[])));
    for v in 0..4 {
        assert_eq!(strength(&all, middle(v)), strength(&plain, middle(v)));
        assert!(strength(&none, middle(v)) < 0.3 * strength(&plain, middle(v)));
    }
}

struct Four;

impl Names for Four {
    fn known(&self) -> &[(u32, String)] {
        &[]
    }

    fn of(&self, nodes: &[u32]) -> Vec<String> {
        nodes.iter().map(|v| format!("node {v}")).collect()
    }
}

#[test]
fn names_are_as_faint_as_their_nodes_and_shapes_have_groups_of_their_own() {
    let square = Square::new();
    let nodes = Bits::new(4, &[3]);
    let drawing = Drawing { selected: Some(&nodes), names: Some(&Four), ..square.drawing() };
    let text = svg(&drawing, &settings(), &CancelToken::new()).unwrap();
    let text = String::from_utf8(text).unwrap();
    let of = |name: &str| {
        let at = text.find(&format!(">{name}<")).unwrap_or_else(|| panic!("no {name} in {text}"));
        text[..at].rsplit_once('<').unwrap().1.to_owned()
    };
    assert!(of("node 0").contains("opacity=\"0.22\""), "{}", of("node 0"));
    assert!(!of("node 3").contains("opacity=\"0.22\""), "{}", of("node 3"));
    for group in ["edges", "nodes", "selected-edges", "selected-nodes", "names"] {
        assert_eq!(text.matches(&format!("<g id=\"{group}\"")).count(), 1, "{group}");
    }
    assert_eq!(text.matches("<g ").count(), text.matches("</g>").count());
    assert!(pdf(&drawing, &settings(), &CancelToken::new()).unwrap().starts_with(b"%PDF"));
}

#[test]
fn icons_are_as_faint_as_their_discs() {
    let square = Square::new();
    let look = serde_json::json!({"list": [{"bg": "#ffffff"}]});
    let axis = graphlume_scene::wire::Axis::Node;
    let layer = IconLayer { axis, place: graphlume_scene::Anchor::Icon, shown: vec![1; 4], look };
    let nodes = Bits::new(4, &[0]);
    let icons = std::slice::from_ref(&layer);
    let with = |selected| drawn(&Drawing { selected, icons, ..square.drawing() }, &settings());
    let (plain, some) = (with(None), with(Some(&nodes)));
    assert_eq!(strength(&some, middle(0)), strength(&plain, middle(0)));
    let left = strength(&some, middle(1)) / strength(&plain, middle(1));
    assert!((left - DIMMED).abs() < 0.02, "the icon keeps {left}");
}

#[test]
fn loops_of_one_node_lie_side_by_side() {
    let square = Square::new();
    let radii = |count: usize| {
        let ends = vec![[0, 0]; count];
        let drawing = Drawing { ends: &ends, ..square.drawing() };
        let text = svg(&drawing, &settings(), &CancelToken::new()).unwrap();
        let text = String::from_utf8(text).unwrap();
        let edges = text.split("<g id=\"edges\"").nth(1).unwrap().split("</g>").next().unwrap();
        let radius = |part: &str| part.split('"').next().unwrap().parse::<f32>().unwrap();
        edges.split(" r=\"").skip(1).map(radius).collect::<Vec<f32>>()
    };
    for count in 1..=8 {
        let mut found = radii(count);
        found.sort_by(f32::total_cmp);
        assert_eq!(found.len(), count);
        assert!(found.windows(2).all(|w| w[1] - w[0] >= 3.9), "{count}: {found:?}");
    }
}
