//! From a row of the route table to its handler, and from a handler's refusal to an answer.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use graphlume_types::Code;
use http::header::{ACCEPT, EXPECT};

use crate::body::{self, Leftover};
use crate::request::{Hit, Reply, Req};
use crate::rest::{account, datasets, files, health, links, sessions, tokens, viz};
use crate::route::Endpoint;
use crate::shell::Shell;
use crate::status::{ApiError, code_name};
use crate::{html, magic, mcp, openapi, page, sign_in, ws};

/// What every handler returns.
type Answer = BoxFuture<'static, Result<Reply, ApiError>>;

/// Runs the handler of a request's row and answers whatever comes of it.
pub(crate) async fn respond(shell: Arc<Shell>, req: Req, leftover: Leftover) -> Reply {
    let hit = Arc::clone(&req.hit);
    let told_to_wait = req.headers.contains_key(EXPECT);
    let wants_html = hit.route.endpoint.is_page()
        && req.header(&ACCEPT).is_some_and(|accept| {
            // Links are opened by whatever people have: only who asks for something else gets it.
            let any = hit.route.endpoint == Endpoint::MagicLogin && accept.contains("*/*");
            accept.contains("text/html") || any
        });
    let endpoint = hit.route.endpoint;
    let reads = req.method.is_safe() && !endpoint.changes_on_get() || endpoint.only_reads();
    let answer = handle(&shell, req).await;
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
            route = hit.route.path,
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
        error.render(hit.route.auth, &hit.id)
    }
}

/// What was read for somebody who was logged out meanwhile is not sent. What was written is: it happened.
fn still_theirs(shell: &Shell, hit: &Hit, reads: bool, reply: Reply) -> Result<Reply, ApiError> {
    if reads && let Some((who, access)) = hit.caller.get() {
        shell.service.identity.require_access_since(who, *access)?;
    }
    Ok(reply)
}

/// The handler of each endpoint. Total: a new endpoint does not compile without one.
fn handle(shell: &Arc<Shell>, req: Req) -> Answer {
    use Endpoint as E;
    let endpoint = req.hit.route.endpoint;
    let s = Arc::clone(shell);
    match endpoint {
        E::Login => tokens::login(s, req).boxed(),
        E::PersonalKeyLogin => tokens::personal_key(s, req).boxed(),
        E::Refresh => tokens::refresh(s, req).boxed(),
        E::Verify => tokens::verify(s, req).boxed(),
        E::SwitchOrg => tokens::switch_org(s, req).boxed(),
        E::MintLink => links::mint(s, req).boxed(),
        E::MagicLogin => magic::login(s, req).boxed(),
        E::LogoutUser => links::logout_user(s, req).boxed(),
        E::OwnPassword => account::password(s, req).boxed(),
        E::OwnKeys => account::keys(s, req).boxed(),
        E::OwnKeyCreate => account::create_key(s, req).boxed(),
        E::OwnKeyRevoke => account::revoke_key(s, req).boxed(),
        E::FilesList => files::list(s, req).boxed(),
        E::FileCreate => files::create(s, req).boxed(),
        E::FileGet => files::get(s, req).boxed(),
        E::FileDelete => files::delete(s, req).boxed(),
        E::FileUpload => files::upload(s, req).boxed(),
        E::FilePatch => files::patch(s, req).boxed(),
        E::DatasetsList => datasets::list(s, req).boxed(),
        E::DatasetCreate => datasets::create(s, req).boxed(),
        E::ComputedDatasetCreate => datasets::create_computed(s, req).boxed(),
        E::DatasetSchema => now(datasets::schema()),
        E::DatasetGet => datasets::get(s, req).boxed(),
        E::DatasetDelete => datasets::delete(s, req).boxed(),
        E::DirectNodes | E::DirectEdges => datasets::direct(s, req).boxed(),
        E::DatasetQuery | E::DatasetQueryAll => datasets::query(s, req).boxed(),
        E::DatasetPython => datasets::no_python(s, req).boxed(),
        E::ShareLink => datasets::share(s, req).boxed(),
        E::SessionsList => sessions::list(s, req).boxed(),
        E::SessionGet => sessions::get(s, req).boxed(),
        E::HealthProxy
        | E::HealthStatic
        | E::HealthContent
        | E::HealthGpuController
        | E::HealthCpuWorker
        | E::HealthGpuWorker
        | E::HealthViz
        | E::HealthPivot
        | E::HealthSessions
        | E::HealthAll => now(health::health(&s, endpoint)),
        E::CheckWorkers => now(health::workers(&s)),
        E::Metrics => health::metrics(s, req).boxed(),
        E::StartPage => now(page::start(&s, &req)),
        E::SignInPage => now(sign_in::form(&s, &req)),
        E::SignIn => sign_in::submit(s, req).boxed(),
        E::SignOut => sign_in::sign_out(s, req).boxed(),
        E::GraphPage => page::graph(s, req).boxed(),
        E::GraphAsset => now(page::asset(&req, req.param("path"))),
        E::Favicon => now(page::asset(&req, "favicon.svg")),
        E::OpenApi => now(openapi::document(&s)),
        E::VizSocket => ws::open(s, req).boxed(),
        E::VizAbout => viz::about(s, req).boxed(),
        E::VizGraph => viz::graph(s, req).boxed(),
        E::VizScene => viz::scene(s, req).boxed(),
        E::VizEdges => viz::edges(s, req).boxed(),
        E::VizPositions => viz::positions(s, req).boxed(),
        E::VizNode => viz::node(s, req).boxed(),
        E::VizNames => viz::names(s, req).boxed(),
        E::VizEdge => viz::edge(s, req).boxed(),
        E::VizSearch => viz::search(s, req).boxed(),
        E::VizFrame => viz::frame(s, req).boxed(),
        E::ToolMessage => mcp::post(s, req).boxed(),
        E::ToolStream => now(Ok(mcp::get(&s, &req))),
        E::ToolClose => now(Ok(mcp::delete(&s, &req))),
        E::ToolManifest => now(Ok(mcp::manifest())),
        E::LegacyGone => now(Err(ApiError::new(
            Code::Gone,
            "removed",
            "this address was removed long ago; use a client that speaks /api/v2/",
        ))),
    }
}

/// An answer that is there already.
fn now(answer: Result<Reply, ApiError>) -> Answer {
    std::future::ready(answer).boxed()
}
