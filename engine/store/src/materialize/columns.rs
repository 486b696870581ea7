//! Small changes of tables.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use graphlume_expr::QueryError;
use graphlume_table::Table;

/// The table with a column of one truth value.
///
/// # Errors
/// [`QueryError`] for a table that is too large, or columns of different lengths.
pub fn with_constant(table: &Table, name: &str, value: bool) -> Result<Table, QueryError> {
    let cells = BooleanArray::from(vec![value; table.num_rows()]);
    with(table, name, Arc::new(cells))
}

/// The table with a column, in the place of one of the same name.
///
/// # Errors
/// [`QueryError`] for a table that is too large, or columns of different lengths.
pub fn with(table: &Table, name: &str, column: ArrayRef) -> Result<Table, QueryError> {
    let mut columns = columns(table);
    match columns.iter_mut().find(|(n, _)| n == name) {
        Some((_, old)) => *old = column,
        None => columns.push((name.to_owned(), column)),
    }
    table_of(columns, table.num_rows())
}

/// Names and columns.
pub fn columns(table: &Table) -> Vec<(String, ArrayRef)> {
    let names = table.column_names().into_iter().map(str::to_owned);
    names.zip(table.batch().columns().iter().cloned()).collect()
}

/// A table of columns of `rows` rows.
///
/// # Errors
/// [`QueryError`] for a table that is too large, or columns of different lengths.
pub fn table_of(columns: Vec<(String, ArrayRef)>, rows: usize) -> Result<Table, QueryError> {
    let field =
        |(name, array): &(String, ArrayRef)| Field::new(name, array.data_type().clone(), true);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(Table::try_new(RecordBatch::try_new_with_options(Arc::new(schema), arrays, &options)?)?)
}
