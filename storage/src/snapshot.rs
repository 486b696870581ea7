//! Positions of sessions: one file a session (`positions/<dataset>/<session>`, of the form that [`file`] writes),
//! written over and over while its layout moves.
//!
//! A file is written beside the old one and renamed over it, so that a crash of the process leaves one of
//! the two. It is not synced: a power cut may leave it absent or torn, which the checksum tells, and costs the
//! motion of a layout, which is no reason to make the disk busy every few seconds. For the same reason
//! these files take no part in commits, exports and the check of the store.

mod file;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use graphlume_types::{DatasetId, SessionId, limits};
use parking_lot::Mutex;

use crate::blob::modified_at;
use crate::error::StoreError;
use crate::snapshot::file::file_bytes;
use crate::vfs::Vfs;

const FOLDER: &str = "positions";
/// What a file is called before it is whole. Names of sessions have no dot.
const UNFINISHED: &str = "new";

/// Whose positions they are, and whatever else their owner wants back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotHead {
    /// The session.
    pub session: SessionId,
    /// What it shows.
    pub dataset: DatasetId,
    /// Tells graphs of the same dataset apart.
    pub fingerprint: u64,
    /// Anything; at most [`limits::SNAPSHOT_NOTES_BYTES_MAX`] bytes.
    pub notes: Vec<u8>,
}

/// Where the nodes of a session were, by node index.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Coordinates {
    /// In the plane.
    pub positions: Vec<[f32; 2]>,
    /// The third coordinates, one a node, of a layout in space; a node without one has NaN.
    pub depths: Option<Arc<Vec<f32>>>,
}

/// What was found for a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    /// No positions.
    Nothing,
    /// A file that cannot be used, and why; it is gone now.
    Unfit(&'static str),
    /// Positions as they were put.
    Positions(SnapshotHead, Coordinates),
}

/// How much may be kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quota {
    pub files: usize,
    pub bytes: u64,
    /// Bytes of the disk that stay free.
    pub free_bytes_min: u64,
}

/// The folder of positions of a store. Cloning is cheap.
#[derive(Clone)]
pub struct Snapshots {
    inner: Arc<Inner>,
}

struct Inner {
    dir: PathBuf,
    vfs: Arc<dyn Vfs>,
    quota: Quota,
    files: Mutex<Files>,
}

/// What lies in the folder; changed only together with it.
#[derive(Default)]
struct Files {
    known: HashMap<(DatasetId, SessionId), Entry>,
    bytes: u64,
    /// Grows with every write: the lowest is the oldest.
    turn: u64,
}

struct Entry {
    bytes: u64,
    turn: u64,
}

impl Files {
    fn insert(&mut self, key: (DatasetId, SessionId), bytes: u64) {
        self.turn += 1;
        let entry = Entry { bytes, turn: self.turn };
        self.bytes += bytes;
        if let Some(old) = self.known.insert(key, entry) {
            self.bytes = self.bytes.saturating_sub(old.bytes);
        }
    }

    fn remove(&mut self, key: &(DatasetId, SessionId)) {
        if let Some(old) = self.known.remove(key) {
            self.bytes = self.bytes.saturating_sub(old.bytes);
        }
    }

    fn bytes_of(&self, key: &(DatasetId, SessionId)) -> u64 {
        self.known.get(key).map_or(0, |e| e.bytes)
    }

    /// The file but `but` that makes room for it: the oldest of a session without an owner, else the oldest of an owned one
    /// when `but` is owned, too.
    fn oldest(
        &self,
        but: &(DatasetId, SessionId),
        is_owned: &dyn Fn(&SessionId) -> bool,
    ) -> Option<(DatasetId, SessionId)> {
        let others = self.known.iter().filter(|(key, _)| *key != but);
        let ranked = others.map(|(key, e)| ((is_owned(&key.1), e.turn), key));
        let ((owned, _), first) = ranked.min_by_key(|(rank, _)| *rank)?;
        (!owned || is_owned(&but.1)).then(|| first.clone())
    }
}

