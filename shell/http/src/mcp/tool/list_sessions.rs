//! `list_sessions`.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use graphlume_service::ToolAccess;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::resources;
use super::{Call, Outcome, Tool, ToolError, object};

pub(super) static TOOL: Tool = Tool {
    name: "list_sessions",
    title: "List my open visualizations",
    description: "Lists the visualizations that you, the account of this key, have open in a browser at \
                  this moment. Use it first, to find the session_id that every other tool needs. Returns \
                  {sessions: [{session_id, dataset_id, name, node_count, edge_count, state}]}, newest \
                  first; counts are null while a graph is being loaded. When nothing is open, hint says what \
                  the person can open, with addresses. Sessions of other people are never \
                  listed. The list is best-effort: an open page may be missing for a moment, and a \
                  session_id that the person gives you works all the same.",
    access: ToolAccess::Read,
    idempotent: true,
    destructive: false,
    schema,
    example: r##"{}"##,
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    // Nothing to say; what is said all the same is refused.
}

fn schema() -> Value {
    object(json!({}), &[])
}

fn run(mut call: Call) -> BoxFuture<'static, Result<Outcome, ToolError>> {
    async move {
        let Arguments {} = call.arguments()?;
        let mut told = call.service.agents.list_sessions(&call.who).await?;
        if told["sessions"].as_array().is_some_and(Vec::is_empty) {
            told["hint"] = json!(resources::hint(&call.service, &call.who, &call.base).await);
        }
        Ok(Outcome::Json(told))
    }
    .boxed()
}
