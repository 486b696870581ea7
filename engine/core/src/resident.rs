//! From tables to a graph that can be shown: what a loader thread does, and what it makes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use crossbeam::channel::{Sender, bounded};
use graphlume_device::CpuPool;
use graphlume_gfql::{Bindings, GfqlError, PropertyGraph};
use graphlume_graph::{Graph, GraphSpec, Topology};
use graphlume_scene::{EdgeOrder, Encodings, POSITION_COLUMNS, Scene};
use graphlume_table::{Table, pandas_dtype};
use graphlume_types::{Budget, CancelToken, Coded, DatasetId, Reservation, note};
use rayon::prelude::*;

use crate::compute;
use crate::error::EngineError;
use crate::event::{Event, LoadFailure};
use crate::keeper;
use crate::loader::{Built, LoadError, Loaded, Loader};
use crate::session::frames::{scene_frames, scene_of};
use crate::session::slot::{ColumnInfo, GraphFacts, SceneFrames};

/// What a load that places nodes says of itself.
pub(crate) const PLACING: &str = "placing the nodes";
/// Seed of the edge order and of the start placement: every load of a dataset gives the same picture.
const SEED: u64 = 1;
/// Bytes per node and per edge held beside the topology: positions, importance and colours; colours
/// and widths of edges, and the edge stream.
const NODE_BYTES: u64 = 8 + 4 + 4 + 1 + 8;
const EDGE_BYTES: u64 = 8 + 4 + 1 + 4;
/// Labels and their frames at most.
const LABEL_BYTES: u64 = 1 << 20;

/// Where nodes are, by index.
type Positions = Vec<[f32; 2]>;

/// A graph in memory. Immutable, so that any number of jobs read it at once.
pub(crate) struct Resident {
    pub(crate) dataset: DatasetId,
    pub(crate) facts: Arc<GraphFacts>,
    pub(crate) graph: Arc<Graph>,
    bindings: Bindings,
    pub(crate) nodes: Option<Table>,
    pub(crate) edges: Table,
    pub(crate) encodings: Encodings,
    /// Bound positions with NaN for absent ones, or a start placement; not there while nobody looks.
    start: OnceLock<Positions>,
    /// Edge weights by edge table row.
    pub(crate) edge_weights: Option<Vec<f32>>,
    pub(crate) importance: Vec<f32>,
    /// The scene before communities are known.
    pub(crate) scene: Arc<SceneFrames>,
    /// Whether nothing but communities would give the nodes meaningful colours.
    pub(crate) wants_communities: bool,
    pub(crate) order: EdgeOrder,
    stream: OnceLock<Bytes>,
    properties: OnceLock<PropertyGraph>,
    drawn: OnceLock<PropertyGraph>,
    fingerprint: OnceLock<u64>,
    _held: Vec<Reservation>,
}

impl Resident {
    /// The graph that is drawn, in which what only edges name are nodes, too: whole texts and agents see it. Made by
    /// the first query, of memory that the load has reserved.
    pub(crate) fn drawn(&self, cancel: &CancelToken) -> Result<&PropertyGraph, GfqlError> {
        if let Some(graph) = self.drawn.get() {
            return Ok(graph);
        }
        let graph = self.properties().clone().with_every_node(cancel)?;
        Ok(self.drawn.get_or_init(|| graph))
    }

    /// The graph as operations see it, which clients also evaluate themselves: with a node table, its rows are the
    /// nodes. Made by the first query, over the same tables and adjacency.
    pub(crate) fn properties(&self) -> &PropertyGraph {
        self.properties.get_or_init(|| {
            let (nodes, edges) = (self.nodes.clone(), self.edges.clone());
            let weight = bound_weight(&self.encodings);
            let (bindings, frame) = (self.bindings.clone(), Arc::clone(&self.graph));
            PropertyGraph::with_frame(nodes, edges, bindings, frame).with_weight(weight)
        })
    }

    /// Tells the graph from others of the same dataset; made by the first who asks, on a worker.
    pub(crate) fn fingerprint(&self) -> u64 {
        let bound = self.start().filter(|_| self.facts.has_positions);
        *self.fingerprint.get_or_init(|| keeper::fingerprint(&self.graph.topology, bound))
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
        self.stream.get_or_init(|| edge_stream(&self.graph.topology, self.order)).clone()
    }
}

fn placed(graph: &Graph, cancel: &CancelToken) -> Result<Positions, EngineError> {
    let placed = graphlume_algo::layout::start::place(&graph.topology, SEED, cancel);
    placed.map_err(|e| EngineError::from_coded(&e))
}

