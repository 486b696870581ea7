//! The tools: one file each, and one name in the list of [`tools!`].

mod arguments;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use graphlume_engine::EngineError;
use graphlume_service::{Live, Principal, Service, ServiceError, ToolAccess, keep_digits};
use graphlume_types::{Code, Coded};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::error::{Kind, Refusal};
use super::toolset::Toolset;
pub(super) use arguments::told;

/// A tool.
pub(super) struct Tool {
    pub(super) name: &'static str,
    title: &'static str,
    /// For a model: what it does, when to use it, what comes back.
    description: &'static str,
    access: ToolAccess,
    /// Whether calling it twice does the same as calling it once.
    idempotent: bool,
    /// Whether it can take something away.
    destructive: bool,
    /// JSON schema of the arguments.
    schema: fn() -> Value,
    /// Arguments of a right call, as JSON: what a refusal of wrong ones shows.
    example: &'static str,
    pub(super) run: fn(Call) -> BoxFuture<'static, Result<Outcome, ToolError>>,
}

/// Makes the modules and the two lists of tools: those of the specification, which every client is shown, in their order; and
/// further ones, for clients that ask for all.
macro_rules! tools {
    (specification: $($own:ident)*; further: $($more:ident)*;) => {
        $(mod $own;)*
        $(mod $more;)*

        static TOOLS: &[&Tool] = &[$(&$own::TOOL),*];
        static FURTHER: &[&Tool] = &[$(&$more::TOOL),*];
    };
}

tools! {
    specification:
        list_sessions
        get_session_info
        query_graph
        create_collection
        list_collections
        update_collection
        delete_collection
        reorder_collections
        reset_collections;
    further:
        get_picture
        describe_columns;
}

/// Every tool, in the order in which they are listed.
pub(super) fn every() -> impl Iterator<Item = &'static Tool> {
    TOOLS.iter().chain(FURTHER).copied()
}

/// The tools that a toolset lists.
fn listed(toolset: Toolset) -> impl Iterator<Item = &'static Tool> {
    let more = match toolset {
        Toolset::Default => 0,
        Toolset::All => FURTHER.len(),
    };
    every().take(TOOLS.len() + more)
}

/// One call of a tool.
pub(super) struct Call {
    pub(super) tool: &'static Tool,
    pub(super) service: Arc<Service>,
    pub(super) who: Principal,
    pub(super) arguments: Value,
    /// The address of this server as the client wrote it.
    pub(super) base: String,
}

/// What a tool gives.
#[derive(Debug)]
pub(super) enum Outcome {
    /// JSON, which travels as text.
    Json(Value),
    /// Plain text.
    Text(String),
    /// A PNG file, which travels as image content.
    Picture(Bytes),
}

/// Why a tool gives nothing.
#[derive(Debug)]
pub(super) enum ToolError {
    /// The endpoint refuses.
    Refused(Refusal),
    /// The tool cannot do what it was asked.
    Failed(ServiceError),
}

impl From<ServiceError> for ToolError {
    fn from(error: ServiceError) -> Self {
        Self::Failed(error)
    }
}

impl Call {
    /// The arguments.
    fn arguments<T: DeserializeOwned>(&mut self) -> Result<T, ToolError> {
        arguments::read(self.tool, self.arguments.take()).map_err(ToolError::Refused)
    }

    /// The session of a tool that takes nothing else, if the caller may do this with it.
    async fn only_live(&mut self, access: ToolAccess) -> Result<Live, ToolError> {
        let a: OnlySession = self.arguments()?;
        self.live(&a.session_id, access).await
    }

    /// The session, if the caller may do this with it.
    async fn live(&self, session: &str, access: ToolAccess) -> Result<Live, ToolError> {
        let live = self.service.agents.live(&self.who, session, access).await;
        live.map_err(|e| ToolError::Refused(e.into()))
    }
}

/// The names of the tools that a toolset lists.
pub(super) fn names(toolset: Toolset) -> Vec<&'static str> {
    listed(toolset).map(|t| t.name).collect()
}

