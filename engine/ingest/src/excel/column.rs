//! One column of a sheet: cells as they were found, and the type that fits all of them.

use std::fmt::Write;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, DurationMicrosecondArray, Float64Array, Int64Array, StringArray,
    Time64MicrosecondArray, TimestampMicrosecondArray, UInt64Array,
};
use arrow_cast::parse::string_to_timestamp_nanos;
use calamine::ExcelDateTime;
use graphlume_types::calendar::civil;

use crate::csv::cells::is_default_na;
use crate::number::{Int, Style, float, integer};

const DAY_MICROS: i64 = 86_400_000_000;
const SECOND_MICROS: i64 = 1_000_000;
/// Days from 1899-12-30, the day 0 of Excel, to 1970-01-01.
const EPOCH_DAYS: i64 = 25_569;
/// Days between the two day zeros that Excel knows.
const EPOCH_1904_DAYS: i64 = 1_462;
/// The day after 9999-12-31, the last that Excel knows.
const DAYS_MAX: f64 = 2_958_466.0;

/// A cell as the workbook has it. Times are microseconds: since 1970, since midnight, or long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    Null,
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(&'a str),
    Date(i64),
    Time(i64),
    Span(i64),
}

impl<'a> Cell<'a> {
    /// A number: whole ones are integers, as Excel has no integers of its own.
    pub fn number(v: f64) -> Self {
        let whole = v.trunc() == v && v.abs() < 9.2e18;
        if whole { Self::Int(v as i64) } else { Self::Float(v) }
    }

    /// A serial date, to the millisecond that Excel keeps; a time of no day is a time.
    pub fn date(at: &ExcelDateTime, since_1904: bool) -> Self {
        let days = at.as_f64();
        let micros = |days: f64| (days * 86_400_000.0).round() as i64 * 1_000;
        if at.is_duration() && days.abs() < DAYS_MAX {
            return Self::Span(micros(days));
        }
        if !(0.0..DAYS_MAX).contains(&days) {
            return Self::number(days);
        }
        let day = days.floor();
        let time = micros(days - day);
        if day == 0.0 {
            return Self::Time(time.min(DAY_MICROS - 1_000));
        }
        let mut day = day as i64;
        if since_1904 {
            day += EPOCH_1904_DAYS;
        } else if day < 60 {
            // Excel believes in a 29th of February 1900.
            day += 1;
        }
        Self::Date((day - EPOCH_DAYS) * DAY_MICROS + time)
    }

    /// A date as ISO text, which some writers use.
    pub fn iso(text: &'a str) -> Self {
        match string_to_timestamp_nanos(text.trim()) {
            Ok(nanos) => Self::Date(nanos.div_euclid(1_000)),
            Err(_) => Self::Text(text),
        }
    }

    /// What Python shows for the value.
    pub fn render(self, out: &mut String) {
        // Writing to a string cannot fail.
        let _ = match self {
            Self::Null => Ok(()),
            Self::Int(v) => write!(out, "{v}"),
            Self::Float(v) => write!(out, "{v}"),
            Self::Bool(v) => out.write_str(if v { "True" } else { "False" }),
            Self::Text(text) => out.write_str(text),
            Self::Date(v) => {
                let (y, m, d) = civil(v.div_euclid(DAY_MICROS));
                let _ = write!(out, "{y:04}-{m:02}-{d:02} ");
                clock(v.rem_euclid(DAY_MICROS), out)
            }
            Self::Time(v) => clock(v, out),
            Self::Span(v) => {
                let _ = write!(out, "{} days ", v.div_euclid(DAY_MICROS));
                clock(v.rem_euclid(DAY_MICROS), out)
            }
        };
    }
}

fn clock(micros: i64, out: &mut String) -> std::fmt::Result {
    let (seconds, rest) = (micros / SECOND_MICROS, micros % SECOND_MICROS);
    write!(out, "{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)?;
    if rest > 0 { write!(out, ".{rest:06}") } else { Ok(()) }
}

/// A cell whose text lies in the column's memory.
#[derive(Debug, Clone, Copy)]
enum Slot {
    Null,
    Int(i64),
    Float(f64),
    Bool(bool),
    Text { start: u32, len: u32 },
    Date(i64),
    Time(i64),
    Span(i64),
}

/// The cells of a column; rows past the end are empty.
#[derive(Debug, Default)]
pub struct Column {
    slots: Vec<Slot>,
    text: String,
}

/// A column holds more text than 31 bits can address.
pub struct TooMuchText;

/// What a column becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    UInt,
    Float,
    Bool,
    Text,
    Date,
    Time,
    Span,
}

