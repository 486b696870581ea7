//! The graph that a query sees: tables, bindings, and adjacency built when the first step needs it.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use arrow_array::{ArrayRef, RecordBatch, new_empty_array};
use arrow_schema::{DataType, Field, Schema};
use graphlume_algo::Accelerator;
use graphlume_graph::canon::{Canon, Column, Hasher};
use graphlume_graph::{Graph, GraphSpec, Topology, build};
use graphlume_table::Table;
use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::derived::{Derived, made};
use crate::error::{ErrorCode, GfqlError};
use crate::set::IdSet;
use crate::wire::CallOp;

/// Name of the id column of nodes that only edges mention.
const ID: &str = "id";
/// The name under which the ends of rows are kept.
const ROW_ENDS: &str = "ends of the rows";
/// Bytes that any graph may keep of what follows from it.
const KEEP_BYTES_MIN: u64 = 1 << 20;
/// Ids that are looked for one by one before they are indexed.
const LOOKS_MAX: usize = 16;

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
    /// The GPU on which algorithms may run.
    accelerator: Option<Arc<dyn Accelerator>>,
    frame: OnceLock<Arc<Graph>>,
    columns: Mutex<HashMap<(bool, String), Arc<Column>>>,
    ids: OnceLock<Vec<(u64, u32)>>,
    /// The ids of all nodes, ready to be compared.
    id_column: OnceLock<Option<Column>>,
    /// How often an id was looked for without an index.
    looks: AtomicUsize,
    row_nodes: OnceLock<Vec<u32>>,
    derived: Derived,
    /// What follows from the adjacency alone: graphs of the same adjacency share it.
    of_frame: Arc<Derived>,
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
    ) -> Result<Self, GfqlError> {
        // A node table without known ids cannot be matched with anything.
        let nodes = nodes.filter(|_| bindings.node.is_some());
        if nodes.is_none() && edges.is_none() {
            return Err(GfqlError::new(
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
                return Err(GfqlError::no_column(column, kind, &table.column_names()));
            }
        }
        if edges.is_some() && (source.is_none() || destination.is_none()) {
            let text = "the edges have no source and destination columns";
            return Err(GfqlError::new(ErrorCode::NoGraph, text).suggest("bind both columns"));
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
    pub fn with_every_node(self, cancel: &CancelToken) -> Result<Self, GfqlError> {
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
            accelerator: None,
            frame,
            columns: Mutex::default(),
            ids: OnceLock::new(),
            id_column: OnceLock::new(),
            looks: AtomicUsize::new(0),
            row_nodes: OnceLock::new(),
            derived: Derived::default(),
            of_frame: Arc::default(),
            notes: vec![],
        };
        Self { inner: Arc::new(inner) }
    }

    /// Whether this is the very same graph, and not one like it.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
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
    pub fn replaced(&self, nodes: Option<Table>, edges: Option<Table>) -> Result<Self, GfqlError> {
        let mut bindings = self.inner.bindings.clone();
        bindings.node.get_or_insert_with(|| ID.to_owned());
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
    pub(crate) fn with_edges(&self, edges: Table) -> Result<Self, GfqlError> {
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
    pub(crate) fn is_rows(&self) -> bool {
        self.inner.nodes.is_some() && self.inner.bindings.node.is_none()
    }

    /// Remembers a call that changes how the graph is shown.
    pub(crate) fn noted(&self, call: &CallOp) -> Self {
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
    pub(crate) fn weight(&self) -> Option<&ArrayRef> {
        self.edges()?.column(self.inner.weight.as_deref()?)
    }

    /// The graph, with the GPU on which algorithms over it may run. Only for a graph that is not shared yet.
    #[must_use]
    pub fn with_accelerator(mut self, accelerator: Option<Arc<dyn Accelerator>>) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.accelerator = accelerator;
        }
        self
    }

    /// The GPU on which algorithms may run.
    pub(crate) fn accelerator(&self) -> Option<&dyn Accelerator> {
        self.inner.accelerator.as_deref()
    }

    /// What graphs made of `other` have of it besides tables: the weight, the GPU, and how it is shown. Only for a
    /// graph that is not shared yet.
    fn like(mut self, other: &Inner) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.weight.clone_from(&other.weight);
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
        self.inner.bindings.node.as_deref().unwrap_or(ID)
    }

    /// Node numbers and adjacency.
    ///
    /// # Errors
    /// [`GfqlError`] when the ids have no values to compare, or the work was stopped.
    pub fn frame(&self, cancel: &CancelToken) -> Result<&Graph, GfqlError> {
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
    pub(crate) fn shared_frame(&self, cancel: &CancelToken) -> Result<Arc<Graph>, GfqlError> {
        self.frame(cancel)?;
        let frame = self.inner.frame.get().cloned();
        frame.ok_or_else(|| GfqlError::new(ErrorCode::NoGraph, "the graph has no adjacency"))
    }

    fn id_type(&self) -> DataType {
        let column = self.nodes().and_then(|t| t.column(self.node_column()));
        column.map_or(DataType::Int64, |c| c.data_type().clone())
    }

    /// The node table, made from the edges' endpoints when none was bound.
    ///
    /// # Errors
    /// Those of [`PropertyGraph::frame`].
    pub fn node_table(&self, cancel: &CancelToken) -> Result<Table, GfqlError> {
        if let Some(table) = self.nodes() {
            return Ok(table.clone());
        }
        let ids = ArrayRef::clone(&self.frame(cancel)?.ids);
        Ok(Table::try_new(RecordBatch::try_from_iter([(self.node_column(), ids)])?)?)
    }

    /// The adjacency.
    pub(crate) fn topology(&self, cancel: &CancelToken) -> Result<&Topology, GfqlError> {
        Ok(&self.frame(cancel)?.topology)
    }

    /// The nodes that a traversal may visit: with a node table those it lists, else all.
    pub(crate) fn existing(&self, cancel: &CancelToken) -> Result<IdSet, GfqlError> {
        let frame = self.frame(cancel)?;
        Ok(IdSet::First(match self.nodes() {
            Some(_) => frame.nodes_in_table,
            None => frame.topology.num_nodes(),
        }))
    }

    /// Row of the node table that describes a node.
    pub(crate) fn node_row(&self, frame: &Graph, v: u32) -> Option<u32> {
        match self.nodes() {
            Some(_) => frame.row_of(v),
            None => Some(v),
        }
    }

    /// Whether each row of the node table is the node of its number.
    pub(crate) fn rows_are_nodes(&self, frame: &Graph) -> bool {
        self.nodes().is_none() || frame.node_row.is_none()
    }

    /// Node of every row of the node table, `u32::MAX` for rows without an id. `None` when each row is
    /// the node of its number.
    pub(crate) fn row_nodes(&self, cancel: &CancelToken) -> Result<Option<&[u32]>, GfqlError> {
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
    pub(crate) fn row_ends(&self, cancel: &CancelToken) -> Result<Arc<Vec<[u32; 2]>>, GfqlError> {
        if let Some(found) = self.kept(ROW_ENDS) {
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
        self.keep(ROW_ENDS, &ends, bytes, cancel);
        Ok(ends)
    }

    /// A column of the node table or of the edge table, ready to be read by value.
    #[must_use]
    pub fn column(&self, table: &Table, edges: bool, name: &str) -> Option<Arc<Column>> {
        let key = (edges, name.to_owned());
        let found = self.inner.columns.lock().ok()?.get(&key).cloned();
        if found.is_some() {
            return found;
        }
        // Many threads work on it: the lock must be free, since one of them may ask for the same column.
        let array = table.column(name)?;
        let coded = crate::codes::coded(array);
        let column = Arc::new(Column::try_new(coded.as_ref().unwrap_or(array)).ok()?);
        let mut columns = self.inner.columns.lock().ok()?;
        Some(Arc::clone(columns.entry(key).or_insert(column)))
    }

    /// A column that was read before, see [`PropertyGraph::column`].
    pub(crate) fn known_column(&self, edges: bool, name: &str) -> Option<Arc<Column>> {
        self.inner.columns.lock().ok()?.get(&(edges, name.to_owned())).cloned()
    }

    /// What was kept under a name, see [`PropertyGraph::keep`].
    #[must_use]
    pub fn kept<T: Any + Send + Sync>(&self, name: &str) -> Option<Arc<T>> {
        self.inner.derived.get(name)
    }

    /// Keeps something that follows from the graph alone, of so many bytes, until others need its place: all
    /// together take [`PropertyGraph::keep_max`], and what is kept of the adjacency as much again. It is not kept where the memory budget has no room for it.
    pub fn keep<T: Any + Send + Sync>(
        &self,
        name: &str,
        value: &Arc<T>,
        bytes: u64,
        cancel: &CancelToken,
    ) {
        self.inner.derived.put(name, value, (bytes, self.keep_max()), cancel);
    }

    /// What was kept of the adjacency under a name, see [`PropertyGraph::keep_of_frame`].
    pub(crate) fn kept_of_frame<T: Any + Send + Sync>(&self, name: &str) -> Option<Arc<T>> {
        self.inner.of_frame.get(name)
    }

    /// Keeps something that follows from the adjacency alone, as [`PropertyGraph::keep`] does.
    pub(crate) fn keep_of_frame<T: Any + Send + Sync>(
        &self,
        name: &str,
        value: &Arc<T>,
        bytes: u64,
        cancel: &CancelToken,
    ) {
        self.inner.of_frame.put(name, value, (bytes, self.keep_max()), cancel);
    }

    /// Counts a use of something that is not kept yet; whether it is the one at which making it pays. That is so
    /// once: what had no room, or had to go, is not made again and again.
    #[must_use]
    pub fn is_due(&self, name: &str, uses: u32, cancel: &CancelToken) -> bool {
        let count = format!("uses of {name}");
        let counted = self.kept::<AtomicU32>(&count).unwrap_or_else(|| {
            let counted = Arc::default();
            self.keep(&count, &counted, 0, cancel);
            counted
        });
        counted.fetch_add(1, Ordering::Relaxed) + 1 == uses
    }

    /// Bytes of all that is kept with the graph, and of all that is kept with its adjacency: each twice as many as its adjacency has.
    #[must_use]
    pub fn keep_max(&self) -> u64 {
        self.inner
            .frame
            .get()
            .map_or(0, |frame| 2 * frame.topology.memory_bytes())
            .max(KEEP_BYTES_MIN)
    }

    /// The node with this id.
    ///
    /// # Errors
    /// Those of [`PropertyGraph::frame`].
    pub fn find(&self, id: &Canon<'_>, cancel: &CancelToken) -> Result<Option<u32>, GfqlError> {
        let frame = self.frame(cancel)?;
        let ids = || Column::try_new(&frame.ids).ok();
        let Some(column) = self.inner.id_column.get_or_init(ids) else { return Ok(None) };
        // An index takes as long as many looks through the ids; those who ask for a few need none.
        if self.inner.ids.get().is_none()
            && self.inner.looks.fetch_add(1, Ordering::Relaxed) < LOOKS_MAX
        {
            let same = |v: &u32| column.get(*v as usize).as_ref() == Some(id);
            return Ok((0..column.len() as u32).into_par_iter().find_any(same));
        }
        let hasher = Hasher::new();
        let index = made(&self.inner.ids, || {
            let mut index: Vec<(u64, u32)> = (0..column.len() as u32)
                .into_par_iter()
                .filter_map(|v| Some((hasher.canon(&column.get(v as usize)?), v)))
                .collect();
            index.par_sort_unstable();
            index
        });
        let hash = hasher.canon(id);
        let from = index.partition_point(|(h, _)| *h < hash);
        let same = index[from..].iter().take_while(|(h, _)| *h == hash);
        Ok(same.map(|(_, v)| *v).find(|v| column.get(*v as usize).as_ref() == Some(id)))
    }
}

fn no_edges(id_type: DataType) -> Result<Table, GfqlError> {
    let ends = ["source", "destination"];
    let fields: Vec<Field> = ends.iter().map(|n| Field::new(*n, id_type.clone(), true)).collect();
    let columns = vec![new_empty_array(&id_type), new_empty_array(&id_type)];
    Ok(Table::try_new(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)?)
}
