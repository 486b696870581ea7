//! From tables to a graph that can be shown: what a loader thread does.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use graphlume_device::CpuPool;
use graphlume_graph::{Graph, GraphSpec, Topology};
use graphlume_scene::{GEOGRAPHIC_COLUMNS, POSITION_COLUMNS, Scene};
use graphlume_table::Table;
use graphlume_types::{Budget, CancelToken, Coded, DatasetId, Notice, Reservation, note};

use crate::context::EngineContext;
use crate::error::EngineError;
use crate::frames::scene_of;
use crate::loader::{BuildStage, LoadError, Loaded, Loader};
use crate::report::Reports;
use crate::residency::algorithms;
use crate::residency::assembly::{Assembly, ResidentJobs};
use crate::residency::event::{ResidencyEvent, evict_for};
use crate::residency::resident::{Positions, Resident, placed};

/// What a load that places nodes says of itself.
pub(super) const PLACING: &str = "placing the nodes";
/// Bytes per node and per edge held beside the topology: positions, importance, colours, communities, groups and depths;
/// colours and widths of edges, and the edge stream.
pub(super) const NODE_BYTES: u64 = 8 + 4 + 4 + 1 + 8 + 4 + 4 + 4;
pub(super) const EDGE_BYTES: u64 = 8 + 4 + 1 + 4;
/// Labels and their frames at most.
pub(super) const LABEL_BYTES: u64 = 1 << 20;

/// What a loader thread is given.
pub(crate) struct LoadJob {
    pub(crate) dataset: DatasetId,
    pub(crate) ticket: u64,
    pub(crate) epoch: u32,
    pub(crate) columns_version: u32,
    /// What is said of the algorithms that are not run again, by the fields that ask for them.
    pub(crate) given_up: HashMap<String, Notice>,
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

    /// The graph, and what of it is not shown as asked. Memory for what [`Self::build`] makes of it is reserved, too.
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
        let (graph, found) = self
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
        if algorithms::lacks_nodes(&graph, loaded) {
            // For the node table of the graph that is drawn, see [`Resident::drawn`].
            held.push(self.reserve(algorithms::footprint(loaded, &[], n))?);
        }
        held.push(
            self.reserve(u64::from(n) * NODE_BYTES + u64::from(m) * EDGE_BYTES + LABEL_BYTES)?,
        );
        Ok((graph, notices))
    }

    /// What is drawn of the tables; `held` is the memory that they take.
    fn build(
        &self,
        mut loaded: Loaded,
        mut held: Vec<Reservation>,
    ) -> Result<Resident, LoadFailure> {
        let (graph, mut found) = self.graph(&mut loaded, &mut held)?;
        let jobs = self.jobs(&mut loaded, &mut found);
        let stage = match jobs.pending.is_empty() {
            true => BuildStage::Whole,
            false => BuildStage::BeforeJobs,
        };
        self.stage(PLACING);
        let (scene, start) = self.pool.install(|| self.scene_and_start(&graph, &loaded))?;
        let assembly = Assembly {
            ctx: self.ctx.clone(),
            dataset: self.dataset,
            epoch: self.epoch,
            columns_version: self.columns_version,
            graph: Arc::new(graph),
            loaded,
            scene,
            is_coloured: false,
            start,
            is_laid_out: false,
            found,
            jobs: Arc::new(jobs),
            stage,
            held: vec![Arc::new(held)],
        };
        Ok(self.pool.install(|| assembly.resident(self.loader.as_ref())))
    }

    /// The algorithms that the dataset names. Those that were given up before are not run again: their notices stay.
    fn jobs(&self, loaded: &mut Loaded, found: &mut Vec<Notice>) -> ResidentJobs {
        let requests = std::mem::take(&mut loaded.compute);
        let given_up = |at: &usize| self.given_up.get(&requests[*at].field());
        let all = 0..requests.len();
        all.clone().filter_map(|at| given_up(&at)).for_each(|n| note(found, n.clone()));
        let pending = all.filter(|at| given_up(at).is_none()).collect();
        ResidentJobs { owner: loaded.owner, version: loaded.version, pending, requests }
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