/// The result of `tools/list`.
pub(super) fn list(toolset: Toolset) -> Value {
    let tools = listed(toolset).map(|t| {
        let whose = match t.access {
            ToolAccess::Read => "Open to anyone who may view the dataset.",
            ToolAccess::Owner => "Only for the person who has the visualization open.",
        };
        json!({
            "name": t.name,
            "title": t.title,
            "description": format!("{} {whose}", t.description),
            "inputSchema": (t.schema)(),
            "annotations": {
                "title": t.title,
                "readOnlyHint": t.access == ToolAccess::Read,
                "destructiveHint": t.destructive,
                "idempotentHint": t.idempotent,
                "openWorldHint": false,
            },
        })
    });
    json!({ "tools": tools.collect::<Vec<_>>() })
}

/// The result of `tools/call`. A tool that crashed says so; one that failed has the key `error`.
pub(super) fn result(
    tool: &'static str,
    done: Result<Result<Outcome, ToolError>, ()>,
) -> Result<Value, Refusal> {
    let text = |text: String| json!({"content": [{"type": "text", "text": text}]});
    match done {
        Ok(Ok(Outcome::Json(mut value))) => {
            keep_digits(&mut value);
            Ok(text(value.to_string()))
        }
        Ok(Ok(Outcome::Text(plain))) => Ok(text(plain)),
        Ok(Ok(Outcome::Picture(png))) => {
            let data = BASE64.encode(&png);
            Ok(json!({"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}))
        }
        Ok(Err(ToolError::Refused(refusal))) => Err(refusal),
        Ok(Err(ToolError::Failed(error))) => failure(&error).map(|value| text(value.to_string())),
        Err(()) => {
            tracing::error!(tool, "a tool crashed");
            let mut out = text("the tool crashed; this is a defect of the server".to_owned());
            out["isError"] = json!(true);
            Ok(out)
        }
    }
}

/// What a failed tool tells, unless the endpoint has a row for it.
fn failure(error: &ServiceError) -> Result<Value, Refusal> {
    let refuse = |kind, text: String| Err(Refusal::new(kind, text));
    if let ServiceError::Engine(
        EngineError::SessionNotFound(_) | EngineError::SessionClosed { .. },
    ) = error
    {
        return refuse(Kind::Closed, error.to_string());
    }
    match error.code() {
        Code::DeadlineExceeded => return refuse(Kind::Timeout, error.to_string()),
        Code::Internal | Code::Corrupt => {
            tracing::error!(slug = error.slug(), %error, "a tool call failed");
            return refuse(Kind::Internal, error.public_message());
        }
        _ => {}
    }
    let message = error.public_message();
    let mut out = json!({ "error": format!("[{}] {message}", error.slug()), "code": error.slug() });
    if let Some(field) = error.field() {
        out["field"] = json!(field);
    }
    if let ServiceError::Query(e) = error
        && let Some(suggestion) = e.suggestion()
    {
        out["suggestion"] = json!(suggestion);
    }
    Ok(out)
}

/// The schema of an object with these properties.
fn object(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    })
}

/// The arguments of a tool that takes nothing but a session.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OnlySession {
    session_id: String,
}

/// The schema of [`OnlySession`].
fn only_session() -> Value {
    object(json!({ "session_id": session_id() }), &["session_id"])
}

/// The schema of `session_id`.
fn session_id() -> Value {
    json!({
        "type": "string",
        "description": "Id of a live visualization: the session= parameter of the page's address, or a \
                        session_id of list_sessions.",
    })
}

/// The schema of `node_color`.
fn node_color() -> Value {
    json!({
        "type": "string", "pattern": "^#([0-9a-fA-F]{6}|[0-9a-fA-F]{8})$",
        "description": "Colour as #RRGGBB or #RRGGBBAA, such as #ff4d6d.",
    })
}

