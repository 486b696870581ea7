//! The opening handshake: who may open a websocket, and the answer that opens it.

use bytes::Bytes;
use graphlume_types::Code;
use headers::{HeaderMapExt, SecWebsocketAccept, SecWebsocketKey};
use http::header::{
    AUTHORIZATION, CONNECTION, COOKIE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN,
    SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{Response, StatusCode};

use crate::config::{JWT_COOKIE, SESSION_COOKIE};
use crate::query;
use crate::reply::Reply;
use crate::status::{ApiError, Problem};

/// The subprotocol that the page speaks; the number is the major version of the wire format.
pub(crate) const SUBPROTOCOL: &str = "graph-viz.v1";

/// The answer to a valid handshake.
pub(crate) fn accept(headers: &HeaderMap) -> Result<Reply, ApiError> {
    let asks =
        has_token(headers, &CONNECTION, "upgrade") && has_token(headers, &UPGRADE, "websocket");
    if !asks {
        return Err(ApiError::new(
            Problem::UpgradeRequired,
            "websocket-only",
            "this address is opened as a websocket",
        )
        .with_header(UPGRADE, "websocket"));
    }
    if headers.get(SEC_WEBSOCKET_VERSION).is_none_or(|v| v != "13") {
        return Err(ApiError::new(
            Problem::UpgradeRequired,
            "websocket-version",
            "Sec-WebSocket-Version must be 13",
        )
        .with_header(SEC_WEBSOCKET_VERSION, "13"));
    }
    let key = headers.typed_get::<SecWebsocketKey>().filter(|_| has_valid_key(headers));
    let key = key.ok_or_else(|| {
        ApiError::invalid("websocket-key", "Sec-WebSocket-Key must be 16 bytes in base64")
    })?;
    if is_blind(headers) {
        return Err(ApiError::new(
            Code::Forbidden,
            "foreign-origin",
            "a cookie comes without the origin of its page; a program sends Authorization instead",
        ));
    }
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let out = response.headers_mut();
    out.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    out.insert(UPGRADE, HeaderValue::from_static("websocket"));
    out.typed_insert(SecWebsocketAccept::from(key));
    if headers.contains_key(SEC_WEBSOCKET_PROTOCOL) {
        if !has_token(headers, &SEC_WEBSOCKET_PROTOCOL, SUBPROTOCOL) {
            return Err(ApiError::invalid(
                "websocket-protocol",
                format!("the page and the server do not match: this server speaks {SUBPROTOCOL}"),
            ));
        }
        out.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL));
    }
    Ok(response)
}

/// Refuses pages of foreign origins: a browser sends our cookie along with their handshake. Programs
/// send no `Origin` and carry their credential themselves.
pub(crate) fn check_origin(headers: &HeaderMap, allowed: &[String]) -> Result<(), ApiError> {
    let Some(origin) = headers.get(ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    let host = headers.get(HOST).and_then(|h| h.to_str().ok()).unwrap_or_default();
    let own = origin
        .split_once("://")
        .is_some_and(|(_, rest)| !rest.is_empty() && rest.eq_ignore_ascii_case(host));
    if own || allowed.iter().any(|a| a.eq_ignore_ascii_case(origin)) {
        return Ok(());
    }
    let shown: String = origin.chars().take(100).collect();
    Err(ApiError::new(
        Code::Forbidden,
        "foreign-origin",
        format!("pages of {shown:?} may not open a session here; its operator can allow them"),
    ))
}

/// Whether a request that changes something by a cookie, or sets one, comes from a page of ours or from no
/// page at all. Browsers say so in one of two headers that no page can write.
pub(crate) fn is_own_page(headers: &HeaderMap, allowed: &[String]) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    match site {
        Some(b"same-origin" | b"none") => true,
        Some(_) => headers.contains_key(ORIGIN) && check_origin(headers, allowed).is_ok(),
        None => check_origin(headers, allowed).is_ok(),
    }
}

/// Whether a cookie of ours is the only credential and nothing says whose page sends it. Browsers always
/// name the origin of a handshake.
fn is_blind(headers: &HeaderMap) -> bool {
    let ours = |v: &str| [JWT_COOKIE, SESSION_COOKIE].iter().any(|n| query::cookie(v, n).is_some());
    !headers.contains_key(ORIGIN)
        && !headers.contains_key(AUTHORIZATION)
        && headers.get_all(COOKIE).iter().filter_map(|v| v.to_str().ok()).any(ours)
}

