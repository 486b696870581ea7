//! A copy of the record store, for those who only look. The engine has no way of opening a store without writing: it
//! cuts off what a crash left at the end of its log and writes down where things lie. Done in a copy, the data folder
//! stays as it is, and a disk that is full does not matter.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use graphlume_types::id;

use crate::commit_marker::CommitMarker;
use crate::engine_conf;
use crate::error::StoreError;
use crate::meta::{self, Meta};

/// Bytes that opening a copy may add to it, beside a quarter of its size.
const GROWTH_BYTES: u64 = 8 << 20;

/// A folder for a copy; removed when dropped. The engine keeps its files open, so that a copy that was opened needs no
/// name any more.
pub(crate) struct Copied(PathBuf);

impl Drop for Copied {
    fn drop(&mut self) {
        if let Err(e) = fs::remove_dir_all(&self.0) {
            tracing::warn!(path = %self.0.display(), error = %e, "a copy of the record store was left behind");
        }
    }
}

impl Copied {
    /// Opens the records of the data folder `dir` in a copy of `store`. Damage that a start would mend is mended in the
    /// copy. No process writes meanwhile.
    ///
    /// # Errors
    /// `Corrupt` as [`Meta::open`], `Reading` when there is no room for a copy anywhere.
    pub fn open(dir: &Path, store: &Path) -> Result<Meta, StoreError> {
        let mut copy = Self::of(store)?;
        let mut opened = Meta::open(&copy.0).and_then(checked);
        if opened.as_ref().is_err_and(StoreError::is_corrupt) {
            drop(copy);
            copy = Self::of(store)?;
            engine_conf::put_back(dir, &copy.0)?;
            opened = Meta::open(&copy.0).and_then(checked);
        }
        if opened.as_ref().is_err_and(StoreError::is_corrupt) {
            drop(copy);
            let read = Self::from_log(store)?;
            let seq = read.seq()?;
            if seq > 0 && seq >= CommitMarker::read(dir) {
                return Ok(read);
            }
        }
        opened
    }

    /// Opens a copy of `store` from its log alone, without the snapshots that say where its pages lie.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn from_log(store: &Path) -> Result<Meta, StoreError> {
        let copy = Self::of(store)?;
        for snapshot in meta::snapshots(&copy.0)? {
            fs::remove_file(&snapshot).map_err(|e| StoreError::io("remove", &snapshot, e))?;
        }
        Meta::open(&copy.0).and_then(checked)
    }

    /// Whether `store` is a record store of ours, as far as it can be read.
    ///
    /// # Errors
    /// `Reading` when there is no room for a copy anywhere.
    pub fn is_ours(store: &Path) -> Result<bool, StoreError> {
        let copy = Self::of(store)?;
        Ok(Meta::is_in(&copy.0).unwrap_or(false))
    }

    fn of(store: &Path) -> Result<Self, StoreError> {
        let bytes = size_of(store).map_err(|e| StoreError::io("measure", store, e))?;
        let need = bytes + bytes / 4 + GROWTH_BYTES;
        let mut why = String::new();
        for place in [std::env::temp_dir(), "/dev/shm".into(), "/var/tmp".into()] {
            let free = rustix::fs::statvfs(&place).map(|s| s.f_bavail.saturating_mul(s.f_frsize));
            let shown = place.display();
            match free {
                Ok(free) if free >= need => {}
                Ok(free) => {
                    why.push_str(&format!("{shown} has {} MiB free; ", free >> 20));
                    continue;
                }
                Err(e) => {
                    why.push_str(&format!("{shown}: {e}; "));
                    continue;
                }
            }
            let name = id::hex(&id::random_bytes::<8>());
            let to = place.join(format!("graphlume-reads-{name}"));
            let made = DirBuilder::new().mode(0o700).create(&to);
            let copied = made.and_then(|()| {
                let copy = Self(to);
                copy_into(store, &copy.0).map(|()| copy)
            });
            match copied {
                Ok(copy) => return Ok(copy),
                Err(e) => why.push_str(&format!("{shown}: {e}; ")),
            }
        }
        Err(StoreError::Reading { dir: store.to_owned(), need, why })
    }
}

/// A start reads this much, too, so that both find the same damage.
fn checked(meta: Meta) -> Result<Meta, StoreError> {
    meta.seq()?;
    Ok(meta)
}

/// What belongs to a store: not what was never finished.
fn parts(store: &Path) -> std::io::Result<Vec<fs::DirEntry>> {
    let entries = fs::read_dir(store)?.collect::<Result<Vec<_>, _>>()?;
    Ok(entries.into_iter().filter(|e| !meta::is_unfinished(&e.file_name())).collect())
}

fn size_of(store: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in parts(store)? {
        let about = entry.metadata()?;
        bytes += if about.is_dir() { size_of(&entry.path())? } else { about.len() };
    }
    Ok(bytes)
}

fn copy_into(store: &Path, to: &Path) -> std::io::Result<()> {
    for entry in parts(store)? {
        let target = to.join(entry.file_name());
        let about = entry.metadata()?;
        if about.is_dir() {
            DirBuilder::new().mode(0o700).create(&target)?;
            copy_into(&entry.path(), &target)?;
        } else if about.is_file() {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
