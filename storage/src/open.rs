//! Opening a data folder: lock, first boot, recovery from a damaged record store.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use graphlume_types::limits;

use crate::blob::Blobs;
use crate::commit_marker::CommitMarker;
use crate::copied::Copied;
use crate::decoded::Decoded;
use crate::engine_conf;
use crate::error::StoreError;
use crate::export_file;
use crate::folder::store_dir;
use crate::meta::{self, Meta, sync_tree};
use crate::ours::{self, FolderState};
use crate::poison::Poison;
use crate::snapshot::{Quota, Snapshots};
use crate::vfs::{self, LookVfs, Vfs};
use crate::writer::{Core, Counters};

mod options;

pub use options::{Opened, Options};

/// The share of what commits leave free that must be free for a store to be opened: as little as for a deletion, by which
/// room is made.
const OPENING_SHARE: u64 = 4;
/// How much larger a record store that was made from an export is than that at most.
const REBUILD_FACTOR: u64 = 3;

/// An opened folder. The lock is given back when the last field is dropped.
pub(crate) struct Folder {
    pub core: Core,
    pub opened: Opened,
    /// None where there is no lock file, for those who only look.
    pub lock: Option<File>,
}

/// Opens `dir`, making it when it is absent and may be made. A full disk is told as one, with what must be free.
pub(crate) fn open(dir: &Path, options: &Options) -> Result<Folder, StoreError> {
    if options.only_reads {
        return open_to_read(dir, options);
    }
    open_folder(dir, options).map_err(|e| match e {
        StoreError::Io { source, .. } if is_full(&source) => {
            let free = options.vfs.free_bytes(dir).unwrap_or(0);
            StoreError::Full { dir: dir.to_owned(), free, need: options.free_bytes_upload_min }
        }
        other => other,
    })
}

