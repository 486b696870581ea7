//! The latest-value slot: what a session shows at this moment, shared between the engine, which
//! replaces it, and any number of viewers, who read it when they can. Nothing is queued here, so a
//! slow viewer skips frames and costs nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use event_listener::{Event as Signal, EventListener};
use graphlume_types::{DatasetId, Notice, SessionId};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::ClosedReason;
use crate::session::collections::CollectionsShown;
use crate::settings::LayoutSettings;

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
    /// Whether the layout runs, or will as soon as somebody watches.
    pub playing: bool,
    /// Viewers attached.
    pub viewers: usize,
    /// What moves the nodes.
    pub backend: Backend,
    /// Why that is the CPU although the server has a GPU, or nothing.
    pub backend_reason: String,
    /// The knobs.
    pub settings: LayoutSettings,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ColumnInfo {
    /// Its name.
    pub name: String,
    /// Its type in the words of pandas.
    pub dtype: String,
}

/// The unchanging facts about a loaded graph.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GraphFacts {
    /// Version of the element set; node and edge indices are valid within it.
    pub epoch: u32,
    /// The dataset's name.
    pub name: String,
    /// The dataset's description.
    pub description: String,
    /// Nodes.
    pub node_count: u32,
    /// Edges.
    pub edge_count: u32,
    /// Columns of the node table; none without one.
    pub node_columns: Vec<ColumnInfo>,
    /// Columns of the edge table.
    pub edge_columns: Vec<ColumnInfo>,
    /// The dataset's metadata as uploaded.
    pub metadata: Value,
    /// Whether positions are bound.
    pub has_positions: bool,
    /// What of the dataset is not shown as asked.
    pub notices: Vec<Notice>,
}

/// Colours, sizes and labels as binary frames, encoded once for all viewers.
#[derive(Debug, Clone, PartialEq)]
pub struct SceneFrames {
    /// Element-set version.
    pub epoch: u32,
    /// Grows whenever the colours change; 1 at first.
    pub version: u32,
    /// `COLOR` of the nodes.
    pub node_color: Bytes,
    /// `SIZE` of the nodes.
    pub node_size: Bytes,
    /// `LABELS`.
    pub labels: Bytes,
    /// `COLOR` of the edges in drawn order, when they have colours of their own.
    pub edge_color: Option<Bytes>,
    /// `SIZE` (width) of the edges in drawn order, when they have widths of their own.
    pub edge_size: Option<Bytes>,
    /// What the colours and sizes mean.
    pub legend: Value,
}

impl SceneFrames {
    /// The binary frames in the order in which they are sent.
    pub fn frames(&self) -> impl Iterator<Item = &Bytes> {
        [&self.node_color, &self.node_size, &self.labels]
            .into_iter()
            .chain(self.edge_color.as_ref())
            .chain(self.edge_size.as_ref())
    }

    /// Bytes held.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.frames().map(|b| b.len() as u64).sum()
    }
}

/// One set of positions, encoded once for all viewers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PositionFrame {
    /// Element-set version.
    pub epoch: u32,
    /// Number of the frame in its session; gaps are normal.
    pub seq: u32,
    /// The key frame that a delta refers to; equal to `seq` for a key frame.
    pub base_seq: u32,
    /// The binary frame.
    pub bytes: Bytes,
}

impl PositionFrame {
    /// Whether the frame stands on its own.
    #[must_use]
    pub const fn is_key(&self) -> bool {
        self.base_seq == self.seq
    }
}

/// What a viewer is told.
#[derive(Debug, Clone)]
pub enum ViewerEvent {
    /// The session's state has changed.
    State(Arc<SessionState>),
    /// The graph is there, or another one is. Comes before its first frame.
    Graph(Arc<GraphFacts>, Arc<SessionState>, Arc<SceneFrames>),
    /// New positions. The first of an epoch, and the first after a gap, is a key frame.
    Frame(Arc<PositionFrame>),
    /// Colours, sizes and labels; after the first frame of the epoch and whenever they change.
    Scene(Arc<SceneFrames>),
    /// The collections, when there are any and whenever they change.
    Collections(Arc<CollectionsShown>),
    /// The session has ended; nothing follows.
    Closed(ClosedReason),
}

