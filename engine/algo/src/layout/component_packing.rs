//! Small components beside the picture: where nodes go that no edge ties to the rest of the graph.
//!
//! Between components a force layout has only gravity against the push of everything else, so that small
//! ones drift far away and the graph itself becomes a dot. Here they lie in a block next to the graph, whatever
//! size it has at the moment: on its right, or below a graph that is wider than a screen, as long as the graph is there.
//! The block has rows of components, the largest first, and then of nodes without neighbours.

use std::sync::Arc;

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use graphlume_types::stage::ASPECT;

use crate::AlgoError;
use crate::component::weak;

/// A component at least this part of all that are tied is the graph, and all others are packed.
const MAIN_SHARE: f64 = 0.5;
/// Without such a component, only those of fewer nodes are packed; the others stay with the forces.
const SMALL: usize = 10;
/// Nodes of the graph beyond its box on each side; these few may reach into the block.
const OUTSIDE: f64 = 0.005;
/// Nodes that the box is estimated from.
const SAMPLE: usize = 1 << 14;
/// Room of a packed node in that of a node of the graph.
const ROOM: f64 = 0.5;
/// The block at most, in the area of the graph.
const BLOCK_MAX: f64 = 0.25;
/// Radius of a component in the side of the room of a node, for the root of its nodes.
const PART_RADIUS: f64 = 0.6;
/// Between the graph and the block, in the side of the graph that is next to it.
const GAP: f64 = 0.03;

/// One small component.
struct SmallComponent {
    nodes: Vec<u32>,
    /// Places about its middle, in the radius 1.
    shape: Vec<[f32; 2]>,
}

impl SmallComponent {
    /// Side of the square that it takes, in the side of the room of a node.
    fn side(&self) -> f64 {
        2.0 * PART_RADIUS * (self.nodes.len() as f64).sqrt() + 1.0
    }
}

/// The nodes beside the picture and their order.
pub struct ComponentPacking {
    /// Nodes that the forces place.
    inner: Vec<u32>,
    /// Small components, the largest first.
    parts: Vec<SmallComponent>,
    /// Nodes without neighbours.
    alone: Vec<u32>,
}

/// Middle and sides of the graph beside which the block lies.
struct Main {
    middle: [f64; 2],
    sides: [f64; 2],
}

