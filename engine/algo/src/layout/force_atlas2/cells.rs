//! The implicit tree over bodies in curve order: leaf `i` holds bodies `16 i .. 16 i + 16`, and cell `i` of
//! a level has cells `4 i .. 4 i + 4` of the level below. There are no pointers and nothing to rebalance;
//! only the moments change when bodies move.

use rayon::prelude::*;

/// Bodies of a leaf.
pub(in crate::layout) const LEAF: usize = 16;
/// Cells below a cell.
pub(in crate::layout) const FAN: usize = 4;
/// The level whose cells are the units of parallel work.
pub(in crate::layout) const TASK_LEVEL: usize = 3;
/// Bodies under a cell of the task level.
pub(in crate::layout) const TASK: usize = LEAF * FAN.pow(TASK_LEVEL as u32);

/// Where a cell is: the centre of its mass, and the radius of a disc about it that holds its bodies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::layout) struct Geo {
    pub(in crate::layout) x: f32,
    pub(in crate::layout) y: f32,
    pub(in crate::layout) r: f32,
}

/// Moments about the centre of mass, in coordinates multiplied by the scale of [`Cells`]: the sums over
/// the bodies of `m`, `m z^2` and `m z^3` as complex numbers. The sum of `m z` is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::layout) struct Moments {
    pub(in crate::layout) m: f32,
    pub(in crate::layout) a2: [f32; 2],
    pub(in crate::layout) a3: [f32; 2],
}

/// An axis-parallel box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::layout) struct Bounds {
    pub(in crate::layout) low: [f32; 2],
    pub(in crate::layout) high: [f32; 2],
}

impl Bounds {
    pub(in crate::layout) const EMPTY: Self =
        Self { low: [f32::INFINITY; 2], high: [f32::NEG_INFINITY; 2] };

    pub(in crate::layout) fn of(points: &[[f32; 2]]) -> Self {
        points.iter().fold(Self::EMPTY, |b, p| b.with(*p))
    }

    pub(in crate::layout) fn with(self, p: [f32; 2]) -> Self {
        Self {
            low: [self.low[0].min(p[0]), self.low[1].min(p[1])],
            high: [self.high[0].max(p[0]), self.high[1].max(p[1])],
        }
    }

    pub(in crate::layout) fn union(self, o: Self) -> Self {
        self.with(o.low).with(o.high)
    }

    /// The larger side, 0 of an empty box.
    pub(in crate::layout) fn side(self) -> f32 {
        (self.high[0] - self.low[0]).max(self.high[1] - self.low[1]).max(0.0)
    }

    /// Distance from `(x, y)` to the farthest corner.
    fn reach(self, x: f32, y: f32) -> f32 {
        let dx = (x - self.low[0]).max(self.high[0] - x);
        let dy = (y - self.low[1]).max(self.high[1] - y);
        (dx * dx + dy * dy).sqrt()
    }
}

/// Cells of one level, level 0 being the leaves.
#[derive(Default)]
pub(in crate::layout) struct Level {
    pub(in crate::layout) geo: Vec<Geo>,
    pub(in crate::layout) moments: Vec<Moments>,
    pub(in crate::layout) bounds: Vec<Bounds>,
}

impl Level {
    fn with_len(n: usize) -> Self {
        Self {
            geo: vec![Geo::default(); n],
            moments: vec![Moments::default(); n],
            bounds: vec![Bounds::EMPTY; n],
        }
    }

    pub(in crate::layout) fn len(&self) -> usize {
        self.geo.len()
    }
}

/// The cells of all levels.
pub(in crate::layout) struct Cells {
    pub(in crate::layout) levels: Vec<Level>,
    /// Factor from coordinates to those of the moments: a power of two that brings the whole layout into
    /// the unit box, so that no moment leaves the range of single precision.
    pub(in crate::layout) scale: f32,
}

impl Cells {
    /// The cells over `n` bodies, at least one level.
    pub(in crate::layout) fn new(n: usize) -> Self {
        let mut levels = vec![Level::with_len(n.div_ceil(LEAF))];
        let mut len = levels[0].len();
        while len > 1 {
            len = len.div_ceil(FAN);
            levels.push(Level::with_len(len));
        }
        Self { levels, scale: 1.0 }
    }

