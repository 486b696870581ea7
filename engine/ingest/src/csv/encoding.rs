//! Text in other encodings than UTF-8, turned into UTF-8 piece by piece.

use bytes::Bytes;
use encoding_rs::DecoderResult;

use super::temp_file::Spool;
use crate::{Format, IngestError, ParseCx};

/// Bytes that are decoded at once.
const PIECE_BYTES: usize = 64 << 10;

/// How characters are written.
#[derive(Debug, Clone)]
pub enum Encoding {
    Utf8,
    Ascii,
    /// One byte a character; `None` stands for nothing.
    Bytes(Box<[Option<char>; 256]>),
    /// Several bytes a character.
    Other(&'static encoding_rs::Encoding),
    /// Two bytes a unit, in the order that a mark at the start tells; little end first without one.
    Utf16,
    /// Four bytes a character, in the order that a mark at the start tells, or with the big end first.
    Utf32 {
        big: bool,
    },
}

impl Encoding {
    /// Finds an encoding by the names that Python and the web have for it.
    pub fn new(name: &str) -> Result<Self, IngestError> {
        let key: String =
            name.trim().to_ascii_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
        let iso = |part: &str| {
            let label = format!("iso-8859-{part}");
            encoding_rs::Encoding::for_label(label.as_bytes()).map(|e| Self::table(e, true))
        };
        let label = |label: &str| encoding_rs::Encoding::for_label(label.as_bytes()).map(Self::of);
        let found = match key.as_str() {
            "utf8" | "u8" | "utf" | "utf8sig" | "cp65001" => Some(Self::Utf8),
            "ascii" | "usascii" | "646" => Some(Self::Ascii),
            "latin1" | "l1" | "iso88591" | "8859" | "cp819" | "iso885911987" => iso("1"),
            "latin2" | "l2" => iso("2"),
            "latin3" | "l3" => iso("3"),
            "latin4" | "l4" => iso("4"),
            "cyrillic" => iso("5"),
            "arabic" => iso("6"),
            "greek" | "greek8" => iso("7"),
            "hebrew" => iso("8"),
            "latin5" | "l5" => iso("9"),
            "latin6" | "l6" => iso("10"),
            "thai" => iso("11"),
            "latin7" | "l7" => iso("13"),
            "latin8" | "l8" => iso("14"),
            "latin9" | "l9" => iso("15"),
            "latin10" | "l10" => iso("16"),
            "utf16" | "u16" => Some(Self::Utf16),
            "utf16le" => label("utf-16le"),
            "utf16be" => label("utf-16be"),
            "utf32" | "u32" | "utf32le" => Some(Self::Utf32 { big: false }),
            "utf32be" => Some(Self::Utf32 { big: true }),
            "koi8r" => label("koi8-r"),
            "koi8u" => label("koi8-u"),
            "macroman" | "macintosh" => label("macintosh"),
            "maccyrillic" => label("x-mac-cyrillic"),
            "shiftjis" | "sjis" | "cp932" | "ms932" | "mskanji" => label("shift_jis"),
            "eucjp" | "ujis" => label("euc-jp"),
            "iso2022jp" => label("iso-2022-jp"),
            "euckr" | "cp949" | "ms949" | "uhc" => label("euc-kr"),
            "gbk" | "gb2312" | "cp936" | "936" | "euccn" => label("gbk"),
            "gb18030" => label("gb18030"),
            "big5" | "big5hkscs" | "cp950" => label("big5"),
            _ => match (key.strip_prefix("iso8859"), key.strip_prefix("cp")) {
                (Some(part), _) => iso(part),
                (_, Some(page @ ("874" | "866"))) => label(&format!("cp{page}")),
                (_, Some(page)) => label(&format!("windows-{page}")),
                _ => label(name.trim()),
            },
        };
        found.ok_or_else(|| {
            let shown: String = name.chars().take(32).collect();
            let message = format!(
                "{shown:?} is not known; use utf-8, utf-16, utf-32, ascii, latin-1 (iso-8859-1 to 16), \
                 cp1250 to cp1258, cp866, cp874, koi8-r, koi8-u, mac-roman, mac-cyrillic, gbk, gb18030, \
                 big5, shift_jis, euc-jp, iso-2022-jp or euc-kr"
            );
            IngestError::option("encoding", message)
        })
    }

