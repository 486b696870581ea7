//! The rim: where nodes go that no edge ties to the rest of the graph.
//!
//! Between components a force layout has only gravity against the push of everything else, so that small
//! ones drift far away and the graph itself becomes a dot. Here they lie close around the graph, whatever
//! size it has at the moment: small components on rings, then nodes without neighbours as an even band.

use std::sync::Arc;

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::AlgoError;
use crate::component::weak;

/// A component at least this many times as large as all others together is the graph; without one all
/// components stay with the forces.
const MAIN_SHARE: f64 = 0.5;
/// Share of the inner nodes that lie within the rim; the few beyond may reach through it.
const WITHIN: f64 = 0.96;
/// Nodes that the radius is estimated from.
const SAMPLE: usize = 1 << 14;
/// Room of a node on the rim in that of a node of the graph.
const ROOM: f64 = 0.5;

/// One small component.
struct Part {
    nodes: Vec<u32>,
    /// Places about its middle, in the radius 1.
    shape: Vec<[f32; 2]>,
}

/// The nodes on the rim and their order.
pub struct ComponentPacking {
    /// Nodes that the forces place.
    inner: Vec<u32>,
    /// Small components, the largest first.
    parts: Vec<Part>,
    /// Nodes without neighbours.
    alone: Vec<u32>,
}

impl ComponentPacking {
    /// The rim of a graph; `None` when nothing belongs there. Shapes of components are those in
    /// `positions`, by node index.
    ///
    /// # Errors
    /// [`AlgoError::Cancelled`].
    pub fn new(
        topology: &Arc<Topology>,
        positions: &[[f32; 2]],
        cancel: &CancelToken,
    ) -> Result<Option<Self>, AlgoError> {
        let labels = weak::run(topology, cancel)?;
        let count = labels.iter().max().map_or(0, |l| *l as usize + 1);
        let mut sizes = vec![0usize; count];
        for l in &labels {
            sizes[*l as usize] += 1;
        }
        let tied: usize = sizes.iter().filter(|s| **s > 1).sum();
        // Of equal size, the first.
        let main = (0..count).max_by_key(|c| (sizes[*c], std::cmp::Reverse(*c)));
        let main = main.filter(|c| sizes[*c] > 1 && sizes[*c] as f64 > MAIN_SHARE * tied as f64);
        let (mut inner, mut alone) = (Vec::new(), Vec::new());
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (v, l) in (0..).zip(&labels) {
            let c = *l as usize;
            if sizes[c] == 1 {
                alone.push(v);
            } else if main.is_none_or(|m| m == c) {
                inner.push(v);
            } else {
                members[c].push(v);
            }
        }
        if inner.len() == labels.len() {
            return Ok(None);
        }
        members.retain(|m| !m.is_empty());
        members.sort_by_key(|m| (std::cmp::Reverse(m.len()), m[0]));
        let parts = members.into_iter().map(|nodes| Part::new(nodes, positions)).collect();
        Ok(Some(Self { inner, parts, alone }))
    }

    /// Upper bound of the bytes held.
    #[must_use]
    pub fn footprint(num_nodes: u32) -> u64 {
        // An index and a place for each, and a component's two lists for every second.
        u64::from(num_nodes) * (4 + 8 + 24)
    }

    /// 1 for every node that the forces may move, 0 on the rim.
    #[must_use]
    pub fn mobility(&self, num_nodes: u32) -> Vec<f32> {
        let mut out = vec![0.0; num_nodes as usize];
        for v in &self.inner {
            out[*v as usize] = 1.0;
        }
        out
    }