fn is_full(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Refuses to go on where less than `need` bytes are free in `place`.
fn check_room(place: &Path, need: u64, options: &Options) -> Result<(), StoreError> {
    let free = options.vfs.free_bytes(place).map_err(|e| StoreError::io("measure", place, e))?;
    if free < need { Err(StoreError::Full { dir: place.to_owned(), free, need }) } else { Ok(()) }
}

/// Bytes that must be free for a store to be opened: the engine writes a snapshot of where its pages lie and begins a
/// stretch of its log. A full disk in the middle of that is harmless, but nothing could be done with the store then.
fn opening_bytes(store: &Path, options: &Options) -> Result<u64, StoreError> {
    let mut bytes = options.free_bytes_commit_min / OPENING_SHARE;
    for path in meta::snapshots(store)? {
        bytes += fs::metadata(&path).map_or(0, |about| 2 * about.len());
    }
    Ok(bytes)
}

/// Removes the snapshots that the engine began and did not finish: it takes them for damaged ones, and the whole store
/// with them.
fn drop_unfinished(store: &Path, vfs: &dyn Vfs) -> Result<(), StoreError> {
    for path in meta::snapshots(store)? {
        if path.file_name().is_some_and(meta::is_unfinished) {
            vfs.remove_file(&path).map_err(|e| StoreError::io("remove", &path, e))?;
        }
    }
    Ok(())
}

/// Opens `dir` for one who only looks, in a copy of its record store. Nothing in the folder changes.
fn open_to_read(dir: &Path, options: &Options) -> Result<Folder, StoreError> {
    let absent = |state| StoreError::NoFolder { dir: dir.to_owned(), state };
    match ours::state_of(dir)? {
        FolderState::Ours => {}
        FolderState::Absent => return Err(absent("does not exist")),
        FolderState::Empty => return Err(absent("is empty")),
        FolderState::Foreign(found) => {
            return Err(StoreError::NotOurs { dir: dir.to_owned(), found });
        }
    }
    let dir = fs::canonicalize(dir).map_err(|e| StoreError::io("resolve", dir, e))?;
    let lock_path = dir.join("lock");
    let lock = vfs::try_lock_to_look(&lock_path)
        .map_err(|e| StoreError::io("lock", &lock_path, e))?
        .ok_or_else(|| StoreError::InUse { dir: dir.clone() })?;
    let (store, marked) = (store_dir(&dir), CommitMarker::read(&dir));
    if !store.exists() {
        if marked == 0 && damaged_stores(&dir)?.is_empty() {
            return Err(absent("holds a first start that was cut short"));
        }
        return Err(StoreError::corrupt(
            format!("the record store {}", store.display()),
            "it is missing; `graphlume serve` says whether it can be made again",
        ));
    }
    let meta = Copied::open(&dir, &store)?;
    let seq = meta.seq()?;
    let opened = if marked > seq {
        Opened::Truncated { groups_lost: marked - seq, note: CommitMarker::path(&dir) }
    } else {
        Opened::Existing
    };
    let vfs: Arc<dyn Vfs> = Arc::new(LookVfs);
    let poison = Arc::new(Poison::default());
    let free_bytes_min = options.free_bytes_upload_min;
    let core = Core {
        decoded: Decoded::default(),
        snapshots: Snapshots::none(&dir, Arc::clone(&vfs), quota(options)),
        blobs: Blobs::as_they_are(&dir, Arc::clone(&vfs), Arc::clone(&poison), free_bytes_min),
        dir,
        meta,
        vfs,
        poison,
        free_bytes_min: options.free_bytes_commit_min,
        only_reads: true,
        mark: CommitMarker::unset(),
        seq: AtomicU64::new(seq),
        counters: Counters::default(),
    };
    Ok(Folder { core, opened, lock })
}

const fn quota(options: &Options) -> Quota {
    Quota {
        files: limits::SNAPSHOTS_MAX,
        bytes: limits::SNAPSHOT_BYTES_MAX,
        free_bytes_min: options.free_bytes_upload_min,
    }
}

fn open_folder(dir: &Path, options: &Options) -> Result<Folder, StoreError> {
    let vfs = &options.vfs;
    let absent = |state| StoreError::NoFolder { dir: dir.to_owned(), state };
    match ours::state_of(dir)? {
        FolderState::Ours => {}
        FolderState::Absent if options.make => {
            let there = dir.ancestors().find(|p| p.is_dir()).unwrap_or(Path::new("."));
            check_room(there, options.free_bytes_commit_min, options)?;
            make_dir(dir, &**vfs)?;
        }
        FolderState::Empty if options.make => {
            check_room(dir, options.free_bytes_commit_min, options)?;
        }
        FolderState::Absent => return Err(absent("does not exist")),
        FolderState::Empty => return Err(absent("is empty")),
        FolderState::Foreign(found) => {
            return Err(StoreError::NotOurs { dir: dir.to_owned(), found });
        }
    }
    let dir = fs::canonicalize(dir).map_err(|e| StoreError::io("resolve", dir, e))?;
    let store = store_dir(&dir);
    let need = if store.exists() {
        opening_bytes(&store, options)?
    } else {
        options.free_bytes_commit_min
    };
    check_room(&dir, need, options)?;
    let lock_path = dir.join("lock");
    let lock = vfs::try_lock(&lock_path, ours::LOCK_MAGIC)
        .map_err(|e| StoreError::io("lock", &lock_path, e))?
        .ok_or_else(|| StoreError::InUse { dir: dir.clone() })?;
    let poison = Arc::new(Poison::default());
    let blobs =
        Blobs::open(&dir, Arc::clone(vfs), Arc::clone(&poison), options.free_bytes_upload_min)?;
    let (mark, marked) = CommitMarker::open(&dir)?;
    let (meta, opened) = open_or_make(&dir, marked, &blobs, options)?;
    let seq = meta.seq()?;
    let (mark, opened) = match opened {
        Opened::Existing if marked > seq => {
            tracing::error!(lost = marked - seq, "the end of the record store is damaged");
            let note = dir.join(format!("mark.lost-{:020}", options.clock.unix_micros()));
            rename(&CommitMarker::path(&dir), &note, &dir, &**vfs)?;
            (CommitMarker::open(&dir)?.0, Opened::Truncated { groups_lost: marked - seq, note })
        }
        // The mark belongs to the store that was moved aside.
        opened if marked > seq => {
            let path = CommitMarker::path(&dir);
            vfs.remove_file(&path).map_err(|e| StoreError::io("remove", &path, e))?;
            vfs.sync_dir(&dir).map_err(|e| StoreError::io("sync", &dir, e))?;
            (CommitMarker::open(&dir)?.0, opened)
        }
        opened => (mark, opened),
    };
    let core = Core {
        decoded: Decoded::default(),
        snapshots: Snapshots::open(&dir, Arc::clone(vfs), quota(options)),
        dir,
        meta,
        blobs,
        vfs: Arc::clone(vfs),
        poison,
        free_bytes_min: options.free_bytes_commit_min,
        only_reads: false,
        mark,
        seq: AtomicU64::new(seq),
        counters: Counters::default(),
    };
    Ok(Folder { core, opened, lock: Some(lock) })
}

fn make_dir(dir: &Path, vfs: &dyn Vfs) -> Result<(), StoreError> {
    if !dir.exists() {
        if let Some(parent) = dir.parent().filter(|p| !p.as_os_str().is_empty()) {
            fs::create_dir_all(parent).map_err(|e| StoreError::io("create", parent, e))?;
            vfs.create_dir(dir).map_err(|e| StoreError::io("create", dir, e))?;
            vfs.sync_dir(parent).map_err(|e| StoreError::io("sync", parent, e))?;
        } else {
            vfs.create_dir(dir).map_err(|e| StoreError::io("create", dir, e))?;
        }
    }
    Ok(())
}

fn open_or_make(
    dir: &Path,
    marked: u64,
    blobs: &Blobs,
    options: &Options,
) -> Result<(Meta, Opened), StoreError> {
    let store = store_dir(dir);
    if !store.exists() {
        // A crash between moving a damaged store aside and putting the rebuilt one in its place leaves
        // only the former. Starting empty then would hide every record.
        if let Some(damaged) = damaged_stores(dir)?.pop() {
            return rebuild(dir, damaged, false, blobs, options);
        }
        // Something was committed here once: an empty store would hide that it is gone, and the sweep
        // would take every blob for an orphan.
        if marked > 0 {
            return Err(StoreError::corrupt(
                format!("the record store {}", store.display()),
                format!(
                    "the folder held one and it is missing; put it back, or import an export from {} into a \
                     new folder",
                    dir.join("exports").display()
                ),
            ));
        }
        make_store(dir, &*options.vfs, None, |_| Ok(()))?;
        let meta = Meta::open(&store)?;
        engine_conf::keep(dir, &store);
        return Ok((meta, Opened::Fresh));
    }
    drop_unfinished(&store, &*options.vfs)?;
    let mut found = read_whole(&store, blobs);
    if found.as_ref().is_err_and(StoreError::is_corrupt) && engine_conf::put_back(dir, &store)? {
        found = read_whole(&store, blobs);
    }
    // Before damage is believed: a disk that is full shows as damage, too.
    if found.as_ref().is_err_and(StoreError::is_corrupt) {
        check_room(dir, opening_bytes(&store, options)?, options)?;
        drop_unfinished(&store, &*options.vfs)?;
        found = read_from_log((&store, marked), found, blobs, &*options.vfs);
    }
    match found {
        Ok((meta, seq)) => {
            engine_conf::keep(dir, &store);
            let vfs = &options.vfs;
            vfs.sync_dir(&store).map_err(|e| StoreError::io("sync", &store, e))?;
            // The end of the log is damaged, and an export knows more than what is left.
            if marked > seq && export_file::newest(dir)?.is_some_and(|found| found.seq > seq) {
                drop(meta);
                return rebuild(dir, aside(dir, options), true, blobs, options);
            }
            Ok((meta, Opened::Existing))
        }
        Err(e) if e.is_corrupt() => {
            tracing::error!(dir = %store.display(), error = %e, "the record store is damaged");
            if export_file::newest(dir)?.is_none() {
                return Err(StoreError::corrupt(
                    format!("the record store in {}", store.display()),
                    format!("{e}; there is no export in {} either", dir.join("exports").display()),
                ));
            }
            rebuild(dir, aside(dir, options), true, blobs, options)
        }
        Err(e) => Err(e),
    }
}

/// Opens the records and reads what the start needs of them, so that damage is met here and not later, where no export
/// could stand in.
fn read_whole(store: &Path, blobs: &Blobs) -> Result<(Meta, u64), StoreError> {
    let meta = Meta::open(store)?;
    let seq = meta.seq()?;
    meta.finish_reindex(blobs)?;
    Ok((meta, seq))
}

/// Reads the store from its log alone, without the snapshots that say where its pages lie: every acknowledged record is in
/// the log, and a damaged snapshot is no reason to go back to an export. Gives `found` where the log does not hold the group
/// of commits that is marked as durable. That is tried in a copy, because the engine cuts off what it does not understand.
fn read_from_log(
    (store, marked): (&Path, u64),
    found: Result<(Meta, u64), StoreError>,
    blobs: &Blobs,
    vfs: &dyn Vfs,
) -> Result<(Meta, u64), StoreError> {
    match Copied::from_log(store).and_then(|meta| meta.seq()) {
        Ok(seq) if seq > 0 && seq >= marked => {}
        Err(e) if !e.is_corrupt() => return Err(e),
        _ => return found,
    }
    for path in meta::snapshots(store)? {
        vfs.remove_file(&path).map_err(|e| StoreError::io("remove", &path, e))?;
    }
    let read = read_whole(store, blobs)?;
    tracing::error!(
        dir = %store.display(),
        "the snapshot of the record store was damaged; its log was read instead, and nothing is lost"
    );
    Ok(read)
}

/// Record stores that were moved aside, oldest first.
fn damaged_stores(dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let fail = |e| StoreError::io("list", dir, e);
    let mut out = Vec::new();
    for entry in fs::read_dir(dir).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        if entry.file_name().to_string_lossy().starts_with("store.damaged-") {
            out.push(entry.path());
        }
    }
    out.sort();
    Ok(out)
}

