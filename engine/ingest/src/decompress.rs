//! Compressed bytes to plain ones.

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{IngestError, ParseCx, Recipe, source};

/// How bytes are compressed. The empty name means not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Compression {
    /// Not at all.
    #[default]
    #[serde(rename = "")]
    None,
    /// RFC 1952, any number of members.
    #[serde(rename = "gzip")]
    Gzip,
    /// bzip2, any number of streams.
    #[serde(rename = "bz2")]
    Bz2,
    /// A zip archive of one file.
    #[serde(rename = "zip")]
    Zip,
    /// xz, any number of streams.
    #[serde(rename = "xz")]
    Xz,
}

impl Compression {
    /// Every compression, in the order of the interface.
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Bz2, Self::Zip, Self::Xz];

    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Gzip => "gzip",
            Self::Bz2 => "bz2",
            Self::Zip => "zip",
            Self::Xz => "xz",
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

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

/// The plain bytes.
pub(crate) fn open(recipe: &Recipe, bytes: Bytes, _cx: &ParseCx) -> Result<Bytes, IngestError> {
    source::refuse_compressed(recipe.format, &bytes)?;
    Ok(bytes)
}
