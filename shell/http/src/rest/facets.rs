//! The columns of a visualization beside its live stream: which there are, how their values are distributed among what
//! is visible, which elements a rule means, and these as a file or a dataset. And steps of its document that are too large
//! for a message.

use std::sync::Arc;

use graphlume_engine::{Axis, Wanted};
use graphlume_service::{ChangeRequest, Found, Principal, SelectionFile, StepRequest};
use graphlume_types::Code;
use graphlume_types::limits::HISTOGRAMS_ASKED_MAX;
use http::header::CONTENT_DISPOSITION;
use http::{HeaderValue, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::datasets::replied;
use super::viz::{DATASET, grant};
use super::{json as answered, ok};
use crate::query;
use crate::reply::Reply;
use crate::request::Req;
use crate::route::{RequestBody, Route, run};
use crate::schema::Shape::{Any, Bool, Count as Number, List, Map, Object, Text};
use crate::schema::{Member, Parameter, creates, may, must, parameter, returns, returns_bytes};
use crate::state::Shell;
use crate::status::ApiError;
use crate::ws::answer_of_step;

const VIEWER: Parameter =
    parameter("viewer", Text, "`viewer` of the page's hello, so that its own filters count.");
/// Parts of a range, unless the caller says how many.
const BINS: u8 = 32;
const BINS_MAX: u8 = 254;

pub(crate) const ROUTES: &[Route] = &[
    Route::get(
        "/viz/{session_id}/columns",
        run!(Viewer columns),
        &[returns(
            Object(&[must(
                "columns",
                List(&Object(&[
                    must("axis", Text, "node or edge."),
                    must("name", Text, ""),
                    must("kind", Text, "number, date, category or boolean."),
                    must("derived", Bool, "Whether it follows from the graph and is in no table."),
                ])),
                "",
            )]),
            "The columns",
        )],
        "The columns of the graph that may be filtered and counted.",
    )
    .query(&[DATASET])
    .waiting(),
    Route::get(
        "/viz/{session_id}/bins",
        run!(Viewer bins),
        &[returns(
            Object(&[
                must("revision", Number, "Of the document whose filters count."),
                must("histograms", List(&Map(&Any)), "In the order asked."),
            ]),
            "The histograms",
        )],
        "Histograms of columns: all elements, and those that pass every filter but brushes on the column itself.",
    )
    .query(&[
        parameter(
            "columns",
            Text,
            "node:name or edge:name with commas between; a comma in a name is %2C.",
        ),
        parameter("bins", Number, "Parts of a range of numbers or dates; 32 when absent, at most 254."),
        parameter("log", Text, "Columns to be divided by their logarithms, as in columns."),
        parameter("search", Text, "Of categories only those that contain this text."),
        VIEWER,
        DATASET,
    ])
    .waiting(),
    Route::post(
        "/viz/{session_id}/find",
        run!(Viewer find),
        RequestBody::Json(Object(&[
            may("rule", Map(&Any), "A rule as filters have it."),
            may("text", Text, "Instead of it: an expression, a Cypher text, or operations as JSON."),
        ])),
        &[returns(
            Object(&[
                must("as", Text, "What the text was taken for: expr, cypher, gfql, or the form of the rule."),
                must("rule", Map(&Any), "The rule."),
                must("nodes", Text, "The nodes: base64 of deflated bits."),
                must("node_count", Number, ""),
                must("edge_count", Number, ""),
            ]),
            "What was found",
        )],
        "Which elements a rule means.",
    )
    .query(&[DATASET])
    .reading()
    .waiting(),
    Route::post(
        "/viz/{session_id}/do",
        run!(Viewer step),
        RequestBody::Json(Object(&[
            must("label", Text, "A few words."),
            may("join", Text, "Steps in a row with the same word are one to take back."),
            must("changes", List(&Map(&Any)), "Paths and values."),
        ])),
        &[returns(Map(&Any), "done, or refused with the reason")],
        "A step of the document, as in a message of the live stream, of any size.",
    )
    .query(&[VIEWER, DATASET])
    .waiting(),
    Route::post(
        "/viz/{session_id}/export",
        run!(Viewer export),
        RequestBody::Json(Object(&[NODES])),
        &[returns_bytes(FILES, "The file")],
        "The selected nodes with their present positions as x and y, or the edges among them, as a file.",
    )
    .query(&[
        parameter("table", Text, "nodes or edges.").required(),
        parameter("format", Text, "csv, json or parquet.").required(),
        parameter(
            "escape",
            Text,
            "formulas: in CSV, cells of text that begin with =, +, -, @, a tab or a carriage return have an apostrophe \
             before them, so that a spreadsheet program does not run them.",
        ),
        DATASET,
    ])
    .reading()
    .waiting(),
    Route::post(
        "/viz/{session_id}/dataset",
        run!(Viewer dataset),
        RequestBody::Json(Object(&[NODES, must("name", Text, "Of the new dataset.")])),
        &[creates(
            Object(&[
                must("dataset_id", Text, ""),
                must("url", Text, "Of its picture, relative to the page of this one."),
            ]),
            "Created",
        )],
        "Makes a dataset of the selected nodes and the edges among them, for those at most who may see this one.",
    )
    .query(&[DATASET])
    .waiting(),
];

const NODES: Member = must("nodes", Text, "The selected nodes: base64 of deflated bits.");
const FILES: &[&str] = &["text/csv", "application/json", "application/octet-stream"];

async fn columns(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let grant = grant(&shell, &req, &who).await?;
    let columns = shell.service.sessions.facet_columns(&grant).await?;
    let columns: Vec<Value> = columns
        .iter()
        .map(|c| {
            json!({
                "axis": c.axis.name(), "name": c.name, "kind": c.kind.name(), "derived": c.derived,
            })
        })
        .collect();
    ok(&json!({ "columns": columns }))
}

async fn bins(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let pairs = req.pairs();
    let wanted = wanted(&pairs)?;
    let viewer = query::last(&pairs, "viewer").filter(|v| !v.is_empty());
    let grant = grant(&shell, &req, &who).await?;
    let (revision, histograms) = shell.service.sessions.histograms(&grant, viewer, wanted).await?;
    ok(&json!({ "revision": revision, "histograms": histograms }))
}

/// The histograms that a request names.
fn wanted(pairs: &[(String, String)]) -> Result<Vec<Wanted>, ApiError> {
    let invalid =
        |field: &'static str, what: String| ApiError::invalid("invalid-argument", what).at(field);
    let bins = match query::last(pairs, "bins") {
        None => BINS,
        Some(text) => {
            text.parse().ok().filter(|n| (1..=BINS_MAX).contains(n)).ok_or_else(|| {
                invalid("bins", format!("bins {text:?} is not a whole number from 1 to {BINS_MAX}"))
            })?
        }
    };
    let search = query::last(pairs, "search").filter(|s| !s.is_empty()).map(str::to_owned);
    let named = |name: &'static str| {
        let list = query::last(pairs, name).unwrap_or_default();
        list.split(',').filter(|part| !part.is_empty()).map(move |part| {
            let column = part.replace("%2C", ",").replace("%2c", ",").replace("%25", "%");
            let split = column.split_once(':').and_then(|(axis, of)| Some((Axis::of(axis)?, of)));
            split.map(|(axis, of)| (axis, of.to_owned())).ok_or_else(|| {
                let shown: String = column.chars().take(80).collect();
                invalid(name, format!("{name} has {shown:?}; write node:name or edge:name"))
            })
        })
    };
    let log: Vec<(Axis, String)> = named("log").collect::<Result<_, _>>()?;
    let columns: Vec<(Axis, String)> = named("columns").collect::<Result<_, _>>()?;
    if !(1..=HISTOGRAMS_ASKED_MAX).contains(&columns.len()) {
        let what = format!("columns names {}; name 1 to {HISTOGRAMS_ASKED_MAX}", columns.len());
        return Err(invalid("columns", what));
    }
    Ok(columns
        .into_iter()
        .map(|(axis, column)| Wanted {
            log: log.iter().any(|(a, c)| (*a, c) == (axis, &column)),
            search: search.clone(),
            axis,
            column,
            bins,
        })
        .collect())
}