impl Snapshots {
    /// Looks at what lies below `dir` and removes what was never finished. Never fails: positions that
    /// cannot be listed are as good as none.
    pub(crate) fn open(dir: &Path, vfs: Arc<dyn Vfs>, quota: Quota) -> Self {
        let dir = dir.join(FOLDER);
        let files = Mutex::new(Files::default());
        let this = Self { inner: Arc::new(Inner { dir, vfs, quota, files }) };
        let mut found = Vec::new();
        if let Err(e) = this.walk(&mut |key, meta| found.push((modified_at(meta), key, meta.len())))
        {
            tracing::warn!(error = %e, "kept positions cannot be listed");
        }
        found.sort_by_key(|(at, ..)| *at);
        let mut files = this.inner.files.lock();
        found.into_iter().for_each(|(_, key, bytes)| files.insert(key, bytes));
        drop(files);
        this
    }

    /// No positions, for those who only look.
    pub(crate) fn none(dir: &Path, vfs: Arc<dyn Vfs>, quota: Quota) -> Self {
        let (dir, files) = (dir.join(FOLDER), Mutex::new(Files::default()));
        Self { inner: Arc::new(Inner { dir, vfs, quota, files }) }
    }

    /// Keeps the positions of a session in place of those before; `depths`, one a node, are the third coordinates of a layout in
    /// space. Others, the oldest first, make room: those of sessions without an owner before those that `is_owned` names, which
    /// make room for their like alone.
    /// Where nothing may make room, the positions are not kept.
    ///
    /// # Errors
    /// `TooLarge` for more than all files together may have, `Full` when the disk has too little room,
    /// `Io` otherwise; the positions before are still there then.
    pub fn put(
        &self,
        head: &SnapshotHead,
        positions: &[[f32; 2]],
        depths: Option<&[f32]>,
        is_owned: &dyn Fn(&SessionId) -> bool,
    ) -> Result<(), StoreError> {
        let Inner { vfs, quota, .. } = &*self.inner;
        let too_large = |what, limit| StoreError::TooLarge { what, limit };
        let notes_max = limits::SNAPSHOT_NOTES_BYTES_MAX;
        let notes = u32::try_from(head.notes.len()).ok().filter(|n| *n <= notes_max);
        let notes = notes.ok_or(too_large("the notes of a session", notes_max.into()))?;
        let nodes = u32::try_from(positions.len());
        let nodes = nodes.map_err(|_| too_large("the positions of a session", quota.bytes))?;
        let bytes = file_bytes(&head.session, notes, nodes, depths.is_some());
        if bytes > quota.bytes {
            return Err(too_large("the positions of a session", quota.bytes));
        }
        // Also keeps others from taking the folder for a left one.
        let mut files = self.inner.files.lock();
        let folder = self.folder(head.dataset);
        for dir in [&self.inner.dir, &folder] {
            vfs.create_dir(dir).map_err(|e| StoreError::io("create", dir, e))?;
        }
        let free = vfs.free_bytes(&folder).map_err(|e| StoreError::io("measure", &folder, e))?;
        let need = quota.free_bytes_min.saturating_add(bytes);
        if free < need {
            return Err(StoreError::Full { dir: self.inner.dir.clone(), free, need });
        }
        let key = (head.dataset, head.session.clone());
        while files.bytes - files.bytes_of(&key) + bytes > quota.bytes
            || files.known.len() + usize::from(!files.known.contains_key(&key)) > quota.files
        {
            let Some(oldest) = files.oldest(&key, is_owned) else { return Ok(()) };
            self.take_away(&self.path(&oldest.1, oldest.0))?;
            files.remove(&oldest);
        }
        let path = self.path(&head.session, head.dataset);
        let temp = path.with_extension(UNFINISHED);
        let written = file::write(&**vfs, &temp, head, positions, depths);
        let moved = written.and_then(|()| vfs.rename(&temp, &path));
        if let Err(e) = moved {
            // What is left of it is swept at the next start.
            let _ = vfs.remove_file(&temp);
            return Err(StoreError::io("write", &path, e));
        }
        files.insert(key, bytes);
        Ok(())
    }

