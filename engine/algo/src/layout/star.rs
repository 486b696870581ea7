//! A star, with the geometry of python-igraph's layout of the same name.

use super::circle::circle;
use super::coordinates::{XY, coordinates};
use crate::spec::{igraph, param};
use crate::{AlgorithmSpec, Dtype, Kind};

pub(crate) static STAR: AlgorithmSpec = AlgorithmSpec {
    id: "star",
    names: &[igraph("star")],
    kind: Kind::Layout,
    params: &[
        param("center", Dtype::Node, "null", None, "node in the middle; null is the first"),
        param(
            "order",
            Dtype::Nodes,
            "null",
            None,
            "every node once, in the order in which those other than the center lie on the circle",
        ),
    ],
    outputs: XY,
    doc: "One node in the origin, the others on the unit circle.",
    run: |input, p| {
        let n = input.num_nodes() as usize;
        let center = input.node(p, "center")?.unwrap_or(0);
        let Some(order) = input.nodes(p, "order")? else {
            return Ok(coordinates(&star(n, center, 0..n as u32)));
        };
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..n as u32) {
            let given = format!("{} nodes", order.len());
            return Err(p.bad("order", given, format!("each of the {n} nodes once")));
        }
        Ok(coordinates(&star(n, center, order.into_iter())))
    },
    ..AlgorithmSpec::BASE
};

/// `center` in the origin, the others of the `n` nodes on the unit circle as `order` names them.
fn star(n: usize, center: u32, order: impl Iterator<Item = u32>) -> Vec<[f64; 2]> {
    let mut points = vec![[0.0; 2]; n];
    for (v, point) in order.filter(|v| *v != center).zip(circle(n.saturating_sub(1))) {
        points[v as usize] = point;
    }
    points
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    fn near(a: &[f64], b: &[f64]) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12)
    }

    #[test]
    fn a_star_has_its_centre_in_the_middle() {
        let s = star(5, 2, 0..5);
        assert_eq!(s[2], [0.0, 0.0]);
        assert!(near(&s[0], &[1.0, 0.0]) && near(&s[3], &[-1.0, 0.0]));
        let turned = star(5, 2, (0..5).rev());
        assert!(near(&turned[4], &[1.0, 0.0]) && near(&turned[0], &[0.0, -1.0]));
        assert!(star(0, 0, 0..0).is_empty());
    }
}
