//! The queries themselves.

use std::panic::{AssertUnwindSafe, catch_unwind};

use graphlume_table::Table;
use polars::prelude::{DataFrame, IntoLazy as _, LazyFrame};
use polars::sql::SQLContext;
use sqlparser::ast::Statement;
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::Parser;

use super::{FIELD, SqlTransform, bridge, reason};
use crate::error::{clean, one_line};
use crate::{IngestError, ParseCx, Parsed, Stage};

/// Characters of a panic that are shown.
const PANIC_CHARS_MAX: usize = 200;

pub(super) fn all(
    queries: &[SqlTransform],
    mut parsed: Parsed,
    cx: &ParseCx,
) -> Result<Parsed, IngestError> {
    let mut context = SQLContext::new();
    let mut rows = 0;
    for (i, (name, table)) in parsed.tables.iter().enumerate() {
        rows += table.num_rows() as u64;
        let frame = bridge::to_polars(table)?.lazy();
        let indexed = format!("table_{i}");
        let first = (i == 0).then_some("data");
        for name in [name.as_str(), &indexed].into_iter().chain(first) {
            context.register(name, frame.clone());
        }
    }
    cx.report(Stage::Transforming, 0, rows);
    let mut results = Vec::with_capacity(queries.len());
    for query in queries {
        cx.cancel.check()?;
        let failed = |message: String| {
            IngestError::option(FIELD, format!("query {:?}: {message}", query.name))
        };
        check(&query.sql).map_err(failed)?;
        let frame = run(&mut context, query)?;
        context.register(&query.name, frame.clone().lazy());
        results.push((query.name.clone(), table(&frame).map_err(failed)?));
    }
    parsed.tables = results;
    Ok(parsed)
}

/// One query that reads, and nothing else.
fn check(sql: &str) -> Result<(), String> {
    let statements = Parser::parse_sql(&GenericDialect {}, sql)
        .map_err(|e| reason::of_parser(&e.to_string()))?;
    match statements.as_slice() {
        [Statement::Query(_)] => Ok(()),
        [] => Err("it is empty; write a SELECT".to_owned()),
        [_] => Err("only SELECT is possible; nothing can be changed here".to_owned()),
        _ => Err("it has several statements; give each a place of its own in the list".to_owned()),
    }
}

fn run(context: &mut SQLContext, query: &SqlTransform) -> Result<DataFrame, IngestError> {
    let run = || context.execute(&query.sql).and_then(LazyFrame::collect);
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(done) => done.map_err(|e| {
            let why = reason::of_engine(&e.to_string(), &context.get_tables());
            IngestError::option(FIELD, format!("query {:?}: {why}", query.name))
        }),
        // polars panics on some plans that it does not support. The worker sends the place of the panic, too, to the
        // server (`worker/panics.rs`), which writes it to the log.
        Err(payload) => Err(IngestError::Defect {
            message: format!(
                "{FIELD}: the SQL engine failed on query {:?}{}, which is a defect of the server; the same question \
                 asked in another form may work",
                query.name,
                said(payload.as_ref())
            ),
        }),
    }
}

/// What a panic says.
fn said(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.map_or_else(String::new, |text| format!(" ({})", clean(text, PANIC_CHARS_MAX)))
}

