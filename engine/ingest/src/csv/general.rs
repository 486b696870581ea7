//! The tokenizer of every dialect of cells with quotes, byte by byte: the twin that [`super::fast`] is
//! tested against, and the reader of the header and of comments, runs of blanks, escapes, separators of
//! several bytes, and other line ends. What it makes of odd lines is what the C reader of pandas makes
//! of them.

use super::token::{Quote, Stop, Token, check_len};

/// What stands between cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separator {
    /// One byte.
    Byte(u8),
    /// One character outside ASCII: its bytes in UTF-8, and how many they are.
    Char([u8; 4], usize),
    /// Any run of blanks and tabs; such runs at either end of a line count for nothing.
    Blanks,
    /// A pattern, which splits lines regardless of quotes ([`super::lines`]).
    Pattern,
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

/// What one line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// There is no line.
    End,
    /// A blank line, or a comment.
    Ignored,
    /// A record, which begins here.
    Record(usize),
}

fn blank(b: u8) -> bool {
    b == b' ' || b == b'\t'
}

impl Syntax {
    fn ends_line(&self, b: u8) -> bool {
        match self.line_end {
            Some(end) => b == end,
            None => b == b'\n' || b == b'\r',
        }
    }

    /// Bytes of the separator that `rest` begins with; 0 when it begins with none.
    fn separator(&self, rest: &[u8]) -> usize {
        let Some(first) = rest.first() else { return 0 };
        match self.separator {
            Separator::Byte(s) => usize::from(*first == s),
            Separator::Char(bytes, len) if rest.starts_with(&bytes[..len]) => len,
            Separator::Blanks => usize::from(blank(*first)),
            Separator::Char(..) | Separator::Pattern => 0,
        }
    }

    /// Whether a cell ends here, right behind its closing quote.
    fn ends_quoted(&self, rest: &[u8]) -> bool {
        rest.first().is_some_and(|b| self.ends_line(*b)) || self.separator(rest) > 0
    }

    fn ends_cell(&self, rest: &[u8]) -> bool {
        self.ends_quoted(rest) || (self.comment.is_some() && rest.first() == self.comment.as_ref())
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

    /// Start of the next line.
    pub fn position(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'a [u8] {
        self.data.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.data.get(self.at).copied()
    }

    fn skip(&mut self, f: impl Fn(u8) -> bool) {
        let rest = self.rest();
        self.at += rest.iter().position(|b| !f(*b)).unwrap_or(rest.len());
    }

    /// Continues behind the end of this line.
    fn skip_line(&mut self) {
        let syntax = self.syntax;
        self.skip(|b| !syntax.ends_line(b));
        let end = self.peek();
        self.at = (self.at + 1).min(self.data.len());
        if syntax.line_end.is_none() && end == Some(b'\r') && self.peek() == Some(b'\n') {
            self.at += 1;
        }
    }

    fn at_line_end(&self) -> bool {
        self.peek().is_none_or(|b| self.syntax.ends_line(b))
    }

    fn at_comment(&self) -> bool {
        self.syntax.comment.is_some() && self.peek() == self.syntax.comment
    }

    /// Reads one line, which is more of them where quotes hide line ends; `out` gets the cells of a
    /// record. A line that is empty and yet a record has none.
    pub fn step(&mut self, out: &mut Vec<Token>) -> Result<LineKind, Stop> {
        out.clear();
        let start = self.at;
        let Some(first) = self.peek() else { return Ok(LineKind::End) };
        if self.at_comment() {
            self.skip_line();
            return Ok(LineKind::Ignored);
        }
        let Syntax { skip_blank, separator, .. } = self.syntax;
        let blanks = separator == Separator::Blanks;
        if self.syntax.ends_line(first) {
            self.skip_line();
            return Ok(if skip_blank { LineKind::Ignored } else { LineKind::Record(start) });
        }
        if blank(first) && (blanks || (skip_blank && self.syntax.separator(self.rest()) == 0)) {
            self.skip(|b| blank(b) && separator != Separator::Byte(b));
            // Behind blanks a comment is not a line of its own: the line before it is an empty record.
            let empty = blanks && self.at_comment();
            if empty || self.at_line_end() {
                let ignored = skip_blank && !empty;
                self.skip_line();
                return Ok(if ignored { LineKind::Ignored } else { LineKind::Record(start) });
            }
            if !blanks {
                self.at = start;
            }
        }
        let end = self.cells(out)?;
        check_len(out, start, end)?;
        Ok(LineKind::Record(start))
    }

    /// The cells up to the end of the line, which is consumed. Returns where the last cell ended.
    fn cells(&mut self, out: &mut Vec<Token>) -> Result<usize, Stop> {
        let syntax = self.syntax;
        let blanks = syntax.separator == Separator::Blanks;
        loop {
            if syntax.skip_space && !blanks {
                self.skip(|b| b == b' ');
            }
            let token = self.cell()?;
            out.push(token);
            let end = self.at;
            let separator = syntax.separator(self.rest());
            if separator == 0 {
                self.skip_line();
                return Ok(end);
            }
            self.at += separator;
            if blanks {
                self.skip(blank);
                if self.at_line_end() || self.at_comment() {
                    self.skip_line();
                    return Ok(end);
                }
            }
        }
    }

    fn cell(&mut self) -> Result<Token, Stop> {
        let syntax = self.syntax;
        let start = self.at;
        if syntax.quote.mark.is_some() && self.peek() == syntax.quote.mark {
            let quoted = |rest: &[u8]| syntax.ends_quoted(rest);
            let plain = |rest: &[u8]| syntax.ends_cell(rest);
            let (token, end) = syntax.quote.cell(self.data, start, quoted, plain)?;
            self.at = end;
            return Ok(token);
        }
        let mut irregular = false;
        while self.at < self.data.len() && !syntax.ends_cell(self.rest()) {
            if syntax.quote.escape.is_some() && self.peek() == syntax.quote.escape {
                irregular = true;
                self.at += 1;
                if self.at == self.data.len() {
                    return Err(Stop::Escape { at: start });
                }
            }
            self.at += 1;
        }
        let token = if irregular { Token::irregular } else { Token::new };
        Ok(token(start, self.at))
    }

    /// Passes over a line that is not wanted, where quotes hide line ends and nothing else counts.
    /// False at the end.
    pub fn pass(&mut self) -> bool {
        if self.peek().is_none() {
            return false;
        }
        let Quote { mark, doubled, .. } = self.syntax.quote;
        let is_mark = |b: Option<u8>| b.is_some() && b == mark;
        let (line, mut at_start) = (self.at, true);
        while !self.at_line_end() {
            if at_start && is_mark(self.peek()) {
                self.at += 1;
                loop {
                    self.skip(|b| Some(b) != mark);
                    self.at = (self.at + 1).min(self.data.len());
                    if !(doubled && is_mark(self.peek())) {
                        break;
                    }
                    self.at += 1;
                }
                at_start = false;
                continue;
            }
            let separator = self.syntax.separator(self.rest());
            // A separator at the very start is taken for the text of a cell.
            at_start = separator > 0 && self.at > line;
            self.at += separator.max(1);
        }
        self.skip_line();
        true
    }
}
