//! Repulsion between all bodies.
//!
//! A body of mass `m` at distance `d` pushes with `m / d`: in the complex plane, the conjugate of
//! `m / (z - z0)`. That function has multipole and Taylor expansions (Greengard and Rokhlin 1987), so that a
//! far cell acts on a whole target cell through four coefficients. Both sides walk the implicit tree
//! together (Barnes and Hut's opening rule with theta, applied to the larger of the two cells): a pair far
//! apart becomes a cell-to-cell translation, a source far from every body of a target leaf is evaluated at
//! those bodies, and what remains near is summed body by body. Every target is written by one task only and
//! its sources come in a fixed order, so the sum does not depend on the number of threads.

use super::cells::{Bounds, Cells, FAN, Geo, LEAF, TASK_LEVEL};
use super::simd::{Isa, Lanes, dispatch};
use near::{near_exact, near_fast, near_rims};

mod near;

/// Added to squared distances: bodies on one spot do not push each other.
pub(super) const SOFTENING: f32 = 1.192_092_9e-7;
/// From theta as users know it (width of a cell over distance) to the ratio of a radius and a distance.
const RADIUS_PER_WIDTH: f32 = 0.7;
/// Radius over distance beyond which expansions would converge too slowly.
const RATIO_MAX: f32 = 0.9;

/// How pairs of bodies push each other.
#[derive(Clone, Copy)]
pub(in crate::layout) struct Law<'a> {
    /// Radii of the bodies when overlap is prevented.
    pub(in crate::layout) radii: Option<&'a [f32]>,
    /// Factor of the push between overlapping bodies, relative to the usual one.
    pub(in crate::layout) overlap: f32,
    /// Twice the largest radius.
    pub(in crate::layout) clearance: f32,
    /// Ratio up to which a cell is far, or `None` to sum all pairs.
    pub(in crate::layout) ratio: Option<f32>,
}

/// The ratio for a user's theta.
pub(crate) fn ratio(theta: f64) -> f32 {
    (theta as f32 * RADIUS_PER_WIDTH).min(RATIO_MAX)
}

/// What a task did: whether the tree still fits the bodies shows in these numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::layout) struct Work {
    /// Pairs of leaves that were summed body by body.
    pub(in crate::layout) near: u64,
    /// Sources evaluated at the bodies of a leaf.
    pub(in crate::layout) middle: u64,
    /// Cell-to-cell translations.
    pub(in crate::layout) far: u64,
}

impl Work {
    pub(super) fn add(self, o: Self) -> Self {
        Self { near: self.near + o.near, middle: self.middle + o.middle, far: self.far + o.far }
    }

    /// Rough time in nanoseconds.
    pub(super) fn nanos(self) -> f64 {
        self.near as f64 * 45.0 + self.middle as f64 * 12.0 + self.far as f64 * 12.0
    }
}

/// A Taylor expansion about the centre of a cell: coefficients of `1, t, t^2, t^3`.
type Local = [[f32; 2]; 4];

/// Lists of one task, kept between tasks of a thread.
#[derive(Default)]
pub(in crate::layout) struct Scratch {
    /// Sources that the children of the present target must look at.
    kept: List,
    /// Sources to be opened.
    open: List,
    near: List,
    middle: List,
    far: List,
    packed: FarList,
}

/// A cell: its level in the upper four bits and its place there in the others.
type Cell = u32;

const PLACE_BITS: u32 = 28;

fn cell(level: usize, i: usize) -> Cell {
    (level as u32) << PLACE_BITS | i as u32
}

fn level_of(c: Cell) -> usize {
    (c >> PLACE_BITS) as usize
}

fn place_of(c: Cell) -> usize {
    (c & ((1 << PLACE_BITS) - 1)) as usize
}

/// A list to which items are appended without a branch: the outcome of an opening test is as good as
/// random, and a mispredicted branch costs more than the test.
#[derive(Default)]
struct List {
    items: Vec<Cell>,
    len: usize,
}

impl List {
    fn as_slice(&self) -> &[Cell] {
        &self.items[..self.len]
    }

