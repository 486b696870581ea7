//! Edges: which are drawn, as which lines, and how strong their ink is.

use graphlume_types::CancelToken;
use serde_json::{Value, json};

use super::scene::Seen;
use super::{DOUBLE, Dice, Formula, SINGLE, double, exact};
use crate::edges::ink::{Ink, clipped, passing_at};
use crate::edges::lines::Lines;
use crate::edges::{direction, near as near_edges, rare as rare_edges};

pub(super) fn lines() -> Vec<Formula> {
    let files = ["engine/raster/src/edges/lines.rs", "shell/web/src/scene/near.ts"];
    let mut formula = Formula::new("lines of edges", files, DOUBLE);
    let mut dice = Dice(301);
    for k in 0..36usize {
        let [nodes, edges] = [[1, 0], [1, 3], [2, 8], [2, 9], [2, 40], [3, 60], [9, 90]][k % 7];
        let ends: Vec<[u32; 2]> =
            (0..edges).map(|_| [dice.below(nodes), dice.below(nodes)]).collect();
        // Without colours, of one or a few, of one each.
        let kinds = [0, 1, 3, 7, 500][k % 5];
        let rgba: Vec<[u8; 4]> =
            (0..edges).map(|_| dice.below(kinds.max(1)).to_le_bytes()).collect();
        let seen = Seen { positions: vec![[0.0; 2]; nodes as usize], ends, ..Seen::default() };
        let some: Vec<u32> = (0..edges).filter(|e| k % 3 != 2 || e % 5 != 1).collect();
        let found = seen.drawn(|drawing| {
            let drawing = crate::Drawing { edge_rgba: (kinds > 0).then_some(&rgba), ..*drawing };
            Lines::of(some.iter().copied(), &drawing)
        });
        let looks =
            (kinds > 0).then(|| rgba.iter().map(|c| u32::from_le_bytes(*c)).collect::<Vec<_>>());
        let told = json!({"edges": some, "ends": seen.ends.as_flattened(), "looks": looks});
        let line = |line: &crate::edges::lines::Line| json!([line.edge, line.rank, line.count]);
        let all: Vec<Value> = found.all.iter().map(line).collect();
        formula.add(told, json!({"lines": all, "curved": found.are_curved}));
    }
    vec![formula]
}

pub(super) fn near() -> Vec<Formula> {
    let files = ["engine/raster/src/edges/near.rs", "shell/web/src/scene/near-edges.ts"];
    let mut formula = Formula::new("edges in view", files, DOUBLE);
    let mut dice = Dice(311);
    for k in 0..24usize {
        let [nodes, edges] = [[2, 3], [30, 80], [90, 300]][k % 3];
        let mut seen = Seen::scattered(&mut dice, nodes, edges, 4_000.0);
        (seen.scale, seen.size) = ([0.2, 1.0, 3.0][k / 3 % 3], [[800, 600], [200, 900]][k % 2]);
        if nodes > 2 {
            seen.positions[0] = [f32::NAN; 2];
            seen.positions[1] = [2e30, 0.0];
            if k % 2 == 1 {
                seen.hidden[1] = (0..edges as u32).filter(|e| e % 6 == 1).collect();
            }
        }
        let most = [1, edges / 4, edges / 2, edges - 1][k % 4].max(1);
        let found = seen.drawn(|drawing| near_edges::in_view(drawing, &seen.view(drawing), most));
        let mut told = seen.told();
        told["most"] = json!(most);
        formula.add(told, json!(found));
    }
    let mut limit = Formula::new("how many edges are drawn one by one", files, DOUBLE);
    limit.add(json!("with a card, as pictures"), json!(near_edges::NEAR_MAX));
    vec![formula, limit]
}

