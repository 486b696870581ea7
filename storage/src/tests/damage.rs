//! Wrong bytes are never served as right ones.

use graphlume_types::Coded as _;
use graphlume_types::hash::h64;

use super::*;

#[test]
fn a_damaged_record_is_refused_and_the_others_are_served() {
    let dir = scratch();
    let store = open(dir.path());
    for i in 0..20 {
        store.commit(Batch::new().put(&file(i, 1, None, i as i64))).unwrap();
    }
    let bad = file(7, 1, None, 7).file_id;
    let tree_key = crate::codec::tree_key(Kind::File, bad.as_bytes());
    let records = &store.core().meta.records;
    let mut value = records.get(&tree_key).unwrap().unwrap().to_vec();
    *value.last_mut().unwrap() ^= 4;
    records.insert(tree_key, value).unwrap();
    let e = store.get::<FileRec>(&bad).unwrap_err();
    assert!(e.is_corrupt() && e.to_string().contains("file record"), "{e}");
    let page = store.list::<FileRec>(&[Scope::All], 0, 50).unwrap();
    assert_eq!((page.items.len(), page.damaged, page.total), (19, 1, 20));
    assert!(store.stats().corrupt >= 2);
    // It is neither replaced nor deleted on a guess.
    assert!(store.commit(Batch::new().put(&file(7, 1, None, 7))).unwrap_err().is_corrupt());
    assert!(store.commit(Batch::new().delete::<FileRec>(&bad)).unwrap_err().is_corrupt());
    let problems = store.fsck(false).unwrap().problems;
    assert!(problems.iter().any(|p| p.detail.contains("checksum")), "{problems:?}");
    store.commit(Batch::new().put(&file(8, 1, None, 8))).unwrap();
    let export = store.export().unwrap();
    assert_eq!((export.records, export.damaged.len()), (19, 1));
    // Only on the word of the operator, who names it.
    let sound = crate::codec::describe(&crate::codec::tree_key(
        Kind::File,
        file(8, 1, None, 8).file_id.as_bytes(),
    ));
    for other in [sound.as_str(), "file record"] {
        assert_eq!(store.delete_damaged(other).unwrap_err().slug(), "not-damaged");
    }
    store.delete_damaged(&problems[0].what).unwrap();
    drop(store);
    let store = open(dir.path());
    assert_sound(&store);
    let page = store.list::<FileRec>(&[Scope::All], 0, 50).unwrap();
    assert_eq!((page.items.len(), page.damaged, page.total), (19, 0, 19));
    store.commit(Batch::new().put(&file(7, 1, None, 7))).unwrap();
    assert_sound(&store);
}

#[test]
fn a_changed_bit_or_length_of_a_blob_is_seen() {
    let dir = scratch();
    let store = open(dir.path());
    let content: Vec<u8> = (0..5_000u64).map(|i| h64(1, 2, i) as u8).collect();
    let blob = store.blobs().put(&content).unwrap();
    let rec = FileRec { raw: Some(blob), ..file(1, 1, None, 1) };
    store.commit(Batch::new().put(&rec)).unwrap();
    let path = store.blobs().path(&blob);
    for trial in 0..300 {
        let at = (h64(3, 4, trial) % content.len() as u64) as usize;
        let mut bad = content.clone();
        match trial % 3 {
            0 => bad[at] ^= 1 << (trial % 8),
            1 => bad.truncate(at),
            _ => bad[at..].fill(0),
        }
        std::fs::write(&path, &bad).unwrap();
        let same = bad == content;
        assert_eq!(store.blobs().read(&blob).is_err_and(|e| e.is_corrupt()), !same, "{trial}");
        assert_eq!(store.blobs().open_verified(&blob).is_err(), !same, "{trial}");
    }
    assert_eq!(store.fsck(true).unwrap().problems.len(), 1);
    // Writing the same content again heals it.
    assert_eq!(store.blobs().put(&content).unwrap(), blob);
    assert_eq!(store.blobs().read(&blob).unwrap(), content);
    assert_sound(&store);
}

