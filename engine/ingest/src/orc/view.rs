//! An ORC file as its reader sees it: sections are plain, and the tail is the checked one.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io::{Cursor, Error, ErrorKind};
use std::rc::Rc;

use bytes::Bytes;
use graphlume_types::limits::ROWS_MAX;
use orc_rust::proto::StripeFooter;
use orc_rust::proto::column_encoding::Kind as Encoding;
use orc_rust::proto::stream::Kind as StreamKind;
use orc_rust::proto::r#type::Kind as TypeKind;
use orc_rust::reader::ChunkReader;
use prost::Message;

use super::rle::{self, Version};
use super::tail::Tail;
use super::{bad, codec::Codec};
use crate::IngestError;

/// Bytes before the tail, so that the reader's first look at the end meets nothing else.
const SPACE: usize = 16 << 10;
/// Entries of the dictionary of one column in one stripe.
const DICTIONARY_MAX: u32 = 1 << 24;

/// Why the view refused to go on.
pub type Failure = Rc<Cell<Option<IngestError>>>;

/// See the module.
pub struct View<'a> {
    bytes: Bytes,
    tail: &'a Tail,
    plain_tail: Bytes,
    codec: Codec,
    failure: Failure,
    /// Streams of list lengths by their position, known once their stripe's footer was read.
    lengths: RefCell<HashMap<u64, Version>>,
}

impl<'a> View<'a> {
    /// The view of a file whose tail is checked.
    pub fn new(bytes: Bytes, tail: &'a Tail) -> Self {
        let (plain_tail, codec) = (tail.plain(SPACE), tail.codec);
        Self {
            bytes,
            tail,
            plain_tail,
            codec,
            failure: Failure::default(),
            lengths: RefCell::default(),
        }
    }

    /// Where the view leaves why it refused.
    pub fn failure(&self) -> Failure {
        Rc::clone(&self.failure)
    }

    fn read(&self, offset: u64, len: u64) -> Result<Bytes, IngestError> {
        let outside = || bad("a stream lies outside the file");
        let end = offset.checked_add(len).ok_or_else(outside)?;
        let file = self.bytes.len() as u64;
        if offset >= file {
            let range = (offset - file) as usize..(end - file) as usize;
            let fits = range.end <= self.plain_tail.len();
            return fits.then(|| self.plain_tail.slice(range)).ok_or_else(outside);
        }
        if end > file {
            return Err(outside());
        }
        let plain = self.codec.unpack(&self.bytes.slice(offset as usize..end as usize))?;
        if len == 0 {
            return Ok(plain);
        }
        if let Some(stripe) = self.tail.stripes.get(&offset) {
            self.check_stripe(*stripe, &plain)?;
        } else if let Some(version) = self.lengths.borrow().get(&offset)
            && rle::total(&plain, *version).is_none_or(|total| total > u128::from(ROWS_MAX))
        {
            let message = format!(
                "the lists of a column hold more than {ROWS_MAX} items in one stripe, the limit, or \
                 are damaged"
            );
            return Err(IngestError::too_large(message));
        }
        Ok(plain)
    }

    /// Checks what a stripe claims about its columns.
    fn check_stripe(&self, start: u64, footer: &[u8]) -> Result<(), IngestError> {
        let footer = StripeFooter::decode(footer).map_err(|_| bad("a stripe is damaged"))?;
        if footer.columns.iter().any(|c| c.dictionary_size() > DICTIONARY_MAX) {
            let message = format!("a dictionary has more than {DICTIONARY_MAX} entries, the limit");
            return Err(IngestError::too_large(message));
        }
        let mut lengths = self.lengths.borrow_mut();
        let mut at = start;
        for stream in &footer.streams {
            let list =
                matches!(self.tail.kind(stream.column()), Some(TypeKind::List | TypeKind::Map));
            if list && stream.kind() == StreamKind::Length {
                let encoding = footer.columns.get(stream.column() as usize).map(|c| c.kind());
                let version = match encoding {
                    Some(Encoding::Direct | Encoding::Dictionary) => Version::One,
                    _ => Version::Two,
                };
                lengths.insert(at, version);
            }
            at = at.checked_add(stream.length()).ok_or_else(|| bad("a stripe is damaged"))?;
        }
        Ok(())
    }
}

impl ChunkReader for View<'_> {
    type T = Cursor<Bytes>;

    fn len(&self) -> u64 {
        (self.bytes.len() + self.plain_tail.len()) as u64
    }

    fn get_read(&self, _: u64) -> std::io::Result<Self::T> {
        Err(Error::new(ErrorKind::Unsupported, "an ORC file is read in sections"))
    }

    fn get_bytes(&self, offset: u64, len: u64) -> std::io::Result<Bytes> {
        self.read(offset, len).map_err(|e| {
            let message = e.to_string();
            self.failure.set(Some(e));
            Error::other(message)
        })
    }
}
