//! The HTTP routes beside the live stream: what is large, cacheable or asked for once.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use graphlume_engine::{CALL_DEADLINE, EngineError, ToPage, ViewerEvent};
use graphlume_service::{Principal, Told, ViewerGrant};
use graphlume_types::limits;
use graphlume_types::{CancelReason, Cancelled, Code};
use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::ranges::ranged;
use super::{no_content, ok};
use crate::query;
use crate::reply::Reply;
use crate::request::Req;
use crate::route::{Handler, Route, run};
use crate::schema::Shape::{Any, Count, List, Map, Nullable, Object, Text};
use crate::schema::{
    Content, Parameter, Success, must, parameter, returns, returns_bytes, returns_nothing,
};
use crate::state::Shell;
use crate::status::ApiError;
use crate::ws;

pub(super) const DATASET: Parameter =
    parameter("dataset", Text, "What the caller takes the visualization to show.");
pub(super) const BYTES: &[&str] = &["application/octet-stream"];
const CARD: &[Success] = &[returns(Map(&Any), "The card")];

pub(crate) const ROUTES: &[Route] = &[
    Route::get(
        "/viz/{session_id}/ws",
        Handler::Stream(|shell, req, who| Box::pin(ws::open(shell, req, who))),
        &[returns_nothing(101, "The stream begins")],
        "The live stream of a visualization.",
    )
    .query(&[DATASET])
    .stream(),
    Route::get(
        "/viz/{session_id}/about",
        run!(Viewer about),
        &[returns(
            Object(&[
                must("name", Text, ""),
                must("description", Text, ""),
                must("node_count", Nullable(&Count), "Null until the graph was built."),
                must("edge_count", Nullable(&Count), "Null until the graph was built."),
            ]),
            "The graph in a few words",
        )],
        "Name, description and size of the graph, which is not loaded for it.",
    )
    .query(&[DATASET]),
    Route::get("/viz/{session_id}/node/{index}", run!(Viewer node), CARD, "The card of one node.")
        .query(&[DATASET]),
    Route::get(
        "/viz/{session_id}/names",
        run!(Viewer names),
        &[returns(
            Object(&[
                must("names", List(&Any), "Of the nodes, in the order asked."),
                must("edges", List(&Any), "Of the edges, in the order asked."),
            ]),
            "The names",
        )],
        "The names of some nodes and edges, by their indices with commas between, at most 200 of each.",
    )
    .query(&[
        parameter("nodes", Text, "Indices with commas between."),
        parameter("edges", Text, "Drawn indices with commas between."),
        DATASET,
    ]),
    Route::get("/viz/{session_id}/edge/{index}", run!(Viewer edge), CARD, "The card of one edge.")
        .query(&[DATASET]),
    Route::get(
        "/viz/{session_id}/search",
        run!(Viewer search),
        &[returns(
            Object(&[must(
                "results",
                List(&Object(&[
                    must("index", Count, "The node."),
                    must("label", Text, "Its label."),
                    must("id", Text, "Its id."),
                ])),
                "Best first.",
            )]),
            "The nodes",
        )],
        "Finds nodes by label or id.",
    )
    .query(&[
        parameter("q", Text, "What to look for."),
        parameter("limit", Count, "Results at most; 20 when absent."),
        DATASET,
    ]),
    Route::get(
        "/viz/{session_id}/graph",
        run!(Viewer graph),
        &[returns(
            Object(&[
                must("messages", List(&Any), "As the stream sends them."),
                must("scene_frames", Count, "Frames of colours, sizes and labels."),
            ]),
            "What is known",
        )],
        "What the live stream tells before its frames, as far as it is known: state, graph, legend, collections.",
    )
    .query(&[DATASET]),
    Route::get(
        "/viz/{session_id}/scene/{index}",
        run!(Viewer scene),
        &[returns_bytes(BYTES, "The frame")],
        "A frame of colours, sizes or labels, by its number from 0.",
    )
    .query(&[DATASET]),
    Route::get(
        "/viz/{session_id}/frame",
        run!(Viewer frame),
        &[returns_bytes(BYTES, "The frame"), returns_nothing(204, "No newer frame yet")],
        "The next position frame, by long poll.",
    )
    .query(&[parameter("after", Count, "The frame that the page shows."), DATASET])
    .unshed(),
    Route::get(
        "/viz/{session_id}/{epoch}/edges.bin",
        run!(Viewer edges),
        &[
            returns_bytes(BYTES, "All edges"),
            Success { status: 206, doc: "A range", content: Content::Bytes(BYTES) },
            returns_nothing(304, "The caller has them"),
        ],
        "All edges as pairs of u32 node indices, little-endian, in drawn order.",
    )
    .query(&[DATASET]),
    Route::get(
        "/viz/{session_id}/{epoch}/positions.bin",
        run!(Viewer positions),
        &[returns_bytes(BYTES, "All positions")],
        "All positions as one frame of 32-bit floats.",
    )
    .query(&[DATASET]),
];

