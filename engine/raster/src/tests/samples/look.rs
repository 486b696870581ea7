//! Icons, badges and colours.

use graphlume_scene::{Anchor, backdrop};
use serde_json::json;

use super::{DOUBLE, Dice, Formula, SINGLE, exact, exacts, single, singles};
use crate::settings::Theme;
use crate::{afar, icons};

pub(super) fn look() -> Vec<Formula> {
    let files = ["engine/raster/src/icons/mod.rs", "shell/web/src/bound/icons.ts"];
    let mut sizes = Formula::new("size of a sign", files, SINGLE);
    let mut dice = Dice(501);
    let mut add = |[w, h]: [f32; 2], r: f32, share: f32| {
        sizes.add(
            json!({"box": exacts([w, h]), "r": exact(r), "share": single(share)}),
            single(icons::size_for([w, h], r, share)),
        );
    };
    for (k, r) in [0.5, 4.0, 4.5, 7.0, 8.0, 15.0, 32.0, 1_000.0].into_iter().enumerate() {
        let share = [icons::FILL, icons::FILL_BADGE][k % 2];
        add([1.0, 1.0], r, share);
        add([0.03125, 0.03125], r, share);
        for _ in 0..4 {
            add(dice.point([0.125; 2], [4.0; 2]), r, share);
        }
    }
    let mut sides = Formula::new("sides of badges", files, SINGLE);
    let places = [
        Anchor::Icon,
        Anchor::Top,
        Anchor::TopRight,
        Anchor::Right,
        Anchor::BottomRight,
        Anchor::Bottom,
        Anchor::BottomLeft,
        Anchor::Left,
        Anchor::TopLeft,
        Anchor::Cover,
    ];
    for place in places {
        sides.add(json!(place as u8), singles(icons::side(place)));
    }
    let mut constants = Formula::new("measures of icons", files, SINGLE);
    let measures = [
        ("fill of an icon", icons::FILL),
        ("fill of a badge", icons::FILL_BADGE),
        ("share of a badge", icons::BADGE),
        ("least badge", icons::BADGE_MIN),
        ("greatest badge", icons::BADGE_MAX),
        ("least disc with badges", icons::BADGE_DISC_MIN),
        ("least text", icons::TEXT_MIN),
    ];
    for (name, value) in measures {
        constants.add(json!(name), single(value));
    }
    for (name, ink) in [("dark ink", icons::DARK), ("light ink", icons::LIGHT)] {
        constants.add(json!(name), json!(ink.map(|c| (c * 255.0).round() as u8)));
    }
    vec![sizes, sides, constants, far(), palette(), backgrounds()]
}

/// From how many nodes on there are communities, how many of each level, and what is left of nodes and edges behind them.
fn far() -> Formula {
    let files = ["engine/raster/src/afar/mod.rs", "shell/web/src/afar/afar.ts"];
    let mut formula = Formula::new("measures of the view from afar", files, DOUBLE);
    formula.add(json!("many"), json!(crate::MANY));
    formula.add(json!("most"), json!(afar::MOST));
    formula.add(json!("left"), json!([afar::CONTEXT, afar::CONTEXT]));
    formula
}

/// Built-in hues on light, and colours that are near to them.
fn palette() -> Formula {
    let files = ["engine/raster/src/settings/theme.rs", "shell/web/src/scene/color.ts"];
    let mut formula = Formula::new("colours on light", files, DOUBLE);
    let mut dice = Dice(511);
    let known = crate::settings::HUES.map(|(dark, _)| dark);
    let near = known.map(|hue| hue ^ 1);
    let some: Vec<u32> = (0..9).map(|_| dice.roll()).collect();
    for hue in known.into_iter().chain(near).chain([0, 0xff_ffff]).chain(some) {
        let [_, r, g, b] = hue.to_be_bytes();
        let alpha = dice.below(256) as u8;
        formula.add(json!([r, g, b, alpha]), json!(Theme::Light.shown([r, g, b, alpha])));
    }
    formula
}

/// Colours of backgrounds as clients write them, and whether each is that of a light page.
fn backgrounds() -> Formula {
    let files = ["engine/scene/src/backdrop.rs", "shell/web/src/scene/color.ts"];
    let mut formula = Formula::new("backgrounds", files, DOUBLE);
    let texts = [
        "#fff",
        "fff",
        "%23ffffff",
        "#ABCDEF",
        "abcdef80",
        "#1234",
        "12",
        "#12345",
        "",
        "  #0f0 ",
        "rgb(1, 2, 3)",
        "rgb(10%, 20%, 100%)",
        "rgba(255 128 0 / 50%)",
        "rgb(300, -4, 0)",
        "rgb(1, 2)",
        "#9ea5b2",
        "9da4b1",
        "#13161e",
        "#949494",
        "#959595",
        "#969696",
        "#00f",
        "#0f0",
        "#f00",
        "ff0",
        "no colour",
        "#",
        "%23",
        "rgb()",
        "#ggg",
    ];
    for text in texts {
        let found = backdrop::color(text);
        formula.add(
            json!(text),
            json!(found.map(|rgb| json!({"rgb": rgb, "light": backdrop::is_light(rgb)}))),
        );
    }
    formula
}
