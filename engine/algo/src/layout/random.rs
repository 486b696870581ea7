//! Uniform points, by seed.

use graphlume_types::hash::unit_f64;

use super::coordinates::{DIM, XY, XYZ, coordinates, is_3d};
use crate::spec::{RANDOM_STATE, igraph, only};
use crate::{AlgorithmSpec, Kind};

pub(crate) static RANDOM: AlgorithmSpec = AlgorithmSpec {
    id: "random",
    names: &[igraph("random")],
    kind: Kind::Layout,
    params: &[DIM, RANDOM_STATE],
    outputs: XY,
    doc: "Uniform points of the square from -1 to 1; with dim 3 of the cube.",
    run: |input, p| {
        let (n, seed) = (input.num_nodes() as usize, p.count("random_state"));
        Ok(if is_3d(p) { coordinates(&random_3d(n, seed)) } else { coordinates(&random(n, seed)) })
    },
    ..AlgorithmSpec::BASE
};

pub(crate) static RANDOM_3D: AlgorithmSpec = AlgorithmSpec {
    id: "random_3d",
    names: &[igraph("random_3d")],
    kind: Kind::Layout,
    params: &[RANDOM_STATE],
    accepted: &[only("dim", "[3]")],
    outputs: XYZ,
    doc: "Uniform points of the cube from -1 to 1.",
    run: |input, p| {
        Ok(coordinates(&random_3d(input.num_nodes() as usize, p.count("random_state"))))
    },
    ..AlgorithmSpec::BASE
};

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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

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