const BINARY: HeaderValue = HeaderValue::from_static("application/octet-stream");
/// Search results at most.
const SEARCH_RESULTS_MAX: usize = 100;
/// The engine keeps the same deadline and says more about it, so it has the first word.
const ENGINE_FIRST: Duration = Duration::from_millis(100);
/// Characters of a search at most.
const SEARCH_CHARS_MAX: usize = 256;

/// Checks that the caller may watch the session of the address.
pub(super) async fn grant(
    shell: &Shell,
    req: &Req,
    who: &Principal,
) -> Result<ViewerGrant, ApiError> {
    let pairs = req.pairs();
    let dataset = query::last(&pairs, "dataset");
    let session = req.param("session_id");
    let mut grant = shell.service.sessions.authorize_look(who, session, dataset).await?;
    grant.caller = grant.caller.or_stranger(req.client(shell));
    Ok(grant)
}

/// The engine's answer, or that its time is over: whatever holds the engine up, callers are told.
pub(super) async fn answered<T>(
    asked: impl Future<Output = Result<T, EngineError>>,
) -> Result<T, EngineError> {
    answered_within(CALL_DEADLINE + ENGINE_FIRST, asked).await
}

async fn answered_within<T>(
    time: Duration,
    asked: impl Future<Output = Result<T, EngineError>>,
) -> Result<T, EngineError> {
    let over = EngineError::Cancelled(Cancelled(CancelReason::Deadline));
    tokio::time::timeout(time, asked).await.unwrap_or(Err(over))
}

/// A number in the address.
pub(super) fn number(req: &Req, name: &'static str) -> Result<u32, ApiError> {
    let text = req.param(name);
    text.parse().map_err(|_| {
        let shown: String = text.chars().take(40).collect();
        ApiError::new(Code::NotFound, "unknown-path", format!("{name} {shown:?} is not a number"))
    })
}

pub(crate) async fn edges(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let epoch = number(&req, "epoch")?;
    let grant = grant(&shell, &req, &who).await?;
    let bytes = answered(shell.service.sessions.reads(&grant).edges(epoch)).await?;
    ranged(&req, bytes, &format!("{}/{epoch}", grant.dataset))
}

pub(crate) async fn positions(
    shell: Arc<Shell>,
    req: Req,
    who: Principal,
) -> Result<Reply, ApiError> {
    let epoch = number(&req, "epoch")?;
    let grant = grant(&shell, &req, &who).await?;
    let frame = answered(shell.service.sessions.reads(&grant).positions(epoch)).await?;
    Ok(binary(shell.service.sessions.hold_frame(&grant, frame).await?))
}

pub(crate) async fn node(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let index = number(&req, "index")?;
    let grant = grant(&shell, &req, &who).await?;
    ok(&answered(shell.service.sessions.reads(&grant).node_card(index)).await?)
}

/// What a page says of a graph that waits for a click. It asks the engine nothing.
pub(crate) async fn about(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let pairs = req.pairs();
    let (session, dataset) = (req.param("session_id"), query::last(&pairs, "dataset"));
    ok(&shell.service.sessions.about(&who, session, dataset).await?)
}

