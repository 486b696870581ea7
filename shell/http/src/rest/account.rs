//! What a person who is signed in changes of the own account.

use std::sync::Arc;

use graphlume_service::Caller;
use graphlume_types::limits;
use http::StatusCode;

use super::tokens::with_cookie;
use super::{json, no_content, ok};
use crate::config::KNOWN_COOKIE;
use crate::request::{Reply, Req};
use crate::shell::Shell;
use crate::status::ApiError;

pub(crate) async fn password(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    let browser = req.cookie(KNOWN_COOKIE).map(str::to_owned);
    let (from, headers) = (Caller { address: req.client(&shell), browser }, req.headers.clone());
    let body = req.json_within(limits::LOGIN_BODY_BYTES_MAX).await?;
    let reply = shell.service.identity.change_password(&who, &body, from).await?;
    with_cookie(&shell, &headers, ok(&reply)?, &reply.token)
}

pub(crate) async fn keys(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    ok(&shell.service.identity.own_keys(&who).await?)
}

pub(crate) async fn create_key(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    let body = req.json_within(limits::LOGIN_BODY_BYTES_MAX).await?;
    json(StatusCode::CREATED, &shell.service.identity.create_own_key(&who, &body).await?)
}

pub(crate) async fn revoke_key(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    shell.service.identity.revoke_own_key(&who, req.param("key_id")).await?;
    Ok(no_content())
}