impl ComponentPacking {
    /// The block of a graph; `None` when nothing belongs there. Shapes of components are those in
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
        let is_inner = |c: usize| main.map_or(sizes[c] >= SMALL, |m| m == c);
        let (mut inner, mut alone) = (Vec::new(), Vec::new());
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (v, l) in (0..).zip(&labels) {
            let c = *l as usize;
            if sizes[c] == 1 {
                alone.push(v);
            } else if is_inner(c) {
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
        let parts =
            members.into_iter().map(|nodes| SmallComponent::new(nodes, positions)).collect();
        Ok(Some(Self { inner, parts, alone }))
    }

    /// Upper bound of the bytes held.
    #[must_use]
    pub fn footprint(num_nodes: u32) -> u64 {
        // An index and a place for each, and a component's two lists for every second.
        u64::from(num_nodes) * (4 + 8 + 24)
    }

    /// 1 for every node that the forces may move, 0 in the block.
    #[must_use]
    pub fn mobility(&self, num_nodes: u32) -> Vec<f32> {
        let mut out = vec![0.0; num_nodes as usize];
        for v in &self.inner {
            out[*v as usize] = 1.0;
        }
        out
    }

    /// The nodes that the forces place, ascending.
    pub(super) fn inner(&self) -> &[u32] {
        &self.inner
    }

    /// The part of the whole picture that the block takes.
    pub(super) fn share(&self) -> f64 {
        let block = self.block(1.0).min(BLOCK_MAX * self.inner.len() as f64);
        block / (block + self.inner.len() as f64).max(1.0)
    }

    /// Area of the block when a node has a square of this `side`.
    fn block(&self, side: f64) -> f64 {
        let parts: f64 = self.parts.iter().map(|part| part.side().powi(2)).sum();
        ROOM * side * side * (parts + self.alone.len() as f64)
    }

    /// Puts the nodes of the block beside the others as these are now, except those that are `held`.
    pub fn place<T>(&self, positions: &mut [[T; 2]], held: impl Fn(u32) -> bool)
    where
        T: Copy + Into<f64> + Coordinate,
    {
        let main = self.main(positions);
        let mut put = |v: u32, at: [f64; 2]| {
            if !held(v) {
                positions[v as usize] = at.map(T::of);
            }
        };
        let area = main.sides[0] * main.sides[1];
        let spacing = (area / self.inner.len().max(1) as f64).sqrt();
        let most = if self.inner.is_empty() { f64::INFINITY } else { BLOCK_MAX * area };
        let block = self.block(spacing);
        let cell = spacing * ROOM.sqrt() * (most / block).min(1.0).sqrt();
        // Rows run along the side of the graph that the block lies at; without a graph they are as long as a screen.
        let beside = main.sides[0] < ASPECT * main.sides[1];
        let (along, across) = if beside { (1, 0) } else { (0, 1) };
        let lone = (block.min(most) * ASPECT).sqrt();
        let (length, first) = match self.inner.is_empty() {
            true => (lone, -0.5 * block / lone),
            false => (main.sides[along], 0.5 * main.sides[across] + GAP * main.sides[along]),
        };
        let (along, across) = if self.inner.is_empty() { (0, 1) } else { (along, across) };
        self.rows(cell, length, |v, row, p| {
            let mut at = main.middle;
            // The first row lies next to the graph: on its right, or below it.
            let outwards = if across == 0 { 1.0 } else { -1.0 };
            at[across] += outwards * (first + row + p[1]);
            at[along] += p[0];
            put(v, at);
        });
    }

    /// Calls `put` with each node of the block, how far its row is from the first one, and its place along the row, whose
    /// middle is 0, and across.
    fn rows(&self, cell: f64, length: f64, mut put: impl FnMut(u32, f64, [f64; 2])) {
        let mut row = 0.0;
        let mut next = 0;
        while let Some(first) = self.parts.get(next) {
            // The first of a row is its largest and sets its height.
            let height = cell * first.side();
            let mut count = 0;
            let mut used = 0.0;
            for part in &self.parts[next..] {
                if count > 0 && used + cell * part.side() > length {
                    break;
                }
                used += cell * part.side();
                count += 1;
            }
            let mut at = -0.5 * length.max(used);
            for part in &self.parts[next..next + count] {
                let side = cell * part.side();
                let size = 0.5 * (side - cell);
                for (v, p) in part.nodes.iter().zip(&part.shape) {
                    let [x, y] = p.map(f64::from);
                    put(*v, row, [at + 0.5 * side + size * x, 0.5 * height + size * y]);
                }
                at += side;
            }
            next += count;
            row += height;
        }
        let in_row = (length / cell).round().max(1.0);
        for (i, v) in self.alone.iter().enumerate() {
            let (line, place) = ((i as f64 / in_row).floor(), i as f64 % in_row);
            let at = (place + 0.5 - 0.5 * in_row) * length / in_row;
            put(*v, row, [at, (line + 0.5) * cell]);
        }
    }

    /// The box of what the forces place, from an even sample.
    fn main<T: Copy + Into<f64>>(&self, positions: &[[T; 2]]) -> Main {
        let step = self.inner.len().div_ceil(SAMPLE).max(1);
        let span = |c: usize| {
            let nodes = self.inner.iter().step_by(step);
            let mut all: Vec<f64> = nodes.map(|v| positions[*v as usize][c].into()).collect();
            all.sort_unstable_by(f64::total_cmp);
            let last = all.len().checked_sub(1)?;
            let cut = (OUTSIDE * last as f64).floor() as usize;
            Some([all[cut], all[last - cut]])
        };
        let [Some(x), Some(y)] = [span(0), span(1)] else {
            return Main { middle: [0.0; 2], sides: [1.0; 2] };
        };
        // A path has a side all the same.
        let long = (x[1] - x[0]).max(y[1] - y[0]).max(1.0);
        let sides = [x, y].map(|s| (s[1] - s[0]).max(0.1 * long));
        Main { middle: [x, y].map(|s| f64::midpoint(s[0], s[1])), sides }
    }
}

/// Numbers that coordinates are made of.
pub trait Coordinate {
    /// The nearest of these numbers.
    fn of(value: f64) -> Self;
}

impl Coordinate for f32 {
    fn of(value: f64) -> Self {
        value as Self
    }
}

impl Coordinate for f64 {
    fn of(value: f64) -> Self {
        value
    }
}

impl SmallComponent {
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
        packing(&topology, &points).unwrap().place(&mut points, |_| false);
        points
    }

