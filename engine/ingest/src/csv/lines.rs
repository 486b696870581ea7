//! The tokenizer of patterns: separators of several characters and regular expressions. Lines are
//! stripped and then split, and quotes are text, as in the reader that pandas has for these.

use memchr::{memchr, memchr2, memmem};
use regex::bytes::Regex;

use super::cells::Cells;
use super::general::LineKind;
use super::token::{Stop, Token, check_len};
use crate::IngestError;

/// What stands between cells.
#[derive(Debug, Clone)]
pub enum Pattern {
    /// These bytes.
    Literal(Box<memmem::Finder<'static>>),
    /// Whatever this matches.
    Regex(Regex),
}

impl Pattern {
    /// Compiles the option `name`. Text without operators, or with all of them escaped, is searched
    /// for as it is.
    pub fn new(name: &str, text: &str) -> Result<Self, IngestError> {
        if let Some(literal) = literal(text) {
            return Ok(Self::Literal(Box::new(memmem::Finder::new(&literal).into_owned())));
        }
        let regex = Regex::new(text).map_err(|e| {
            let why = e.to_string();
            let why = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            let message = format!(
                "a separator of several characters is a regular expression, and {text:?} is none that \
                 can be used: {why}"
            );
            IngestError::option(name, message)
        })?;
        if regex.is_match(b"") {
            let message = format!(
                "{text:?} is a regular expression that matches the empty text; put a backslash \
                 before | * + ? . ( ) [ ] {{ }} ^ $ to have them as they are"
            );
            return Err(IngestError::option(name, message));
        }
        if regex.captures_len() > 1 {
            let message = format!("{text:?} captures a group; write (?:..) instead of (..)");
            return Err(IngestError::option(name, message));
        }
        Ok(Self::Regex(regex))
    }

    fn next(&self, line: &[u8], from: usize) -> Option<(usize, usize)> {
        match self {
            Self::Literal(finder) => {
                let at = from + finder.find(line.get(from..)?)?;
                Some((at, at + finder.needle().len()))
            }
            // Not a slice: what an expression matches may depend on what stands before.
            Self::Regex(regex) => {
                let mut from = from;
                loop {
                    let found = regex.find_at(line, from)?;
                    if !found.is_empty() {
                        return Some((found.start(), found.end()));
                    }
                    from = found.end() + 1;
                    if from > line.len() {
                        return None;
                    }
                }
            }
        }
    }
}

/// The text that `pattern` stands for, when it has no operators.
fn literal(pattern: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut bytes = pattern.bytes();
    while let Some(b) = bytes.next() {
        match b {
            b'\\' => match bytes.next()? {
                b't' => out.push(b'\t'),
                b if b.is_ascii_punctuation() => out.push(b),
                _ => return None,
            },
            b'.' | b'^' | b'$' | b'*' | b'+' | b'?' | b'{' | b'}' | b'[' | b']' | b'|' | b'('
            | b')' => return None,
            b => out.push(b),
        }
    }
    (!out.is_empty()).then_some(out)
}

/// How lines are read.
#[derive(Debug, Clone, Copy)]
pub struct Manner<'a> {
    pub pattern: &'a Pattern,
    pub comment: Option<u8>,
    pub skip_blank: bool,
    /// Tells the words for missing values, which a comment mark does not break.
    pub cells: &'a Cells,
}

/// Reads lines one by one.
pub struct Lines<'a> {
    data: &'a [u8],
    manner: Manner<'a>,
    at: usize,
}

impl<'a> Lines<'a> {
    pub fn new(data: &'a [u8], manner: Manner<'a>) -> Self {
        Self { data, manner, at: 0 }
    }

    /// Start of the next line.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Start and end of the next line, which is consumed.
    fn line(&mut self) -> Option<(usize, usize)> {
        let start = self.at;
        let rest = self.data.get(start..).filter(|r| !r.is_empty())?;
        let end = start + memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let crlf = self.data.get(end..end + 2) == Some(b"\r\n");
        self.at = (end + 1 + usize::from(crlf)).min(self.data.len());
        Some((start, end))
    }

    /// As [`super::general::General::step`].
    pub fn step(&mut self, out: &mut Vec<Token>) -> Result<LineKind, Stop> {
        out.clear();
        let Some((line_start, line_end)) = self.line() else { return Ok(LineKind::End) };
        let (start, end) = stripped(self.data, line_start, line_end);
        let line = &self.data[start..end];
        let Manner { comment, skip_blank, cells, .. } = self.manner;
        let mut from = 0;
        loop {
            let found = self.manner.pattern.next(line, from);
            let cell = &line[from..found.map_or(line.len(), |f| f.0)];
            let cut = comment.and_then(|c| memchr(c, cell)).filter(|_| !cells.is_na_word(cell));
            let len = cut.unwrap_or(cell.len());
            if cut != Some(0) {
                out.push(Token::new(start + from, start + from + len));
            }
            match found {
                Some((_, next)) if cut.is_none() => from = next,
                _ => break,
            }
        }
        let is_blank = |t: &Token| t.raw(self.data).trim_ascii().is_empty();
        if out.len() < 2 && out.first().is_none_or(is_blank) {
            if skip_blank {
                return Ok(LineKind::Ignored);
            }
            out.clear();
        }
        check_len(out, start, end)?;
        Ok(LineKind::Record(line_start))
    }

    /// Passes over a line. False at the end.
    pub fn pass(&mut self) -> bool {
        self.line().is_some()
    }
}

/// Leaves out the white space at both ends.
fn stripped(data: &[u8], start: usize, end: usize) -> (usize, usize) {
    let line = &data[start..end];
    match std::str::from_utf8(line) {
        Ok(text) => {
            let front = text.len() - text.trim_start().len();
            let text = text.trim();
            (start + front, start + front + text.len())
        }
        Err(_) => {
            let front = line.len() - line.trim_ascii_start().len();
            let line = line.trim_ascii();
            (start + front, start + front + line.len())
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn text_without_operators_is_searched_for_as_it_is() {
        assert_eq!(literal(r"\|\|").unwrap(), b"||");
        assert_eq!(literal("::").unwrap(), b"::");
        assert_eq!(literal(r"\t\t").unwrap(), b"\t\t");
        for regex in ["||", r"\s\s", "a+", "[,;]", "(a)", r"\"] {
            assert_eq!(literal(regex), None, "{regex}");
        }
    }

    #[test]
    fn patterns_that_cannot_split_are_refused() {
        for (bad, says) in [
            ("||", "matches the empty text"),
            ("(a)b", "captures"),
            ("[a", "unclosed"),
            ("a(?=b)", "look-around"),
        ] {
            let e = Pattern::new("sep", bad).unwrap_err().to_string();
            assert!(e.contains(says), "{e}");
        }
        assert!(matches!(Pattern::new("sep", r"\s*,\s*"), Ok(Pattern::Regex(_))));
    }
}
