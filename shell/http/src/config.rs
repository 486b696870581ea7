//! Every setting of the shell: the flags that `graphlume serve` takes from here, and values that the process or a test sets.

use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use clap::Args;
use clap::builder::TypedValueParser as _;
use graphlume_service::PictureHost;
use graphlume_types::limits;
use graphlume_types::settings::{self, address};

use crate::error::HttpError;
use crate::proxy::Network;
use crate::public_url::PublicUrl;

/// See [`HttpConfig::before_tool`].
pub type BeforeTool = fn(&'static str) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// Name of the cookie that carries the token.
pub const JWT_COOKIE: &str = "graphlume_jwt";
/// Name of the cookie that carries a login session's secret.
pub const SESSION_COOKIE: &str = "sessionid";
/// Name of the cookie that pages of clients repeat in a header when they change something. No route here
/// takes a cookie as the credential of a change, so none asks for it.
pub const CSRF_COOKIE: &str = "csrftoken";

/// Name of the cookie by which a browser is known that has signed in before: failed logins from elsewhere do
/// not slow it down. It is no credential.
pub const KNOWN_COOKIE: &str = "graphlume_known";

/// The `SameSite` attribute of our cookies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SameSite {
    /// Sent on every request; browsers demand `Secure` with it.
    None,
    /// Sent on top-level navigation only.
    Lax,
    /// Never sent from another site.
    Strict,
}

impl SameSite {
    /// The attribute's value as browsers spell it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Lax => "Lax",
            Self::Strict => "Strict",
        }
    }
}

/// The flags of every cookie that we set. Only [`CookieConfig::from_settings`] makes one, so that the
/// refused combination cannot exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CookieConfig {
    secure: bool,
    same_site: SameSite,
    /// Which paths of the host they are sent to.
    path: String,
}

impl CookieConfig {
    /// Applies the defaults: `Secure` follows `https_only` when it is not set, and `SameSite` is
    /// `None` with `Secure` and `Lax` without.
    ///
    /// # Errors
    /// [`HttpError::Cookie`] for an unknown `same_site`, and for `None` without `Secure`: browsers
    /// drop such a cookie silently, so the server refuses to start instead.
    pub fn from_settings(
        secure: Option<bool>,
        same_site: Option<&str>,
        https_only: bool,
    ) -> Result<Self, HttpError> {
        let secure = secure.unwrap_or(https_only);
        let same_site = match same_site.map(str::trim).filter(|s| !s.is_empty()) {
            None if secure => SameSite::None,
            None => SameSite::Lax,
            Some(text) if text.eq_ignore_ascii_case("none") => SameSite::None,
            Some(text) if text.eq_ignore_ascii_case("lax") => SameSite::Lax,
            Some(text) if text.eq_ignore_ascii_case("strict") => SameSite::Strict,
            Some(text) => {
                return Err(HttpError::Cookie(format!(
                    "COOKIE_SAMESITE is {text:?}; use None, Lax or Strict"
                )));
            }
        };
        if same_site == SameSite::None && !secure {
            return Err(HttpError::Cookie(
                "COOKIE_SAMESITE is None and COOKIE_SECURE is not true: browsers drop such cookies; \
                 set COOKIE_SECURE=true (the site must then be served over HTTPS) or use Lax"
                    .to_owned(),
            ));
        }
        Ok(Self { secure, same_site, path: "/".to_owned() })
    }

    /// The same flags for a server below a path such as `/graphs`.
    #[must_use]
    pub fn below(self, base_path: &str) -> Self {
        Self { path: format!("{base_path}/"), ..self }
    }

    /// Whether browsers send them in frames of other sites, too.
    #[must_use]
    pub const fn reaches_frames(&self) -> bool {
        matches!(self.same_site, SameSite::None)
    }

    /// Whether cookies go over HTTPS only.
    #[must_use]
    pub const fn secure(&self) -> bool {
        self.secure
    }

    /// The value of a `Set-Cookie` header that keeps `token` for its life.
    #[must_use]
    pub fn set_token(&self, token: &str) -> String {
        self.set(JWT_COOKIE, token, limits::TOKEN_SECS, true)
    }

    /// The same for the secret of a login session.
    #[must_use]
    pub fn set_session(&self, secret: &str) -> String {
        self.set(SESSION_COOKIE, secret, limits::LOGIN_SESSION_SECS, true)
    }

