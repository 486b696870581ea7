//! The underlay: axes, and the map of the world.

use serde_json::{Value, json};

use super::scene::Seen;
use super::{DOUBLE, Dice, Formula, SINGLE, double, doubles, exact, exacts, singles};
use crate::drawing::{AxisKind, AxisPlace, AxisRow, MapPlace};
use crate::settings::Theme;
use crate::underlay::{self, axes, world};

pub(super) fn underlay() -> Vec<Formula> {
    let (lines, places) = rows();
    vec![lines, places, map(), looks()]
}

fn rows() -> (Formula, Formula) {
    let files = ["engine/raster/src/underlay/axes.rs", "shell/web/src/bound/axes.ts"];
    let mut lines = Formula::new("ends of axes", files, DOUBLE);
    let mut places = Formula::new("places of an axis's label", files, SINGLE);
    let mut dice = Dice(401);
    let kinds = [
        (AxisKind::Plain, "plain"),
        (AxisKind::Internal, "internal"),
        (AxisKind::External, "external"),
        (AxisKind::Space, "space"),
    ];
    for k in 0..36usize {
        let (kind, word) = kinds[k % 4];
        let at = f64::from(dice.between(-120.0, 300.0));
        let (place, name) = match k % 3 {
            0 => (AxisPlace::Ring(at.abs()), "r"),
            1 => (AxisPlace::X(at), "x"),
            _ => (AxisPlace::Y(at), "y"),
        };
        let mut end = |given: bool| given.then(|| f64::from(dice.between(-200.0, 300.0)));
        let ends = [end(k % 5 == 1), end(k % 7 > 4)];
        let row = AxisRow { at: place, label: String::new(), kind, width: 1.0, ends };
        let seen = Seen {
            size: [[800, 600], [390, 844], [1440, 120], [20, 20]][k / 3 % 4],
            scale: [1.0, 0.05, 4.0][k / 2 % 3],
            middle: dice.point([-100.0; 2], [200.0; 2]).map(f64::from),
            ..Seen::default()
        };
        let size = dice.point([4.0, 8.0], [150.0, 20.0]);
        seen.drawn(|drawing| {
            let view = seen.view(drawing);
            let at = if name == "r" { at.abs() } else { at };
            let mut told = json!({
                "row": {name: exact(at), "kind": word}, "size": seen.size,
                "view": exacts([seen.middle[0], seen.middle[1], seen.scale]),
            });
            for (name, end) in [("min", ends[0]), ("max", ends[1])] {
                if let Some(end) = end {
                    told["row"][name] = exact(end);
                }
            }
            if name != "r" {
                lines.add(told.clone(), doubles(axes::line(&row, &view).into_iter().flatten()));
            }
            told["label"] = exacts(size);
            places.add(told, axes::places(&row, &view, size).into_iter().map(singles).collect());
        });
    }
    (lines, places)
}

/// Some points of coasts and borders, and all of the graticule.
fn map() -> Formula {
    let files = ["engine/raster/src/underlay/world.rs", "shell/web/src/bound/world-map.ts"];
    let mut formula = Formula::new("map of the world", files, DOUBLE);
    let all = world::lines();
    for place in [
        MapPlace { scale: 1.0, shift: [0.0; 2] },
        MapPlace { scale: 7.5, shift: [-40.0, 1_000.25] },
    ] {
        let at = |p: &[f64; 2]| [0, 1].map(|c| place.scale * p[c] + place.shift[c]);
        for (name, lines) in [("coasts", &all.coasts), ("borders", &all.borders)] {
            for k in (0..lines.len()).step_by(9) {
                let told = json!({"place": exacts([place.scale, place.shift[0], place.shift[1]]), "of": name, "line": k});
                formula.add(told, doubles(lines[k].iter().flat_map(at)));
            }
        }
        let told = json!({"place": exacts([place.scale, place.shift[0], place.shift[1]]), "of": "graticule"});
        formula.add(
            told,
            world::graticule().iter().map(|line| doubles(line.iter().flat_map(at))).collect(),
        );
    }
    formula
}

/// The inks of lines and labels.
fn looks() -> Formula {
    let files = ["engine/raster/src/underlay/mod.rs", "shell/web/src/bound/underlay.ts"];
    let mut formula = Formula::new("inks of the underlay", files, SINGLE);
    let rows = [
        ("coast", underlay::COAST),
        ("border", underlay::BORDER),
        ("graticule", underlay::GRATICULE),
        ("external", underlay::FIRM),
        ("internal", underlay::LINE),
        ("plain", underlay::LINE),
        ("space", underlay::SPACE),
        ("label", underlay::LABEL),
    ];
    for (theme, word) in [(Theme::Dark, "dark"), (Theme::Light, "light")] {
        for (name, strength) in rows {
            let paint = underlay::ink(theme, strength);
            let color = paint.color.map(|c| (c * 255.0).round() as u8);
            formula.add(json!({"theme": word, "of": name}), json!({"color": color, "opacity": double(f64::from((paint.opacity * 1e4).round()) / 1e4)}));
        }
    }
    let plain: Value = singles([underlay::BAND, underlay::SIZE, underlay::DASH]);
    formula.add(json!("band, letters and dash in pixels"), plain);
    formula
}
