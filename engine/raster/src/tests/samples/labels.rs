//! Names: which nodes are asked for theirs, which are shown, and where.

use serde_json::{Value, json};

use super::scene::Seen;
use super::{DOUBLE, Dice, Formula, SINGLE, exact, exacts, num, single, singles};
use crate::afar::{Afar, between};
use crate::canvas::strokes::Pen;
use crate::drawing::{EdgeNames, Names};
use crate::edges::lines::Lines;
use crate::marks::Mark;
use crate::names::labels::{self, Candidate, Room, SPOTS};
use crate::names::{discs, edge_labels, size_for, wanted};
use crate::occupied::{Disc, Rect};
use crate::outlines::text::{Face, shorten};

const HERE: &str = "engine/raster/src/names/labels.rs";
const THERE: &str = "shell/web/src/scene/labels.ts";

pub(super) fn labels() -> Vec<Formula> {
    vec![budgets(), sizes(), cuts(), spots(), placed()]
}

fn budgets() -> Formula {
    let mut formula = Formula::new("how many names", [HERE, THERE], DOUBLE);
    let sides = [16.0, 100.0, 290.0, 313.0, 390.0, 800.0, 1440.0, 2560.0, 8192.0];
    for [w, h] in sides.into_iter().flat_map(|w| [[w, w], [w, 600.0], [w, 28_000.0 / 16.0]]) {
        formula.add(exacts([w, h]), json!(labels::budget([w, h])));
    }
    formula
}

fn sizes() -> Formula {
    let there = "shell/web/src/picture/label-layer.ts";
    let mut formula =
        Formula::new("size of a name", ["engine/raster/src/names/mod.rs", there], SINGLE);
    for radius in [
        0.0f32, 0.75, 0.96, 0.97, 1.0, 1.3, 2.0, 3.5, 5.5, 6.0, 8.25, 10.0, 10.5, 10.75, 16.0,
        32.0, 1e6,
    ] {
        formula.add(exact(radius), single(size_for(radius)));
    }
    formula
}

fn cuts() -> Formula {
    let mut formula =
        Formula::new("long names", ["engine/raster/src/outlines/text.rs", THERE], DOUBLE);
    let names = [
        "",
        "a",
        "Les Misérables",
        "abcdefghijklmnopqrstuvwx",
        "abcdefghijklmnopqrstuvwxy",
        "a name of very many letters that is cut in its middle",
        "Владимир Владимирович Маяковский, поэт",
        "東京都千代田区永田町一丁目七番一号国会議事堂",
        // Letters with marks of their own, and pictures of several parts, are not cut apart.
        "e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}",
        "a👩‍🚀b👨‍👩‍👧‍👦c🇩🇪🇫🇷d👍🏽e",
        "นักท่องเที่ยวชาวต่างประเทศ",
        "हिन्दी भाषा का व्याकरण",
        "\u{1100}\u{1161}\u{11a8}\u{1100}\u{1161}\u{11a8}\u{1100}\u{1161}\u{11a8}",
    ];
    for name in names {
        for most in [3, 4, 6, 7, 11, 24] {
            formula.add(json!([name, most]), json!(shorten(name, most)));
        }
    }
    formula
}

fn candidate(node: u32, at: [f32; 2], radius: f32) -> Candidate {
    let (size, rank) = (size_for(radius), node as usize);
    Candidate {
        node,
        text: String::new(),
        at,
        radius,
        rank,
        size,
        bold: false,
        must: false,
        is_selected: true,
    }
}

fn spots() -> Formula {
    let mut formula = Formula::new("places around a disc", [HERE, THERE], SINGLE);
    let mut dice = Dice(51);
    for radius in [0.75, 3.0, 4.875, 6.0, 20.0, 32.0] {
        let at = dice.point([-20.0; 2], [900.0; 2]);
        let (c, width) = (candidate(0, at, radius), dice.between(0.0, 140.0));
        let told = json!({"x": exact(at[0]), "y": exact(at[1]), "r": exact(radius), "size": single(c.size), "width": exact(width)});
        formula.add(
            told,
            SPOTS.iter().map(|spot| singles(labels::spot_place(*spot, &c, width))).collect(),
        );
    }
    formula
}

