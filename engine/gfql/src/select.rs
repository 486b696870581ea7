//! The selection that a pattern keeps of a graph, and the tables made of it.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_buffer::{BooleanBuffer, Buffer};
use arrow_schema::{Field, Schema};
use arrow_select::filter::FilterBuilder;
use graphlume_expr::QueryError;
use graphlume_graph::{Graph, Topology};
use graphlume_store::PropertyGraph;
use graphlume_store::ids::{IdMap, IdSet, listed};
use graphlume_store::materialize::{Picked, bytes_of, taken_bytes};
use graphlume_table::Table;
use graphlume_types::{CancelToken, ResourcesExhausted};
use rayon::prelude::*;

use crate::hop::Marks;
use crate::tuning::tuning;

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
    ) -> Result<Sizes, QueryError> {
        let frame = graph.frame(cancel)?;
        let described = |v: &u32| graph.node_row(frame, *v).is_some();
        let plain = graph.rows_are_nodes(frame);
        let wider = |table: Option<&Table>, added: &[Added]| {
            let names = table.map(Table::column_names).unwrap_or_default();
            let new = added.iter().filter(|a| !names.contains(&a.name()));
            names.len() + new.count()
        };
        Ok(Sizes {
            nodes: match graph.nodes() {
                None if plain => self.nodes.len() as usize,
                Some(_) if plain => {
                    self.nodes.and(&IdSet::First(frame.nodes_in_table)).len() as usize
                }
                _ => self.nodes.iter().filter(described).count(),
            },
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
    ) -> Result<PropertyGraph, QueryError> {
        let frame = graph.frame(cancel)?;
        let (nodes, edges) = rayon::join(
            || self.gather_nodes(graph, frame, cancel),
            || self.gather_edges(graph, frame, cancel),
        );
        let (nodes, edges) = (nodes?, edges?);
        graph.replaced(Some(nodes), edges)
    }

    /// The graph of the kept nodes, and of the edges in some rows of their table, which are between these nodes.
    pub(crate) fn gather_rows(
        &self,
        graph: &PropertyGraph,
        edges: &Table,
        (rows, ends): (Vec<u32>, &[[u32; 2]]),
        cancel: &CancelToken,
    ) -> Result<PropertyGraph, QueryError> {
        let frame = graph.frame(cancel)?;
        let (nodes, edges) = rayon::join(
            || self.gather_nodes(graph, frame, cancel),
            || {
                take_bytes(edges, cancel, || taken_bytes(edges, &rows))?;
                let picked = Picked { graph, edges: true, rows, ends };
                Ok::<_, QueryError>(Table::try_new(picked.batch(edges)?)?)
            },
        );
        graph.replaced(Some(nodes?), Some(edges?))
    }

    fn gather_nodes(
        &self,
        graph: &PropertyGraph,
        frame: &Graph,
        cancel: &CancelToken,
    ) -> Result<Table, QueryError> {
        let table = graph.node_table(cancel)?;
        let (rows, ids) = if self.nodes.is_many() && graph.rows_are_nodes(frame) {
            let ids = if self.node_columns.is_empty() { vec![] } else { self.nodes.to_vec() };
            (Rows::of_set(&self.nodes, table.num_rows()), ids)
        } else {
            let (mut ids, mut rows) = (Vec::new(), Vec::new());
            for v in self.nodes.iter() {
                if let Some(row) = graph.node_row(frame, v) {
                    ids.push(v);
                    rows.push(row);
                }
            }
            (Rows::List(rows), ids)
        };
        take_bytes(&table, cancel, || rows.bytes(&table))?;
        cancel.take(added_bytes(rows.len(), &self.node_columns))?;
        let nodes = extended((graph, false), &table, rows, &ids, &self.node_columns)?;
        cancel.check()?;
        Ok(nodes)
    }

    fn gather_edges(
        &self,
        graph: &PropertyGraph,
        frame: &Graph,
        cancel: &CancelToken,
    ) -> Result<Option<Table>, QueryError> {
        let Some(table) = graph.edges() else { return Ok(None) };
        if self.edges.len() as usize == table.num_rows() && self.edge_columns.is_empty() {
            return Ok(Some(table.clone()));
        }
        let (rows, positions) = self.edge_rows(&frame.topology, table, cancel)?;
        take_bytes(table, cancel, || rows.bytes(table))?;
        cancel.take(added_bytes(rows.len(), &self.edge_columns))?;
        extended((graph, true), table, rows, &positions, &self.edge_columns).map(Some)
    }

    /// The rows of the kept edges, and their positions where columns are added.
    fn edge_rows(
        &self,
        t: &Topology,
        table: &Table,
        cancel: &CancelToken,
    ) -> Result<(Rows, Vec<u32>), QueryError> {
        let rows = t.out_row();
        if self.edges.is_many() && self.edge_columns.is_empty() {
            let marks = Marks::new(table.num_rows() as u32);
            let words = t.num_edges().div_ceil(64);
            (0..words).into_par_iter().with_min_len(1 << 8).for_each(|at| {
                let mut rest = self.edges.word(at * 64);
                while rest != 0 {
                    marks.insert(rows[(at * 64 + rest.trailing_zeros()) as usize]);
                    rest &= rest - 1;
                }
            });
            cancel.check()?;
            return Ok((Rows::of_set(&marks.finish(), table.num_rows()), vec![]));
        }
        let row = |position| (rows[position as usize], position);
        let mut order: Vec<(u32, u32)> = self.edges.iter().map(row).collect();
        order.sort_unstable();
        let (rows, positions) = order.into_iter().unzip();
        Ok((Rows::List(rows), positions))
    }
}

/// Rows of a table that are kept.
enum Rows {
    List(Vec<u32>),
    /// By their bits, and how many there are.
    Mask(Vec<u64>, usize),
}

impl Rows {
    /// The rows of a table of so many that are in a set.
    fn of_set(set: &IdSet, rows: usize) -> Self {
        let words: Vec<u64> = (0..rows as u32).step_by(64).map(|first| set.word(first)).collect();
        let count = words.iter().map(|word| word.count_ones() as usize).sum();
        Self::Mask(words, count)
    }

    fn len(&self) -> usize {
        match self {
            Self::List(rows) => rows.len(),
            Self::Mask(_, count) => *count,
        }
    }

    /// Bytes that the rows take once more.
    fn bytes(&self, table: &Table) -> u64 {
        match self {
            Self::List(rows) => taken_bytes(table, rows),
            Self::Mask(words, count) => bytes_of(table, *count, || set_bits(words)),
        }
    }

    /// The rows of the node table or the edge table of a graph.
    fn taken(
        self,
        (graph, edges): (&PropertyGraph, bool),
        table: &Table,
    ) -> Result<RecordBatch, QueryError> {
        let rows = match self {
            Self::Mask(_, count) if count == table.num_rows() => return Ok(table.batch().clone()),
            Self::Mask(words, count) if count > table.num_rows() / NEARLY_ALL.1 * NEARLY_ALL.0 => {
                return filtered(table, words, count);
            }
            Self::Mask(words, count) => {
                let mut rows = vec![0; count];
                listed(&words, &mut rows);
                rows
            }
            Self::List(rows) => rows,
        };
        Picked { graph, edges, rows, ends: &[] }.batch(table)
    }
}

/// The part of all rows beyond which what is kept is copied from gap to gap.
const NEARLY_ALL: (usize, usize) = (4, 5);

/// Most of the rows of a table, by their bits.
fn filtered(table: &Table, words: Vec<u64>, count: usize) -> Result<RecordBatch, QueryError> {
    let mask = BooleanBuffer::new(Buffer::from_vec(words), 0, table.num_rows());
    let filter = FilterBuilder::new(&BooleanArray::new(mask, None)).optimize().build();
    let columns = table.batch().columns().par_iter().map(|column| filter.filter(column));
    let columns: Result<Vec<_>, _> = columns.collect();
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    Ok(RecordBatch::try_new_with_options(table.batch().schema(), columns?, &options)?)
}

/// The numbers of the bits that are set.
fn set_bits(words: &[u64]) -> impl Iterator<Item = usize> {
    words.iter().zip((0..).step_by(64)).flat_map(|(word, first)| {
        let rest = std::iter::successors(Some(*word), |word| Some(word & word.wrapping_sub(1)));
        let rest = rest.take_while(|word| *word != 0);
        rest.map(move |word| first + word.trailing_zeros() as usize)
    })
}

/// The rows of the node table or the edge table of a graph with columns added; `elements` are the elements that the
/// rows stand for.
fn extended(
    side: (&PropertyGraph, bool),
    table: &Table,
    rows: Rows,
    elements: &[u32],
    added: &[Added],
) -> Result<Table, QueryError> {
    let batch = rows.taken(side, table)?;
    if added.is_empty() {
        return Ok(Table::try_new(batch)?);
    }
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
    let options = RecordBatchOptions::new().with_row_count(Some(elements.len()));
    Ok(Table::try_new(RecordBatch::try_new_with_options(schema, columns, &options)?)?)
}

fn added_bytes(rows: usize, columns: &[Added]) -> u64 {
    let cell = |c: &Added| if matches!(c, Added::Hops(..)) { 8 } else { 1 };
    rows as u64 * columns.iter().map(cell).sum::<u64>()
}

/// Takes the memory for rows of a table: of a small one for all of them, where there is so much.
fn take_bytes(
    table: &Table,
    cancel: &CancelToken,
    bytes: impl Fn() -> u64,
) -> Result<(), ResourcesExhausted> {
    let columns = table.batch().columns().iter();
    let all: u64 = columns.map(|column| column.get_array_memory_size() as u64).sum();
    if all <= tuning().small_bytes && cancel.take(all).is_ok() {
        return Ok(());
    }
    cancel.take(bytes())
}
