//! From a row of the route table to its handler, and from a handler's refusal to an answer.

use std::sync::Arc;

use graphlume_types::{Caller, Code};
use http::header::{ACCEPT, EXPECT};

use crate::body::{self, Leftover};
use crate::html;
use crate::reply::Reply;
use crate::request::{Hit, Req};
use crate::route::{Handler, OpenedBy, Route};
use crate::state::Shell;
use crate::status::{ApiError, code_name};
use crate::ws::is_own_page;

/// Runs the handler of a request's row and answers whatever comes of it.
pub(crate) async fn respond(
    shell: Arc<Shell>,
    route: &'static Route,
    req: Req,
    leftover: Leftover,
) -> Reply {
    let hit = Arc::clone(&req.hit);
    let told_to_wait = req.headers.contains_key(EXPECT);
    let wants_html = route.is_page()
        && req.header(&ACCEPT).is_some_and(|accept| {
            let any = route.opened_by == OpenedBy::Link && accept.contains("*/*");
            accept.contains("text/html") || any
        });
    let reads = req.method.is_safe() && !route.changes_on_get || route.only_reads;
    let answer = handle(&shell, route, req).await;
    let error = match answer.and_then(|reply| still_theirs(&shell, &hit, reads, reply)) {
        Ok(reply) => {
            // The tool endpoint refuses in its own words.
            if reply.status().is_client_error() && !told_to_wait {
                body::discard(&leftover, shell.discard_patience()).await;
            }
            return reply;
        }
        Err(error) => error,
    };
    let reason = code_name(error.problem);
    shell.metrics.refused(reason);
    if error.is_internal() {
        tracing::error!(
            request_id = &*hit.id,
            route = hit.path,
            slug = &*error.slug,
            cause = %error.message,
            "request failed"
        );
    } else {
        tracing::debug!(request_id = &*hit.id, reason, cause = %error.message, "request refused");
    }
    // A client that waits for our permission to send has nothing on its way.
    if !told_to_wait {
        body::discard(&leftover, shell.discard_patience()).await;
    }
    if wants_html {
        html::error_page(&error, &hit.id, &shell.config.base_path)
    } else {
        error.render(route.auth(), &hit.id)
    }
}

/// What was read for a caller who was logged out meanwhile is not sent. What was written is: it happened.
fn still_theirs(shell: &Shell, hit: &Hit, reads: bool, reply: Reply) -> Result<Reply, ApiError> {
    if reads && let Some((who, access)) = hit.caller.get() {
        shell.service.identity.require_access_since(who, *access)?;
    }
    Ok(reply)
}

/// Runs the row's handler with the caller that its access rule asks for. No handler learns who calls in another way.
async fn handle(shell: &Arc<Shell>, route: &Route, req: Req) -> Result<Reply, ApiError> {
    let s = Arc::clone(shell);
    match route.handler {
        Handler::Public(run)
        | Handler::Credentials(run)
        | Handler::PersonalKey(run)
        | Handler::Tool(run) => run(s, req).await,
        Handler::Bearer(run) | Handler::Switch(run) => {
            let who = req.principal(&shell.service)?;
            run(s, req, who).await
        }
        Handler::Viewer(run) => {
            own_page(shell, &req)?;
            let who = req.viewer(&shell.service)?;
            let _place = match route.waits {
                true => {
                    let caller = Caller::from(who.user()).or_stranger(req.client(shell));
                    Some(shell.waiters.place(caller).await?)
                }
                false => None,
            };
            run(s, req, who).await
        }
        // Forms, which say in words of their own that another site has sent them.
        Handler::Visitor(run) => {
            let who = req.viewer(&shell.service)?;
            run(s, req, who).await
        }
        Handler::Stream(run) => {
            let who = req.viewer(&shell.service);
            run(s, req, who).await
        }
    }
}

/// Refuses a page of another site that has a browser send a request other than a GET with our cookie: it is refused before
/// any work, whatever the route.
fn own_page(shell: &Shell, req: &Req) -> Result<(), ApiError> {
    if req.method.is_safe() || is_own_page(&req.headers, &shell.config.allowed_origins) {
        return Ok(());
    }
    let text = "only pages of this server may ask by their visitors' cookies (a proxy in front has to pass the header Host \
                on)";
    Err(ApiError::new(Code::Forbidden, "foreign-origin", text))
}
