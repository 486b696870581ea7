//! Logical export and import. The engine's own format is a dead end, and this is the way out of it.
//!
//! ```text
//! {"graphlume_export":1,"created_at":<unix microseconds>,"seq":<commit groups>}
//! {"kind":"file","record":{…}}            one line per record
//! {"end":<records>,"blake3":"<hex of all bytes before this line>"}
//! ```

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::batch::{Batch, Change, Expect};
use crate::blob::{BlobClass, BlobRef, Blobs};
use crate::error::StoreError;
use crate::meta::{Meta, facts_of, guarded, open_value};
use crate::record::row_of_name;
use crate::store::Store;
use crate::vfs::{self, OsVfs, Vfs};
use crate::writer::{self, Core};

/// Exports kept in the data folder.
const EXPORTS_KEPT: usize = 2;
/// Records of one import transaction.
const IMPORT_CHUNK: usize = 256;
const VERSION: u64 = 1;
const RECORDS_FILE: &str = "records.jsonl";

/// What an export wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportReport {
    /// The records file.
    pub path: PathBuf,
    /// Records in it.
    pub records: u64,
    /// Damaged records, which are not in it.
    pub damaged: Vec<String>,
    /// Blobs beside it.
    pub blobs: u64,
}

/// What an import wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportReport {
    /// Records.
    pub records: u64,
    /// Blobs.
    pub blobs: u64,
}

#[derive(Serialize, Deserialize)]
struct Header {
    graphlume_export: u64,
    created_at: i64,
    /// Commit groups of the store that are in it.
    #[serde(default)]
    seq: u64,
}

#[derive(Deserialize)]
struct Line {
    kind: String,
    record: Value,
}

#[derive(Serialize, Deserialize)]
struct Trailer {
    end: u64,
    blake3: String,
}

/// A complete export.
pub(crate) struct Found {
    pub path: PathBuf,
    pub created_at: i64,
    pub seq: u64,
    pub records: u64,
}

/// An export being written: under another name until it is whole and durable.
struct Sink<'a> {
    vfs: &'a dyn Vfs,
    temp: PathBuf,
    file: File,
    buffer: Vec<u8>,
    hasher: blake3::Hasher,
    records: u64,
}

impl<'a> Sink<'a> {
    fn new(vfs: &'a dyn Vfs, path: &Path, created_at: i64, seq: u64) -> Result<Self, StoreError> {
        let temp = path.with_extension("new");
        match fs::remove_file(&temp) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::io("remove", &temp, e));
            }
            _ => {}
        }
        let file = vfs.create(&temp).map_err(|e| StoreError::io("create", &temp, e))?;
        let hasher = blake3::Hasher::new();
        let mut sink = Self { vfs, temp, file, buffer: Vec::new(), hasher, records: 0 };
        sink.json(&Header { graphlume_export: VERSION, created_at, seq })?;
        sink.line(b"")?;
        Ok(sink)
    }

    fn json<T: Serialize>(&mut self, value: &T) -> Result<(), StoreError> {
        serde_json::to_writer(&mut self.buffer, value)
            .map_err(|e| StoreError::Encode { kind: "export", detail: e.to_string() })
    }

    /// Ends the line with `bytes`.
    fn line(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.buffer.extend_from_slice(bytes);
        self.buffer.push(b'\n');
        if self.buffer.len() >= 1 << 20 { self.drain() } else { Ok(()) }
    }

    fn drain(&mut self) -> Result<(), StoreError> {
        self.hasher.update(&self.buffer);
        vfs::write_all(self.vfs, &mut self.file, &self.buffer)
            .map_err(|e| StoreError::io("write", &self.temp, e))?;
        self.buffer.clear();
        Ok(())
    }

    fn record(&mut self, kind: &str, json: &[u8]) -> Result<(), StoreError> {
        self.records += 1;
        self.buffer.extend_from_slice(format!("{{\"kind\":\"{kind}\",\"record\":").as_bytes());
        self.buffer.extend_from_slice(json);
        self.line(b"}")
    }

    fn finish(mut self, path: &Path) -> Result<u64, StoreError> {
        self.drain()?;
        let blake3 = self.hasher.finalize().to_hex().to_string();
        self.json(&Trailer { end: self.records, blake3 })?;
        self.line(b"")?;
        self.drain()?;
        self.vfs.sync_file(&self.file).map_err(|e| StoreError::io("sync", &self.temp, e))?;
        self.vfs.rename(&self.temp, path).map_err(|e| StoreError::io("rename", &self.temp, e))?;
        let dir = path.parent().unwrap_or(Path::new("."));
        self.vfs.sync_dir(dir).map_err(|e| StoreError::io("sync", dir, e))?;
        Ok(self.records)
    }
}

