//! Tables between arrow and polars, through the Arrow C data interface: two libraries, one memory layout.

use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow_schema::{ArrowError, Field, Schema};
use graphlume_table::{Table, TableError};
use polars::prelude::{Column, CompatLevel, DataFrame, PlSmallStr, Series};
use polars_arrow::ffi;

use super::FIELD;
use crate::IngestError;
use crate::error::one_line;

/// The table for polars; columns of types that it does not know are an error that names them.
pub(super) fn to_polars(table: &Table) -> Result<DataFrame, IngestError> {
    let batch = table.batch();
    let mut columns = Vec::with_capacity(batch.num_columns());
    for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
        let series = series(field.name(), array).map_err(|message| {
            let (name, kind) = (field.name(), field.data_type());
            let what = format!("column {name:?} of type {kind} cannot be queried: {message}");
            IngestError::option(FIELD, what)
        })?;
        columns.push(Column::from(series));
    }
    DataFrame::new(batch.num_rows(), columns).map_err(|e| IngestError::option(FIELD, one_line(e)))
}

fn series(name: &str, array: &ArrayRef) -> Result<Series, String> {
    let (data, schema) = to_ffi(&array.to_data()).map_err(one_line)?;
    // SAFETY: both types are the `repr(C)` structures of the Arrow C data interface, field by field; the
    // value is moved, so that its release function runs once, on the other side.
    let (data, schema) = unsafe {
        (
            std::mem::transmute::<FFI_ArrowArray, ffi::ArrowArray>(data),
            std::mem::transmute::<FFI_ArrowSchema, ffi::ArrowSchema>(schema),
        )
    };
    // SAFETY: the schema was made by arrow a moment ago and is valid.
    let field = unsafe { ffi::import_field_from_c(&schema) }.map_err(one_line)?;
    // SAFETY: the array was made by arrow together with that schema, and arrow's arrays are validated.
    let array =
        unsafe { ffi::import_array_from_c(data, field.dtype().clone()) }.map_err(one_line)?;
    Series::try_from((PlSmallStr::from_str(name), array)).map_err(one_line)
}

/// The result of a query; text as `large_string`, the type that pandas sends, too.
pub(super) fn from_polars(frame: &DataFrame) -> Result<Table, TableError> {
    let join = |e: ArrowError| TableError::Join(e.to_string());
    let mut fields = Vec::with_capacity(frame.width());
    let mut arrays = Vec::with_capacity(frame.width());
    for column in frame.columns() {
        let series = column.as_materialized_series().rechunk();
        let array = array(&series).map_err(join)?;
        fields.push(Field::new(series.name().as_str(), array.data_type().clone(), true));
        arrays.push(array);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(frame.height()));
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new_with_options(schema, arrays, &options).map_err(join)?;
    Table::try_new(batch)
}

fn array(series: &Series) -> Result<ArrayRef, ArrowError> {
    let level = CompatLevel::oldest();
    let field = series.field().to_arrow(level);
    let data = ffi::export_array_to_c(series.to_arrow(0, level));
    let schema = ffi::export_field_to_c(&field);
    // SAFETY: as in `series`, the other way round.
    let (data, schema) = unsafe {
        (
            std::mem::transmute::<ffi::ArrowArray, FFI_ArrowArray>(data),
            std::mem::transmute::<ffi::ArrowSchema, FFI_ArrowSchema>(schema),
        )
    };
    // SAFETY: array and schema were made by polars from one series, whose buffers they keep alive.
    let data = unsafe { from_ffi(data, &schema) }?;
    data.validate_full()?;
    Ok(make_array(data))
}
