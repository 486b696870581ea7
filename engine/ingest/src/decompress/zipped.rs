//! Zip archives: of exactly one file when they compress a table, of many parts when they are a workbook.
//!
//! The `zip` crate reads the directory, and a first look bounds how many entries it can find. Contents
//! are unpacked here, so that the sizes which an archive claims need not be believed.

use std::io::{Cursor, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use graphlume_types::limits::ZIP_ENTRIES_MAX;
use zip::{CompressionMethod, ZipArchive};

use super::Compression;
use super::sink::Sink;
use super::unpack::fault;
use crate::IngestError;
use crate::error::one_line;

const BLOCK_BYTES: usize = 256 << 10;

/// A file in an archive.
pub struct Entry<'a> {
    /// The name, for messages and comparisons only: it never becomes a path.
    pub name: String,
    /// The bytes as they are stored.
    pub stored: &'a [u8],
    folder: bool,
    deflated: bool,
    size: u64,
    crc: u32,
}

/// Why an archive cannot be used, without naming it.
pub enum Fault {
    /// Something that is wrong with the bytes.
    Bad(String),
    /// A limit, or a stop.
    Other(IngestError),
}

impl From<IngestError> for Fault {
    fn from(e: IngestError) -> Self {
        Self::Other(e)
    }
}

fn bad(message: impl Into<String>) -> Fault {
    Fault::Bad(message.into())
}

/// The entries of an archive; a folder, a link or an encrypted file among them is a fault.
pub fn entries(bytes: &Bytes) -> Result<Vec<Entry<'_>>, Fault> {
    // The directory's own count may lie, and every entry costs memory. Each one needs this mark.
    let marks = memchr::memmem::find_iter(bytes, b"PK\x01\x02").take(ZIP_ENTRIES_MAX + 1).count();
    if marks > ZIP_ENTRIES_MAX {
        let message = format!(
            "the archive has more than {ZIP_ENTRIES_MAX} entries, the limit; send one file per \
             archive"
        );
        return Err(Fault::Other(IngestError::Bomb { message }));
    }
    catch_unwind(AssertUnwindSafe(|| directory(bytes)))
        .unwrap_or_else(|_| Err(bad("has a damaged directory; make the archive again")))
}

fn directory(bytes: &Bytes) -> Result<Vec<Entry<'_>>, Fault> {
    let unreadable = |e: zip::result::ZipError| {
        bad(format!("has no readable directory ({}); it may be cut off", one_line(e)))
    };
    let mut archive = ZipArchive::new(Cursor::new(bytes.clone())).map_err(unreadable)?;
    if archive.has_duplicate_names() {
        return Err(bad("has several entries of one name; make the archive again"));
    }
    let mut out = Vec::with_capacity(archive.len());
    for i in 0..archive.len() {
        let file = archive.by_index_raw(i).map_err(unreadable)?;
        let name: String = String::from_utf8_lossy(file.name_raw()).chars().take(200).collect();
        let refuse = |what: &str| Err(bad(format!("has the entry {name:?}, which is {what}")));
        if file.encrypted() {
            return refuse("encrypted; send it without a password");
        }
        if file.is_symlink() {
            return refuse("a link; put the file itself into the archive");
        }
        if file.is_dir() {
            // A folder has no bytes; whether it may be there is for the caller to say.
            let (stored, folder): (&[u8], _) = (&[], true);
            out.push(Entry { name, stored, folder, deflated: false, size: 0, crc: 0 });
            continue;
        }
        let deflated = match file.compression() {
            CompressionMethod::Stored => false,
            CompressionMethod::Deflated => true,
            other => {
                let what = format!("packed by {other:?}; use deflate, the usual method of zip");
                return refuse(&what);
            }
        };
        let start = file.data_start().and_then(|at| usize::try_from(at).ok());
        let len = usize::try_from(file.compressed_size()).ok();
        let end = start.zip(len).and_then(|(start, len)| start.checked_add(len));
        let Some(stored) = start.zip(end).and_then(|(start, end)| bytes.get(start..end)) else {
            return refuse("outside the archive; it may be cut off");
        };
        let (size, crc) = (file.size(), file.crc32());
        out.push(Entry { name, stored, folder: false, deflated, size, crc });
    }
    overlap(&out)?;
    Ok(out)
}

/// Entries that share bytes unpack to any multiple of what was sent.
fn overlap(entries: &[Entry<'_>]) -> Result<(), Fault> {
    let range = |e: &Entry<'_>| {
        let at = e.stored.as_ptr() as usize;
        (at, at + e.stored.len())
    };
    let filled = entries.iter().filter(|e| !e.stored.is_empty());
    let mut ranges: Vec<_> = filled.map(range).collect();
    ranges.sort_unstable();
    if ranges.windows(2).any(|pair| pair[0].1 > pair[1].0) {
        return Err(bad("has entries that overlap; make the archive again"));
    }
    Ok(())
}

impl Entry<'_> {
    /// Hands the plain bytes to `take`, block by block, with the number of stored bytes used so far.
    pub fn unpack(
        &self,
        mut take: impl FnMut(&[u8], u64) -> Result<(), IngestError>,
    ) -> Result<(), Fault> {
        let mut crc = Crc::new();
        if self.deflated {
            let mut decoder = DeflateDecoder::new(self.stored);
            let mut block = vec![0; BLOCK_BYTES];
            loop {
                let n = decoder.read(&mut block).map_err(|e| bad(fault(&e)))?;
                if n == 0 {
                    break;
                }
                crc.update(&block[..n]);
                take(&block[..n], (self.stored.len() - decoder.get_ref().len()) as u64)?;
            }
        } else {
            for (i, block) in self.stored.chunks(BLOCK_BYTES).enumerate() {
                crc.update(block);
                take(block, (i * BLOCK_BYTES + block.len()) as u64)?;
            }
        }
        // The checksum holds the length modulo 2^32.
        if crc.amount() != self.size as u32 || crc.sum() != self.crc {
            let name = &self.name;
            return Err(bad(format!(
                "has the entry {name:?}, whose content is not what its checksum and size say; make \
                 the archive again"
            )));
        }
        Ok(())
    }
}

/// Unpacks the only file of an archive.
pub fn unpack_only(bytes: &Bytes, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    let name_it = |fault| match fault {
        Fault::Bad(message) => IngestError::bad_compression(Compression::Zip, message),
        Fault::Other(e) => e,
    };
    let entries = entries(bytes).map_err(name_it)?;
    let [only] = entries.as_slice() else {
        let names: Vec<_> = entries.iter().take(3).map(|e| e.name.as_str()).collect();
        let message = match entries.len() {
            0 => "has no file in it; put exactly one into the archive".to_owned(),
            _ if entries.iter().any(|e| e.name == "[Content_Types].xml") => {
                "is a workbook itself; declare no compression, and the file type xlsx".to_owned()
            }
            n => format!(
                "has {n} entries ({}, ...); put exactly one file into the archive",
                names.join(", ")
            ),
        };
        return Err(IngestError::bad_compression(Compression::Zip, message));
    };
    if only.folder {
        let message = "has only a folder in it; put exactly one file into the archive";
        return Err(IngestError::bad_compression(Compression::Zip, message));
    }
    only.unpack(|plain, used| sink.take(plain, used)).map_err(name_it)
}
