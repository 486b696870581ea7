//! `reset_collections`.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use graphlume_service::ToolAccess;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Call, Outcome, Tool, ToolError, object, session_id};

pub(super) static TOOL: Tool = Tool {
    name: "reset_collections",
    title: "Remove all colours",
    description: "Removes every collection of a visualization, so that the picture has its own colours \
                  again on every open page. This cannot be undone. Returns {removed: number of \
                  collections}. To remove one collection only, use delete_collection.",
    access: ToolAccess::Owner,
    idempotent: true,
    destructive: true,
    schema,
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    session_id: String,
}

fn schema() -> Value {
    object(json!({ "session_id": session_id() }), &["session_id"])
}

fn run(mut call: Call) -> BoxFuture<'static, Result<Outcome, ToolError>> {
    async move {
        let a: Arguments = call.arguments()?;
        let live = call.live(&a.session_id, TOOL.access).await?;
        Ok(Outcome::Json(call.service.reset_collections(&live).await?))
    }
    .boxed()
}
