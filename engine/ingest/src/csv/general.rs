//! The tokenizer of every dialect, byte by byte: the twin that [`super::fast`] is tested against, and
//! the reader of the header and of comments, runs of blanks, and other line ends.

use super::token::{Quote, Stop, Token, check_len, is_blank};

/// What stands between cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separator {
    /// One byte.
    Byte(u8),
    /// Any run of blanks and tabs; such runs at either end of a line count for nothing.
    Blanks,
}

/// How records and cells are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Syntax {
    pub separator: Separator,
    pub quote: Quote,
    /// The byte that ends a record; `None` is line feed, carriage return, or both.
    pub line_end: Option<u8>,
    /// From this byte to the end of the line nothing counts.
    pub comment: Option<u8>,
    /// Whether blanks after a separator belong to it.
    pub skip_space: bool,
    pub skip_blank: bool,
}

impl Syntax {
    fn ends_line(&self, b: u8) -> bool {
        match self.line_end {
            Some(end) => b == end,
            None => b == b'\n' || b == b'\r',
        }
    }

    fn separates(&self, b: u8) -> bool {
        match self.separator {
            Separator::Byte(s) => b == s,
            Separator::Blanks => b == b' ' || b == b'\t',
        }
    }

    fn ends_cell(&self, b: u8) -> bool {
        self.separates(b) || self.ends_line(b) || Some(b) == self.comment
    }
}

/// Reads records one by one.
pub struct General<'a> {
    data: &'a [u8],
    syntax: Syntax,
    at: usize,
}

impl<'a> General<'a> {
    pub fn new(data: &'a [u8], syntax: Syntax) -> Self {
        Self { data, syntax, at: 0 }
    }

    /// Start of the next record.
    pub fn position(&self) -> usize {
        self.at
    }

    fn peek(&self) -> Option<u8> {
        self.data.get(self.at).copied()
    }

    fn skip(&mut self, f: impl Fn(u8) -> bool) {
        let rest = self.data.get(self.at..).unwrap_or_default();
        self.at += rest.iter().position(|b| !f(*b)).unwrap_or(rest.len());
    }

    fn skip_line(&mut self) {
        let syntax = self.syntax;
        self.skip(|b| !syntax.ends_line(b));
        let end = self.peek();
        self.at = (self.at + 1).min(self.data.len());
        if syntax.line_end.is_none() && end == Some(b'\r') && self.peek() == Some(b'\n') {
            self.at += 1;
        }
    }

    /// Reads the next record that is neither blank nor a comment into `out`, and returns where it
    /// began; `None` at the end.
    pub fn record(&mut self, out: &mut Vec<Token>) -> Result<Option<usize>, Stop> {
        loop {
            out.clear();
            let start = self.at;
            match self.peek() {
                None => return Ok(None),
                Some(b) if Some(b) == self.syntax.comment => {
                    self.skip_line();
                    continue;
                }
                Some(_) => {}
            }
            let blank_before = self.syntax.separator == Separator::Blanks;
            if blank_before {
                self.skip(|b| b == b' ' || b == b'\t');
            }
            let first = self.at;
            let end = self.cells(out)?;
            let only = if let [one] = out.as_slice() { Some(*one) } else { None };
            let blank = |t| is_blank(self.data, first, t, self.syntax.quote);
            if self.syntax.skip_blank && only.is_some_and(blank) {
                continue;
            }
            check_len(out, start, end)?;
            return Ok(Some(start));
        }
    }

    /// The cells up to the end of the line, which is consumed. Returns where the last cell ended.
    fn cells(&mut self, out: &mut Vec<Token>) -> Result<usize, Stop> {
        let syntax = self.syntax;
        loop {
            if syntax.skip_space {
                self.skip(|b| b == b' ');
            }
            let start = self.at;
            if self.peek().is_some() && self.peek() == syntax.quote.mark {
                let (token, end) = syntax.quote.cell(self.data, start, |b| syntax.ends_cell(b))?;
                self.at = end;
                out.push(token);
            } else {
                self.skip(|b| !syntax.ends_cell(b));
                out.push(Token::new(start, self.at));
            }
            let end = self.at;
            if self.peek().is_none_or(|b| !syntax.separates(b)) {
                self.skip_line();
                return Ok(end);
            }
            self.at += 1;
            if syntax.separator == Separator::Blanks {
                self.skip(|b| b == b' ' || b == b'\t');
                if self.peek().is_none_or(|b| syntax.ends_line(b) || Some(b) == syntax.comment) {
                    self.skip_line();
                    return Ok(end);
                }
            }
        }
    }

    /// As [`super::fast::Fast::fill`].
    pub fn fill(
        &mut self,
        out: &mut [Token],
        columns: usize,
        drop_extra: bool,
    ) -> Result<usize, Stop> {
        let mut cells = Vec::with_capacity(columns);
        let mut rows = 0;
        for row in out.chunks_exact_mut(columns) {
            let Some(at) = self.record(&mut cells)? else { break };
            if cells.len() > columns && !drop_extra {
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
