//! State that the chunks of one parse share, and the cutting of the text into them.

use std::ops::Range;

use super::cell_error::Fault;
use super::dialect::Dialect;
use super::fast::{Fast, Shape};
use super::general::Separator;
use super::plan::Plan;
use super::records::Reader;
use super::split::{self, Chunk, Facts};
use super::token::{Stop, Token};
use crate::meter::Meter;
use crate::{IngestError, ParseCx};

/// Tokens that are found before they are converted: as many as stay in the first cache.
const BLOCK_TOKENS: usize = 2_048;
/// Bytes of a chunk: large against its fixed cost, small against the second cache.
const CHUNK_BYTES_MIN: usize = 64 << 10;
const CHUNK_BYTES_MAX: usize = 1 << 20;
/// Bytes of a chunk per column, so that bookkeeping per chunk and column stays small.
const CHUNK_BYTES_PER_COLUMN: usize = 4 << 10;

/// What tests change.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tuning {
    /// Bytes of a chunk.
    pub chunk_bytes: Option<usize>,
    /// Use the general tokenizer even where the fast one can read the dialect.
    pub general: bool,
}

/// Finds the cells of a chunk.
pub enum Tokenizer<'a> {
    Fast(Fast<'a>),
    Other(Reader<'a>),
}

impl Tokenizer<'_> {
    fn position(&self) -> usize {
        match self {
            Self::Fast(t) => t.position(),
            Self::Other(t) => t.position(),
        }
    }
}

/// Everything about one parse that chunks share.
pub struct Job<'a> {
    pub text: &'a [u8],
    pub dialect: &'a Dialect,
    pub plan: &'a Plan,
    pub facts: Facts,
    fast: bool,
    pub cx: &'a ParseCx,
    pub meter: Meter<'a>,
}

impl<'a> Job<'a> {
    pub fn new(
        text: &'a [u8],
        dialect: &'a Dialect,
        plan: &'a Plan,
        tuning: Tuning,
        cx: &'a ParseCx,
    ) -> Self {
        let s = dialect.syntax;
        let simple = s.line_end.is_none() && s.comment.is_none() && s.quote.escape.is_none();
        let byte = matches!(s.separator, Separator::Byte(_));
        let even = plan.cells_max == plan.width;
        let fast = simple && byte && even && !s.skip_space && !tuning.general;
        // Assumed until the text has been looked at.
        let facts = Facts { quotes: true, cr: true };
        Self { text, dialect, plan, facts, fast, cx, meter: Meter::new(cx) }
    }

