//! Immutable files named by the BLAKE3 hash of their content.
//!
//! A durable blob is written to a temporary file, synced, renamed and its folder synced, in that
//! order; only then does the caller hold a [`BlobRef`]. A derived blob, which can be computed again
//! from a durable one, skips the syncs; after a power cut it may be absent or torn, which its hash
//! reveals.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use graphlume_types::id::hex;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::hex::unhex;
use crate::poison::Poison;
use crate::vfs::Vfs;

mod writer;

pub(crate) use writer::BUFFER_BYTES;
pub use writer::BlobWriter;

/// How a blob survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BlobClass {
    /// Survives a power cut once its reference was given out.
    Durable,
    /// May be lost; can be computed again.
    Derived,
}

impl BlobClass {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Durable, Self::Derived];

    pub(crate) const fn folder(self) -> &'static str {
        match self {
            Self::Durable => "blobs",
            Self::Derived => "derived",
        }
    }
}

/// BLAKE3-256 of a blob's content; prints as 64 hexadecimal characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobHash([u8; 32]);

impl BlobHash {
    /// The raw bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub(crate) fn of(hasher: &blake3::Hasher) -> Self {
        Self(*hasher.finalize().as_bytes())
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        unhex::<32>(text).map(Self)
    }
}

impl std::fmt::Display for BlobHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl std::fmt::Debug for BlobHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "blob:{self}")
    }
}

impl Serialize for BlobHash {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BlobHash {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        Self::parse(&text)
            .ok_or_else(|| serde::de::Error::custom("a blob hash is 64 lower-case hex characters"))
    }
}

/// Names a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BlobRef {
    /// Hash of the content.
    pub hash: BlobHash,
    /// Bytes.
    pub len: u64,
    /// How it survives.
    pub class: BlobClass,
}

/// The blob folder of a store. Cloning is cheap.
#[derive(Clone)]
pub struct Blobs {
    inner: Arc<Inner>,
}

struct Inner {
    dir: PathBuf,
    vfs: Arc<dyn Vfs>,
    poison: Arc<Poison>,
    free_bytes_min: u64,
    next_temp: AtomicU64,
    /// Second-level folders whose entry in the first level is known to be on the device. Another
    /// thread may have made the folder a moment ago without having synced it yet, so that finding it
    /// there proves nothing.
    synced: Mutex<HashSet<(BlobClass, u16)>>,
}

impl Blobs {
    /// Free bytes of the disk below which nothing is written.
    pub(crate) fn free_bytes_min(&self) -> u64 {
        self.inner.free_bytes_min
    }

