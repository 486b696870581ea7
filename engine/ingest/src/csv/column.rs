//! One column of one chunk: values in 64-bit slots that lie in the memory of the final column.

use graphlume_types::number::{exact_f64_of_u64, nearest_f64};

use super::cells::{Cell, Cells};
use super::patience::Patience;
use super::room::{Filled, Room};
use super::seen::Seen;
#[cfg(target_arch = "x86_64")]
use super::swar;
use super::token::Token;
use crate::decimals::{ROUNDED_COUNTED_MAX, loses, loses_whole};
use crate::demand::{Demand, Kind};
use crate::number::{Int, fast_float, fast_int};

/// A cell that is not of the type that was demanded for its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadCell {
    /// The cell.
    pub token: Token,
    /// The type.
    pub kind: Kind,
}

/// Bytes of a cell of text that are copied without a look at its length.
const SHORT: usize = 16;
/// Cells that are read one by one before four at a time are tried again.
const PATIENCE: Patience = Patience::new(4);

/// The tokens of one column among row-major ones.
struct Cursor<'a> {
    tokens: &'a [Token],
    step: usize,
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "without the quick way"))]
    patience: Patience,
}

impl Cursor<'_> {
    /// The next `most` cells, as far as there are any.
    fn iter(&mut self, most: usize) -> impl Iterator<Item = Token> {
        self.tokens.iter().step_by(self.step).take(most).copied()
    }

    fn pass(&mut self, cells: usize) {
        self.tokens = self.tokens.get(cells * self.step..).unwrap_or_default();
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.first().copied();
        self.pass(1);
        token
    }

    /// Reads four cells at a time as long as they are ordinary numbers. Returns how many were, and how
    /// many to read one by one.
    #[cfg(target_arch = "x86_64")]
    fn fours(&mut self, data: &[u8], kind: Kind, slots: &mut [u64]) -> (usize, usize) {
        if !swar::available() {
            return (0, usize::MAX);
        }
        let read = if kind == Kind::Int { swar::ints } else { swar::floats };
        // SAFETY: the processor has what the functions are compiled for.
        let taken = unsafe { read(data, self.tokens, self.step, slots) };
        self.pass(taken);
        (taken, self.patience.after(taken))
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn fours(&mut self, _: &[u8], _: Kind, _: &mut [u64]) -> (usize, usize) {
        (0, usize::MAX)
    }
}

/// See the module.
pub struct ChunkColumn<'a> {
    slots: &'a mut [u64],
    /// How the slots are to be read; `None` once a cell did not fit, when only `seen` still counts.
    pub repr: Option<Kind>,
    forced: bool,
    /// As [`Demand::bools`].
    bools: bool,
    pub seen: Seen,
    pub rows: usize,
    /// Floats that are not the numbers that are written.
    pub rounded: u64,
    /// Bit set: the row is null. Empty while no row is.
    nulls: Vec<u64>,
    /// The cells' text without gaps, when the representation is text; slots are then the ends of cells
    /// in it. It is put together while the chunk is in the nearest cache.
    text: Room<'a>,
}

impl<'a> ChunkColumn<'a> {
    /// A column that starts as `kind`; `forced`: and must stay so.
    pub fn new(slots: &'a mut [u64], kind: Kind, forced: bool) -> Self {
        Self {
            slots,
            repr: Some(kind),
            forced,
            bools: false,
            seen: Seen::default(),
            rows: 0,
            rounded: 0,
            nulls: Vec::new(),
            text: Room::default(),
        }
    }

    /// Gives the column a part of the memory for its text.
    pub fn with_room(mut self, part: &'a mut [u8]) -> Self {
        self.text = Room::new(part);
        self
    }

    /// Begins as a demanded type.
    pub fn demand(&mut self, demand: &Demand) {
        self.restart(demand.kind);
        self.bools = demand.bools;
    }

    /// Forgets all rows, to read them again as `kind`.
    pub fn restart(&mut self, kind: Kind) {
        (self.repr, self.forced, self.rows, self.rounded) = (Some(kind), true, 0, 0);
        self.nulls.clear();
        self.text.clear();
    }

    /// The null rows as bits, empty when there is none; and the text.
    pub fn into_parts(self) -> (Vec<u64>, Filled) {
        (self.nulls, self.text.finish())
    }

    /// The slots of rows to come.
    pub fn free(&mut self) -> &mut [u64] {
        &mut self.slots[self.rows..]
    }

