//! Rows of a graph's tables as columns, each by the way that reads least.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::DataType;
use graphlume_expr::QueryError;
use graphlume_graph::canon::Column;
use graphlume_table::Table;
use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::filter::{SMALL_NULL, kept_small};
use crate::materialize::written;
use crate::property_graph::PropertyGraph;
use crate::tuning::tuning;

/// Rows of the node table or of the edge table of a graph.
pub struct Picked<'a> {
    /// The graph.
    pub graph: &'a PropertyGraph,
    /// Whether the rows are of the edge table.
    pub edges: bool,
    /// The rows.
    pub rows: Vec<u32>,
    /// The nodes at the ends of the rows, where they are known; else nothing.
    pub ends: &'a [[u32; 2]],
}

impl Picked<'_> {
    /// The rows of the table, in their order.
    ///
    /// # Errors
    /// [`QueryError`] when the rows do not fit one table.
    pub fn batch(self, table: &Table) -> Result<RecordBatch, QueryError> {
        let Self { graph, edges, rows, ends } = self;
        let whole =
            rows.len() == table.num_rows() && rows.iter().zip(0..).all(|(row, i)| *row == i);
        if whole {
            return Ok(table.batch().clone());
        }
        let rows = UInt32Array::from(rows);
        let of = |(column, name): (&ArrayRef, &str)| {
            end_column(graph, name, column, ends)
                .filter(|_| edges)
                .or_else(|| text_column(graph, edges, name, column, rows.values()))
                .map_or_else(|| arrow_select::take::take(column.as_ref(), &rows, None), Ok)
        };
        let (columns, names) = (table.batch().columns(), table.column_names());
        let columns: Result<Vec<_>, _> = if rows.len() < tuning().gather_rows_shared {
            columns.iter().zip(names).map(of).collect()
        } else {
            columns.par_iter().zip(names).map(of).collect()
        };
        // Rows without columns are nothing but their number.
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        Ok(RecordBatch::try_new_with_options(table.batch().schema(), columns?, &options)?)
    }
}

/// The sources or destinations of edges, from the ids of their nodes: these are fewer than the rows of the column.
fn end_column(
    graph: &PropertyGraph,
    name: &str,
    column: &ArrayRef,
    ends: &[[u32; 2]],
) -> Option<ArrayRef> {
    let bindings = graph.bindings();
    let side = match Some(name) {
        _ if ends.is_empty() => return None,
        name if name == bindings.source.as_deref() => 0,
        name if name == bindings.destination.as_deref() => 1,
        _ => return None,
    };
    let ids = &graph.frame(&CancelToken::new()).ok()?.ids;
    // Ids of one kind that are equal are the same.
    let same = *column.data_type() == DataType::Int64 && *ids.data_type() == DataType::Int64;
    if !same || ids.null_count() > 0 {
        return None;
    }
    let ids = ids.as_primitive::<Int64Type>().values();
    let cells: Vec<i64> = match counted_from(ids, ends.len()) {
        Some(first) => ends.iter().map(|ends| first + i64::from(ends[side])).collect(),
        None => ends.iter().map(|ends| ids[ends[side] as usize]).collect(),
    };
    Some(Arc::new(Int64Array::from(cells)))
}

/// The first of ids that count upwards one by one, as those of most generated graphs do: then the others need not
/// be read one at a time. `None` too where finding out takes longer than reading `rows` of them.
fn counted_from(ids: &[i64], rows: usize) -> Option<i64> {
    const AT_ONCE: usize = 1 << 10;
    let (first, last) = (*ids.first()?, *ids.last()?);
    let span = i64::try_from(ids.len() - 1).ok()?;
    if ids.len() / 4 > rows || last.checked_sub(first) != Some(span) {
        return None;
    }
    // Of ids at the very ends of the numbers the sums may wrap, and are still those of their places.
    let counts = |(i, block): (usize, &[i64])| {
        let from = first.wrapping_add((i * AT_ONCE) as i64);
        let off = |(id, i): (&i64, i64)| id ^ from.wrapping_add(i);
        block.iter().zip(0..).map(off).fold(0, |all, off| all | off) == 0
    };
    ids.chunks(AT_ONCE).enumerate().all(counts).then_some(first)
}

