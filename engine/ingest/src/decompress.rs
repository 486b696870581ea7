//! Compressed bytes to plain ones, in blocks: what does not fit into a little memory goes into a file
//! that is mapped, so that the memory in use does not grow with the data.
//!
//! What is declared decides. Trailing zero bytes are padding, as `gzip` and `tar` leave it; any other
//! trailing bytes are an error, because they may be rows that got lost.

mod sink;
#[cfg(test)]
mod tests;
mod unpack;
pub(crate) mod zipped;

use std::str::FromStr;

use bytes::Bytes;

pub(crate) use sink::Bound;

use crate::compression::Compression;
use crate::options::Options;
use crate::{Format, IngestError, ParseCx, ParseSpec, Stage, source};

impl FromStr for Compression {
    type Err = IngestError;

    fn from_str(s: &str) -> Result<Self, IngestError> {
        let found = Self::ALL.into_iter().find(|c| c.name() == s);
        found.ok_or_else(|| {
            IngestError::option(
                "file_compression",
                "use one of gzip, bz2, zip, xz, or leave it empty",
            )
        })
    }
}

/// The plain bytes of `bytes`, as the spec declares them.
pub(crate) fn open(spec: &ParseSpec, bytes: Bytes, cx: &ParseCx) -> Result<Bytes, IngestError> {
    let format = spec.format;
    let compression = declared(spec, &bytes)?;
    let found = source::compression_of(format, &bytes);
    if compression == Compression::None {
        // A newer workbook under the older name is no compressed one; its reader tells.
        if format != Format::Xls || found != Some(Compression::Zip.name()) {
            source::refuse_compressed(format, &bytes)?;
        }
        return Ok(bytes);
    }
    check_magic(compression, format, found, &bytes)?;
    cx.report(Stage::Decompressing, 0, 0);
    let plain = unpack::unpack(compression, &bytes, cx)?;
    if let Some(inner) = source::compression_of(format, &plain) {
        return Err(IngestError::bad_compression(
            compression,
            format!(
                "holds {inner} data: the {format} is compressed twice; remove the inner compression"
            ),
        ));
    }
    Ok(plain)
}

/// What the record says, or the option `compression` of a direct upload. Only the option's value `infer`
/// has the bytes looked at.
fn declared(spec: &ParseSpec, bytes: &[u8]) -> Result<Compression, IngestError> {
    const OPTION: &str = "compression";
    if !matches!(spec.format, Format::Csv | Format::Json) {
        return Ok(spec.compression);
    }
    let word = Options(&spec.options).text(OPTION)?.unwrap_or("").to_ascii_lowercase();
    let option = match word.as_str() {
        "" => return Ok(spec.compression),
        "infer" if spec.compression != Compression::None => return Ok(spec.compression),
        "infer" => {
            let found = source::compression_of(spec.format, bytes).unwrap_or("");
            return Ok(found.parse().unwrap_or_default());
        }
        "none" => Compression::None,
        word => word.parse().map_err(|_| {
            IngestError::option(OPTION, "use one of infer, gzip, bz2, zip, xz, or none")
        })?,
    };
    if spec.compression != Compression::None && spec.compression != option {
        let message = format!(
            "says {word}, but file_compression says {}; give one of them",
            spec.compression
        );
        return Err(IngestError::option(OPTION, message));
    }
    Ok(option)
}

fn check_magic(
    declared: Compression,
    format: Format,
    found: Option<&'static str>,
    bytes: &[u8],
) -> Result<(), IngestError> {
    let magics = declared.magics();
    if magics.iter().any(|magic| bytes.starts_with(magic)) {
        return Ok(());
    }
    if bytes.is_empty() || magics.iter().any(|magic| magic.starts_with(bytes)) {
        return Err(IngestError::bad_compression(declared, "is cut off at its very start"));
    }
    Err(IngestError::WrongCompression { format, declared, found: found.map(str::to_owned) })
}
