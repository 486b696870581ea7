//! The abscissae of nodes in ordered layers (Brandes and Köpf 2002, GD), in which long edges are straight where they can be.
//! Blocks of aligned nodes are placed by longest paths, in place of the recursion of the paper and of its classes, which
//! have an erratum (Brandes, Walter and Zink 2020).

use graphlume_types::CancelToken;

use super::layered::{Layered, Side, look};
use crate::AlgoError;

/// Abscissae by node, at least 1 apart in every layer, from 0 on.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub(super) fn abscissae(g: &Layered, cancel: &CancelToken) -> Result<Vec<f64>, AlgoError> {
    let conflicts = Conflicts::of(g, cancel)?;
    let mut all = Vec::with_capacity(4);
    for from_top in [true, false] {
        for from_left in [true, false] {
            let aligned = Aligned::new(g, &conflicts, from_top, from_left, cancel)?;
            all.push(aligned.placed(g, from_left, cancel)?);
        }
    }
    let bounds = |x: &Vec<f64>| {
        x.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |b, v| (b.0.min(*v), b.1.max(*v)))
    };
    let extents: Vec<(f64, f64)> = all.iter().map(bounds).collect();
    let width = |e: &(f64, f64)| e.1 - e.0;
    let narrow = extents.iter().copied().min_by(|a, b| width(a).total_cmp(&width(b)));
    let Some(narrow) = narrow.filter(|e| e.0.is_finite()) else { return Ok(Vec::new()) };
    for (i, (x, extent)) in all.iter_mut().zip(&extents).enumerate() {
        // Those from the left meet at the left end, those from the right at the right one.
        let by = if i % 2 == 0 { narrow.0 - extent.0 } else { narrow.1 - extent.1 };
        x.iter_mut().for_each(|v| *v += by);
    }
    let middle = |v: usize| {
        let mut four = [all[0][v], all[1][v], all[2][v], all[3][v]];
        four.sort_by(f64::total_cmp);
        f64::midpoint(four[1], four[2])
    };
    let mut x: Vec<f64> = (0..g.place.len()).map(middle).collect();
    let least = x.iter().copied().fold(f64::INFINITY, f64::min);
    x.iter_mut().for_each(|v| *v -= least);
    Ok(x)
}

/// Segments that cross one between two bends, and so may not be straight: by place in the lists of either side.
struct Conflicts {
    up: Vec<bool>,
    down: Vec<bool>,
}

impl Conflicts {
    fn of(g: &Layered, cancel: &CancelToken) -> Result<Self, AlgoError> {
        let mut looks = 0;
        let mut up = vec![false; g.up.all().len()];
        let is_bend = |v: u32| v as usize >= g.real;
        for pair in g.rows.windows(2) {
            let (upper, lower) = (&pair[0], &pair[1]);
            let (mut left, mut next) = (0, 0);
            for (i, v) in lower.iter().enumerate() {
                look(&mut looks, g.up.range(*v).len(), cancel)?;
                let inner = g.up.of(*v).iter().copied().find(|u| is_bend(*v) && is_bend(*u));
                if inner.is_none() && i + 1 < lower.len() {
                    continue;
                }
                let right =
                    inner.map_or(upper.len().saturating_sub(1) as u32, |u| g.place[u as usize]);
                for w in &lower[next..=i] {
                    for at in g.up.range(*w) {
                        let at_place = g.place[g.up.all()[at] as usize];
                        up[at] = at_place < left || at_place > right;
                    }
                }
                next = i + 1;
                left = right;
            }
        }
        // The same segment from above.
        let mut free: Vec<usize> =
            (0..g.place.len() as u32).map(|v| g.down.range(v).start).collect();
        let mut down = vec![false; up.len()];
        for row in &g.rows {
            for v in row {
                look(&mut looks, g.up.range(*v).len(), cancel)?;
                for at in g.up.range(*v) {
                    let slot = &mut free[g.up.all()[at] as usize];
                    // The lists are by place, and rows are walked by place.
                    down[*slot] = up[at];
                    *slot += 1;
                }
            }
        }
        Ok(Self { up, down })
    }
}

/// Nodes that are to have one abscissa: cycles of `next`, each with a `root`.
struct Aligned {
    root: Vec<u32>,
    next: Vec<u32>,
}

