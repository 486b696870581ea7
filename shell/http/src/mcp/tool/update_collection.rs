//! `update_collection`.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use graphlume_service::{CollectionChange, ToolAccess};
use graphlume_types::limits::COLLECTION_NAME_CHARS_MAX;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Call, Outcome, Tool, ToolError, node_color, object, palette, session_id};

pub(super) static TOOL: Tool = Tool {
    name: "update_collection",
    title: "Rename or recolour",
    description: "Gives a collection another name, colour or palette; which elements it colours stays the \
                  same (to change that, call create_collection with the same name). Leave out what is to \
                  stay. With both node_color and palette, node_color wins. Returns {collection}. Every \
                  open page shows the change at once.",
    access: ToolAccess::Owner,
    idempotent: true,
    destructive: false,
    schema,
    example: r##"{"session_id":"ring","collection_id":"0f8e2c","name":"Low risk"}"##,
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    session_id: String,
    collection_id: String,
    name: Option<String>,
    node_color: Option<String>,
    palette: Option<String>,
}

fn schema() -> Value {
    let collection_id = json!({
        "type": "string",
        "description": "Id of a collection, as create_collection and list_collections give it.",
    });
    let name = json!({
        "type": "string", "minLength": 1, "maxLength": COLLECTION_NAME_CHARS_MAX,
        "description": "The new name; no other collection may have it.",
    });
    object(
        json!({
            "session_id": session_id(), "collection_id": collection_id, "name": name,
            "node_color": node_color(), "palette": palette(),
        }),
        &["session_id", "collection_id"],
    )
}

fn run(mut call: Call) -> BoxFuture<'static, Result<Outcome, ToolError>> {
    async move {
        let a: Arguments = call.arguments()?;
        let live = call.live(&a.session_id, TOOL.access).await?;
        let Arguments { name, node_color, palette, collection_id, .. } = a;
        let change = CollectionChange { name, node_color, palette };
        let done = call.service.agents.update_collection(&live, &collection_id, change).await?;
        Ok(Outcome::Json(done))
    }
    .boxed()
}
