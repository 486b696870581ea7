//! Pictures of a session without a browser: what its document hides and how it looks, with what a caller asks for.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use graphlume_engine::{
    EngineError, PictureBackground, PictureFormat, PictureLabels, PictureLook, PictureRequest,
    PictureSettings, PictureTheme, PictureWindow, backdrop,
};
use graphlume_types::limits::{PICTURES_MAX, PICTURES_PER_USER_MAX};
use graphlume_types::{Caller, CancelReason, Cancelled, SessionId};
use parking_lot::Mutex;
use serde_json::Value;

use super::filtering::{collapsed_of, filter_set};
use super::{Sessions, ViewerGrant, no_session};
use crate::document::Document;
use crate::error::ServiceError;

/// How long a picture waits for a layout that runs, unless its caller says.
const WAIT: Duration = Duration::from_secs(10);
/// How long a picture waits for the communities of a large graph, which are looked for once. The search goes on without
/// it, so that a later picture finds them.
const GROUPS_WAIT: Duration = Duration::from_secs(20);
/// How long a picture may be drawn. Its thread has a low priority, so that on a machine whose cores are all taken a large one
/// takes long; its caller is told then, and the drawing ends.
const DRAW: Duration = Duration::from_secs(60);

/// What a caller wants of a picture; what is left out follows the session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PictureAsked {
    /// Pixels of a row of the page that shows the same.
    pub width: Option<u32>,
    /// Its rows.
    pub height: Option<u32>,
    /// Pixels of the picture for each of these.
    pub scale: Option<f64>,
    /// Palette and usual background.
    pub theme: Option<PictureTheme>,
    /// Background.
    pub background: Option<PictureBackground>,
    /// Part of the graph that is shown.
    pub window: Option<PictureWindow>,
    /// How far that is zoomed in.
    pub zoom: Option<f64>,
    /// How nodes and edges look.
    pub look: LookAsked,
    /// What kind of file it is.
    pub format: PictureFormat,
    /// Whether nodes are named; where absent, as the session says, else they are.
    pub names: Option<bool>,
    /// Whether it says what the colours mean.
    pub legend: bool,
    /// Whether communities are shown in place of nodes that are too many to be told apart; where absent, they are.
    pub super_graph: Option<bool>,
    /// Whether edges between communities run together.
    pub bundle: bool,
    /// Nodes that stand out, from one number to another; where absent, all do.
    pub selected: Option<Vec<[u32; 2]>>,
    /// What stands above the graph.
    pub title: Option<String>,
    /// The seat of a page whose own filters count, too.
    pub viewer: Option<String>,
    /// How long to wait for a layout that runs.
    pub wait: Option<Duration>,
}

/// How nodes and edges are to look; see [`PictureLook`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LookAsked {
    /// Factor of the sizes of nodes.
    pub point_size: Option<f64>,
    /// Opacity of nodes.
    pub point_opacity: Option<f64>,
    /// Width of the ring around a node.
    pub point_stroke: Option<f64>,
    /// Opacity of the edges together.
    pub edge_opacity: Option<f64>,
    /// How far edges bend.
    pub curvature: Option<f64>,
    /// Arrow heads.
    pub arrows: Option<bool>,
}

impl LookAsked {
    /// Takes an entry of a document; what is none is passed over, as the page does.
    fn hear(&mut self, name: &str, value: &Value) {
        let number = |low: f64, high: f64| {
            let text = || value.as_str().and_then(|text| text.trim().parse::<f64>().ok());
            let given = value.as_f64().or_else(text).filter(|x| x.is_finite());
            given.map(|x| x.clamp(low, high))
        };
        let (field, range) = match name {
            "pointSize" => (&mut self.point_size, (0.1, 10.0)),
            "pointOpacity" => (&mut self.point_opacity, (0.0, 1.0)),
            "pointStrokeWidth" => (&mut self.point_stroke, (0.0, 5.0)),
            "edgeOpacity" => (&mut self.edge_opacity, (0.0, 1.0)),
            "edgeCurvature" => (&mut self.curvature, (0.0, 1.0)),
            "showArrows" => {
                self.arrows = value.as_bool().or(self.arrows);
                return;
            }
            _ => return,
        };
        *field = number(range.0, range.1).or(*field);
    }

