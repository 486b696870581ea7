//! What a confined parse worker can no longer do. A program of its own, for there is no way back.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;

use graphlume_ingest::{Format, ParseCx, Recipe, Source, parse};

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
    ("make a pair of sockets", || UnixStream::pair().is_ok()),
    ("change the folder", || std::env::set_current_dir("/tmp").is_ok()),
    ("signal another process", || {
        rustix::process::test_kill_process(rustix::process::Pid::INIT).is_ok()
    }),
];

/// An attempt must fail because it is forbidden, not because its target is absent.
fn denied_is_wrong(e: std::io::Error) -> bool {
    e.kind() != std::io::ErrorKind::PermissionDenied
}

fn main() {
    let mut before = tempfile::tempfile().unwrap();
    graphlume_ingest::worker::confine(512 << 20).expect("this system has seccomp filters");
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
    let source = Source::Bytes(text.into());
    let parsed = parse(&Recipe::plain(Format::Csv), &source, &ParseCx::default()).unwrap();
    assert_eq!(parsed.tables[0].1.num_rows(), 1);
    let too_much: Result<(), _> = Vec::<u8>::new().try_reserve_exact(1 << 30);
    assert!(too_much.is_err(), "the memory limit does not hold");
    println!("{} forbidden acts were refused", FORBIDDEN.len());
}
