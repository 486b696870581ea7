//! `get_picture`.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use graphlume_engine::PictureTheme;
use graphlume_service::{PictureAsked, ServiceError, ToolAccess};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Call, Outcome, Tool, ToolError, object, session_id};

/// Pixels of a side: what models look at, and no more.
const SIDE_MIN: u32 = 200;
const SIDE_MAX: u32 = 1_600;
const WIDTH: u32 = 1_200;
const HEIGHT: u32 = 800;
/// Bytes of the file, which takes four thirds of it as text.
const BYTES_MAX: usize = 4_000_000;
/// How long it waits for a layout that runs: a call of a tool has not much more time.
const WAIT: Duration = Duration::from_secs(8);

pub(super) static TOOL: Tool = Tool {
    name: "get_picture",
    title: "Look at the picture",
    description: "Returns a PNG picture (image content) of what a visualization shows now: every visible node and edge with its \
                  colours, filters and collections, the names of the most important nodes, and a legend. Use it to see \
                  clusters, outliers and the effect of collections; use query_graph for numbers and names, which a picture \
                  gives only in part. It shows all that is visible, whatever part people look at. A layout that runs is waited \
                  for, 8 seconds at most. Where nodes are too many to be told apart, communities are discs with the name of \
                  their largest node and how many nodes they have; so is what people have collapsed. width and height are 200 to 1600 pixels.",
    access: ToolAccess::Read,
    idempotent: true,
    destructive: false,
    schema,
    example: r##"{"session_id":"ring","width":1200,"height":800}"##,
    run,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    session_id: String,
    width: Option<u32>,
    height: Option<u32>,
    theme: Option<Theme>,
    #[serde(default)]
    bundle: bool,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Theme {
    Dark,
    Light,
}

fn schema() -> Value {
    let side = |usual: u32, what: &str| {
        json!({
            "type": "integer", "minimum": SIDE_MIN, "maximum": SIDE_MAX, "default": usual,
            "description": format!("{what} of the picture in pixels, {SIDE_MIN} to {SIDE_MAX}."),
        })
    };
    let theme = json!({
        "type": "string", "enum": ["dark", "light"],
        "description": "Background and palette; those of the visualization when absent.",
    });
    object(
        json!({
            "session_id": session_id(), "width": side(WIDTH, "Width"), "height": side(HEIGHT, "Height"),
            "theme": theme,
            "bundle": {
                "type": "boolean", "default": false,
                "description": "Whether edges between communities run together, which shows who is linked with whom.",
            },
        }),
        &["session_id"],
    )
}

fn run(mut call: Call) -> BoxFuture<'static, Result<Outcome, ToolError>> {
    async move {
        let a: Arguments = call.arguments()?;
        let side = |name: &'static str, given: Option<u32>, usual: u32| {
            let side = given.unwrap_or(usual);
            let legal = (SIDE_MIN..=SIDE_MAX).contains(&side);
            let message =
                format!("{name}={side} is not a number of pixels from {SIDE_MIN} to {SIDE_MAX}");
            if legal {
                Ok(Some(side))
            } else {
                Err(ServiceError::Invalid { field: name.into(), message })
            }
        };
        let asked = PictureAsked {
            width: side("width", a.width, WIDTH)?,
            height: side("height", a.height, HEIGHT)?,
            theme: a.theme.map(|theme| match theme {
                Theme::Dark => PictureTheme::Dark,
                Theme::Light => PictureTheme::Light,
            }),
            legend: true,
            bundle: a.bundle,
            wait: Some(WAIT),
            ..PictureAsked::default()
        };
        let live = call.live(&a.session_id, TOOL.access).await?;
        let png = call.service.agents.picture(&live, asked).await?;
        if png.len() > BYTES_MAX {
            let bytes = png.len();
            let message = format!(
                "width: the picture takes {bytes} bytes, {BYTES_MAX} at most; ask for a smaller one"
            );
            return Err(ServiceError::Invalid { field: "width".into(), message }.into());
        }
        Ok(Outcome::Picture(png))
    }
    .boxed()
}