    /// This look, and `other` where it says nothing.
    fn or(self, other: Self) -> Self {
        Self {
            point_size: self.point_size.or(other.point_size),
            point_opacity: self.point_opacity.or(other.point_opacity),
            point_stroke: self.point_stroke.or(other.point_stroke),
            edge_opacity: self.edge_opacity.or(other.edge_opacity),
            curvature: self.curvature.or(other.curvature),
            arrows: self.arrows.or(other.arrows),
        }
    }

    fn look(self) -> PictureLook {
        let usual = PictureLook::default();
        PictureLook {
            point_size: self.point_size.unwrap_or(usual.point_size),
            point_opacity: self.point_opacity.unwrap_or(usual.point_opacity),
            point_stroke: self.point_stroke.unwrap_or(usual.point_stroke),
            edge_opacity: self.edge_opacity.unwrap_or(usual.edge_opacity),
            curvature: self.curvature.unwrap_or(usual.curvature),
            arrows: self.arrows,
        }
    }
}

/// The pictures that are asked for: a session has one, which draws or waits for its layout; and callers have some.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    asked: Mutex<HashSet<SessionId>>,
    drawn: Mutex<HashMap<Caller, usize>>,
}

/// The place of one picture of a session.
struct Asked(Arc<Drawing>, SessionId);

impl Drop for Asked {
    fn drop(&mut self) {
        self.0.asked.lock().remove(&self.1);
    }
}

/// A picture that is drawn.
struct Drawn<'a>(&'a Drawing, Caller);

impl Drop for Drawn<'_> {
    fn drop(&mut self) {
        let mut drawn = self.0.drawn.lock();
        if let Some(count) = drawn.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                drawn.remove(&self.1);
            }
        }
    }
}

impl Drawing {
    fn ask(self: &Arc<Self>, session: &SessionId) -> Result<Asked, ServiceError> {
        if !self.asked.lock().insert(session.clone()) {
            return Err(ServiceError::Busy {
                what: "pictures of this visualization (one at a time)",
            });
        }
        Ok(Asked(Arc::clone(self), session.clone()))
    }
}

impl Asked {
    /// Taken when the layout is at rest: those that wait hold no other session's picture off.
    fn draw(&self, caller: Caller) -> Result<Drawn<'_>, ServiceError> {
        let mut drawn = self.0.drawn.lock();
        let (most, what) = match caller.is_stranger() {
            true => {
                (1, "pictures of callers from your address (one at a time; accounts have four)")
            }
            false => (PICTURES_PER_USER_MAX, "pictures of your account (four at a time)"),
        };
        if drawn.get(&caller).copied().unwrap_or_default() >= most {
            return Err(ServiceError::Busy { what });
        }
        if drawn.values().sum::<usize>() >= PICTURES_MAX {
            return Err(ServiceError::Busy { what: "pictures of this server (sixteen at a time)" });
        }
        *drawn.entry(caller).or_default() += 1;
        Ok(Drawn(&self.0, caller))
    }
}

impl Sessions {
    /// A file of what the session shows: with its filters, collections and looks, once a layout that runs is at rest or
    /// the caller's time for that is over. Whoever drops the future ends the work.
    ///
    /// # Errors
    /// A size that no picture may have; [`ServiceError::NotFound`] for the seat of a page that is gone;
    /// [`ServiceError::Busy`] while another picture of the session is drawn; what loading the graph may answer; the end of
    /// the time that one may take.
    pub async fn picture(
        &self,
        grant: &ViewerGrant,
        asked: PictureAsked,
    ) -> Result<Bytes, ServiceError> {
        let mut request = self.picture_request(grant, &asked)?;
        request.settings.check().map_err(|e| refused(&e))?;
        let place = self.drawing.ask(&grant.session)?;
        let wait = asked.wait.unwrap_or(WAIT);
        let at_rest = async {
            // Without the columns of algorithms that take longer, it is as pages see it.
            let _ = self.ctx.engine.jobs_ended(grant.dataset).await;
            self.ctx.engine.at_rest(grant.target()).await
        };
        if let Ok(at_rest) = tokio::time::timeout(wait, at_rest).await {
            at_rest?;
        }
        let groups = self.ctx.engine.groups_of_picture(grant.target(), &request);
        request.groups = if asked.bundle {
            groups.await?
        } else {
            // Without them all nodes are shown, as the page does.
            tokio::time::timeout(GROUPS_WAIT, groups).await.ok().and_then(Result::ok).flatten()
        };
        let _drawn = place.draw(grant.caller)?;
        let drawing = self.ctx.engine.picture(grant.target(), request);
        let over = EngineError::Cancelled(Cancelled(CancelReason::Deadline));
        Ok(tokio::time::timeout(DRAW, drawing).await.unwrap_or(Err(over))?)
    }

