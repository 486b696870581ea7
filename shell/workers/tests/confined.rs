//! Acts that a confined parse worker is refused. A program of its own, for there is no way back.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::sync::OnceLock;

use graphlume_ingest::{Format, ParseCx, ParseSpec, Source, parse};

type Attempt = (&'static str, fn() -> bool);

/// Each says whether it succeeded.
const FORBIDDEN: &[Attempt] = &[
    ("read a file", || File::open("/etc/passwd").is_ok()),
    ("write a file", || File::create("/tmp/graphlume-confined").is_ok()),
    ("list a folder", || std::fs::read_dir("/").is_ok()),
    ("remove a file", || {
        std::fs::remove_file("/tmp/graphlume-confined-absent-1").err().is_none_or(denied_is_wrong)
    }),
    ("make a folder", || std::fs::create_dir("/tmp/graphlume-confined-folder").is_ok()),
    ("make a link", || std::os::unix::fs::symlink("/etc", "/tmp/graphlume-confined-link").is_ok()),
    ("rename a file", || std::fs::rename("/tmp/a-1", "/tmp/b-1").err().is_none_or(denied_is_wrong)),
    ("run a program", || Command::new("/bin/true").status().is_ok()),
    ("listen on a port", || TcpListener::bind("127.0.0.1:0").is_ok()),
    ("connect", || TcpStream::connect("127.0.0.1:1").err().is_none_or(denied_is_wrong)),
    ("send a datagram", || UdpSocket::bind("127.0.0.1:0").is_ok()),
    ("listen on a socket file", || UnixListener::bind("/tmp/graphlume-confined-socket").is_ok()),
    ("make a pair of sockets of a network", || {
        let mut pair = [0; 2];
        // SAFETY: `pair` has room for the two descriptors.
        let made =
            unsafe { libc::socketpair(libc::AF_INET, libc::SOCK_STREAM, 0, pair.as_mut_ptr()) };
        made == 0 || denied_is_wrong(std::io::Error::last_os_error())
    }),
    ("change the folder", || std::env::set_current_dir("/tmp").is_ok()),
    ("signal a thread of another process", || {
        // SAFETY: it takes numbers; signal 0 only tells whether one may.
        unsafe { libc::syscall(libc::SYS_tgkill, parent(), parent(), 0) == 0 }
    }),
    ("have another process signalled by a descriptor", || {
        // SAFETY: it takes numbers.
        unsafe { libc::fcntl(0, libc::F_SETOWN, parent()) == 0 }
    }),
    ("choose the signal of a descriptor", || {
        // SAFETY: it takes numbers.
        unsafe { libc::fcntl(0, F_SETSIG, libc::SIGTERM) == 0 }
    }),
    ("make a process that shares memory", || {
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: the child, should there be one, shares this stack and only ends.
        let made = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
        if made == 0 {
            // SAFETY: it ends the child at once.
            unsafe { libc::_exit(0) };
        }
        made > 0
    }),
    ("raise the stack's limit", || {
        use rustix::process::{Resource, getrlimit};
        getrlimit(Resource::Stack).maximum.is_none_or(|most| most > 64 << 20)
    }),
    ("signal another process", || {
        rustix::process::test_kill_process(rustix::process::Pid::INIT).is_ok()
    }),
];

/// The kernel's number of this command, which the crate does not name.
const F_SETSIG: libc::c_int = 10;

/// What ends the process.
const FATAL: &[(&str, fn())] = &[
    ("look into a process", || {
        // SAFETY: this request reads none of its other arguments.
        let _ = unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) };
    }),
    ("leave a namespace", || {
        // SAFETY: it takes a number and touches no memory.
        let _ = unsafe { libc::unshare(libc::CLONE_NEWUSER) };
    }),
];

/// The process that started this one. It is asked for before there is no more asking.
static PARENT: OnceLock<libc::pid_t> = OnceLock::new();

fn parent() -> libc::pid_t {
    *PARENT.get().unwrap()
}

/// An attempt must fail because it is forbidden, not because its target is absent.
fn denied_is_wrong(e: std::io::Error) -> bool {
    e.kind() != std::io::ErrorKind::PermissionDenied
}

/// Seconds of processor time that nothing here uses up.
const CPU_SECONDS: u64 = 600;

