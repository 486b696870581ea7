//! The third coordinate of nodes, which a page asks for when it is first to show them in space.

use bytes::Bytes;

use super::quantize::STEPS;
use super::{Bounds, Header, Kind, Stamp, frame};

/// The step of a node without a third coordinate.
pub const NO_DEPTH: u16 = u16::MAX;

/// Whether a z is a place: beyond this bound, as beyond that of the page's plane, none is.
#[must_use]
pub fn is_depth(z: f32) -> bool {
    z.abs() < 1e30
}

/// [`Kind::Depth`]: z of every node as one of 65,535 steps between the least and the greatest place, [`NO_DEPTH`] for
/// none. A step `q` stands for `x0 + q * sx` of the header, in the units of the data.
#[must_use]
pub fn encode_depth(stamp: Stamp, z: &[f32]) -> Bytes {
    let finite = || z.iter().copied().filter(|z| is_depth(*z)).map(f64::from);
    let least = finite().fold(f64::INFINITY, f64::min);
    let greatest = finite().fold(f64::NEG_INFINITY, f64::max);
    let step = match greatest > least {
        // As the page reads it, so that the last step does not lie beyond the range by rounding.
        true => f64::from(((greatest - least) / f64::from(STEPS)) as f32),
        false => 1.0,
    };
    let first = if least.is_finite() { least } else { 0.0 };
    let bounds = Bounds { x0: first as f32, sx: step as f32, ..Bounds::UNIT };
    let header = Header::new(Kind::Depth, stamp, z.len() as u32, bounds);
    let mut out = frame(&header, 2 * z.len());
    let quantized = |z: &f32| match is_depth(*z) {
        // A float beyond the range becomes the nearest step.
        true => ((f64::from(*z) - first) / step).round().min(f64::from(STEPS)) as u16,
        false => NO_DEPTH,
    };
    out.extend(z.iter().map(quantized).flat_map(u16::to_le_bytes));
    out.into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::wire::{Decoded, decode};

    const STAMP: Stamp = Stamp { epoch: 3, seq: 0, flags: 0 };

    fn back(z: &[f32]) -> Vec<Option<f32>> {
        let frame = decode(&encode_depth(STAMP, z)).unwrap();
        let Decoded::Depth(steps) = frame.payload else { panic!("no depths") };
        let Bounds { x0, sx, .. } = frame.header.bounds;
        steps.iter().map(|q| (*q != NO_DEPTH).then(|| x0 + f32::from(*q) * sx)).collect()
    }

    #[test]
    fn depths_come_back_within_half_a_step_and_absent_ones_as_none() {
        let z: Vec<f32> = (0..500).map(|i| (i * 37 % 101) as f32 * 0.31 - 7.0).collect();
        let step = 100.0 * 0.31 / 65_534.0;
        for (found, wanted) in back(&z).iter().zip(&z) {
            assert!((found.unwrap() - wanted).abs() <= 0.5 * step + 1e-5, "{found:?} for {wanted}");
        }
        let found = back(&[f32::NAN, 2.0, f32::INFINITY, -4.0]);
        assert_eq!((found[0], found[2], found[3]), (None, None, Some(-4.0)));
        assert!((found[1].unwrap() - 2.0).abs() < 1e-4);
    }

    #[test]
    fn equal_none_and_extreme_depths_are_steps_as_well() {
        assert_eq!(back(&[5.0, 5.0]), [Some(5.0), Some(5.0)]);
        assert_eq!(back(&[f32::NAN]), [None]);
        assert_eq!(back(&[]), []);
        let found = back(&[f32::MIN, -9e29, 0.0, 9e29, f32::MAX]);
        assert_eq!((found[0], found[4]), (None, None), "beyond what has a place");
        assert!(found[1..4].iter().all(|z| z.is_some_and(f32::is_finite)), "{found:?}");
    }
}