    fn picture_request(
        &self,
        grant: &ViewerGrant,
        asked: &PictureAsked,
    ) -> Result<PictureRequest, ServiceError> {
        let room = self.shown(grant)?.room;
        let shared = room.document();
        let own = asked.viewer.as_deref().map(|id| {
            room.with(Some(id), |layer| Arc::clone(&layer.document)).ok_or_else(|| no_session(id))
        });
        let own = own.transpose()?;
        let documents = || [Some(&shared), own.as_ref()].into_iter().flatten();
        let mut look = LookAsked::default();
        for (name, value) in documents().flat_map(|d| d.below("look/")) {
            look.hear(name, &value.value());
        }
        let bound = documents().filter_map(|d| bound(d)).next_back();
        let mut settings = settings(asked, look, bound);
        let mut has_names = true;
        for (name, value) in documents().flat_map(|d| d.below("look/")) {
            hear_labels(&mut settings.labels, &mut has_names, name, &value.value());
        }
        let follows_dataset = asked.theme.is_none()
            && bound.is_none()
            && matches!(asked.background, None | Some(PictureBackground::Clear));
        let filters = Arc::new(filter_set(&shared, own.as_deref()));
        let (format, legend) = (asked.format, asked.legend);
        let names = asked.names.unwrap_or(has_names);
        let collapsed = Arc::new(collapsed_of(&shared));
        Ok(PictureRequest {
            settings,
            follows_dataset,
            filters,
            collapsed,
            format,
            groups: None,
            names,
            legend,
            selected: asked.selected.clone(),
        })
    }
}

/// Takes what an entry of a document says of names.
fn hear_labels(labels: &mut PictureLabels, shown: &mut bool, name: &str, value: &Value) {
    let color = || {
        let rgb = value.as_str().and_then(backdrop::color)?;
        Some(rgb.map(|c| f32::from(c) / 255.0))
    };
    match (name, value.as_bool(), value.as_f64()) {
        ("labelEnabled", Some(on), _) => *shown = on,
        ("labelPOI" | "labelLabelPOI", Some(false), _) => labels.must = 0,
        ("labelPOIMax", _, Some(most)) if labels.must > 0 => {
            labels.must = most.clamp(0.0, 100.0).round() as usize;
        }
        ("labelOpacity", _, Some(opacity)) => labels.opacity = opacity.clamp(0.0, 1.0) as f32,
        ("labelColor", ..) => labels.color = color().or(labels.color),
        ("labelBackground", ..) => labels.plate = color().or(labels.plate),
        _ => {}
    }
}

/// The background that a document asks for.
fn bound(document: &Document) -> Option<[u8; 3]> {
    backdrop::color(document.get("look/background")?.value().as_str()?)
}

/// What is asked for, else what the document says, else what is usual.
fn settings(asked: &PictureAsked, look: LookAsked, bound: Option<[u8; 3]>) -> PictureSettings {
    let usual = PictureSettings::default();
    // With `theme=` in the address the background is that of the theme, as when the page is switched to it.
    let bound = bound.filter(|_| asked.theme.is_none());
    let background = asked.background.or_else(|| bound.map(PictureBackground::Color));
    let color = match background {
        Some(PictureBackground::Color(color)) => Some(color),
        _ => bound,
    };
    let fitting = color.map(|color| match backdrop::is_light(color) {
        true => PictureTheme::Light,
        false => PictureTheme::Dark,
    });
    PictureSettings {
        width: asked.width.unwrap_or(usual.width),
        height: asked.height.unwrap_or(usual.height),
        scale: asked.scale.unwrap_or(usual.scale),
        theme: asked.theme.or(fitting).unwrap_or_default(),
        background: background.unwrap_or_default(),
        window: asked.window,
        zoom: asked.zoom,
        look: asked.look.or(look).look(),
        title: asked.title.clone(),
        super_graph: asked.super_graph.unwrap_or(usual.super_graph),
        bundle: asked.bundle,
        ..usual
    }
}

