//! Results: values by column, and the forms in which they leave.

use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder,
};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchOptions,
};
use arrow_schema::{Field, Schema};
use graphlume_expr::{ErrorCode, QueryError, Scalar};
use graphlume_table::Table;
use graphlume_types::Notice;
use serde_json::Value as Json;

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

/// What the values of a column have in common, null aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Nothing,
    Ints,
    /// Floats, and integers that floats can tell apart.
    Floats,
    Bools,
    Texts,
    Other,
}

/// Integers beyond this are not all floats.
const EXACT_MAX: i64 = 1 << 53;

impl Shape {
    fn of(value: &Value) -> Self {
        match value {
            Value::Scalar(Scalar::Null) => Self::Nothing,
            Value::Scalar(Scalar::Int(_)) => Self::Ints,
            Value::Scalar(Scalar::Float(_)) => Self::Floats,
            Value::Scalar(Scalar::Bool(_)) => Self::Bools,
            Value::Scalar(Scalar::Text(_)) => Self::Texts,
            _ => Self::Other,
        }
    }

    fn of_all<'v>(values: impl Iterator<Item = &'v Value> + Clone) -> Self {
        let mut shape = Self::Nothing;
        for value in values.clone() {
            shape = match (shape, Self::of(value)) {
                (Self::Nothing, other) | (other, Self::Nothing) => other,
                (a, b) if a == b => a,
                (Self::Ints | Self::Floats, Self::Ints | Self::Floats) => Self::Floats,
                _ => return Self::Other,
            };
        }
        let exact = |v: &Value| !matches!(v, Value::Scalar(Scalar::Int(n)) if n.abs() > EXACT_MAX);
        if shape == Self::Floats && !values.clone().all(exact) { Self::Other } else { shape }
    }
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

    /// The rows as a table: plain columns and lists of plain values in their own types, all else as
    /// text in the notation of openCypher.
    ///
    /// # Errors
    /// [`QueryError`] when a column is too large for a table.
    pub fn table(&self) -> Result<Table, QueryError> {
        let arrays: Result<Vec<ArrayRef>, QueryError> =
            self.columns.iter().map(|c| self.array(c)).collect();
        let arrays = arrays?;
        let fields = self.names.iter().zip(&arrays);
        let fields: Vec<Field> =
            fields.map(|(n, a)| Field::new(n, a.data_type().clone(), true)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.num_rows()));
        let schema = Arc::new(Schema::new(fields));
        Ok(Table::try_new(RecordBatch::try_new_with_options(schema, arrays, &options)?)?)
    }

    fn array(&self, values: &[Value]) -> Result<ArrayRef, QueryError> {
        Ok(match Shape::of_all(values.iter()) {
            Shape::Ints => Arc::new(values.iter().map(int).collect::<Int64Array>()),
            Shape::Floats => Arc::new(values.iter().map(Value::as_f64).collect::<Float64Array>()),
            Shape::Bools => Arc::new(values.iter().map(truth).collect::<BooleanArray>()),
            Shape::Other if values.iter().all(|v| v.is_null() || matches!(v, Value::List(_))) => {
                return self.lists(values);
            }
            _ => return self.texts(values),
        })
    }

    fn texts(&self, values: &[Value]) -> Result<ArrayRef, QueryError> {
        let mut builder = StringBuilder::new();
        let mut bytes = 0;
        for value in values {
            let text = (!value.is_null()).then(|| text_of(&self.view, value));
            bytes += text.as_ref().map_or(0, String::len);
            fits(bytes)?;
            builder.append_option(text);
        }
        Ok(Arc::new(builder.finish()))
    }

    fn lists(&self, values: &[Value]) -> Result<ArrayRef, QueryError> {
        let inner = values.iter().flat_map(|v| match v {
            Value::List(list) => list.as_slice(),
            _ => &[],
        });
        macro_rules! build {
            ($builder:expr, $item:expr) => {{
                let mut builder = ListBuilder::new($builder);
                for value in values {
                    if let Value::List(list) = value {
                        list.iter().for_each(|v| builder.values().append_option($item(v)));
                    }
                    builder.append(!value.is_null());
                }
                Arc::new(builder.finish())
            }};
        }
        let length = |v: &Value| if let Value::Scalar(Scalar::Text(t)) = v { t.len() } else { 1 };
        fits(inner.clone().map(length).sum())?;
        Ok(match Shape::of_all(inner) {
            Shape::Ints => build!(Int64Builder::new(), int),
            Shape::Floats => build!(Float64Builder::new(), Value::as_f64),
            Shape::Bools => build!(BooleanBuilder::new(), truth),
            Shape::Texts => build!(StringBuilder::new(), word),
            Shape::Nothing => build!(StringBuilder::new(), word),
            Shape::Other => return self.texts(values),
        })
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

/// Refuses what the 32-bit offsets of a column cannot address.
fn fits(bytes: usize) -> Result<(), QueryError> {
    if i32::try_from(bytes).is_ok() {
        return Ok(());
    }
    let what = "a column of the result has more than 2 GiB of text";
    Err(QueryError::new(ErrorCode::Limit, what).suggest("return fewer rows or shorter texts"))
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

const fn int(value: &Value) -> Option<i64> {
    match value {
        Value::Scalar(Scalar::Int(v)) => Some(*v),
        _ => None,
    }
}

const fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Scalar(Scalar::Bool(v)) => Some(*v),
        _ => None,
    }
}

fn word(value: &Value) -> Option<&str> {
    match value {
        Value::Scalar(Scalar::Text(v)) => Some(v),
        _ => None,
    }
}
