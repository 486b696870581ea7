//! The near field: forces summed body by body.

use super::{Field, SOFTENING, add, body_range, rows};
use crate::layout::force_atlas2::cells::LEAF;
use crate::layout::force_atlas2::simd::{Lanes, dispatch};

dispatch! {
    /// Body by body, with an approximate reciprocal.
    pub(super) fn near_fast = near_fast_lanes(field: &Field<'_>, leaf: usize, sources: &[u32], out: &mut [[f32; 2]])
}

dispatch! {
    /// Body by body, with a true division.
    pub(super) fn near_exact = near_exact_lanes(field: &Field<'_>, leaf: usize, sources: &[u32], out: &mut [[f32; 2]])
}

#[inline(always)]
fn near_fast_lanes<L: Lanes>(
    field: &Field<'_>,
    leaf: usize,
    sources: &[u32],
    out: &mut [[f32; 2]],
) {
    near_lanes::<L>(field, leaf, sources, out, |m, d2| m.mul(d2.rcp_fast()));
}

#[inline(always)]
fn near_exact_lanes<L: Lanes>(
    field: &Field<'_>,
    leaf: usize,
    sources: &[u32],
    out: &mut [[f32; 2]],
) {
    near_lanes::<L>(field, leaf, sources, out, |m, d2| m.div(d2));
}

#[inline(always)]
fn near_lanes<L: Lanes>(
    field: &Field<'_>,
    leaf: usize,
    sources: &[u32],
    out: &mut [[f32; 2]],
    quotient: impl Fn(L, L) -> L,
) {
    let n = field.points.len();
    let rows = rows(&field.points[body_range(leaf, n)]);
    let softening = L::splat(SOFTENING);
    let mut sums = [[0.0; LEAF]; 2];
    let mut lane = 0;
    while lane < LEAF {
        let (x, y) = (L::load(&rows[0][lane..]), L::load(&rows[1][lane..]));
        let (mut fx, mut fy) = (L::splat(0.0), L::splat(0.0));
        for s in sources {
            let range = body_range(*s as usize, n);
            for (p, m) in field.points[range.clone()].iter().zip(&field.masses[range]) {
                let (dx, dy) = (x.sub(L::splat(p[0])), y.sub(L::splat(p[1])));
                let d2 = dx.fma(dx, dy.fma(dy, softening));
                let w = quotient(L::splat(*m), d2);
                fx = dx.fma(w, fx);
                fy = dy.fma(w, fy);
            }
        }
        fx.store(&mut sums[0][lane..]);
        fy.store(&mut sums[1][lane..]);
        lane += L::N;
    }
    for (i, f) in out.iter_mut().enumerate() {
        *f = add(*f, [sums[0][i], sums[1][i]]);
    }
}

dispatch! {
    /// Body by body, from rim to rim.
    pub(super) fn near_rims = near_rims_lanes(
        field: &Field<'_>, radii: &[f32], leaf: usize, sources: &[u32], out: &mut [[f32; 2]])
}

#[inline(always)]
fn near_rims_lanes<L: Lanes>(
    field: &Field<'_>,
    radii: &[f32],
    leaf: usize,
    sources: &[u32],
    out: &mut [[f32; 2]],
) {
    let n = field.points.len();
    let targets = body_range(leaf, n);
    let rows = rows(&field.points[targets.clone()]);
    let mut rims = [0.0; LEAF];
    rims[..targets.len()].copy_from_slice(&radii[targets]);
    let (softening, overlap) = (L::splat(SOFTENING), L::splat(field.law.overlap));
    let mut sums = [[0.0; LEAF]; 2];
    let mut lane = 0;
    while lane < LEAF {
        let (x, y) = (L::load(&rows[0][lane..]), L::load(&rows[1][lane..]));
        let rim = L::load(&rims[lane..]);
        let (mut fx, mut fy) = (L::splat(0.0), L::splat(0.0));
        for s in sources {
            for j in body_range(*s as usize, n) {
                let p = field.points[j];
                let (dx, dy) = (x.sub(L::splat(p[0])), y.sub(L::splat(p[1])));
                let d = dx.fma(dx, dy.fma(dy, softening)).sqrt();
                let gap = d.sub(rim.add(L::splat(radii[j])));
                let m = L::splat(field.masses[j]);
                let apart = m.div(d.mul(gap.add(softening)));
                let w = gap.select_le(L::splat(0.0), m.mul(overlap).div(d), apart);
                fx = dx.fma(w, fx);
                fy = dy.fma(w, fy);
            }
        }
        fx.store(&mut sums[0][lane..]);
        fy.store(&mut sums[1][lane..]);
        lane += L::N;
    }
    for (i, f) in out.iter_mut().enumerate() {
        *f = add(*f, [sums[0][i], sums[1][i]]);
    }
}
