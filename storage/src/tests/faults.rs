//! Every file operation fails once: what was acknowledged is there, what was refused is not half there,
//! and after a failed sync nothing is acknowledged.

use std::collections::BTreeMap;

use graphlume_types::{Code, Coded as _};

use super::*;
use crate::vfs::{Fault, FaultPlan};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;
const EROFS: i32 = 30;
const EMFILE: i32 = 24;
const EINTR: i32 = 4;

/// What the script was told about each file: acknowledged with or without content, or refused.
type Acked = BTreeMap<u128, Option<BlobRef>>;

/// Uploads, commits, deletes, exports and sweeps; goes on after errors. Gives what was acknowledged.
fn script(store: &Store) -> (Acked, Vec<StoreError>) {
    let mut acked = Acked::new();
    let mut errors = Vec::new();
    let mut note = |r: Result<(), StoreError>| {
        let ok = r.is_ok();
        errors.extend(r.err());
        ok
    };
    for i in 0..4u128 {
        let upload = || -> Result<BlobRef, StoreError> {
            let mut w = store.blobs().writer()?;
            w.put(&vec![i as u8; 300_000])?;
            w.finish()
        };
        let raw = match upload() {
            Ok(blob) => Some(blob),
            Err(e) => {
                note(Err(e));
                None
            }
        };
        let rec = FileRec { raw, ..file(i, 1, None, i as i64) };
        if note(store.commit(Batch::new().put(&rec))) {
            acked.insert(i, raw);
        }
    }
    let large = FileRec { description: "z".repeat(20_000), ..file(9, 1, None, 9) };
    if note(store.commit(Batch::new().put(&large))) {
        acked.insert(9, None);
    }
    note(store.export().map(|_| ()));
    let gone = store.commit(Batch::new().delete::<FileRec>(&file(0, 1, None, 0).file_id));
    // After a failed sync the outcome of a deletion is unknown; the reopen tells.
    if note(gone) || store.poisoned().is_some() {
        acked.remove(&0);
    }
    note(store.sweep(std::time::Duration::ZERO).map(|_| ()));
    (acked, errors)
}

fn assert_after_reopen(dir: &Path, acked: &Acked, maybe: &[u128], at: u64) {
    let store = open(dir);
    let there: Vec<FileRec> = store.scan().map(Result::unwrap).collect();
    for (id, raw) in acked {
        let rec = there.iter().find(|r| r.file_id.as_bytes() == &id.to_be_bytes());
        let rec =
            rec.unwrap_or_else(|| panic!("call {at}: file {id} was acknowledged and is gone"));
        assert_eq!(rec.raw, *raw, "call {at}");
        if let Some(blob) = raw {
            assert_eq!(store.blobs().read(blob).unwrap(), vec![*id as u8; 300_000], "call {at}");
        }
    }
    for rec in &there {
        let id = u128::from_be_bytes(*rec.file_id.as_bytes());
        assert!(acked.contains_key(&id) || maybe.contains(&id), "call {at}: file {id} appeared");
    }
    assert_sound(&store);
}

fn sweep_faults(fault: Fault) -> u64 {
    let mut at = 1;
    loop {
        let dir = scratch();
        let plan = FaultPlan::new(0, fault);
        let store = try_open(dir.path(), options().with_faults(&plan)).unwrap();
        plan.arm(at);
        let (acked, errors) = script(&store);
        let hit = plan.hit();
        let poisoned = store.poisoned().is_some();
        drop(store);
        // After a failed sync of the records the outcome of that commit is unknown until the reopen.
        let maybe: Vec<u128> = if poisoned { (0..10).collect() } else { Vec::new() };
        assert_after_reopen(dir.path(), &acked, &maybe, at);
        if !hit {
            assert!(errors.is_empty(), "a clean run failed: {errors:?}");
            assert_eq!(acked.len(), 4);
            return at - 1;
        }
        if fault == Fault::ShortWrite {
            assert!(errors.is_empty(), "call {at}: a short write is no failure: {errors:?}");
        }
        at += 1;
        assert!(at < 400, "the script does not end");
    }
}

#[test]
fn the_nth_call_fails_with_an_io_error() {
    let calls = sweep_faults(Fault::Errno(EIO));
    println!("{calls} file operations failed one by one (EIO)");
    assert!(calls > 40, "{calls}");
}

#[test]
fn the_nth_call_meets_a_full_disk() {
    sweep_faults(Fault::Errno(ENOSPC));
}

#[test]
fn a_want_of_descriptors_refuses_an_upload_and_stops_nothing() {
    let mut refused = 0;
    for at in 1.. {
        let dir = scratch();
        let plan = FaultPlan::new(0, Fault::Errno(EMFILE));
        let store = try_open(dir.path(), options().with_faults(&plan)).unwrap();
        plan.arm(at);
        let put = store.blobs().put(b"some bytes");
        if !plan.hit() {
            assert!(put.is_ok());
            break;
        }
        if let Err(e) = put {
            assert_eq!(
                (e.slug(), e.code()),
                ("storage-short", Code::Unavailable),
                "call {at}: {e}"
            );
            refused += 1;
        }
        assert_eq!(store.poisoned(), None, "call {at}");
        let blob = store.blobs().put(b"some bytes").unwrap();
        store
            .commit(Batch::new().put(&FileRec { raw: Some(blob), ..file(1, 1, None, 1) }))
            .unwrap();
    }
    assert!(refused >= 4, "{refused}");
}