    /// The same for the value that scripts of a page repeat; they have to read it.
    #[must_use]
    pub fn set_csrf(&self, value: &str) -> String {
        self.set(CSRF_COOKIE, value, limits::LOGIN_SESSION_SECS, false)
    }

    /// The value of a `Set-Cookie` header that ends the browser's login session.
    #[must_use]
    pub fn end_session(&self) -> String {
        self.set(SESSION_COOKIE, "", 0, true)
    }

    /// The same for the cookie of pages' changes.
    #[must_use]
    pub fn end_csrf(&self) -> String {
        self.set(CSRF_COOKIE, "", 0, false)
    }

    /// The same for the token.
    #[must_use]
    pub fn end_token(&self) -> String {
        self.set(JWT_COOKIE, "", 0, true)
    }

    /// The value of a `Set-Cookie` header by which the browser is known at its next sign-in.
    #[must_use]
    pub fn set_known(&self, value: &str) -> String {
        self.set(KNOWN_COOKIE, value, limits::LOGIN_KNOWN_DAYS * 86_400, true)
    }

    /// The one place that writes a cookie, so that all of them have the same flags.
    fn set(&self, name: &str, value: &str, secs: i64, http_only: bool) -> String {
        let http_only = if http_only { "; HttpOnly" } else { "" };
        let secure = if self.secure { "; Secure" } else { "" };
        let (same_site, path) = (self.same_site.as_str(), &self.path);
        format!(
            "{name}={value}; Path={path}; Max-Age={secs}{http_only}; SameSite={same_site}{secure}"
        )
    }
}

