//! The tokenizer of ordinary files: one separator byte, optional quotes. It looks at 64 bytes at once.

use super::digits;
use super::patience::Patience;
use super::token::{Quote, Stop, Token, check_len, is_blank};
#[cfg(target_arch = "x86_64")]
use super::{simd_scan, swar};

/// Bit `i` is set when byte `i` is `a`, `b` or `c`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn positions(block: &[u8; 64], a: u8, b: u8, c: u8) -> u64 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    };
    let mut mask = 0u64;
    for lane in 0..4 {
        // SAFETY: SSE2 is part of the x86-64 baseline, the load has no alignment demand, and the 16
        // bytes at 16 * lane (lane < 4) lie inside the 64 bytes of `block`.
        let bits = unsafe {
            let bytes = _mm_loadu_si128(block.as_ptr().add(16 * lane).cast::<__m128i>());
            let is_a = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(a as i8));
            let is_b = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b as i8));
            let is_c = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c as i8));
            _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(is_a, is_b), is_c))
        };
        mask |= u64::from(bits as u32) << (16 * lane);
    }
    mask
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn positions(block: &[u8; 64], a: u8, b: u8, c: u8) -> u64 {
    scalar_positions(block, a, b, c)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn scalar_positions(block: &[u8; 64], a: u8, b: u8, c: u8) -> u64 {
    let hit = |i: usize| u64::from(block[i] == a || block[i] == b || block[i] == c);
    (0..64).fold(0, |mask, i| mask | hit(i) << i)
}

/// Records that are read one by one before many at a time are tried again.
const PATIENCE: Patience = Patience::new(16);

/// What a [`Fast`] reader needs to know of the dialect.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// The byte between cells.
    pub separator: u8,
    /// Quoting.
    pub quote: Quote,
    /// Whether a carriage return ends a record (alone or before a line feed). False only when the
    /// input has none, which saves a look at each cell's last byte.
    pub cr: bool,
    /// Columns, at least 1.
    pub columns: usize,
    /// Whether cells past the last column are dropped instead of refused.
    pub drop_extra: bool,
    /// Whether blank lines are no records.
    pub skip_blank: bool,
}

#[cfg(target_arch = "x86_64")]
impl Shape {
    fn ends(self) -> Option<Box<simd_scan::Ends>> {
        let Self { separator, quote, columns, cr, .. } = self;
        // A lone cell may be a blank line.
        let ordinary = !cr && (2..=simd_scan::COLUMNS_MAX).contains(&columns) && swar::available();
        let stop = quote.mark.unwrap_or(separator);
        ordinary.then(|| Box::new(simd_scan::Ends::new(separator, stop, columns)))
    }
}

/// Turns a chunk into tokens, some rows at a time.
pub struct Fast<'a> {
    data: &'a [u8],
    shape: Shape,
    /// Start of the next record.
    start: usize,
    base: usize,
    mask: u64,
    patience: Patience,
    /// Where many records at a time can be read.
    #[cfg(target_arch = "x86_64")]
    ends: Option<Box<simd_scan::Ends>>,
}

impl<'a> Fast<'a> {
    pub fn new(data: &'a [u8], shape: Shape) -> Self {
        let mut this = Self {
            data,
            shape,
            start: 0,
            base: 0,
            mask: 0,
            patience: PATIENCE,
            #[cfg(target_arch = "x86_64")]
            ends: shape.ends(),
        };
        this.mask = this.block(0);
        this
    }

    /// Start of the next record.
    pub fn position(&self) -> usize {
        self.start
    }

    #[inline(always)]
    fn block(&self, base: usize) -> u64 {
        let Shape { separator, cr, .. } = self.shape;
        let third = if cr { b'\r' } else { b'\n' };
        match self.data.get(base..).and_then(|d| d.first_chunk::<64>()) {
            Some(block) => positions(block, separator, b'\n', third),
            None => {
                let tail = self.data.get(base..).unwrap_or_default();
                let mut block = [0u8; 64];
                block[..tail.len()].copy_from_slice(tail);
                // The padding is no data, whatever the separator is.
                positions(&block, separator, b'\n', third) & ((1u64 << tail.len()) - 1)
            }
        }
    }

