//! Addresses that were removed long ago; old clients deserve a clear word.

use std::sync::Arc;

use graphlume_types::Code;

use crate::reply::Reply;
use crate::request::Req;
use crate::route::{RequestBody, Route, run};
use crate::state::Shell;
use crate::status::ApiError;

pub(crate) const ROUTES: &[Route] = &[
    Route::post(
        "/etl",
        run!(Public gone),
        RequestBody::Raw,
        &[],
        "Removed: use /api/v2/upload/datasets/.",
    )
    .either(),
    Route::get("/etl", run!(Public gone), &[], "Removed: use /api/v2/upload/datasets/.").either(),
    Route::get("/api/check", run!(Public gone), &[], "Removed: use /api-token-verify/.").either(),
];

async fn gone(_: Arc<Shell>, _: Req) -> Result<Reply, ApiError> {
    Err(ApiError::new(
        Code::Gone,
        "removed",
        "this address was removed long ago; use a client that speaks /api/v2/",
    ))
}
