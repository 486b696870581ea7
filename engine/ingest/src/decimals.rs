//! Numbers of more digits than 64 bits hold: what is said of them.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType as D;

use graphlume_types::number::exact_f64;

use crate::Parsed;

/// Decimals of so many digits are the same after a way through a 64-bit float.
const EXACT_BELOW: u128 = 1_000_000_000_000_000;

/// Says which columns of decimals are exact in tables and files, and rounded where something is computed with them.
pub(crate) fn tell(parsed: &mut Parsed) {
    let batches = parsed.tables.iter().map(|(_, table)| table.batch());
    let columns = batches.flat_map(|batch| {
        batch.schema_ref().fields().iter().zip(batch.columns()).collect::<Vec<_>>()
    });
    let said = columns.filter_map(|(field, column)| {
        let (count, name) = (inexact(column), shown(field.name()));
        let what = match field.data_type() {
            D::Decimal32(_, s) | D::Decimal64(_, s) | D::Decimal128(_, s) | D::Decimal256(_, s) => {
                if *s > 0 { "as the nearest 64-bit floats" } else { "as texts of digits" }
            }
            _ => return None,
        };
        (count > 0).then(|| {
            format!(
                "column {name:?} holds {count} decimals that no 64 bits do: tables, cards and files keep all digits; \
                 questions, filters and pictures take them {what}"
            )
        })
    });
    parsed.cut.extend(said.collect::<Vec<_>>());
}

/// What is said of a column of text whose numbers were read as floats, `count` of which, or more past the most that are
/// counted, are not what is written.
pub(crate) fn rounded(name: &str, count: u64) -> String {
    let name = shown(name);
    let least = if count >= ROUNDED_COUNTED_MAX { "at least " } else { "" };
    format!(
        "column {name:?} holds {least}{count} numbers that no 64-bit float is, and has the nearest ones: set the option \
         `dtype` to {{{name:?}: \"str\"}} to keep the digits as text"
    )
}

/// The beginning of a name, for messages.
pub(crate) fn shown(name: &str) -> String {
    const CHARS: usize = 100;
    let mut shown: String = name.chars().take(CHARS).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    shown
}

/// Rounded numbers that are counted in one part of a column: each costs far more than reading it.
pub(crate) const ROUNDED_COUNTED_MAX: u64 = 1000;

/// More digits than a float is ever written with, so that fewer are no sign of a loss.
const DIGITS_OF_FLOATS: usize = 17;
/// No float has more digits, all of them written out.
const DIGITS_OF_FLOATS_MAX: usize = 767;

/// Whether `v` is another number than `text` says, which it was read from. A text that goes on with the digits of the
/// float itself, as `printf("%.20f")` writes them, is no other number.
#[inline]
pub(crate) fn loses(text: &[u8], v: f64) -> bool {
    text.len() > DIGITS_OF_FLOATS && loses_digits(text, v)
}

#[cold]
fn loses_digits(text: &[u8], v: f64) -> bool {
    let mantissa = text.split(|b| matches!(b, b'e' | b'E')).next().unwrap_or_default();
    let mut digits: Vec<u8> = mantissa.iter().copied().filter(u8::is_ascii_digit).collect();
    let zeros = digits.iter().take_while(|d| **d == b'0').count();
    digits.drain(..zeros);
    while digits.last() == Some(&b'0') {
        digits.pop();
    }
    if digits.len() <= DIGITS_OF_FLOATS || !v.is_finite() {
        return false;
    }
    if digits.len() > DIGITS_OF_FLOATS_MAX {
        return true;
    }
    let own = format!("{v:.*e}", digits.len() - 1);
    let own = own.bytes().take_while(|b| *b != b'e').filter(u8::is_ascii_digit);
    !own.eq(digits)
}

/// Whether no float is this whole number.
#[inline]
pub(crate) fn loses_whole(v: i64) -> bool {
    exact_f64(v).is_none()
}

