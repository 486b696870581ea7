//! The route table as an OpenAPI document.

use std::sync::Arc;

use http::Response;
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value, json};

use crate::access::{Auth, Listener};
use crate::reply::Reply;
use crate::request::Req;
use crate::route::{RequestBody, Route, run};
use crate::schema::Shape::{self, Any};
use crate::schema::{Named, returns};
use crate::state::Shell;
use crate::status::{ApiError, JSON};

pub(crate) const ROUTES: &[Route] = &[Route::get(
    "/openapi.json",
    run!(Public document),
    &[returns(Shape::Map(&Any), "The document")],
    "This table as an OpenAPI document.",
)];

/// The form of a refusal, on every route that has none of its own.
static ERROR: Named = Named {
    name: "Error",
    doc: "Why a request was refused, and what to do about it.",
    shape: Shape::Object(ERROR_MEMBERS),
};
const ERROR_MEMBERS: &[crate::schema::Member] = {
    use crate::schema::Shape::{Bool, List, OneOf, Text};
    use crate::schema::{may, must};
    &[
        must("success", Bool, "Always false."),
        must("status", OneOf(&["ERR", "Failed"]), ""),
        must("message", Text, "What went wrong and what to do about it."),
        must("error", Text, "The message behind its slug."),
        must("detail", Text, "The message again."),
        must("code", Text, "The kind of failure."),
        must("slug", Text, "The name of the failure, for programs."),
        may("field", Text, "What of the request is at fault."),
        must("request_id", Text, "As in the server's log."),
        may("non_field_errors", List(&Text), "The message again."),
    ]
};

async fn document(shell: Arc<Shell>, _: Req) -> Result<Reply, ApiError> {
    let mut reply = Response::new((shell.openapi)(&shell.config.build));
    reply.headers_mut().insert(CONTENT_TYPE, JSON);
    Ok(reply)
}

/// The document of the rows for the public listener.
pub(crate) fn render(rows: impl Iterator<Item = &'static Route>, build: &str) -> Value {
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    for route in rows.filter(|r| r.listener == Listener::Public) {
        let path = route.path.replace("{*", "{");
        let entry = paths.entry(path).or_insert_with(|| json!({}));
        entry[route.method.as_str().to_ascii_lowercase()] = operation(route, &mut schemas);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Graphlume",
            "version": build,
            "description": "Uploads graphs and shows them. Trailing slashes are significant.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
                "personalKey": {
                    "type": "apiKey", "in": "header", "name": "Authorization",
                    "description": "PersonalKey <id>:<secret>",
                },
                "cookie": {"type": "apiKey", "in": "cookie", "name": crate::config::JWT_COOKIE},
            },
            "schemas": schemas,
        },
    })
}

fn operation(route: &Route, schemas: &mut Map<String, Value>) -> Value {
    let mut out = json!({
        "operationId": operation_id(route),
        "summary": route.doc,
        "parameters": parameters(route, schemas),
        "responses": responses(route, schemas),
    });
    match route.auth() {
        Auth::Bearer | Auth::Switch => out["security"] = json!([{"bearer": []}]),
        Auth::PersonalKey => out["security"] = json!([{"personalKey": []}]),
        Auth::Tool => out["security"] = json!([{}, {"bearer": []}]),
        Auth::Viewer => out["security"] = json!([{}, {"bearer": []}, {"cookie": []}]),
        Auth::Public | Auth::Credentials => {}
    }
    if let Some(body) = body(route, schemas) {
        out["requestBody"] = body;
    }
    out
}

fn body(route: &Route, schemas: &mut Map<String, Value>) -> Option<Value> {
    let (is_required, kind, schema) = match route.body {
        RequestBody::None => return None,
        RequestBody::Json(shape) => (true, "application/json", shape.json(schemas)),
        RequestBody::OptionalJson(shape) => (false, "application/json", shape.json(schemas)),
        RequestBody::Form(shape) => {
            (false, "application/x-www-form-urlencoded", shape.json(schemas))
        }
        RequestBody::Raw => (true, "application/octet-stream", json!({})),
    };
    Some(json!({"required": is_required, "content": {kind: {"schema": schema}}}))
}

/// Unique: the method and the path's words.
fn operation_id(route: &Route) -> String {
    let words: Vec<&str> =
        route.path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
    format!("{}_{}", route.method.as_str().to_ascii_lowercase(), words.join("_"))
}

fn parameters(route: &Route, schemas: &mut Map<String, Value>) -> Vec<Value> {
    let mut out = Vec::new();
    for part in route.path.split('/') {
        let name = part.strip_prefix('{').and_then(|part| part.strip_suffix('}'));
        let Some(name) = name.map(|name| name.trim_start_matches('*')) else { continue };
        let shape = if matches!(name, "index" | "epoch") { Shape::Count } else { Shape::Text };
        let schema = shape.json(schemas);
        out.push(json!({"name": name, "in": "path", "required": true, "schema": schema}));
    }
    for parameter in route.query {
        out.push(json!({
            "name": parameter.name,
            "in": "query",
            "required": parameter.is_required,
            "description": parameter.doc,
            "schema": parameter.shape.json(schemas),
        }));
    }
    if route.auth() == Auth::Tool {
        out.push(json!({
            "name": "mcp-session-id",
            "in": "header",
            "required": false,
            "description": "The connection, as the answer to initialize names it.",
            "schema": Shape::Text.json(schemas),
        }));
        out.push(json!({
            "name": "X-MCP-Toolsets",
            "in": "header",
            "required": false,
            "description": "Which tools are listed: default, or all.",
            "schema": Shape::Text.json(schemas),
        }));
    }
    out
}

fn responses(route: &Route, schemas: &mut Map<String, Value>) -> Value {
    let usual = Shape::Named(&ERROR).json(schemas);
    let refusal = match route.refusal.map(|own| own.json(schemas)) {
        // Text that no parameter of a path holds is refused before the handler is asked.
        Some(own) if route.path.contains('{') => json!({ "anyOf": [own, usual] }),
        own => own.unwrap_or(usual),
    };
    let mut content = json!({"application/json": {"schema": refusal}});
    if route.is_page() {
        content["text/html"] = json!({"schema": {"type": "string"}});
    }
    let mut out = json!({"default": {"description": "Refused", "content": content}});
    for success in route.successes {
        out[success.status.to_string()] = success.json(schemas);
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::table::routes;
    use std::collections::HashSet;

    #[test]
    fn every_public_row_is_documented_once() {
        let document = render(routes(), "test");
        let mut ids = HashSet::new();
        let mut count = 0;
        for route in routes().filter(|r| r.listener == Listener::Public) {
            let path = route.path.replace("{*", "{");
            let method = route.method.as_str().to_ascii_lowercase();
            let operation = &document["paths"][&path][&method];
            assert_eq!(operation["summary"], route.doc, "{method} {path}");
            assert!(ids.insert(operation["operationId"].as_str().unwrap().to_owned()), "{path}");
            count += 1;
        }
        let documented: usize = document["paths"]
            .as_object()
            .unwrap()
            .values()
            .map(|methods| methods.as_object().unwrap().len())
            .sum();
        assert_eq!(documented, count);
        assert!(!document.to_string().contains("/metrics"));
    }
}
