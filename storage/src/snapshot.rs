//! Positions of sessions: one file a session, written over and over while its layout moves.
//!
//! ```text
//! positions/<dataset>/<session>
//!   magic  format  dataset  fingerprint  nodes  length of the notes  length of the session's name
//!   name of the session   notes   nodes * (x, y)   BLAKE3 of everything before
//! ```
//!
//! A file is written beside the old one and renamed over it, so that a crash of the process leaves one of
//! the two. It is not synced: a power cut may leave it absent or torn, which the checksum tells, and costs the
//! motion of a layout, which is no reason to make the disk busy every few seconds. For the same reason
//! these files take no part in commits, exports and the check of the store.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use graphlume_types::{DatasetId, SessionId, limits};
use parking_lot::Mutex;

use crate::blob::{BUFFER_BYTES, modified_at};
use crate::error::StoreError;
use crate::vfs::{self, Vfs};

const FOLDER: &str = "positions";
const MAGIC: [u8; 4] = *b"GLPS";
const FORMAT: u32 = 1;
/// Bytes before the name of the session.
const HEAD_BYTES: usize = 44;
const HASH_BYTES: usize = 32;
const NODE_BYTES: usize = 8;
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

/// What was found for a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Kept {
    /// No positions.
    Nothing,
    /// A file that cannot be used, and why; it is gone now.
    Unfit(&'static str),
    /// Positions as they were put.
    Positions(SnapshotHead, Vec<[f32; 2]>),
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

    /// Keeps the positions of a session in place of those before. Others, the oldest first, make room: those of
    /// sessions without an owner before those that `is_owned` names, which make room for their like alone.
    /// Where nothing may make room, the positions are not kept.
    ///
    /// # Errors
    /// `TooLarge` for more than all files together may have, `Full` when the disk has too little room,
    /// `Io` otherwise; the positions before are still there then.
    pub fn put(
        &self,
        head: &SnapshotHead,
        positions: &[[f32; 2]],
        is_owned: &dyn Fn(&SessionId) -> bool,
    ) -> Result<(), StoreError> {
        let Inner { vfs, quota, .. } = &*self.inner;
        let too_large = |what, limit| StoreError::TooLarge { what, limit };
        let notes_max = limits::SNAPSHOT_NOTES_BYTES_MAX;
        let notes = u32::try_from(head.notes.len()).ok().filter(|n| *n <= notes_max);
        let notes = notes.ok_or(too_large("the notes of a session", notes_max.into()))?;
        let nodes = u32::try_from(positions.len());
        let nodes = nodes.map_err(|_| too_large("the positions of a session", quota.bytes))?;
        let bytes = file_bytes(&head.session, notes, nodes);
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
        let written = self.write(&temp, head, notes, nodes, positions);
        let moved = written.and_then(|()| vfs.rename(&temp, &path));
        if let Err(e) = moved {
            // What is left of it is swept at the next start.
            let _ = vfs.remove_file(&temp);
            return Err(StoreError::io("write", &path, e));
        }
        files.insert(key, bytes);
        Ok(())
    }

    fn write(
        &self,
        temp: &Path,
        head: &SnapshotHead,
        notes: u32,
        nodes: u32,
        positions: &[[f32; 2]],
    ) -> io::Result<()> {
        let vfs = &*self.inner.vfs;
        let mut file = match vfs.create(temp) {
            // A crash may have left one.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                vfs.remove_file(temp)?;
                vfs.create(temp)?
            }
            made => made?,
        };
        let mut hasher = blake3::Hasher::new();
        let mut buffer = Vec::with_capacity(BUFFER_BYTES);
        buffer.extend_from_slice(&MAGIC);
        buffer.extend_from_slice(&FORMAT.to_le_bytes());
        buffer.extend_from_slice(head.dataset.as_bytes());
        buffer.extend_from_slice(&head.fingerprint.to_le_bytes());
        buffer.extend_from_slice(&nodes.to_le_bytes());
        buffer.extend_from_slice(&notes.to_le_bytes());
        let name = head.session.as_str().as_bytes();
        buffer.extend_from_slice(&u32::try_from(name.len()).unwrap_or(0).to_le_bytes());
        buffer.extend_from_slice(name);
        buffer.extend_from_slice(&head.notes);
        for some in positions.chunks(BUFFER_BYTES / NODE_BYTES) {
            for [x, y] in some {
                buffer.extend_from_slice(&x.to_le_bytes());
                buffer.extend_from_slice(&y.to_le_bytes());
            }
            hasher.update(&buffer);
            vfs::write_all(vfs, &mut file, &buffer)?;
            buffer.clear();
        }
        hasher.update(&buffer);
        buffer.extend_from_slice(hasher.finalize().as_bytes());
        vfs::write_all(vfs, &mut file, &buffer)
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
        let read = read(&mut file, session, dataset, nodes);
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

/// Bytes of the file of a session.
fn file_bytes(session: &SessionId, notes: u32, nodes: u32) -> u64 {
    let fixed = HEAD_BYTES + HASH_BYTES + session.as_str().len();
    fixed as u64 + u64::from(notes) + u64::from(nodes) * NODE_BYTES as u64
}

/// Reads a file that may hold anything. Nothing is allocated before the head fits.
fn read(file: &mut File, session: &SessionId, dataset: DatasetId, nodes: u32) -> io::Result<Kept> {
    let len = file.metadata()?.len();
    let mut head = [0u8; HEAD_BYTES];
    if len < HEAD_BYTES as u64 {
        return Ok(Kept::Unfit("it is too short"));
    }
    file.read_exact(&mut head)?;
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    if head[..4] != MAGIC || word(4) != FORMAT {
        return Ok(Kept::Unfit("it is of another format"));
    }
    if head[8..24] != *dataset.as_bytes() {
        return Ok(Kept::Unfit("it belongs to another dataset"));
    }
    let (own_nodes, notes_bytes, name_bytes) = (word(32), word(36), word(40));
    if own_nodes != nodes {
        return Ok(Kept::Unfit("the graph has another number of nodes"));
    }
    let is_whole = notes_bytes <= limits::SNAPSHOT_NOTES_BYTES_MAX
        && name_bytes as usize == session.as_str().len()
        && len == file_bytes(session, notes_bytes, nodes);
    if !is_whole {
        return Ok(Kept::Unfit("it has another length than it says"));
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(&head);
    let mut name = vec![0u8; name_bytes as usize];
    file.read_exact(&mut name)?;
    let mut notes = vec![0u8; notes_bytes as usize];
    file.read_exact(&mut notes)?;
    hasher.update(&name).update(&notes);
    let mut positions = Vec::with_capacity(nodes as usize);
    let mut buffer = vec![0u8; BUFFER_BYTES.min(nodes as usize * NODE_BYTES)];
    while positions.len() < nodes as usize {
        let left = (nodes as usize - positions.len()) * NODE_BYTES;
        let some = buffer.len().min(left);
        let some = &mut buffer[..some];
        file.read_exact(some)?;
        hasher.update(some);
        positions.extend(some.chunks_exact(NODE_BYTES).map(|b| {
            [
                f32::from_le_bytes([b[0], b[1], b[2], b[3]]),
                f32::from_le_bytes([b[4], b[5], b[6], b[7]]),
            ]
        }));
    }
    let mut hash = [0u8; HASH_BYTES];
    file.read_exact(&mut hash)?;
    if hash != *hasher.finalize().as_bytes() {
        return Ok(Kept::Unfit("its checksum is wrong"));
    }
    if name != session.as_str().as_bytes() {
        return Ok(Kept::Unfit("it belongs to another session"));
    }
    let mut fingerprint = [0u8; 8];
    fingerprint.copy_from_slice(&head[24..32]);
    let fingerprint = u64::from_le_bytes(fingerprint);
    let head = SnapshotHead { session: session.clone(), dataset, fingerprint, notes };
    Ok(Kept::Positions(head, positions))
}
