//! Sweep, export, import.

use std::time::Duration;

use graphlume_types::{Clock as _, Coded as _};

use super::*;
use crate::vfs::{OsVfs, Vfs as _};

const DAY: Duration = Duration::from_secs(86_400);

#[test]
fn the_sweep_removes_old_orphans_only() {
    let dir = scratch();
    let store = open(dir.path());
    let used = store.blobs().put(b"used").unwrap();
    let orphan = store.blobs().put(b"orphan").unwrap();
    let mut w = store.blobs().derived().unwrap();
    w.put(b"derived orphan").unwrap();
    let derived = w.finish().unwrap();
    let rec = FileRec { raw: Some(used), ..file(1, 1, None, 1) };
    store.commit(Batch::new().put(&rec)).unwrap();
    let report = store.sweep(DAY).unwrap();
    assert_eq!((report.removed, report.kept), (0, 3));
    let report = store.sweep(Duration::ZERO).unwrap();
    assert_eq!((report.removed, report.kept, report.removed_bytes), (2, 1, 20));
    assert!(store.blobs().exists(&used));
    assert!(!store.blobs().exists(&orphan) && !store.blobs().exists(&derived));
    // A second record keeps the blob when the first goes.
    let other = FileRec { raw: Some(used), ..file(2, 1, None, 1) };
    store.commit(Batch::new().put(&other).delete::<FileRec>(&rec.file_id)).unwrap();
    assert_eq!(store.sweep(Duration::ZERO).unwrap().removed, 0);
    store.commit(Batch::new().delete::<FileRec>(&other.file_id)).unwrap();
    assert_eq!(store.sweep(Duration::ZERO).unwrap().removed, 1);
}

#[test]
fn a_sweep_beside_commits_never_takes_a_blob_that_a_record_got() {
    let dir = scratch();
    let store = open(dir.path());
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|s| {
        s.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::SeqCst) {
                store.sweep(Duration::ZERO).unwrap();
            }
        });
        let mut refused = 0;
        for i in 0..300u128 {
            let blob = store.blobs().put(&i.to_be_bytes()).unwrap();
            let rec = FileRec { raw: Some(blob), ..file(i, 1, None, 1) };
            match store.commit(Batch::new().put(&rec)) {
                Ok(()) => {}
                // The sweep has no grace here and may come first; the commit says so.
                Err(StoreError::BlobMissing { .. }) => refused += 1,
                Err(e) => panic!("{e}"),
            }
        }
        done.store(true, std::sync::atomic::Ordering::SeqCst);
        assert!(refused < 300);
    });
    assert_sound(&store);
}

fn filled(store: &Store) -> Vec<FileRec> {
    let mut recs = Vec::new();
    for i in 0..600u128 {
        let raw = (i % 100 == 0).then(|| store.blobs().put(&i.to_le_bytes()).unwrap());
        recs.push(FileRec { raw, ..file(i, (i % 3) as u64 + 1, None, i as i64) });
    }
    recs[7].errors =
        vec![json!({"message": "é\u{0}\u{2028}\"", "n": [0.1, -0.0, 1e300, u64::MAX]})];
    recs[8].description = "y".repeat(100_000);
    for chunk in recs.chunks(100) {
        let batch = chunk.iter().fold(Batch::new(), |b, r| b.put(r));
        store.commit(batch).unwrap();
    }
    store.commit(Batch::new().put(&user(41, "ada", "a@x"))).unwrap();
    recs
}

fn assert_holds(store: &Store, recs: &[FileRec]) {
    assert_eq!(store.scan::<FileRec>().map(Result::unwrap).collect::<Vec<_>>(), recs);
    assert_eq!(store.find::<UserRec>("username", "ada").unwrap().unwrap().id, UserId(41));
    assert_eq!(store.next_user_id().unwrap(), UserId(42));
    assert_eq!(store.count::<FileRec>(&[Scope::Owner(UserId(1))]).unwrap(), 200);
    assert_sound(store);
}

