//! Tables to graph.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, UInt32Array, new_null_array};
use graphlume_table::{Table, TableError};
use graphlume_types::CancelToken;
use graphlume_types::limits::{EDGES_MAX, NODES_MAX};
use rayon::prelude::*;

use crate::canon::{Canon, Column};
use crate::renumber::NONE;
use crate::{GraphError, Topology, columns, ids};

/// Which columns make the graph.
#[derive(Debug, Clone, Copy)]
pub struct GraphSpec<'a> {
    /// The edge table.
    pub edges: &'a Table,
    /// Column of the sources.
    pub source: &'a str,
    /// Column of the destinations.
    pub destination: &'a str,
    /// The node table, if there is one.
    pub nodes: Option<&'a Table>,
    /// Column of the node ids; without it the node table only lists properties that match no edge, and
    /// is left aside.
    pub node: Option<&'a str>,
}

/// Topology and the way back from node indices to ids and rows.
#[derive(Debug, Clone)]
pub struct Graph {
    /// The edges.
    pub topology: Arc<Topology>,
    /// Node index to user id, of the ids' own type where all columns agree on one.
    pub ids: ArrayRef,
    /// Node index to row of the node table; `u32::MAX` for a node that only edges mention. `None` when
    /// the first [`Self::nodes_in_table`] nodes are the rows of the node table in order.
    pub node_row: Option<Vec<u32>>,
    /// Nodes that have a row in the node table: these are the first indices.
    pub nodes_in_table: u32,
}

/// In the place of a node where there is none.
pub const NO_NODE: u32 = u32::MAX;

impl Graph {
    /// Whether the ids are texts.
    #[must_use]
    pub fn has_text_ids(&self) -> bool {
        use arrow_schema::DataType::{LargeUtf8, Utf8, Utf8View};
        matches!(self.ids.data_type(), Utf8 | LargeUtf8 | Utf8View)
    }

    /// The ids of nodes, null for none. [`NO_NODE`] is -1 among whole numbers, as libraries write it, and
    /// null among other ids.
    #[must_use]
    pub fn ids_at(&self, nodes: &[Option<u32>]) -> ArrayRef {
        if let Ok(ids @ (Column::Int(_) | Column::UInt(_))) = Column::try_new(&self.ids) {
            let id = |v: &Option<u32>| match v {
                Some(NO_NODE) => Some(-1),
                Some(v) => match ids.get(*v as usize) {
                    Some(Canon::Int(id)) => Some(id),
                    _ => None,
                },
                None => None,
            };
            return Arc::new(nodes.iter().map(id).collect::<Int64Array>());
        }
        let known = |v: &Option<u32>| v.filter(|v| (*v as usize) < self.ids.len());
        let places = nodes.iter().map(known).collect::<UInt32Array>();
        let taken = arrow_select::take::take(self.ids.as_ref(), &places, None);
        taken.unwrap_or_else(|_| new_null_array(self.ids.data_type(), nodes.len()))
    }

    /// The node table with a row for every node, in the order of the nodes; cells of nodes that only edges name
    /// are null.
    ///
    /// # Errors
    /// [`TableError`] when the table is not the one of which the graph was made.
    pub fn whole_table(&self, table: &Table, id: &str) -> Result<Table, TableError> {
        let n = self.topology.num_nodes();
        if self.node_row.is_none() && self.nodes_in_table == n {
            return Ok(table.clone());
        }
        let rows: Vec<u32> = (0..n).map(|v| self.row_of(v).unwrap_or(u32::MAX)).collect();
        table.pick(&rows)?.with_column(id, Arc::clone(&self.ids))
    }

    /// Row of the node table that describes node `v`.
    #[must_use]
    pub fn row_of(&self, v: u32) -> Option<u32> {
        if v >= self.nodes_in_table {
            return None;
        }
        match &self.node_row {
            Some(rows) => rows.get(v as usize).copied().filter(|r| *r != u32::MAX),
            None => Some(v),
        }
    }

