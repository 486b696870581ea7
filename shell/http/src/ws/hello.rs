//! The first message of a stream.

use graphlume_engine::{Hello, PageNotice, SessionState, ToPage, Viewer};
use graphlume_service::{PageControl, Principal, Seat};

use super::viewer::{End, Link};
use crate::state::Shell;

/// Versions of the JSON messages that this server speaks.
const PROTOCOL_MIN: u32 = 1;
const PROTOCOL_MAX: u32 = 1;

/// The notice for a page that may only watch.
const FRAMED: &str = "You are signed in, and a page of another site shows this one in a frame: here you watch, what you \
     change is for your eyes alone, and that page's scripts learn nothing. Open it in a window of its own to change it \
     for all. The operator of this server can name sites that may do more with --frame-ancestors.";

/// The first message to a page without a stream; `only_watches` as [`Req::only_watches`](crate::request::Req::only_watches)
/// found.
pub(crate) fn greeting<'a>(
    shell: &'a Shell,
    viewer: &'a Viewer,
    who: &'a Principal,
    only_watches: bool,
) -> Hello<'a> {
    let SessionState { state, detail, .. } = &*viewer.state();
    let of_address = shell.service.sessions.address_notices(viewer.session());
    let mut notices: Vec<PageNotice<'_>> = of_address.iter().map(Into::into).collect();
    if only_watches {
        notices.push(PageNotice { slug: "framed".into(), text: FRAMED.into(), count: None });
    }
    Hello {
        protocol_min: PROTOCOL_MIN,
        protocol_max: PROTOCOL_MAX,
        build: &shell.config.build,
        user: who.username().unwrap_or_default(),
        notices,
        framed: only_watches,
        session: viewer.session(),
        dataset: viewer.dataset(),
        state: *state,
        detail: detail.clone(),
        steers: None,
        key: None,
        viewer: None,
    }
}

impl Link<'_> {
    /// The first message: before anything is loaded, so that the page knows at once that it is in the
    /// right place.
    pub(super) async fn hello(
        &mut self,
        viewer: &Viewer,
        who: &Principal,
        page_control: &PageControl,
        seat: &Seat,
    ) -> Result<(), End> {
        let mut hello = greeting(self.shell, viewer, who, self.only_watches);
        hello.steers = Some(page_control.controls);
        hello.key = Some(page_control.key.as_deref());
        hello.viewer = Some(seat.id());
        Ok(self.say(&ToPage::Hello(hello)).await?)
    }
}