/// The cells of a column of text whose values are numbered.
fn text_column(
    graph: &PropertyGraph,
    edges: bool,
    name: &str,
    column: &ArrayRef,
    rows: &[u32],
) -> Option<ArrayRef> {
    let known = graph.known_column(edges, name)?;
    let Column::Text(text) = &*known else { return None };
    let (keys, values) = text.dictionary()?;
    let plain = matches!(column.data_type(), DataType::Utf8 | DataType::LargeUtf8);
    if !plain || keys.len() != column.len() || values.len() > usize::from(SMALL_NULL) {
        return None;
    }
    let code = |row: usize| if keys.is_valid(row) { keys.value(row) as u8 } else { SMALL_NULL };
    let codes: Vec<u8> = match kept_small(graph, edges, name) {
        Some(codes) => rows.iter().map(|row| codes[*row as usize]).collect(),
        None => rows.iter().map(|row| code(*row as usize)).collect(),
    };
    match column.data_type() {
        DataType::Utf8 => written::<i32>(&codes, values),
        _ => written::<i64>(&codes, values),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow_array::{Float64Array, LargeStringArray, StringArray};
    use graphlume_types::hash::h64;

    use super::*;
    use crate::property_graph::Bindings;

    /// Edges with columns of every kind that is gathered in a way of its own.
    fn graph(rows: u64) -> PropertyGraph {
        let draw = |stream, below: u64| (0..rows).map(move |i| h64(5, stream, i) % below);
        let end = |stream| Arc::new(draw(stream, 40).map(|v| v as i64).collect::<Int64Array>());
        let word = |v: u64| (v > 0).then(|| format!("w{v}"));
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("s", end(1) as ArrayRef, true),
            ("d", end(2), true),
            ("few", Arc::new(draw(3, 4).map(word).collect::<StringArray>()), true),
            ("large", Arc::new(draw(4, 4).map(word).collect::<LargeStringArray>()), true),
            ("many", Arc::new(draw(5, 1 << 40).map(word).collect::<StringArray>()), true),
            ("f", Arc::new(draw(6, 9).map(|v| v as f64).collect::<Float64Array>()), true),
        ]);
        let name = |n: &str| Some(n.to_owned());
        let bindings = Bindings { node: None, source: name("s"), destination: name("d") };
        let table = Table::try_new(batch.unwrap()).unwrap();
        PropertyGraph::new(None, Some(table), bindings).unwrap()
    }

    #[test]
    fn ids_that_count_upwards_are_told_from_others() {
        for (first, n) in [(0_i64, 1), (-7, 3000), (i64::MAX - 1023, 1024), (i64::MIN, 2048)] {
            let ids: Vec<i64> = (0..n).map(|i| first.wrapping_add(i)).collect();
            assert_eq!(counted_from(&ids, ids.len()), Some(first));
            assert_eq!(counted_from(&ids, ids.len() / 4), Some(first));
            for (a, b) in [(1, 2), (1, 1030), (1023, 1024), (1500, 1501)] {
                let mut swapped = ids.clone();
                if b < swapped.len() - 1 {
                    swapped.swap(a, b);
                    assert_eq!(counted_from(&swapped, ids.len()), None, "{a} {b}");
                }
            }
        }
        assert_eq!(counted_from(&[], 9), None);
        assert_eq!(counted_from(&[i64::MIN, 0, i64::MAX], 9), None);
        assert_eq!(counted_from(&[3, 4, 6], 9), None);
        assert_eq!(counted_from(&(0..100).collect::<Vec<_>>(), 9), None, "finding out costs more");
    }

    #[test]
    fn every_way_gives_the_rows_of_the_table() {
        let graph = graph(300);
        let table = graph.edges().unwrap();
        let cancel = CancelToken::new();
        let all = graph.row_ends(&cancel).unwrap();
        let known = ["few", "large", "many"];
        assert!(known.iter().all(|name| graph.column(table, true, name).is_some()));
        for step in [1, 2, 7, 299] {
            let rows: Vec<u32> = (0..300).step_by(step).collect();
            let wanted = arrow_select::take::take_record_batch(
                table.batch(),
                &UInt32Array::from(rows.clone()),
            );
            let ends: Vec<[u32; 2]> = rows.iter().map(|row| all[*row as usize]).collect();
            for ends in [&ends[..], &[]] {
                let picked = Picked { graph: &graph, edges: true, rows: rows.clone(), ends };
                assert_eq!(picked.batch(table).unwrap(), *wanted.as_ref().unwrap(), "{step}");
            }
        }
    }
}
