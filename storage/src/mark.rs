//! The number of the last durable group of commits, in a file beside the engine.
//!
//! The engine takes a damaged record at the end of its log for a write that a crash cut short, and
//! silently begins before it. With this file the loss is noticed. It is written after each sync and not
//! synced itself: after a power cut it may be old, never too new.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::error::StoreError;

const BYTES: usize = 24;

pub(crate) struct Mark {
    file: File,
}

fn encode(seq: u64) -> [u8; BYTES] {
    let mut out = [0u8; BYTES];
    out[..8].copy_from_slice(&seq.to_be_bytes());
    out[8..].copy_from_slice(&blake3::hash(&seq.to_be_bytes()).as_bytes()[..16]);
    out
}

impl Mark {
    pub fn path(dir: &Path) -> PathBuf {
        dir.join("mark")
    }

    /// Opens or makes the file. Gives the number in it; 0 when there is none or it is torn.
    pub fn open(dir: &Path) -> Result<(Self, u64), StoreError> {
        let path = Self::path(dir);
        let fail = |e| StoreError::io("open", &path, e);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&path).map_err(fail)?;
        let mut bytes = [0u8; BYTES];
        let seq = match file.read_exact_at(&mut bytes, 0) {
            Ok(()) => {
                let seq = u64::from_be_bytes(std::array::from_fn(|i| bytes[i]));
                if bytes == encode(seq) { seq } else { 0 }
            }
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                file.write_all(&encode(0)).map_err(fail)?;
                0
            }
            Err(e) => return Err(fail(e)),
        };
        Ok((Self { file }, seq))
    }

    /// Notes that everything up to group `seq` is durable.
    pub fn set(&self, seq: u64) {
        // A failure leaves an older number, which is always right.
        if let Err(e) = self.file.write_all_at(&encode(seq), 0) {
            tracing::warn!(error = %e, "the mark of the last commit could not be written");
        }
    }
}