/// What was met in a column.
#[derive(Default)]
struct Seen {
    int: bool,
    negative: bool,
    unsigned: bool,
    big: bool,
    float: bool,
    bool: bool,
    word: bool,
    text: bool,
    date: bool,
    time: bool,
    span: bool,
}

impl Seen {
    fn note(&mut self, cell: Cell<'_>) {
        match cell {
            Cell::Null => {}
            Cell::Int(v) => {
                self.int = true;
                self.negative |= v < 0;
            }
            Cell::Float(_) => self.float = true,
            Cell::Bool(_) => self.bool = true,
            Cell::Date(_) => self.date = true,
            Cell::Time(_) => self.time = true,
            Cell::Span(_) => self.span = true,
            Cell::Text(text) => match meaning(text) {
                Word::Missing => {}
                Word::Bool(_) => self.word = true,
                Word::Int(Int::Signed(v)) => self.note(Cell::Int(v)),
                Word::Int(Int::Unsigned(_)) => self.unsigned = true,
                Word::Int(Int::Big(_)) => self.big = true,
                Word::Float => self.float = true,
                Word::Text => self.text = true,
            },
        }
    }

    /// The narrowest type for everything that was met. As in pandas, booleans among numbers count as 0
    /// and 1, but the words for them do not.
    fn kind(&self) -> Kind {
        let number = self.int || self.float || self.unsigned || self.big;
        let kinds = [self.date, self.time, self.span, number || self.bool || self.word, self.text];
        if kinds.iter().filter(|k| **k).count() > 1 || self.text {
            return Kind::Text;
        }
        match () {
            () if self.date => Kind::Date,
            () if self.time => Kind::Time,
            () if self.span => Kind::Span,
            () if self.word && (number || self.bool) => Kind::Text,
            () if self.float => Kind::Float,
            () if self.big || (self.unsigned && self.negative) => Kind::Text,
            () if self.unsigned => Kind::UInt,
            () if self.int => Kind::Int,
            () if self.bool || self.word => Kind::Bool,
            () => Kind::Float,
        }
    }
}

/// What a text stands for.
pub enum Word {
    Missing,
    Bool(bool),
    Int(Int),
    Float,
    Text,
}

pub fn meaning(text: &str) -> Word {
    match text {
        _ if is_default_na(text.as_bytes()) => Word::Missing,
        "True" | "TRUE" | "true" => Word::Bool(true),
        "False" | "FALSE" | "false" => Word::Bool(false),
        _ => {
            let bytes = text.as_bytes();
            let int = || integer(bytes, Style::PLAIN).map(Word::Int);
            let float = || float(bytes, Style::PLAIN).map(|_| Word::Float);
            int().or_else(float).unwrap_or(Word::Text)
        }
    }
}

impl Column {
    /// Puts a cell; a later one at the same place wins.
    pub fn put(&mut self, row: usize, cell: Cell<'_>) -> Result<(), TooMuchText> {
        let slot = match cell {
            Cell::Null => return Ok(()),
            Cell::Text("") => return Ok(()),
            Cell::Int(v) => Slot::Int(v),
            Cell::Float(v) => Slot::Float(v),
            Cell::Bool(v) => Slot::Bool(v),
            Cell::Date(v) => Slot::Date(v),
            Cell::Time(v) => Slot::Time(v),
            Cell::Span(v) => Slot::Span(v),
            Cell::Text(text) => {
                let start = self.text.len();
                if start + text.len() > i32::MAX as usize {
                    return Err(TooMuchText);
                }
                self.text.push_str(text);
                Slot::Text { start: start as u32, len: text.len() as u32 }
            }
        };
        if row >= self.slots.len() {
            self.slots.resize(row + 1, Slot::Null);
        }
        self.slots[row] = slot;
        Ok(())
    }