/// The schema of `palette`.
fn palette() -> Value {
    json!({
        "type": "string",
        "description": "Name of a palette instead of one colour, in any case: one of ColorBrewer, or viridis, \
                        plasma, inferno, magma, cividis, turbo. Sequential and diverging ones (viridis, Blues, \
                        Spectral, ...) run from few links to many; of qualitative ones (Set1, Dark2, Paired, \
                        ...) each connected group gets a colour.",
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn tools_have_complete_schemas_and_say_whose_they_are() {
        let listed = list(Toolset::All);
        let tools = listed["tools"].as_array().unwrap();
        let names: Vec<&str> = tools.iter().map(|t| t["name"].as_str().unwrap()).collect();
        assert_eq!(
            names[..9],
            [
                "list_sessions",
                "get_session_info",
                "query_graph",
                "create_collection",
                "list_collections",
                "update_collection",
                "delete_collection",
                "reorder_collections",
                "reset_collections",
            ],
            "as the specification has them"
        );
        let nine = list(Toolset::Default);
        assert_eq!(nine["tools"].as_array().unwrap()[..], tools[..9]);
        for tool in tools {
            let schema = &tool["inputSchema"];
            assert_eq!(
                (&schema["type"], &schema["additionalProperties"]),
                (&json!("object"), &json!(false))
            );
            for name in schema["required"].as_array().unwrap() {
                assert!(schema["properties"].get(name.as_str().unwrap()).is_some(), "{tool}");
            }
            for (name, property) in schema["properties"].as_object().unwrap() {
                assert!(property["type"].is_string(), "{name}");
                assert!(property["description"].as_str().unwrap().len() > 20, "{name}");
            }
            assert!(tool["description"].as_str().unwrap().len() > 100, "{}", tool["name"]);
            let has_session = schema["required"].as_array().unwrap().contains(&json!("session_id"));
            assert_eq!(has_session, tool["name"] != "list_sessions");
        }
    }

    #[test]
    fn failures_crashes_and_refusals_are_told_apart() {
        let text = |v: &Value| -> Value {
            serde_json::from_str(v["content"][0]["text"].as_str().unwrap()).unwrap()
        };
        let failed =
            ServiceError::Refused { slug: "invalid-color", message: "no colour".to_owned() };
        let told = result("t", Ok(Err(ToolError::Failed(failed)))).unwrap();
        assert!(told.get("isError").is_none());
        assert_eq!(text(&told)["error"], "[invalid-color] no colour");
        let crashed = result("t", Err(())).unwrap();
        assert_eq!(crashed["isError"], true);
        let defect = ServiceError::Internal("a secret path".to_owned());
        let refused = result("t", Ok(Err(ToolError::Failed(defect)))).unwrap_err();
        assert!(refused.kind == Kind::Internal && !refused.message.contains("secret"));
        let gone = EngineError::SessionNotFound("s".parse().unwrap());
        let refused = result("t", Ok(Err(ToolError::Failed(gone.into())))).unwrap_err();
        assert_eq!(refused.kind, Kind::Closed);
        let picture = result("t", Ok(Ok(Outcome::Picture(Bytes::from_static(b"png"))))).unwrap();
        let image = json!({"type": "image", "data": "cG5n", "mimeType": "image/png"});
        assert_eq!(picture["content"], json!([image]));
        let fine = result("t", Ok(Ok(Outcome::Json(json!({"a": 1}))))).unwrap();
        assert_eq!(text(&fine), json!({"a": 1}));
    }

    #[test]
    fn whole_numbers_that_a_double_rounds_are_texts() {
        let mut value = json!({"rows": [
            {"id": 9_007_199_254_740_993_u64, "n": 9_007_199_254_740_992_u64, "f": 1e300, "t": "7"},
            [i64::MIN, -9_007_199_254_740_992_i64, u64::MAX, null, true],
        ]});
        keep_digits(&mut value);
        let kept = json!({"rows": [
            {"id": "9007199254740993", "n": 9_007_199_254_740_992_u64, "f": 1e300, "t": "7"},
            ["-9223372036854775808", -9_007_199_254_740_992_i64, "18446744073709551615", null, true],
        ]});
        assert_eq!(value, kept);
    }
}
