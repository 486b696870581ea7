//! The graph that a query sees: tables, bindings, and adjacency built when the first step needs it.

mod derived;
mod devices;
mod positions;

pub use positions::PositionColumns;

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock};

use arrow_array::{ArrayRef, RecordBatch, new_empty_array};
use arrow_schema::{DataType, Field, Schema};
use graphlume_algo::Accelerator;
use graphlume_expr::{ErrorCode, QueryError, TableDevice};
use graphlume_graph::canon::Column;
use graphlume_graph::{Graph, GraphSpec, Topology, build};
use graphlume_table::Table;
use graphlume_types::CancelToken;

use crate::cache::{Cache, CacheKey, made};
use crate::chain_job::ChainDevice;
use crate::ids::IdSet;
use crate::tally_job::TallyDevice;

/// Name of the id column of nodes that only edges mention.
pub const NODE_ID: &str = "id";

/// The ends of the rows of the edge table, see [`PropertyGraph::row_ends`].
#[derive(Clone, Debug, PartialEq, Eq)]
struct RowEnds;

impl CacheKey for RowEnds {
    type Value = Vec<[u32; 2]>;
}

/// A call of a function by its name: an operation of a query, and what a graph remembers of how it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct CallOp {
    /// Its name.
    pub function: String,
    /// Its parameters.
    pub params: serde_json::Map<String, serde_json::Value>,
}

/// Which columns make the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings {
    /// Column of the node ids.
    pub node: Option<String>,
    /// Column of the sources.
    pub source: Option<String>,
    /// Column of the destinations.
    pub destination: Option<String>,
}

/// A graph with properties. Cloning shares everything.
#[derive(Clone, Debug)]
pub struct PropertyGraph {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    nodes: Option<Table>,
    edges: Option<Table>,
    bindings: Bindings,
    /// Column of the edges' weights.
    weight: Option<String>,
    /// Columns of the nodes' positions.
    positions: PositionColumns,
    /// The GPU on which algorithms may run.
    accelerator: Option<Arc<dyn Accelerator>>,
    /// The GPU that keeps copies of these tables.
    table_device: Option<Arc<dyn TableDevice>>,
    /// The GPU that keeps a copy of this graph.
    chain_device: Option<Arc<dyn ChainDevice>>,
    /// The GPU on which paths of this graph are counted.
    tally_device: Option<Arc<dyn TallyDevice>>,
    frame: OnceLock<Arc<Graph>>,
    columns: Mutex<HashMap<(bool, String), Arc<Column>>>,
    ids: OnceLock<Vec<(u64, u32)>>,
    /// The ids of all nodes, ready to be compared.
    id_column: OnceLock<Option<Column>>,
    /// How often an id was looked for without an index.
    looks: AtomicUsize,
    row_nodes: OnceLock<Vec<u32>>,
    derived: Cache,
    /// What follows from the adjacency alone: graphs of the same adjacency share it.
    of_frame: Arc<Cache>,
    notes: Vec<CallOp>,
}

impl PropertyGraph {
    /// A graph of these tables.
    ///
    /// # Errors
    /// [`ErrorCode::NoGraph`] without any table, or when a bound column is not in its table.
    pub fn new(
        nodes: Option<Table>,
        edges: Option<Table>,
        bindings: Bindings,
    ) -> Result<Self, QueryError> {
        // A node table without known ids cannot be matched with anything.
        let nodes = nodes.filter(|_| bindings.node.is_some());
        if nodes.is_none() && edges.is_none() {
            return Err(QueryError::new(
                ErrorCode::NoGraph,
                "the dataset has no nodes and no edges",
            ));
        }
        let Bindings { node, source, destination } = &bindings;
        let wanted =
            [(&nodes, node, "node"), (&edges, source, "edge"), (&edges, destination, "edge")];
        for (table, column, kind) in wanted {
            if let (Some(table), Some(column)) = (table, column)
                && table.column(column).is_none()
            {
                return Err(QueryError::no_column(column, kind, &table.column_names()));
            }
        }
        if edges.is_some() && (source.is_none() || destination.is_none()) {
            let text = "the edges have no source and destination columns";
            return Err(QueryError::new(ErrorCode::NoGraph, text).suggest("bind both columns"));
        }
        Ok(Self::unchecked(nodes, edges, bindings, OnceLock::new()))
    }