fn placed() -> Formula {
    let mut formula = Formula::new("choice and places of names", [HERE, THERE], SINGLE);
    let mut dice = Dice(61);
    for k in 0..40u32 {
        let size = [[800u32, 600], [300, 260], [1440, 900], [180, 700], [16, 16]][k as usize % 5];
        let [w, h] = size.map(|side| side as f32);
        let count = [0, 1, 12, 60, 300][k as usize / 5 % 5];
        // Of one size each, of few, and of many.
        let kinds = [1, 4, 4_000][k as usize % 3];
        let mut list: Vec<Candidate> = (0..count)
            .map(|node| {
                let radius = 0.75 + dice.below(kinds) as f32 * (40.0 / kinds as f32);
                candidate(node, dice.point([-30.0; 2], [w + 30.0, h + 30.0]), radius)
            })
            .collect();
        for c in &mut list {
            c.rank = dice.below(9) as usize;
            c.bold = dice.below(5) == 0;
            c.must = dice.below(12) == 0;
            // What is not selected comes after all that is.
            c.is_selected = k % 4 != 3 || c.must || dice.below(2) == 0;
        }
        let panel = |_| -> Rect {
            let ([x, y], [w, h]) = (dice.point([0.0; 2], [w, h]), dice.point([2.0; 2], [90.0; 2]));
            [x, y, w, h]
        };
        let obstacles: Vec<Rect> = (0..k % 4).map(panel).collect();
        let widths: Vec<f32> = (0..count).map(|_| dice.between(4.0, 120.0)).collect();
        let large = list.iter().filter(|c| c.radius >= labels::DISC_MIN);
        let discs: Vec<Disc> =
            large.map(|c| Disc { node: c.node, at: c.at, radius: c.radius }).collect();
        let told_one = |c: &Candidate| {
            json!([
                exact(c.at[0]),
                exact(c.at[1]),
                exact(c.radius),
                single(c.size),
                c.rank,
                exact(widths[c.node as usize]),
                c.must,
                c.is_selected,
            ])
        };
        let told = json!({
            "size": size, "names": list.iter().map(told_one).collect::<Value>(),
            "panels": obstacles.iter().map(|p| exacts(*p)).collect::<Value>(),
        });
        let room = Room { sides: size.map(f64::from), obstacles: &obstacles, discs: &discs };
        let found = labels::place(list, &room, |c| widths[c.node as usize]);
        let told_found =
            |p: &labels::Placed| json!([p.candidate.node, single(p.at[0]), single(p.at[1])]);
        formula.add(told, found.iter().map(told_found).collect());
    }
    formula
}

pub(super) fn names() -> Vec<Formula> {
    let mut formula = Formula::new(
        "nodes asked for their names",
        ["engine/raster/src/names/mod.rs", "shell/web/src/scene/names.ts"],
        SINGLE,
    );
    let mut dice = Dice(71);
    for k in 0..30usize {
        let nodes = [0, 1, 7, 90, 700][k % 5];
        let mut seen = Seen::scattered(&mut dice, nodes, 0, 900.0);
        // Many of one size, or of a few.
        let kinds = [1, 3, 200][k % 3];
        seen.sizes = dice.bytes(nodes, kinds);
        if k % 2 == 0 {
            seen.hidden[0] = (0..nodes as u32).filter(|v| v % 5 == 2).collect();
        }
        (seen.scale, seen.middle) =
            ([0.5, 1.0, 3.0][k % 3], [f64::from(dice.between(-100.0, 100.0)), 7.0]);
        if nodes > 50 {
            seen.positions[3] = [f32::NAN; 2];
        }
        let most = [1, 3, 40, 200][k % 4];
        let lit: Vec<u32> = (0..nodes as u32).filter(|v| v % 9 == 4).collect();
        let selected = graphlume_scene::Bits::of_flags((0..nodes as u32).map(|v| v % 9 == 4));
        let is_lit = k % 3 == 2;
        let settings = seen.settings();
        let found = seen.drawn(|drawing| {
            let drawing = crate::Drawing { selected: is_lit.then_some(&selected), ..*drawing };
            let view = seen.view(&drawing);
            wanted(&crate::canvas::Canvas::new(&drawing, &settings, view, 0.5), most)
        });
        let mut told = seen.told();
        told["most"] = json!(most);
        if is_lit {
            told["lit"] = json!(lit);
        }
        formula.add(told, json!(found));
    }
    vec![formula, groups_named(), lines_between()]
}

