//! `get_session_info`.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use graphlume_service::ToolAccess;

use super::{Call, Outcome, Tool, ToolError, only_session};

pub(super) static TOOL: Tool = Tool {
    name: "get_session_info",
    title: "Describe a graph",
    description: "Describes the graph of a visualization in lines of plain text (not JSON): session id, \
                  number of nodes and of edges, names and types of the node columns and edge columns, \
                  which columns hold the ids, title and description. Call it before the first query: \
                  queries need exact column names. At most 120 columns of each table are named, from both \
                  ends; (+N more not listed) stands for the rest. It reads no values: use query_graph to \
                  see some.",
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
        Ok(Outcome::Text(call.service.agents.describe(&live).await?))
    }
    .boxed()
}
