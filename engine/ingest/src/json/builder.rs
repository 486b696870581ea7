//! A column that takes its type from its values.

use std::fmt;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray, UInt64Array};
use arrow_buffer::{BooleanBuffer, NullBuffer};

use graphlume_types::number::{exact_f64_of_u64, nearest_f64, nearest_f64_of_u64};

use super::texts::{Texts, append, fitted};
use crate::decimals::{ROUNDED_COUNTED_MAX, loses, loses_whole};
use crate::demand::Kind;

/// A scalar of JSON. Arrays and objects are their own compact text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar<'a> {
    Null,
    Bool(bool),
    Int(i64),
    /// Beyond the signed range.
    UInt(u64),
    Float(f64),
    Text(&'a str),
}

impl fmt::Display for Scalar<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(b) => b.fmt(f),
            Self::Int(v) => v.fmt(f),
            Self::UInt(v) => v.fmt(f),
            Self::Float(v) => write!(f, "{v:?}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

#[derive(Debug, Default)]
enum Values {
    /// Only nulls so far.
    #[default]
    Void,
    Bool(Vec<bool>),
    Int(Vec<i64>),
    UInt(Vec<u64>),
    Float(Vec<f64>),
    Text(Texts),
}

/// Collects scalars. Whole numbers widen to doubles when a fraction appears; any other mixture becomes
/// text.
#[derive(Debug, Default)]
pub struct ColumnBuilder {
    rows: usize,
    values: Values,
    /// One flag per row once a row is null, else empty.
    valid: Vec<bool>,
    /// Whether numbers became text, and look other than they are written.
    mixed: bool,
    /// Floats that are not the numbers that are written.
    rounded: u64,
}

impl ColumnBuilder {
    /// A column that takes everything as text, as it is written.
    pub fn text() -> Self {
        Self { values: Values::Text(Texts::empty(0)), ..Self::default() }
    }

    pub fn len(&self) -> usize {
        self.rows
    }

    /// How many floats are not the numbers that are written.
    pub fn rounded(&self) -> u64 {
        if matches!(self.values, Values::Float(_)) { self.rounded } else { 0 }
    }

    /// Counts what was rounded in `column` before values of it came here.
    pub fn rounded_before(&mut self, column: &Self) {
        self.rounded += column.rounded();
    }

    /// Whether the column should have been a [`ColumnBuilder::text`] from the start.
    pub fn is_mixed(&self) -> bool {
        self.mixed
    }

    /// Appends nulls up to `rows` rows.
    pub fn pad(&mut self, rows: usize) {
        while self.rows < rows {
            self.push(Scalar::Null, "");
        }
    }

    /// Appends a scalar that is written as `raw`, which counts for numbers among texts.
    #[inline]
    pub fn push(&mut self, scalar: Scalar<'_>, raw: &str) {
        let is_null = matches!(scalar, Scalar::Null);
        if is_null {
            if self.valid.is_empty() {
                self.valid = vec![true; self.rows];
            }
        } else {
            self.make_room(scalar);
        }
        match (&mut self.values, scalar) {
            (Values::Void, _) => {}
            (Values::Int(v), Scalar::Int(i)) => v.push(i),
            (Values::Int(v), _) => v.push(0),
            (Values::Float(v), Scalar::Float(f)) => {
                if self.rounded < ROUNDED_COUNTED_MAX {
                    self.rounded += u64::from(loses(raw.as_bytes(), f));
                }
                v.push(f);
            }
            (Values::Float(v), Scalar::Int(i)) => {
                self.rounded += u64::from(loses_whole(i));
                v.push(nearest_f64(i));
            }
            (Values::Float(v), Scalar::UInt(u)) => {
                self.rounded += u64::from(exact_f64_of_u64(u).is_none());
                v.push(nearest_f64_of_u64(u));
            }
            (Values::Float(v), _) => v.push(0.0),
            (Values::Text(texts), scalar) => texts.push(match scalar {
                Scalar::Null => "",
                Scalar::Bool(b) => bool_text(b),
                Scalar::Text(text) => text,
                Scalar::Int(_) | Scalar::UInt(_) | Scalar::Float(_) => raw,
            }),
            (Values::Bool(v), Scalar::Bool(b)) => v.push(b),
            (Values::Bool(v), _) => v.push(false),
            (Values::UInt(v), Scalar::UInt(u)) => v.push(u),
            (Values::UInt(v), Scalar::Int(i)) => v.push(i.unsigned_abs()),
            (Values::UInt(v), _) => v.push(0),
        }
        self.rows += 1;
        if !self.valid.is_empty() || is_null {
            self.valid.push(!is_null);
        }
    }

    /// Changes the type if `scalar` does not fit it.
    #[inline]
    fn make_room(&mut self, scalar: Scalar<'_>) {
        match (&self.values, scalar) {
            (Values::Bool(_), Scalar::Bool(_))
            | (Values::Int(_), Scalar::Int(_))
            | (Values::UInt(_), Scalar::UInt(_))
            | (Values::Float(_), Scalar::Float(_) | Scalar::Int(_) | Scalar::UInt(_))
            | (Values::Text(_), _) => {}
            (Values::UInt(_), Scalar::Int(i)) if i >= 0 => {}
            _ => self.widen(scalar),
        }
    }

    #[cold]
    fn widen(&mut self, scalar: Scalar<'_>) {
        let rows = self.rows;
        self.values = match (std::mem::take(&mut self.values), scalar) {
            (Values::Void, Scalar::Bool(_)) => Values::Bool(vec![false; rows]),
            (Values::Void, Scalar::Int(_)) => Values::Int(vec![0; rows]),
            (Values::Void, Scalar::UInt(_)) => Values::UInt(vec![0; rows]),
            (Values::Void, Scalar::Float(_)) => Values::Float(vec![0.0; rows]),
            (Values::Int(v), Scalar::Float(_)) => {
                self.rounded += v.iter().filter(|i| loses_whole(**i)).count() as u64;
                Values::Float(v.into_iter().map(|i| i as f64).collect())
            }
            (Values::UInt(v), Scalar::Float(_)) => {
                self.rounded += v.iter().filter(|u| exact_f64_of_u64(**u).is_none()).count() as u64;
                Values::Float(v.into_iter().map(|u| u as f64).collect())
            }
            (Values::Int(v), Scalar::UInt(_)) if v.iter().all(|i| *i >= 0) => {
                Values::UInt(v.into_iter().map(i64::unsigned_abs).collect())
            }
            (Values::Void, _) => Values::Text(Texts::empty(rows)),
            // What is written is found by reading once more.
            _ => {
                self.mixed = true;
                Values::Text(Texts::empty(rows))
            }
        };
    }

    /// The value of `row`; null past the end.
    pub fn get(&self, row: usize) -> Scalar<'_> {
        if row >= self.rows || self.valid.get(row) == Some(&false) {
            return Scalar::Null;
        }
        match &self.values {
            Values::Void => Scalar::Null,
            Values::Bool(v) => Scalar::Bool(v[row]),
            Values::Int(v) => Scalar::Int(v[row]),
            Values::UInt(v) => Scalar::UInt(v[row]),
            Values::Float(v) => Scalar::Float(v[row]),
            Values::Text(texts) => Scalar::Text(texts.get(row)),
        }
    }

    /// Appends a value of another column.
    pub fn push_from(&mut self, other: &Self, row: usize) {
        self.push(other.get(row), "");
        self.mixed |= other.mixed;
    }

    /// Appends all values of another column; `ahead` times as many are expected to follow.
    pub fn append(&mut self, mut other: Self, ahead: f64) {
        let (first, more) = (self.rows, other.rows);
        self.rounded_before(&other);
        if let Some(sample) = other.sample() {
            self.make_room(sample);
        }
        if matches!(self.values, Values::Text(_))
            && !matches!(other.values, Values::Text(_) | Values::Void)
        {
            self.mixed = true;
        }
        match (&mut self.values, &mut other.values) {
            (Values::Void, Values::Void) => {}
            (Values::Bool(a), Values::Bool(b)) => append(a, b, ahead),
            (Values::Int(a), Values::Int(b)) => append(a, b, ahead),
            (Values::UInt(a), Values::UInt(b)) => append(a, b, ahead),
            (Values::Float(a), Values::Float(b)) => append(a, b, ahead),
            (Values::Text(a), Values::Text(b)) => a.append(b, ahead),
            _ => {
                (0..more).for_each(|row| self.push_from(&other, row));
                return;
            }
        }
        if !self.valid.is_empty() || !other.valid.is_empty() {
            self.valid.resize(first, true);
            other.valid.resize(more, true);
            append(&mut self.valid, &mut other.valid, ahead);
        }
        self.rows += more;
        self.mixed |= other.mixed;
    }

    /// A value of the type that the column has; one below zero, where there is one.
    fn sample(&self) -> Option<Scalar<'_>> {
        match &self.values {
            Values::Void => None,
            Values::Bool(_) => Some(Scalar::Bool(false)),
            Values::Int(v) => Some(Scalar::Int(v.iter().copied().min().unwrap_or(0))),
            Values::UInt(_) => Some(Scalar::UInt(u64::MAX)),
            Values::Float(_) => Some(Scalar::Float(0.0)),
            Values::Text(_) => Some(Scalar::Text("")),
        }
    }

    /// The column as a demanded type. The error is the first row that does not fit it.
    pub fn convert(&self, kind: Kind) -> Result<Self, usize> {
        let mut out = if kind == Kind::Text { Self::text() } else { Self::default() };
        for row in 0..self.rows {
            out.push(converted(self.get(row), kind).ok_or(row)?, "");
        }
        let unsigned = |v: &Vec<i64>| Values::UInt(v.iter().map(|i| i.unsigned_abs()).collect());
        out.values = match (out.values, kind) {
            (Values::Int(v), Kind::UInt) => unsigned(&v),
            (Values::Void, Kind::Int) => Values::Int(vec![0; out.rows]),
            (Values::Void, Kind::UInt) => Values::UInt(vec![0; out.rows]),
            (Values::Void, Kind::Float) => Values::Float(vec![0.0; out.rows]),
            (Values::Void, Kind::Bool) => Values::Bool(vec![false; out.rows]),
            (values, _) => values,
        };
        Ok(out)
    }

    pub fn finish(self) -> ArrayRef {
        let rows = self.rows;
        let nulls = (!self.valid.is_empty()).then(|| NullBuffer::from(self.valid));
        match self.values {
            // What pandas makes of nothing but missing values; without rows there is no type at all.
            Values::Void if rows == 0 => Arc::new(StringArray::from(Vec::<&str>::new())),
            Values::Void => Arc::new(Float64Array::new(vec![0.0; rows].into(), nulls)),
            Values::Bool(v) => Arc::new(BooleanArray::new(BooleanBuffer::from(v), nulls)),
            Values::Int(v) => Arc::new(Int64Array::new(fitted(v).into(), nulls)),
            Values::UInt(v) => Arc::new(UInt64Array::new(fitted(v).into(), nulls)),
            Values::Float(v) => Arc::new(Float64Array::new(fitted(v).into(), nulls)),
            Values::Text(texts) => texts.finish(nulls),
        }
    }
}