    /// Makes room for `more` items.
    #[inline(always)]
    fn reserve(&mut self, more: usize) {
        if self.len + more > self.items.len() {
            self.items.resize((self.len + more).next_power_of_two().max(256), 0);
        }
    }

    /// Appends `item` if `keep`. Room must have been made.
    #[inline(always)]
    fn put(&mut self, item: Cell, keep: bool) {
        self.items[self.len] = item;
        self.len += usize::from(keep);
    }
}

/// Far sources of one target, padded to whole vectors.
#[derive(Default)]
struct FarList {
    dx: Vec<f32>,
    dy: Vec<f32>,
    m: Vec<f32>,
    a2x: Vec<f32>,
    a2y: Vec<f32>,
    a3x: Vec<f32>,
    a3y: Vec<f32>,
}

impl FarList {
    fn columns(&mut self) -> [&mut Vec<f32>; 7] {
        [
            &mut self.dx,
            &mut self.dy,
            &mut self.m,
            &mut self.a2x,
            &mut self.a2y,
            &mut self.a3x,
            &mut self.a3y,
        ]
    }

    /// Takes the moments of `sources` as seen from `target`, and sources without mass until whole vectors
    /// of 16 are filled.
    fn pack(&mut self, cells: &Cells, target: Geo, sources: &[Cell]) {
        let len = sources.len().next_multiple_of(16);
        for (c, v) in self.columns().into_iter().enumerate() {
            v.resize(len, 0.0);
            v[sources.len()..].fill(if c < 2 { 1.0 } else { 0.0 });
        }
        let columns = self.columns().map(Vec::as_mut_slice);
        let [dx, dy, m, a2x, a2y, a3x, a3y] = columns.map(|c| &mut c[..sources.len()]);
        for (i, s) in sources.iter().enumerate() {
            let (level, at) = (&cells.levels[level_of(*s)], place_of(*s));
            let (g, c) = (&level.geo[at], &level.moments[at]);
            dx[i] = (target.x - g.x) * cells.scale;
            dy[i] = (target.y - g.y) * cells.scale;
            m[i] = c.m;
            (a2x[i], a2y[i]) = (c.a2[0], c.a2[1]);
            (a3x[i], a3y[i]) = (c.a3[0], c.a3[1]);
        }
    }
}

/// Everything that a task reads.
#[derive(Clone, Copy)]
pub(in crate::layout) struct Field<'a> {
    pub(in crate::layout) isa: Isa,
    pub(in crate::layout) cells: &'a Cells,
    pub(in crate::layout) points: &'a [[f32; 2]],
    pub(in crate::layout) masses: &'a [f32],
    pub(in crate::layout) law: Law<'a>,
}

impl Field<'_> {
    /// Adds to `out` the push on the bodies of task `task`, without the factor of their own masses.
    pub(in crate::layout) fn task(
        &self,
        task: usize,
        scratch: &mut Scratch,
        out: &mut [[f32; 2]],
    ) -> Work {
        let mut work = Work::default();
        let Some(ratio) = self.law.ratio else {
            let all: Vec<u32> = (0..self.cells.levels[0].len() as u32).collect();
            for (i, out) in out.chunks_mut(LEAF).enumerate() {
                let leaf = task * FAN.pow(TASK_LEVEL as u32) + i;
                self.near(leaf, &all, true, out);
                work.near += all.len() as u64;
            }
            return work;
        };
        let top = self.cells.levels.len() - 1;
        scratch.kept.len = 0;
        scratch.kept.reserve(1);
        scratch.kept.put(cell(top, 0), true);
        let tiny = 1e-14 / (self.cells.scale * self.cells.scale);
        let walk = Walk { field: self, ratio, tiny, first_leaf: task << (2 * TASK_LEVEL) };
        walk.visit(cell(TASK_LEVEL.min(top), task), 0..1, None, scratch, out, &mut work);
        work
    }

    /// Sums the push of the bodies of `sources` on those of `leaf`.
    fn near(&self, leaf: usize, sources: &[u32], exact: bool, out: &mut [[f32; 2]]) {
        match self.law.radii {
            None if exact => near_exact(self.isa, self, leaf, sources, out),
            None => near_fast(self.isa, self, leaf, sources, out),
            Some(radii) => near_rims(self.isa, self, radii, leaf, sources, out),
        }
    }
}

