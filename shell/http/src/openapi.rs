//! The route table as an OpenAPI document.

use std::sync::OnceLock;

use bytes::Bytes;
use http::Response;
use http::header::CONTENT_TYPE;
use serde_json::{Map, Value, json};

use crate::request::Reply;
use crate::route::{Auth, BodyKind, Endpoint, Listener, ROUTES, Route};
use crate::shell::Shell;
use crate::status::{ApiError, JSON};

pub(crate) fn document(shell: &Shell) -> Result<Reply, ApiError> {
    static TEXT: OnceLock<Bytes> = OnceLock::new();
    let text = TEXT.get_or_init(|| Bytes::from(render(&shell.config.build).to_string()));
    let mut reply = Response::new(text.clone());
    reply.headers_mut().insert(CONTENT_TYPE, JSON);
    Ok(reply)
}

/// The document for the public listener.
pub(crate) fn render(build: &str) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES.iter().filter(|r| r.listener == Listener::Public) {
        let path = route.path.replace("{*", "{");
        let entry = paths.entry(path).or_insert_with(|| json!({}));
        entry[route.method.as_str().to_ascii_lowercase()] = operation(route);
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
            "schemas": {"Error": error_schema()},
        },
    })
}

fn error_schema() -> Value {
    let text = json!({"type": "string"});
    json!({
        "type": "object",
        "required": [
            "success", "status", "message", "error", "detail", "code", "slug", "request_id",
        ],
        "properties": {
            "success": {"const": false},
            "status": {"enum": ["ERR", "Failed"]},
            "message": text, "error": text, "detail": text, "code": text, "slug": text,
            "field": text, "request_id": text,
            "non_field_errors": {"type": "array", "items": text},
        },
    })
}

fn operation(route: &Route) -> Value {
    let mut out = json!({
        "operationId": operation_id(route),
        "summary": route.doc,
        "parameters": parameters(route),
        "responses": responses(route),
    });
    match route.auth {
        Auth::Bearer | Auth::Switch => out["security"] = json!([{"bearer": []}]),
        Auth::PersonalKey => out["security"] = json!([{"personalKey": []}]),
        Auth::Tool => out["security"] = json!([{}, {"bearer": []}]),
        Auth::Viewer => out["security"] = json!([{}, {"bearer": []}, {"cookie": []}]),
        Auth::Public | Auth::Credentials => {}
    }
    let body = |required: bool, kind: &str, schema: Value| json!({"required": required, "content": {kind: {"schema": schema}}});
    let object = json!({"type": "object"});
    match route.body {
        BodyKind::None => {}
        BodyKind::Json => out["requestBody"] = body(true, "application/json", object),
        BodyKind::OptionalJson => out["requestBody"] = body(false, "application/json", object),
        BodyKind::Form => {
            out["requestBody"] = body(false, "application/x-www-form-urlencoded", object);
        }
        BodyKind::Raw => out["requestBody"] = body(true, "application/octet-stream", json!({})),
    }
    out
}

/// Unique: the endpoint, the method and the path's words.
fn operation_id(route: &Route) -> String {
    let words: Vec<&str> =
        route.path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|w| !w.is_empty()).collect();
    format!("{}_{}", route.method.as_str().to_ascii_lowercase(), words.join("_"))
}

fn parameters(route: &Route) -> Vec<Value> {
    let in_path = route
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| (name.trim_start_matches('*'), "path", true));
    let in_query = route.query.iter().map(|name| (*name, "query", false));
    in_path
        .chain(in_query)
        .map(|(name, place, required)| {
            json!({
                "name": name, "in": place, "required": required, "schema": {"type": "string"},
            })
        })
        .collect()
}

fn responses(route: &Route) -> Value {
    let error = json!({
        "description": "Refused",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    });
    let (status, about) = match route.endpoint {
        Endpoint::FileCreate
        | Endpoint::DatasetCreate
        | Endpoint::ComputedDatasetCreate
        | Endpoint::OwnKeyCreate => ("201", "Created"),
        Endpoint::FileDelete | Endpoint::DatasetDelete => ("204", "Deleted"),
        Endpoint::OwnKeyRevoke => ("204", "Revoked"),
        Endpoint::VizSocket => ("101", "The stream begins"),
        Endpoint::LegacyGone => return json!({"410": error}),
        Endpoint::MagicLogin => {
            let signed_in = "Signed in: to the page of the graph, with the cookies sessionid, csrftoken \
                             and graphlume_jwt";
            return json!({
                "200": {"description": "A look that is no visit: nobody is signed in"},
                "302": {"description": signed_in}, "410": error, "default": error,
            });
        }
        _ => ("200", "Done"),
    };
    let mut out = json!({ status: {"description": about}, "default": error });
    match route.endpoint {
        Endpoint::MintLink => {
            let url = json!({"type": "string", "format": "uri"});
            let schema = json!({
                "type": "object", "required": ["single_use_url"], "properties": {"single_use_url": url},
            });
            out["200"]["content"] = json!({"application/json": {"schema": schema}});
        }
        Endpoint::GraphPage => out["302"] = json!({"description": "To the address with a session"}),
        Endpoint::VizFrame => out["204"] = json!({"description": "No newer frame yet"}),
        Endpoint::VizEdges => out["206"] = json!({"description": "A range"}),
        _ => {}
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_public_row_is_documented_once() {
        let document = render("test");
        let mut ids = HashSet::new();
        let mut count = 0;
        for route in ROUTES.iter().filter(|r| r.listener == Listener::Public) {
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
