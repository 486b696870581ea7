//! A copy of the record engine's `conf`.
//!
//! The engine writes these few bytes once, when a store is made, and cannot read a store without them. With a copy, a
//! damaged one costs nothing; without, every record since the last export would be lost.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::error::StoreError;

/// The largest `conf` that is copied; the engine's has some sixty bytes.
const CONF_BYTES_MAX: u64 = 4_096;

fn original(store: &Path) -> PathBuf {
    store.join("conf")
}

fn copy(dir: &Path) -> PathBuf {
    dir.join("store.conf")
}

/// Whether a file is such a `conf`: what the engine writes first into every one.
pub(crate) fn is_one(path: &Path) -> bool {
    let is_small =
        fs::symlink_metadata(path).is_ok_and(|m| m.is_file() && m.len() <= CONF_BYTES_MAX);
    is_small && fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"segment_size: "))
}

/// Copies the `conf` of a store that was just opened. Without a copy the server works as well, so that a failure is
/// told in the log alone.
pub(crate) fn keep(dir: &Path, store: &Path) {
    let (from, to) = (original(store), copy(dir));
    let kept = fs::read(&from).and_then(|now| {
        if fs::read(&to).is_ok_and(|old| old == now) { Ok(()) } else { write(&to, &now) }
    });
    if let Err(e) = kept {
        tracing::warn!(path = %to.display(), error = %e, "the record engine's settings were not copied");
    }
}

/// Puts the copy in the place of a `conf` that differs from it, for a store that could not be opened. Whether it did.
///
/// # Errors
/// The damaged file cannot be set aside, or the copy cannot be written.
pub(crate) fn put_back(dir: &Path, store: &Path) -> Result<bool, StoreError> {
    let (from, to) = (copy(dir), original(store));
    let good = match fs::metadata(&from) {
        Ok(m) if m.len() > 0 && m.len() <= CONF_BYTES_MAX => {
            fs::read(&from).map_err(|e| StoreError::io("read", &from, e))?
        }
        _ => return Ok(false),
    };
    if fs::read(&to).is_ok_and(|now| now == good) {
        return Ok(false);
    }
    tracing::error!(path = %to.display(), "the record engine's settings are damaged; their copy is put back");
    write(&to, &good).map_err(|e| StoreError::io("write", &to, e))?;
    Ok(true)
}

/// Writes a file whole or not at all.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // No name that the store's own files have: a crash may leave it behind.
    let new = path.with_extension("conf.new");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    path.parent().map_or(Ok(()), |dir| fs::File::open(dir)?.sync_all())
}
