//! Direction of edges: whether it says anything, which decides about arrow heads (`shell/web/src/scene/direction.ts`).

use graphlume_types::{CancelToken, Cancelled};

/// A number that an ordered pair of nodes has for itself, as good as at random.
const fn pair_hash(a: u32, b: u32) -> u32 {
    let mut h = (a ^ 0x9e37_79b9).wrapping_mul(0x85eb_ca6b)
        ^ b.wrapping_add(0x7f4a_7c15).wrapping_mul(0xc2b2_ae35);
    h = (h ^ (h >> 15)).wrapping_mul(0x2c1b_3c6d);
    h ^ (h >> 13)
}

/// Whether each edge is answered by one of the other direction, but for the rarest of chances.
fn is_reciprocal(ends: &[[u32; 2]]) -> bool {
    let sum = |pair: fn(&[u32; 2]) -> u32| ends.iter().map(|e| u64::from(pair(e))).sum::<u64>();
    sum(|[s, d]| pair_hash(*s, *d)) == sum(|[s, d]| pair_hash(*d, *s))
}

/// Whether some path leads back to where it began, loops apart (Kahn, "Topological sorting", CACM 1962).
fn has_cycle(ends: &[[u32; 2]], nodes: usize, cancel: &CancelToken) -> Result<bool, Cancelled> {
    let mut starts = vec![0u32; nodes + 1];
    let mut open = vec![0u32; nodes];
    let real = || ends.iter().filter(|[s, d]| s != d);
    for [s, d] in real() {
        starts[*s as usize + 1] += 1;
        open[*d as usize] += 1;
    }
    for v in 0..nodes {
        starts[v + 1] += starts[v];
    }
    cancel.check()?;
    let mut fill = starts.clone();
    let mut heads = vec![0u32; starts[nodes] as usize];
    for [s, d] in real() {
        heads[fill[*s as usize] as usize] = *d;
        fill[*s as usize] += 1;
    }
    cancel.check()?;
    let mut left = heads.len();
    let mut ready: Vec<u32> = (0..nodes as u32).filter(|v| open[*v as usize] == 0).collect();
    while let Some(v) = ready.pop() {
        let [from, to] = [0, 1].map(|k| starts[v as usize + k] as usize);
        for d in &heads[from..to] {
            left -= 1;
            open[*d as usize] -= 1;
            if open[*d as usize] == 0 {
                ready.push(*d);
            }
        }
    }
    Ok(left > 0)
}

/// Whether the edges themselves show that they have a direction: some path leads back to where it began, and not merely
/// because each edge is answered by its reverse.
pub(crate) fn is_directed(
    ends: &[[u32; 2]],
    nodes: usize,
    cancel: &CancelToken,
) -> Result<bool, Cancelled> {
    Ok(has_cycle(ends, nodes, cancel)? && !is_reciprocal(ends))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_shows_a_direction_unless_every_edge_has_its_reverse() {
        let of = |ends: &[[u32; 2]]| is_directed(ends, 4, &CancelToken::new()).unwrap();
        assert!(of(&[[0, 1], [1, 2], [2, 0]]));
        assert!(!of(&[[0, 1], [1, 2], [0, 2]]), "an order has no cycle");
        assert!(!of(&[[0, 1], [1, 0], [1, 2], [2, 1]]), "every edge is answered");
        assert!(!of(&[[0, 0], [0, 1]]), "a loop is no cycle");
        assert!(of(&[[0, 1], [1, 0], [2, 3]]), "one edge is not answered");
        assert!(!of(&[]));
    }
}
