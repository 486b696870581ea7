//! Tables below each other whose columns mean the same and are kept in different Arrow types, as one program writes
//! text as `string` and another as `large_string` or `dictionary`, and a column of whole numbers with a gap as floats.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, Schema, TimeUnit};

use crate::{Table, TableError};

impl Table {
    /// The rows of `tables` in order. Columns are found by name and come in the order of the first table; each gets a
    /// type that holds all values of its parts.
    ///
    /// # Errors
    /// [`TableError::Join`] when the tables have different columns, or a column's types have no type in common; it
    /// names the table (counted from 0), the column and the types. Otherwise as [`Table::try_new`].
    pub fn stack(tables: &[Self]) -> Result<Self, TableError> {
        let Some((first, rest)) = tables.split_first() else {
            return Self::try_new(RecordBatch::new_empty(Arc::new(Schema::empty())));
        };
        let mut fields = Vec::with_capacity(first.num_cols());
        for field in first.batch().schema_ref().fields() {
            let mut common = field.data_type().clone();
            for (i, table) in rest.iter().enumerate() {
                let at = i + 1;
                let other =
                    table.column(field.name()).ok_or_else(|| columns_differ(at, first, table))?;
                let (have, add) = (common, other.data_type());
                common = in_common(&have, add).ok_or_else(|| {
                    TableError::Join(format!(
                        "column {:?} holds {have} in the tables before table {at} and {add} in that one; send it as \
                         one type",
                        field.name()
                    ))
                })?;
            }
            fields.push(Field::new(field.name(), common, true));
        }
        if let Some((i, table)) =
            rest.iter().enumerate().find(|(_, t)| t.num_cols() != first.num_cols())
        {
            return Err(columns_differ(i + 1, first, table));
        }
        let schema = Arc::new(Schema::new(fields));
        let parts: Result<Vec<_>, _> = tables.iter().map(|t| t.as_types(&schema)).collect();
        Self::concat(schema, &parts?)
    }

    fn as_types(&self, schema: &Arc<Schema>) -> Result<RecordBatch, TableError> {
        let options = CastOptions { safe: false, ..CastOptions::default() };
        let columns = schema.fields().iter().filter_map(|field| {
            let column = self.column(field.name())?;
            Some(if column.data_type() == field.data_type() {
                Ok(Arc::clone(column))
            } else {
                cast_with_options(column, field.data_type(), &options)
            })
        });
        let columns: Result<Vec<_>, _> = columns.collect();
        let batch = columns.and_then(|c| RecordBatch::try_new(Arc::clone(schema), c));
        batch.map_err(|e| TableError::Join(e.to_string()))
    }
}

fn columns_differ(index: usize, first: &Table, other: &Table) -> TableError {
    let only = |a: &Table, b: &Table| {
        let names = a.column_names().into_iter().filter(|n| b.column(n).is_none());
        names.take(10).map(|n| format!("{n:?}")).collect::<Vec<_>>().join(", ")
    };
    TableError::Join(format!(
        "table {index} has other columns than table 0: it lacks [{}] and has [{}] beyond them; send them alike",
        only(first, other),
        only(other, first)
    ))
}

/// A type that holds every value of both, when there is one that means the same.
fn in_common(a: &DataType, b: &DataType) -> Option<DataType> {
    use DataType as D;
    if a == b {
        return Some(a.clone());
    }
    let both = |is: fn(&DataType) -> bool| is(a) && is(b);
    match (a, b) {
        (D::Null, other) | (other, D::Null) => Some(other.clone()),
        // The offsets of joined text may need 64 bits.
        _ if both(is_text) => Some(D::LargeUtf8),
        _ if both(D::is_signed_integer) || both(D::is_unsigned_integer) => {
            Some(wider(a, b).clone())
        }
        _ if both(D::is_integer) => {
            let is_u64 = matches!((a, b), (D::UInt64, _) | (_, D::UInt64));
            Some(if is_u64 { D::Float64 } else { D::Int64 })
        }
        _ if both(|t| t.is_integer() || t.is_floating()) => Some(D::Float64),
        (D::Timestamp(u, zone), D::Timestamp(v, other)) if zone == other => {
            Some(D::Timestamp(finer(*u, *v), zone.clone()))
        }
        (D::Duration(u), D::Duration(v)) => Some(D::Duration(finer(*u, *v))),
        (D::Date32 | D::Date64, D::Date32 | D::Date64) => Some(D::Date64),
        _ => None,
    }
}