/// What landlock alone keeps from happening, where there is one.
const BEHIND_LANDLOCK: &[&str] = &[
    "read a file",
    "write a file",
    "list a folder",
    "make a folder",
    "make a link",
    "run a program",
    "listen on a socket file",
];

/// Without a filter of system calls, whatever this system has instead holds by itself.
fn enclosed() {
    let network = || std::fs::read_link("/proc/self/ns/net").unwrap();
    let (outside, mut before) = (network(), tempfile::tempfile().unwrap());
    let held = graphlume_workers::enclose();
    println!("{}", held.words());
    let forbidden = FORBIDDEN.iter().filter(|(what, _)| BEHIND_LANDLOCK.contains(what));
    for (what, attempt) in forbidden.filter(|_| held.landlock.is_some()) {
        assert!(!attempt(), "landlock let a worker {what}");
    }
    if held.namespaces {
        assert_ne!(network(), outside, "the network is the host's");
    }
    if held.unprivileged {
        let header = [0x2008_0522_u32, 0];
        let mut sets = [[u32::MAX; 3]; 2];
        // SAFETY: the kernel reads the header and writes two sets, for which there is room.
        let done = unsafe { libc::syscall(libc::SYS_capget, header.as_ptr(), sets.as_mut_ptr()) };
        assert_eq!((done, sets), (0, [[0; 3]; 2]), "capabilities are left");
    }
    // What was open stays so, and threads are enclosed like their process.
    before.write_all(b"a,b\n1,2\n").unwrap();
    before.set_len(4).unwrap();
    let read = || std::fs::read("/etc/passwd").is_ok();
    let could = std::thread::scope(|s| s.spawn(read).join().unwrap());
    assert_eq!(could, held.landlock.is_none());
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("enclosed") => return enclosed(),
        Some("spin") => {
            graphlume_workers::confine(512 << 20, 1).unwrap();
            // The system ends this.
            loop {
                std::hint::spin_loop();
            }
        }
        _ => {}
    }
    if let Some(at) =
        std::env::args().nth(1).and_then(|a| a.strip_prefix("fatal:")?.parse::<usize>().ok())
    {
        graphlume_workers::confine(512 << 20, CPU_SECONDS).unwrap();
        FATAL[at].1();
        return;
    }
    for (at, (what, _)) in FATAL.iter().enumerate() {
        let me = std::env::current_exe().unwrap();
        let status = Command::new(me).arg(format!("fatal:{at}")).status().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGSYS), "whoever tries to {what} is ended");
    }
    for (argument, signal) in [("enclosed", None), ("spin", Some(libc::SIGXCPU))] {
        let me = std::env::current_exe().unwrap();
        let status = Command::new(me).arg(argument).status().unwrap();
        assert_eq!(status.signal(), signal, "{argument}: {status}");
        assert!(signal.is_some() || status.success(), "{argument}: {status}");
    }
    PARENT.set(rustix::process::getppid().unwrap().as_raw_nonzero().get()).unwrap();
    let mut before = tempfile::tempfile().unwrap();
    graphlume_workers::confine(512 << 20, CPU_SECONDS).expect("this system has seccomp filters");
    for (what, attempt) in FORBIDDEN {
        assert!(!attempt(), "a confined worker could {what}");
    }
    // What it is for still works: open files, memory, threads, parsing.
    before.write_all(b"a,b\n1,2\n").unwrap();
    before.rewind().unwrap();
    let mut text = Vec::new();
    before.read_to_end(&mut text).unwrap();
    let sum: u64 = std::thread::scope(|s| s.spawn(|| (0..1000u64).sum()).join().unwrap());
    assert_eq!(sum, 499_500);
    // The runtime of the SQL engine makes such a pair; its ends lead to each other, and no further.
    assert!(UnixStream::pair().is_ok());
    let source = Source::Bytes(text.into());
    let parsed = parse(&ParseSpec::plain(Format::Csv), &source, &ParseCx::default()).unwrap();
    assert_eq!(parsed.tables[0].1.num_rows(), 1);
    let too_much: Result<(), _> = Vec::<u8>::new().try_reserve_exact(1 << 30);
    assert!(too_much.is_err(), "the memory limit does not hold");
    println!("{} forbidden acts were refused", FORBIDDEN.len());
}
