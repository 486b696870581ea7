//! Formulae of the page's shaders: ways and inks of edges, discs, and the tone map.

use serde_json::{Value, json};

use super::scene::Seen;
use super::{Dice, Formula, SINGLE, exact, exacts, single, singles};
use crate::band::Band;
use crate::canvas::Canvas;
use crate::canvas::nodes::{self, Dots};
use crate::canvas::strokes::Pen;
use crate::edges::curve::swell;
use crate::edges::lines::Lines;
use crate::marks::Blob;
use crate::settings::{Settings, Theme};
use crate::tone::Tone;

const SHADERS: &str = "shell/web/src/gl/shaders.ts";

pub(super) fn shaders() -> Vec<Formula> {
    vec![curves(), bundled(), swells(), inks(), arrows(), discs(), blobs(), lines(), tones()]
}

/// A graph with colours, some of whose nodes are out of the picture.
fn colored(k: usize, dice: &mut Dice) -> Seen {
    let mut seen = Seen::scattered(dice, 8, 14, 900.0);
    seen.rgba = (0..8)
        .map(|_| [0; 3].map(|_: u8| dice.below(256) as u8))
        .map(|[r, g, b]| [r, g, b, [255, 90][k % 2]])
        .collect();
    seen.size = [[800, 600], [390, 844], [1440, 300]][k % 3];
    seen.zoom = [1.0, 2.0, 5.0, 0.4][k % 4];
    seen.curvature = [0.0, 0.5, 1.0][k % 3];
    seen.middle = dice.point([-80.0; 2], [80.0; 2]).map(f64::from);
    seen
}

fn told(seen: &Seen) -> Value {
    let mut told = seen.told();
    told["colors"] = json!(seen.rgba);
    told
}

/// Places on lines: straight ones, bent ones, and loops.
fn curves() -> Formula {
    let mut formula =
        Formula::new("places on lines", ["engine/raster/src/edges/curve.rs", SHADERS], SINGLE);
    let mut dice = Dice(601);
    for k in 0..12 {
        let mut seen = colored(k, &mut dice);
        // Parallel ones and loops.
        seen.ends.extend([[0, 1], [1, 0], [0, 1], [2, 2], [2, 2], [2, 2], [0, 1]]);
        let found: Vec<Value> = seen.seen(|canvas| {
            let lines = Lines::of(0..seen.ends.len() as u32, canvas.drawing);
            let way = |line: &crate::edges::lines::Line| {
                let curve = canvas.curve(*line)?;
                let at = [0.0, 0.125, 0.5, 0.75, 1.0].into_iter().flat_map(|t| curve.at(t));
                Some(json!({"edge": line.edge, "rank": line.rank, "at": singles(at)}))
            };
            lines.all.iter().filter_map(way).collect()
        });
        formula.add(told(&seen), json!(found));
    }
    formula
}

/// Places on lines that communities lead.
fn bundled() -> Formula {
    let there = "shell/web/src/afar/bundle-shaders.ts";
    let here = "engine/raster/src/edges/curve.rs";
    let mut formula = Formula::new("places on bundled lines", [here, there], SINGLE);
    let mut dice = Dice(606);
    for k in 0..12 {
        let mut seen = colored(k, &mut dice);
        seen.bundle = true;
        seen.groups = vec![(0..8).map(|v| v % 3).collect()];
        let found: Vec<Value> = seen.seen(|canvas| {
            let lines = Lines::of(0..seen.ends.len() as u32, canvas.drawing);
            let way = |line: &crate::edges::lines::Line| {
                let curve = canvas.curve(*line).filter(|curve| curve.led.is_some())?;
                let at = [0.0, 0.125, 0.5, 0.75, 1.0].into_iter().flat_map(|t| curve.at(t));
                Some(json!([line.edge, singles(at)]))
            };
            lines.all.iter().filter_map(way).collect()
        });
        formula.add(told(&seen), json!(found));
    }
    formula
}

fn swells() -> Formula {
    let mut formula = Formula::new(
        "width of a line for many",
        ["engine/raster/src/edges/curve.rs", SHADERS],
        SINGLE,
    );
    for count in [0, 1, 2, 3, 8, 9, 500, 1_023, 1_024, 1_025, 16_777_215] {
        formula.add(json!(count), single(swell(count)));
    }
    formula
}

