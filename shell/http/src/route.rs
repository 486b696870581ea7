//! Routes: the handler for a method and a path, and its terms.
//!
//! A row ([`Route`]) stands beside its handler and holds all that is known of the route; [`crate::table`] lists the rows.
//! Matching, slash rules, 404 and 405 with `Allow`, preflights, metrics labels and `/openapi.json` derive from it. Which
//! caller a handler sees is decided by the variant of [`Handler`] that it stands in: one that asks for a caller does not
//! compile in a row that has none.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use graphlume_service::Principal;
use http::Method;

use crate::access::{Auth, Listener, Slash};
use crate::reply::Reply;
use crate::request::Req;
use crate::schema::{Parameter, Shape, Success};
use crate::state::Shell;
use crate::status::ApiError;

/// What every handler returns.
pub(crate) type Answer = BoxFuture<'static, Result<Reply, ApiError>>;

/// A handler that learns nothing of who calls.
type Open = fn(Arc<Shell>, Req) -> Answer;
/// A handler that is given the caller.
type Known = fn(Arc<Shell>, Req, Principal) -> Answer;

/// A handler, by the caller that it sees: the access rule of its route.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    /// [`Auth::Public`].
    Public(Open),
    /// [`Auth::Credentials`].
    Credentials(Open),
    /// [`Auth::PersonalKey`].
    PersonalKey(Open),
    /// [`Auth::Bearer`].
    Bearer(Known),
    /// [`Auth::Switch`].
    Switch(Known),
    /// [`Auth::Tool`]: each message says what it needs.
    Tool(Open),
    /// [`Auth::Viewer`].
    Viewer(Known),
    /// [`Auth::Viewer`], where a credential that does not hold is told on the opened stream.
    Stream(fn(Arc<Shell>, Req, Result<Principal, ApiError>) -> Answer),
    /// A public page that greets a visitor by name.
    Visitor(Known),
}

/// `run!(Bearer list)`: the handler `list`, an async function of its module, for callers with a token.
macro_rules! run {
    (Public $handler:path) => {
        $crate::route::Handler::Public(|shell, req| Box::pin($handler(shell, req)))
    };
    (Credentials $handler:path) => {
        $crate::route::Handler::Credentials(|shell, req| Box::pin($handler(shell, req)))
    };
    (PersonalKey $handler:path) => {
        $crate::route::Handler::PersonalKey(|shell, req| Box::pin($handler(shell, req)))
    };
    (Tool $handler:path) => {
        $crate::route::Handler::Tool(|shell, req| Box::pin($handler(shell, req)))
    };
    ($access:ident $handler:path) => {
        $crate::route::Handler::$access(|shell, req, who| Box::pin($handler(shell, req, who)))
    };
}
pub(crate) use run;

/// What a request body is.
#[derive(Debug, Clone, Copy)]
pub enum RequestBody {
    /// Ignored.
    None,
    /// A JSON object.
    Json(Shape),
    /// A JSON object that may be missing.
    OptionalJson(Shape),
    /// `application/x-www-form-urlencoded`.
    Form(Shape),
    /// Raw bytes, streamed.
    Raw,
}

/// Who opens an address, which decides what a refusal looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenedBy {
    /// A program.
    Program,
    /// A person's browser: a refusal is a page where the browser asks for one.
    Browser,
    /// Whatever a person has that follows links: a refusal is a page unless something else is asked for.
    Link,
}

/// One row of the table.
pub struct Route {
    /// The method.
    pub method: Method,
    /// The path as the specification writes it; `{name}` is one segment, `{*name}` the rest.
    pub path: &'static str,
    /// Slash policy.
    pub slash: Slash,
    /// The code, and who may call it.
    pub(crate) handler: Handler,
    /// Request body.
    pub body: RequestBody,
    /// Query parameters, for the documentation.
    pub query: &'static [Parameter],
    /// Where it is served.
    pub listener: Listener,
    /// The answers of a request that is not refused, for the documentation.
    pub successes: &'static [Success],
    /// The form of a refusal, where it is not the common one.
    pub refusal: Option<Shape>,
    /// One sentence for the documentation.
    pub doc: &'static str,
    /// Whether it tells the health of a component.
    pub is_health: bool,
    /// Whether the request counts against the limit of requests in progress. Health must answer while the server is full,
    /// and an open stream is idle nearly all the time.
    pub(crate) is_shed: bool,
    /// Whether it may wait long for others; see [`crate::waiters`].
    pub(crate) waits: bool,
    /// Whether a GET changes something, as the interface has it. Such a route takes its credential from a header alone,
    /// which no foreign page can make a browser send, and answers no HEAD.
    pub(crate) changes_on_get: bool,
    /// Whether it changes nothing, whatever its method.
    pub(crate) only_reads: bool,
    /// Whether a GET that opens a stream, which a HEAD must not.
    pub(crate) is_stream: bool,
    /// Who opens it.
    pub(crate) opened_by: OpenedBy,
    /// Whether pages of other sites show it in a frame, as far as the operator lets them; all others do not.
    pub(crate) is_framed: bool,
}