struct Walk<'a, 'f> {
    field: &'a Field<'f>,
    ratio: f32,
    /// Squared distance below which coordinates are too coarse for an expansion.
    tiny: f32,
    first_leaf: usize,
}

impl Walk<'_, '_> {
    /// Handles target `t`, whose undecided sources are `scratch.kept[from]`, and everything below it.
    fn visit(
        &self,
        t: Cell,
        from: std::ops::Range<usize>,
        parent: Option<(Geo, Local)>,
        scratch: &mut Scratch,
        out: &mut [[f32; 2]],
        work: &mut Work,
    ) {
        let cells = self.field.cells;
        let (level, i) = (level_of(t), place_of(t));
        let geo = cells.levels[level].geo[i];
        let start = scratch.kept.len;
        let bounds = cells.levels[level].bounds[i];
        for list in [&mut scratch.open, &mut scratch.near, &mut scratch.middle, &mut scratch.far] {
            list.len = 0;
        }
        if level == 0 {
            self.sort_out::<true>(geo, bounds, from, scratch);
        } else {
            self.sort_out::<false>(geo, bounds, from, scratch);
        }
        let mut local = parent.map_or([[0.0; 2]; 4], |(g, l)| shift(&l, g, geo, cells.scale));
        work.far += scratch.far.len as u64;
        if scratch.far.len > 0 {
            scratch.packed.pack(cells, geo, scratch.far.as_slice());
            translate(self.field.isa, &scratch.packed, &mut local);
        }
        if level == 0 {
            let (near, middle) = (scratch.near.as_slice(), scratch.middle.as_slice());
            work.near += near.len() as u64;
            work.middle += middle.len() as u64;
            let at = (i - self.first_leaf) * LEAF;
            let end = (at + LEAF).min(out.len());
            let out = &mut out[at..end];
            self.field.near(i, near, false, out);
            finish_leaf(self.field.isa, self.field, i, geo, &local, middle, out);
        } else {
            let end = scratch.kept.len;
            let below = cells.levels[level - 1].len();
            for child in i * FAN..((i + 1) * FAN).min(below) {
                let child = cell(level - 1, child);
                self.visit(child, start..end, Some((geo, local)), scratch, out, work);
            }
        }
        scratch.kept.len = start;
    }

    /// Puts every source where it belongs: far, near, to be evaluated at the bodies, or kept for the
    /// children of the target.
    fn sort_out<const AT_LEAF: bool>(
        &self,
        geo: Geo,
        bounds: Bounds,
        from: std::ops::Range<usize>,
        scratch: &mut Scratch,
    ) {
        let levels = &self.field.cells.levels;
        for k in from {
            let s = scratch.kept.items[k];
            let (level, i) = (level_of(s), place_of(s));
            self.decide::<AT_LEAF>(geo, bounds, level, i, &levels[level].geo[i..=i], scratch);
        }
        while scratch.open.len > 0 {
            scratch.open.len -= 1;
            let s = scratch.open.items[scratch.open.len];
            let (level, first) = (level_of(s) - 1, place_of(s) * FAN);
            let geos = &levels[level].geo;
            let children = &geos[first..(first + FAN).min(geos.len())];
            self.decide::<AT_LEAF>(geo, bounds, level, first, children, scratch);
        }
    }