async fn find(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let grant = grant(&shell, &req, &who).await?;
    let body = req.json().await?;
    let Found { form, rule, nodes, node_count, edge_count } =
        shell.service.sessions.find(&grant, &body).await?;
    ok(&json!({
        "as": form, "rule": rule, "nodes": nodes, "node_count": node_count, "edge_count": edge_count,
    }))
}

/// A step in a body.
#[derive(Deserialize)]
struct StepBody {
    label: String,
    #[serde(default)]
    join: Option<String>,
    changes: Vec<ChangeRequest>,
}

async fn step(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let grant = grant(&shell, &req, &who).await?;
    let viewer = query::last(&req.pairs(), "viewer").unwrap_or_default().to_owned();
    let body = req.json().await?;
    let StepBody { label, join, changes } = serde_json::from_slice(&body).map_err(|e| {
        ApiError::invalid("invalid-argument", format!("the body is no step: {e}")).at("body")
    })?;
    let asked = StepRequest::Do { label, join, changes };
    let done = shell.service.sessions.step(&grant, &viewer, asked).await;
    ok(&answer_of_step("", done))
}

/// What is selected, as a file.
async fn export(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let grant = grant(&shell, &req, &who).await?;
    let pairs = req.pairs();
    let named = |name| query::last(&pairs, name).unwrap_or_default();
    let (table, format) = (named("table").to_owned(), named("format").to_owned());
    let escape = query::last(&pairs, "escape").map(str::to_owned);
    let body = req.json().await?;
    let queries = &shell.service.queries;
    let SelectionFile { name, reply } = queries
        .export_selection(&who, grant.target(), (&table, &format, escape.as_deref()), &body)
        .await?;
    let mut reply = replied(reply);
    reply.headers_mut().insert(CONTENT_DISPOSITION, attachment(&name));
    Ok(reply)
}