/// Whether a comma-separated header holds `token`.
fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    headers
        .get_all(name)
        .iter()
        .filter_map(|v| v.to_str().ok())
        .flat_map(|v| v.split(','))
        .any(|part| part.trim().eq_ignore_ascii_case(token))
}

/// Whether the key has the form of 16 bytes in base64.
fn has_valid_key(headers: &HeaderMap) -> bool {
    let key = headers.get("sec-websocket-key").map_or(&b""[..], HeaderValue::as_bytes);
    key.len() == 24
        && key.ends_with(b"==")
        && key[..22].iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/'))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        let mut out = HeaderMap::new();
        for (name, value) in list {
            out.append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        }
        out
    }

    const GOOD: [(&str, &str); 5] = [
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("sec-websocket-protocol", "other, graph-viz.v1"),
    ];

    #[test]
    fn the_answer_is_the_one_of_the_standard() {
        let reply = accept(&headers(&GOOD)).unwrap();
        assert_eq!(reply.status(), 101);
        assert_eq!(reply.headers()["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(reply.headers()[SEC_WEBSOCKET_PROTOCOL], "graph-viz.v1");
        let plain = accept(&headers(&GOOD[..4])).unwrap();
        assert!(!plain.headers().contains_key(SEC_WEBSOCKET_PROTOCOL));
    }

    #[test]
    fn a_request_that_is_not_a_handshake_is_told_so() {
        for (at, value, status) in [
            (0, "close", 426),
            (1, "h2c", 426),
            (2, "12", 426),
            (3, "short", 400),
            (3, "dGhlIHNhbXBsZSBub25jZQ=!", 400),
            (4, "graph-viz.v9", 400),
        ] {
            let mut list = GOOD;
            list[at].1 = value;
            let error = accept(&headers(&list)).unwrap_err();
            assert_eq!(error.status(), status, "{value}");
        }
    }

    #[test]
    fn a_cookie_needs_the_origin_of_its_page() {
        let status = |more: &[(&'static str, &str)]| {
            let list: Vec<_> = GOOD.iter().chain(more).copied().collect();
            accept(&headers(&list)).map_or_else(|e| e.status().as_u16(), |r| r.status().as_u16())
        };
        for cookie in ["graphlume_jwt=a.b.c", "x=y; sessionid=s"] {
            assert_eq!(status(&[("cookie", cookie)]), 403, "{cookie}");
            assert_eq!(status(&[("cookie", cookie), ("origin", "http://x")]), 101, "checked apart");
            assert_eq!(status(&[("cookie", cookie), ("authorization", "Bearer t")]), 101);
        }
        assert_eq!(status(&[("cookie", "theme=dark; csrftoken=c")]), 101);
    }

    #[test]
    fn a_form_of_another_site_is_known() {
        let own = |list: &[(&'static str, &str)]| {
            let mut all = headers(list);
            all.insert("host", HeaderValue::from_static("viz.example"));
            is_own_page(&all, &["https://notebook.example".to_owned()])
        };
        assert!(own(&[]), "a program");
        assert!(own(&[("origin", "https://viz.example")]));
        assert!(own(&[("origin", "https://inner"), ("sec-fetch-site", "same-origin")]), "a proxy");
        assert!(own(&[("origin", "https://notebook.example"), ("sec-fetch-site", "cross-site")]));
        for (origin, site) in [
            ("https://evil.example", "cross-site"),
            ("https://evil.example", ""),
            ("null", "cross-site"),
            ("https://other.viz.example", "same-site"),
        ] {
            assert!(!own(&[("origin", origin), ("sec-fetch-site", site)]), "{origin} {site}");
        }
        assert!(!own(&[("origin", "null")]) && !own(&[("sec-fetch-site", "cross-site")]));
    }

    #[test]
    fn only_our_own_and_listed_origins_may_open_one() {
        let allowed = ["https://notebook.example".to_owned()];
        let check = |origin: &str| {
            let h = headers(&[("host", "viz.example:8000"), ("origin", origin)]);
            check_origin(&h, &allowed).is_ok()
        };
        assert!(check("http://viz.example:8000"));
        assert!(check("https://VIZ.example:8000"));
        assert!(check("https://notebook.example"));
        for foreign in [
            "https://evil.example",
            "http://viz.example",
            "http://viz.example:8000.evil.example",
            "https://notebook.example.evil.example",
            "null",
            "",
        ] {
            assert!(!check(foreign), "{foreign}");
        }
        assert!(check_origin(&headers(&[("host", "x")]), &[]).is_ok());
        assert!(check_origin(&headers(&[("origin", "http://")]), &[]).is_err());
    }
}
