//! A look at the footer before the reader sees it: the reader descends into nested groups by
//! recursion, and a footer of a few kilobytes can nest deeper than any stack. It also allocates what
//! lists claim to hold, so that a claim beyond the bytes that are there must not reach it.
//!
//! The footer is a struct in Thrift's compact protocol. Only what leads to `schema[i].num_children` is
//! read; everything else is stepped over.

use graphlume_types::limits::JSON_DEPTH_MAX;
use parquet::basic::Compression;

use super::bad;
use crate::IngestError;

/// Nesting of the footer's own structs, far above what the format defines.
const STRUCT_DEPTH_MAX: usize = 32;

const BOOL_TRUE: u8 = 1;
const BOOL_FALSE: u8 = 2;
const BYTE: u8 = 3;
const INT16: u8 = 4;
pub(super) const INT32: u8 = 5;
pub(super) const INT64: u8 = 6;
const DOUBLE: u8 = 7;
pub(super) const BINARY: u8 = 8;
pub(super) const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
pub(super) const STRUCT: u8 = 12;

/// The footer; refuses damaged ones, and schemas that nest deeper than [`JSON_DEPTH_MAX`].
pub fn check(bytes: &[u8]) -> Result<&[u8], IngestError> {
    let (rest, tail) = bytes.split_last_chunk::<8>().ok_or_else(|| bad("it is cut off"))?;
    if &tail[4..] != b"PAR1" || !bytes.starts_with(b"PAR1") {
        return Err(bad("the marks PAR1 at its start and end are missing; it may be cut off"));
    }
    let len = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]) as usize;
    let start = rest.len().checked_sub(len).ok_or_else(|| bad("its footer is cut off"))?;
    let footer = &rest[start..];
    match (Compact { bytes: footer }).schema_is_shallow() {
        Some(true) => Ok(footer),
        Some(false) => {
            let message = format!("columns may be nested {JSON_DEPTH_MAX} levels deep, not more");
            Err(IngestError::too_large(message))
        }
        None => Err(bad("its footer is damaged")),
    }
}

/// Refuses damaged page headers in the bytes of a column chunk. The reader steps over what it does not
/// know for as many elements as a list claims to have, even where there are no bytes any more, which
/// can take for ever. It also makes room for as many bytes as a page claims to expand to, so that a claim beyond
/// `ratio_max` bytes for one, which the compression cannot keep, must not reach it.
pub fn check_pages(chunk: &[u8], ratio_max: Option<u64>) -> Result<(), IngestError> {
    let mut reader = Compact { bytes: chunk };
    // A header without any field is padding behind the last page.
    while reader.bytes.first().is_some_and(|b| *b != 0) {
        let page = reader.page_header().ok_or_else(|| bad("a page is damaged or cut off"))?;
        let most = ratio_max
            .map(|ratio| page.bytes.saturating_mul(ratio).saturating_add(RATIO_SLACK_BYTES));
        if most.is_some_and(|most| page.expanded > most) {
            return Err(bad(format!(
                "a page of {} bytes claims to expand to {}, which its compression cannot",
                page.bytes, page.expanded
            )));
        }
        reader.skip(page.bytes).ok_or_else(|| bad("a page is damaged or cut off"))?;
    }
    Ok(())
}

/// Bytes that a page may claim whatever its size.
const RATIO_SLACK_BYTES: u64 = 64 << 10;

/// How many bytes one compressed byte expands to at most, where the compression has such a bound.
pub const fn ratio_max(compression: Compression) -> Option<u64> {
    match compression {
        Compression::UNCOMPRESSED => Some(1),
        // A copy of 64 bytes takes two bytes at least.
        Compression::SNAPPY => Some(32),
        // A byte of a length counts for 255.
        Compression::LZ4 | Compression::LZ4_RAW => Some(256),
        // 258 bytes take two bits at least.
        Compression::GZIP(_) => Some(1_032),
        // A block of at most 128 KiB takes four bytes at least.
        Compression::ZSTD(_) => Some(32_768),
        _ => None,
    }
}

/// The sizes of a page: in the file, and as its header claims, expanded.
struct Page {
    bytes: u64,
    expanded: u64,
}

/// A reader of Thrift's compact protocol.
pub(super) struct Compact<'a> {
    pub(super) bytes: &'a [u8],
}

