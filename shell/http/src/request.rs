//! Requests as handlers see them.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use graphlume_service::{IdentityError, PageRequest, Principal, Service};
use graphlume_types::{Code, limits};
use http::Method;
use http::header::{self, HeaderMap, HeaderName};
use hyper::upgrade::OnUpgrade;

use crate::body::Body;
use crate::config::{JWT_COOKIE, SESSION_COOKIE};
use crate::conn::Conn;
use crate::proxy;
use crate::query;
use crate::state::Shell;
use crate::status::ApiError;

/// The values of a path's `{name}` segments.
pub type Params = Vec<(&'static str, String)>;

/// A request's place in the route table, attached before warp sees it.
pub(crate) struct Hit {
    /// The path as the row has it.
    pub(crate) path: &'static str,
    pub(crate) params: Params,
    pub(crate) id: Arc<str>,
    pub(crate) conn: Arc<Conn>,
    /// Who calls, once that is known, and the state of all access just before.
    pub(crate) caller: OnceLock<(Principal, u64)>,
}

impl Hit {
    /// Remembers who calls; the first one counts.
    pub(crate) fn known(&self, who: &Principal, access: u64) {
        let _ = self.caller.set((who.clone(), access));
    }
}

/// A request.
pub(crate) struct Req {
    pub(crate) hit: Arc<Hit>,
    pub(crate) method: Method,
    /// The query string, byte for byte.
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) upgrade: Option<OnUpgrade>,
    pub(crate) body: Body,
}

impl Req {
    /// The value of a path parameter.
    pub(crate) fn param(&self, name: &str) -> &str {
        self.hit.params.iter().find(|(n, _)| *n == name).map_or("", |(_, value)| value.as_str())
    }