    /// Decides about the neighbouring cells `sources` of one level, the first of which is `first`.
    #[inline(always)]
    fn decide<const AT_LEAF: bool>(
        &self,
        geo: Geo,
        bounds: Bounds,
        level: usize,
        first: usize,
        sources: &[Geo],
        scratch: &mut Scratch,
    ) {
        let Scratch { kept, open, near, middle, far, .. } = scratch;
        let (ratio, clearance) = (self.ratio, self.field.law.clearance);
        let ratio2 = ratio * ratio;
        // With radii, no body of a far cell may overlap one of the target.
        let hold = if clearance > 0.0 { 1.0 } else { 0.0 };
        for list in [&mut *kept, open, near, middle, far] {
            list.reserve(FAN);
        }
        for (k, g) in sources.iter().enumerate() {
            let s = cell(level, first + k);
            let (dx, dy) = (geo.x - g.x, geo.y - g.y);
            let d2 = dx * dx + dy * dy;
            let (big, small) = if geo.r > g.r { (geo.r, g.r) } else { (g.r, geo.r) };
            let reach = big + ratio * small;
            let gap = hold * (geo.r + g.r) + clearance;
            let is_far = (reach * reach < ratio2 * d2) & (d2 > self.tiny) & (gap * gap < d2);
            far.put(s, is_far);
            if AT_LEAF {
                let dx = (bounds.low[0] - g.x).max(g.x - bounds.high[0]).max(0.0);
                let dy = (bounds.low[1] - g.y).max(g.y - bounds.high[1]).max(0.0);
                let d2 = dx * dx + dy * dy;
                let gap = hold * g.r + clearance;
                let beyond = (g.r * g.r < ratio2 * d2) & (d2 > self.tiny) & (gap * gap < d2);
                middle.put(s, !is_far & beyond);
                let undecided = !is_far & !beyond;
                if level > 0 {
                    open.put(s, undecided);
                } else {
                    near.put(s, undecided);
                }
            } else {
                let is_open = !is_far & (level > 0) & (g.r >= geo.r);
                open.put(s, is_open);
                kept.put(s, !is_far & !is_open);
            }
        }
    }
}

