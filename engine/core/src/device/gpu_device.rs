//! The GPU with what the engine keeps on it.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use graphlume_algo::AlgoError;
use graphlume_algo::gpu::GpuGraph;
use graphlume_algo::gpu::relation::Relation;
use graphlume_device::columns::{ColumnOpError, DeviceColumn};
use graphlume_device::cuda::{DeviceError, Gpu, GpuState};
use graphlume_graph::Topology;
use graphlume_types::Clock;
use parking_lot::Mutex;

use crate::canary::Canary;
use crate::device::cache::{Cache, CopyKey, Key};
use crate::device::free_list::FreeList;

/// The GPU to compute on.
#[derive(Debug, Clone)]
pub enum GpuChoice {
    /// This one.
    Use(Gpu),
    /// None.
    None {
        /// Why, for the health routes.
        reason: Arc<str>,
    },
}

/// What follows when the GPU is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDeviceLost {
    /// The engine asks for the end of the process, see
    /// [`EngineHandle::restart_wanted`](crate::EngineHandle::restart_wanted): only a new process gets
    /// the device back.
    Exit,
    /// Sessions go on with the CPU from their last positions.
    Cpu,
}

/// The GPU as the health routes show it.
#[derive(Debug, Clone)]
pub struct GpuReport {
    /// Its name.
    pub name: String,
    /// Version of the driver's interface.
    pub driver: String,
    /// Bytes that graphs and layouts may take.
    pub memory_bytes_max: u64,
    /// Bytes taken.
    pub memory_bytes: u64,
    /// Whether its context can be used.
    pub state: GpuState,
    /// The last known-answer kernel and its age; none before the first.
    pub canary: Option<(Canary, Duration)>,
}

impl GpuReport {
    /// Whether the context is alive and has computed a known answer.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        !matches!(self.state, GpuState::Lost { .. })
            && self.canary.as_ref().is_some_and(|(canary, _)| canary.ok)
    }
}

/// What the GPU shows of itself.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct DeviceFigures {
    pub(crate) memory_bytes: u64,
    pub(crate) memory_bytes_peak: u64,
    pub(crate) memory_bytes_max: u64,
    pub(crate) graphs: usize,
    pub(crate) uploads: u64,
    pub(crate) evictions: u64,
    pub(crate) refusals: u64,
    pub(crate) driver_refusals: u64,
}

/// Names the copy of a column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ColumnKey {
    pub(crate) graph: Key,
    /// Which of the columns that the graph has had: see [`Resident::columns_version`](crate::residency).
    pub(crate) version: u32,
    /// Of the table of edges, or of that of nodes.
    pub(crate) of_edges: bool,
    /// Of the table of nodes that has what only edges name, too.
    pub(crate) drawn: bool,
    /// With the cells in the order of the outgoing adjacency instead of that of the rows.
    pub(crate) by_position: bool,
    pub(crate) name: String,
}

impl CopyKey for ColumnKey {
    fn graph(&self) -> Key {
        self.graph
    }
}

/// Names the copy of the relationships of some types.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RelationKey {
    pub(crate) graph: Key,
    /// Of the columns of which they were made, as in [`ColumnKey::version`].
    pub(crate) version: u32,
    /// Between the nodes of a table that has what only edges name, too.
    pub(crate) drawn: bool,
    /// In ascending order.
    pub(crate) types: Vec<String>,
}

impl CopyKey for RelationKey {
    fn graph(&self) -> Key {
        self.graph
    }
}

/// A GPU in use.
pub(crate) struct GpuDevice {
    pub(crate) gpu: Gpu,
    /// The canary has a stream of its own, so that it does not wait behind a slice.
    canary_gpu: Gpu,
    canary: Mutex<Option<(Canary, Instant)>>,
    graphs: Cache<Key, GpuGraph>,
    columns: Cache<ColumnKey, DeviceColumn>,
    relations: Cache<RelationKey, Relation>,
    deferred: FreeList,
    clock: Arc<dyn Clock>,
    /// Requests refused for lack of device memory even after eviction.
    refusals: AtomicU64,
}

