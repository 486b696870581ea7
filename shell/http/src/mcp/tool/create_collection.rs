//! `create_collection`.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use graphlume_service::{NewCollection, ToolAccess};
use graphlume_types::limits::COLLECTION_NAME_CHARS_MAX;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Call, Outcome, Tool, ToolError, node_color, object, palette, session_id};

pub(super) static TOOL: Tool = Tool {
    name: "create_collection",
    title: "Colour a part of the graph",
    description: "Colours every element that a GFQL expression matches, in the picture of everybody who \
                  has the visualization open, and lists it there under a name. gfql_operations is a text \
                  with a JSON array of steps or a Let object; a single step must still be in an array, and \
                  Cypher is not accepted: find ids with query_graph and pass them as \
                  {\"type\":\"IsIn\",\"options\":[...]}. Give node_color, or a palette; with both, \
                  node_color wins, and a palette that is unknown is named under notices; with neither, a free colour is chosen. The new collection is painted on \
                  top. One of the same name is replaced in its place. A visualization holds 10 \
                  collections: past that, the oldest is dropped and named under dropped. Returns \
                  {collection: {id, name, position, color, matchCount}, replaced, dropped}. A matchCount \
                  of 0 means that nothing matched.",
    access: ToolAccess::Owner,
    idempotent: true,
    destructive: true,
    schema,
    example: r##"{"session_id":"ring","name":"High risk","gfql_operations":"[{\"type\":\"Node\",\"filter_dict\":{\"kind\":\"x\"}}]","node_color":"#ff4d6d"}"##,
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    session_id: String,
    name: String,
    gfql_operations: String,
    node_color: Option<String>,
    palette: Option<String>,
    description: Option<String>,
}

fn schema() -> Value {
    let name = json!({
        "type": "string", "minLength": 1, "maxLength": COLLECTION_NAME_CHARS_MAX,
        "description": "Name that people read in the panel of the page, such as \"High risk\".",
    });
    let operations = json!({
        "type": "string",
        "description": "A text that holds a JSON array of GFQL steps or a Let object, such as \
                        [{\"type\":\"Node\",\"filter_dict\":{\"risk\":{\"type\":\"GT\",\"val\":0.8}}}]",
    });
    let description = json!({
        "type": "string",
        "description": "A sentence about what the collection shows; people see it beside the name.",
    });
    object(
        json!({
            "session_id": session_id(), "name": name, "gfql_operations": operations,
            "node_color": node_color(), "palette": palette(), "description": description,
        }),
        &["session_id", "name", "gfql_operations"],
    )
}

fn run(mut call: Call) -> BoxFuture<'static, Result<Outcome, ToolError>> {
    async move {
        let a: Arguments = call.arguments()?;
        let live = call.live(&a.session_id, TOOL.access).await?;
        let Arguments { name, gfql_operations, node_color, palette, description, .. } = a;
        let new = NewCollection { name, gfql_operations, node_color, palette, description };
        Ok(Outcome::Json(call.service.agents.create_collection(&live, new).await?))
    }
    .boxed()
}
