//! Requests that stand alone, as revision 2026-07-28 has them: each carries its revision and what its
//! client can do, and nothing is remembered between two of them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use graphlume_types::limits;
use http::HeaderMap;
use http::header::HeaderName;
use serde_json::{Value, json};

use super::error::{Kind, Refusal};
use super::{VERSION, instructions, manifest};

/// Revisions without connections, the newest first.
pub(super) const VERSIONS: [&str; 1] = ["2026-07-28"];

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Keys of `_meta`.
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// Whether a request stands alone. `initialize` without a revision in its `_meta` never does.
pub(super) fn is(method: &str, params: &Value, headers: &HeaderMap) -> bool {
    let told = params.get("_meta").is_some_and(|meta| meta.get(META_VERSION).is_some());
    let in_header = headers
        .get(&VERSION)
        .and_then(|v| v.to_str().ok())
        .is_some_and(|version| VERSIONS.contains(&version));
    told || method == "server/discover" || (in_header && method != "initialize")
}

/// Checks what every request has to carry, and that the headers say what the body says.
pub(super) fn check(method: &str, params: &Value, headers: &HeaderMap) -> Result<(), Refusal> {
    let meta = params.get("_meta").unwrap_or(&Value::Null);
    let version = meta.get(META_VERSION).and_then(Value::as_str);
    let version = version.ok_or_else(|| lacking(META_VERSION, "a text"))?;
    if !meta.get(META_CAPABILITIES).is_some_and(Value::is_object) {
        return Err(lacking(META_CAPABILITIES, "an object"));
    }
    same(headers, &VERSION, "MCP-Protocol-Version", version)?;
    same(headers, &METHOD, "Mcp-Method", method)?;
    let named = match method {
        "tools/call" | "prompts/get" => params.get("name"),
        "resources/read" => params.get("uri"),
        _ => None,
    };
    if let Some(name) = named.and_then(Value::as_str) {
        same(headers, &NAME, "Mcp-Name", name)?;
    }
    if VERSIONS.contains(&version) {
        return Ok(());
    }
    let shown: String = version.chars().take(40).collect();
    let known = manifest::versions();
    let text =
        format!("revision {shown:?} of the protocol is not spoken here; {}", known.join(", "));
    let data = json!({ "supported": known, "requested": shown });
    Err(Refusal::new(Kind::Version, text).with(data))
}

fn lacking(key: &str, form: &str) -> Refusal {
    Refusal::new(Kind::Params, format!("params._meta needs {key:?} as {form}"))
}

/// A header that has to be there once and say the same as the body.
fn same(headers: &HeaderMap, name: &HeaderName, shown: &str, wanted: &str) -> Result<(), Refusal> {
    let wrong = |what: &str| Err(Refusal::new(Kind::Header, format!("the header {shown} {what}")));
    let mut all = headers.get_all(name).iter();
    let Some(value) = all.next() else { return wrong("is missing") };
    if all.next().is_some() {
        return wrong("is there more than once");
    }
    let Some(text) = value.to_str().ok() else { return wrong("has characters that no header may") };
    let decoded = if *name == NAME { decoded(text) } else { Some(text.to_owned()) };
    match decoded {
        Some(text) if text == wanted => Ok(()),
        Some(text) => {
            let text: String = text.chars().take(80).collect();
            let wanted: String = wanted.chars().take(80).collect();
            wrong(&format!("is {text:?}, and the body says {wanted:?}"))
        }
        None => wrong("is no valid =?base64?...?= text"),
    }
}

/// A name as a header carries it: plain, or as base64 between marks.
fn decoded(text: &str) -> Option<String> {
    match text.strip_prefix("=?base64?").and_then(|t| t.strip_suffix("?=")) {
        None => Some(text.to_owned()),
        Some(coded) => String::from_utf8(STANDARD.decode(coded).ok()?).ok(),
    }
}

/// The result of `server/discover`.
pub(super) fn discover() -> Value {
    json!({
        "supportedVersions": manifest::versions(),
        "capabilities": manifest::capabilities(),
        "instructions": instructions::TEXT,
    })
}

