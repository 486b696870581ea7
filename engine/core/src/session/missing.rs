//! Places for nodes that have none.

use graphlume_graph::Topology;

/// Gives nodes without a bound position a place: beside their placed neighbors, else around the
/// middle. Forces need a finite start.
pub(super) fn fill_missing(topology: &Topology, positions: &mut [[f32; 2]]) {
    let placed = |p: &[f32; 2]| p[0].is_finite() && p[1].is_finite();
    if positions.iter().all(placed) {
        return;
    }
    let (mut sum, mut count, mut reach) = ([0f64; 2], 0f64, 0f64);
    for p in positions.iter().filter(|p| placed(p)) {
        sum = [sum[0] + f64::from(p[0]), sum[1] + f64::from(p[1])];
        count += 1.0;
    }
    let middle = if count > 0.0 { [sum[0] / count, sum[1] / count] } else { [0.0; 2] };
    for p in positions.iter().filter(|p| placed(p)) {
        reach =
            reach.max((f64::from(p[0]) - middle[0]).abs()).max((f64::from(p[1]) - middle[1]).abs());
    }
    #[expect(clippy::cast_precision_loss, reason = "a length only")]
    let reach = if reach > 0.0 { reach } else { (positions.len() as f64).sqrt() * 10.0 };
    let before = positions.to_vec();
    for (v, p) in positions.iter_mut().enumerate().filter(|(_, p)| !placed(p)) {
        #[expect(clippy::cast_possible_truncation, reason = "node indices fit 32 bits")]
        let node = v as u32;
        let around = |stream| graphlume_types::hash::unit_f64(7, stream, v as u64) - 0.5;
        let (mut at, mut n) = ([0f64; 2], 0f64);
        let ends = topology.out_neighbors(node).iter().chain(topology.in_neighbors(node));
        for q in ends.map(|u| before[*u as usize]).filter(placed) {
            at = [at[0] + f64::from(q[0]), at[1] + f64::from(q[1])];
            n += 1.0;
        }
        let (at, spread) =
            if n > 0.0 { ([at[0] / n, at[1] / n], reach * 0.02) } else { (middle, reach * 2.0) };
        #[expect(clippy::cast_possible_truncation, reason = "the range of the given positions")]
        let place = [(at[0] + around(0) * spread) as f32, (at[1] + around(1) * spread) as f32];
        *p = place;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn a_node_without_a_position_starts_beside_its_neighbors() {
        let topology = Topology::from_coo(4, &[0, 1], &[2, 2]);
        let nan = [f32::NAN; 2];
        let mut p = [[90.0, 0.0], [110.0, 0.0], nan, nan];
        fill_missing(&topology, &mut p);
        assert_eq!(&p[..2], &[[90.0, 0.0], [110.0, 0.0]], "given ones stay");
        assert!((p[2][0] - 100.0).abs() <= 0.2 && p[2][1].abs() <= 0.2, "{p:?}");
        assert!(p[3].iter().all(|x| x.is_finite()));
    }

    #[test]
    fn all_positions_missing_still_gives_distinct_places() {
        let topology = Topology::from_coo(3, &[0], &[1]);
        let mut p = [[f32::NAN, 1.0]; 3];
        fill_missing(&topology, &mut p);
        assert!(p.iter().flatten().all(|x| x.is_finite()));
        assert!(p[0] != p[1] && p[1] != p[2]);
    }
}
