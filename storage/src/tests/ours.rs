//! A folder is ours by what only we write into it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use graphlume_types::Coded as _;

use super::*;

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Every name below `dir` with its mode and content.
fn all(dir: &Path) -> Vec<(String, u32, Vec<u8>)> {
    let (mut found, mut open) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(path) = open.pop() {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
        }
        found.push((path.display().to_string(), mode, fs::read(&path).unwrap_or_default()));
    }
    found.sort();
    found
}

#[test]
fn names_alone_make_no_folder_ours() {
    let names: [&[&str]; 7] = [
        &["store/index.ts", "tmp/notes.txt", "components/a.tsx"],
        &["store/conf", "store/db"],
        &["tmp/1"],
        &["lock"],
        &["mark"],
        &["blobs/00/x", "derived/00/x", "positions/x", "store.damaged-1"],
        &["token.key"],
    ];
    for files in names {
        let dir = scratch();
        for name in files {
            put(&dir.path().join(name), "mine");
        }
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let before = all(dir.path());
        for options in [options(), options().existing(), options().only_reading()] {
            let e = try_open(dir.path(), options).err().unwrap();
            assert_eq!(e.slug(), "storage-foreign-folder", "{files:?}: {e}");
            assert!(e.to_string().contains(&dir.path().display().to_string()), "{e}");
        }
        assert_eq!(all(dir.path()), before, "{files:?}");
    }
}

#[test]
fn a_foreign_store_of_the_same_engine_is_not_ours() {
    let dir = scratch();
    let db = sled::open(dir.path().join("store")).unwrap();
    db.open_tree("records").unwrap().insert(b"a", b"b").unwrap();
    drop(db);
    let before = all(dir.path());
    for options in [options(), options().only_reading()] {
        let e = try_open(dir.path(), options).err().unwrap();
        assert_eq!(e.slug(), "storage-foreign-folder", "{e}");
    }
    assert_eq!(all(dir.path()), before);
}

#[test]
fn a_folder_of_an_earlier_version_opens_and_gets_its_marks() {
    let dir = scratch();
    open(dir.path()).commit(Batch::new().put(&user(1, "ada", ""))).unwrap();
    let (mark, lock) = (dir.path().join("mark"), dir.path().join("lock"));
    let plain = fs::read(&mark).unwrap()[..24].to_vec();
    // A mark with its number alone, an empty lock; then no mark at all; then a torn one.
    for old in [Some(plain), None, Some(vec![0; 24])] {
        match &old {
            Some(bytes) => fs::write(&mark, bytes).unwrap(),
            None => fs::remove_file(&mark).unwrap(),
        }
        fs::write(&lock, b"").unwrap();
        let reader = try_open(dir.path(), options().only_reading()).unwrap();
        assert!(reader.get::<UserRec>(&UserId(1)).unwrap().is_some());
        drop(reader);
        let store = open(dir.path());
        assert_eq!(*store.opened(), Opened::Existing);
        assert!(store.get::<UserRec>(&UserId(1)).unwrap().is_some());
        drop(store);
        assert!(fs::read(&mark).unwrap().ends_with(b"graphlume data 1"));
        assert_eq!(fs::read(&lock).unwrap(), b"graphlume data folder\n");
    }
}

#[test]
fn only_our_own_unfinished_uploads_are_removed() {
    let dir = scratch();
    drop(open(dir.path()));
    put(&dir.path().join("tmp/17"), "half an upload");
    put(&dir.path().join("tmp/notes.txt"), "mine");
    put(&dir.path().join("tmp/18/inside"), "mine");
    drop(open(dir.path()));
    assert!(!dir.path().join("tmp/17").exists());
    assert!(dir.path().join("tmp/notes.txt").exists());
    assert!(dir.path().join("tmp/18/inside").exists());
}
