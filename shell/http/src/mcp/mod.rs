//! The tool endpoint: JSON-RPC 2.0 over streamable HTTP, for agents.
//!
//! `frame` reads messages, `modern` checks those of the revision without connections, `error` holds the
//! tables of refusals, [`crate::agents`] remembers connections, `stream` is the event stream, `tool` has one file
//! a tool, `toolset` says which of them are listed, `call` runs one, `resources` lists datasets, `manifest`
//! says who we are.

mod call;
mod error;
mod frame;
mod instructions;
mod manifest;
mod modern;
mod resources;
mod stream;
mod tool;
mod toolset;

use std::sync::Arc;

use bytes::Bytes;
use graphlume_service::ServiceError;
use graphlume_types::address::household;
use graphlume_types::{Code, Coded, limits};
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use http::{Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::query;
use crate::reply::Reply;
use crate::request::{Hit, Req, depth_exceeds};
use crate::route::{RequestBody, Route, run};
use crate::schema::Shape::{Any, Map, Object, OneOf, Text};
use crate::schema::{Shape, may, must, returns, returns_bytes, returns_nothing};
use crate::state::Shell;
use crate::status::{ApiError, JSON, Problem, say_why};
use crate::ws::check_origin;
use error::{Kind, Refusal};
use frame::Message;
use toolset::Toolset;

const MESSAGE: Shape = Object(&[
    must("jsonrpc", OneOf(&["2.0"]), ""),
    may("id", Any, "A text or a number; absent in a notification."),
    must("method", Text, "initialize, tools/list, tools/call, ..."),
    may("params", Map(&Any), ""),
]);
/// Refusals have this form too, whatever their status.
const RESULT: Shape = Object(&[
    must("jsonrpc", OneOf(&["2.0"]), ""),
    must("id", Any, "That of the message."),
    may("result", Any, ""),
    may("error", Map(&Any), "code, message, data"),
]);
/// The rows of an address: which tools it lists is all that tells the two apart.
const fn posting(path: &'static str) -> Route {
    Route::post(
        path,
        run!(Tool post),
        RequestBody::Json(MESSAGE),
        const {
            &[
                returns(RESULT, "The answer to a request"),
                returns_nothing(202, "A notification was taken"),
            ]
        },
        "One JSON-RPC message of an agent: initialize or server/discover, tools/list, tools/call, \
         resources/list, resources/read, notifications.",
    )
    .refusing(RESULT)
}

const fn streaming(path: &'static str) -> Route {
    Route::get(
        path,
        run!(Tool get),
        const { &[returns_bytes(&["text/event-stream"], "The stream")] },
        "The event stream of an agent's connection, held open.",
    )
    .refusing(RESULT)
    .stream()
}

const fn ending(path: &'static str) -> Route {
    Route::new(
        Method::DELETE,
        path,
        run!(Tool delete),
        const { &[returns_nothing(204, "Ended")] },
        "Ends an agent's connection.",
    )
    .refusing(RESULT)
}

/// The address of a toolset; the handlers know the names that there are, and refuse others.
const TOOLSET_PATH: &str = "/mcp/x/{toolset}";

pub(crate) const ROUTES: &[Route] = &[
    posting("/mcp"),
    streaming("/mcp"),
    ending("/mcp"),
    posting(TOOLSET_PATH),
    streaming(TOOLSET_PATH),
    ending(TOOLSET_PATH),
    Route::get(
        "/mcp/manifest.json",
        run!(Public manifest::get),
        &[returns(Map(&Any), "The manifest")],
        "What agents find at /mcp: version, transport, revisions of the protocol, tools, and where all of them are listed.",
    ),
];

/// Header that carries the id of an agent's connection.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// Revisions of the protocol that begin with `initialize`, the newest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// `POST /mcp` and `POST /mcp/x/{toolset}`.
async fn post(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let toolset = match admitted(&shell, &req) {
        Ok(toolset) => toolset,
        Err(refusal) => return Ok(refusal.render(&Value::Null)),
    };
    let peer = household(req.client(&shell));
    let base = req.base(&shell);
    let (hit, headers) = (req.hit, req.headers);
    let body = match req.body.collect(limits::TOOL_MESSAGE_BYTES_MAX).await {
        Ok(body) => body,
        Err(e) if e.problem == Problem::Coded(Code::TooLarge) => {
            return Ok(Refusal::new(Kind::Parse, e.message).render(&Value::Null));
        }
        Err(e) => return Err(e),
    };
    if depth_exceeds(&body, limits::JSON_DEPTH_MAX) {
        let text = format!("the message nests deeper than {} levels", limits::JSON_DEPTH_MAX);
        return Ok(Refusal::new(Kind::Parse, text).render(&Value::Null));
    }
    let message = match frame::read(&body) {
        Ok(message) => message,
        Err((id, refusal)) => return Ok(refusal.render(&id)),
    };
    let text =
        |name: &HeaderName| headers.get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
    let credential =
        headers.get(&AUTHORIZATION).and_then(|v| v.to_str().ok()).and_then(query::bearer);
    let credential = credential.map(str::to_owned);
    let (session, version) = (text(&SESSION), text(&VERSION));
    let asked = Asked { shell, hit, toolset, session, version, credential, base };
    Ok(match message {
        Message::Response => accepted(),
        Message::Notification { method, params } => {
            asked.notified(&method, &params).unwrap_or_else(|refusal| refusal.render(&Value::Null))
        }
        Message::Request { id, method, params } if modern::is(&method, &params, &headers) => {
            match asked.answer_alone(&method, params, &headers).await {
                Ok(result) => result_reply(&id, &modern::complete(&method, result)),
                Err(refusal) => refusal.modern().render(&id),
            }
        }
        Message::Request { id, method, params } if method == "initialize" => {
            initialize(&asked.shell, peer, &params).map_or_else(
                |refusal| refusal.render(&id),
                |(result, session)| {
                    let mut reply = result_reply(&id, &result);
                    if let Ok(session) = HeaderValue::from_str(&session) {
                        reply.headers_mut().insert(SESSION, session);
                    }
                    reply
                },
            )
        }
        Message::Request { id, method, params } => match asked.answer(&id, &method, params).await {
            Ok(result) => result_reply(&id, &result),
            Err(refusal) => refusal.render(&id),
        },
    })
}

/// `GET` of the same: the event stream that the transport expects. Nothing but signs of life are sent on it.
async fn get(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let opened = admitted(&shell, &req).and_then(|_| {
        let session = known(&shell, req.header(&SESSION))?;
        shell.agents.stream(session).ok_or_else(error::unknown_session)
    });
    Ok(match opened {
        Ok(end) => {
            let session = req.header(&SESSION).unwrap_or_default().to_owned();
            stream::open(Arc::clone(&shell), session, end)
        }
        Err(refusal) => refusal.render(&Value::Null),
    })
}

/// `DELETE` of the same.
async fn delete(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let closed = admitted(&shell, &req).and_then(|_| {
        let session = known(&shell, req.header(&SESSION))?;
        shell.agents.close(session);
        Ok(())
    });
    Ok(match closed {
        Ok(()) => crate::rest::no_content(),
        Err(refusal) => refusal.render(&Value::Null),
    })
}

/// Refuses pages of foreign origins, and unknown toolsets, before any work is done.
fn admitted(shell: &Shell, req: &Req) -> Result<Toolset, Refusal> {
    check_origin(&req.headers, &shell.config.allowed_origins)
        .map_err(|e| Refusal::new(Kind::Denied, e.message))?;
    Toolset::asked(req.param("toolset"), &req.headers)
}

/// The connection that a request belongs to.
fn known<'a>(shell: &Shell, session: Option<&'a str>) -> Result<&'a str, Refusal> {
    let session = session.ok_or_else(|| {
        Refusal::new(
            Kind::NoSession,
            "the header mcp-session-id is missing; send what initialize gave",
        )
    })?;
    if shell.agents.touch(session) { Ok(session) } else { Err(error::unknown_session()) }
}

