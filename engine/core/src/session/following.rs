//! Followers of a dragged node when the layout is at rest: its neighbours follow as on springs.

use std::collections::{BTreeMap, HashMap};

use graphlume_graph::Topology;

use crate::session::slice::PinChange;

/// Steps from a dragged node that are followed.
const HOPS: usize = 4;
/// A node that would move by less than this part of the drag stays.
const SHARE_MIN: f32 = 1.0 / 16.0;
/// Ends of edges that are looked at for all nodes that a slice moves; what is farther stays.
const VISITS_MAX: usize = 200_000;

/// How far nodes go with those that `changes` move, each with the part of its way; a node may be listed several times.
/// Nodes that are pinned or moved themselves stay.
pub(crate) fn followers(
    topology: &Topology,
    positions: &[[f32; 2]],
    changes: &[PinChange],
    pins: &BTreeMap<u32, [f32; 2]>,
) -> Vec<(u32, [f32; 2])> {
    let moved: BTreeMap<u32, [f32; 2]> = changes
        .iter()
        .filter_map(|change| match change {
            PinChange::Pin { node, at } => Some((*node, *at)),
            PinChange::Unpin { .. } => None,
        })
        .collect();
    let held = |v: u32| pins.contains_key(&v) || moved.contains_key(&v);
    let mut visits = VISITS_MAX;
    let mut all = Vec::new();
    for (node, at) in &moved {
        let Some(from) = positions.get(*node as usize) else { continue };
        let [dx, dy] = [at[0] - from[0], at[1] - from[1]];
        if [dx, dy].iter().all(|d| d.is_finite()) && [dx, dy] != [0.0; 2] {
            let shares = shares(topology, *node, held, &mut visits);
            all.extend(shares.into_iter().map(|(w, share)| (w, [dx * share, dy * share])));
        }
    }
    all
}

/// How far nodes follow `dragged`, as parts of its way, without itself.
///
/// A node takes the mean of what its neighbours move, those that stay included: a leaf follows wholly, a node of the middle
/// of a path by half, a hub next to nothing (one sweep of the relaxation of Tutte, "How to Draw a Graph", 1963, outwards from
/// the dragged node). Shares do not depend on the way of the drag, so that dragging back takes all back. Nodes for which
/// `held` is true stay. `visits` is what may still be looked at.
fn shares(
    topology: &Topology,
    dragged: u32,
    held: impl Fn(u32) -> bool,
    visits: &mut usize,
) -> Vec<(u32, f32)> {
    let neighbors = |v: u32| topology.out_neighbors(v).iter().chain(topology.in_neighbors(v));
    let mut all: HashMap<u32, f32> = HashMap::from([(dragged, 1.0)]);
    let mut level = vec![(dragged, 1.0f32)];
    for _ in 0..HOPS {
        let mut next: HashMap<u32, f32> = HashMap::new();
        for (v, share) in level {
            let ends = topology.degree(v) as usize;
            if ends > *visits {
                continue;
            }
            *visits -= ends;
            for w in neighbors(v) {
                if !all.contains_key(w) && !held(*w) {
                    *next.entry(*w).or_default() += share;
                }
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "a share of a drag")]
        let mean = |(w, sum): (u32, f32)| (w, sum / topology.degree(w) as f32);
        level = next.into_iter().map(mean).filter(|(_, share)| *share >= SHARE_MIN).collect();
        // The visits that are left are spent on the same nodes in every run.
        level.sort_unstable_by_key(|(w, _)| *w);
        all.extend(level.iter().copied());
    }
    all.remove(&dragged);
    all.into_iter().collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    fn of(topology: &Topology, dragged: u32, held: &[u32]) -> Vec<(u32, f32)> {
        let mut found = shares(topology, dragged, |v| held.contains(&v), &mut VISITS_MAX.clone());
        found.sort_unstable_by_key(|(v, _)| *v);
        found
    }

    #[test]
    fn leaves_follow_wholly_the_middle_of_a_path_by_half_and_a_hub_stays() {
        // 0 has the leaves 1 and 2 and is on the path 0-3-4-5-6; 7 is a hub of twenty leaves at 0.
        let mut edges = vec![(0, 1), (2, 0), (0, 3), (3, 4), (5, 4), (5, 6), (0, 7)];
        edges.extend((8..28).map(|leaf| (7, leaf)));
        let (src, dst): (Vec<u32>, Vec<u32>) = edges.into_iter().unzip();
        let topology = Topology::from_coo(28, &src, &dst);
        let all = of(&topology, 0, &[]);
        assert_eq!(all, [(1, 1.0), (2, 1.0), (3, 0.5), (4, 0.25), (5, 0.125), (6, 0.125)]);
        assert_eq!(
            of(&topology, 0, &[2, 3]),
            [(1, 1.0)],
            "what is held stays and passes nothing on"
        );
    }

    #[test]
    fn loops_and_parallel_edges_count_as_they_are_and_a_cycle_ends() {
        let topology = Topology::from_coo(4, &[0, 0, 1, 1, 2, 3], &[1, 1, 1, 2, 3, 0]);
        // Node 1 has two edges to 0, a loop, and one to 2.
        assert_eq!(of(&topology, 0, &[]), [(1, 2.0 / 5.0), (2, 0.45), (3, 0.5)]);
    }

    #[test]
    fn a_hub_that_is_too_large_takes_nobody_along() {
        let leaves: Vec<u32> = (1..=1000).collect();
        let topology = Topology::from_coo(1001, &vec![0; 1000], &leaves);
        assert_eq!(of(&topology, 0, &[]).len(), 1000);
        let mut visits = 999;
        assert!(shares(&topology, 0, |_| false, &mut visits).is_empty());
    }
}
