//! `describe_columns`.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use graphlume_service::ToolAccess;

use super::{Call, Outcome, Tool, ToolError, only_session};

pub(super) static TOOL: Tool = Tool {
    name: "describe_columns",
    title: "Describe the columns",
    description: "Returns the lines of get_session_info that speak of columns: the name and the type of each column of the \
                  nodes and of the edges of a visualization. Use it before query_graph.",
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
        let told = call.service.agents.describe(&live).await?;
        let lines: Vec<&str> = told.lines().filter(|line| line.contains("columns (")).collect();
        Ok(Outcome::Text(lines.join("\n")))
    }
    .boxed()
}
