//! Hypergraphs of several tables as one.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{Field, Schema, SchemaRef};

use super::{Hypergraph, HypergraphError};
use crate::Table;

/// Puts the parts below each other. A column that a part lacks is null there. Nodes of several parts
/// stay as they are: who reads them takes the first of equal ids.
///
/// # Errors
/// A column that has different types in two parts; a result beyond the limits of a table.
pub fn union(parts: Vec<Hypergraph>) -> Result<Option<Hypergraph>, HypergraphError> {
    let mut parts = parts;
    if parts.len() < 2 {
        return Ok(parts.pop());
    }
    let edges = stack("edges", parts.iter().map(|p| &p.edges).collect())?;
    let nodes = stack("nodes", parts.iter().map(|p| &p.nodes).collect())?;
    let mut warnings: Vec<String> = parts.into_iter().flat_map(|p| p.warnings).collect();
    warnings.dedup();
    Ok(Some(Hypergraph { edges, nodes, warnings }))
}

fn stack(side: &str, tables: Vec<&Table>) -> Result<Table, HypergraphError> {
    let mut fields: Vec<Field> = Vec::new();
    for table in &tables {
        for field in table.batch().schema_ref().fields() {
            match fields.iter().find(|f| f.name() == field.name()) {
                None => fields.push(field.as_ref().clone()),
                Some(known) if known.data_type() == field.data_type() => {}
                Some(known) => {
                    let message = format!(
                        "edge_files: column {:?} of the {side} is {} in one file and {} in another; \
                         send it alike, or leave it out of both",
                        field.name(),
                        crate::pandas_dtype(known.data_type()),
                        crate::pandas_dtype(field.data_type()),
                    );
                    return Err(HypergraphError::invalid("edge_files", message));
                }
            }
        }
    }
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    let widened = |table: &&Table| -> Result<RecordBatch, HypergraphError> {
        let column = |f: &Arc<Field>| -> ArrayRef {
            let have = table.column(f.name()).map(Arc::clone);
            have.unwrap_or_else(|| new_null_array(f.data_type(), table.num_rows()))
        };
        let columns = schema.fields().iter().map(column).collect();
        Ok(RecordBatch::try_new(Arc::clone(&schema), columns)?)
    };
    let batches: Vec<RecordBatch> = tables.iter().map(widened).collect::<Result<_, _>>()?;
    Ok(Table::concat(schema, &batches)?)
}
