//! Derived blobs that another process has written.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

use crate::blob::{BUFFER_BYTES, BlobClass, BlobHash, BlobRef, Blobs};
use crate::error::StoreError;

/// A file in the temporary folder that another process fills. Dropping it leaves nothing.
pub struct StagedBlob {
    pub(crate) blobs: Blobs,
    pub(crate) temp: PathBuf,
    pub(crate) file: Arc<File>,
}

/// A part of a draft that became a blob.
pub struct StagedBlobs {
    /// Its name.
    pub blob: BlobRef,
    /// Its content, when it was short enough to be kept.
    pub content: Option<Vec<u8>>,
}

impl Blobs {
    /// A file that another process fills and that becomes derived blobs.
    ///
    /// # Errors
    /// As [`Blobs::writer`].
    pub fn draft(&self) -> Result<StagedBlob, StoreError> {
        let (temp, file) = self.temp_file()?;
        Ok(StagedBlob { blobs: self.clone(), temp, file: Arc::new(file) })
    }
}

impl StagedBlob {
    /// The file to be filled.
    #[must_use]
    pub fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Makes blobs of `(offset, length)` parts. A part that is the whole file is not copied; content of up
    /// to `keep_max` bytes is handed back, so that it need not be read again.
    ///
    /// # Errors
    /// A part outside the file; `Full` when the disk runs short, `Io` otherwise.
    pub fn finish(
        self,
        parts: &[(u64, u64)],
        keep_max: u64,
    ) -> Result<Vec<StagedBlobs>, StoreError> {
        let len = self.file.metadata().map_err(|e| self.failed(e))?.len();
        if parts.iter().any(|(at, n)| at.checked_add(*n).is_none_or(|end| end > len)) {
            return Err(self.failed(io::Error::other("a part lies outside the file")));
        }
        match parts {
            [(0, n)] if *n == len => Ok(vec![self.publish(len, keep_max)?]),
            _ => parts.iter().map(|(at, n)| self.copy(*at, *n, keep_max)).collect(),
        }
    }

    fn failed(&self, e: io::Error) -> StoreError {
        StoreError::io("read", &self.temp, e)
    }

    fn publish(&self, len: u64, keep_max: u64) -> Result<StagedBlobs, StoreError> {
        let mut hasher = blake3::Hasher::new();
        let content = self.each(0, len, keep_max, |piece| {
            hasher.update(piece);
            Ok(())
        })?;
        let (class, hash) = (BlobClass::Derived, BlobHash::of(&hasher));
        self.blobs
            .publish(class, &self.temp, hash)
            .map_err(|e| StoreError::io("publish", &self.temp, e))?;
        Ok(StagedBlobs { blob: BlobRef { hash, len, class }, content })
    }

    fn copy(&self, offset: u64, len: u64, keep_max: u64) -> Result<StagedBlobs, StoreError> {
        let mut writer = self.blobs.derived()?;
        let content = self.each(offset, len, keep_max, |piece| writer.put(piece))?;
        Ok(StagedBlobs { blob: writer.finish()?, content })
    }

    /// Reads a part piece by piece, or in one piece when it is to be kept.
    fn each(
        &self,
        offset: u64,
        len: u64,
        keep_max: u64,
        mut take: impl FnMut(&[u8]) -> Result<(), StoreError>,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let mut file: &File = &self.file;
        file.seek(SeekFrom::Start(offset)).map_err(|e| self.failed(e))?;
        let kept = len <= keep_max;
        let step = if kept { len } else { len.min(BUFFER_BYTES as u64) };
        let mut buffer = vec![0; usize::try_from(step).unwrap_or(0)];
        let mut left = len;
        while left > 0 {
            let some = left.min(step);
            let piece = &mut buffer[..usize::try_from(some).unwrap_or(0)];
            file.read_exact(piece).map_err(|e| self.failed(e))?;
            take(piece)?;
            left -= some;
        }
        Ok(kept.then_some(buffer))
    }
}

impl Drop for StagedBlob {
    fn drop(&mut self) {
        // After a finish the file may have moved away, and then there is nothing to remove. A failure
        // leaves a file in the temporary folder, which the next start empties.
        let _ = std::fs::remove_file(&self.temp);
    }
}