    /// Recomputes every cell from the bodies, whose box is `bounds`.
    pub(in crate::layout) fn refit(&mut self, points: &[[f32; 2]], masses: &[f32], bounds: Bounds) {
        self.scale = scale_of(bounds);
        let scale = self.scale;
        let task_levels = self.levels.len().min(TASK_LEVEL + 1);
        let (low, high) = self.levels.split_at_mut(task_levels);
        let mut chunks: Vec<Vec<LevelChunk<'_>>> = Vec::new();
        let tasks = points.len().div_ceil(TASK);
        chunks.resize_with(tasks, Vec::new);
        for (l, level) in low.iter_mut().enumerate() {
            let size = FAN.pow((TASK_LEVEL - l) as u32);
            let parts = level
                .geo
                .chunks_mut(size)
                .zip(level.moments.chunks_mut(size))
                .zip(level.bounds.chunks_mut(size));
            for (task, ((geo, moments), bounds)) in chunks.iter_mut().zip(parts) {
                task.push(LevelChunk { geo, moments, bounds });
            }
        }
        chunks
            .into_par_iter()
            .zip(points.par_chunks(TASK).zip(masses.par_chunks(TASK)))
            .for_each(|(mut levels, (p, m))| refit_task(&mut levels, p, m, scale));
        let mut below = &low[low.len() - 1];
        for level in high {
            for i in 0..level.len() {
                let range = i * FAN..((i + 1) * FAN).min(below.len());
                let (g, m, b) = merge(
                    &below.geo[range.clone()],
                    &below.moments[range.clone()],
                    &below.bounds[range],
                    scale,
                );
                (level.geo[i], level.moments[i], level.bounds[i]) = (g, m, b);
            }
            below = level;
        }
    }
}

/// The part of one level that lies under one task cell.
struct LevelChunk<'a> {
    geo: &'a mut [Geo],
    moments: &'a mut [Moments],
    bounds: &'a mut [Bounds],
}

fn scale_of(bounds: Bounds) -> f32 {
    let side = bounds.side();
    if side > 0.0 && side.is_finite() {
        let exponent = -f64::from(side).log2().ceil();
        exponent.exp2().clamp(1e-30, 1e30) as f32
    } else {
        1.0
    }
}

