//! Live visualizations in the REST interface (spec 4.6).

use std::sync::Arc;

use graphlume_service::Principal;

use super::ok;
use crate::query;
use crate::reply::Reply;
use crate::request::Req;
use crate::rest::shapes::SESSION;
use crate::route::{Route, run};
use crate::schema::Shape::{Bool, List, Object};
use crate::schema::{must, parameter, returns};
use crate::state::Shell;
use crate::status::ApiError;

pub(crate) const ROUTES: &[Route] = &[
    Route::get(
        "/api/experimental/viz/sessions/",
        run!(Bearer list),
        &[returns(
            Object(&[must("results", List(&SESSION), "Newest first.")]),
            "The visualizations",
        )],
        "Lists the caller's live visualizations; administrators see everybody's with all=true.",
    )
    .query(&[parameter("all", Bool, "Everybody's, for administrators.")]),
    Route::get(
        "/api/experimental/viz/sessions/{session_id}/",
        run!(Bearer get),
        &[returns(SESSION, "The visualization")],
        "Returns one live visualization.",
    ),
];

pub(crate) async fn list(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let pairs = req.pairs();
    // Only administrators are given all; whether the caller is one is the service's to say.
    let all = query::last(&pairs, "all").is_some_and(|v| matches!(v, "1" | "true" | "True"));
    ok(&shell.service.sessions.list(&who, all).await?)
}

pub(crate) async fn get(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    ok(&shell.service.sessions.get(&who, req.param("session_id")).await?)
}