    /// Puts the nodes of the rim around where the others are now, except those that are `held`.
    pub fn place(&self, positions: &mut [[f32; 2]], held: impl Fn(u32) -> bool) {
        let (centre, radius) = self.disc(positions);
        // The distance between neighbours if the nodes lay evenly.
        let spacing = radius * (std::f64::consts::PI / self.inner.len().max(1) as f64).sqrt();
        let mut put = |v: u32, x: f64, y: f64| {
            if !held(v) {
                positions[v as usize] = [(centre[0] + x) as f32, (centre[1] + y) as f32];
            }
        };
        let outer = self.place_parts(radius * 1.04, spacing, &mut put);
        // Vogel's sunflower, begun at the rim: even room for everyone at any number.
        let room = ROOM * spacing * spacing / std::f64::consts::PI;
        let golden = std::f64::consts::PI * (3.0 - 5.0f64.sqrt());
        let begin = if self.inner.is_empty() { 0.0 } else { outer + 1.5 * spacing };
        for (i, v) in self.alone.iter().enumerate() {
            let r = (begin * begin + (i as f64 + 0.5) * room).sqrt();
            let (sin, cos) = (i as f64 * golden).sin_cos();
            put(*v, r * cos, r * sin);
        }
    }

    /// Packs the components on rings from `inside` on; returns the radius of the last.
    fn place_parts(&self, inside: f64, spacing: f64, put: &mut impl FnMut(u32, f64, f64)) -> f64 {
        let radius_of = |part: &Part| 0.6 * spacing * (part.nodes.len() as f64).sqrt();
        let (mut inner, mut next) = (inside, 0);
        while next < self.parts.len() {
            // The first of a ring is its largest and sets its width.
            let half = radius_of(&self.parts[next]) + 0.5 * spacing;
            let ring = inner + half;
            let width = |p: &Part| 2.0 * ((radius_of(p) + 0.5 * spacing) / ring).min(1.0).asin();
            let mut count = 0;
            let mut used = 0.0;
            for part in &self.parts[next..] {
                if count > 0 && used + width(part) > std::f64::consts::TAU {
                    break;
                }
                used += width(part);
                count += 1;
            }
            // What is left of the turn goes between them.
            let gap = (std::f64::consts::TAU - used).max(0.0) / f64::from(count);
            let mut angle = 0.0;
            for part in self.parts[next..].iter().take(count as usize) {
                let turn = width(part) + gap;
                let (sin, cos) = (angle + turn / 2.0).sin_cos();
                let size = radius_of(part);
                for (v, p) in part.nodes.iter().zip(&part.shape) {
                    let (x, y) = (f64::from(p[0]), f64::from(p[1]));
                    put(*v, ring * cos + size * x, ring * sin + size * y);
                }
                angle += turn;
            }
            next += count as usize;
            inner = ring + half;
        }
        inner
    }

    /// Middle and radius of what the forces place, from an even sample.
    fn disc(&self, positions: &[[f32; 2]]) -> ([f64; 2], f64) {
        let step = self.inner.len().div_ceil(SAMPLE).max(1);
        let seen: Vec<[f64; 2]> = self
            .inner
            .iter()
            .step_by(step)
            .map(|v| positions[*v as usize].map(f64::from))
            .collect();
        if seen.is_empty() {
            return ([0.0; 2], (self.alone.len() as f64).sqrt());
        }
        let middle = |c: usize| seen.iter().map(|p| p[c]).sum::<f64>() / seen.len() as f64;
        let centre = [middle(0), middle(1)];
        let mut radii: Vec<f64> =
            seen.par_iter().map(|p| (p[0] - centre[0]).hypot(p[1] - centre[1])).collect();
        let at = ((radii.len() - 1) as f64 * WITHIN).ceil() as usize;
        let (_, radius, _) = radii.select_nth_unstable_by(at, f64::total_cmp);
        (centre, radius.max(1.0))
    }
}

