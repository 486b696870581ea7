//! Counters and gauges.

use std::sync::atomic::{AtomicU64, Ordering};

use graphlume_types::Budget;

use crate::device::gpu_device::DeviceFigures;

/// Events counted since the start.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) panics: AtomicU64,
    pub(crate) stalls: AtomicU64,
    pub(crate) loads: AtomicU64,
    pub(crate) load_failures: AtomicU64,
    pub(crate) evictions: AtomicU64,
    pub(crate) memory_refusals: AtomicU64,
    pub(crate) query_turns: AtomicU64,
    pub(crate) query_micros: AtomicU64,
    pub(crate) iterations: AtomicU64,
    pub(crate) frames: AtomicU64,
    pub(crate) frame_bytes: AtomicU64,
    pub(crate) alarms: AtomicU64,
    pub(crate) device_losses: AtomicU64,
    pub(crate) device_iterations: AtomicU64,
}

/// What the loop last saw of its own state.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Gauges {
    pub(crate) sessions: usize,
    pub(crate) sessions_running: usize,
    pub(crate) viewers: usize,
    pub(crate) resident_graphs: usize,
    pub(crate) frame_bytes: u64,
    pub(crate) jobs_waiting: usize,
    pub(crate) loads_waiting: usize,
    pub(crate) layouts_waiting: usize,
}

/// The engine in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct EngineStats {
    /// Live sessions.
    pub sessions: usize,
    /// Sessions whose layout moves.
    pub sessions_running: usize,
    /// Viewers attached.
    pub viewers: usize,
    /// Graphs in memory.
    pub resident_graphs: usize,
    /// Bytes reserved for graphs and layouts.
    pub memory_bytes: u64,
    /// The most that were ever reserved at once.
    pub memory_bytes_peak: u64,
    /// The budget.
    pub memory_bytes_max: u64,
    /// Bytes of the frames that sessions broadcast.
    pub slot_bytes: u64,
    /// Commands of control priority waiting.
    pub control_waiting: usize,
    /// Commands of interactive priority waiting.
    pub interactive_waiting: usize,
    /// Commands of batch priority waiting.
    pub batch_waiting: usize,
    /// Jobs waiting for a worker.
    pub jobs_waiting: usize,
    /// Loads waiting for a loader.
    pub loads_waiting: usize,
    /// Sessions waiting for their next layout slice.
    pub layouts_waiting: usize,
    /// Panics in commands and jobs.
    pub panics_total: u64,
    /// Turns of the loop that took too long.
    pub stalls_total: u64,
    /// Loads begun.
    pub loads_total: u64,
    /// Loads that failed.
    pub load_failures_total: u64,
    /// Graphs evicted.
    pub evictions_total: u64,
    /// Reservations refused even after eviction.
    pub memory_refusals_total: u64,
    /// Turns of queries that have ended; long queries take several.
    pub query_turns_total: u64,
    /// Microseconds that these took, without what queries waited for.
    pub query_micros_total: u64,
    /// Layout iterations.
    pub iterations_total: u64,
    /// Position frames made.
    pub frames_total: u64,
    /// Bytes of these frames.
    pub frame_bytes_total: u64,
    /// Turns of the loop and pieces of work on the GPU that took so long that an operator should look.
    pub alarms_total: u64,
    /// Bytes reserved on the GPU.
    pub device_memory_bytes: u64,
    /// The most that were ever reserved there at once.
    pub device_memory_bytes_peak: u64,
    /// The GPU's budget; 0 without a GPU.
    pub device_memory_bytes_max: u64,
    /// Graphs on the GPU.
    pub device_graphs: usize,
    /// Graphs copied to the GPU.
    pub device_uploads_total: u64,
    /// Graphs evicted from the GPU.
    pub device_evictions_total: u64,
    /// Work that found no room on the GPU even after eviction.
    pub device_refusals_total: u64,
    /// Allocations that the driver refused although the budget had granted them.
    pub device_driver_refusals_total: u64,
    /// Layout iterations done by the GPU.
    pub device_iterations_total: u64,
    /// GPUs lost.
    pub device_losses_total: u64,
}

impl EngineStats {
    pub(crate) fn collect(
        gauges: &Gauges,
        counters: &Counters,
        budget: &Budget,
        device: DeviceFigures,
        waiting: [usize; 3],
    ) -> Self {
        let get = |c: &AtomicU64| c.load(Ordering::Relaxed);
        Self {
            sessions: gauges.sessions,
            sessions_running: gauges.sessions_running,
            viewers: gauges.viewers,
            resident_graphs: gauges.resident_graphs,
            memory_bytes: budget.used(),
            memory_bytes_peak: budget.peak(),
            memory_bytes_max: budget.limit(),
            slot_bytes: gauges.frame_bytes,
            control_waiting: waiting[0],
            interactive_waiting: waiting[1],
            batch_waiting: waiting[2],
            jobs_waiting: gauges.jobs_waiting,
            loads_waiting: gauges.loads_waiting,
            layouts_waiting: gauges.layouts_waiting,
            panics_total: get(&counters.panics),
            stalls_total: get(&counters.stalls),
            loads_total: get(&counters.loads),
            load_failures_total: get(&counters.load_failures),
            evictions_total: get(&counters.evictions),
            memory_refusals_total: get(&counters.memory_refusals),
            query_turns_total: get(&counters.query_turns),
            query_micros_total: get(&counters.query_micros),
            iterations_total: get(&counters.iterations),
            frames_total: get(&counters.frames),
            frame_bytes_total: get(&counters.frame_bytes),
            alarms_total: get(&counters.alarms),
            device_memory_bytes: device.memory_bytes,
            device_memory_bytes_peak: device.memory_bytes_peak,
            device_memory_bytes_max: device.memory_bytes_max,
            device_graphs: device.graphs,
            device_uploads_total: device.uploads,
            device_evictions_total: device.evictions,
            device_refusals_total: device.refusals,
            device_driver_refusals_total: device.driver_refusals,
            device_iterations_total: get(&counters.device_iterations),
            device_losses_total: get(&counters.device_losses),
        }
    }
}
