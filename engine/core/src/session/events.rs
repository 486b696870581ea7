//! What viewers of a session are told, and the messages of the page protocol that say it.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use crate::error::ClosedReason;
use crate::frames::{PositionFrame, SceneFrames};
use crate::layout_settings::LayoutSettings;
use crate::residency::GraphFacts;
use crate::session::collection_set::CollectionsView;

/// What a session is doing, in the page's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The graph is being read and built.
    Loading,
    /// The dataset has no data yet.
    Waiting,
    /// The layout is moving.
    Running,
    /// The layout was stopped, by a viewer or because there is none.
    Paused,
    /// The layout has done the iterations that it was given and is not at rest.
    Stopped,
    /// The layout has come to rest.
    Settled,
    /// The graph could not be loaded; the detail says why.
    Failed,
}

impl Phase {
    /// Whether a layout is there and has nothing left to do.
    #[must_use]
    pub const fn is_at_rest(self) -> bool {
        matches!(self, Self::Settled | Self::Stopped)
    }
}

/// What computes a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// The CPU.
    Cpu,
    /// The GPU.
    Cuda,
}

/// The changing facts about a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionState {
    /// What it is doing.
    pub state: Phase,
    /// A sentence for the user, or nothing.
    pub detail: String,
    /// Iterations of the layout since the session began.
    pub iterations: u64,
    /// Iterations per second of late; 0 when the layout does not run.
    pub iterations_per_s: f64,
    /// Whether the layout runs, or will with the first viewer.
    pub playing: bool,
    /// Viewers attached.
    pub viewers: usize,
    /// What moves the nodes.
    pub backend: Backend,
    /// Why that is the CPU although the server has a GPU, or nothing.
    pub backend_reason: String,
    /// The layout that was named last and placed the nodes, or nothing; forces keep its size.
    pub placed_by: String,
    /// How often nodes were placed so: after each the page shows all of them.
    pub placements: u32,
    /// Whether a layout has moved nodes from where the data has them, so that they do not stand on its map. Nodes that viewers
    /// hold do not count.
    pub displaced: bool,
    /// 0 while nodes have no third coordinate; another number whenever these are others.
    pub depths: u32,
    /// The knobs.
    pub settings: LayoutSettings,
}

/// What a viewer is told.
#[derive(Debug, Clone)]
pub enum ViewerEvent {
    /// The session's state has changed.
    State(Arc<SessionState>),
    /// The graph is there, or another one is. Comes before its first frame.
    Graph(Arc<GraphFacts>, Arc<SessionState>, Arc<SceneFrames>),
    /// The graph that is shown has other columns and notices: algorithms that the dataset names have ended.
    Columns(Arc<GraphFacts>),
    /// New positions. The first of an epoch, and the first after a gap, is a key frame.
    Frame(Arc<PositionFrame>),
    /// Colours, sizes and labels; after the first frame of the epoch and whenever they change.
    Scene(Arc<SceneFrames>),
    /// The collections, when there are any and whenever they change.
    Collections(Arc<CollectionsView>),
    /// The session has ended; nothing follows.
    Closed(ClosedReason),
}

impl ViewerEvent {
    /// The JSON message of the page protocol, for the events that have one. `Scene` gives the legend and what lies
    /// under the edges, which the page already has from `graph` when the version is 1.
    #[must_use]
    pub fn message(&self) -> Option<Value> {
        match self {
            Self::Frame(_) => None,
            Self::State(s) => Some(tagged("state", s.as_ref())),
            Self::Graph(g, s, scene) => {
                let mut v = tagged("graph", g.as_ref());
                v["legend"] = scene.legend.clone();
                v["edges_named"] = json!(scene.edges_named);
                v["underlay"] = scene.underlay.clone();
                v["has_edge_colors"] = json!(scene.edge_color.is_some());
                v["layout"] = json!({
                    "state": s.state, "playing": s.playing, "iterations": s.iterations,
                    "settings": s.settings, "placed_by": s.placed_by, "placements": s.placements,
                    "depths": s.depths, "displaced": s.displaced,
                });
                Some(v)
            }
            Self::Columns(g) => Some(json!({
                "t": "columns", "epoch": g.epoch, "node_columns": g.node_columns,
                "edge_columns": g.edge_columns, "notices": g.notices,
            })),
            Self::Scene(s) => {
                Some(json!({"t": "legend", "legend": s.legend, "underlay": s.underlay}))
            }
            Self::Collections(shown) => Some(shown.message.clone()),
            Self::Closed(reason) => Some(json!({
                "t": "error", "slug": "session-closed",
                "message": format!("this session has ended: {reason}"),
            })),
        }
    }
}

/// `value` as an object with the message type in front.
fn tagged<T: Serialize>(t: &str, value: &T) -> Value {
    let mut out = json!({"t": t});
    if let (Some(out), Ok(Value::Object(fields))) =
        (out.as_object_mut(), serde_json::to_value(value))
    {
        out.extend(fields);
    }
    out
}
