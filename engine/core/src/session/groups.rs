//! Groups of nodes for the view from afar: communities, and communities within these. A page gets the number of every
//! node's group and knows the rest (where nodes are, which are visible, how they are coloured and called) itself, so that
//! groups follow the layout and the filters without a further message.

use std::cmp::Reverse;
use std::time::Duration;

use bytes::Bytes;
use graphlume_algo::community::louvain;
use graphlume_graph::{Topology, distinct};
use graphlume_scene::wire::{self, NO_GROUP, Stamp};
use graphlume_types::CancelToken;

use crate::context::EngineContext;
use crate::error::EngineError;
use crate::residency::Lease;
use crate::session::community_search;

/// Longest search for the communities of [`frame`], and then for those within them. The page asks for the frame after its first
/// picture, so that 60 s keep no picture waiting; a search that takes longer is given up, and the page shows nodes only.
const BUDGET: Duration = Duration::from_secs(60);
/// A column of the nodes with this name has the precedence over communities that are looked for, as it has in filters.
const COLUMN: &str = "community";
/// Groups of a level at most; what is in smaller ones is in none.
const GROUPS_MAX: usize = NO_GROUP as usize;
/// Bytes an edge that the graph without the edges between groups takes at most, while the second level is looked for.
const EDGE_BYTES: u64 = 48;
/// Seed of the communities within communities.
const SEED: u64 = 2;

/// The [`wire::Kind::Groups`] frame of a graph, made once; on a background worker, inside the CPU pool.
///
/// # Errors
/// [`EngineError::Cancelled`] when the time is over.
pub(crate) fn frame(
    ctx: &EngineContext,
    lease: &Lease,
    call: &CancelToken,
) -> Result<Bytes, EngineError> {
    if let Some(known) = lease.groups.get() {
        return Ok(known.clone());
    }
    let coarse = match of_column(lease, call)? {
        Some(codes) => codes,
        None => community_search::of_within(ctx, lease, BUDGET)?.as_ref().clone(),
    };
    let deadline = CancelToken::with_deadline(ctx.now() + BUDGET);
    let weights = lease.edge_weights.as_deref();
    let fine = finer(&lease.graph.topology, weights, &coarse, call, &deadline);
    let levels = levels(&coarse, fine);
    let stamp = Stamp { epoch: lease.facts.epoch, seq: 0, flags: 0 };
    let frame = wire::deflated(&wire::encode_groups(stamp, &levels));
    Ok(lease.groups.get_or_init(|| frame).clone())
}

/// The levels that a page gets. Without the finer one groups open into their nodes at once.
fn levels(coarse: &[u32], fine: Result<Vec<u16>, EngineError>) -> Vec<Vec<u16>> {
    let fine = fine.inspect_err(|e| tracing::info!(error = %e, "no groups in groups"));
    [numbered(coarse)].into_iter().chain(fine.ok()).collect()
}

/// The communities within groups, for [`EDGE_BYTES`] an edge of the memory that `call` may take.
///
/// # Errors
/// [`EngineError::Memory`] where that is more than it may take; [`EngineError::Cancelled`] when the time is over.
fn finer(
    topology: &Topology,
    weights: Option<&[f32]>,
    groups: &[u32],
    call: &CancelToken,
    deadline: &CancelToken,
) -> Result<Vec<u16>, EngineError> {
    call.take(u64::from(topology.num_edges()) * EDGE_BYTES)?;
    within(topology, weights, groups, deadline)
}

/// The values of the nodes' own column as numbers; nothing without such a column, and where it groups nothing.
fn of_column(lease: &Lease, cancel: &CancelToken) -> Result<Option<Vec<u32>>, EngineError> {
    let has = lease.nodes.as_ref().is_some_and(|nodes| nodes.column(COLUMN).is_some());
    if !has {
        return Ok(None);
    }
    let graph = lease.drawn(cancel).map_err(|e| EngineError::from_coded(&e))?;
    let nodes = graph.node_table(cancel).map_err(|e| EngineError::from_coded(&e))?;
    let found = nodes.column(COLUMN).and_then(distinct);
    let groups = |count: usize, rows: usize| (2..=rows / 2).contains(&count);
    Ok(found.filter(|f| groups(f.first_rows.len(), f.codes.len())).map(|f| f.codes))
}

