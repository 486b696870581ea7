//! `query_graph`.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use graphlume_service::{QueryOutput, ServiceError, ToolAccess};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Call, Outcome, Tool, ToolError, object, session_id};

pub(super) static TOOL: Tool = Tool {
    name: "query_graph",
    title: "Ask the graph",
    description: "Answers one read-only question about the graph of a visualization. gfql_operations is a \
                  text: a GFQL JSON array of steps, a GFQL Let object, or one whole Cypher query. Node \
                  steps filter with filter_dict, edge steps have direction, hops and edge_match; numeric \
                  comparisons are objects such as {type: GT, val: 3}, and a plain value means equality. \
                  Use Cypher for counting, grouping, sorting, aggregating, shortest paths (shortestPath) \
                  and algorithms (CALL graphistry.cugraph.pagerank()); GFQL has them as {type: Call, \
                  function: compute_cugraph, params: {alg: pagerank}}. output_type shape (the \
                  default) returns counts only; nodes, edges and all return at most 20 rows of a graph, \
                  and 50 rows when the query names its columns; row_count, node_count and edge_count count \
                  everything, and truncated says whether rows were left out. No match is a success with 0 \
                  rows. When the query is wrong, the result has the key error with a code in brackets and \
                  a suggestion.",
    access: ToolAccess::Read,
    idempotent: true,
    destructive: false,
    schema,
    example: r##"{"session_id":"ring","gfql_operations":"MATCH (n) RETURN count(n) AS n","output_type":"nodes"}"##,
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    session_id: String,
    gfql_operations: String,
    #[serde(default)]
    output_type: OutputType,
    #[serde(default)]
    format: Option<String>,
}

#[derive(Deserialize, Clone, Copy, Default)]
#[serde(rename_all = "lowercase")]
enum OutputType {
    #[default]
    Shape,
    Nodes,
    Edges,
    All,
}

fn schema() -> Value {
    let operations = json!({
        "type": "string",
        "description": "A text that holds a JSON array of GFQL steps, a Let object, or one Cypher query. \
                        Examples: [{\"type\":\"Node\",\"filter_dict\":{\"kind\":\"server\"}}] or \
                        MATCH (a)-[]->(b) RETURN b.id AS id, count(*) AS n ORDER BY n DESC LIMIT 10",
    });
    let output = json!({
        "type": "string", "enum": ["shape", "nodes", "edges", "all"], "default": "shape",
        "description": "What comes back: counts only, or rows of nodes, of edges, or of both.",
    });
    let format = json!({
        "type": "string", "enum": ["json"], "default": "json",
        "description": "Form of the rows, which is always json.",
    });
    object(
        json!({
            "session_id": session_id(), "gfql_operations": operations, "output_type": output,
            "format": format,
        }),
        &["session_id", "gfql_operations"],
    )
}

fn run(mut call: Call) -> BoxFuture<'static, Result<Outcome, ToolError>> {
    async move {
        let a: Arguments = call.arguments()?;
        let live = call.live(&a.session_id, TOOL.access).await?;
        if let Some(format) = a.format.filter(|format| format != "json") {
            // The format csv is refused like any other and not listed: the tool's answer is JSON, and agents try every
            // name that an error lists.
            let shown: String = format.chars().take(32).collect();
            let message = format!(
                "format {shown:?} is not possible; the only one is \"json\", also without a format"
            );
            return Err(ServiceError::Refused { slug: "unsupported-format", message }.into());
        }
        let output = match a.output_type {
            OutputType::Shape => QueryOutput::Shape,
            OutputType::Nodes => QueryOutput::Nodes,
            OutputType::Edges => QueryOutput::Edges,
            OutputType::All => QueryOutput::All,
        };
        Ok(Outcome::Json(
            call.service.agents.ask(&call.who, &live, &a.gfql_operations, output).await?,
        ))
    }
    .boxed()
}
