//! From a kind of failure to an HTTP answer: the only place where an error's status number is written.

use std::borrow::Cow;
use std::fmt::Write as _;

use bytes::Bytes;
use graphlume_engine::EngineError;
use graphlume_service::{IdentityError, ServiceError};
use graphlume_types::{Code, Coded, id};
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{Response, StatusCode};
use hyper::ext::ReasonPhrase;
use serde_json::{Value, json};

use crate::access::Auth;

/// The media type of every JSON body.
pub const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");

/// Bytes of a message in a status line.
const REASON_BYTES_MAX: usize = 120;

/// A failure as HTTP knows it: the product's codes, and those that only exist in this protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// A code of the product.
    Coded(Code),
    /// The path exists, the method does not.
    MethodNotAllowed,
    /// The request target is longer than the limit.
    UriTooLong,
    /// The header block is larger than the limit.
    HeadersTooLarge,
    /// The body did not arrive in time.
    SlowBody,
    /// `Range` lies outside of the content.
    RangeNotSatisfiable,
    /// The route answers websocket handshakes only.
    UpgradeRequired,
    /// The whole server is busy.
    Overloaded,
}

impl From<Code> for Problem {
    fn from(code: Code) -> Self {
        Self::Coded(code)
    }
}

/// The status number of a failure. Total: a new code does not compile without a line here.
#[must_use]
pub const fn status_of(problem: Problem) -> StatusCode {
    match problem {
        Problem::Coded(code) => match code {
            Code::InvalidArgument => StatusCode::BAD_REQUEST,
            Code::Unauthenticated => StatusCode::UNAUTHORIZED,
            Code::Forbidden => StatusCode::FORBIDDEN,
            Code::NotFound => StatusCode::NOT_FOUND,
            Code::Gone => StatusCode::GONE,
            Code::Conflict => StatusCode::CONFLICT,
            Code::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Code::Unsupported => StatusCode::UNPROCESSABLE_ENTITY,
            Code::Exhausted => StatusCode::TOO_MANY_REQUESTS,
            Code::DeviceMemory | Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Code::StorageFull => StatusCode::INSUFFICIENT_STORAGE,
            Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
            // The caller is gone and does not read this answer. The number is for the log.
            Code::Cancelled => client_closed(),
            Code::Corrupt | Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        },
        Problem::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        Problem::UriTooLong => StatusCode::URI_TOO_LONG,
        Problem::HeadersTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        Problem::SlowBody => StatusCode::REQUEST_TIMEOUT,
        Problem::RangeNotSatisfiable => StatusCode::RANGE_NOT_SATISFIABLE,
        Problem::UpgradeRequired => StatusCode::UPGRADE_REQUIRED,
        Problem::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
    }
}

/// 499, which has no name in the registry.
const fn client_closed() -> StatusCode {
    match StatusCode::from_u16(499) {
        Ok(status) => status,
        Err(_) => StatusCode::BAD_REQUEST,
    }
}

/// The stable name of a failure's kind in error bodies and metrics.
#[must_use]
pub const fn code_name(problem: Problem) -> &'static str {
    match problem {
        Problem::Coded(code) => match code {
            Code::InvalidArgument => "invalid-argument",
            Code::Unauthenticated => "unauthenticated",
            Code::Forbidden => "forbidden",
            Code::NotFound => "not-found",
            Code::Gone => "gone",
            Code::Conflict => "conflict",
            Code::TooLarge => "too-large",
            Code::Unsupported => "unsupported",
            Code::Exhausted => "exhausted",
            Code::DeviceMemory => "device-memory",
            Code::StorageFull => "storage-full",
            Code::DeadlineExceeded => "deadline-exceeded",
            Code::Unavailable => "unavailable",
            Code::Cancelled => "cancelled",
            Code::Corrupt => "corrupt",
            Code::Internal => "internal",
        },
        Problem::MethodNotAllowed => "method-not-allowed",
        Problem::UriTooLong => "uri-too-long",
        Problem::HeadersTooLarge => "headers-too-large",
        Problem::SlowBody => "slow-body",
        Problem::RangeNotSatisfiable => "range-not-satisfiable",
        Problem::UpgradeRequired => "upgrade-required",
        Problem::Overloaded => "overloaded",
    }
}

