//! The third coordinate of nodes, for a page that shows them in space.

use std::sync::Arc;

use graphlume_service::Principal;

use super::ok;
use super::viz::{BYTES, DATASET, answered, binary, grant, number};
use crate::reply::Reply;
use crate::request::Req;
use crate::route::{Route, run};
use crate::schema::Shape::{Count, Object};
use crate::schema::{must, returns, returns_bytes};
use crate::state::Shell;
use crate::status::ApiError;

pub(crate) const ROUTES: &[Route] = &[Route::get(
    "/viz/{session_id}/{epoch}/depth.bin",
    run!(Viewer depth),
    &[returns_bytes(BYTES, "The third coordinates")],
    "The third coordinate of every node as one frame of u16 steps, 65535 for none; 404 where nodes have none.",
)
.query(&[DATASET]), Route::get(
    "/viz/{session_id}/sizes",
    run!(Viewer sizes),
    &[returns(Object(&[must("nodes", Count, "Nodes"), must("edges", Count, "Edges")]), "Sizes")],
    "How many nodes and edges the graph has.",
)
.query(&[DATASET])];

async fn depth(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let epoch = number(&req, "epoch")?;
    let grant = grant(&shell, &req, &who).await?;
    let frame = answered(shell.service.sessions.reads(&grant).depth(epoch)).await?;
    Ok(binary(shell.service.sessions.hold_frame(&grant, frame).await?))
}

async fn sizes(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let grant = grant(&shell, &req, &who).await?;
    let [nodes, edges] = answered(shell.service.sessions.reads(&grant).sizes()).await?;
    ok(&serde_json::json!({"nodes": nodes, "edges": edges}))
}
