//! Steps of a session that its record does not have, and the blobs of records that are replaced.

use std::time::Duration;

use graphlume_types::SessionId;
use serde_json::json;

use super::*;

fn session(name: &str, entries: usize) -> SessionRec {
    let text = "x".repeat(1_000);
    let document: serde_json::Map<_, _> =
        (0..entries).map(|k| (format!("filters/{k}"), json!(text))).collect();
    serde_json::from_value(json!({
        "session_id": name, "revision_id": "r", "dataset_id": DatasetId::from_bytes([2; 16]),
        "owner": 1, "created_at": 4, "document": document,
    }))
    .unwrap()
}

fn step(name: &str, number: u64) -> StepRec {
    serde_json::from_value(json!({
        "session_id": name, "number": number, "owner": 1, "created_at": 5,
        "entries": {"filters/f": {"on": number}, "filters/gone": null},
    }))
    .unwrap()
}

fn id(name: &str) -> SessionId {
    name.parse().unwrap()
}

#[test]
fn steps_are_read_in_their_order_and_go_with_their_session_alone() {
    let dir = scratch();
    {
        let store = open(dir.path());
        let mut batch = Batch::new().put(&session("a", 1)).put(&session("ab", 1));
        for number in [300, 2, 1] {
            batch = batch.put(&step("a", number)).put(&step("ab", number + 1));
        }
        store.commit(batch).unwrap();
    }
    let store = open(dir.path());
    let numbers = |name: &str| -> Vec<u64> {
        store.steps_of(&id(name)).unwrap().iter().map(|s| s.number).collect()
    };
    assert_eq!((numbers("a"), numbers("ab")), (vec![1, 2, 300], vec![2, 3, 301]));
    assert_eq!(store.steps_of(&id("a")).unwrap()[1], step("a", 2));
    assert!(store.fsck(true).unwrap().problems.is_empty());
    let key = StepKey { session: id("ab"), number: 3 };
    store.commit(Batch::new().delete::<StepRec>(&key)).unwrap();
    // A session of the same name that begins anew has none of the steps before.
    let again = Batch::new().delete::<SessionRec>(&id("a")).put(&session("a", 2));
    store.commit(again).unwrap();
    assert_eq!((numbers("a"), numbers("ab")), (vec![], vec![2, 301]));
    assert!(store.get::<SessionRec>(&id("a")).unwrap().is_some());
    assert!(store.fsck(true).unwrap().problems.is_empty());
}

#[test]
fn sessions_and_steps_are_what_their_owner_holds() {
    let dir = scratch();
    let store = open(dir.path());
    let held = || store.held_bytes(UserId(1)).unwrap();
    store.commit(Batch::new().put(&session("a", 30))).unwrap();
    let before = held();
    assert!(before > 30_000, "{before}");
    store.commit(Batch::new().put(&step("a", 1))).unwrap();
    assert!(held() > before);
    store.commit(Batch::new().delete::<SessionRec>(&id("a"))).unwrap();
    assert_eq!(held(), 0);
}

#[test]
fn a_store_in_which_sessions_did_not_count_counts_them_when_it_is_opened() {
    let dir = scratch();
    {
        let store = open(dir.path());
        store.commit(Batch::new().put(&session("a", 30))).unwrap();
        let index = &store.core().meta.index;
        index.remove(crate::index::held_key(UserId(1))).unwrap();
        index.insert(crate::index::FORMAT_KEY, &2_u32.to_be_bytes()).unwrap();
        index.flush().unwrap();
        assert_eq!(store.held_bytes(UserId(1)).unwrap(), 0);
    }
    let store = open(dir.path());
    assert!(store.held_bytes(UserId(1)).unwrap() > 30_000);
    assert!(store.fsck(true).unwrap().problems.is_empty());
}

#[test]
fn the_blob_of_a_record_goes_with_the_commit_that_replaces_it() {
    let dir = scratch();
    let store = open(dir.path());
    let blobs = || {
        let mut bytes = Vec::new();
        store
            .blobs()
            .walk(&mut |blob, _| {
                bytes.push(blob.len);
                Ok(())
            })
            .unwrap();
        // Removed after the commit was answered: a commit later it is done.
        bytes
    };
    let settle = || store.commit(Batch::new().put(&session("other", 0))).unwrap();
    for entries in 20..60 {
        store.commit(Batch::new().put(&session("a", entries))).unwrap();
    }
    settle();
    assert_eq!(blobs().len(), 1, "{:?}", blobs());
    // Two records with one blob: it stays as long as one has it.
    let large = FileRec { description: "d".repeat(20_000), ..file(1, 1, None, 1) };
    store.commit(Batch::new().put(&large)).unwrap();
    store.commit(Batch::new().put(&large)).unwrap();
    settle();
    assert_eq!(blobs().len(), 2);
    assert_eq!(store.get::<FileRec>(&large.file_id).unwrap(), Some(large.clone()));
    store.commit(Batch::new().put(&session("a", 0)).delete::<FileRec>(&large.file_id)).unwrap();
    settle();
    assert!(blobs().is_empty());
    assert_eq!(store.sweep(Duration::ZERO).unwrap().removed, 0);
}

#[test]
fn who_reads_a_large_record_while_it_is_replaced_gets_one_or_the_other() {
    let dir = scratch();
    let store = open(dir.path());
    store.commit(Batch::new().put(&session("a", 20))).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|s| {
        s.spawn(|| {
            for entries in 0..200 {
                store.commit(Batch::new().put(&session("a", 20 + entries % 7))).unwrap();
            }
            done.store(true, std::sync::atomic::Ordering::SeqCst);
        });
        let mut reads = 0;
        while !done.load(std::sync::atomic::Ordering::SeqCst) {
            let rec = store.get::<SessionRec>(&id("a")).unwrap().unwrap();
            assert!((20..27).contains(&rec.document.len()));
            reads += 1;
        }
        assert!(reads > 0);
    });
    assert_eq!(store.stats().corrupt, 0);
}
