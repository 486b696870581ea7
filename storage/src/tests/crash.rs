//! A writing process is killed, or the power of its disk is cut, at a random moment. Every
//! acknowledged record and blob must be there afterwards, and the store must be sound.
//!
//! The writer is this test binary itself, started again for one ignored test.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use graphlume_types::hash::h64;

use super::*;

const DIR: &str = "GRAPHLUME_TEST_WRITER_DIR";
const BASE: &str = "GRAPHLUME_TEST_WRITER_BASE";
/// `0`: no blobs. Their folder syncs happen to push the record store's metadata out as well, and would
/// hide that a commit does not.
const BLOBS: &str = "GRAPHLUME_TEST_WRITER_BLOBS";
const WRITERS: u64 = 4;

/// Content of the blob of file `id`; its length varies over the writer's buffer sizes.
fn content(id: u64) -> Vec<u8> {
    let len = (h64(11, 12, id) % 70_000) as usize;
    (0..len).map(|i| (h64(13, id, i as u64 / 8) >> (i % 8 * 8)) as u8).collect()
}

fn tell(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("ACK {line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// The child: several threads upload, commit, overwrite and delete, and print what was acknowledged.
/// A line `try` goes before the one thing that cannot be told from its absence: a deletion.
#[test]
#[ignore = "started by the crash tests as a process of its own"]
fn child_writer() {
    let Ok(dir) = std::env::var(DIR) else { return };
    let base: u64 = std::env::var(BASE).unwrap().parse().unwrap();
    // The process that runs the tests had the folder open a moment ago, and what another of its tests starts just then
    // has its locks, too, until it becomes another program. Whoever waits for this writer has a limit.
    let store = loop {
        match Store::open(Path::new(&dir), options()) {
            Err(StoreError::InUse { .. }) => std::thread::sleep(Duration::from_millis(20)),
            Err(e) => {
                println!("not opened: {e}");
                std::process::exit(1);
            }
            Ok(store) => break store,
        }
    };
    let blobs = std::env::var(BLOBS).is_ok_and(|v| v == "1");
    tell("open");
    std::thread::scope(|s| {
        for w in 0..WRITERS {
            let store = &store;
            s.spawn(move || {
                for i in 0.. {
                    let id = base + i * WRITERS + w;
                    let raw = if blobs && i % 3 == 0 {
                        Some(store.blobs().put(&content(id)).unwrap())
                    } else {
                        None
                    };
                    let rec =
                        FileRec { raw, ..file(u128::from(id), w + 1, Some("acme"), id as i64) };
                    let twin = dataset(u128::from(id), w + 1, None, id as i64);
                    store.commit(Batch::new().insert(&rec).insert(&twin)).unwrap();
                    tell(&format!("put {id}"));
                    if i % 5 == 4 {
                        let old = id - 2 * WRITERS;
                        let key = file(u128::from(old), 1, None, 0).file_id;
                        tell(&format!("try {old}"));
                        store.commit(Batch::new().delete::<FileRec>(&key)).unwrap();
                        tell(&format!("del {old}"));
                    }
                }
            });
        }
    });
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    There,
    Gone,
    Unknown,
}

/// What all children of one folder have been told.
#[derive(Default)]
struct Journal(BTreeMap<u64, State>);

impl Journal {
    fn read(&mut self, line: &str) {
        let Some((word, id)) = line.strip_prefix("ACK ").and_then(|l| l.split_once(' ')) else {
            return;
        };
        let Ok(id) = id.trim_end().parse::<u64>() else { return };
        let state = match word {
            "put" => State::There,
            "try" => State::Unknown,
            "del" => State::Gone,
            other => panic!("a line of the child is not understood: {other}"),
        };
        self.0.insert(id, state);
    }

    /// Compares with the store, and takes the store's word where the journal does not know.
    fn check(&mut self, store: &Store) {
        for (id, state) in &mut self.0 {
            let rec: Option<FileRec> =
                store.get(&file(u128::from(*id), 1, None, 0).file_id).unwrap();
            let twin = dataset(u128::from(*id), 1, None, 0).dataset_id;
            assert!(store.exists::<DatasetRec>(&twin).unwrap(), "the other half of {id} is gone");
            match (*state, &rec) {
                (State::There, None) => panic!("file {id} was acknowledged and is gone"),
                (State::Gone, Some(_)) => panic!("file {id} was deleted and is back"),
                (State::Unknown, _) => {
                    *state = if rec.is_some() { State::There } else { State::Gone };
                }
                _ => {}
            }
            if let Some(raw) = rec.and_then(|r| r.raw) {
                assert_eq!(store.blobs().read(&raw).unwrap(), content(*id), "blob of {id}");
            }
        }
        assert_sound(store);
    }
}

struct Writer {
    child: Child,
    lines: std::thread::JoinHandle<Vec<String>>,
    opened: std::sync::mpsc::Receiver<()>,
}

fn start(dir: &Path, base: u64, blobs: bool) -> Writer {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["tests::crash::child_writer", "--exact", "--ignored", "--nocapture", "-q"])
        .env(DIR, dir)
        .env(BASE, base.to_string())
        .env(BLOBS, if blobs { "1" } else { "0" })
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = child.stdout.take().unwrap();
    let (say, opened) = std::sync::mpsc::sync_channel(1);
    let lines = std::thread::spawn(move || {
        let mut lines = Vec::new();
        for line in BufReader::new(out).split(b'\n') {
            // The last line may be cut off; an acknowledgement counts when its line is whole.
            let Ok(line) = line else { break };
            let Ok(line) = String::from_utf8(line) else { continue };
            if line.ends_with("ACK open") {
                let _ = say.send(());
            }
            lines.push(line);
        }
        lines
    });
    Writer { child, lines, opened }
}

impl Writer {
    /// Lets the child write for a while, then stops it through `stop`. Gives what it printed.
    fn run(mut self, lifetime: Duration, stop: impl FnOnce(&mut Child)) -> Vec<String> {
        let up = self.opened.recv_timeout(Duration::from_secs(60));
        std::thread::sleep(lifetime);
        stop(&mut self.child);
        let _ = self.child.kill();
        let status = self.child.wait().unwrap();
        let lines = self.lines.join().unwrap();
        up.unwrap_or_else(|_| panic!("the writer could not open the store: {status}: {lines:?}"));
        lines
    }
}

/// Rounds of writing, stopping and checking over one folder that lives on.
struct Trial {
    journal: Journal,
    acked: usize,
    opens: Vec<f64>,
}

impl Trial {
    fn new() -> Self {
        Self { journal: Journal::default(), acked: 0, opens: Vec::new() }
    }

    fn note(&mut self, lines: &[String]) {
        let before = self.journal.0.len();
        // A child that was killed in the middle of a line leaves a number that is too short.
        let whole = lines.len().saturating_sub(1);
        lines.iter().take(whole).for_each(|l| self.journal.read(l));
        if let Some(last) = lines.last().filter(|l| l.starts_with("ACK try")) {
            self.journal.read(last);
        }
        self.acked += self.journal.0.len() - before;
    }

    fn check(&mut self, dir: &Path) {
        let begin = Instant::now();
        let store = open(dir);
        self.opens.push(begin.elapsed().as_secs_f64() * 1e3);
        assert_eq!(*store.opened(), Opened::Existing);
        self.journal.check(&store);
        store.sweep(Duration::ZERO).unwrap();
        self.journal.check(&store);
    }

    fn report(&mut self, name: &str) {
        self.opens.sort_by(f64::total_cmp);
        println!(
            "{name}: {} rounds, {} acknowledged commits, none lost; slowest open {:.0} ms",
            self.opens.len(),
            self.acked,
            self.opens.last().unwrap_or(&0.0),
        );
        assert!(self.acked > self.opens.len(), "the writers hardly wrote");
    }
}

#[test]
fn killed_writers_lose_nothing_that_was_acknowledged() {
    let dir = scratch();
    drop(open(dir.path()));
    let mut trial = Trial::new();
    for round in 0..40 {
        let writer = start(dir.path(), (round + 1) << 32, true);
        let lifetime = Duration::from_millis(h64(21, 22, round) % 120);
        let lines = writer.run(lifetime, |_| {});
        trial.note(&lines);
        trial.check(dir.path());
    }
    trial.report("kill");
}

#[test]
fn writers_killed_during_the_first_boot_leave_a_folder_that_opens() {
    for round in 0..10 {
        let dir = scratch();
        let mut writer = start(dir.path(), 1 << 32, true);
        std::thread::sleep(Duration::from_micros(h64(23, 24, round) % 30_000));
        writer.child.kill().unwrap();
        writer.child.wait().unwrap();
        let lines = writer.lines.join().unwrap();
        let mut trial = Trial::new();
        trial.note(&lines);
        let store = open(dir.path());
        trial.journal.check(&store);
    }
}

/// A file system in a file, on a loop device, whose power can be cut.
struct Disk {
    image: std::path::PathBuf,
    at: std::path::PathBuf,
    options: &'static str,
}

fn call(program: &str, args: &[&str]) -> Result<(), String> {
    let out = Command::new(program).args(args).output().map_err(|e| format!("{program}: {e}"))?;
    if out.status.success() {
        return Ok(());
    }
    Err(format!("{program}: {}", String::from_utf8_lossy(&out.stderr).trim()))
}

impl Disk {
    fn new(root: &Path, options: &'static str) -> Result<Self, String> {
        let (image, at) = (root.join("image"), root.join("mount"));
        std::fs::create_dir(&at).map_err(|e| e.to_string())?;
        let disk = Self { image, at, options };
        let file = std::fs::File::create(&disk.image).map_err(|e| e.to_string())?;
        file.set_len(192 << 20).map_err(|e| e.to_string())?;
        call("mkfs.ext4", &["-q", "-F", "-N", "60000", disk.image.to_str().unwrap()])?;
        disk.mount()?;
        Ok(disk)
    }

    fn mount(&self) -> Result<(), String> {
        let (image, at) = (self.image.to_str().unwrap(), self.at.to_str().unwrap());
        call("mount", &["-o", self.options, image, at])
    }

    /// Drops everything that is not on the device: the journal and the page cache.
    fn cut(&self) {
        const SHUTDOWN: u32 = 0x8004_587d;
        const NO_LOG_FLUSH: u32 = 2;
        let dir = std::fs::File::open(&self.at).unwrap();
        // SAFETY: the call reads one u32 through the pointer, and `Setter` passes one that lives for
        // the whole call.
        let done = unsafe {
            rustix::ioctl::ioctl(&dir, rustix::ioctl::Setter::<SHUTDOWN, u32>::new(NO_LOG_FLUSH))
        };
        done.unwrap();
    }

    fn unmount(&self) {
        for _ in 0..100 {
            if call("umount", &[self.at.to_str().unwrap()]).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the test's file system cannot be unmounted");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = call("umount", &["-l", self.at.to_str().unwrap()]);
    }
}

#[test]
fn a_power_cut_loses_nothing_that_was_acknowledged() {
    let rounds: u64 = std::env::var("GRAPHLUME_TEST_POWER_CUTS").map_or(10, |n| n.parse().unwrap());
    for mount in ["defaults", "data=writeback,noauto_da_alloc"] {
        let root = tempfile::tempdir().unwrap();
        let disk = match Disk::new(root.path(), &format!("loop,{mount}").leak()[..]) {
            Ok(d) => d,
            Err(why) => {
                println!("SKIPPED power cut: no loop mount on this machine ({why})");
                return;
            }
        };
        let dir = disk.at.join("data");
        drop(open(&dir));
        let mut trial = Trial::new();
        for round in 0..rounds {
            let writer = start(&dir, (round + 1) << 32, round % 2 == 0);
            let lifetime = Duration::from_millis(20 + h64(31, 32, round) % 300);
            let lines = writer.run(lifetime, |_| disk.cut());
            trial.note(&lines);
            disk.unmount();
            disk.mount().unwrap();
            trial.check(&dir);
        }
        trial.report(&format!("power cut, {mount}"));
    }
}
