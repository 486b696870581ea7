//! What a parse worker gives up: new files, sockets, programs, and memory beyond its share.

use std::collections::BTreeMap;
use std::io;

use graphlume_types::limits::DECOMPRESSED_BYTES_MAX;
use rustix::process::{Resource, Rlimit, setrlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter_all_threads,
};

/// Open files: the socket, the standard streams and those of a job.
const FILES_MAX: u64 = 32;

/// System calls that reading, computing and answering take. Whatever is missing here fails with EPERM.
const ALLOWED: &[libc::c_long] = &[
    // The files of the job, and the socket.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_lseek,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fadvise64,
    libc::SYS_fstat,
    libc::SYS_statx,
    libc::SYS_fcntl,
    libc::SYS_dup,
    libc::SYS_close,
    libc::SYS_ppoll,
    libc::SYS_sendmsg,
    libc::SYS_recvmsg,
    libc::SYS_recvfrom,
    // Memory.
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    // Threads and time.
    libc::SYS_futex,
    libc::SYS_rseq,
    libc::SYS_set_robust_list,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_membarrier,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_clock_gettime,
    libc::SYS_gettimeofday,
    libc::SYS_getcpu,
    libc::SYS_prctl,
    // Signals and the end.
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_tgkill,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // What the machine is like.
    libc::SYS_getrandom,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_getrusage,
];

/// Limits the process and all its threads, for good.
///
/// # Errors
/// The system does not know of such limits; those set before remain.
pub fn confine(memory_bytes: u64) -> io::Result<()> {
    for (resource, max) in [
        (Resource::Data, memory_bytes),
        (Resource::Core, 0),
        (Resource::Nofile, FILES_MAX),
        (Resource::Fsize, 2 * DECOMPRESSED_BYTES_MAX),
    ] {
        setrlimit(resource, Rlimit { current: Some(max), maximum: Some(max) })?;
    }
    for filter in [newer_clone(), allowed()] {
        let filter = filter.map_err(io::Error::other)?;
        apply_filter_all_threads(&filter).map_err(io::Error::other)?;
    }
    Ok(())
}

/// The arguments of `clone3` lie in memory, where a filter cannot see them. Told that there is no such
/// call, the C library takes `clone`.
fn newer_clone() -> Result<BpfProgram, seccompiler::BackendError> {
    let rules = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let absent = SeccompAction::Errno(libc::ENOSYS as u32);
    let arch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, absent, arch)?.try_into()
}

fn allowed() -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_poll, Vec::new());
    let when = |argument, op, value| -> Result<_, seccompiler::BackendError> {
        let is = SeccompCondition::new(argument, SeccompCmpArgLen::Qword, op, value)?;
        Ok(vec![SeccompRule::new(vec![is])?])
    };
    rules.insert(libc::SYS_clone3, Vec::new());
    // Threads, not processes.
    let threads = libc::CLONE_VM as u64;
    rules.insert(libc::SYS_clone, when(0, SeccompCmpOp::MaskedEq(threads), threads)?);
    // Limits may be read and not set.
    rules.insert(libc::SYS_prlimit64, when(2, SeccompCmpOp::Eq, 0)?);
    let arch = std::env::consts::ARCH.try_into()?;
    let deny = SeccompAction::Errno(libc::EPERM as u32);
    SeccompFilter::new(rules, deny, SeccompAction::Allow, arch)?.try_into()
}
