//! Store of the datasets with the place of each. Loading is single-flight: any number of callers of a cold dataset
//! cause one load. Memory is a cache: every graph can be loaded again, so one without leases may be evicted at any
//! time.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use graphlume_types::{Budget, CancelReason, CancelToken, DatasetId, limits};

use crate::error::EngineError;
use crate::frames::SceneFrames;
use crate::residency::GraphRequest;
use crate::residency::job_turn::NextEpoch;
use crate::residency::resident::{Lease, Resident};

/// How far the search for communities has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Communities {
    /// Not begun.
    Unknown,
    /// A job runs.
    Searching,
    /// Coloured, or given up.
    Done,
}

/// The residency state of a dataset.
enum ResidencyState {
    Cold,
    Loading {
        ticket: u64,
        cancel: CancelToken,
        stage: &'static str,
        /// Set when the graph is to be looked at.
        wants_positions: Arc<AtomicBool>,
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

struct Entry {
    state: ResidencyState,
    /// Version of the element set; the same after an eviction, another after a change.
    epoch: u32,
    /// The scene coloured by community, once it is known; it outlives an eviction.
    scene: Option<Arc<SceneFrames>>,
    communities: Communities,
    /// Stops the job that places the nodes of a graph that was loaded for queries.
    placing: Option<CancelToken>,
    last_used: Instant,
    failures: u32,
    waiters: Vec<GraphRequest>,
    /// Which of the columns that the element set has had are the newest; 0 before the first algorithm.
    columns_version: u32,
    /// Whether a layout that the dataset names has placed the nodes of this element set.
    is_laid_out: bool,
    /// The graph that such a layout is still to place again, because it was evicted. No page shows it.
    unplaced: Option<Lease>,
}

impl Entry {
    /// Stops the jobs that run for the dataset.
    fn stop(&self, reason: CancelReason) {
        if let ResidencyState::Loading { cancel, .. } = &self.state {
            cancel.cancel(reason);
        }
        if let Some(placing) = &self.placing {
            placing.cancel(reason);
        }
    }
}

/// What [`GraphStore::find`] found.
pub(super) enum Lookup {
    Resident(Lease),
    /// A load runs and is at this stage.
    Loading(&'static str),
    /// The caller must start this load.
    Begin(NewLoad),
    /// No data, or failed a moment ago.
    Refused(EngineError),
}

/// A load that is to be started.
pub(super) struct NewLoad {
    pub(super) ticket: u64,
    pub(super) epoch: u32,
    pub(super) columns_version: u32,
    pub(super) cancel: CancelToken,
    pub(super) wants_positions: Arc<AtomicBool>,
}

/// What a load says of itself before its loader has said anything.
pub(super) const FIRST_STAGE: &str = "reading the tables";

pub(super) struct GraphStore {
    budget: Budget,
    entries: HashMap<DatasetId, Entry>,
    next_ticket: u64,
    next_epoch: u32,
    evictions: u64,
}

impl GraphStore {
    /// Epochs count on from `first_epoch`, which differs between two runs of the server, so that a
    /// browser never mistakes the edges of one run for those of another.
    pub(super) fn new(budget: Budget, first_epoch: u32) -> Self {
        Self {
            budget,
            entries: HashMap::new(),
            next_ticket: 1,
            next_epoch: first_epoch.max(1),
            evictions: 0,
        }
    }

    /// Whether anything is kept of the dataset.
    pub(super) fn is_known(&self, dataset: DatasetId) -> bool {
        self.entries.contains_key(&dataset)
    }

    /// The graph, if it is in memory.
    pub(super) fn resident(&self, dataset: DatasetId) -> Option<&Lease> {
        match &self.entries.get(&dataset)?.state {
            ResidencyState::Resident(lease) => Some(lease),
            _ => None,
        }
    }

    /// What viewers of the resident graph are shown without collections.
    pub(super) fn scene(&self, dataset: DatasetId) -> Option<Arc<SceneFrames>> {
        let entry = self.entries.get(&dataset)?;
        let own = || self.resident(dataset).map(|lease| Arc::clone(&lease.scene));
        entry.scene.clone().or_else(own)
    }

    fn fresh_epoch(&mut self) -> u32 {
        let epoch = self.next_epoch;
        self.next_epoch = self.next_epoch.checked_add(1).unwrap_or(1);
        epoch
    }

    /// Finds the graph, or says what to do. `retry` tries even a dataset that waits for data or failed
    /// a moment ago; `positions` says that the graph is to be looked at.
    pub(super) fn find(
        &mut self,
        dataset: DatasetId,
        now: Instant,
        retry: bool,
        positions: bool,
    ) -> Lookup {
        if !self.entries.contains_key(&dataset) {
            let epoch = self.fresh_epoch();
            let entry = Entry {
                state: ResidencyState::Cold,
                epoch,
                scene: None,
                communities: Communities::Unknown,
                placing: None,
                last_used: now,
                failures: 0,
                waiters: Vec::new(),
                columns_version: 0,
                is_laid_out: false,
                unplaced: None,
            };
            self.entries.insert(dataset, entry);
        }
        let ticket = self.next_ticket;
        let Some(entry) = self.entries.get_mut(&dataset) else {
            return Lookup::Refused(EngineError::Dropped);
        };
        entry.last_used = now;
        match &entry.state {
            ResidencyState::Resident(lease) => return Lookup::Resident(lease.clone()),
            ResidencyState::Loading { wants_positions, stage, .. } => {
                wants_positions.fetch_or(positions, Ordering::Relaxed);
                return Lookup::Loading(stage);
            }
            ResidencyState::Waiting { error } if !retry => return Lookup::Refused(error.clone()),
            ResidencyState::Failed { error, until } if !retry && now < *until => {
                return Lookup::Refused(error.clone());
            }
            _ => {}
        }
        let cancel = CancelToken::new();
        let wants_positions = Arc::new(AtomicBool::new(positions));
        entry.state = ResidencyState::Loading {
            ticket,
            cancel: cancel.clone(),
            stage: FIRST_STAGE,
            wants_positions: Arc::clone(&wants_positions),
        };
        self.next_ticket += 1;
        // What is kept of columns that algorithms gave is not of the graph without them.
        entry.columns_version += u32::from(entry.columns_version > 0);
        let Entry { epoch, columns_version, .. } = *entry;
        Lookup::Begin(NewLoad { ticket, epoch, columns_version, cancel, wants_positions })
    }

    /// Keeps a request until the load that runs has ended.
    ///
    /// # Errors
    /// The request comes back when too many wait already or no load runs.
    #[expect(clippy::result_large_err, reason = "the request goes back to the one caller")]
    pub(super) fn wait(
        &mut self,
        dataset: DatasetId,
        request: GraphRequest,
    ) -> Result<(), GraphRequest> {
        match self.entries.get_mut(&dataset) {
            Some(e)
                if matches!(e.state, ResidencyState::Loading { .. })
                    && e.waiters.len() < limits::LOAD_WAITERS_MAX =>
            {
                e.waiters.push(request);
                Ok(())
            }
            _ => Err(request),
        }
    }

    /// Notes the stage of a load; whether it is still the one that counts.
    pub(super) fn set_stage(
        &mut self,
        dataset: DatasetId,
        ticket: u64,
        stage: &'static str,
    ) -> bool {
        match self.entries.get_mut(&dataset).map(|e| &mut e.state) {
            Some(ResidencyState::Loading { ticket: t, stage: shown, .. }) if *t == ticket => {
                *shown = stage;
                true
            }
            _ => false,
        }
    }

    /// Notes the stage of the load that runs.
    pub(super) fn show_stage(&mut self, dataset: DatasetId, stage: &'static str) {
        let state = self.entries.get_mut(&dataset).map(|e| &mut e.state);
        if let Some(ResidencyState::Loading { stage: shown, .. }) = state {
            *shown = stage;
        }
    }

    /// Whether the load with `ticket` is still the one that counts.
    pub(super) fn is_current(&self, dataset: DatasetId, ticket: u64) -> bool {
        self.entries.get(&dataset).is_some_and(
            |e| matches!(e.state, ResidencyState::Loading { ticket: t, .. } if t == ticket),
        )
    }

    /// A load has succeeded: who waits for its graph.
    pub(super) fn loaded(
        &mut self,
        dataset: DatasetId,
        lease: Lease,
        now: Instant,
    ) -> Option<Vec<GraphRequest>> {
        let entry = self.entries.get_mut(&dataset)?;
        // After an eviction the colours by community are still known.
        entry.scene.get_or_insert_with(|| lease.scene.clone());
        entry.state = ResidencyState::Resident(lease);
        entry.failures = 0;
        entry.last_used = now;
        Some(std::mem::take(&mut entry.waiters))
    }

    /// The graph of an evicted dataset, whose nodes a layout is to place again before a page shows it; false where it needs none.
    pub(super) fn hold_unplaced(&mut self, dataset: DatasetId, lease: &Lease) -> bool {
        let entry = self.entries.get_mut(&dataset).filter(|entry| entry.is_laid_out);
        let Some(entry) = entry.filter(|_| lease.awaits_layout()) else { return false };
        entry.unplaced = Some(lease.clone());
        true
    }

    /// The graph that the algorithms of a dataset run on.
    pub(super) fn job_base(&self, dataset: DatasetId) -> Option<Lease> {
        let unplaced = self.entries.get(&dataset)?.unplaced.as_ref();
        unplaced.or_else(|| self.resident(dataset)).cloned()
    }

    /// The element set of the graph that has the columns of the dataset's algorithms.
    pub(super) fn next_epoch(&mut self, dataset: DatasetId) -> Option<NextEpoch> {
        let fresh = self.fresh_epoch();
        let entry = self.entries.get(&dataset)?;
        let columns_version = entry.columns_version + 1;
        // Pages may still show the nodes where the layout placed them before the eviction.
        let (kept, moved) = match entry.unplaced {
            Some(_) => (fresh, entry.epoch),
            None => (entry.epoch, fresh),
        };
        Some(NextEpoch { kept, moved, columns_version })
    }

    /// The graph with the columns of the dataset's algorithms takes the place of the one without: who waits for it, and whether
    /// its element set is another one.
    pub(super) fn finished(
        &mut self,
        dataset: DatasetId,
        resident: Resident,
        is_laid_out: bool,
        now: Instant,
    ) -> Option<(bool, Vec<GraphRequest>)> {
        let entry = self.entries.get_mut(&dataset)?;
        let is_other = entry.epoch != resident.facts.epoch;
        entry.epoch = resident.facts.epoch;
        entry.columns_version = resident.columns_version;
        entry.is_laid_out = is_laid_out;
        entry.unplaced = None;
        entry.scene = Some(resident.scene.clone());
        entry.communities = Communities::Unknown;
        entry.state = ResidencyState::Resident(Lease::new(resident));
        entry.failures = 0;
        entry.last_used = now;
        Some((is_other, std::mem::take(&mut entry.waiters)))
    }

    /// A load has failed, or found no data. Another one is not tried before `retry` has passed, twice
    /// that after the second failure in a row and so on.
    pub(super) fn failed(
        &mut self,
        dataset: DatasetId,
        error: EngineError,
        now: Instant,
        retry: Duration,
    ) -> Vec<GraphRequest> {
        let Some(entry) = self.entries.get_mut(&dataset) else { return Vec::new() };
        entry.unplaced = None;
        if matches!(error, EngineError::Waiting { .. }) {
            entry.state = ResidencyState::Waiting { error };
        } else {
            let until = now + retry * 2u32.pow(entry.failures.min(5));
            entry.failures = entry.failures.saturating_add(1);
            entry.state = ResidencyState::Failed { error, until };
        }
        std::mem::take(&mut entry.waiters)
    }

    /// Whether a job places the nodes of the dataset's graph.
    pub(super) fn is_placing(&self, dataset: DatasetId) -> bool {
        self.entries.get(&dataset).is_some_and(|e| e.placing.is_some())
    }

    /// Notes the job that places the nodes, or that there is none any more.
    pub(super) fn set_placing(&mut self, dataset: DatasetId, placing: Option<CancelToken>) {
        if let Some(entry) = self.entries.get_mut(&dataset) {
            entry.placing = placing;
        }
    }

    /// The graph to look for communities in, when nothing but communities would give its nodes meaningful
    /// colours and no search has begun; [`Self::begin_communities`] notes that a job does.
    pub(super) fn lacks_communities(&mut self, dataset: DatasetId) -> Option<Lease> {
        let entry = self.entries.get_mut(&dataset)?;
        let ResidencyState::Resident(lease) = &entry.state else { return None };
        if entry.communities != Communities::Unknown {
            return None;
        }
        if !lease.wants_communities {
            entry.communities = Communities::Done;
            return None;
        }
        Some(lease.clone())
    }

    pub(super) fn begin_communities(&mut self, dataset: DatasetId) {
        if let Some(entry) = self.entries.get_mut(&dataset) {
            entry.communities = Communities::Searching;
        }
    }

    /// The search for communities of an element set has ended, with a scene or without; whether the element
    /// set is still the dataset's.
    pub(super) fn end_communities(
        &mut self,
        dataset: DatasetId,
        epoch: u32,
        scene: Option<Arc<SceneFrames>>,
    ) -> bool {
        let Some(entry) = self.entries.get_mut(&dataset).filter(|e| e.epoch == epoch) else {
            return false;
        };
        // Algorithms of the dataset may have given it other columns meanwhile.
        let own = entry.scene.as_ref().map(|own| own.version);
        let is_old = scene.as_ref().is_some_and(|found| Some(found.version) <= own);
        if is_old || entry.communities != Communities::Searching {
            return false;
        }
        entry.communities = Communities::Done;
        if scene.is_some() {
            entry.scene = scene;
        }
        true
    }

    /// Forgets the dataset and stops its load; who waits for it.
    pub(super) fn forget(&mut self, dataset: DatasetId) -> Vec<GraphRequest> {
        let Some(entry) = self.entries.remove(&dataset) else { return Vec::new() };
        entry.stop(CancelReason::Superseded);
        entry.waiters
    }

    /// Drops entries that hold nothing and that no session refers to.
    pub(super) fn evict_unused(&mut self, in_use: impl Fn(DatasetId) -> bool) {
        self.entries.retain(|id, e| {
            matches!(e.state, ResidencyState::Loading { .. } | ResidencyState::Resident(_))
                || in_use(*id)
        });
    }

    /// Evicts graphs without leases, the longest unused first, until `bytes` are free or nothing more
    /// can go. Those that went.
    pub(super) fn make_room(&mut self, bytes: u64) -> Vec<DatasetId> {
        let mut gone = Vec::new();
        let mut idle: Vec<(Instant, DatasetId)> = self
            .entries
            .iter()
            .filter_map(|(id, e)| match &e.state {
                // Only the loop hands out leases, so the last one stays the last.
                ResidencyState::Resident(lease) if lease.is_last() => Some((e.last_used, *id)),
                _ => None,
            })
            .collect();
        idle.sort_unstable();
        for (_, id) in idle {
            if self.has_room(bytes) {
                return gone;
            }
            if let Some(entry) = self.entries.get_mut(&id) {
                tracing::info!(dataset = %id, "evicted to make room");
                entry.state = ResidencyState::Cold;
                self.evictions += 1;
                gone.push(id);
            }
        }
        gone
    }

    /// Whether so many bytes are free.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.budget.limit().saturating_sub(self.budget.used()) >= bytes
    }

    /// Graphs evicted so far.
    pub(super) const fn evictions(&self) -> u64 {
        self.evictions
    }

    /// Marks the dataset as used.
    pub(super) fn touch(&mut self, dataset: DatasetId, now: Instant) {
        if let Some(e) = self.entries.get_mut(&dataset) {
            e.last_used = now;
        }
    }

    pub(super) fn num_resident(&self) -> usize {
        let is_resident = |e: &&Entry| matches!(e.state, ResidencyState::Resident(_));
        self.entries.values().filter(is_resident).count()
    }

    /// Stops every load; who waits for one.
    pub(super) fn cancel_all(&mut self, reason: CancelReason) -> Vec<GraphRequest> {
        let mut waiters = Vec::new();
        for entry in self.entries.values_mut() {
            entry.stop(reason);
            waiters.append(&mut entry.waiters);
        }
        waiters
    }
}
