//! The texts of values in node ids: what `str` shows for the values of a data frame's column.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::as_datetime_with_timezone;
use arrow_array::timezone::Tz;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_schema::{DataType, TimeUnit};
use graphlume_types::calendar::civil;

use super::HypergraphError;
use crate::{TextColumn, cell_text};

/// Many texts in one buffer.
#[derive(Debug)]
pub(super) struct Texts {
    text: String,
    ends: Vec<usize>,
}

impl Texts {
    pub(super) fn with_capacity(count: usize) -> Self {
        Self { text: String::new(), ends: Vec::with_capacity(count) }
    }

    pub(super) fn push(&mut self, parts: &[&str]) {
        parts.iter().for_each(|p| self.text.push_str(p));
        self.ends.push(self.text.len());
    }

    fn end(&mut self) {
        self.ends.push(self.text.len());
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, i: usize) -> &str {
        let from = i.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[from..self.ends[i]]
    }

    /// The texts as a column.
    pub(super) fn into_array(self) -> Result<ArrayRef, HypergraphError> {
        super::strings(self.text.into_bytes(), &self.ends)
    }
}

/// The texts of `rows`, of which none is null. Times of one column all look alike: they show no more
/// digits than the most exact of them needs.
pub(super) fn texts(array: &ArrayRef, rows: &[u32]) -> Result<Texts, HypergraphError> {
    use DataType as D;
    let mut out = Texts::with_capacity(rows.len());
    if let Some(column) = TextColumn::try_new(array) {
        for row in rows {
            out.push(&[column.get(*row as usize).unwrap_or_default()]);
        }
        return Ok(out);
    }
    match array.data_type() {
        D::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let keys = arrow_cast::cast(dictionary.keys(), &D::UInt32)?;
            let keys = keys.as_primitive::<UInt32Type>();
            let rows: Vec<u32> = rows.iter().map(|r| keys.value(*r as usize)).collect();
            return texts(dictionary.values(), &rows);
        }
        D::RunEndEncoded(_, values) => {
            return texts(&arrow_cast::cast(array, values.data_type())?, rows);
        }
        D::Boolean => {
            let cells = array.as_boolean();
            for row in rows {
                out.push(&[if cells.value(*row as usize) { "True" } else { "False" }]);
            }
        }
        D::Int8 | D::Int16 | D::Int32 | D::Int64 => {
            let cells = arrow_cast::cast(array, &D::Int64)?;
            shown::<Int64Type>(&mut out, &cells, rows, |out, v| _ = write!(out, "{v}"));
        }
        D::UInt8 | D::UInt16 | D::UInt32 | D::UInt64 => {
            let cells = arrow_cast::cast(array, &D::UInt64)?;
            shown::<UInt64Type>(&mut out, &cells, rows, |out, v| _ = write!(out, "{v}"));
        }
        D::Float64 => shown::<Float64Type>(&mut out, array, rows, |out, v| {
            float(out, v, &even(format!("{v:e}"), 16, |digits| format!("{v:.digits$e}"), v), 1e16);
        }),
        D::Float32 => shown::<Float32Type>(&mut out, array, rows, |out, v| {
            let digits = even(format!("{v:e}"), 8, |digits| format!("{v:.digits$e}"), v);
            float(out, f64::from(v), &digits, 1e6);
        }),
        D::Float16 => shown::<Float16Type>(&mut out, array, rows, |out, v| {
            float(out, v.to_f64(), &half_digits(v), 1e3);
        }),
        D::Date32 => shown::<Date32Type>(&mut out, array, rows, |out, v| date(out, i64::from(v))),
        D::Date64 => shown::<Date64Type>(&mut out, array, rows, |out, v| {
            date(out, v.div_euclid(86_400_000));
        }),
        D::Timestamp(unit, zone) => {
            let format = Format::of(array, rows, *unit);
            let zone: Option<Option<Tz>> = zone.as_deref().map(|z| z.parse().ok());
            shown_ticks(&mut out, array, rows, |out, v| format.moment(out, v, zone));
        }
        D::Duration(unit) => {
            let format = Format::of(array, rows, *unit);
            shown_ticks(&mut out, array, rows, |out, v| format.span(out, v));
        }
        D::Time32(_) | D::Time64(_) => {
            let cells = arrow_cast::cast(array, &D::Time64(TimeUnit::Microsecond))?;
            shown::<Time64MicrosecondType>(&mut out, &cells, rows, clock);
        }
        D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_) => {
            let cells = arrow_cast::cast(array, &D::LargeBinary)?;
            let cells = cells.as_binary::<i64>();
            for row in rows {
                match std::str::from_utf8(cells.value(*row as usize)) {
                    Ok(text) => out.push(&[text]),
                    Err(_) => out.push(&[&shown_cell(array, *row)]),
                }
            }
        }
        _ => {
            for row in rows {
                out.push(&[&shown_cell(array, *row)]);
            }
        }
    }
    Ok(out)
}

