//! Indexes of records, which answer without reading them: heads, holders of files, bytes of accounts.

use std::ops::ControlFlow;

use graphlume_types::limits::RECORD_COST_BYTES;

use super::*;
use crate::folder::store_dir;
use crate::meta::Meta;

fn dataset(id: u128, author: u64, files: &[FileRef], mode: Option<PrivacyMode>) -> DatasetRec {
    let table = |f: &FileRef| {
        json!({
            "schema": {"num_cols": 1, "num_rows": 1},
            "table": BlobRef { hash: BlobHash::of(&blake3::Hasher::new()), len: 1, class: BlobClass::Derived },
            "table_index": f.table.unwrap_or(0), "file": f, "uploaded_at": id as i64,
        })
    };
    let privacy = mode.map(|mode| {
        json!({"mode": mode, "mode_action": "10",
               "invited_users": [{"email": "a@x", "action": "10"}, {"email": "a@x", "action": "20"}]})
    });
    let rec = json!({
        "dataset_id": DatasetId::from_bytes(id.to_be_bytes()), "name": "d", "author": author,
        "org_name": "acme", "created_at": id as i64, "updated_at": 0, "edge_files": files,
        "edge_tables": files.iter().map(table).collect::<Vec<_>>(), "node_encodings": {},
        "edge_encodings": {}, "metadata": {}, "privacy": privacy,
    });
    serde_json::from_value(rec).unwrap()
}

/// A dataset, how it is shared, and the tables of the file that it shows with their versions.
type Holding = (u128, Option<PrivacyMode>, Vec<(u32, i64)>);

fn of(store: &Store, file: &FileRef, author: u64) -> Vec<Holding> {
    let holders = store.holders(&file.file_id, UserId(author)).map(Result::unwrap);
    holders.map(|h| (u128::from_be_bytes(*h.dataset.as_bytes()), h.mode, h.tables)).collect()
}

#[test]
fn holders_of_a_file_are_known_without_a_record_private_ones_first() {
    let dir = scratch();
    let store = open(dir.path());
    let at = |id: u128, table| FileRef { file_id: FileId::from_bytes(id.to_be_bytes()), table };
    let put = |rec: DatasetRec| store.commit(Batch::new().put(&rec)).unwrap();
    put(dataset(1, 7, &[at(1, None), at(1, Some(2)), at(2, None)], Some(PrivacyMode::Public)));
    put(dataset(2, 7, &[at(1, None)], None));
    put(dataset(3, 8, &[at(1, None)], Some(PrivacyMode::Private)));
    assert_eq!(
        of(&store, &at(1, None), 7),
        [(2, None, vec![(0, 2)]), (1, Some(PrivacyMode::Public), vec![(0, 1), (2, 1)])]
    );
    let is_private =
        |author| store.is_held_privately(&at(1, None).file_id, UserId(author)).unwrap();
    assert!(!is_private(7) && is_private(8), "only of that account");
    put(dataset(1, 7, &[at(1, None)], Some(PrivacyMode::Private)));
    assert!(is_private(7));
    let modes: Vec<_> = of(&store, &at(1, None), 7).into_iter().map(|h| h.1).collect();
    assert_eq!(modes, [Some(PrivacyMode::Private), None]);
    assert!(of(&store, &at(2, None), 7).is_empty());
    let head =
        store.head::<DatasetRec>(&DatasetId::from_bytes(1u128.to_be_bytes())).unwrap().unwrap();
    assert_eq!((head.author, head.mode), (UserId(7), Some(PrivacyMode::Private)));
    assert_eq!((head.invited("a@x"), head.invited("b@x")), (Some("20"), None));
    let mut seen = Vec::new();
    store
        .walk::<DatasetRec, StoreError>(&[Scope::Org("acme".into())], |entry| {
            let head = entry.head()?.unwrap();
            let json: DatasetRec = serde_json::from_slice(&entry.json()?.unwrap()).unwrap();
            assert_eq!(json.head(), head);
            seen.push(u128::from_be_bytes(*head.dataset_id.as_bytes()));
            Ok(if seen.len() < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })
        .unwrap();
    assert_eq!(seen, [3, 2], "newest first, and no further than wanted");
    assert_sound(&store);
}

#[test]
fn a_blob_counts_once_for_each_account_that_needs_it() {
    let dir = scratch();
    let store = open(dir.path());
    let blob = store.blobs().put(&[1; 5_000]).unwrap();
    let rec = |id, author| FileRec { raw: Some(blob), ..file(id, author, None, 1) };
    let size = |r: &FileRec| serde_json::to_vec(r).unwrap().len() as u64 + RECORD_COST_BYTES;
    let held = |user| store.held_bytes(UserId(user)).unwrap();
    let own = size(&rec(1, 1));
    store.commit(Batch::new().put(&rec(1, 1)).put(&rec(2, 1)).put(&rec(3, 2))).unwrap();
    assert_eq!((held(1), held(2), held(3)), (2 * own + 5_000, own + 5_000, 0));
    store.commit(Batch::new().put(&rec(2, 2))).unwrap();
    assert_eq!((held(1), held(2)), (own + 5_000, 2 * own + 5_000), "it changed hands");
    store.commit(Batch::new().delete::<FileRec>(&rec(1, 1).file_id)).unwrap();
    assert_eq!(held(1), 0);
    assert_sound(&store);
}

#[test]
fn a_store_of_an_earlier_version_gets_its_indexes_when_it_is_opened() {
    let dir = scratch();
    let store = open(dir.path());
    let f = FileRef { file_id: FileId::from_bytes([9; 16]), table: None };
    store.commit(Batch::new().put(&dataset(1, 7, &[f], Some(PrivacyMode::Private)))).unwrap();
    let bytes = store.held_bytes(UserId(7)).unwrap();
    drop(store);
    let meta = Meta::open(&store_dir(dir.path())).unwrap();
    let new: Vec<_> = meta.index.iter().keys().map(Result::unwrap).collect();
    for key in new.iter().filter(|k| matches!(k[0], b'h' | b'r' | b'q' | b'w')) {
        meta.index.remove(key).unwrap();
    }
    meta.index.insert(b"v", &1u32.to_be_bytes()).unwrap();
    meta.sync(&crate::vfs::OsVfs).unwrap();
    drop(meta);
    for _ in 0..2 {
        let store = open(dir.path());
        assert_eq!(*store.opened(), Opened::Existing);
        assert!(store.is_held_privately(&f.file_id, UserId(7)).unwrap());
        assert_eq!(store.held_bytes(UserId(7)).unwrap(), bytes);
        assert_sound(&store);
    }
}
