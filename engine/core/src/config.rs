//! Configuration of the engine.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::TypedValueParser as _;
use graphlume_types::limits;
use graphlume_types::settings::{self, threads};

use crate::device::{GpuChoice, OnDeviceLost};

/// How long the engine may take over a call before it answers that the deadline has passed, unless its
/// configuration says less.
pub const CALL_DEADLINE: Duration = Duration::from_secs(limits::QUERY_SECS_MAX);

/// Below this many edges, launching the kernels of one call takes longer than the CPU takes over all of
/// it.
pub const GPU_EDGES_MIN: u32 = 50_000;

/// Settings of the engine. [`Config::default`] is right for a machine of its own. A field with a flag is a setting of
/// `graphlume serve`, which takes this structure as it stands here; its range and its sentence are those of the flag.
#[derive(Debug, Clone, Args)]
pub struct Config {
    /// CPU threads for computing; 0 takes all cores
    #[arg(long, short = 't', value_name = "N", env = "GRAPHLUME_THREADS", default_value_t = 0,
        value_parser = threads, allow_negative_numbers = true)]
    pub threads: usize,
    /// Bytes of resident graphs and layouts held at once.
    #[arg(skip = 8_u64 << 30)]
    pub host_budget_bytes: u64,
    /// Seconds after which a query is stopped, waiting included
    // Searches and the painting of collections, too. Callers stop waiting at CALL_DEADLINE.
    #[arg(long = "query-seconds", value_name = "S", env = "GRAPHLUME_QUERY_SECONDS",
        default_value = limits::QUERY_SECS_MAX.to_string(),
        value_parser = clap::value_parser!(u64).range(1..=limits::QUERY_SECS_MAX).map(Duration::from_secs))]
    pub call_time: Duration,
    /// Seconds after which an algorithm or a layout of a dataset is stopped
    // It is then without its column, which a notice tells.
    #[arg(long = "job-seconds", value_name = "S", env = "GRAPHLUME_JOB_SECONDS",
        default_value = limits::JOB_SECS.to_string(),
        value_parser = clap::value_parser!(u64).range(1..=limits::JOB_SECS_MAX).map(Duration::from_secs))]
    pub job_time: Duration,
    /// The GPU to compute on.
    #[arg(skip = GpuChoice::None { reason: Arc::from("this server was told to use the CPU") })]
    pub gpu: GpuChoice,
    /// What follows when it is lost.
    #[arg(skip = OnDeviceLost::Exit)]
    pub on_device_lost: OnDeviceLost,
    /// Graphs with fewer edges stay on the CPU, where a call on them is over before a GPU has begun
    #[arg(long, value_name = "N", env = "GRAPHLUME_GPU_EDGES_MIN", default_value_t = GPU_EDGES_MIN)]
    pub gpu_edges_min: u32,
    /// Work on the GPU, or a turn of the loop, that takes longer is reported.
    #[arg(skip = Duration::from_secs(2))]
    pub alarm_after: Duration,
    /// And after this time it is given up: the engine asks for a new process.
    #[arg(skip = Duration::from_secs(10))]
    pub give_up_after: Duration,
    /// The shortest time between two position frames of a session.
    #[arg(skip = Duration::from_millis(100))]
    pub frame_interval: Duration,
    /// Time that one session's layout runs before the next session's turn. One iteration is never
    /// interrupted.
    #[arg(skip = Duration::from_millis(8))]
    pub slice: Duration,
    /// Iterations of one layout per second at most, so that the layout of a small graph can be watched and
    /// does not burn a core on what no screen can show; 0 sets no bound.
    #[arg(skip = 120_u32)]
    pub iterations_per_s_max: u32,
    /// Datasets loaded at the same time.
    #[arg(skip = 2_usize)]
    pub loader_threads: usize,
    /// Layout slices running at the same time; they share the CPU pool.
    #[arg(skip = 2_usize)]
    pub layout_threads: usize,
    /// Cards, searches and edge streams prepared at the same time.
    #[arg(skip = 2_usize)]
    pub query_threads: usize,
    /// Whether a layout that has come to rest stops before its time is over.
    #[arg(skip = true)]
    pub stop_at_rest: bool,
    /// Without a viewer for this long, a running layout is paused.
    #[arg(skip = Duration::from_secs(2))]
    pub pause_after: Duration,
    /// Without a viewer for this long, a session gives its graph back and keeps its positions.
    #[arg(skip = Duration::from_secs(60))]
    pub release_after: Duration,
    /// Without a viewer for this long, a session is closed.
    #[arg(skip = Duration::from_secs(6 * 3600))]
    pub close_after: Duration,
    /// Time that the search for communities may take.
    #[arg(skip = Duration::from_secs(1))]
    pub community_budget: Duration,
    /// A failed load is not tried again before this time has passed; doubled per failure in a row.
    #[arg(skip = Duration::from_secs(2))]
    pub load_retry: Duration,
    /// The engine looks at its clock at least this often.
    #[arg(skip = Duration::from_millis(50))]
    pub tick: Duration,
    /// Whether the engine may end the process so that a supervisor starts a healthy one: with exit
    /// status 70 after a panic of the loop itself (a panic inside a command or a job never does), with
    /// 75 when a wanted restart does not happen.
    #[arg(skip = true)]
    pub exit_on_panic: bool,
}

impl Default for Config {
    fn default() -> Self {
        settings::defaults()
    }
}