impl GpuDevice {
    /// # Errors
    /// What the device says.
    pub(crate) fn new(gpu: Gpu, clock: Arc<dyn Clock>) -> Result<Self, DeviceError> {
        Ok(Self {
            canary_gpu: gpu.stream()?,
            gpu,
            canary: Mutex::new(None),
            graphs: Cache::new(),
            columns: Cache::new(),
            relations: Cache::new(),
            deferred: FreeList::default(),
            clock,
            refusals: AtomicU64::new(0),
        })
    }

    /// Why nothing can be computed on it any more, once that is so.
    pub(crate) fn lost(&self) -> Option<String> {
        match self.gpu.state() {
            GpuState::Lost { reason } => Some(reason),
            GpuState::Ready | GpuState::Suspect { .. } => None,
        }
    }

    /// What sessions say of it once it is lost; none while it works.
    pub(crate) fn why_lost(&self) -> Option<String> {
        self.lost().map(|reason| format!("the GPU was lost: {reason}"))
    }

    /// Runs the known-answer kernel. On a worker.
    pub(crate) fn run_canary(&self, clock: &dyn Clock) {
        let begun = clock.monotonic();
        let answer = self.canary_gpu.canary();
        let is_full = matches!(&answer, Err(DeviceError::OutOfMemory { .. }));
        if is_full && self.canary.lock().is_some() {
            // A GPU without free memory still computes rightly; what the last check found holds.
            return;
        }
        let now = clock.monotonic();
        let took = now.saturating_duration_since(begun);
        let detail = answer.err().map_or_else(String::new, |e| e.to_string());
        let canary = Canary { ok: detail.is_empty(), detail, took };
        *self.canary.lock() = Some((canary, now));
    }

    pub(crate) fn report(&self, now: Instant) -> GpuReport {
        let info = self.gpu.info();
        let canary = self.canary.lock().clone();
        GpuReport {
            name: info.name.clone(),
            driver: info.driver.clone(),
            memory_bytes_max: self.gpu.budget().limit(),
            memory_bytes: self.gpu.budget().used(),
            state: self.gpu.state(),
            canary: canary.map(|(c, at)| (c, now.saturating_duration_since(at))),
        }
    }

    /// The graph's copy on the device, made if it is not there. On a worker.
    ///
    /// # Errors
    /// What the device says, after every idle copy has made room.
    pub(crate) fn graph(&self, key: Key, topology: &Topology) -> Result<Arc<GpuGraph>, AlgoError> {
        self.reclaim();
        let now = self.clock.monotonic();
        let made = self.graphs.get_or_make(key, now, AlgoError::is_short, || {
            GpuGraph::upload(&self.gpu, topology).map_err(AlgoError::from)
        });
        self.note(made)
    }

    /// A column's copy on the device, made if it is not there. On a worker.
    ///
    /// # Errors
    /// What the device says, after every idle copy has made room.
    pub(crate) fn column(
        &self,
        key: ColumnKey,
        mut make: impl FnMut() -> Result<DeviceColumn, ColumnOpError>,
    ) -> Result<Arc<DeviceColumn>, ColumnOpError> {
        self.reclaim();
        let now = self.clock.monotonic();
        // Columns make room for each other first, then relations for them, and then graphs.
        self.graphs.with_room(ColumnOpError::is_short, || {
            self.relations.with_room(ColumnOpError::is_short, || {
                self.columns.get_or_make(key.clone(), now, ColumnOpError::is_short, &mut make)
            })
        })
    }