/// Seconds that a client is asked to wait; `None` when trying again does not help.
const fn retry_after_secs(problem: Problem) -> Option<u32> {
    match problem {
        Problem::Overloaded | Problem::Coded(Code::Exhausted | Code::Unavailable) => Some(1),
        Problem::Coded(Code::DeviceMemory) => Some(5),
        Problem::Coded(Code::StorageFull) => Some(30),
        _ => None,
    }
}

/// A refusal on its way to the client.
#[derive(Debug, Clone)]
pub struct ApiError {
    /// What kind.
    pub problem: Problem,
    /// Machine name.
    pub slug: Cow<'static, str>,
    /// For a person: the field, the value, the remedy.
    pub message: String,
    /// The request field at fault.
    pub field: Option<String>,
    /// Overrides the default waiting time.
    pub retry_after: Option<u32>,
    /// Further headers, for example `Allow` of a 405.
    pub headers: Vec<(HeaderName, String)>,
}

impl ApiError {
    /// A refusal of this kind.
    pub fn new(
        problem: impl Into<Problem>,
        slug: impl Into<Cow<'static, str>>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            problem: problem.into(),
            slug: slug.into(),
            message: message.into(),
            field: None,
            retry_after: None,
            headers: Vec::new(),
        }
    }

    /// A malformed request.
    pub fn invalid(slug: &'static str, message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, slug, message)
    }

    /// Names the request field at fault.
    #[must_use]
    pub fn at(mut self, field: &str) -> Self {
        self.field = Some(field.to_owned());
        self
    }

    /// Adds a header to the answer.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The status number.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        status_of(self.problem)
    }

    /// Whether the cause is ours and its text must not leave the process.
    #[must_use]
    pub const fn is_internal(&self) -> bool {
        matches!(self.problem, Problem::Coded(Code::Internal | Code::Corrupt))
    }

    /// The answer. `auth` is the credential that the route asks for: it picks the challenge of a 401
    /// and the shape that clients of the token routes read.
    #[must_use]
    pub fn render(&self, auth: Auth, request_id: &str) -> Response<Bytes> {
        let mut status = self.status();
        if self.problem == Problem::Coded(Code::Unauthenticated) && auth == Auth::Credentials {
            // What the clients of the token routes expect for a wrong password or a stale token.
            status = StatusCode::BAD_REQUEST;
        }
        let mut response = Response::new(Bytes::from(self.body(auth, request_id).to_string()));
        *response.status_mut() = status;
        if status.is_client_error() {
            say_why(&mut response, &self.message);
        }
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, JSON);
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, challenge(auth, &self.slug));
        }
        if let Some(secs) = self.retry_after.or(retry_after_secs(self.problem)) {
            headers.insert(RETRY_AFTER, HeaderValue::from(secs));
        }
        for (name, value) in &self.headers {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name.clone(), value);
            }
        }
        response
    }

    /// The answer as bytes, for a connection that ends with it.
    pub(crate) fn raw(&self) -> Vec<u8> {
        let id = id::hex(&id::random_bytes::<8>());
        let reply = self.render(Auth::Public, &id);
        let status = reply.status();
        let said = reply.extensions().get::<ReasonPhrase>();
        let said = said.and_then(|r| std::str::from_utf8(r.as_bytes()).ok());
        let reason = said.or(status.canonical_reason()).unwrap_or_default();
        let mut head = format!(
            "HTTP/1.1 {} {reason}\r\nconnection: close\r\nx-request-id: {id}\r\n\
             x-content-type-options: nosniff\r\n",
            status.as_u16()
        );
        for (name, value) in reply.headers() {
            let _ = write!(head, "{name}: {}\r\n", value.to_str().unwrap_or_default());
        }
        let _ = write!(head, "content-length: {}\r\n\r\n", reply.body().len());
        let mut raw = head.into_bytes();
        raw.extend_from_slice(reply.body());
        raw
    }

    /// One body that every known reader understands.
    fn body(&self, auth: Auth, request_id: &str) -> Value {
        let message: Cow<'_, str> = if self.is_internal() {
            // The cause is in the log under the same id.
            Cow::Owned(format!(
                "the server could not answer; tell its operator the request id {request_id}"
            ))
        } else {
            Cow::Borrowed(&self.message)
        };
        let mut error = String::with_capacity(message.len() + self.slug.len() + 3);
        let _ = write!(error, "[{}] {message}", self.slug);
        let mut body = json!({
            "success": false,
            "status": if auth == Auth::Switch { "Failed" } else { "ERR" },
            "message": message,
            "error": error,
            "detail": message,
            "code": code_name(self.problem),
            "slug": self.slug,
            "request_id": request_id,
        });
        if let Some(field) = &self.field {
            body["field"] = json!(field);
        }
        if matches!(auth, Auth::Credentials | Auth::PersonalKey) {
            body["non_field_errors"] = json!([message]);
        }
        body
    }
}