/// The names of nodes and edges that a page has in view and does not know the names of.
pub(crate) async fn names(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let pairs = req.pairs();
    let nodes = indices(&pairs, "nodes")?;
    let edges = indices(&pairs, "edges")?;
    let grant = grant(&shell, &req, &who).await?;
    let [names, edges] = answered(shell.service.sessions.reads(&grant).names(nodes, edges)).await?;
    ok(&json!({ "names": names, "edges": edges }))
}

/// Indices of nodes or edges with commas between.
fn indices(pairs: &[(String, String)], name: &'static str) -> Result<Vec<u32>, ApiError> {
    let asked = query::last(pairs, name).unwrap_or_default();
    let invalid = |what: String| ApiError::invalid("invalid-argument", what).at(name);
    let mut found = Vec::new();
    for part in asked.split(',').filter(|part| !part.is_empty()) {
        if found.len() == limits::NAMES_ASKED_MAX {
            return Err(invalid(format!(
                "{name} names more than {} {name}; ask for the others in another request",
                limits::NAMES_ASKED_MAX
            )));
        }
        found.push(part.parse::<u32>().map_err(|_| {
            let shown: String = part.chars().take(40).collect();
            invalid(format!(
                "{name} has {shown:?}, which is no index; write indices with commas between"
            ))
        })?);
    }
    Ok(found)
}

pub(crate) async fn edge(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let index = number(&req, "index")?;
    let grant = grant(&shell, &req, &who).await?;
    ok(&answered(shell.service.sessions.reads(&grant).edge_card(index)).await?)
}

pub(crate) async fn search(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let grant = grant(&shell, &req, &who).await?;
    let pairs = req.pairs();
    let text: String =
        query::last(&pairs, "q").unwrap_or_default().chars().take(SEARCH_CHARS_MAX).collect();
    let limit = match query::last(&pairs, "limit") {
        None => 20,
        Some(text) => text.parse::<usize>().map_err(|_| {
            ApiError::invalid("invalid-argument", format!("limit {text:?} is not a number"))
                .at("limit")
        })?,
    };
    let limit = limit.min(SEARCH_RESULTS_MAX);
    let results = if text.trim().is_empty() {
        Vec::new()
    } else {
        answered(shell.service.sessions.reads(&grant).search(text, limit)).await?
    };
    ok(&json!({ "results": results }))
}

/// What the live stream tells before its first frame, for pages whose network lets no websocket through. It does not
/// wait: a graph that is not there yet is told of when its first frame has come.
pub(crate) async fn graph(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let pairs = req.pairs();
    let (session, dataset) = (req.param("session_id"), query::last(&pairs, "dataset"));
    let grant = shell.service.sessions.authorize_viewer(&who, session, dataset).await?;
    shell.service.sessions.note_request();
    let mut viewer = answered(shell.service.sessions.attach(&grant)).await?;
    let hello = ws::greeting(&shell, &viewer, &who, req.only_watches(&shell, &who));
    let hello = raw(&ToPage::Hello(hello))?;
    let (mut messages, mut frames) = (vec![hello], 0);
    while let Some(event) = viewer.try_next(false) {
        match &event {
            ViewerEvent::Graph(.., scene) => frames = scene.frames().count(),
            ViewerEvent::Closed(reason) => {
                let (session, reason) = (grant.session, *reason);
                return Err(EngineError::SessionClosed { session, reason }.into());
            }
            _ => {}
        }
        messages.extend(event.message().map(|message| raw(&message)).transpose()?);
    }
    for told in shell.service.sessions.document_of(&grant)? {
        match told {
            Told::Message(message) => messages.push(raw(&message)?),
            Told::Text(text) => messages.push(text.json()?),
            Told::Frame(_) => frames += 1,
        }
    }
    let (head, answer) = ok(&Known { messages, scene_frames: frames })?.into_parts();
    let answer = shell.service.sessions.hold_answer(&grant, answer)?;
    Ok(Response::from_parts(head, answer))
}

