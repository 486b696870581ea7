//! The procedures that Cypher's CALL may name on every graph: the calls on graphs ([`graphlume_calls`]), whose algorithms answer as
//! rows; and texts whose stages make graphs. The two languages do not know each other; what may be called is listed once, with the calls.

mod elements;
mod stages;

use std::sync::Mutex;

use graphlume_calls::procedure::{Made, procedure};
use graphlume_cypher::{ProcedureTable, Procedures, Value};
use graphlume_expr::{ErrorCode, QueryError, Scalar};
use graphlume_store::PropertyGraph;
use graphlume_types::{CancelToken, Notice, note};
use serde_json::{Map, Value as Json};

pub use elements::{TextElements, elements_of_text};
pub use stages::{TextAnswer, TextSetting, explain_text, profile_text, run_text};

/// `graphistry.degree`, `graphistry.igraph.*`, `graphistry.cugraph.*`, `graphistry.nx.*` and `graphistry.layout.*`. One is made for a query: a
/// procedure that is called for every row runs once for equal arguments.
#[derive(Debug, Default)]
pub struct Algorithms {
    made: Mutex<Vec<(String, Json, ProcedureTable)>>,
    notices: Mutex<Vec<Notice>>,
}

impl Algorithms {
    /// Those of a query behind stages, of which there is this to say.
    fn after(notices: Vec<Notice>) -> Self {
        Self { notices: Mutex::new(notices), ..Self::default() }
    }
}

impl Procedures for Algorithms {
    fn call(
        &self,
        graph: &PropertyGraph,
        name: &str,
        args: &[Value],
        cancel: &CancelToken,
    ) -> Result<ProcedureTable, QueryError> {
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
            return Err(QueryError::new(ErrorCode::Query, text).field("query").suggest(
                "leave .write out, or make the graph first: GRAPH g = GRAPH { CALL ... } USE g ...",
            ));
        }
        let mut notices = Vec::new();
        let made = procedure(graph, name, &options, cancel, &mut notices);
        if let Ok(mut all) = self.notices.lock() {
            notices.into_iter().for_each(|notice| note(&mut all, notice));
        }
        let Made::Rows(rows) = made? else { return Ok(ProcedureTable::default()) };
        let table = ProcedureTable::of_rows(&rows)?;
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
fn options(name: &str, args: &[Value]) -> Result<Map<String, Json>, QueryError> {
    let wrong = || {
        QueryError::new(ErrorCode::Query, format!("{name:?} takes one map of options, or nothing"))
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
        Value::Scalar(Scalar::Null) => Json::Null,
        Value::Scalar(Scalar::Bool(v)) => (*v).into(),
        Value::Scalar(Scalar::Int(v)) => (*v).into(),
        Value::Scalar(Scalar::Float(v)) => (*v).into(),
        Value::Scalar(Scalar::Text(v)) => v.to_string().into(),
        Value::List(list) => list.iter().map(json).collect::<Option<Vec<_>>>()?.into(),
        Value::Map(map) => {
            let entries = map.iter().map(|(k, v)| Some((k.to_string(), json(v)?)));
            Json::Object(entries.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    use graphlume_cypher::{parse, run_with};
    use graphlume_expr::Strictness;
    use graphlume_store::Bindings;
    use graphlume_table::Table;
    use serde_json::json;

    use super::*;

    fn ask(text: &str) -> Result<Json, String> {
        let column = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
        let edges = [("s", column(vec![1, 2, 3])), ("d", column(vec![2, 3, 9]))];
        let edges = Table::try_new(RecordBatch::try_from_iter(edges).unwrap()).unwrap();
        let name = |n: &str| Some(n.to_owned());
        let bindings = Bindings { node: None, source: name("s"), destination: name("d") };
        let graph = PropertyGraph::new(None, Some(edges), bindings).unwrap();
        let query = parse(text).map_err(|e| e.to_string())?;
        let (params, algorithms, cancel) = (Map::new(), Algorithms::default(), CancelToken::new());
        let answer = run_with(&graph, &query, &params, Strictness::Strict, &algorithms, &cancel);
        answer.map(|a| Json::Array(a.json())).map_err(|e| e.to_string())
    }

    #[test]
    fn algorithms_answer_as_rows() {
        let text =
            "CALL graphistry.degree() YIELD nodeId, degree RETURN count(*) AS n, sum(degree) AS d";
        assert_eq!(ask(text).unwrap(), json!([{"n": 4, "d": 6}]));
        let text = "UNWIND [1, 2] AS i CALL graphistry.igraph.pagerank({damping: 0.5}) \
                    YIELD nodeId, pagerank RETURN count(pagerank) AS n";
        assert_eq!(ask(text).unwrap(), json!([{"n": 8}]));
    }

    #[test]
    fn layouts_answer_with_coordinates() {
        let text = "CALL graphistry.layout.grid({width: 4}) YIELD nodeId, x, y \
                    RETURN nodeId, x, y ORDER BY x";
        let row = |id: i64, x: f64| json!({"nodeId": id, "x": x, "y": 0.0});
        let want = json!([row(1, 0.0), row(2, 1.0), row(3, 2.0), row(9, 3.0)]);
        assert_eq!(ask(text).unwrap(), want);
        let text = "CALL graphistry.layout.kk_3d({maxiter: 10}) YIELD nodeId, z \
                    RETURN count(z) AS n";
        assert_eq!(ask(text).unwrap(), json!([{"n": 4}]));
        let text = "CALL graphistry.layout.force_atlas2({max_iter: 3}) YIELD x, y \
                    RETURN count(x) AS n, count(y) AS m";
        assert_eq!(ask(text).unwrap(), json!([{"n": 4, "m": 4}]));
        for (call, said) in [
            ("graphistry.layout.circel()", "did you mean \"circle\"?"),
            ("graphistry.layout.grid({wide: 4})", "\"wide\""),
        ] {
            let text = ask(&format!("CALL {call} YIELD x RETURN x")).unwrap_err();
            assert!(text.contains(said), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_called_is_refused_with_what_to_write() {
        let text = ask("CALL graphistry.degree.write() YIELD nodeId RETURN nodeId").unwrap_err();
        assert!(text.contains("leave .write out"), "{text}");
        let text = ask("CALL graphistry.igraph.pagerank(3) YIELD nodeId RETURN nodeId");
        assert!(text.unwrap_err().contains("takes one map of options"));
        let text = ask("CALL graphistry.degre() YIELD nodeId RETURN nodeId").unwrap_err();
        assert!(text.contains("did you mean"), "{text}");
    }
}