/// Writes all records; damaged ones are left out and named.
fn write_records(
    core: &Core,
    vfs: &dyn Vfs,
    path: &Path,
    now: i64,
) -> Result<(u64, Vec<String>), StoreError> {
    let mut sink = Sink::new(vfs, path, now, core.meta.seq()?)?;
    let mut damaged = Vec::new();
    let mut entries = core.meta.records.iter();
    while let Some((key, value)) = guarded(|| entries.next().transpose())? {
        let opened = open_value(&key, &value, &core.blobs)
            .and_then(|(_, json, _)| Ok((facts_of(&key, &json)?.0, json)));
        match opened {
            Ok((kind, json)) => sink.record(kind.name(), &json)?,
            Err(StoreError::Corrupt(c)) => damaged.push(c.what().to_owned()),
            Err(e) => return Err(e),
        }
    }
    Ok((sink.finish(path)?, damaged))
}

impl Store {
    /// Writes an export of all records into the data folder and drops all but the last two. The blobs
    /// lie beside it already. Commits wait meanwhile (some milliseconds per thousand records).
    ///
    /// # Errors
    /// `Io` when the disk does not take it.
    pub fn export(&self) -> Result<ExportReport, StoreError> {
        let now = self.clock().unix_micros();
        let dir = self.dir().join("exports");
        let path = dir.join(format!("{now:020}.jsonl"));
        let core = self.core();
        core.vfs.create_dir(&dir).map_err(|e| StoreError::io("create", &dir, e))?;
        core.vfs.sync_dir(&core.dir).map_err(|e| StoreError::io("sync", &core.dir, e))?;
        let to = path.clone();
        let (records, damaged) =
            self.exclusively(move |core| write_records(core, &*core.vfs, &to, now))?;
        let mut all = export_files(&dir)?;
        all.truncate(all.len().saturating_sub(EXPORTS_KEPT));
        for old in all {
            core.vfs.remove_file(&old).map_err(|e| StoreError::io("remove", &old, e))?;
        }
        Ok(ExportReport { path, records, damaged, blobs: 0 })
    }

    /// When the newest complete export in the data folder was made, unix microseconds.
    ///
    /// # Errors
    /// `Io` when the folder cannot be read.
    pub fn exported_at(&self) -> Result<Option<i64>, StoreError> {
        Ok(newest(self.dir())?.map(|f| f.created_at))
    }

    /// Writes all records and durable blobs into the folder `to`, which must be absent or empty; it is
    /// all that [`Store::import`] needs.
    ///
    /// # Errors
    /// `Export` when the folder holds something, `Corrupt` when a blob is damaged, `Io` otherwise.
    pub fn export_to(&self, to: &Path) -> Result<ExportReport, StoreError> {
        OsVfs.create_dir(to).map_err(|e| StoreError::io("create", to, e))?;
        let mut listing = fs::read_dir(to).map_err(|e| StoreError::io("list", to, e))?;
        if listing.next().is_some() {
            let detail = "the folder is not empty".to_owned();
            return Err(StoreError::Export { path: to.to_owned(), detail });
        }
        let now = self.clock().unix_micros();
        let path = to.join(RECORDS_FILE);
        let target = path.clone();
        // Blobs are immutable and a fresh orphan outlives the copy by the sweep's grace.
        let (records, damaged, blobs) = self.exclusively(move |core| {
            let (records, damaged) = write_records(core, &OsVfs, &target, now)?;
            Ok((records, damaged, referenced(core)?))
        })?;
        let dir = to.join("blobs");
        OsVfs.create_dir(&dir).map_err(|e| StoreError::io("create", &dir, e))?;
        for blob in &blobs {
            let mut from = self.blobs().open_verified(blob)?;
            let file = dir.join(blob.hash.to_string());
            let fail = |e| StoreError::io("copy to", &file, e);
            let mut out = OsVfs.create(&file).map_err(fail)?;
            io::copy(&mut from, &mut out).map_err(fail)?;
            OsVfs.sync_file(&out).map_err(fail)?;
        }
        for d in [dir.as_path(), to] {
            OsVfs.sync_dir(d).map_err(|e| StoreError::io("sync", d, e))?;
        }
        Ok(ExportReport { path, records, damaged, blobs: blobs.len() as u64 })
    }

    /// Reads an export made by [`Store::export_to`] into this store. Records that exist are replaced.
    ///
    /// # Errors
    /// `Export` when it is not complete; nothing is changed then.
    pub fn import(&self, from: &Path) -> Result<ImportReport, StoreError> {
        let found = verified(from)?;
        let dir = from.join("blobs");
        let mut blobs = 0;
        for entry in fs::read_dir(&dir).map_err(|e| StoreError::io("list", &dir, e))? {
            let path = entry.map_err(|e| StoreError::io("list", &dir, e))?.path();
            let mut file = File::open(&path).map_err(|e| StoreError::io("open", &path, e))?;
            let mut writer = self.blobs().writer()?;
            io::copy(&mut file, &mut writer).map_err(|e| StoreError::io("copy", &path, e))?;
            let blob = writer.finish()?;
            if path.file_name().is_none_or(|n| *n != *blob.hash.to_string()) {
                let detail = "its content does not match its name".to_owned();
                return Err(StoreError::Export { path, detail });
            }
            blobs += 1;
        }
        let mut records = 0;
        each_batch(&found, &mut |batch| {
            records += batch.ops.len() as u64;
            self.commit(batch)
        })?;
        Ok(ImportReport { records, blobs })
    }
}

