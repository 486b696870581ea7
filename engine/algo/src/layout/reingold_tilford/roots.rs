//! The roots that are chosen where a request names none.

use rayon::prelude::*;

use crate::component::strong::first_appearance;
use crate::component::{strong, weak};
use crate::view::{GraphView, Lists};
use crate::{AlgoError, Input};

/// From this many nodes on igraph prefers nodes of small eccentricity to those of many edges.
const ECCENTRIC_NODES: usize = 500;
/// Nodes times arcs at most for which every eccentricity is found.
const SEARCHES_MAX: u64 = 500_000_000;
/// Nodes that are searched from between two looks at the token.
const BLOCK: usize = 64;

/// Which edges lead from a parent to its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follow {
    Out,
    In,
    All,
}

impl Follow {
    /// That which `mode` names.
    pub(super) fn of(mode: &str) -> Self {
        match mode {
            "in" => Self::In,
            "all" => Self::All,
            _ => Self::Out,
        }
    }
}

/// One root for each part that no edge enters: a weak component where edges go either way, else a strong one. `view` has
/// the edges from parents to children.
pub(super) fn automatic(
    view: &GraphView<'_>,
    follow: Follow,
    input: &Input<'_>,
) -> Result<Vec<u32>, AlgoError> {
    let n = view.num_nodes();
    let (labels, entered) = if follow == Follow::All {
        let labels = weak::run(input.topology, input.cancel)?;
        let entered = vec![false; n as usize];
        (labels, entered)
    } else {
        let labels = first_appearance(&strong::run(input.topology, input.cancel)?);
        let mut entered = vec![false; n as usize];
        for v in 0..n {
            for u in view.out().neighbors(v) {
                if labels[*u as usize] != labels[v as usize] {
                    entered[labels[*u as usize] as usize] = true;
                }
            }
        }
        (labels, entered)
    };
    let rank = ranks(view.out(), n as usize, input)?;
    let mut best: Vec<Option<u32>> = vec![None; n as usize];
    for v in 0..n {
        let slot = &mut best[labels[v as usize] as usize];
        if slot.is_none_or(|b| rank[v as usize] < rank[b as usize]) {
            *slot = Some(v);
        }
    }
    let roots = best.iter().zip(&entered).filter(|(_, entered)| !**entered);
    Ok(roots.filter_map(|(v, _)| *v).collect())
}

/// What is small for a good root. igraph 1.0 counts edges below 500 nodes and takes eccentricities from there on, against
/// the words of its documentation.
fn ranks(children: &Lists<'_>, n: usize, input: &Input<'_>) -> Result<Vec<i64>, AlgoError> {
    let arcs = children.all_neighbors().len() as u64;
    let ids = 0..n as u32;
    if n < ECCENTRIC_NODES || n as u64 * (arcs + n as u64) > SEARCHES_MAX {
        let degree = |v: u32| children.neighbors(v).iter().filter(|u| **u != v).count() as i64;
        return Ok(ids.map(|v| -degree(v)).collect());
    }
    let starts: Vec<u32> = ids.collect();
    let blocks = starts.par_chunks(BLOCK).map(|block| {
        let (mut seen, mut queue) = (vec![u32::MAX; n], Vec::with_capacity(n));
        let one = |v: &u32| {
            input.cancel.check()?;
            Ok(eccentricity(children, *v, &mut seen, &mut queue))
        };
        block.iter().map(one).collect::<Result<Vec<i64>, AlgoError>>()
    });
    Ok(blocks.collect::<Result<Vec<_>, _>>()?.concat())
}

/// Hops from `source` to the farthest node that it reaches. `seen` holds the source that each node was last met from.
fn eccentricity(
    children: &Lists<'_>,
    source: u32,
    seen: &mut [u32],
    queue: &mut Vec<(u32, i64)>,
) -> i64 {
    queue.clear();
    queue.push((source, 0));
    seen[source as usize] = source;
    let mut at = 0;
    while let Some((v, hops)) = queue.get(at).copied() {
        at += 1;
        for u in children.neighbors(v) {
            if seen[*u as usize] != source {
                seen[*u as usize] = source;
                queue.push((*u, hops + 1));
            }
        }
    }
    queue.last().map_or(0, |(_, hops)| *hops)
}
