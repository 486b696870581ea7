//! The record engine: the only file that opens sled, and the one place where a batch is applied.

use std::fs::{self, File};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sled::transaction::{
    ConflictableTransactionError, TransactionError, Transactional as _, TransactionalTree,
};
use sled::{IVec, Tree};

use crate::batch::{Change, Expect, Op};
use crate::blob::{BlobClass, BlobRef, Blobs};
use crate::codec::{self, Payload, Tag};
use crate::error::StoreError;
use crate::index::{self, Entries, Owned};
use crate::record::{self, Facts, Kind};
use crate::vfs::{self, Vfs};

/// Bytes of record pages kept in memory.
const CACHE_BYTES: u64 = 256 << 20;
/// How long a closing handle of this same process may keep the engine's own lock.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// Why an applied batch was undone.
type Abort = ConflictableTransactionError<StoreError>;

/// The open engine.
pub(crate) struct Meta {
    db: sled::Db,
    pub records: Tree,
    pub index: Tree,
    /// Our own handle of the engine's data file: on Linux the engine's flush writes the pages out but
    /// commits neither the file's metadata nor the device's cache.
    data: File,
    data_path: PathBuf,
}

impl Meta {
    /// Opens the engine in `dir`, which must exist or be creatable.
    ///
    /// # Errors
    /// `Corrupt` when the engine cannot make sense of its files, `Format` when they are newer.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let db = open_engine(dir)?;
        let records = db.open_tree("records")?;
        let index = db.open_tree("index")?;
        let data_path = dir.join("db");
        let data = File::open(&data_path).map_err(|e| StoreError::io("open", &data_path, e))?;
        vfs::tighten(dir).map_err(|e| StoreError::io("restrict", dir, e))?;
        let meta = Self { db, records, index, data, data_path };
        meta.check_format(dir)?;
        Ok(meta)
    }

    /// Whether the engine in `dir` holds what we write into every record store. What was not there is not made.
    ///
    /// # Errors
    /// As [`Meta::open`].
    pub fn is_in(dir: &Path) -> Result<bool, StoreError> {
        let db = open_engine(dir)?;
        let names = db.tree_names();
        if !["records", "index"].iter().all(|tree| names.iter().any(|n| **n == *tree.as_bytes())) {
            return Ok(false);
        }
        Ok(guarded(|| db.open_tree("index")?.get(index::FORMAT_KEY))?.is_some())
    }

    fn check_format(&self, dir: &Path) -> Result<(), StoreError> {
        let known = index::FORMAT;
        match self.index.get(index::FORMAT_KEY)? {
            None if self.records.is_empty() => {
                self.index.insert(index::FORMAT_KEY, &known.to_be_bytes())?;
                Ok(())
            }
            Some(v) if *v == known.to_be_bytes() => Ok(()),
            Some(v) if index::FORMATS_BEFORE.iter().any(|f| *v == f.to_be_bytes()) => Ok(()),
            Some(v) if v.len() == 4 && *v > known.to_be_bytes()[..] => Err(StoreError::Format {
                dir: dir.to_owned(),
                found: u32::from_be_bytes([v[0], v[1], v[2], v[3]]),
                known,
            }),
            _ => Err(StoreError::corrupt("the record store", "it has no valid format mark")),
        }
    }

    /// Number of the last group of commits.
    pub fn seq(&self) -> Result<u64, StoreError> {
        Ok(index::read_u64(guarded(|| self.index.get(index::SEQ_KEY))?.as_deref()))
    }

    /// Makes everything applied so far durable as group `seq`. As [`Meta::sync`].
    pub fn sync_group(&self, seq: u64, vfs: &dyn Vfs) -> Result<(), StoreError> {
        guarded(|| self.index.insert(index::SEQ_KEY, &seq.to_be_bytes()))?;
        self.sync(vfs)
    }

    /// Makes everything applied so far durable. Must not be called again after a failure.
    pub fn sync(&self, vfs: &dyn Vfs) -> Result<(), StoreError> {
        self.db.flush()?;
        vfs.sync_data(&self.data).map_err(|e| StoreError::io("sync", &self.data_path, e))
    }

    /// The verified JSON of a record, and its tag.
    pub fn get(
        &self,
        tree_key: &[u8],
        blobs: &Blobs,
    ) -> Result<Option<(Tag, Vec<u8>)>, StoreError> {
        let mut value = guarded(|| self.records.get(tree_key))?;
        loop {
            let Some(read) = &value else { return Ok(None) };
            match open_value(tree_key, read, blobs) {
                Ok((tag, json, _)) => return Ok(Some((tag, json))),
                Err(e) => {
                    // The blob of a large record goes with the commit that replaces it.
                    let now = guarded(|| self.records.get(tree_key))?;
                    if now == value {
                        return Err(e);
                    }
                    value = now;
                }
            }
        }
    }

    /// Applies `ops` as one transaction; not durable before [`Meta::sync`]. `overflow` is parallel to
    /// `ops`. With `check_blobs`, every durable blob that a record newly refers to must exist. Gives the blobs that held
    /// records which are replaced or gone now.
    pub fn apply(
        &self,
        ops: &[Op],
        overflow: &[Option<BlobRef>],
        blobs: &Blobs,
        check_blobs: bool,
    ) -> Result<Vec<BlobRef>, StoreError> {
        let done = (&self.records, &self.index).transaction(|(records, index)| {
            let mut left = Vec::new();
            for (op, overflow) in ops.iter().zip(overflow) {
                let tx = Tx { records, index, blobs, check_blobs };
                left.extend(tx.apply(op, overflow.as_ref())?);
            }
            Ok(left)
        });
        done.map_err(|e| match e {
            TransactionError::Abort(e) => e,
            TransactionError::Storage(e) => e.into(),
        })
    }
}

