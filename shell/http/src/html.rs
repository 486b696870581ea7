//! The few pages that the server writes itself, and the rules under which a browser runs any page.

use std::fmt::Write as _;

use bytes::Bytes;
use graphlume_service::PictureHost;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Response};

use crate::access::Auth;
use crate::config::HttpConfig;
use crate::reply::Reply;
use crate::status::{ApiError, say_why};

/// The media type of pages.
pub(crate) const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
/// Used when the configured policy is not a header value.
pub(crate) const CSP_STRICT: &str = "default-src 'none'; frame-ancestors 'none'";

/// The colours of the graph page.
const STYLE: &str = ":root{--bg:#0b0d12;--panel:#11141b;--field:#161a23;--line:#232936;--line-2:#2f3747;\
--text:#e6eaf2;--text-2:#9aa4b5;--accent:#5aa9ff;--accent-dim:#1d3b63;--accent-line:#2c5a96;\
--accent-text:#cfe4ff;--bad:#ff7f73;color-scheme:dark}\
@media(prefers-color-scheme:light){:root{--bg:#f1f3f7;--panel:#fff;--field:#f6f7fa;--line:#dfe3ea;\
--line-2:#cbd2dd;--text:#161a22;--text-2:#566173;--accent:#1769d2;--accent-dim:#e2eefd;\
--accent-line:#a9cbf5;--accent-text:#0f4f9f;--bad:#bb2d20;color-scheme:light}}\
*{box-sizing:border-box}body{margin:0;min-height:100vh;display:grid;place-items:center;\
background:var(--bg);color:var(--text);font:15px/1.6 Inter,system-ui,'DejaVu Sans',sans-serif}\
main{width:100%;max-width:42rem;padding:2rem}h1{font-size:1.4rem;font-weight:600;margin:0 0 .5rem}\
a{color:var(--accent)}ul{padding-left:1.2rem}code,pre{font:13px/1.5 ui-monospace,monospace;\
background:var(--panel);border:1px solid var(--line);border-radius:8px}code{padding:.1rem .3rem}\
pre{padding:.8rem 1rem;overflow:auto}small{color:var(--text-2)}\
main.card{max-width:22rem;padding:2rem 1.75rem;background:var(--panel);border:1px solid var(--line);\
border-radius:12px}@media(max-width:30rem){body:has(.card){place-items:start center;padding:1rem}}\
.mark{width:34px;height:34px;display:block;margin:0 0 1rem}.card h1{font-size:1.2rem;margin:0 0 1rem}\
label{display:block;margin:0 0 .9rem;font-size:13px;color:var(--text-2)}\
input{display:block;width:100%;height:38px;margin-top:.3rem;padding:0 .7rem;font:inherit;font-size:15px;\
color:var(--text);background:var(--field);border:1px solid var(--line-2);border-radius:8px}\
button{width:100%;height:38px;padding:0 .9rem;font:inherit;font-size:14px;color:var(--text);\
background:var(--field);border:1px solid var(--line-2);border-radius:8px;cursor:pointer}\
button.primary{margin:.3rem 0 1.1rem;color:var(--accent-text);background:var(--accent-dim);\
border-color:var(--accent-line)}button.plain{width:auto;height:30px;font-size:13px}\
button:hover{border-color:var(--accent)}:focus-visible{outline:2px solid var(--accent);outline-offset:1px}\
.refused{margin:0 0 .8rem;font-size:13px;color:var(--bad)}\
.who{display:flex;gap:.8rem;align-items:center;justify-content:space-between;margin:0 0 1.2rem;\
font-size:13px;color:var(--text-2)}.who b{color:var(--text);overflow-wrap:anywhere}.who form{margin:0}";

/// The mark of the product.
pub(crate) const MARK: &str = "<svg class=\"mark\" viewBox=\"0 0 24 24\" aria-hidden=\"true\" fill=\"none\">\
<path d=\"M6.5 16.5 12 6.5M12 6.5l6.5 5M6.5 16.5l12-5M6.5 16.5l8.5 3\" stroke=\"var(--accent)\" \
stroke-opacity=\".6\" stroke-width=\"1.4\"/><circle cx=\"6.5\" cy=\"16.5\" r=\"3.6\" fill=\"#2df1c4\"/>\
<circle cx=\"12\" cy=\"6.5\" r=\"3.1\" fill=\"#6db9fc\"/><circle cx=\"18.5\" cy=\"11.5\" r=\"2.5\" \
fill=\"#fdd141\"/><circle cx=\"15\" cy=\"19.5\" r=\"1.9\" fill=\"#e490bb\"/></svg>";

/// Scripts come from us alone. Pictures, which datasets and addresses name, come with them or from the sites that the
/// operator names: any other site would learn who looks. Without `frame_ancestors` any page may show this one in a frame,
/// also one without a network address, such as a notebook that was saved to disk: `*` does not stand for those.
pub(crate) fn content_security_policy(
    frame_ancestors: Option<&str>,
    pictures: &[PictureHost],
) -> String {
    let pictures: String = pictures.iter().map(|host| format!(" {host}")).collect();
    let framed = frame_ancestors.map(|sources| format!("; frame-ancestors {sources}"));
    let framed = framed.unwrap_or_default();
    format!(
        "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
         img-src 'self' data: blob:{pictures}; font-src 'self' data:; connect-src 'self'; \
         worker-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'{framed}"
    )
}

