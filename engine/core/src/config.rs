//! What may be set about the engine.

use std::sync::Arc;
use std::time::Duration;

use graphlume_types::limits;

use crate::device::{GpuChoice, OnDeviceLost};

/// How long the engine may take over a call before it answers that the deadline has passed, unless its
/// configuration says less.
pub const CALL_DEADLINE: Duration = Duration::from_secs(limits::QUERY_SECS_MAX);

/// Below this many edges, launching the kernels of one call takes longer than the CPU takes over all of
/// it.
pub const GPU_EDGES_MIN: u32 = 50_000;

/// Settings of the engine. [`Config::default`] is right for a machine of its own.
#[derive(Debug, Clone)]
pub struct Config {
    /// Threads of the CPU pool; 0 takes every core.
    pub threads: usize,
    /// Bytes of resident graphs and layouts held at once.
    pub host_budget_bytes: u64,
    /// How long a call may take, waiting included: a query, a search, the painting of collections. At most
    /// [`CALL_DEADLINE`], at which callers stop waiting.
    pub call_time: Duration,
    /// The GPU to compute on.
    pub gpu: GpuChoice,
    /// What follows when it is lost.
    pub on_device_lost: OnDeviceLost,
    /// Graphs with fewer edges stay on the CPU, where a call on them is over before a GPU has begun.
    pub gpu_edges_min: u32,
    /// Work on the GPU, or a turn of the loop, that takes longer is reported.
    pub alarm_after: Duration,
    /// And after this time it is given up: the engine asks for a new process.
    pub give_up_after: Duration,
    /// The shortest time between two position frames of a session.
    pub frame_interval: Duration,
    /// Time that one session's layout runs before the next session's turn. One iteration is never
    /// interrupted.
    pub slice: Duration,
    /// Iterations of one layout per second at most, so that the layout of a small graph can be watched and
    /// does not burn a core on what no screen can show; 0 sets no bound.
    pub iterations_per_s_max: u32,
    /// Datasets loaded at the same time.
    pub loader_threads: usize,
    /// Layout slices running at the same time; they share the CPU pool.
    pub layout_threads: usize,
    /// Cards, searches and edge streams prepared at the same time.
    pub query_threads: usize,
    /// Whether a layout that has come to rest stops before its time is over.
    pub stop_at_rest: bool,
    /// Without a viewer for this long, a running layout is paused.
    pub pause_after: Duration,
    /// Without a viewer for this long, a session gives its graph back and keeps its positions.
    pub release_after: Duration,
    /// Without a viewer for this long, a session is closed.
    pub close_after: Duration,
    /// Time that the search for communities may take.
    pub community_budget: Duration,
    /// A failed load is not tried again before this time has passed; doubled per failure in a row.
    pub load_retry: Duration,
    /// The engine looks at its clock at least this often.
    pub tick: Duration,
    /// Whether the engine may end the process so that a supervisor starts a healthy one: with exit
    /// status 70 after a panic of the loop itself (a panic inside a command or a job never does), with
    /// 75 when a wanted restart does not happen.
    pub exit_on_panic: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            threads: 0,
            host_budget_bytes: 8 << 30,
            call_time: CALL_DEADLINE,
            gpu: GpuChoice::None { reason: Arc::from("this server was told to use the CPU") },
            on_device_lost: OnDeviceLost::Exit,
            gpu_edges_min: GPU_EDGES_MIN,
            alarm_after: Duration::from_secs(2),
            give_up_after: Duration::from_secs(10),
            frame_interval: Duration::from_millis(100),
            slice: Duration::from_millis(8),
            iterations_per_s_max: 120,
            loader_threads: 2,
            layout_threads: 2,
            query_threads: 2,
            stop_at_rest: true,
            pause_after: Duration::from_secs(2),
            release_after: Duration::from_secs(60),
            close_after: Duration::from_secs(6 * 3600),
            community_budget: Duration::from_secs(1),
            load_retry: Duration::from_secs(2),
            tick: Duration::from_millis(50),
            exit_on_panic: true,
        }
    }
}
