//! Rows of a table by their places.

use arrow_array::{
    Array, ArrayRef, LargeStringArray, RecordBatch, RecordBatchOptions, StringArray, UInt32Array,
};
use graphlume_expr::QueryError;
use graphlume_table::Table;

/// Bytes that the rows of a table take once more: the texts of just these rows, and of all other columns
/// the mean of a row.
/// Bytes of some rows of a table; of columns of one width a share of what the whole column takes.
#[must_use]
pub fn taken_bytes(table: &Table, rows: &[u32]) -> u64 {
    bytes_of(table, rows.len(), || rows.iter().map(|row| *row as usize))
}

/// The same of `count` rows that are listed anew for each column of texts.
pub fn bytes_of<I: Iterator<Item = usize>>(
    table: &Table,
    count: usize,
    rows: impl Fn() -> I,
) -> u64 {
    let of = |array: &ArrayRef| {
        if let Some(text) = array.as_any().downcast_ref::<StringArray>() {
            let length = |r| u64::from(text.value_length(r).unsigned_abs()) + 8;
            return rows().map(length).sum::<u64>();
        }
        if let Some(text) = array.as_any().downcast_ref::<LargeStringArray>() {
            return rows().map(|r| text.value_length(r).unsigned_abs() + 8).sum::<u64>();
        }
        let all = array.get_array_memory_size() as u64;
        (u128::from(all) * count as u128 / array.len().max(1) as u128) as u64
    };
    table.batch().columns().iter().map(of).sum()
}

/// The rows of a table, in the order given.
///
/// # Errors
/// Those of Arrow, for a row that the table has not.
pub fn taken(table: &Table, rows: &[u32]) -> Result<RecordBatch, QueryError> {
    let whole =
        rows.len() == table.num_rows() && rows.iter().enumerate().all(|(i, r)| i as u32 == *r);
    if whole {
        return Ok(table.batch().clone());
    }
    if table.num_cols() == 0 {
        // Rows without columns are nothing but their number.
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let schema = table.batch().schema();
        return Ok(RecordBatch::try_new_with_options(schema, vec![], &options)?);
    }
    let rows = UInt32Array::from(rows.to_vec());
    Ok(arrow_select::take::take_record_batch(table.batch(), &rows)?)
}

/// The rows of a table as a table.
///
/// # Errors
/// Those of Arrow, for a row that the table has not.
pub fn take(table: &Table, rows: Vec<u32>) -> Result<Table, QueryError> {
    Ok(Table::try_new(taken(table, &rows)?)?)
}
