//! The numbers of a column's values in a byte each, kept with the graph.

use std::sync::Arc;

use arrow_array::Array;
use graphlume_graph::canon::Column;
use graphlume_types::CancelToken;

use crate::cache::CacheKey;
use crate::ids::ByteSet;
use crate::property_graph::PropertyGraph;
use crate::tuning::tuning;

/// The number of nulls among small numbers.
pub const SMALL_NULL: u8 = u8::MAX;

/// The numbers of a column's values in a byte each, so that a test reads a quarter of the memory; they are kept
/// with the graph. `None` for short columns and those of more values.
pub fn small(
    graph: &PropertyGraph,
    edges: bool,
    name: &str,
    column: &Column,
    cancel: &CancelToken,
) -> Option<Arc<Vec<u8>>> {
    let Column::Text(text) = column else { return None };
    let (keys, values) = text.dictionary()?;
    if keys.len() < tuning().small_codes_rows_min || values.len() > usize::from(SMALL_NULL) {
        return None;
    }
    if let Some(found) = kept_small(graph, edges, name) {
        return Some(found);
    }
    let mut codes: Vec<u8> = keys.values().iter().map(|key| *key as u8).collect();
    if let Some(nulls) = keys.nulls() {
        let rows = codes.iter_mut().zip(nulls);
        rows.filter(|(_, valid)| !valid).for_each(|(code, _)| *code = SMALL_NULL);
    }
    let codes = Arc::new(codes);
    let key = SmallCodes { edges, column: name.to_owned() };
    graph.keep(key, &codes, codes.len() as u64, cancel);
    Some(codes)
}

/// The small numbers of a column, if they were made; nulls have the last of all.
pub fn kept_small(graph: &PropertyGraph, edges: bool, name: &str) -> Option<Arc<Vec<u8>>> {
    graph.kept(&SmallCodes { edges, column: name.to_owned() })
}

/// The small numbers of a column of the edges or of the nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SmallCodes {
    edges: bool,
    column: String,
}

impl CacheKey for SmallCodes {
    type Value = Vec<u8>;
}

/// The small numbers whose values have a positive answer; `null` is the answer of a null.
pub fn small_set(answers: &[bool], null: bool) -> ByteSet {
    let mut set: ByteSet =
        (0..SMALL_NULL).zip(answers).filter(|(_, a)| **a).map(|(v, _)| v).collect();
    if null {
        set.insert(SMALL_NULL);
    }
    set
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
    use graphlume_table::{Table, TextColumn};

    use super::*;
    use crate::dictionary::{coded, narrow};
    use crate::property_graph::Bindings;

    fn text(cells: &[Option<&str>]) -> ArrayRef {
        graphlume_types::tuning::use_small(true);
        Arc::new(StringArray::from(cells.to_vec()))
    }

    /// The small numbers of a node column.
    fn small_codes(cells: &[Option<&str>], column: &TextColumn) -> Vec<u8> {
        let ids: ArrayRef = Arc::new((0..cells.len() as i64).collect::<Int64Array>());
        let batch = RecordBatch::try_from_iter([("id", ids), ("c", text(cells))]);
        let table = Table::try_new(batch.unwrap()).unwrap();
        let bindings = Bindings { node: Some("id".to_owned()), ..Bindings::default() };
        let graph = PropertyGraph::new(Some(table.clone()), None, bindings).unwrap();
        let own = graph.column(&table, false, "c").unwrap();
        let codes = small(&graph, false, "c", &own, &CancelToken::new()).unwrap();
        assert!(
            Arc::ptr_eq(&codes, &small(&graph, false, "c", &own, &CancelToken::new()).unwrap()),
            "it was kept"
        );
        let (keys, _) = column.dictionary().unwrap();
        for (row, code) in codes.iter().enumerate() {
            let wanted = if keys.is_valid(row) { keys.value(row) as u8 } else { SMALL_NULL };
            assert_eq!(*code, wanted);
        }
        codes.to_vec()
    }

    #[test]
    fn values_that_repeat_are_numbered_and_read_the_same() {
        let cells = [Some("a"), None, Some("b"), Some("a"), Some(""), Some("a"), None, Some("b")];
        let many: Vec<Option<&str>> = cells.iter().copied().cycle().take(64).collect();
        let array = coded(&text(&many)).unwrap();
        let column = TextColumn::try_new(&array).unwrap();
        assert!((0..64).all(|i| column.get(i) == many[i]));
        let (keys, values) = column.dictionary().unwrap();
        for wanted in [&["a"][..], &["a", "b"], &[]] {
            let answers: Vec<bool> =
                (0..values.len()).map(|i| wanted.contains(&values.get(i).unwrap())).collect();
            for null in [false, true] {
                let mut marks = vec![true; 60];
                narrow(keys, &answers, null, 4, &mut marks);
                let holds = |c: &Option<&str>| c.map_or(null, |c| wanted.contains(&c));
                let set = small_set(&answers, null);
                let codes = small_codes(&many, &column);
                assert!((0..60).all(|i| marks[i] == set.contains(codes[i + 4])));
                assert_eq!(marks, many[4..].iter().map(holds).collect::<Vec<_>>());
            }
        }
        let plain: Vec<_> = many.iter().map(|c| c.or(Some("n"))).collect();
        let plain = TextColumn::try_new(&coded(&text(&plain)).unwrap()).unwrap();
        let (keys, values) = plain.dictionary().unwrap();
        let answers: Vec<bool> = (0..values.len()).map(|i| values.get(i) == Some("b")).collect();
        let mut marks = vec![true; 64];
        narrow(keys, &answers, false, 0, &mut marks);
        assert!((0..64).all(|i| marks[i] == (plain.get(i) == Some("b"))));
    }

    #[test]
    fn values_that_hardly_repeat_stay_text() {
        let cells: Vec<String> = (0..64).map(|i| format!("v{}", i / 2)).collect();
        assert!(
            coded(&text(&cells.iter().map(|c| Some(c.as_str())).collect::<Vec<_>>())).is_none()
        );
    }
}