/// Colours, widths and what is left of edges.
fn inks() -> Formula {
    let mut formula =
        Formula::new("ink of an edge", ["engine/raster/src/canvas/mod.rs", SHADERS], SINGLE);
    let mut dice = Dice(611);
    for k in 0..16 {
        let seen = colored(k, &mut dice);
        let edges = seen.ends.len();
        let own: Vec<[u8; 4]> = (0..edges)
            .map(|e| [dice.below(256) as u8, 70, 9, if e % 3 == 0 { 0 } else { 255 }])
            .collect();
        let widths = dice.bytes(edges, 256).into_iter().map(|w| w.max(1)).collect::<Vec<_>>();
        let (has, some, light) = (k % 4 > 0, k % 4 == 2, k % 2 == 1);
        let theme = if light { Theme::Light } else { Theme::Dark };
        let settings = Settings { theme, ..seen.settings() };
        let fade = [0.0, 0.375, 1.0][k % 3];
        let found: Vec<Value> = seen.drawn(|drawing| {
            let drawing = crate::Drawing {
                edge_rgba: has.then_some(&own),
                edge_rgba_some: some,
                edge_width: has.then_some(&widths),
                ..*drawing
            };
            let canvas = Canvas::new(&drawing, &settings, seen.view(&drawing), fade);
            let ink = |e: u32| {
                let ends = seen.ends[e as usize];
                let at = ends.map(|v| canvas.at[v as usize]);
                let span = (at[0][0] - at[1][0]).hypot(at[0][1] - at[1][1]);
                json!({
                    "colors": singles(ends.iter().flat_map(|v| canvas.color(e, *v))), "width": single(canvas.width(e)),
                    "left": singles([canvas.passing(at), canvas.faded(span)]),
                })
            };
            (0..edges as u32).map(ink).collect()
        });
        let mut told = told(&seen);
        // Both sides have the colours that the theme gives.
        (told["light"], told["fade"]) = (json!(light), exact(fade));
        if has {
            (told["own"], told["some"], told["widths"]) = (json!(own), json!(some), json!(widths));
        }
        formula.add(told, json!(found));
    }
    formula
}

fn arrows() -> Formula {
    let mut formula =
        Formula::new("arrow heads", ["engine/raster/src/canvas/strokes.rs", SHADERS], SINGLE);
    let mut dice = Dice(621);
    for k in 0..12 {
        let mut seen = colored(k, &mut dice);
        seen.ends.extend([[0, 1], [1, 0], [3, 3]]);
        let (room, width) = ([0.0, 0.5, 1.0][k % 3], [1.0, 1.5][k % 2]);
        let found: Vec<Value> = seen.seen(|canvas| {
            let lines = Lines::of(0..seen.ends.len() as u32, canvas.drawing);
            let strokes = canvas.strokes(&lines, Pen { width, fades: true });
            let head = |stroke| {
                let arrow = canvas.arrow(stroke, room)?;
                let tip = singles(arrow.tip);
                Some(json!({"tip": tip, "turn": singles(arrow.dir), "length": single(arrow.length), "left": single(arrow.weight)}))
            };
            strokes.iter().map(|stroke| json!([stroke.line.edge, stroke.line.rank, stroke.line.count, head(stroke)])).collect()
        });
        let mut told = told(&seen);
        (told["room"], told["width"]) = (exact(room), exact(width));
        formula.add(told, json!(found));
    }
    formula
}

/// Some pixels of a band, each with its column and row.
fn pixels(band: &Band) -> Vec<Value> {
    let rows = [band.rows / 2, band.rows / 2 + 3, band.rows / 4];
    let at = |row: usize| (0..band.columns).step_by(2).map(move |column| [column, row]);
    let pixel = |[column, row]: [usize; 2]| {
        let [r, g, b, a] = band.pixels[row * band.columns + column];
        json!([column, row, singles([r, g, b, a])])
    };
    rows.into_iter().flat_map(at).map(pixel).collect()
}