fn mul(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

fn add(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    [a[0] + b[0], a[1] + b[1]]
}

fn times(k: f32, a: [f32; 2]) -> [f32; 2] {
    [k * a[0], k * a[1]]
}

/// The expansion `l` about the centre of `from` as one about the centre of `to`.
fn shift(l: &Local, from: Geo, to: Geo, scale: f32) -> Local {
    let h = [(to.x - from.x) * scale, (to.y - from.y) * scale];
    let h2 = mul(h, h);
    let b3h = mul(l[3], h);
    let b2h = mul(l[2], h);
    [
        add(add(l[0], mul(l[1], h)), add(mul(l[2], h2), mul(b3h, h2))),
        add(l[1], add(times(2.0, b2h), times(3.0, mul(l[3], h2)))),
        add(l[2], times(3.0, b3h)),
        l[3],
    ]
}

dispatch! {
    /// Adds the translated moments of all far sources to the expansion.
    fn translate = translate_lanes(far: &FarList, local: &mut Local)
}

/// With `u = 1 / (target - source)`: `b_n = (-u)^n u (m + C(n+2, n) a2 u^2 + C(n+3, n) a3 u^3)`.
#[inline(always)]
fn translate_lanes<L: Lanes>(far: &FarList, local: &mut Local) {
    let zero = L::splat(0.0);
    let mut b = [[zero; 2]; 4];
    let product =
        |a: [L; 2], b: [L; 2]| [a[1].fnma(b[1], a[0].mul(b[0])), a[0].fma(b[1], a[1].mul(b[0]))];
    let mut i = 0;
    while i < far.m.len() {
        let (dx, dy) = (L::load(&far.dx[i..]), L::load(&far.dy[i..]));
        let inverse = L::splat(1.0).div(dx.fma(dx, dy.mul(dy)));
        let u = [dx.mul(inverse), zero.sub(dy.mul(inverse))];
        let u2 = product(u, u);
        let w0 = L::load(&far.m[i..]);
        let w2 = product([L::load(&far.a2x[i..]), L::load(&far.a2y[i..])], u2);
        let w3 = product(product([L::load(&far.a3x[i..]), L::load(&far.a3y[i..])], u2), u);
        let mix = |k2: f32, k3: f32| {
            let (k2, k3) = (L::splat(k2), L::splat(k3));
            [w2[0].fma(k2, w3[0].fma(k3, w0)), w2[1].fma(k2, w3[1].mul(k3))]
        };
        let mut power = u;
        for (n, (k2, k3)) in
            [(1.0, 1.0), (3.0, 4.0), (6.0, 10.0), (10.0, 20.0)].into_iter().enumerate()
        {
            let term = product(mix(k2, k3), power);
            b[n] = [b[n][0].add(term[0]), b[n][1].add(term[1])];
            power = product(power, u);
        }
        i += L::N;
    }
    for (n, (l, b)) in local.iter_mut().zip(b).enumerate() {
        let sign = if n % 2 == 0 { 1.0 } else { -1.0 };
        *l = add(*l, [sign * b[0].sum(), sign * b[1].sum()]);
    }
}

/// The bodies of a leaf in two rows of 16 lanes; missing ones repeat the last.
#[inline(always)]
fn rows(points: &[[f32; 2]]) -> [[f32; LEAF]; 2] {
    let last = points[points.len() - 1];
    let mut rows = [[last[0]; LEAF], [last[1]; LEAF]];
    for (i, p) in points.iter().enumerate() {
        (rows[0][i], rows[1][i]) = (p[0], p[1]);
    }
    rows
}

#[inline(always)]
fn body_range(leaf: usize, n: usize) -> std::ops::Range<usize> {
    leaf * LEAF..((leaf + 1) * LEAF).min(n)
}

dispatch! {
    /// Adds the expansion about the leaf's centre and the sources that are evaluated at its bodies.
    fn finish_leaf = finish_leaf_lanes(
        field: &Field<'_>, leaf: usize, geo: Geo, local: &Local, middle: &[Cell], out: &mut [[f32; 2]])
}

#[inline(always)]
fn finish_leaf_lanes<L: Lanes>(
    field: &Field<'_>,
    leaf: usize,
    geo: Geo,
    local: &Local,
    middle: &[Cell],
    out: &mut [[f32; 2]],
) {
    let rows = rows(&field.points[body_range(leaf, field.points.len())]);
    let scale = L::splat(field.cells.scale);
    let zero = L::splat(0.0);
    let product =
        |a: [L; 2], b: [L; 2]| [a[1].fnma(b[1], a[0].mul(b[0])), a[0].fma(b[1], a[1].mul(b[0]))];
    let plus = |a: [L; 2], b: [f32; 2]| [a[0].add(L::splat(b[0])), a[1].add(L::splat(b[1]))];
    let mut sums = [[0.0; LEAF]; 2];
    let mut lane = 0;
    while lane < LEAF {
        let (x, y) = (L::load(&rows[0][lane..]), L::load(&rows[1][lane..]));
        let t = [x.sub(L::splat(geo.x)).mul(scale), y.sub(L::splat(geo.y)).mul(scale)];
        let mut phi = product([L::splat(local[3][0]), L::splat(local[3][1])], t);
        phi = product(plus(phi, local[2]), t);
        phi = product(plus(phi, local[1]), t);
        phi = plus(phi, local[0]);
        for s in middle {
            let (level, at) = (&field.cells.levels[level_of(*s)], place_of(*s));
            let (g, c) = (&level.geo[at], &level.moments[at]);
            let dx = x.sub(L::splat(g.x)).mul(scale);
            let dy = y.sub(L::splat(g.y)).mul(scale);
            let inverse = dx.fma(dx, dy.mul(dy)).rcp_fast();
            let u = [dx.mul(inverse), zero.sub(dy.mul(inverse))];
            let a3u = product([L::splat(c.a3[0]), L::splat(c.a3[1])], u);
            let inner = product(plus(a3u, c.a2), product(u, u));
            let term = product(plus(inner, [c.m, 0.0]), u);
            phi = [phi[0].add(term[0]), phi[1].add(term[1])];
        }
        phi[0].mul(scale).store(&mut sums[0][lane..]);
        zero.sub(phi[1].mul(scale)).store(&mut sums[1][lane..]);
        lane += L::N;
    }
    for (i, f) in out.iter_mut().enumerate() {
        *f = add(*f, [sums[0][i], sums[1][i]]);
    }
}
