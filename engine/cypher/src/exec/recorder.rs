//! What a run did, operator by operator: how many rows each gave, and by which way it made them.
//!
//! [`Exec::run`](super::Exec::run) counts what passes through it; the shorter ways, which run several operators as one,
//! report at the place where they are taken. A run without a recorder asks for it once for each operator that it sets
//! up and never for a row.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use super::Exec;
use crate::plan::{Op, OpId, Plan};

/// A way that an operator took, other than row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It read columns of a table.
    Columns = 1,
    /// An operator above did its work and made no rows for it.
    Absorbed = 2,
    /// Nodes were named by their ids.
    Id = 4,
    /// Nodes were found by an index of a property.
    Index = 8,
    /// All nodes were tested at once, and rows looked at the result.
    Marks = 16,
    /// The GPU that keeps copies of the columns did it.
    Gpu = 32,
}

/// What happened to one operator.
#[derive(Debug, Default)]
struct Counter {
    /// How often it was asked for rows.
    runs: AtomicU64,
    rows: AtomicU64,
    ways: AtomicU8,
}

/// Counters of all operators of a plan, which all threads of a run share.
#[derive(Debug)]
pub(crate) struct Recorder {
    counters: Vec<Counter>,
}

impl Recorder {
    pub(super) fn new(plan: &Plan) -> Self {
        // Numbers begin at 1.
        Self { counters: (0..=plan.operators).map(|_| Counter::default()).collect() }
    }

    fn counter(&self, id: Option<OpId>) -> Option<&Counter> {
        self.counters.get(id?.0)
    }

    /// Counts a run of an operator that gave so many rows.
    pub(super) fn ran(&self, id: Option<OpId>, rows: u64) {
        if let Some(counter) = self.counter(id) {
            counter.runs.fetch_add(1, Ordering::Relaxed);
            counter.rows.fetch_add(rows, Ordering::Relaxed);
        }
    }

    /// Notes that an operator took a way.
    pub(super) fn took(&self, id: Option<OpId>, way: Way) {
        if let Some(counter) = self.counter(id) {
            counter.ways.fetch_or(way as u8, Ordering::Relaxed);
        }
    }

    /// Notes that operators from `top` down to what feeds them all were done as one, by columns or not, and that `top`
    /// gave so many rows.
    pub(super) fn as_one(&self, top: &Op, rows: u64, by_columns: bool) {
        self.below(top, by_columns);
        self.ran(top.id(), rows);
    }

    /// Notes the same of operators whose topmost counts its rows itself.
    pub(super) fn below(&self, top: &Op, by_columns: bool) {
        let mut at = Some(top);
        while let Some(op) = at {
            if by_columns {
                self.took(op.id(), Way::Columns);
            }
            if !std::ptr::eq(op, top) {
                self.took(op.id(), Way::Absorbed);
            }
            at = op.input();
        }
    }

    /// How many rows an operator gave; `None` where it was not asked by itself.
    pub(crate) fn rows(&self, id: OpId) -> Option<u64> {
        let counter = self.counter(Some(id))?;
        let ran = counter.runs.load(Ordering::Relaxed) > 0;
        ran.then(|| counter.rows.load(Ordering::Relaxed))
    }

    /// Whether an operator took a way.
    pub(crate) fn has_taken(&self, id: OpId, way: Way) -> bool {
        let ways = self.counter(Some(id)).map_or(0, |c| c.ways.load(Ordering::Relaxed));
        ways & way as u8 != 0
    }
}

impl Exec<'_> {
    /// Calls `f` with the recorder of a run that is profiled.
    #[inline]
    pub(super) fn record(&self, f: impl FnOnce(&Recorder)) {
        if let Some(recorder) = self.recorder {
            f(recorder);
        }
    }
}
