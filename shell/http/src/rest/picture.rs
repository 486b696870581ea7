//! Pictures of a visualization, which the server draws without a browser.

use std::sync::Arc;
use std::time::Duration;

use graphlume_engine::{PictureBackground, PictureFormat, PictureTheme, PictureWindow, backdrop};
use graphlume_service::{LookAsked, PictureAsked, Principal};
use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue,
};

use super::viz::{DATASET, binary, grant};
use crate::query;
use crate::reply::Reply;
use crate::request::Req;
use crate::route::{Route, run};
use crate::schema::Shape::{Bool, Count, Number, Text};
use crate::schema::{Parameter, parameter, returns_bytes};
use crate::state::Shell;
use crate::status::ApiError;

const DOC: &str = "What the visualization shows, as the page draws it: with its filters, collections and looks. One picture of a \
     visualization is drawn at a time, one of an address without an account and four of an account; others are refused with 429. It ends when the caller hangs up.";
const SHAPES_DOC: &str = "The same as shapes and texts, up to 20,000 visible nodes and edges.";

pub(crate) const ROUTES: &[Route] = &[
    Route::get(
        "/viz/{session_id}/picture.png",
        run!(Viewer png),
        &[returns_bytes(&["image/png"], "The picture")],
        DOC,
    )
    .query(PARAMETERS)
    .waiting(),
    Route::get(
        "/viz/{session_id}/picture.svg",
        run!(Viewer svg),
        &[returns_bytes(&["image/svg+xml"], "The picture")],
        SHAPES_DOC,
    )
    .query(PARAMETERS)
    .waiting(),
    Route::get(
        "/viz/{session_id}/picture.pdf",
        run!(Viewer pdf),
        &[returns_bytes(&["application/pdf"], "The picture")],
        SHAPES_DOC,
    )
    .query(PARAMETERS)
    .waiting(),
];

const PARAMETERS: &[Parameter] = &[
    parameter(
        "width",
        Count,
        "Pixels of a row of the page that shows the same, 16 to 8192; 1440 when absent.",
    ),
    parameter("height", Count, "Its rows, 16 to 8192; 900 when absent."),
    parameter(
        "scale",
        Number,
        "Pixels of the picture for each of these, 0.25 to 8; 1 when absent. The picture has at most 8192 a side and \
         40,000,000 altogether.",
    ),
    parameter(
        "theme",
        Text,
        "dark or light; when absent, what fits the background of the visualization or of its dataset, else dark.",
    ),
    parameter("background", Text, "A colour as in CSS, or none for a transparent picture."),
    parameter(
        "left",
        Number,
        "Least x that is shown; all four sides, or what is visible is fitted.",
    ),
    parameter("right", Number, "Greatest x."),
    parameter("top", Number, "Greatest y."),
    parameter("bottom", Number, "Least y."),
    parameter(
        "zoom",
        Number,
        "How far the page is zoomed in, for the sizes of nodes; it follows from the sides when absent.",
    ),
    parameter("pointSize", Number, "As in the address of the page, 0.1 to 10."),
    parameter("pointOpacity", Number, "0 to 1."),
    parameter("pointStrokeWidth", Number, "0 to 5."),
    parameter("edgeOpacity", Number, "0 to 1."),
    parameter("edgeCurvature", Number, "0 to 1."),
    parameter("showArrows", Bool, "Where absent, as edges show that they have a direction."),
    parameter(
        "names",
        Bool,
        "Whether nodes are named; when absent, as the visualization says, else they are.",
    ),
    parameter(
        "superGraph",
        Bool,
        "Whether communities are shown in place of nodes that are too many to be told apart, as in the page; true when \
         absent.",
    ),
    parameter(
        "bundle",
        Bool,
        "Whether edges between communities run together; false when absent. The communities of a large graph may take \
         two minutes to find, once.",
    ),
    parameter(
        "selected",
        Text,
        "Nodes that stand out, by their numbers, as `/viz/{session_id}/names` takes them, and from one to another: \
         `0-117,130`. All else keeps little of its strength, as in the page that selects them.",
    ),
    parameter("legend", Bool, "Whether it says what the colours mean; false when absent."),
    parameter("title", Text, "What stands above the graph, at most 200 letters."),
    parameter("wait", Number, "Seconds to wait for a layout that runs, 0 to 60; 10 when absent."),
    parameter("viewer", Text, "`viewer` of a page's hello, so that its own filters count."),
    DATASET,
];

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
/// An SVG has styles and nothing else: it loads and runs nothing, and belongs to no origin.
const SVG_POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");
const SVG_DISPOSITION: HeaderValue =
    HeaderValue::from_static("attachment; filename=\"picture.svg\"");
