//! Opening a data folder: lock, first boot, recovery from a damaged record store.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use graphlume_types::{Clock, SystemClock, limits};

use crate::blob::Blobs;
use crate::decoded::Decoded;
use crate::engine_conf;
use crate::error::StoreError;
use crate::export;
use crate::mark::Mark;
use crate::meta::{Meta, sync_tree};
use crate::poison::Poison;
use crate::snapshot::{Quota, Snapshots};
use crate::vfs::{self, OsVfs, Vfs};
use crate::writer::{Core, Counters};

/// How to open a store.
#[derive(Clone)]
pub struct Options {
    /// Where times come from.
    pub clock: Arc<dyn Clock>,
    /// Free bytes of the disk below which no upload is taken.
    pub free_bytes_upload_min: u64,
    /// Free bytes of the disk below which no commit is taken.
    pub free_bytes_commit_min: u64,
    /// Whether a data folder may be made where there is none, or an empty folder.
    pub make: bool,
    pub(crate) vfs: Arc<dyn Vfs>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            free_bytes_upload_min: limits::DISK_FREE_UPLOAD_BYTES_MIN,
            free_bytes_commit_min: limits::DISK_FREE_COMMIT_BYTES_MIN,
            make: true,
            vfs: Arc::new(OsVfs),
        }
    }
}

impl Options {
    /// Options with this clock.
    #[must_use]
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..Self::default() }
    }

    /// The same for a folder that must be there: nothing is made.
    #[must_use]
    pub fn existing(self) -> Self {
        Self { make: false, ..self }
    }

    /// Lets `plan` disturb the file system.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn with_faults(mut self, plan: &vfs::FaultPlan) -> Self {
        self.vfs = Arc::new(plan.clone());
        self
    }
}

/// How a store was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// The folder held none; an empty one was made.
    Fresh,
    /// It was there.
    Existing,
    /// The record store was damaged and was rebuilt. Whatever was committed after the export is not in
    /// the new one; its blobs are kept as long as the damaged folder stands.
    Rebuilt {
        /// Where the damaged store lies.
        moved_to: PathBuf,
        /// The export that was read.
        export: PathBuf,
        /// When it was made, unix microseconds.
        exported_at: i64,
        /// Records in it.
        records: u64,
    },
    /// The end of the record store was damaged and the engine began before it: the last commits are
    /// gone. Blobs are kept as long as the file `note` stands.
    Truncated {
        /// Groups of commits that were durable and are gone.
        groups_lost: u64,
        /// A file that holds the number of the last one.
        note: PathBuf,
    },
}

/// An opened folder. The lock is given back when the last field is dropped.
pub(crate) struct Folder {
    pub core: Core,
    pub opened: Opened,
    pub lock: File,
}

pub(crate) fn store_dir(dir: &Path) -> PathBuf {
    dir.join("store")
}

/// Whose a folder is.
enum FolderState {
    Absent,
    Empty,
    Ours,
    /// With the name of something in it that is not ours.
    Foreign(String),
}

/// What a start that was cut short may have left in a folder that has no mark yet.
const FIRST: [&str; 8] =
    ["lock", "tmp", "blobs", "derived", "positions", "store.new", "token.key", "control"];

fn state_of(dir: &Path) -> Result<FolderState, StoreError> {
    if !dir.exists() {
        return Ok(FolderState::Absent);
    }
    if dir.join("mark").exists() || dir.join("store").exists() {
        return Ok(FolderState::Ours);
    }
    let fail = |e| StoreError::io("list", dir, e);
    let mut state = FolderState::Empty;
    for entry in fs::read_dir(dir).map_err(fail)? {
        let name = entry.map_err(fail)?.file_name().to_string_lossy().into_owned();
        let is_first = FIRST.iter().any(|f| name == *f || name.starts_with(&format!("{f}.")));
        // What file systems themselves put into an empty one.
        if name == "lost+found" {
            continue;
        }
        if !is_first && !name.starts_with("store.damaged-") && !name.starts_with("mark.lost-") {
            return Ok(FolderState::Foreign(name));
        }
        state = FolderState::Ours;
    }
    Ok(state)
}

/// Opens `dir`, making it when it is absent and may be made. A full disk is told as one, with what must be free.
pub(crate) fn open(dir: &Path, options: &Options) -> Result<Folder, StoreError> {
    open_folder(dir, options).map_err(|e| match e {
        StoreError::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
            let free = options.vfs.free_bytes(dir).unwrap_or(0);
            StoreError::Full { dir: dir.to_owned(), free, need: options.free_bytes_upload_min }
        }
        other => other,
    })
}