/// Discs of nodes with their rings.
fn discs() -> Formula {
    let mut formula =
        Formula::new("disc of a node", ["engine/raster/src/canvas/nodes.rs", SHADERS], SINGLE);
    let mut dice = Dice(631);
    for k in 0..16usize {
        let scale = [1.0, 2.0, 1.25, 0.5][k % 4];
        let seen = Seen {
            positions: vec![dice.point([-1.0; 2], [1.0; 2])],
            rgba: vec![[dice.below(256) as u8, 200, 30, [255, 120][k % 2]]],
            sizes: vec![[4, 17, 21, 60, 90][k % 5]],
            size: [32, 24],
            bound: true,
            point_size: 2.0,
            ..Seen::default()
        };
        let (stroke, opacity) = ([0.0, 0.0, 2.5][k % 3], [1.0, 0.5][k / 2 % 2]);
        let back = [0.25, 0.125, 0.0];
        let found = seen.seen(|canvas| {
            let side = |side: u32| (side as f32 * scale) as usize;
            let mut band = Band::new(0, side(seen.size[1]), side(seen.size[0]), scale);
            nodes::draw(
                &mut band,
                canvas,
                &[0],
                Dots { back, opacity, stroke, scale, are_full: true },
            );
            pixels(&band)
        });
        let mut told = told(&seen);
        (told["scale"], told["stroke"], told["opacity"]) =
            (exact(scale), exact(stroke), exact(opacity));
        told["back"] = exacts(back);
        formula.add(told, json!(found));
    }
    formula
}

const BLOBS: [&str; 2] = ["engine/raster/src/marks/blobs.rs", "shell/web/src/afar/blob-shaders.ts"];

fn unit(dice: &mut Dice) -> [f32; 3] {
    [0; 3].map(|_: u8| dice.between(0.0, 1.0))
}

fn blobs() -> Formula {
    let mut formula = Formula::new("disc of a community", BLOBS, SINGLE);
    let mut dice = Dice(641);
    for k in 0..16 {
        let (at, r) = (dice.point([10.0; 2], [22.0; 2]), dice.between(0.5, [3.0, 14.0][k % 2]));
        let (inside, around) = (unit(&mut dice), unit(&mut dice));
        let (fill, rim) = (dice.between(0.0, 1.125), dice.between(0.0, 1.125));
        let mut band = Band::new(0, 32, 32, 1.0);
        Blob::Disc { at, r, inside, around, fill, rim }.draw(&mut band);
        let told = json!({"texels": exacts([at[0], at[1], r, rim, inside[0], inside[1], inside[2], fill, around[0], around[1], around[2], -1.0])});
        formula.add(told, json!(pixels(&band)));
    }
    formula
}

fn lines() -> Formula {
    let mut formula = Formula::new("line between communities", BLOBS, SINGLE);
    let mut dice = Dice(651);
    for _ in 0..16 {
        let [p, q] = [0, 1].map(|_| dice.point([-5.0; 2], [37.0; 2]));
        let (a, b) = (unit(&mut dice), unit(&mut dice));
        let (opacity, width) = (dice.between(0.0, 1.125), dice.between(0.5, 8.0));
        let mut band = Band::new(0, 32, 32, 1.0);
        Blob::Line { ends: [p, q], colors: [a, b], opacity, width }.draw(&mut band);
        let told = json!({"texels": exacts([p[0], p[1], q[0], q[1], a[0], a[1], a[2], opacity, b[0], b[1], b[2], width])});
        formula.add(told, json!(pixels(&band)));
    }
    formula
}

/// From ink to colour.
fn tones() -> Formula {
    let mut formula = Formula::new("tone map", ["engine/raster/src/tone.rs", SHADERS], SINGLE);
    let mut dice = Dice(661);
    for k in 0..12usize {
        let (columns, rows) = [(6, 4), (3, 9), (1, 1), (16, 2)][k % 4];
        let mut band = Band::new(0, rows, columns, 1.0);
        for (n, pixel) in band.pixels.iter_mut().enumerate() {
            let ink = [0.0, 1e-6, 0.125, 1.0, 4.0, 300.0][(n + k) % 6];
            let color = unit(&mut dice);
            *pixel = [color[0] * ink, color[1] * ink, color[2] * ink, ink];
        }
        let back = [unit(&mut dice), unit(&mut dice)];
        let (clear, scale, opacity) = (k % 3 == 2, [1.0, 0.03, 2.0][k / 2 % 3], [1.0, 0.5][k % 2]);
        let inks: Vec<Value> = band.pixels.iter().map(|p| exacts(*p)).collect();
        Tone { height: rows, back, clear, scale, opacity }.map(&mut band);
        let told = json!({
            "columns": columns, "rows": rows, "inks": inks, "back": exacts(back.into_iter().flatten()), "clear": clear,
            "scale": exact(scale), "opacity": exact(opacity),
        });
        formula.add(told, band.pixels.iter().map(|p| singles(*p)).collect());
    }
    formula
}
