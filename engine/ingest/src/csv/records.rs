//! Reading line by line: the header, lines that are not wanted, and where ranges of records begin.

use graphlume_types::CancelToken;

use super::dialect::Dialect;
use super::general::{General, LineKind};
use super::lines::{Lines, Manner};
use super::plan::Plan;
use super::token::{Stop, Token};
use crate::IngestError;

/// The tokenizer of a dialect that is not ordinary.
pub enum Reader<'a> {
    General(General<'a>),
    Lines(Lines<'a>),
}

impl<'a> Reader<'a> {
    pub fn new(data: &'a [u8], dialect: &'a Dialect) -> Self {
        let syntax = dialect.syntax;
        match &dialect.pattern {
            None => Self::General(General::new(data, syntax)),
            Some(pattern) => {
                let (comment, skip_blank) = (syntax.comment, syntax.skip_blank);
                let manner = Manner { pattern, comment, skip_blank, cells: &dialect.cells };
                Self::Lines(Lines::new(data, manner))
            }
        }
    }

    /// Start of the next line.
    pub fn position(&self) -> usize {
        match self {
            Self::General(r) => r.position(),
            Self::Lines(r) => r.position(),
        }
    }

    fn step(&mut self, out: &mut Vec<Token>) -> Result<LineKind, Stop> {
        match self {
            Self::General(r) => r.step(out),
            Self::Lines(r) => r.step(out),
        }
    }

    fn pass(&mut self) -> bool {
        match self {
            Self::General(r) => r.pass(),
            Self::Lines(r) => r.pass(),
        }
    }

    /// The next record; `None` at the end.
    pub fn record(&mut self, out: &mut Vec<Token>) -> Result<Option<usize>, Stop> {
        loop {
            match self.step(out)? {
                LineKind::End => return Ok(None),
                LineKind::Ignored => {}
                LineKind::Record(at) => return Ok(Some(at)),
            }
        }
    }

    /// As [`super::fast::Fast::fill`].
    pub fn fill(&mut self, out: &mut [Token], plan: &Plan) -> Result<usize, Stop> {
        let columns = plan.width;
        let mut cells = Vec::with_capacity(columns);
        let mut rows = 0;
        for row in out.chunks_exact_mut(columns) {
            let Some(at) = self.record(&mut cells)? else { break };
            if cells.len() > plan.cells_max && !plan.drop_extra {
                return Err(Stop::TooMany { at, cells: cells.len() });
            }
            let n = cells.len().min(columns);
            row[..n].copy_from_slice(&cells[..n]);
            row[n..].fill(Token::EMPTY);
            rows += 1;
        }
        Ok(rows)
    }
}

/// Walks over the lines of a text and counts them.
pub struct Walk<'a> {
    text: &'a [u8],
    dialect: &'a Dialect,
    cancel: &'a CancelToken,
    reader: Reader<'a>,
    /// Where the reader's data begin.
    base: usize,
    line: u64,
    cells: Vec<Token>,
}

/// Why a walk ended; offsets are from the start of the text.
pub enum Halt {
    Stop(Stop),
    Error(IngestError),
}

impl From<IngestError> for Halt {
    fn from(e: IngestError) -> Self {
        Self::Error(e)
    }
}

impl<'a> Walk<'a> {
    /// Begins at the first line.
    pub fn new(text: &'a [u8], dialect: &'a Dialect, cancel: &'a CancelToken) -> Self {
        let reader = Reader::new(text, dialect);
        Self { text, dialect, cancel, reader, base: 0, line: 0, cells: Vec::new() }
    }

    /// Start of the next line.
    pub fn position(&self) -> usize {
        self.base + self.reader.position()
    }

    /// Number of the next line, from 0.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The cells of the last record, and the text that they lie in.
    pub fn cells(&self) -> (&[Token], &'a [u8]) {
        (&self.cells, &self.text[self.base..])
    }

    /// Goes over one line, which may be one that is skipped: then it counts as ignored, and its range
    /// is handed to `skipped`.
    fn step(&mut self, mut skipped: impl FnMut(usize, usize)) -> Result<LineKind, Halt> {
        // Tokens have 32 bits for a place.
        const REBASE: usize = 1 << 30;
        if self.reader.position() > REBASE {
            self.base = self.position();
            self.reader = Reader::new(&self.text[self.base..], self.dialect);
        }
        if self.line.is_multiple_of(65_536) {
            self.cancel.check().map_err(IngestError::from)?;
        }
        let start = self.position();
        let step = if self.dialect.skip.has(self.line) {
            let some = self.reader.pass();
            skipped(start, self.position());
            if some { LineKind::Ignored } else { LineKind::End }
        } else {
            let stop = |stop: Stop| Halt::Stop(stop.shifted(self.base));
            self.reader.step(&mut self.cells).map_err(stop)?
        };
        if step != LineKind::End {
            self.line += 1;
        }
        Ok(step)
    }

    /// Goes to the next record that is not skipped; false at the end.
    pub fn record(&mut self) -> Result<bool, Halt> {
        loop {
            match self.step(|_, _| {})? {
                LineKind::End => return Ok(false),
                LineKind::Ignored => {}
                LineKind::Record(_) => return Ok(true),
            }
        }
    }

    /// Walks on until no line is skipped any more. Returns the pieces between skipped lines; the last
    /// one is what follows, up to the end.
    pub fn kept(&mut self) -> Result<Vec<std::ops::Range<usize>>, Halt> {
        let mut pieces = Vec::new();
        let mut from = self.position();
        let end = self.dialect.skip.end();
        while self.line < end {
            let mut gap = None;
            let step = match self.step(|start, end| gap = Some((start, end))) {
                // What is wrong there is said when it is read, unless it is not wanted.
                Err(Halt::Stop(_)) => break,
                step => step?,
            };
            if let Some((start, end)) = gap {
                pieces.push(from..start);
                from = end;
            }
            if step == LineKind::End {
                break;
            }
        }
        pieces.push(from..self.text.len());
        pieces.retain(|p| !p.is_empty());
        Ok(pieces)
    }

    /// Walks to the end. Returns where the last `count` lines begin.
    pub fn footer(&mut self, count: u64) -> Result<usize, Halt> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let mut starts = std::collections::VecDeque::new();
        loop {
            starts.push_back(self.position());
            if starts.len() > count.saturating_add(1) {
                starts.pop_front();
            }
            match self.step(|_, _| {}) {
                Ok(LineKind::End) => return Ok(starts.front().copied().unwrap_or(0)),
                // A cell that is never closed makes the last line.
                Err(Halt::Stop(Stop::InQuotes { .. } | Stop::Escape { .. })) => {
                    let last = usize::from(starts.len() > count);
                    return Ok(starts.get(last).copied().unwrap_or(self.text.len()));
                }
                step => drop(step?),
            }
        }
    }
}
