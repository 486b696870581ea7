//! Compressions of uploaded bytes, by their names in the interface.

use std::fmt;

use serde::{Deserialize, Serialize};

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

    /// What the names of such files end in; `None` for plain ones.
    #[must_use]
    pub const fn extension(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Gzip => Some(".gz"),
            Self::Bz2 => Some(".bz2"),
            Self::Zip => Some(".zip"),
            Self::Xz => Some(".xz"),
        }
    }

    /// How such data may begin.
    pub(crate) const fn magics(self) -> &'static [&'static [u8]] {
        match self {
            Self::None => &[],
            Self::Gzip => &[b"\x1f\x8b"],
            Self::Bz2 => &[b"BZh"],
            // The second is the mark of an archive without entries.
            Self::Zip => &[b"PK\x03\x04", b"PK\x05\x06"],
            Self::Xz => &[b"\xfd7zXZ\0"],
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
