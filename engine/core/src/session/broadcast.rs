//! The latest-value channel of a session (a watch channel): what it shows at this moment, shared between
//! the engine, which replaces it, and any number of viewers, who read it when they can. Nothing is queued
//! here, so a slow viewer skips frames and costs nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use event_listener::{Event as Signal, EventListener};
use graphlume_types::{DatasetId, SessionId};
use parking_lot::Mutex;

use crate::error::ClosedReason;
use crate::frames::{PositionFrame, SceneFrames};
use crate::messages::{Phase, SessionState};
use crate::residency::GraphFacts;
use crate::session::collection_set::CollectionsView;
use crate::session::events::ViewerEvent;

/// What is shown at this moment.
struct Latest {
    state: Arc<SessionState>,
    state_version: u64,
    graph: Option<Arc<GraphFacts>>,
    /// Grows when the graph that is shown has other columns.
    facts_version: u64,
    scene: Option<Arc<SceneFrames>>,
    collections: Arc<CollectionsView>,
    collections_version: u64,
    key: Option<Arc<PositionFrame>>,
    latest: Option<Arc<PositionFrame>>,
    closed: Option<ClosedReason>,
}

/// The shared side of a session.
pub(crate) struct SessionBroadcast {
    pub(crate) session: SessionId,
    pub(crate) dataset: DatasetId,
    latest: Mutex<Latest>,
    changed: Signal,
    /// Viewers attached.
    pub(crate) viewers: AtomicUsize,
    /// Viewers attached whose page is visible.
    pub(crate) watching: AtomicUsize,
}

impl SessionBroadcast {
    pub(crate) fn new(session: SessionId, dataset: DatasetId, state: SessionState) -> Arc<Self> {
        Arc::new(Self {
            session,
            dataset,
            latest: Mutex::new(Latest {
                state: Arc::new(state),
                state_version: 1,
                graph: None,
                facts_version: 0,
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

    fn replace(&self, change: impl FnOnce(&mut Latest)) {
        change(&mut self.latest.lock());
        self.changed.notify(usize::MAX);
    }

    pub(crate) fn state(&self) -> Arc<SessionState> {
        self.latest.lock().state.clone()
    }

    pub(crate) fn graph(&self) -> Option<Arc<GraphFacts>> {
        self.latest.lock().graph.clone()
    }

    /// Whether there is nothing to wait for: the graph is there, its load has failed, or the session has ended.
    pub(crate) fn has_ended_loading(&self) -> bool {
        let shown = self.latest.lock();
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

    /// Other columns and notices of the graph that is shown.
    pub(crate) fn set_facts(&self, graph: Arc<GraphFacts>) {
        self.replace(|s| {
            s.graph = Some(graph);
            s.facts_version += 1;
        });
    }

    pub(crate) fn scene(&self) -> Option<Arc<SceneFrames>> {
        self.latest.lock().scene.clone()
    }

    pub(crate) fn set_scene(&self, scene: Arc<SceneFrames>) {
        self.replace(|s| s.scene = Some(scene));
    }

    pub(crate) fn collections(&self) -> Arc<CollectionsView> {
        self.latest.lock().collections.clone()
    }

    /// Shows the collections; viewers hear of it when anything about them differs.
    pub(crate) fn set_collections(&self, collections: Arc<CollectionsView>) {
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
        let s = self.latest.lock();
        let size = |f: &Option<Arc<PositionFrame>>| f.as_ref().map_or(0, |f| f.held_bytes());
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
    facts_version: u64,
    epoch: Option<u32>,
    scene_version: u32,
    key_seq: Option<u32>,
    seq: Option<u32>,
    closed: bool,
}

impl Cursor {
    /// The page says that it still shows frame `seq` of `epoch`: it has the graph, and the key frame
    /// too when no later one was made.
    pub(crate) fn resume(&mut self, broadcast: &SessionBroadcast, epoch: u32, seq: u32) {
        let shown = broadcast.latest.lock();
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
    pub(crate) fn take(
        &mut self,
        broadcast: &SessionBroadcast,
        frames: bool,
    ) -> Option<ViewerEvent> {
        let shown = broadcast.latest.lock();
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
            let facts_version = shown.facts_version;
            let keep = Self { epoch: Some(graph.epoch), facts_version, ..Self::default() };
            let Self { state_version, collections_version, .. } = *self;
            *self = Self { state_version, collections_version, ..keep };
            return Some(ViewerEvent::Graph(graph.clone(), shown.state.clone(), scene.clone()));
        }
        if self.facts_version != shown.facts_version {
            self.facts_version = shown.facts_version;
            return Some(ViewerEvent::Columns(graph.clone()));
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

    fn take_frame(&mut self, shown: &Latest) -> Option<Arc<PositionFrame>> {
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
    pub(crate) broadcast: Arc<SessionBroadcast>,
    watching: bool,
}

impl Presence {
    pub(crate) fn new(broadcast: Arc<SessionBroadcast>) -> Self {
        broadcast.viewers.fetch_add(1, Ordering::SeqCst);
        broadcast.watching.fetch_add(1, Ordering::SeqCst);
        Self { broadcast, watching: true }
    }

    /// Whether anything changed.
    pub(crate) fn set_watching(&mut self, watching: bool) -> bool {
        if self.watching == watching {
            return false;
        }
        self.watching = watching;
        if watching {
            self.broadcast.watching.fetch_add(1, Ordering::SeqCst);
        } else {
            self.broadcast.watching.fetch_sub(1, Ordering::SeqCst);
        }
        true
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.set_watching(false);
        self.broadcast.viewers.fetch_sub(1, Ordering::SeqCst);
    }
}