/// Letters of a title.
const TITLE_CHARS_MAX: usize = 200;

async fn png(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    picture(shell, req, who, PictureFormat::Png, "image/png").await
}

async fn svg(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    picture(shell, req, who, PictureFormat::Svg, "image/svg+xml").await
}

async fn pdf(shell: Arc<Shell>, req: Req, who: Principal) -> Result<Reply, ApiError> {
    picture(shell, req, who, PictureFormat::Pdf, "application/pdf").await
}

async fn picture(
    shell: Arc<Shell>,
    req: Req,
    who: Principal,
    format: PictureFormat,
    kind: &'static str,
) -> Result<Reply, ApiError> {
    let asked = PictureAsked { format, ..asked(&req.pairs())? };
    let grant = grant(&shell, &req, &who).await?;
    let mut reply = binary(shell.service.sessions.picture(&grant, asked).await?);
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if format == PictureFormat::Svg {
        // A document that a browser would show with the rights of this server's pages, made of names that people choose.
        headers.insert(CONTENT_SECURITY_POLICY, SVG_POLICY);
        headers.insert(CONTENT_DISPOSITION, SVG_DISPOSITION);
    }
    // The next one may be another.
    reply.headers_mut().insert(CACHE_CONTROL, NO_STORE);
    Ok(reply)
}

/// The parameters of an address.
struct Given<'a>(&'a [(String, String)]);

impl Given<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        query::last(self.0, name)
    }

    fn refused(name: &'static str, value: &str, legal: &str) -> ApiError {
        let shown: String = value.chars().take(40).collect();
        ApiError::invalid("invalid-argument", format!("{name}={shown:?} is not {legal}")).at(name)
    }

    fn pixels(&self, name: &'static str) -> Result<Option<u32>, ApiError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let found = text.parse().ok().filter(|pixels| (16..=8_192).contains(pixels));
        found
            .map(Some)
            .ok_or_else(|| Self::refused(name, text, "a whole number of pixels from 16 to 8192"))
    }

    fn number(&self, name: &'static str, low: f64, high: f64) -> Result<Option<f64>, ApiError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let found = text.parse().ok().filter(|x| (low..=high).contains(x));
        let legal = || Self::refused(name, text, &format!("a number from {low} to {high}"));
        found.map(Some).ok_or_else(legal)
    }

    fn flag(&self, name: &'static str) -> Result<Option<bool>, ApiError> {
        match self.text(name).map(str::to_ascii_lowercase).as_deref() {
            None => Ok(None),
            Some("true" | "1") => Ok(Some(true)),
            Some("false" | "0") => Ok(Some(false)),
            Some(other) => Err(Self::refused(name, other, "true or false")),
        }
    }

    /// Numbers with commas, and the first and the last of several with a hyphen.
    fn ranges(&self, name: &'static str) -> Result<Option<Vec<[u32; 2]>>, ApiError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let [first, last] = [first, last].map(|number| number.parse::<u32>().ok());
            Some([first?, last?]).filter(|[first, last]| first <= last)
        };
        let found: Option<Vec<[u32; 2]>> = text.split(',').map(range).collect();
        let legal = "a list of nodes such as 0-117,130";
        found.map(Some).ok_or_else(|| Self::refused(name, text, legal))
    }

    fn title(&self) -> Result<Option<String>, ApiError> {
        let Some(text) = self.text("title") else { return Ok(None) };
        let legal = format!("a text of up to {TITLE_CHARS_MAX} letters");
        if text.chars().count() > TITLE_CHARS_MAX {
            return Err(Self::refused("title", text, &legal));
        }
        Ok(Some(text.to_owned()))
    }

    /// The four sides, or none of them.
    fn window(&self) -> Result<Option<PictureWindow>, ApiError> {
        const FAR: f64 = 1e30;
        let mut sides = [None; 4];
        let names = ["left", "right", "top", "bottom"];
        for (side, name) in sides.iter_mut().zip(names) {
            *side = self.number(name, -FAR, FAR)?;
        }
        match sides {
            [None, None, None, None] => Ok(None),
            [Some(left), Some(right), Some(top), Some(bottom)] if left < right && bottom < top => {
                Ok(Some(PictureWindow { left, right, top, bottom }))
            }
            [Some(_), Some(_), Some(_), Some(_)] => {
                let text = "left has to be less than right, and bottom less than top";
                Err(ApiError::invalid("invalid-argument", text).at("left"))
            }
            _ => {
                let missing = names.into_iter().zip(sides).find(|(_, side)| side.is_none());
                let name = missing.map_or("left", |(name, _)| name);
                let text =
                    format!("{name} is missing: give left, right, top and bottom, or none of them");
                Err(ApiError::invalid("invalid-argument", text).at(name))
            }
        }
    }
}