    /// A header's text; one that is not ASCII counts as absent.
    pub(crate) fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|v| v.to_str().ok())
    }

    /// The address of the client, also through the operator's proxies.
    pub(crate) fn client(&self, shell: &Shell) -> IpAddr {
        proxy::client(&shell.config.trusted_proxies, self.hit.conn.peer.ip(), &self.headers)
    }

    /// The decoded query parameters.
    pub(crate) fn pairs(&self) -> Vec<(String, String)> {
        query::pairs(&self.query)
    }

    /// Who calls, for a route that needs a Bearer token.
    pub(crate) fn principal(&self, service: &Service) -> Result<Principal, ApiError> {
        let access = service.identity.access_version();
        let token = self
            .header(&header::AUTHORIZATION)
            .and_then(query::bearer)
            .ok_or(IdentityError::Unauthenticated)?;
        Ok(self.known(service.identity.authenticate(token)?, access))
    }

    /// Who watches: Bearer header, else cookie, else anonymous. The token's cookie goes first, for the account that
    /// signed in last has it; that of a login session lives longer. A cookie that no longer verifies counts
    /// as anonymous, so that a stale one does not lock a person out of what is public.
    pub(crate) fn viewer(&self, service: &Service) -> Result<Principal, ApiError> {
        let access = service.identity.access_version();
        if let Some(value) = self.header(&header::AUTHORIZATION) {
            let token = query::bearer(value).ok_or(IdentityError::TokenInvalid)?;
            return Ok(self.known(service.identity.authenticate(token)?, access));
        }
        let by_token =
            || self.cookie(JWT_COOKIE).and_then(|t| service.identity.authenticate(t).ok());
        let by_session = || {
            self.cookie(SESSION_COOKIE).and_then(|s| service.identity.authenticate_login(s).ok())
        };
        let who = by_token().or_else(by_session).unwrap_or_else(Principal::anonymous);
        Ok(self.known(who, access))
    }

    /// Remembers who calls, for the check at the end of a long request and for the log.
    fn known(&self, who: Principal, access: u64) -> Principal {
        self.hit.known(&who, access);
        who
    }

    /// The value of a cookie.
    pub(crate) fn cookie(&self, name: &str) -> Option<&str> {
        let headers = self.headers.get_all(header::COOKIE).iter();
        headers.filter_map(|v| v.to_str().ok()).find_map(|v| query::cookie(v, name))
    }

    /// Whether the caller may look and change nothing that others see: a person signed in by a cookie with SameSite=None,
    /// whose page is in a frame of another site while `--frame-ancestors` names none. The page tells of the frame by
    /// `framed=1`, for a websocket's headers do not; the site around it cannot change what the page sends.
    pub(crate) fn only_watches(&self, shell: &Shell, who: &Principal) -> bool {
        shell.config.frames_only_watch()
            && who.user().is_some()
            && !self.headers.contains_key(header::AUTHORIZATION)
            && query::last(&self.pairs(), "framed").is_some()
    }

    /// The body of a route that takes JSON. Whether it is JSON, and the right one, is the service's to
    /// say; that it is nested too deeply for a parser is ours.
    pub(crate) async fn json(self) -> Result<Bytes, ApiError> {
        self.json_within(limits::JSON_BODY_BYTES_MAX).await
    }

    /// [`Self::json`] of at most so many bytes.
    pub(crate) async fn json_within(self, bytes_max: u64) -> Result<Bytes, ApiError> {
        let body = self.body.collect(bytes_max).await?;
        if depth_exceeds(&body, limits::JSON_DEPTH_MAX) {
            return Err(ApiError::new(
                Code::InvalidArgument,
                "json-too-deep",
                format!("the JSON body nests deeper than {} levels", limits::JSON_DEPTH_MAX),
            ));
        }
        Ok(body)
    }

    /// The parts of a list request. `base` is what links to further pages start with.
    pub(crate) fn page(&self, shell: &Shell) -> PageRequest {
        let pairs = self.pairs();
        let of = |name: &str| query::last(&pairs, name).map(str::to_owned);
        PageRequest {
            address: format!("{}{}", self.base(shell), self.hit.path),
            limit: of("limit"),
            offset: of("offset"),
        }
    }

    /// `scheme://host` and the base path as the client wrote it, or nothing when it wrote none that is safe to repeat.
    pub(crate) fn base(&self, shell: &Shell) -> String {
        let Some(host) = self.header(&header::HOST).filter(|h| is_host(h)) else {
            return String::new();
        };
        let forwarded = self
            .header(&HeaderName::from_static("x-forwarded-proto"))
            .is_some_and(|p| p.eq_ignore_ascii_case("https"));
        let public = shell.config.public_url.as_ref().and_then(|p| p.is_https(host));
        let is_https = public.unwrap_or(forwarded || shell.config.https_only);
        let scheme = if is_https { "https" } else { "http" };
        format!("{scheme}://{host}{}", shell.config.base_path)
    }
}

/// Whether `text` has the characters of `host[:port]` only.
pub(crate) fn is_host(text: &str) -> bool {
    (1..=255).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:[]".contains(&b))
}

/// Whether arrays and objects nest deeper than `max`. Brackets inside of strings do not count.
pub(crate) fn depth_exceeds(json: &[u8], max: usize) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for byte in json {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth += 1;
                if depth > max {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_outside_of_strings() {
        assert!(!depth_exceeds(&[b'['; 64], 64));
        assert!(depth_exceeds(&[b'['; 65], 64));
        let text = format!("[\"{}\\\"{}\"]", "[".repeat(100), "{".repeat(100));
        assert!(!depth_exceeds(text.as_bytes(), 1));
        assert!(!depth_exceeds("[1],".repeat(1000).as_bytes(), 1));
    }

    #[test]
    fn a_host_header_is_repeated_only_when_it_is_one() {
        for good in ["localhost:8000", "a.example", "[::1]:80"] {
            assert!(is_host(good), "{good}");
        }
        for bad in ["", "a/b", "a\"b", "evil.example/x?", "a b", "ä"] {
            assert!(!is_host(bad), "{bad}");
        }
    }
}