/// Settings of the HTTP shell. A field with a flag is a setting of `graphlume serve`, which takes this structure as it
/// stands here.
#[derive(Debug, Clone, Args)]
pub struct HttpConfig {
    /// Address for users: an address or a name with a port, or a port of 127.0.0.1
    #[arg(long, short = 'l', value_name = "ADDR", env = "GRAPHLUME_LISTEN",
        default_value = "127.0.0.1:8000", value_parser = address)]
    pub listen: SocketAddr,
    /// Address for operators: /check-workers and /metrics. Keep it on a loopback or internal network
    #[arg(long, value_name = "ADDR", env = "GRAPHLUME_INTERNAL_LISTEN",
        default_value = "127.0.0.1:8001", value_parser = address)]
    pub internal_listen: Option<SocketAddr>,
    /// Whether [`Self::internal_listen`] is the default, 127.0.0.1:8001: where that port is taken, a free one is used. An
    /// address that a flag, a variable or the file names is used or refused.
    #[arg(skip = false)]
    pub internal_may_move: bool,
    /// Cookie flags.
    #[arg(skip = CookieConfig { secure: false, same_site: SameSite::Lax, path: "/".to_owned() })]
    pub cookie: CookieConfig,
    /// Query parameter that carries the token of a login link (also read from SESAME_TOKEN_NAME)
    #[arg(
        id = "sesame_token_name",
        long = "sesame-token-name",
        value_name = "NAME",
        env = "GRAPHLUME_SESAME_TOKEN_NAME",
        default_value = "sst"
    )]
    pub link_token_name: String,
    /// Browsers reach this server over HTTPS only, through a proxy that ends TLS
    #[arg(long, env = "GRAPHLUME_HTTPS_ONLY", action = clap::ArgAction::SetTrue,
        value_parser = clap::builder::BoolishValueParser::new())]
    pub https_only: bool,
    /// Path below which a proxy shows this server, such as /graphs; the proxy may pass it on or take it off
    #[arg(
        long,
        value_name = "PATH",
        env = "GRAPHLUME_BASE_PATH",
        default_value = "",
        hide_default_value = true
    )]
    pub base_path: String,
    /// Address at which people open this server, such as https://viz.example; other names are refused then. A
    /// server that listens on this machine alone, behind a proxy, needs it
    #[arg(long, value_name = "URL", env = "GRAPHLUME_PUBLIC_URL")]
    pub public_url: Option<PublicUrl>,
    /// Network of proxies whose X-Forwarded-For is believed, such as 127.0.0.1 or 10.0.0.0/8; repeat for
    /// several
    #[arg(
        long = "trusted-proxy",
        value_name = "CIDR",
        env = "GRAPHLUME_TRUSTED_PROXY",
        value_delimiter = ','
    )]
    pub trusted_proxies: Vec<Network>,
    /// Another site whose pages may open live connections, such as https://notebook.example; repeat for
    /// several
    #[arg(
        long = "allowed-origin",
        value_name = "ORIGIN",
        env = "GRAPHLUME_ALLOWED_ORIGIN",
        value_delimiter = ','
    )]
    pub allowed_origins: Vec<String>,
    /// Whether pages of other origins may call the API with a Bearer token.
    #[arg(skip = true)]
    pub cors: bool,
    /// Sites whose pages alone may show a graph in a frame, such as "'self' https://app.example" (CSP frame-ancestors),
    /// and where people may use it as when they open it themselves; unset lets every page and saved file show it
    #[arg(long, value_name = "SOURCES", env = "GRAPHLUME_FRAME_ANCESTORS")]
    pub frame_ancestors: Option<String>,
    /// Sites from which pages may load pictures, besides our own.
    #[arg(skip = Vec::new())]
    pub picture_hosts: Vec<PictureHost>,
    /// Build identification shown to the page and in `/openapi.json`.
    #[arg(skip = env!("CARGO_PKG_VERSION").to_owned())]
    pub build: String,
    /// The commit that was built, for operators.
    #[arg(skip = "unknown".to_owned())]
    pub commit: String,
    /// Datasets that the start page links to: (id or alias, title).
    #[arg(skip = Vec::new())]
    pub demo_datasets: Vec<(String, String)>,
    /// Open connections.
    #[arg(skip = limits::CONNECTIONS_MAX)]
    pub connections_max: usize,
    /// Connections that one address may hold; raise it for a proxy on another machine, 0 sets no bound
    #[arg(long = "connections-per-address", value_name = "N",
        env = "GRAPHLUME_CONNECTIONS_PER_ADDRESS", default_value_t = limits::CONNECTIONS_PER_PEER_MAX)]
    pub connections_per_peer_max: usize,
    /// Requests in progress at once; health routes and open streams do not count.
    #[arg(skip = limits::REQUESTS_IN_FLIGHT_MAX)]
    pub requests_in_flight_max: usize,
    /// Time within which a client must have sent a header block that it began.
    #[arg(skip = Duration::from_secs(limits::HEADER_SECS_MAX))]
    pub header_timeout: Duration,
    /// How long an idle connection is kept.
    #[arg(skip = Duration::from_secs(limits::KEEP_ALIVE_SECS))]
    pub keep_alive: Duration,
    /// Window in which a body must bring at least 1 KiB a second.
    #[arg(skip = Duration::from_secs(limits::BODY_IDLE_SECS_MAX))]
    pub body_window: Duration,
    /// How long a client may leave our bytes unread.
    #[arg(skip = Duration::from_secs(limits::WRITE_STALL_SECS_MAX))]
    pub write_stall: Duration,
    /// Waiting for a client after which it must have read at least 64 KiB a second.
    #[arg(skip = Duration::from_secs(limits::ANSWER_WINDOW_SECS))]
    pub answer_window: Duration,
    /// Time that requests in progress get when the server stops.
    #[arg(skip = Duration::from_secs(limits::DRAIN_SECS_MAX))]
    pub drain: Duration,
    /// Interval of websocket pings.
    #[arg(skip = Duration::from_secs(limits::VIEWER_PING_SECS))]
    pub ping_every: Duration,
    /// A viewer that has been silent for so long is dropped.
    #[arg(skip = Duration::from_secs(limits::VIEWER_SILENT_SECS_MAX))]
    pub pong_timeout: Duration,
    /// How long `/viz/<session>/frame` holds a request open.
    #[arg(skip = Duration::from_secs(limits::LONG_POLL_SECS))]
    pub long_poll: Duration,
    /// Seconds after which a tool call of an agent is ended
    #[arg(long = "tool-seconds", value_name = "S", env = "GRAPHLUME_TOOL_SECONDS",
        default_value = limits::TOOL_CALL_SECS_MAX.to_string(),
        value_parser = clap::value_parser!(u64).range(1..=limits::TOOL_CALL_SECS_MAX).map(Duration::from_secs))]
    pub tool_time: Duration,
    /// Awaited inside of every tool call before the tool runs, with the tool's name. No option of the server
    /// sets it: tests make tools crash and take long with it.
    #[arg(skip = None)]
    pub before_tool: Option<BeforeTool>,
}