/// What the address asks for.
fn asked(pairs: &[(String, String)]) -> Result<PictureAsked, ApiError> {
    let given = Given(pairs);
    let theme = match given.text("theme") {
        None => None,
        Some("dark") => Some(PictureTheme::Dark),
        Some("light") => Some(PictureTheme::Light),
        Some(other) => return Err(Given::refused("theme", other, "dark or light")),
    };
    // `None`, as Python writes what is absent, is not `none`.
    let background = match given.text("background") {
        None => None,
        Some("none") => Some(PictureBackground::Clear),
        Some(text) => {
            let legal = "none or a colour such as %2313161e, navy or rgb(19,22,30)";
            let color =
                backdrop::color(text).ok_or_else(|| Given::refused("background", text, legal))?;
            Some(PictureBackground::Color(color))
        }
    };
    let look = LookAsked {
        point_size: given.number("pointSize", 0.1, 10.0)?,
        point_opacity: given.number("pointOpacity", 0.0, 1.0)?,
        point_stroke: given.number("pointStrokeWidth", 0.0, 5.0)?,
        edge_opacity: given.number("edgeOpacity", 0.0, 1.0)?,
        curvature: given.number("edgeCurvature", 0.0, 1.0)?,
        arrows: given.flag("showArrows")?,
    };
    Ok(PictureAsked {
        width: given.pixels("width")?,
        height: given.pixels("height")?,
        scale: given.number("scale", 0.25, 8.0)?,
        theme,
        background,
        window: given.window()?,
        zoom: given.number("zoom", 1e-6, 1e6)?,
        look,
        format: PictureFormat::Png,
        names: given.flag("names")?,
        super_graph: given.flag("superGraph")?,
        bundle: given.flag("bundle")?.unwrap_or(false),
        selected: given.ranges("selected")?,
        legend: given.flag("legend")?.unwrap_or(false),
        title: given.title()?,
        viewer: given.text("viewer").map(str::to_owned),
        wait: given.number("wait", 0.0, 60.0)?.map(Duration::from_secs_f64),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn what_an_address_cannot_mean_is_refused_by_name() {
        let of = |raw: &str| asked(&query::pairs(raw));
        let found =
            of("width=300&height=200&scale=2&theme=light&background=none&showArrows=True").unwrap();
        assert_eq!((found.width, found.height, found.scale), (Some(300), Some(200), Some(2.0)));
        assert_eq!(found.theme, Some(PictureTheme::Light));
        assert_eq!(found.background, Some(PictureBackground::Clear));
        assert_eq!(found.look.arrows, Some(true));
        let found = of("background=%23102030&left=-1&right=1&top=2&bottom=-2&wait=0.5").unwrap();
        assert_eq!(found.background, Some(PictureBackground::Color([16, 32, 48])));
        let window = PictureWindow { left: -1.0, right: 1.0, top: 2.0, bottom: -2.0 };
        assert_eq!(found.window, Some(window));
        assert_eq!(found.wait, Some(Duration::from_millis(500)));
        let found = of("bundle=true&superGraph=0").unwrap();
        assert_eq!((found.bundle, found.super_graph), (true, Some(false)));
        let found = of("selected=7,0-3").unwrap();
        assert_eq!(found.selected, Some(vec![[7, 7], [0, 3]]));
        assert_eq!(of("background=None").unwrap(), PictureAsked::default());
        for (raw, name, legal) in [
            ("width=wide", "width", "16 to 8192"),
            ("height=8193", "height", "16 to 8192"),
            ("scale=0", "scale", "0.25 to 8"),
            ("theme=blue", "theme", "dark or light"),
            ("background=wall", "background", "navy"),
            ("showArrows=2", "showArrows", "true or false"),
            ("left=0&right=1&top=1", "bottom", "none of them"),
            ("left=1&right=1&top=1&bottom=0", "left", "less than right"),
            ("left=nan&right=1&top=1&bottom=0", "left", "a number"),
            ("pointSize=11", "pointSize", "0.1 to 10"),
            ("wait=61", "wait", "0 to 60"),
            ("legend=maybe", "legend", "true or false"),
            ("bundle=2", "bundle", "true or false"),
            ("superGraph=far", "superGraph", "true or false"),
            ("selected=3-2", "selected", "0-117,130"),
            ("selected=1,two", "selected", "0-117,130"),
            (&format!("title={}", "t".repeat(201)), "title", "200 letters"),
        ] {
            let text = format!("{:?}", of(raw).unwrap_err());
            assert!(text.contains(name) && text.contains(legal), "{raw}: {text}");
        }
    }
}
