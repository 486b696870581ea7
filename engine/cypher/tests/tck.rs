//! The openCypher Technology Compatibility Kit: no wrong answer, and no failure that is not listed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "support/expected.rs"]
mod expected;
#[path = "support/gherkin.rs"]
mod gherkin;
#[path = "support/tables.rs"]
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use expected::{Shown, read, shown, unordered};
use gherkin::Scenario;
use graphlume_cypher::testkit::{Setup, execute};
use graphlume_cypher::{Answer, parse, run};
use graphlume_expr::{ErrorCode, QueryError, Strictness};
use graphlume_store::PropertyGraph;
use graphlume_types::{CancelToken, Coded};
use serde_json::{Map, Value as Json};

/// What came of a scenario.
#[derive(Clone, Debug, PartialEq)]
enum Outcome {
    Pass,
    Wrong(String),
    Refused(String),
    /// It cannot be run here, and why.
    Skipped(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Read,
    Error,
    Write,
    Skipped,
}

fn json_of(value: &Shown) -> Json {
    match value {
        Shown::Null => Json::Null,
        Shown::Bool(v) => Json::from(*v),
        Shown::Int(v) => Json::from(*v),
        Shown::Float(v) => Json::from(v.parse::<f64>().unwrap()),
        Shown::Text(v) => Json::from(v.clone()),
        Shown::List(list) => list.iter().map(json_of).collect(),
        Shown::Map(map) => Json::Object(map.iter().map(|(k, v)| (k.clone(), json_of(v))).collect()),
        other => panic!("no parameter can be {other:?}"),
    }
}

/// A query without what stands in texts and comments.
fn bare(query: &str) -> String {
    let mut out = String::new();
    let mut chars = query.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\'' || c == '"' {
            while let Some(d) = chars.next() {
                if d == '\\' {
                    chars.next();
                } else if d == c {
                    break;
                }
            }
        } else if c == '/' && chars.peek() == Some(&'/') {
            chars.by_ref().find(|c| *c == '\n');
            out.push(' ');
        } else {
            out.push(c);
        }
    }
    out
}

fn writes(query: &str) -> bool {
    let words = ["CREATE", "MERGE", "DELETE", "DETACH", "SET", "REMOVE", "FOREACH"];
    bare(query).split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| words.contains(&w))
}

#[derive(Default)]
struct Parts {
    setup: Setup,
    params: Map<String, Json>,
    query: Option<String>,
    table: Option<Vec<Vec<String>>>,
    ordered: bool,
    any_elements: bool,
    error: Option<String>,
}

/// The steps of a scenario, or why it cannot be run.
fn parts(scenario: &Scenario) -> Result<Parts, String> {
    let mut parts = Parts::default();
    for step in &scenario.steps {
        let text = step.text.as_str();
        if text.starts_with("an empty graph")
            || text.starts_with("any graph")
            || text.starts_with("no side effects")
            || text.starts_with("the side effects")
        {
        } else if text.starts_with("having executed") {
            let graph = tables::graph(&parts.setup).ok_or("a value has no column type")?;
            let doc = step.doc.as_deref().unwrap();
            execute(&mut parts.setup, doc, &graph).map_err(|e| format!("set-up: {e}"))?;
        } else if text.starts_with("parameters are") {
            for row in &step.table {
                parts.params.insert(row[0].clone(), json_of(&read(&row[1]).unwrap()));
            }
        } else if text.starts_with("there exists a procedure") {
            return Err("procedures".to_owned());
        } else if text.starts_with("executing") {
            if parts.query.is_some() {
                return Err("several queries".to_owned());
            }
            parts.query.clone_from(&step.doc);
        } else if text.starts_with("the result should be empty") {
            parts.table = Some(Vec::new());
        } else if text.starts_with("the result should be") {
            parts.table = Some(step.table.clone());
            parts.ordered = text.contains("in order");
            parts.any_elements = text.contains("ignoring element order");
        } else if text.contains("should be raised") {
            parts.error = Some(text.to_owned());
        } else {
            return Err(format!("step {text:?}"));
        }
    }
    Ok(parts)
}

fn ask(
    graph: &PropertyGraph,
    text: &str,
    params: &Map<String, Json>,
) -> Result<Answer, QueryError> {
    run(graph, &parse(text)?, params, Strictness::Lenient, &CancelToken::new())
}