fn shown_cell(array: &ArrayRef, row: u32) -> String {
    cell_text(array.as_ref(), row as usize).unwrap_or_default()
}

fn shown<T: ArrowPrimitiveType>(
    out: &mut Texts,
    array: &ArrayRef,
    rows: &[u32],
    show: impl Fn(&mut String, T::Native),
) {
    let cells = array.as_primitive::<T>();
    for row in rows {
        show(&mut out.text, cells.value(*row as usize));
        out.end();
    }
}

/// The counts behind times of any unit.
fn ticks(array: &ArrayRef) -> &[i64] {
    use DataType as D;
    match array.data_type() {
        D::Timestamp(TimeUnit::Second, _) => array.as_primitive::<TimestampSecondType>().values(),
        D::Timestamp(TimeUnit::Millisecond, _) => {
            array.as_primitive::<TimestampMillisecondType>().values()
        }
        D::Timestamp(TimeUnit::Microsecond, _) => {
            array.as_primitive::<TimestampMicrosecondType>().values()
        }
        D::Timestamp(TimeUnit::Nanosecond, _) => {
            array.as_primitive::<TimestampNanosecondType>().values()
        }
        D::Duration(TimeUnit::Second) => array.as_primitive::<DurationSecondType>().values(),
        D::Duration(TimeUnit::Millisecond) => {
            array.as_primitive::<DurationMillisecondType>().values()
        }
        D::Duration(TimeUnit::Microsecond) => {
            array.as_primitive::<DurationMicrosecondType>().values()
        }
        D::Duration(TimeUnit::Nanosecond) => {
            array.as_primitive::<DurationNanosecondType>().values()
        }
        _ => &[],
    }
}

fn shown_ticks(out: &mut Texts, array: &ArrayRef, rows: &[u32], show: impl Fn(&mut String, i64)) {
    let ticks = ticks(array);
    for row in rows {
        show(&mut out.text, ticks.get(*row as usize).copied().unwrap_or_default());
        out.end();
    }
}

/// The shortest digits of `v` again, so that of two equally near texts the even one is taken. Only texts
/// of `many` figures, which is as many as the type holds, can have such a neighbour.
fn even<T: PartialEq + std::str::FromStr>(
    shortest: String,
    many: usize,
    exactly: impl Fn(usize) -> String,
    v: T,
) -> String {
    let mantissa = shortest.split('e').next().unwrap_or_default();
    let figures = mantissa.bytes().filter(u8::is_ascii_digit).count();
    if figures < many {
        return shortest;
    }
    let rounded = exactly(figures - 1);
    if rounded.parse::<T>().is_ok_and(|back| back == v) { rounded } else { shortest }
}

