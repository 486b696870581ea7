//! The inequalities that every partition meets and a relaxation may break, all of one form: of a node `v` and a set `T`, the
//! pairs of `v` with `T` that are together exceed the pairs within `T` that are by 1 at most. With two nodes in `T` it says
//! that those are together when each is with `v`; with more it is the 2-partition inequality of Grötschel and Wakabayashi
//! (1990, Mathematical Programming 47:367) for a single node.

use std::collections::BTreeSet;

/// An inequality is added when it is broken by more than this.
const BROKEN: f64 = 1e-5;
/// The same for sets of more than two nodes, which are many.
const BROKEN_STAR: f64 = 1e-3;
/// Triangles with the same two nodes in `T` in one round.
const SAME_PAIR_MAX: u8 = 3;
/// Triangles and other sets in one round.
const TRIANGLES_MAX: usize = 1000;
const STARS_MAX: usize = 300;

/// One inequality: `x(v, T) - x(T) <= 1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    v: usize,
    set: Vec<usize>,
}

impl Cut {
    /// Its pairs with their signs.
    pub(super) fn terms(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let own = self.set.iter().map(|a| (self.v, *a, 1.0));
        let inner = self.set.iter().enumerate();
        own.chain(inner.flat_map(|(k, a)| self.set[k + 1..].iter().map(|b| (*a, *b, -1.0))))
    }

    /// Its left side for the values `x` of `n` by `n` pairs.
    pub(super) fn value(&self, x: &[f64], n: usize) -> f64 {
        self.terms().map(|(a, b, sign)| sign * x[a * n + b]).sum()
    }
}

/// The first `count` by how far they are broken; equal ones in the order found.
fn worst(mut found: Vec<(f64, Cut)>, count: usize) -> Vec<Cut> {
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.truncate(count);
    found.into_iter().map(|f| f.1).collect()
}

/// Broken triangles, the worst ones first.
pub(super) fn triangles(x: &[f64], n: usize) -> Vec<Cut> {
    let mut found = Vec::new();
    for v in 0..n {
        let with_v = &x[v * n..(v + 1) * n];
        // Both have to be partly with `v`, and together more than wholly.
        let near: Vec<usize> = (0..n).filter(|a| *a != v && with_v[*a] > BROKEN).collect();
        for (k, a) in near.iter().enumerate() {
            for b in &near[k + 1..] {
                let left = with_v[*a] + with_v[*b] - x[a * n + b];
                if left > 1.0 + BROKEN {
                    found.push((left, v, *a, *b));
                }
            }
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut of_pair = vec![0; n * n];
    let mut kept = Vec::new();
    for (_, v, a, b) in found {
        let count: &mut u8 = &mut of_pair[a * n + b];
        if *count < SAME_PAIR_MAX && kept.len() < TRIANGLES_MAX {
            *count += 1;
            kept.push(Cut { v, set: vec![a, b] });
        }
    }
    kept
}

/// Broken inequalities with larger sets, which grow by the node that adds the most.
pub(super) fn stars(x: &[f64], n: usize) -> Vec<Cut> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for v in 0..n {
        let with_v = &x[v * n..(v + 1) * n];
        let between = |a: &usize| *a != v && with_v[*a] > BROKEN && with_v[*a] < 1.0 - BROKEN;
        let near: Vec<usize> = (0..n).filter(between).collect();
        for first in &near {
            let (mut set, mut left) = (vec![*first], with_v[*first]);
            // What each node would add, as the set is.
            let mut adds: Vec<f64> = near.iter().map(|a| with_v[*a] - x[first * n + a]).collect();
            loop {
                let rest = (0..near.len()).filter(|k| !set.contains(&near[*k]));
                let Some(most) = rest.max_by(|a, b| adds[*a].total_cmp(&adds[*b])) else { break };
                if adds[most] <= 1e-9 {
                    break;
                }
                left += adds[most];
                set.push(near[most]);
                adds.iter_mut().zip(&near).for_each(|(add, a)| *add -= x[near[most] * n + a]);
            }
            set.sort_unstable();
            if left > 1.0 + BROKEN_STAR && seen.insert((v, set.clone())) {
                found.push((left, Cut { v, set }));
            }
        }
    }
    worst(found, STARS_MAX)
}
