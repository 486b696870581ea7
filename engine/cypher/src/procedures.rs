//! The procedures that every graph has: the algorithms of the query engine, as rows.

use std::sync::{Arc, Mutex};

use graphlume_gfql::{ErrorCode, GfqlError, Made, PropertyGraph, Strictness, procedure};
use graphlume_graph::canon::Column;
use graphlume_types::{CancelToken, Notice, note};
use serde_json::{Map, Value as Json};

use crate::exec::cells::Cells;
use crate::{ProcedureTable, Procedures, Value};

/// `graphistry.degree`, `graphistry.igraph.*`, `graphistry.cugraph.*` and `graphistry.nx.*`. One is made for a query: a
/// procedure that is called for every row runs once for equal arguments.
#[derive(Debug, Default)]
pub struct Algorithms {
    made: Mutex<Vec<(String, Json, ProcedureTable)>>,
    notices: Mutex<Vec<Notice>>,
}

impl Procedures for Algorithms {
    fn call(
        &self,
        graph: &PropertyGraph,
        name: &str,
        args: &[Value],
        cancel: &CancelToken,
    ) -> Result<ProcedureTable, GfqlError> {
        let options = options(name, args)?;
        let key = Json::Object(options.clone());
        let known = |made: &Vec<(String, Json, ProcedureTable)>| {
            let same = made.iter().find(|(n, o, _)| n == name && *o == key);
            same.map(|(_, _, table)| table.clone())
        };
        if let Some(table) = self.made.lock().ok().and_then(|made| known(&made)) {
            return Ok(table);
        }
        if name.ends_with(".write") {
            let text = format!("{name:?} makes a graph, and this query makes rows");
            return Err(GfqlError::new(ErrorCode::Query, text)
                .field("query")
                .suggest("leave .write out, or write GRAPH { CALL ... } around it"));
        }
        let mut notices = Vec::new();
        let made = procedure(graph, name, &options, Strictness::Lenient, cancel, &mut notices);
        if let Ok(mut all) = self.notices.lock() {
            notices.into_iter().for_each(|notice| note(&mut all, notice));
        }
        let Made::Rows(rows) = made? else { return Ok(ProcedureTable::default()) };
        let mut table = ProcedureTable::default();
        let mut cells = Vec::new();
        for name in rows.column_names() {
            let Some(array) = rows.column(name) else { continue };
            table.columns.push(name.to_owned());
            cells.push(Cells::new(Arc::new(Column::try_new(array)?), array));
        }
        let row = |row| cells.iter().map(|c| c.value(row)).collect();
        table.rows = (0..rows.num_rows() as u32).map(row).collect();
        if let Ok(mut made) = self.made.lock() {
            made.push((name.to_owned(), key, table.clone()));
        }
        Ok(table)
    }

    fn notices(&self) -> Vec<Notice> {
        self.notices.lock().map(|all| all.clone()).unwrap_or_default()
    }
}

/// The one argument that a procedure may have: a map of options.
pub(crate) fn options(name: &str, args: &[Value]) -> Result<Map<String, Json>, GfqlError> {
    let wrong = || {
        GfqlError::new(ErrorCode::Query, format!("{name:?} takes one map of options, or nothing"))
            .field("query")
            .suggest(format!("for example CALL {name}({{out_col: 'value'}})"))
    };
    match args {
        [] => Ok(Map::new()),
        [map] => match json(map) {
            Some(Json::Object(options)) => Ok(options),
            _ => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}

/// A plain value.
fn json(value: &Value) -> Option<Json> {
    Some(match value {
        Value::Null => Json::Null,
        Value::Bool(v) => (*v).into(),
        Value::Int(v) => (*v).into(),
        Value::Float(v) => (*v).into(),
        Value::Text(v) => v.to_string().into(),
        Value::List(list) => list.iter().map(json).collect::<Option<Vec<_>>>()?.into(),
        Value::Map(map) => {
            let entries = map.iter().map(|(k, v)| Some((k.to_string(), json(v)?)));
            Json::Object(entries.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}