    /// Offset of the next separator or line end; the length of the data when there is none.
    #[inline(always)]
    fn next(&mut self) -> usize {
        while self.mask == 0 {
            self.base += 64;
            if self.base >= self.data.len() {
                self.base = self.data.len();
                return self.data.len();
            }
            self.mask = self.block(self.base);
        }
        let at = self.base + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        at
    }

    /// Continues behind `offset`.
    fn seek(&mut self, offset: usize) {
        self.base = offset & !63;
        self.mask = if offset >= self.data.len() { 0 } else { self.block(self.base) };
        self.mask &= !0u64 << (offset & 63);
    }

    /// The shortest way for edge lists: reads records that are nothing but plain digits straight into
    /// one slice per column, and stops before the first record that is anything else. Returns the
    /// number of records.
    pub fn digits(&mut self, columns: &mut [&mut [u64]]) -> usize {
        let (rows, at) = digits::read(self.data, self.start, self.shape.separator, columns);
        self.start = at;
        self.seek(at);
        rows
    }

    /// Fills `out` with whole rows of `columns` tokens, short rows padded with empty ones. Returns the
    /// number of rows, which is less than fit only at the end of the data.
    pub fn fill(&mut self, out: &mut [Token]) -> Result<usize, Stop> {
        let columns = self.shape.columns;
        let rows_max = out.len() / columns;
        let mut rows = 0;
        while rows < rows_max {
            let many = self.many(&mut out[rows * columns..]);
            rows += many;
            let some = self.patience.after(many).min(rows_max - rows);
            let out = &mut out[rows * columns..][..some * columns];
            let found = match self.shape.quote.mark {
                Some(_) => self.fill_as::<true>(out),
                None => self.fill_as::<false>(out),
            }?;
            rows += found;
            if found < some {
                break;
            }
        }
        Ok(rows)
    }