    /// A graph whose adjacency is already there.
    #[must_use]
    pub fn with_frame(
        nodes: Option<Table>,
        edges: Table,
        bindings: Bindings,
        frame: Arc<Graph>,
    ) -> Self {
        let nodes = nodes.filter(|_| bindings.node.is_some());
        Self::unchecked(nodes, Some(edges), bindings, OnceLock::from(frame))
    }

    /// The same graph with a row of the node table for every node, so that those that only edges name are nodes too.
    ///
    /// # Errors
    /// Those of [`PropertyGraph::frame`].
    pub fn with_every_node(self, cancel: &CancelToken) -> Result<Self, QueryError> {
        let parts = self.nodes().zip(self.inner.bindings.node.as_deref()).zip(self.edges());
        let Some(((nodes, id), edges)) = parts else { return Ok(self) };
        let frame = self.frame(cancel)?;
        if frame.nodes_in_table == frame.topology.num_nodes() {
            return Ok(self);
        }
        let frame = Graph {
            topology: Arc::clone(&frame.topology),
            ids: ArrayRef::clone(&frame.ids),
            node_row: None,
            nodes_in_table: frame.topology.num_nodes(),
        };
        let nodes = self.frame(cancel)?.whole_table(nodes, id)?;
        let (edges, bindings) = (edges.clone(), self.inner.bindings.clone());
        let graph = Self::with_frame(Some(nodes), edges, bindings, Arc::new(frame));
        Ok(graph.like(self.inner.as_ref()))
    }

    fn unchecked(
        nodes: Option<Table>,
        edges: Option<Table>,
        bindings: Bindings,
        frame: OnceLock<Arc<Graph>>,
    ) -> Self {
        let inner = Inner {
            nodes,
            edges,
            bindings,
            weight: None,
            positions: PositionColumns::default(),
            accelerator: None,
            table_device: None,
            chain_device: None,
            tally_device: None,
            frame,
            columns: Mutex::default(),
            ids: OnceLock::new(),
            id_column: OnceLock::new(),
            looks: AtomicUsize::new(0),
            row_nodes: OnceLock::new(),
            derived: Cache::default(),
            of_frame: Arc::default(),
            notes: vec![],
        };
        Self { inner: Arc::new(inner) }
    }

    /// Whether this is the very same graph, and not one like it.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// The node table, if one was bound.
    #[must_use]
    pub fn nodes(&self) -> Option<&Table> {
        self.inner.nodes.as_ref()
    }

    /// The edge table.
    #[must_use]
    pub fn edges(&self) -> Option<&Table> {
        self.inner.edges.as_ref()
    }

    /// The bound columns.
    #[must_use]
    pub fn bindings(&self) -> &Bindings {
        &self.inner.bindings
    }

    /// The same bindings over other tables; the id column of nodes is always named.
    ///
    /// # Errors
    /// Those of [`PropertyGraph::new`].
    pub fn replaced(&self, nodes: Option<Table>, edges: Option<Table>) -> Result<Self, QueryError> {
        let mut bindings = self.inner.bindings.clone();
        bindings.node.get_or_insert_with(|| NODE_ID.to_owned());
        let mut graph = Self::new(nodes, edges, bindings)?.like(self.inner.as_ref());
        if let Some(frame) = self.frame_of(&graph)
            && let Some(inner) = Arc::get_mut(&mut graph.inner)
        {
            inner.frame = OnceLock::from(frame);
            inner.of_frame = Arc::clone(&self.inner.of_frame);
        }
        Ok(graph)
    }

    /// The adjacency of `other`, where that is the one of this graph because the columns of ids are the same.
    fn frame_of(&self, other: &Self) -> Option<Arc<Graph>> {
        let frame = self.inner.frame.get()?;
        let ends = |graph: &Self| {
            let (edges, bindings) = (graph.edges()?, graph.bindings());
            let column = |name: &Option<String>| edges.column(name.as_deref()?).cloned();
            Some([column(&bindings.source)?, column(&bindings.destination)?])
        };
        let same = |(a, b): (&ArrayRef, &ArrayRef)| Arc::ptr_eq(a, b);
        if !ends(self)?.iter().zip(&ends(other)?).all(same) {
            return None;
        }
        let ids = |graph: &Self| graph.nodes()?.column(graph.node_column()).cloned();
        match (ids(self), ids(other)) {
            (None, None) => Some(Arc::clone(frame)),
            (Some(own), Some(ids)) if same((&own, &ids)) => Some(Arc::clone(frame)),
            // A row for each node, in the order of the nodes.
            (None, Some(ids)) if self.nodes().is_none() && same((&ids, &frame.ids)) => {
                Some(Arc::new(Graph {
                    topology: Arc::clone(&frame.topology),
                    ids,
                    node_row: None,
                    nodes_in_table: frame.topology.num_nodes(),
                }))
            }
            _ => None,
        }
    }

