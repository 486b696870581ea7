//! Rights: the callers that may open a stream, and the acts that their pages are allowed.

use std::net::IpAddr;
use std::sync::Arc;

use graphlume_engine::Viewer;
use graphlume_service::{Arrival, OpenPage, PageControl, Principal, Seat, ViewerGrant};
use graphlume_types::Code;
use tokio::sync::watch;

use crate::state::Shell;
use crate::status::ApiError;

/// Who wants to watch what.
pub(super) struct Asked {
    pub(super) who: Result<Principal, ApiError>,
    pub(super) session: String,
    pub(super) dataset: Option<String>,
    pub(super) arrival: Arrival,
    /// Whether the page puts a key frame together that comes in stripes.
    pub(super) stripes: bool,
    /// See [`Req::only_watches`](crate::request::Req::only_watches).
    pub(super) only_watches: bool,
    pub(super) request_id: Arc<str>,
    /// The address of the client.
    pub(super) client: IpAddr,
}

/// A viewer who may watch, until the rights change.
pub(super) struct Admitted {
    pub(super) who: Principal,
    pub(super) grant: ViewerGrant,
    pub(super) page_control: PageControl,
    pub(super) viewer: Viewer,
    pub(super) seat: Seat,
    /// The visualization is open for as long as this lives.
    pub(super) page: OpenPage,
    pub(super) access: watch::Receiver<u64>,
}

/// Checks that the caller may watch, and attaches it to the session.
pub(super) async fn admit(shell: &Shell, asked: Asked) -> Result<Admitted, ApiError> {
    let who = asked.who?;
    // Before the check, so that no change after it goes unseen.
    let access = shell.service.identity.access_changes();
    let mut grant = shell
        .service
        .sessions
        .authorize_viewer(&who, &asked.session, asked.dataset.as_deref())
        .await?;
    grant.caller = grant.caller.or_stranger(asked.client);
    let viewer = shell.service.sessions.attach(&grant).await?;
    // Session names are chosen by clients: between the check and this line the name may have come to
    // stand for a graph that this viewer may not see. From here on it cannot: it has a viewer.
    if viewer.dataset() != grant.dataset {
        return Err(ApiError::new(
            Code::Conflict,
            "session-taken",
            "the session shows another dataset",
        ));
    }
    let page = shell.service.sessions.page_opened(&who, &grant.session);
    let page_control = match asked.only_watches {
        true => PageControl::default(),
        false => shell.service.sessions.take_control(&who, &grant, &asked.arrival)?,
    };
    let seat = shell.service.sessions.take_seat(&who, &grant, &page_control)?;
    Ok(Admitted { who, grant, page_control, viewer, seat, page, access })
}