fn initialize(
    shell: &Shell,
    peer: std::net::IpAddr,
    params: &Value,
) -> Result<(Value, String), Refusal> {
    let asked = params.get("protocolVersion").and_then(Value::as_str).ok_or_else(|| {
        Refusal::new(Kind::Params, "initialize needs params.protocolVersion as a text")
    })?;
    let version = VERSIONS.into_iter().find(|v| *v == asked).unwrap_or(VERSIONS[0]);
    let result = json!({
        "protocolVersion": version,
        "capabilities": manifest::capabilities(),
        "serverInfo": manifest::server_info(),
        "instructions": instructions::TEXT,
    });
    Ok((result, shell.agents.open(peer)))
}

/// A message and what came with it.
struct Asked {
    shell: Arc<Shell>,
    /// The request that brought it.
    hit: Arc<Hit>,
    /// The tools that are listed.
    toolset: Toolset,
    session: Option<String>,
    version: Option<String>,
    credential: Option<String>,
    /// The address of this server as the client wrote it.
    base: String,
}

impl Asked {
    fn notified(&self, method: &str, params: &Value) -> Result<Reply, Refusal> {
        if let Some(session) = self.session.as_deref() {
            known(&self.shell, Some(session))?;
            if method == "notifications/cancelled"
                && let Some(id) = params.get("requestId")
            {
                self.shell.agents.cancel(session, id);
            }
        }
        Ok(accepted())
    }

    async fn answer(&self, id: &Value, method: &str, params: Value) -> Result<Value, Refusal> {
        let session = known(&self.shell, self.session.as_deref())?;
        if let Some(version) = self.version.as_deref()
            && !VERSIONS.contains(&version)
        {
            let text = format!(
                "the header MCP-Protocol-Version is {:?}; use one of {}",
                version.chars().take(40).collect::<String>(),
                VERSIONS.join(", ")
            );
            return Err(Refusal::new(Kind::Params, text));
        }
        match method {
            "ping" => Ok(json!({})),
            "tools/list" => Ok(tool::list(self.toolset)),
            "tools/call" => self.call(Some((session, id)), params).await,
            _ => match self.resources(method, &params).await {
                Some(told) => told,
                None => Err(unknown_method(method, "initialize, ping")),
            },
        }
    }