/// Runs a call into the engine; its assertions on damaged pages become an error here.
pub(crate) fn guarded<T>(f: impl FnOnce() -> sled::Result<T>) -> Result<T, StoreError> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => Ok(result?),
        Err(_) => Err(StoreError::corrupt("the record store", "the engine stopped on a bad page")),
    }
}

fn open_engine(dir: &Path) -> Result<sled::Db, StoreError> {
    let config = sled::Config::new().path(dir).cache_capacity(CACHE_BYTES).flush_every_ms(None);
    let begin = Instant::now();
    loop {
        let opened = catch_unwind(AssertUnwindSafe(|| config.open()))
            .map_err(|_| StoreError::corrupt("the record store", "the engine stopped at start"))?;
        match opened {
            Ok(db) => return Ok(db),
            // We hold the data folder's lock, so that this can only be our own earlier handle.
            Err(sled::Error::Io(e)) if e.to_string().contains("could not acquire lock") => {
                if begin.elapsed() > LOCK_WAIT {
                    return Err(StoreError::InUse { dir: dir.to_owned() });
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(sled::Error::Io(e))
                if matches!(
                    e.kind(),
                    io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData
                ) =>
            {
                return Err(StoreError::corrupt("the record store", e.to_string()));
            }
            Err(sled::Error::Io(e)) => return Err(StoreError::io("open", dir, e)),
            Err(sled::Error::Unsupported(e) | sled::Error::ReportableBug(e)) => {
                return Err(StoreError::corrupt("the record store", e));
            }
            Err(e) => return Err(e.into()),
        }
    }
}

/// What the name of a snapshot of the engine begins with: where the pages lie in its log. It is made anew from the log
/// where there is none.
const SNAPSHOT: &str = "snap.";

/// Whether a file of the engine is a snapshot that it did not finish. The engine itself would take it for one.
pub(crate) fn is_unfinished(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with(SNAPSHOT) && name.ends_with(".generating")
}

/// The engine's snapshots in its folder, unfinished ones among them.
///
/// # Errors
/// `Io` when the folder cannot be read.
pub(crate) fn snapshots(dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let fail = |e| StoreError::io("list", dir, e);
    let mut out = Vec::new();
    for entry in fs::read_dir(dir).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        if entry.file_name().to_string_lossy().starts_with(SNAPSHOT) {
            out.push(entry.path());
        }
    }
    Ok(out)
}

/// Syncs every file below `dir` and the folders themselves; for a store that is not in use yet.
pub(crate) fn sync_tree(dir: &Path, vfs: &dyn Vfs) -> Result<(), StoreError> {
    for entry in fs::read_dir(dir).map_err(|e| StoreError::io("list", dir, e))? {
        let path = entry.map_err(|e| StoreError::io("list", dir, e))?.path();
        if path.is_dir() {
            sync_tree(&path, vfs)?;
        } else {
            let file = File::open(&path).map_err(|e| StoreError::io("open", &path, e))?;
            vfs.sync_file(&file).map_err(|e| StoreError::io("sync", &path, e))?;
        }
    }
    vfs.sync_dir(dir).map_err(|e| StoreError::io("sync", dir, e))
}

/// Verifies a value and gives its JSON, and the blob that holds it when it is a large one.
pub(crate) fn open_value(
    tree_key: &[u8],
    value: &[u8],
    blobs: &Blobs,
) -> Result<(Tag, Vec<u8>, Option<BlobRef>), StoreError> {
    let (tag, payload) = codec::decode(tree_key, value)?;
    match payload {
        Payload::Json(json) => Ok((tag, json.to_vec(), None)),
        Payload::Overflow(text) => {
            let what = || codec::describe(tree_key);
            let blob: BlobRef = serde_json::from_slice(text)
                .map_err(|e| StoreError::corrupt(what(), e.to_string()))?;
            let json = blobs.read(&blob).map_err(|e| match e {
                StoreError::BlobMissing { hash } => {
                    StoreError::corrupt(what(), format!("its blob {hash} is absent"))
                }
                other => other,
            })?;
            Ok((tag, json, Some(blob)))
        }
    }
}

/// Facts of a stored record.
pub(crate) fn facts_of(tree_key: &[u8], json: &[u8]) -> Result<(Kind, Facts), StoreError> {
    let row = tree_key.first().and_then(|t| record::row_of_tag(*t));
    let row = row.ok_or_else(|| {
        StoreError::corrupt(codec::describe(tree_key), "no record of this kind is known")
    })?;
    let facts = (row.facts)(json)
        .map_err(|e| StoreError::corrupt(codec::describe(tree_key), e.to_string()))?;
    Ok((row.kind, facts))
}

/// One transaction in progress.
struct Tx<'a> {
    records: &'a TransactionalTree,
    index: &'a TransactionalTree,
    blobs: &'a Blobs,
    check_blobs: bool,
}

