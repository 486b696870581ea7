//! Canonical values: what makes two ids the same although their columns have different types.
//!
//! Numbers of every width are one class (1, 1.0 and decimal 1.00 are the same id), text of every Arrow
//! representation is one class, instants (dates and timestamps of every unit) are one class. Classes never
//! match each other: integer 1 is not the text "1" and not `true`. NaN counts as null. A column of whole decimals beyond
//! 64 bits is text of digits.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, LargeBinaryArray, LargeStringArray,
    UInt64Array,
};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use graphlume_table::TextColumn;
use graphlume_types::number::{bits_u64, nanos_u32, saturating_i64, saturating_u64};

/// The canonical form of one id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Canon<'a> {
    /// Any number whose value is a 64-bit signed integer.
    Int(i64),
    /// An integer above the signed range.
    UInt(u64),
    /// The bits of a number that is not integral or beyond the integers.
    Float(u64),
    /// A truth value.
    Bool(bool),
    /// Text.
    Text(&'a str),
    /// Binary data.
    Bytes(&'a [u8]),
    /// A moment: seconds since 1970 and nanoseconds.
    Instant(i64, u32),
    /// A length of time, likewise.
    Span(i64, u32),
    /// A time of day in nanoseconds.
    Clock(i64),
    /// The display text of a list, a struct or another compound.
    Compound(&'a str),
}

/// A column of ids, read as canonical values.
#[derive(Debug)]
pub enum Column {
    /// Nothing but nulls, this many.
    Null(usize),
    /// Text of any representation.
    Text(TextColumn),
    /// Truth values.
    Bool(BooleanArray),
    /// Integers within the signed range.
    Int(Int64Array),
    /// Unsigned 64-bit integers.
    UInt(UInt64Array),
    /// Floats and decimals.
    Float(Float64Array),
    /// Binary data.
    Bytes(LargeBinaryArray),
    /// Dates and timestamps; ticks per second.
    Instant(Int64Array, i64),
    /// Durations; ticks per second.
    Span(Int64Array, i64),
    /// Times of day; nanoseconds per tick.
    Clock(Int64Array, i64),
    /// Rendered compounds.
    Compound(LargeStringArray),
}

/// The canonical form of a float; `None` for NaN.
#[must_use]
pub fn of_f64(v: f64) -> Option<Canon<'static>> {
    // Both bounds are powers of two and so exact; 2^63 itself is outside of i64.
    const MIN: f64 = -9_223_372_036_854_775_808.0;
    const MAX: f64 = 9_223_372_036_854_775_808.0;
    if v.is_nan() {
        return None;
    }
    Some(if v.fract() == 0.0 && (MIN..MAX).contains(&v) {
        Canon::Int(saturating_i64(v))
    } else if v.fract() == 0.0 && (MAX..2.0 * MAX).contains(&v) {
        Canon::UInt(saturating_u64(v))
    } else {
        Canon::Float(v.to_bits())
    })
}

impl Column {
    /// Reads `array`.
    ///
    /// # Errors
    /// [`ArrowError`] when the type has no canonical reading.
    pub fn try_new(array: &ArrayRef) -> Result<Self, ArrowError> {
        use DataType as D;
        if let Some(text) = TextColumn::try_new(array) {
            return Ok(Self::Text(text));
        }
        Ok(match array.data_type() {
            D::Null => Self::Null(array.len()),
            D::Boolean => Self::Bool(array.as_boolean().clone()),
            D::Int8 | D::Int16 | D::Int32 | D::Int64 | D::UInt8 | D::UInt16 | D::UInt32 => {
                Self::Int(int64(array)?)
            }
            D::UInt64 => Self::UInt(array.as_primitive::<UInt64Type>().clone()),
            D::Float16 | D::Float32 | D::Float64 => Self::Float(float64(array)?),
            D::Decimal32(_, s) | D::Decimal64(_, s) | D::Decimal128(_, s) | D::Decimal256(_, s) => {
                if *s > 0 {
                    return Ok(Self::Float(float64(array)?));
                }
                let ints = int64(array)?;
                // A value beyond 64 bits became null in the cast and must not lose its identity.
                if ints.null_count() == array.null_count() {
                    return Ok(Self::Int(ints));
                }
                let naturals = arrow_cast::cast(array, &D::UInt64)?;
                if naturals.null_count() == array.null_count() {
                    return Ok(Self::UInt(naturals.as_primitive::<UInt64Type>().clone()));
                }
                // As texts of digits they compare with what people write.
                let digits = rendered(array);
                let text: ArrayRef = Arc::new(digits.clone());
                TextColumn::try_new(&text).map_or(Self::Compound(digits), Self::Text)
            }
            D::Date32 => {
                let days = arrow_cast::cast(array, &D::Date64)?;
                Self::Instant(int64(&days)?, 1_000)
            }
            D::Date64 => Self::Instant(int64(array)?, 1_000),
            D::Timestamp(unit, _) => Self::Instant(int64(array)?, per_second(*unit)),
            D::Duration(unit) => Self::Span(int64(array)?, per_second(*unit)),
            D::Time32(unit) => {
                let ints = arrow_cast::cast(array, &D::Int32)?;
                Self::Clock(int64(&ints)?, 1_000_000_000 / per_second(*unit))
            }
            D::Time64(unit) => Self::Clock(int64(array)?, 1_000_000_000 / per_second(*unit)),
            D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_) => {
                Self::Bytes(arrow_cast::cast(array, &D::LargeBinary)?.as_binary::<i64>().clone())
            }
            D::Dictionary(_, values) => Self::try_new(&arrow_cast::cast(array, values)?)?,
            D::RunEndEncoded(_, values) => {
                Self::try_new(&arrow_cast::cast(array, values.data_type())?)?
            }
            _ => Self::Compound(rendered(array)),
        })
    }

    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Null(n) => *n,
            Self::Text(a) => a.len(),
            Self::Bool(a) => a.len(),
            Self::Int(a) | Self::Instant(a, _) | Self::Span(a, _) | Self::Clock(a, _) => a.len(),
            Self::UInt(a) => a.len(),
            Self::Float(a) => a.len(),
            Self::Bytes(a) => a.len(),
            Self::Compound(a) => a.len(),
        }
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The canonical value of `row`; `None` when it is null or NaN.
    ///
    /// # Panics
    /// When `row` is not below [`Self::len`].
    #[must_use]
    #[inline]
    pub fn get(&self, row: usize) -> Option<Canon<'_>> {
        match self {
            Self::Null(_) => None,
            Self::Text(a) => a.get(row).map(Canon::Text),
            Self::Bool(a) => a.is_valid(row).then(|| Canon::Bool(a.value(row))),
            Self::Int(a) => a.is_valid(row).then(|| Canon::Int(a.value(row))),
            Self::UInt(a) => a.is_valid(row).then(|| {
                let v = a.value(row);
                i64::try_from(v).map_or(Canon::UInt(v), Canon::Int)
            }),
            Self::Float(a) => a.is_valid(row).then(|| a.value(row)).and_then(of_f64),
            Self::Bytes(a) => a.is_valid(row).then(|| Canon::Bytes(a.value(row))),
            Self::Instant(a, per) => a.is_valid(row).then(|| {
                let (s, ns) = split(a.value(row), *per);
                Canon::Instant(s, ns)
            }),
            Self::Span(a, per) => a.is_valid(row).then(|| {
                let (s, ns) = split(a.value(row), *per);
                Canon::Span(s, ns)
            }),
            Self::Clock(a, ns) => {
                a.is_valid(row).then(|| Canon::Clock(a.value(row).saturating_mul(*ns)))
            }
            Self::Compound(a) => a.is_valid(row).then(|| Canon::Compound(a.value(row))),
        }
    }
}

