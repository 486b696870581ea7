//! The first message of a stream.

use graphlume_engine::Viewer;
use graphlume_service::{PageControl, Principal, Seat};
use serde_json::{Value, json};

use super::viewer::{End, Link};
use crate::shell::Shell;

/// Versions of the JSON messages that this server speaks.
const PROTOCOL_MIN: u32 = 1;
const PROTOCOL_MAX: u32 = 1;

/// What the first message says to a page, whether it can steer or not.
pub(crate) fn greeting(shell: &Shell, viewer: &Viewer, who: &Principal) -> Value {
    let mut hello = json!({
        "t": "hello",
        "protocol_min": PROTOCOL_MIN,
        "protocol_max": PROTOCOL_MAX,
        "build": shell.config.build,
        "user": who.username().unwrap_or_default(),
        "notices": &*shell.service.sessions.address_notices(viewer.session()),
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
        let mut hello = greeting(self.shell, viewer, who);
        hello["steers"] = json!(page_control.controls);
        hello["key"] = json!(page_control.key);
        hello["viewer"] = json!(seat.id());
        Ok(self.writer.text(hello.to_string()).await?)
    }
}
