//! Confinement of a parse worker: it gives up new files, sockets, programs, and memory beyond its share.

use std::collections::BTreeMap;
use std::io;

use graphlume_types::limits::DECOMPRESSED_BYTES_MAX;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
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
    libc::SYS_dup,
    libc::SYS_close,
    libc::SYS_ppoll,
    libc::SYS_sendmsg,
    libc::SYS_recvmsg,
    libc::SYS_recvfrom,
    // The runtime in which the SQL engine waits for parts of a plan: it wakes its own threads, and opens nothing.
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
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
    libc::SYS_exit,
    libc::SYS_exit_group,
    // What the machine is like.
    libc::SYS_getrandom,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_getrusage,
];

/// System calls that nothing here makes by mistake: a process that tries is taken over, and is ended at once.
const FATAL: &[libc::c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_send_signal,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_keyctl,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_kexec_load,
];

/// What `fcntl` may be asked: the flags of a descriptor, and for a copy of it. Whom to signal is not among
/// them.
const FCNTL: &[libc::c_int] =
    &[libc::F_GETFD, libc::F_SETFD, libc::F_GETFL, libc::F_SETFL, libc::F_DUPFD_CLOEXEC];

/// How the C library makes a thread, and nothing else: no process, and no namespace.
const THREAD: libc::c_int = libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SYSVSEM
    | libc::CLONE_SIGHAND
    | libc::CLONE_THREAD
    | libc::CLONE_SETTLS
    | libc::CLONE_PARENT_SETTID
    | libc::CLONE_CHILD_CLEARTID;

/// Bytes of the first thread's stack; the others have sizes of their own.
const STACK_BYTES: u64 = 64 << 20;

/// Seconds of processor time after the limit at which the process is asked to end, until it is ended.
const CPU_GRACE_SECONDS: u64 = 2;

/// Limits the process and all its threads, for good: to `memory_bytes`, and to `cpu_seconds` of processor time in its
/// whole life, after which the system ends it with `SIGXCPU`.
///
/// # Errors
/// The system does not know of such limits; those set before remain.
pub fn confine(memory_bytes: u64, cpu_seconds: u64) -> io::Result<()> {
    for (resource, max) in [
        (Resource::Data, memory_bytes),
        (Resource::Core, 0),
        (Resource::Stack, STACK_BYTES),
        (Resource::Nofile, FILES_MAX),
        (Resource::Fsize, 2 * DECOMPRESSED_BYTES_MAX),
    ] {
        // A limit that is lower already stays: raising it is not ours to do.
        let most = getrlimit(resource).maximum.map_or(max, |had| had.min(max));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    // Two steps, because only the first has a signal of its own, by which the server knows why.
    let last = cpu_seconds.saturating_add(CPU_GRACE_SECONDS);
    let last = getrlimit(Resource::Cpu).maximum.map_or(last, |had| had.min(last));
    let first = Some(cpu_seconds.min(last));
    setrlimit(Resource::Cpu, Rlimit { current: first, maximum: Some(last) })?;
    for filter in [newer_clone(), fatal(), allowed()] {
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

fn fatal() -> Result<BpfProgram, seccompiler::BackendError> {
    let rules = FATAL.iter().map(|call| (*call, Vec::new())).collect();
    let arch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::KillProcess, arch)?.try_into()
}

fn allowed() -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    #[cfg(target_arch = "x86_64")]
    for call in [libc::SYS_poll, libc::SYS_epoll_wait] {
        rules.insert(call, Vec::new());
    }
    let when = |argument, size, op, value| -> Result<_, seccompiler::BackendError> {
        SeccompRule::new(vec![SeccompCondition::new(argument, size, op, value)?])
    };
    let int = |argument, value: libc::c_int| {
        when(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, u64::from(value.cast_unsigned()))
    };
    let word = |argument, value| when(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, value);
    // That runtime makes a pair of sockets, connected with each other and with nothing else.
    rules.insert(libc::SYS_socketpair, vec![int(0, libc::AF_UNIX)?]);
    rules.insert(libc::SYS_clone3, Vec::new());
    for call in FATAL {
        // Left to the other filter.
        rules.insert(*call, Vec::new());
    }
    // Threads, not processes; musl sets a bit that has had no meaning for long.
    let detached = libc::CLONE_DETACHED;
    let threads = [THREAD, THREAD | detached];
    rules.insert(
        libc::SYS_clone,
        vec![
            word(0, u64::from(threads[0].cast_unsigned()))?,
            word(0, u64::from(threads[1].cast_unsigned()))?,
        ],
    );
    // Limits may be read and not set.
    rules.insert(libc::SYS_prlimit64, vec![word(2, 0)?]);
    let asked = FCNTL.iter().map(|command| int(1, *command)).collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_fcntl, asked);
    // A process may signal itself, as an abort does.
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    rules.insert(libc::SYS_tgkill, vec![int(0, own)?]);
    let arch = std::env::consts::ARCH.try_into()?;
    let deny = SeccompAction::Errno(libc::EPERM as u32);
    SeccompFilter::new(rules, deny, SeccompAction::Allow, arch)?.try_into()
}
