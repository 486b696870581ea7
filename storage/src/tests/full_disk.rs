//! A disk that is full before, during or after the opening costs nothing that was acknowledged. Each test runs once more in
//! a process of its own, on a small file system in memory that nobody else sees.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::Command;

use graphlume_types::{Coded as _, limits};

use super::*;

const PLACE: &str = "GRAPHLUME_TEST_SMALL_DISK";
const MIB: u64 = 1 << 20;

/// The small disk, in the process that has one; elsewhere runs the test `name` in such a process.
fn on_a_small_disk(name: &str, mib: u64) -> Option<PathBuf> {
    if let Some(place) = std::env::var_os(PLACE) {
        return Some(place.into());
    }
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new("unshare");
    command.arg("--mount");
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    let script = format!(
        "mount -t tmpfs -o size={mib}m none \"${PLACE}\" && exec \"$0\" --exact tests::full_disk::{name} --nocapture"
    );
    command.args(["sh", "-c", &script]).arg(std::env::current_exe().unwrap());
    let done = command.env(PLACE, dir.path()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(
        done.status.success() && said.contains("1 passed"),
        "{:?}\n{said}\n{told}",
        done.status
    );
    None
}

/// Fills the disk but for `room` bytes.
fn fill(place: &Path, room: u64) {
    let mut file = fs::File::create(place.join("fill")).unwrap();
    let (mut len, block) = (0, vec![0u8; 4_096]);
    while file.write_all(&block).is_ok() {
        len += block.len() as u64;
    }
    file.set_len(len.saturating_sub(room)).unwrap();
}

fn empty(place: &Path) {
    fs::remove_file(place.join("fill")).unwrap();
}

/// Everything below `dir` with what a change would change.
fn look(dir: &Path) -> BTreeMap<PathBuf, (u64, u32, i64, i64, u64)> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(path) = open.pop() {
        let about = fs::symlink_metadata(&path).unwrap();
        if about.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
        }
        let times = (about.len(), about.mode(), about.mtime(), about.mtime_nsec(), about.ino());
        found.insert(path, times);
    }
    found
}

/// A data folder with an export that knows less than the store.
fn made(dir: &Path) {
    let store = open(dir);
    store.commit(Batch::new().put(&file(1, 1, None, 1))).unwrap();
    drop(store);
    let store = open(dir);
    store.export().unwrap();
    for id in 2..40 {
        store.commit(Batch::new().put(&file(id, 1, None, 1))).unwrap();
    }
}

fn assert_there(dir: &Path, ids: impl Iterator<Item = u128>, when: &str) {
    let store = open(dir);
    assert_eq!(*store.opened(), Opened::Existing, "{when}");
    for id in ids {
        let found = store.get::<FileRec>(&file(id, 1, None, 1).file_id).unwrap();
        assert!(found.is_some(), "{when}: {id} was acknowledged and is gone");
    }
    assert_sound(&store);
}

#[test]
fn a_disk_that_fills_up_while_a_store_is_opened_loses_nothing() {
    let name = "a_disk_that_fills_up_while_a_store_is_opened_loses_nothing";
    let Some(place) = on_a_small_disk(name, 24) else { return };
    let (mut refused, mut opened) = (0, 0);
    for room in [0, 4, 8, 12, 16, 20, 32, 64, 128, 256, 512, 768, 1_024] {
        let dir = place.join("d");
        made(&dir);
        fill(&place, room << 10);
        let mut acked: Vec<u128> = (1..40).collect();
        match try_open(&dir, options()) {
            Ok(store) => {
                opened += 1;
                for id in 40..60 {
                    if store.commit(Batch::new().put(&file(id, 1, None, 1))).is_ok() {
                        acked.push(id);
                    }
                }
            }
            Err(e) => {
                refused += 1;
                assert_eq!(e.slug(), "storage-full", "{room} KiB: {e}");
            }
        }
        // Once more on the same disk: what the first time left is in nobody's way.
        drop(try_open(&dir, options()));
        empty(&place);
        assert_there(&dir, acked.into_iter(), &format!("{room} KiB"));
        fs::remove_dir_all(&dir).unwrap();
    }
    assert!(refused > 0 && opened > 0, "{refused} refused, {opened} opened");
}

