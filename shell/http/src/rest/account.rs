//! Routes of the own account, for a person who is signed in.

use std::sync::Arc;

use graphlume_service::{Caller, Principal};
use graphlume_types::limits;
use http::{Method, StatusCode};

use super::tokens::with_cookie;
use super::{json, no_content, ok};
use crate::config::KNOWN_COOKIE;
use crate::reply::Reply;
use crate::request::Req;
use crate::rest::shapes::{KEY, LOGIN};
use crate::route::{RequestBody, Route, run};
use crate::schema::Shape::{Count, List, Nullable, Object, Text};
use crate::schema::{creates, may, must, returns, returns_nothing};
use crate::state::Shell;
use crate::status::ApiError;

pub(crate) const ROUTES: &[Route] = &[
    Route::post(
        "/api/v2/users/me/password/",
        run!(Bearer password),
        RequestBody::Json(Object(&[
            must("old_password", Text, "The password until now."),
            must("new_password", Text, "The password from now on."),
        ])),
        &[returns(LOGIN, "Changed; a fresh token")],
        "Replaces the caller's password: old_password, new_password. Ends every login; answers a fresh token.",
    ),
    Route::get(
        "/api/v2/users/me/keys/",
        run!(Bearer keys),
        &[returns(
            Object(&[must("count", Count, ""), must("results", List(&KEY), "Newest first.")]),
            "The keys",
        )],
        "Lists the caller's personal keys.",
    ),
    Route::post(
        "/api/v2/users/me/keys/",
        run!(Bearer create_key),
        RequestBody::OptionalJson(Object(&[may("label", Nullable(&Text), "What to call it.")])),
        &[creates(KEY, "The key, with its secret")],
        "Makes a personal key; the body may give a label. Its secret is in this answer alone.",
    ),
    Route::new(
        Method::DELETE,
        "/api/v2/users/me/keys/{key_id}/",
        run!(Bearer revoke_key),
        &[returns_nothing(204, "Revoked")],
        "Revokes a personal key of the caller's and ends the tokens made with it.",
    ),
];

pub(crate) async fn password(
    shell: Arc<Shell>,
    req: Req,
    who: Principal,
) -> Result<Reply, ApiError> {
    let browser = req.cookie(KNOWN_COOKIE).map(str::to_owned);
    let (from, headers) = (Caller { address: req.client(&shell), browser }, req.headers.clone());
    let body = req.json_within(limits::LOGIN_BODY_BYTES_MAX).await?;
    let reply = shell.service.identity.change_password(&who, &body, from).await?;
    with_cookie(&shell, &headers, ok(&reply)?, &reply.token)
}

pub(crate) async fn keys(shell: Arc<Shell>, _: Req, who: Principal) -> Result<Reply, ApiError> {
    ok(&shell.service.identity.own_keys(&who).await?)
}

pub(crate) async fn create_key(
    shell: Arc<Shell>,
    req: Req,
    who: Principal,
) -> Result<Reply, ApiError> {
    let body = req.json_within(limits::LOGIN_BODY_BYTES_MAX).await?;
    json(StatusCode::CREATED, &shell.service.identity.create_own_key(&who, &body).await?)
}

pub(crate) async fn revoke_key(
    shell: Arc<Shell>,
    req: Req,
    who: Principal,
) -> Result<Reply, ApiError> {
    shell.service.identity.revoke_own_key(&who, req.param("key_id")).await?;
    Ok(no_content())
}
