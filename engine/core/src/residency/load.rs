//! From tables to a graph that can be shown: what a loader thread does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use graphlume_algo::Accelerator;
use graphlume_device::CpuPool;
use graphlume_facets::Facets;
use graphlume_graph::{Graph, GraphSpec, Topology};
use graphlume_scene::{EdgeOrder, GEOGRAPHIC_COLUMNS, POSITION_COLUMNS, Scene};
use graphlume_store::Bindings;
use graphlume_table::{Table, pandas_dtype};
use graphlume_types::{Budget, CancelToken, Coded, DatasetId, Notice, Reservation, note};

use crate::compute::ComputeRequest;
use crate::context::EngineContext;
use crate::error::EngineError;
use crate::frames::{scene_frames, scene_of};
use crate::loader::{Built, LoadError, Loaded, Loader};
use crate::report::Reports;
use crate::residency::accelerator::ResidentAccelerator;
use crate::residency::algorithms;
use crate::residency::chains::ResidentChains;
use crate::residency::event::{ResidencyEvent, evict_for};
use crate::residency::resident::{ColumnInfo, GraphFacts, Positions, Resident, SEED, placed};
use crate::residency::tables::ResidentTables;
use crate::residency::tallies::ResidentTallies;

/// What a load that places nodes says of itself.
pub(super) const PLACING: &str = "placing the nodes";
/// Bytes per node and per edge held beside the topology: positions, importance, colours, communities, groups and depths;
/// colours and widths of edges, and the edge stream.
const NODE_BYTES: u64 = 8 + 4 + 4 + 1 + 8 + 4 + 4 + 4;
const EDGE_BYTES: u64 = 8 + 4 + 1 + 4;
/// Labels and their frames at most.
const LABEL_BYTES: u64 = 1 << 20;

/// What a loader thread is given.
pub(crate) struct LoadJob {
    pub(crate) dataset: DatasetId,
    pub(crate) ticket: u64,
    pub(crate) epoch: u32,
    pub(crate) cancel: CancelToken,
    /// Whether the graph is to be looked at, so that its nodes are placed.
    pub(crate) wants_positions: Arc<AtomicBool>,
    pub(crate) loader: Arc<dyn Loader>,
    pub(crate) pool: Arc<CpuPool>,
    pub(crate) ctx: Arc<EngineContext>,
    pub(crate) budget: Budget,
    pub(crate) reports: Reports<ResidencyEvent>,
}

/// Why a load gave no graph.
pub(crate) enum LoadFailure {
    /// The loader said so.
    Loader(LoadError),
    /// Building it failed.
    Build(EngineError),
}

impl LoadFailure {
    /// What those are told who wait for the dataset.
    pub(super) fn into_engine(self, dataset: DatasetId) -> EngineError {
        match self {
            Self::Loader(error) => error.into_engine(dataset),
            Self::Build(error) => error,
        }
    }
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
    pub(crate) fn run(self) -> ResidencyEvent {
        let result = self.load().map(Box::new);
        // A load that was stopped reports that, however the step that noticed put it.
        let result = match self.cancel.check() {
            Err(stopped) => Err(LoadFailure::Build(stopped.into())),
            Ok(()) => result,
        };
        ResidencyEvent::Loaded { dataset: self.dataset, ticket: self.ticket, result }
    }

    fn stage(&self, stage: &'static str) {
        let (dataset, ticket) = (self.dataset, self.ticket);
        self.reports.send(ResidencyEvent::Progress { dataset, ticket, stage });
    }

