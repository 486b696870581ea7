//! The processor.

use graphlume_types::{Code, Coded};

/// The vector instruction sets that the kernels can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuFeatures {
    /// 256-bit vectors with fused multiply-add.
    pub avx2_fma: bool,
    /// 512-bit vectors.
    pub avx512: bool,
    /// Threads that the operating system lets this process run at once.
    pub threads: usize,
}

impl CpuFeatures {
    /// The widest set, in words.
    #[must_use]
    pub const fn simd(&self) -> &'static str {
        match (self.avx512, self.avx2_fma) {
            (true, _) => "avx512",
            (false, true) => "avx2",
            (false, false) => "baseline",
        }
    }
}

/// Asks the processor what it has.
#[must_use]
pub fn cpu_features() -> CpuFeatures {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    #[cfg(target_arch = "x86_64")]
    let (avx2_fma, avx512) = (
        std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma"),
        std::is_x86_feature_detected!("avx512f")
            && std::is_x86_feature_detected!("avx512vl")
            && std::is_x86_feature_detected!("avx512dq"),
    );
    #[cfg(not(target_arch = "x86_64"))]
    let (avx2_fma, avx512) = (false, false);
    CpuFeatures { avx2_fma, avx512, threads }
}

/// Why there is no pool.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// The operating system gave no threads.
    #[error("cannot start {threads} worker threads: {cause}; lower the number of threads")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// What the system said.
        cause: String,
    },
}

impl Coded for PoolError {
    fn code(&self) -> Code {
        Code::Unavailable
    }

    fn slug(&self) -> &'static str {
        "worker-threads-unavailable"
    }
}

/// Named worker threads on which all heavy work of the engine runs. Idle ones sleep: a spinning pool would
/// multiply the processor time on a shared machine.
pub struct CpuPool {
    pool: rayon::ThreadPool,
}

impl CpuPool {
    /// A pool of `threads` threads; 0 means as many as the process may run at once.
    ///
    /// # Errors
    /// [`PoolError::Threads`].
    pub fn new(threads: usize) -> Result<Self, PoolError> {
        let threads = if threads == 0 { cpu_features().threads } else { threads };
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|i| format!("graphlume-cpu-{i}"))
            .build()
            .map(|pool| Self { pool })
            .map_err(|e| PoolError::Threads { threads, cause: e.to_string() })
    }

    /// Runs `f` on the pool and waits for it; parallel iterators inside use the pool's threads.
    pub fn install<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        self.pool.install(f)
    }

    /// Runs `f` on the pool without waiting.
    pub fn spawn(&self, f: impl FnOnce() + Send + 'static) {
        self.pool.spawn(f);
    }

    /// Number of threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn work_runs_on_the_named_threads() {
        let pool = CpuPool::new(2).unwrap();
        assert_eq!(pool.threads(), 2);
        let name = pool.install(|| std::thread::current().name().map(str::to_owned));
        assert!(name.unwrap().starts_with("graphlume-cpu-"));
        assert!(CpuPool::new(0).unwrap().threads() >= 1);
    }

    #[test]
    fn spawned_work_is_done() {
        let pool = CpuPool::new(1).unwrap();
        let (tx, rx) = std::sync::mpsc::sync_channel(1);
        pool.spawn(move || tx.send(7).unwrap());
        assert_eq!(rx.recv_timeout(std::time::Duration::from_secs(10)), Ok(7));
    }

    #[test]
    fn the_widest_set_is_named() {
        let f = cpu_features();
        assert!(f.threads >= 1);
        assert_eq!(f.simd() == "avx512", f.avx512);
        assert_eq!(CpuFeatures { avx2_fma: true, avx512: false, threads: 1 }.simd(), "avx2");
        assert_eq!(CpuFeatures { avx2_fma: false, avx512: false, threads: 1 }.simd(), "baseline");
    }
}
