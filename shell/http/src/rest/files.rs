//! File routes (spec 4.2).

use std::sync::Arc;

use graphlume_types::Code;
use http::StatusCode;

use super::{json, listed, no_content, ok};
use crate::request::{Reply, Req};
use crate::shell::Shell;
use crate::status::ApiError;

pub(crate) async fn list(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    Ok(listed(shell.service.list_files(&who, req.page(&shell)).await?))
}

pub(crate) async fn create(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    let body = req.json().await?;
    json(StatusCode::CREATED, &shell.service.create_file(&who, &body).await?)
}

pub(crate) async fn get(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    ok(&shell.service.get_file(&who, req.param("file_id")).await?)
}

pub(crate) async fn delete(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    shell.service.delete_file(&who, req.param("file_id")).await?;
    Ok(no_content())
}

pub(crate) async fn patch(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    let id = req.param("file_id").to_owned();
    let body = req.json().await?;
    ok(&shell.service.patch_file(&who, &id, &body).await?)
}

pub(crate) async fn upload(shell: Arc<Shell>, mut req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    check_declared(&shell, &req)?;
    let (id, pairs, declared) = (req.param("file_id").to_owned(), req.pairs(), req.body.declared());
    let mut upload = shell.service.begin_file_upload(&who, &id, pairs, declared).await?;
    let mut total = 0;
    while let Some(piece) = req.body.next().await? {
        total = count(&shell, total, piece.len())?;
        upload.write(piece).await?;
    }
    ok(&upload.finish().await?)
}

/// Refuses a body that says beforehand that it is too large.
pub(crate) fn check_declared(shell: &Shell, req: &Req) -> Result<(), ApiError> {
    let limit = shell.config.upload_bytes_max;
    match req.body.declared() {
        Some(declared) if declared > limit => Err(too_large(limit)),
        _ => Ok(()),
    }
}

/// Adds a piece to the bytes received so far, which must stay within the limit.
pub(crate) fn count(shell: &Shell, total: u64, piece: usize) -> Result<u64, ApiError> {
    let piece = piece as u64;
    shell.metrics.upload_bytes.inc_by(piece);
    let limit = shell.config.upload_bytes_max;
    let total = total + piece;
    if total > limit { Err(too_large(limit)) } else { Ok(total) }
}

fn too_large(limit: u64) -> ApiError {
    ApiError::new(
        Code::TooLarge,
        "upload-too-large",
        format!("the upload exceeds the limit of {limit} bytes; split it or raise the limit"),
    )
}
