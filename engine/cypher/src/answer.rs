//! Results: values by column, and the forms in which they leave.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use graphlume_expr::{QueryError, Scalar};
use graphlume_table::Table;
use graphlume_types::Notice;
use serde_json::Value as Json;

use crate::answer_column::column;
use crate::graph_view::GraphView;
use crate::render::text_of;
use crate::value::Value;

use crate::row_buffer::Column as Held;

/// The rows that a query yields.
#[derive(Debug)]
pub struct Answer {
    view: Arc<GraphView>,
    names: Vec<String>,
    columns: Vec<Vec<Value>>,
    notices: Vec<Notice>,
}

impl Answer {
    pub(crate) fn new(view: Arc<GraphView>, names: Vec<String>, columns: Vec<Held>) -> Self {
        let columns = columns.into_iter().map(Held::into_values).collect();
        Self { view, names, columns, notices: Vec::new() }
    }

    pub(crate) fn with_notices(self, notices: Vec<Notice>) -> Self {
        Self { notices, ..self }
    }

    /// Names in the query that matched nothing, where that was no error.
    #[must_use]
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Names of the columns.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Values of the columns, in the order of the names.
    #[must_use]
    pub fn columns(&self) -> &[Vec<Value>] {
        &self.columns
    }

    /// Number of rows.
    #[must_use]
    pub fn num_rows(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    /// A value in the notation of openCypher; a text is itself.
    #[must_use]
    pub fn text(&self, value: &Value) -> String {
        text_of(&self.view, value)
    }

    /// The rows as a table: plain columns, dates, times, lengths of time, and lists of these in their own types; all else
    /// as text in the notation of openCypher.
    ///
    /// # Errors
    /// [`QueryError`] when a column is too large for a table.
    pub fn table(&self) -> Result<Table, QueryError> {
        let arrays: Result<Vec<ArrayRef>, QueryError> =
            self.columns.iter().map(|c| column(&self.view, c)).collect();
        let arrays = arrays?;
        let fields = self.names.iter().zip(&arrays);
        let fields: Vec<Field> =
            fields.map(|(n, a)| Field::new(n, a.data_type().clone(), true)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.num_rows()));
        let schema = Arc::new(Schema::new(fields));
        Ok(Table::try_new(RecordBatch::try_new_with_options(schema, arrays, &options)?)?)
    }

    /// The rows as JSON objects; times are texts, and so is all that has a node, a relationship or a path
    /// in it.
    #[must_use]
    pub fn json(&self) -> Vec<Json> {
        let row = |i: usize| {
            let cells = self.names.iter().zip(&self.columns);
            let cell = |c: &Vec<Value>| c.get(i).map_or(Json::Null, |v| self.json_of(v));
            Json::Object(cells.map(|(n, c)| (n.clone(), cell(c))).collect())
        };
        (0..self.num_rows()).map(row).collect()
    }

    fn json_of(&self, value: &Value) -> Json {
        match value {
            Value::Scalar(Scalar::Null) => Json::Null,
            Value::Scalar(Scalar::Bool(v)) => Json::Bool(*v),
            Value::Scalar(Scalar::Int(v)) => Json::from(*v),
            Value::Scalar(Scalar::UInt(v)) => Json::from(*v),
            Value::Scalar(Scalar::Float(v)) => Json::from(*v),
            Value::Scalar(Scalar::Text(v)) => Json::from(v.to_string()),
            _ if has_entity(value) => Json::from(text_of(&self.view, value)),
            Value::List(list) => list.iter().map(|v| self.json_of(v)).collect(),
            Value::Map(map) => {
                Json::Object(map.iter().map(|(k, v)| (k.to_string(), self.json_of(v))).collect())
            }
            Value::Scalar(Scalar::Temporal(t)) => Json::from(t.to_string()),
            Value::Duration(d) => Json::from(d.to_string()),
            Value::Node(_) | Value::Edge(_) | Value::Path(_) => {
                Json::from(text_of(&self.view, value))
            }
        }
    }

    #[doc(hidden)]
    #[must_use]
    pub fn labels(&self, node: u32) -> Vec<Arc<str>> {
        self.view.labels(node)
    }

    #[doc(hidden)]
    #[must_use]
    pub fn node_properties(&self, node: u32) -> crate::value::Entries {
        self.view.node_properties(node)
    }

    #[doc(hidden)]
    #[must_use]
    pub fn edge_properties(&self, row: u32) -> crate::value::Entries {
        self.view.edge_properties(row)
    }

    #[doc(hidden)]
    #[must_use]
    pub fn edge_type(&self, row: u32) -> Option<Arc<str>> {
        self.view.edge_type(row)
    }
}

/// Whether a node, a relationship or a path is in the value.
fn has_entity(value: &Value) -> bool {
    match value {
        Value::Node(_) | Value::Edge(_) | Value::Path(_) => true,
        Value::List(list) => list.iter().any(has_entity),
        Value::Map(map) => map.iter().any(|(_, v)| has_entity(v)),
        _ => false,
    }
}