    fn packing(topology: &Arc<Topology>, points: &[[f32; 2]]) -> Option<ComponentPacking> {
        ComponentPacking::new(topology, points, &CancelToken::new()).unwrap()
    }

    #[test]
    fn what_is_not_tied_to_the_graph_lies_beside_it_in_a_block() {
        let (_, before) = archipelago();
        let points = placed();
        assert_eq!(points[..400], before[..400], "the graph itself stays");
        for p in &points[400..] {
            assert!(p[0] > 19.0 && p[0] < 26.0 && (-1.0..20.0).contains(&p[1]), "{p:?}");
        }
        // Nobody hides another.
        for (i, a) in points.iter().enumerate().skip(400) {
            for b in &points[i + 1..] {
                assert!((a[0] - b[0]).hypot(a[1] - b[1]) > 0.3, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn a_graph_that_is_wider_than_a_screen_has_the_block_below() {
        let (topology, mut points) = archipelago();
        points[..400].iter_mut().for_each(|p| p[0] *= 4.0);
        packing(&topology, &points).unwrap().place(&mut points, |_| false);
        assert!(points[400..].iter().all(|p| p[1] < 0.0 && (-2.0..78.0).contains(&p[0])));
    }

    #[test]
    fn however_many_are_packed_the_graph_keeps_most_of_the_picture() {
        let topology = testkit::from_edges(5_000, &[(0, 1), (1, 2), (2, 3), (3, 0)]);
        let mut points = vec![[0.0; 2]; 5_000];
        [points[1][0], points[2][0], points[2][1], points[3][1]] = [100.0; 4];
        let packing = packing(&topology, &points).unwrap();
        assert!(packing.share() < 0.21);
        packing.place(&mut points, |_| false);
        let right = points.iter().map(|p| p[0]).fold(f32::MIN, f32::max);
        assert!((110.0..135.0).contains(&right), "{right}");
    }

    #[test]
    fn held_nodes_stay_and_the_block_follows_the_graph() {
        let (topology, mut points) = archipelago();
        let packing = packing(&topology, &points).unwrap();
        let held = points[450];
        points[..400].iter_mut().for_each(|p| *p = [50.0 * p[0], 50.0 * p[1]]);
        packing.place(&mut points, |v| v == 450);
        assert_eq!(points[450], held);
        assert!((950.0..1300.0).contains(&points[460][0]), "{:?}", points[460]);
        let mobility = packing.mobility(505);
        assert!(
            mobility[..400].iter().all(|m| *m == 1.0) && mobility[400..].iter().all(|m| *m == 0.0)
        );
    }

    #[test]
    fn connected_graphs_have_no_block_and_only_small_components_leave_equal_ones() {
        let of = |t: &Arc<Topology>| packing(t, &vec![[0.0; 2]; t.num_nodes() as usize]);
        assert!(of(&testkit::path(9)).is_none());
        assert!(of(&testkit::from_edges(0, &[])).is_none());
        // Paths of twelve and of three.
        let paths = |count: u32, nodes: u32, first: u32| {
            let step = move |i: u32| (first + i, first + i + 1);
            (0..count * nodes).filter(move |i| (i + 1) % nodes != 0).map(step)
        };
        let mut edges: Vec<(u32, u32)> = paths(5, 12, 0).collect();
        assert!(of(&testkit::from_edges(60, &edges)).is_none());
        edges.extend(paths(4, 3, 60));
        let found = of(&testkit::from_edges(73, &edges)).unwrap();
        assert_eq!((found.inner.len(), found.parts.len()), (60, 4));
        assert_eq!(found.alone, [72]);
    }

    #[test]
    fn a_graph_without_edges_is_an_even_block_as_wide_as_a_screen() {
        let topology = testkit::from_edges(1000, &[]);
        let mut points = vec![[0.0; 2]; 1000];
        packing(&topology, &points).unwrap().place(&mut points, |_| false);
        let side = |c: usize| {
            let all = || points.iter().map(|p| f64::from(p[c]));
            all().fold(f64::MIN, f64::max) - all().fold(f64::MAX, f64::min)
        };
        let aspect = side(0) / side(1);
        assert!((1.4..1.9).contains(&aspect), "{aspect}");
        let cell = (side(0) * side(1) / 1000.0).sqrt() as f32;
        for (i, a) in points.iter().enumerate() {
            for b in &points[i + 1..] {
                assert!((a[0] - b[0]).hypot(a[1] - b[1]) > 0.8 * cell, "{a:?} {b:?}");
            }
        }
    }
}
