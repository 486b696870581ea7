//! Records, batches, listings.

use std::os::unix::fs::PermissionsExt as _;

use graphlume_types::{Coded as _, limits};
use serde_json::json;

use super::*;

#[test]
fn records_of_every_kind_survive_a_reopen() {
    let dir = scratch();
    let session: SessionRec = serde_json::from_value(json!({
        "session_id": "cycle", "revision_id": "r1",
        "dataset_id": DatasetId::from_bytes([2; 16]), "created_at": 4, "layout": {"gravity": 1.5},
    }))
    .unwrap();
    let org = OrgRec {
        slug: "acme".into(),
        name: "Acme".into(),
        members: vec![Member { user: UserId(1), admin: true }],
        created_at: 2,
    };
    let setting = SettingRec { name: "high-water".into(), value: json!(17.25) };
    let link: LinkRec = serde_json::from_value(json!({
        "token_sha256": "0a".repeat(32), "guest": 1, "username": "ada",
        "dataset_id": DatasetId::from_bytes([2; 16]), "minted_by": 1, "minted_at": 5, "epoch": 0,
    }))
    .unwrap();
    let login: LoginRec = serde_json::from_value(json!({
        "secret_sha256": "0b".repeat(32), "user": 1, "dataset_id": DatasetId::from_bytes([2; 16]),
        "epoch": 0, "created_at": 6, "expires_at": 7,
    }))
    .unwrap();
    {
        let store = open(dir.path());
        assert_eq!(*store.opened(), Opened::Fresh);
        let batch = Batch::new()
            .put(&user(1, "ada", "Ada@Example.org"))
            .put(&org)
            .put(&key("K1", 1))
            .put(&file(1, 1, None, 10))
            .put(&dataset(2, 1, Some("acme"), 11))
            .put(&session)
            .put(&setting)
            .put(&link)
            .put(&login);
        store.commit(batch).unwrap();
    }
    let store = open(dir.path());
    assert_eq!(*store.opened(), Opened::Existing);
    assert_eq!(store.get::<OrgRec>(&"acme".into()).unwrap(), Some(org));
    assert_eq!(store.get::<SettingRec>(&"high-water".into()).unwrap(), Some(setting));
    assert_eq!(store.get::<SessionRec>(&session.session_id).unwrap(), Some(session));
    let d = dataset(2, 1, Some("acme"), 11);
    assert_eq!(store.get::<DatasetRec>(&d.dataset_id).unwrap(), Some(d));
    let k = store.get::<KeyRec>(&KeyId("K1".into())).unwrap().unwrap();
    assert_eq!(k.secret_sha256.as_bytes(), &[9; 32]);
    let of_ada = [Scope::Owner(UserId(1))];
    let back = &store.list::<LinkRec>(&of_ada, 0, 9).unwrap().items[0];
    assert_eq!((back.minted_at, back.uses), (5, 0));
    assert_eq!(store.get::<LoginRec>(&login.secret_sha256).unwrap().unwrap().expires_at, 7);
    let ada: UserRec = store.find(record::EMAIL, "ada@example.org").unwrap().unwrap();
    assert_eq!(ada.username, "ada");
    assert_sound(&store);
}

#[test]
fn a_batch_with_one_unmet_requirement_changes_nothing() {
    let dir = scratch();
    let store = open(dir.path());
    let (a, b) = (file(1, 1, None, 1), file(2, 1, None, 2));
    store.commit(Batch::new().insert(&a)).unwrap();
    let e = store.commit(Batch::new().put(&b).insert(&a)).unwrap_err();
    assert_eq!(e.slug(), "already-exists");
    assert!(store.get::<FileRec>(&b.file_id).unwrap().is_none());
    assert_eq!(store.count::<FileRec>(&[Scope::All]).unwrap(), 1);

    let (read, tag) = store.get_tagged::<FileRec>(&a.file_id).unwrap().unwrap();
    let newer = FileRec { name: "newer".into(), ..read.clone() };
    store.commit(Batch::new().replace(&newer, tag)).unwrap();
    let e = store.commit(Batch::new().put(&b).replace(&read, tag)).unwrap_err();
    assert_eq!(e.slug(), "changed-meanwhile");
    let e = store.commit(Batch::new().put(&b).delete_if::<FileRec>(&a.file_id, tag)).unwrap_err();
    assert_eq!(e.slug(), "changed-meanwhile");
    let e = store.commit(Batch::new().put(&b).require::<FileRec>(&a.file_id, Some(tag)));
    assert_eq!(e.unwrap_err().slug(), "changed-meanwhile");
    assert!(store.get::<FileRec>(&b.file_id).unwrap().is_none());
    assert_eq!(store.get::<FileRec>(&a.file_id).unwrap().unwrap().name, "newer");
    assert_sound(&store);
}

