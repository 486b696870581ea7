//! Layouts in closed form, with the geometry of python-igraph's layouts of the same names.

use std::f64::consts::TAU;

use graphlume_types::hash::unit_f64;

/// Points on the unit circle, counter-clockwise from (1, 0).
#[must_use]
pub fn circle(n: usize) -> Vec<[f64; 2]> {
    (0..n)
        .map(|i| {
            let (sin, cos) = (TAU * i as f64 / n as f64).sin_cos();
            [cos, sin]
        })
        .collect()
}

/// Rows of `width` points at distance 1; a width of 0 means the root of `n`, rounded up.
#[must_use]
pub fn grid(n: usize, width: usize) -> Vec<[f64; 2]> {
    let width = if width == 0 { root(n, 2) } else { width };
    (0..n).map(|i| [(i % width) as f64, (i / width) as f64]).collect()
}

/// Layers of rows; a width and height of 0 mean the cube root of `n`, rounded up.
#[must_use]
pub fn grid_3d(n: usize, width: usize, height: usize) -> Vec<[f64; 3]> {
    let (w, h) = match (width, height) {
        (0, 0) => (root(n, 3), root(n, 3)),
        (0, h) => (root(n.div_ceil(h), 2), h),
        (w, 0) => (w, root(n.div_ceil(w), 2)),
        both => both,
    };
    (0..n).map(|i| [(i % w) as f64, (i / w % h) as f64, (i / w / h) as f64]).collect()
}

/// The smallest whole number whose `power`-th power is at least `n`, and at least 1.
fn root(n: usize, power: u32) -> usize {
    let mut r = (n as f64).powf(1.0 / f64::from(power)) as usize;
    while r.saturating_pow(power) < n {
        r += 1;
    }
    while r > 1 && (r - 1).saturating_pow(power) >= n {
        r -= 1;
    }
    r.max(1)
}

/// `center` in the origin, the others on the unit circle in index order. A centre that does not exist
/// counts as 0.
#[must_use]
pub fn star(n: usize, center: usize) -> Vec<[f64; 2]> {
    let center = if center < n { center } else { 0 };
    let mut rim = circle(n.saturating_sub(1)).into_iter();
    (0..n).map(|i| if i == center { [0.0; 2] } else { rim.next().unwrap_or_default() }).collect()
}

/// Uniform points of the square from -1 to 1.
#[must_use]
pub fn random(n: usize, seed: u64) -> Vec<[f64; 2]> {
    (0..n as u64).map(|i| [0, 1].map(|c| 2.0 * unit_f64(seed, 40 + c, i) - 1.0)).collect()
}

/// Uniform points of the cube from -1 to 1.
#[must_use]
pub fn random_3d(n: usize, seed: u64) -> Vec<[f64; 3]> {
    (0..n as u64).map(|i| [0, 1, 2].map(|c| 2.0 * unit_f64(seed, 40 + c, i) - 1.0)).collect()
}

/// Nearly even points on the unit sphere along a spiral from the south to the north pole (Saff and
/// Kuijlaars 1997).
#[must_use]
pub fn sphere(n: usize) -> Vec<[f64; 3]> {
    let mut azimuth = 0.0f64;
    (0..n)
        .map(|i| {
            let z = if n == 1 { -1.0 } else { -1.0 + 2.0 * i as f64 / (n - 1) as f64 };
            let r = (1.0 - z * z).max(0.0).sqrt();
            if i == 0 || i + 1 == n {
                return [0.0, 0.0, z];
            }
            azimuth += 3.6 / (n as f64 * (1.0 - z * z)).sqrt();
            let (sin, cos) = azimuth.sin_cos();
            [r * cos, r * sin, z]
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    fn near(a: &[f64], b: &[f64]) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12)
    }

    #[test]
    fn the_circle_begins_at_the_right_and_turns_left() {
        let c = circle(4);
        for (got, want) in c.iter().zip([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]) {
            assert!(near(got, &want), "{got:?} {want:?}");
        }
        assert!(circle(0).is_empty());
        assert!(near(&circle(1)[0], &[1.0, 0.0]));
    }

    #[test]
    fn grids_fill_row_by_row() {
        assert_eq!(grid(5, 0), [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]);
        assert_eq!(grid(3, 2)[2], [0.0, 1.0]);
        assert_eq!(grid_3d(9, 0, 0)[8], [2.0, 2.0, 0.0]);
        assert_eq!(grid_3d(10, 0, 0)[9], [0.0, 0.0, 1.0]);
        assert_eq!(root(1_000_000, 2), 1000);
        assert_eq!(root(1_000_001, 2), 1001);
        assert_eq!((root(0, 2), root(1, 3)), (1, 1));
    }

    #[test]
    fn a_star_has_its_centre_in_the_middle() {
        let s = star(5, 2);
        assert_eq!(s[2], [0.0, 0.0]);
        assert!(near(&s[0], &[1.0, 0.0]) && near(&s[3], &[-1.0, 0.0]));
        assert_eq!(star(3, 9)[0], [0.0, 0.0]);
        assert!(star(0, 0).is_empty());
    }

    #[test]
    fn the_sphere_runs_from_pole_to_pole() {
        let s = sphere(100);
        assert_eq!((s[0], s[99]), ([0.0, 0.0, -1.0], [0.0, 0.0, 1.0]));
        assert!(s.iter().all(|p| (p.iter().map(|v| v * v).sum::<f64>() - 1.0).abs() < 1e-9));
        assert_eq!(sphere(1), [[0.0, 0.0, -1.0]]);
    }

    #[test]
    fn random_points_fill_the_square_and_repeat_for_a_seed() {
        let r = random(10_000, 5);
        assert!(r.iter().flatten().all(|v| (-1.0..1.0).contains(v)));
        for quadrant in 0..4 {
            let count = r
                .iter()
                .filter(|p| usize::from(p[0] > 0.0) + 2 * usize::from(p[1] > 0.0) == quadrant)
                .count();
            assert!((2200..2800).contains(&count));
        }
        assert_eq!(r, random(10_000, 5));
        assert_ne!(r, random(10_000, 6));
    }
}
