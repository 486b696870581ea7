//! Test of whether nodes have left the places that a session began with: the coordinates of the dataset, where it has
//! any, on which a map would lie.

use std::collections::BTreeMap;

/// How far a node may be off its first place and still count as being there, as a share of the longer side of the box of all
/// first places: positions travel and rest in 32 bits, which is not exact.
const OFF_MAX: f32 = 1e-4;

/// Whether a node has moved from its first place in `start` (by node index, NaN where it had none), as `session/layout.rs` asks
/// after a layout by name and after a restart. Nodes in `pins`, which a viewer has dragged and which stay there, do not count,
/// nor do those without a first place. Without `start` nothing is known to have moved.
pub(super) fn is_displaced(
    start: Option<&[[f32; 2]]>,
    positions: &[[f32; 2]],
    pins: &BTreeMap<u32, [f32; 2]>,
) -> bool {
    let Some(start) = start else { return false };
    let placed = || start.iter().filter(|p| p.iter().all(|x| x.is_finite()));
    let extent = [0, 1].map(|c| {
        let least = placed().map(|p| p[c]).fold(f32::MAX, f32::min);
        placed().map(|p| p[c]).fold(f32::MIN, f32::max) - least
    });
    let most = OFF_MAX * extent[0].max(extent[1]).max(0.0);
    (0..).zip(start.iter().zip(positions)).any(|(v, (from, at))| {
        let off = (at[0] - from[0]).abs().max((at[1] - from[1]).abs());
        off.is_finite() && off > most && !pins.contains_key(&v)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_displaced_when_one_that_nobody_holds_is_elsewhere() {
        let start = [[0.0, 0.0], [1000.0, 0.0], [f32::NAN; 2]];
        let of = |positions: &[[f32; 2]], pins: &[u32]| {
            let pins = pins.iter().map(|v| (*v, [0.0; 2])).collect();
            is_displaced(Some(&start), positions, &pins)
        };
        assert!(!of(&start, &[]));
        assert!(!of(&[[0.05, 0.0], [1000.0, 0.0], [7.0, 7.0]], &[]), "as good as there");
        let moved = [[0.0, 0.0], [1000.0, 0.2], [7.0, 7.0]];
        assert!(of(&moved, &[]) && of(&moved, &[0]) && !of(&moved, &[1]));
        assert!(!is_displaced(None, &moved, &BTreeMap::new()), "nobody knows where they began");
        assert!(is_displaced(Some(&start[..1]), &[[1.0, 0.0]], &BTreeMap::new()), "a single node");
    }
}
