//! Work that is shared out: a pipeline over all nodes is cut into ranges of nodes.
//!
//! The parts are put together in the order of the nodes, so a result does not depend on the number of
//! threads.

use std::ops::Range;

use rayon::prelude::*;

use super::Exec;
use crate::error::Res;
use crate::plan::{Op, Slot};
use crate::value::Value;

/// Nodes below which sharing out does not pay.
const NODES_MIN: u32 = if cfg!(test) { 2 } else { 1 << 13 };
/// Threads below which there is nobody to share with.
const THREADS_MIN: usize = if cfg!(test) { 1 } else { 2 };
/// Parts for each thread, so that a part with hubs does not keep all waiting.
const PARTS_PER_THREAD: usize = 4;

/// The scan of all nodes that feeds a pipeline in which every row goes its way alone.
fn scan_slot(op: &Op) -> Option<Slot> {
    match op {
        Op::Scan { input, slot, .. } if matches!(**input, Op::Argument) => Some(*slot),
        Op::Scan { .. }
        | Op::Check { .. }
        | Op::Expand { .. }
        | Op::Ends { .. }
        | Op::VarExpand { .. }
        | Op::Walk { .. }
        | Op::Shortest { .. }
        | Op::Path { .. }
        | Op::Filter { .. }
        | Op::Project { .. }
        | Op::Unwind { .. }
        | Op::Optional { .. } => scan_slot(op.input()?),
        _ => None,
    }
}

/// The scan at the root of such a pipeline.
fn root(op: &Op) -> &Op {
    match op.input() {
        Some(input) if !matches!(input, Op::Argument) => root(input),
        _ => op,
    }
}

impl Exec<'_> {
    /// Ranges of nodes of the scan that feeds the pipeline, when it is worth while to share it out.
    pub(super) fn shares(&self, op: &Op) -> Option<(Slot, Vec<Range<u32>>)> {
        let slot = scan_slot(op)?;
        let nodes = self.view.num_nodes();
        let threads = rayon::current_num_threads();
        if nodes < NODES_MIN || threads < THREADS_MIN || self.range.is_some() {
            return None;
        }
        let Op::Scan { seek, .. } = root(op) else { return None };
        let by_id = |k: &Option<usize>| match k {
            None => true,
            Some(k) => self.keys.get(*k).is_none_or(|k| self.view.is_id(&k.name)),
        };
        if seek.iter().any(|s| by_id(&s.key)) {
            return None;
        }
        let parts = (threads * PARTS_PER_THREAD) as u32;
        let at = |i: u32| (u64::from(nodes) * u64::from(i) / u64::from(parts)) as u32;
        Some((slot, (0..parts).map(|i| at(i)..at(i + 1)).collect()))
    }

    /// Does the work for every range; the results are in the order of the ranges.
    pub(super) fn share<T: Send>(
        &self,
        (slot, ranges): (Slot, Vec<Range<u32>>),
        row: &[Value],
        work: impl Fn(&Exec<'_>, &mut [Value]) -> Res<T> + Sync,
    ) -> Res<Vec<T>> {
        let shared = self.shared;
        ranges
            .into_par_iter()
            .map(|range| {
                let exec = Exec::new(shared, Some((slot, range)));
                work(&exec, &mut row.to_vec())
            })
            .collect()
    }
}
