//! Live visualizations in the REST interface (spec 4.6).

use std::sync::Arc;

use super::ok;
use crate::query;
use crate::request::{Reply, Req};
use crate::shell::Shell;
use crate::status::ApiError;

pub(crate) async fn list(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    let pairs = req.pairs();
    // Only administrators are given all; whether the caller is one is the service's to say.
    let all = query::last(&pairs, "all").is_some_and(|v| matches!(v, "1" | "true" | "True"));
    ok(&shell.service.sessions.list(&who, all).await?)
}

pub(crate) async fn get(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    ok(&shell.service.sessions.get(&who, req.param("session_id")).await?)
}