#[test]
fn a_store_without_room_is_not_opened_and_stays_as_it_is() {
    let name = "a_store_without_room_is_not_opened_and_stays_as_it_is";
    let Some(place) = on_a_small_disk(name, 32) else { return };
    let dir = place.join("d");
    made(&dir);
    let before = look(&dir);
    for room in [0, limits::DISK_FREE_COMMIT_BYTES_MIN / 4 - MIB] {
        fill(&place, room);
        for options in [Options::default(), Options::default().existing()] {
            let e = try_open(&dir, options).err().unwrap();
            assert_eq!(e.slug(), "storage-full", "{e}");
            assert!(e.to_string().contains("MiB free"), "{e}");
        }
        let store = try_open(&dir, Options::default().only_reading()).unwrap();
        assert_eq!(store.count::<FileRec>(&[Scope::All]).unwrap(), 39);
        assert_sound(&store);
        drop(store);
        let e = try_open(&place.join("new"), Options::default()).err().unwrap();
        assert_eq!(e.slug(), "storage-full", "{e}");
        assert!(!place.join("new").exists());
        empty(&place);
        assert_eq!(look(&dir), before, "{room}");
    }
    assert_there(&dir, 1..40, "at the end");
}

#[test]
fn a_disk_that_fills_up_behind_an_open_store_loses_nothing() {
    let name = "a_disk_that_fills_up_behind_an_open_store_loses_nothing";
    let Some(place) = on_a_small_disk(name, 24) else { return };
    for room in [0, 4, 16, 64, 256, 600] {
        let dir = place.join("d");
        made(&dir);
        let store = open(&dir);
        fill(&place, room << 10);
        let mut acked: Vec<u128> = (1..40).collect();
        let mut refused = 0;
        for id in 40..2_000 {
            match store.commit(Batch::new().put(&file(id, 1, None, 1))) {
                Ok(()) => acked.push(id),
                Err(_) => refused += 1,
            }
        }
        assert!(refused > 0, "{room} KiB");
        drop(store);
        empty(&place);
        assert_there(&dir, acked.into_iter(), &format!("{room} KiB"));
        fs::remove_dir_all(&dir).unwrap();
    }
}

#[test]
fn a_snapshot_of_the_engine_that_was_not_finished_or_is_damaged_costs_nothing() {
    let dir = scratch();
    made(dir.path());
    let store = dir.path().join("store");
    let snapshots = || -> Vec<PathBuf> {
        let all = fs::read_dir(&store).unwrap().map(|e| e.unwrap().path());
        all.filter(|p| p.file_name().unwrap().to_string_lossy().starts_with("snap.")).collect()
    };
    fs::write(store.join("snap.FFFFFFFFFFFFFFFF.generating"), b"").unwrap();
    let before = look(dir.path());
    let reader = try_open(dir.path(), options().only_reading()).unwrap();
    assert_eq!(reader.count::<FileRec>(&[Scope::All]).unwrap(), 39);
    drop(reader);
    assert_eq!(look(dir.path()), before);
    assert_there(dir.path(), 1..40, "unfinished");
    assert!(!snapshots().is_empty());
    for bad in [&b""[..], b"no snapshot at all"] {
        for path in snapshots() {
            fs::write(path, bad).unwrap();
        }
        let reader = try_open(dir.path(), options().only_reading()).unwrap();
        assert_eq!(reader.count::<FileRec>(&[Scope::All]).unwrap(), 39);
        drop(reader);
        assert_there(dir.path(), 1..40, "damaged");
    }
}

#[test]
fn whoever_only_reads_writes_nothing_and_goes_beside_others_who_do() {
    let dir = scratch();
    made(dir.path());
    let before = look(dir.path());
    let first = try_open(dir.path(), options().only_reading()).unwrap();
    let second = try_open(dir.path(), options().only_reading()).unwrap();
    let e = Store::open(dir.path(), options()).err().unwrap();
    assert_eq!(e.slug(), "storage-in-use");
    let e = second.commit(Batch::new().put(&file(99, 1, None, 1))).unwrap_err();
    assert_eq!(e.slug(), "storage-read-only");
    let out = scratch();
    assert_eq!(first.export_to(&out.path().join("export")).unwrap().records, 39);
    drop((first, second));
    assert_eq!(look(dir.path()), before);
    assert_there(dir.path(), 1..40, "at the end");
}
