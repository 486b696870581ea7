//! `delete_collection`.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use graphlume_service::ToolAccess;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Call, Outcome, Tool, ToolError, object, session_id};

pub(super) static TOOL: Tool = Tool {
    name: "delete_collection",
    title: "Delete a colour",
    description: "Deletes one collection: its elements take the colour of the next collection that holds \
                  them, or their own. The built-in global layer cannot be deleted. Returns {deleted: {id, \
                  name}}. To remove all collections at once, use reset_collections.",
    access: ToolAccess::Owner,
    idempotent: false,
    destructive: true,
    schema,
    example: r##"{"session_id":"ring","collection_id":"0f8e2c"}"##,
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    session_id: String,
    collection_id: String,
}

fn schema() -> Value {
    let collection_id = json!({
        "type": "string",
        "description": "Id of a collection, as create_collection and list_collections give it.",
    });
    object(
        json!({ "session_id": session_id(), "collection_id": collection_id }),
        &["session_id", "collection_id"],
    )
}

fn run(mut call: Call) -> BoxFuture<'static, Result<Outcome, ToolError>> {
    async move {
        let a: Arguments = call.arguments()?;
        let live = call.live(&a.session_id, TOOL.access).await?;
        Ok(Outcome::Json(call.service.agents.delete_collection(&live, &a.collection_id).await?))
    }
    .boxed()
}
