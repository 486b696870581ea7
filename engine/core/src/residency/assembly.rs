//! The last step of a load, and of the algorithms of a dataset: a resident graph out of its parts.

use std::sync::{Arc, OnceLock};

use graphlume_facets::Facets;
use graphlume_graph::Graph;
use graphlume_scene::{EdgeOrder, Scene};
use graphlume_store::Bindings;
use graphlume_table::{Table, pandas_dtype};
use graphlume_types::{DatasetId, Notice, Reservation, UserId, note};

use crate::compute::ComputeRequest;
use crate::context::EngineContext;
use crate::frames::scene_frames;
use crate::loader::{BuildStage, Built, Loaded, Loader};
use crate::residency::accelerator::ResidentAccelerator;
use crate::residency::chains::ResidentChains;
use crate::residency::resident::{ColumnInfo, GraphFacts, Positions, Resident, SEED};
use crate::residency::tables::ResidentTables;
use crate::residency::tallies::ResidentTallies;

/// The algorithms that a dataset names.
#[derive(Debug, Default)]
pub(crate) struct ResidentJobs {
    /// Whose turns they take.
    pub(super) owner: Option<UserId>,
    /// The data, as [`Loaded::version`] names them.
    pub(super) version: u64,
    /// All that are named.
    pub(super) requests: Vec<ComputeRequest>,
    /// Those whose columns the graph is still without, by their places among all.
    pub(super) pending: Vec<usize>,
}

impl ResidentJobs {
    /// Whether a layout is still to place the nodes.
    pub(super) fn awaits_layout(&self) -> bool {
        self.pending.iter().any(|at| self.requests[*at].is_layout())
    }
}

/// What a resident graph is made of.
pub(super) struct Assembly {
    pub(super) ctx: Arc<EngineContext>,
    pub(super) dataset: DatasetId,
    pub(super) epoch: u32,
    pub(super) columns_version: u32,
    pub(super) graph: Arc<Graph>,
    pub(super) loaded: Loaded,
    pub(super) scene: Scene,
    /// Whether communities have given the scene its colours.
    pub(super) is_coloured: bool,
    pub(super) start: Option<Positions>,
    pub(super) is_laid_out: bool,
    /// What is said of the tables, the graph and the algorithms.
    pub(super) found: Vec<Notice>,
    pub(super) jobs: Arc<ResidentJobs>,
    pub(super) stage: BuildStage,
    pub(super) held: Vec<Arc<Vec<Reservation>>>,
}

impl Assembly {
    /// The graph. The loader is told of it; inside a CPU pool.
    pub(super) fn resident(self, loader: &dyn Loader) -> Resident {
        let (epoch, version) = (self.epoch, self.columns_version);
        let topology = &self.graph.topology;
        let m = topology.num_edges();
        let order = EdgeOrder::new(m, SEED);
        let frames = scene_frames(&self.scene, topology, order, epoch, 1 + 2 * version);
        let facts = self.facts(loader);
        let Self { ctx, dataset, graph, loaded, scene, .. } = self;
        let key = (dataset, epoch);
        Resident {
            accelerator: ResidentAccelerator::of(&ctx, key, &graph.topology),
            tables: [false, true].map(|drawn| ResidentTables::of(&ctx, key, version, drawn)),
            tallies: [false, true].map(|drawn| ResidentTallies::of(&ctx, key, version, drawn)),
            chains: [false, true]
                .map(|drawn| ResidentChains::of(&ctx, key, version, &graph.topology, drawn)),
            dataset,
            facts: Arc::new(facts),
            wants_communities: scene.colors_by_community && m > 0 && !self.is_coloured,
            graph,
            bindings: Bindings {
                node: loaded.node,
                source: Some(loaded.source),
                destination: Some(loaded.destination),
            },
            nodes: loaded.nodes,
            edges: loaded.edges,
            encodings: loaded.encodings,
            start: self.start.map_or_else(OnceLock::new, OnceLock::from),
            depths: scene.depths.map(Arc::new),
            edge_weights: scene.edge_weights,
            node_masses: scene.node_masses,
            importance: scene.importance,
            scene: Arc::new(frames),
            order,
            columns_version: version,
            found: self.found,
            jobs: self.jobs,
            stream: OnceLock::new(),
            properties: OnceLock::new(),
            drawn: OnceLock::new(),
            fingerprint: OnceLock::new(),
            communities: OnceLock::new(),
            groups: OnceLock::new(),
            facets: Facets::default(),
            held: self.held,
        }
    }

    /// What is known of the graph beside its elements, which the loader is told.
    fn facts(&self, loader: &dyn Loader) -> GraphFacts {
        let Self { dataset, loaded, scene, .. } = self;
        let topology = &self.graph.topology;
        let mut notices = self.found.clone();
        // What is bound to a column that is still to come is not missing.
        for notice in scene.notices.iter().filter(|_| self.stage != BuildStage::BeforeJobs) {
            note(&mut notices, notice.clone());
        }
        let built = Built {
            version: self.jobs.version,
            num_nodes: topology.num_nodes(),
            num_edges: topology.num_edges(),
            notices: &notices,
            stage: self.stage,
        };
        loader.built(*dataset, &built);
        GraphFacts {
            epoch: self.epoch,
            name: loaded.name.clone(),
            description: loaded.description.clone(),
            node_count: topology.num_nodes(),
            edge_count: topology.num_edges(),
            node_columns: loaded.nodes.as_ref().map(columns).unwrap_or_default(),
            edge_columns: columns(&loaded.edges),
            metadata: loaded.encodings.metadata.clone(),
            has_positions: scene.positions.is_some(),
            has_depth: scene.depths.is_some(),
            is_laid_out: self.is_laid_out,
            notices,
        }
    }
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
