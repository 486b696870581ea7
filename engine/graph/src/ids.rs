//! The way back: node index to the user's id.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, LargeStringArray, UInt32Array};
use arrow_schema::{ArrowError, DataType};

use crate::canon::Column;

/// The ids at `firsts` (column and row, ascending), as one array of the type that fits all columns.
pub(crate) fn gather(
    arrays: &[&ArrayRef],
    columns: &[Column],
    firsts: &[(u32, u32)],
) -> Result<ArrayRef, ArrowError> {
    let dtype = common_type(arrays, columns);
    let mut parts = Vec::with_capacity(arrays.len());
    for (lane, array) in arrays.iter().enumerate() {
        let end = firsts.partition_point(|(l, _)| *l as usize <= lane);
        let start = firsts.partition_point(|(l, _)| (*l as usize) < lane);
        let rows = &firsts[start..end];
        if rows.is_empty() {
            continue;
        }
        let whole = rows.len() == array.len();
        let taken = if whole {
            ArrayRef::clone(array)
        } else {
            let rows = UInt32Array::from_iter_values(rows.iter().map(|(_, r)| *r));
            arrow_select::take::take(array.as_ref(), &rows, None)?
        };
        parts.push(as_type(&taken, &dtype)?);
    }
    match parts.as_slice() {
        [] => Ok(arrow_array::new_empty_array(&dtype)),
        [one] => Ok(ArrayRef::clone(one)),
        many => {
            let many: Vec<&dyn Array> = many.iter().map(AsRef::as_ref).collect();
            arrow_select::concat::concat(&many)
        }
    }
}

/// The type of the ids: the columns' own where they agree, else the plainest that holds all values.
fn common_type(arrays: &[&ArrayRef], columns: &[Column]) -> DataType {
    let plain: Vec<DataType> = arrays
        .iter()
        .filter(|a| a.null_count() < a.len() && !matches!(a.data_type(), DataType::Null))
        .map(|a| decoded(a.data_type()))
        .collect();
    let Some(first) = plain.first() else {
        return arrays.first().map_or(DataType::Null, |a| decoded(a.data_type()));
    };
    if plain.iter().all(|t| t == first) {
        return first.clone();
    }
    let integral = |c: &Column| crate::ints::Ints::try_new(c).is_some();
    if columns.iter().all(integral) { DataType::Int64 } else { DataType::LargeUtf8 }
}

fn decoded(dtype: &DataType) -> DataType {
    match dtype {
        DataType::Dictionary(_, values) => decoded(values),
        DataType::RunEndEncoded(_, values) => decoded(values.data_type()),
        other => other.clone(),
    }
}

fn as_type(array: &ArrayRef, dtype: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == dtype {
        return Ok(ArrayRef::clone(array));
    }
    if dtype == &DataType::LargeUtf8 {
        // Display text rather than a cast: 1.0 in a float column is the id 1 of an integer column.
        let column = Column::try_new(array)?;
        let text = |row| match column.get(row) {
            Some(crate::canon::Canon::Int(v)) => Some(v.to_string()),
            Some(crate::canon::Canon::Text(v)) => Some(v.to_owned()),
            _ => graphlume_table::cell_text(array.as_ref(), row),
        };
        let rows: LargeStringArray = (0..array.len()).map(text).collect();
        return Ok(Arc::new(rows));
    }
    arrow_cast::cast(array, dtype)
}