/// What is known of a graph.
#[derive(Serialize)]
struct Known {
    messages: Vec<Box<RawValue>>,
    scene_frames: usize,
}

/// A message beside those that come as texts.
fn raw(message: &ToPage<'_>) -> Result<Box<RawValue>, ApiError> {
    let text = serde_json::value::to_raw_value(message);
    text.map_err(|e| ApiError::new(Code::Internal, "internal", e.to_string()))
}

/// One frame of the colours, sizes and labels, with the bytes that all viewers share.
pub(crate) async fn scene(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let index = number(&req, "index")?;
    let grant = grant(&shell, &req, &who).await?;
    let mut viewer = answered(shell.service.sessions.attach(&grant)).await?;
    let session = grant.session.clone();
    let there = async {
        loop {
            match viewer.next(false).await {
                ViewerEvent::Graph(.., scene) => return Ok(scene),
                ViewerEvent::Closed(reason) => {
                    return Err(EngineError::SessionClosed { session, reason });
                }
                _ => {}
            }
        }
    };
    let scene = answered(there).await?;
    let masks =
        shell.service.sessions.document_of(&grant)?.into_iter().filter_map(|told| match told {
            Told::Frame(frame) => Some(frame),
            Told::Message(_) | Told::Text(_) => None,
        });
    let frames: Vec<Bytes> = scene.frames().cloned().chain(masks).collect();
    frames.get(index as usize).cloned().map(binary).ok_or_else(|| {
        let count = frames.len();
        let text = format!("there is no frame {index}; there are {count}, from 0 on");
        ApiError::new(Code::NotFound, "unknown-path", text)
    })
}

/// The long poll: the next frame after the one that the page shows, or 204 when there is none for a
/// while. For pages whose network lets no websocket through.
pub(crate) async fn frame(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let pairs = req.pairs();
    let (session, dataset) = (req.param("session_id"), query::last(&pairs, "dataset"));
    let grant = shell.service.sessions.authorize_viewer(&who, session, dataset).await?;
    shell.service.sessions.note_request();
    let after = match query::last(&pairs, "after") {
        None => 0,
        Some(text) => text.parse::<u32>().map_err(|_| {
            ApiError::invalid("invalid-argument", format!("after {text:?} is not a frame number"))
                .at("after")
        })?,
    };
    let mut viewer = answered(shell.service.sessions.attach(&grant)).await?;
    let _page = shell.service.sessions.page_opened(&who, &grant.session);
    let session = grant.session;
    let next = async {
        loop {
            match viewer.next(true).await {
                ViewerEvent::Graph(graph, ..) if after > 0 => viewer.resume(graph.epoch, after),
                ViewerEvent::Frame(frame) => return Ok(frame),
                ViewerEvent::Closed(reason) => {
                    return Err(EngineError::SessionClosed { session, reason });
                }
                ViewerEvent::Graph(..)
                | ViewerEvent::State(_)
                | ViewerEvent::Columns(_)
                | ViewerEvent::Scene(_)
                | ViewerEvent::Collections(_) => {}
            }
        }
    };
    tokio::select! {
        () = shell.stop.cancelled() => {
            Err(ApiError::new(Code::Unavailable, "stopping", "the server restarts"))
        }
        () = tokio::time::sleep(shell.config.long_poll) => Ok(no_content()),
        frame = next => Ok(binary(frame?.bytes.clone())),
    }
}

pub(super) fn binary(bytes: Bytes) -> Reply {
    let mut reply = Response::new(bytes);
    reply.headers_mut().insert(CONTENT_TYPE, BINARY);
    reply
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    #[tokio::test]
    async fn an_engine_that_does_not_answer_is_a_deadline_and_not_a_hang() {
        let never = std::future::pending::<Result<u8, EngineError>>();
        let refused = answered_within(Duration::from_millis(5), never).await;
        let status = refused.map_err(|e| ApiError::from(e).status());
        assert_eq!(status, Err(StatusCode::GATEWAY_TIMEOUT));
        assert_eq!(answered(std::future::ready(Ok(3))).await, Ok(3));
    }
}
