//! The view from afar: groups, their levels, and discs that stand for collapsed nodes.

use graphlume_scene::Bits;
use graphlume_scene::wire::NO_GROUP;
use serde_json::{Value, json};

use super::scene::{Seen, flat};
use super::{Dice, Formula, SINGLE, double, doubles, exact, exacts};
use crate::Collapsed;
use crate::afar::apart::{Body, set_apart};
use crate::afar::groups::{Elements, groups_of, links_of, spreads};
use crate::afar::level::Level;
use crate::settings::Theme;

/// A graph in groups, some nodes of which are hidden or belong to none.
fn grouped(k: usize, dice: &mut Dice) -> (Seen, Vec<u16>) {
    let nodes = [0, 1, 6, 40, 150, 400][k % 6];
    let mut seen = Seen::scattered(dice, nodes, 3 * nodes, 400.0);
    let most = [1, 3, 12, 40][k % 4];
    let of: Vec<u16> = (0..nodes)
        .map(|v| {
            if dice.below(9) == 0 {
                NO_GROUP
            } else {
                ((v as u32 / 3 + dice.below(3)) % most) as u16 * 3
            }
        })
        .collect();
    // Nodes of a group are near to one another.
    for (at, group) in seen.positions.iter_mut().zip(&of) {
        let middle = [f32::from(group % 7) * 150.0, f32::from(group % 5) * 90.0];
        *at = [0, 1].map(|c| if *group == NO_GROUP { at[c] } else { middle[c] + at[c] / 8.0 });
    }
    // Colours of a few kinds, or of a scale.
    let kinds = [2, 5, 70, 4_000][k % 4];
    seen.rgba = (0..nodes)
        .map(|_| {
            let kind = dice.below(kinds);
            [(kind * 37 % 256) as u8, (kind * 91 % 256) as u8, (kind / 16 % 256) as u8, 255]
        })
        .collect();
    if nodes > 5 {
        seen.positions[2] = [f32::NAN; 2];
        seen.positions[4] = [9_000.0, -8_000.0];
        if k % 2 == 1 {
            seen.hidden[0] = (0..nodes as u32).filter(|v| v % 7 == 3).collect();
            seen.hidden[1] = (0..3 * nodes as u32).filter(|e| e % 5 == 1).collect();
        }
    }
    (seen, of)
}

fn told(seen: &Seen, of: &[u16]) -> Value {
    let rgba: Vec<u32> = seen.rgba.iter().map(|c| u32::from_be_bytes(*c) >> 8).collect();
    json!({
        "xy": flat(&seen.positions), "sizes": seen.sizes, "colors": rgba, "ends": seen.ends.as_flattened(),
        "hidden": seen.hidden, "of": of,
    })
}

pub(super) fn groups() -> Vec<Formula> {
    let files = ["engine/raster/src/afar/groups.rs", "shell/web/src/afar/groups.ts"];
    let mut formula = Formula::new("groups, where they are, and what joins them", files, SINGLE);
    let mut dice = Dice(101);
    for k in 0..30 {
        let (seen, of) = grouped(k, &mut dice);
        let (most, least) = ([140, 5, 600][k % 3], [2, 1][k / 3 % 2]);
        let out = seen.drawn(|drawing| {
            let shows = |v: u32| drawing.shows_node(v);
            let found = groups_of(&of, Elements { drawing, theme: Theme::Dark, shows: &shows }, most, least);
            let places = spreads(&of, &found, drawing);
            let links = links_of(&of, &found, drawing, 2 * found.len());
            let group = |(group, spread): (&crate::afar::groups::Group, &crate::afar::groups::Spread)| {
                let color = group.color.map(|c| (c * 255.0).round() as u8);
                let place = doubles([spread.middle[0], spread.middle[1]]);
                let far = doubles(spread.far);
                json!({"id": group.id, "count": group.count, "top": group.top, "color": color, "at": place, "far": far})
            };
            let links: Vec<Value> = links.iter().map(|link| json!([link.ends[0], link.ends[1], link.count])).collect();
            json!({"groups": found.iter().zip(&places).map(group).collect::<Value>(), "links": links})
        });
        let mut told = told(&seen, &of);
        (told["most"], told["least"]) = (json!(most), json!(least));
        formula.add(told, out);
    }
    vec![formula]
}

pub(super) fn level() -> Vec<Formula> {
    vec![apart(), levels()]
}

