//! Layouts of the client's own: positions that follow from columns of the nodes, and what the page is told beside them.

mod boxes;
mod circle;
mod fa2;
mod graphviz;
mod layers;
mod mercator;
mod rings;
mod squarify;
mod time;
mod tree;
mod weights;

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array};
use arrow_schema::DataType;
use graphlume_expr::{ErrorCode, QueryError};
use graphlume_store::materialize::with;
use graphlume_store::{CallOp, PropertyGraph};
use graphlume_table::Table;
use serde_json::{Map, Value};

use graphlume_expr::cell::{Cell, Reader};

pub(crate) use boxes::group_in_a_box;
pub(crate) use circle::{CIRCLE_PARAMS, circle};
pub(crate) use fa2::fa2;
pub(crate) use graphviz::graphviz;
pub(crate) use mercator::mercator;
pub(crate) use rings::{categorical, continuous};
pub(crate) use time::time_ring;
pub(crate) use tree::tree;
pub(crate) use weights::modularity_weighted;

/// A column of numbers; NaN becomes null.
fn floats(values: impl IntoIterator<Item = f64>) -> ArrayRef {
    let cells = values.into_iter().map(|v| (!v.is_nan()).then_some(v));
    Arc::new(cells.collect::<Float64Array>())
}

/// The table with columns added or replaced.
fn with_all(table: &Table, columns: Vec<(&str, ArrayRef)>) -> Result<Table, QueryError> {
    columns.into_iter().try_fold(table.clone(), |table, (name, column)| with(&table, name, column))
}

/// The graph with a setting of the page.
fn setting(graph: &PropertyGraph, name: &str, value: Value) -> PropertyGraph {
    let params = Map::from_iter([(name.to_owned(), value)]);
    graph.noted(&CallOp { function: name.to_owned(), params })
}

/// The graph with nodes that stand where their columns `x` and `y` say; the page begins with a layout of so many
/// milliseconds.
fn placed(
    graph: &PropertyGraph,
    nodes: Table,
    (x, y): (&str, &str),
    play_ms: Value,
) -> Result<PropertyGraph, QueryError> {
    let mut graph = graph.replaced(Some(nodes), graph.edges().cloned())?;
    for (function, column) in [("encode_point_x", x), ("encode_point_y", y)] {
        let params = Map::from_iter([("column".to_owned(), Value::from(column))]);
        graph = graph.noted(&CallOp { function: function.to_owned(), params });
    }
    Ok(setting(&graph, "play", play_ms))
}

/// The columns in which the nodes stand: those that are bound to it, else `x` and `y`.
fn axes(graph: &PropertyGraph) -> (String, String) {
    let noted = |function: &str| {
        let call = graph.notes().iter().rev().find(|call| call.function == function)?;
        call.params.get("column")?.as_str().map(str::to_owned)
    };
    let bound = graph.positions();
    let x = noted("encode_point_x").or_else(|| bound.x.clone());
    let y = noted("encode_point_y").or_else(|| bound.y.clone());
    (x.unwrap_or_else(|| "x".to_owned()), y.unwrap_or_else(|| "y".to_owned()))
}

fn is_number(array: &dyn Array) -> bool {
    array.data_type().is_numeric() || *array.data_type() == DataType::Boolean
}

/// The column of the nodes that a parameter names.
fn named<'t>(table: &'t Table, name: &str) -> Result<&'t ArrayRef, QueryError> {
    table.column(name).ok_or_else(|| QueryError::no_column(name, "node", &table.column_names()))
}

/// The numbers of a column of the nodes; NaN where there is none.
fn numbers(table: &Table, name: &str) -> Result<Vec<f64>, QueryError> {
    let column = named(table, name)?;
    graphlume_table::to_f64(column.as_ref()).filter(|_| is_number(column.as_ref())).ok_or_else(
        || {
            let text = format!("the column {name:?} of the nodes has no numbers");
            QueryError::new(ErrorCode::ColumnType, text)
                .field(name)
                .value(column.data_type())
                .suggest("name a column of numbers")
        },
    )
}

/// The cells of a column of the nodes.
///
/// # Errors
/// [`QueryError`] for a column that is not there, or that has a type that is not read.
pub fn cells(table: &Table, name: &str) -> Result<Vec<Cell>, QueryError> {
    let column = named(table, name)?;
    let reader = Reader::new(column).ok_or_else(|| {
        let text = format!("the column {name:?} of the nodes has a type that is not read");
        QueryError::new(ErrorCode::ColumnType, text).field(name).value(column.data_type())
    })?;
    Ok((0..column.len()).map(|row| reader.get(row)).collect())
}

/// The smallest and the largest of some numbers; NaN is none of them.
fn ends(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|v| !v.is_nan()).fold(None, |ends, v| match ends {
        None => Some((v, v)),
        Some((low, high)) => Some((f64::min(low, v), f64::max(high, v))),
    })
}