struct Named(Vec<String>);

impl Names for Named {
    fn known(&self) -> &[(u32, String)] {
        &[]
    }

    fn of(&self, nodes: &[u32]) -> Vec<String> {
        nodes.iter().map(|v| self.0[*v as usize].clone()).collect()
    }
}

/// The names of communities on their discs.
fn groups_named() -> Formula {
    let files = ["engine/raster/src/afar/mod.rs", "shell/web/src/afar/afar.ts"];
    let mut formula = Formula::new("names of communities", files, SINGLE);
    let mut dice = Dice(76);
    let faces = [false, true].map(|bold| Face::of(bold).unwrap());
    for k in 0..24usize {
        let count = [1, 6, 40][k % 3];
        let mut seen = Seen::scattered(&mut dice, count, 0, 10.0);
        seen.size = [[800, 600], [390, 844], [1440, 900]][k % 3];
        let mut shown = Vec::new();
        let mut names = Vec::new();
        for v in 0..count as u32 {
            let at = dice.point([-20.0; 2], seen.size.map(|side| side as f32 + 20.0));
            let (r, opacity) = (dice.between(3.0, 90.0), dice.between(0.125, 1.125));
            shown.push((v, 1 + dice.below(2_000_000), at, r, opacity));
            names.push(
                ["", "Ann", "a community", "one with a name of many letters"]
                    [dice.below(4) as usize]
                    .to_owned(),
            );
        }
        let obstacles: Vec<Rect> =
            if k % 2 == 0 { vec![[0.0, 0.0, 200.0, 150.0]] } else { Vec::new() };
        let widths = |text: &str, bold: usize| num(faces[bold].width(text), 7);
        // Both sides measure letters by fonts of their own: those of this one are told.
        let texts = |(name, group): (&String, &(u32, u32, [f32; 2], f32, f32))| {
            let cut = [22, 11].map(|most| shorten(name, most));
            json!([
                name,
                exact(group.2[0]),
                exact(group.2[1]),
                exact(group.3),
                exact(group.4),
                group.1,
                cut.iter().map(|text| widths(text, 1)).collect::<Value>(),
                widths(&crate::afar::grouped(group.1), 0)
            ])
        };
        let told = json!({
            "size": seen.size, "groups": names.iter().zip(&shown).map(texts).collect::<Value>(),
            "panels": obstacles.iter().map(|p| exacts(*p)).collect::<Value>(),
        });
        let marks = seen.seen(|canvas| {
            let afar = Afar::showing(&shown);
            afar.names(canvas, &Named(names.clone()), &obstacles).0
        });
        formula.add(told, marks.iter().filter_map(text_of).collect());
    }
    formula
}

fn text_of(mark: &Mark) -> Option<Value> {
    let Mark::Text(text) = mark else { return None };
    Some(json!([
        text.text,
        single(text.at[0]),
        single(text.at[1]),
        single(text.size),
        single(text.opacity)
    ]))
}

