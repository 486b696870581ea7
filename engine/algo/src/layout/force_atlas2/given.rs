//! Forces at the size of given coordinates.
//!
//! ForceAtlas2 has a size of its own, at which repulsion and attraction are in balance, whatever coordinates it starts
//! from: rings of a thousand units shrink, and where radii are held their nodes gather in one sector. The sum over all
//! bodies of force times place (the virial) tells by how much: it vanishes at rest. Of repulsion `k m m' / d` it is
//! `k` times the sum of `m m'` over all pairs at any size, so one factor brings it level with the other forces.

use graphlume_graph::Topology;

use super::{Params, masses};

/// The part of the attraction that gravity has.
const GRAVITY_SHARE: f64 = 0.1;
/// The strengths that [`Params`] may have.
const STRENGTH_MIN: f64 = 1e-6;
const STRENGTH_MAX: f64 = 1e6;
/// Nodes whose edges are looked at.
const SAMPLES: u32 = 1 << 16;

/// Factors for the strengths of a layout that starts from given coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Balance {
    /// For [`Params::scaling_ratio`].
    pub scaling_ratio: f64,
    /// For [`Params::gravity`].
    pub gravity: f64,
}

impl Balance {
    /// The factors for [`Params`] with default strengths under which a graph of this size stays as large as
    /// `positions` are; `None` for a graph without edges between different places. Looks at about 65,536 nodes.
    #[must_use]
    pub fn at(topology: &Topology, params: &Params, positions: &[[f32; 2]]) -> Option<Self> {
        let n = topology.num_nodes();
        let masses = masses(topology, None);
        let place = |v: u32| positions.get(v as usize).copied().unwrap_or_default().map(f64::from);
        let (mut sum, mut squares) = (0.0, 0.0);
        for m in &masses {
            sum += f64::from(*m);
            squares += f64::from(*m).powi(2);
        }
        let stride = n.div_ceil(SAMPLES).max(1);
        let (mut attraction, mut gravity) = (0.0, 0.0);
        for v in (0..n).step_by(stride as usize) {
            let here = place(v);
            let far = here[0].hypot(here[1]);
            gravity += f64::from(masses[v as usize])
                * if params.strong_gravity_mode { far * far } else { far };
            for u in topology.out_neighbors(v) {
                let there = place(*u);
                let d = (here[0] - there[0]).hypot(here[1] - there[1]);
                attraction += d * if params.lin_log_mode { d.ln_1p() } else { d };
            }
        }
        let (attraction, gravity) = (attraction * f64::from(stride), gravity * f64::from(stride));
        let pairs = (sum * sum - squares) / 2.0;
        let base = Params::default();
        let scaling_ratio = attraction * (1.0 + GRAVITY_SHARE) / (base.scaling_ratio * pairs);
        // Strong gravity grows with the strength of the repulsion.
        let strength = match params.strong_gravity_mode {
            true => base.gravity * base.scaling_ratio * scaling_ratio,
            false => base.gravity,
        };
        let gravity = attraction * GRAVITY_SHARE / (strength * gravity);
        let is_usable = |factor: f64| factor.is_finite() && factor > 0.0;
        (is_usable(scaling_ratio) && is_usable(gravity)).then_some(Self { scaling_ratio, gravity })
    }

    /// The parameters with the strengths multiplied, within what they may be.
    #[must_use]
    pub fn applied(self, params: Params) -> Params {
        let within = |value: f64| value.clamp(STRENGTH_MIN, STRENGTH_MAX);
        Params {
            scaling_ratio: within(params.scaling_ratio * self.scaling_ratio),
            gravity: within(params.gravity * self.gravity),
            ..params
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::sync::Arc;

    use graphlume_types::CancelToken;
    use graphlume_types::hash::h64;

    use super::super::ForceAtlas2;
    use super::*;
    use crate::testkit;

    fn rings(n: u32, radius: f64) -> Vec<[f32; 2]> {
        let turn =
            |v: u32| h64(5, 1, u64::from(v)) as f64 / u64::MAX as f64 * std::f64::consts::TAU;
        let far = |v: u32| radius * f64::from(1 + v % 4) / 4.0;
        (0..n).map(|v| [turn(v).cos(), turn(v).sin()].map(|c| (c * far(v)) as f32)).collect()
    }

    fn after(topology: &Topology, params: Params, start: &[[f32; 2]]) -> Vec<[f32; 2]> {
        let topology = Arc::new(topology.clone());
        let mut layout =
            ForceAtlas2::new(&topology, None, params, start, None, None, None).unwrap();
        for _ in 0..300 {
            layout.iterate(&CancelToken::new()).unwrap();
        }
        let mut out = Vec::new();
        layout.positions(&mut out);
        out
    }

    fn size(positions: &[[f32; 2]]) -> f64 {
        (positions.iter().map(|p| f64::from(p[0]).powi(2) + f64::from(p[1]).powi(2)).sum::<f64>()
            / positions.len() as f64)
            .sqrt()
    }

    #[test]
    fn a_layout_keeps_the_size_of_its_start() {
        let t = testkit::planted(200, 8, 0.3, 0.01);
        let modes = [(false, false), (true, false), (false, true)];
        for radius in [1.0, 1e3, 1e5] {
            let start = rings(200, radius);
            for (lin_log_mode, strong_gravity_mode) in modes {
                let params = Params { lin_log_mode, strong_gravity_mode, ..Params::default() };
                let balance = Balance::at(&t, &params, &start).unwrap();
                let ratio = size(&after(&t, balance.applied(params), &start)) / size(&start);
                assert!(
                    (0.3..3.0).contains(&ratio),
                    "{radius} {lin_log_mode} {strong_gravity_mode}: {ratio}"
                );
            }
        }
    }

    #[test]
    fn rings_whose_radii_are_held_do_not_gather_in_a_sector() {
        let t = testkit::planted(200, 8, 0.3, 0.01);
        let start = rings(200, 1_000.0);
        let held = Params { locked_r: true, ..Params::default() };
        // The length of the mean direction: 1 when all nodes lie in one.
        let gathered = |at: &[[f32; 2]]| {
            let (mut x, mut y) = (0.0, 0.0);
            for p in at {
                let far = f64::from(p[0]).hypot(f64::from(p[1]));
                (x, y) = (x + f64::from(p[0]) / far, y + f64::from(p[1]) / far);
            }
            f64::hypot(x, y) / at.len() as f64
        };
        assert!(gathered(&after(&t, held.clone(), &start)) > 0.8, "what is to be mended");
        let balance = Balance::at(&t, &held, &start).unwrap();
        let found = gathered(&after(&t, balance.applied(held), &start));
        assert!(found < 0.25, "{found}");
    }

    #[test]
    fn a_graph_without_edges_between_places_has_no_balance() {
        let params = Params::default();
        let pair = testkit::from_edges(2, &[(0, 1)]);
        assert_eq!(Balance::at(&pair, &params, &[[1.0, 1.0]; 2]), None);
        let lone = testkit::from_edges(3, &[]);
        assert_eq!(Balance::at(&lone, &params, &[[1.0, 1.0]; 3]), None);
        assert_eq!(Balance::at(&testkit::from_edges(0, &[]), &params, &[]), None);
    }
}