fn refit_task(levels: &mut [LevelChunk<'_>], points: &[[f32; 2]], masses: &[f32], scale: f32) {
    let (leaves, above) = levels.split_at_mut(1);
    let leaves = &mut leaves[0];
    for (i, (p, m)) in points.chunks(LEAF).zip(masses.chunks(LEAF)).enumerate() {
        (leaves.geo[i], leaves.moments[i], leaves.bounds[i]) = leaf(p, m, scale);
    }
    let mut below: &LevelChunk<'_> = leaves;
    for level in above {
        for i in 0..level.geo.len() {
            let range = i * FAN..((i + 1) * FAN).min(below.geo.len());
            (level.geo[i], level.moments[i], level.bounds[i]) = merge(
                &below.geo[range.clone()],
                &below.moments[range.clone()],
                &below.bounds[range],
                scale,
            );
        }
        below = level;
    }
}

/// The cell of a leaf's bodies.
fn leaf(points: &[[f32; 2]], masses: &[f32], scale: f32) -> (Geo, Moments, Bounds) {
    let bounds = Bounds::of(points);
    // Sums relative to a body keep the digits that a far origin would cost.
    let [ox, oy] = points[0];
    let (mut m, mut sx, mut sy) = (0.0, 0.0, 0.0);
    for (p, w) in points.iter().zip(masses) {
        m += w;
        sx += w * (p[0] - ox);
        sy += w * (p[1] - oy);
    }
    let (x, y) = if m > 0.0 { (ox + sx / m, oy + sy / m) } else { (ox, oy) };
    let mut moments = Moments { m, ..Moments::default() };
    let mut r2 = 0.0f32;
    for (p, w) in points.iter().zip(masses) {
        let (dx, dy) = (p[0] - x, p[1] - y);
        r2 = r2.max(dx * dx + dy * dy);
        let (zx, zy) = (dx * scale, dy * scale);
        let (qx, qy) = (zx * zx - zy * zy, 2.0 * zx * zy);
        moments.a2[0] += w * qx;
        moments.a2[1] += w * qy;
        moments.a3[0] += w * (qx * zx - qy * zy);
        moments.a3[1] += w * (qx * zy + qy * zx);
    }
    (Geo { x, y, r: r2.sqrt() }, moments, bounds)
}

/// The cell above up to four cells.
fn merge(
    geo: &[Geo],
    moments: &[Moments],
    bounds: &[Bounds],
    scale: f32,
) -> (Geo, Moments, Bounds) {
    let b = bounds.iter().fold(Bounds::EMPTY, |a, b| a.union(*b));
    let (ox, oy) = (geo[0].x, geo[0].y);
    let (mut m, mut sx, mut sy) = (0.0, 0.0, 0.0);
    for (g, c) in geo.iter().zip(moments) {
        m += c.m;
        sx += c.m * (g.x - ox);
        sy += c.m * (g.y - oy);
    }
    let (x, y) = if m > 0.0 { (ox + sx / m, oy + sy / m) } else { (ox, oy) };
    let mut up = Moments { m, ..Moments::default() };
    let mut r = 0.0f32;
    for (g, c) in geo.iter().zip(moments) {
        let (dx, dy) = (g.x - x, g.y - y);
        r = r.max((dx * dx + dy * dy).sqrt() + g.r);
        let (hx, hy) = (dx * scale, dy * scale);
        let (qx, qy) = (hx * hx - hy * hy, 2.0 * hx * hy);
        up.a2[0] += c.a2[0] + c.m * qx;
        up.a2[1] += c.a2[1] + c.m * qy;
        up.a3[0] += c.a3[0] + 3.0 * (c.a2[0] * hx - c.a2[1] * hy) + c.m * (qx * hx - qy * hy);
        up.a3[1] += c.a3[1] + 3.0 * (c.a2[0] * hy + c.a2[1] * hx) + c.m * (qx * hy + qy * hx);
    }
    (Geo { x, y, r: r.min(b.reach(x, y)) }, up, b)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use graphlume_types::hash::unit_f64;

    #[test]
    fn every_cell_holds_its_bodies_and_the_root_has_the_moments_of_all() {
        let n = 5000;
        let points: Vec<[f32; 2]> = (0..n)
            .map(|i| [unit_f64(1, 0, i) as f32 * 40.0, unit_f64(1, 1, i) as f32 * 10.0])
            .collect();
        let masses: Vec<f32> = (0..n).map(|i| 1.0 + (i % 5) as f32).collect();
        let mut cells = Cells::new(n as usize);
        cells.refit(&points, &masses, Bounds::of(&points));
        for (l, level) in cells.levels.iter().enumerate() {
            let size = LEAF * FAN.pow(l as u32);
            for (i, g) in level.geo.iter().enumerate() {
                for p in &points[i * size..((i + 1) * size).min(points.len())] {
                    let d = ((p[0] - g.x).powi(2) + (p[1] - g.y).powi(2)).sqrt();
                    assert!(d <= g.r * 1.0001 + 1e-4, "level {l} cell {i}: {d} > {}", g.r);
                }
            }
        }
        let root = cells.levels.last().unwrap();
        let (g, m) = (root.geo[0], root.moments[0]);
        let s = f64::from(cells.scale);
        let mut sums = [0.0f64; 5];
        for (p, w) in points.iter().zip(&masses) {
            let (x, y) = (f64::from(p[0] - g.x) * s, f64::from(p[1] - g.y) * s);
            let w = f64::from(*w);
            sums[0] += w;
            sums[1] += w * (x * x - y * y);
            sums[2] += w * 2.0 * x * y;
            sums[3] += w * (x * x * x - 3.0 * x * y * y);
            sums[4] += w * (3.0 * x * x * y - y * y * y);
        }
        for (got, want) in [m.m, m.a2[0], m.a2[1], m.a3[0], m.a3[1]].iter().zip(sums) {
            assert!((f64::from(*got) - want).abs() < 1e-3 * sums[0].abs(), "{got} {want}");
        }
    }
}
