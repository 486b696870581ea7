//! Options of opening a store, and the state in which it was found.

use std::path::PathBuf;
use std::sync::Arc;

use graphlume_types::{Clock, SystemClock, limits};

#[cfg(any(test, feature = "testing"))]
use crate::vfs;
use crate::vfs::{OsVfs, Vfs};

/// How to open a store.
#[derive(Clone)]
pub struct Options {
    /// Where times come from.
    pub clock: Arc<dyn Clock>,
    /// Free bytes of the disk below which no upload is taken.
    pub free_bytes_upload_min: u64,
    /// Free bytes of the disk below which no commit is taken.
    pub free_bytes_commit_min: u64,
    /// Whether a data folder may be made where there is none, or an empty folder.
    pub make: bool,
    /// Whether nothing in the folder may change, not even by the opening.
    pub only_reads: bool,
    pub(crate) vfs: Arc<dyn Vfs>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            free_bytes_upload_min: limits::DISK_FREE_UPLOAD_BYTES_MIN,
            free_bytes_commit_min: limits::DISK_FREE_COMMIT_BYTES_MIN,
            make: true,
            only_reads: false,
            vfs: Arc::new(OsVfs),
        }
    }
}

impl Options {
    /// Options with this clock.
    #[must_use]
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..Self::default() }
    }

    /// The same for a folder that must be there: nothing is made.
    #[must_use]
    pub fn existing(self) -> Self {
        Self { make: false, ..self }
    }

    /// The same for one who only looks: the record store is read in a copy of it, beside others who only look, and the
    /// folder stays as it is.
    #[must_use]
    pub fn only_reading(self) -> Self {
        Self { make: false, only_reads: true, ..self }
    }

    /// Lets `plan` disturb the file system.
    #[cfg(any(test, feature = "testing"))]
    #[must_use]
    pub fn with_faults(mut self, plan: &vfs::FaultPlan) -> Self {
        self.vfs = Arc::new(plan.clone());
        self
    }
}

/// How a store was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    /// The folder held none; an empty one was made.
    Fresh,
    /// It was there.
    Existing,
    /// The record store was damaged and was rebuilt. Whatever was committed after the export is not in
    /// the new one; its blobs are kept as long as the damaged folder stands.
    Rebuilt {
        /// Where the damaged store lies.
        moved_to: PathBuf,
        /// The export that was read.
        export: PathBuf,
        /// When it was made, unix microseconds.
        exported_at: i64,
        /// Records in it.
        records: u64,
    },
    /// The end of the record store was damaged and the engine began before it: the last commits are
    /// gone. Blobs are kept as long as the file `note` stands.
    Truncated {
        /// Groups of commits that were durable and are gone.
        groups_lost: u64,
        /// A file that holds the number of the last one.
        note: PathBuf,
    },
}
