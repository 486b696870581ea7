//! Which datasets are in memory. Loading is single-flight: any number of callers of a cold dataset
//! cause one load. Memory is a cache: every graph can be loaded again, so one that nobody holds a
//! lease on may be evicted at any time.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use graphlume_types::{Budget, CancelReason, CancelToken, DatasetId, Refused, Reservation, limits};

use crate::core::Core;
use crate::error::EngineError;
use crate::resident::Resident;
use crate::session::slot::SceneFrames;

/// The right to keep a resident graph: it is not evicted while a lease lives.
#[derive(Clone)]
pub(crate) struct Lease(Arc<Resident>);

impl Deref for Lease {
    type Target = Resident;
    fn deref(&self) -> &Resident {
        &self.0
    }
}

/// Somebody who wants a graph as soon as it is there.
pub(crate) type Waiter = Box<dyn FnOnce(&mut Core, Result<Lease, EngineError>)>;

/// How far the search for communities has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Communities {
    /// Not begun.
    Unknown,
    /// A job runs.
    Asked,
    /// Coloured, or given up.
    Done,
}

/// Where a dataset is.
pub(crate) enum Slot {
    Cold,
    Loading {
        ticket: u64,
        cancel: CancelToken,
        stage: &'static str,
        /// Set when somebody wants to see the graph.
        seen: Arc<AtomicBool>,
    },
    /// The loader says that there are no data yet.
    Waiting {
        error: EngineError,
    },
    Resident(Lease),
    Failed {
        error: EngineError,
        until: Instant,
    },
}

pub(crate) struct Entry {
    pub(crate) slot: Slot,
    /// Version of the element set; the same after an eviction, another after a change.
    pub(crate) epoch: u32,
    pub(crate) scene: Option<Arc<SceneFrames>>,
    pub(crate) communities: Communities,
    /// Stops the job that places the nodes of a graph that was loaded for queries.
    pub(crate) placing: Option<CancelToken>,
    last_used: Instant,
    failures: u32,
    waiters: Vec<Waiter>,
}

impl Entry {
    /// Stops the jobs that run for the dataset.
    fn stop(&self, reason: CancelReason) {
        if let Slot::Loading { cancel, .. } = &self.slot {
            cancel.cancel(reason);
        }
        if let Some(placing) = &self.placing {
            placing.cancel(reason);
        }
    }
}

/// What [`GraphStore::request`] found.
pub(crate) enum Found {
    /// [`GraphStore::resident`] gives it.
    Resident,
    /// A load runs; its answer will come.
    Loading,
    /// The caller must start a load under this ticket.
    Begin { ticket: u64, epoch: u32, cancel: CancelToken, seen: Arc<AtomicBool> },
    /// No data, or failed a moment ago.
    Refused(EngineError),
}

pub(crate) struct GraphStore {
    budget: Budget,
    entries: HashMap<DatasetId, Entry>,
    next_ticket: u64,
    next_epoch: u32,
    pub(crate) evictions: u64,
}

impl GraphStore {
    /// Epochs count on from `first_epoch`, which differs between two runs of the server, so that a
    /// browser never mistakes the edges of one run for those of another.
    pub(crate) fn new(budget: Budget, first_epoch: u32) -> Self {
        Self {
            budget,
            entries: HashMap::new(),
            next_ticket: 1,
            next_epoch: first_epoch.max(1),
            evictions: 0,
        }
    }

    pub(crate) fn entry(&self, dataset: DatasetId) -> Option<&Entry> {
        self.entries.get(&dataset)
    }

    pub(crate) fn entry_mut(&mut self, dataset: DatasetId) -> Option<&mut Entry> {
        self.entries.get_mut(&dataset)
    }

    /// The graph, if it is in memory.
    pub(crate) fn resident(&self, dataset: DatasetId) -> Option<Lease> {
        match &self.entries.get(&dataset)?.slot {
            Slot::Resident(lease) => Some(lease.clone()),
            _ => None,
        }
    }

    fn fresh_epoch(&mut self) -> u32 {
        let epoch = self.next_epoch;
        self.next_epoch = self.next_epoch.checked_add(1).unwrap_or(1);
        epoch
    }

    /// Finds the graph, or says what to do. `again` tries even a dataset that waits for data or failed
    /// a moment ago; `seen` says that the graph is wanted to be looked at.
    pub(crate) fn request(
        &mut self,
        dataset: DatasetId,
        now: Instant,
        again: bool,
        seen: bool,
    ) -> Found {
        if !self.entries.contains_key(&dataset) {
            let epoch = self.fresh_epoch();
            let entry = Entry {
                slot: Slot::Cold,
                epoch,
                scene: None,
                communities: Communities::Unknown,
                placing: None,
                last_used: now,
                failures: 0,
                waiters: Vec::new(),
            };
            self.entries.insert(dataset, entry);
        }
        let ticket = self.next_ticket;
        let Some(entry) = self.entries.get_mut(&dataset) else {
            return Found::Refused(EngineError::Dropped);
        };
        entry.last_used = now;
        match &entry.slot {
            Slot::Resident(_) => return Found::Resident,
            Slot::Loading { seen: already, .. } => {
                already.fetch_or(seen, Ordering::Relaxed);
                return Found::Loading;
            }
            Slot::Waiting { error } if !again => return Found::Refused(error.clone()),
            Slot::Failed { error, until } if !again && now < *until => {
                return Found::Refused(error.clone());
            }
            _ => {}
        }
        let cancel = CancelToken::new();
        let (stage, seen) = ("reading the tables", Arc::new(AtomicBool::new(seen)));
        entry.slot =
            Slot::Loading { ticket, cancel: cancel.clone(), stage, seen: Arc::clone(&seen) };
        self.next_ticket += 1;
        Found::Begin { ticket, epoch: entry.epoch, cancel, seen }
    }