pub(super) fn rare() -> Vec<Formula> {
    let files = ["engine/raster/src/edges/rare.rs", "shell/web/src/scene/rare-edges.ts"];
    let mut formula = Formula::new("edges of rare colours", files, DOUBLE);
    // Runs of edges of one colour: its four bytes, and how many.
    let (red, blue, none, faint) = ([255, 0, 0, 255], [0, 0, 255, 255], [0; 4], [9, 9, 9, 0]);
    let kind = |k: u8| [k, 255 - k, 7, 200];
    let many = |kinds: u8, each: u32| (0..kinds).map(|k| (kind(k), each)).collect::<Vec<_>>();
    let mut runs: Vec<Vec<([u8; 4], u32)>> = vec![
        vec![],
        vec![(red, 1)],
        vec![(red, 19), (blue, 1)],
        vec![(red, 20), (blue, 1)],
        vec![(blue, 5), (red, 95), (blue, 1)],
        vec![(red, 95), (blue, 5)],
        vec![(none, 95), (faint, 3), (red, 5)],
        vec![(none, 5), (red, 95)],
        vec![(faint, 2), (red, 95)],
        many(32, 10),
        many(33, 10),
        [many(31, 1), vec![(red, 900)]].concat(),
        [many(20, 3), vec![(none, 900)], many(20, 2)].concat(),
        // More rare ones than are drawn, of as many edges each: those that come first are.
        [
            vec![(kind(9), 7_000), (kind(3), 7_000), (red, 200_000)],
            vec![(kind(1), 7_000), (kind(5), 2_000)],
        ]
        .concat(),
        [vec![(kind(9), 10_000), (red, 250_000), (kind(3), 10_000), (kind(1), 1)]].concat(),
        [vec![(kind(9), 20_000), (red, 450_000)]].concat(),
        [vec![(kind(9), 20_001), (red, 450_000)]].concat(),
    ];
    let mut dice = Dice(321);
    runs.push(
        (0..400)
            .map(|_| {
                (
                    if dice.below(30) == 0 { kind(dice.below(5) as u8) } else { red },
                    1 + dice.below(3),
                )
            })
            .collect(),
    );
    for list in runs {
        let rgba: Vec<[u8; 4]> = list
            .iter()
            .flat_map(|(color, count)| std::iter::repeat_n(*color, *count as usize))
            .collect();
        for some in [false, true] {
            let found = rare_edges::edges(&rgba, some);
            // The first and last one of each run of edges.
            let mut ranges: Vec<[u32; 2]> = Vec::new();
            for e in &found {
                match ranges.last_mut().filter(|range| range[1] + 1 == *e) {
                    Some(range) => range[1] = *e,
                    None => ranges.push([*e; 2]),
                }
            }
            let told: Vec<Value> =
                list.iter().map(|(color, count)| json!([color, count])).collect();
            formula.add(json!({"runs": told, "some": some}), json!(ranges));
        }
    }
    let mut opacity = Formula::new("opacity of rare edges", files, DOUBLE);
    for count in [0, 1, 50, 1_174, 1_175, 3_000, 14_398, 14_399, 14_400, 20_000, 4_000_000] {
        opacity.add(json!(count), double(rare_edges::opacity(count)));
    }
    vec![formula, opacity]
}