#[test]
fn an_export_makes_the_same_store_elsewhere() {
    let dir = scratch();
    let store = open(&dir.path().join("a"));
    let recs = filled(&store);
    let out = dir.path().join("out");
    let report = store.export_to(&out).unwrap();
    assert_eq!((report.records, report.blobs, report.damaged.len()), (601, 7, 0));
    assert_eq!(store.export_to(&out).unwrap_err().slug(), "invalid-export");

    let other = open(&dir.path().join("b"));
    assert_eq!(other.import(&out).unwrap(), ImportReport { records: 601, blobs: 7 });
    assert_holds(&other, &recs);
}

#[test]
fn a_torn_or_changed_export_is_refused_as_a_whole() {
    let dir = scratch();
    let store = open(&dir.path().join("a"));
    filled(&store);
    let out = dir.path().join("out");
    let path = store.export_to(&out).unwrap().path;
    let good = std::fs::read(&path).unwrap();
    let other = open(&dir.path().join("b"));
    let mut changed = good.clone();
    changed[good.len() / 2] ^= 1;
    for bad in [&good[..good.len() - 100], &good[..0], &changed[..]] {
        std::fs::write(&path, bad).unwrap();
        assert_eq!(other.import(&out).unwrap_err().slug(), "invalid-export");
    }
    assert_eq!(other.count::<FileRec>(&[Scope::All]).unwrap(), 0);
}

#[test]
fn two_exports_are_kept() {
    let dir = scratch();
    let clock = std::sync::Arc::new(graphlume_types::TestClock::at(1_000));
    let store = try_open(dir.path(), Options { clock: clock.clone(), ..options() }).unwrap();
    for _ in 0..4 {
        clock.advance(DAY);
        store.export().unwrap();
    }
    assert_eq!(std::fs::read_dir(dir.path().join("exports")).unwrap().count(), 2);
    assert_eq!(store.exported_at().unwrap(), Some(clock.unix_micros()));
}

/// Destroys the engine's file so that it cannot be opened.
fn smash(dir: &Path) {
    let store = dir.join("store");
    for entry in std::fs::read_dir(&store).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let len = std::fs::metadata(&path).unwrap().len() as usize;
            std::fs::write(&path, vec![0xA5; len.max(64)]).unwrap();
        }
    }
}

#[test]
fn a_damaged_record_store_is_rebuilt_from_the_newest_whole_export() {
    let dir = scratch();
    let recs = {
        let store = open(dir.path());
        let recs = filled(&store);
        store.export().unwrap();
        // A later export that is torn must be passed over.
        let torn = dir.path().join("exports").join(format!("{:020}.jsonl", i64::MAX));
        std::fs::write(torn, b"{\"graphlume_export\":1,\"created_at\":1}\n").unwrap();
        recs
    };
    smash(dir.path());
    let store = open(dir.path());
    let Opened::Rebuilt { moved_to, records, .. } = store.opened().clone() else {
        panic!("{:?}", store.opened())
    };
    assert_eq!(records, 601);
    assert!(moved_to.exists());
    assert_holds(&store, &recs);
    // Blobs of records that were lost must not be swept while the damaged store stands.
    let lost = store.blobs().put(b"belongs to a lost record").unwrap();
    assert!(store.sweep(Duration::ZERO).unwrap().held_back);
    assert!(store.blobs().exists(&lost));
    std::fs::remove_dir_all(moved_to).unwrap();
    drop(store);
    let store = open(dir.path());
    assert_eq!(*store.opened(), Opened::Existing);
    assert!(store.sweep(Duration::ZERO).unwrap().removed > 0);
}

#[test]
fn without_an_export_a_damaged_store_is_left_alone_and_named() {
    let dir = scratch();
    open(dir.path()).commit(Batch::new().put(&user(1, "ada", ""))).unwrap();
    smash(dir.path());
    for _ in 0..2 {
        let e = try_open(dir.path(), options()).err().unwrap();
        assert!(e.is_corrupt());
        assert!(e.to_string().contains("store"), "{e}");
    }
}

