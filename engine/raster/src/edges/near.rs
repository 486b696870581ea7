//! Edges that are drawn one by one (`shell/web/src/scene/near-edges.ts`): all, or those in view, where these are few enough.

use crate::drawing::Drawing;
use crate::view::{View, is_placed};

/// Edges up to which each is drawn with soft rims, curves and arrow heads, as the page does where a GPU draws.
pub(crate) const NEAR_MAX: usize = 120_000;
/// By how much of its sides the view is grown in which edges are looked for.
const AROUND: f32 = 0.35;

/// The visible edges to draw one by one; `None` where they are too many.
pub(crate) fn edges(drawing: &Drawing<'_>, view: &View) -> Option<Vec<u32>> {
    let all = 0..drawing.ends.len() as u32;
    if all.len() <= NEAR_MAX {
        return Some(all.filter(|e| drawing.shows_edge(*e)).collect());
    }
    in_view(drawing, view, NEAR_MAX)
}

/// The visible edges that may be in view or near it; `None` where they are more than `most`.
pub(crate) fn in_view(drawing: &Drawing<'_>, view: &View, most: usize) -> Option<Vec<u32>> {
    let all = 0..drawing.ends.len() as u32;
    let mut found = Vec::new();
    for e in all.filter(|e| drawing.shows_edge(*e)) {
        let ends = drawing.ends[e as usize].map(|v| drawing.positions[v as usize]);
        if !ends.into_iter().all(is_placed) || is_apart(view, ends.map(|p| view.pixel(p))) {
            continue;
        }
        if found.len() == most {
            return None;
        }
        found.push(e);
    }
    Some(found)
}

/// Whether both ends are on the same side beyond the view and what is around it.
fn is_apart(view: &View, [a, b]: [[f32; 2]; 2]) -> bool {
    (0..2).any(|c| {
        let side = view.sides[c] as f32;
        let (low, high) = (-AROUND * side, (1.0 + AROUND) * side);
        (a[c] < low && b[c] < low) || (a[c] > high && b[c] > high)
    })
}