/// Checks that `from` is a whole export that [`Store::import`] can read.
///
/// # Errors
/// [`StoreError::Export`] when it is absent, no folder, or not whole.
pub fn check_export(from: &Path) -> Result<(), StoreError> {
    verified(from).map(|_| ())
}

fn verified(from: &Path) -> Result<Found, StoreError> {
    let refuse = |detail: &str| StoreError::Export { path: from.to_owned(), detail: detail.into() };
    if !from.exists() {
        return Err(refuse("there is no such folder"));
    }
    let records = from.join(RECORDS_FILE);
    if !from.is_dir() || !records.is_file() || !from.join("blobs").is_dir() {
        return Err(refuse("it is not a folder that `graphlume export` wrote"));
    }
    verify(&records)
}

/// Durable blobs that records need.
fn referenced(core: &Core) -> Result<Vec<BlobRef>, StoreError> {
    let mut out = Vec::new();
    core.blobs.walk(&mut |blob, _| {
        if blob.class == BlobClass::Durable && core.meta.is_referenced(&blob)? {
            out.push(blob);
        }
        Ok(())
    })?;
    Ok(out)
}

fn export_files(dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let listing = match fs::read_dir(dir) {
        Ok(l) => l,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(StoreError::io("list", dir, e)),
    };
    let mut out: Vec<_> = listing
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|x| x == "jsonl"))
        .collect();
    out.sort();
    Ok(out)
}

/// The newest export in a data folder that is whole. Broken ones are passed over.
pub(crate) fn newest(dir: &Path) -> Result<Option<Found>, StoreError> {
    for path in export_files(&dir.join("exports"))?.into_iter().rev() {
        match verify(&path) {
            Ok(found) => return Ok(Some(found)),
            Err(e) => tracing::error!(path = %path.display(), error = %e, "an export is unusable"),
        }
    }
    Ok(None)
}

fn verify(path: &Path) -> Result<Found, StoreError> {
    let broken = |detail: &str| StoreError::Export { path: path.to_owned(), detail: detail.into() };
    let fail = |e| StoreError::io("read", path, e);
    let mut reader = BufReader::new(File::open(path).map_err(fail)?);
    let mut hasher = blake3::Hasher::new();
    let mut line = Vec::new();
    let mut header: Option<Header> = None;
    let mut lines = 0u64;
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).map_err(fail)? == 0 {
            return Err(broken("its end is missing"));
        }
        if line.starts_with(b"{\"end\":") {
            break;
        }
        hasher.update(&line);
        if header.is_none() {
            let h: Header =
                serde_json::from_slice(&line).map_err(|_| broken("it does not begin as one"))?;
            if h.graphlume_export != VERSION {
                return Err(broken("a newer version wrote it"));
            }
            header = Some(h);
        } else {
            lines += 1;
        }
    }
    let trailer: Trailer =
        serde_json::from_slice(&line).map_err(|_| broken("its end is damaged"))?;
    let header = header.ok_or_else(|| broken("it does not begin as one"))?;
    if trailer.end != lines || trailer.blake3 != hasher.finalize().to_hex().as_str() {
        return Err(broken("its checksum does not match"));
    }
    let Header { created_at, seq, .. } = header;
    Ok(Found { path: path.to_owned(), created_at, seq, records: lines })
}

/// Hands the records of a verified export to `sink` in batches.
fn each_batch(
    found: &Found,
    sink: &mut dyn FnMut(Batch) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let path = &found.path;
    let broken = |detail: String| StoreError::Export { path: path.clone(), detail };
    let file = File::open(path).map_err(|e| StoreError::io("open", path, e))?;
    let mut batch = Batch::new();
    for line in BufReader::new(file).split(b'\n').skip(1) {
        let line = line.map_err(|e| StoreError::io("read", path, e))?;
        if line.starts_with(b"{\"end\":") {
            break;
        }
        let line: Line = serde_json::from_slice(&line).map_err(|e| broken(e.to_string()))?;
        let row = row_of_name(&line.kind)
            .ok_or_else(|| broken(format!("records of kind {:?} are unknown", line.kind)))?;
        let json = serde_json::to_vec(&line.record).map_err(|e| broken(e.to_string()))?;
        let facts = (row.facts)(&json).map_err(|e| broken(e.to_string()))?;
        batch.push_raw(row.kind, Expect::Anything, Change::Put { json, facts: Box::new(facts) });
        if batch.ops.len() == IMPORT_CHUNK {
            sink(std::mem::take(&mut batch))?;
        }
    }
    if batch.is_empty() { Ok(()) } else { sink(batch) }
}

/// Fills a store that is being made. Blobs are not asked for: that one of them is absent shall not
/// keep the records from coming back; the self-check names it.
pub(crate) fn load(meta: &Meta, blobs: &Blobs, found: &Found) -> Result<(), StoreError> {
    each_batch(found, &mut |mut batch| {
        if let Some(e) = batch.error.take() {
            return Err(e);
        }
        let overflow = writer::write_overflow(blobs, &batch)?;
        meta.apply(&batch.ops, &overflow, blobs, false).map(drop)
    })
}
