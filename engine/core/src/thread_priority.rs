//! Threads of lower priority than others.

/// Niceness of a thread of lower priority: it has a tenth of a core beside one ordinary thread.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;
/// Nanoseconds that such a thread asks to run at a stretch. Threads that ask for shorter stretches, and all
/// others do, run at once when they wake up, instead of when this one's stretch is over.
#[cfg(target_os = "linux")]
const SLICE_NANOS: u64 = 5_000_000;

/// Makes this thread one that keeps no other waiting, and that still gets its part of busy cores. Does nothing
/// where the operating system has no such threads; Linux before 6.12 lowers the priority only.
///
/// # Errors
/// What the operating system says.
#[cfg(target_os = "linux")]
pub(crate) fn lower_priority() -> std::io::Result<()> {
    /// `struct sched_attr` of Linux, in its first version.
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: 0,
        nice: NICE,
        priority: 0,
        runtime: SLICE_NANOS,
        deadline: 0,
        period: 0,
    };
    // SAFETY: thread 0 is the calling one; the kernel reads `size` bytes of the attributes, which live until
    // the call returns, and writes nothing.
    let set = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) };
    if set == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn lower_priority() -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_of_lower_priority_is_nicer_than_others() {
        let nice = || rustix::process::getpriority_process(None).expect("the thread's niceness");
        let before = nice();
        let given = std::thread::Builder::new().name("gl-test".to_owned()).spawn(move || {
            super::lower_priority().expect("Linux has such threads");
            nice()
        });
        assert_eq!(given.expect("a thread").join().expect("no panic"), super::NICE);
        assert_eq!(nice(), before, "other threads stay as they are");
    }
}
