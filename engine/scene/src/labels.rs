//! Labels of nodes.

use std::borrow::Cow;

use arrow_array::ArrayRef;
use graphlume_graph::Graph;
use graphlume_table::{Table, TextColumn, cell_text};

use crate::bind::{Cx, Source, context};
use crate::encodings::Encodings;
use crate::text::cut;

/// Characters of a label at most; the rest would never be seen.
const LABEL_CHARS_MAX: usize = 200;
/// Labels that are offered to the page at most.
pub(crate) const CANDIDATES_MAX: usize = 2_000;

/// A column as text.
enum Text {
    Text(TextColumn),
    Other(ArrayRef),
}

impl Text {
    fn new(array: &ArrayRef) -> Self {
        TextColumn::try_new(array).map_or_else(|| Self::Other(ArrayRef::clone(array)), Self::Text)
    }

    fn get(&self, row: usize) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(t) => t.get(row).map(Cow::Borrowed),
            Self::Other(a) => cell_text(a.as_ref(), row).map(Cow::Owned),
        }
    }
}

/// The texts of nodes: the bound label, else the bound title, else the id.
pub(crate) struct Labels<'a> {
    bound: Vec<(Text, Source<'a>)>,
    ids: Text,
}

impl<'a> Labels<'a> {
    pub(crate) fn new(cx: &Cx<'a>) -> Self {
        let names = ["node_label", "node_title"].into_iter().filter_map(|b| cx.node.binding(b));
        let sources = names.filter_map(|name| cx.node_column(name));
        let bound = sources.map(|s| (Text::new(&s.array), s)).collect();
        Self { bound, ids: Text::new(&cx.graph.ids) }
    }

    pub(crate) fn of(graph: &'a Graph, nodes: Option<&'a Table>, enc: &'a Encodings) -> Self {
        Self::new(&context(graph, nodes, None, enc))
    }

    /// The bound label or title; `None` when nothing is bound or the cell is empty.
    pub(crate) fn bound(&self, v: u32) -> Option<Cow<'_, str>> {
        self.bound.iter().find_map(|(text, source)| {
            let text = text.get(source.rows.row(v)?)?;
            Some(text).filter(|t| !t.trim().is_empty())
        })
    }

    pub(crate) fn id(&self, v: u32) -> Cow<'_, str> {
        self.ids.get(v as usize).unwrap_or_default()
    }

    /// What the node is called, in full.
    pub(crate) fn full(&self, v: u32) -> Cow<'_, str> {
        self.bound(v).unwrap_or_else(|| self.id(v))
    }

    /// What the node is called, cut to a length that can be shown.
    pub(crate) fn short(&self, v: u32) -> String {
        cut(&self.full(v), LABEL_CHARS_MAX)
    }
}

/// The most important nodes with their labels, the most important first; ties by index.
pub(crate) fn candidates(labels: &Labels<'_>, importance: &[f32]) -> Vec<(u32, String)> {
    top(importance, CANDIDATES_MAX).into_iter().map(|v| (v, labels.short(v))).collect()
}

/// The `count` most important nodes, the most important first.
fn top(importance: &[f32], count: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..importance.len() as u32).collect();
    let rank = |a: &u32, b: &u32| {
        importance[*b as usize].total_cmp(&importance[*a as usize]).then(a.cmp(b))
    };
    if order.len() > count {
        order.select_nth_unstable_by(count, rank);
        order.truncate(count);
    }
    order.sort_unstable_by(rank);
    order
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn the_most_important_come_first_and_ties_by_index() {
        assert_eq!(top(&[1.0, 5.0, 5.0, 0.0, 9.0], 3), [4, 1, 2]);
        assert_eq!(top(&[1.0, 2.0], 5), [1, 0]);
        assert!(top(&[], 5).is_empty());
    }
}
