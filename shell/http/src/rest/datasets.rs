//! Dataset routes (spec 4.3 to 4.5 and 4.8) and sharing.

use std::sync::Arc;

use graphlume_service::Part;
use graphlume_types::{Code, Notice};
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, Response, StatusCode};

use super::{json, listed, no_content, ok};
use crate::request::{Reply, Req};
use crate::route::Endpoint;
use crate::shell::Shell;
use crate::status::ApiError;

pub(crate) async fn list(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    Ok(listed(shell.service.datasets.list(&who, req.page(&shell)).await?))
}

pub(crate) async fn create(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    let body = req.json().await?;
    json(StatusCode::CREATED, &shell.service.datasets.create(&who, &body).await?)
}

/// A create whose body may name algorithms to run.
pub(crate) async fn create_computed(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    let body = req.json().await?;
    json(StatusCode::CREATED, &shell.service.datasets.create_computed(&who, &body).await?)
}

/// What such a body may name.
pub(crate) fn schema() -> Result<Reply, ApiError> {
    ok(&graphlume_engine::schema())
}

pub(crate) async fn get(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    ok(&shell.service.datasets.get(&who, req.param("dataset_id")).await?)
}

pub(crate) async fn delete(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    shell.service.delete_dataset(&who, req.param("dataset_id")).await?;
    Ok(no_content())
}

/// Nodes or edges straight into a dataset; the row says which.
pub(crate) async fn direct(shell: Arc<Shell>, mut req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    let part = match req.hit.route.endpoint {
        Endpoint::DirectNodes => Part::Nodes,
        _ => Part::Edges,
    };
    let id = req.param("dataset_id").to_owned();
    let format = req.param("format").to_owned();
    let (pairs, declared) = (req.pairs(), req.body.declared());
    let mut upload =
        shell.service.datasets.begin_part_upload(&who, &id, part, &format, pairs, declared).await?;
    while let Some(piece) = req.body.next().await? {
        shell.metrics.upload_bytes.inc_by(piece.len() as u64);
        upload.write(piece).await?;
    }
    ok(&upload.finish().await?)
}

/// A query; the last part of the address says what its answer holds.
pub(crate) async fn query(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    let id = req.param("dataset_id").to_owned();
    let output = match req.hit.route.endpoint {
        Endpoint::DatasetQueryAll => "all".to_owned(),
        _ => req.param("output_type").to_owned(),
    };
    let body = req.json().await?;
    let answer = shell.service.queries.query(&who, &id, &output, &body).await?;
    let mut reply = Response::new(answer.body);
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(answer.media_type));
    if let Some(said) = notices_header(&answer.notices) {
        reply.headers_mut().insert(NOTICES, said);
    }
    Ok(reply)
}

/// The header of answers whose format has no place for notices.
const NOTICES: HeaderName = HeaderName::from_static("x-graphlume-notices");
/// Notices that the header holds at most.
const HEADER_NOTICES_MAX: usize = 5;

/// The first notices as JSON; what is not ASCII is escaped.
fn notices_header(notices: &[Notice]) -> Option<HeaderValue> {
    if notices.is_empty() {
        return None;
    }
    let json = serde_json::to_string(&notices[..notices.len().min(HEADER_NOTICES_MAX)]).ok()?;
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii_graphic() || c == ' ' {
            text.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    HeaderValue::from_str(&text).ok()
}

/// Code of clients is never run here.
pub(crate) async fn no_python(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    req.principal(&shell.service)?;
    Err(ApiError::new(
        Code::Forbidden,
        "unsupported-operation",
        "this server runs no Python code; ask with gfql_remote instead of python_remote",
    ))
}

pub(crate) async fn share(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    let body = req.json().await?;
    ok(&shell.service.datasets.share(&who, &body).await?)
}