    /// The same nodes, or none, over other edges.
    ///
    /// # Errors
    /// Those of [`PropertyGraph::new`].
    pub fn with_edges(&self, edges: Table) -> Result<Self, QueryError> {
        let nodes = self.inner.nodes.clone();
        let graph = Self::new(nodes, Some(edges), self.inner.bindings.clone())?;
        Ok(graph.like(self.inner.as_ref()))
    }

    /// Rows in the place of nodes, beside an edge table without rows. What is asked of such a graph as a
    /// graph is refused when its id column is not among the rows.
    #[must_use]
    pub fn of_rows(rows: Table, edges: Option<&Table>) -> Self {
        let none = edges.and_then(|t| Table::try_new(t.batch().slice(0, 0)).ok());
        Self::unchecked(Some(rows), none, Bindings::default(), OnceLock::new())
    }

    /// Whether this is a table of rows and no graph.
    pub fn is_rows(&self) -> bool {
        self.inner.nodes.is_some() && self.inner.bindings.node.is_none()
    }

    /// Remembers a call that changes how the graph is shown.
    pub fn noted(&self, call: &CallOp) -> Self {
        let mut notes = self.inner.notes.clone();
        notes.push(call.clone());
        let inner = &self.inner;
        let copy = Self::unchecked(
            inner.nodes.clone(),
            inner.edges.clone(),
            inner.bindings.clone(),
            inner.frame.clone(),
        );
        let mut copy = copy.like(inner);
        if let Some(inner) = Arc::get_mut(&mut copy.inner) {
            inner.notes = notes;
        }
        copy
    }