    /// Counts `rows` whole numbers without sign that were written to [`ChunkColumn::free`].
    pub fn took_digits(&mut self, rows: usize) {
        self.rows += rows;
        if rows > 0 {
            self.seen.0 |= Seen::INT | Seen::NUMBER;
        }
    }

    fn set_null(&mut self, row: usize) {
        self.seen.0 |= Seen::NULL;
        if self.nulls.is_empty() {
            self.nulls = vec![0; self.slots.len().div_ceil(64)];
        }
        self.nulls[row / 64] |= 1 << (row % 64);
        self.slots[row] = self.text.len() as u64;
    }

    /// Appends `rows` cells: column `offset` of the row-major `tokens` with `columns` cells per row.
    pub fn push(
        &mut self,
        cx: &Cells,
        data: &[u8],
        tokens: &[Token],
        columns: usize,
        first: usize,
    ) -> Result<(), BadCell> {
        let mut cells = Cursor {
            tokens: tokens.get(first..).unwrap_or_default(),
            step: columns,
            patience: PATIENCE,
        };
        let end = self.rows + tokens.len() / columns;
        let plain = cx.digits_are_numbers();
        while self.rows < end {
            let stuck = match self.repr {
                Some(Kind::Int) if plain => self.push_ints(data, &mut cells),
                Some(Kind::Float) if plain => self.push_floats(data, &mut cells),
                Some(Kind::Text) => self.push_text(cx, data, &mut cells),
                None if self.seen.has(Seen::TEXT) => {
                    self.rows = end;
                    None
                }
                _ => cells.next(),
            };
            if let Some(token) = stuck {
                self.push_slow(cx, data, token)?;
                self.rows += 1;
            }
        }
        Ok(())
    }

    /// Takes plain integers; returns the first cell that is none.
    fn push_ints(&mut self, data: &[u8], cells: &mut Cursor<'_>) -> Option<Token> {
        let mut signs = 0;
        let taken = self.push_numbers(data, cells, Kind::Int, |token| {
            let v = fast_int(data, token.start(), token.plain_len())?;
            signs |= v;
            Some(v as u64)
        });
        if taken > 0 {
            self.seen.0 |= Seen::INT | Seen::NUMBER;
            self.seen.0 |= if signs < 0 { Seen::NEGATIVE } else { 0 };
        }
        cells.next()
    }

    /// Takes plain decimals; returns the first cell that is none.
    fn push_floats(&mut self, data: &[u8], cells: &mut Cursor<'_>) -> Option<Token> {
        let taken = self.push_numbers(data, cells, Kind::Float, |token| {
            fast_float(data, token.start(), token.plain_len()).map(f64::to_bits)
        });
        if taken > 0 {
            // A column is read as floats because a fraction was met somewhere.
            self.seen.0 |= Seen::FLOAT | Seen::NUMBER;
        }
        cells.next()
    }

    /// Takes cells that are ordinary numbers, four at a time or by `read`. Returns how many.
    #[inline(always)]
    fn push_numbers(
        &mut self,
        data: &[u8],
        cells: &mut Cursor<'_>,
        kind: Kind,
        mut read: impl FnMut(Token) -> Option<u64>,
    ) -> usize {
        let first = self.rows;
        loop {
            let (taken, some) = cells.fours(data, kind, &mut self.slots[self.rows..]);
            self.rows += taken;
            let mut few = 0;
            let mut ordinary = true;
            for (slot, token) in self.slots[self.rows..].iter_mut().zip(cells.iter(some)) {
                let Some(v) = read(token) else {
                    ordinary = false;
                    break;
                };
                *slot = v;
                few += 1;
            }
            cells.pass(few);
            self.rows += few;
            if !ordinary || few < some {
                return self.rows - first;
            }
        }
    }

    /// Takes cells that are text as they stand; returns the first one that is not.
    #[inline(always)]
    fn push_text(&mut self, cx: &Cells, data: &[u8], cells: &mut Cursor<'_>) -> Option<Token> {
        while self.push_near_text(cx, data, cells) {
            let left = self.slots.len() - self.rows;
            let bytes: usize = cells.iter(left).map(Token::len).sum();
            self.text.space(bytes + SHORT);
        }
        cells.next()
    }

