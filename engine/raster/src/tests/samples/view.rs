//! Fits and views.

use graphlume_scene::Bits;
use serde_json::{Value, json};

use super::scene::{Seen, flat};
use super::{DOUBLE, Dice, Formula, SINGLE, double, doubles, exact, exacts, single, singles};
use crate::Collapsed;
use crate::afar;
use crate::fit::{fit as fit_all, fit_box, given_box, percentile_box};

const FIT: &str = "engine/raster/src/fit.rs";
const CAMERA: &str = "shell/web/src/scene/camera.ts";
const NONE: [f32; 2] = [f32::NAN; 2];

/// Sides of pictures: usual ones, narrow ones, the least and the greatest ones.
const SIZES: [[f64; 2]; 9] = [
    [800.0, 600.0],
    [1440.0, 900.0],
    [390.0, 844.0],
    [300.0, 150.0],
    [1000.0, 100.0],
    [66.0, 900.0],
    [16.0, 16.0],
    [50.0, 400.0],
    [8192.0, 4882.0],
];

/// Places of nodes of which a fit is to be found, few and many, strange ones included.
fn places() -> Vec<Vec<[f32; 2]>> {
    let mut dice = Dice(11);
    let mut all = vec![
        Vec::new(),
        vec![NONE, NONE],
        vec![[3.0, 4.0]],
        vec![[3.0, 4.0], [3.0, 4.0]],
        vec![[0.0, 0.0], [10.0, 0.0]],
        vec![[0.0, 0.0], [0.0, -7.5], NONE],
        vec![[1.0, 2.0], [f32::INFINITY, 0.0], [5.0, 9.0], [f32::NEG_INFINITY, f32::NAN]],
        vec![[1e30, 0.0], [-1.0, -1.0], [1.0, 1.0]],
        vec![[-0.0, 0.0], [0.0, -0.0]],
        vec![[1e-20, 0.0], [2e-20, 1e-20], [0.0, 3e-20]],
        vec![[-9e20, 1e20], [9e20, -1e20]],
        vec![[1e15, 1e15], [-1e15, 0.0], [0.0, 1e12]],
    ];
    for count in [3, 4, 5, 9, 40, 41, 300, 1_200] {
        let side = dice.between(1.0, 2_000.0);
        let mut some: Vec<[f32; 2]> =
            (0..count).map(|_| dice.point([-side; 2], [side, side / 3.0])).collect();
        // Some far out, near enough to be shown or not.
        let far = dice.between(1.0, 40.0);
        some[1] = [side * far, -side * far / 2.0];
        if count > 8 {
            some[2] = NONE;
            some[count - 1] = [-side * 1.1, side];
        }
        all.push(some);
    }
    all
}

fn rect(found: Option<[[f32; 2]; 2]>) -> Value {
    found.map_or(Value::Null, |[x, y]| singles([x[0], y[0], x[1], y[1]]))
}

fn view_of(([x, y], scale): ([f64; 2], f64)) -> Value {
    json!({"middle": doubles([x, y]), "scale": double(scale)})
}

/// Many places of which each side makes the same itself, by seed.
pub(super) fn many(seed: u32, count: usize) -> Vec<[f32; 2]> {
    let mut dice = Dice(seed);
    let mut one = |_: usize| {
        let wide = if dice.below(500) == 0 { 4_000.0 } else { 100.0 };
        dice.point([-wide; 2], [wide; 2])
    };
    (0..count).map(&mut one).collect()
}

pub(super) fn fit() -> Vec<Formula> {
    let mut percentiles = Formula::new("box of most places", [FIT, CAMERA], SINGLE);
    let mut given = Formula::new("box of given places", [FIT, CAMERA], SINGLE);
    for some in places() {
        let told = json!({"xy": flat(&some)});
        percentiles.add(told.clone(), rect(percentile_box(&some, |_| true)));
        given.add(told, rect(given_box(&some, |_| true)));
    }
    for (seed, count) in [(5, 19_999), (6, 20_000), (7, 40_001), (8, 65_000)] {
        let told = json!({"many": [seed, count]});
        percentiles.add(told.clone(), rect(percentile_box(&many(seed, count), |_| true)));
        given.add(told, rect(given_box(&many(seed, count), |_| true)));
    }
    vec![percentiles, given, boxes(), whole(), reaching(), discs()]
}