fn open_folder(dir: &Path, options: &Options) -> Result<Folder, StoreError> {
    let vfs = &options.vfs;
    match state_of(dir)? {
        FolderState::Ours => {}
        FolderState::Absent if options.make => make_dir(dir, &**vfs)?,
        FolderState::Empty if options.make => {}
        FolderState::Absent | FolderState::Empty => {
            return Err(StoreError::NoFolder { dir: dir.to_owned() });
        }
        FolderState::Foreign(found) => {
            return Err(StoreError::NotOurs { dir: dir.to_owned(), found });
        }
    }
    let dir = fs::canonicalize(dir).map_err(|e| StoreError::io("resolve", dir, e))?;
    let lock_path = dir.join("lock");
    let lock = vfs::try_lock(&lock_path)
        .map_err(|e| StoreError::io("lock", &lock_path, e))?
        .ok_or_else(|| StoreError::InUse { dir: dir.clone() })?;
    let poison = Arc::new(Poison::default());
    let blobs =
        Blobs::open(&dir, Arc::clone(vfs), Arc::clone(&poison), options.free_bytes_upload_min)?;
    let (mark, marked) = Mark::open(&dir)?;
    let (meta, opened) = open_or_make(&dir, marked, &blobs, options)?;
    let seq = meta.seq()?;
    let (mark, opened) = match opened {
        Opened::Existing if marked > seq => {
            tracing::error!(lost = marked - seq, "the end of the record store is damaged");
            let note = dir.join(format!("mark.lost-{:020}", options.clock.unix_micros()));
            rename(&Mark::path(&dir), &note, &dir, &**vfs)?;
            (Mark::open(&dir)?.0, Opened::Truncated { groups_lost: marked - seq, note })
        }
        // The mark belongs to the store that was moved aside.
        opened if marked > seq => {
            let path = Mark::path(&dir);
            vfs.remove_file(&path).map_err(|e| StoreError::io("remove", &path, e))?;
            vfs.sync_dir(&dir).map_err(|e| StoreError::io("sync", &dir, e))?;
            (Mark::open(&dir)?.0, opened)
        }
        opened => (mark, opened),
    };
    let quota = Quota {
        files: limits::SNAPSHOTS_MAX,
        bytes: limits::SNAPSHOT_BYTES_MAX,
        free_bytes_min: options.free_bytes_upload_min,
    };
    let core = Core {
        decoded: Decoded::default(),
        snapshots: Snapshots::open(&dir, Arc::clone(vfs), quota),
        dir,
        meta,
        blobs,
        vfs: Arc::clone(vfs),
        poison,
        free_bytes_min: options.free_bytes_commit_min,
        mark,
        seq: AtomicU64::new(seq),
        counters: Counters::default(),
    };
    Ok(Folder { core, opened, lock })
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
            return rebuild(dir, damaged, blobs, options);
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
        make_store(dir, &*options.vfs, |_| Ok(()))?;
        let meta = Meta::open(&store)?;
        engine_conf::keep(dir, &store);
        return Ok((meta, Opened::Fresh));
    }
    let mut found = read_whole(&store, blobs);
    if found.as_ref().is_err_and(StoreError::is_corrupt) && engine_conf::put_back(dir, &store)? {
        found = read_whole(&store, blobs);
    }
    match found {
        Ok((meta, seq)) => {
            engine_conf::keep(dir, &store);
            let vfs = &options.vfs;
            vfs.sync_dir(&store).map_err(|e| StoreError::io("sync", &store, e))?;
            // The end of the log is damaged, and an export knows more than what is left.
            if marked > seq && export::newest(dir)?.is_some_and(|found| found.seq > seq) {
                drop(meta);
                let aside = move_aside(dir, options)?;
                return rebuild(dir, aside, blobs, options);
            }
            Ok((meta, Opened::Existing))
        }
        Err(e) if e.is_corrupt() => {
            tracing::error!(dir = %store.display(), error = %e, "the record store is damaged");
            if export::newest(dir)?.is_none() {
                return Err(StoreError::corrupt(
                    format!("the record store in {}", store.display()),
                    format!("{e}; there is no export in {} either", dir.join("exports").display()),
                ));
            }
            let aside = move_aside(dir, options)?;
            rebuild(dir, aside, blobs, options)
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

/// Whether records were lost and nobody has yet said that their blobs are not needed.
pub(crate) fn holds_back(dir: &Path) -> Result<bool, StoreError> {
    Ok(!damage_in(dir)?.is_empty())
}

/// Names of what was set aside because records were lost, in their order.
pub(crate) fn damage_in(dir: &Path) -> Result<Vec<String>, StoreError> {
    let fail = |e| StoreError::io("list", dir, e);
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(fail)? {
        let name = entry.map_err(fail)?.file_name().to_string_lossy().into_owned();
        if name.starts_with("store.damaged-") || name.starts_with("mark.lost-") {
            found.push(name);
        }
    }
    found.sort();
    Ok(found)
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

fn move_aside(dir: &Path, options: &Options) -> Result<PathBuf, StoreError> {
    let aside = dir.join(format!("store.damaged-{:020}", options.clock.unix_micros()));
    rename(&store_dir(dir), &aside, dir, &*options.vfs)?;
    Ok(aside)
}

fn rebuild(
    dir: &Path,
    moved_to: PathBuf,
    blobs: &Blobs,
    options: &Options,
) -> Result<(Meta, Opened), StoreError> {
    let Some(found) = export::newest(dir)? else {
        return Err(StoreError::corrupt(
            format!("the record store moved to {}", moved_to.display()),
            "there is no complete export to rebuild it from",
        ));
    };
    let (export, exported_at, records) = (found.path.clone(), found.created_at, found.records);
    make_store(dir, &*options.vfs, |meta| export::load(meta, blobs, &found))?;
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
    rename(&new, &store_dir(dir), dir, vfs)
}

fn rename(from: &Path, to: &Path, parent: &Path, vfs: &dyn Vfs) -> Result<(), StoreError> {
    vfs.rename(from, to).map_err(|e| StoreError::io("rename", from, e))?;
    vfs.sync_dir(parent).map_err(|e| StoreError::io("sync", parent, e))
}
