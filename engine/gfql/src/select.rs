//! What a pattern keeps of a graph, and the tables made of it.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Int64Array, LargeStringArray, RecordBatch, StringArray,
    UInt32Array,
};
use arrow_schema::{Field, Schema};
use graphlume_table::Table;
use graphlume_types::CancelToken;

use crate::error::GfqlError;
use crate::graph::PropertyGraph;
use crate::set::{IdMap, IdSet};

/// A column that a query adds.
pub(crate) enum Added {
    /// Whether the element belongs to a step.
    Marker(String, IdSet),
    /// The hop that reached it.
    Hops(String, IdMap<u32>),
}

impl Added {
    fn name(&self) -> &str {
        match self {
            Self::Marker(name, _) | Self::Hops(name, _) => name,
        }
    }
}

/// Rows and columns of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Nodes, or rows of a row result.
    pub nodes: usize,
    /// Columns of the nodes.
    pub node_columns: usize,
    /// Edges.
    pub edges: usize,
    /// Columns of the edges.
    pub edge_columns: usize,
}

/// Kept nodes, and kept edges by position in the adjacency.
pub(crate) struct Selection {
    pub(crate) nodes: IdSet,
    pub(crate) edges: IdSet,
    pub(crate) node_columns: Vec<Added>,
    pub(crate) edge_columns: Vec<Added>,
}

impl Selection {
    /// How large the tables of [`Selection::gather`] are, without making them.
    pub(crate) fn sizes(
        &self,
        graph: &PropertyGraph,
        cancel: &CancelToken,
    ) -> Result<Sizes, GfqlError> {
        let frame = graph.frame(cancel)?;
        let described = |v: &u32| graph.node_row(frame, *v).is_some();
        let wider = |table: Option<&Table>, added: &[Added]| {
            let names = table.map(Table::column_names).unwrap_or_default();
            let new = added.iter().filter(|a| !names.contains(&a.name()));
            names.len() + new.count()
        };
        Ok(Sizes {
            nodes: self.nodes.iter().filter(described).count(),
            // Without a node table there is the column of ids.
            node_columns: wider(graph.nodes(), &self.node_columns)
                + usize::from(graph.nodes().is_none()),
            edges: self.edges.len() as usize,
            edge_columns: wider(graph.edges(), &self.edge_columns),
        })
    }

    /// The graph of the kept elements, in the order of the input.
    pub(crate) fn gather(
        &self,
        graph: &PropertyGraph,
        cancel: &CancelToken,
    ) -> Result<PropertyGraph, GfqlError> {
        let frame = graph.frame(cancel)?;
        let (mut ids, mut rows) = (Vec::new(), Vec::new());
        for v in self.nodes.iter() {
            if let Some(row) = graph.node_row(frame, v) {
                ids.push(v);
                rows.push(row);
            }
        }
        let table = graph.node_table(cancel)?;
        cancel.take(taken_bytes(&table, &rows) + added_bytes(&rows, &self.node_columns))?;
        let nodes = extended(&table, rows, &ids, &self.node_columns)?;
        cancel.check()?;
        let edges = match graph.edges() {
            None => None,
            Some(table)
                if self.edges.len() as usize == table.num_rows()
                    && self.edge_columns.is_empty() =>
            {
                Some(table.clone())
            }
            Some(table) => {
                let all_rows = frame.topology.out_row();
                let mut order: Vec<(u32, u32)> = self
                    .edges
                    .iter()
                    .map(|position| (all_rows[position as usize], position))
                    .collect();
                order.sort_unstable();
                let (rows, positions): (Vec<u32>, Vec<u32>) = order.into_iter().unzip();
                cancel.take(taken_bytes(table, &rows) + added_bytes(&rows, &self.edge_columns))?;
                Some(extended(table, rows, &positions, &self.edge_columns)?)
            }
        };
        graph.replaced(Some(nodes), edges)
    }
}

/// The rows of a table with columns added; `elements` are the elements that the rows stand for.
fn extended(
    table: &Table,
    rows: Vec<u32>,
    elements: &[u32],
    added: &[Added],
) -> Result<Table, GfqlError> {
    let batch = taken(table, rows)?;
    let mut fields: Vec<Arc<Field>> = batch.schema_ref().fields().iter().cloned().collect();
    let mut columns = batch.columns().to_vec();
    for column in added {
        let (name, array): (&str, ArrayRef) = match column {
            Added::Marker(name, set) => {
                let cells = elements.iter().map(|e| Some(set.contains(*e)));
                (name, Arc::new(cells.collect::<BooleanArray>()))
            }
            Added::Hops(name, hops) => {
                let cells = elements.iter().map(|e| hops.get(e).map(|h| i64::from(*h)));
                (name, Arc::new(cells.collect::<Int64Array>()))
            }
        };
        let field = Arc::new(Field::new(name, array.data_type().clone(), true));
        match fields.iter().position(|f| f.name() == name) {
            Some(at) => (fields[at], columns[at]) = (field, array),
            None => {
                fields.push(field);
                columns.push(array);
            }
        }
    }
    let schema = Arc::new(Schema::new(fields));
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(elements.len()));
    Ok(Table::try_new(RecordBatch::try_new_with_options(schema, columns, &options)?)?)
}

fn added_bytes(rows: &[u32], columns: &[Added]) -> u64 {
    let cell = |c: &Added| if matches!(c, Added::Hops(..)) { 8 } else { 1 };
    rows.len() as u64 * columns.iter().map(cell).sum::<u64>()
}

/// Bytes that the rows of a table take once more: the texts of just these rows, and of all other columns
/// the mean of a row.
pub(crate) fn taken_bytes(table: &Table, rows: &[u32]) -> u64 {
    let of = |array: &ArrayRef| {
        let texts = |length: &dyn Fn(usize) -> u64| {
            rows.iter().map(|r| length(*r as usize) + 8).sum::<u64>()
        };
        if let Some(text) = array.as_any().downcast_ref::<StringArray>() {
            return texts(&|r| text.value_length(r).unsigned_abs().into());
        }
        if let Some(text) = array.as_any().downcast_ref::<LargeStringArray>() {
            return texts(&|r| text.value_length(r).unsigned_abs());
        }
        let all = array.get_array_memory_size() as u64;
        (u128::from(all) * rows.len() as u128 / array.len().max(1) as u128) as u64
    };
    table.batch().columns().iter().map(of).sum()
}

/// The rows of a table, in the order given.
pub(crate) fn taken(table: &Table, rows: Vec<u32>) -> Result<RecordBatch, GfqlError> {
    let whole =
        rows.len() == table.num_rows() && rows.iter().enumerate().all(|(i, r)| i as u32 == *r);
    if whole {
        return Ok(table.batch().clone());
    }
    if table.num_cols() == 0 {
        // Rows without columns are nothing but their number.
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let schema = table.batch().schema();
        return Ok(RecordBatch::try_new_with_options(schema, vec![], &options)?);
    }
    Ok(arrow_select::take::take_record_batch(table.batch(), &UInt32Array::from(rows))?)
}

/// The rows of a table as a table.
pub(crate) fn take(table: &Table, rows: Vec<u32>) -> Result<Table, GfqlError> {
    Ok(Table::try_new(taken(table, rows)?)?)
}