    /// The graph, with the column of its edges' weights. Only for a graph that is not shared yet.
    #[must_use]
    pub fn with_weight(mut self, weight: Option<String>) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.weight = weight;
        }
        self
    }

    /// The column that is bound to the edges' weights, where they have it.
    pub fn weight(&self) -> Option<&ArrayRef> {
        self.edges()?.column(self.inner.weight.as_deref()?)
    }

    /// What graphs made of `other` have of it besides tables: the weight, the positions, the GPU, and how it is shown. Only for a
    /// graph that is not shared yet.
    fn like(mut self, other: &Inner) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.weight.clone_from(&other.weight);
            inner.positions.clone_from(&other.positions);
            inner.accelerator.clone_from(&other.accelerator);
            inner.notes.clone_from(&other.notes);
        }
        self
    }

    /// The calls that say how the graph is shown, in order.
    #[must_use]
    pub fn notes(&self) -> &[CallOp] {
        &self.inner.notes
    }

    /// Column of the node ids.
    #[must_use]
    pub fn node_column(&self) -> &str {
        self.inner.bindings.node.as_deref().unwrap_or(NODE_ID)
    }

    /// Node numbers and adjacency.
    ///
    /// # Errors
    /// [`QueryError`] when the ids have no values to compare, or the work was stopped.
    pub fn frame(&self, cancel: &CancelToken) -> Result<&Graph, QueryError> {
        if let Some(frame) = self.inner.frame.get() {
            return Ok(frame);
        }
        let bindings = &self.inner.bindings;
        let frame = match (&self.inner.edges, &bindings.source, &bindings.destination) {
            (Some(edges), Some(source), Some(destination)) => build(
                &GraphSpec {
                    edges,
                    source,
                    destination,
                    nodes: self.nodes(),
                    node: bindings.node.as_deref(),
                },
                cancel,
            )?,
            _ => {
                let edges = no_edges(self.id_type())?;
                build(
                    &GraphSpec {
                        edges: &edges,
                        source: "source",
                        destination: "destination",
                        nodes: self.nodes(),
                        node: bindings.node.as_deref(),
                    },
                    cancel,
                )?
            }
        };
        Ok(self.inner.frame.get_or_init(|| Arc::new(frame)))
    }

    /// [`PropertyGraph::frame`] to be shared with another graph of the same rows.
    ///
    /// # Errors
    /// Those of [`PropertyGraph::frame`].
    pub fn shared_frame(&self, cancel: &CancelToken) -> Result<Arc<Graph>, QueryError> {
        self.frame(cancel)?;
        let frame = self.inner.frame.get().cloned();
        frame.ok_or_else(|| QueryError::new(ErrorCode::NoGraph, "the graph has no adjacency"))
    }

    fn id_type(&self) -> DataType {
        let column = self.nodes().and_then(|t| t.column(self.node_column()));
        column.map_or(DataType::Int64, |c| c.data_type().clone())
    }

    /// The node table, made from the edges' endpoints when none was bound.
    ///
    /// # Errors
    /// Those of [`PropertyGraph::frame`].
    pub fn node_table(&self, cancel: &CancelToken) -> Result<Table, QueryError> {
        if let Some(table) = self.nodes() {
            return Ok(table.clone());
        }
        let ids = ArrayRef::clone(&self.frame(cancel)?.ids);
        Ok(Table::try_new(RecordBatch::try_from_iter([(self.node_column(), ids)])?)?)
    }

    /// The adjacency.
    ///
    /// # Errors
    /// Those of [`PropertyGraph::frame`].
    #[inline]
    pub fn topology(&self, cancel: &CancelToken) -> Result<&Topology, QueryError> {
        Ok(&self.frame(cancel)?.topology)
    }

    /// The nodes that a traversal may visit: with a node table those it lists, else all.
    ///
    /// # Errors
    /// Those of [`PropertyGraph::frame`].
    pub fn existing(&self, cancel: &CancelToken) -> Result<IdSet, QueryError> {
        let frame = self.frame(cancel)?;
        Ok(IdSet::First(match self.nodes() {
            Some(_) => frame.nodes_in_table,
            None => frame.topology.num_nodes(),
        }))
    }

    /// Row of the node table that describes a node.
    pub fn node_row(&self, frame: &Graph, v: u32) -> Option<u32> {
        match self.nodes() {
            Some(_) => frame.row_of(v),
            None => Some(v),
        }
    }

    /// Whether each row of the node table is the node of its number.
    pub fn rows_are_nodes(&self, frame: &Graph) -> bool {
        self.nodes().is_none() || frame.node_row.is_none()
    }

    /// Node of every row of the node table, `u32::MAX` for rows without an id. `None` when each row is
    /// the node of its number.
    ///
    /// # Errors
    /// Those of [`PropertyGraph::frame`].
    pub fn row_nodes(&self, cancel: &CancelToken) -> Result<Option<&[u32]>, QueryError> {
        let frame = self.frame(cancel)?;
        let Some(table) = self.nodes().filter(|_| frame.node_row.is_some()) else {
            return Ok(None);
        };
        let Some(column) = table.column(self.node_column()) else { return Ok(None) };
        // The node table is numbered before the edges, so its own numbering is the graph's.
        let numbers = || graphlume_graph::distinct(column).map(|d| d.codes).unwrap_or_default();
        Ok(Some(made::<Vec<u32>>(&self.inner.row_nodes, numbers)))
    }

    /// Source and destination of every row of the edge table, `u32::MAX` for rows that are no edge. Made
    /// at the first question, 8 bytes a row, and kept while there is room.
    ///
    /// # Errors
    /// Those of [`PropertyGraph::frame`], and when the query has no memory left for it.
    pub fn row_ends(&self, cancel: &CancelToken) -> Result<Arc<Vec<[u32; 2]>>, QueryError> {
        if let Some(found) = self.kept(&RowEnds) {
            return Ok(found);
        }
        let t = self.topology(cancel)?;
        let rows = self.edges().map_or(0, Table::num_rows);
        let bytes = rows as u64 * 8;
        cancel.take(bytes)?;
        let mut ends = vec![[u32::MAX; 2]; rows];
        for v in 0..t.num_nodes() {
            for (row, to) in t.out_rows(v).iter().zip(t.out_neighbors(v)) {
                ends[*row as usize] = [v, *to];
            }
        }
        let ends = Arc::new(ends);
        self.keep(RowEnds, &ends, bytes, cancel);
        Ok(ends)
    }
}

fn no_edges(id_type: DataType) -> Result<Table, QueryError> {
    let ends = ["source", "destination"];
    let fields: Vec<Field> = ends.iter().map(|n| Field::new(*n, id_type.clone(), true)).collect();
    let columns = vec![new_empty_array(&id_type), new_empty_array(&id_type)];
    Ok(Table::try_new(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)?)
}
