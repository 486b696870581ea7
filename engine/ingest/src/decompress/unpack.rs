//! The decoders: one loop over the members of gzip, bz2 and xz, and the one file of a zip.

use std::io::{ErrorKind, Read};

use bytes::Bytes;
use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;
use graphlume_types::limits::XZ_MEMORY_BYTES_MAX;
use liblzma::bufread::XzDecoder;
use liblzma::stream::{Error as XzError, Stream};

use super::Compression;
use super::sink::Sink;
use super::zipped;
use crate::error::one_line;
use crate::{IngestError, ParseCx};

/// Bytes that are unpacked at a time.
const BLOCK_BYTES: usize = 256 << 10;

/// The plain bytes of `bytes`.
pub fn unpack(how: Compression, bytes: &Bytes, cx: &ParseCx) -> Result<Bytes, IngestError> {
    let mut sink = Sink::new(cx, format!("the {how} data"));
    match how {
        Compression::None => return Ok(bytes.clone()),
        Compression::Gzip => members(how, bytes, &mut sink, |b| Ok(GzDecoder::new(b)))?,
        Compression::Bz2 => members(how, bytes, &mut sink, |b| Ok(BzDecoder::new(b)))?,
        Compression::Xz => members(how, bytes, &mut sink, xz)?,
        Compression::Zip => zipped::unpack_only(bytes, &mut sink)?,
    }
    sink.finish()
}

fn xz(bytes: &[u8]) -> Result<XzDecoder<&[u8]>, IngestError> {
    let stream = Stream::new_stream_decoder(XZ_MEMORY_BYTES_MAX, 0)
        .map_err(|e| IngestError::bad_compression(Compression::Xz, fault(&e.into())))?;
    Ok(XzDecoder::new_stream(bytes, stream))
}

/// A decoder of one member that tells which bytes it has not used.
trait Member<'a>: Read {
    fn rest(&self) -> &'a [u8];
}

impl<'a> Member<'a> for GzDecoder<&'a [u8]> {
    fn rest(&self) -> &'a [u8] {
        self.get_ref()
    }
}

impl<'a> Member<'a> for BzDecoder<&'a [u8]> {
    fn rest(&self) -> &'a [u8] {
        self.get_ref()
    }
}

impl<'a> Member<'a> for XzDecoder<&'a [u8]> {
    fn rest(&self) -> &'a [u8] {
        self.get_ref()
    }
}

/// Unpacks one member after the other, with zero bytes between and after them.
fn members<'a, M: Member<'a>>(
    how: Compression,
    bytes: &'a [u8],
    sink: &mut Sink<'_>,
    open: impl Fn(&'a [u8]) -> Result<M, IngestError>,
) -> Result<(), IngestError> {
    let mut block = vec![0; BLOCK_BYTES];
    let mut rest = bytes;
    loop {
        let mut member = open(rest)?;
        loop {
            let read = member.read(&mut block);
            let n = read.map_err(|e| IngestError::bad_compression(how, fault(&e)))?;
            sink.take(&block[..n], (bytes.len() - member.rest().len()) as u64)?;
            if n == 0 {
                break;
            }
        }
        rest = member.rest();
        let Some(padding) = rest.iter().position(|b| *b != 0) else { return Ok(()) };
        rest = &rest[padding..];
        if !how.magics().iter().any(|magic| rest.starts_with(magic)) {
            let message = format!(
                "is followed by {} other bytes at byte {}; compress the file again",
                rest.len(),
                bytes.len() - rest.len()
            );
            return Err(IngestError::bad_compression(how, message));
        }
    }
}

/// What a decoder says, in words that say what to do.
pub fn fault(e: &std::io::Error) -> String {
    let inner = e.get_ref().and_then(|e| e.downcast_ref::<XzError>());
    match (inner, e.kind()) {
        (Some(XzError::MemLimit), _) => format!(
            "needs more than {} MiB of memory to be unpacked, the limit; compress it with a smaller \
             dictionary (xz -9 and below are fine)",
            XZ_MEMORY_BYTES_MAX >> 20
        ),
        (_, ErrorKind::UnexpectedEof) => "is cut off; send the whole file".to_owned(),
        _ => format!("is damaged ({}); compress the file again", one_line(e)),
    }
}
