//! Handlers: each takes a request apart, asks the service, and writes down what it said.

pub(crate) mod account;
pub(crate) mod datasets;
pub(crate) mod depth;
pub(crate) mod facets;
pub(crate) mod files;
pub(crate) mod groups;
pub(crate) mod health;
pub(crate) mod jobs;
pub(crate) mod links;
pub(crate) mod picture;
mod ranges;
pub(crate) mod sessions;
mod shapes;
pub(crate) mod tokens;
pub(crate) mod viz;

use bytes::Bytes;
use graphlume_service::Page;
use graphlume_types::Code;
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use serde::Serialize;

use crate::reply::Reply;
use crate::status::{ApiError, JSON};

/// A JSON answer.
pub(crate) fn json<T: Serialize>(status: StatusCode, body: &T) -> Result<Reply, ApiError> {
    let text = serde_json::to_vec(body).map_err(|e| {
        ApiError::new(Code::Internal, "internal", format!("cannot write JSON: {e}"))
    })?;
    let mut reply = Response::new(Bytes::from(text));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, JSON);
    Ok(reply)
}

/// A JSON answer with status 200.
pub(crate) fn ok<T: Serialize>(body: &T) -> Result<Reply, ApiError> {
    json(StatusCode::OK, body)
}

/// A page of a list, which the service has written out.
pub(crate) fn listed(page: Page) -> Reply {
    let mut reply = Response::new(page.body);
    reply.headers_mut().insert(CONTENT_TYPE, JSON);
    reply
}

/// The answer to a delete.
pub(crate) fn no_content() -> Reply {
    let mut reply = Response::new(Bytes::new());
    *reply.status_mut() = StatusCode::NO_CONTENT;
    reply
}
