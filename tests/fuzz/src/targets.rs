//! The fuzz targets: every way in which untrusted bytes become tables, and queries as they are sent.
//!
//! `main.rs` searches with them for inputs that break something (`scripts/fuzz.sh`), `tests/tests/corpus.rs` gives them
//! the committed inputs at every run of the tests. An input begins with a byte that chooses options or compression; the
//! rest is the file. A target fails when our code panics anywhere, even where the product would catch it, when a panic
//! of somebody else's reader is not caught, when a parse takes too long or too much memory, and when a table that came
//! out cannot be stored and read. The queries run on a small graph, with the limits of time and memory that a server
//! sets; what they answer is compared elsewhere (`engine/gfql/src/fuzz`).

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use graphlume_expr::{ErrorCode, QueryError, Strictness};
use graphlume_ingest::{
    Compression, Format, ParseCx, ParseSpec, Source, options_from_query, parse, sql_transforms,
};
use graphlume_procedures::{TextAnswer, TextSetting, explain_text, run_text};
use graphlume_store::{Bindings, PropertyGraph};
use graphlume_table::{Buffer, Table};
use graphlume_types::{Budget, CancelToken, MemoryConsumer};
use serde_json::{Map, Value, json};

/// Name and what it does with an input.
pub type Target = (&'static str, fn(&[u8]));

/// Every target; each has a folder of this name under `corpus`.
pub const TARGETS: &[Target] = &[
    ("arrow", |data| file(Format::Arrow, &[], data)),
    ("csv", |data| file(Format::Csv, CSV_OPTIONS, data)),
    ("json", |data| file(Format::Json, JSON_OPTIONS, data)),
    ("orc", |data| file(Format::Orc, &[], data)),
    ("parquet", |data| file(Format::Parquet, &[], data)),
    ("xls", |data| file(Format::Xls, &[], data)),
    ("xlsx", |data| file(Format::Xlsx, &[], data)),
    ("compressed", compressed),
    ("options", options),
    ("gfql", gfql),
    ("cypher", cypher),
];

/// Option sets for CSV, one line each.
const CSV_OPTIONS: &[&str] = &[
    "{}",
    r#"{"sep": ";", "decimal": ",", "thousands": "."}"#,
    r#"{"sep": "\\s+"}"#,
    r#"{"quoting": 3}"#,
    r#"{"header": 0, "names": ["a", "b"], "usecols": [0]}"#,
    r#"{"skiprows": 2, "nrows": 3, "skip_blank_lines": false}"#,
    r##"{"comment": "#", "skipinitialspace": true}"##,
    r#"{"na_values": ["x"], "keep_default_na": false, "true_values": ["y"], "false_values": ["n"]}"#,
    r#"{"parse_dates": [0]}"#,
    r#"{"lineterminator": ";", "doublequote": false}"#,
    r#"{"skipfooter": 1}"#,
    r#"{"byte_range": [3, 9], "names": ["a", "b"]}"#,
    r#"{"encoding": "utf-16"}"#,
    r#"{"encoding": "shift_jis"}"#,
    r#"{"sep": "::"}"#,
    r#"{"dtype": {"a": "float32", "b": "category"}}"#,
];

/// Option sets for JSON.
const JSON_OPTIONS: &[&str] = &[
    "{}",
    r#"{"lines": true}"#,
    r#"{"orient": "split"}"#,
    r#"{"orient": "records"}"#,
    r#"{"orient": "index"}"#,
    r#"{"orient": "columns"}"#,
    r#"{"orient": "values"}"#,
    r#"{"orient": "table"}"#,
    r#"{"dtype": false}"#,
];

fn map(text: &str) -> Map<String, Value> {
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => map,
        _ => panic!("an option set of the fuzzer is no object: {text}"),
    }
}

fn run(spec: &ParseSpec, bytes: &[u8]) {
    let source = Source::Bytes(bytes.to_vec().into());
    let parsed = match parse(spec, &source, &ParseCx::default()) {
        Ok(parsed) => parsed,
        Err(e) => {
            let record = e.to_record();
            assert!(!record.message.is_empty() && !record.slug.is_empty());
            return;
        }
    };
    for (name, table) in &parsed.tables {
        let mut stored = Vec::new();
        table.write_arrow(&mut stored).expect("a table can be stored");
        let back = Table::read_arrow(Buffer::from_vec(stored)).expect("what is stored can be read");
        assert_eq!(back.summary(name), table.summary(name));
    }
}

fn file(format: Format, sets: &[&str], data: &[u8]) {
    let Some((choice, bytes)) = data.split_first() else { return };
    let options = match sets.len() {
        0 => Map::new(),
        n => map(sets[usize::from(*choice) % n]),
    };
    run(&ParseSpec { options, ..ParseSpec::plain(format) }, bytes);
}