#[test]
fn a_torn_derived_blob_counts_as_absent_and_can_be_written_again() {
    let dir = scratch();
    let store = open(dir.path());
    let write = || {
        let mut w = store.blobs().derived().unwrap();
        std::io::Write::write_all(&mut w, b"a table").unwrap();
        w.finish().unwrap()
    };
    let blob = write();
    let rec = FileRec { tables: vec![blob], ..file(1, 1, None, 1) };
    store.commit(Batch::new().put(&rec)).unwrap();
    std::fs::write(store.blobs().path(&blob), b"a tab").unwrap();
    let absent = |r: Result<Vec<u8>, StoreError>| matches!(r, Err(StoreError::BlobMissing { .. }));
    assert!(absent(store.blobs().read(&blob)));
    assert!(absent(store.blobs().read(&blob)));
    let report = store.fsck(true).unwrap();
    assert_eq!((report.problems.len(), report.derived_missing), (0, 1));
    assert_eq!(write(), blob);
    assert_eq!(store.blobs().read(&blob).unwrap(), b"a table");
}

/// One flipped bit anywhere in the engine's file: every record reads as written or is refused, and the
/// store opens or says that it is damaged.
#[test]
fn a_flipped_bit_in_the_engine_file_never_gives_a_wrong_record() {
    let dir = scratch();
    let recs: Vec<_> = (0..200).map(|i| file(i, 1, None, i as i64)).collect();
    {
        let store = open(dir.path());
        store.commit(recs.iter().fold(Batch::new(), |b, r| b.put(r))).unwrap();
    }
    let db = dir.path().join("store").join("db");
    let good = std::fs::read(&db).unwrap();
    let used: Vec<usize> = (0..good.len()).filter(|i| good[*i] != 0).collect();
    let (mut refused, mut clean, mut unopened, mut truncated) = (0, 0, 0, 0);
    for trial in 0..40 {
        let mut bad = good.clone();
        bad[used[(h64(5, 6, trial) % used.len() as u64) as usize]] ^= 1 << (trial % 8);
        let copy = scratch();
        let to = copy.path().join("store");
        std::fs::create_dir(&to).unwrap();
        std::fs::copy(dir.path().join("store").join("conf"), to.join("conf")).unwrap();
        std::fs::write(to.join("db"), &bad).unwrap();
        std::fs::copy(dir.path().join("mark"), copy.path().join("mark")).unwrap();
        let store = match try_open(copy.path(), options()) {
            Ok(s) => s,
            Err(e) => {
                assert!(e.is_corrupt(), "{e}");
                unopened += 1;
                continue;
            }
        };
        let told = matches!(store.opened(), Opened::Truncated { .. });
        truncated += usize::from(told);
        let mut damaged = false;
        for rec in &recs {
            match store.get::<FileRec>(&rec.file_id) {
                Ok(Some(r)) => assert_eq!(r, *rec, "trial {trial}: a wrong record"),
                Ok(None) => {
                    assert!(told, "trial {trial}: a record is silently gone");
                    damaged = true;
                }
                Err(_) => damaged = true,
            }
        }
        if damaged { refused += 1 } else { clean += 1 }
    }
    println!(
        "flipped bits: {clean} without effect, {refused} refused ({truncated} at start), \
         {unopened} not opened"
    );
}