/// A float from its shortest digits in the form `1.5e-7`: plain from 1e-4 up to `large`, else with an
/// exponent of two digits at least.
fn float(out: &mut String, v: f64, digits: &str, large: f64) {
    if v.is_infinite() {
        out.push_str(if v > 0.0 { "inf" } else { "-inf" });
        return;
    }
    let (mantissa, exponent) = digits.split_once('e').unwrap_or((digits, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if v != 0.0 && !(1e-4..large).contains(&v.abs()) {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "{mantissa}e{sign}{:02}", exponent.abs());
        return;
    }
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let figures: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    out.push_str(sign);
    if exponent < 0 {
        out.push_str("0.");
        (1..-exponent).for_each(|_| out.push('0'));
        out.push_str(&figures);
        return;
    }
    let whole = exponent as usize + 1;
    if figures.len() > whole {
        out.push_str(&figures[..whole]);
        out.push('.');
        out.push_str(&figures[whole..]);
    } else {
        out.push_str(&figures);
        (figures.len()..whole).for_each(|_| out.push('0'));
        out.push_str(".0");
    }
}

/// The shortest digits that read back as the same half float.
fn half_digits(v: <Float16Type as ArrowPrimitiveType>::Native) -> String {
    let exact = v.to_f64();
    let short = (0..5).map(|digits| format!("{exact:.digits$e}"));
    short
        .into_iter()
        .find(|text| {
            let back = text.parse().map(<Float16Type as ArrowPrimitiveType>::Native::from_f64);
            back.is_ok_and(|b| b == v)
        })
        .unwrap_or_else(|| format!("{exact:e}"))
}

fn date(out: &mut String, days: i64) {
    let (y, m, d) = civil(days);
    let _ = write!(out, "{y:04}-{m:02}-{d:02}");
}

fn clock(out: &mut String, micros: i64) {
    let secs = micros / 1_000_000;
    let _ = write!(out, "{:02}:{:02}:{:02}", secs / 3_600, secs / 60 % 60, secs % 60);
    if micros % 1_000_000 != 0 {
        let _ = write!(out, ".{:06}", micros % 1_000_000);
    }
}

const fn nanos_per_tick(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

/// Seconds that a zone is east of Greenwich at a moment; 0 for a zone whose rules are not known.
fn east_secs(zone: Option<Tz>, secs: i64) -> i64 {
    let at = zone.and_then(|zone| as_datetime_with_timezone::<TimestampSecondType>(secs, zone));
    at.map_or(0, |at| (at.naive_local() - at.naive_utc()).num_seconds())
}

/// How exact the times of a column are.
struct Format {
    nanos_per_tick: i64,
    whole_days: bool,
    /// The smallest of 1, 1_000, 1_000_000 and 1_000_000_000 nanoseconds that divides all.
    exact_nanos: i64,
}

impl Format {
    fn of(array: &ArrayRef, rows: &[u32], unit: TimeUnit) -> Self {
        let ticks = ticks(array);
        let nanos_per_tick = nanos_per_tick(unit);
        let per_day = 86_400 * (1_000_000_000 / nanos_per_tick);
        let mut format = Self { nanos_per_tick, whole_days: true, exact_nanos: 1_000_000_000 };
        for row in rows {
            let tick = ticks.get(*row as usize).copied().unwrap_or_default();
            format.whole_days &= tick % per_day == 0;
            let nanos = format.nanos(tick);
            while nanos % format.exact_nanos != 0 {
                format.exact_nanos /= 1_000;
            }
        }
        format
    }

    const fn secs(&self, tick: i64) -> i64 {
        tick.div_euclid(1_000_000_000 / self.nanos_per_tick)
    }

    /// Nanoseconds past the whole second.
    const fn nanos(&self, tick: i64) -> i64 {
        tick.rem_euclid(1_000_000_000 / self.nanos_per_tick) * self.nanos_per_tick
    }

    fn time(&self, out: &mut String, second_of_day: i64, nanos: i64, exact_nanos: i64) {
        let s = second_of_day;
        let _ = write!(out, "{:02}:{:02}:{:02}", s / 3_600, s / 60 % 60, s % 60);
        let _ = match exact_nanos {
            1 => write!(out, ".{nanos:09}"),
            1_000 => write!(out, ".{:06}", nanos / 1_000),
            1_000_000 => write!(out, ".{:03}", nanos / 1_000_000),
            _ => Ok(()),
        };
    }

    fn moment(&self, out: &mut String, tick: i64, zone: Option<Option<Tz>>) {
        let utc = self.secs(tick);
        let east = zone.map_or(0, |zone| east_secs(zone, utc));
        let secs = utc.saturating_add(east);
        date(out, secs.div_euclid(86_400));
        if self.whole_days && zone.is_none() {
            return;
        }
        out.push(' ');
        self.time(out, secs.rem_euclid(86_400), self.nanos(tick), self.exact_nanos);
        if zone.is_some() {
            let sign = if east < 0 { '-' } else { '+' };
            let minutes = east.abs() / 60;
            let _ = write!(out, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
        }
    }

    fn span(&self, out: &mut String, tick: i64) {
        let secs = self.secs(tick);
        let days = secs.div_euclid(86_400);
        let _ = write!(out, "{days} days");
        if self.whole_days {
            return;
        }
        out.push_str(if days < 0 { " +" } else { " " });
        // Milliseconds are shown with six digits.
        let exact = if self.exact_nanos == 1_000_000 { 1_000 } else { self.exact_nanos };
        self.time(out, secs.rem_euclid(86_400), self.nanos(tick), exact);
    }
}
