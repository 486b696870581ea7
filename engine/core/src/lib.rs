//! The heart of the server: one thread that owns every graph and every visualization session.
//!
//! Others hold an [`EngineHandle`]; its calls travel through bounded queues and are answered through
//! one-shot replies. The loop itself only decides; whatever grows with a graph runs on named workers
//! and the CPU pool and comes back as an event. Datasets are loaded once, stay resident while memory
//! lasts, and are evicted when there is no lease on them. Positions travel to viewers through a
//! latest-value channel per session, so that viewers never queue frames, and to a [`CheckpointStore`], so that they
//! outlive the process.
//!
//! What is absent: users, roles, HTTP, files. The caller has checked the right to send a command.

mod allocator;
mod caller;
mod canary;
mod checkpoint;
mod cmd;
mod command;
mod command_queue;
mod compute;
mod config;
mod context;
mod device;
mod engine;
mod error;
mod frames;
mod handle;
mod health;
mod layout_settings;
mod loader;
mod messages;
mod query_scheduler;
mod reply;
mod report;
mod residency;
mod run_loop;
mod scheduler;
mod session;
mod stats;
mod target;
#[cfg(test)]
mod tests;
mod thread_priority;
mod watchdog;
mod workers;

pub use allocator::{bound_freed, give_back_freed};
pub use caller::SessionReads;
pub use canary::Canary;
pub use checkpoint::{Checkpoint, CheckpointMetadata, CheckpointStore};
pub use cmd::facets::Visible;
pub use cmd::info::SessionInfo;
pub use cmd::picture::PictureRequest;
pub use cmd::query::{
    GraphsInUse, ParsedQuery, QueryAnswer, QueryRequest, QueryResult, ResultMode,
};
pub use compute::{ComputeError, ComputeRequest, schema};
pub use config::{CALL_DEADLINE, Config, GPU_EDGES_MIN};
pub use device::{GpuChoice, GpuReport, OnDeviceLost};
pub use error::{ClosedReason, EngineError, MemoryError};
pub use frames::{PositionFrame, SceneFrames};
pub use graphlume_device::cuda::GpuState;
pub use graphlume_facets::{
    Axis, Brush, ColumnKind, Count, FacetColumn, Filter, FilterCount, FilterKind, FilterSet,
    Filtered, Histogram, Kept, NodeBytes, Parts, Rule, Wanted,
};
pub use graphlume_raster::{
    Background as PictureBackground, Format as PictureFormat, Labels as PictureLabels,
    Look as PictureLook, Settings as PictureSettings, Theme as PictureTheme,
    Window as PictureWindow,
};
pub use graphlume_scene::backdrop;
pub use graphlume_scene::{Bits, Encodings, Members, Paint, SearchHit};
pub use graphlume_store::NODE_ID;
pub use handle::EngineHandle;
pub use health::EngineHealth;
pub use layout_settings::LayoutSettings;
pub use loader::{BuildStage, Built, LoadError, Loaded, Loader};
pub use messages::{
    AuthorKind, Backend, ChangedEntry, CollectionLabel, Entries, FilterNumbers, Hello, PageNotice,
    Phase, SessionState, StepAuthor, ToPage, ToServer, WantedEntry,
};
pub use residency::{ColumnInfo, GraphFacts, JobInfo, JobState};
pub use run_loop::{EngineThread, start};
pub use session::collection_set::{
    CollectionMembers, CollectionRule, CollectionSet, CollectionSpec, CollectionsView,
};
pub use session::control::Control;
pub use session::events::ViewerEvent;
pub use session::placement::Placement;
pub use session::viewer::Viewer;
pub use stats::EngineStats;
pub use target::Target;

/// Drives a call of the engine on the calling thread: for the command line and for tests, never inside
/// an async runtime.
pub fn block_on<F: std::future::Future>(future: F) -> F::Output {
    reply::block_on(future)
}
