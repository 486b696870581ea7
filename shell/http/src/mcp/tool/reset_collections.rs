//! `reset_collections`.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use graphlume_service::ToolAccess;

use super::{Call, Outcome, Tool, ToolError, only_session};

pub(super) static TOOL: Tool = Tool {
    name: "reset_collections",
    title: "Remove all colours",
    description: "Removes every collection of a visualization, so that the picture has its own colours \
                  again on every open page. This cannot be undone. Returns {removed: number of \
                  collections}. To remove one collection only, use delete_collection.",
    access: ToolAccess::Owner,
    idempotent: true,
    destructive: true,
    schema: only_session,
    example: r##"{"session_id":"ring"}"##,
    run,
};

fn run(mut call: Call) -> BoxFuture<'static, Result<Outcome, ToolError>> {
    async move {
        let live = call.only_live(TOOL.access).await?;
        Ok(Outcome::Json(call.service.agents.reset_collections(&live).await?))
    }
    .boxed()
}