fn is_text(t: &DataType) -> bool {
    match t {
        DataType::Dictionary(_, values) => is_text(values),
        DataType::RunEndEncoded(_, values) => is_text(values.data_type()),
        other => matches!(other, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
    }
}

fn wider<'a>(a: &'a DataType, b: &'a DataType) -> &'a DataType {
    let width = |t: &DataType| t.primitive_width().unwrap_or(0);
    if width(a) >= width(b) { a } else { b }
}

fn finer(a: TimeUnit, b: TimeUnit) -> TimeUnit {
    let steps = |u| match u {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 2,
        TimeUnit::Nanosecond => 3,
    };
    if steps(a) >= steps(b) { a } else { b }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use arrow_array::types::Int8Type;
    use arrow_array::{
        ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, LargeStringArray,
        StringArray, StringViewArray,
    };
    use graphlume_types::Coded;

    use super::*;
    use crate::cell_text;

    fn one(column: ArrayRef) -> Table {
        Table::of_column("c", column).unwrap()
    }

    fn texts(table: &Table) -> Vec<Option<String>> {
        let column = table.column("c").unwrap();
        (0..table.num_rows()).map(|row| cell_text(column.as_ref(), row)).collect()
    }

    #[test]
    fn text_of_every_representation_joins() {
        let keys: DictionaryArray<Int8Type> = vec![Some("d"), None].into_iter().collect();
        let stacked = Table::stack(&[
            one(Arc::new(StringArray::from(vec!["a"]))),
            one(Arc::new(LargeStringArray::from(vec!["b"]))),
            one(Arc::new(StringViewArray::from(vec!["c"]))),
            one(Arc::new(keys)),
        ]);
        let want = ["a", "b", "c", "d"].map(|t| Some(t.to_owned()));
        assert_eq!(texts(&stacked.unwrap()), [want.to_vec(), vec![None]].concat());
    }

    #[test]
    fn numbers_join_in_a_type_that_holds_them_all() {
        let ints = || one(Arc::new(Int64Array::from(vec![1_i64 << 40])));
        let small = one(Arc::new(Int32Array::from(vec![-7])));
        let floats = one(Arc::new(Float64Array::from(vec![None, Some(0.5)])));
        let wide = Table::stack(&[small, ints()]).unwrap();
        assert_eq!(wide.column("c").unwrap().data_type(), &DataType::Int64);
        let mixed = Table::stack(&[ints(), floats]).unwrap();
        assert_eq!(mixed.column("c").unwrap().data_type(), &DataType::Float64);
        assert_eq!(mixed.num_rows(), 3);
    }

    #[test]
    fn what_has_no_type_in_common_is_named_with_its_column() {
        let numbers = one(Arc::new(Int64Array::from(vec![1])));
        let text = one(Arc::new(StringArray::from(vec!["1"])));
        let e = Table::stack(&[numbers.clone(), text]).unwrap_err();
        assert_eq!(e.slug(), "table-parts-differ");
        assert!(e.to_string().contains("\"c\"") && e.to_string().contains("table 1"), "{e}");
        let other = Table::of_column("d", Arc::new(Int64Array::from(vec![1]))).unwrap();
        let e = Table::stack(&[numbers, other]).unwrap_err().to_string();
        assert!(e.contains("lacks [\"c\"] and has [\"d\"]"), "{e}");
    }
}
