//! Head of a request as the shell reads it before there is a handler: limits, the path below the base, and whether a
//! person looks at the answer.

use graphlume_types::limits;
use http::{Method, Request, header};

use crate::status::{ApiError, Problem};

/// `path` without the base path, which a proxy may leave on.
pub(crate) fn below<'a>(base: &str, path: &'a str) -> &'a str {
    match path.strip_prefix(base) {
        Some("") if !base.is_empty() => "/",
        Some(rest) if rest.starts_with('/') => rest,
        _ => path,
    }
}

/// Limits on what hyper has let through.
pub(crate) fn check_head<B>(request: &Request<B>) -> Result<(), ApiError> {
    let target = request.uri().path_and_query().map_or(0, |p| p.as_str().len());
    // The page's address brings collections along.
    let is_page = request.uri().path().ends_with("/graph/graph.html");
    let limit = if is_page { limits::PAGE_URI_BYTES_MAX } else { limits::URI_BYTES_MAX };
    if target > limit {
        return Err(ApiError::new(
            Problem::UriTooLong,
            "uri-too-long",
            format!("the address has {target} bytes, the limit is {limit}"),
        ));
    }
    let bytes: usize =
        request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if bytes > limits::HEADER_BYTES_MAX {
        return Err(ApiError::new(
            Problem::HeadersTooLarge,
            "headers-too-large",
            format!("the headers have {bytes} bytes, the limit is {}", limits::HEADER_BYTES_MAX),
        ));
    }
    Ok(())
}

/// Whether a person's browser is asking for something to look at.
pub(crate) fn wants_html<B>(request: &Request<B>) -> bool {
    let path = request.uri().path();
    matches!(*request.method(), Method::GET | Method::HEAD)
        && !path.starts_with("/api")
        && !path.starts_with("/viz/")
        && request
            .headers()
            .get(header::ACCEPT)
            .and_then(|v| v.to_str().ok())
            .is_some_and(|accept| accept.contains("text/html"))
}

/// Methods that exist; anything else is one series.
pub(crate) fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "OTHER",
    }
}
