//! The disk of a data folder.

use std::fmt;

use crate::batch::Batch;
use crate::error::StoreError;
use crate::folder::damage_in;
use crate::open::Opened;
use crate::record::SettingRec;
use crate::store::Store;

const MIB: u64 = 1 << 20;
/// Setting with the names of all damage.
const DAMAGE: &str = "damage-found";

/// What is left of the disk, and what of it must stay free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disk {
    /// Bytes that may still be written.
    pub free_bytes: u64,
    /// All bytes.
    pub total_bytes: u64,
    /// Files that may still be made; `None` where the file system has no such limit.
    pub free_files: Option<u64>,
    /// Free bytes below which no upload is taken.
    pub upload_bytes_min: u64,
    /// Free bytes below which no record is written.
    pub commit_bytes_min: u64,
}

/// Files below which uploads are in danger: one may make several.
const FREE_FILES_MIN: u64 = 1_000;

impl Disk {
    /// What is refused for lack of room, and how much must be made; `None` while there is enough.
    #[must_use]
    pub fn want(&self) -> Option<String> {
        let refused = if self.free_bytes < self.commit_bytes_min {
            Some(("nothing is written", self.commit_bytes_min))
        } else if self.free_bytes < self.upload_bytes_min {
            Some(("uploads are refused", self.upload_bytes_min))
        } else {
            None
        };
        if let Some((what, min)) = refused {
            let need = (self.upload_bytes_min.max(min) - self.free_bytes).div_ceil(MIB);
            return Some(format!(
                "{what}, because the disk has {} MiB free and {} must stay free: make {need} MiB free",
                self.free_bytes / MIB,
                min / MIB
            ));
        }
        self.free_files.filter(|free| *free < FREE_FILES_MIN).map(|free| {
            format!("the file system has room for {free} more files: remove files, or make it with more inodes")
        })
    }
}

impl fmt::Display for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} MiB free", self.free_bytes / MIB, self.total_bytes / MIB)?;
        self.free_files.map_or(Ok(()), |files| write!(f, ", room for {files} files"))
    }
}

impl Store {
    /// The disk of the data folder as it is now.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the system does not tell.
    pub fn disk(&self) -> Result<Disk, StoreError> {
        let core = self.core();
        let measured = |e| StoreError::io("measure", &core.dir, e);
        let s = rustix::fs::statvfs(&core.dir).map_err(|e| measured(e.into()))?;
        Ok(Disk {
            free_bytes: core.vfs.free_bytes(&core.dir).map_err(measured)?,
            total_bytes: s.f_blocks.saturating_mul(s.f_frsize),
            free_files: (s.f_files > 0).then_some(s.f_favail),
            upload_bytes_min: core.blobs.free_bytes_min(),
            commit_bytes_min: core.free_bytes_min,
        })
    }

    /// Names of what was set aside because records were lost: damaged stores, and marks of commits that are gone. They
    /// stay when what they name is removed.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the folder cannot be read; a damaged record.
    pub fn damage(&self) -> Result<Vec<String>, StoreError> {
        let written = self.get::<SettingRec>(&DAMAGE.to_owned())?.map(|s| s.value);
        let mut names: Vec<String> =
            written.and_then(|v| serde_json::from_value(v).ok()).unwrap_or_default();
        names.extend(damage_in(&self.core().dir)?);
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// Writes down what this opening set aside: an operator who removes the damaged files must not remove the trace of what was
    /// lost with them.
    pub(crate) fn write_damage_down(&self) {
        if matches!(self.opened(), Opened::Fresh | Opened::Existing) {
            return;
        }
        let written = self.damage().and_then(|names| {
            let value = serde_json::json!(names);
            self.commit(Batch::new().put(&SettingRec { name: DAMAGE.to_owned(), value }))
        });
        if let Err(e) = written {
            tracing::error!(error = %e, "that records were lost could not be written down; leave what was set aside in place");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_says_how_much_to_make_free() {
        let disk = Disk {
            free_bytes: 500 * MIB,
            total_bytes: 1_000 * MIB,
            free_files: None,
            upload_bytes_min: 64 * MIB,
            commit_bytes_min: 8 * MIB,
        };
        assert_eq!((disk.want(), disk.to_string()), (None, "500 of 1000 MiB free".to_owned()));
        let want = |free, files| Disk { free_bytes: free * MIB, free_files: files, ..disk }.want();
        let uploads = want(60, None).unwrap_or_default();
        assert!(
            uploads.starts_with("uploads are refused") && uploads.ends_with("make 4 MiB free"),
            "{uploads}"
        );
        let all = want(1, Some(0)).unwrap_or_default();
        assert!(
            all.starts_with("nothing is written") && all.ends_with("make 63 MiB free"),
            "{all}"
        );
        assert!(want(500, Some(7)).is_some_and(|w| w.contains("room for 7 more files")));
        assert_eq!(want(500, Some(1_000_000)), None);
    }
}
