//! The few pages that the server writes itself, and the rules under which a browser runs any page.

use std::fmt::Write as _;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response};

use crate::config::HttpConfig;
use crate::request::Reply;
use crate::route::Auth;
use crate::status::ApiError;

/// The media type of pages.
pub(crate) const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
/// Used when the configured policy is not a header value.
pub(crate) const CSP_STRICT: &str = "default-src 'none'; frame-ancestors 'none'";

const STYLE: &str = "body{margin:0;min-height:100vh;display:grid;place-items:center;\
background:#10131a;color:#d8dee9;font:16px/1.6 system-ui,sans-serif}\
main{max-width:42rem;padding:2rem}h1{font-size:1.5rem;font-weight:600;margin:0 0 .5rem}\
a{color:#7cc4ff}ul{padding-left:1.2rem}code,pre{font:14px/1.5 ui-monospace,monospace;\
background:#1a1f2b;border-radius:6px}code{padding:.1rem .3rem}pre{padding:.8rem 1rem;overflow:auto}\
small{color:#8b95a7}\
@media(prefers-color-scheme:light){body{background:#f6f7f9;color:#232936}a{color:#0b66c3}\
code,pre{background:#e8ebf0}small{color:#5b6473}}";

/// Scripts come from us alone; pictures from anywhere, because datasets name logos and icons; who may
/// frame us is the operator's choice, since notebooks embed the page.
pub(crate) fn content_security_policy(frame_ancestors: &str) -> String {
    format!(
        "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
         img-src 'self' data: blob: http: https:; font-src 'self' data:; connect-src 'self'; \
         worker-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; \
         frame-ancestors {frame_ancestors}"
    )
}

/// `text` with nothing in it that HTML would read as markup.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// `text` as a query value.
fn escape_query(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn document(title: &str, main: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{}</title><style>{STYLE}</style></head><body><main>{main}</main></body></html>\n",
        escape(title)
    )
}

/// A page.
pub(crate) fn page(text: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(text.into());
    reply.headers_mut().insert(CONTENT_TYPE, HTML);
    reply
}

/// What a person sees when an address cannot be shown.
pub(crate) fn error_page(error: &ApiError, request_id: &str) -> Reply {
    // The status, the waiting time and the rest are decided in one place.
    let json = error.render(Auth::Public, request_id);
    let status = json.status();
    let message = if error.is_internal() {
        "The server could not answer. Its operator finds the cause in the log.".to_owned()
    } else {
        error.message.clone()
    };
    let main = format!(
        "<h1>{} {}</h1><p>{}</p><p><a href=\"/\">Start page</a></p><small>Request {}</small>",
        status.as_u16(),
        escape(status.canonical_reason().unwrap_or("Error")),
        escape(&message),
        escape(request_id),
    );
    let mut reply = page(document(&format!("{} – Graphlume", status.as_u16()), &main));
    *reply.status_mut() = status;
    for name in [RETRY_AFTER, http::header::ALLOW, http::header::WWW_AUTHENTICATE] {
        if let Some(value) = json.headers().get(&name) {
            reply.headers_mut().insert(name, value.clone());
        }
    }
    reply
}

/// What is shown at a login link's address to whoever only looks at it. The link on it leads to this very
/// address, which an empty one stands for, so that the token is not written into the page.
pub(crate) fn open_link_page() -> Reply {
    page(document(
        "Open the graph – Graphlume",
        "<h1>A graph was shared with you</h1><p>This link signs you in and works once. Open it in a window \
         of its own.</p><p><a href=\"\" target=\"_top\">Open the graph</a></p>",
    ))
}

/// The start page: what this is and something to look at.
pub(crate) fn start_page(config: &HttpConfig) -> String {
    let mut main = String::from(
        "<h1>Graphlume</h1><p>A graph visualization server. Programs upload edges and nodes; the \
         address that they get back opens a live picture of the graph.</p>",
    );
    if !config.demo_datasets.is_empty() {
        main.push_str("<p>Graphs to look at:</p><ul>");
        for (id, title) in &config.demo_datasets {
            let _ = write!(
                main,
                "<li><a href=\"/graph/graph.html?dataset={}\">{}</a></li>",
                escape_query(id),
                escape(title)
            );
        }
        main.push_str("</ul>");
    }
    main.push_str(
        "<p>From Python:</p><pre>import graphistry\n\
         graphistry.register(api=3, protocol='http', server='HOST:PORT',\n\
         \u{20}                   username='…', password='…')\n\
         graphistry.edges(df, 'src', 'dst').plot()</pre>",
    );
    let _ = write!(
        main,
        "<small>Version {} · <a href=\"/openapi.json\">HTTP interface</a> · \
         <a href=\"/healthcheck/\">Health</a></small>",
        escape(&config.build)
    );
    document("Graphlume", &main)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use graphlume_types::Code;

    #[test]
    fn nothing_that_a_user_names_becomes_markup() {
        let config = HttpConfig {
            demo_datasets: vec![("a\"b&c=<".to_owned(), "<script>alert(1)</script>".to_owned())],
            ..HttpConfig::default()
        };
        let text = start_page(&config);
        assert!(!text.contains("<script"), "{text}");
        assert!(text.contains("?dataset=a%22b%26c%3D%3C\""), "{text}");
        let error = ApiError::new(Code::NotFound, "x", "no <img src=x onerror=y>");
        let reply = error_page(&error, "id");
        assert_eq!(reply.status(), 404);
        assert!(!std::str::from_utf8(reply.body()).unwrap().contains("<img"));
    }

    #[test]
    fn the_page_of_a_link_does_not_repeat_it() {
        let text = String::from_utf8(open_link_page().into_body().to_vec()).unwrap();
        assert!(text.contains("href=\"\" target=\"_top\"") && !text.contains("magic"), "{text}");
    }

    #[test]
    fn scripts_of_others_are_never_allowed() {
        let csp = content_security_policy("'self' https://a.example");
        assert!(csp.contains("script-src 'self';"), "{csp}");
        assert!(csp.ends_with("frame-ancestors 'self' https://a.example"), "{csp}");
    }
}
