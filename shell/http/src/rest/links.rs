//! Login links and logouts (spec 4.1): what an administrator asks for. Both change something although they
//! are GETs, so they take an `Authorization` header and never a cookie, and answer no HEAD.

use std::sync::Arc;

use graphlume_service::Principal;
use graphlume_types::Code;
use serde_json::json;

use super::ok;
use crate::magic::MAGIC_LOGIN;
use crate::query;
use crate::reply::Reply;
use crate::request::Req;
use crate::rest::shapes::STATUS;
use crate::route::{Route, run};
use crate::schema::Shape::{Address, Object, Text};
use crate::schema::{Success, must, parameter, returns};
use crate::state::Shell;
use crate::status::{ApiError, Problem};

const LOGOUT: &str = "Ends all access of a user at once; for staff and superusers.";
const LOGGED_OUT: &[Success] = &[returns(STATUS, "Logged out")];

pub(crate) const ROUTES: &[Route] = &[
    Route::get(
        "/api/v2/generate/single-use-url/",
        run!(Bearer mint),
        &[returns(Object(&[must("single_use_url", Address, "The link.")]), "The link")],
        "Mints a login link for a guest and one dataset; for staff and superusers.",
    )
    .query(&[
        parameter("username", Text, "The guest.").required(),
        parameter("dataset_id", Text, "What the guest is shown.").required(),
    ])
    .changing(),
    Route::get("/api/v2/logout-user/{username}/", run!(Bearer logout_user), LOGGED_OUT, LOGOUT)
        .changing(),
    Route::get(
        "/api/v2/logout-user/username/{username}/",
        run!(Bearer logout_user),
        LOGGED_OUT,
        LOGOUT,
    )
    .changing(),
];

pub(crate) async fn mint(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
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

pub(crate) async fn logout_user(
    shell: Arc<Shell>,
    req: Req,
    who: Principal,
) -> Result<Reply, ApiError> {
    ok(&shell.service.identity.logout_user(&who, req.param("username")).await?)
}