/// Boxes beside what covers the picture.
fn boxes() -> Formula {
    let mut formula =
        Formula::new("view of a box beside panels", [FIT, "shell/web/src/scene/fit.ts"], DOUBLE);
    let mut dice = Dice(21);
    let boxes = [
        [[0.0, 100.0], [0.0, 50.0]],
        [[-3.5, 3.5], [-80.0, 80.0]],
        [[2.0, 2.0], [7.0, 7.0]],
        [[2.0, 2.0], [0.0, 10.0]],
        [[-1e-12, 1e-12], [0.0, 1e-13]],
        [[-1e20, 1e20], [-1e18, 1e18]],
    ];
    for size in SIZES {
        for found in boxes {
            let panels = dice.below(4);
            let panel = |_: u32| {
                let corner = dice.point([-20.0; 2], size.map(|side| side as f32));
                let sides = dice.point([4.0; 2], size.map(|side| side as f32 * 0.6 + 5.0));
                [corner[0], corner[1], sides[0], sides[1]]
            };
            let panels: Vec<[f32; 4]> = (0..panels).map(panel).collect();
            let nodes = 1 + dice.below(60);
            let part = (0.36 + 0.1 * f64::from(nodes).sqrt()).min(1.0);
            let [x, y] = found;
            let told = json!({
                "box": exacts([x[0], y[0], x[1], y[1]]), "size": exacts(size), "nodes": nodes,
                "panels": panels.iter().map(|p| exacts(*p)).collect::<Value>(),
            });
            formula.add(told, view_of(fit_box(found, size, &panels, part)));
        }
    }
    formula
}

/// Whole drawings, and what of them is visible.
fn whole() -> Formula {
    let mut formula =
        Formula::new("view of a drawing", [FIT, "shell/web/src/scene/fit.ts"], SINGLE);
    for (k, some) in places().into_iter().enumerate() {
        // Without a place there is nothing to fit.
        if some.iter().all(|p| !crate::view::is_placed(*p)) {
            continue;
        }
        let size = SIZES[k % SIZES.len()];
        for given in [false, true] {
            let hidden: Vec<u32> =
                (0..some.len() as u32).filter(|v| some.len() > 4 && v % 3 == 1).collect();
            let seen = Seen {
                positions: some.clone(),
                given,
                hidden: [hidden, Vec::new()],
                ..Seen::default()
            };
            let whole = if seen.hidden[0].is_empty() { None } else { Some(2.0) };
            let view = seen.drawn(|drawing| fit_all(drawing, size, &[], whole));
            let told = json!({"xy": flat(&some), "given": given, "size": exacts(size), "hidden": seen.hidden[0]});
            formula.add(told, view_of(view));
        }
    }
    formula
}

/// How far discs of collapsed nodes reach.
fn reaching() -> Formula {
    let here = "engine/raster/src/afar/mod.rs";
    let mut formula =
        Formula::new("reach of a disc", [here, "shell/web/src/afar/disc-fit.ts"], DOUBLE);
    for (count, nodes) in
        [(1, 1), (1, 0), (1, 100_000), (50, 100), (100, 100), (7_000, 1_000_000), (3, 9)]
    {
        for (size, zoom) in [
            ([800.0, 600.0], 1.0),
            ([300.0, 900.0], 0.25),
            ([1440.0, 900.0], 7.5),
            ([16.0, 16.0], 400.0),
        ] {
            let told =
                json!({"count": count, "nodes": nodes, "size": exacts(size), "zoom": exact(zoom)});
            formula.add(told, double(afar::reach(count, nodes, size, zoom)));
        }
    }
    formula
}