    pub fn tokenizer(&self, range: Range<usize>) -> Tokenizer<'a> {
        let data = &self.text[range];
        let syntax = self.dialect.syntax;
        match syntax.separator {
            Separator::Byte(separator) if self.fast => {
                let mut quote = syntax.quote;
                quote.mark = quote.mark.filter(|_| self.facts.quotes);
                Tokenizer::Fast(Fast::new(
                    data,
                    Shape {
                        separator,
                        quote,
                        cr: self.facts.cr,
                        columns: self.plan.width,
                        drop_extra: self.plan.drop_extra,
                        skip_blank: syntax.skip_blank,
                    },
                ))
            }
            _ => Tokenizer::Other(Reader::new(data, self.dialect)),
        }
    }

    pub fn fill(&self, tokenizer: &mut Tokenizer<'a>, out: &mut [Token]) -> Result<usize, Stop> {
        match tokenizer {
            Tokenizer::Fast(t) => t.fill(out),
            Tokenizer::Other(t) => t.fill(out, self.plan),
        }
    }

    pub fn block_rows(&self) -> usize {
        (BLOCK_TOKENS / self.plan.width).max(1)
    }

    fn block(&self) -> Vec<Token> {
        vec![Token::EMPTY; self.block_rows() * self.plan.width]
    }

    /// Reads up to `rows` records from `offset` on; returns how many, and where the last one ends.
    fn fill_at(
        &self,
        offset: usize,
        end: usize,
        rows: usize,
        block: &mut [Token],
    ) -> Result<(usize, usize), Fault> {
        self.cx.cancel.check().map_err(IngestError::from)?;
        let mut tokenizer = self.tokenizer(offset..end);
        let block = &mut block[..rows.min(self.block_rows()) * self.plan.width];
        let found = self.fill(&mut tokenizer, block).map_err(|s| Fault::Stop(s.shifted(offset)))?;
        Ok((found, end.min(offset + tokenizer.position())))
    }

    /// The pieces that hold wanted records.
    pub fn pieces(&self) -> Result<Vec<Range<usize>>, Fault> {
        let mut pieces = self.plan.pieces.clone();
        if let Some(range) = &self.dialect.range {
            let place = |v: u64| usize::try_from(v).unwrap_or(usize::MAX);
            for piece in &mut pieces {
                let start = self.record_from(piece, place(range.start))?;
                *piece = start..self.record_from(&(start..piece.end), place(range.end))?;
            }
        }
        if let Some(rows) = self.dialect.rows_max {
            // What lies behind the wanted rows is not looked at.
            let mut left = usize::try_from(rows).unwrap_or(usize::MAX);
            for piece in &mut pieces {
                piece.end = self.end_of(piece, &mut left)?;
            }
        }
        pieces.retain(|p| !p.is_empty());
        Ok(pieces)
    }

    /// Where the first record of `piece` begins that does so at `target` or behind it.
    fn record_from(&self, piece: &Range<usize>, target: usize) -> Result<usize, Fault> {
        if target >= piece.end {
            return Ok(piece.end);
        }
        let mut block = self.block();
        let (mut at, mut rows) = (piece.start, self.block_rows());
        while at < target {
            let (found, end) = self.fill_at(at, piece.end, rows, &mut block)?;
            if end >= target && rows > 1 {
                rows = 1;
            } else if found == 0 {
                return Ok(piece.end);
            } else {
                at = end;
            }
        }
        Ok(at)
    }

    /// Where the first `left` records of `piece` end. Counts them off.
    fn end_of(&self, piece: &Range<usize>, left: &mut usize) -> Result<usize, Fault> {
        let mut block = self.block();
        let mut at = piece.start;
        while *left > 0 {
            let (found, end) = self.fill_at(at, piece.end, *left, &mut block)?;
            if found == 0 {
                return Ok(piece.end);
            }
            *left -= found;
            at = end;
        }
        Ok(at)
    }

    fn chunk_bytes(&self, tuning: Tuning) -> usize {
        let bytes: usize = self.plan.pieces.iter().map(Range::len).sum();
        let share = bytes / (4 * rayon::current_num_threads());
        let share = share.clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX);
        tuning.chunk_bytes.unwrap_or(share.max(CHUNK_BYTES_PER_COLUMN * self.plan.width))
    }

    /// Cuts `pieces` without reading every record, and learns the facts of the text; `None` where
    /// that cannot be.
    pub fn guess(&mut self, pieces: &[Range<usize>], tuning: Tuning) -> Option<Vec<Chunk>> {
        let syntax = self.dialect.syntax;
        if syntax.line_end.is_some() || syntax.quote.escape.is_some() {
            return None;
        }
        let mut chunks = Vec::new();
        let mut facts = Facts::default();
        for piece in pieces {
            let data = &self.text[piece.clone()];
            let (mut cut, seen) = split::guess(data, syntax.quote.mark, self.chunk_bytes(tuning));
            cut.iter_mut().for_each(|c| c.shift(piece.start));
            chunks.append(&mut cut);
            facts.quotes |= seen.quotes;
            facts.cr |= seen.cr;
        }
        // Only where nothing but quotes hides line ends does their number tell.
        if facts.quotes && !self.fast {
            return None;
        }
        self.facts = facts;
        Some(chunks)
    }

    /// Cuts `pieces` by reading every record.
    pub fn exact(&self, pieces: &[Range<usize>], tuning: Tuning) -> Result<Vec<Chunk>, Fault> {
        let mut block = self.block();
        let mut chunks = Vec::new();
        for piece in pieces {
            let mut at = piece.start;
            let mut cut = split::exact(piece.clone(), self.chunk_bytes(tuning), || {
                let (found, end) = self.fill_at(at, piece.end, usize::MAX, &mut block)?;
                at = end;
                Ok::<_, Fault>((found, end))
            })?;
            chunks.append(&mut cut);
        }
        Ok(chunks)
    }
}
