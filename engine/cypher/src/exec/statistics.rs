//! How many nodes and relationships there are of a kind, before a query looks at them.

use std::sync::Arc;

use arrow_array::Array;
use graphlume_expr::{Cmp, Scalar};
use graphlume_graph::canon::Column;
use graphlume_store::CacheKey;
use graphlume_types::CancelToken;
use rayon::prelude::*;
use serde_json::{Map, Value as Json};

use super::lookup::Lookup;
use super::probe::order_of;
use super::relation::Relation;
use crate::bind::{Given, Statistics, Wanted};
use crate::column_reader::ColumnReader;
use crate::graph_view::GraphView;
use crate::value::Value;

/// Distinct values of a column up to which their numbers are counted.
const VALUES_MAX: usize = 1 << 10;
/// Rows that are looked at where nothing is counted.
const SAMPLE: u64 = 256;
/// Rows that a thread counts at once.
const ROWS_AT_ONCE: usize = 1 << 16;

/// The part of rows that hold for one of so many that were looked at, when none of them did.
const NONE_OF_SAMPLE: f64 = 0.5;

/// How many rows of the nodes or relationships have each text of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CountsOf {
    side: &'static str,
    column: String,
}

impl CacheKey for CountsOf {
    type Value = Vec<u64>;
}

/// A graph that is about to be asked.
pub(super) struct Known<'a> {
    pub(super) view: &'a GraphView,
    pub(super) params: &'a Map<String, Json>,
    pub(super) cancel: &'a CancelToken,
    /// Whether a question for a property counts as a search of it, after some of which it gets an index.
    pub(super) searches: bool,
}