/// A refusal by the crate that draws, whose sentence begins with the field.
fn refused(error: &dyn graphlume_types::Coded) -> ServiceError {
    let message = error.to_string();
    let field: String = message.chars().take_while(char::is_ascii_lowercase).collect();
    ServiceError::Invalid { field: field.into(), message }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_session_an_address_and_an_account_have_their_pictures() {
        let drawing = Arc::new(Drawing::default());
        let session = |k: usize| -> SessionId { format!("s{k}").parse().unwrap() };
        let first = drawing.ask(&session(0)).unwrap();
        let again = drawing.ask(&session(0)).err().unwrap().to_string();
        assert!(again.contains("one at a time"), "{again}");
        let places: Vec<Asked> = (1..40).map(|k| drawing.ask(&session(k)).unwrap()).collect();
        let stranger = |k: u8| Caller::stranger(std::net::Ipv4Addr::new(10, 0, 0, k).into());
        let account = |k: u64| Caller::User(graphlume_types::UserId(k));
        let drawn = first.draw(stranger(1)).unwrap();
        let refused = places[0].draw(stranger(1)).err().unwrap().to_string();
        assert!(refused.contains("your address"), "{refused}");
        let other = places[0].draw(stranger(2)).unwrap();
        let mut own: Vec<Drawn<'_>> =
            places[1..5].iter().map(|one| one.draw(account(1)).unwrap()).collect();
        let refused = places[5].draw(account(1)).err().unwrap().to_string();
        assert!(refused.contains("your account"), "{refused}");
        for (k, place) in (100..).zip(&places[6..PICTURES_MAX]) {
            own.push(place.draw(account(k)).unwrap());
        }
        let refused = places[30].draw(account(99)).err().unwrap().to_string();
        assert!(refused.contains("this server"), "{refused}");
        drop(drawn);
        assert!(places[30].draw(stranger(1)).is_ok());
        drop((own, other));
        assert!(drawing.drawn.lock().is_empty());
        drop(first);
        assert!(drawing.ask(&session(0)).is_ok());
    }

    #[test]
    fn what_is_asked_goes_before_what_the_document_says() {
        let mut look = LookAsked::default();
        for (name, value) in [
            ("pointSize", json!(2.0)),
            ("edgeOpacity", json!("0.5")),
            ("edgeCurvature", json!(7)),
            ("pointOpacity", json!("much")),
            ("showArrows", json!(false)),
        ] {
            look.hear(name, &value);
        }
        let wanted = LookAsked { point_size: Some(3.0), ..LookAsked::default() };
        let asked = PictureAsked { look: wanted, width: Some(100), ..PictureAsked::default() };
        let found = settings(&asked, look, Some([255; 3]));
        let shown = found.look;
        assert_eq!((shown.point_size, shown.edge_opacity, shown.curvature), (3.0, 0.5, 1.0));
        assert_eq!((shown.point_opacity, shown.arrows), (1.0, Some(false)));
        assert_eq!((found.width, found.height), (100, 900));
        assert_eq!(found.theme, PictureTheme::Light);
        assert_eq!(found.background, PictureBackground::Color([255; 3]));
        let dark = PictureAsked { theme: Some(PictureTheme::Dark), ..PictureAsked::default() };
        let found = settings(&dark, look, Some([255; 3]));
        assert_eq!((found.theme, found.background), (PictureTheme::Dark, PictureBackground::Theme));
        let clear = Some(PictureBackground::Clear);
        let asked = PictureAsked { background: clear, ..PictureAsked::default() };
        let found = settings(&asked, look, Some([255; 3]));
        assert_eq!(
            (found.theme, found.background),
            (PictureTheme::Light, PictureBackground::Clear)
        );
    }
}
