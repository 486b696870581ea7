//! The hypergraph transform: rows of a table to a graph of their values.
//!
//! In the plain form every row is a node, and so is every distinct value of the entity columns; an edge
//! joins the row with each of its values. In the direct form the values of a row are joined with each
//! other. A node id is its category (the column, unless columns are merged), a delimiter and the value's
//! text, so equal values of different columns are different nodes unless their columns share a category.
//!
//! The result repeats cells many times. Text is therefore written once and referred to by number
//! (dictionary columns), and nothing is allocated before the number of rows is known.

mod build;
mod encode;
mod error;
mod options;
mod plan;
mod render;
#[cfg(test)]
mod tests;
mod union;

pub use error::HypergraphError;
pub use options::{Names, Options};
pub use plan::Plan;
pub use union::union;

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, LargeStringArray, StringArray};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use graphlume_types::CancelToken;

use crate::Table;

/// The two tables of a hypergraph.
#[derive(Debug, Clone)]
pub struct Hypergraph {
    /// One row per pair of joined nodes; [`Options::ends`] names its ends.
    pub edges: Table,
    /// One row per node: the values by column and first appearance, then the rows.
    pub nodes: Table,
    /// What was ignored.
    pub warnings: Vec<String>,
}

/// What a transform needs besides its table.
#[derive(Debug, Clone, Copy)]
pub struct HypergraphCx<'a> {
    /// Asked regularly.
    pub cancel: &'a CancelToken,
    /// The number of the first row, for a table that continues another one.
    pub first_event: u64,
}

/// The text of each value of a column as it stands in node ids; none for a null.
///
/// # Errors
/// [`HypergraphError`]: a column of a type that has no text.
pub fn id_texts(array: &ArrayRef) -> Result<Vec<Option<String>>, HypergraphError> {
    let rows: Vec<u32> =
        (0..array.len() as u32).filter(|row| array.is_valid(*row as usize)).collect();
    let texts = render::texts(array, &rows)?;
    let mut out = vec![None; array.len()];
    for (i, row) in rows.iter().enumerate() {
        out[*row as usize] = Some(texts.get(i).to_owned());
    }
    Ok(out)
}

/// Makes the hypergraph of `table`. Work spreads over the current rayon pool; the result does not
/// depend on it.
///
/// # Errors
/// [`HypergraphError`]: options that do not fit the table, more than
/// [`ROWS_MAX`](graphlume_types::limits::ROWS_MAX) edges or nodes, cancellation.
pub fn hypergraph(
    table: &Table,
    options: &Options,
    cx: HypergraphCx<'_>,
) -> Result<Hypergraph, HypergraphError> {
    let columns = table.column_names();
    let plan = Plan::new(options, &columns)?;
    build::run(table, &plan, cx)
}

/// A text column of the narrowest offsets that reach its end.
fn strings(text: Vec<u8>, ends: &[usize]) -> Result<ArrayRef, HypergraphError> {
    let starts_and_ends = std::iter::once(&0).chain(ends);
    let values = Buffer::from_vec(text);
    Ok(if i32::try_from(values.len()).is_ok() {
        let offsets: Vec<i32> = starts_and_ends.map(|e| *e as i32).collect();
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        Arc::new(StringArray::try_new(offsets, values, None)?)
    } else {
        let offsets: Vec<i64> = starts_and_ends.map(|e| *e as i64).collect();
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        Arc::new(LargeStringArray::try_new(offsets, values, None)?)
    })
}
