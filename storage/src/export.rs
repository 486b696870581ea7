//! Logical export and import. The engine's own format is a dead end, and this is the way out of it.
//!
//! ```text
//! {"graphlume_export":1,"created_at":<unix microseconds>,"seq":<commit groups>}
//! {"kind":"file","record":{…}}            one line per record
//! {"end":<records>,"blake3":"<hex of all bytes before this line>"}
//! ```

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::blob::{BlobClass, BlobRef};
use crate::error::StoreError;
use crate::export_file::{RECORDS_FILE, Sink, each_batch, export_files, newest, verified};
use crate::meta::{facts_of, guarded, open_value};
use crate::store::Store;
use crate::vfs::{OsVfs, Vfs};
use crate::writer::Core;

/// Exports kept in the data folder.
const EXPORTS_KEPT: usize = 2;
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

/// Writes all records; damaged ones are left out and named.
fn write_records(
    state: &Core,
    vfs: &dyn Vfs,
    path: &Path,
    now: i64,
) -> Result<(u64, Vec<String>), StoreError> {
    let mut sink = Sink::new(vfs, path, now, state.meta.seq()?)?;
    let mut damaged = Vec::new();
    let mut entries = state.meta.records.iter();
    while let Some((key, value)) = guarded(|| entries.next().transpose())? {
        let opened = open_value(&key, &value, &state.blobs)
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

/// Durable blobs that records need.
fn referenced(state: &Core) -> Result<Vec<BlobRef>, StoreError> {
    let mut out = Vec::new();
    state.blobs.walk(&mut |blob, _| {
        if blob.class == BlobClass::Durable && state.meta.is_referenced(&blob)? {
            out.push(blob);
        }
        Ok(())
    })?;
    Ok(out)
}
