//! Bundled edges (`shell/web/src/afar/bundle.ts`): each edge between two communities is led by the middles of both, so that
//! those of a pair run together (Holten, "Hierarchical Edge Bundles", 2006, with a hierarchy of one level). Edges within a
//! community stay as they are.

use graphlume_scene::wire::NO_GROUP;

use crate::drawing::Drawing;
use crate::view::{View, is_placed};

/// Pieces of an edge where all are thin lines.
pub(crate) const SEGMENTS: usize = 10;
/// How closely lines follow the way through the middles, 0 to 1 (β of the paper).
const STRENGTH: f32 = 0.8;

/// What edges are bundled along.
#[derive(Debug)]
pub(crate) struct Bundle<'a> {
    of: &'a [u16],
    /// Middles of the communities in pixels of the page.
    hubs: Vec<Option<[f32; 2]>>,
}

impl<'a> Bundle<'a> {
    /// The middles of the communities of a level, from where their visible nodes are.
    pub(crate) fn new(of: &'a [u16], drawing: &Drawing<'_>, view: &View) -> Self {
        let mut sums = vec![[0.0f64; 3]; usize::from(NO_GROUP)];
        for (v, group) in of.iter().enumerate() {
            let at = drawing.positions[v];
            if !drawing.shows_node(v as u32) || !is_placed(at) {
                continue;
            }
            if let Some(sum) = sums.get_mut(usize::from(*group)) {
                *sum = [sum[0] + 1.0, sum[1] + f64::from(at[0]), sum[2] + f64::from(at[1])];
            }
        }
        let hub =
            |[n, x, y]: [f64; 3]| (n > 0.0).then(|| view.pixel([x / n, y / n].map(|c| c as f32)));
        Self { of, hubs: sums.into_iter().map(hub).collect() }
    }

    /// The inner control points of the way of an edge from `a` to `b`; `None` where it is straight.
    pub(crate) fn led(&self, nodes: [u32; 2], [a, b]: [[f32; 2]; 2]) -> Option<[[f32; 2]; 2]> {
        let [s, d] = nodes.map(|v| self.of[v as usize]);
        let hub = |group: u16| self.hubs.get(usize::from(group)).copied().flatten();
        let (h, k) = (hub(s)?, hub(d)?);
        let led = |share: f32, hub: [f32; 2]| {
            [0, 1].map(|c| (a[c] + (b[c] - a[c]) * share) * (1.0 - STRENGTH) + hub[c] * STRENGTH)
        };
        (s != d && h != k).then(|| [led(1.0 / 3.0, h), led(2.0 / 3.0, k)])
    }
}