fn abort(e: StoreError) -> Abort {
    ConflictableTransactionError::Abort(e)
}

impl Tx<'_> {
    /// The blob that held the record before, unless it holds it still.
    fn apply(&self, op: &Op, overflow: Option<&BlobRef>) -> Result<Option<BlobRef>, Abort> {
        let old = self.records.get(&op.tree_key)?;
        let old = match &old {
            None => None,
            Some(v) => Some(open_value(&op.tree_key, v, self.blobs).map_err(abort)?),
        };
        check_state(op, old.as_ref().map(|(tag, ..)| *tag)).map_err(abort)?;
        if matches!(op.change, Change::Check) {
            return Ok(None);
        }
        let left = old.as_ref().and_then(|(.., blob)| *blob).filter(|b| Some(b) != overflow);
        let before = match &old {
            None => Entries::default(),
            Some((_, json, blob)) => {
                let (kind, facts) = facts_of(&op.tree_key, json).map_err(abort)?;
                index::entries(kind, &facts, blob.as_ref(), json.len())
            }
        };
        let after = match &op.change {
            Change::Put { facts, json } => index::entries(op.kind, facts, overflow, json.len()),
            _ => Entries::default(),
        };
        if let Change::Put { json, facts } = &op.change {
            self.check_put(op.kind, facts, &before)?;
            let value = match overflow {
                None => codec::encode_inline(&op.tree_key, json),
                Some(blob) => {
                    let text = serde_json::to_vec(blob).map_err(|e| {
                        abort(StoreError::Encode { kind: op.kind.name(), detail: e.to_string() })
                    })?;
                    codec::encode_overflow(&op.tree_key, &text)
                }
            };
            self.records.insert(op.tree_key.as_slice(), value)?;
        } else {
            self.records.remove(op.tree_key.as_slice())?;
        }
        self.move_index(&before, &after)?;
        Ok(left)
    }

    fn check_put(&self, kind: Kind, facts: &Facts, before: &Entries) -> Result<(), Abort> {
        for (field, value) in &facts.unique {
            let holder = self.index.get(index::unique_key(kind, field, value))?;
            if holder.is_some_and(|k| *k != facts.key[..]) {
                let value = value.clone();
                return Err(abort(StoreError::Taken { kind: kind.name(), field, value }));
            }
        }
        for blob in facts.blobs.iter().filter(|b| b.class == BlobClass::Durable) {
            let mut key = index::blob_prefix(blob);
            key.push(kind.tag());
            key.extend_from_slice(&facts.key);
            let held = before.plain.contains_key(&key);
            if self.check_blobs && !held && !self.blobs.exists(blob) {
                return Err(abort(StoreError::BlobMissing { hash: blob.hash.to_string() }));
            }
        }
        if kind == Kind::User {
            let id = index::read_u64(Some(&facts.key));
            let highest = self.index.get(index::next_key(kind))?;
            if id > index::read_u64(highest.as_deref()) {
                self.index.insert(index::next_key(kind), &id.to_be_bytes())?;
            }
        }
        Ok(())
    }

    fn move_index(&self, before: &Entries, after: &Entries) -> Result<(), Abort> {
        for key in before.plain.keys().filter(|k| !after.plain.contains_key(*k)) {
            self.index.remove(key.as_slice())?;
        }
        for (key, value) in after.plain.iter().filter(|(k, v)| before.plain.get(*k) != Some(*v)) {
            self.index.insert(key.as_slice(), value.as_slice())?;
        }
        for key in before.counts.iter().filter(|k| !after.counts.contains(k)) {
            let n = index::read_u64(self.index.get(key)?.as_deref()).saturating_sub(1);
            if n == 0 {
                self.index.remove(key.as_slice())?;
            } else {
                self.index.insert(key.as_slice(), &n.to_be_bytes())?;
            }
        }
        for key in after.counts.iter().filter(|k| !before.counts.contains(k)) {
            let n = index::read_u64(self.index.get(key)?.as_deref()) + 1;
            self.index.insert(key.as_slice(), IVec::from(&n.to_be_bytes()))?;
        }
        self.move_owned(before.owned.as_ref(), after.owned.as_ref())
    }

    /// Moves what accounts hold: a blob counts while one record of the account needs it.
    fn move_owned(&self, before: Option<&Owned>, after: Option<&Owned>) -> Result<(), Abort> {
        if before == after {
            return Ok(());
        }
        let has = |owned: Option<&Owned>, key: &Vec<u8>| {
            owned.is_some_and(|owned| owned.blobs.contains_key(key))
        };
        if let Some(old) = before {
            let mut less = old.bytes;
            for (key, len) in old.blobs.iter().filter(|(key, _)| !has(after, key)) {
                if self.add(key, -1)? == 0 {
                    less = less.saturating_add(*len);
                }
            }
            self.add(&old.held, -i128::from(less))?;
        }
        if let Some(new) = after {
            let mut more = new.bytes;
            for (key, len) in new.blobs.iter().filter(|(key, _)| !has(before, key)) {
                if self.add(key, 1)? == 1 {
                    more = more.saturating_add(*len);
                }
            }
            self.add(&new.held, i128::from(more))?;
        }
        Ok(())
    }

    /// Changes a number of the index, which is absent while it is 0, and gives it.
    fn add(&self, key: &[u8], by: i128) -> Result<u64, Abort> {
        let now = i128::from(index::read_u64(self.index.get(key)?.as_deref())).saturating_add(by);
        let now = u64::try_from(now.max(0)).unwrap_or(u64::MAX);
        if now == 0 {
            self.index.remove(key)?;
        } else {
            self.index.insert(key, IVec::from(&now.to_be_bytes()))?;
        }
        Ok(now)
    }
}

fn check_state(op: &Op, now: Option<Tag>) -> Result<(), StoreError> {
    let (kind, key) = (op.kind.name(), op.key_text.clone());
    match (op.expect, now) {
        (Expect::Anything, _) | (Expect::Absent, None) => Ok(()),
        (Expect::Absent, Some(_)) => Err(StoreError::Exists { kind, key }),
        (Expect::Is(want), Some(have)) if want == have => Ok(()),
        (Expect::Is(_), _) => Err(StoreError::Changed { kind, key }),
    }
}
