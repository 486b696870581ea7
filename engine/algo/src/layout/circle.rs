//! Nodes on the unit circle, with the geometry of python-igraph's layout of the same name.

use std::f64::consts::TAU;

use super::coordinates::{DIM, XY, coordinates, is_3d, not_beside_dim};
use super::sphere::sphere;
use crate::spec::{igraph, param};
use crate::{AlgorithmSpec, Dtype, Kind};

pub(crate) static CIRCLE: AlgorithmSpec = AlgorithmSpec {
    id: "circle",
    names: &[igraph("circle"), igraph("circular")],
    kind: Kind::Layout,
    params: &[
        DIM,
        param(
            "order",
            Dtype::Nodes,
            "null",
            None,
            "nodes along the circle; the others lie in the origin; null is all in their order",
        ),
    ],
    outputs: XY,
    doc: "The unit circle, counter-clockwise from (1, 0); with dim 3 the sphere.",
    run: |input, p| {
        let n = input.num_nodes() as usize;
        let order = input.nodes(p, "order")?;
        if is_3d(p) {
            let shown = format!("{} nodes", order.map_or(0, |o| o.len()));
            not_beside_dim(p, "order", &shown)?;
            return Ok(coordinates(&sphere(n)));
        }
        let Some(order) = order else { return Ok(coordinates(&circle(n))) };
        let mut points = vec![[0.0; 2]; n];
        for (v, point) in order.iter().zip(circle(order.len())) {
            points[*v as usize] = point;
        }
        Ok(coordinates(&points))
    },
    ..AlgorithmSpec::BASE
};

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
}