impl Aligned {
    /// Aligns each node with a median of its neighbours in the layer before it.
    fn new(
        g: &Layered,
        conflicts: &Conflicts,
        from_top: bool,
        from_left: bool,
        cancel: &CancelToken,
    ) -> Result<Self, AlgoError> {
        let mut looks = 0;
        let n = g.place.len();
        let ids = || (0..n as u32).collect::<Vec<u32>>();
        let mut made = Self { root: ids(), next: ids() };
        let (side, conflicts): (&Side, _) =
            if from_top { (&g.up, &conflicts.up) } else { (&g.down, &conflicts.down) };
        for step in 1..g.rows.len() {
            let row = &g.rows[if from_top { step } else { g.rows.len() - 1 - step }];
            // The place that the next one must lie beyond.
            let mut beyond = None;
            for i in 0..row.len() {
                look(&mut looks, 0, cancel)?;
                let v = row[if from_left { i } else { row.len() - 1 - i }];
                let range = side.range(v);
                if range.is_empty() {
                    continue;
                }
                let (low, high) = ((range.len() - 1) / 2, range.len() / 2);
                for m in if from_left { [low, high] } else { [high, low] } {
                    let at = range.start + m;
                    let u = side.all()[at];
                    let place = g.place[u as usize];
                    let free = beyond.is_none_or(|b| if from_left { place > b } else { place < b });
                    if made.next[v as usize] == v && !conflicts[at] && free {
                        made.next[u as usize] = v;
                        made.root[v as usize] = made.root[u as usize];
                        made.next[v as usize] = made.root[v as usize];
                        beyond = Some(place);
                    }
                }
            }
        }
        Ok(made)
    }

    /// Abscissae of the blocks, as far to the left as they may lie, or to the right, and then towards what they touch.
    fn placed(
        &self,
        g: &Layered,
        from_left: bool,
        cancel: &CancelToken,
    ) -> Result<Vec<f64>, AlgoError> {
        let mut looks = 0;
        let n = g.place.len();
        // The node before and after each one, in the direction of the placing.
        let (mut before, mut after) = (vec![u32::MAX; n], vec![u32::MAX; n]);
        for row in &g.rows {
            for pair in row.windows(2) {
                look(&mut looks, 0, cancel)?;
                let (a, b) = if from_left { (pair[0], pair[1]) } else { (pair[1], pair[0]) };
                after[a as usize] = b;
                before[b as usize] = a;
            }
        }
        let mut waits = vec![0u32; n];
        for v in 0..n {
            if before[v] != u32::MAX {
                waits[self.root[v] as usize] += 1;
            }
        }
        let is_root = |v: &u32| self.root[*v as usize] == *v;
        let mut order: Vec<u32> =
            (0..n as u32).filter(|v| is_root(v) && waits[*v as usize] == 0).collect();
        let mut x = vec![0.0f64; n];
        let mut at = 0;
        while let Some(block) = order.get(at).copied() {
            at += 1;
            for v in self.block(block) {
                look(&mut looks, 0, cancel)?;
                let beside = after[v as usize];
                if beside == u32::MAX {
                    continue;
                }
                let other = self.root[beside as usize] as usize;
                x[other] = x[other].max(x[block as usize] + 1.0);
                waits[other] -= 1;
                if waits[other] == 0 {
                    order.push(other as u32);
                }
            }
        }
        for block in order.iter().rev() {
            look(&mut looks, 1, cancel)?;
            let room = self.block(*block).filter(|v| after[*v as usize] != u32::MAX);
            let room = room
                .map(|v| x[self.root[after[v as usize] as usize] as usize] - 1.0)
                .fold(f64::INFINITY, f64::min);
            if room.is_finite() {
                x[*block as usize] = x[*block as usize].max(room);
            }
        }
        let sign = if from_left { 1.0 } else { -1.0 };
        Ok(self.root.iter().map(|r| sign * x[*r as usize]).collect())
    }

    /// The nodes of the block of a root.
    fn block(&self, root: u32) -> impl Iterator<Item = u32> + '_ {
        let step = move |v: &u32| Some(self.next[*v as usize]).filter(|next| *next != root);
        std::iter::successors(Some(root), step)
    }
}
