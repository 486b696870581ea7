//! The HTTP shell of Graphlume: the only crate that knows HTTP, cookies and websockets.
//!
//! A request passes, in this order: the accept loop ([`serve`]: connections, deadlines, drain), the
//! frame around every request (`shell`: sizes, the route table, cross-origin rules, shedding, panics,
//! headers, log), warp (which takes the request apart), and a handler (`rest`, `page`, `magic`, `ws`),
//! which asks the service and writes down its answer. Refusals become answers in `status` alone.
//!
//! What is absent: decisions. Who may do what, and what a request means, is the service's business.

mod access;
mod access_log;
mod agents;
mod body;
mod config;
mod conn;
mod cors;
mod dispatch;
mod error;
mod held;
mod host;
mod html;
mod legacy;
mod magic;
mod matching;
mod mcp;
mod metrics;
mod openapi;
mod page;
mod peers;
mod proxy;
mod public_url;
mod query;
mod reply;
mod request;
mod request_head;
mod rest;
pub mod route;
mod router;
mod safety_headers;
pub mod schema;
mod sent;
mod serve;
mod shell;
mod sign_in;
mod standby;
mod state;
pub mod status;
mod table;
mod waiters;
mod ws;

pub use access::{Auth, Listener, Slash};
pub use config::{
    BeforeTool, CSRF_COOKIE, CookieConfig, HttpConfig, JWT_COOKIE, KNOWN_COOKIE, SESSION_COOKIE,
    SameSite,
};
pub use error::HttpError;
pub use proxy::Network;
pub use public_url::PublicUrl;
pub use serve::{Listeners, Running, listen, serve, serve_on};
pub use standby::{Outage, StandIn, stand_in};
pub use table::{routes, validate};
