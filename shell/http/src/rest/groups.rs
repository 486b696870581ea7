//! The groups of nodes of the view from afar.

use std::sync::Arc;

use graphlume_service::Principal;

use super::viz::{BYTES, DATASET, answered, binary, grant, number};
use crate::reply::Reply;
use crate::request::Req;
use crate::route::{Route, run};
use crate::schema::returns_bytes;
use crate::state::Shell;
use crate::status::ApiError;

pub(crate) const ROUTES: &[Route] = &[Route::get(
    "/viz/{session_id}/{epoch}/groups.bin",
    run!(Viewer groups),
    &[returns_bytes(BYTES, "The groups")],
    "The group of every node for the view from afar, as one frame; the first call looks for communities.",
)
.query(&[DATASET])
.waiting()];

async fn groups(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let epoch = number(&req, "epoch")?;
    let grant = grant(&shell, &req, &who).await?;
    let frame = answered(shell.service.sessions.reads(&grant).groups(epoch)).await?;
    Ok(binary(shell.service.sessions.hold_frame(&grant, frame).await?))
}