    /// The id of node `v` as text.
    #[must_use]
    pub fn id_text(&self, v: u32) -> String {
        graphlume_table::cell_text(self.ids.as_ref(), v as usize).unwrap_or_default()
    }

    /// Bytes held, without the tables.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let rows = self.node_row.as_ref().map_or(0, |r| r.capacity() as u64 * 4);
        self.topology.memory_bytes() + self.ids.get_buffer_memory_size() as u64 + rows
    }
}

/// Renumbers the ids and builds the adjacency.
///
/// # Errors
/// [`GraphError`]: an unknown column, ids of a type without values, too many elements, cancellation.
pub fn build(spec: &GraphSpec<'_>, cancel: &CancelToken) -> Result<Graph, GraphError> {
    let mut arrays = Vec::with_capacity(3);
    let mut id_columns = Vec::with_capacity(3);
    let bound = spec.nodes.zip(spec.node);
    let ends = [("source", spec.source), ("destination", spec.destination)];
    let wanted = bound.map(|(table, name)| ("node", name, table, "nodes"));
    let wanted = wanted.into_iter().chain(ends.map(|(role, n)| (role, n, spec.edges, "edges")));
    for (role, name, table, label) in wanted {
        let array = table
            .column(name)
            .ok_or_else(|| GraphError::unknown_column(role, name, label, &table.column_names()))?;
        id_columns.push(Column::try_new(array).map_err(|_| GraphError::IdType {
            role,
            name: name.to_owned(),
            dtype: array.data_type().to_string(),
        })?);
        arrays.push(array);
    }
    let rows = spec.edges.num_rows() as u64;
    let total: u64 = id_columns.iter().map(|c| c.len() as u64).sum();
    if rows > EDGES_MAX {
        return Err(GraphError::TooManyEdges(rows));
    }
    // Items of all id columns are counted in 32 bits while they are numbered.
    if total > NODES_MAX {
        return Err(GraphError::TooManyNodes(total));
    }
    let numbers = columns::number_columns(&id_columns, cancel)?;
    let ids = ids::gather(&arrays, &id_columns, &numbers.firsts)
        .map_err(|e| GraphError::Internal(e.to_string()))?;
    drop(id_columns);
    let n = numbers.firsts.len() as u32;
    let (nodes_in_table, node_row) = match bound {
        Some((table, _)) => rows_of_nodes(&numbers.firsts, table.num_rows()),
        None => (0, None),
    };
    let [.., src, dst] = numbers.columns.as_slice() else {
        return Err(GraphError::Internal("an id column got lost".to_owned()));
    };
    cancel.check()?;
    let topology = adjacency(n, src, dst);
    cancel.check()?;
    Ok(Graph { topology: Arc::new(topology), ids, node_row, nodes_in_table })
}

/// How many nodes the node table describes, and their rows unless those are simply `0..count`.
fn rows_of_nodes(firsts: &[(u32, u32)], table_rows: usize) -> (u32, Option<Vec<u32>>) {
    let count = firsts.partition_point(|(lane, _)| *lane == 0);
    if count == table_rows {
        return (count as u32, None);
    }
    let row = |(lane, row): &(u32, u32)| if *lane == 0 { *row } else { NONE };
    (count as u32, Some(firsts.iter().map(row).collect()))
}

/// The adjacency of the rows with both endpoints.
fn adjacency(n: u32, src: &[u32], dst: &[u32]) -> Topology {
    let complete = |row: &u32| src[*row as usize] != NONE && dst[*row as usize] != NONE;
    let rows: Vec<u32> = (0..src.len() as u32).into_par_iter().filter(complete).collect();
    if rows.len() == src.len() {
        return Topology::from_coo(n, src, dst);
    }
    let pick = |ends: &[u32]| rows.par_iter().map(|r| ends[*r as usize]).collect::<Vec<_>>();
    Topology::from_rows(n, &pick(src), &pick(dst), Some(&rows))
}