/// The header by which a browser saves an answer under a name (RFC 6266): in ASCII, and where it has other characters
/// once more in UTF-8.
fn attachment(name: &str) -> HeaderValue {
    let is_plain = |c: char| c.is_ascii_graphic() && !r#""\/:*?<>|%"#.contains(c) || c == ' ';
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let mut header = format!("attachment; filename=\"{plain}\"");
    if !name.is_ascii() {
        let is_bare = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
        header += "; filename*=UTF-8''";
        for b in name.bytes() {
            header += &if is_bare(b) { char::from(b).to_string() } else { format!("%{b:02X}") };
        }
    }
    HeaderValue::from_str(&header).unwrap_or(HeaderValue::from_static("attachment"))
}

/// What is selected, as a dataset.
async fn dataset(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let grant = grant(&shell, &req, &who).await?;
    if who.user().is_none() {
        let base = &shell.config.base_path;
        let text = format!(
            "a dataset belongs to an account: sign in at {base}/login, or send Authorization: Bearer <token>, and make it then"
        );
        return Err(ApiError::new(Code::Unauthenticated, "unauthenticated", text));
    }
    if req.only_watches(&shell, &who) {
        let text = "no dataset is made from within a frame of another site: open this page in a window of its own and make \
                    it there (the operator can name sites that may do more with --frame-ancestors)";
        return Err(ApiError::new(Code::Forbidden, "framed", text));
    }
    let body = req.json().await?;
    let made = shell.service.queries.keep_selection(&who, grant.target(), &body);
    let made = Box::pin(made).await?;
    let url = format!("graph.html?dataset={made}");
    answered(StatusCode::CREATED, &json!({ "dataset_id": made.to_string(), "url": url }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_as_its_dataset_and_no_name_leaves_the_header() {
        for (name, header) in [
            ("karate-nodes.csv", "attachment; filename=\"karate-nodes.csv\""),
            ("a \"b\"\r\nc/..", "attachment; filename=\"a _b___c_..\""),
            ("Öl", "attachment; filename=\"_l\"; filename*=UTF-8''%C3%96l"),
        ] {
            assert_eq!(attachment(name), header, "{name:?}");
        }
    }
}
