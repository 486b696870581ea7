//! A table as a schema promises it, before its rows are read.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray,
};
use arrow_schema::{Field, Schema};

use crate::{Table, TableError};

/// A table of one row that has a value in each of `columns`, which are pairs of a name and the pandas name of a type.
/// What only looks at names and types, such as the check of bindings when a dataset is made, can run on it.
///
/// # Errors
/// [`TableError`] when two columns have one name.
pub fn sample<'a>(
    columns: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Table, TableError> {
    let (mut fields, mut arrays) = (Vec::new(), Vec::new());
    for (name, dtype) in columns {
        let array: ArrayRef = match dtype {
            "bool" => Arc::new(BooleanArray::from(vec![true])),
            d if d.starts_with("float") => Arc::new(Float64Array::from(vec![1.0])),
            d if ["int", "uint", "datetime", "timedelta"].iter().any(|t| d.starts_with(t)) => {
                Arc::new(Int64Array::from(vec![1]))
            }
            _ => Arc::new(StringArray::from(vec!["a"])),
        };
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays);
    Table::try_new(batch.map_err(|e| TableError::Join(e.to_string()))?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn every_column_has_a_value_of_its_kind() {
        let names = [("a", "int64"), ("b", "object"), ("c", "datetime64[ns]"), ("d", "float32")];
        let table = sample(names).unwrap();
        assert_eq!((table.num_rows(), table.num_cols()), (1, 4));
        let numbers: Vec<bool> = names
            .iter()
            .map(|(n, _)| crate::is_numeric(table.column(n).unwrap().data_type()))
            .collect();
        assert_eq!(numbers, [true, false, true, true]);
    }
}
