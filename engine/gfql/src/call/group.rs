//! Grouping rows.

use std::collections::HashMap;

use graphlume_calls::params::Params;
use graphlume_expr::{ErrorCode, QueryError, Scalar};
use graphlume_store::materialize::take;
use graphlume_store::materialize::{columns, table_of};
use graphlume_table::Table;
use serde_json::Value;

use super::rows::{named_or_parsed, row_keys, values};
use crate::expr::{Cell, column};
use crate::scope::Scope;

const FUNCTIONS: &[&str] =
    &["count", "count_distinct", "sum", "min", "max", "avg", "mean", "collect", "collect_distinct"];

/// How a client names the key of a group that has all rows.
const ALL_ROWS: &str = "__cypher_group__";

/// One row for each combination of keys, in order of first appearance.
pub(super) fn run(
    table: &Table,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<Table, QueryError> {
    let keys = keys_of(table, params)?;
    let (mut number, mut firsts) = (HashMap::new(), Vec::new());
    let mut members: Vec<Vec<usize>> = Vec::new();
    for (row, key) in row_keys(table, &keys, scope)?.into_iter().enumerate() {
        let group = *number.entry(key).or_insert_with(|| {
            firsts.push(row as u32);
            members.push(vec![]);
            members.len() - 1
        });
        members[group].push(row);
    }
    let first = take(table, firsts)?;
    let mut out: Vec<_> = columns(&first).into_iter().filter(|(n, _)| keys.contains(n)).collect();
    // Clients group all rows by a constant for aggregates without a key: those of no rows are a row, too.
    if members.is_empty() && keys.iter().all(|key| key.starts_with(ALL_ROWS)) {
        members.push(vec![]);
        for (_, values) in &mut out {
            *values = column(&[Cell::int(1)], scope.cancel)?;
        }
    }
    for value in params.list("aggregations")? {
        let wrong = || {
            params.wrong("aggregations", "[name, function] or [name, function, expression]", value)
        };
        let (name, function, source) = match value.as_array().map(Vec::as_slice) {
            Some([Value::String(name), Value::String(function)]) => (name, function, None),
            Some([Value::String(name), Value::String(function), source]) => {
                (name, function, source.as_str().filter(|s| *s != "*"))
            }
            _ => return Err(wrong()),
        };
        if !FUNCTIONS.contains(&function.as_str()) {
            let text = format!("aggregation {function:?} does not exist");
            return Err(QueryError::new(ErrorCode::Type, text)
                .field("aggregations")
                .suggest(format!("aggregations: {}", FUNCTIONS.join(", "))));
        }
        let cells = match source {
            Some(text) => Some(values(table, &named_or_parsed(table, text)?, scope)?),
            None if function == "count" => None,
            None => return Err(wrong()),
        };
        let one = |rows: &Vec<usize>| match &cells {
            None => Ok(Cell::int(rows.len() as i64)),
            Some(cells) => aggregate(function, rows.iter().map(|r| &cells[*r])),
        };
        let found = members.iter().map(one).collect::<Result<Vec<_>, QueryError>>()?;
        // As everywhere, the last of several columns of one name stands.
        out.retain(|(n, _)| n != name);
        out.push((name.clone(), column(&found, scope.cancel)?));
    }
    table_of(out, members.len())
}

/// The columns that rows of a group share: those that are named, and those whose names begin as asked.
fn keys_of(table: &Table, params: &Params<'_>) -> Result<Vec<String>, QueryError> {
    let mut keys = params.texts("keys")?;
    if keys.is_empty() {
        return Err(params.wrong("keys", "a list of at least one column", &Value::Array(vec![])));
    }
    if let Some(absent) = keys.iter().find(|k| table.column(k).is_none()) {
        return Err(QueryError::no_column(absent, "row", &table.column_names()));
    }
    if params.get("key_prefixes").is_some() {
        let prefixes = params.texts("key_prefixes")?;
        for name in table.column_names() {
            let starts = prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()));
            if starts && !keys.iter().any(|key| key == name) {
                keys.push(name.to_owned());
            }
        }
    }
    Ok(keys)
}

fn aggregate<'a>(
    function: &str,
    cells: impl Iterator<Item = &'a Cell>,
) -> Result<Cell, QueryError> {
    let mut cells: Vec<&Cell> = cells.filter(|c| !c.is_null()).collect();
    if function.ends_with("_distinct") {
        let mut seen = std::collections::HashSet::new();
        cells.retain(|c| seen.insert(c.key()));
    }
    Ok(match function {
        "count" | "count_distinct" => Cell::int(cells.len() as i64),
        "collect" | "collect_distinct" => Cell::List(cells.into_iter().cloned().collect()),
        "min" => cells.into_iter().min_by(|a, b| a.sort(b)).cloned().unwrap_or(Cell::NULL),
        "max" => cells.into_iter().max_by(|a, b| a.sort(b)).cloned().unwrap_or(Cell::NULL),
        _ => {
            let mut whole: Option<i64> = Some(0);
            let mut sum = 0.0;
            for cell in &cells {
                let number = match cell {
                    Cell::Scalar(Scalar::Bool(v)) => Cell::int(i64::from(*v)),
                    other => (*other).clone(),
                };
                let value = number.number().ok_or_else(|| {
                    let text = format!("{function} needs numbers");
                    QueryError::new(ErrorCode::ColumnType, text)
                        .field("aggregations")
                        .value(cell.text())
                })?;
                sum += value;
                whole = match number {
                    Cell::Scalar(Scalar::Int(v)) => whole.and_then(|w| w.checked_add(v)),
                    _ => None,
                };
            }
            match (function, whole) {
                ("sum", Some(whole)) => Cell::int(whole),
                ("sum", None) => Cell::float(sum),
                _ if cells.is_empty() => Cell::NULL,
                _ => Cell::float(sum / cells.len() as f64),
            }
        }
    })
}
