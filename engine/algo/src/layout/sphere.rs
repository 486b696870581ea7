//! Nodes on the unit sphere, with the geometry of python-igraph's layout of the same name.

use super::coordinates::{XYZ, coordinates};
use crate::spec::{igraph, only};
use crate::{AlgorithmSpec, Kind};

pub(crate) static SPHERE: AlgorithmSpec = AlgorithmSpec {
    id: "sphere",
    names: &[igraph("sphere"), igraph("spherical"), igraph("circle_3d"), igraph("circular_3d")],
    kind: Kind::Layout,
    accepted: &[only("dim", "[2, 3]"), only("order", "[]")],
    outputs: XYZ,
    doc: "Nearly even points on the unit sphere (Saff and Kuijlaars 1997).",
    paper: "Saff and Kuijlaars 1997, Distributing many points on a sphere",
    run: |input, _| Ok(coordinates(&sphere(input.num_nodes() as usize))),
    ..AlgorithmSpec::BASE
};

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

    #[test]
    fn the_sphere_runs_from_pole_to_pole() {
        let s = sphere(100);
        assert_eq!((s[0], s[99]), ([0.0, 0.0, -1.0], [0.0, 0.0, 1.0]));
        assert!(s.iter().all(|p| (p.iter().map(|v| v * v).sum::<f64>() - 1.0).abs() < 1e-9));
        assert_eq!(sphere(1), [[0.0, 0.0, -1.0]]);
    }
}
