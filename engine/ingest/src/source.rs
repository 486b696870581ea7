//! The bytes of a source.

use std::fs::File;

use bytes::Bytes;
use graphlume_types::limits::DECOMPRESSED_BYTES_MAX;

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
    let map = unsafe { memmap2::Mmap::map(file)? };
    // A hint only: reading is mostly sequential. A kernel that refuses it changes nothing.
    let _ = map.advise(memmap2::Advice::Sequential);
    Ok(Bytes::from_owner(map))
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
