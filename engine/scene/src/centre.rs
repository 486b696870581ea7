//! Places in 32 bits: coordinates that are far from zero and near each other are centred before they are cut.
//!
//! A float of 32 bits has 24 bits for a coordinate, so that the milliseconds since 1970 have a step of two minutes. What
//! is drawn is where nodes lie to each other: an origin is subtracted in 64 bits, and added where coordinates leave again.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use graphlume_types::number::{nearest_f32, nearest_f64_of_len, saturating_usize};
use graphlume_types::{Notice, note};
use rayon::prelude::*;

use crate::bind::Cx;

/// How many times as far from zero as they are apart coordinates may be and still have the 17 bits that frames have.
const FAR_MIN: f64 = 64.0;
/// Places that the middle is found by.
const SAMPLE_MAX: usize = 20_000;
/// Share of the sample that is left out on each side.
const CUT: f64 = 0.002;

/// Where nodes are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Places {
    /// Coordinates of every node less the origin; NaN where there are none.
    pub at: Vec<[f32; 2]>,
    /// What was subtracted, by axis; 0 where nothing had to be.
    pub origin: [f64; 2],
    /// Nodes on the spot of another one although their coordinates differ.
    pub together: u64,
}

impl Places {
    /// Cuts coordinates to 32 bits, centred where that keeps them apart, unless rings lie around their zero.
    pub(crate) fn new(exact: &[[f64; 2]], around_zero: bool) -> Self {
        let axis = |axis: usize| exact.iter().map(move |at| at[axis]);
        let origin =
            [0, 1].map(|c| if around_zero { 0.0 } else { origin_of(axis(c), exact.len()) });
        let place = |exact: &[f64; 2]| {
            let at = [exact[0] - origin[0], exact[1] - origin[1]].map(nearest_f32);
            // A coordinate beyond the floats is no place either.
            if at.iter().all(|v| v.is_finite()) { at } else { [f32::NAN; 2] }
        };
        let at: Vec<[f32; 2]> = exact.par_iter().with_min_len(1 << 12).map(place).collect();
        let together = together(exact, &at);
        Self { at, origin, together }
    }
}

/// Numbers in 32 bits, centred where that keeps them apart; of these no origin is kept.
pub(crate) fn centred(all: &[f64]) -> Vec<f32> {
    let origin = origin_of(all.iter().copied(), all.len());
    all.iter().map(|v| nearest_f32(v - origin)).collect()
}

/// The origin of an axis: zero, or the middle of most coordinates where these are far from zero and lose bits there. It is
/// a multiple of a power of two, so that whole numbers stay whole.
fn origin_of(all: impl Iterator<Item = f64> + Clone, len: usize) -> f64 {
    let known = |v: &f64| v.is_finite();
    if !all.clone().filter(known).any(|v| f64::from(nearest_f32(v)) != v) {
        return 0.0;
    }
    let mut sample: Vec<f64> = all.step_by((len / SAMPLE_MAX).max(1)).filter(known).collect();
    sample.sort_unstable_by(f64::total_cmp);
    // Of three nodes none can be told to be the odd one.
    let cut = if sample.len() < 4 {
        0
    } else {
        saturating_usize(CUT * nearest_f64_of_len(sample.len())).max(1)
    };
    let (Some(low), Some(high)) = (sample.get(cut), sample.get(sample.len().wrapping_sub(1 + cut)))
    else {
        return 0.0;
    };
    let (span, far) = (high - low, low.abs().max(high.abs()));
    if far <= FAR_MIN * span {
        return 0.0;
    }
    let middle = low + span / 2.0;
    let grid = if span > 0.0 { span.log2().floor().exp2() } else { 1.0 };
    let origin = (middle / grid).round() * grid;
    if origin.is_finite() { origin } else { 0.0 }
}

