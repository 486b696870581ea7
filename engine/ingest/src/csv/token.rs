//! Tokens, which say where cells are, and the rules of quoting that both tokenizers share.

use std::borrow::Cow;

use graphlume_types::limits::CELL_BYTES_MAX;
use memchr::{memchr, memchr2};

/// A cell: start (relative to its chunk) in the low half, length above it, and one bit that says that
/// the text must be decoded because it is quoted in an irregular way. As one word, so that a token can
/// lie in the memory of the value that it becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Token(pub u64);

impl Token {
    const QUOTED: u64 = 1 << 63;
    /// An absent cell.
    pub const EMPTY: Self = Self(0);

    #[inline(always)]
    pub fn new(start: usize, end: usize) -> Self {
        Self(start as u64 | ((end - start) as u64) << 32)
    }

    /// A cell whose text must be decoded.
    pub fn irregular(start: usize, end: usize) -> Self {
        Self(Self::new(start, end).0 | Self::QUOTED)
    }

    #[inline(always)]
    pub fn start(self) -> usize {
        self.0 as u32 as usize
    }

    #[inline(always)]
    pub fn len(self) -> usize {
        (self.0 >> 32) as usize & 0x7FFF_FFFF
    }

    /// The length of a plain cell, and something far beyond the limit for any other.
    #[inline(always)]
    pub fn plain_len(self) -> usize {
        (self.0 >> 32) as usize
    }

    /// Whether the bytes are the text, without decoding.
    #[inline(always)]
    pub fn is_plain(self) -> bool {
        self.0 & Self::QUOTED == 0
    }

    /// The bytes as they stand in the chunk.
    #[inline(always)]
    pub fn raw(self, data: &[u8]) -> &[u8] {
        &data[self.start()..self.start() + self.len()]
    }

    /// The text.
    pub fn text<'a>(self, data: &'a [u8], quote: Quote) -> Cow<'a, [u8]> {
        let raw = self.raw(data);
        if self.is_plain() { Cow::Borrowed(raw) } else { Cow::Owned(quote.decode(raw)) }
    }
}

/// Why a tokenizer stopped before the end of its bytes. Offsets are relative to the chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The bytes end inside a quoted cell that began here.
    InQuotes { at: usize },
    /// The record that begins here has this many cells, more than there are columns.
    TooMany { at: usize, cells: usize },
    /// The record that begins here has a cell beyond the limit.
    TooLong { at: usize },
    /// The bytes end behind an escape character, in the cell that began here.
    Escape { at: usize },
}

impl Stop {
    /// The same fault, seen from `by` bytes further to the front.
    pub fn shifted(self, by: usize) -> Self {
        match self {
            Self::InQuotes { at } => Self::InQuotes { at: at + by },
            Self::TooMany { at, cells } => Self::TooMany { at: at + by, cells },
            Self::TooLong { at } => Self::TooLong { at: at + by },
            Self::Escape { at } => Self::Escape { at: at + by },
        }
    }
}

/// The quoting rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quote {
    /// The quote character; `None` when quotes mean nothing.
    pub mark: Option<u8>,
    /// Whether two of them inside a quoted cell mean one.
    pub doubled: bool,
    /// The character that makes the next one an ordinary one.
    pub escape: Option<u8>,
}

impl Quote {
    /// Reads the quoted cell that begins at `start`, and what is glued to its closing quote (which
    /// belongs to the cell, as every lenient reader has it). `ends` tells whether a byte ends a cell,
    /// `ends_quoted` whether it does so right behind the closing quote. Returns the cell and the offset
    /// of the byte that ends it.
    #[inline(always)]
    pub fn cell(
        self,
        data: &[u8],
        start: usize,
        ends_quoted: impl Fn(&[u8]) -> bool,
        ends: impl Fn(&[u8]) -> bool,
    ) -> Result<(Token, usize), Stop> {
        let mark = self.mark.unwrap_or_default();
        let mut at = start + 1;
        let mut irregular = false;
        let close = loop {
            let rest = data.get(at..).unwrap_or_default();
            let found = match self.escape {
                None => memchr(mark, rest),
                Some(escape) => memchr2(mark, escape, rest),
            };
            let found = at + found.ok_or(Stop::InQuotes { at: start })?;
            let pair = self.doubled && data.get(found + 1) == Some(&mark);
            if !pair && Some(data[found]) != self.escape {
                break found;
            }
            (irregular, at) = (true, found + 2);
        };
        // Where two quotes may mean one, a reader has to look one byte further, and takes it as it is.
        let mut end = close + 1;
        if self.doubled && end < data.len() {
            if ends_quoted(&data[end..]) {
                return Ok((Self::token(start, close, end, irregular), end));
            }
            end += 1;
        }
        while end < data.len() && !ends(&data[end..]) {
            if Some(data[end]) == self.escape {
                end += 1;
                if end == data.len() {
                    return Err(Stop::Escape { at: start });
                }
            }
            end += 1;
        }
        Ok((Self::token(start, close, end, irregular), end))
    }

    fn token(start: usize, close: usize, end: usize, irregular: bool) -> Token {
        if irregular || end > close + 1 {
            Token::irregular(start, end)
        } else {
            Token::new(start + 1, close)
        }
    }

    fn decode(self, raw: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(raw.len());
        let quoted = self.mark.is_some() && raw.first().copied() == self.mark;
        let mut rest = if quoted { self.inner(&raw[1..], &mut out) } else { raw };
        let Some(escape) = self.escape else {
            out.extend_from_slice(rest);
            return out;
        };
        if quoted && self.doubled {
            // See `cell`: this byte was taken as it is.
            out.extend(rest.first());
            rest = rest.get(1..).unwrap_or_default();
        }
        while let Some(at) = memchr(escape, rest) {
            out.extend_from_slice(&rest[..at]);
            out.extend(rest.get(at + 1));
            rest = rest.get(at + 2..).unwrap_or_default();
        }
        out.extend_from_slice(rest);
        out
    }

    /// Decodes what stands between the quotes, and returns what stands behind them.
    fn inner<'a>(self, mut rest: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
        let mark = self.mark.unwrap_or_default();
        let next = |rest: &[u8]| match self.escape {
            None => memchr(mark, rest),
            Some(escape) => memchr2(mark, escape, rest),
        };
        while let Some(at) = next(rest) {
            out.extend_from_slice(&rest[..at]);
            let escaped = Some(rest[at]) == self.escape;
            rest = &rest[at + 1..];
            match rest {
                [next, after @ ..] if escaped || (self.doubled && *next == mark) => {
                    out.push(*next);
                    rest = after;
                }
                _ => return rest,
            }
        }
        out.extend_from_slice(rest);
        &[]
    }
}

/// Refuses cells beyond [`CELL_BYTES_MAX`]. A record that is short as a whole has none.
#[inline(always)]
pub fn check_len(tokens: &[Token], start: usize, end: usize) -> Result<(), Stop> {
    if end - start > CELL_BYTES_MAX && tokens.iter().any(|t| t.len() > CELL_BYTES_MAX) {
        return Err(Stop::TooLong { at: start });
    }
    Ok(())
}

/// Whether a whole record is this one blank cell.
#[inline(always)]
pub fn is_blank(data: &[u8], start: usize, token: Token, quote: Quote) -> bool {
    let raw = token.raw(data);
    let blank = raw.iter().all(|b| matches!(b, b' ' | b'\t'));
    blank && !(quote.mark.is_some() && data.get(start).copied() == quote.mark)
}