    pub fn is_utf8(&self) -> bool {
        matches!(self, Self::Utf8)
    }

    fn of(encoding: &'static encoding_rs::Encoding) -> Self {
        if encoding == encoding_rs::UTF_8 {
            Self::Utf8
        } else if encoding.is_single_byte() {
            Self::table(encoding, false)
        } else {
            Self::Other(encoding)
        }
    }

    /// `controls`: the bytes 0x80 to 0x9F are control characters. Otherwise those that the encoding
    /// gives no other meaning stand for nothing.
    fn table(encoding: &'static encoding_rs::Encoding, controls: bool) -> Self {
        let mut table = Box::new([None; 256]);
        for (byte, slot) in (0u8..=255).zip(table.iter_mut()) {
            let control = (0x80..0xA0).contains(&byte);
            if controls && control {
                *slot = Some(char::from(byte));
                continue;
            }
            let bytes = [byte];
            let text = encoding.decode_without_bom_handling_and_without_replacement(&bytes);
            let found = text.and_then(|t| t.chars().next());
            *slot = found.filter(|c| !control || !c.is_control());
        }
        Self::Bytes(table)
    }

    /// The text of `bytes` in UTF-8. Only a piece of it at a time is in memory that is not a file's.
    pub fn decode(&self, bytes: &[u8], cx: &ParseCx) -> Result<Bytes, IngestError> {
        let mut line = 1u64;
        let mut spool = Spool::new(cx);
        let mut put = |text: &str| {
            cx.cancel.check()?;
            line += memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
            spool.take(text.as_bytes())
        };
        let bad = match self {
            Self::Utf8 => return Ok(Bytes::copy_from_slice(bytes)),
            Self::Ascii => {
                decode_bytes(bytes, |b| Some(char::from(b)).filter(char::is_ascii), &mut put)?
            }
            Self::Bytes(table) => decode_bytes(bytes, |b| table[usize::from(b)], &mut put)?,
            Self::Other(encoding) => decode_other(encoding, bytes, &mut put)?,
            Self::Utf16 => {
                let big = bytes.starts_with(b"\xfe\xff");
                let encoding = if big { encoding_rs::UTF_16BE } else { encoding_rs::UTF_16LE };
                decode_other(encoding, bytes, &mut put)?
            }
            Self::Utf32 { big } => decode_utf32(bytes, *big, &mut put)?,
        };
        match bad {
            None => spool.finish(),
            Some(at) => {
                let message = format!(
                    "line {line}: the bytes at {at} are not text in the encoding that the option \
                     `encoding` names"
                );
                Err(IngestError::malformed_at(Format::Csv, message, line))
            }
        }
    }
}

type Put<'a> = &'a mut dyn FnMut(&str) -> Result<(), IngestError>;
/// Where the first bytes are that stand for nothing.
type Bad = Option<usize>;

fn decode_bytes(
    bytes: &[u8],
    table: impl Fn(u8) -> Option<char>,
    put: Put<'_>,
) -> Result<Bad, IngestError> {
    let mut text = String::with_capacity(3 * PIECE_BYTES);
    for (i, piece) in bytes.chunks(PIECE_BYTES).enumerate() {
        text.clear();
        for (at, b) in piece.iter().enumerate() {
            match table(*b) {
                Some(c) => text.push(c),
                None => {
                    put(&text)?;
                    return Ok(Some(i * PIECE_BYTES + at));
                }
            }
        }
        put(&text)?;
    }
    Ok(None)
}

fn decode_other(
    encoding: &'static encoding_rs::Encoding,
    bytes: &[u8],
    put: Put<'_>,
) -> Result<Bad, IngestError> {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = String::with_capacity(PIECE_BYTES);
    let mut at = 0;
    loop {
        text.clear();
        let piece = &bytes[at..bytes.len().min(at + PIECE_BYTES)];
        let last = at + piece.len() == bytes.len();
        let (result, read) = decoder.decode_to_string_without_replacement(piece, &mut text, last);
        at += read;
        put(&text)?;
        match result {
            DecoderResult::Malformed(len, after) => {
                let back = usize::from(len) + usize::from(after);
                return Ok(Some(at.saturating_sub(back)));
            }
            DecoderResult::InputEmpty if last => return Ok(None),
            DecoderResult::InputEmpty | DecoderResult::OutputFull => {}
        }
    }
}

fn decode_utf32(bytes: &[u8], big: bool, put: Put<'_>) -> Result<Bad, IngestError> {
    let big = big || bytes.starts_with(b"\0\0\xfe\xff");
    let mut text = String::with_capacity(PIECE_BYTES);
    for (i, piece) in bytes.chunks(PIECE_BYTES).enumerate() {
        text.clear();
        for (at, unit) in piece.chunks(4).enumerate() {
            let unit = unit.try_into().ok();
            let code = unit.map(if big { u32::from_be_bytes } else { u32::from_le_bytes });
            match code.and_then(char::from_u32) {
                Some(c) => text.push(c),
                None => {
                    put(&text)?;
                    return Ok(Some(i * PIECE_BYTES + 4 * at));
                }
            }
        }
        put(&text)?;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn decode(name: &str, bytes: &[u8]) -> Result<String, IngestError> {
        let text = Encoding::new(name)?.decode(bytes, &ParseCx::default())?;
        Ok(String::from_utf8(text.to_vec()).unwrap())
    }

    #[test]
    fn every_kind_of_encoding_is_read() {
        for (name, bytes, text) in [
            ("latin-1", &b"caf\xe9 \x80"[..], "caf\u{e9} \u{80}"),
            ("ISO_8859-15", b"\xa4", "\u{20ac}"),
            ("cp1252", b"\x80 \xfc", "\u{20ac} \u{fc}"),
            ("windows-1251", b"\xcf", "\u{41f}"),
            ("gbk", b"\xd6\xd0", "\u{4e2d}"),
            ("shift_jis", b"\x93\xfa", "\u{65e5}"),
            ("euc_kr", b"\xc7\xd1", "\u{d55c}"),
            ("utf-16", b"\xff\xfea\0\xe9\0", "\u{feff}a\u{e9}"),
            ("utf-16", b"\xfe\xff\0a", "\u{feff}a"),
            ("utf-16-le", b"a\0", "a"),
            ("utf-32", b"a\0\0\0\0\xf6\x01\0", "a\u{1f600}"),
        ] {
            assert_eq!(decode(name, bytes).unwrap(), text, "{name}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_an_error_with_the_line() {
        for (name, bytes) in [
            ("ascii", &b"a\nb\nc\xe9"[..]),
            ("cp1252", b"a\nb\n\x81"),
            ("gbk", b"a\nb\n\xff\xff"),
            ("utf-16", b"a\0\n\0b\0\n\0c"),
            ("utf-32", b"a\0\0\0\n\0\0\0\n\0\0\0c"),
        ] {
            let e = decode(name, bytes).unwrap_err();
            assert_eq!(e.to_record().row, Some(3), "{name}: {e}");
        }
        let e = decode("klingon", b"").unwrap_err();
        assert!(e.to_string().contains("latin-1"), "{e}");
    }

    #[test]
    fn characters_on_the_edge_of_pieces_stay_whole() {
        let text = "x".repeat(PIECE_BYTES - 1) + &"\u{4e2d}".repeat(PIECE_BYTES);
        let (bytes, _, _) = encoding_rs::GBK.encode(&text);
        assert_eq!(decode("gbk", &bytes).unwrap(), text);
    }
}