/// What of a line between two discs is seen.
fn lines_between() -> Formula {
    let files = ["engine/raster/src/afar/mod.rs", "shell/web/src/afar/afar.ts"];
    let mut formula = Formula::new("line between two discs", files, SINGLE);
    let mut dice = Dice(78);
    let mut add = |a: [f32; 2], b: [f32; 2], r: [f32; 2]| {
        let found = between([a, b], r).map(|[p, q]| singles([p[0], p[1], q[0], q[1]]));
        formula.add(exacts([a[0], a[1], b[0], b[1], r[0], r[1]]), found.unwrap_or_default());
    };
    add([0.0; 2], [0.0; 2], [1.0; 2]);
    add([0.0; 2], [5.0, 0.0], [2.0, 3.0]);
    add([0.0; 2], [5.0, 0.0], [0.0; 2]);
    for _ in 0..20 {
        let [a, b] = [0, 1].map(|_| dice.point([0.0; 2], [400.0; 2]));
        add(a, b, dice.point([1.0; 2], [120.0; 2]));
    }
    formula
}

struct Texts<'a>(&'a [String]);

impl EdgeNames for Texts<'_> {
    fn of(&self, edges: &[u32]) -> Vec<String> {
        edges.iter().map(|e| self.0[*e as usize].clone()).collect()
    }
}

/// Texts along edges.
pub(super) fn along() -> Vec<Formula> {
    let files = ["engine/raster/src/names/edge_labels.rs", "shell/web/src/bound/edge-labels.ts"];
    let mut formula = Formula::new("texts along edges", files, SINGLE);
    let mut dice = Dice(81);
    let face = Face::of(false).unwrap();
    for k in 0..30usize {
        let [nodes, edges] = [[3, 4], [8, 12], [25, 60], [9, 230], [60, 190]][k % 5];
        let mut seen = Seen::scattered(&mut dice, nodes, edges, 560.0);
        seen.curvature = [0.0, 0.0, 0.7][k % 3];
        seen.bundle = k % 4 == 1;
        seen.groups = vec![(0..nodes as u16).map(|v| v % 3).collect()];
        seen.scale = [1.0, 1.6][k % 2];
        seen.zoom = seen.scale;
        if nodes > 8 {
            seen.positions[1] = [f32::NAN; 2];
            seen.hidden[1] = (0..edges as u32).filter(|e| e % 11 == 3).collect();
        }
        let texts: Vec<String> = (0..edges)
            .map(|_| {
                ["", "paid", "knows well", "was sent to the other one"][dice.below(4) as usize]
                    .to_owned()
            })
            .collect();
        let panels: Vec<Rect> =
            if k % 3 == 0 { vec![[20.0, 30.0, 180.0, 200.0]] } else { Vec::new() };
        let shown = (0..edges as u32).filter(|e| !seen.hidden[1].contains(e));
        let marks = seen.seen(|canvas| {
            let lines = Lines::of(shown, canvas.drawing);
            let strokes = canvas.strokes(&lines, Pen { width: 1.0, fades: false });
            edge_labels::marks(canvas, &strokes, &Texts(&texts), &[], &panels, &discs(canvas))
        });
        let mut told = seen.told();
        told["texts"] = json!(texts);
        told["widths"] = texts.iter().map(|text| num(face.width(text), 7)).collect();
        told["panels"] = panels.iter().map(|p| exacts(*p)).collect();
        let written = |mark: &Mark| {
            let Mark::Text(text) = mark else { return None };
            // The middle of the text, where the page has it.
            let x = text.at[0] + face.width(&text.text) * text.size / 2.0;
            let place = singles([x, text.at[1]]);
            Some(
                json!({"text": text.text, "at": place, "turn": singles([text.turn.cos(), text.turn.sin()])}),
            )
        };
        formula.add(told, marks.iter().filter_map(written).collect());
    }
    vec![formula]
}
