//! Wall and processor time of a piece of work.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// Seconds that one piece of work took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Took {
    /// Seconds on the wall.
    pub seconds: f64,
    /// Processor seconds of all threads of this process, user and system.
    pub cpu_seconds: f64,
}

fn cpu_now() -> f64 {
    let t = clock_gettime(ClockId::ProcessCPUTime);
    t.tv_sec as f64 + t.tv_nsec as f64 * 1e-9
}

/// Processor time of the calling thread, in nanoseconds.
pub(crate) fn thread_nanos() -> u64 {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    t.tv_sec.unsigned_abs() * 1_000_000_000 + t.tv_nsec.unsigned_abs()
}

/// Runs `work` and measures it.
pub fn measure<T>(work: impl FnOnce() -> T) -> (T, Took) {
    let (wall, cpu) = (Instant::now(), cpu_now());
    let value = work();
    let took = Took { seconds: wall.elapsed().as_secs_f64(), cpu_seconds: cpu_now() - cpu };
    (value, took)
}

/// The most memory that this process held since [`reset_peak`] or its start, in bytes; 0 where the
/// system does not tell.
#[must_use]
pub fn peak_bytes() -> u64 {
    status_bytes("VmHWM:")
}

/// The memory that this process holds, in bytes; 0 where the system does not tell.
#[must_use]
pub fn held_bytes() -> u64 {
    status_bytes("VmRSS:")
}

fn status_bytes(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix(field))
        .and_then(|v| v.trim().trim_end_matches("kB").trim().parse::<u64>().ok())
        .map_or(0, |kib| kib * 1024)
}

/// Forgets the peak so far, where the system allows it: [`peak_bytes`] then starts from what is held now.
pub fn reset_peak() {
    // Not allowed everywhere, and then the peak includes the loading of the graph: an upper bound.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_time_and_memory() {
        let (sum, took) = measure(|| (0..20_000_000u64).fold(0, |a, b| a ^ b.wrapping_mul(31)));
        assert_ne!(sum, 1);
        assert!(took.seconds > 0.0 && took.cpu_seconds >= 0.0);
        assert!(peak_bytes() > 1 << 20);
    }
}
