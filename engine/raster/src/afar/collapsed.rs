//! Nodes that one disc stands for (`shell/web/src/afar/collapsed.ts`): hidden, with the edges among them, and gathered at
//! their middle, so that all other edges end at the disc that stands there.

use graphlume_scene::Bits;
use graphlume_scene::wire::NO_GROUP;

use super::groups::{Elements, groups_of};
use crate::drawing::{Collapsed, Drawing};
use crate::settings::Theme;
use crate::view::is_placed;

/// A disc that stands for collapsed nodes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CollapsedDisc {
    pub(crate) name: String,
    /// Visible members, at least 1.
    pub(crate) count: u32,
    pub(crate) at: [f64; 2],
    pub(crate) color: [f32; 3],
}

impl Collapsed {
    /// What the entries, each a name and the nodes it stands for, collapse in a drawing; a node of two is in the first.
    /// At most 65,535 entries count.
    #[must_use]
    pub fn of(entries: &[(String, Bits)], drawing: &Drawing<'_>) -> Self {
        let entries = &entries[..entries.len().min(usize::from(NO_GROUP))];
        let mut of = vec![NO_GROUP; drawing.positions.len()];
        for (k, (_, members)) in (0u16..).zip(entries) {
            for v in members.iter() {
                if let Some(entry) = of.get_mut(v as usize).filter(|entry| **entry == NO_GROUP) {
                    *entry = k;
                }
            }
        }
        let mut sums = vec![[0.0f64; 3]; entries.len()];
        for (at, k) in drawing.positions.iter().zip(&of) {
            if let Some(sum) = sums.get_mut(usize::from(*k)).filter(|_| is_placed(*at)) {
                *sum = [sum[0] + 1.0, sum[1] + f64::from(at[0]), sum[2] + f64::from(at[1])];
            }
        }
        let middle = |[n, x, y]: [f64; 3]| (n > 0.0).then(|| [x / n, y / n]);
        let middles: Vec<Option<[f64; 2]>> = sums.into_iter().map(middle).collect();
        let gathered = |(at, k): (&[f32; 2], &u16)| {
            let middle = middles.get(usize::from(*k)).copied().flatten();
            middle.filter(|_| is_placed(*at)).map_or(*at, |m| m.map(|x| x as f32))
        };
        let positions = drawing.positions.iter().zip(&of).map(gathered).collect();
        let nodes = Bits::of_flags(
            of.iter().enumerate().map(|(v, k)| *k == NO_GROUP && drawing.shows_node(v as u32)),
        );
        let is_outer = |(e, [s, d]): (usize, &[u32; 2])| {
            let [a, b] = [*s, *d].map(|v| of.get(v as usize).copied().unwrap_or(NO_GROUP));
            (a == NO_GROUP || a != b) && drawing.shows_edge(e as u32)
        };
        let edges = Bits::of_flags(drawing.ends.iter().enumerate().map(is_outer));
        let left = drawing.visible.map(|[nodes, _]| nodes.clone());
        let names = entries.iter().map(|(name, _)| name.clone()).collect();
        Self { of, names, middles, positions, visible: [nodes, edges], left }
    }

    /// The drawing with discs in place of what is collapsed.
    #[must_use]
    pub fn applied<'a>(&'a self, drawing: Drawing<'a>) -> Drawing<'a> {
        let [nodes, edges] = &self.visible;
        let visible = Some([nodes, edges]);
        Drawing { positions: &self.positions, visible, collapsed: Some(self), ..drawing }
    }

    /// The discs, the largest first; one stays while filters leave any of its members.
    pub(crate) fn discs(&self, drawing: &Drawing<'_>, theme: Theme) -> Vec<CollapsedDisc> {
        let shows = |v: u32| self.leaves(v);
        let elements = Elements { drawing, theme, shows: &shows };
        let disc = |group: super::groups::Group| {
            let k = usize::from(group.id);
            let (at, name) = (self.middles[k]?, self.names[k].clone());
            Some(CollapsedDisc { name, count: group.count, at, color: group.color })
        };
        groups_of(&self.of, elements, self.names.len(), 1).into_iter().filter_map(disc).collect()
    }
}
