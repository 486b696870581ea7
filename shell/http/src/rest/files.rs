//! File routes (spec 4.2).

use std::sync::Arc;

use http::StatusCode;

use super::{json, listed, no_content, ok};
use crate::request::{Reply, Req};
use crate::shell::Shell;
use crate::status::ApiError;

pub(crate) async fn list(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    Ok(listed(shell.service.files.list(&who, req.page(&shell)).await?))
}

pub(crate) async fn create(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    let body = req.json().await?;
    json(StatusCode::CREATED, &shell.service.files.create(&who, &body).await?)
}

pub(crate) async fn get(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    ok(&shell.service.files.get(&who, req.param("file_id")).await?)
}

pub(crate) async fn delete(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    shell.service.files.delete(&who, req.param("file_id")).await?;
    Ok(no_content())
}

pub(crate) async fn patch(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    let id = req.param("file_id").to_owned();
    let body = req.json().await?;
    ok(&shell.service.files.patch(&who, &id, &body).await?)
}

pub(crate) async fn upload(shell: Arc<Shell>, mut req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    let (id, pairs, declared) = (req.param("file_id").to_owned(), req.pairs(), req.body.declared());
    let mut upload = shell.service.files.begin_upload(&who, &id, pairs, declared).await?;
    while let Some(piece) = req.body.next().await? {
        shell.metrics.upload_bytes.inc_by(piece.len() as u64);
        upload.write(piece).await?;
    }
    ok(&upload.finish().await?)
}
