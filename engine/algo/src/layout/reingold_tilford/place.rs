//! Places of the nodes of a tree: each subtree as far left beside those before it as its contour allows.

use graphlume_types::CancelToken;

use super::tree::Tree;
use crate::AlgoError;

/// Distance of neighbours on a level.
const APART: f64 = 1.0;
/// Nodes between two looks at the token.
const LOOK: usize = 1 << 15;
const NONE: u32 = u32::MAX;

/// A step down a contour.
#[derive(Clone, Copy, Debug)]
struct ContourStep {
    /// The place of the contour's node on the level below, or [`NONE`].
    to: u32,
    /// How far to the right it lies.
    by: f64,
}

/// The sides of a subtree. A deepest node of a subtree has no children, so that its steps are free to lead on along the
/// contour of a deeper subtree beside it, which is what keeps the work linear.
#[derive(Clone, Copy, Debug)]
struct Side {
    /// From the node itself down.
    down: ContourStep,
    /// The contour's deepest node, and how far to the right of the subtree's root it lies.
    end: ContourStep,
}

/// The two sides of each subtree, by place of its root, left first.
struct Sides([Vec<Side>; 2]);

const LEFT: usize = 0;
const RIGHT: usize = 1;

/// The coordinates of all nodes by index: the depth is the ordinate.
pub(super) fn tidy(tree: &Tree, cancel: &CancelToken) -> Result<Vec<[f64; 2]>, AlgoError> {
    let size = tree.order.len();
    let leaf = |place: usize| Side {
        down: ContourStep { to: NONE, by: 0.0 },
        end: ContourStep { to: place as u32, by: 0.0 },
    };
    let leaves: Vec<Side> = (0..size).map(leaf).collect();
    let mut sides = Sides([leaves.clone(), leaves]);
    // How far to the right of its parent each node lies.
    let mut offsets = vec![0.0; size];
    // Children stand together behind their parents: from the back, all families of a level come before their parents.
    let mut end = size;
    while end > 1 {
        let parent = tree.parent[end - 1];
        let mut start = end - 1;
        while start > 1 && tree.parent[start - 1] == parent {
            start -= 1;
        }
        sides.family(parent, start..end, &mut offsets, cancel)?;
        end = start;
    }
    let mut points = vec![[0.0; 2]; tree.order.iter().max().map_or(0, |v| *v as usize + 1)];
    let mut placed = vec![[0.0; 2]; size];
    for place in 1..size {
        let above: [f64; 2] = placed[tree.parent[place] as usize];
        placed[place] = [above[0] + offsets[place], above[1] + 1.0];
    }
    for (v, point) in tree.order.iter().zip(placed) {
        points[*v as usize] = point;
    }
    Ok(points)
}

impl Sides {
    /// Places the children of `parent`, whose subtrees are done, and makes the sides of its own.
    fn family(
        &mut self,
        parent: u32,
        children: std::ops::Range<usize>,
        offsets: &mut [f64],
        cancel: &CancelToken,
    ) -> Result<(), AlgoError> {
        let (first, many) = (children.start, children.len() as f64);
        // The deepest nodes of what is placed, measured from the first child.
        let mut ends = [LEFT, RIGHT].map(|side| self.0[side][first].end);
        let mut sum = 0.0;
        offsets[first] = 0.0;
        for child in first + 1..children.end {
            if child.is_multiple_of(LOOK) {
                cancel.check()?;
            }
            let at = self.beside(child, offsets[child - 1], &mut ends);
            offsets[child] = at;
            sum += at;
        }
        if (parent as usize).is_multiple_of(LOOK) {
            cancel.check()?;
        }
        let mean = sum / many;
        let shown = |child: usize| ContourStep { to: child as u32, by: offsets[child] - mean };
        for (side, child) in [(LEFT, first), (RIGHT, children.end - 1)] {
            let end = ContourStep { by: ends[side].by - mean, ..ends[side] };
            self.0[side][parent as usize] = Side { down: shown(child), end };
        }
        offsets[children].iter_mut().for_each(|at| *at -= mean);
        Ok(())
    }

    /// Where `child` lies beside the one before it, at `last`; joins the contours, whose deepest nodes are `ends`.
    fn beside(&mut self, child: usize, last: f64, ends: &mut [ContourStep; 2]) -> f64 {
        let mut at = last + APART;
        let down = |sides: &Self, side: usize, from: ContourStep| {
            let step = sides.0[side][from.to as usize].down;
            ContourStep { to: step.to, by: from.by + step.by }
        };
        // Along the right side of what is placed, from the first child, and the left side of the new one, from it.
        let mut left = down(self, RIGHT, ContourStep { to: child as u32 - 1, by: last });
        let mut right = down(self, LEFT, ContourStep { to: child as u32, by: 0.0 });
        while left.to != NONE && right.to != NONE {
            at = at.max(left.by + APART - right.by);
            left = down(self, RIGHT, left);
            right = down(self, LEFT, right);
        }
        let own = self.0[RIGHT][child].end;
        if right.to != NONE {
            // The new one is deeper: the left side goes on along its left side.
            let low = ends[LEFT];
            self.0[LEFT][low.to as usize].down =
                ContourStep { to: right.to, by: at + right.by - low.by };
            let deepest = self.0[LEFT][child].end;
            ends[LEFT] = ContourStep { by: deepest.by + at, ..deepest };
        }
        if left.to != NONE {
            // It is less deep: its right side goes on along that of what is placed.
            self.0[RIGHT][own.to as usize].down =
                ContourStep { to: left.to, by: left.by - at - own.by };
        } else {
            ends[RIGHT] = ContourStep { by: own.by + at, ..own };
        }
        at
    }
}