impl<'a> Compact<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn skip(&mut self, n: u64) -> Option<()> {
        self.bytes = self.bytes.get(usize::try_from(n).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let b = self.byte()?;
            value |= u64::from(b & 0x7F) << shift;
            if b & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i64> {
        let v = self.varint()?;
        Some((v >> 1) as i64 ^ -((v & 1) as i64))
    }

    /// The next field's number and type; type 0 is the end of the struct.
    pub(super) fn field(&mut self, last: &mut i64) -> Option<u8> {
        let head = self.byte()?;
        if head & 15 != 0 {
            *last = if head >> 4 == 0 { self.zigzag()? } else { *last + i64::from(head >> 4) };
        }
        Some(head & 15)
    }

    /// The element type and length of a list.
    pub(super) fn list(&mut self) -> Option<(u8, u64)> {
        let head = self.byte()?;
        let len = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        // Each element takes a byte at least.
        (len <= self.bytes.len() as u64).then_some((head & 15, len))
    }

    /// The bytes of a value, which are stepped over.
    pub(super) fn raw(&mut self, kind: u8) -> Option<&'a [u8]> {
        let before = self.bytes;
        self.skip_value(kind, STRUCT_DEPTH_MAX)?;
        before.get(..before.len() - self.bytes.len())
    }

    fn skip_value(&mut self, kind: u8, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            BOOL_TRUE | BOOL_FALSE => Some(()),
            BYTE => self.skip(1),
            INT16 | INT32 | INT64 => self.varint().map(drop),
            DOUBLE => self.skip(8),
            BINARY => {
                let len = self.varint()?;
                self.skip(len)
            }
            LIST | SET => {
                let (kind, len) = self.list()?;
                (0..len).try_for_each(|_| self.skip_element(kind, depth))
            }
            MAP => {
                let len = self.varint()?;
                if len == 0 {
                    return Some(());
                }
                let kinds = self.byte()?;
                (0..len).try_for_each(|_| {
                    self.skip_element(kinds >> 4, depth)?;
                    self.skip_element(kinds & 15, depth)
                })
            }
            STRUCT => {
                let mut last = 0;
                loop {
                    match self.field(&mut last)? {
                        0 => return Some(()),
                        kind => self.skip_value(kind, depth)?,
                    }
                }
            }
            _ => None,
        }
    }

    /// A boolean takes a byte inside a list, and none as a field.
    fn skip_element(&mut self, kind: u8, depth: usize) -> Option<()> {
        match kind {
            BOOL_TRUE | BOOL_FALSE => self.skip(1),
            kind => self.skip_value(kind, depth),
        }
    }

    /// Steps over a page header; answers the sizes of the page behind it.
    fn page_header(&mut self) -> Option<Page> {
        let (mut last, mut expanded, mut bytes) = (0, 0, None);
        loop {
            match (self.field(&mut last)?, last) {
                (0, _) => return Some(Page { bytes: bytes?, expanded }),
                (INT32, 2) => expanded = u64::try_from(self.zigzag()?).ok()?,
                (INT32, 3) => bytes = u64::try_from(self.zigzag()?).ok(),
                (kind, _) => self.skip_value(kind, STRUCT_DEPTH_MAX)?,
            }
        }
    }

    /// `None`: not a footer.
    fn schema_is_shallow(&mut self) -> Option<bool> {
        let mut last = 0;
        loop {
            match (self.field(&mut last)?, last) {
                (0, _) => return None,
                (LIST, 2) => break,
                (kind, _) => self.skip_value(kind, STRUCT_DEPTH_MAX)?,
            }
        }
        if !self.schema_list()? {
            return Some(false);
        }
        loop {
            match self.field(&mut last)? {
                0 => return Some(true),
                kind => self.skip_value(kind, STRUCT_DEPTH_MAX)?,
            }
        }
    }

    fn schema_list(&mut self) -> Option<bool> {
        let (kind, len) = self.list()?;
        if kind != STRUCT {
            return None;
        }
        // Children still to come, on each level that is open.
        let mut open: Vec<i64> = Vec::new();
        for _ in 0..len {
            while open.last() == Some(&0) {
                open.pop();
            }
            if let Some(left) = open.last_mut() {
                *left -= 1;
            }
            let children = self.num_children()?;
            if children.unsigned_abs() > len {
                return None;
            }
            if children > 0 {
                open.push(children);
            }
            if open.len() > JSON_DEPTH_MAX {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Reads one element of the schema.
    fn num_children(&mut self) -> Option<i64> {
        let (mut last, mut children) = (0, 0);
        loop {
            match (self.field(&mut last)?, last) {
                (0, _) => return Some(children),
                (INT32, 5) => children = self.zigzag()?,
                (kind, _) => self.skip_value(kind, STRUCT_DEPTH_MAX)?,
            }
        }
    }
}