fn compressed(data: &[u8]) {
    let Some((choice, bytes)) = data.split_first() else { return };
    let compression = Compression::ALL[usize::from(*choice) % Compression::ALL.len()];
    run(&ParseSpec { compression, ..ParseSpec::plain(Format::Csv) }, bytes);
}

/// Text as a URL query of options, and as `sql_transforms`.
fn options(data: &[u8]) {
    let Some((choice, text)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let format = Format::ALL[usize::from(*choice) % Format::ALL.len()];
    let pairs: Vec<(String, String)> = text
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    if let Ok(options) = options_from_query(format, &pairs) {
        run(&ParseSpec { options, ..ParseSpec::plain(format) }, b"a,b\n1,2\n3,x\n");
    }
    let value = serde_json::from_str(&text).unwrap_or_else(|_| json!(text));
    let _ = sql_transforms(&value);
}

/// A graph with parallel edges, a loop, an end that no node has, and columns of several types.
fn graph() -> &'static PropertyGraph {
    static GRAPH: OnceLock<PropertyGraph> = OnceLock::new();
    GRAPH.get_or_init(|| {
        let table = |text: &'static str| {
            let source = Source::Bytes(text.as_bytes().into());
            let parsed = parse(&ParseSpec::plain(Format::Csv), &source, &ParseCx::default());
            parsed.expect("the fuzzer's own table").tables.swap_remove(0).1
        };
        let nodes = table(
            "id,type,i,f,t,b\na,A,1,0.5,x,true\nb,B,2,,ab,false\nc,A,,1.5,,true\nd,B,4,2.0,y z,\n",
        );
        let edges = table("s,d,type,w\na,b,X,1\na,b,X,2\nb,c,Y,3\nc,a,X,\nd,d,Y,5\nb,e,X,6\n");
        let name = |n: &str| Some(n.to_owned());
        let bindings = Bindings { node: name("id"), source: name("s"), destination: name("d") };
        PropertyGraph::new(Some(nodes), Some(edges), bindings).expect("a graph")
    })
}

/// What a server allows a query, made small.
fn limits() -> CancelToken {
    let share = MemoryConsumer::new(Budget::new("host", 64 << 20), 64 << 20, None);
    CancelToken::with_deadline(Instant::now() + Duration::from_millis(500)).with_memory(share)
}

fn refused(error: &QueryError) {
    assert!(!error.message().is_empty());
    assert_ne!(error.error_code(), ErrorCode::Internal, "{error}");
}

/// JSON as a query of operations.
fn gfql(data: &[u8]) {
    let Some((choice, text)) = data.split_first() else { return };
    let Ok(value) = serde_json::from_slice::<Value>(text) else { return };
    let strictness = [Strictness::Lenient, Strictness::Strict][usize::from(*choice) % 2];
    let query = match graphlume_gfql::parse(&value) {
        Ok(query) => query,
        Err(e) => return refused(&e),
    };
    assert!(!graphlume_gfql::explain(&query).is_empty());
    match graphlume_gfql::run(graph(), &query, None, strictness, &limits()) {
        Ok(outcome) => drop(outcome.graph.node_table(&CancelToken::new())),
        Err(e) => refused(&e),
    }
}

/// Text in Cypher, with or without stages.
fn cypher(data: &[u8]) {
    let Some((choice, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let strictness = [Strictness::Lenient, Strictness::Strict][usize::from(*choice) % 2];
    let text = match graphlume_cypher::parse_text(text) {
        Ok(text) => text,
        Err(e) => return refused(&e),
    };
    let params = map(r#"{"a": 1, "b": ["x", null], "c": {"d": 2.5}}"#);
    let cancel = limits();
    if let Ok(plan) = explain_text(graph(), &text, &params, &cancel) {
        assert!(!plan.is_empty());
    }
    match run_text(graph(), &text, TextSetting { params: &params, strictness, cancel: &cancel }) {
        Ok(TextAnswer::Rows(rows)) => drop(rows.table().expect("rows become a table")),
        Ok(TextAnswer::Graph(made, _)) => drop(made.node_table(&CancelToken::new())),
        Err(e) => refused(&e),
    }
}

/// What a panic is to a fuzzer: the product catches those of foreign readers; one of our own code is a finding wherever
/// it is caught.
pub fn is_finding(info: &std::panic::PanicHookInfo<'_>) -> bool {
    let file = info.location().map_or("", |l| l.file());
    !file.contains("/.cargo/") && !file.contains("/rustc/")
}
