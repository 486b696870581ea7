//! A graph in memory, ready to be shown and to be asked.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use graphlume_algo::Accelerator;
use graphlume_device::CpuPool;
use graphlume_expr::{QueryError, TableDevice};
use graphlume_facets::Facets;
use graphlume_graph::Graph;
use graphlume_scene::{EdgeOrder, Encodings, edge_ends};
use graphlume_store::{Bindings, ChainDevice, PositionColumns, PropertyGraph, TallyDevice};
use graphlume_table::Table;
use graphlume_types::{CancelToken, DatasetId, Notice, Reservation};
use serde::Serialize;
use serde_json::Value;

use crate::checkpoint;
use crate::error::EngineError;
use crate::frames::SceneFrames;
use crate::residency::assembly::ResidentJobs;

/// Seed of the edge order and of the start placement: every load of a dataset gives the same picture.
pub(super) const SEED: u64 = 1;
/// Where nodes are, by index.
pub(super) type Positions = Vec<[f32; 2]>;

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ColumnInfo {
    /// Its name.
    pub name: String,
    /// Its type in the words of pandas.
    pub dtype: String,
}

/// The unchanging facts about a loaded graph.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct GraphFacts {
    /// Version of the element set; node and edge indices are valid within it.
    pub epoch: u32,
    /// The dataset's name.
    pub name: String,
    /// The dataset's description.
    pub description: String,
    /// Nodes.
    pub node_count: u32,
    /// Edges.
    pub edge_count: u32,
    /// Columns of the node table; none without one.
    pub node_columns: Vec<ColumnInfo>,
    /// Columns of the edge table.
    pub edge_columns: Vec<ColumnInfo>,
    /// The dataset's metadata as uploaded.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub metadata: Value,
    /// Whether positions are bound.
    pub has_positions: bool,
    /// Whether the data has a third coordinate of its nodes.
    #[serde(skip)]
    pub has_depth: bool,
    /// Whether a layout that the dataset names made them: a page leaves the nodes where they are.
    #[serde(skip)]
    pub is_laid_out: bool,
    /// What of the dataset is not shown as asked.
    #[cfg_attr(test, ts(as = "Vec<crate::PageNotice<'static>>"))]
    pub notices: Vec<Notice>,
}

impl GraphFacts {
    /// Whether the nodes have places, of the data or of a layout of the dataset, at which they belong.
    pub(crate) const fn is_arranged(&self) -> bool {
        self.is_laid_out || self.has_positions
    }
}

/// A graph in memory. Immutable, so that any number of jobs read it at once.
pub(crate) struct Resident {
    pub(crate) dataset: DatasetId,
    pub(crate) facts: Arc<GraphFacts>,
    pub(crate) graph: Arc<Graph>,
    /// The GPU on which algorithms over the graph may run.
    pub(super) accelerator: Option<Arc<dyn Accelerator>>,
    /// The GPU on which queries over the tables may run: over those that were uploaded, and over those of the graph that is
    /// drawn.
    pub(super) tables: [Option<Arc<dyn TableDevice>>; 2],
    /// The GPU on which patterns of these graphs may be looked for.
    pub(super) chains: [Option<Arc<dyn ChainDevice>>; 2],
    /// The GPU on which paths of these graphs may be counted.
    pub(super) tallies: [Option<Arc<dyn TallyDevice>>; 2],
    pub(super) bindings: Bindings,
    pub(crate) nodes: Option<Table>,
    pub(crate) edges: Table,
    pub(crate) encodings: Encodings,
    /// Bound positions with NaN for absent ones, or a start placement; absent until the graph is to be looked at.
    pub(super) start: OnceLock<Positions>,
    /// The third coordinate of every node, NaN where it has none.
    pub(crate) depths: Option<Arc<Vec<f32>>>,
    /// Edge weights by edge table row.
    pub(crate) edge_weights: Option<Vec<f32>>,
    /// What every node counts for in a layout by forces, where weights of nodes are bound.
    pub(crate) node_masses: Option<Vec<f32>>,
    pub(crate) importance: Vec<f32>,
    /// The scene before communities are known.
    pub(crate) scene: Arc<SceneFrames>,
    /// Whether nothing but communities would give the nodes meaningful colours.
    pub(crate) wants_communities: bool,
    pub(crate) order: EdgeOrder,
    /// Grows when algorithms of the dataset have given the element set other columns; what is kept of columns goes by it.
    pub(crate) columns_version: u32,
    /// What is said of the tables, the graph and the algorithms, without what is said of the scene.
    pub(super) found: Vec<Notice>,
    /// The algorithms that the dataset names.
    pub(super) jobs: Arc<ResidentJobs>,
    pub(super) stream: OnceLock<Bytes>,
    pub(super) properties: OnceLock<PropertyGraph>,
    pub(super) drawn: OnceLock<PropertyGraph>,
    pub(super) fingerprint: OnceLock<u64>,
    /// The community of every node. Found once, by the picture's colours or by the first filter or histogram that names `community`.
    pub(crate) communities: OnceLock<Arc<Vec<u32>>>,
    /// The groups that pages show from afar, as a frame; made for the first page that asks.
    pub(crate) groups: OnceLock<Bytes>,
    /// What is kept of filters and histograms.
    pub(crate) facets: Facets,
    /// Its memory; the graph with the columns of algorithms shares that of the graph without them.
    pub(super) held: Vec<Arc<Vec<Reservation>>>,
}