/// Differences between what is wanted and an answer.
fn differs(parts: &Parts, answer: &Answer) -> Option<String> {
    let table = parts.table.as_ref()?;
    let Some(header) = table.first() else {
        return (answer.num_rows() > 0).then(|| format!("{} rows, not 0", answer.num_rows()));
    };
    let names = answer.names();
    if names.len() != header.len() {
        return Some(format!("columns {:?}, not {header:?}", answer.names()));
    }
    let mut columns = Vec::new();
    for name in header {
        match names.iter().position(|n| n == name) {
            Some(i) => columns.push(&answer.columns()[i]),
            None => return Some(format!("columns {:?}, not {header:?}", answer.names())),
        }
    }
    let list = |v: Shown| if parts.any_elements { unordered(&v) } else { v };
    let mut want: Vec<Vec<Shown>> = table[1..]
        .iter()
        .map(|r| {
            let cell = |c: &String| list(read(c).unwrap_or_else(|| panic!("{c:?} cannot be read")));
            r.iter().map(cell).collect()
        })
        .collect();
    let mut got: Vec<Vec<Shown>> = Vec::new();
    for row in 0..answer.num_rows() {
        let mut cells = Vec::new();
        for column in &columns {
            let value = shown(answer, &column[row]);
            // The text form must say the same.
            if matches!(value, Shown::Node(..) | Shown::Edge(..) | Shown::Path(_)) {
                let text = answer.text(&column[row]);
                if read(&text) != Some(value.clone()) {
                    return Some(format!("the text {text} is not {value:?}"));
                }
            }
            cells.push(list(value));
        }
        got.push(cells);
    }
    if !parts.ordered {
        want.sort_by_key(|r| format!("{r:?}"));
        got.sort_by_key(|r| format!("{r:?}"));
    }
    (want != got).then(|| format!("want {want:?}\n      got {got:?}"))
}

/// What a cell of JSON shows, when the value is known to be `wanted`: texts stand for what JSON lacks.
fn json_shows(cell: &Json, wanted: &Shown) -> bool {
    match (cell, wanted) {
        (Json::Null, Shown::Null) => true,
        // JSON has no such numbers.
        (Json::Null, Shown::Float(v)) => v == "NaN" || v.ends_with("inf"),
        (Json::String(text), _) => {
            *wanted == Shown::Text(text.clone()) || read(text).as_ref() == Some(wanted)
        }
        (Json::Bool(v), _) => *wanted == Shown::Bool(*v),
        (Json::Number(n), Shown::Int(v)) => n.as_f64() == Some(*v as f64),
        (Json::Number(n), Shown::Float(v)) => {
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
            n.as_f64().is_some_and(|n| near(n, v.parse().unwrap()))
        }
        (Json::Array(list), Shown::List(wanted)) => {
            list.len() == wanted.len() && list.iter().zip(wanted).all(|(a, b)| json_shows(a, b))
        }
        (Json::Object(map), Shown::Map(wanted)) => {
            map.len() == wanted.len()
                && wanted.iter().all(|(k, w)| map.get(k).is_some_and(|v| json_shows(v, w)))
        }
        _ => false,
    }
}

/// Whether a type is that of times, or of lists of them.
fn is_timed(kind: &arrow_schema::DataType) -> bool {
    match kind {
        arrow_schema::DataType::List(item) => is_timed(item.data_type()),
        kind => kind.is_temporal(),
    }
}

/// Whether the table and the JSON rows say something else than the values.
fn forms_differ(answer: &Answer) -> Option<String> {
    let table = answer.table().unwrap();
    let rows = answer.json();
    for (name, column) in answer.names().iter().zip(answer.columns()) {
        let array = table.column(name).unwrap();
        for (i, value) in column.iter().enumerate() {
            let wanted = shown(answer, value);
            let cell = graphlume_table::cell_json(array.as_ref(), i);
            // A time in a type of its own is written in the notation of tables.
            let same = match is_timed(array.data_type()) {
                true => cell.is_null() == matches!(wanted, Shown::Null),
                false => json_shows(&cell, &wanted),
            };
            if !same {
                return Some(format!("the table has {cell} for {wanted:?}"));
            }
            if !json_shows(&rows[i][name], &wanted) {
                return Some(format!("the JSON has {} for {wanted:?}", rows[i][name]));
            }
        }
    }
    None
}

