//! Diameters at which the page draws the sizes on the wire.

use graphlume_types::stage::WINDOW;

/// Diameters that the page draws, in pixels.
pub const DIAMETER_MIN: f64 = 1.5;
/// See [`DIAMETER_MIN`].
pub const DIAMETER_MAX: f64 = 64.0;
/// The shorter side of a window in which a diameter on the wire is that on the screen, and how far others are from it.
const SIDE: f64 = 780.0;
const SCREEN_MIN: f64 = 0.6;
const SCREEN_MAX: f64 = 1.15;

/// By how much a window whose sides are so many pixels enlarges nodes, as `sizeScale` of the page.
#[must_use]
pub fn screen_scale(sides: [f64; 2]) -> f64 {
    (sides[0].min(sides[1]) / SIDE).sqrt().clamp(SCREEN_MIN, SCREEN_MAX)
}

/// The diameters in pixels of nodes whose `sizes` are on the wire, in quarter pixels, where the whole picture fits
/// [`WINDOW`] and the page's own point size is 1.
#[must_use]
pub fn diameters(sizes: &[u8]) -> Vec<f32> {
    let scale = screen_scale(WINDOW);
    let pixels = |size: &u8| (f64::from(*size) / 4.0 * scale).clamp(DIAMETER_MIN, DIAMETER_MAX);
    sizes.iter().map(|size| pixels(size) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_drawn_larger_in_a_large_window_within_bounds() {
        assert_eq!(screen_scale([780.0, 2_000.0]), 1.0);
        assert_eq!(screen_scale([100.0, 100.0]), SCREEN_MIN);
        let found = diameters(&[0, 40, 255]);
        assert_eq!((found[0], found[2]), (1.5, 64.0));
        assert!((found[1] - 10.742).abs() < 1e-3, "{}", found[1]);
    }
}
