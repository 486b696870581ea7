//! Cost of work over a whole table on the CPU and on a GPU, in microseconds: the one place where that is decided.
//!
//! The CPU's rates are those of bench/results/2026-11-26-columns.md, the GPU's those that an H100 gave
//! (bench/results/2026-11-26-h100.md).

/// Microseconds of one thread for a condition, or an aggregate, on a million cells.
const CPU_CELLS_US: f64 = 1_600.0;
/// Microseconds until a CPU's threads have begun.
const CPU_START_US: f64 = 20.0;
/// Bytes in a microsecond that a multiprocessor reads from device memory, as in a filter of 100 million rows.
const GPU_BYTES_US: f64 = 18_000.0;
/// Microseconds from a kernel to the next that waits for it; the driver takes one to launch it.
const GPU_LAUNCH_US: f64 = 2.5;
/// Microseconds until a stream and the copies are found and the first kernel runs; assumed.
const GPU_START_US: f64 = 20.0;
/// Microseconds that a result takes to the host.
const GPU_RESULT_US: f64 = 10.0;
/// Bytes in a microsecond over the bus to the device and back.
const BUS_UP_BYTES_US: f64 = 8_000.0;
const BUS_DOWN_BYTES_US: f64 = 4_000.0;
/// Queries that a copy is expected to serve, and so share its cost.
const USES: f64 = 8.0;

/// Bytes of a number of rows or nodes that comes back to the host.
pub(crate) const COUNT_BYTES: usize = 8;

/// What a job asks of a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Effort {
    /// Kernels.
    pub(crate) launches: usize,
    /// Results that are waited for.
    pub(crate) results: usize,
    /// Bytes of these results.
    pub(crate) result_bytes: usize,
    /// Bytes of device memory that kernels read and write.
    pub(crate) memory_bytes: usize,
    /// Bytes of copies that are not on the device yet.
    pub(crate) missing_bytes: usize,
}

impl std::fmt::Display for Effort {
    /// What a plan says of work on the GPU.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} kernels, {} bytes back", self.launches, self.result_bytes)?;
        match self.missing_bytes {
            0 => Ok(()),
            bytes => write!(f, ", {bytes} bytes copied first"),
        }
    }
}

impl Effort {
    /// Microseconds on a GPU of this many multiprocessors.
    pub(crate) fn gpu_us(&self, multiprocessors: u32) -> f64 {
        GPU_START_US
            + self.memory_bytes as f64 / (GPU_BYTES_US * f64::from(multiprocessors.max(1)))
            + self.launches as f64 * GPU_LAUNCH_US
            + self.results as f64 * GPU_RESULT_US
            + self.result_bytes as f64 / BUS_DOWN_BYTES_US
            + self.missing_bytes as f64 / BUS_UP_BYTES_US / USES
    }
}

/// Microseconds of a CPU with so many threads for so many cells, each of which takes part in a condition or an aggregate.
pub(crate) fn cpu_cells_us(cells: usize, threads: usize) -> f64 {
    CPU_START_US + cells as f64 / 1e6 * CPU_CELLS_US / threads.max(1) as f64
}

/// Microseconds of one thread for a million edges that a hop looks at.
const CPU_ARCS_US: f64 = 4_000.0;

/// Microseconds of a CPU with so many threads for cells that take part in conditions, and for edges that hops look at.
pub(crate) fn cpu_hops_us(cells: f64, arcs: f64, has_start: bool, threads: usize) -> f64 {
    let start = if has_start { CPU_START_US } else { 0.0 };
    start + (cells * CPU_CELLS_US + arcs * CPU_ARCS_US) / 1e6 / threads.max(1) as f64
}

/// Microseconds of one thread where paths are counted: for a million nodes a step, for a million relationships whose ends are
/// looked up, for a million nodes whose numbers are wanted themselves, and for a million rows of a pattern that is walked.
const CPU_STEP_US: f64 = 2_500.0;
const CPU_PATHS_US: f64 = 1_100.0;
const CPU_ENDS_US: f64 = 35_000.0;
const CPU_ROWS_US: f64 = 15_000.0;

/// Microseconds of a CPU with so many threads for conditions on cells, and of one thread for so many nodes of all steps, so many
/// relationships of those that are looked up, ends whose numbers are wanted, and rows that are made.
pub(crate) fn cpu_paths_us(
    cells: usize,
    (nodes, arcs): (f64, f64),
    (ends, rows): (f64, f64),
    threads: usize,
) -> f64 {
    let steps = nodes * CPU_STEP_US + arcs * CPU_PATHS_US;
    let steps = steps + ends * CPU_ENDS_US + rows * CPU_ROWS_US;
    // Not by all threads: most of it one of them does, and sixteen took as long as two for the nine questions of a social
    // network, as long as seventy milliseconds.
    cpu_cells_us(cells, threads) + steps / 1e6
}

/// Microseconds of one thread for a million relationships whose ends' numbers are added up.
const CPU_FOLD_US: f64 = 25_000.0;

/// Microseconds of a CPU for so many relationships whose ends' numbers are added up, node by node.
pub(crate) fn cpu_folds_us(arcs: f64) -> f64 {
    arcs * CPU_FOLD_US / 1e6
}

/// What is said of a job that the CPU does sooner.
pub(crate) fn slower(cpu: f64, own: f64) -> String {
    format!("the CPU takes {cpu:.0} microseconds and the GPU {own:.0} by estimate")
}