/// Puts the engine's file of an earlier moment back: valid as such, which is what a cut tail looks like.
fn turn_back(dir: &Path, save: &Path) {
    std::fs::rename(save, dir.join("store").join("db")).unwrap();
    for entry in std::fs::read_dir(dir.join("store")).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("snap.") {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
}

#[test]
fn an_export_that_knows_more_than_a_cut_log_is_preferred() {
    let dir = scratch();
    let save = dir.path().join("db.early");
    open(dir.path()).commit(Batch::new().put(&file(1, 1, None, 1))).unwrap();
    std::fs::copy(dir.path().join("store").join("db"), &save).unwrap();
    let store = open(dir.path());
    store.commit(Batch::new().put(&file(2, 1, None, 1))).unwrap();
    store.export().unwrap();
    store.commit(Batch::new().put(&file(3, 1, None, 1))).unwrap();
    drop(store);
    turn_back(dir.path(), &save);
    let store = open(dir.path());
    assert!(matches!(store.opened(), Opened::Rebuilt { records: 2, .. }), "{:?}", store.opened());
    assert_eq!(store.count::<FileRec>(&[Scope::All]).unwrap(), 2);
    store.commit(Batch::new().put(&file(4, 1, None, 1))).unwrap();
    drop(store);
    assert_eq!(*open(dir.path()).opened(), Opened::Existing);
}

#[test]
fn commits_lost_at_the_end_of_the_log_are_noticed_and_their_blobs_kept() {
    let dir = scratch();
    let save = dir.path().join("db.early");
    let db = dir.path().join("store").join("db");
    let blob = {
        let store = open(dir.path());
        store.commit(Batch::new().put(&file(1, 1, None, 1))).unwrap();
        drop(store);
        std::fs::copy(&db, &save).unwrap();
        let store = open(dir.path());
        let blob = store.blobs().put(b"late").unwrap();
        for i in 2..5 {
            let rec = FileRec { raw: Some(blob), ..file(i, 1, None, 1) };
            store.commit(Batch::new().put(&rec)).unwrap();
        }
        blob
    };
    turn_back(dir.path(), &save);
    let store = open(dir.path());
    let Opened::Truncated { groups_lost, note } = store.opened().clone() else {
        panic!("{:?}", store.opened())
    };
    assert_eq!(groups_lost, 3);
    assert!(store.sweep(std::time::Duration::ZERO).unwrap().held_back);
    let named = store.damage().unwrap();
    assert_eq!(named, [note.file_name().unwrap().to_string_lossy()]);
    assert!(store.blobs().exists(&blob));
    store.commit(Batch::new().put(&file(9, 1, None, 1))).unwrap();
    drop(store);
    let store = open(dir.path());
    assert_eq!(*store.opened(), Opened::Existing, "it is told once");
    std::fs::remove_file(note).unwrap();
    assert_eq!(store.damage().unwrap(), named, "what was lost stays known");
    assert_eq!(store.sweep(std::time::Duration::ZERO).unwrap().removed, 1);
}

#[test]
fn a_damaged_conf_of_the_engine_costs_nothing() {
    let dir = scratch();
    open(dir.path()).commit(Batch::new().put(&file(1, 1, None, 1))).unwrap();
    let store = open(dir.path());
    store.export().unwrap();
    store.commit(Batch::new().put(&file(2, 1, None, 1))).unwrap();
    drop(store);
    let conf = dir.path().join("store").join("conf");
    for bad in [vec![0; 40], vec![], std::fs::read(&conf).unwrap().split_off(3)] {
        std::fs::write(&conf, bad).unwrap();
        let store = open(dir.path());
        assert_eq!(*store.opened(), Opened::Existing);
        assert_eq!(store.count::<FileRec>(&[Scope::All]).unwrap(), 2, "no export was needed");
    }
    // What a crash left of the copy is in nobody's way.
    std::fs::write(dir.path().join("store.conf.new"), b"half").unwrap();
    std::fs::remove_file(&conf).unwrap();
    assert_eq!(open(dir.path()).count::<FileRec>(&[Scope::All]).unwrap(), 2);
}

#[test]
fn damage_stays_named_until_its_traces_are_removed() {
    let dir = scratch();
    let store = open(dir.path());
    assert_eq!(store.damage().unwrap(), Vec::<String>::new());
    std::fs::write(dir.path().join("mark.lost-2"), b"").unwrap();
    std::fs::create_dir(dir.path().join("store.damaged-1")).unwrap();
    assert_eq!(store.damage().unwrap(), ["mark.lost-2", "store.damaged-1"]);
    let disk = store.disk().unwrap();
    assert!(disk.total_bytes >= disk.free_bytes && disk.free_bytes > 0, "{disk:?}");
}
