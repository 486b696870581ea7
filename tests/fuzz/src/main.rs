//! Fuzz targets: every way in which untrusted bytes become tables. `GRAPHLUME_FUZZ` names the target.
//! `scripts/fuzz.sh` builds and runs them.
//!
//! An input begins with two bytes that choose options and compression; the rest is the file. A target
//! fails when our code panics anywhere, even where the product would catch it, when a panic of somebody
//! else's reader is not caught, when a parse takes too long or too much memory (the limits are libFuzzer's),
//! and when a table that came out cannot be stored and read.

#![no_main]

use std::sync::OnceLock;

use graphlume_ingest::{
    Compression, Format, ParseCx, Recipe, Source, options_from_query, parse, sql_transforms,
};
use graphlume_table::{Buffer, Table};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value, json};

/// Name and what it does with an input.
type Target = (&'static str, fn(&[u8]));

const TARGETS: &[Target] = &[
    ("arrow", |data| file(Format::Arrow, &[], data)),
    ("csv", |data| file(Format::Csv, CSV_OPTIONS, data)),
    ("json", |data| file(Format::Json, JSON_OPTIONS, data)),
    ("orc", |data| file(Format::Orc, &[], data)),
    ("parquet", |data| file(Format::Parquet, &[], data)),
    ("xls", |data| file(Format::Xls, &[], data)),
    ("xlsx", |data| file(Format::Xlsx, &[], data)),
    ("compressed", compressed),
    ("options", options),
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

fn run(recipe: &Recipe, bytes: &[u8]) {
    let source = Source::Bytes(bytes.to_vec().into());
    let parsed = match parse(recipe, &source, &ParseCx::default()) {
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
    run(&Recipe { options, ..Recipe::plain(format) }, bytes);
}

fn compressed(data: &[u8]) {
    let Some((choice, bytes)) = data.split_first() else { return };
    let compression = Compression::ALL[usize::from(*choice) % Compression::ALL.len()];
    run(&Recipe { compression, ..Recipe::plain(Format::Csv) }, bytes);
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
        run(&Recipe { options, ..Recipe::plain(format) }, b"a,b\n1,2\n3,x\n");
    }
    let value = serde_json::from_str(&text).unwrap_or_else(|_| json!(text));
    let _ = sql_transforms(&value);
}

/// The product catches panics of foreign readers; one of our own code is a finding wherever it is caught.
fn judge(info: &std::panic::PanicHookInfo<'_>) {
    let file = info.location().map_or("", |l| l.file());
    if !file.contains("/.cargo/") && !file.contains("/rustc/") {
        eprintln!("{info}");
        std::process::abort();
    }
}

fn target() -> fn(&[u8]) {
    static CHOSEN: OnceLock<fn(&[u8])> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        let name = std::env::var("GRAPHLUME_FUZZ").unwrap_or_default();
        let names: Vec<_> = TARGETS.iter().map(|(n, _)| *n).collect();
        match TARGETS.iter().find(|(n, _)| *n == name) {
            Some((_, run)) => {
                std::panic::set_hook(Box::new(judge));
                *run
            }
            None => {
                eprintln!("GRAPHLUME_FUZZ is {name:?}; set it to one of {}", names.join(", "));
                std::process::exit(2)
            }
        }
    })
}

fuzz_target!(|data: &[u8]| target()(data));