fn split(ticks: i64, per_second: i64) -> (i64, u32) {
    let nanos = ticks.rem_euclid(per_second) * (1_000_000_000 / per_second);
    (ticks.div_euclid(per_second), nanos_u32(nanos))
}

const fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

fn int64(array: &ArrayRef) -> Result<Int64Array, ArrowError> {
    Ok(arrow_cast::cast(array, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
}

fn float64(array: &ArrayRef) -> Result<Float64Array, ArrowError> {
    Ok(arrow_cast::cast(array, &DataType::Float64)?.as_primitive::<Float64Type>().clone())
}

fn rendered(array: &ArrayRef) -> LargeStringArray {
    (0..array.len()).map(|row| graphlume_table::cell_text(array.as_ref(), row)).collect()
}

/// A keyed hash of canonical values. The key is drawn once per process, so no client can prepare ids that
/// collide; no result depends on it.
#[derive(Debug, Clone, Copy)]
pub struct Hasher {
    seed: u64,
}

impl Hasher {
    /// The hash with this process's key.
    #[must_use]
    pub fn new() -> Self {
        use std::hash::{BuildHasher, Hasher as _, RandomState};
        use std::sync::OnceLock;
        static SEED: OnceLock<u64> = OnceLock::new();
        Self { seed: *SEED.get_or_init(|| RandomState::new().build_hasher().finish()) }
    }

    /// The hash of an integer.
    #[must_use]
    #[inline]
    pub const fn int(self, v: i64) -> u64 {
        graphlume_types::hash::mix64(bits_u64(v) ^ self.seed)
    }

    /// The hash of a canonical value.
    #[must_use]
    pub fn canon(self, v: &Canon<'_>) -> u64 {
        match v {
            Canon::Int(v) => self.int(*v),
            Canon::UInt(v) => fold(v ^ self.seed, K1),
            Canon::Float(v) => fold(v ^ self.seed, K2),
            Canon::Bool(v) => fold(u64::from(*v) ^ self.seed, K3),
            Canon::Text(v) => self.bytes(v.as_bytes()),
            Canon::Bytes(v) => self.bytes(v) ^ K1,
            Canon::Instant(s, ns) => fold(bits_u64(*s) ^ self.seed, u64::from(*ns) ^ K1),
            Canon::Span(s, ns) => fold(bits_u64(*s) ^ self.seed, u64::from(*ns) ^ K2),
            Canon::Clock(ns) => fold(bits_u64(*ns) ^ self.seed, K3),
            Canon::Compound(v) => self.bytes(v.as_bytes()) ^ K2,
        }
    }

    /// The hash of bytes: 16 at a time through a folded 128-bit product, as wyhash does (Wang Yi, 2019).
    #[must_use]
    #[inline]
    pub fn bytes(self, b: &[u8]) -> u64 {
        let mut h = self.seed ^ fold(b.len() as u64 ^ K3, K1);
        let mut rest = b;
        while let Some((block, tail)) = rest.split_first_chunk::<16>() {
            if tail.is_empty() {
                break;
            }
            h = fold(word(&block[..8]) ^ h, word(&block[8..]) ^ K1);
            rest = tail;
        }
        // The last 0 to 16 bytes as two words, which overlap when there are fewer than 16.
        let (lo, hi) = match rest.len() {
            8.. => (word(&rest[..8]), word(&rest[rest.len() - 8..])),
            4.. => (half(&rest[..4]), half(&rest[rest.len() - 4..])),
            1.. => {
                let middle = u64::from(rest[rest.len() / 2]) << 8;
                (u64::from(rest[0]) | middle, u64::from(rest[rest.len() - 1]))
            }
            0 => (0, 0),
        };
        fold(fold(lo ^ h, hi ^ K2), h ^ K3)
    }
}

impl Default for Hasher {
    fn default() -> Self {
        Self::new()
    }
}

const K1: u64 = 0xA076_1D64_78BD_642F;
const K2: u64 = 0xE703_7ED1_A0B4_28DB;
const K3: u64 = 0x8EBC_6AF0_9C88_C6E3;

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let (low, high) = a.carrying_mul(b, 0);
    low ^ high
}

#[inline]
fn word(b: &[u8]) -> u64 {
    b.first_chunk::<8>().map_or(0, |c| u64::from_le_bytes(*c))
}

#[inline]
fn half(b: &[u8]) -> u64 {
    b.first_chunk::<4>().map_or(0, |c| u64::from(u32::from_le_bytes(*c)))
}
