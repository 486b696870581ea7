//! Memory that was freed and is still the process's.
//!
//! The GNU C library keeps what a thread freed for that thread, each query runs on threads of its own, and the sizes from
//! which it gives memory back at once grow to 32 and 64 MiB as a process frees large pieces. What some large queries leave
//! behind would together be more than the budget.

/// Bytes that work must have had before it pays to look for what is left of them.
const WORTH_BYTES: u64 = 32 << 20;
/// The part of the budget that one thread's store of freed memory may keep.
const KEPT_SHARE: u64 = 256;
/// The least and the most that it may keep: below, every small answer would be a call of the system; the most is what the
/// library takes at most.
const KEPT_BYTES: std::ops::RangeInclusive<u64> = 1 << 20..=32 << 20;

/// Gives freed memory back to the operating system, after work that had `bytes` of it. Called after a query was evaluated,
/// and after its answer was written out and its tables are gone.
pub fn give_back_freed(bytes: u64) {
    if bytes < WORTH_BYTES {
        return;
    }
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the function has no preconditions; it looks at the allocator's own lists, under their locks.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Sets what the allocator keeps of freed memory: a share of the `budget` in bytes, at most 32 MiB a thread. The library
/// would come to these sizes only as pieces are freed, and until then take each array from the system page by page: an
/// eighth of the time of a search for communities. Called at the start of the process,
/// before there are threads, and again by a server whose budget is meant to be the process's.
pub fn bound_freed(budget: u64) {
    let kept = (budget / KEPT_SHARE).clamp(*KEPT_BYTES.start(), *KEPT_BYTES.end());
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if let Ok(kept) = libc::c_int::try_from(kept) {
        // SAFETY: both parameters take any number of bytes up to 32 MiB, and the function has no other preconditions.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, kept);
            libc::mallopt(libc::M_TRIM_THRESHOLD, kept);
        }
    }
}