/// How many nodes have the place of another one that has other coordinates.
fn together(exact: &[[f64; 2]], at: &[[f32; 2]]) -> u64 {
    let key = |at: &[f32; 2]| {
        // Both zeros are one place.
        let [x, y] = at.map(|v| u64::from((v + 0.0).to_bits()));
        x << 32 | y
    };
    let placed = |at: &[f32; 2]| !at[0].is_nan();
    let mut keys: Vec<(u64, u32)> =
        (0..).zip(at).filter(|(_, at)| placed(at)).map(|(v, at)| (key(at), v)).collect();
    keys.par_sort_unstable();
    let exact_of = |v: u32| exact[v as usize].map(|v| v + 0.0);
    let differ = |run: &[(u64, u32)]| run.iter().any(|k| exact_of(k.1) != exact_of(run[0].1));
    let runs = keys.chunk_by(|a, b| a.0 == b.0).filter(|run| run.len() > 1);
    runs.filter(|run| differ(run)).map(|run| run.len() as u64).sum()
}

/// Says that nodes share a spot that have places of their own.
pub(crate) fn tell_together(cx: &mut Cx<'_>, places: &Places, x: &str, y: &str) {
    let count = places.together;
    if count == 0 {
        return;
    }
    let text = format!(
        "{count} of {} nodes lie on the spot of another one although their coordinates in {x:?} and {y:?} differ: a picture \
         holds 24 bits of a coordinate, and these are nearer than that beside the span of all; subtract an origin, use \
         ranks or a logarithm, or draw a part",
        places.at.len()
    );
    note(&mut cx.notices, Notice::new("positions-fall-together", text).about(count));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_today_keep_their_distances() {
        let exact: Vec<[f64; 2]> = (0..6)
            .map(|i| [1_764_200_000_000.0 + 20_000.0 * f64::from(i), 40_000.0 * f64::from(i % 3)])
            .collect();
        let places = Places::new(&exact, false);
        assert_eq!((places.together, places.origin[1]), (0, 0.0));
        for (at, exact) in places.at.iter().zip(&exact) {
            assert_eq!(f64::from(at[0]) + places.origin[0], exact[0]);
            assert_eq!(f64::from(at[1]), exact[1]);
        }
        let cut = Places::new(&exact, true);
        assert_eq!((cut.origin, cut.together), ([0.0; 2], 4), "rings lie around zero");
    }

    #[test]
    fn what_32_bits_hold_is_left_where_it_is() {
        for exact in [
            vec![[5.0, 5.0]; 3],
            vec![[1e6, 0.0], [1e6 + 1.0, 1.0]],
            vec![[0.1, 0.2], [0.3, 0.4]],
            Vec::new(),
        ] {
            let places = Places::new(&exact, false);
            assert_eq!((places.origin, places.together), ([0.0; 2], 0), "{exact:?}");
        }
    }

    #[test]
    fn one_node_at_zero_does_not_hide_that_the_others_are_far() {
        let mut exact: Vec<[f64; 2]> = (0..50).map(|i| [1e9 + f64::from(i), 0.0]).collect();
        exact.push([0.0, 0.0]);
        let places = Places::new(&exact, false);
        assert!(places.origin[0] > 9e8 && places.together == 0, "{:?}", places.origin);
    }

    #[test]
    fn a_span_that_does_not_fit_is_counted() {
        let mut exact: Vec<[f64; 2]> = (0..50).map(|i| [1e12 * f64::from(i), 0.0]).collect();
        exact.extend([[7e12 + 1.0, 0.0], [7e12 + 2.0, 0.0]]);
        assert_eq!(Places::new(&exact, false).together, 3);
        let odd = [[f64::NAN, 1.0], [f64::INFINITY, 1.0], [1e300, 1.0], [-0.0, 0.0], [0.0, -0.0]];
        let places = Places::new(&odd, false);
        assert_eq!(places.together, 0);
        assert_eq!(places.at.iter().filter(|at| at[0].is_nan()).count(), 3);
    }
}
