//! Removes blobs that no record needs.

use std::time::Duration;

use crate::blob::BlobRef;
use crate::error::StoreError;
use crate::folder::holds_back;
use crate::index;
use crate::meta::{Meta, guarded};
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
            let done = self.exclusively(move |core| {
                let mut done = SweepReport::default();
                for blob in chunk {
                    // A commit may have removed what its record left, another upload written the same content again.
                    let Some(at) = core.blobs.written_at(&blob) else { continue };
                    if at >= before || core.meta.is_referenced(&blob)? {
                        done.kept += 1;
                    } else {
                        core.blobs.remove(&blob)?;
                        done.removed += 1;
                        done.removed_bytes += blob.len;
                    }
                }
                Ok(done)
            })?;
            report.kept += done.kept;
            report.removed += done.removed;
            report.removed_bytes += done.removed_bytes;
        }
        Ok(report)
    }
}
