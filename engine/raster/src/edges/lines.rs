//! The lines of edges (`shell/web/src/scene/near.ts`): parallel edges fan out, and many of them become bundles.

use crate::drawing::Drawing;

/// More parallel edges than this become bundles: one line for those of one direction and one look.
const PARALLEL_MAX: usize = 8;

/// A line, which stands for one edge or for several that look alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line {
    /// The first of its edges, which gives it its ends and its look.
    pub(crate) edge: u32,
    /// Its place among parallel lines: 0 for a straight one, then 1, -1, 2 and so on.
    pub(crate) rank: i32,
    /// Edges that it stands for.
    pub(crate) count: u32,
}

/// Lines, and whether any of them is curved.
pub(crate) struct Lines {
    pub(crate) all: Vec<Line>,
    pub(crate) are_curved: bool,
}

impl Lines {
    /// The lines of some edges.
    pub(crate) fn of(edges: impl Iterator<Item = u32>, drawing: &Drawing<'_>) -> Self {
        let mut sorted: Vec<([u32; 2], u32)> = edges
            .map(|e| {
                let [s, d] = drawing.ends[e as usize];
                ([s.min(d), s.max(d)], e)
            })
            .collect();
        sorted.sort_unstable();
        let mut lines = Self { all: Vec::with_capacity(sorted.len()), are_curved: false };
        let mut groups: Vec<_> = sorted.chunk_by(|a, b| a.0 == b.0).collect();
        // In the order of their first edges, by which the first of two texts or icons finds room.
        groups.sort_unstable_by_key(|group| group[0].1);
        for group in groups {
            lines.are_curved |= group[0].0[0] == group[0].0[1];
            let found = bundled(group, drawing);
            lines.are_curved |= found.len() > 1;
            // An even number leaves the straight line free, an odd one keeps one edge on it.
            let first = i32::from(found.len() > 1 && found.len().is_multiple_of(2));
            for (step, (edge, count)) in (first..).zip(found) {
                let far = (step + 1) / 2;
                let rank = if step % 2 == 1 { far } else { -far };
                lines.all.push(Line { edge, rank, count });
            }
        }
        lines
    }
}

/// At most eight lines for the edges between two nodes, each of one direction and one look.
fn bundled(group: &[([u32; 2], u32)], drawing: &Drawing<'_>) -> Vec<(u32, u32)> {
    if group.len() <= PARALLEL_MAX {
        return group.iter().map(|(_, e)| (*e, 1)).collect();
    }
    let from = |e: u32| drawing.ends[e as usize][0];
    let look = |e: u32| drawing.edge_rgba.map_or([0; 4], |c| c[e as usize]);
    let mut kinds: Vec<(u32, u32)> = Vec::new();
    for (_, e) in group {
        let alike =
            |(known, _): &&mut (u32, u32)| from(*known) == from(*e) && look(*known) == look(*e);
        match kinds.iter_mut().find(alike) {
            Some((_, count)) => *count += 1,
            None => kinds.push((*e, 1)),
        }
    }
    kinds.sort_by_key(|(e, count)| (std::cmp::Reverse(*count), *e));
    // The rarest looks share a line of each direction, so that no direction is lost.
    let mut at = kinds.len();
    while kinds.len() > PARALLEL_MAX && at > 0 {
        at -= 1;
        let heir = (0..at).rev().find(|k| from(kinds[*k].0) == from(kinds[at].0));
        if let Some(heir) = heir {
            kinds[heir].1 += kinds[at].1;
            kinds.remove(at);
        }
    }
    kinds
}
