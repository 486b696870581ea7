//! Loader of a dataset's tables for the engine: the service behind it knows files and records, the engine
//! knows graphs.

use std::sync::Arc;

use graphlume_scene::Encodings;
use graphlume_table::Table;
use graphlume_types::{CancelToken, Cancelled, Code, Coded, DatasetId, Notice, UserId};

use crate::compute::ComputeRequest;
use crate::error::EngineError;

/// Reads the tables of a dataset. Called on a loader thread, never on the engine thread, and inside
/// the CPU pool, so that rayon's parallel iterators use the engine's threads.
pub trait Loader: Send + Sync + 'static {
    /// The dataset's tables and bindings.
    ///
    /// # Errors
    /// [`LoadError::Waiting`] while tables have not been uploaded; the engine asks again after
    /// [`EngineHandle::preload`](crate::EngineHandle::preload) or
    /// [`EngineHandle::changed`](crate::EngineHandle::changed).
    fn load(&self, dataset: DatasetId, cancel: &CancelToken) -> Result<Loaded, LoadError>;

    /// Told once the dataset's graph and its scene have been built, and again when its algorithms have ended. The picture
    /// waits for the call to return.
    fn built(&self, dataset: DatasetId, built: &Built<'_>) {
        let _ = (dataset, built);
    }

    /// An upper bound of the bytes that `load` will hold, when it is known beforehand; they are
    /// reserved before `load` is called. Without it, the reservation follows the load.
    fn footprint_bytes(&self, dataset: DatasetId) -> Option<u64> {
        let _ = dataset;
        None
    }
}

/// What was built of a dataset.
#[derive(Debug, Clone, Copy)]
pub struct Built<'a> {
    /// The data of which it was built, as [`Loaded::version`] names them.
    pub version: u64,
    /// Nodes of the graph.
    pub num_nodes: u32,
    /// Edges of the graph.
    pub num_edges: u32,
    /// What of the dataset is not shown as asked.
    pub notices: &'a [Notice],
    /// Whether that is all.
    pub stage: BuildStage,
}

/// Whether algorithms that a dataset names are part of what was built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildStage {
    /// It names none that are to run.
    Whole,
    /// They are still to run, so that more notices may follow.
    BeforeJobs,
    /// They have ended.
    AfterJobs,
}

/// What a dataset consists of.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Shown as the title.
    pub name: String,
    /// Shown below the title.
    pub description: String,
    /// The edge table.
    pub edges: Table,
    /// Its column of source node ids.
    pub source: String,
    /// Its column of destination node ids.
    pub destination: String,
    /// The node table, when there is one.
    pub nodes: Option<Table>,
    /// Its column of node ids.
    pub node: Option<String>,
    /// Bindings and encodings as uploaded.
    pub encodings: Encodings,
    /// Algorithms whose results become columns of the nodes. They run once the graph is there, one after the other.
    pub compute: Vec<ComputeRequest>,
    /// Whose turn they take.
    pub owner: Option<UserId>,
    /// Tells the data from those that the dataset had before; [`Built::version`] has it.
    pub version: u64,
    /// What of the dataset is not shown as asked, as far as is known before the graph is built.
    pub notices: Vec<Notice>,
}

/// Why there are no tables.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// Not an error: the data have not been uploaded yet. The text says what is missing.
    #[error("{0}")]
    Waiting(String),
    /// No such dataset.
    #[error("dataset {0} does not exist; it may have been deleted: open another one")]
    NotFound(DatasetId),
    /// The load was stopped.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// Anything else; the message is made for the user.
    #[error("{message}")]
    Failed {
        /// The kind of failure. A transient one is tried again by itself.
        code: Code,
        /// The machine name.
        slug: &'static str,
        /// The sentence for the user.
        message: String,
    },
}

impl LoadError {
    /// Wraps any coded error.
    pub fn from_coded(e: &dyn Coded) -> Self {
        Self::Failed { code: e.code(), slug: e.slug(), message: e.to_string() }
    }

    pub(crate) fn into_engine(self, dataset: DatasetId) -> EngineError {
        match self {
            Self::Waiting(detail) => EngineError::Waiting { dataset, detail: detail.into() },
            Self::NotFound(_) => EngineError::Work {
                code: Code::NotFound,
                slug: "dataset-not-found",
                message: Arc::from(self.to_string()),
            },
            Self::Cancelled(c) => EngineError::Cancelled(c),
            Self::Failed { code, slug, message } => {
                EngineError::Work { code, slug, message: message.into() }
            }
        }
    }
}