impl std::fmt::Debug for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}

impl Route {
    /// A row with the common values: written slash form, no body, no query, public listener.
    pub(crate) const fn new(
        method: Method,
        path: &'static str,
        handler: Handler,
        successes: &'static [Success],
        doc: &'static str,
    ) -> Self {
        Self {
            method,
            path,
            slash: Slash::Exact,
            handler,
            body: RequestBody::None,
            query: &[],
            listener: Listener::Public,
            successes,
            refusal: None,
            doc,
            is_health: false,
            is_shed: true,
            waits: false,
            changes_on_get: false,
            only_reads: false,
            is_stream: false,
            opened_by: OpenedBy::Program,
            is_framed: false,
        }
    }

    /// A GET.
    pub(crate) const fn get(
        path: &'static str,
        handler: Handler,
        successes: &'static [Success],
        doc: &'static str,
    ) -> Self {
        Self::new(Method::GET, path, handler, successes, doc)
    }

    /// A POST of `body`.
    pub(crate) const fn post(
        path: &'static str,
        handler: Handler,
        body: RequestBody,
        successes: &'static [Success],
        doc: &'static str,
    ) -> Self {
        Self::new(Method::POST, path, handler, successes, doc).taking(body)
    }

    /// With this body.
    pub(crate) const fn taking(mut self, body: RequestBody) -> Self {
        self.body = body;
        self
    }

    /// Served with both slash forms.
    pub(crate) const fn either(mut self) -> Self {
        self.slash = Slash::Either;
        self
    }

    /// With these query parameters.
    pub(crate) const fn query(mut self, parameters: &'static [Parameter]) -> Self {
        self.query = parameters;
        self
    }

    /// Served on the second listener.
    pub(crate) const fn internal(mut self) -> Self {
        self.listener = Listener::Internal;
        self
    }

    /// With refusals of this form.
    pub(crate) const fn refusing(mut self, shape: Shape) -> Self {
        self.refusal = Some(shape);
        self
    }

    /// Answered also while the server has too many requests in progress.
    pub(crate) const fn unshed(mut self) -> Self {
        self.is_shed = false;
        self
    }

    /// See [`Route::waits`].
    pub(crate) const fn waiting(mut self) -> Self {
        self.waits = true;
        self.unshed()
    }

    /// See [`Route::is_health`].
    pub(crate) const fn health(mut self) -> Self {
        self.is_health = true;
        self.unshed()
    }

    /// See [`Route::changes_on_get`].
    pub(crate) const fn changing(mut self) -> Self {
        self.changes_on_get = true;
        self
    }

    /// See [`Route::only_reads`].
    pub(crate) const fn reading(mut self) -> Self {
        self.only_reads = true;
        self
    }

    /// See [`Route::is_stream`].
    pub(crate) const fn stream(mut self) -> Self {
        self.is_stream = true;
        self.unshed()
    }

    /// See [`Route::opened_by`].
    pub(crate) const fn opened_by(mut self, who: OpenedBy) -> Self {
        self.opened_by = who;
        self
    }

    /// See [`Route::is_framed`].
    pub(crate) const fn framed(mut self) -> Self {
        self.is_framed = true;
        self
    }

    /// The credential that the handler's access rule asks for.
    #[must_use]
    pub const fn auth(&self) -> Auth {
        match self.handler {
            Handler::Public(_) | Handler::Visitor(_) => Auth::Public,
            Handler::Credentials(_) => Auth::Credentials,
            Handler::PersonalKey(_) => Auth::PersonalKey,
            Handler::Bearer(_) => Auth::Bearer,
            Handler::Switch(_) => Auth::Switch,
            Handler::Tool(_) => Auth::Tool,
            Handler::Viewer(_) | Handler::Stream(_) => Auth::Viewer,
        }
    }

    /// Whether a person opens it as a page, and should see a page when it fails.
    #[must_use]
    pub fn is_page(&self) -> bool {
        self.opened_by != OpenedBy::Program
    }
}
