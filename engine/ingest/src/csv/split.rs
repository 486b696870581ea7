//! Cutting a body into chunks that begin at records.
//!
//! Where quotes may hide line ends, the cut is a guess from the parity of quotes, which is right unless
//! quotes stand inside unquoted cells. A wrong guess shows: the chunk before it ends inside quotes. Then
//! the body is cut again by [`exact`], which reads every record.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memchr2};
use rayon::prelude::*;

/// A piece of the body that begins at a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    pub range: Range<usize>,
    /// At least the number of records in it.
    pub rows_max: usize,
    /// Whether it ends where its piece of the text does.
    pub last: bool,
}

impl Chunk {
    /// Moves the chunk `by` bytes on.
    pub fn shift(&mut self, by: usize) {
        self.range = self.range.start + by..self.range.end + by;
    }
}

/// Facts about a body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts {
    pub quotes: bool,
    pub cr: bool,
}

/// Bytes that are looked at for one thing before the next.
const SURVEY_BYTES: usize = 16 << 10;

struct ScannedRange {
    range: Range<usize>,
    lines: usize,
    quotes: usize,
    cr: bool,
}

fn survey(body: &[u8], quote: Option<u8>, bytes: usize) -> Vec<ScannedRange> {
    let count = body.len().div_ceil(bytes);
    let part = |i: usize| {
        let range = i * bytes..((i + 1) * bytes).min(body.len());
        let data = &body[range.clone()];
        let mut part = ScannedRange { lines: 0, quotes: 0, cr: false, range };
        // In pieces that stay in the nearest cache for the second and the third look.
        for near in data.chunks(SURVEY_BYTES) {
            part.lines += memchr_iter(b'\n', near).count();
            part.quotes += quote.map_or(0, |q| memchr_iter(q, near).count());
            part.cr |= memchr(b'\r', near).is_some();
        }
        part
    };
    (0..count).into_par_iter().map(part).collect()
}

/// Cuts `body` into chunks of about `bytes` bytes.
pub fn guess(body: &[u8], quote: Option<u8>, bytes: usize) -> (Vec<Chunk>, Facts) {
    let parts = survey(body, quote, bytes.max(1));
    let facts =
        Facts { quotes: parts.iter().any(|p| p.quotes > 0), cr: parts.iter().any(|p| p.cr) };
    // Start of each chunk, and the number of line feeds before it.
    let mut starts = vec![(0usize, 0usize)];
    let (mut inside, mut lines) = (false, 0);
    for part in &parts {
        if part.range.start > 0 {
            let data = &body[part.range.clone()];
            let quote = quote.filter(|_| part.quotes > 0);
            let mut open = inside;
            if let Some(at) = first_record(data, quote, &mut open, facts.cr) {
                starts.push((part.range.start + at, lines + 1));
            }
        }
        inside ^= part.quotes % 2 == 1;
        lines += part.lines;
    }
    starts.push((body.len(), lines + 1));
    starts.dedup_by_key(|s| s.0);
    let pairs: Vec<_> = starts.windows(2).map(|w| (w[0], w[1])).collect();
    let exact_lines = !facts.quotes && !facts.cr;
    let chunk = |(a, b): &((usize, usize), (usize, usize))| {
        let range = a.0..b.0;
        let rows_max = if exact_lines { b.1 - a.1 } else { line_ends(&body[range.clone()]) + 1 };
        Chunk { last: range.end == body.len(), range, rows_max }
    };
    (pairs.par_iter().map(chunk).collect(), facts)
}

/// Offset behind the first line end outside quotes. `open`: whether `data` begins inside quotes.
fn first_record(data: &[u8], quote: Option<u8>, open: &mut bool, cr: bool) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = data.get(at..)?;
        let line = if cr { memchr2(b'\n', b'\r', rest) } else { memchr(b'\n', rest) };
        let mark = quote.and_then(|q| memchr(q, rest));
        match (line, mark) {
            (_, Some(mark)) if *open || line.is_none_or(|l| mark < l) => {
                *open = !*open;
                at += mark + 1;
            }
            (Some(line), _) if !*open => {
                let end = at + line;
                let crlf = data[end] == b'\r' && data.get(end + 1) == Some(&b'\n');
                // A carriage return as the last byte may be half of a line end.
                let whole = data[end] == b'\n' || end + 1 < data.len();
                return whole.then_some(end + 1 + usize::from(crlf));
            }
            _ => return None,
        }
    }
}

fn line_ends(data: &[u8]) -> usize {
    let alone = |at: &usize| data.get(at + 1) != Some(&b'\n');
    memchr_iter(b'\n', data).count() + memchr_iter(b'\r', data).filter(alone).count()
}

/// Cuts `piece` by reading: `next` reads some rows and returns how many and where it then is; zero rows
/// is the end.
pub fn exact<E>(
    piece: Range<usize>,
    bytes: usize,
    mut next: impl FnMut() -> Result<(usize, usize), E>,
) -> Result<Vec<Chunk>, E> {
    let mut chunks = Vec::new();
    let (mut start, mut rows_max) = (piece.start, 0);
    loop {
        let (rows, at) = next()?;
        rows_max += rows;
        let last = rows == 0;
        if last || at - start >= bytes {
            let end = if last { piece.end } else { at };
            chunks.push(Chunk { range: start..end, rows_max, last });
            (start, rows_max) = (end, 0);
        }
        if last {
            return Ok(chunks);
        }
    }
}
