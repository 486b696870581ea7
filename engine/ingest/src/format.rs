//! File formats: what the crate asks of each, and the enumeration that is made of the list in `lib.rs`.
//!
//! A reader's file holds its [`FormatSpec`]; names, error slugs, options, the tell-tale first bytes and the call of
//! the reader all come from there.

use bytes::Bytes;

use crate::options::{OptionInfo, Options};
use crate::{IngestError, ParseCx, Parsed};

/// First bytes of a zip archive.
pub(crate) const ZIP: &[u8] = b"PK\x03\x04";

/// A format, as its reader describes it.
pub(crate) struct FormatSpec {
    /// The name on the wire.
    pub(crate) name: &'static str,
    /// The slug of the error of bytes that are not of this format.
    pub(crate) malformed: &'static str,
    /// The options, in alphabetical order.
    pub(crate) options: &'static [OptionInfo],
    /// What files begin with; none for a text.
    pub(crate) signatures: &'static [&'static [u8]],
    /// Whether the beginning of a text seems to be of this format. Used for hints in errors alone.
    pub(crate) resembles: fn(&[u8]) -> bool,
    /// Reads the bytes. The options have been checked by name, not by value.
    pub(crate) parse: fn(&Bytes, Options<'_>, &ParseCx) -> Result<Parsed, IngestError>,
}

/// What a format with signatures puts into [`FormatSpec::resembles`].
pub(crate) const fn by_signature(_: &[u8]) -> bool {
    false
}

/// Makes [`Format`](crate::Format) of the list of formats: a documented variant each, and the constant that
/// describes it.
macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident = $spec:path,)*) => {
        /// A declared file type. What is declared decides: content is never sniffed into another format.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum Format {
            $($(#[$doc])* $variant,)*
        }

        impl Format {
            /// Every format, in the order of the interface.
            pub const ALL: [Self; [$(Self::$variant),*].len()] = [$(Self::$variant),*];

            pub(crate) const fn spec(self) -> &'static $crate::format::FormatSpec {
                match self {
                    $(Self::$variant => &$spec,)*
                }
            }
        }
    };
}

/// The format that data of unknown format seems to have, for a hint in an error: what is declared decides.
pub(crate) fn looks_like(bytes: &[u8]) -> Option<crate::Format> {
    const LOOK_BYTES: usize = 512;
    let all = crate::Format::ALL;
    let begins = |f: &crate::Format| f.spec().signatures.iter().any(|s| bytes.starts_with(s));
    let look = &bytes[..bytes.len().min(LOOK_BYTES)];
    let signed = all.into_iter().find(begins);
    signed.or_else(|| all.into_iter().find(|f| (f.spec().resembles)(look)))
}

/// Adds, to what a reader says of data it cannot read, which format the data seem to have.
pub(crate) fn hinted(error: IngestError, bytes: &[u8]) -> IngestError {
    match error {
        IngestError::Malformed { format, message, row, column } => {
            let other = looks_like(bytes).filter(|other| *other != format);
            let hint = other.map_or_else(String::new, |other| {
                format!("; the data look like {other}: declare the type {other} if they are")
            });
            IngestError::Malformed { format, message: message + &hint, row, column }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;

    #[test]
    fn first_bytes_tell_formats_apart() {
        for (bytes, format) in [
            (&b"ARROW1\0\0"[..], Some(Format::Arrow)),
            (b"\xff\xff\xff\xff\x10", Some(Format::Arrow)),
            (b"PAR1", Some(Format::Parquet)),
            (b"ORC", Some(Format::Orc)),
            (b"PK\x03\x04rest", Some(Format::Xlsx)),
            (b"\xd0\xcf\x11\xe0rest", Some(Format::Xls)),
            (b"  [1]\n", Some(Format::Json)),
            (b"{}", Some(Format::Json)),
            (b"a,b\n1,2\n", Some(Format::Csv)),
            (b"a,b", None),
            (b" \n ", None),
            (b"a\0\n", None),
            (b"", None),
        ] {
            assert_eq!(looks_like(bytes), format, "{bytes:?}");
        }
    }

    #[test]
    fn a_format_has_one_name_everywhere() {
        for format in Format::ALL {
            let spec = format.spec();
            assert_eq!(serde_json::to_value(format).ok(), Some(spec.name.into()));
            assert_eq!(spec.malformed, format!("malformed-{}", spec.name));
            assert_eq!(crate::known_slug(spec.malformed), spec.malformed);
        }
    }
}
