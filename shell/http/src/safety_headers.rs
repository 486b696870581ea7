//! Headers against misuse of pages: what a page may load, who may frame it, and that it comes over HTTPS.

use http::HeaderValue;

use crate::config::HttpConfig;
use crate::html;

/// Headers that are the same on every response of a kind.
pub(crate) struct SafetyHeaders {
    /// The policy of pages.
    pub(crate) csp: HeaderValue,
    /// That of pages which other sites may show in a frame.
    pub(crate) framed_csp: HeaderValue,
    pub(crate) hsts: Option<HeaderValue>,
}

impl SafetyHeaders {
    pub(crate) fn new(config: &HttpConfig) -> Self {
        let policy = |ancestors| {
            let csp = html::content_security_policy(ancestors, &config.picture_hosts);
            HeaderValue::from_str(&csp).unwrap_or(HeaderValue::from_static(html::CSP_STRICT))
        };
        Self {
            // A frame would have people click what they do not see.
            csp: policy(Some("'self'")),
            framed_csp: policy(config.named_ancestors()),
            hsts: config.https_only.then(|| HeaderValue::from_static("max-age=31536000")),
        }
    }
}