impl Part {
    fn new(nodes: Vec<u32>, positions: &[[f32; 2]]) -> Self {
        let n = nodes.len() as f32;
        let at = |v: &u32| positions[*v as usize];
        let mean = |c: usize| nodes.iter().map(|v| at(v)[c] / n).sum::<f32>();
        let centre = [mean(0), mean(1)];
        let mut shape: Vec<[f32; 2]> =
            nodes.iter().map(|v| [at(v)[0] - centre[0], at(v)[1] - centre[1]]).collect();
        let radius = shape.iter().map(|p| p[0].hypot(p[1])).fold(0.0, f32::max);
        if radius > 0.0 && radius.is_finite() {
            shape.iter_mut().for_each(|p| *p = [p[0] / radius, p[1] / radius]);
        }
        Self { nodes, shape }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::testkit;

    /// A grid of 400, a pair, a triangle and 100 nodes without neighbours.
    fn archipelago() -> (Arc<Topology>, Vec<[f32; 2]>) {
        let mut edges = Vec::new();
        for v in 0..400u32 {
            if v % 20 < 19 {
                edges.push((v, v + 1));
            }
            if v < 380 {
                edges.push((v, v + 20));
            }
        }
        edges.extend([(400, 401), (402, 403), (403, 404), (404, 402)]);
        let at = |v: u32| match v {
            0..400 => [(v % 20) as f32, (v / 20) as f32],
            _ => [1000.0 + (v * v % 7) as f32, v as f32],
        };
        (testkit::from_edges(505, &edges), (0..505).map(at).collect())
    }

    fn placed() -> Vec<[f32; 2]> {
        let (topology, mut points) = archipelago();
        let rim = ComponentPacking::new(&topology, &points, &CancelToken::new()).unwrap().unwrap();
        rim.place(&mut points, |_| false);
        points
    }

    #[test]
    fn what_is_not_tied_to_the_graph_lies_close_around_it() {
        let (_, before) = archipelago();
        let points = placed();
        assert_eq!(points[..400], before[..400], "the graph itself stays");
        for p in &points[400..] {
            let r = (p[0] - 9.5).hypot(p[1] - 9.5);
            assert!((12.5..22.0).contains(&r), "{p:?}");
        }
        // Nobody hides another.
        for (i, a) in points.iter().enumerate().skip(400) {
            for b in &points[i + 1..] {
                assert!((a[0] - b[0]).hypot(a[1] - b[1]) > 0.3, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn held_nodes_stay_and_the_rim_follows_the_graph() {
        let (topology, mut points) = archipelago();
        let rim = ComponentPacking::new(&topology, &points, &CancelToken::new()).unwrap().unwrap();
        let held = points[450];
        points[..400].iter_mut().for_each(|p| *p = [50.0 * p[0], 50.0 * p[1]]);
        rim.place(&mut points, |v| v == 450);
        assert_eq!(points[450], held);
        let r = (points[460][0] - 475.0).hypot(points[460][1] - 475.0);
        assert!((600.0..1100.0).contains(&r), "{r}");
        let mobility = rim.mobility(505);
        assert!(
            mobility[..400].iter().all(|m| *m == 1.0) && mobility[400..].iter().all(|m| *m == 0.0)
        );
    }

    #[test]
    fn connected_graphs_and_equal_components_have_no_rim() {
        let cancel = CancelToken::new();
        let rim = |t: &Arc<Topology>| {
            ComponentPacking::new(t, &vec![[0.0; 2]; t.num_nodes() as usize], &cancel).unwrap()
        };
        assert!(rim(&testkit::path(9)).is_none());
        assert!(rim(&testkit::from_edges(0, &[])).is_none());
        let pairs: Vec<(u32, u32)> = (0..50).map(|i| (2 * i, 2 * i + 1)).collect();
        assert!(rim(&testkit::from_edges(100, &pairs)).is_none());
        assert!(rim(&testkit::from_edges(101, &pairs)).is_some_and(|r| r.alone == [100]));
    }

    #[test]
    fn a_graph_without_edges_is_an_even_disc() {
        let topology = testkit::from_edges(1000, &[]);
        let mut points = vec![[0.0; 2]; 1000];
        ComponentPacking::new(&topology, &points, &CancelToken::new())
            .unwrap()
            .unwrap()
            .place(&mut points, |_| false);
        let inside = |r: f32| points.iter().filter(|p| p[0].hypot(p[1]) < r).count();
        let most = points.iter().map(|p| p[0].hypot(p[1])).fold(0.0, f32::max);
        assert!((200..300).contains(&inside(most / 2.0)));
    }
}