#[test]
fn a_store_that_has_gone_missing_is_named_and_not_replaced_by_an_empty_one() {
    let dir = scratch();
    let blob = {
        let store = open(dir.path());
        store.commit(Batch::new().put(&user(1, "ada", ""))).unwrap();
        store.blobs().put(b"kept").unwrap()
    };
    let elsewhere = dir.path().join("elsewhere");
    std::fs::rename(dir.path().join("store"), &elsewhere).unwrap();
    let e = try_open(dir.path(), options()).err().unwrap();
    assert!(e.is_corrupt() && e.to_string().contains("missing"), "{e}");
    assert!(!dir.path().join("store").exists());
    std::fs::rename(&elsewhere, dir.path().join("store")).unwrap();
    let store = open(dir.path());
    assert!(store.get::<UserRec>(&UserId(1)).unwrap().is_some());
    assert_eq!(store.blobs().read(&blob).unwrap(), b"kept");
}

#[test]
fn a_rebuild_that_a_crash_cut_short_is_finished() {
    let dir = scratch();
    let recs = {
        let store = open(dir.path());
        let recs = filled(&store);
        store.export().unwrap();
        recs
    };
    // The store was moved aside and the new one is half made.
    std::fs::rename(dir.path().join("store"), dir.path().join("store.damaged-1")).unwrap();
    std::fs::create_dir(dir.path().join("store.new")).unwrap();
    std::fs::write(dir.path().join("store.new").join("db"), b"half").unwrap();
    let store = open(dir.path());
    assert!(matches!(store.opened(), Opened::Rebuilt { .. }));
    assert_holds(&store, &recs);
}

#[test]
fn a_first_boot_that_a_crash_cut_short_is_done_again() {
    let dir = scratch();
    std::fs::create_dir(dir.path().join("store.new")).unwrap();
    std::fs::write(dir.path().join("store.new").join("db"), b"half").unwrap();
    std::fs::create_dir(dir.path().join("tmp")).unwrap();
    std::fs::write(dir.path().join("lock"), b"graphlume data folder\n").unwrap();
    std::fs::write(dir.path().join("tmp").join("7"), b"half an upload").unwrap();
    let store = open(dir.path());
    assert_eq!(*store.opened(), Opened::Fresh);
    assert_eq!(std::fs::read_dir(dir.path().join("tmp")).unwrap().count(), 0);
    assert!(!dir.path().join("store.new").exists());
}

#[test]
fn lost_indexes_come_back_from_the_records() {
    let dir = scratch();
    let store = open(dir.path());
    let recs = filled(&store);
    let index = &store.core().meta.index;
    let victims: Vec<_> =
        index.iter().keys().map(Result::unwrap).filter(|k| k[0] != b'v').collect();
    for key in victims.iter().step_by(2) {
        index.remove(key).unwrap();
    }
    assert!(!store.fsck(false).unwrap().problems.is_empty());
    // A crash in the middle of the work leaves the mark, and the next start does it again.
    index.insert(crate::index::DIRTY_KEY, &[]).unwrap();
    drop(store);
    let store = open(dir.path());
    assert_holds(&store, &recs);
    store.reindex().unwrap();
    assert_holds(&store, &recs);
}

#[test]
fn a_full_disk_refuses_writes_before_the_engine_meets_it() {
    let dir = scratch();
    open(dir.path()).commit(Batch::new().put(&file(1, 1, None, 1))).unwrap();
    let opts = Options {
        free_bytes_upload_min: u64::MAX,
        free_bytes_commit_min: 2 * OsVfs.free_bytes(dir.path()).unwrap(),
        ..Options::default()
    };
    let store = try_open(dir.path(), opts).unwrap();
    let e = store.blobs().writer().err().unwrap();
    assert_eq!((e.slug(), e.code()), ("storage-full", graphlume_types::Code::StorageFull));
    let e = store.commit(Batch::new().put(&file(2, 1, None, 1))).unwrap_err();
    assert_eq!(e.slug(), "storage-full");
    assert!(store.poisoned().is_none());
    assert_eq!(store.list::<FileRec>(&[Scope::All], 0, 9).unwrap().total, 1);
}