/// Puts the message of a refusal into its status line, which is all that programs show that raise an error for every
/// status of refusal without a look at the body.
pub(crate) fn say_why<B>(response: &mut Response<B>, message: &str) {
    if let Some(reason) = reason_phrase(message) {
        response.extensions_mut().insert(reason);
    }
}

/// `message` as one short line of printable ASCII, whatever a client has put into it.
fn reason_phrase(message: &str) -> Option<ReasonPhrase> {
    let plain = |c: char| match c {
        ' '..='~' => c,
        c if c.is_whitespace() || c.is_control() => ' ',
        _ => '?',
    };
    // No more than what can be shown is looked at: messages may be long.
    let line: String = message.trim_start().chars().take(REASON_BYTES_MAX + 1).map(plain).collect();
    let words: Vec<&str> = line.split(' ').filter(|w| !w.is_empty()).collect();
    let mut text = words.join(" ");
    if line.len() > REASON_BYTES_MAX {
        const MORE: &str = "...";
        text.truncate(REASON_BYTES_MAX - MORE.len());
        // Whole words, unless there is one alone.
        if let Some(end) = text.rfind(' ') {
            text.truncate(end);
        }
        text.push_str(MORE);
    }
    if text.is_empty() { None } else { ReasonPhrase::try_from(text.into_bytes()).ok() }
}

/// The `WWW-Authenticate` value for a route.
fn challenge(auth: Auth, slug: &str) -> HeaderValue {
    match auth {
        Auth::PersonalKey => HeaderValue::from_static("PersonalKey realm=\"graphlume\""),
        _ if slug == "unauthenticated" => HeaderValue::from_static("Bearer realm=\"graphlume\""),
        _ => HeaderValue::from_static("Bearer realm=\"graphlume\", error=\"invalid_token\""),
    }
}

impl ApiError {
    /// Any error of the product.
    pub fn from_coded(error: &dyn Coded) -> Self {
        let mut out = Self::new(error.code(), error.slug(), error.to_string());
        out.field = error.field().map(str::to_owned);
        out
    }
}

impl From<ServiceError> for ApiError {
    fn from(error: ServiceError) -> Self {
        let mut out = Self::from_coded(&error);
        if matches!(error.code(), Code::StorageFull | Code::Unavailable) {
            tracing::warn!(slug = error.slug(), error = %error, "the data folder takes nothing");
            out.message = error.public_message();
        }
        out.retry_after = error.retry_after_secs().and_then(|s| u32::try_from(s).ok());
        out
    }
}

impl From<IdentityError> for ApiError {
    fn from(error: IdentityError) -> Self {
        ServiceError::from(error).into()
    }
}