    /// As [`ChunkColumn::push_text`], as long as there is space; whether there is none any more.
    #[inline(always)]
    fn push_near_text(&mut self, cx: &Cells, data: &[u8], cells: &mut Cursor<'_>) -> bool {
        let first = self.rows;
        let slots = &mut self.slots[first..];
        let (before, mut at, mut taken, mut full) = (self.text.len(), 0, 0, false);
        let space = self.text.rest();
        for (slot, token) in slots.iter_mut().zip(cells.iter(usize::MAX)) {
            let (start, len) = (token.start(), token.plain_len());
            // Most cells are short: a copy of fixed size is one load and one store. What it writes
            // beyond the cell is overwritten by the next.
            let source = data.get(start..).and_then(|data| data.first_chunk::<SHORT>());
            let source = source.filter(|s| (1..=SHORT).contains(&len) && !cx.may_be_na(s[0]));
            let target = space.get_mut(at..).and_then(|space| space.first_chunk_mut::<SHORT>());
            if let (Some(source), Some(target)) = (source, target) {
                *target = *source;
            } else {
                if !token.is_plain() || cx.is_na(token.raw(data)) {
                    break;
                }
                let Some(target) = space.get_mut(at..at + len) else {
                    full = true;
                    break;
                };
                target.copy_from_slice(&data[start..start + len]);
            }
            at += len;
            *slot = (before + at) as u64;
            taken += 1;
        }
        self.text.took(at);
        self.rows = first + taken;
        cells.pass(taken);
        full
    }

    /// Any cell in any representation; may change the representation.
    fn push_slow(&mut self, cx: &Cells, data: &[u8], token: Token) -> Result<(), BadCell> {
        let row = self.rows;
        let text = token.text(data, cx.quote);
        let Some(repr) = self.repr else {
            self.note(cx, cx.classify(&text), &text);
            return Ok(());
        };
        if cx.is_na(&text) {
            self.set_null(row);
            return Ok(());
        }
        if repr == Kind::Text {
            self.text.push(&text);
            self.slots[row] = self.text.len() as u64;
            return Ok(());
        }
        if repr == Kind::Bool
            && let Some(v) = cx.boolean(&text)
        {
            // Whether numbers are among the words is known when all are seen.
            self.note(cx, cx.classify(&text), &text);
            self.slots[row] = u64::from(v);
            return Ok(());
        }
        let cell = cx.classify(&text);
        let value = Self::value(repr, cell).or_else(|| self.converted(repr, cell, &text));
        let number = match cell {
            Cell::NullNumber => true,
            Cell::Int(_) => {
                repr == Kind::Float && value.is_some_and(|v| cx.is_na_number(f64::from_bits(v)))
            }
            _ => false,
        };
        if cell == Cell::Null || (number && (self.forced || repr == Kind::Float)) {
            self.note(cx, cell, &text);
            self.set_null(row);
            return Ok(());
        }
        if let Some(value) = value {
            self.note(cx, cell, &text);
            if repr == Kind::Float {
                self.seen.0 |= Seen::FLOAT;
                self.count_rounded(|| loss(cell, &text));
            }
            self.slots[row] = value;
            return Ok(());
        }
        // The types that pandas writes with a capital have room for what is not there.
        if self.forced && !self.bools && repr != Kind::Bool && text.is_empty() {
            self.set_null(row);
            return Ok(());
        }
        if self.forced {
            return Err(BadCell { token, kind: repr });
        }
        self.change(cx, cell, &text);
        Ok(())
    }

    /// The slot of a cell that fits `repr`.
    fn value(repr: Kind, cell: Cell) -> Option<u64> {
        match (repr, cell) {
            (Kind::Int, Cell::Int(Int::Signed(v))) => Some(v as u64),
            (Kind::UInt, Cell::Int(Int::Unsigned(v))) => Some(v),
            (Kind::UInt, Cell::Int(Int::Signed(v))) if v >= 0 => Some(v as u64),
            (Kind::Float, Cell::Float(v)) => Some(v.to_bits()),
            (Kind::Float, Cell::Int(Int::Signed(v))) => Some((v as f64).to_bits()),
            (Kind::Float, Cell::Int(Int::Unsigned(v))) => Some((v as f64).to_bits()),
            (Kind::Float, Cell::Int(Int::Big(v))) => Some(v.to_bits()),
            _ => None,
        }
    }