    /// The cell of a row.
    pub fn cell(&self, row: usize) -> Cell<'_> {
        match self.slots.get(row) {
            None | Some(Slot::Null) => Cell::Null,
            Some(Slot::Int(v)) => Cell::Int(*v),
            Some(Slot::Float(v)) => Cell::Float(*v),
            Some(Slot::Bool(v)) => Cell::Bool(*v),
            Some(Slot::Date(v)) => Cell::Date(*v),
            Some(Slot::Time(v)) => Cell::Time(*v),
            Some(Slot::Span(v)) => Cell::Span(*v),
            Some(Slot::Text { start, len }) => {
                let (start, len) = (*start as usize, *len as usize);
                Cell::Text(self.text.get(start..start + len).unwrap_or_default())
            }
        }
    }

    /// The cells of `rows`; texts in `na` are missing.
    pub fn cells<'a>(
        &'a self,
        rows: std::ops::Range<usize>,
        na: &'a [String],
    ) -> impl Iterator<Item = Cell<'a>> {
        rows.map(move |row| match self.cell(row) {
            Cell::Text(text) if na.iter().any(|n| n == text) => Cell::Null,
            cell => cell,
        })
    }

    /// How many numbers of `rows` are whole and so large that the doubles of a workbook no longer tell neighbours apart; none
    /// where fractions show that the column has quantities and no names.
    pub fn beyond_doubles(&self, rows: std::ops::Range<usize>) -> usize {
        let mut found = 0;
        for row in rows {
            match self.cell(row) {
                Cell::Int(v) if v.unsigned_abs() >= 1 << 53 => found += 1,
                Cell::Float(v) if v.is_finite() && v.fract() != 0.0 => return 0,
                Cell::Float(v) if v.is_finite() => found += 1,
                _ => {}
            }
        }
        found
    }

    /// The values of `rows`; texts in `na` are missing too.
    pub fn build(
        &self,
        rows: std::ops::Range<usize>,
        na: &[String],
    ) -> Result<ArrayRef, TooMuchText> {
        let cells = || self.cells(rows.clone(), na);
        let mut seen = Seen::default();
        cells().for_each(|cell| seen.note(cell));
        Ok(match seen.kind() {
            Kind::Int => Arc::new(cells().map(int).collect::<Int64Array>()),
            Kind::UInt => Arc::new(cells().map(uint).collect::<UInt64Array>()),
            Kind::Float => Arc::new(cells().map(double).collect::<Float64Array>()),
            Kind::Bool => Arc::new(cells().map(boolean).collect::<BooleanArray>()),
            Kind::Date => Arc::new(cells().map(moment).collect::<TimestampMicrosecondArray>()),
            Kind::Time => Arc::new(cells().map(moment).collect::<Time64MicrosecondArray>()),
            Kind::Span => Arc::new(cells().map(moment).collect::<DurationMicrosecondArray>()),
            Kind::Text => Arc::new(texts(cells())?),
        })
    }
}

fn int(cell: Cell<'_>) -> Option<i64> {
    match cell {
        Cell::Int(v) => Some(v),
        Cell::Bool(v) => Some(i64::from(v)),
        Cell::Text(text) => match meaning(text) {
            Word::Int(Int::Signed(v)) => Some(v),
            _ => None,
        },
        _ => None,
    }
}

fn uint(cell: Cell<'_>) -> Option<u64> {
    match cell {
        Cell::Text(text) => match meaning(text) {
            Word::Int(Int::Unsigned(v)) => Some(v),
            Word::Int(Int::Signed(v)) => u64::try_from(v).ok(),
            _ => None,
        },
        cell => int(cell).and_then(|v| u64::try_from(v).ok()),
    }
}

fn double(cell: Cell<'_>) -> Option<f64> {
    match cell {
        Cell::Int(v) => Some(v as f64),
        Cell::Float(v) => Some(v).filter(|v| !v.is_nan()),
        Cell::Bool(v) => Some(f64::from(u8::from(v))),
        Cell::Text(text) if !is_default_na(text.as_bytes()) => float(text.as_bytes(), Style::PLAIN),
        _ => None,
    }
}

pub fn boolean(cell: Cell<'_>) -> Option<bool> {
    match cell {
        Cell::Bool(v) => Some(v),
        Cell::Text(text) => match meaning(text) {
            Word::Bool(v) => Some(v),
            _ => None,
        },
        _ => None,
    }
}

fn moment(cell: Cell<'_>) -> Option<i64> {
    match cell {
        Cell::Date(v) | Cell::Time(v) | Cell::Span(v) => Some(v),
        _ => None,
    }
}

pub fn texts<'a>(cells: impl Iterator<Item = Cell<'a>>) -> Result<StringArray, TooMuchText> {
    let mut out = arrow_array::builder::StringBuilder::new();
    let (mut shown, mut total) = (String::new(), 0usize);
    for cell in cells {
        match cell {
            Cell::Null => out.append_null(),
            Cell::Text(text) if is_default_na(text.as_bytes()) => out.append_null(),
            cell => {
                shown.clear();
                cell.render(&mut shown);
                total += shown.len();
                if total > i32::MAX as usize {
                    return Err(TooMuchText);
                }
                out.append_value(&shown);
            }
        }
    }
    Ok(out.finish())
}