/// Drawings with discs of collapsed nodes.
fn discs() -> Formula {
    let mut formula = Formula::new(
        "view of a drawing with discs",
        [FIT, "shell/web/src/afar/disc-fit.ts"],
        SINGLE,
    );
    let mut dice = Dice(31);
    for k in 0..24 {
        let nodes = [2, 3, 8, 30, 200][k % 5];
        let side = [1.0, 90.0, 5e6][k % 3];
        let mut seen = Seen::scattered(&mut dice, nodes, 0, side);
        seen.given = k % 2 == 0;
        let size = SIZES[k % 6];
        let entries: Vec<(String, Bits)> = (0..1 + dice.below(3))
            .map(|j| {
                let some = dice.below(4) + 1;
                (
                    format!("disc {j}"),
                    Bits::of_flags((0..nodes as u32).map(|v| v % (some + 1) == j)),
                )
            })
            .collect();
        let whole = if k % 4 == 3 { Some(f64::from(dice.between(0.5, 4.0))) } else { None };
        seen.drawn(|drawing| {
            let collapsed = Collapsed::of(&entries, drawing);
            let applied = collapsed.applied(*drawing);
            let discs: Vec<Value> = afar::places(&applied)
                .into_iter()
                .map(|([x, y], count)| json!({"x": exact(x), "y": exact(y), "count": count}))
                .collect();
            let told = json!({
                "xy": flat(applied.positions), "given": seen.given, "size": exacts(size), "discs": discs,
                "whole": whole.map(exact),
            });
            formula.add(told, view_of(fit_all(&applied, size, &[], whole)));
        });
    }
    formula
}

pub(super) fn view() -> Vec<Formula> {
    let here = "engine/raster/src/view.rs";
    let mut pixels = Formula::new("pixels of places and back", [here, CAMERA], SINGLE);
    let mut diameters =
        Formula::new("diameters", [here, "shell/web/src/scene/node-size.ts"], SINGLE);
    let mut fades =
        Formula::new("length of half the ink", [here, "shell/web/src/picture/picture.ts"], SINGLE);
    let mut dice = Dice(41);
    for (k, size) in SIZES.into_iter().cycle().take(27).enumerate() {
        let middle = dice.point([-50.0; 2], [90.0; 2]).map(f64::from);
        let scale = [1.0, 0.03, 250.0, 1e-9, 1e7][k % 5];
        let zoom = [1.0, 0.0, 1e-4, 0.3, 1.5, 4.0, 10.0, 55.0, 3e4][k % 9];
        let sizes =
            [vec![0, 1, 5, 16, 255], vec![16, 17, 40, 80, 128, 200], vec![255, 255]][k % 3].clone();
        let seen = Seen {
            positions: vec![[0.0; 2]; sizes.len()],
            sizes,
            size: size.map(|side| side as u32),
            middle,
            scale,
            zoom,
            bound: k % 4 == 1,
            point_size: [1.0, 0.1, 2.5, 10.0][k % 4],
            ..Seen::default()
        };
        seen.drawn(|drawing| {
            let view = seen.view(drawing);
            let places: Vec<[f32; 2]> = (0..4).map(|_| dice.point([-60.0; 2], [90.0; 2])).collect();
            let at: Vec<f32> = places.iter().flat_map(|p| view.pixel(*p)).collect();
            let corners = [[0.0, 0.0], [seen.sides()[0], 3.0], [-40.0, seen.sides()[1]]];
            let back: Vec<f64> = corners.iter().flat_map(|p| view.place(*p)).collect();
            let told = json!({
                "size": seen.size, "view": exacts([middle[0], middle[1], scale]),
                "xy": flat(&places), "pixels": exacts(corners.into_iter().flatten()),
            });
            pixels.add(told, json!({"pixels": singles(at), "places": doubles(back)}));
            let found = seen.sizes.iter().map(|size| view.diameter(*size));
            let told = json!({
                "sizes": seen.sizes, "size": seen.size, "zoom": exact(zoom), "pointSize": exact(seen.point_size),
                "bound": seen.bound,
            });
            diameters.add(told, singles(found));
            fades.add(json!({"size": seen.size, "zoom": exact(zoom)}), single(view.fade_length()));
        });
    }
    vec![pixels, diameters, fades]
}
