//! Where cells are: tokens, and the rules of quoting that both tokenizers share.

use std::borrow::Cow;

use graphlume_types::limits::CELL_BYTES_MAX;
use memchr::memchr;

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

    fn irregular(start: usize, end: usize) -> Self {
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
}

/// The quoting rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quote {
    /// The quote character; `None` when quotes mean nothing.
    pub mark: Option<u8>,
    /// Whether two of them inside a quoted cell mean one.
    pub doubled: bool,
}

impl Quote {
    /// Reads the quoted cell that begins at `start`, and what is glued to its closing quote (which
    /// belongs to the cell, as every lenient reader has it). Returns the cell and the offset of the
    /// byte that ends it.
    pub fn cell(
        self,
        data: &[u8],
        start: usize,
        ends: impl Fn(u8) -> bool,
    ) -> Result<(Token, usize), Stop> {
        let mark = self.mark.unwrap_or_default();
        let mut at = start + 1;
        let mut irregular = false;
        let close = loop {
            let found = data.get(at..).and_then(|d| memchr(mark, d));
            let quote = at + found.ok_or(Stop::InQuotes { at: start })?;
            if self.doubled && data.get(quote + 1) == Some(&mark) {
                irregular = true;
                at = quote + 2;
            } else {
                break quote;
            }
        };
        let tail = &data[close + 1..];
        let glued = tail.iter().position(|b| ends(*b)).unwrap_or(tail.len());
        let end = close + 1 + glued;
        if irregular || glued > 0 {
            Ok((Token::irregular(start, end), end))
        } else {
            Ok((Token::new(start + 1, close), end))
        }
    }

    fn decode(self, raw: &[u8]) -> Vec<u8> {
        let mark = self.mark.unwrap_or_default();
        let mut out = Vec::with_capacity(raw.len());
        let mut rest = &raw[1..];
        while let Some(quote) = memchr(mark, rest) {
            out.extend_from_slice(&rest[..quote]);
            rest = &rest[quote + 1..];
            match rest {
                [next, after @ ..] if self.doubled && *next == mark => {
                    out.push(mark);
                    rest = after;
                }
                _ => break,
            }
        }
        out.extend_from_slice(rest);
        out
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
