//! `list_collections`.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use graphlume_service::ToolAccess;

use super::{Call, Outcome, Tool, ToolError, only_session};

pub(super) static TOOL: Tool = Tool {
    name: "list_collections",
    title: "List the colours",
    description: "Lists the collections of a visualization, the one that is painted on top first: \
                  {collections: [{id, name, position, color, palette, description, matchCount}], \
                  background}. Use it to find the collection_id that update_collection, delete_collection \
                  and reorder_collections need. matchCount is the number of coloured elements, or null \
                  while it is unknown. background is the built-in global layer below all collections; it \
                  cannot be changed or deleted.",
    access: ToolAccess::Read,
    idempotent: true,
    destructive: false,
    schema: only_session,
    example: r##"{"session_id":"ring"}"##,
    run,
};

fn run(mut call: Call) -> BoxFuture<'static, Result<Outcome, ToolError>> {
    async move {
        let live = call.only_live(TOOL.access).await?;
        Ok(Outcome::Json(call.service.agents.list_collections(&live).await?))
    }
    .boxed()
}