/// `text` with nothing in it that HTML would read as markup.
pub(crate) fn escape(text: &str) -> String {
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

/// `text` with every byte escaped that is not ASCII, for a header.
pub(crate) fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii() {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn document(title: &str, main: &str) -> String {
    framed(title, "", main)
}

/// A page of one small form.
pub(crate) fn card(title: &str, main: &str) -> String {
    framed(title, " class=\"card\"", main)
}

fn framed(title: &str, class: &str, main: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>{}</title><style>{STYLE}</style></head><body><main{class}>{main}</main></body></html>\n",
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
pub(crate) fn error_page(error: &ApiError, request_id: &str, base: &str) -> Reply {
    // The status, the waiting time and the rest are decided in one place.
    let json = error.render(Auth::Public, request_id);
    let status = json.status();
    let message = if error.is_internal() {
        "The server could not answer. Its operator finds the cause in the log.".to_owned()
    } else {
        error.message.clone()
    };
    let main = format!(
        "<h1>{} {}</h1><p>{}</p><p><a href=\"{base}/\">Start page</a></p><small>Request {}</small>",
        status.as_u16(),
        escape(status.canonical_reason().unwrap_or("Error")),
        escape(&message),
        escape(request_id),
    );
    let mut reply = page(document(&format!("{} – Graphlume", status.as_u16()), &main));
    *reply.status_mut() = status;
    if status.is_client_error() {
        say_why(&mut reply, &message);
    }
    for name in [RETRY_AFTER, http::header::ALLOW, http::header::WWW_AUTHENTICATE] {
        if let Some(value) = json.headers().get(&name) {
            reply.headers_mut().insert(name, value.clone());
        }
    }
    reply
}

/// What is shown at a login link's address to a client that only looks at it. The link on it leads to this very
/// address, which an empty one stands for, so that the token is not written into the page.
pub(crate) fn open_link_page() -> Reply {
    page(document(
        "Open the graph – Graphlume",
        "<h1>A graph was shared with you</h1><p>This link signs you in and works once. Open it in a window \
         of its own.</p><p><a href=\"\" target=\"_top\">Open the graph</a></p>",
    ))
}

/// The start page: what this is and something to look at.
/// `address` is what a client names as its server.
pub(crate) fn start_page(config: &HttpConfig, user: Option<&str>, address: &str) -> String {
    let base = &config.base_path;
    let mut main = match user {
        None => {
            format!("<div class=\"who\"><span></span><a href=\"{base}/login\">Sign in</a></div>")
        }
        Some(name) => format!(
            "<div class=\"who\"><span>Signed in as <b>{}</b></span><form method=\"post\" \
             action=\"{base}/logout\"><button class=\"plain\">Sign out</button></form></div>",
            escape(name)
        ),
    };
    main.push_str(
        "<h1>Graphlume</h1><p>A graph visualization server. Programs upload edges and nodes; the \
         address that they get back opens a live picture of the graph.</p>",
    );
    if !config.demo_datasets.is_empty() {
        main.push_str("<p>Graphs to look at:</p><ul>");
        for (id, title) in &config.demo_datasets {
            let _ = write!(
                main,
                "<li><a href=\"{base}/graph/graph.html?dataset={}\">{}</a></li>",
                escape_query(id),
                escape(title)
            );
        }
        main.push_str("</ul>");
    }
    let protocol = if config.https_only { "https" } else { "http" };
    let _ = write!(
        main,
        "<p>From Python:</p><pre>import graphistry\n\
         graphistry.register(api=3, protocol='{protocol}', server='{}',\n\
         \u{20}                   username='…', password='…')\n\
         graphistry.edges(df, 'src', 'dst').plot()</pre>",
        escape(address)
    );
    let _ = write!(
        main,
        "<small>Version {} · <a href=\"{base}/openapi.json\">HTTP interface</a> · \
         <a href=\"{base}/healthcheck/\">Health</a></small>",
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
        let text = start_page(&config, Some("<script>name"), "host:1");
        assert!(!text.contains("<script"), "{text}");
        assert!(text.contains("?dataset=a%22b%26c%3D%3C\""), "{text}");
        let error = ApiError::new(Code::NotFound, "x", "no <img src=x onerror=y>");
        let reply = error_page(&error, "id", "");
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
        let csp = content_security_policy(None, &[]);
        assert!(csp.contains("script-src 'self';") && !csp.contains("frame-ancestors"), "{csp}");
        let csp = content_security_policy(Some("'self' https://a.example"), &[]);
        assert!(csp.contains("script-src 'self';"), "{csp}");
        assert!(csp.ends_with("frame-ancestors 'self' https://a.example"), "{csp}");
    }

    #[test]
    fn pictures_come_from_the_sites_that_the_operator_names() {
        let of = |hosts: &[&str]| {
            let hosts: Vec<PictureHost> = hosts.iter().map(|h| h.parse().unwrap()).collect();
            let csp = content_security_policy(None, &hosts);
            csp.split("; ").find(|d| d.starts_with("img-src")).unwrap().to_owned()
        };
        assert_eq!(of(&[]), "img-src 'self' data: blob:");
        let named = of(&["cdn.example", "http://intranet:8080", "https:"]);
        assert_eq!(
            named,
            "img-src 'self' data: blob: https://cdn.example http://intranet:8080 https:"
        );
    }
}