fn apart() -> Formula {
    let files = ["engine/raster/src/afar/apart.rs", "shell/web/src/afar/apart.ts"];
    let mut formula = Formula::new("discs that stand apart", files, 1e-6);
    let mut dice = Dice(111);
    let mut lists: Vec<Vec<[f64; 3]>> = vec![
        Vec::new(),
        vec![[1.0, 2.0, 3.0]],
        vec![[1.0, 1.0, 1.0]; 3],
        vec![[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
        vec![[0.0, 0.0, 10.0], [8.0, 0.0, 2.0], [100.0, 0.0, 5.0]],
        vec![[0.0, 0.0, 1e6], [1e-3, 0.0, 1e-3]],
        vec![[0.0, 0.0, 1.0], [2.12, 0.0, 1.0]],
        vec![[0.0, 0.0, 1.0], [2.119, 0.0, 1.0]],
    ];
    for count in [2, 2, 3, 4, 5, 8, 12, 20, 40, 60] {
        let wide = dice.between(4.0, 60.0);
        lists.push(
            (0..count)
                .map(|_| {
                    let [x, y] = dice.point([0.0; 2], [wide; 2]);
                    [f64::from(x), f64::from(y), f64::from(dice.between(0.5, 9.0))]
                })
                .collect(),
        );
    }
    for list in lists {
        let mut bodies: Vec<Body> =
            list.iter().map(|[x, y, r]| Body { at: [*x, *y], r: *r }).collect();
        set_apart(&mut bodies);
        formula.add(exacts(list.into_iter().flatten()), doubles(bodies.iter().flat_map(|b| b.at)));
    }
    formula
}

fn levels() -> Formula {
    let files = ["engine/raster/src/afar/level.rs", "shell/web/src/afar/level.ts"];
    let mut formula = Formula::new("levels of groups", files, 1e-6);
    let mut dice = Dice(121);
    for k in 0..24 {
        let (seen, of) = grouped(k, &mut dice);
        // Groups within these.
        let fine: Vec<u16> = of
            .iter()
            .map(|g| if *g == NO_GROUP { *g } else { 2 * g + (dice.below(2) as u16) })
            .collect();
        let area = f64::from(dice.between(10.0, 90_000.0));
        let scales = [0.01, 0.3, 1.0, 3.0, 20.0, 1e6];
        let out = seen.drawn(|drawing| {
            let mut coarse = Level::of(&of, 20, None, drawing, Theme::Dark, area);
            let mut fine = Level::of(&fine, 30, Some(&coarse), drawing, Theme::Dark, area);
            let shown: Vec<Value> = scales.iter().map(|scale| {
                fine.look(Some(&coarse), *scale, false);
                let fine = doubles(fine.shown.clone());
                coarse.look(None, *scale, true);
                json!([doubles(coarse.shown.clone()), fine])
            }).collect();
            let told = |level: &Level<'_>| json!({
                "total": level.total, "bodies": doubles(level.bodies.iter().flat_map(|b| [b.at[0], b.at[1], b.r])),
                "spacing": level.spacing.iter().map(|s| double(*s)).collect::<Vec<_>>(),
                "parents": level.parents.iter().map(|p| p.map_or(-1, |p| p as i32)).collect::<Vec<_>>(),
            });
            json!({"coarse": told(&coarse), "fine": told(&fine), "shown": shown})
        });
        let mut told = told(&seen, &of);
        (told["fine"], told["area"], told["scales"]) = (json!(fine), exact(area), exacts(scales));
        formula.add(told, out);
    }
    formula
}

pub(super) fn collapsed() -> Vec<Formula> {
    let files = ["engine/raster/src/afar/collapsed.rs", "shell/web/src/afar/collapsed.ts"];
    let mut formula = Formula::new("collapsed nodes", files, SINGLE);
    let mut dice = Dice(131);
    for k in 0..24 {
        let (seen, _) = grouped(k, &mut dice);
        let nodes = seen.positions.len() as u32;
        // Entries that overlap, that are empty, and whose nodes have no place.
        let members: Vec<Vec<u32>> = (0..k % 4)
            .map(|j| match j {
                0 => (0..nodes).filter(|v| v % 4 == 1).collect(),
                1 => (0..nodes).filter(|v| v % 6 < 2).collect(),
                _ => vec![2].into_iter().filter(|v| *v < nodes).collect(),
            })
            .collect();
        let entries: Vec<(String, Bits)> = members
            .iter()
            .enumerate()
            .map(|(j, list)| {
                (format!("{j}"), Bits::of_flags((0..nodes).map(|v| list.contains(&v))))
            })
            .collect();
        let out = seen.drawn(|drawing| {
            let collapsed = Collapsed::of(&entries, drawing);
            let applied = collapsed.applied(*drawing);
            let disc = |disc: &crate::afar::collapsed::CollapsedDisc| {
                let color = disc.color.map(|c| (c * 255.0).round() as u8);
                json!({"name": disc.name, "count": disc.count, "color": color, "at": doubles(disc.at)})
            };
            let hidden = |count: usize, shows: &dyn Fn(u32) -> bool| (0..count as u32).filter(|x| !shows(*x)).collect::<Vec<_>>();
            json!({
                "discs": collapsed.discs(&applied, Theme::Dark).iter().map(disc).collect::<Value>(),
                "xy": flat(applied.positions),
                "hidden": [hidden(seen.positions.len(), &|v| applied.shows_node(v)), hidden(seen.ends.len(), &|e| applied.shows_edge(e))],
            })
        });
        let mut told = told(&seen, &[]);
        told["members"] = json!(members);
        formula.add(told, out);
    }
    vec![formula]
}