/// The right to keep a resident graph: it is not evicted while a lease lives.
#[derive(Clone)]
pub(crate) struct Lease(Arc<Resident>);

impl Lease {
    pub(super) fn new(resident: Resident) -> Self {
        Self(Arc::new(resident))
    }

    /// Whether this is the only lease.
    pub(super) fn is_last(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    /// Names the graph's copy in device memory.
    pub(crate) fn key(&self) -> (DatasetId, u32) {
        (self.dataset, self.facts.epoch)
    }
}

impl Deref for Lease {
    type Target = Resident;
    fn deref(&self) -> &Resident {
        &self.0
    }
}

impl Resident {
    /// The graph that is drawn, in which what only edges name are nodes, too: whole texts and agents see it. Made by
    /// the first query, of memory that the load has reserved.
    pub(crate) fn drawn(&self, cancel: &CancelToken) -> Result<&PropertyGraph, QueryError> {
        if let Some(graph) = self.drawn.get() {
            return Ok(graph);
        }
        let graph = self.properties().clone().with_every_node(cancel)?;
        // Only a graph that is not the one of the tables takes another device.
        let graph = graph.with_table_device(self.tables[1].clone());
        let graph = graph.with_chain_device(self.chains[1].clone());
        let graph = graph.with_tally_device(self.tallies[1].clone());
        Ok(self.drawn.get_or_init(|| graph))
    }

    /// The graph as operations see it, which clients also evaluate themselves: with a node table, its rows are the
    /// nodes. Made by the first query, over the same tables and adjacency.
    pub(crate) fn properties(&self) -> &PropertyGraph {
        self.properties.get_or_init(|| {
            let (nodes, edges) = (self.nodes.clone(), self.edges.clone());
            let weight = bound_weight(&self.encodings);
            let (bindings, frame) = (self.bindings.clone(), Arc::clone(&self.graph));
            let graph = PropertyGraph::with_frame(nodes, edges, bindings, frame);
            let graph = graph.with_weight(weight).with_positions(bound_positions(&self.encodings));
            let graph = graph.with_accelerator(self.accelerator.clone());
            let graph = graph.with_table_device(self.tables[0].clone());
            let graph = graph.with_chain_device(self.chains[0].clone());
            graph.with_tally_device(self.tallies[0].clone())
        })
    }

    /// Whether a layout that the dataset names is still to place the nodes.
    pub(crate) fn awaits_layout(&self) -> bool {
        self.jobs.awaits_layout()
    }

    /// The element set and its columns.
    pub(crate) fn version(&self) -> (u32, u32) {
        (self.facts.epoch, self.columns_version)
    }

    /// Tells the graph from others of the same dataset; made by the first who asks, on a worker.
    pub(crate) fn fingerprint(&self) -> u64 {
        let bound = self.start().filter(|_| self.facts.has_positions);
        *self.fingerprint.get_or_init(|| checkpoint::fingerprint(&self.graph.topology, bound))
    }

    /// Where the nodes begin; `None` before [`Resident::place`].
    pub(crate) fn start(&self) -> Option<&[[f32; 2]]> {
        self.start.get().map(Vec::as_slice)
    }

    /// Places the nodes, unless they are placed.
    pub(crate) fn place(&self, pool: &CpuPool, cancel: &CancelToken) -> Result<(), EngineError> {
        if self.start.get().is_none() {
            let placed = pool.install(|| placed(&self.graph, cancel));
            let _ = self.start.set(placed?);
        }
        Ok(())
    }

    /// The edges as pairs of little-endian `u32` in drawn order; made once and shared.
    pub(crate) fn edge_stream(&self) -> Bytes {
        self.stream.get_or_init(|| edge_ends(&self.graph.topology, self.order)).clone()
    }
}

pub(super) fn placed(graph: &Graph, cancel: &CancelToken) -> Result<Positions, EngineError> {
    let placed = graphlume_algo::layout::initial_layout::place(&graph.topology, SEED, cancel);
    placed.map_err(|e| EngineError::from_coded(&e))
}

/// The columns that are bound to the nodes' positions.
fn bound_positions(encodings: &Encodings) -> PositionColumns {
    let bindings = encodings.node.get("bindings");
    let column = |role: &str| bindings?.get(role)?.as_str().map(str::to_owned);
    PositionColumns {
        x: column("node_x"),
        y: column("node_y"),
        longitude: column("node_longitude"),
        latitude: column("node_latitude"),
    }
}

/// The column that is bound to the weight of edges.
pub(crate) fn bound_weight(encodings: &Encodings) -> Option<String> {
    Some(encodings.edge.get("bindings")?.get("edge_weight")?.as_str()?.to_owned())
}