/// Source of every edge by CSR position would cost memory; a search in the offsets costs little time.
fn edge_stream(topology: &Topology, order: EdgeOrder) -> Bytes {
    let m = topology.num_edges();
    let mut out = vec![0u8; m as usize * 8];
    out.par_chunks_mut(8 << 13).enumerate().for_each(|(chunk, bytes)| {
        for (i, pair) in bytes.chunks_exact_mut(8).enumerate() {
            #[allow(clippy::cast_possible_truncation, reason = "below the number of edges")]
            let drawn = ((chunk << 13) + i) as u32;
            let (src, dst, _) = topology.edge(order.position(drawn));
            pair[..4].copy_from_slice(&src.to_le_bytes());
            pair[4..].copy_from_slice(&dst.to_le_bytes());
        }
    });
    Bytes::from(out)
}

/// What a loader thread is given.
pub(crate) struct LoadJob {
    pub(crate) dataset: DatasetId,
    pub(crate) ticket: u64,
    pub(crate) epoch: u32,
    pub(crate) cancel: CancelToken,
    /// Whether somebody wants to see the graph, so that its nodes are placed.
    pub(crate) seen: Arc<AtomicBool>,
    pub(crate) loader: Arc<dyn Loader>,
    pub(crate) pool: Arc<CpuPool>,
    pub(crate) budget: Budget,
    pub(crate) events: Sender<Event>,
}

impl From<EngineError> for LoadFailure {
    fn from(e: EngineError) -> Self {
        Self::Build(e)
    }
}

fn coded<E: Coded>(e: E) -> LoadFailure {
    LoadFailure::Build(EngineError::from_coded(&e))
}

impl LoadJob {
    /// Loads and builds; runs on a loader thread.
    pub(crate) fn run(self) -> Event {
        let result = self.load().map(Box::new);
        // A load that was stopped reports that, however the step that noticed put it.
        let result = match self.cancel.check() {
            Err(stopped) => Err(LoadFailure::Build(stopped.into())),
            Ok(()) => result,
        };
        Event::Loaded { dataset: self.dataset, ticket: self.ticket, result }
    }

    fn stage(&self, stage: &'static str) {
        let (dataset, ticket) = (self.dataset, self.ticket);
        let _ = self.events.send(Event::Progress { dataset, ticket, stage });
    }

    /// Takes memory, and lets the loop evict for it when it is short.
    fn reserve(&self, bytes: u64) -> Result<Reservation, LoadFailure> {
        self.cancel.check().map_err(EngineError::from)?;
        match self.budget.try_reserve(bytes) {
            Ok(held) => Ok(held),
            Err(refused) if refused.never_fits() => Err(EngineError::from(refused).into()),
            Err(_) => {
                let (answer, room) = bounded(1);
                self.events
                    .send(Event::Room { bytes, answer })
                    .map_err(|_| LoadFailure::Build(EngineError::Stopped))?;
                let got = room.recv().map_err(|_| LoadFailure::Build(EngineError::Stopped))?;
                Ok(got.map_err(EngineError::from)?)
            }
        }
    }

    fn load(&self) -> Result<Resident, LoadFailure> {
        self.cancel.check().map_err(|c| LoadFailure::Loader(LoadError::Cancelled(c)))?;
        let mut tables_held = match self.loader.footprint_bytes(self.dataset) {
            Some(bytes) => Some(self.reserve(bytes)?),
            None => None,
        };
        let loaded = self
            .pool
            .install(|| self.loader.load(self.dataset, &self.cancel))
            .map_err(LoadFailure::Loader)?;
        let bytes =
            loaded.edges.memory_bytes() + loaded.nodes.as_ref().map_or(0, Table::memory_bytes);
        match &mut tables_held {
            Some(held) if held.bytes() >= bytes => held.shrink_to(bytes),
            // Unknown beforehand, or the loader promised too little.
            _ => {
                drop(tables_held.take());
                tables_held = Some(self.reserve(bytes)?);
            }
        }
        self.build(loaded, tables_held.into_iter().collect())
    }

