//! Numbers of the distinct values of a property, kept with the graph: grouping by it then looks at no value.

use std::sync::Arc;

use graphlume_graph::canon::Column;
use graphlume_store::CacheKey;

use super::Exec;
use super::aggregate::binds_node;
use crate::plan::{Ex, Op, Slot};
use crate::tuning::tuning;

/// Groupings by a property before its values are numbered, which takes as long as some of them.
const GROUPINGS_BEFORE: u32 = 1;

/// The numbers of the values of a property of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NumbersOf(String);

impl CacheKey for NumbersOf {
    type Value = Vec<u32>;
}

/// The number of the value that each node has; equal values have equal numbers, and null the last of all.
pub(super) type Numbers = Arc<Vec<u32>>;

impl Exec<'_> {
    /// The node whose property alone is the key of a grouping, and the numbers of its values, when they are worth
    /// while.
    pub(super) fn numbered(&self, keys: &[(Slot, Ex)], input: &Op) -> Option<(Slot, Numbers)> {
        let [(_, Ex::Prop(base, key))] = keys else { return None };
        let Ex::Slot(slot) = **base else { return None };
        let (view, key) = (self.view, self.keys.get(*key)?);
        let cells = key.node.as_ref()?;
        // Numbers of floats would tell values apart that are one to the language.
        let exact = matches!(cells.column(), Column::Text(_) | Column::Int(_)) && cells.is_plain();
        let many = view.num_nodes() >= tuning().numbers_nodes_min && view.rows_are_nodes();
        if !exact || !many || !binds_node(input, slot) {
            return None;
        }
        let name = NumbersOf(key.name.to_string());
        if let Some(found) = view.graph().kept(&name) {
            return Some((slot, found));
        }
        if !view.graph().is_due(&name, GROUPINGS_BEFORE + 1, self.cancel) {
            return None;
        }
        let numbers = Arc::new(cells.distinct()?.codes);
        let bytes = size_of_val(numbers.as_slice()) as u64;
        view.graph().keep(name, &numbers, bytes, self.cancel);
        Some((slot, numbers))
    }
}
