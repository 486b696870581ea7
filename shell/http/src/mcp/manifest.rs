//! Manifest of the endpoint: its name, versions and capabilities, in every revision of the protocol.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::Response;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::toolset::Toolset;
use super::{VERSIONS, instructions, modern, tool};
use crate::reply::Reply;
use crate::request::Req;
use crate::state::Shell;
use crate::status::{ApiError, JSON};

/// Version of the interface that agents see: its tools and what they take and give.
const VERSION: &str = "1.0.0";

pub(super) fn server_info() -> Value {
    json!({ "name": "graphlume", "title": "Graphlume", "version": VERSION })
}

pub(super) fn capabilities() -> Value {
    json!({
        "tools": { "listChanged": false },
        "resources": { "listChanged": false, "subscribe": false },
    })
}

/// Every revision that is spoken, the newest first.
pub(super) fn versions() -> Vec<&'static str> {
    modern::VERSIONS.iter().chain(&VERSIONS).copied().collect()
}

/// `GET /mcp/manifest.json`.
pub(super) async fn get(_: Arc<Shell>, _: Req) -> Result<Reply, ApiError> {
    static TEXT: OnceLock<Bytes> = OnceLock::new();
    let text = TEXT.get_or_init(|| Bytes::from(document().to_string()));
    let mut reply = Response::new(text.clone());
    reply.headers_mut().insert(CONTENT_TYPE, JSON);
    Ok(reply)
}

fn document() -> Value {
    let toolsets = Toolset::EACH.map(|(toolset, name, path)| {
        json!({ "name": name, "path": path, "tools": tool::names(toolset) })
    });
    json!({
        "version": VERSION,
        "serverInfo": server_info(),
        "transport": { "type": "streamable-http", "path": "/mcp" },
        "protocolVersions": versions(),
        "capabilities": capabilities(),
        "instructions": instructions::TEXT,
        "tools": tool::list(Toolset::Default)["tools"],
        "toolsets": toolsets,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_and_the_endpoint_say_the_same() {
        let told = document();
        assert_eq!(told["version"], "1.0.0");
        assert_eq!(told["serverInfo"], server_info());
        assert_eq!(told["serverInfo"]["version"], told["version"]);
        assert_eq!(told["tools"], tool::list(Toolset::Default)["tools"]);
        let all = &told["toolsets"][1];
        assert_eq!((&all["name"], &all["path"]), (&json!("all"), &json!("/mcp/x/all")));
        assert_eq!(all["tools"], json!(tool::names(Toolset::All)));
        assert_eq!(told["protocolVersions"][0], "2026-07-28");
        assert_eq!(told["transport"], json!({"type": "streamable-http", "path": "/mcp"}));
    }
}