    /// Keeps somebody waiting for a load that runs.
    ///
    /// # Errors
    /// The waiter comes back when too many wait already or no load runs.
    pub(crate) fn wait(&mut self, dataset: DatasetId, waiter: Waiter) -> Result<(), Waiter> {
        match self.entries.get_mut(&dataset) {
            Some(e)
                if matches!(e.slot, Slot::Loading { .. })
                    && e.waiters.len() < limits::LOAD_WAITERS_MAX =>
            {
                e.waiters.push(waiter);
                Ok(())
            }
            _ => Err(waiter),
        }
    }

    /// Whether the load with `ticket` is still the one that counts.
    pub(crate) fn is_current(&self, dataset: DatasetId, ticket: u64) -> bool {
        self.entries
            .get(&dataset)
            .is_some_and(|e| matches!(e.slot, Slot::Loading { ticket: t, .. } if t == ticket))
    }

    /// A load has succeeded.
    pub(crate) fn loaded(
        &mut self,
        dataset: DatasetId,
        resident: Resident,
        now: Instant,
    ) -> Vec<Waiter> {
        let Some(entry) = self.entries.get_mut(&dataset) else { return Vec::new() };
        // After an eviction the colours by community are still known.
        entry.scene.get_or_insert_with(|| resident.scene.clone());
        entry.slot = Slot::Resident(Lease(Arc::new(resident)));
        entry.failures = 0;
        entry.last_used = now;
        std::mem::take(&mut entry.waiters)
    }

    /// A load has failed, or found no data. Another one is not tried before `retry` has passed, twice
    /// that after the second failure in a row and so on.
    pub(crate) fn failed(
        &mut self,
        dataset: DatasetId,
        error: EngineError,
        now: Instant,
        retry: Duration,
    ) -> Vec<Waiter> {
        let Some(entry) = self.entries.get_mut(&dataset) else { return Vec::new() };
        if matches!(error, EngineError::Waiting { .. }) {
            entry.slot = Slot::Waiting { error };
        } else {
            let until = now + retry * 2u32.pow(entry.failures.min(5));
            entry.failures = entry.failures.saturating_add(1);
            entry.slot = Slot::Failed { error, until };
        }
        std::mem::take(&mut entry.waiters)
    }

    /// Forgets the dataset and stops its load.
    pub(crate) fn forget(&mut self, dataset: DatasetId) -> Vec<Waiter> {
        let Some(entry) = self.entries.remove(&dataset) else { return Vec::new() };
        entry.stop(CancelReason::Superseded);
        entry.waiters
    }

    /// Drops entries that hold nothing and that no session refers to.
    pub(crate) fn tidy(&mut self, in_use: impl Fn(DatasetId) -> bool) {
        self.entries.retain(|id, e| {
            matches!(e.slot, Slot::Loading { .. } | Slot::Resident(_)) || in_use(*id)
        });
    }

    /// Evicts graphs without leases, the longest unused first, until `bytes` are free or nothing more
    /// can go.
    pub(crate) fn make_room(&mut self, bytes: u64) {
        let mut idle: Vec<(Instant, DatasetId)> = self
            .entries
            .iter()
            .filter_map(|(id, e)| match &e.slot {
                // Only the loop hands out leases, so a count of one stays one.
                Slot::Resident(lease) if Arc::strong_count(&lease.0) == 1 => {
                    Some((e.last_used, *id))
                }
                _ => None,
            })
            .collect();
        idle.sort_unstable();
        for (_, id) in idle {
            if self.budget.limit().saturating_sub(self.budget.used()) >= bytes {
                return;
            }
            if let Some(entry) = self.entries.get_mut(&id) {
                tracing::info!(dataset = %id, "evicted to make room");
                entry.slot = Slot::Cold;
                self.evictions += 1;
            }
        }
    }

    /// # Errors
    /// [`Refused`] when the bytes are not free at this moment.
    pub(crate) fn reserve(&self, bytes: u64) -> Result<Reservation, Refused> {
        self.budget.try_reserve(bytes)
    }

    /// Marks the dataset as used.
    pub(crate) fn touch(&mut self, dataset: DatasetId, now: Instant) {
        if let Some(e) = self.entries.get_mut(&dataset) {
            e.last_used = now;
        }
    }

    pub(crate) fn num_resident(&self) -> usize {
        self.entries.values().filter(|e| matches!(e.slot, Slot::Resident(_))).count()
    }

    /// Stops every load.
    pub(crate) fn cancel_all(&mut self, reason: CancelReason) -> Vec<Waiter> {
        let mut waiters = Vec::new();
        for entry in self.entries.values_mut() {
            entry.stop(reason);
            waiters.append(&mut entry.waiters);
        }
        waiters
    }
}