    /// Answers a request that stands alone: nothing is remembered of others.
    async fn answer_alone(
        &self,
        method: &str,
        params: Value,
        headers: &http::HeaderMap,
    ) -> Result<Value, Refusal> {
        modern::check(method, &params, headers)?;
        match method {
            "server/discover" => Ok(modern::discover()),
            "tools/list" => Ok(tool::list(self.toolset)),
            "tools/call" => self.call(None, params).await,
            _ => match self.resources(method, &params).await {
                Some(told) => told,
                None => Err(unknown_method(method, "server/discover")),
            },
        }
    }

    /// What a method of resources answers; nothing for another method.
    async fn resources(&self, method: &str, params: &Value) -> Option<Result<Value, Refusal>> {
        Some(match method {
            "resources/templates/list" => Ok(json!({ "resourceTemplates": [] })),
            "resources/list" | "resources/read" => match self.caller() {
                Err(refusal) => Err(refusal),
                Ok(who) if method == "resources/list" => {
                    resources::list(&self.shell.service, &who, &self.base, params).await
                }
                Ok(who) => resources::read(&self.shell.service, &who, &self.base, params).await,
            },
            _ => return None,
        })
    }

    /// Whose credential it is: checked at every call, and never because of a known connection.
    fn caller(&self) -> Result<graphlume_service::Principal, Refusal> {
        let credential = self.credential.as_deref().ok_or_else(no_credential)?;
        let access = self.shell.service.identity.access_version();
        let who = self.shell.service.identity.authenticate_tool(credential).map_err(checked)?;
        self.hit.known(&who, access);
        if !who.may_use_graph_language() {
            return Err(Refusal::new(
                Kind::FeatureOff,
                "natural-language graph tools are off for this account; its administrator turns them \
                 on",
            ));
        }
        Ok(who)
    }
}

fn no_credential() -> Refusal {
    let text = "this method needs Authorization: Bearer <key id>:<key>, or Bearer <token>";
    Refusal::new(Kind::Unauthenticated, text)
}

fn unknown_method(method: &str, era: &str) -> Refusal {
    let shown: String = method.chars().take(80).collect();
    let text = format!(
        "there is no method {shown:?}; use {era}, tools/list, tools/call, resources/list or \
         resources/read"
    );
    Refusal::new(Kind::Unknown, text)
}

/// A credential that is wrong, or that could not be checked: never allowed.
fn checked(error: impl Into<ServiceError>) -> Refusal {
    let error = error.into();
    match error.code() {
        Code::Unauthenticated => Refusal::new(Kind::Unauthenticated, error.to_string()),
        _ => {
            tracing::warn!(slug = error.slug(), %error, "a credential could not be checked");
            Refusal::new(Kind::Unchecked, "the credential could not be checked; try again")
        }
    }
}

fn accepted() -> Reply {
    let mut reply = Response::new(Bytes::new());
    *reply.status_mut() = StatusCode::ACCEPTED;
    reply
}

fn result_reply(id: &Value, result: &Value) -> Reply {
    let body = json!({"jsonrpc": "2.0", "id": id, "result": result});
    let mut reply = Response::new(Bytes::from(body.to_string()));
    reply.headers_mut().insert(CONTENT_TYPE, JSON);
    reply
}

impl Refusal {
    /// The answer to the request of this id.
    fn render(&self, id: &Value) -> Reply {
        let mut error = json!({"code": self.code(), "message": self.message});
        if let Some(data) = &self.data {
            error["data"] = data.as_ref().clone();
        }
        let body = json!({"jsonrpc": "2.0", "id": id, "error": error});
        let mut reply = Response::new(Bytes::from(body.to_string()));
        *reply.status_mut() = self.status();
        if reply.status().is_client_error() {
            say_why(&mut reply, &self.message);
        }
        let headers = reply.headers_mut();
        headers.insert(CONTENT_TYPE, JSON);
        if self.kind == Kind::Unauthenticated {
            let challenge = HeaderValue::from_static("Bearer realm=\"graphlume\"");
            headers.insert(WWW_AUTHENTICATE, challenge);
        }
        reply
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_fails_never_allows() {
        let refusal = checked(ServiceError::Internal("the store is poisoned".to_owned()));
        assert_eq!(refusal.kind, Kind::Unchecked);
        assert!(!refusal.message.contains("poisoned"));
        assert_eq!(
            checked(graphlume_service::IdentityError::BadCredentials).kind,
            Kind::Unauthenticated
        );
        assert_eq!(
            checked(graphlume_service::IdentityError::TokenExpired).kind,
            Kind::Unauthenticated
        );
    }
}
