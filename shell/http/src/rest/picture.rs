//! Pictures of a visualization, which the server draws without a browser.

use std::sync::Arc;

use graphlume_engine::{PictureSettings, PictureTheme};
use graphlume_service::Principal;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};

use super::viz::{DATASET, answered, binary, grant};
use crate::query;
use crate::request::{Reply, Req};
use crate::route::{Route, run};
use crate::schema::Shape::{Bool, Count, Text};
use crate::schema::{parameter, returns_bytes};
use crate::shell::Shell;
use crate::status::ApiError;

pub(crate) const ROUTES: &[Route] = &[Route::get(
    "/viz/{session_id}/picture.png",
    run!(Viewer picture),
    &[returns_bytes(&["image/png"], "The picture")],
    "What the visualization shows now, as the page draws it and without names.",
)
.query(&[
    parameter("width", Count, "Pixels of a row, 16 to 8192; 1440 when absent."),
    parameter("height", Count, "Rows, 16 to 8192; 900 when absent."),
    parameter("theme", Text, "dark, or light; dark when absent."),
    parameter("transparent", Bool, "Whether the background is left out."),
    DATASET,
])];

const PNG: HeaderValue = HeaderValue::from_static("image/png");
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

async fn picture(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    let settings = settings(&req.pairs())?;
    let grant = grant(&shell, &req, &who).await?;
    let mut reply = binary(answered(shell.service.sessions.picture(&grant, settings)).await?);
    reply.headers_mut().insert(CONTENT_TYPE, PNG);
    // The next one may be another.
    reply.headers_mut().insert(CACHE_CONTROL, NO_STORE);
    Ok(reply)
}

/// What the address asks for.
fn settings(pairs: &[(String, String)]) -> Result<PictureSettings, ApiError> {
    let given = |name: &str| query::last(pairs, name);
    let refused = |name: &'static str, value: &str, legal: &str| {
        let shown: String = value.chars().take(40).collect();
        ApiError::invalid("invalid-argument", format!("{name}={shown:?} is not {legal}")).at(name)
    };
    let pixels = |name: &'static str, usual: u32| match given(name) {
        None => Ok(usual),
        Some(text) => {
            text.parse().map_err(|_| refused(name, text, "a number of pixels from 16 to 8192"))
        }
    };
    let usual = PictureSettings::default();
    let theme = match given("theme") {
        None | Some("dark") => PictureTheme::Dark,
        Some("light") => PictureTheme::Light,
        Some(other) => return Err(refused("theme", other, "dark or light")),
    };
    let transparent = match given("transparent") {
        None | Some("false" | "0") => false,
        Some("true" | "1") => true,
        Some(other) => return Err(refused("transparent", other, "true or false")),
    };
    let (width, height) = (pixels("width", usual.width)?, pixels("height", usual.height)?);
    Ok(PictureSettings { width, height, theme, transparent, ..usual })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn what_an_address_cannot_mean_is_refused_by_name() {
        let of = |raw: &str| settings(&query::pairs(raw));
        let found = of("width=300&height=200&theme=light&transparent=true").unwrap();
        assert_eq!((found.width, found.height), (300, 200));
        assert_eq!((found.theme, found.transparent), (PictureTheme::Light, true));
        assert_eq!(of("").unwrap(), PictureSettings::default());
        for (raw, name) in
            [("width=wide", "width"), ("theme=blue", "theme"), ("transparent=2", "transparent")]
        {
            let text = format!("{:?}", of(raw).unwrap_err());
            assert!(text.contains(name), "{text}");
        }
    }
}
