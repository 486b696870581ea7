//! Export files: records as lines of JSON between a header and a checksum, written, verified and read.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::batch::{Batch, Change, Expect};
use crate::blob::Blobs;
use crate::error::StoreError;
use crate::meta::Meta;
use crate::record::row_of_name;
use crate::vfs::{self, Vfs};
use crate::writer;

/// Records of one import transaction.
const IMPORT_CHUNK: usize = 256;
const VERSION: u64 = 1;
/// The records of an export in a folder of its own.
pub(crate) const RECORDS_FILE: &str = "records.jsonl";

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
pub(crate) struct Sink<'a> {
    vfs: &'a dyn Vfs,
    temp: PathBuf,
    file: File,
    buffer: Vec<u8>,
    hasher: blake3::Hasher,
    records: u64,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(
        vfs: &'a dyn Vfs,
        path: &Path,
        created_at: i64,
        seq: u64,
    ) -> Result<Self, StoreError> {
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

    pub(crate) fn record(&mut self, kind: &str, json: &[u8]) -> Result<(), StoreError> {
        self.records += 1;
        self.buffer.extend_from_slice(format!("{{\"kind\":\"{kind}\",\"record\":").as_bytes());
        self.buffer.extend_from_slice(json);
        self.line(b"}")
    }

    pub(crate) fn finish(mut self, path: &Path) -> Result<u64, StoreError> {
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

/// Checks that `file` is a whole export that [`crate::Store::import`] can read.
///
/// # Errors
/// [`StoreError::Export`] when it is absent, no folder, or not whole.
pub fn check_export(file: &Path) -> Result<(), StoreError> {
    verified(file).map(|_| ())
}

/// A whole export of a folder.
pub(crate) fn verified(file: &Path) -> Result<Found, StoreError> {
    let refuse = |detail: &str| StoreError::Export { path: file.to_owned(), detail: detail.into() };
    if !file.exists() {
        return Err(refuse("there is no such folder"));
    }
    let records = file.join(RECORDS_FILE);
    if !file.is_dir() || !records.is_file() || !file.join("blobs").is_dir() {
        return Err(refuse("it is not a folder that `graphlume export` wrote"));
    }
    verify(&records)
}

/// The exports in a folder, oldest first.
pub(crate) fn export_files(dir: &Path) -> Result<Vec<PathBuf>, StoreError> {
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
pub(crate) fn each_batch(
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