#[test]
fn a_single_use_state_is_consumed_once_by_racing_threads() {
    let dir = scratch();
    let store = open(dir.path());
    let unused = SettingRec { name: "link".into(), value: json!("unused") };
    store.commit(Batch::new().put(&unused)).unwrap();
    let (_, tag) = store.get_tagged::<SettingRec>(&"link".into()).unwrap().unwrap();
    let wins: usize = std::thread::scope(|s| {
        let race = |i: usize| {
            let used = SettingRec { name: "link".into(), value: json!(i) };
            usize::from(store.commit(Batch::new().replace(&used, tag)).is_ok())
        };
        let threads: Vec<_> = (0..32).map(|i| s.spawn(move || race(i))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    assert_eq!(wins, 1);
}

#[test]
fn racing_updates_lose_no_change() {
    let dir = scratch();
    let store = open(dir.path());
    store.commit(Batch::new().put(&SettingRec { name: "n".into(), value: json!(0) })).unwrap();
    std::thread::scope(|s| {
        for _ in 0..8 {
            s.spawn(|| {
                for _ in 0..5 {
                    store
                        .update::<SettingRec>(&"n".into(), |r| {
                            r.value = json!(r.value.as_u64().unwrap() + 1);
                        })
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(store.get::<SettingRec>(&"n".into()).unwrap().unwrap().value, json!(40));
}

#[test]
fn names_of_accounts_are_unique_and_free_again_after_a_rename() {
    let dir = scratch();
    let store = open(dir.path());
    assert_eq!(store.next_user_id().unwrap(), UserId(1));
    store.commit(Batch::new().put(&user(1, "ada", "a@x"))).unwrap();
    let e = store.commit(Batch::new().put(&user(2, "ada", ""))).unwrap_err();
    assert_eq!((e.slug(), e.field()), ("already-taken", Some("username")));
    let e = store.commit(Batch::new().put(&user(2, "bob", "A@X"))).unwrap_err();
    assert_eq!(e.field(), Some("email"));
    store.commit(Batch::new().put(&user(1, "ada2", "a@x")).put(&user(2, "ada", ""))).unwrap();
    assert_eq!(store.find::<UserRec>("username", "ada").unwrap().unwrap().id, UserId(2));
    store.commit(Batch::new().delete::<UserRec>(&UserId(2))).unwrap();
    assert!(store.find::<UserRec>("username", "ada").unwrap().is_none());
    // A deleted account's number is not given to anybody else.
    assert_eq!(store.next_user_id().unwrap(), UserId(3));
    assert_sound(&store);
}

#[test]
fn a_listing_ends_before_its_records_are_too_large_together() {
    let dir = scratch();
    let store = open(dir.path());
    for id in 1..=10 {
        let rec = FileRec { description: "x".repeat(10_000), ..file(id, 1, None, -(id as i64)) };
        store.commit(Batch::new().put(&rec)).unwrap();
    }
    let at = |offset, limit, bytes_max| {
        let page = store.list_within::<FileRec>(&[Scope::All], offset, limit, bytes_max).unwrap();
        let ids: Vec<u8> = page.items.iter().map(|f| f.file_id.as_bytes()[15]).collect();
        (ids, page.walked)
    };
    assert_eq!(at(0, 50, 35_000), (vec![1, 2, 3], 3));
    assert_eq!(at(3, 50, 35_000), (vec![4, 5, 6], 3));
    assert_eq!(at(3, 2, 35_000), (vec![4, 5], 2));
    assert_eq!(at(9, 50, 35_000), (vec![10], 1));
    assert_eq!(at(10, 50, 35_000), (vec![], 0));
    // One that is too large by itself is there all the same, or nobody came past it.
    assert_eq!(at(4, 50, 1), (vec![5], 1));
}

#[test]
fn a_listing_is_the_union_of_its_scopes_newest_first() {
    let dir = scratch();
    let store = open(dir.path());
    // Mine, mine in the organization, somebody's in the organization, somebody's own.
    let all = [
        file(1, 1, None, 30),
        file(2, 1, Some("acme"), 10),
        file(3, 2, Some("acme"), 20),
        file(4, 2, None, 40),
        file(5, 2, Some("acme-2"), 50),
    ];
    for f in &all {
        store.commit(Batch::new().put(f)).unwrap();
    }
    let ids = |scopes: &[Scope], offset, limit| {
        let page = store.list::<FileRec>(scopes, offset, limit).unwrap();
        let ids: Vec<u8> = page.items.iter().map(|f| f.file_id.as_bytes()[15]).collect();
        (ids, page.total)
    };
    let me = Scope::Owner(UserId(1));
    let acme = Scope::Org("acme".into());
    assert_eq!(ids(&[me.clone(), acme.clone()], 0, 50), (vec![1, 3, 2], 3));
    assert_eq!(ids(&[me.clone(), acme.clone()], 1, 1), (vec![3], 3));
    assert_eq!(ids(&[me.clone(), me.clone()], 0, 50), (vec![1, 2], 2));
    assert_eq!(ids(&[Scope::All, acme.clone()], 0, 50), (vec![5, 4, 1, 3, 2], 5));
    assert_eq!(ids(std::slice::from_ref(&me), u64::MAX, 50), (vec![], 2));
    assert_eq!(ids(std::slice::from_ref(&me), 1, u64::MAX), (vec![2], 2));
    assert_eq!(ids(&[], 0, 50), (vec![], 0));
    // Moving a record to another organization moves it in the listings.
    store.commit(Batch::new().put(&file(3, 2, Some("acme-2"), 20))).unwrap();
    assert_eq!(ids(&[me, acme], 0, 50), (vec![1, 2], 2));
    assert_sound(&store);
}

#[test]
fn a_large_record_is_kept_in_a_blob_and_its_limit_is_exact() {
    let dir = scratch();
    let store = open(dir.path());
    let with = |bytes: usize| {
        let mut r = SettingRec { name: "large".into(), value: json!("") };
        let base = serde_json::to_vec(&r).unwrap().len();
        r.value = json!("x".repeat(bytes - base));
        r
    };
    for bytes in [limits::RECORD_INLINE_BYTES_MAX, limits::RECORD_INLINE_BYTES_MAX + 1, 700 << 10] {
        let rec = with(bytes);
        store.commit(Batch::new().put(&rec)).unwrap();
        assert_eq!(store.get::<SettingRec>(&"large".into()).unwrap(), Some(rec));
        let blobs = store.sweep(std::time::Duration::ZERO).unwrap().kept;
        assert_eq!(blobs, u64::from(bytes > limits::RECORD_INLINE_BYTES_MAX), "{bytes}");
    }
    store.commit(Batch::new().put(&with(limits::RECORD_BYTES_MAX))).unwrap();
    let e = store.commit(Batch::new().put(&with(limits::RECORD_BYTES_MAX + 1))).unwrap_err();
    assert_eq!(e.slug(), "too-large");
    let long = SettingRec { name: "k".repeat(256), value: Value::Null };
    assert_eq!(store.commit(Batch::new().put(&long)).unwrap_err().slug(), "too-large");
    let longest = SettingRec { name: "k".repeat(255), value: Value::Null };
    store.commit(Batch::new().put(&longest)).unwrap();
    assert_sound(&store);
}

#[test]
fn a_record_cannot_refer_to_an_absent_blob() {
    let dir = scratch();
    let store = open(dir.path());
    let blob = store.blobs().put(b"a,b\n1,2\n").unwrap();
    std::fs::remove_file(store.blobs().path(&blob)).unwrap();
    let rec = FileRec { raw: Some(blob), ..file(1, 1, None, 1) };
    assert_eq!(store.commit(Batch::new().put(&rec)).unwrap_err().slug(), "data-missing");
    assert!(store.get::<FileRec>(&rec.file_id).unwrap().is_none());
    store.blobs().put(b"a,b\n1,2\n").unwrap();
    store.commit(Batch::new().put(&rec)).unwrap();
    assert_sound(&store);
}

#[test]
fn a_second_opening_is_refused_and_names_the_folder() {
    let dir = scratch();
    let store = open(dir.path());
    let e = Store::open(dir.path(), options()).err().unwrap();
    assert!(matches!(e, StoreError::InUse { .. }));
    let shown = std::fs::canonicalize(dir.path()).unwrap();
    assert!(e.to_string().contains(shown.to_str().unwrap()), "{e}");
    let copy = store.clone();
    drop(store);
    assert!(Store::open(dir.path(), options()).is_err(), "a clone still holds it");
    drop(copy);
    open(dir.path());
}

#[test]
fn nobody_else_can_read_the_folder() {
    let dir = scratch();
    let root = dir.path().join("deep").join("data");
    let store = open(&root);
    let blob = store.blobs().put(b"x").unwrap();
    store.blobs().derived().unwrap().finish().unwrap();
    store.commit(Batch::new().put(&FileRec { raw: Some(blob), ..file(1, 1, None, 1) })).unwrap();
    store.export().unwrap();
    let mut stack = vec![root];
    let mut files = 0;
    while let Some(path) = stack.pop() {
        let meta = std::fs::metadata(&path).unwrap();
        let want = if meta.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(meta.permissions().mode() & 0o777, want, "{path:?}");
        files += usize::from(meta.is_file());
        if meta.is_dir() {
            stack.extend(std::fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
        }
    }
    assert!(files >= 5);
}

#[test]
fn commits_can_be_awaited() {
    use std::future::Future as _;
    use std::task::{Context, Wake, Waker};
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let dir = scratch();
    let store = open(dir.path());
    let waker = Waker::from(std::sync::Arc::new(Unpark(std::thread::current())));
    let mut commit = std::pin::pin!(store.submit(Batch::new().put(&file(1, 1, None, 1))));
    let result = loop {
        match commit.as_mut().poll(&mut Context::from_waker(&waker)) {
            std::task::Poll::Ready(r) => break r,
            std::task::Poll::Pending => std::thread::park(),
        }
    };
    result.unwrap();
    assert_eq!(store.stats().commits, 1);
}

#[test]
fn an_abandoned_upload_leaves_nothing() {
    let dir = scratch();
    let store = open(dir.path());
    let mut w = store.blobs().writer().unwrap().limit(10);
    w.put(b"0123456789").unwrap();
    let e = w.put(b"x").unwrap_err();
    assert_eq!(e.slug(), "too-large");
    assert!(w.put(b"").is_err(), "a writer that failed stays failed");
    assert!(w.finish().is_err());
    let mut w = store.blobs().writer().unwrap();
    w.put(&vec![7; 1 << 20]).unwrap();
    drop(w);
    assert_eq!(std::fs::read_dir(dir.path().join("tmp")).unwrap().count(), 0);
    assert_eq!(store.sweep(std::time::Duration::ZERO).unwrap(), SweepReport::default());
}

/// What a folder holds and how it may be entered.
fn look(dir: &Path) -> (Vec<std::ffi::OsString>, u32) {
    let mut names: Vec<_> =
        std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    (names, std::fs::metadata(dir).unwrap().permissions().mode() & 0o7777)
}

#[test]
fn a_folder_that_holds_other_things_is_refused_and_left_as_it_is() {
    let dir = scratch();
    std::fs::write(dir.path().join("letter.txt"), "dear").unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o1777)).unwrap();
    let before = look(dir.path());
    for options in [options(), options().existing()] {
        let e = try_open(dir.path(), options).err().unwrap();
        assert_eq!(e.slug(), "storage-foreign-folder");
        assert!(e.to_string().contains("letter.txt") && e.is_permanent(), "{e}");
        assert_eq!(look(dir.path()), before);
    }
}

#[test]
fn only_who_may_make_a_folder_makes_one() {
    let dir = scratch();
    let absent = dir.path().join("absent");
    for place in [dir.path(), &absent] {
        let e = try_open(place, options().existing()).err().unwrap();
        assert_eq!(e.slug(), "storage-absent", "{e}");
    }
    assert_eq!(look(dir.path()).0.len(), 0);
    drop(try_open(&absent, options()).unwrap());
    assert_eq!(look(&absent).1, 0o700);
    // An empty folder is taken as it is, with its mode; what is in it is ours alone.
    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    std::fs::set_permissions(&empty, std::fs::Permissions::from_mode(0o755)).unwrap();
    drop(try_open(&empty, options()).unwrap());
    assert_eq!(look(&empty).1, 0o755);
    assert_eq!(look(&empty.join("store")).1, 0o700);
    drop(try_open(&empty, options().existing()).unwrap());
}
