//! Positions as pairs of 16-bit steps within bounds.

use rayon::prelude::*;

/// The largest step that stands for a position.
pub const STEPS: u16 = 65_534;
/// The pair that means "this node has no position".
pub const ABSENT: [u16; 2] = [u16::MAX, u16::MAX];

/// What quantised coordinates stand for: `x = x0 + q * sx`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// X of step 0.
    pub x0: f32,
    /// Y of step 0.
    pub y0: f32,
    /// Width of a step.
    pub sx: f32,
    /// Height of a step.
    pub sy: f32,
}

/// Share of the box that is added around it, half on each side, so that a layout may grow for a while.
const GROWTH: f64 = 0.05;
/// Positions looked at to find out where most nodes are.
const SAMPLES: usize = 4_096;
/// Of how many nodes one may be shown on the point of another one.
const MERGED_SHARE: usize = 100;
/// A box this many times wider than the middle 96 % of the nodes holds strays that would cost all others
/// else their precision: they are moved to the border instead.
const STRAY_RATIO: f64 = 1e3;

/// Lowest and highest coordinate of one axis.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Span {
    lo: f64,
    hi: f64,
}

impl Span {
    const EMPTY: Self = Self { lo: f64::INFINITY, hi: f64::NEG_INFINITY };

    fn and(self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    fn width(self) -> f64 {
        self.hi - self.lo
    }

    fn contains(self, other: Self) -> bool {
        self.lo <= other.lo && other.hi <= self.hi
    }

    /// The span without strays, judged by the sorted `sample`.
    fn without_strays(self, sample: &[f64]) -> Self {
        let at = |share: f64| sample[((sample.len() - 1) as f64 * share) as usize];
        let core = Self { lo: at(0.02), hi: at(0.98) };
        // All nodes but a few in one spot say nothing about the scale.
        if core.width() <= 0.0 || self.width() <= STRAY_RATIO * core.width() {
            return self;
        }
        let margin = core.width() * 10.0;
        Self { lo: self.lo.max(core.lo - margin), hi: self.hi.min(core.hi + margin) }
    }
}

fn is_placed(p: &[f32; 2]) -> bool {
    p[0].is_finite() && p[1].is_finite()
}

/// Where the placed nodes are, strays aside: what bounds are chosen by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extent(Option<[Span; 2]>);

impl Extent {
    /// The extent of `positions`.
    #[must_use]
    pub fn of(positions: &[[f32; 2]]) -> Self {
        Self(spans(positions))
    }

    /// The extent of positions that are elsewhere, such as on a GPU: `bounds` are least x, least y, greatest
    /// x and greatest y of the finite ones, and `sample` every so many of them, such that at most 4,096 are
    /// looked at.
    #[must_use]
    pub fn surveyed(bounds: Option<[f32; 4]>, sample: &[[f32; 2]]) -> Self {
        let span = |lo: f32, hi: f32| Span { lo: f64::from(lo), hi: f64::from(hi) };
        let all = bounds.map(|[x0, y0, x1, y1]| [span(x0, x1), span(y0, y1)]);
        let placed: Vec<&[f32; 2]> = sample.iter().filter(|p| is_placed(p)).collect();
        Self(all.map(|all| trimmed(all, &placed)))
    }
}

/// The box of the placed positions, strays aside; `None` when nothing is placed.
fn spans(positions: &[[f32; 2]]) -> Option<[Span; 2]> {
    let one = |p: &[f32; 2]| {
        let [x, y] = p.map(f64::from);
        [Span { lo: x, hi: x }, Span { lo: y, hi: y }]
    };
    let both = |a: [Span; 2], b: [Span; 2]| [a[0].and(b[0]), a[1].and(b[1])];
    let all = positions
        .par_chunks(1 << 14)
        .filter_map(|chunk| chunk.iter().filter(|p| is_placed(p)).map(one).reduce(both))
        .reduce(|| [Span::EMPTY; 2], both);
    if all[0].lo > all[0].hi {
        return None;
    }
    let stride = positions.len().div_ceil(SAMPLES).max(1);
    let sample: Vec<&[f32; 2]> =
        positions.iter().step_by(stride).filter(|p| is_placed(p)).collect();
    Some(trimmed(all, &sample))
}

/// The box `all` without strays, judged by a sample of placed positions.
fn trimmed(all: [Span; 2], sample: &[&[f32; 2]]) -> [Span; 2] {
    if sample.len() < 8 {
        return all;
    }
    let axis = |k: usize| {
        let mut sorted: Vec<f64> = sample.iter().map(|p| f64::from(p[k])).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        all[k].without_strays(&sorted)
    };
    [axis(0), axis(1)]
}

impl Bounds {
    /// Steps of width 1 from the origin, for frames whose payload has no quantised coordinates.
    pub const UNIT: Self = Self { x0: 0.0, y0: 0.0, sx: 1.0, sy: 1.0 };

