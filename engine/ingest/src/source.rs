//! The bytes of a source.

use std::fs::File;
use std::sync::Arc;

use bytes::Bytes;
use graphlume_types::limits::DECOMPRESSED_BYTES_MAX;
use memmap2::{Mmap, UncheckedAdvice};
use parking_lot::Mutex;

use crate::format::ZIP;
use crate::{Format, IngestError, Source};

/// The bytes of `source`: mapped for a path, shared for bytes.
pub fn open(source: &Source) -> Result<Bytes, IngestError> {
    let bytes = match source {
        Source::Bytes(bytes) => bytes.clone(),
        Source::Path(path) => map(&File::open(path)?)?,
        Source::File(file) => map(file)?,
    };
    if bytes.len() as u64 > DECOMPRESSED_BYTES_MAX {
        let len = bytes.len();
        let message = format!("the data has {len} bytes; the limit is {DECOMPRESSED_BYTES_MAX}");
        return Err(IngestError::too_large(message));
    }
    Ok(bytes)
}

/// The bytes of a file that is no longer written to.
pub fn map(file: &File) -> Result<Bytes, IngestError> {
    // An empty file cannot be mapped.
    if file.metadata()?.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the map is private and read-only, and the file does not change while it lives. Sources are
    // immutable by contract (`Source::Path`): uploads are written under a temporary name, renamed when
    // complete and never written again. A scratch file belongs to one parse, which has written it.
    let map = unsafe { Mmap::map(file)? };
    // A hint only: reading is mostly sequential. A kernel that refuses it changes nothing.
    let _ = map.advise(memmap2::Advice::Sequential);
    let map = Arc::new(map);
    MAPPED.lock().push(Arc::clone(&map));
    Ok(Bytes::from_owner(MappedFile(map)))
}

/// The files that are mapped now.
static MAPPED: Mutex<Vec<Arc<Mmap>>> = Mutex::new(Vec::new());
/// Bytes of a file that is worth the trouble: letting go and reading again costs a twentieth of reading a CSV.
const LARGE_BYTES: usize = 128 << 20;
/// Bytes that the system maps on both sides of one that is read.
const AROUND_BYTES: usize = 64 << 10;

/// A mapped file, of which [`passed`] knows.
struct MappedFile(Arc<Mmap>);

impl AsRef<[u8]> for MappedFile {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for MappedFile {
    fn drop(&mut self) {
        MAPPED.lock().retain(|map| !Arc::ptr_eq(map, &self.0));
    }
}

/// Lets go of the memory that bytes of a mapped file take, when they have been read: a table and the whole text that it was
/// made of need not be in memory at the same time. What is read again comes back from the file. Other bytes stay as they are.
pub fn passed(bytes: &[u8]) {
    let start = bytes.as_ptr().addr();
    let maps = MAPPED.lock();
    let holds = |map: &&Arc<Mmap>| {
        let first = map.as_ptr().addr();
        first <= start && start + bytes.len() <= first + map.len()
    };
    let Some(map) = maps.iter().find(holds) else { return };
    if map.len() < LARGE_BYTES {
        return;
    }
    let to = start + bytes.len() - map.as_ptr().addr();
    let from = (start - map.as_ptr().addr()).saturating_sub(AROUND_BYTES);
    // SAFETY: the map is a shared one of a file that does not change, and is never written to, so that a page which was let
    // go has the same content when it is read again. A refusal leaves the pages where they are.
    let _ = unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, from, to - from) };
}

/// The compression that the first bytes of data of type `format` show, if any.
pub fn compression_of(format: Format, bytes: &[u8]) -> Option<&'static str> {
    const MAGIC: [(&[u8], &str); 5] = [
        (b"\x1f\x8b", "gzip"),
        (b"BZh", "bz2"),
        (ZIP, "zip"),
        (b"\xfd7zXZ\0", "xz"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
    ];
    let (_, name) = MAGIC.into_iter().find(|(magic, _)| bytes.starts_with(magic))?;
    // A CSV may well begin with the letters BZh; a compressed one has a block or the end mark after the
    // level digit. A workbook is a zip archive by itself.
    let block =
        bytes.get(4..10).is_some_and(|b| b == b"1AY&SY" || b == b"\x17\x72\x45\x38\x50\x90");
    let other =
        (name == "bz2" && !block) || (name == "zip" && format.spec().signatures.contains(&ZIP));
    (!other).then_some(name)
}

/// Names the compression of undeclared compressed bytes, instead of an error about line 1.
pub fn refuse_compressed(format: Format, bytes: &[u8]) -> Result<(), IngestError> {
    match compression_of(format, bytes) {
        Some(name) => Err(IngestError::Compressed { format, compression: name.to_owned() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write as _;

    use super::*;

    #[test]
    fn bytes_that_were_let_go_are_read_again() {
        let mut file = tempfile::tempfile().unwrap();
        file.set_len(LARGE_BYTES as u64).unwrap();
        let text: Vec<u8> = (0..1_000_000u32).flat_map(u32::to_le_bytes).collect();
        file.write_all(&text).unwrap();
        let bytes = map(&file).unwrap();
        for range in [0..bytes.len(), 70_000..300_000, 5..6, 7..7, 3_999_990..4_000_000] {
            passed(&bytes[range]);
            assert!(bytes.starts_with(&text));
        }
        // Bytes of another kind are left alone.
        passed(&text);
        assert_eq!(text[4], 1);
        let place = bytes.as_ptr();
        drop(bytes);
        assert!(MAPPED.lock().iter().all(|map| map.as_ptr() != place));
    }
}
