//! Host tables: one contiguous Arrow record batch per uploaded table, with the original types kept.
//!
//! Nothing here casts a user's column: [`cell_text`], [`cell_json`] and [`to_f64`] are read-only views
//! for display and for encodings, and [`TextColumn`] reads every string representation alike.

mod cell;
mod doubles;
mod error;
mod extend;
mod hypergraph;
mod numeric;
mod sample;
mod stack;
mod table;
mod text;
mod zone;

pub use cell::{cell_json, cell_text};
pub use doubles::keep_digits;
pub use error::TableError;
pub use extend::shape;
pub use hypergraph::{
    Hypergraph, HypergraphCx, HypergraphError, Names as HypergraphNames,
    Options as HypergraphOptions, Plan as HypergraphPlan, hypergraph, id_texts,
    union as hypergraph_union,
};
pub use numeric::{is_numeric, to_f64};
pub use sample::sample;
pub use table::{Table, TableSummary, pandas_dtype};
pub use text::TextColumn;
pub use zone::{Tz, resolve_local, zone_offset};

// The Arrow crates that users of a table need, so that the whole build names one version of them.
pub use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch};
pub use arrow_buffer::Buffer;
pub use arrow_schema::{DataType, Field, Schema, SchemaRef};