#[test]
fn the_nth_write_is_short_or_interrupted() {
    sweep_faults(Fault::ShortWrite);
    sweep_faults(Fault::Errno(EINTR));
}

#[test]
fn the_disk_turns_read_only_at_the_nth_call() {
    sweep_faults(Fault::ErrnoFromThere(EROFS));
}

#[test]
fn first_boot_survives_a_failure_at_every_call() {
    // Between those numbers the calls only make folders that are all alike.
    for at in (1..20).chain(500..) {
        let dir = scratch();
        let plan = FaultPlan::new(at, Fault::Errno(EIO));
        let made = try_open(dir.path(), options().with_faults(&plan));
        assert_eq!(made.is_err(), plan.hit(), "call {at}");
        drop(made);
        let store = open(dir.path());
        store.commit(Batch::new().put(&file(1, 1, None, 1))).unwrap();
        assert_sound(&store);
        if !plan.hit() {
            break;
        }
    }
}

#[test]
fn after_a_failed_sync_nothing_is_acknowledged() {
    let dir = scratch();
    let plan = FaultPlan::new(0, Fault::Errno(EIO));
    let store = try_open(dir.path(), options().with_faults(&plan)).unwrap();
    store.commit(Batch::new().put(&file(1, 1, None, 1))).unwrap();
    // Calls of a commit: the look at the free space, then the sync.
    plan.arm(2);
    let e = store.commit(Batch::new().put(&file(2, 1, None, 2))).unwrap_err();
    assert_eq!(e.slug(), "storage-stopped");
    assert!(plan.hit());
    let syncs = plan.syncs();
    for i in 3..20 {
        let e = store.commit(Batch::new().put(&file(i, 1, None, 3))).unwrap_err();
        assert_eq!(e.slug(), "storage-stopped");
        assert_eq!(store.blobs().put(b"x").unwrap_err().slug(), "storage-stopped");
    }
    assert_eq!(plan.syncs(), syncs, "a failed sync is never tried again");
    assert!(store.poisoned().unwrap().contains("sync"));
    // Reading goes on, and the next start has all that was acknowledged.
    assert!(store.get::<FileRec>(&file(1, 1, None, 1).file_id).unwrap().is_some());
    drop(store);
    let store = open(dir.path());
    assert!(store.get::<FileRec>(&file(1, 1, None, 1).file_id).unwrap().is_some());
    assert!(store.get::<FileRec>(&file(9, 1, None, 1).file_id).unwrap().is_none());
    assert_sound(&store);
}

#[test]
fn every_waiter_of_a_group_shares_its_fate() {
    let dir = scratch();
    let plan = FaultPlan::new(0, Fault::ErrnoFromThere(EIO));
    let store = try_open(dir.path(), options().with_faults(&plan)).unwrap();
    let held = std::sync::Arc::new(std::sync::Barrier::new(2));
    let gate = std::sync::Arc::clone(&held);
    let blocker = {
        let store = store.clone();
        std::thread::spawn(move || {
            store.exclusively(move |_| {
                gate.wait();
                gate.wait();
                Ok(())
            })
        })
    };
    held.wait();
    let commits: Vec<_> =
        (0..50).map(|i| store.submit(Batch::new().put(&file(i, 1, None, 1)))).collect();
    // The looks at the free space pass, the one sync does not.
    plan.arm(51);
    held.wait();
    blocker.join().unwrap().unwrap();
    for c in commits {
        assert_eq!(c.wait().unwrap_err().slug(), "storage-stopped");
    }
}

#[test]
fn a_full_queue_is_refused_at_once_and_the_queued_ones_finish() {
    let dir = scratch();
    let store = open(dir.path());
    let gate = std::sync::Arc::new(std::sync::Barrier::new(2));
    let inside = std::sync::Arc::clone(&gate);
    let blocker = {
        let store = store.clone();
        std::thread::spawn(move || {
            store.exclusively(move |_| {
                inside.wait();
                inside.wait();
                Ok(())
            })
        })
    };
    gate.wait();
    let max = graphlume_types::limits::COMMITS_WAITING_MAX as u128;
    let queued: Vec<_> =
        (0..max).map(|i| store.submit(Batch::new().put(&file(i, 1, None, 1)))).collect();
    let e = store.submit(Batch::new().put(&file(max, 1, None, 1))).wait().unwrap_err();
    assert_eq!(e.slug(), "storage-busy");
    gate.wait();
    blocker.join().unwrap().unwrap();
    for c in queued {
        c.wait().unwrap();
    }
    assert_eq!(store.count::<FileRec>(&[Scope::All]).unwrap(), max as u64);
    assert!(store.stats().syncs < 20, "{:?}", store.stats());
}
