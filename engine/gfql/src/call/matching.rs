//! Calls that hold rows against the matches of a pattern, or against a text.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, UInt32Array};
use arrow_schema::DataType;
use graphlume_calls::params::Params;
use graphlume_expr::{ErrorCode, QueryError};
use graphlume_store::PropertyGraph;
use graphlume_store::filter::NO_LOOK_AROUND;
use graphlume_store::materialize::take;
use graphlume_store::materialize::{columns, table_of, with};
use graphlume_table::{Table, cell_text};
use graphlume_types::limits::{PATTERN_BYTES_MAX, QUERY_STATES_MAX};
use regex::RegexBuilder;

use super::paths;
use crate::expr::{Cell, Reader};
use crate::scope::Scope;

/// Evaluates a call over the rows of `graph`; patterns are matched in `base`.
pub(super) fn run(
    graph: &PropertyGraph,
    base: &PropertyGraph,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<Table, QueryError> {
    let table = graph.node_table(scope.cancel)?;
    if params.function == "search_any" {
        let name = params.text("out_col")?.ok_or_else(|| params.missing("out_col"))?;
        return with(&table, name, Arc::new(BooleanArray::from(found(&table, params)?)));
    }
    let matches = matches(base, params, scope)?;
    let aliases = params.texts("join_aliases")?;
    let id = base.node_column();
    let own = keys(&table, &aliases, id, params)?;
    let others = keys(&matches, &aliases, id, params)?;
    match params.function {
        "semi_apply_mark" => {
            let name = params.text("out_col")?.ok_or_else(|| params.missing("out_col"))?;
            let known: HashSet<&Option<String>> = others.iter().filter(|k| k.is_some()).collect();
            let marks: BooleanArray = own.iter().map(|k| Some(known.contains(k))).collect();
            with(&table, name, Arc::new(marks))
        }
        "anti_semi_apply" => {
            let known: HashSet<&Option<String>> = others.iter().filter(|k| k.is_some()).collect();
            let rows = (0..own.len()).filter(|row| !known.contains(&own[*row]));
            take(&table, rows.map(|row| row as u32).collect())
        }
        _ => join(&table, &matches, &own, &others, params),
    }
}

/// The matches of `binding_ops`, without those whose `neq` elements are the same.
fn matches(
    base: &PropertyGraph,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<Table, QueryError> {
    let ops = params.get("binding_ops").ok_or_else(|| params.missing("binding_ops"))?;
    let table = paths::run(base, &paths::pattern(ops, params)?, &[], scope)?;
    let Some(value) = params.get("neq") else { return Ok(table) };
    let names = params.texts("neq")?;
    let [a, b] = names.as_slice() else {
        return Err(params.wrong("neq", "two names of steps", value));
    };
    let id = base.node_column();
    let one = |name: &String| keys(&table, std::slice::from_ref(name), id, params);
    let (a, b) = (one(a)?, one(b)?);
    let rows = (0..table.num_rows()).filter(|row| a[*row] != b[*row]);
    take(&table, rows.map(|row| row as u32).collect())
}

/// For each row a text that rows with the same elements share; `None` where one is null.
fn keys(
    table: &Table,
    aliases: &[String],
    id: &str,
    params: &Params<'_>,
) -> Result<Vec<Option<String>>, QueryError> {
    let mut readers = Vec::with_capacity(aliases.len());
    for alias in aliases {
        let dotted = format!("{alias}.{id}");
        let marked = table.column(alias).is_some_and(|c| c.data_type() == &DataType::Boolean);
        // In the rows of a single step its name is a marker, and the id has the id's own name.
        let column = match table.column(&dotted) {
            Some(column) => Some(column),
            None if marked => table.column(id),
            None => table.column(alias),
        };
        let reader = column.and_then(Reader::new).ok_or_else(|| {
            let text = format!("the rows of call {:?} have no step {alias:?}", params.function);
            QueryError::new(ErrorCode::Query, text).field("join_aliases").value(alias)
        })?;
        readers.push(reader);
    }
    let key = |row: usize| {
        let cells = readers.iter().map(|r| match r.get(row) {
            Cell::NULL => None,
            cell => Some(format!("{:?}", cell.key())),
        });
        cells.collect::<Option<Vec<_>>>().map(|cells| cells.join(","))
    };
    Ok((0..table.num_rows()).map(key).collect())
}

fn join(
    table: &Table,
    matches: &Table,
    own: &[Option<String>],
    others: &[Option<String>],
    params: &Params<'_>,
) -> Result<Table, QueryError> {
    let outer = match params.text("how")?.unwrap_or("inner") {
        "inner" => false,
        "left" => true,
        other => return Err(params.wrong("how", "\"inner\" or \"left\"", &other.into())),
    };
    let mut index: HashMap<&str, Vec<u32>> = HashMap::new();
    for (row, key) in others.iter().enumerate() {
        if let Some(key) = key {
            index.entry(key).or_default().push(row as u32);
        }
    }
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for (row, key) in own.iter().enumerate() {
        let found = key.as_deref().and_then(|k| index.get(k)).map_or(&[][..], Vec::as_slice);
        if found.is_empty() && outer {
            left.push(row as u32);
            right.push(None);
        }
        left.extend(std::iter::repeat_n(row as u32, found.len()));
        right.extend(found.iter().map(|r| Some(*r)));
        if left.len() > QUERY_STATES_MAX {
            let text = format!("the join has more than {QUERY_STATES_MAX} rows");
            return Err(QueryError::new(ErrorCode::Limit, text).suggest("filter its steps more"));
        }
    }
    let rows = left.len();
    let taken = take(table, left)?;
    let mut out = columns(&taken);
    let right = UInt32Array::from(right);
    for (name, array) in columns(matches) {
        if !out.iter().any(|(n, _)| *n == name) {
            out.push((name, arrow_select::take::take(array.as_ref(), &right, None)?));
        }
    }
    table_of(out, rows)
}

/// The rows in which a column of a step contains a text.
pub(super) fn found(table: &Table, params: &Params<'_>) -> Result<Vec<bool>, QueryError> {
    let term = params.text("term")?.ok_or_else(|| params.missing("term"))?;
    let alias = params.text("alias")?.ok_or_else(|| params.missing("alias"))?;
    let pattern = if params.flag("regex", false)? { term.to_owned() } else { regex::escape(term) };
    let pattern = RegexBuilder::new(&pattern)
        .case_insensitive(!params.flag("case_sensitive", false)?)
        .size_limit(PATTERN_BYTES_MAX)
        .build()
        .map_err(|e| {
            QueryError::new(ErrorCode::Predicate, format!("the term is no pattern: {e}"))
                .field("term")
                .value(term)
                .suggest(NO_LOOK_AROUND)
        })?;
    let prefix = format!("{alias}.");
    let dotted = table.column_names().iter().any(|n| n.starts_with(&prefix));
    let full = |name: &str| if dotted { format!("{prefix}{name}") } else { name.to_owned() };
    let wanted: Vec<ArrayRef> = match params.get("columns") {
        Some(serde_json::Value::Array(list)) if !list.is_empty() => {
            let find = |name: String| {
                table.column(&full(&name)).cloned().ok_or_else(|| {
                    let text = format!("step {alias:?} has no column {name:?}");
                    QueryError::new(ErrorCode::Query, text).field("columns").value(name)
                })
            };
            params.texts("columns")?.into_iter().map(find).collect::<Result<_, _>>()?
        }
        _ => {
            // Numbers are searched only for what looks like one.
            let number = term.bytes().all(|b| b.is_ascii_digit() || b == b'.' || b == b'-');
            let number = number && !term.is_empty();
            let own = columns(table).into_iter().filter(|(n, _)| !dotted || n.starts_with(&prefix));
            let fits = |array: &ArrayRef| match array.data_type() {
                DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
                DataType::Dictionary(_, v) => v.is_string(),
                t => t.is_integer() && number,
            };
            own.map(|(_, array)| array).filter(fits).collect()
        }
    };
    let found = |row: usize| {
        let cells = wanted.iter().filter_map(|array| cell_text(array.as_ref(), row));
        cells.into_iter().any(|text| pattern.is_match(&text))
    };
    Ok((0..table.num_rows()).map(found).collect())
}
