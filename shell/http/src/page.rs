//! The start page, the visualization page and its files.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use graphlume_service::Principal;
use graphlume_types::{Code, Coded, SessionId, id};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HOST, HeaderMap, IF_NONE_MATCH, LOCATION};
use http::{HeaderValue, Method, Response, StatusCode};

use crate::config::HttpConfig;
use crate::reply::Reply;
use crate::request::{self, Req};
use crate::route::{OpenedBy, Route, run};
use crate::schema::Shape::Text;
use crate::schema::{parameter, returns_bytes, returns_nothing, returns_page};
use crate::state::Shell;
use crate::status::{ApiError, status_of};
use crate::{html, query};

/// Types of the page's files.
const PAGE_FILES: &[&str] = &[
    "text/javascript",
    "text/css",
    "image/svg+xml",
    "application/json",
    "font/woff2",
    "text/plain",
];

pub(crate) const ROUTES: &[Route] = &[
    Route::get("/", run!(Visitor start), &[returns_page("The page")], "The start page.")
        .opened_by(OpenedBy::Browser),
    Route::get(
        "/graph/graph.html",
        run!(Viewer graph),
        &[
            returns_page("The page"),
            returns_nothing(302, "To the address with a session"),
            returns_nothing(304, "The browser has it"),
        ],
        "The page of a visualization.",
    )
    .query(&[
        parameter("dataset", Text, "The graph; needed without a session."),
        parameter("session", Text, "The visualization; made when absent."),
        parameter("workbook", Text, "An older name of session."),
    ])
    .opened_by(OpenedBy::Browser)
    .framed(),
    Route::get(
        "/graph/{*path}",
        run!(Public page_file),
        &[returns_bytes(PAGE_FILES, "The file"), returns_nothing(304, "The browser has it")],
        "The files of the page.",
    ),
    Route::get(
        "/favicon.ico",
        run!(Public favicon),
        &[
            returns_bytes(&["image/svg+xml"], "The picture"),
            returns_nothing(304, "The browser has it"),
        ],
        "The mark that browsers show beside the title.",
    ),
];

async fn page_file(_: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    asset(&req, req.param("path"))
}

async fn favicon(_: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    asset(&req, "favicon.svg")
}

mod dist {
    include!(concat!(env!("OUT_DIR"), "/dist.rs"));
}

/// The page's own file.
const INDEX: &str = "graph.html";
/// Vite puts files with a hash in their name here; such a name never means other bytes.
const HASHED: &str = "assets/";

/// One file of the page.
struct Asset {
    bytes: Bytes,
    etag: HeaderValue,
    kind: HeaderValue,
    cache: HeaderValue,
}

/// The files by their path; unpacked once.
fn assets() -> &'static HashMap<String, Asset> {
    static ASSETS: OnceLock<HashMap<String, Asset>> = OnceLock::new();
    ASSETS.get_or_init(|| {
        let names = <dist::Dist as rust_embed::Embed>::iter();
        names.filter_map(|name| Some((name.to_string(), load(&name)?))).collect()
    })
}

fn load(name: &str) -> Option<Asset> {
    let file = <dist::Dist as rust_embed::Embed>::get(name)?;
    let etag = format!("\"{}\"", id::hex(&file.metadata.sha256_hash()[..16]));
    let mime = mime_guess::from_path(name).first_or_octet_stream();
    let text = mime.type_() == "text" || matches!(mime.subtype().as_str(), "javascript" | "json");
    let kind = if text { format!("{mime}; charset=utf-8") } else { mime.to_string() };
    let cache =
        if name.starts_with(HASHED) { "public, max-age=31536000, immutable" } else { "no-cache" };
    Some(Asset {
        bytes: Bytes::from(file.data.into_owned()),
        etag: HeaderValue::from_str(&etag).ok()?,
        kind: HeaderValue::from_str(&kind).ok()?,
        cache: HeaderValue::from_static(cache),
    })
}

/// Sends a file, or says that the browser has it already.
fn send(asset: &Asset, asked: &HeaderMap) -> Reply {
    let known = asked.get(IF_NONE_MATCH).is_some_and(|v| {
        v.as_bytes().windows(asset.etag.len()).any(|w| w == asset.etag.as_bytes())
    });
    let mut reply = Response::new(if known { Bytes::new() } else { asset.bytes.clone() });
    if known {
        *reply.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, asset.kind.clone());
    headers.insert(ETAG, asset.etag.clone());
    headers.insert(CACHE_CONTROL, asset.cache.clone());
    reply
}

/// What a client names as `server`: the public address, else the name under which the page was asked for.
fn own_address(config: &HttpConfig, headers: &HeaderMap) -> String {
    let asked = || headers.get(HOST)?.to_str().ok().filter(|h| request::is_host(h));
    match &config.public_url {
        Some(public) => public.authority().to_owned(),
        None => asked().map_or_else(|| config.listen.to_string(), str::to_owned),
    }
}

