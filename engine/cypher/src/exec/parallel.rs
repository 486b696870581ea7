//! Work that is shared out: a pipeline is cut into parts of what it starts from, which are nodes of a scan, or rows
//! that an operator below has made.
//!
//! The parts are put together in their order, so a result does not depend on the number of threads.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::eval::set;
use super::{Exec, Flow, Sink, Stop};
use crate::error::Res;
use crate::plan::{Op, OpId, Slot};
use crate::row_buffer::Rows;
use crate::tuning::tuning;
use crate::value::Value;

/// Parts for each thread, so that a part with hubs does not keep all waiting.
const PARTS_PER_THREAD: usize = 4;

/// What the parts of a pipeline start from.
#[derive(Clone, Copy)]
pub(super) enum Cut<'p> {
    /// The nodes of the scan of a slot.
    Nodes(Slot),
    /// The rows of an operator.
    Rows(&'p Op),
}

/// The part of one thread.
#[derive(Debug)]
pub(super) enum Part {
    /// Nodes that the scan of a slot is to look at.
    Nodes(Slot, Range<u32>),
    /// Rows in the place of those of an operator.
    Rows(Option<OpId>, Arc<Made>, Range<usize>),
    /// All of it; nothing in it is to be shared out.
    Alone,
}

/// Rows that an operator has made.
#[derive(Debug)]
pub(super) struct Made {
    /// What the operators below it have put into the row.
    slots: Vec<Slot>,
    rows: Rows,
}

/// Adds the slots that rows of an operator have values in; false when that is not known.
fn slots_of(op: &Op, into: &mut Vec<Slot>) -> bool {
    match op {
        Op::Scan { slot, .. } => into.push(*slot),
        Op::Expand { step, .. } => into.extend([step.rel, step.to]),
        Op::Check { .. } | Op::Filter { .. } => {}
        Op::Project { items, .. } => into.extend(items.iter().map(|(slot, _)| *slot)),
        Op::Distinct { slots, .. } => into.extend(slots),
        // What is below these is gone.
        Op::Argument => return true,
        Op::Tally { steps, weight, .. } => {
            into.push(*weight);
            into.extend(steps.last().map(|t| t.step.to));
            return true;
        }
        Op::Aggregate { keys, aggs, .. } => {
            into.extend(keys.iter().map(|(slot, _)| *slot));
            into.extend(aggs.iter().map(|a| a.slot));
            return true;
        }
        Op::Sort { keep, .. } => {
            into.extend(keep);
            return true;
        }
        _ => return false,
    }
    op.input().is_some_and(|input| slots_of(input, into))
}

/// Whether every row goes its way alone, so that rows can be shared out before this operator.
const fn is_rowwise(op: &Op) -> bool {
    matches!(
        op,
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
            | Op::Optional { .. }
    )
}

/// Whether the operator makes many rows of one, or looks at much for it.
const fn is_work(op: &Op) -> bool {
    matches!(
        op,
        Op::Scan { .. }
            | Op::Expand { .. }
            | Op::VarExpand { .. }
            | Op::Walk { .. }
            | Op::Shortest { .. }
            | Op::Unwind { .. }
            | Op::Optional { .. }
    )
}

fn parts_of(len: u64) -> impl Iterator<Item = Range<u64>> {
    let parts = (rayon::current_num_threads() * PARTS_PER_THREAD) as u64;
    (0..parts).map(move |i| len * i / parts..len * (i + 1) / parts)
}

