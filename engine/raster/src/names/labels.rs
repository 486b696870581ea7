//! Labels of nodes, their choice and their places (`shell/web/src/scene/labels.ts`): greedy by weight, at the first free of eight places
//! around the node, never over one another nor over the disc of another node.

use crate::occupied::{Disc, INSET, Occupied, Rect};

/// A name that would like to be shown, in pixels of the page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) node: u32,
    pub(crate) text: String,
    /// Where its node is, and the node's radius: the larger, the sooner it is named.
    pub(crate) at: [f32; 2],
    pub(crate) radius: f32,
    /// Of equal radius the lower rank wins.
    pub(crate) rank: usize,
    pub(crate) size: f32,
    pub(crate) bold: bool,
    /// Shown whatever the budget says.
    pub(crate) must: bool,
    /// Not dimmed because others are selected: placed before all that is.
    pub(crate) is_selected: bool,
}

/// A name in its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Placed {
    pub(crate) candidate: Candidate,
    /// Left end and middle line of the text.
    pub(crate) at: [f32; 2],
    pub(crate) width: f32,
}

/// Radius in pixels from which a disc is an obstacle for the names of other nodes.
pub(crate) const DISC_MIN: f32 = 5.0;
/// Candidates that are tried before the rest is taken to find no place either.
const TRIES_MAX: usize = 4_000;
/// Places around a disc, the best first: columns and rows off its middle, y down.
pub(crate) const SPOTS: [[i8; 2]; 8] =
    [[1, 0], [-1, 0], [0, -1], [0, 1], [1, -1], [1, 1], [-1, -1], [-1, 1]];
/// Height of a line of text as a share of its size.
const HEIGHT: f32 = 1.15;
const AREA_PER_LABEL: f64 = 28_000.0;
const LABELS_MAX: usize = 200;
/// So many of the largest nodes in view are named even where others have used up the budget.
const LARGEST: usize = 20;

/// How many names a picture carries.
pub(crate) fn budget(sides: [f64; 2]) -> usize {
    ((sides[0] * sides[1] / AREA_PER_LABEL).round() as usize).clamp(3, LABELS_MAX)
}

/// Left end and middle line of a text of this width at one of the places around its disc.
pub(crate) fn spot_place([column, row]: [i8; 2], c: &Candidate, width: f32) -> [f32; 2] {
    let [x, y] = c.at;
    let away = c.radius + 4.0 + c.size * 0.15;
    let half = c.size * HEIGHT / 2.0;
    let row = f32::from(row);
    match column {
        _ if row == 0.0 => [if column > 0 { x + away } else { x - away - width }, y],
        // Above and below the text is nearer: it has no side bearings there.
        0 => [x - width / 2.0, y + row * (c.radius + 2.0 + half)],
        _ => {
            let slant = (c.radius + 2.0) * std::f32::consts::FRAC_1_SQRT_2;
            [if column > 0 { x + slant } else { x - slant - width }, y + row * (slant + half)]
        }
    }
}

/// What names are placed among, in pixels of the page.
pub(crate) struct Room<'a> {
    pub(crate) sides: [f64; 2],
    /// Panels, which no name may touch.
    pub(crate) obstacles: &'a [Rect],
    /// Discs of at least [`DISC_MIN`] radius.
    pub(crate) discs: &'a [Disc],
}

/// Chooses and places names, the most important first.
pub(crate) fn place(
    mut candidates: Vec<Candidate>,
    room: &Room<'_>,
    measure: impl Fn(&Candidate) -> f32,
) -> Vec<Placed> {
    let sides = room.sides.map(|side| side as f32);
    candidates.retain(|c| (0..2).all(|k| c.at[k] > -20.0 && c.at[k] < sides[k] + 20.0));
    candidates.sort_by(|a, b| {
        (b.is_selected, b.must)
            .cmp(&(a.is_selected, a.must))
            .then(b.radius.total_cmp(&a.radius))
            .then(a.rank.cmp(&b.rank))
            .then(a.node.cmp(&b.node))
    });
    let mut occupied = Occupied::default();
    room.obstacles.iter().for_each(|panel| occupied.add(*panel));
    room.discs.iter().for_each(|disc| occupied.add_disc(*disc));
    let (budget, mut placed) = (budget(room.sides), Vec::new());
    let least = least_of_largest(&candidates);
    for c in candidates.into_iter().take(TRIES_MAX) {
        if !c.must && placed.len() >= budget && weight(&c) <= least {
            continue;
        }
        let width = measure(&c);
        if let Some((at, rect)) = free_spot(&c, width, sides, &occupied) {
            occupied.add(rect);
            placed.push(Placed { candidate: c, at, width });
        }
    }
    placed
}

