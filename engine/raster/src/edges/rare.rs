//! Edges of colours that few edges have, which would drown in the average of all (`shell/web/src/scene/rare-edges.ts`).

use std::collections::BTreeMap;

/// Colours of edges are looked at as kinds when there are at most so many; more are a scale.
const KINDS_MAX: usize = 32;
/// Share of the edges that a rare colour has at most, and how many edges are drawn as rare.
const SHARE_MAX: f64 = 0.05;
const RARE_MAX: usize = 20_000;

/// The edges of rare colours, ascending. With `some`, an opacity of 0 is the look of edges without a colour of their own,
/// which is a kind as well and not a rare one.
pub(crate) fn edges(rgba: &[[u8; 4]], some: bool) -> Vec<u32> {
    let kind = |color: &[u8; 4]| if some && color[3] == 0 { [0; 4] } else { *color };
    // Each with its number, and with its first edge: of as many edges the kind goes first that comes first.
    let mut counts: BTreeMap<[u8; 4], [usize; 2]> = BTreeMap::new();
    for (e, color) in rgba.iter().enumerate() {
        counts.entry(kind(color)).or_insert([0, e])[0] += 1;
        if counts.len() > KINDS_MAX {
            return Vec::new();
        }
    }
    if some {
        counts.remove(&[0; 4]);
    }
    let mut kinds: Vec<([u8; 4], [usize; 2])> = counts.into_iter().collect();
    kinds.sort_by_key(|(_, order)| *order);
    let mut left = RARE_MAX;
    let mut rare = Vec::new();
    for (color, [count, _]) in kinds {
        if count as f64 > SHARE_MAX * rgba.len() as f64 || count > left {
            break;
        }
        left -= count;
        rare.push(color);
    }
    (0..).zip(rgba).filter(|(_, color)| rare.contains(&kind(color))).map(|(e, _)| e).collect()
}

/// Opacity that a rare edge keeps; where there are many, together they must not become a veil.
pub(crate) fn opacity(count: usize) -> f64 {
    (24.0 / (count as f64 + 1.0).sqrt()).clamp(0.2, 0.7)
}