    /// The slot of a cell that loses nothing in the type that was demanded.
    fn converted(&self, repr: Kind, cell: Cell, text: &[u8]) -> Option<u64> {
        const BOUND: f64 = 9_223_372_036_854_775_808.0;
        if !self.forced {
            return None;
        }
        match (repr, cell) {
            (Kind::Int | Kind::UInt, Cell::Bool(v)) if self.bools => Some(u64::from(v)),
            (Kind::Float, Cell::Bool(v)) if self.bools => Some(f64::from(u8::from(v)).to_bits()),
            (Kind::Int, Cell::Float(v)) if v.fract() == 0.0 && (-BOUND..BOUND).contains(&v) => {
                Some(v as i64 as u64)
            }
            (Kind::UInt, Cell::Float(v)) if v.fract() == 0.0 && (0.0..2.0 * BOUND).contains(&v) => {
                Some(v as u64)
            }
            (Kind::Bool, Cell::Int(Int::Signed(v @ 0..=1))) if self.bools => Some(v as u64),
            (Kind::Bool, Cell::Float(v)) if self.bools && (v == 0.0 || v == 1.0) => Some(v as u64),
            (Kind::Bool, _) if !self.bools => match text {
                b"1" | b"1.0" => Some(1),
                b"0" | b"0.0" => Some(0),
                _ => None,
            },
            _ => None,
        }
    }

    fn note(&mut self, cx: &Cells, cell: Cell, text: &[u8]) {
        self.seen.0 |= match cell {
            Cell::Null => Seen::NULL,
            Cell::NullNumber => Seen::NULL | Seen::FLOAT,
            Cell::Bool(_) => Seen::BOOL,
            Cell::Int(Int::Signed(v)) if v < 0 => Seen::INT | Seen::NEGATIVE,
            Cell::Int(Int::Signed(_)) => Seen::INT,
            Cell::Int(Int::Unsigned(_)) => Seen::INT | Seen::UNSIGNED,
            Cell::Int(Int::Big(_)) => Seen::BIG,
            Cell::Float(_) => Seen::FLOAT,
            Cell::Text => Seen::TEXT,
        };
        let number = matches!(cell, Cell::Int(_) | Cell::Float(_) | Cell::NullNumber);
        if number && cx.boolean(text).is_none() {
            self.seen.0 |= Seen::NUMBER;
        }
    }

    /// A cell that does not fit: widens in place where that is possible, else gives up on values.
    fn change(&mut self, cx: &Cells, cell: Cell, text: &[u8]) {
        let row = self.rows;
        let void = self.seen.is_void();
        let repr = self.repr;
        self.note(cx, cell, text);
        self.repr = match cell {
            Cell::Float(v) if repr == Some(Kind::Int) => {
                self.ints_to_floats();
                self.count_rounded(|| loses(text, v));
                self.slots[row] = v.to_bits();
                Some(Kind::Float)
            }
            Cell::NullNumber if void || repr == Some(Kind::Int) => {
                self.ints_to_floats();
                self.set_null(row);
                Some(Kind::Float)
            }
            Cell::Int(Int::Signed(v)) if void => {
                self.slots[row] = v as u64;
                Some(Kind::Int)
            }
            Cell::Bool(v) if void => {
                self.slots[row] = u64::from(v);
                Some(Kind::Bool)
            }
            Cell::Text if void => {
                // Everything before is null, and its slots are zero.
                self.text.push(text);
                self.slots[row] = self.text.len() as u64;
                Some(Kind::Text)
            }
            _ => None,
        };
    }

    /// Counts a number that is another one as a float, as long as it is worth while.
    fn count_rounded(&mut self, is_rounded: impl FnOnce() -> bool) {
        if self.rounded < ROUNDED_COUNTED_MAX && is_rounded() {
            self.rounded += 1;
        }
    }

    fn ints_to_floats(&mut self) {
        for slot in &mut self.slots[..self.rows] {
            // A slot holds the bits of the number.
            let whole = slot.cast_signed();
            self.rounded += u64::from(loses_whole(whole));
            *slot = nearest_f64(whole).to_bits();
        }
    }

    /// Makes the slots those of `kind` without the text; false when the text is needed.
    pub fn settle(&mut self, kind: Kind) -> bool {
        if self.repr == Some(kind) {
            return true;
        }
        if self.seen.is_void() {
            self.slots[..self.rows].fill(0);
        } else {
            match (self.repr, kind) {
                (Some(Kind::Int), Kind::Float) => self.ints_to_floats(),
                // Without negative numbers the bits are the same.
                (Some(Kind::Int), Kind::UInt) | (Some(Kind::UInt), Kind::Int) => {}
                _ => return false,
            }
        }
        self.repr = Some(kind);
        true
    }
}

/// Whether a cell is another number as a float.
fn loss(cell: Cell, text: &[u8]) -> bool {
    match cell {
        Cell::Int(Int::Signed(v)) => loses_whole(v),
        Cell::Int(Int::Unsigned(v)) => exact_f64_of_u64(v).is_none(),
        Cell::Int(Int::Big(v)) | Cell::Float(v) => loses(text, v),
        _ => false,
    }
}