/// A result with what this revision wants beside it.
pub(super) fn complete(method: &str, mut result: Value) -> Value {
    result["resultType"] = json!("complete");
    result["_meta"] = json!({ META_SERVER: manifest::server_info() });
    let kept = match method {
        "server/discover" | "resources/templates/list" => Some((limits::PUBLIC_TTL_MS, "public")),
        // A header says which tools are listed, and shared caches need not look at it.
        "tools/list" => Some((limits::PUBLIC_TTL_MS, "private")),
        // Datasets come and go, and differ by account.
        "resources/list" | "resources/read" => Some((0, "private")),
        _ => None,
    };
    if let Some((millis, scope)) = kept {
        result["ttlMs"] = json!(millis);
        result["cacheScope"] = json!(scope);
    }
    result
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn params(version: &str) -> Value {
        json!({ "_meta": { META_VERSION: version, META_CAPABILITIES: {} }, "name": "list_sessions" })
    }

    fn headers(version: &str, method: &str, name: &str) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (key, value) in [(VERSION, version), (METHOD, method), (NAME, name)] {
            map.insert(key, HeaderValue::from_str(value).unwrap());
        }
        map
    }

    #[test]
    fn the_era_of_a_request_is_told_by_its_body_or_its_header() {
        let plain = HeaderMap::new();
        let newest = headers("2026-07-28", "tools/list", "");
        let older = headers("2025-11-25", "tools/list", "");
        assert!(is("tools/list", &params("2026-07-28"), &plain));
        assert!(is("tools/list", &params("1999-01-01"), &plain));
        assert!(
            is("tools/list", &Value::Null, &newest) && is("server/discover", &json!({}), &plain)
        );
        assert!(!is("tools/list", &json!({}), &plain) && !is("tools/list", &json!({}), &older));
        assert!(!is("tools/list", &json!({"_meta": {"progressToken": 1}}), &older));
        assert!(!is("initialize", &json!({"protocolVersion": "2026-07-28"}), &newest));
    }

    #[test]
    fn a_request_is_checked_rung_by_rung() {
        let good = headers("2026-07-28", "tools/call", "list_sessions");
        let body = params("2026-07-28");
        check("tools/call", &body, &good).unwrap();
        check("tools/list", &body, &headers("2026-07-28", "tools/list", "ignored")).unwrap();
        let coded = headers("2026-07-28", "tools/call", "=?base64?bGlzdF9zZXNzaW9ucw==?=");
        check("tools/call", &body, &coded).unwrap();
        for (bad, body, kind) in [
            (good.clone(), json!({}), Kind::Params),
            (good.clone(), json!({"_meta": 7}), Kind::Params),
            (good.clone(), json!({"_meta": {META_VERSION: "2026-07-28"}}), Kind::Params),
            (good.clone(), json!({"_meta": {META_CAPABILITIES: {}}}), Kind::Params),
            (
                good.clone(),
                json!({"_meta": {META_VERSION: 1, META_CAPABILITIES: {}}}),
                Kind::Params,
            ),
            (headers("2025-11-25", "tools/call", "list_sessions"), body.clone(), Kind::Header),
            (headers("2026-07-28", "tools/Call", "list_sessions"), body.clone(), Kind::Header),
            (headers("2026-07-28", "tools/call", "other"), body.clone(), Kind::Header),
            (headers("2026-07-28", "tools/call", "=?base64?!?="), body.clone(), Kind::Header),
            (
                headers("1999-01-01", "tools/call", "list_sessions"),
                params("1999-01-01"),
                Kind::Version,
            ),
            (HeaderMap::new(), params("1999-01-01"), Kind::Header),
        ] {
            assert_eq!(check("tools/call", &body, &bad).unwrap_err().kind, kind, "{bad:?} {body}");
        }
        for name in [VERSION, METHOD, NAME] {
            let mut missing = good.clone();
            missing.remove(&name);
            assert_eq!(check("tools/call", &body, &missing).unwrap_err().kind, Kind::Header);
            let mut twice = good.clone();
            twice.append(&name, good[&name].clone());
            assert_eq!(check("tools/call", &body, &twice).unwrap_err().kind, Kind::Header);
        }
        let refused =
            check("tools/call", &params("x"), &headers("x", "tools/call", "list_sessions"));
        let data = refused.unwrap_err().data.unwrap();
        assert_eq!(
            (&data["requested"], &data["supported"][0]),
            (&json!("x"), &json!("2026-07-28"))
        );
    }
}