/// Where a damaged record store is moved to.
fn aside(dir: &Path, options: &Options) -> PathBuf {
    dir.join(format!("store.damaged-{:020}", options.clock.unix_micros()))
}

/// Makes the record store anew from the newest export; the damaged one is moved to `moved_to` unless it lies there
/// already, and only when the new one is whole.
fn rebuild(
    dir: &Path,
    moved_to: PathBuf,
    is_in_place: bool,
    blobs: &Blobs,
    options: &Options,
) -> Result<(Meta, Opened), StoreError> {
    let Some(found) = export_file::newest(dir)? else {
        return Err(StoreError::corrupt(
            format!("the record store moved to {}", moved_to.display()),
            "there is no complete export to rebuild it from",
        ));
    };
    let (export, exported_at, records) = (found.path.clone(), found.created_at, found.records);
    let bytes = fs::metadata(&found.path).map_or(0, |about| about.len());
    check_room(dir, options.free_bytes_commit_min + REBUILD_FACTOR * bytes, options)?;
    let aside = is_in_place.then_some(moved_to.as_path());
    make_store(dir, &*options.vfs, aside, |meta| export_file::load(meta, blobs, &found))?;
    tracing::error!(
        export = %export.display(), records, moved_to = %moved_to.display(),
        "the record store was rebuilt from an export; later changes are not in it"
    );
    let opened = Opened::Rebuilt { moved_to, export, exported_at, records };
    let (meta, _) = read_whole(&store_dir(dir), blobs)?;
    engine_conf::keep(dir, &store_dir(dir));
    Ok((meta, opened))
}

/// Makes a store under another name, fills it, makes it durable and only then gives it its name, so
/// that a crash never leaves a half-made one.
fn make_store(
    dir: &Path,
    vfs: &dyn Vfs,
    aside: Option<&Path>,
    fill: impl FnOnce(&Meta) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let new = dir.join("store.new");
    match fs::remove_dir_all(&new) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            return Err(StoreError::io("remove", &new, e));
        }
        _ => {}
    }
    vfs.create_dir(&new).map_err(|e| StoreError::io("create", &new, e))?;
    let meta = Meta::open(&new)?;
    fill(&meta)?;
    meta.sync(vfs)?;
    drop(meta);
    sync_tree(&new, vfs)?;
    if let Some(aside) = aside {
        rename(&store_dir(dir), aside, dir, vfs)?;
    }
    rename(&new, &store_dir(dir), dir, vfs)
}

fn rename(from: &Path, to: &Path, parent: &Path, vfs: &dyn Vfs) -> Result<(), StoreError> {
    vfs.rename(from, to).map_err(|e| StoreError::io("rename", from, e))?;
    vfs.sync_dir(parent).map_err(|e| StoreError::io("sync", parent, e))
}