    fn build(
        &self,
        mut loaded: Loaded,
        mut held: Vec<Reservation>,
    ) -> Result<Resident, LoadFailure> {
        self.stage("building the graph");
        let m = loaded.edges.num_rows() as u64;
        let n = loaded.nodes.as_ref().map_or(0, Table::num_rows) as u64 + 2 * m;
        let mut building = self.reserve(Topology::build_footprint(n, m))?;
        let spec = GraphSpec {
            edges: &loaded.edges,
            source: &loaded.source,
            destination: &loaded.destination,
            nodes: loaded.nodes.as_ref(),
            node: loaded.node.as_deref(),
        };
        let mut notices = std::mem::take(&mut loaded.notices);
        let (mut graph, found) = self
            .pool
            .install(|| {
                let graph = graphlume_graph::build(&spec, &self.cancel)?;
                let found = graphlume_graph::notices(&spec, &graph);
                Ok::<_, graphlume_graph::GraphError>((graph, found))
            })
            .map_err(coded)?;
        found.into_iter().for_each(|notice| note(&mut notices, notice));
        building.shrink_to(graph.memory_bytes());
        held.push(building);
        let (n, m) = (graph.topology.num_nodes(), graph.topology.num_edges());
        if !loaded.compute.is_empty() {
            self.stage("running the algorithms");
            held.push(self.reserve(compute::footprint(&loaded, n))?);
            self.pool.install(|| compute::run(&mut graph, &mut loaded, &self.cancel))?;
        }
        if compute::lacks_nodes(&graph, &loaded) {
            // For the node table of the graph that is drawn, see [`Resident::drawn`].
            held.push(self.reserve(compute::footprint(&loaded, n))?);
        }
        held.push(
            self.reserve(u64::from(n) * NODE_BYTES + u64::from(m) * EDGE_BYTES + LABEL_BYTES)?,
        );
        self.stage(PLACING);
        let (scene, start) = self.pool.install(|| self.scene_and_start(&graph, &loaded))?;
        let start = start.map_or_else(OnceLock::new, OnceLock::from);
        let order = EdgeOrder::new(m, SEED);
        let frames =
            self.pool.install(|| scene_frames(&scene, &graph.topology, order, self.epoch, 1));
        for notice in loaded.notices.iter().chain(&scene.notices) {
            note(&mut notices, notice.clone());
        }
        let built = Built { num_nodes: n, num_edges: m, notices: &notices };
        self.loader.built(self.dataset, &built);
        let facts = GraphFacts {
            epoch: self.epoch,
            name: loaded.name,
            description: loaded.description,
            node_count: n,
            edge_count: m,
            node_columns: loaded.nodes.as_ref().map(columns).unwrap_or_default(),
            edge_columns: columns(&loaded.edges),
            metadata: loaded.encodings.metadata.clone(),
            has_positions: scene.positions.is_some(),
            notices,
        };
        Ok(Resident {
            dataset: self.dataset,
            facts: Arc::new(facts),
            wants_communities: scene.colors_by_community && m > 0,
            graph: Arc::new(graph),
            bindings: Bindings {
                node: loaded.node,
                source: Some(loaded.source),
                destination: Some(loaded.destination),
            },
            nodes: loaded.nodes,
            edges: loaded.edges,
            encodings: loaded.encodings,
            start,
            edge_weights: scene.edge_weights,
            importance: scene.importance,
            scene: Arc::new(frames),
            order,
            stream: OnceLock::new(),
            properties: OnceLock::new(),
            drawn: OnceLock::new(),
            fingerprint: OnceLock::new(),
            _held: held,
        })
    }

    /// The scene and, unless positions are bound or nobody looks, a start placement, side by side.
    fn scene_and_start(
        &self,
        graph: &Graph,
        loaded: &Loaded,
    ) -> Result<(Scene, Option<Positions>), LoadFailure> {
        let place = || match self.seen.load(Ordering::Relaxed) {
            true => placed(graph, &self.cancel).map(Some).map_err(LoadFailure::from),
            false => Ok(None),
        };
        let scene =
            || scene_of(graph, loaded.nodes.as_ref(), &loaded.edges, &loaded.encodings, None);
        if positions_given(loaded) {
            let scene = scene()?;
            // The columns may be unusable, which the scene's notices say.
            let start = match &scene.positions {
                Some(bound) => Some(bound.clone()),
                None => place()?,
            };
            return Ok((scene, start));
        }
        let (scene, start) = rayon::join(scene, place);
        Ok((scene?, start?))
    }
}

/// The column that is bound to the weight of edges.
pub(crate) fn bound_weight(encodings: &Encodings) -> Option<String> {
    Some(encodings.edge.get("bindings")?.get("edge_weight")?.as_str()?.to_owned())
}

/// Whether the data may say where the nodes are.
fn positions_given(loaded: &Loaded) -> bool {
    let bindings = loaded.encodings.node.get("bindings");
    let bound = bindings.and_then(|b| b.get("node_x")).is_some_and(|x| !x.is_null());
    let column = |name: &str| loaded.nodes.as_ref().is_some_and(|t| t.column(name).is_some());
    bound || POSITION_COLUMNS.into_iter().all(column)
}

fn columns(table: &Table) -> Vec<ColumnInfo> {
    table
        .batch()
        .schema()
        .fields()
        .iter()
        .map(|f| ColumnInfo { name: f.name().clone(), dtype: pandas_dtype(f.data_type()) })
        .collect()
}
