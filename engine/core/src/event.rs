//! What workers report to the loop.

use std::sync::Arc;

use crossbeam::channel::Sender;
use graphlume_types::{DatasetId, Refused, Reservation, SessionId};

use crate::error::EngineError;
use crate::health::Canary;
use crate::keeper::Snapshot;
use crate::loader::LoadError;
use crate::resident::Resident;
use crate::session::collections::Coating;
use crate::session::layout::{Layout, SliceReport};
use crate::session::schedule::Place;
use crate::session::slot::{SceneFrames, Slot};

/// Finished or half-finished work.
pub(crate) enum Event {
    /// A load has entered its next stage.
    Progress { dataset: DatasetId, ticket: u64, stage: &'static str },
    /// A load needs memory that only eviction can give.
    Room { bytes: u64, answer: Sender<Result<Reservation, Refused>> },
    /// A load has ended.
    Loaded { dataset: DatasetId, ticket: u64, result: Result<Box<Resident>, LoadFailure> },
    /// The nodes of a graph that is in memory have been placed.
    Placed { dataset: DatasetId, result: Result<(), EngineError> },
    /// A layout comes home.
    Sliced { session: SessionId, generation: u64, place: Place, result: Result<Slice, EngineError> },
    /// Colours by community are there, or are not to be had.
    Communities { dataset: DatasetId, epoch: u32, result: Result<SceneFrames, EngineError> },
    /// Collections have been painted over a session's picture.
    Coated { session: SessionId, slot: Arc<Slot>, result: Result<Box<Coating>, EngineError> },
    /// The positions of a session have been written down, or could not be.
    Kept { session: SessionId },
    /// Positions of an earlier run, with the memory of a layout, or nothing.
    Restored { session: SessionId, found: Option<(Box<Snapshot>, Reservation)> },
    /// The known-answer job has run.
    Canary { result: Canary },
}

/// A layout and what it did in its slice.
pub(crate) struct Slice {
    pub(crate) layout: Box<Layout>,
    pub(crate) report: SliceReport,
}

/// Why a load gave no graph.
pub(crate) enum LoadFailure {
    /// The loader said so.
    Loader(LoadError),
    /// Building it failed.
    Build(EngineError),
}
