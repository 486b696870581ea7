//! Events of a session, as its viewers get them, and the messages of the page protocol that carry them.

use std::sync::Arc;

use crate::error::ClosedReason;
use crate::frames::{PositionFrame, SceneFrames};
use crate::messages::{LayoutState, SessionState, ToPage};
use crate::residency::GraphFacts;
use crate::session::collection_set::CollectionsView;

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
    /// The message of the page protocol, for the events that have one. `Scene` gives the legend and what lies
    /// under the edges, which the page already has from `graph` when the version is 1.
    #[must_use]
    pub fn message(&self) -> Option<ToPage<'_>> {
        match self {
            Self::Frame(_) => None,
            Self::State(state) => Some(ToPage::State(state)),
            Self::Graph(facts, s, scene) => Some(ToPage::Graph {
                facts,
                legend: &scene.legend,
                edges_named: scene.edges_named,
                underlay: &scene.underlay,
                has_edge_colors: scene.edge_color.is_some(),
                layout: LayoutState {
                    state: s.state,
                    playing: s.playing,
                    iterations: s.iterations,
                    settings: &s.settings,
                    placed_by: &s.placed_by,
                    placements: s.placements,
                    depths: s.depths,
                    displaced: s.displaced,
                },
            }),
            Self::Columns(g) => Some(ToPage::Columns {
                epoch: g.epoch,
                node_columns: &g.node_columns,
                edge_columns: &g.edge_columns,
                notices: &g.notices,
            }),
            Self::Scene(s) => Some(ToPage::Legend { legend: &s.legend, underlay: &s.underlay }),
            Self::Collections(shown) => Some(ToPage::Collections(&shown.list)),
            Self::Closed(reason) => {
                Some(ToPage::error("session-closed", format!("this session has ended: {reason}")))
            }
        }
    }
}