/// What is selected goes before all that is not.
fn weight(c: &Candidate) -> [f32; 2] {
    [f32::from(u8::from(c.is_selected)), c.radius]
}

/// The weight that the largest candidates are above.
fn least_of_largest(candidates: &[Candidate]) -> [f32; 2] {
    let mut weights: Vec<[f32; 2]> = candidates.iter().map(weight).collect();
    weights.sort_unstable_by(|a, b| b.partial_cmp(a).unwrap_or(std::cmp::Ordering::Equal));
    weights.get(LARGEST).copied().unwrap_or_default()
}

fn free_spot(
    c: &Candidate,
    width: f32,
    sides: [f32; 2],
    occupied: &Occupied,
) -> Option<([f32; 2], Rect)> {
    let h = c.size * HEIGHT;
    SPOTS.iter().find_map(|spot| {
        let at = spot_place(*spot, c, width);
        let rect = [at[0] - INSET, at[1] - h / 2.0 - INSET, width + 2.0 * INSET, h + 2.0 * INSET];
        let is_inside = (0..2).all(|k| rect[k] >= 0.0 && rect[k] + rect[k + 2] <= sides[k]);
        (is_inside && !occupied.hits(rect, c.node)).then_some((at, rect))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(node: u32, point: [f32; 2], radius: f32) -> Candidate {
        let text = format!("node {node}");
        Candidate {
            node,
            text,
            at: point,
            radius,
            rank: 0,
            size: 12.0,
            bold: false,
            must: false,
            is_selected: true,
        }
    }

    fn of(candidates: Vec<Candidate>, discs: &[Disc]) -> Vec<Placed> {
        let room = Room { sides: [400.0, 300.0], obstacles: &[], discs };
        place(candidates, &room, |_| 40.0)
    }

    #[test]
    fn the_larger_goes_first_and_the_other_elsewhere() {
        let list = vec![candidate(0, [200.0, 150.0], 6.0), candidate(1, [250.0, 150.0], 8.0)];
        let found = of(list, &[]);
        assert_eq!(found[0].candidate.node, 1);
        assert_eq!(found[0].at, [250.0 + 8.0 + 4.0 + 1.8, 150.0]);
        // The place on its right is free; where a disc is, the left one is taken.
        assert_eq!(found[1].at[0], 200.0 + 6.0 + 5.8);
        let disc = Disc { node: 1, at: [250.0, 150.0], radius: 8.0 };
        let found = of(vec![candidate(0, [200.0, 150.0], 6.0)], &[disc]);
        assert_eq!(found[0].at, [200.0 - 6.0 - 5.8 - 40.0, 150.0]);
    }

    #[test]
    fn names_never_meet_and_stay_within_the_picture_and_the_budget() {
        let list = (0..500).map(|v| {
            let (x, y) = ((v % 25) as f32 * 17.0, (v / 25) as f32 * 15.0);
            candidate(v, [x, y], 3.0 + (v % 7) as f32)
        });
        let found = of(list.collect(), &[]);
        assert!(found.len() <= budget([400.0, 300.0]) && found.len() >= 3, "{}", found.len());
        let rect = |p: &Placed| [p.at[0], p.at[1] - 6.9, p.width, 13.8];
        for (i, a) in found.iter().map(rect).enumerate() {
            assert!(a[0] >= 0.0 && a[1] >= 0.0 && a[0] + a[2] <= 400.0 && a[1] + a[3] <= 300.0);
            for b in found[..i].iter().map(rect) {
                let apart = a[0] >= b[0] + b[2] || b[0] >= a[0] + a[2];
                assert!(apart || a[1] >= b[1] + b[3] || b[1] >= a[1] + a[3], "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn the_budget_goes_with_the_area() {
        assert_eq!((budget([100.0, 100.0]), budget([1e4, 1e4])), (3, 200));
    }
}
