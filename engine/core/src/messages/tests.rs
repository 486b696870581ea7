//! The page's types, written from those of the server, and samples that hold the types to the messages as they are sent.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::json;
use ts_rs::Config;

use super::*;

/// Characters of a type that is written in one line.
const INLINE_MAX: usize = 60;

/// A declaration of `ts-rs` with a field on each line, indented.
fn laid_out(decl: &str) -> String {
    let (mut out, mut depth, mut angles) = (String::new(), 0_usize, 0_usize);
    let mut rest = decl;
    // The alternatives of a union stand below each other.
    let is_union = ["} | ", "\" | "].iter().any(|between| decl.contains(between));
    let base = usize::from(is_union);
    let line = |out: &mut String, depth: usize| {
        let end = out.trim_end().len();
        out.truncate(end);
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    // A comment above the declaration is not indented.
    let indent = |depth: usize| if depth == 0 { 0 } else { depth + base };
    while let Some(c) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("/**") {
            let (text, after) = comment.split_once("*/").expect("the end of a comment");
            let words: Vec<&str> =
                text.lines().map(|l| l.trim().trim_start_matches('*').trim()).collect();
            line(&mut out, indent(depth));
            out.push_str(&format!("/** {} */", words.join(" ").trim()));
            line(&mut out, indent(depth));
            rest = after.trim_start();
            continue;
        }
        let short = rest.split_once('}').filter(|(inside, _)| {
            c == '{' && inside.len() <= INLINE_MAX && !inside.contains("/**")
        });
        if let Some((inside, after)) = short {
            out.push_str(&inside.trim_end().trim_end_matches(',').replace(", ", "; "));
            out.push_str(" }");
            rest = after;
            continue;
        }
        rest = &rest[c.len_utf8()..];
        match c {
            '{' => {
                depth += 1;
                out.push('{');
                line(&mut out, indent(depth));
                rest = rest.trim_start();
            }
            '}' => {
                depth -= 1;
                line(&mut out, depth + base);
                out.push('}');
            }
            ',' if depth > 0 && angles == 0 => {
                out.push(';');
                line(&mut out, indent(depth));
                rest = rest.trim_start();
            }
            '|' if depth == 0 => {
                line(&mut out, 1);
                out.push('|');
            }
            '=' if depth == 0 && is_union => {
                out.push('=');
                line(&mut out, 1);
                out.push_str("| ");
                rest = rest.trim_start();
            }
            '<' | '>' => {
                if c == '<' {
                    angles += 1
                } else {
                    angles -= 1
                }
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out.replace("\"t\":", "t:").replace('"', "'")
}

/// The module of the page with its types.
fn types() -> String {
    let config = Config::new().with_large_int("number");
    let mut out = String::from(
        "// Written by a test of graphlume-engine from `engine/core/src/messages.rs`: the messages between page and server.\n\
         import type { LegendSides, Underlay } from './scene-parts.ts';\n",
    );
    macro_rules! declare {
        ($($of:ty),* $(,)?) => {$(
            let docs = <$of>::docs().unwrap_or_default();
            let decl = format!("{docs}export {}", <$of>::decl(&config));
            out.push('\n');
            out.push_str(laid_out(&decl).trim());
            out.push('\n');
        )*};
    }
    declare![
        ToPage<'_>,
        ToServer,
        Hello<'_>,
        SessionState,
        LayoutState<'_>,
        LayoutSettings,
        Phase,
        Backend,
        ColumnInfo,
        PageNotice<'_>,
        CollectionList,
        CollectionEntry,
        StepAuthor<'_>,
        AuthorKind,
        ChangedEntry<'_>,
        FilterNumbers,
    ];
    out
}

fn raw(text: &str) -> &RawValue {
    serde_json::from_str(text).unwrap()
}

/// A message of every kind, with and without what may be absent or null.
fn to_page() -> Vec<Value> {
    let settings = LayoutSettings::default();
    let logarithmic = LayoutSettings { lin_log: Some(true), ..settings };
    let state = SessionState {
        state: Phase::Running,
        detail: String::new(),
        iterations: 40,
        iterations_per_s: 12.5,
        playing: true,
        viewers: 2,
        backend: Backend::Cuda,
        backend_reason: String::new(),
        placed_by: String::new(),
        placements: 0,
        displaced: true,
        depths: 0,
        settings: logarithmic,
    };
    let ended = SessionState { state: Phase::Stopped, backend: Backend::Cpu, ..state.clone() };
    let notices = vec![Notice::new("column-missing", "There is no column \"x\".")];
    let columns = vec![ColumnInfo { name: "id".to_owned(), dtype: "int64".to_owned() }];
    let facts = GraphFacts {
        epoch: 1,
        name: "g".to_owned(),
        description: String::new(),
        node_count: 4,
        edge_count: 3,
        node_columns: columns.clone(),
        edge_columns: columns.clone(),
        metadata: json!({"bg": {"color": "#000000"}}),
        has_positions: true,
        has_depth: false,
        is_laid_out: false,
        notices: notices.clone(),
    };
    let (legend, map) =
        (json!({"node_size": {"title": "degree"}}), json!({"scale": 1.0, "x": 0.0, "y": 0.0}));
    let axes = json!([{"r": 2.0, "kind": "plain"}, {"y": 1.5, "kind": "space", "label": "b", "width": 2.0}]);
    let underlays =
        [json!({"axes": [], "map": null}), json!({"axes": axes, "map": map, "origin": [1e6, 2e6]})];
    let graph = |state: &SessionState, underlay| {
        json!(ToPage::Graph {
            facts: &facts,
            legend: &legend,
            edges_named: false,
            underlay,
            has_edge_colors: false,
            layout: LayoutState {
                state: state.state,
                playing: state.playing,
                iterations: state.iterations,
                settings: &state.settings,
                placed_by: &state.placed_by,
                placements: state.placements,
                depths: state.depths,
                displaced: state.displaced,
            },
        })
    };
    let session = "s".parse().unwrap();
    let polled = Hello {
        protocol_min: 1,
        protocol_max: 1,
        build: "0.1.0",
        user: "",
        notices: notices.iter().map(Into::into).collect(),
        framed: false,
        session: &session,
        dataset: DatasetId::from_bytes([7; 16]),
        state: Phase::Loading,
        detail: String::new(),
        steers: None,
        key: None,
        viewer: None,
    };
    let framed = PageNotice { slug: "framed".into(), text: "You watch.".into(), count: None };
    let watching = Hello {
        notices: vec![framed],
        framed: true,
        steers: Some(false),
        key: Some(None),
        viewer: Some("v1"),
        ..polled.clone()
    };
    let steering = Hello {
        steers: Some(true),
        key: Some(Some("secret")),
        viewer: Some("v2"),
        ..polled.clone()
    };
    let entry = |name: &str, count, palette| CollectionEntry {
        id: name.to_lowercase(),
        position: 0,
        match_count: count,
        swatches: vec!["#ff0000".to_owned()],
        label: CollectionLabel { name: name.to_owned(), description: String::new(), palette },
    };
    let list = CollectionList {
        collections: vec![entry("A", Some(3), None), entry("B", None, Some("viridis".to_owned()))],
        background: vec!["#333333".to_owned()],
    };
    let (value, deleted) = (raw(r#"{"rule":{"expr":"x > 1"}}"#), None);
    let by = |kind, you| StepAuthor { name: "ann", kind, you };
    let changed = |by, value| ToPage::Changed {
        revision: 2,
        own: false,
        label: "Filter",
        by,
        changes: vec![ChangedEntry { path: "filters/f", value }],
    };
    let filters = [
        ("f", FilterNumbers::Count { nodes: Some(3), edges: None }),
        ("g", FilterNumbers::Count { nodes: None, edges: Some(2) }),
        ("h", FilterNumbers::Problem { problem: "There is no column a.".to_owned() }),
    ];
    let filters = filters.into_iter().map(|(id, numbers)| (id.to_owned(), numbers)).collect();
    let mut all = vec![
        json!(ToPage::Hello(polled.clone())),
        json!(ToPage::Hello(watching)),
        json!(ToPage::Hello(steering)),
        json!(ToPage::State(&state)),
        json!(ToPage::State(&ended)),
    ];
    all.extend([(&state, &underlays[0]), (&ended, &underlays[1])].map(|(s, u)| graph(s, u)));
    all.extend(
        underlays.each_ref().map(|u| json!(ToPage::Legend { legend: &legend, underlay: u })),
    );
    all.extend([
        json!(ToPage::Columns {
            epoch: 1,
            node_columns: &columns,
            edge_columns: &[],
            notices: &notices,
        }),
        json!(ToPage::Collections(&list)),
        json!(ToPage::Collections(&CollectionList::default())),
        json!(ToPage::error("session-closed", "this session has ended: it was closed")),
        json!(ToPage::Document {
            revision: 1,
            document: [("filters/f", value)].into(),
            own: Entries::new(),
        }),
        json!(changed(by(AuthorKind::Person, true), Some(value))),
        json!(changed(by(AuthorKind::Agent, false), deleted)),
        json!(ToPage::Done { id: "a1", revision: 2, own: true }),
        json!(ToPage::Refused { id: "a1", slug: "too-large".into(), message: "Too large.".into() }),
        json!(ToPage::History { undo: Some("Filter".to_owned()), redo: None }),
        json!(ToPage::History { undo: None, redo: Some("Filter".to_owned()) }),
        json!(ToPage::Counts { revision: 2, nodes: 3, edges: 2, filters }),
    ]);
    all
}

/// Messages of every kind as pages send them.
fn to_server() -> Vec<Value> {
    let change = json!({"path": "filters/f", "value": {"rule": {"expr": "x > 1"}}});
    let deletion = json!({"path": "filters/f", "value": null});
    vec![
        json!({"t": "ack", "seq": 7}),
        json!({"t": "play", "on": true, "ms": 500}),
        json!({"t": "play", "on": false}),
        json!({"t": "settings", "gravity": 2, "linLog": true}),
        json!({"t": "pin", "index": 3, "x": 1.5, "y": -2}),
        json!({"t": "unpin", "index": 3}),
        json!({"t": "layout", "name": "circle"}),
        json!({"t": "layout", "name": "kk", "params": {"maxiter": 10}}),
        json!({"t": "do", "id": "a1", "label": "Filter", "join": "drag-1", "changes": [change]}),
        json!({"t": "do", "id": "a2", "label": "Remove", "changes": [deletion]}),
        json!({"t": "undo", "id": "a3"}),
        json!({"t": "redo", "id": "a4"}),
        json!({"t": "hidden"}),
        json!({"t": "visible"}),
        json!({"t": "resume", "epoch": 1, "seq": 9}),
    ]
}

/// The module with the samples, which the page's compiler holds to its types.
fn samples() -> String {
    let list = |name: &str, of: &str, all: Vec<Value>| {
        let lines: String = all.iter().map(|message| format!("  {message},\n")).collect();
        format!("\nexport const {name} = [\n{lines}] satisfies {of}[];\n")
    };
    format!(
        "// Written by a test of graphlume-engine from the messages that the server sends and reads.\n\
         import type {{ ToPage, ToServer }} from '../../src/net/page-messages.ts';\n{}{}",
        list("toPage", "ToPage", to_page()),
        list("toServer", "ToServer", to_server()),
    )
}

/// Where the page has them.
fn files() -> [(PathBuf, String); 2] {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shell/web");
    [
        (web.join("src/net/page-messages.ts"), types()),
        (web.join("tests/unit/page-messages.samples.ts"), samples()),
    ]
}

#[test]
fn the_page_has_the_types_and_the_samples_of_the_messages() {
    for (file, text) in files() {
        let stored = std::fs::read_to_string(&file).unwrap_or_default();
        let hint = "run `cargo unit graphlume-engine -- --ignored write_page_types`";
        assert_eq!(stored, text, "{}: {hint}", file.display());
    }
}

#[test]
#[ignore = "writes what the test above compares"]
fn write_page_types() {
    for (file, text) in files() {
        std::fs::write(file, text).unwrap();
    }
}

/// The kinds in a declaration.
fn kinds(decl: &str) -> BTreeSet<String> {
    let tags = decl.split("\"t\": \"").skip(1);
    tags.map(|tag| tag.chars().take_while(|c| *c != '"').collect()).collect()
}

#[test]
fn every_kind_of_message_has_a_sample() {
    let config = Config::new();
    for (decl, all) in [(ToPage::decl(&config), to_page()), (ToServer::decl(&config), to_server())]
    {
        let sampled = all.iter().map(|m| m["t"].as_str().unwrap().to_owned()).collect();
        assert_eq!(kinds(&decl), sampled);
    }
}

#[test]
fn the_page_s_messages_are_understood_and_unknown_ones_are_passed_over() {
    let parse = |text: &str| serde_json::from_str::<ToServer>(text);
    for message in to_server() {
        let read: ToServer = serde_json::from_value(message.clone()).unwrap();
        assert!(!matches!(read, ToServer::Other), "{message}");
        if let ToServer::Do { changes, join, .. } = read {
            assert_eq!(changes[0].path, "filters/f");
            assert_eq!(join.is_some(), changes[0].value.is_some(), "{message}");
        }
    }
    let play = parse(r#"{"t":"play","on":true,"ms":500}"#).unwrap();
    assert!(matches!(play, ToServer::Play { on: true, ms: Some(500) }));
    let ToServer::Settings(knobs) = parse(r#"{"t":"settings","gravity":2,"linLog":true}"#).unwrap()
    else {
        unreachable!("settings")
    };
    assert_eq!(Value::Object(knobs), json!({"gravity": 2, "linLog": true}));
    assert!(matches!(parse(r#"{"t":"view","zoom":3}"#).unwrap(), ToServer::Other));
    assert!(matches!(parse(r#"{"t":"later","x":[1]}"#).unwrap(), ToServer::Other));
    for bad in [r#"{"t":"ack"}"#, r#"{"t":"ack","seq":-1}"#, "[]", "7", "{}", "", "{\"t\":1}"] {
        assert!(parse(bad).is_err(), "{bad}");
    }
}
