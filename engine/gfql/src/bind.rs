//! Names to columns: filters of one table, checked against its types and ready to test rows.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use graphlume_expr::{Cmp, ErrorCode, QueryError, Scalar};
use graphlume_graph::canon::{Canon, Column, of_f64};
use graphlume_store::PropertyGraph;
use graphlume_store::filter::{ColumnPlace, ColumnTest, Keep, Predicate, RowFilter};
use graphlume_table::{Table, TextColumn};

use crate::scope::{Scope, Side};
use crate::wire::Filter;
use crate::wire::value::moment;

/// The values of `filter` that name the column `name` by equality, when there are few of them.
pub(crate) fn named_values<'a>(filter: &'a Filter, name: &str) -> Option<Vec<Canon<'a>>> {
    let (_, test) = filter.iter().find(|(column, _)| column == name)?;
    let literals: Vec<&Scalar> = match test {
        Predicate::Same(value) | Predicate::Compare(Cmp::Eq, value) => vec![value],
        Predicate::Member(values) | Predicate::IsIn(values) if values.len() <= 4096 => {
            values.iter().collect()
        }
        _ => return None,
    };
    let canon = |l: &&'a Scalar| match l {
        Scalar::Int(v) => Some(Canon::Int(*v)),
        Scalar::UInt(v) => Some(Canon::UInt(*v)),
        Scalar::Float(v) => of_f64(*v),
        Scalar::Text(v) => Some(Canon::Text(v)),
        _ => None,
    };
    literals.iter().map(canon).collect()
}

/// Checks a filter against the columns of a table.
pub(crate) fn bind(
    graph: &PropertyGraph,
    table: &Table,
    side: Side,
    filter: &Filter,
    scope: Scope<'_>,
) -> Result<RowFilter, QueryError> {
    let cancel = scope.cancel;
    let mut bound = RowFilter::over(table.num_rows());
    for (key, predicate) in filter {
        let Some((name, predicate)) = resolve(table, side, key, predicate) else {
            if crate::expr::is_internal(key) {
                return Err(crate::expr::unknown_internal(key));
            }
            scope.absent(QueryError::no_column(key, side.name(), &table.column_names()))?;
            bound.never |= !predicate.holds_for_absent();
            continue;
        };
        let Some(array) = table.column(&name) else { continue };
        if let Some(text) = list_member(array.as_ref(), &predicate) {
            bound.tests.push(ColumnTest::Rows(text));
            continue;
        }
        let column = graph.column(table, side == Side::Edges, &name).ok_or_else(|| {
            QueryError::new(ErrorCode::ColumnType, format!("column {name:?} has no values to test"))
                .field(key.as_str())
        })?;
        let predicate = checked(&column, predicate, key, table.num_rows())?;
        predicate.hold_patterns(&mut bound.held);
        let place = ColumnPlace { graph, edges: side == Side::Edges, name: &name, cancel };
        match predicate {
            // Each part by the way that suits it; duplicates need to see the others.
            Predicate::All(parts) if !parts.iter().any(Predicate::needs_column) => {
                bound.tests.extend(parts.into_iter().map(|p| compile(&place, &column, p)));
            }
            predicate => bound.tests.push(compile(&place, &column, predicate)),
        }
    }
    Ok(bound)
}

/// The column that a filter's key means. Labels are found as `label__X` columns, in a list of
/// labels or as the type of a node.
fn resolve(
    table: &Table,
    side: Side,
    key: &str,
    predicate: &Predicate,
) -> Option<(String, Predicate)> {
    let has = |name: &str| table.column(name).is_some();
    if has(key) {
        return Some((key.to_owned(), predicate.clone()));
    }
    let Predicate::Same(value) = predicate else { return None };
    match (key.strip_prefix("label__"), value) {
        (Some(label), Scalar::Bool(true)) => {
            let name = if has("labels") {
                "labels"
            } else if has("type") && side == Side::Nodes {
                "type"
            } else {
                return None;
            };
            let label = Scalar::text(label);
            Some((name.to_owned(), Predicate::Same(label)))
        }
        (None, Scalar::Text(label)) if key == "type" || key == "labels" => {
            let name = format!("label__{label}");
            has(&name).then_some((name, Predicate::Same(Scalar::Bool(true))))
        }
        _ => None,
    }
}

/// Equality with a column of lists is membership.
fn list_member(array: &dyn Array, predicate: &Predicate) -> Option<Vec<bool>> {
    let Predicate::Same(Scalar::Text(label)) = predicate else { return None };
    let holds = |items: arrow_array::ArrayRef| {
        TextColumn::try_new(&items).is_some_and(|t| t.iter().any(|i| i == Some(label)))
    };
    let rows = 0..array.len();
    match array.data_type() {
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            Some(rows.map(|r| lists.is_valid(r) && holds(lists.value(r))).collect())
        }
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>();
            Some(rows.map(|r| lists.is_valid(r) && holds(lists.value(r))).collect())
        }
        _ => None,
    }
}