    /// The positions kept for a session whose graph has `nodes` nodes. A file that does not fit or is
    /// damaged is removed.
    ///
    /// # Errors
    /// `Io` when a file cannot be read.
    pub fn get(
        &self,
        session: &SessionId,
        dataset: DatasetId,
        nodes: u32,
    ) -> Result<Kept, StoreError> {
        let path = self.path(session, dataset);
        let mut file = match File::open(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Kept::Nothing),
            opened => opened.map_err(|e| StoreError::io("open", &path, e))?,
        };
        let read = file::read(&mut file, session, dataset, nodes);
        match read.map_err(|e| StoreError::io("read", &path, e))? {
            Kept::Unfit(why) => {
                self.remove(session, dataset)?;
                Ok(Kept::Unfit(why))
            }
            kept => Ok(kept),
        }
    }

    /// Forgets the positions of a session; absence is no error.
    ///
    /// # Errors
    /// `Io`.
    pub fn remove(&self, session: &SessionId, dataset: DatasetId) -> Result<(), StoreError> {
        let mut files = self.inner.files.lock();
        self.take_away(&self.path(session, dataset))?;
        files.remove(&(dataset, session.clone()));
        Ok(())
    }

    /// Forgets the positions of all sessions on a dataset.
    ///
    /// # Errors
    /// `Io`.
    pub fn remove_dataset(&self, dataset: DatasetId) -> Result<(), StoreError> {
        self.retain(|_, d, _| d != dataset)
    }

    /// Forgets what `keep` does not want: session, dataset, unix microseconds of the last write.
    ///
    /// # Errors
    /// `Io`.
    pub fn retain(
        &self,
        mut keep: impl FnMut(&SessionId, DatasetId, i64) -> bool,
    ) -> Result<(), StoreError> {
        let mut unwanted = Vec::new();
        self.walk(&mut |key, meta| {
            if !keep(&key.1, key.0, modified_at(meta)) {
                unwanted.push(key);
            }
        })?;
        for (dataset, session) in unwanted {
            self.remove(&session, dataset)?;
        }
        Ok(())
    }

    /// Files and bytes kept now.
    #[must_use]
    pub fn usage(&self) -> (usize, u64) {
        let files = self.inner.files.lock();
        (files.known.len(), files.bytes)
    }

    fn folder(&self, dataset: DatasetId) -> PathBuf {
        self.inner.dir.join(dataset.to_string())
    }

    fn path(&self, session: &SessionId, dataset: DatasetId) -> PathBuf {
        self.folder(dataset).join(session.as_str())
    }

    fn take_away(&self, path: &Path) -> Result<(), StoreError> {
        match self.inner.vfs.remove_file(path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(StoreError::io("remove", path, e)),
            _ => Ok(()),
        }
    }

    /// Visits every file under the name of a session.
    fn walk(
        &self,
        visit: &mut dyn FnMut((DatasetId, SessionId), &fs::Metadata),
    ) -> Result<(), StoreError> {
        // No process writes meanwhile, so whatever is unfinished was left by a crash.
        let _still = self.inner.files.lock();
        let dir = &self.inner.dir;
        let fail = |path: &Path, e| StoreError::io("list", path, e);
        let folders = match fs::read_dir(dir) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            listed => listed.map_err(|e| fail(dir, e))?,
        };
        for folder in folders {
            let folder = folder.map_err(|e| fail(dir, e))?;
            let name = folder.file_name();
            let Some(dataset) = name.to_str().and_then(|n| n.parse::<DatasetId>().ok()) else {
                continue;
            };
            let path = folder.path();
            let mut is_empty = true;
            for file in fs::read_dir(&path).map_err(|e| fail(&path, e))? {
                let file = file.map_err(|e| fail(&path, e))?;
                let (name, Ok(meta)) = (file.file_name(), file.metadata()) else { continue };
                match name.to_str().and_then(|n| n.parse::<SessionId>().ok()) {
                    Some(session) => {
                        is_empty = false;
                        visit((dataset, session), &meta);
                    }
                    None => self.take_away(&file.path())?,
                }
            }
            if is_empty {
                let _ = fs::remove_dir(&path);
            }
        }
        Ok(())
    }
}