    /// Opens the blob folders below `dir`, making them when absent, and drops unfinished uploads. The
    /// caller holds the folder's lock.
    pub(crate) fn open(
        dir: &Path,
        vfs: Arc<dyn Vfs>,
        poison: Arc<Poison>,
        free_bytes_min: u64,
    ) -> Result<Self, StoreError> {
        let mk = |p: &Path| vfs.create_dir(p).map_err(|e| StoreError::io("create", p, e));
        let temp = dir.join("tmp");
        mk(&temp)?;
        let listing = fs::read_dir(&temp).map_err(|e| StoreError::io("list", &temp, e))?;
        // Ours are numbered; anything else belongs to another program.
        let is_numbered = |e: &fs::DirEntry| {
            e.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit)
                && e.file_type().is_ok_and(|t| t.is_file())
        };
        for entry in listing.flatten().filter(is_numbered) {
            let path = entry.path();
            vfs.remove_file(&path).map_err(|e| StoreError::io("remove", &path, e))?;
        }
        for class in BlobClass::ALL {
            let root = dir.join(class.folder());
            mk(&root)?;
            for first in 0..=255u8 {
                mk(&root.join(hex(&[first])))?;
            }
            vfs.sync_dir(&root).map_err(|e| StoreError::io("sync", &root, e))?;
        }
        vfs.sync_dir(dir).map_err(|e| StoreError::io("sync", dir, e))?;
        Ok(Self::as_they_are(dir, vfs, poison, free_bytes_min))
    }

    /// The blob folders below `dir` without making or removing anything.
    pub(crate) fn as_they_are(
        dir: &Path,
        vfs: Arc<dyn Vfs>,
        poison: Arc<Poison>,
        free_bytes_min: u64,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                dir: dir.to_owned(),
                vfs,
                poison,
                free_bytes_min,
                next_temp: AtomicU64::new(0),
                synced: Mutex::new(HashSet::new()),
            }),
        }
    }

    /// Starts a durable blob. Dropping the writer unfinished leaves nothing.
    ///
    /// # Errors
    /// `Full` when the disk has too little room, `Io` otherwise.
    pub fn writer(&self) -> Result<BlobWriter, StoreError> {
        self.start(BlobClass::Durable)
    }

    /// Starts a derived blob: not synced, may be absent after a crash.
    ///
    /// # Errors
    /// As [`Blobs::writer`].
    pub fn derived(&self) -> Result<BlobWriter, StoreError> {
        self.start(BlobClass::Derived)
    }

    /// Writes `bytes` as one durable blob.
    ///
    /// # Errors
    /// As [`Blobs::writer`].
    pub fn put(&self, bytes: &[u8]) -> Result<BlobRef, StoreError> {
        let mut w = self.writer()?;
        w.put(bytes)?;
        w.finish()
    }

    /// A nameless file of the caller's own, gone when it is closed. The caller keeps to the limits.
    ///
    /// # Errors
    /// As [`Blobs::writer`].
    pub fn scratch(&self) -> Result<File, StoreError> {
        let (temp, file) = self.temp_file()?;
        fs::remove_file(&temp).map_err(|e| StoreError::io("remove", &temp, e))?;
        Ok(file)
    }

    /// A new file for reading and writing.
    pub(crate) fn temp_file(&self) -> Result<(PathBuf, File), StoreError> {
        self.inner.poison.check()?;
        self.check_space()?;
        let temp = self.temp_path();
        // Only to make it, with the rights that our files have.
        drop(self.inner.vfs.create(&temp).map_err(|e| StoreError::io("create", &temp, e))?);
        let file = File::options().read(true).write(true).open(&temp);
        match file {
            Ok(file) => Ok((temp, file)),
            Err(e) => Err(StoreError::io("open", &temp, e)),
        }
    }

    fn temp_path(&self) -> PathBuf {
        let n = self.inner.next_temp.fetch_add(1, Ordering::Relaxed);
        self.inner.dir.join("tmp").join(format!("{n}"))
    }

    fn check_space(&self) -> Result<(), StoreError> {
        let i = &self.inner;
        let free = i.vfs.free_bytes(&i.dir).map_err(|e| StoreError::io("measure", &i.dir, e))?;
        if free < i.free_bytes_min {
            return Err(StoreError::Full { dir: i.dir.clone(), free, need: i.free_bytes_min });
        }
        Ok(())
    }

    /// Where a blob lies. The file may be absent, and its content is not verified.
    #[must_use]
    pub fn path(&self, blob: &BlobRef) -> PathBuf {
        self.path_of(blob.class, &blob.hash)
    }

    fn path_of(&self, class: BlobClass, hash: &BlobHash) -> PathBuf {
        let name = hash.to_string();
        self.inner.dir.join(class.folder()).join(&name[..2]).join(&name[2..4]).join(name)
    }

    /// Whether a blob of this name and length is there. The content is not read.
    #[must_use]
    pub fn exists(&self, blob: &BlobRef) -> bool {
        fs::metadata(self.path(blob)).is_ok_and(|m| m.is_file() && m.len() == blob.len)
    }

    /// The whole content, verified.
    ///
    /// # Errors
    /// `BlobMissing` when absent, and also when a derived blob is damaged (it is removed then, for it
    /// has to be computed again in both cases); `Corrupt` when a durable blob is damaged.
    pub fn read(&self, blob: &BlobRef) -> Result<Vec<u8>, StoreError> {
        let mut file = self.open_raw(blob)?;
        let mut out = Vec::with_capacity(usize::try_from(blob.len).unwrap_or(0));
        file.read_to_end(&mut out).map_err(|e| StoreError::io("read", &self.path(blob), e))?;
        self.verify(blob, out.len() as u64, *blake3::hash(&out).as_bytes())?;
        Ok(out)
    }

    /// The file of a blob, verified and positioned at its start. Content is read twice, memory is
    /// not used.
    ///
    /// # Errors
    /// As [`Blobs::read`].
    pub fn open_verified(&self, blob: &BlobRef) -> Result<File, StoreError> {
        let path = self.path(blob);
        let fail = |e| StoreError::io("read", &path, e);
        let mut file = self.open_raw(blob)?;
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(&mut file).map_err(fail)?;
        self.verify(blob, hasher.count(), *hasher.finalize().as_bytes())?;
        file.rewind().map_err(fail)?;
        Ok(file)
    }

    fn open_raw(&self, blob: &BlobRef) -> Result<File, StoreError> {
        let path = self.path(blob);
        File::open(&path).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => StoreError::BlobMissing { hash: blob.hash.to_string() },
            _ => StoreError::io("open", &path, e),
        })
    }

    fn verify(&self, blob: &BlobRef, len: u64, hash: [u8; 32]) -> Result<(), StoreError> {
        if len == blob.len && hash == blob.hash.0 {
            return Ok(());
        }
        let path = self.path(blob);
        if blob.class == BlobClass::Derived {
            tracing::warn!(blob = %blob.hash, "a derived blob is torn and will be computed again");
            match self.inner.vfs.remove_file(&path) {
                Ok(()) => {}
                // A reader leaves it to the next start.
                Err(e)
                    if matches!(
                        e.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::ReadOnlyFilesystem
                    ) => {}
                Err(e) => return Err(StoreError::io("remove", &path, e)),
            }
            return Err(StoreError::BlobMissing { hash: blob.hash.to_string() });
        }
        let why = if len == blob.len {
            "its hash does not match".to_owned()
        } else {
            format!("it has {len} bytes instead of {}", blob.len)
        };
        tracing::error!(blob = %blob.hash, reason = why, "a blob is damaged");
        Err(StoreError::corrupt(format!("blob {}", blob.hash), why))
    }

    /// Every blob file: class, hash, length, unix microseconds of its last write.
    pub(crate) fn walk(
        &self,
        visit: &mut dyn FnMut(BlobRef, i64) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        for class in BlobClass::ALL {
            let root = self.inner.dir.join(class.folder());
            for first in list(&root)? {
                for second in list(&first)? {
                    for path in list(&second)? {
                        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
                        let Some(hash) = BlobHash::parse(name) else { continue };
                        let Ok(meta) = fs::metadata(&path) else { continue };
                        visit(BlobRef { hash, len: meta.len(), class }, modified_at(&meta))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Unix microseconds of the last write of a blob file; `None` when it is absent.
    pub(crate) fn written_at(&self, blob: &BlobRef) -> Option<i64> {
        fs::metadata(self.path(blob)).ok().map(|m| modified_at(&m))
    }

    /// Removes a blob file; absence is no error.
    pub(crate) fn remove(&self, blob: &BlobRef) -> Result<(), StoreError> {
        let path = self.path(blob);
        match self.inner.vfs.remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::io("remove", &path, e))
            }
            _ => Ok(()),
        }
    }

    /// Puts a synced temporary file in its place.
    pub(crate) fn publish(&self, class: BlobClass, temp: &Path, hash: BlobHash) -> io::Result<()> {
        let i = &self.inner;
        let to = self.path_of(class, &hash);
        let shard = u16::from_be_bytes([hash.0[0], hash.0[1]]);
        let second = to.parent().map(Path::to_owned).unwrap_or_default();
        let first = second.parent().map(Path::to_owned).unwrap_or_default();
        let known = i.synced.lock().contains(&(class, shard));
        if !known {
            i.vfs.create_dir(&second)?;
            if class == BlobClass::Durable {
                i.vfs.sync_dir(&first).inspect_err(|e| i.poison.set_after("sync a folder", e))?;
            }
            i.synced.lock().insert((class, shard));
        }
        // Over an existing file of the same name, too: ours was just written and is known to be
        // whole, the old one may have rotted; and its time is now, which keeps the sweep away.
        i.vfs.rename(temp, &to)?;
        if class == BlobClass::Durable {
            i.vfs.sync_dir(&second).inspect_err(|e| i.poison.set_after("sync a folder", e))?;
        }
        Ok(())
    }
}

/// Unix microseconds; a time that cannot be told counts as the far future.
pub(crate) fn modified_at(meta: &fs::Metadata) -> i64 {
    let at = meta.modified().ok().and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
    at.and_then(|d| i64::try_from(d.as_micros()).ok()).unwrap_or(i64::MAX)
}

fn list(dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let fail = |e| StoreError::io("list", dir, e);
    let mut out = Vec::new();
    for entry in fs::read_dir(dir).map_err(fail)? {
        out.push(entry.map_err(fail)?.path());
    }
    Ok(out)
}