    /// The copy of the relationships of some types, made by `make` if it is not there. On a worker.
    ///
    /// # Errors
    /// What the device says, after every idle copy has made room.
    pub(crate) fn relation(
        &self,
        key: RelationKey,
        mut make: impl FnMut(&Gpu) -> Result<Relation, AlgoError>,
    ) -> Result<Arc<Relation>, AlgoError> {
        self.reclaim();
        let now = self.clock.monotonic();
        self.graphs.with_room(AlgoError::is_short, || {
            self.columns.with_room(AlgoError::is_short, || {
                let make = || make(&self.gpu);
                self.relations.get_or_make(key.clone(), now, AlgoError::is_short, make)
            })
        })
    }

    /// Whether there is a copy of the relationships of some types.
    pub(crate) fn has_relation(&self, key: &RelationKey) -> bool {
        self.relations.has(key)
    }

    /// Whether there is a copy of a graph.
    pub(crate) fn has_graph(&self, key: Key) -> bool {
        self.graphs.has(&key)
    }

    /// Whether there is a copy of a column.
    pub(crate) fn has_column(&self, key: &ColumnKey) -> bool {
        self.columns.has(key)
    }

    /// Runs `make`, which takes device memory, evicting idle copies for as long as it is short: columns first, which are
    /// copied again sooner than relations and graphs. On a worker.
    ///
    /// # Errors
    /// The last error of `make`.
    pub(crate) fn with_room<R, E: MayBeShort>(
        &self,
        mut make: impl FnMut() -> Result<R, E>,
    ) -> Result<R, E> {
        self.reclaim();
        let made = self.graphs.with_room(E::is_short, || {
            self.relations.with_room(E::is_short, || self.columns.with_room(E::is_short, &mut make))
        });
        self.note(made)
    }

    fn note<R, E: MayBeShort>(&self, made: Result<R, E>) -> Result<R, E> {
        if made.as_ref().is_err_and(E::is_short) {
            self.refusals.fetch_add(1, Ordering::Relaxed);
        }
        made
    }

    /// Forgets the copies of graphs that are not in main memory any more.
    pub(crate) fn keep_only(&self, is_kept: impl Fn(Key) -> bool) {
        for gone in self.graphs.take_unless(&is_kept) {
            self.free_later(Box::new(gone));
        }
        for gone in self.columns.take_unless(&is_kept) {
            self.free_later(Box::new(gone));
        }
        for gone in self.relations.take_unless(is_kept) {
            self.free_later(Box::new(gone));
        }
    }

    /// Puts something that holds device memory on the list of what a worker frees later.
    pub(crate) fn free_later(&self, gone: Box<dyn Any + Send>) {
        self.deferred.push(gone);
    }

    /// Frees what is on the deferred free list. On a worker.
    pub(crate) fn reclaim(&self) {
        self.deferred.reclaim();
    }

    /// Whether there is something to free.
    pub(crate) fn has_deferred(&self) -> bool {
        !self.deferred.is_empty()
    }

    pub(crate) fn figures(&self) -> DeviceFigures {
        let budget = self.gpu.budget();
        DeviceFigures {
            memory_bytes: budget.used(),
            memory_bytes_peak: budget.peak(),
            memory_bytes_max: budget.limit(),
            graphs: self.graphs.len(),
            uploads: self.graphs.made.load(Ordering::Relaxed),
            evictions: self.graphs.evictions.load(Ordering::Relaxed),
            refusals: self.refusals.load(Ordering::Relaxed),
            driver_refusals: self.gpu.driver_refusals(),
        }
    }
}

/// An error that may be a lack of device memory.
pub(crate) trait MayBeShort {
    /// Whether freeing device memory may help.
    fn is_short(&self) -> bool;
}

impl MayBeShort for AlgoError {
    fn is_short(&self) -> bool {
        matches!(self, Self::Device(DeviceError::OutOfMemory { .. }))
    }
}

impl MayBeShort for ColumnOpError {
    fn is_short(&self) -> bool {
        matches!(self, Self::Device(DeviceError::OutOfMemory { .. }))
    }
}
