//! Text columns of few distinct values, as numbers of these values: a test of text is then made once for
//! each of them, and every row costs a comparison of numbers.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, UInt32Array};
use arrow_schema::DataType;
use graphlume_table::TextColumn;

use crate::tuning::tuning;

/// Rows a distinct value must stand in on average.
const ROWS_PER_VALUE: usize = 4;
/// Rows that are looked at before all are.
const SAMPLE: usize = 1 << 12;

/// The column with its values numbered; `None` when it is no plain text, or its values hardly repeat.
pub fn coded(array: &ArrayRef) -> Option<ArrayRef> {
    let plain =
        matches!(array.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    if !plain || array.len() < tuning().coded_rows_min {
        return None;
    }
    let text = TextColumn::try_new(array)?;
    let rows = text.len();
    let sample = SAMPLE.min(rows);
    let spread = (0..sample).map(|i| text.get((i as u64 * rows as u64 / sample as u64) as usize));
    if spread.collect::<HashSet<_>>().len() * ROWS_PER_VALUE > sample {
        return None;
    }
    let distinct = graphlume_graph::distinct(array)?;
    if distinct.first_rows.len() * ROWS_PER_VALUE > rows {
        return None;
    }
    let values =
        arrow_select::take::take(array.as_ref(), &UInt32Array::from(distinct.first_rows), None);
    let valid = array.logical_nulls();
    let mut codes = distinct.codes;
    if valid.is_some() {
        // The key of a null is not looked at.
        codes.iter_mut().filter(|c| **c == u32::MAX).for_each(|c| *c = 0);
    }
    let keys = UInt32Array::try_new(codes.into(), valid).ok()?;
    let made = DictionaryArray::<UInt32Type>::try_new(keys, values.ok()?).ok()?;
    Some(Arc::new(made))
}

/// Clears the marks of the rows from `from` on whose value has no positive answer; `null` is the answer
/// of a null.
pub fn narrow(keys: &UInt32Array, answers: &[bool], null: bool, from: usize, marks: &mut [bool]) {
    let rows = &keys.values()[from..from + marks.len()];
    let mut yes = (0..answers.len()).filter(|i| answers[*i]);
    match (yes.next(), yes.next(), keys.nulls()) {
        (Some(one), None, None) => {
            let one = one as u32;
            marks.iter_mut().zip(rows).for_each(|(mark, key)| *mark &= *key == one);
        }
        (_, _, None) => {
            marks.iter_mut().zip(rows).for_each(|(mark, key)| *mark &= answers[*key as usize]);
        }
        (_, _, Some(nulls)) => {
            for (i, (mark, key)) in marks.iter_mut().zip(rows).enumerate() {
                let valid = nulls.is_valid(from + i);
                *mark &= if valid { answers[*key as usize] } else { null };
            }
        }
    }
}