impl Known<'_> {
    /// How many rows of a column of few texts have each of them, counted once for the graph.
    fn counts(
        &self,
        side: &'static str,
        name: &str,
        cells: &ColumnReader,
    ) -> Option<Arc<Vec<u64>>> {
        let Column::Text(text) = cells.column() else { return None };
        let (keys, values) = text.dictionary()?;
        if values.len() > VALUES_MAX {
            return None;
        }
        let kept = CountsOf { side, column: name.to_owned() };
        if let Some(found) = self.view.graph().kept(&kept) {
            return Some(found);
        }
        let none = || vec![0; values.len()];
        let count = |mut counts: Vec<u64>, from: usize| {
            for row in (from..keys.len().min(from + ROWS_AT_ONCE)).filter(|row| keys.is_valid(*row))
            {
                if let Some(count) = counts.get_mut(keys.value(row) as usize) {
                    *count += 1;
                }
            }
            counts
        };
        let parts = (0..keys.len().div_ceil(ROWS_AT_ONCE)).into_par_iter();
        let parts = parts.map(|part| part * ROWS_AT_ONCE).fold(none, count);
        let counts = parts.reduce(none, |mut a, b| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        });
        let counts = Arc::new(counts);
        let bytes = size_of_val(counts.as_slice()) as u64;
        self.view.graph().keep(kept, &counts, bytes, self.cancel);
        Some(counts)
    }

    /// How many rows of a column of few texts have one of some words.
    fn of_words<'w>(
        &self,
        (side, name, cells): (&'static str, &str, &ColumnReader),
        words: impl Iterator<Item = &'w str> + Clone,
    ) -> Option<f64> {
        let counts = self.counts(side, name, cells)?;
        let Column::Text(text) = cells.column() else { return None };
        let (_, values) = text.dictionary()?;
        let is_one = |v: usize| values.get(v).is_some_and(|v| words.clone().any(|w| w == v));
        let counts = counts.iter().enumerate().filter(|(v, _)| is_one(*v));
        Some(counts.map(|(_, count)| *count as f64).sum())
    }

    /// How many of all rows hold, judged by some.
    fn sampled(rows: u32, holds: impl Fn(u32) -> bool) -> f64 {
        let sample = SAMPLE.min(u64::from(rows));
        let row = |i: u64| (i * u64::from(rows) / sample) as u32;
        let hits = (0..sample).filter(|i| holds(row(*i))).count() as f64;
        if sample == u64::from(rows) {
            return hits;
        }
        hits.max(NONE_OF_SAMPLE) * f64::from(rows) / sample as f64
    }

    fn labelled(&self, label: &str) -> f64 {
        let test = self.view.label_test(label);
        let typed = test.typed_cells().and_then(|cells| {
            self.of_words(("nodes", crate::graph_view::TYPE, cells), std::iter::once(label))
        });
        typed.unwrap_or_else(|| {
            Self::sampled(self.view.num_nodes(), |v| self.view.has_label(v, &test))
        })
    }

    /// How many nodes have a property; `None` where nothing tells.
    fn with(&self, wanted: &Wanted<'_>) -> Option<f64> {
        let given;
        let value = match wanted.value {
            Given::Value(value) => Some(value),
            Given::Param(name) => {
                given = Value::from_json(self.params.get(name)?);
                Some(&given)
            }
            Given::Unknown => None,
        };
        let values = match value {
            Some(Value::List(list)) if wanted.any => list.as_slice(),
            Some(value) => std::slice::from_ref(value),
            None => &[],
        };
        let is_id = wanted.key.is_none_or(|key| self.view.is_id(key));
        if is_id {
            return Some(values.len().max(1) as f64);
        }
        let key = wanted.key?;
        // No node has it.
        let Some(cells) = self.view.node_cells(key) else { return Some(0.0) };
        value?;
        let word = |v: &Value| {
            if let Value::Scalar(Scalar::Text(text)) = v { Some(Arc::clone(text)) } else { None }
        };
        let words: Option<Vec<Arc<str>>> = values.iter().map(word).collect();
        let counted =
            words.and_then(|w| self.of_words(("nodes", key, &cells), w.iter().map(|w| &**w)));
        if counted.is_some() || !self.view.rows_are_nodes() {
            return counted;
        }
        let index = match self.searches {
            true => Lookup::of(self.view, key, &cells, self.cancel),
            false => Lookup::kept(self.view, key),
        };
        if let Some(index) = index {
            let found: Option<Vec<usize>> =
                values.iter().map(|v| index.find(&cells, v).map(<[u32]>::len)).collect();
            if let Some(found) = found {
                return Some(found.iter().sum::<usize>() as f64);
            }
        }
        let is_one = |row: u32| {
            let mut orders = values.iter().filter_map(|v| order_of(&cells, row, v).flatten());
            orders.any(|order| Cmp::Eq.accepts(order))
        };
        let plain = |v: &Value| order_of(&cells, 0, v).is_some();
        (values.len() <= SAMPLE as usize && values.iter().all(plain))
            .then(|| Self::sampled(self.view.num_nodes(), is_one))
    }
}

impl Statistics for Known<'_> {
    fn nodes(&self, labels: &[&str], wanted: &[Wanted<'_>]) -> f64 {
        let labels = labels.iter().map(|label| self.labelled(label));
        let wanted = wanted.iter().filter_map(|w| self.with(w));
        // What a node is and what it has hang together: the rarest counts.
        labels.chain(wanted).fold(f64::from(self.view.num_nodes()), f64::min)
    }

    fn has_device(&self) -> bool {
        self.view.graph().tally_device().is_some()
    }

    fn relationships(&self, types: &[&str]) -> f64 {
        let all = self.view.topology().num_edges();
        if types.is_empty() {
            return f64::from(all);
        }
        let words: Vec<String> = types.iter().map(|t| (*t).to_owned()).collect();
        if let Some(relation) = Relation::kept(self.view, &words) {
            return f64::from(relation.topology().num_edges());
        }
        let Some(test) = self.view.type_test(words) else { return 0.0 };
        let cells = test.cells();
        let counted =
            self.of_words(("edges", crate::graph_view::TYPE, cells), types.iter().copied());
        counted.unwrap_or_else(|| Self::sampled(all, |row| test.holds(row)))
    }
}
