//! Memory that was freed and is still the process's.

/// Bytes that work must have had before it pays to look for what is left of them.
const WORTH_BYTES: u64 = 32 << 20;

/// Gives freed memory back to the operating system, after work that had `bytes` of it. The GNU C library
/// keeps what a thread freed for that thread, and each query runs on threads of its own: those of some large
/// queries would together keep more than the budget.
pub(crate) fn give_back_freed(bytes: u64) {
    if bytes < WORTH_BYTES {
        return;
    }
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the function has no preconditions; it looks at the allocator's own lists, under their locks.
    unsafe {
        libc::malloc_trim(0);
    }
}
