//! Access to a route: the credential that it asks for, the listener that serves it, the forms of its path.

/// The credential that a route asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auth {
    /// No credential is asked for.
    Public,
    /// The body carries it: password or token. Failures take the shape of the token routes.
    Credentials,
    /// `Authorization: PersonalKey <id>:<secret>`.
    PersonalKey,
    /// `Authorization: Bearer <token>`.
    Bearer,
    /// As [`Auth::Bearer`], and failures say `"status":"Failed"`.
    Switch,
    /// The tool endpoint: some of its methods ask for `Authorization: Bearer <key id>:<key>` or a token.
    Tool,
    /// A viewer: Bearer header, cookie or neither, as far as the dataset's privacy allows.
    Viewer,
}

impl Auth {
    /// Whether pages of other origins may call the route. Only where the credential is one that a
    /// browser never adds by itself; cookies would make such calls dangerous.
    #[must_use]
    pub const fn allows_cors(self) -> bool {
        matches!(self, Self::Credentials | Self::PersonalKey | Self::Bearer | Self::Switch)
    }
}

/// Whether the path is also served with the other form of its trailing slash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slash {
    /// The written form only.
    Exact,
    /// Both forms, because a known client sends the other one. Served directly, never redirected.
    Either,
}

/// Which listener serves a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listener {
    /// The address that clients use.
    Public,
    /// The second address, loopback by default.
    Internal,
}