    /// The box of the finite positions, grown by 5 %. A box of no extent gets one.
    #[must_use]
    pub fn of(positions: &[[f32; 2]]) -> Self {
        Self::about(Extent::of(positions))
    }

    /// The box of an extent, as [`Self::of`].
    #[must_use]
    pub fn about(extent: Extent) -> Self {
        extent.0.map_or(Self::UNIT, Self::around)
    }

    fn around([x, y]: [Span; 2]) -> Self {
        let axis = |s: Span| {
            let far = s.lo.abs().max(s.hi.abs());
            // What has no width gets any; other widths, however small, are those of the graph, as far as 32-bit floats
            // near these coordinates can tell places apart.
            let least = if s.width() > 0.0 { far * 1e-6 } else { (far * 1e-4).max(1.0) };
            let width = s.width().max(least);
            let middle = s.lo + s.width() / 2.0;
            let grown = width * (1.0 + GROWTH);
            ((middle - grown / 2.0) as f32, (grown / f64::from(STEPS)) as f32)
        };
        let ((x0, sx), (y0, sy)) = (axis(x), axis(y));
        Self { x0, y0, sx, sy }
    }

    /// Whether `positions` still fit well: none outside, and not shrunk to less than half both ways.
    #[must_use]
    pub fn fit(&self, positions: &[[f32; 2]]) -> bool {
        self.fit_extent(Extent::of(positions))
    }

    /// The same of an extent.
    #[must_use]
    pub fn fit_extent(&self, extent: Extent) -> bool {
        let Some(now) = extent.0 else { return true };
        let axis = |o: f32, s: f32| Span {
            lo: f64::from(o),
            hi: f64::from(o) + f64::from(s) * f64::from(STEPS),
        };
        let mine = [axis(self.x0, self.sx), axis(self.y0, self.sy)];
        let fresh = Self::around(now);
        let shrunk = fresh.sx < self.sx * 0.5 && fresh.sy < self.sy * 0.5;
        mine[0].contains(now[0]) && mine[1].contains(now[1]) && !shrunk
    }

    /// The pair for a position; [`ABSENT`] when a coordinate is not finite. Positions outside are moved
    /// to the border.
    #[must_use]
    #[inline]
    pub fn quantize(&self, p: [f32; 2]) -> [u16; 2] {
        if !is_placed(&p) {
            return ABSENT;
        }
        let axis = |v: f32, o: f32, s: f32| {
            let q = (f64::from(v) - f64::from(o)) / f64::from(s);
            // Not `round`, which is a call into the C library on the oldest processors we serve.
            (q.clamp(0.0, f64::from(STEPS)) + 0.5) as u16
        };
        [axis(p[0], self.x0, self.sx), axis(p[1], self.y0, self.sy)]
    }