    /// Takes memory, and lets the loop evict for it when it is short.
    fn reserve(&self, bytes: u64) -> Result<Reservation, LoadFailure> {
        self.cancel.check().map_err(EngineError::from)?;
        match self.budget.try_reserve(bytes) {
            Ok(held) => Ok(held),
            Err(refused) if refused.never_fits() => Err(EngineError::from(refused).into()),
            Err(_) => {
                let stopped = || LoadFailure::Build(EngineError::Stopped);
                let got = evict_for(&self.reports, bytes).ok_or_else(stopped)?;
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

    /// The graph with the results of the algorithms that the dataset names, and what of it is not shown as
    /// asked. Memory for what [`Self::build`] makes of it is reserved, too.
    fn graph(
        &self,
        loaded: &mut Loaded,
        held: &mut Vec<Reservation>,
    ) -> Result<(Graph, Vec<Notice>), LoadFailure> {
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
        let (mut graph, found) = self
            .pool
            .install(|| {
                let graph = graphlume_graph::build(&spec, &self.cancel)?;
                let found = graphlume_graph::notices(&spec, &graph);
                Ok::<_, graphlume_graph::GraphError>((graph, found))
            })
            .map_err(coded)?;
        let mut notices = std::mem::take(&mut loaded.notices);
        found.into_iter().for_each(|notice| note(&mut notices, notice));
        building.shrink_to(graph.memory_bytes());
        held.push(building);
        let (n, m) = (graph.topology.num_nodes(), graph.topology.num_edges());
        if !loaded.compute.is_empty() {
            self.stage("running the algorithms");
            held.push(self.reserve(algorithms::footprint(loaded, n))?);
            let device = self.accelerator(&graph);
            let device = device.as_deref();
            self.pool.install(|| algorithms::run(&mut graph, loaded, device, &self.cancel))?;
        }
        if algorithms::lacks_nodes(&graph, loaded) {
            // For the node table of the graph that is drawn, see [`Resident::drawn`].
            held.push(self.reserve(algorithms::footprint(loaded, n))?);
        }
        held.push(
            self.reserve(u64::from(n) * NODE_BYTES + u64::from(m) * EDGE_BYTES + LABEL_BYTES)?,
        );
        Ok((graph, notices))
    }

    fn accelerator(&self, graph: &Graph) -> Option<Arc<dyn Accelerator>> {
        ResidentAccelerator::of(&self.ctx, (self.dataset, self.epoch), &graph.topology)
    }

    /// What is drawn of the tables; `held` is the memory that they take.
    fn build(
        &self,
        mut loaded: Loaded,
        mut held: Vec<Reservation>,
    ) -> Result<Resident, LoadFailure> {
        let (graph, mut notices) = self.graph(&mut loaded, &mut held)?;
        let (n, m) = (graph.topology.num_nodes(), graph.topology.num_edges());
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
            has_depth: scene.depths.is_some(),
            is_laid_out: loaded.compute.iter().any(ComputeRequest::is_layout),
            notices,
        };
        let key = (self.dataset, self.epoch);
        Ok(Resident {
            accelerator: self.accelerator(&graph),
            tables: [false, true].map(|drawn| ResidentTables::of(&self.ctx, key, drawn)),
            tallies: [false, true].map(|drawn| ResidentTallies::of(&self.ctx, key, drawn)),
            chains: [false, true]
                .map(|drawn| ResidentChains::of(&self.ctx, key, &graph.topology, drawn)),
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
            depths: scene.depths.map(Arc::new),
            edge_weights: scene.edge_weights,
            node_masses: scene.node_masses,
            importance: scene.importance,
            scene: Arc::new(frames),
            order,
            stream: OnceLock::new(),
            properties: OnceLock::new(),
            drawn: OnceLock::new(),
            fingerprint: OnceLock::new(),
            communities: OnceLock::new(),
            groups: OnceLock::new(),
            facets: Facets::default(),
            _held: held,
        })
    }

    /// The scene and, unless positions are bound or not wanted, a start placement, side by side.
    fn scene_and_start(
        &self,
        graph: &Graph,
        loaded: &Loaded,
    ) -> Result<(Scene, Option<Positions>), LoadFailure> {
        let place = || match self.wants_positions.load(Ordering::Relaxed) {
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
        let (scene, start) = (scene?, start?);
        // Whatever it was found by: nodes stand where the scene says that they are.
        let start = scene.positions.clone().or(start);
        Ok((scene, start))
    }
}

/// Whether the data may say where the nodes are.
fn positions_given(loaded: &Loaded) -> bool {
    let bindings = loaded.encodings.node.get("bindings");
    let is_bound = |role| bindings.and_then(|b| b.get(role)).is_some_and(|x| !x.is_null());
    let bound = is_bound("node_x") || is_bound("node_longitude");
    let column = |name: &str| loaded.nodes.as_ref().is_some_and(|t| t.column(name).is_some());
    bound
        || [POSITION_COLUMNS, GEOGRAPHIC_COLUMNS]
            .into_iter()
            .any(|pair| pair.into_iter().all(column))
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
