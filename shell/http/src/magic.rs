//! Address of login links: the first visit by a person signs the browser in and goes on to the graph.

use std::sync::Arc;

use bytes::Bytes;
use graphlume_service::LinkLogin;
use graphlume_types::Code;
use http::header::{HeaderMap, HeaderName, HeaderValue, LOCATION, SET_COOKIE};
use http::{Method, Response, StatusCode};

use crate::reply::Reply;
use crate::request::Req;
use crate::route::{OpenedBy, Route, run};
use crate::schema::Shape::Text;
use crate::schema::{parameter, returns_nothing, returns_page};
use crate::state::Shell;
use crate::status::ApiError;
use crate::{html, query};

/// The path of login links.
pub(crate) const MAGIC_LOGIN: &str = "/magic-login/";

pub(crate) const ROUTES: &[Route] = &[Route::get(
    MAGIC_LOGIN,
    run!(Public login),
    &[
        returns_page("A look that is no visit: nobody is signed in"),
        returns_nothing(
            302,
            "Signed in: to the page of the graph, with the cookies sessionid, csrftoken and graphlume_jwt",
        ),
    ],
    "Signs in with a login link and goes on to its graph.",
)
.query(&[parameter("sst", Text, "The token of the link.").required()])
.opened_by(OpenedBy::Link)
.framed()];

/// What a client wants that asks for a link's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Visit {
    /// A person goes there.
    Navigation,
    /// A browser fetches ahead what a person may want.
    Prefetch,
    /// A scanner, a preview, a frame: the address is looked at.
    Glance,
}

/// Signs in. A client that only looks does not use the link up: mail scanners and browsers that read ahead must
/// not lock out the person whom the link was sent to.
pub(crate) async fn login(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let name = &shell.config.link_token_name;
    let pairs = req.pairs();
    let token = query::last(&pairs, name).ok_or_else(|| {
        let text = format!(
            "the address holds no login token: its parameter {name} is missing; open the whole link as \
             it was sent"
        );
        ApiError::invalid("invalid-argument", text).at(name)
    })?;
    match visit(&req.method, &req.headers) {
        Visit::Navigation => {}
        // The same for every token, so that looking tells nothing about it.
        Visit::Glance => return Ok(html::open_link_page()),
        Visit::Prefetch => {
            // Anything else might be kept and shown when the person does come.
            let text = "this address signs somebody in and is not fetched ahead";
            return Err(ApiError::new(Code::Unavailable, "not-prefetched", text));
        }
    }
    // The use is on the disk when this returns: no cookie leaves before that.
    let login = shell.service.identity.use_link(token).await?;
    welcome(&shell, &login)
}

fn welcome(shell: &Shell, login: &LinkLogin) -> Result<Reply, ApiError> {
    let (cookie, base) = (&shell.config.cookie, &shell.config.base_path);
    let text = |value: String| {
        HeaderValue::from_str(&value).map_err(|_| {
            ApiError::new(Code::Internal, "internal", "a cookie cannot be written into a header")
        })
    };
    let mut reply = Response::new(Bytes::new());
    *reply.status_mut() = StatusCode::FOUND;
    let headers = reply.headers_mut();
    headers.insert(LOCATION, text(format!("{base}/graph/graph.html?dataset={}", login.dataset))?);
    headers.append(SET_COOKIE, text(cookie.set_session(&login.session))?);
    headers.append(SET_COOKIE, text(cookie.set_csrf(&graphlume_types::id::hex(&csrf())))?);
    headers.append(SET_COOKIE, text(cookie.set_token(&login.token))?);
    Ok(reply)
}

fn csrf() -> [u8; 32] {
    graphlume_types::id::random_bytes()
}

/// Tells a person's visit from others. Programs that say nothing about themselves count as persons: so do
/// browsers on plain HTTP, which send none of these headers.
fn visit(method: &Method, headers: &HeaderMap) -> Visit {
    let says = |name: &'static str, words: &[&str]| {
        headers.get_all(HeaderName::from_static(name)).iter().any(|value| {
            let value = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
            words.iter().any(|word| value.contains(word))
        })
    };
    let ahead = ["prefetch", "prerender", "preview"];
    if ["purpose", "sec-purpose", "x-purpose", "x-moz"].iter().any(|name| says(name, &ahead)) {
        return Visit::Prefetch;
    }
    let elsewhere = headers
        .get_all(HeaderName::from_static("sec-fetch-dest"))
        .iter()
        .any(|dest| !dest.as_bytes().trim_ascii().eq_ignore_ascii_case(b"document"));
    if *method != Method::GET || elsewhere { Visit::Glance } else { Visit::Navigation }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn only_a_navigating_get_is_a_visit() {
        use Visit::{Glance, Navigation, Prefetch};
        let get = Method::GET;
        for (method, name, value, expected) in [
            (&get, "accept", "text/html", Navigation),
            (&get, "sec-fetch-dest", "document", Navigation),
            (&get, "sec-fetch-dest", "Document ", Navigation),
            (&get, "sec-fetch-mode", "navigate", Navigation),
            (&get, "purpose", "view", Navigation),
            (&Method::HEAD, "accept", "text/html", Glance),
            (&Method::HEAD, "sec-fetch-dest", "document", Glance),
            (&get, "sec-fetch-dest", "iframe", Glance),
            (&get, "sec-fetch-dest", "image", Glance),
            (&get, "sec-fetch-dest", "empty", Glance),
            (&get, "sec-fetch-dest", "", Glance),
            (&get, "sec-fetch-dest", "document, image", Glance),
            (&get, "purpose", "prefetch", Prefetch),
            (&get, "Purpose", "Prefetch", Prefetch),
            (&get, "sec-purpose", "prefetch", Prefetch),
            (&get, "sec-purpose", "prefetch;prerender", Prefetch),
            (&get, "sec-purpose", "prefetch;anonymous-client-ip", Prefetch),
            (&get, "x-moz", "prefetch", Prefetch),
            (&get, "x-purpose", "preview", Prefetch),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HeaderName::try_from(name).unwrap(), value.parse().unwrap());
            assert_eq!(visit(method, &headers), expected, "{method} {name}: {value}");
        }
        assert_eq!(visit(&get, &HeaderMap::new()), Navigation);
        let mut two = HeaderMap::new();
        two.append("sec-fetch-dest", HeaderValue::from_static("document"));
        two.append("sec-fetch-dest", HeaderValue::from_static("image"));
        assert_eq!(visit(&get, &two), Glance, "one of several is enough");
    }
}