    /// The position of a pair; NaN for [`ABSENT`].
    #[must_use]
    pub fn position(&self, q: [u16; 2]) -> [f32; 2] {
        if q == ABSENT {
            return [f32::NAN; 2];
        }
        let axis = |q: u16, o: f32, s: f32| (f64::from(o) + f64::from(q) * f64::from(s)) as f32;
        [axis(q[0], self.x0, self.sx), axis(q[1], self.y0, self.sy)]
    }
}

/// Quantised positions of all nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantized {
    /// What the pairs stand for.
    pub bounds: Bounds,
    /// One pair a node.
    pub pairs: Vec<[u16; 2]>,
}

impl Quantized {
    /// Quantises within the box of `positions`.
    #[must_use]
    pub fn new(positions: &[[f32; 2]]) -> Self {
        Self::within(Bounds::of(positions), positions)
    }

    /// Quantises within given bounds.
    #[must_use]
    pub fn within(bounds: Bounds, positions: &[[f32; 2]]) -> Self {
        let pairs =
            positions.par_iter().with_min_len(1 << 13).map(|p| bounds.quantize(*p)).collect();
        Self { bounds, pairs }
    }

    /// Whether the steps put more than one in a hundred nodes on the same point as a node that stands elsewhere: then
    /// a part of the picture is smaller than a step, and cannot be seen at any zoom.
    #[must_use]
    pub fn merges(&self, positions: &[[f32; 2]]) -> bool {
        let mut order: Vec<u32> = (0..self.pairs.len().min(positions.len()) as u32).collect();
        let pair = |v: u32| self.pairs[v as usize];
        order.retain(|v| pair(*v) != ABSENT);
        order.par_sort_unstable_by_key(|v| (pair(*v), positions[*v as usize].map(f32::to_bits)));
        let merged = order.windows(2).filter(|w| {
            let is_apart = positions[w[0] as usize] != positions[w[1] as usize];
            pair(w[0]) == pair(w[1]) && is_apart
        });
        merged.count() * MERGED_SHARE > order.len()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use graphlume_types::hash::unit_f64;

    use super::*;

    fn cloud(n: u64, scale: f64) -> Vec<[f32; 2]> {
        let at = |k, i| ((unit_f64(1, k, i) - 0.3) * scale) as f32;
        (0..n).map(|i| [at(0, i), at(1, i) * 3.0]).collect()
    }

    #[test]
    fn the_error_is_below_a_hundredth_of_a_pixel_at_fit() {
        let positions = cloud(20_000, 800.0);
        let q = Quantized::new(&positions);
        let pixel = 800.0 / 1000.0;
        for (p, pair) in positions.iter().zip(&q.pairs) {
            let back = q.bounds.position(*pair);
            assert!((p[0] - back[0]).abs() <= 0.0081 * pixel, "{p:?} {back:?}");
            assert!((p[1] - back[1]).abs() <= 0.0081 * pixel * 3.0, "{p:?} {back:?}");
        }
    }

    #[test]
    fn the_bounds_are_the_box_grown_by_five_percent() {
        let b = Bounds::of(&[[-10.0, 100.0], [90.0, 500.0]]);
        assert!((b.x0 - -12.5).abs() < 1e-4 && (b.y0 - 90.0).abs() < 1e-4, "{b:?}");
        assert!((b.sx * 65_534.0 - 105.0).abs() < 1e-3 && (b.sy * 65_534.0 - 420.0).abs() < 1e-3);
    }

    #[test]
    fn a_graph_in_a_tiny_part_of_the_plane_has_steps_of_its_size() {
        for (middle, width) in [(0.0, 1e-5), (0.3, 1e-5), (700.0, 1e-2), (-1e-20, 1e-19)] {
            let ring: Vec<[f32; 2]> = (0..60)
                .map(|i| f64::from(i) / 60.0 * std::f64::consts::TAU)
                .map(|a| [middle + a.cos() * width, middle + a.sin() * width].map(|v| v as f32))
                .collect();
            let q = Quantized::new(&ring);
            assert!(!q.merges(&ring), "{middle} {width}");
            for (p, pair) in ring.iter().zip(&q.pairs) {
                let back = q.bounds.position(*pair);
                let off = f64::from((p[0] - back[0]).abs().max((p[1] - back[1]).abs()));
                // A float near the middle has steps of its own.
                assert!(off <= width * 1e-3 + middle.abs() * 2e-7, "{off} {middle} {width}");
            }
        }
    }

    #[test]
    fn a_part_that_is_smaller_than_a_step_is_noticed() {
        let mut positions = cloud(1_000, 800.0);
        assert!(!Quantized::new(&positions).merges(&positions));
        // Nodes that stand on one another are no loss.
        positions.extend([[5.0, 5.0]; 500]);
        assert!(!Quantized::new(&positions).merges(&positions));
        positions.extend((0..60).map(|i| [1.0 + i as f32 * 1e-5, 1.0]));
        assert!(Quantized::new(&positions).merges(&positions));
        let wild = [[0.0, 0.0], [1.0, 1.0], [0.5, 0.0], [1e30, 0.0], [f32::NAN, 0.0]];
        assert!(Quantized::new(&wild).merges(&wild));
        assert!(!Quantized::new(&[]).merges(&[]));
    }

    #[test]
    fn absent_positions_stay_absent_and_do_not_count() {
        let positions = [[f32::NAN, 0.0], [1.0, f32::INFINITY], [0.0, 0.0], [100.0, 100.0]];
        let q = Quantized::new(&positions);
        assert_eq!(q.pairs[..2], [ABSENT, ABSENT]);
        assert!(q.pairs[2..].iter().all(|p| p.iter().all(|v| *v <= STEPS)));
        assert!(q.bounds.position(ABSENT)[0].is_nan());
        assert_eq!(q.bounds, Bounds::of(&positions[2..]));
        assert_eq!(Bounds::of(&[[f32::NAN; 2]]), Bounds::UNIT);
        assert_eq!(Bounds::of(&[]), Bounds::UNIT);
    }

    #[test]
    fn one_spot_gets_bounds_of_some_extent() {
        for spot in [[0.0, 0.0], [5e6, -3.0], [1e30, 1e30]] {
            let q = Quantized::new(&[spot, spot]);
            assert!(q.bounds.sx > 0.0 && q.bounds.sy > 0.0 && q.bounds.sx.is_finite());
            let back = q.bounds.position(q.pairs[0]);
            assert!((back[0] - spot[0]).abs() <= spot[0].abs() * 1e-5 + 1e-3, "{back:?} {spot:?}");
        }
    }

    #[test]
    fn a_stray_does_not_cost_the_others_their_precision() {
        let mut positions = cloud(1000, 100.0);
        positions[7] = [1e30, -1e30];
        let q = Quantized::new(&positions);
        for (i, (p, pair)) in positions.iter().zip(&q.pairs).enumerate().filter(|(i, _)| *i != 7) {
            let back = q.bounds.position(*pair);
            assert!((p[0] - back[0]).abs() < 0.1 && (p[1] - back[1]).abs() < 0.1, "node {i}");
        }
        assert_eq!(q.pairs[7], [STEPS, 0]);
        assert!(q.bounds.fit(&positions));
    }

    #[test]
    fn the_bounds_stop_fitting_when_the_layout_grows_or_shrinks() {
        let positions = cloud(500, 100.0);
        let b = Bounds::of(&positions);
        let scaled = |s: f32| positions.iter().map(|p| [p[0] * s, p[1] * s]).collect::<Vec<_>>();
        assert!(b.fit(&positions) && b.fit(&scaled(1.02)) && b.fit(&scaled(0.6)));
        assert!(!b.fit(&scaled(1.3)) && !b.fit(&scaled(0.4)));
        assert!(b.fit(&[]));
    }
}
