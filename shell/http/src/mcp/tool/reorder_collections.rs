//! `reorder_collections`.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use graphlume_service::ToolAccess;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Call, Outcome, Tool, ToolError, object, session_id};

pub(super) static TOOL: Tool = Tool {
    name: "reorder_collections",
    title: "Change what is on top",
    description: "Sets the order in which collections are painted. order is a list of collection ids, the \
                  first on top: where collections share an element, the earlier one gives the colour. Ids \
                  that are left out keep their order after the listed ones. Returns {collections} in the \
                  new order.",
    access: ToolAccess::Owner,
    idempotent: true,
    destructive: false,
    schema,
    example: r##"{"session_id":"ring","order":["0f8e2c"]}"##,
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    session_id: String,
    order: Vec<String>,
}

fn schema() -> Value {
    let order = json!({
        "type": "array", "items": { "type": "string" },
        "description": "Ids of collections, the one to be painted on top first.",
    });
    object(json!({ "session_id": session_id(), "order": order }), &["session_id", "order"])
}

fn run(mut call: Call) -> BoxFuture<'static, Result<Outcome, ToolError>> {
    async move {
        let a: Arguments = call.arguments()?;
        let live = call.live(&a.session_id, TOOL.access).await?;
        Ok(Outcome::Json(call.service.agents.reorder_collections(&live, &a.order).await?))
    }
    .boxed()
}
