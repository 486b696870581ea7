//! Login links and logouts (spec 4.1): what an administrator asks for. Both change something although they
//! are GETs, so they take an `Authorization` header and never a cookie, and answer no HEAD.

use std::sync::Arc;

use graphlume_types::Code;
use serde_json::json;

use super::ok;
use crate::query;
use crate::request::{Reply, Req};
use crate::route::MAGIC_LOGIN;
use crate::shell::Shell;
use crate::status::{ApiError, Problem};

pub(crate) async fn mint(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    let base = req.base(&shell);
    if base.is_empty() {
        let text = "the header Host names no host, so that the link would lead nowhere; send it";
        return Err(ApiError::invalid("invalid-argument", text).at("Host"));
    }
    let pairs = req.pairs();
    let (username, dataset) = (query::last(&pairs, "username"), query::last(&pairs, "dataset_id"));
    let minted = shell.service.datasets.mint_link(&who, username, dataset).await;
    let token = minted.map_err(|e| {
        let error = ApiError::from(e);
        // The one thing here that may not be there.
        let absent = error.problem == Problem::Coded(Code::NotFound);
        if absent { error.at("dataset_id") } else { error }
    })?;
    let name = &shell.config.link_token_name;
    ok(&json!({ "single_use_url": format!("{base}{MAGIC_LOGIN}?{name}={token}") }))
}

pub(crate) async fn logout_user(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let who = req.principal(&shell.service)?;
    ok(&shell.service.identity.logout_user(&who, req.param("username")).await?)
}