impl ViewerEvent {
    /// The JSON message of the page protocol, for the events that have one. `Scene` gives the legend,
    /// which the page already has from `graph` when the version is 1.
    #[must_use]
    pub fn message(&self) -> Option<Value> {
        match self {
            Self::Frame(_) => None,
            Self::State(s) => Some(tagged("state", s.as_ref())),
            Self::Graph(g, s, scene) => {
                let mut v = tagged("graph", g.as_ref());
                v["legend"] = scene.legend.clone();
                v["has_edge_colors"] = json!(scene.edge_color.is_some());
                v["layout"] = json!({
                    "state": s.state, "playing": s.playing, "iterations": s.iterations,
                    "settings": s.settings,
                });
                Some(v)
            }
            Self::Scene(s) => Some(json!({"t": "legend", "legend": s.legend})),
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

/// What the slot holds.
struct Shown {
    state: Arc<SessionState>,
    state_version: u64,
    graph: Option<Arc<GraphFacts>>,
    scene: Option<Arc<SceneFrames>>,
    collections: Arc<CollectionsShown>,
    collections_version: u64,
    key: Option<Arc<PositionFrame>>,
    latest: Option<Arc<PositionFrame>>,
    closed: Option<ClosedReason>,
}

/// The shared side of a session.
pub(crate) struct Slot {
    pub(crate) session: SessionId,
    pub(crate) dataset: DatasetId,
    shown: Mutex<Shown>,
    changed: Signal,
    /// Viewers attached.
    pub(crate) viewers: AtomicUsize,
    /// Viewers attached whose page is visible.
    pub(crate) watching: AtomicUsize,
}

impl Slot {
    pub(crate) fn new(session: SessionId, dataset: DatasetId, state: SessionState) -> Arc<Self> {
        Arc::new(Self {
            session,
            dataset,
            shown: Mutex::new(Shown {
                state: Arc::new(state),
                state_version: 1,
                graph: None,
                scene: None,
                collections: Arc::default(),
                collections_version: 0,
                key: None,
                latest: None,
                closed: None,
            }),
            changed: Signal::new(),
            viewers: AtomicUsize::new(0),
            watching: AtomicUsize::new(0),
        })
    }

    fn replace(&self, change: impl FnOnce(&mut Shown)) {
        change(&mut self.shown.lock());
        self.changed.notify(usize::MAX);
    }

    pub(crate) fn state(&self) -> Arc<SessionState> {
        self.shown.lock().state.clone()
    }

    pub(crate) fn graph(&self) -> Option<Arc<GraphFacts>> {
        self.shown.lock().graph.clone()
    }

    /// Whether there is nothing to wait for: the graph is there, its load has failed, or the session has ended.
    pub(crate) fn has_ended_loading(&self) -> bool {
        let shown = self.shown.lock();
        shown.graph.is_some() || shown.state.state == Phase::Failed || shown.closed.is_some()
    }

    pub(crate) fn set_state(&self, state: SessionState) {
        self.replace(|s| {
            s.state = Arc::new(state);
            s.state_version += 1;
        });
    }

    pub(crate) fn set_graph(&self, graph: Arc<GraphFacts>, scene: Arc<SceneFrames>) {
        self.replace(|s| {
            s.graph = Some(graph);
            s.scene = Some(scene);
        });
    }

    pub(crate) fn set_scene(&self, scene: Arc<SceneFrames>) {
        self.replace(|s| s.scene = Some(scene));
    }

    pub(crate) fn collections(&self) -> Arc<CollectionsShown> {
        self.shown.lock().collections.clone()
    }

    /// Shows the collections; viewers hear of it when anything about them differs.
    pub(crate) fn set_collections(&self, collections: Arc<CollectionsShown>) {
        if self.collections() == collections {
            return;
        }
        self.replace(|s| {
            s.collections = collections;
            s.collections_version += 1;
        });
    }

    /// Takes the graph and its frames away, as when the dataset has been replaced.
    pub(crate) fn clear(&self) {
        self.replace(|s| (s.graph, s.scene, s.key, s.latest) = (None, None, None, None));
    }

    pub(crate) fn set_frame(&self, frame: PositionFrame) {
        let frame = Arc::new(frame);
        self.replace(|s| {
            if frame.is_key() {
                s.key = Some(frame.clone());
            }
            s.latest = Some(frame);
        });
    }

    pub(crate) fn close(&self, reason: ClosedReason) {
        self.replace(|s| s.closed = s.closed.or(Some(reason)));
    }

    /// Bytes of the frames held.
    pub(crate) fn frame_bytes(&self) -> u64 {
        let s = self.shown.lock();
        let size = |f: &Option<Arc<PositionFrame>>| f.as_ref().map_or(0, |f| f.bytes.len() as u64);
        let delta = s.latest.as_ref().is_some_and(|f| !f.is_key());
        size(&s.key) + if delta { size(&s.latest) } else { 0 }
    }

    pub(crate) fn listen(&self) -> EventListener {
        self.changed.listen()
    }
}

/// How far a viewer has read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cursor {
    state_version: u64,
    collections_version: u64,
    epoch: Option<u32>,
    scene_version: u32,
    key_seq: Option<u32>,
    seq: Option<u32>,
    closed: bool,
}

impl Cursor {
    /// The page says that it still shows frame `seq` of `epoch`: it has the graph, and the key frame
    /// too when no later one was made.
    pub(crate) fn resume(&mut self, slot: &Slot, epoch: u32, seq: u32) {
        let shown = slot.shown.lock();
        if shown.graph.as_ref().is_none_or(|g| g.epoch != epoch) {
            return;
        }
        self.epoch = Some(epoch);
        // A sequence number beyond the newest frame is from another life of the session.
        let newest = shown.latest.as_ref().map_or(0, |f| f.seq);
        if seq > newest {
            return;
        }
        self.seq = Some(seq);
        self.key_seq = shown.key.as_ref().map(|k| k.seq).filter(|k| *k <= seq);
    }

    /// The next thing to tell, if there is one. Frames are withheld unless `frames`.
    pub(crate) fn take(&mut self, slot: &Slot, frames: bool) -> Option<ViewerEvent> {
        let shown = slot.shown.lock();
        if let Some(reason) = shown.closed {
            return (!std::mem::replace(&mut self.closed, true))
                .then_some(ViewerEvent::Closed(reason));
        }
        if self.state_version != shown.state_version {
            self.state_version = shown.state_version;
            return Some(ViewerEvent::State(shown.state.clone()));
        }
        if self.collections_version != shown.collections_version {
            self.collections_version = shown.collections_version;
            return Some(ViewerEvent::Collections(shown.collections.clone()));
        }
        let (graph, scene) = (shown.graph.as_ref()?, shown.scene.as_ref()?);
        if self.epoch != Some(graph.epoch) {
            let keep = Self { epoch: Some(graph.epoch), ..Self::default() };
            let Self { state_version, collections_version, .. } = *self;
            *self = Self { state_version, collections_version, ..keep };
            return Some(ViewerEvent::Graph(graph.clone(), shown.state.clone(), scene.clone()));
        }
        // The picture needs positions before colours, and every viewer gets both.
        if self.seq.is_some() && self.scene_version != scene.version {
            self.scene_version = scene.version;
            return Some(ViewerEvent::Scene(scene.clone()));
        }
        if !frames {
            return None;
        }
        self.take_frame(&shown).map(ViewerEvent::Frame)
    }

    fn take_frame(&mut self, shown: &Shown) -> Option<Arc<PositionFrame>> {
        let latest = shown.latest.as_ref()?;
        if self.seq.is_some_and(|s| s >= latest.seq) && self.key_seq.is_some() {
            return None;
        }
        let frame = if latest.is_key() || self.key_seq == Some(latest.base_seq) {
            latest
        } else {
            shown.key.as_ref()?
        };
        if frame.is_key() {
            self.key_seq = Some(frame.seq);
        }
        self.seq = Some(frame.seq);
        Some(frame.clone())
    }
}

/// Counts a viewer in; counted out again on drop.
pub(crate) struct Presence {
    pub(crate) slot: Arc<Slot>,
    watching: bool,
}

impl Presence {
    pub(crate) fn new(slot: Arc<Slot>) -> Self {
        slot.viewers.fetch_add(1, Ordering::SeqCst);
        slot.watching.fetch_add(1, Ordering::SeqCst);
        Self { slot, watching: true }
    }

    /// Whether anything changed.
    pub(crate) fn set_watching(&mut self, watching: bool) -> bool {
        if self.watching == watching {
            return false;
        }
        self.watching = watching;
        if watching {
            self.slot.watching.fetch_add(1, Ordering::SeqCst);
        } else {
            self.slot.watching.fetch_sub(1, Ordering::SeqCst);
        }
        true
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.set_watching(false);
        self.slot.viewers.fetch_sub(1, Ordering::SeqCst);
    }
}
