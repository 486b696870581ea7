//! The bytes of a source.

use std::fs::File;

use bytes::Bytes;
use graphlume_types::limits::DECOMPRESSED_BYTES_MAX;

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

/// A file that nobody writes to any more, as bytes.
pub fn map(file: &File) -> Result<Bytes, IngestError> {
    // An empty file cannot be mapped.
    if file.metadata()?.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the map is private and read-only. Sources are immutable by contract (`Source::Path`):
    // uploads are written under a temporary name, renamed when complete and never written again, so
    // neither content nor length changes while the map lives. What is unpacked into a file of our own
    // is mapped when it is complete.
    let map = unsafe { memmap2::Mmap::map(file)? };
    // A hint only: reading is mostly sequential. A kernel that refuses it changes nothing.
    let _ = map.advise(memmap2::Advice::Sequential);
    Ok(Bytes::from_owner(map))
}

/// Names the compression of text formats by its magic bytes, instead of an error about line 1.
pub fn refuse_compressed(format: Format, bytes: &[u8]) -> Result<(), IngestError> {
    const MAGIC: [(&[u8], &str); 5] = [
        (b"\x1f\x8b", "gzip"),
        (b"BZh", "bz2"),
        (b"PK\x03\x04", "zip"),
        (b"\xfd7zXZ\0", "xz"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
    ];
    for (magic, name) in MAGIC {
        // A CSV may well begin with the letters BZh; a compressed one has a level digit after them.
        let plain_text = name == "bz2" && bytes.get(4..10).is_none_or(|b| b != b"1AY&SY");
        if bytes.starts_with(magic) && !plain_text {
            return Err(IngestError::Compressed { format, compression: name.to_owned() });
        }
    }
    Ok(())
}
