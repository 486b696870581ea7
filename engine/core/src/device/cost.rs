//! What work over a whole table costs on the CPU and on a GPU, in microseconds: the one place where that is decided.
//!
//! The CPU's rates are those of bench/results/2026-11-26-columns.md. The GPU's are what its memory and the driver allow
//! (bench/results/h200-predicted.md); they were not measured on a card yet.

/// Microseconds of one thread for a condition, or an aggregate, on a million cells.
const CPU_CELLS_US: f64 = 1_600.0;
/// Microseconds until a CPU's threads have begun.
const CPU_START_US: f64 = 20.0;
/// Bytes in a microsecond that a multiprocessor reads from device memory, at half of what an H200's reads.
const GPU_BYTES_US: f64 = 16_000.0;
/// Microseconds from the launch of a kernel to the next.
const GPU_LAUNCH_US: f64 = 3.5;
/// Bytes that a pass of a sort reads and writes of a row.
const SORT_BYTES: usize = 20;
/// Kernels of a pass of a sort.
const SORT_LAUNCHES: usize = 3;
/// Microseconds that a result takes to the host.
const GPU_RESULT_US: f64 = 30.0;
/// Bytes in a microsecond over the bus.
const BUS_BYTES_US: f64 = 8_000.0;
/// Queries that a copy is expected to serve, and so share its cost.
const USES: f64 = 8.0;

/// Work over all rows of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TableWork {
    /// Rows of the table.
    pub(crate) rows: usize,
    /// Conditions and aggregates of single columns.
    pub(crate) steps: usize,
    /// Results that are waited for.
    pub(crate) results: usize,
    /// Bytes that are read of each row.
    pub(crate) row_bytes: usize,
    /// Passes of sorts over all rows.
    pub(crate) sorts: usize,
    /// Bytes of columns that are not on the device yet.
    pub(crate) missing_bytes: usize,
}

impl TableWork {
    /// On this many threads.
    pub(crate) fn cpu_us(&self, threads: usize) -> f64 {
        let cells = (self.rows * self.steps) as f64 / 1e6;
        CPU_START_US + cells * CPU_CELLS_US / threads.max(1) as f64
    }

    /// On a GPU of this many multiprocessors.
    pub(crate) fn gpu_us(&self, multiprocessors: u32) -> f64 {
        let read = (self.rows * (self.row_bytes + SORT_BYTES * self.sorts)) as f64;
        let launches = (2 * self.steps + self.results + SORT_LAUNCHES * self.sorts) as f64;
        read / (GPU_BYTES_US * f64::from(multiprocessors.max(1)))
            + launches * GPU_LAUNCH_US
            + self.results as f64 * GPU_RESULT_US
            + self.missing_bytes as f64 / BUS_BYTES_US / USES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const H200: u32 = 132;

    fn filter(rows: usize, missing_bytes: usize) -> TableWork {
        TableWork { rows, steps: 2, results: 1, row_bytes: 16, sorts: 0, missing_bytes }
    }

    #[test]
    fn large_tables_go_to_the_gpu_and_small_ones_to_the_cpu() {
        let is_faster = |work: TableWork, threads| work.gpu_us(H200) < work.cpu_us(threads);
        for threads in [2, 16] {
            assert!(!is_faster(filter(1_000, 0), threads));
            assert!(is_faster(filter(10_000_000, 0), threads));
            assert!(is_faster(filter(100_000_000, 0), threads));
        }
        // Ten shapes of queries over three sizes, on sixteen threads: which of them go to the card.
        let shapes: [(usize, usize, usize); 10] = [
            (1, 1, 8),
            (2, 1, 16),
            (3, 1, 20),
            (1, 2, 12),
            (2, 2, 16),
            (4, 2, 28),
            (5, 3, 32),
            (6, 4, 40),
            (2, 3, 24),
            (8, 1, 64),
        ];
        let chosen = |rows: usize| {
            let work = |&(steps, results, row_bytes)| TableWork {
                rows,
                steps,
                results,
                row_bytes,
                sorts: 0,
                missing_bytes: 0,
            };
            shapes.iter().map(work).filter(|w| is_faster(*w, 16)).count()
        };
        assert_eq!([10_000, 300_000, 10_000_000].map(chosen), [0, 7, 10]);
        // Columns that are not there yet are worth their way for two threads, and for sixteen they are not.
        assert!(is_faster(filter(10_000_000, 160_000_000), 2));
        assert!(!is_faster(filter(1_000_000, 16_000_000), 16));
    }
}