async fn start(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    Ok(html::page(html::start_page(
        &shell.config,
        who.username(),
        &own_address(&shell.config, &req.headers),
    )))
}

/// The file of the page at `path`.
fn asset(req: &Req, path: &str) -> Result<Reply, ApiError> {
    match assets().get(path).filter(|_| path != INDEX) {
        Some(asset) => Ok(send(asset, &req.headers)),
        None => Err(ApiError::new(
            Code::NotFound,
            "unknown-path",
            format!("the page has no file {:?}", path.chars().take(80).collect::<String>()),
        )),
    }
}

/// The visualization page. Without a session, one is made and the browser is sent to the same address
/// with its id; the address keeps every byte that the client wrote.
async fn graph(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let pairs = req.pairs();
    let dataset = query::last(&pairs, "dataset");
    if let Some(session) = query::last(&pairs, "session") {
        let looks = req.method == Method::HEAD;
        let settings = if looks { &[][..] } else { &pairs[..] };
        let allowed = shell.service.sessions.visit(&who, session, dataset, settings).await;
        return index(&req, allowed.err().map(|e| status_of(e.code().into())));
    }
    let Some(dataset) = dataset else {
        return Err(ApiError::invalid(
            "invalid-argument",
            "the address names no graph: add ?dataset=<dataset id>",
        )
        .at("dataset"));
    };
    // An older name for the same thing.
    let wanted = query::last(&pairs, "workbook");
    let session = open(&shell, &req, &who, dataset, wanted, &pairs).await?;
    let target = query::appended(&req.query, "session", session.as_str());
    // Relative, so that it stays behind a proxy that takes a prefix off and does not tell.
    let location = format!("{INDEX}?{target}");
    let location = HeaderValue::from_str(&location).map_err(|_| {
        ApiError::invalid(
            "invalid-argument",
            "the address holds characters that cannot be sent back",
        )
    })?;
    let mut reply = Response::new(Bytes::new());
    *reply.status_mut() = StatusCode::FOUND;
    reply.headers_mut().insert(LOCATION, location);
    Ok(reply)
}

/// The session to go to. A graph that this viewer may not see, or that is not there, gets the id of a
/// session that does not exist: the page then says so, and offers to sign in, without this redirect
/// telling a stranger which of the two it is.
async fn open(
    shell: &Shell,
    req: &Req,
    who: &Principal,
    dataset: &str,
    wanted: Option<&str>,
    pairs: &[(String, String)],
) -> Result<SessionId, ApiError> {
    if req.method == Method::HEAD {
        // Looking is not visiting.
        return Ok(SessionId::random());
    }
    match shell.service.sessions.open(who, dataset, wanted, pairs).await {
        Ok(opened) => Ok(opened.session_id),
        Err(error)
            if matches!(error.code(), Code::NotFound | Code::Unauthenticated | Code::Forbidden) =>
        {
            Ok(SessionId::random())
        }
        Err(error) => Err(error.into()),
    }
}

/// The page's file. A refusal keeps its status, and the page's script finds out the rest.
fn index(req: &Req, refused: Option<StatusCode>) -> Result<Reply, ApiError> {
    let asset = assets().get(INDEX).ok_or_else(|| {
        ApiError::new(Code::Unavailable, "page-not-built", "the page is not part of this build")
    })?;
    let Some(status) = refused else { return Ok(send(asset, &req.headers)) };
    let mut reply = send(asset, &HeaderMap::new());
    *reply.status_mut() = status;
    reply.headers_mut().remove(ETAG);
    reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(reply)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_embedded_and_may_be_kept_only_where_its_name_says_what_it_holds() {
        let all = assets();
        assert!(all.contains_key(INDEX), "{:?}", all.keys());
        for (name, asset) in all {
            let immutable = asset.cache.to_str().unwrap().contains("immutable");
            assert_eq!(immutable, name.starts_with(HASHED), "{name}");
            assert!(!asset.bytes.is_empty() || name.ends_with(".map"), "{name}");
        }
        assert_eq!(all[INDEX].kind, "text/html; charset=utf-8");
    }

    #[test]
    fn a_browser_that_has_the_file_is_told_so() {
        let asset = &assets()[INDEX];
        let mut asked = HeaderMap::new();
        asked.insert(IF_NONE_MATCH, asset.etag.clone());
        assert_eq!(send(asset, &asked).status(), 304);
        assert!(send(asset, &asked).body().is_empty());
        asked.insert(IF_NONE_MATCH, HeaderValue::from_static("\"other\""));
        assert_eq!(send(asset, &asked).status(), 200);
    }
}
