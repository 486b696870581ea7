//! The first message of a stream.

use graphlume_engine::Viewer;
use graphlume_service::{PageControl, Principal, Seat};
use serde_json::{Value, json};

use super::viewer::{End, Link};
use crate::state::Shell;

/// Versions of the JSON messages that this server speaks.
const PROTOCOL_MIN: u32 = 1;
const PROTOCOL_MAX: u32 = 1;

/// What a page is told that may only watch.
const FRAMED: &str = "You are signed in, and a page of another site shows this one in a frame: here you watch, what you \
     change is for your eyes alone, and that page's scripts learn nothing. Open it in a window of its own to change it \
     for all. The operator of this server can name sites that may do more with --frame-ancestors.";

/// What the first message says to a page, whether it can steer or not; `only_watches` as [`Req::only_watches`](crate::request::Req::only_watches) found.
pub(crate) fn greeting(
    shell: &Shell,
    viewer: &Viewer,
    who: &Principal,
    only_watches: bool,
) -> Value {
    let of_address = shell.service.sessions.address_notices(viewer.session());
    let mut notices: Vec<Value> = of_address.iter().map(|n| json!(n)).collect();
    if only_watches {
        notices.push(json!({"slug": "framed", "text": FRAMED}));
    }
    let mut hello = json!({
        "t": "hello",
        "protocol_min": PROTOCOL_MIN,
        "protocol_max": PROTOCOL_MAX,
        "build": shell.config.build,
        "user": who.username().unwrap_or_default(),
        "notices": notices,
        "framed": only_watches,
    });
    if let (Some(out), Value::Object(parts)) = (hello.as_object_mut(), viewer.hello()) {
        out.extend(parts);
    }
    hello
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
        hello["steers"] = json!(page_control.controls);
        hello["key"] = json!(page_control.key);
        hello["viewer"] = json!(seat.id());
        Ok(self.writer.text(hello.to_string()).await?)
    }
}
