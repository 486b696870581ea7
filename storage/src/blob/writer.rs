//! Blobs on their way to the disk.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use graphlume_types::limits;

use super::{BlobClass, BlobHash, BlobRef, Blobs};
use crate::error::StoreError;
use crate::vfs;

/// Bytes written between two checks of the free space of the disk.
const SPACE_CHECK_BYTES: u64 = 64 << 20;
/// Bytes gathered before they are handed to the operating system.
pub(crate) const BUFFER_BYTES: usize = 256 << 10;

/// A blob being written. Nothing is visible before [`BlobWriter::finish`].
pub struct BlobWriter {
    blobs: Blobs,
    class: BlobClass,
    file: Option<File>,
    temp: PathBuf,
    buffer: Vec<u8>,
    hasher: blake3::Hasher,
    len: u64,
    limit: u64,
    next_space_check: u64,
    broken: bool,
}

impl Blobs {
    /// Begins a blob, when the disk has room.
    pub(super) fn start(&self, class: BlobClass) -> Result<BlobWriter, StoreError> {
        self.inner.poison.check()?;
        self.check_space()?;
        let temp = self.temp_path();
        let file = self.inner.vfs.create(&temp).map_err(|e| StoreError::io("create", &temp, e))?;
        Ok(BlobWriter {
            blobs: self.clone(),
            class,
            file: Some(file),
            temp,
            buffer: Vec::new(),
            hasher: blake3::Hasher::new(),
            len: 0,
            limit: limits::DECOMPRESSED_BYTES_MAX,
            next_space_check: SPACE_CHECK_BYTES,
            broken: false,
        })
    }
}

impl BlobWriter {
    /// Refuses more than `bytes` bytes.
    #[must_use]
    pub fn limit(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// Bytes taken so far.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.len
    }

    /// The bytes so far, for reading; they stay readable whatever becomes of the blob.
    ///
    /// # Errors
    /// As [`BlobWriter::put`].
    pub fn reader(&mut self) -> Result<File, StoreError> {
        self.drain().inspect_err(|_| self.broken = true)?;
        File::open(&self.temp).map_err(|e| StoreError::io("open", &self.temp, e))
    }

    /// Appends `bytes`.
    ///
    /// # Errors
    /// `TooLarge` past the limit, `Full` when the disk runs short, `Io` otherwise. After an error the
    /// writer only refuses.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let result = self.try_put(bytes);
        self.broken |= result.is_err();
        result
    }

    fn try_put(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        if self.broken {
            return Err(StoreError::Closed);
        }
        let len = self.len + bytes.len() as u64;
        if len > self.limit {
            return Err(StoreError::TooLarge { what: "the data", limit: self.limit });
        }
        if len >= self.next_space_check {
            self.blobs.check_space()?;
            self.next_space_check = len + SPACE_CHECK_BYTES;
        }
        self.len = len;
        self.hasher.update(bytes);
        if self.buffer.len() + bytes.len() < BUFFER_BYTES {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.drain()?;
        if bytes.len() >= BUFFER_BYTES {
            return self.write_through(bytes);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn drain(&mut self) -> Result<(), StoreError> {
        let buffer = std::mem::take(&mut self.buffer);
        let result = self.write_through(&buffer);
        self.buffer = buffer;
        self.buffer.clear();
        result
    }

    fn write_through(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let file = self.file.as_mut().ok_or(StoreError::Closed)?;
        vfs::write_all(&*self.blobs.inner.vfs, file, bytes)
            .map_err(|e| StoreError::io("write", &self.temp, e))
    }

    /// Makes the blob durable (unless derived) and visible.
    ///
    /// # Errors
    /// As [`BlobWriter::put`]; nothing is visible then.
    pub fn finish(mut self) -> Result<BlobRef, StoreError> {
        if self.broken {
            return Err(StoreError::Closed);
        }
        self.drain()?;
        let file = self.file.take().ok_or(StoreError::Closed)?;
        let vfs = Arc::clone(&self.blobs.inner.vfs);
        if self.class == BlobClass::Durable {
            // The file is thrown away after a failure, so that a full disk does no harm here; any
            // other failed sync means that the device can no longer be trusted.
            vfs.sync_file(&file).map_err(|e| {
                if !matches!(e.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
                    self.blobs.inner.poison.set_after("sync a blob", &e);
                }
                StoreError::io("sync", &self.temp, e)
            })?;
        }
        drop(file);
        self.blobs.inner.poison.check()?;
        let hash = BlobHash::of(&self.hasher);
        self.blobs
            .publish(self.class, &self.temp, hash)
            .map_err(|e| StoreError::io("publish", &self.temp, e))?;
        Ok(BlobRef { hash, len: self.len, class: self.class })
    }
}

impl Write for BlobWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.put(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.drain().map_err(io::Error::other)
    }
}

impl Drop for BlobWriter {
    fn drop(&mut self) {
        // After a finish the file has moved away and there is nothing to remove. A failure leaves a
        // file in the temporary folder, which the next start empties.
        self.file.take();
        let _ = self.blobs.inner.vfs.remove_file(&self.temp);
    }
}