fn outcome(scenario: &Scenario) -> (Kind, Outcome) {
    let parts = match parts(scenario) {
        Ok(parts) => parts,
        Err(why) => return (Kind::Skipped, Outcome::Skipped(why)),
    };
    let Some(query) = &parts.query else {
        return (Kind::Skipped, Outcome::Skipped("no query".to_owned()));
    };
    let kind = match (&parts.error, writes(query)) {
        (_, true) => Kind::Write,
        (Some(_), _) => Kind::Error,
        (None, _) => Kind::Read,
    };
    let Some(graph) = tables::graph(&parts.setup) else {
        return (kind, Outcome::Refused("a value has no column type".to_owned()));
    };
    let result = ask(&graph, query, &parts.params);
    let done = match (kind, result) {
        (Kind::Write, Err(e)) if e.error_code() == ErrorCode::Syntax => Outcome::Pass,
        (Kind::Error, Err(e)) if !e.slug().is_empty() && e.error_code() != ErrorCode::Internal => {
            Outcome::Pass
        }
        (Kind::Write, Ok(_)) => Outcome::Wrong("a query that writes was accepted".to_owned()),
        (Kind::Error, Ok(_)) => Outcome::Wrong(parts.error.clone().unwrap_or_default()),
        (_, Err(e)) => Outcome::Refused(e.to_string()),
        (_, Ok(answer)) => match differs(&parts, &answer) {
            None => match forms_differ(&answer) {
                None => Outcome::Pass,
                Some(how) => Outcome::Wrong(how),
            },
            Some(how) => Outcome::Wrong(how),
        },
    };
    (kind, done)
}

#[test]
fn the_compatibility_kit_passes_but_for_what_is_listed() {
    // From the crate's folder, where cargo runs tests. A path that is compiled in may be of another checkout,
    // whose target folder this one shares.
    let root = Path::new("tests/tck");
    let scenarios = gherkin::read(&root.join("features"));
    assert!(scenarios.len() > 3_800, "{} scenarios", scenarios.len());
    let known = std::fs::read_to_string(root.join("known.txt")).unwrap();
    let known: BTreeSet<String> = known
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
        .map(|l| l.split(" -- ").next().unwrap().to_owned())
        .collect();
    let mut totals: BTreeMap<&str, [usize; 9]> = BTreeMap::new();
    let mut failed = BTreeSet::new();
    let mut skipped: BTreeMap<String, usize> = BTreeMap::new();
    let verbose = std::env::var("TCK_VERBOSE").is_ok();
    for scenario in &scenarios {
        let (kind, outcome) = outcome(scenario);
        let total = totals.entry(&scenario.area).or_default();
        let (count, at) = match (kind, &outcome) {
            (Kind::Read, Outcome::Pass) => (0, 1),
            (Kind::Read, Outcome::Wrong(_)) => (0, 2),
            (Kind::Read, _) => (0, 3),
            (Kind::Error, Outcome::Pass) => (4, 5),
            (Kind::Error, _) => (4, 4),
            (Kind::Write, Outcome::Pass) => (6, 7),
            (Kind::Write, _) => (6, 6),
            (Kind::Skipped, _) => (8, 8),
        };
        total[count] += 1;
        if at != count {
            total[at] += 1;
        }
        let id = format!("{}: {}", scenario.feature, scenario.name);
        match outcome {
            Outcome::Pass => {}
            Outcome::Skipped(why) => {
                *skipped.entry(why.chars().take(60).collect()).or_default() += 1;
            }
            Outcome::Wrong(how) | Outcome::Refused(how) => {
                if verbose {
                    let query = scenario.steps.iter().filter(|s| s.text.starts_with("executing"));
                    let query: Vec<&str> = query.filter_map(|s| s.doc.as_deref()).collect();
                    println!("FAIL {id}\n      {}\n      {how}", query.join(" "));
                }
                failed.insert(id);
            }
        }
    }
    let line = |name: &str, t: &[usize; 9]| {
        let [read, pass, wrong, refused, errors, raised, writes, denied, skipped] = t;
        println!(
            "{name:42} read {read:5} pass {pass:5} wrong {wrong:4} refused {refused:4} | \
             error {errors:4} raised {raised:4} | write {writes:4} refused {denied:4} | skipped {skipped:3}"
        );
    };
    let mut all = [0; 9];
    for (area, total) in &totals {
        line(area, total);
        all.iter_mut().zip(total).for_each(|(a, t)| *a += t);
    }
    line("all", &all);
    println!("skipped: {skipped:?}");
    let new: Vec<&String> = failed.difference(&known).collect();
    let cured: Vec<&String> = known.difference(&failed).collect();
    assert!(new.is_empty(), "scenarios that fail and are not listed: {new:#?}");
    assert!(cured.is_empty(), "scenarios that are listed and pass: {cured:#?}");
    assert_eq!(all[2], 0, "wrong answers");
    assert!(all[1] * 100 >= all[0] * 95, "{} of {} pass", all[1], all[0]);
    assert_eq!((all[4], all[6]), (all[5], all[7]), "errors and writes that were not refused");
}
