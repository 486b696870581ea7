//! Whose a folder is. A data folder is told by what only we write into it, never by the names in it: `store`, `tmp` and
//! `lock` are common names. It is asked before anything is opened, made or changed.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use crate::commit_marker::CommitMarker;
use crate::copied::Copied;
use crate::engine_conf;
use crate::error::StoreError;
use crate::folder::store_dir;

/// What the file `lock` begins with, so that a first start that was cut short is known for ours.
pub(crate) const LOCK_MAGIC: &[u8] = b"graphlume data folder\n";

/// Whose a folder is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FolderState {
    Absent,
    /// It holds nothing, or only the empty `lock` of a first start that got no further.
    Empty,
    Ours,
    /// With the name of something in it.
    Foreign(String),
}

/// Looks at `dir` and changes nothing.
///
/// # Errors
/// `Io` when it cannot be read.
pub(crate) fn state_of(dir: &Path) -> Result<FolderState, StoreError> {
    if !dir.exists() {
        return Ok(FolderState::Absent);
    }
    if CommitMarker::is_ours(dir) || begins_with(&dir.join("lock"), LOCK_MAGIC) {
        return Ok(FolderState::Ours);
    }
    let fail = |e| StoreError::io("list", dir, e);
    let mut names: Vec<OsString> = Vec::new();
    for entry in fs::read_dir(dir).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let name = entry.file_name();
        // What file systems themselves put into an empty folder, and a lock that nothing was written into yet.
        let is_begun =
            name == "lock" && entry.metadata().is_ok_and(|m| m.is_file() && m.len() == 0);
        if name != "lost+found" && !is_begun {
            names.push(name);
        }
    }
    names.sort();
    let Some(first) = names.first() else { return Ok(FolderState::Empty) };
    if is_unmarked_store(dir)? {
        return Ok(FolderState::Ours);
    }
    Ok(FolderState::Foreign(first.to_string_lossy().into_owned()))
}

/// Whether a folder without a mark, of an earlier version or after a power cut, holds a record store of ours: the
/// engine's settings, and in a copy of it the format number that we write.
fn is_unmarked_store(dir: &Path) -> Result<bool, StoreError> {
    let store = store_dir(dir);
    let has_conf = engine_conf::is_one(&store.join("conf"));
    if has_conf && store.join("db").is_file() { Copied::is_ours(&store) } else { Ok(false) }
}

fn begins_with(path: &Path, magic: &[u8]) -> bool {
    let read = || -> io::Result<bool> {
        if !fs::symlink_metadata(path)?.is_file() {
            return Ok(false);
        }
        let mut found = vec![0u8; magic.len()];
        File::open(path)?.read_exact(&mut found)?;
        Ok(found == magic)
    };
    read().unwrap_or(false)
}
