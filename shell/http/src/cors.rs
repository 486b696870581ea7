//! Cross-origin rules: pages of any origin may call the API with a token that their script holds, and
//! never with our cookie. `Access-Control-Allow-Credentials` is therefore not sent anywhere.

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ALLOW, HeaderMap, HeaderValue, ORIGIN,
};
use http::{Request, Response, StatusCode};

/// The answer to `OPTIONS` on a path of the table: the methods, and for a preflight the permission.
/// `methods` are those of the path, and whether pages of other origins may use them.
pub(crate) fn options<B>(
    (methods, cors): (String, bool),
    request: &Request<B>,
    enabled: bool,
) -> Option<Response<Bytes>> {
    let methods = HeaderValue::from_str(&methods).ok()?;
    let asked = request.headers();
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    let preflight = asked.contains_key(ORIGIN) && asked.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    if preflight && cors && enabled {
        allow_reading(headers);
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods.clone());
        // `*` would not cover Authorization, so what was asked for is repeated.
        if let Some(names) = asked.get(ACCESS_CONTROL_REQUEST_HEADERS) {
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
        }
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("7200"));
    }
    headers.insert(ALLOW, methods);
    Some(response)
}

/// Lets a page of another origin read the response.
pub(crate) fn allow_reading(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(
        ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("retry-after, x-request-id"),
    );
}
