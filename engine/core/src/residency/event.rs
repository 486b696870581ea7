//! Reports of loaders to the loop, and requests of any thread to it for memory.

use crossbeam::channel::{Sender, bounded};
use graphlume_types::{DatasetId, MakeRoom, Reservation, ResourcesExhausted};

use crate::error::EngineError;
use crate::report::Reports;
use crate::residency::job_turn::TurnReport;
use crate::residency::load::LoadFailure;
use crate::residency::resident::Resident;

/// What a thread that works for the residency reports.
pub(crate) enum ResidencyEvent {
    /// A load has entered its next stage.
    Progress { dataset: DatasetId, ticket: u64, stage: &'static str },
    /// A load or a query needs memory that only eviction can give.
    MemoryWanted { bytes: u64, answer: Sender<Result<Reservation, ResourcesExhausted>> },
    /// A load has ended.
    Loaded { dataset: DatasetId, ticket: u64, result: Result<Box<Resident>, LoadFailure> },
    /// A turn of a dataset's algorithms has ended.
    JobTurn { dataset: DatasetId, ticket: u64, report: Box<TurnReport> },
    /// The nodes of a graph that is in memory have been placed.
    Placed { dataset: DatasetId, result: Result<(), EngineError> },
}

/// Has the loop take memory, evicting for it, and waits for its answer; none when the engine has ended.
pub(crate) fn evict_for(
    reports: &Reports<ResidencyEvent>,
    bytes: u64,
) -> Option<Result<Reservation, ResourcesExhausted>> {
    let (answer, taken) = bounded(1);
    if !reports.send(ResidencyEvent::MemoryWanted { bytes, answer }) {
        return None;
    }
    taken.recv().ok()
}

/// The same for work that knows nothing of the engine and may take up to `limit` bytes.
pub(crate) fn make_room(reports: Reports<ResidencyEvent>, limit: u64) -> Box<MakeRoom> {
    Box::new(move |bytes| {
        let refused = ResourcesExhausted { name: "host", need: bytes, used: limit, limit };
        evict_for(&reports, bytes).unwrap_or(Err(refused))
    })
}