pub(super) fn direction() -> Vec<Formula> {
    let files = ["engine/raster/src/edges/direction.rs", "shell/web/src/scene/direction.ts"];
    let mut formula = Formula::new("whether edges show a direction", files, DOUBLE);
    let mut dice = Dice(331);
    let mut graphs: Vec<(u32, Vec<[u32; 2]>)> = vec![
        (0, vec![]),
        (1, vec![[0, 0]]),
        (3, vec![[0, 1], [1, 2], [2, 0]]),
        (3, vec![[0, 1], [1, 2], [0, 2]]),
        (3, vec![[0, 1], [1, 0], [1, 2], [2, 1]]),
        (4, vec![[0, 1], [1, 0], [2, 3]]),
        (2, vec![[0, 1], [0, 1], [1, 0]]),
        (2, vec![[0, 1], [1, 0], [0, 0], [1, 1]]),
    ];
    for k in 0..40u32 {
        let nodes = 2 + dice.below(30);
        let mut ends: Vec<[u32; 2]> =
            (0..1 + dice.below(60)).map(|_| [dice.below(nodes), dice.below(nodes)]).collect();
        match k % 4 {
            // Every edge answered, all but one, and none that leads back.
            0 => ends.extend(ends.clone().iter().map(|[s, d]| [*d, *s])),
            1 => ends.extend(ends.clone().iter().skip(1).map(|[s, d]| [*d, *s])),
            2 => ends.iter_mut().for_each(|[s, d]| (*s, *d) = ((*s).min(*d), (*s).max(*d))),
            _ => {}
        }
        graphs.push((nodes, ends));
    }
    for (nodes, ends) in graphs {
        let found = direction::is_directed(&ends, nodes as usize, &CancelToken::new()).unwrap();
        formula.add(json!({"nodes": nodes, "ends": ends.as_flattened()}), json!(found));
    }
    vec![formula]
}

pub(super) fn ink() -> Vec<Formula> {
    let files = ["engine/raster/src/edges/ink.rs", "shell/web/src/scene/ink.ts"];
    let mut passing = Formula::new("edges that pass through", files, DOUBLE);
    for zoom in [
        0.0,
        1e-3,
        1.0,
        1.5,
        1.500001,
        2.0,
        2.449_489_742_783_178,
        3.999,
        4.0,
        5.0,
        1e6,
        f64::INFINITY,
    ] {
        passing.add(exact(zoom), double(passing_at(zoom)));
    }
    let mut lengths = Formula::new("length of a line within the picture", files, SINGLE);
    let mut rule = Formula::new("ink of a picture", files, SINGLE);
    let mut dice = Dice(341);
    for k in 0..40u32 {
        let sides = [[800.0, 600.0], [100.0, 900.0]][k as usize % 2];
        let mut ends =
            [0, 1].map(|_| dice.point([-300.0; 2], sides.map(|side| side as f32 + 300.0)));
        match k % 8 {
            3 => ends[1] = ends[0],
            4 => ends[1][0] = ends[0][0],
            5 => ends = [[0.0, 0.0], [sides[0] as f32, 0.0]],
            6 => ends[1][1] = -ends[0][1],
            _ => {}
        }
        let told = json!([
            exact(sides[0]),
            exact(sides[1]),
            exact(ends[0][0]),
            exact(ends[0][1]),
            exact(ends[1][0]),
            exact(ends[1][1])
        ]);
        lengths.add(told, double(clipped(sides, ends[0], ends[1])));
    }
    for k in 0..36usize {
        let [nodes, edges] = [[0, 0], [4, 1], [6, 9], [40, 90], [60, 700], [90, 4_100]][k % 6];
        let mut seen = Seen::scattered(&mut dice, nodes, edges, [300.0, 2_500.0][k % 2]);
        seen.size = [[800, 600], [390, 844], [1440, 900]][k % 3];
        seen.scale = [1.0, 0.01, 2.75][k / 2 % 3];
        seen.zoom = [1.0, 2.0, 9.0, 0.3][k % 4];
        if nodes > 5 {
            seen.positions[1] = [f32::NAN; 2];
            seen.hidden[1] = (0..edges as u32).filter(|e| e % 4 == 1).collect();
        }
        let share = [1.0, 0.5, 0.015_625][k % 3];
        let found = seen.drawn(|drawing| Ink::of(drawing, &seen.view(drawing), share));
        let mut told = seen.told();
        told["drawn"] = exact(share);
        let Ink { alpha, share, fade, room } = found;
        rule.add(told, json!({"alpha": double(alpha), "share": double(share), "fade": double(fade), "room": double(room)}));
    }
    vec![passing, lengths, rule]
}
