//! The number of the last durable group of commits, in a file beside the engine.
//!
//! The engine takes a damaged record at the end of its log for a write that a crash cut short, and
//! silently begins before it. With this file the loss is noticed. It is written after each sync and not
//! synced itself: after a power cut it may be old, never too new. Behind the number stands what tells a data folder from
//! any other folder, written and synced once.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::error::StoreError;

const BYTES: usize = 24;
/// What stands behind the number. Earlier versions wrote none, and read no further than the number.
const MAGIC: &[u8; 16] = b"graphlume data 1";
/// More than any mark has.
const BYTES_MAX: u64 = 4_096;

/// The number that `bytes` begin with; none when they are torn or are no mark.
fn number(bytes: &[u8]) -> Option<u64> {
    let bytes = bytes.get(..BYTES)?;
    let seq = u64::from_be_bytes(std::array::from_fn(|i| bytes[i]));
    (bytes == encode(seq)).then_some(seq)
}

pub(crate) struct CommitMarker {
    /// None for those who only look.
    file: Option<File>,
}

fn encode(seq: u64) -> [u8; BYTES] {
    let mut out = [0u8; BYTES];
    out[..8].copy_from_slice(&seq.to_be_bytes());
    out[8..].copy_from_slice(&blake3::hash(&seq.to_be_bytes()).as_bytes()[..16]);
    out
}

impl CommitMarker {
    pub fn path(dir: &Path) -> PathBuf {
        dir.join("mark")
    }

    /// A mark that is never set.
    pub const fn unset() -> Self {
        Self { file: None }
    }

    /// Whether the folder has a mark that we wrote, of this version or of an earlier one.
    pub fn is_ours(dir: &Path) -> bool {
        let path = Self::path(dir);
        let is_small =
            fs::symlink_metadata(&path).is_ok_and(|m| m.is_file() && m.len() <= BYTES_MAX);
        let bytes = if is_small { fs::read(&path).unwrap_or_default() } else { Vec::new() };
        bytes.get(BYTES..).is_some_and(|rest| rest.starts_with(MAGIC)) || number(&bytes).is_some()
    }

    /// The number in the file, for those who only look; 0 as in [`Self::open`].
    pub fn read(dir: &Path) -> u64 {
        fs::read(Self::path(dir)).ok().and_then(|bytes| number(&bytes)).unwrap_or(0)
    }

    /// Opens or makes the file. Gives the number in it; 0 when there is none or it is torn.
    pub fn open(dir: &Path) -> Result<(Self, u64), StoreError> {
        let path = Self::path(dir);
        let fail = |e| StoreError::io("open", &path, e);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&path).map_err(fail)?;
        let mut bytes = [0u8; BYTES];
        let seq = match file.read_exact_at(&mut bytes, 0) {
            Ok(()) => number(&bytes).unwrap_or(0),
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                file.write_all_at(&encode(0), 0).map_err(fail)?;
                0
            }
            Err(e) => return Err(fail(e)),
        };
        let mut magic = [0u8; MAGIC.len()];
        let is_marked = file.read_exact_at(&mut magic, BYTES as u64).is_ok() && magic == *MAGIC;
        if !is_marked {
            file.write_all_at(MAGIC, BYTES as u64).and_then(|()| file.sync_all()).map_err(fail)?;
        }
        Ok((Self { file: Some(file) }, seq))
    }

    /// Notes that everything up to group `seq` is durable.
    pub fn set(&self, seq: u64) {
        // A failure leaves an older number, which is always right.
        let Some(file) = &self.file else { return };
        if let Err(e) = file.write_all_at(&encode(seq), 0) {
            tracing::warn!(error = %e, "the mark of the last commit could not be written");
        }
    }
}