/// Communities of what is left of the graph without the edges between groups: of the same method, and each within one
/// group. What is too small for the whole graph's modularity to tell apart is found so (Fortunato and Barthélemy,
/// "Resolution limit in community detection", 2007).
fn within(
    topology: &Topology,
    weights: Option<&[f32]>,
    groups: &[u32],
    cancel: &CancelToken,
) -> Result<Vec<u16>, EngineError> {
    let (mut src, mut dst, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for v in 0..topology.num_nodes() {
        for (w, row) in topology.out_neighbors(v).iter().zip(topology.out_rows(v)) {
            if groups[v as usize] == groups[*w as usize] {
                src.push(v);
                dst.push(*w);
                rows.push(*row);
            }
        }
    }
    let inner = Topology::from_rows(topology.num_nodes(), &src, &dst, Some(&rows));
    drop((src, dst, rows));
    let fine = louvain::run(&inner, weights, SEED, 1.0, cancel);
    Ok(numbered(&fine.map_err(|e| EngineError::from_coded(&e))?))
}

/// Groups numbered by falling size (ties: by number); a node that is alone in its group is in none.
fn numbered(labels: &[u32]) -> Vec<u16> {
    let count =
        labels.iter().filter(|l| **l != u32::MAX).max().map_or(0, |most| *most as usize + 1);
    let mut sizes = vec![0u32; count];
    for label in labels {
        if let Some(size) = sizes.get_mut(*label as usize) {
            *size += 1;
        }
    }
    let mut by_size: Vec<usize> = (0..count).filter(|l| sizes[*l] > 1).collect();
    by_size.sort_by_key(|l| (Reverse(sizes[*l]), *l));
    let mut number = vec![NO_GROUP; count];
    for (at, label) in by_size.iter().take(GROUPS_MAX).enumerate() {
        number[*label] = at as u16;
    }
    labels.iter().map(|l| number.get(*l as usize).copied().unwrap_or(NO_GROUP)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use graphlume_types::{Budget, Code, Coded as _, MemoryConsumer};

    use super::*;

    #[test]
    fn groups_are_numbered_by_size_and_a_node_alone_is_in_none() {
        assert_eq!(numbered(&[4, 4, 1, 2, 2, 2]), [1, 1, NO_GROUP, 0, 0, 0]);
        assert_eq!(numbered(&[0, 0, u32::MAX, 1, 1]), [0, 0, NO_GROUP, 1, 1], "of no value");
        assert_eq!(numbered(&[]), Vec::<u16>::new());
        let many: Vec<u32> = (0..140_000).map(|v| v / 2).collect();
        let found = numbered(&many);
        assert_eq!((found[0], found[2 * GROUPS_MAX - 1]), (0, NO_GROUP - 1));
        assert!(found[2 * GROUPS_MAX..].iter().all(|g| *g == NO_GROUP), "beyond what numbers name");
    }

    /// Four cliques of eight in a row, and groups of which each has two of them.
    fn cliques() -> (Topology, Vec<u32>) {
        let (mut src, mut dst) = (vec![], vec![]);
        for v in 0..32_u32 {
            for w in v / 8 * 8..v {
                src.push(v);
                dst.push(w);
            }
            if v % 8 == 7 && v < 31 {
                src.push(v);
                dst.push(v + 1);
            }
        }
        (Topology::from_coo(32, &src, &dst), (0..32).map(|v| v / 16).collect())
    }

    #[test]
    fn groups_within_groups_lie_each_in_one() {
        let (topology, groups) = cliques();
        let fine = within(&topology, None, &groups, &CancelToken::new()).expect("found");
        let of = |clique: usize| &fine[8 * clique..8 * clique + 8];
        assert!((0..4).all(|c| of(c).iter().all(|g| *g == of(c)[0])), "{fine:?}");
        let distinct: std::collections::BTreeSet<u16> = fine.iter().copied().collect();
        assert_eq!(distinct.len(), 4, "{fine:?}");
    }

    #[test]
    fn past_the_memory_of_a_query_the_finer_level_is_left_out_and_the_error_says_why() {
        let (topology, groups) = cliques();
        let need = u64::from(topology.num_edges()) * EDGE_BYTES;
        let of = |limit: u64| {
            let share = MemoryConsumer::new(Budget::new("host", 1 << 30), limit, None);
            let call = CancelToken::new().with_memory(share);
            finer(&topology, None, &groups, &call, &CancelToken::new())
        };
        let whole = levels(&groups, of(need));
        assert_eq!(whole.len(), 2, "as much as there is suffices");
        let refused = of(need - 1).expect_err("a byte is missing");
        let told = refused.to_string();
        let (asked, limit) = (format!("{need} bytes needed"), format!("of {} bytes", need - 1));
        assert!(told.contains(&asked) && told.contains(&limit), "{told}");
        assert!(told.contains("raise the server's memory budget"), "{told}");
        assert_eq!((refused.code(), refused.slug()), (Code::TooLarge, "dataset-too-large"));
        assert_eq!(levels(&groups, Err(refused)), [whole[0].clone()], "the groups themselves stay");
    }
}
