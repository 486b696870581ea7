//! Token routes (spec 4.1) and the switch of the active organization.

use std::sync::Arc;

use graphlume_service::{Caller, Principal};
use graphlume_types::{Code, limits};
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue, SET_COOKIE};

use super::ok;
use crate::config::{KNOWN_COOKIE, SESSION_COOKIE};
use crate::query;
use crate::reply::Reply;
use crate::request::Req;
use crate::rest::shapes::{LOGIN, STATUS};
use crate::route::{RequestBody, Route, run};
use crate::schema::Shape::{Nullable, Object, Text};
use crate::schema::{Shape, Success, may, must, parameter, returns};
use crate::state::Shell;
use crate::status::ApiError;
use crate::ws::is_own_page;

const PASSWORD: Shape = Object(&[
    must("username", Text, "Login name."),
    must("password", Text, ""),
    may("org_name", Nullable(&Text), "The organization to act in."),
]);
const TOKEN: Shape = Object(&[must("token", Text, "The JWT.")]);
const SIGNED_IN: &[Success] = &[returns(LOGIN, "Signed in")];
const SIGN_IN: &str = "Signs in with username and password.";
const REFRESH: &str = "Exchanges a valid token for a fresh one.";
const PERSONAL_KEY: &str = "Signs in with a personal key; the body may name an organization.";
const ORG: Shape = Object(&[may("org_name", Nullable(&Text), "The organization to act in.")]);

pub(crate) const ROUTES: &[Route] = &[
    Route::post(
        "/api-token-auth/",
        run!(Credentials login),
        RequestBody::Json(PASSWORD),
        SIGNED_IN,
        SIGN_IN,
    ),
    Route::post(
        "/api/v2/auth/token/generate",
        run!(Credentials login),
        RequestBody::Json(PASSWORD),
        SIGNED_IN,
        SIGN_IN,
    ),
    Route::get("/api/v2/auth/pkey/jwt/", run!(PersonalKey personal_key), SIGNED_IN, PERSONAL_KEY)
        .taking(RequestBody::OptionalJson(ORG))
        .query(&[parameter("org_name", Text, "The organization to act in.")]),
    Route::post(
        "/api/v2/auth/pkey/jwt/",
        run!(PersonalKey personal_key),
        RequestBody::OptionalJson(ORG),
        SIGNED_IN,
        PERSONAL_KEY,
    )
    .query(&[parameter("org_name", Text, "The organization to act in.")]),
    Route::post(
        "/api/v2/auth/token/refresh",
        run!(Credentials refresh),
        RequestBody::Json(TOKEN),
        &[returns(TOKEN, "A fresh token")],
        REFRESH,
    ),
    Route::post(
        "/api-token-refresh/",
        run!(Credentials refresh),
        RequestBody::Json(TOKEN),
        &[returns(TOKEN, "A fresh token")],
        REFRESH,
    ),
    Route::post(
        "/api-token-verify/",
        run!(Credentials verify),
        RequestBody::Json(TOKEN),
        &[returns(TOKEN, "The token is valid")],
        "Tells whether a token is valid.",
    ),
    Route::post(
        "/api/v2/o/{slug}/switch/",
        run!(Switch switch_org),
        RequestBody::Form(Object(&[may("slug", Text, "The organization again; not looked at.")])),
        &[returns(STATUS, "Switched")],
        "Makes an organization the active one.",
    ),
];

/// Adds the cookie that lets this browser open what its user may see. A page of another site gets none:
/// it could sign the browser in to an account of its own.
pub(super) fn with_cookie(
    shell: &Shell,
    headers: &HeaderMap,
    mut reply: Reply,
    token: &str,
) -> Result<Reply, ApiError> {
    if !is_own_page(headers, &shell.config.allowed_origins) {
        return Ok(reply);
    }
    set_cookie(&mut reply, &shell.config.cookie.set_token(token))?;
    Ok(reply)
}

fn set_cookie(reply: &mut Reply, text: &str) -> Result<(), ApiError> {
    let cookie = HeaderValue::from_str(text).map_err(|_| {
        ApiError::new(Code::Internal, "internal", "the token cannot be written into a cookie")
    })?;
    reply.headers_mut().append(SET_COOKIE, cookie);
    Ok(())
}

pub(crate) async fn login(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let browser = req.cookie(KNOWN_COOKIE).map(str::to_owned);
    let (from, headers) = (Caller { address: req.client(&shell), browser }, req.headers.clone());
    // Other servers of this host may use a cookie of that name, too: theirs stays.
    let session = req.cookie(SESSION_COOKIE);
    let was_guest = session.is_some_and(|s| shell.service.identity.authenticate_login(s).is_ok());
    let body = req.json_within(limits::LOGIN_BODY_BYTES_MAX).await?;
    let reply = shell.service.identity.login(&body, from).await?;
    let mut out = with_cookie(&shell, &headers, ok(&reply)?, &reply.token)?;
    if was_guest && out.headers().contains_key(SET_COOKIE) {
        // Or the browser would be that guest again once the token has expired.
        set_cookie(&mut out, &shell.config.cookie.end_session())?;
    }
    Ok(out)
}

pub(crate) async fn personal_key(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let authorization = req.header(&AUTHORIZATION).map(str::to_owned);
    let (pairs, headers) = (req.pairs(), req.headers.clone());
    let body = req.json_within(limits::LOGIN_BODY_BYTES_MAX).await?;
    let org = query::last(&pairs, "org_name");
    let reply = shell.service.identity.pkey_login(authorization.as_deref(), &body, org).await?;
    with_cookie(&shell, &headers, ok(&reply)?, &reply.token)
}

pub(crate) async fn refresh(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let headers = req.headers.clone();
    let body = req.json_within(limits::LOGIN_BODY_BYTES_MAX).await?;
    let reply = shell.service.identity.refresh(&body).await?;
    with_cookie(&shell, &headers, ok(&reply)?, &reply.token)
}

pub(crate) async fn verify(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let body = req.json_within(limits::LOGIN_BODY_BYTES_MAX).await?;
    ok(&shell.service.identity.verify(&body).await?)
}

pub(crate) async fn switch_org(
    shell: Arc<Shell>,
    req: Req,
    who: Principal,
) -> Result<Reply, ApiError> {
    let slug = req.param("slug").to_owned();
    // The form repeats the slug; the address is what counts.
    req.body.collect(limits::JSON_BODY_BYTES_MAX).await?;
    ok(&shell.service.identity.switch_org(&who, &slug).await?)
}
