//! Calls on rows: choose a table, then filter, project, group and order it.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use graphlume_calls::params::Params;
use graphlume_expr::{ErrorCode, QueryError, Strictness};
use graphlume_store::PropertyGraph;
use graphlume_store::materialize::take;
use graphlume_store::materialize::{columns, table_of};
use graphlume_table::Table;
use graphlume_types::limits::{QUERY_CELLS_MAX, QUERY_ROWS_MAX};
use serde_json::Value;

use crate::bind::bind;
use crate::expr::{Cell, EDGE_IDS, Expr, NODE_ID, Rows, column, parse, plain_column};
use crate::scope::{NO_ROWS, Scope, Side};

pub(super) fn table_of_side(
    graph: &PropertyGraph,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<Table, QueryError> {
    let table = match params.text("table")?.unwrap_or("nodes") {
        "nodes" => graph.node_table(scope.cancel)?,
        "edges" => graph.edges().cloned().ok_or_else(|| {
            QueryError::new(ErrorCode::NoEdges, "the graph has no edge table").field("table")
        })?,
        other => return Err(params.wrong("table", "\"nodes\" or \"edges\"", &other.into())),
    };
    let table = if scope.rows.identities { identified(table, params, scope)? } else { table };
    let Some(source) = params.text("source")? else { return Ok(table) };
    let Some(marker) = table.column(source) else {
        let text = format!("no step is named {source:?}");
        return Err(QueryError::new(ErrorCode::Column, text).field("source"));
    };
    let marked = crate::expr::Reader::new(marker);
    let marked = marked.filter(|_| marker.data_type() == &arrow_schema::DataType::Boolean);
    let Some(marked) = marked else {
        return Err(params.wrong("source", "a named step", &source.into()));
    };
    let rows = (0..table.num_rows()).filter(|r| marked.get(*r).is_true());
    take(&table, rows.map(|r| r as u32).collect())
}

/// The table with the identity of its rows: the nodes' ids, or the places of the edges.
fn identified(table: Table, params: &Params<'_>, scope: Scope<'_>) -> Result<Table, QueryError> {
    if params.text("table")? == Some("edges") {
        scope.cancel.take(table.num_rows() as u64 * 8)?;
        let places = Int64Array::from_iter_values(0..table.num_rows() as i64);
        let places: ArrayRef = Arc::new(places);
        return EDGE_IDS.iter().try_fold(table, |table, name| {
            graphlume_store::materialize::with(&table, name, ArrayRef::clone(&places))
        });
    }
    match table.column(&scope.rows.node).cloned() {
        Some(ids) => graphlume_store::materialize::with(&table, NODE_ID, ids),
        None => Ok(table),
    }
}

/// A count of the rows that `rows` would choose.
pub(super) fn count(
    graph: &PropertyGraph,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<Table, QueryError> {
    let rows = table_of_side(graph, params, scope)?.num_rows();
    let name = params.text("alias")?.unwrap_or("count(*)");
    table_of(vec![(name.to_owned(), column(&[Cell::int(rows as i64)], scope.cancel)?)], 1)
}

pub(super) fn select(
    table: &Table,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<Table, QueryError> {
    project(table, params, false, scope)
}

pub(super) fn with_(
    table: &Table,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<Table, QueryError> {
    project(table, params, params.flag("extend", false)?, scope)
}

pub(super) fn skip(table: &Table, params: &Params<'_>, _: Scope<'_>) -> Result<Table, QueryError> {
    let from = params.count("value")?.min(table.num_rows());
    take(table, (from as u32..table.num_rows() as u32).collect())
}

pub(super) fn limit(table: &Table, params: &Params<'_>, _: Scope<'_>) -> Result<Table, QueryError> {
    let count = params.count("value")?.min(table.num_rows());
    take(table, (0..count as u32).collect())
}

pub(super) fn drop_cols(
    table: &Table,
    params: &Params<'_>,
    _: Scope<'_>,
) -> Result<Table, QueryError> {
    let gone = params.texts("cols")?;
    let kept = columns(table).into_iter().filter(|(n, _)| !gone.contains(n)).collect();
    table_of(kept, table.num_rows())
}

/// The column that is called so, for names such as `count(*)` may contain what expressions do not; else the
/// expression that the text says.
pub(super) fn named_or_parsed(table: &Table, text: &str) -> Result<Expr, QueryError> {
    match table.column(text) {
        Some(_) => Ok(Expr::Name(text.to_owned())),
        None => parse(text),
    }
}

/// A parsed expression with the text it came from.
pub(super) struct Item {
    pub(super) name: String,
    pub(super) expr: Expr,
}

/// `"column"` or `[alias, expression]`; anything but a text is a constant.
pub(super) fn item(table: &Table, value: &Value, params: &Params<'_>) -> Result<Item, QueryError> {
    let wrong = || params.wrong("items", "names or pairs of a name and an expression", value);
    let read = |name: &str, source: &Value| {
        let expr = match source {
            Value::String(text) => named_or_parsed(table, text)?,
            constant => Expr::Literal(Cell::from_json(constant).ok_or_else(wrong)?),
        };
        Ok(Item { name: name.to_owned(), expr })
    };
    match value {
        Value::String(name) => Ok(Item { name: name.clone(), expr: Expr::Name(name.clone()) }),
        Value::Array(pair) => match pair.as_slice() {
            [Value::String(name), source] => read(name, source),
            _ => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}

/// Bytes that are taken at once for values that are being made.
const TAKE_BYTES: u64 = 1 << 18;

/// The values of an expression in all rows.
pub(super) fn values(
    table: &Table,
    expr: &Expr,
    scope: Scope<'_>,
) -> Result<Vec<Cell>, QueryError> {
    bounded_values(table, expr, scope, QUERY_CELLS_MAX)
}

/// The same, with at most `most` values in all, those in lists included.
fn bounded_values(
    table: &Table,
    expr: &Expr,
    scope: Scope<'_>,
    most: usize,
) -> Result<Vec<Cell>, QueryError> {
    let rows = Rows::new(table, &[expr], false, scope)?;
    let mut out = Vec::with_capacity(table.num_rows());
    let (mut bytes, mut made) = (0, 0);
    for row in 0..table.num_rows() {
        let cell = rows.eval(expr, row)?;
        bytes += cell.bytes();
        made += cell.weight();
        if made > most {
            let text = format!("the values of an expression are more than {most} in all");
            return Err(QueryError::new(ErrorCode::Limit, text)
                .suggest("make shorter lists, or limit the rows first"));
        }
        if bytes > TAKE_BYTES {
            scope.cancel.take(std::mem::take(&mut bytes))?;
        }
        out.push(cell);
    }
    scope.cancel.take(bytes)?;
    Ok(out)
}

fn computed(table: &Table, expr: &Expr, scope: Scope<'_>) -> Result<ArrayRef, QueryError> {
    match plain_column(table, expr) {
        Some(array) => Ok(ArrayRef::clone(array)),
        None => column(&values(table, expr, scope)?, scope.cancel),
    }
}

fn project(
    table: &Table,
    params: &Params<'_>,
    extend: bool,
    scope: Scope<'_>,
) -> Result<Table, QueryError> {
    let mut out: Vec<(String, ArrayRef)> = if extend { columns(table) } else { vec![] };
    for value in params.list("items")? {
        let item = item(table, value, params)?;
        let array = computed(table, &item.expr, scope)?;
        match out.iter_mut().find(|(n, _)| *n == item.name) {
            Some((_, old)) => *old = array,
            None => out.push((item.name, array)),
        }
    }
    table_of(out, table.num_rows())
}

pub(super) fn keep(
    table: &Table,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<Table, QueryError> {
    let mut kept: Vec<u32> = (0..table.num_rows() as u32).collect();
    if params.get("filter_dict").is_some() {
        let filter = crate::wire::filter(params.get("filter_dict"), "filter_dict")?;
        let rows = PropertyGraph::of_rows(table.clone(), None);
        let bound = bind(&rows, table, Side::Nodes, &filter, scope)?;
        kept.retain(|row| bound.passes(*row));
    }
    if let Some(text) = params.text("expr")? {
        let answers = values(table, &parse(text)?, scope)?;
        kept.retain(|row| answers[*row as usize].is_true());
    }
    take(table, kept)
}

pub(super) fn order(
    table: &Table,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<Table, QueryError> {
    let mut keys = Vec::new();
    for value in params.list("keys")? {
        let wrong =
            || params.wrong("keys", "pairs of an expression and \"asc\" or \"desc\"", value);
        let (text, descending) = match value.as_array().map(Vec::as_slice) {
            Some([Value::String(text), Value::String(way)]) => match way.to_lowercase().as_str() {
                "asc" | "ascending" => (text, false),
                "desc" | "descending" => (text, true),
                _ => return Err(wrong()),
            },
            _ => return Err(wrong()),
        };
        let expr = named_or_parsed(table, text)?;
        keys.push((values(table, &expr, scope)?, descending));
    }
    let mut rows: Vec<u32> = (0..table.num_rows() as u32).collect();
    rows.sort_by(|a, b| {
        let parts = keys.iter().map(|(cells, descending)| {
            let order = cells[*a as usize].sort(&cells[*b as usize]);
            if *descending { order.reverse() } else { order }
        });
        parts.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
    });
    take(table, rows)
}

/// Bytes of the places of a key.
const KEY_BYTES: u64 = 64;

/// For each row a text that equal rows share.
pub(super) fn row_keys(
    table: &Table,
    names: &[String],
    scope: Scope<'_>,
) -> Result<Vec<String>, QueryError> {
    let exprs: Vec<Expr> = names.iter().map(|n| Expr::Name(n.clone())).collect();
    let wanted: Vec<&Expr> = exprs.iter().collect();
    let lenient = Scope { strictness: Strictness::Lenient, rows: &NO_ROWS, ..scope };
    let rows = Rows::new(table, &wanted, false, lenient)?;
    let key = |row: usize| {
        let cells = exprs.iter().map(|e| Ok(format!("{:?}", rows.eval(e, row)?.key())));
        let key = cells.collect::<Result<Vec<_>, QueryError>>()?.join(",");
        // A key stands in a list and in an index.
        scope.cancel.take(key.capacity() as u64 + KEY_BYTES)?;
        Ok(key)
    };
    (0..table.num_rows()).map(key).collect()
}

pub(super) fn distinct(
    table: &Table,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<Table, QueryError> {
    let names = match params.get("subset") {
        Some(_) => params.texts("subset")?,
        // Rows are the same by what they say; that they are different edges does not show.
        None => {
            let names = table.column_names().into_iter();
            names.filter(|name| !super::internal::is_identity(name)).map(str::to_owned).collect()
        }
    };
    let keys = row_keys(table, &names, scope)?;
    let mut seen: HashSet<&str> = HashSet::new();
    let rows = (0..keys.len()).filter(|row| seen.insert(&keys[*row]));
    take(table, rows.map(|row| row as u32).collect())
}

/// Bytes of a row number and a value, and of the column they become.
const UNWOUND_BYTES: u64 = 48;

pub(super) fn unwind(
    table: &Table,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<Table, QueryError> {
    let expr = match params.get("expr") {
        Some(Value::String(text)) => parse(text)?,
        Some(list @ Value::Array(_)) => Expr::Literal(
            Cell::from_json(list).ok_or_else(|| params.wrong("expr", "a list of scalars", list))?,
        ),
        _ => return Err(params.missing("expr")),
    };
    let name = params.text("as_")?.unwrap_or("value");
    let (mut rows, mut cells) = (Vec::new(), Vec::new());
    // Each list counts as one value beside its own.
    let most = QUERY_ROWS_MAX.saturating_add(table.num_rows());
    let cells_of = bounded_values(table, &expr, scope, most)?;
    let count = |cell: &Cell| match cell {
        Cell::List(items) => items.len(),
        cell => usize::from(!cell.is_null()),
    };
    let total: usize = cells_of.iter().map(count).sum();
    if total > QUERY_ROWS_MAX {
        let text = format!("unwind would make {total} rows; the limit is {QUERY_ROWS_MAX}");
        return Err(QueryError::new(ErrorCode::Limit, text).suggest("unwind shorter lists"));
    }
    let width = table.memory_bytes() / table.num_rows().max(1) as u64;
    scope.cancel.take(total as u64 * (width + UNWOUND_BYTES))?;
    for (row, cell) in cells_of.into_iter().enumerate() {
        match cell {
            Cell::List(items) => {
                rows.extend(std::iter::repeat_n(row as u32, items.len()));
                cells.extend(items);
            }
            Cell::NULL => {}
            one => {
                rows.push(row as u32);
                cells.push(one);
            }
        }
    }
    graphlume_store::materialize::with(&take(table, rows)?, name, column(&cells, scope.cancel)?)
}

pub(super) fn fill(
    table: &Table,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<Table, QueryError> {
    if table.num_rows() > 0 {
        return Ok(table.clone());
    }
    let row = match params.get("row") {
        None => return Ok(table.clone()),
        Some(Value::Object(row)) => row,
        Some(other) => return Err(params.wrong("row", "an object", other)),
    };
    let mut out = Vec::new();
    for (name, value) in row {
        let cell = Cell::from_json(value).ok_or_else(|| params.wrong("row", "scalars", value))?;
        out.push((name.clone(), column(&[cell], scope.cancel)?));
    }
    table_of(out, 1)
}
