//! The ways of lines: bundled, bent, loops, and places on them.

use serde_json::{Value, json};

use super::scene::Seen;
use super::{Dice, Formula, SINGLE, exact, single, singles};
use crate::canvas::spots;
use crate::canvas::strokes::Pen;
use crate::edges::lines::{Line, Lines};
use crate::occupied::Disc;

const CURVES: [&str; 2] = ["engine/raster/src/canvas/mod.rs", "shell/web/src/scene/line-curve.ts"];

/// A graph with parallel edges and loops, in three groups.
fn seen(k: usize, dice: &mut Dice) -> Seen {
    let [nodes, edges] = [[2, 5], [4, 14], [12, 60], [40, 120]][k % 4];
    let mut seen = Seen::scattered(dice, nodes, edges, 600.0);
    seen.groups = vec![
        (0..nodes as u32)
            .map(|v| if v % 8 == 7 { graphlume_scene::wire::NO_GROUP } else { (v % 3) as u16 })
            .collect(),
    ];
    seen.curvature = [0.0, 0.35, 1.0][k % 3];
    seen.size = [[800, 600], [390, 844], [1440, 300]][k % 3];
    seen.middle = dice.point([-90.0; 2], [90.0; 2]).map(f64::from);
    seen.scale = [1.0, 0.4, 2.5][k / 2 % 3];
    seen.zoom = seen.scale;
    if nodes > 10 {
        seen.positions[5] = [f32::NAN; 2];
        seen.hidden[0] = vec![9];
    }
    seen
}

pub(super) fn bundle() -> Vec<Formula> {
    let files = ["engine/raster/src/edges/bundle.rs", "shell/web/src/afar/bundle.ts"];
    let mut led = Formula::new("control points of bundled edges", files, SINGLE);
    let mut ways = Formula::new("control points of lines", CURVES, SINGLE);
    let mut dice = Dice(201);
    for k in 0..24 {
        let mut seen = Seen { bundle: k % 2 == 0, ..seen(k, &mut dice) };
        if seen.positions.len() > 10 {
            // Two nodes on one spot: a line between them has no direction.
            seen.positions[6] = seen.positions[4];
        }
        let found: Vec<Value> = seen.seen(|canvas| {
            let lines = Lines::of(0..seen.ends.len() as u32, canvas.drawing);
            let way = |line: &Line| {
                let Line { edge, rank, count } = *line;
                let curve = canvas.curve(*line).filter(|c| c.circle.is_none());
                let points = curve.map(|c| match c.led {
                    Some([p, q]) => singles([c.a, p, q, c.b].into_iter().flatten()),
                    None => singles([c.a, c.m, c.b].into_iter().flatten()),
                });
                // Hidden nodes have places where lines are bundled, and no line of theirs is drawn.
                let [s, d] = seen.ends[edge as usize];
                let is_seen = [s, d].iter().all(|v| canvas.drawing.shows_node(*v));
                is_seen.then(|| json!([edge, rank, count, points]))
            };
            lines.all.iter().filter_map(way).collect()
        });
        (if seen.bundle { &mut led } else { &mut ways }).add(seen.told(), json!(found));
    }
    vec![led, ways]
}

pub(super) fn spots() -> Vec<Formula> {
    let files = ["engine/raster/src/canvas/spots.rs", "shell/web/src/bound/spots.ts"];
    let mut discs = Formula::new("discs with icons", files, SINGLE);
    let mut lines = Formula::new("lines with icons", files, SINGLE);
    let mut places = Formula::new("places on lines for a text", [files[0], CURVES[1]], SINGLE);
    let mut dice = Dice(211);
    for k in 0..24 {
        let mut seen = Seen { bundle: k % 3 == 1, ..seen(k, &mut dice) };
        seen.zoom = [1.0, 6.0][k % 2];
        if seen.rgba.len() > 3 {
            seen.rgba[3][3] = 0;
        }
        let spot = |disc: &Disc| json!([disc.node, singles([disc.at[0], disc.at[1], disc.radius])]);
        let has = |x: u32| x % 4 != 2;
        seen.seen(|canvas| {
            discs.add(seen.told(), spots::discs(canvas, has).iter().map(spot).collect());
            let of = Lines::of(0..seen.ends.len() as u32, canvas.drawing);
            // Hidden nodes: no line of theirs is drawn.
            let strokes: Vec<_> = canvas.strokes(&of, Pen { width: 1.0, fades: false }).into_iter().filter(|s| {
                seen.ends[s.line.edge as usize].iter().all(|v| canvas.drawing.shows_node(*v))
            }).collect();
            lines.add(seen.told(), spots::lines(canvas, &strokes, has).iter().map(spot).collect());
            let width = [20.0, 90.0][k % 2];
            let place = |stroke| {
                let one = |place: &spots::OnLine| json!({
                    "at": singles(place.at), "turn": singles([place.angle.cos(), place.angle.sin()]), "length": single(place.length),
                    "along": spots::is_along(stroke, *place, width),
                });
                spots::places(canvas, stroke).iter().map(one).collect::<Value>()
            };
            let mut told = seen.told();
            told["width"] = exact(width);
            places.add(told, strokes.iter().map(place).collect());
        });
    }
    vec![discs, lines, places]
}
