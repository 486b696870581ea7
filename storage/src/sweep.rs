//! Removes blobs that no record needs.

use std::time::Duration;

use crate::blob::BlobRef;
use crate::error::StoreError;
use crate::index;
use crate::meta::{Meta, guarded};
use crate::open::holds_back;
use crate::store::Store;

/// Blobs looked at in one turn of the writer.
const CHUNK: usize = 256;

/// What a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweepReport {
    /// Blobs removed.
    pub removed: u64,
    /// Their bytes.
    pub removed_bytes: u64,
    /// Blobs kept.
    pub kept: u64,
    /// Nothing was removed because records were lost that may need these blobs, as a `store.damaged-*`
    /// folder or a `mark.lost-*` file tells. Remove it once the blobs are not needed any more.
    pub held_back: bool,
}

impl Meta {
    /// Whether a record needs this blob.
    pub(crate) fn is_referenced(&self, blob: &BlobRef) -> Result<bool, StoreError> {
        let prefix = index::blob_prefix(blob);
        Ok(guarded(|| self.index.scan_prefix(prefix).next().transpose())?.is_some())
    }
}

impl Store {
    /// Removes every blob that no record refers to and that was last written more than `grace` ago. The
    /// grace covers an upload between its blob and its record.
    ///
    /// The decision and the removal happen on the writer thread, so that no commit can begin to refer
    /// to a blob in between.
    ///
    /// # Errors
    /// `Io` when a folder cannot be read or a file not be removed.
    pub fn sweep(&self, grace: Duration) -> Result<SweepReport, StoreError> {
        let mut report = SweepReport::default();
        if holds_back(self.dir())? {
            report.held_back = true;
            return Ok(report);
        }
        let grace = i64::try_from(grace.as_micros()).unwrap_or(i64::MAX);
        let before = self.clock().unix_micros().saturating_sub(grace);
        let mut old = Vec::new();
        self.blobs().walk(&mut |blob, written_at| {
            if written_at < before {
                old.push(blob);
            } else {
                report.kept += 1;
            }
            Ok(())
        })?;
        for chunk in old.chunks(CHUNK) {
            let chunk = chunk.to_vec();
            let removed = self.exclusively(move |core| {
                let mut removed = Vec::new();
                for blob in chunk {
                    // Another upload may have written the same content again a moment ago.
                    let fresh = core.blobs.written_at(&blob).is_none_or(|at| at >= before);
                    if !fresh && !core.meta.is_referenced(&blob)? {
                        core.blobs.remove(&blob)?;
                        removed.push(blob.len);
                    }
                }
                Ok(removed)
            })?;
            report.removed += removed.len() as u64;
            report.removed_bytes += removed.iter().sum::<u64>();
        }
        report.kept += old.len() as u64 - report.removed;
        Ok(report)
    }
}