impl Default for HttpConfig {
    fn default() -> Self {
        settings::defaults()
    }
}

impl HttpConfig {
    /// The sites that the operator names as those that may show a graph in a frame.
    pub(crate) fn named_ancestors(&self) -> Option<&str> {
        // Set to nothing is not set: compose files do that.
        self.frame_ancestors.as_deref().map(str::trim).filter(|sources| !sources.is_empty())
    }

    /// Whether people who are signed in only watch in a frame of another site: any site may show them a graph there, and
    /// their cookies come along.
    pub(crate) fn frames_only_watch(&self) -> bool {
        self.named_ancestors().is_none() && self.cookie.reaches_frames()
    }

    /// Checks what the types cannot; [`crate::validate`] checks the base path against the table, too.
    ///
    /// # Errors
    /// [`HttpError::Setting`] naming the setting.
    pub(crate) fn validate(&self) -> Result<(), HttpError> {
        let bad = |name: &'static str, why: &str| {
            Err(HttpError::Setting { name, message: why.to_owned() })
        };
        if self.connections_max == 0 {
            return bad("connections_max", "must be at least 1");
        }
        if self.requests_in_flight_max == 0 {
            return bad("requests_in_flight_max", "must be at least 1");
        }
        let name = &self.link_token_name;
        let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        let fits = (1..=limits::SESAME_TOKEN_NAME_CHARS_MAX).contains(&name.len());
        if !fits || !name.bytes().all(legal) {
            let shown: String = name.chars().take(80).collect();
            return bad(
                "SESAME_TOKEN_NAME",
                &format!(
                    "{shown:?} is not possible; use 1 to {} letters, digits, '-' and '_'",
                    limits::SESAME_TOKEN_NAME_CHARS_MAX
                ),
            );
        }
        let base = &self.base_path;
        let legal = |b: u8| b.is_ascii_alphanumeric() || b"-_.~".contains(&b);
        let parts = || base.split('/').skip(1);
        let is_path = base.starts_with('/')
            && parts().all(|part| {
                !part.is_empty() && part != "." && part != ".." && part.bytes().all(legal)
            });
        if !base.is_empty() && !is_path {
            return bad("base_path", "must be a path such as /graphs, without a slash at its end");
        }
        let ancestors = self.frame_ancestors.as_deref().unwrap_or_default();
        if ancestors.contains([';', ',', '\r', '\n']) || !ancestors.is_ascii() {
            let why = format!(
                "{ancestors:?} is no list of sources such as 'self' https://app.example, with spaces between"
            );
            return bad("frame_ancestors", &why);
        }
        for origin in &self.allowed_origins {
            let rest = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
            if rest.is_none_or(|r| r.is_empty() || r.contains('/')) {
                return bad(
                    "allowed_origins",
                    &format!("{origin:?} is not an origin such as https://notebook.example"),
                );
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_flags_follow_the_table() {
        use SameSite::{Lax, None as NoneSite, Strict};
        let make = CookieConfig::from_settings;
        let unset: Option<&str> = None;
        for (secure, same_site, expected) in [
            (Some(false), unset, Some((false, Lax))),
            (Some(true), unset, Some((true, NoneSite))),
            (Some(true), Some("None"), Some((true, NoneSite))),
            (Some(true), Some("none"), Some((true, NoneSite))),
            (Some(true), Some("Lax"), Some((true, Lax))),
            (Some(true), Some("Strict"), Some((true, Strict))),
            (Some(false), Some("lax"), Some((false, Lax))),
            (Some(false), Some("STRICT"), Some((false, Strict))),
            (Some(false), Some("None"), unset.map(|_| (false, Lax))),
            (Some(false), Some("none"), None),
            (Some(false), Some("NONE"), None),
            (Option::None, Some("nOnE"), None),
            (Some(true), Some("sometimes"), None),
        ] {
            let got = make(secure, same_site, false).ok().map(|c| (c.secure, c.same_site));
            assert_eq!(got, expected, "{secure:?} {same_site:?}");
        }
        let https = make(None, None, true).unwrap();
        assert_eq!((https.secure, https.same_site), (true, NoneSite));
    }

    #[test]
    fn the_token_cookie_is_http_only_and_carries_the_flags() {
        let plain = CookieConfig::from_settings(None, None, false).unwrap().set_token("a.b.c");
        assert_eq!(plain, "graphlume_jwt=a.b.c; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax");
        let secure = CookieConfig::from_settings(Some(true), None, false).unwrap().set_token("t");
        assert!(secure.ends_with("; HttpOnly; SameSite=None; Secure"), "{secure}");
    }

    #[test]
    fn all_cookies_carry_the_same_flags_and_secrets_are_hidden_from_scripts() {
        let plain = CookieConfig::from_settings(None, None, false).unwrap();
        assert_eq!(
            plain.set_session("s"),
            "sessionid=s; Path=/; Max-Age=86400; HttpOnly; SameSite=Lax"
        );
        assert_eq!(plain.set_csrf("c"), "csrftoken=c; Path=/; Max-Age=86400; SameSite=Lax");
        assert_eq!(plain.end_session(), "sessionid=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax");
        let secure = CookieConfig::from_settings(Some(true), None, false).unwrap();
        for text in [secure.set_session("s"), secure.set_csrf("c"), secure.set_token("t")] {
            assert!(text.ends_with("; SameSite=None; Secure"), "{text}");
        }
    }

    #[test]
    fn the_parameter_of_a_link_has_a_name_that_needs_no_escaping() {
        let named =
            |name: &str| HttpConfig { link_token_name: name.to_owned(), ..HttpConfig::default() };
        let longest = "x".repeat(limits::SESAME_TOKEN_NAME_CHARS_MAX);
        for good in ["sst", "t", "Login_token-2", &longest] {
            assert!(named(good).validate().is_ok(), "{good}");
        }
        for bad in ["", "a b", "a&b", "a=b", "é", "a/b", &format!("{longest}x")] {
            let error = named(bad).validate().unwrap_err().to_string();
            assert!(error.contains("SESAME_TOKEN_NAME"), "{error}");
        }
    }

    #[test]
    fn a_base_path_is_a_path_that_is_not_ours() {
        let at = |path: &str| HttpConfig { base_path: path.to_owned(), ..HttpConfig::default() };
        for good in ["", "/graphs", "/tools/graph-1"] {
            assert!(crate::validate(&at(good)).is_ok(), "{good}");
        }
        for bad in ["graphs", "/", "/graphs/", "//a", "/a/../b", "/a b", "/graph", "/api/x", "/a?b"]
        {
            assert!(crate::validate(&at(bad)).is_err(), "{bad}");
        }
        let cookie = CookieConfig::from_settings(None, None, false).unwrap().below("/graphs");
        assert!(cookie.set_token("t").contains("; Path=/graphs/; "));
    }

    #[test]
    fn an_origin_with_a_path_and_a_csp_injection_are_refused() {
        assert!(HttpConfig::default().validate().is_ok());
        let origin = HttpConfig {
            allowed_origins: vec!["https://a.example/x".to_owned()],
            ..HttpConfig::default()
        };
        assert!(origin.validate().is_err());
        for sources in ["*; script-src *", "https://a.example, https://b.example"] {
            let csp = naming(sources).validate().unwrap_err().to_string();
            assert!(csp.contains("frame_ancestors") && csp.contains(sources), "{csp}");
        }
    }

    fn naming(sources: &str) -> HttpConfig {
        HttpConfig { frame_ancestors: Some(sources.to_owned()), ..HttpConfig::default() }
    }

    #[test]
    fn in_frames_that_nobody_named_people_watch_where_their_cookies_get() {
        let lax = HttpConfig::default();
        let cookie = CookieConfig::from_settings(None, None, true).unwrap();
        let none = HttpConfig { cookie: cookie.clone(), ..HttpConfig::default() };
        assert!(!lax.frames_only_watch() && none.frames_only_watch());
        assert!(!HttpConfig { cookie: cookie.clone(), ..naming("*") }.frames_only_watch());
        let unset = HttpConfig { cookie, ..naming(" ") };
        assert!(unset.named_ancestors().is_none() && unset.frames_only_watch());
    }
}