fn bool_text(b: bool) -> &'static str {
    if b { "True" } else { "False" }
}

/// A scalar as a demanded type, when it loses nothing there. Texts are the numbers that they spell.
fn converted(scalar: Scalar<'_>, kind: Kind) -> Option<Scalar<'_>> {
    use crate::number::{Int, Style, float, integer};
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    let number = match scalar {
        Scalar::Null => return Some(Scalar::Null),
        Scalar::Text(_) if kind == Kind::Text => return Some(scalar),
        // Among numbers, booleans have become texts.
        Scalar::Text("True" | "true" | "TRUE") => Scalar::Bool(true),
        Scalar::Text("False" | "false" | "FALSE") => Scalar::Bool(false),
        Scalar::Text(text) => match integer(text.as_bytes(), Style::PLAIN) {
            Some(Int::Signed(v)) => Scalar::Int(v),
            Some(Int::Unsigned(v)) => Scalar::UInt(v),
            _ => Scalar::Float(float(text.as_bytes(), Style::PLAIN)?),
        },
        other => other,
    };
    match (kind, number) {
        (Kind::Text, _) => None,
        (Kind::Bool, Scalar::Bool(_)) => Some(number),
        (Kind::Bool, Scalar::Int(v @ 0..=1)) => Some(Scalar::Bool(v == 1)),
        (Kind::Float, Scalar::Bool(b)) => Some(Scalar::Float(f64::from(u8::from(b)))),
        (Kind::Float, Scalar::Int(v)) => Some(Scalar::Float(v as f64)),
        (Kind::Float, Scalar::UInt(v)) => Some(Scalar::Float(v as f64)),
        (Kind::Float, Scalar::Float(_)) => Some(number),
        (Kind::Int | Kind::UInt, Scalar::Bool(b)) => Some(Scalar::Int(i64::from(b))),
        (Kind::Int, Scalar::Int(_)) | (Kind::UInt, Scalar::UInt(_)) => Some(number),
        (Kind::UInt, Scalar::Int(v)) if v >= 0 => Some(number),
        (Kind::Int, Scalar::Float(v)) if v.fract() == 0.0 && (-BOUND..BOUND).contains(&v) => {
            Some(Scalar::Int(v as i64))
        }
        (Kind::UInt, Scalar::Float(v)) if v.fract() == 0.0 && (0.0..BOUND).contains(&v) => {
            Some(Scalar::Int(v as i64))
        }
        _ => None,
    }
}