fn is_text(column: &Column) -> bool {
    matches!(column, Column::Text(_) | Column::Null(_) | Column::Compound(_))
}

fn is_numeric(column: &Column) -> bool {
    matches!(column, Column::Int(_) | Column::UInt(_) | Column::Float(_) | Column::Bool(_))
}

/// Refuses tests that cannot mean anything on a column of this type; tables without rows have no
/// types to speak of.
fn checked(
    column: &Column,
    predicate: Predicate,
    key: &str,
    rows: usize,
) -> Result<Predicate, QueryError> {
    if rows == 0 {
        return Ok(predicate);
    }
    let refuse = |what: &str, hint: &str| {
        Err(QueryError::new(ErrorCode::ColumnType, format!("column {key:?} {what}"))
            .field(key)
            .suggest(hint))
    };
    let moment = matches!(column, Column::Instant(..));
    let predicate = if moment { of_times(predicate, key)? } else { predicate };
    match &predicate {
        Predicate::Same(Scalar::Text(_)) if is_numeric(column) => {
            return refuse("is numeric and is compared with a text", "compare it with a number");
        }
        Predicate::Same(value) if value.is_number() && is_text(column) => {
            return refuse("is text and is compared with a number", "compare it with a text");
        }
        Predicate::Same(value) | Predicate::Compare(_, value) if moment && value.is_number() => {
            return refuse(
                "holds times and is compared with a number",
                "use {\"type\": \"datetime\", \"value\": \"2024-01-31T00:00:00\"}",
            );
        }
        Predicate::Between(low, ..) if low.is_number_or_bool() && !is_numeric(column) => {
            return refuse("is not numeric", "use bounds of the column's own kind");
        }
        Predicate::Text { .. } | Predicate::Class(_) if !is_text(column) => {
            return refuse("is not text", "use GT, LT or Between for numbers");
        }
        Predicate::Calendar(_) if !moment && !matches!(column, Column::Null(_)) => {
            return refuse("holds no times", "use it on a column of dates or timestamps");
        }
        _ => {}
    }
    Ok(predicate)
}

/// The test of a column of times, with times in place of the texts that say them. A text that says none is an
/// error: no row would pass, and the answer would be empty without a word.
fn of_times(predicate: Predicate, key: &str) -> Result<Predicate, QueryError> {
    let time = |value: Scalar| match value {
        Scalar::Text(text) => {
            moment(&text).map(|(s, ns)| Scalar::instant(s, ns)).map_err(|e| e.field(key))
        }
        other => Ok(other),
    };
    let times = |values: Vec<Scalar>| values.into_iter().map(time).collect::<Result<_, _>>();
    Ok(match predicate {
        Predicate::Same(value) => Predicate::Same(time(value)?),
        Predicate::Compare(cmp, value) => Predicate::Compare(cmp, time(value)?),
        Predicate::IsIn(values) => Predicate::IsIn(times(values)?),
        Predicate::Member(values) => Predicate::Member(times(values)?),
        Predicate::All(parts) => Predicate::All(
            parts.into_iter().map(|part| of_times(part, key)).collect::<Result<_, _>>()?,
        ),
        other => other,
    })
}

fn compile(place: &ColumnPlace<'_>, column: &Arc<Column>, predicate: Predicate) -> ColumnTest {
    if predicate.needs_column() {
        return ColumnTest::Rows(with_duplicates(column, &predicate));
    }
    ColumnTest::of(column, predicate, Some(place))
}

/// The rows that pass a test which has tests for duplicates among its parts.
fn with_duplicates(column: &Column, predicate: &Predicate) -> Vec<bool> {
    let mut parts = vec![predicate];
    let mut passes = vec![true; column.len()];
    let truth = matches!(column, Column::Bool(_));
    while let Some(part) = parts.pop() {
        match part {
            Predicate::All(tests) => parts.extend(tests),
            Predicate::Duplicated(keep) => {
                let again = duplicated(column, *keep);
                passes.iter_mut().zip(again).for_each(|(passes, again)| *passes &= again);
            }
            other => {
                for (row, passes) in passes.iter_mut().enumerate() {
                    *passes = *passes && other.holds(column.get(row).as_ref(), truth);
                }
            }
        }
    }
    passes
}

/// The rows whose value occurs more than once, but for the original.
fn duplicated(column: &Column, keep: Keep) -> Vec<bool> {
    let mut places: std::collections::HashMap<Option<Canon<'_>>, Vec<usize>> =
        std::collections::HashMap::new();
    for row in 0..column.len() {
        places.entry(column.get(row)).or_default().push(row);
    }
    let mut again = vec![false; column.len()];
    for rows in places.values().filter(|rows| rows.len() > 1) {
        let original = match keep {
            Keep::First => rows.first(),
            Keep::Last => rows.last(),
            Keep::None => None,
        };
        rows.iter().filter(|r| Some(*r) != original).for_each(|r| again[*r] = true);
    }
    again
}
