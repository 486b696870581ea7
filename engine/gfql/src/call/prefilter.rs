//! Tests of single steps that clients move from the rows of paths into the choice of them.

use graphlume_calls::params::Params;
use graphlume_expr::QueryError;
use graphlume_store::materialize::take;
use graphlume_table::Table;
use serde_json::{Map, Value};

use super::{matching, rows};
use crate::expr::parse;
use crate::scope::Scope;

const NAME: &str = "alias_prefilters";
const WANT: &str = "lists by names of steps, of {\"kind\": \"expr\", \"text\": ...} or \
    {\"kind\": \"search_any\", \"term\": ...}";

/// The rows of paths that pass every test of `alias_prefilters`. What a test says of a row depends on the columns of its
/// step alone, so the order of joining and testing makes no difference.
pub(super) fn passing(
    table: Table,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<Table, QueryError> {
    let Some(value) = params.get(NAME) else { return Ok(table) };
    let wrong = || params.wrong(NAME, WANT, value);
    let mut table = table;
    for (alias, tests) in value.as_object().ok_or_else(wrong)? {
        for test in tests.as_array().ok_or_else(wrong)? {
            let test = test.as_object().ok_or_else(wrong)?;
            let text = |key: &str| test.get(key).and_then(Value::as_str);
            let kept: Vec<bool> = match (text("kind"), text("text"), text("term")) {
                (Some("expr"), Some(text), _) => {
                    let answers = rows::values(&table, &parse(text)?, scope)?;
                    answers.iter().map(crate::expr::Cell::is_true).collect()
                }
                (Some("search_any"), _, Some(_)) => {
                    let mut map: Map<String, Value> = test.clone();
                    map.insert("alias".to_owned(), alias.clone().into());
                    matching::found(&table, &Params { function: "search_any", map: &map })?
                }
                _ => return Err(wrong()),
            };
            let rows = (0..table.num_rows()).filter(|row| kept[*row]);
            table = take(&table, rows.map(|row| row as u32).collect())?;
        }
    }
    Ok(table)
}
