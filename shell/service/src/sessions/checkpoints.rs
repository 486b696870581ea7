//! Checkpoints of the engine's positions, in files of the data folder.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use graphlume_engine::{Checkpoint, CheckpointMetadata, CheckpointStore};
use graphlume_storage::{Coordinates, DatasetRec, Kept, SessionRec, SnapshotHead, StoreError};
use graphlume_types::limits::SESSION_IDLE_DAYS_MAX;
use graphlume_types::{DatasetId, SessionId};

use super::DAY_MICROS;
use crate::data::DataStore;
use crate::datasets::builtin;
use crate::error::ServiceError;

/// Keeps positions beside the records.
pub(crate) struct Checkpoints {
    data: Arc<DataStore>,
    /// Whether the last write failed: a full disk is told once, not every few seconds.
    is_failing: AtomicBool,
}

impl Checkpoints {
    pub(crate) const fn new(data: Arc<DataStore>) -> Self {
        Self { data, is_failing: AtomicBool::new(false) }
    }

    fn put(&self, session: &SessionId, snapshot: &Checkpoint) -> Result<(), ServiceError> {
        let notes = serde_json::to_vec(&snapshot.metadata)
            .map_err(|e| ServiceError::Internal(format!("the notes of a checkpoint: {e}")))?;
        let head = SnapshotHead {
            session: session.clone(),
            dataset: snapshot.dataset,
            fingerprint: snapshot.fingerprint,
            notes,
        };
        // Sessions of accounts alone are on record. One that cannot be looked up is taken for one of them.
        let store = &self.data.store;
        let is_owned = |s: &SessionId| store.exists::<SessionRec>(s).unwrap_or(true);
        let depths = snapshot.depths.as_deref().map(Vec::as_slice);
        Ok(store.snapshots().put(&head, &snapshot.positions, depths, &is_owned)?)
    }
}

fn forgotten(done: Result<(), StoreError>) {
    if let Err(e) = done {
        tracing::warn!(error = %e, "kept positions were not removed; the next sweep tries again");
    }
}

/// Forgets the positions of a session that is forgotten itself.
pub(crate) fn forget(data: &DataStore, session: &SessionId, dataset: DatasetId) {
    forgotten(data.store.snapshots().remove(session, dataset));
}

impl CheckpointStore for Checkpoints {
    fn write(&self, session: &SessionId, snapshot: &Checkpoint) {
        let done = self.put(session, snapshot);
        let was_failing = self.is_failing.swap(done.is_err(), Ordering::Relaxed);
        match done {
            Err(e) if !was_failing => {
                tracing::warn!(%session, error = %e, "positions are not kept; a restart would lose them");
            }
            Ok(()) if was_failing => tracing::info!("positions are kept again"),
            _ => {}
        }
    }

    fn read(&self, session: &SessionId, dataset: DatasetId, num_nodes: u32) -> Option<Checkpoint> {
        let unusable = |why: &str| {
            tracing::warn!(
                %session, %dataset, why, "kept positions cannot be used; the layout starts anew"
            );
        };
        let (head, at) = match self.data.store.snapshots().get(session, dataset, num_nodes) {
            Ok(Kept::Positions(head, at)) => (head, at),
            Ok(Kept::Nothing) => return None,
            Ok(Kept::Unfit(why)) => {
                unusable(why);
                return None;
            }
            Err(e) => {
                unusable(&e.to_string());
                return None;
            }
        };
        match serde_json::from_slice::<CheckpointMetadata>(&head.notes) {
            Ok(metadata) => {
                let (fingerprint, Coordinates { positions, depths }) = (head.fingerprint, at);
                Some(Checkpoint { dataset, fingerprint, metadata, positions, depths })
            }
            Err(e) => {
                unusable(&e.to_string());
                None
            }
        }
    }

    fn forget_session(&self, session: &SessionId, dataset: DatasetId) {
        forget(&self.data, session, dataset);
    }

    fn forget_dataset(&self, dataset: DatasetId) {
        forgotten(self.data.store.snapshots().remove_dataset(dataset));
    }
}

/// Removes positions of datasets that are gone and of sessions that have not moved for long. Those of
/// sessions without a record stay: the page of an anonymous visit opens it again.
pub(crate) fn sweep(data: &DataStore) -> Result<(), ServiceError> {
    let oldest = data.clock.unix_micros().saturating_sub(SESSION_IDLE_DAYS_MAX * DAY_MICROS);
    let has_data = |dataset| {
        // A store that cannot be read has lost nothing yet.
        builtin::by_id(dataset).is_some()
            || data.store.exists::<DatasetRec>(&dataset).unwrap_or(true)
    };
    let keep = |_: &SessionId, dataset, written_at| written_at >= oldest && has_data(dataset);
    Ok(data.store.snapshots().retain(keep)?)
}
