//! Nodes to start from.

use std::ops::Range;

use graphlume_expr::Cmp;

use super::eval::set;
use super::mask::ColumnTest;
use super::parallel::Part;
use super::probe::order_of;
use super::recorder::Way;
use super::{Exec, Flow, Sink};
use crate::column_reader::ColumnReader;
use crate::plan::{OpId, Seek, Slot};
use crate::tuning::tuning;
use crate::value::Value;

/// Nodes that are tested at most at a time.
const NODES_AT_ONCE: u32 = 1 << 13;
/// Nodes that are tested in the time of a step.
const NODES_PER_TICK: u32 = 8;

impl Exec<'_> {
    pub(super) fn scan(
        &self,
        row: &mut [Value],
        (id, slot): (OpId, Slot),
        labels: &[usize],
        seeks: &[Seek],
        sink: &mut Sink<'_>,
    ) -> Flow {
        if let Some(found) = self.sought(seeks, row)? {
            self.record(|r| r.took(Some(id), Way::Id));
            for v in found {
                if self.has_labels(v, labels) {
                    set(row, slot, Value::Node(v));
                    sink(row)?;
                }
            }
            return Ok(());
        }
        if let Some(found) = self.looked_up(seeks, row)? {
            self.record(|r| r.took(Some(id), Way::Index));
            let nodes = self.part_of(slot);
            let from = found.partition_point(|v| *v < nodes.start);
            for v in found.into_iter().skip(from).take_while(|v| *v < nodes.end) {
                self.tick()?;
                if self.has_labels(v, labels) {
                    set(row, slot, Value::Node(v));
                    sink(row)?;
                }
            }
            return Ok(());
        }
        // Properties that must have a value are compared before a row is made.
        let mut wanted = Vec::new();
        for seek in seeks.iter().filter(|s| !s.any) {
            if let Some(key) = seek.key.and_then(|k| self.keys.get(k)) {
                let Some(cells) = &key.node else {
                    // A property that no node has: nothing can match.
                    if key.bare_id {
                        continue;
                    }
                    return Ok(());
                };
                wanted.push((cells, self.eval(&seek.value, row)?));
            }
        }
        self.prepare_labels(labels);
        let nodes = self.part_of(slot);
        let mut from = nodes.start;
        while from < nodes.end {
            // Few at first, for those who want few.
            let many = (from - nodes.start).clamp(tuning().scan_nodes_at_first, NODES_AT_ONCE);
            let to = nodes.end.min(from.saturating_add(many));
            for (v, mark) in (from..to).zip(self.scan_marks(from..to, labels, &wanted)) {
                if mark {
                    self.tick()?;
                    set(row, slot, Value::Node(v));
                    sink(row)?;
                }
            }
            self.tick_by((to - from) / NODES_PER_TICK)?;
            from = to;
        }
        Ok(())
    }

    /// The nodes that this thread is to look at.
    fn part_of(&self, slot: Slot) -> Range<u32> {
        match &self.part {
            Some(Part::Nodes(part, range)) if *part == slot => range.clone(),
            _ => 0..self.view.num_nodes(),
        }
    }

    /// A mark for each of some nodes: whether it has the labels, and values that may be the wanted ones.
    fn scan_marks(
        &self,
        nodes: Range<u32>,
        labels: &[usize],
        wanted: &[(&ColumnReader, Value)],
    ) -> Vec<bool> {
        let from = nodes.start as usize;
        let mut marks = vec![true; nodes.len()];
        for label in labels {
            match self.labels.get(*label) {
                Some(test) => self.view.narrow(test, from, &mut marks),
                None => marks.fill(false),
            }
        }
        for (cells, value) in wanted {
            match ColumnTest::new(cells, Cmp::Eq, value).filter(|_| self.view.rows_are_nodes()) {
                Some(test) => test.narrow(from, &mut marks),
                None => {
                    for (v, mark) in nodes.clone().zip(&mut marks) {
                        let Some(node_row) = self.view.node_row(v) else { continue };
                        if let Some(order) = order_of(cells, node_row, value) {
                            *mark &= order.is_some_and(|o| o.is_eq());
                        }
                    }
                }
            }
        }
        marks
    }
}