impl Exec<'_> {
    /// Where to cut a pipeline, when it is worth while to share it out.
    pub(super) fn cut<'p>(&self, op: &'p Op, row: &mut [Value]) -> Res<Option<Cut<'p>>> {
        if self.part.is_none() {
            self.select(op)?;
        }
        self.cut_at(op, row)
    }

    /// The same without a test of the rows that the pipeline starts from.
    pub(super) fn cut_at<'p>(&self, op: &'p Op, row: &mut [Value]) -> Res<Option<Cut<'p>>> {
        let threads = rayon::current_num_threads();
        if self.view.num_nodes() < tuning().shared_nodes_min
            || threads < tuning().shared_threads_min
            || self.part.is_some()
        {
            return Ok(None);
        }
        // The step next to the scan, when others follow it.
        let (mut at, mut work, mut first_step) = (op, 0, None);
        while is_rowwise(at) {
            if let Op::Scan { input, slot, seek, .. } = at
                && matches!(**input, Op::Argument)
            {
                // A few nodes are no work to share, but what they lead to may be.
                let narrow = self.is_narrow(seek, row)?;
                return Ok(if narrow {
                    first_step.map(Cut::Rows)
                } else {
                    Some(Cut::Nodes(*slot))
                });
            }
            if work > 0 && matches!(at, Op::Expand { .. }) {
                first_step = Some(at);
            }
            work += usize::from(is_work(at));
            let Some(input) = at.input() else { return Ok(None) };
            at = input;
        }
        let blocks = matches!(
            at,
            Op::Tally { .. } | Op::Distinct { .. } | Op::Aggregate { .. } | Op::Sort { .. }
        );
        Ok((work > 0 && blocks).then_some(Cut::Rows(at)))
    }

    /// Does the work for every part; the results are in their order.
    pub(super) fn share<T: Send>(
        &self,
        cut: Cut<'_>,
        row: &mut [Value],
        work: impl Fn(&Exec<'_>, &mut [Value]) -> Res<T> + Sync,
    ) -> Res<Vec<T>> {
        let parts: Vec<Part> = match cut {
            Cut::Nodes(slot) => {
                let parts = parts_of(u64::from(self.view.num_nodes()));
                parts.map(|r| Part::Nodes(slot, r.start as u32..r.end as u32)).collect()
            }
            Cut::Rows(op) => {
                let made = Arc::new(self.rows_of(op, row)?);
                let (len, at) = (made.rows.len(), op.id());
                let part = |r| Part::Rows(at, Arc::clone(&made), r);
                if len < tuning().shared_rows_min {
                    vec![part(0..len)]
                } else {
                    let parts = parts_of(len as u64);
                    parts.map(|r| part(r.start as usize..r.end as usize)).collect()
                }
            }
        };
        let (shared, row) = (self.shared, &*row);
        let work = |part| work(&Exec::new(shared, Some(part)), &mut row.to_vec());
        if parts.len() < 2 {
            return parts.into_iter().map(work).collect();
        }
        parts.into_par_iter().map(work).collect()
    }

    /// The rows of an operator.
    fn rows_of(&self, op: &Op, row: &mut [Value]) -> Res<Made> {
        let mut slots = Vec::new();
        if !slots_of(op, &mut slots) {
            slots = (0..row.len()).collect();
        }
        slots.sort_unstable();
        slots.dedup();
        let mut rows = Rows::new(slots.len());
        let made = self.run(op, row, &mut |row| {
            self.hold(rows.len(), slots.len())?;
            rows.push(slots.iter().map(|slot| row.get(*slot).unwrap_or(&Value::NULL)));
            Ok(())
        });
        match made {
            Err(Stop::Failed(e)) => Err(e),
            _ => Ok(Made { slots, rows }),
        }
    }

    /// Pushes the rows of this part when they take the place of the operator's.
    pub(super) fn played(&self, op: &Op, row: &mut [Value], sink: &mut Sink<'_>) -> Option<Flow> {
        let Some(Part::Rows(at, made, range)) = &self.part else { return None };
        if at.is_none() || *at != op.id() {
            return None;
        }
        Some(range.clone().try_for_each(|i| {
            self.tick()?;
            for (column, slot) in made.slots.iter().enumerate() {
                set(row, *slot, made.rows.get(i, column));
            }
            sink(row)
        }))
    }
}
