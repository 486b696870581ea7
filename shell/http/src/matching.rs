//! From a method and a path to a row of the route table.

use http::Method;

use crate::access::{Auth, Listener, Slash};
use crate::request::Params;
use crate::route::Route;

/// What the table says about a request.
#[derive(Debug)]
pub enum Resolution {
    /// This row answers.
    Found(&'static Route, Params),
    /// The path exists with other methods; the value of `Allow`.
    OtherMethods(String),
    /// No such path.
    NotFound,
}

/// Looks up a request among the rows of the table.
#[must_use]
pub fn resolve(
    rows: impl Iterator<Item = &'static Route>,
    listener: Listener,
    method: &Method,
    path: &str,
) -> Resolution {
    let mut others: Vec<&'static Route> = Vec::new();
    for route in rows.filter(|r| r.listener == listener) {
        let Some(params) = match_path(route, path) else { continue };
        if route.method == *method || (*method == Method::HEAD && answers_head(route)) {
            return Resolution::Found(route, params);
        }
        others.push(route);
    }
    if others.is_empty() { Resolution::NotFound } else { Resolution::OtherMethods(allow(&others)) }
}

/// The methods of `path`, and whether pages of other origins may use them.
#[must_use]
pub fn methods_of(
    rows: impl Iterator<Item = &'static Route>,
    listener: Listener,
    path: &str,
) -> Option<(String, bool)> {
    let rows: Vec<&'static Route> =
        rows.filter(|r| r.listener == listener && match_path(r, path).is_some()).collect();
    if rows.is_empty() {
        return None;
    }
    let cors = rows.iter().any(|r| r.auth().allows_cors());
    Some((allow(&rows), cors))
}

/// A GET answers HEAD too, save where the GET does something. That of a login link answers it without
/// signing in.
fn answers_head(route: &Route) -> bool {
    route.method == Method::GET
        && route.auth() != Auth::PersonalKey
        && !route.changes_on_get
        && !route.is_stream
}

/// The value of `Allow` for these rows.
fn allow(rows: &[&'static Route]) -> String {
    let mut methods: Vec<&str> = rows.iter().map(|r| r.method.as_str()).collect();
    if rows.iter().any(|r| answers_head(r)) {
        methods.push("HEAD");
    }
    methods.push("OPTIONS");
    methods.sort_unstable();
    methods.dedup();
    methods.join(", ")
}

/// The parameters when `path` has the route's form.
fn match_path(route: &Route, path: &str) -> Option<Params> {
    let pattern = route.path;
    if pattern.ends_with('/') != path.ends_with('/') && route.slash == Slash::Exact {
        return None;
    }
    if !pattern.contains('{') {
        return (trim(pattern) == trim(path)).then(Vec::new);
    }
    let mut params = Vec::new();
    let mut rest = trim(path).strip_prefix('/')?;
    for part in trim(pattern).strip_prefix('/')?.split('/') {
        if let Some(name) = part.strip_prefix("{*").and_then(|p| p.strip_suffix('}')) {
            params.push((name, decode_segments(rest)?));
            return Some(params);
        }
        let (segment, tail) = match rest.split_once('/') {
            Some((segment, tail)) => (segment, Some(tail)),
            None => (rest, None),
        };
        match part.strip_prefix('{').and_then(|p| p.strip_suffix('}')) {
            Some(name) => params.push((name, decode_segment(segment)?)),
            None if part == segment => {}
            None => return None,
        }
        // An exhausted path never equals a further part: no pattern has an empty one.
        rest = tail.unwrap_or("\0");
    }
    (rest == "\0").then_some(params)
}

/// `path` without one trailing slash. `//` therefore never equals `/`.
fn trim(path: &str) -> &str {
    match path.strip_suffix('/') {
        Some("") | None => path,
        Some(rest) if rest.ends_with('/') => path,
        Some(rest) => rest,
    }
}

/// A path segment without percent escapes. None when it is empty, is not UTF-8, or hides a character
/// that would change the meaning of the path.
fn decode_segment(raw: &str) -> Option<String> {
    if raw.is_empty() || raw == "\0" {
        return None;
    }
    let mut out = Vec::with_capacity(raw.len());
    let bytes = raw.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        if bytes[i] == b'%' {
            let hex = raw.get(i + 1..i + 3)?;
            out.push(u8::from_str_radix(hex, 16).ok()?);
            i += 3;
        } else {
            out.push(bytes[i]);
            i += 1;
        }
    }
    let text = String::from_utf8(out).ok()?;
    let bad = text == "." || text == ".." || text.contains(['/', '\\']);
    (!bad && !text.chars().any(char::is_control)).then_some(text)
}

/// Several segments, each decoded under the rules of one.
fn decode_segments(raw: &str) -> Option<String> {
    let parts: Option<Vec<String>> = raw.split('/').map(decode_segment).collect();
    Some(parts?.join("/"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::table::routes;

    fn find(method: Method, path: &str) -> Option<(&'static str, Params)> {
        match resolve(routes(), Listener::Public, &method, path) {
            Resolution::Found(route, params) => Some((route.path, params)),
            _ => None,
        }
    }

    fn allowed(method: Method, path: &str) -> Option<String> {
        match resolve(routes(), Listener::Public, &method, path) {
            Resolution::OtherMethods(allow) => Some(allow),
            _ => None,
        }
    }

    /// A path that has the row's form.
    pub(crate) fn sample(route: &Route) -> String {
        let mut out = String::new();
        for part in route.path.split('/').skip(1) {
            out.push('/');
            out.push_str(match part {
                "{epoch}" | "{index}" => "1",
                p if p.starts_with("{*") => "assets/a.js",
                p if p.starts_with('{') => "0123456789abcdef0123456789abcdef",
                p => p,
            });
        }
        out
    }

    #[test]
    fn every_row_is_found_in_its_written_form_and_only_there_unless_flagged() {
        for route in routes() {
            let path = sample(route);
            let Resolution::Found(found, _) =
                resolve(routes(), route.listener, &route.method, &path)
            else {
                panic!("{} {path} is not found", route.method)
            };
            assert!(std::ptr::eq(found, route), "{path} is shadowed");
            if path == "/" || route.path.contains("{*") {
                continue;
            }
            let other = match path.strip_suffix('/') {
                Some(p) => p.to_owned(),
                None => format!("{path}/"),
            };
            let served = matches!(
                resolve(routes(), route.listener, &route.method, &other),
                Resolution::Found(found, _) if std::ptr::eq(found, route)
            );
            assert_eq!(served, route.slash == Slash::Either, "{} {other}", route.method);
        }
    }

    #[test]
    fn a_known_path_with_another_method_lists_the_methods() {
        assert_eq!(
            allowed(Method::PUT, "/api/v2/files/").as_deref(),
            Some("GET, HEAD, OPTIONS, POST")
        );
        assert_eq!(
            allowed(Method::POST, "/api/v2/upload/files/x/").as_deref(),
            Some("OPTIONS, PATCH")
        );
        assert_eq!(
            allowed(Method::HEAD, "/api/v2/auth/pkey/jwt/").as_deref(),
            Some("GET, OPTIONS, POST")
        );
        assert!(allowed(Method::GET, "/nowhere").is_none());
    }

    #[test]
    fn head_is_answered_where_get_is_harmless() {
        assert!(find(Method::HEAD, "/healthz").is_some());
        assert!(find(Method::HEAD, "/graph/graph.html").is_some());
    }

    #[test]
    fn a_get_that_changes_something_takes_a_header_and_answers_no_head() {
        for route in routes().filter(|r| r.changes_on_get) {
            assert_eq!(route.auth(), Auth::Bearer, "{}", route.path);
            let path = sample(route);
            assert_eq!(allowed(Method::HEAD, &path).as_deref(), Some("GET, OPTIONS"), "{path}");
        }
        for (path, name) in [
            ("/api/v2/logout-user/ann%40x.org/", "ann@x.org"),
            ("/api/v2/logout-user/username/", "username"),
            ("/api/v2/logout-user/username/ann/", "ann"),
            ("/api/v2/logout-user/username/username/", "username"),
        ] {
            let (row, params) = find(Method::GET, path).unwrap();
            assert!(row.starts_with("/api/v2/logout-user/"), "{path}");
            assert_eq!(params[0].1, name, "{path}");
        }
    }

    #[test]
    fn paths_that_only_look_alike_are_not_found() {
        for path in [
            "//healthz",
            "/healthz/",
            "/Healthz",
            "/healthz//",
            "/api/v2/files//",
            "/api/v2//files/",
            "/api/v2/files/a%2fb",
            "/api/v2/files/a%2Fb",
            "/api/v2/files/%2e%2e",
            "/api/v2/files/..",
            "/api/v2/files/a%00",
            "/api/v2/files/a%0a",
            "/api/v2/files/%ff",
            "/api/v2/files/%zz",
            "/api/v2/files/%4",
            "/graph/../etc/passwd",
            "/graph/assets/%2e%2e/x",
            "/graph/assets//x",
            "/check-workers",
            "/metrics",
            "*",
            "",
        ] {
            assert!(find(Method::GET, path).is_none(), "{path}");
        }
    }

    #[test]
    fn parameters_are_decoded_once() {
        let (row, params) = find(Method::GET, "/api/v2/files/a%2520b").unwrap();
        assert_eq!(row, "/api/v2/files/{file_id}");
        assert_eq!(params, [("file_id", "a%20b".to_owned())]);
        let (_, params) = find(Method::POST, "/api/v2/o/al%40x/switch/").unwrap();
        assert_eq!(params[0].1, "al@x");
        let (_, params) = find(Method::GET, "/graph/assets/index-1a2b.js").unwrap();
        assert_eq!(params[0].1, "assets/index-1a2b.js");
    }

    #[test]
    fn the_internal_routes_are_on_the_internal_listener_alone() {
        for path in ["/metrics", "/check-workers"] {
            let inside = resolve(routes(), Listener::Internal, &Method::GET, path);
            assert!(matches!(inside, Resolution::Found(..)), "{path}");
        }
        let outside = resolve(routes(), Listener::Internal, &Method::POST, "/api-token-auth/");
        assert!(matches!(outside, Resolution::NotFound));
    }

    #[test]
    fn no_two_rows_have_the_same_method_and_path_and_all_are_described() {
        let all: Vec<_> = routes().collect();
        for (i, a) in all.iter().enumerate() {
            assert!(a.doc.ends_with('.') && a.doc.len() > 10, "{}", a.path);
            for b in &all[i + 1..] {
                assert!(
                    (&a.method, a.path, a.listener) != (&b.method, b.path, b.listener),
                    "{} {}",
                    a.method,
                    a.path
                );
            }
        }
    }
}