fn table(frame: &DataFrame) -> Result<Table, String> {
    if frame.width() == 0 {
        return Err("the result has no column".to_owned());
    }
    bridge::from_polars(frame).map_err(|e| one_line(&e))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use graphlume_table::{DataType, cell_json};
    use graphlume_types::Coded;
    use serde_json::{Value, json};

    use super::*;
    use crate::{Format, ParseSpec, Source, parse, sql_transforms};

    const CSV: &str =
        "who,knows,since,weight\nann,bob,2020-01-01,1.5\nbob,cy,2021-06-30,\nann,cy,,2\n";

    fn query(sql: Value) -> Result<Parsed, IngestError> {
        let spec = ParseSpec { sql: sql_transforms(&sql)?, ..ParseSpec::plain(Format::Csv) };
        parse(&spec, &Source::Bytes(CSV.into()), &ParseCx::default())
    }

    fn cells(table: &Table) -> Vec<Vec<Value>> {
        let columns = table.batch().columns();
        (0..table.num_rows())
            .map(|row| columns.iter().map(|c| cell_json(c.as_ref(), row)).collect())
            .collect()
    }

    #[test]
    fn results_take_the_place_of_the_tables() {
        let sql = json!({
            "nodes": "SELECT who AS id, COUNT(*) AS n FROM data GROUP BY who ORDER BY id",
            "top": "SELECT id FROM nodes WHERE n > 1",
        });
        let parsed = query(sql).unwrap();
        let names: Vec<_> = parsed.tables.iter().map(|(n, _)| n.as_str()).collect();
        assert_eq!(names, ["nodes", "top"]);
        assert_eq!(
            cells(&parsed.tables[0].1),
            [[json!("ann"), json!(2)], [json!("bob"), json!(1)]]
        );
        assert_eq!(cells(&parsed.tables[1].1), [[json!("ann")]]);
    }

    #[test]
    fn all_columns_come_back_as_they_went() {
        let plain =
            parse(&ParseSpec::plain(Format::Csv), &Source::Bytes(CSV.into()), &ParseCx::default())
                .unwrap();
        let back = query(json!("SELECT * FROM table_0")).unwrap();
        let (plain, back) = (&plain.tables[0].1, &back.tables[0].1);
        assert_eq!(plain.column_names(), back.column_names());
        assert_eq!(cells(plain), cells(back));
        assert_eq!(back.column("who").unwrap().data_type(), &DataType::LargeUtf8);
    }

    #[test]
    fn windows_joins_and_common_tables_work() {
        let sql = "WITH d AS (SELECT who, COUNT(*) AS n FROM data GROUP BY who) \
                   SELECT a.who, a.knows, d.n, ROW_NUMBER() OVER (PARTITION BY a.who ORDER BY a.knows) AS k \
                   FROM data AS a JOIN d ON a.who = d.who WHERE a.knows LIKE 'c%' ORDER BY a.who";
        let parsed = query(json!(sql)).unwrap();
        assert_eq!(parsed.tables[0].1.num_rows(), 2);
    }

    #[test]
    fn a_refusal_says_what_is_wrong_where_and_what_was_meant() {
        for (sql, parts) in [
            ("SELEC who FROM data", ["found: SELEC at Line: 1, Column: 1", "no SQL"]),
            ("SELECT who\nFROM data WHERE )", ["at Line: 2", "found: )"]),
            ("SELECT whoo FROM data", ["\"whoo\"", "did you mean \"who\"?"]),
            ("SELECT * FROM dta", ["'dta'", "did you mean \"data\"? the tables are data, table"]),
            ("SELECT nope(who) FROM data", ["unsupported function", "'nope'"]),
            (
                "SELECT * FROM data WHERE EXISTS (SELECT 1 FROM data)",
                ["Exists is not supported", "at Line: 1, Column: 34"],
            ),
            ("SELECT who FROM data WHERE who REGEXP '('", ["regex parse error", "unclosed group"]),
            ("SELECT SUM(who) FROM data", ["`sum`", "`str`"]),
        ] {
            let e = query(json!([sql])).unwrap_err().to_string();
            assert!(parts.iter().all(|part| e.contains(part)), "{sql}: {e}");
            assert!(!e.contains("Span(") && !e.contains('\n'), "{e}");
        }
    }

    #[test]
    fn what_changes_or_opens_anything_is_refused_by_name() {
        for sql in [
            "DROP TABLE data",
            "DELETE FROM data",
            "TRUNCATE TABLE data",
            "CREATE TABLE x AS SELECT * FROM data",
            "INSERT INTO data VALUES (1)",
            "SELECT 1; DROP TABLE data",
            "SELECT * FROM read_csv('/etc/passwd')",
            "SELECT * FROM read_parquet('x')",
            "SELECT * FROM '/etc/passwd'",
            "COPY data TO '/tmp/x'",
            "SHOW TABLES",
            "",
            "SELEC who FROM data",
            "SELECT nothing FROM data",
            "SELECT * FROM elsewhere",
        ] {
            let e = query(json!([sql])).unwrap_err();
            assert_eq!((e.slug(), e.field()), ("invalid-option", Some(FIELD)), "{sql}");
            assert!(e.to_string().contains("result_0"), "{e}");
        }
    }
}
