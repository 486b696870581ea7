//! Decimals of more digits than questions compute with.

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
        let (count, name) = (inexact(column), field.name());
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
