//! Nodes to start from.

use super::eval::set;
use super::probe::order_of;
use super::{Exec, Flow, Sink};
use crate::plan::{Seek, Slot};
use crate::value::Value;

impl Exec<'_> {
    pub(super) fn scan(
        &self,
        row: &mut [Value],
        slot: Slot,
        labels: &[usize],
        seeks: &[Seek],
        sink: &mut Sink<'_>,
    ) -> Flow {
        if let Some(found) = self.sought(seeks, row)? {
            for v in found {
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
        let nodes = match &self.range {
            Some((part, range)) if *part == slot => range.clone(),
            _ => 0..self.view.num_nodes(),
        };
        for v in nodes {
            self.tick()?;
            let fits = wanted.iter().all(|(cells, value)| {
                let Some(node_row) = self.view.node_row(v) else { return true };
                match order_of(cells, node_row, value) {
                    Some(order) => order.is_some_and(|o| o.is_eq()),
                    None => true,
                }
            });
            if fits && self.has_labels(v, labels) {
                set(row, slot, Value::Node(v));
                sink(row)?;
            }
        }
        Ok(())
    }
}