    /// Reads records as long as they are ordinary ones. Returns their number.
    #[cfg(target_arch = "x86_64")]
    fn many(&mut self, out: &mut [Token]) -> usize {
        let Some(ends) = &self.ends else { return 0 };
        // SAFETY: the processor has what the function is compiled for.
        let (rows, at) = unsafe { simd_scan::records(self.data, self.start, ends, out) };
        self.start = at;
        self.seek(at);
        rows
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn many(&mut self, _: &mut [Token]) -> usize {
        0
    }

    #[inline(always)]
    fn fill_as<const QUOTES: bool>(&mut self, out: &mut [Token]) -> Result<usize, Stop> {
        let data = self.data;
        let Shape { separator, quote, columns, .. } = self.shape;
        let mut rows = 0;
        for row in out.chunks_exact_mut(columns) {
            loop {
                if self.start >= data.len() {
                    return Ok(rows);
                }
                let record = self.start;
                let (mut at, mut cells) = (record, 0);
                let end = loop {
                    let quoted = QUOTES && data.get(at).copied() == quote.mark;
                    let (token, end) = if quoted {
                        let cr = self.shape.cr;
                        let ends = |rest: &[u8]| {
                            let b = rest.first().copied().unwrap_or(b'\n');
                            b == separator || b == b'\n' || (cr && b == b'\r')
                        };
                        let (token, end) = quote.cell(data, at, ends, ends)?;
                        self.seek(end + 1);
                        (token, end)
                    } else {
                        let end = self.next();
                        (Token::new(at, end), end)
                    };
                    if let Some(slot) = row.get_mut(cells) {
                        *slot = token;
                    }
                    cells += 1;
                    match data.get(end) {
                        Some(b) if *b == separator => at = end + 1,
                        _ => break end,
                    }
                };
                self.start = end + 1;
                // The second half of a CRLF is not a line end of its own.
                if data.get(end) == Some(&b'\r') && data.get(end + 1) == Some(&b'\n') {
                    self.next();
                    self.start = end + 2;
                }
                let ignored = if cells != columns {
                    self.uneven(row, record, cells)?
                } else {
                    columns == 1 && self.blank(record, row[0])
                };
                if ignored {
                    continue;
                }
                check_len(row, record, end)?;
                break;
            }
            rows += 1;
        }
        Ok(rows)
    }

    fn blank(&self, record: usize, token: Token) -> bool {
        self.shape.skip_blank && is_blank(self.data, record, token, self.shape.quote)
    }

    /// A record of another length than the header's: pads it, refuses it, or answers true when it is a
    /// blank line.
    #[cold]
    fn uneven(&self, row: &mut [Token], record: usize, cells: usize) -> Result<bool, Stop> {
        if cells > row.len() {
            let kept = self.shape.drop_extra;
            return if kept { Ok(false) } else { Err(Stop::TooMany { at: record, cells }) };
        }
        if cells == 1 && self.blank(record, row[0]) {
            return Ok(true);
        }
        row[cells..].fill(Token::EMPTY);
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_vector_form_finds_what_the_loop_finds(
            bytes in proptest::collection::vec(0u8..8, 64), a in 0u8..8, b in 0u8..8, c in 0u8..8
        ) {
            let mut block = [0u8; 64];
            block.copy_from_slice(&bytes);
            prop_assert_eq!(positions(&block, a, b, c), scalar_positions(&block, a, b, c));
        }

        #[test]
        fn many_records_at_a_time_are_what_one_by_one_gives(
            rows in proptest::collection::vec((record(), 0usize..40), 0..120), columns in 2usize..4, quotes in any::<bool>(), ended in any::<bool>()
        ) {
            let mut text: String = rows.iter().map(|(r, ends)| r.clone() + if *ends == 0 { "\n\n" } else { "\n" }).collect();
            if !ended {
                text.pop();
            }
            let mark = quotes.then_some(b'"');
            let quote = Quote { mark, doubled: true, escape: None };
            let shape = Shape { separator: b',', quote, cr: false, columns, drop_extra: false, skip_blank: true };
            let mut out = vec![Token::EMPTY; (rows.len() + 3) * columns];
            let mut many = Fast::new(text.as_bytes(), shape);
            let found = many.fill(&mut out).map(|rows| (rows, out[..rows * columns].to_vec()));
            // With a carriage return among the line ends the ordinary form alone is used.
            let mut one = Fast::new(text.as_bytes(), Shape { cr: true, ..shape });
            let wanted = one.fill(&mut out).map(|rows| (rows, out[..rows * columns].to_vec()));
            prop_assert_eq!(found, wanted);
        }
    }

    #[test]
    fn a_last_record_without_a_line_end_is_the_last_one_wherever_a_block_ends() {
        let quote = Quote { mark: Some(b'"'), doubled: true, escape: None };
        let shape = Shape {
            separator: b',',
            quote,
            cr: false,
            columns: 2,
            drop_extra: false,
            skip_blank: true,
        };
        for rows in 1..200 {
            for record in ["x,y", "1,2"] {
                let text = vec![record; rows].join("\n");
                let mut out = vec![Token::EMPTY; (rows + 3) * 2];
                let mut tokens = Fast::new(text.as_bytes(), shape);
                assert_eq!(tokens.fill(&mut out), Ok(rows), "{rows} rows");
                assert_eq!(tokens.fill(&mut out), Ok(0), "{rows} rows");
                assert_eq!(tokens.digits(&mut [&mut [0], &mut [0]]), 0, "{rows} rows");
            }
        }
    }

    /// Mostly of three cells.
    fn record() -> impl Strategy<Value = String> {
        let cell = prop_oneof![20 => "[a-z0-9]{0,12}", 1 => Just("\"a,b\"".to_owned()), 1 => "[a-z]{60,140}"];
        prop_oneof![
            30 => proptest::collection::vec(cell, 3).prop_map(|c| c.join(",")),
            1 => "[a-z,]{0,5}",
        ]
    }
}