/// How many values lose digits in 64 bits.
fn inexact(column: &ArrayRef) -> usize {
    fn of(values: impl Iterator<Item = Option<u128>>, scale: i8) -> usize {
        values.flatten().filter(|v| !fits(*v, scale)).count()
    }
    match column.data_type() {
        D::Decimal32(_, s) => {
            let a = column.as_primitive::<Decimal32Type>();
            of(a.iter().map(|v| Some(u128::from(v?.unsigned_abs()))), *s)
        }
        D::Decimal64(_, s) => {
            let a = column.as_primitive::<Decimal64Type>();
            of(a.iter().map(|v| Some(u128::from(v?.unsigned_abs()))), *s)
        }
        D::Decimal128(_, s) => {
            let a = column.as_primitive::<Decimal128Type>();
            of(a.iter().map(|v| Some(v?.unsigned_abs())), *s)
        }
        D::Decimal256(_, s) => {
            let a = column.as_primitive::<Decimal256Type>();
            of(a.iter().map(|v| Some(v?.to_i128().map_or(u128::MAX, i128::unsigned_abs))), *s)
        }
        _ => 0,
    }
}

/// Whether 64 bits hold the digits: a whole number as an integer, another one as a float that is written with them.
fn fits(mut digits: u128, scale: i8) -> bool {
    if scale <= 0 {
        let whole = 10_u128.checked_pow(u32::from(scale.unsigned_abs()));
        let whole = whole.and_then(|unit| digits.checked_mul(unit));
        return whole.is_some_and(|v| u64::try_from(v).is_ok());
    }
    while digits >= EXACT_BELOW && digits.is_multiple_of(10) {
        digits /= 10;
    }
    digits < EXACT_BELOW
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use arrow_array::{Decimal128Array, RecordBatch};
    use graphlume_table::Table;

    use super::*;

    fn said(values: Vec<i128>, precision: u8, scale: i8) -> Vec<String> {
        let column = Decimal128Array::from(values).with_precision_and_scale(precision, scale);
        let batch = RecordBatch::try_from_iter([("price", Arc::new(column.unwrap()) as ArrayRef)]);
        let mut parsed = Parsed::one(Table::try_new(batch.unwrap()).unwrap(), Vec::new());
        tell(&mut parsed);
        parsed.cut
    }

    #[test]
    fn a_text_of_more_digits_than_its_float_loses_some() {
        let loss = |text: &str| loses(text.as_bytes(), text.parse().unwrap());
        for exact in [
            "0.1",
            "-1.797693134862315708145274237317043567980706e308",
            "0.1000000000000000055511151231257827",
            "0.500000000000000000000000000",
            "000000000000000000000000000.25",
            "1e300",
            "18446744073709551616",
        ] {
            assert!(!loss(exact), "{exact}");
        }
        let long = format!("0.{}", "7".repeat(100_000));
        for lost in [
            "0.1234567890123456789",
            "12345678901234567890",
            "12345678901234567890.123456789012345678",
            "-1.00000000000000000001e5",
            &long,
        ] {
            assert!(loss(lost), "{lost}");
        }
        assert!(loses_whole((1 << 53) + 1) && !loses_whole(1 << 53) && loses_whole(i64::MAX));
        assert!(!loses_whole(i64::MIN));
    }

    #[test]
    fn prices_are_no_matter_and_wide_decimals_are_told() {
        assert!(said(vec![1_999, -5], 10, 2).is_empty());
        assert!(said(vec![1_000_000_000_000_000_000], 38, 18).is_empty(), "zeros are no digits");
        assert!(said(vec![i128::from(i64::MAX)], 38, 0).is_empty());
        let wide = said(vec![i128::from(u64::MAX) + 1, 5], 38, 0);
        assert!(
            wide[0].contains("\"price\" holds 1 decimals") && wide[0].contains("texts"),
            "{wide:?}"
        );
        let long = said(vec![1_234_567_890_123_456_789], 38, 18);
        assert!(long[0].contains("nearest 64-bit floats"), "{long:?}");
    }
}