impl From<EngineError> for ApiError {
    fn from(error: EngineError) -> Self {
        Self::from_coded(&error)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_the_status_of_the_table() {
        let expected =
            [400, 401, 403, 404, 410, 409, 413, 422, 429, 503, 507, 504, 503, 499, 500, 500];
        for (code, status) in Code::ALL.into_iter().zip(expected) {
            assert_eq!(status_of(code.into()).as_u16(), status, "{code:?}");
            let name = serde_json::to_value(code).unwrap();
            assert_eq!(name, code_name(code.into()), "{code:?}");
        }
    }

    #[test]
    fn transient_refusals_say_when_to_come_back() {
        for code in Code::ALL {
            let reply = ApiError::new(code, "x", "y").render(Auth::Bearer, "r");
            let has = reply.headers().contains_key(RETRY_AFTER);
            assert_eq!(has, code.is_transient() && code != Code::DeadlineExceeded, "{code:?}");
        }
    }

    #[test]
    fn the_token_routes_answer_400_and_the_others_challenge() {
        let error = ApiError::new(Code::Unauthenticated, "token-expired", "Token has expired.");
        let token = error.render(Auth::Credentials, "r");
        assert_eq!(token.status(), 400);
        let body: Value = serde_json::from_slice(token.body()).unwrap();
        assert_eq!(body["non_field_errors"], json!(["Token has expired."]));
        let api = error.render(Auth::Bearer, "r");
        assert_eq!(api.status(), 401);
        assert_eq!(
            api.headers()[WWW_AUTHENTICATE],
            "Bearer realm=\"graphlume\", error=\"invalid_token\""
        );
        let body: Value = serde_json::from_slice(api.body()).unwrap();
        assert_eq!(body["success"], false);
        assert_eq!(body["status"], "ERR");
        assert_eq!(body["error"], "[token-expired] Token has expired.");
        assert!(body.get("non_field_errors").is_none());
        let key = error.render(Auth::PersonalKey, "r");
        assert_eq!(key.status(), 401);
        assert_eq!(key.headers()[WWW_AUTHENTICATE], "PersonalKey realm=\"graphlume\"");
    }

    fn said(message: &str) -> Option<String> {
        reason_phrase(message).map(|r| String::from_utf8(r.as_bytes().to_vec()).unwrap())
    }

    #[test]
    fn the_status_line_gives_the_message_as_one_short_line_of_ascii() {
        for (message, shown) in [
            (
                "field \"name\" is missing; send a string",
                "field \"name\" is missing; send a string",
            ),
            ("a\r\nSet-Cookie: x=1\r\n\r\nbody", "a Set-Cookie: x=1 body"),
            (
                "  tab\there, nul\0, del\u{7f}, next\u{85}line\u{2028}end ",
                "tab here, nul , del , next line end",
            ),
            ("größer als ∞", "gr??er als ?"),
        ] {
            assert_eq!(said(message).as_deref(), Some(shown));
        }
        for nothing in ["", " ", "\r\n", "\0"] {
            assert_eq!(said(nothing), None, "{nothing:?}");
        }
    }

    #[test]
    fn a_long_message_is_cut_between_words() {
        let fits = "x".repeat(REASON_BYTES_MAX);
        assert_eq!(said(&fits), Some(fits.clone()));
        let long = said(&format!("{fits}x")).unwrap();
        assert!(long.len() == REASON_BYTES_MAX && long.ends_with("xx..."), "{long}");
        let words = said(&"word ".repeat(100_000)).unwrap();
        assert!(words.len() <= REASON_BYTES_MAX && words.ends_with(" word..."), "{words}");
        let foreign = said(&"ä".repeat(500)).unwrap();
        assert!(foreign.len() == REASON_BYTES_MAX && foreign.ends_with("?..."), "{foreign}");
    }

    #[test]
    fn only_refusals_that_a_client_caused_say_why_in_the_status_line() {
        for code in Code::ALL {
            let reply = ApiError::new(code, "x", "why").render(Auth::Bearer, "r");
            let has = reply.extensions().get::<ReasonPhrase>().is_some();
            assert_eq!(has, reply.status().is_client_error(), "{code:?}");
        }
        let raw = ApiError::new(Problem::UriTooLong, "x", "the address is too long").raw();
        assert!(raw.starts_with(b"HTTP/1.1 414 the address is too long\r\n"));
    }

    #[test]
    fn the_cause_of_a_defect_stays_in_the_log() {
        let reply = ApiError::new(Code::Internal, "internal", "index 7 of /secret/path")
            .render(Auth::Bearer, "abc123");
        let text = std::str::from_utf8(reply.body()).unwrap();
        assert!(!text.contains("secret"), "{text}");
        assert!(text.contains("abc123"), "{text}");
    }
}
