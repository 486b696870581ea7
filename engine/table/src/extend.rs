//! Tables made from tables: rows in another order, and more columns.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array,
};
use arrow_schema::{Field, Schema};

use crate::{Table, TableError};

/// Sizes as a table: columns `kind`, `rows` and `cols`, one row for each name and its rows and columns.
///
/// # Errors
/// [`TableError`]: never.
pub fn shape(sizes: &[(&str, (usize, usize))]) -> Result<Table, TableError> {
    let count = |size: fn(&(usize, usize)) -> usize| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(sizes.iter().map(|(_, s)| size(s) as i64)))
    };
    let kinds: ArrayRef = Arc::new(StringArray::from_iter_values(sizes.iter().map(|(k, _)| k)));
    let columns = [("kind", kinds), ("rows", count(|s| s.0)), ("cols", count(|s| s.1))];
    let batch = RecordBatch::try_from_iter(columns).map_err(|e| TableError::Join(e.to_string()))?;
    Table::try_new(batch)
}

impl Table {
    /// The rows `rows` in that order; `u32::MAX` gives a row of nulls.
    ///
    /// # Errors
    /// [`TableError::Join`] when the result does not fit the types of the columns.
    pub fn pick(&self, rows: &[u32]) -> Result<Self, TableError> {
        let there = |row: &u32| (*row != u32::MAX).then_some(*row);
        let indices: UInt32Array = rows.iter().map(there).collect();
        let take = |column| arrow_select::take::take(column, &indices, None);
        let columns: Result<Vec<ArrayRef>, _> =
            self.batch().columns().iter().map(|c| take(c.as_ref())).collect();
        let fields = self.batch().schema_ref().fields().iter();
        let fields: Vec<Field> = fields.map(|f| f.as_ref().clone().with_nullable(true)).collect();
        let batch = columns.and_then(|c| RecordBatch::try_new(Arc::new(Schema::new(fields)), c));
        Self::try_new(batch.map_err(|e| TableError::Join(e.to_string()))?)
    }

    /// The table with `column` as its column `name`, which is replaced when it is there.
    ///
    /// # Errors
    /// [`TableError::Join`] when the column has another number of rows; a table of too many columns.
    pub fn with_column(&self, name: &str, column: ArrayRef) -> Result<Self, TableError> {
        let schema = self.batch().schema();
        let mut fields: Vec<Field> = schema.fields().iter().map(|f| f.as_ref().clone()).collect();
        let mut columns = self.batch().columns().to_vec();
        let field = Field::new(name, column.data_type().clone(), true);
        match fields.iter().position(|f| f.name() == name) {
            Some(at) => (fields[at], columns[at]) = (field, column),
            None => {
                fields.push(field);
                columns.push(column);
            }
        }
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns);
        Self::try_new(batch.map_err(|e| TableError::Join(e.to_string()))?)
    }

    /// The table with a place for each row, in columns `x` and `y`: null where it is not a number. `origin` is added to the
    /// places, in 64 bits where it is not zero. Columns of the table
    /// that have these names are there as `x_bound` and `y_bound`.
    ///
    /// # Errors
    /// [`TableError::Join`] for another number of places than rows; a table of too many columns.
    pub fn with_places(&self, places: &[[f32; 2]], origin: [f64; 2]) -> Result<Self, TableError> {
        let schema = self.batch().schema();
        let mut fields: Vec<Field> = schema.fields().iter().map(|f| f.as_ref().clone()).collect();
        for name in ["x", "y"] {
            let is_taken = |name: &str| fields.iter().any(|f| f.name() == name);
            let mut free = name.to_owned();
            while is_taken(&free) {
                free.push_str("_bound");
            }
            if let Some(field) = fields.iter_mut().find(|f| f.name() == name) {
                field.set_name(free);
            }
        }
        let mut columns = self.batch().columns().to_vec();
        for (axis, name) in ["x", "y"].into_iter().enumerate() {
            let numbers = places.iter().map(|place| Some(place[axis]).filter(|x| !x.is_nan()));
            let column: ArrayRef = match origin[axis] {
                0.0 => Arc::new(numbers.collect::<Float32Array>()),
                origin => {
                    let exact = numbers.map(|x| x.map(|x| f64::from(x) + origin));
                    Arc::new(exact.collect::<Float64Array>())
                }
            };
            fields.push(Field::new(name, column.data_type().clone(), true));
            columns.push(column);
        }
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns);
        Self::try_new(batch.map_err(|e| TableError::Join(e.to_string()))?)
    }

    /// A table of one column.
    ///
    /// # Errors
    /// As [`Table::try_new`].
    pub fn of_column(name: &str, column: ArrayRef) -> Result<Self, TableError> {
        let schema = Schema::new(vec![Field::new(name, column.data_type().clone(), true)]);
        let batch = RecordBatch::try_new(Arc::new(schema), vec![column]);
        Self::try_new(batch.map_err(|e| TableError::Join(e.to_string()))?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use arrow_array::{Int64Array, StringArray};

    use super::*;
    use crate::cell_text;

    #[test]
    fn rows_are_picked_with_nulls_and_columns_added_or_replaced() {
        let ids: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let table = Table::of_column("id", ids).unwrap().pick(&[1, u32::MAX, 0]).unwrap();
        let shown = |name: &str| -> Vec<Option<String>> {
            let table = table.with_column("n", Arc::new(Int64Array::from(vec![1, 2, 3]))).unwrap();
            let table = table.with_column("n", Arc::new(Int64Array::from(vec![4, 5, 6]))).unwrap();
            let column = table.column(name).unwrap();
            (0..3).map(|row| cell_text(column.as_ref(), row)).collect()
        };
        assert_eq!(shown("id"), [Some("b".to_owned()), None, Some("a".to_owned())]);
        assert_eq!(shown("n"), ["4", "5", "6"].map(|t| Some(t.to_owned())));
        let short: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        assert!(table.with_column("n", short).is_err());
    }

    #[test]
    fn places_stand_beside_the_columns_that_have_their_names() {
        let text = |text: &str| Arc::new(StringArray::from(vec![text, text])) as ArrayRef;
        let table = Table::of_column("x", text("a")).unwrap();
        let table = table.with_column("x_bound", text("b")).unwrap();
        let placed = table.with_places(&[[0.5, -1.0], [f32::NAN, 2.0]], [0.0; 2]).unwrap();
        assert_eq!(placed.column_names(), ["x_bound_bound", "x_bound", "x", "y"]);
        let row = |row| -> Vec<Option<String>> {
            placed.batch().columns().iter().map(|c| cell_text(c.as_ref(), row)).collect()
        };
        assert_eq!(row(0), ["a", "b", "0.5", "-1.0"].map(|t| Some(t.to_owned())));
        assert_eq!(row(1)[2], None, "a node without a place");
        assert!(table.with_places(&[[0.0; 2]], [0.0; 2]).is_err(), "one place for two rows");
    }
}
