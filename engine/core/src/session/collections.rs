//! Collections of a session: which elements they hold, and the picture with them painted over it.

use std::collections::HashMap;
use std::sync::Arc;

use graphlume_gfql::{GfqlError, Query, Strictness};
use graphlume_scene::wire::{self, Axis, Stamp};
use graphlume_scene::{Bits, Members, Paint};
use graphlume_types::{CancelToken, Reservation, SessionId};
use serde_json::{Map, Value, json};

use crate::core::Core;
use crate::error::EngineError;
use crate::event::Event;
use crate::reply::Reply;
use crate::session::slot::{SceneFrames, Slot};
use crate::store::Lease;
use crate::workers::Job;

/// Bytes held per node and per edge: painted colours, and the bits of ten collections.
const BYTES_PER_ELEMENT: u64 = 4 + 2;

/// What a collection holds.
#[derive(Debug, Clone)]
pub enum Rule {
    /// What a query keeps.
    Query(Query, Strictness),
    /// What is in all of these collections of the same session.
    All(Vec<String>),
}

/// A collection of a session.
#[derive(Debug, Clone)]
pub struct Layer {
    /// Its id within the session.
    pub id: String,
    /// What it holds.
    pub rule: Arc<Rule>,
    /// How that is coloured.
    pub paint: Paint,
    /// Further fields for the page and for lists, such as the name.
    pub shown: Map<String, Value>,
}

/// The collections of a session.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    /// The first is painted on top.
    pub layers: Vec<Layer>,
    /// Under all of them: what is in no collection.
    pub background: Paint,
    /// Another one after every change; 0 for a session that never had a collection.
    pub revision: u64,
}

impl Layers {
    /// Whether the picture is as it would be without them.
    fn is_plain(&self) -> bool {
        self.layers.is_empty() && self.background == Paint::default()
    }
}

/// The elements of one collection in one element set.
#[derive(Debug, Clone)]
pub struct Found {
    rule: Arc<Rule>,
    epoch: u32,
    members: Arc<Members>,
}

impl Found {
    /// How many elements there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.members.len()
    }

    /// Finds the elements of a rule in a graph.
    pub(crate) fn search(
        lease: &Lease,
        rule: &Arc<Rule>,
        others: &HashMap<String, Self>,
        cancel: &CancelToken,
    ) -> Result<Self, GfqlError> {
        let (nodes, edges) = (lease.facts.node_count, lease.facts.edge_count);
        let members = match rule.as_ref() {
            Rule::Query(query, strictness) => {
                let graph = lease.drawn(cancel)?;
                let kept = graphlume_gfql::elements(graph, query, *strictness, cancel)?;
                Members {
                    nodes: Bits::new(nodes, &kept.nodes),
                    edges: Bits::new(edges, &kept.edges),
                }
            }
            Rule::All(ids) => {
                let mut parts = ids.iter().filter_map(|id| others.get(id));
                let first = parts.next().map(|f| f.members.as_ref().clone());
                parts.fold(first.unwrap_or_default(), |all, part| Members {
                    nodes: all.nodes.and(&part.members.nodes),
                    edges: all.edges.and(&part.members.edges),
                })
            }
        };
        let (rule, epoch) = (rule.clone(), lease.facts.epoch);
        Ok(Self { rule, epoch, members: Arc::new(members) })
    }
}

/// What viewers and lists are shown of the collections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CollectionsShown {
    /// Id and number of elements of each, the one on top first; the number is absent while unknown.
    pub counts: Vec<(String, Option<u64>)>,
    /// The message to the page.
    pub message: Value,
}

impl CollectionsShown {
    fn new(layers: &Layers, counts: Vec<(String, Option<u64>)>) -> Self {
        let entries = layers.layers.iter().zip(&counts).enumerate().map(|(position, (l, c))| {
            let mut entry = json!({
                "id": l.id, "position": position, "match_count": c.1,
                "swatches": l.paint.swatches(),
            });
            if let Some(fields) = entry.as_object_mut() {
                fields.extend(l.shown.clone());
            }
            entry
        });
        let message = json!({
            "t": "collections",
            "collections": entries.collect::<Vec<_>>(),
            "background": layers.background.swatches(),
        });
        Self { counts, message }
    }

    /// The number of elements of a collection, when it is known.
    #[must_use]
    pub fn count(&self, id: &str) -> Option<u64> {
        self.counts.iter().find(|(own, _)| own == id).and_then(|(_, count)| *count)
    }
}

/// The collections of one session with what is known of them.
#[derive(Default)]
pub(crate) struct Coat {
    layers: Arc<Layers>,
    found: HashMap<String, Found>,
    painted: Option<Painted>,
    /// Pictures made.
    paintings: u32,
    /// A worker paints.
    away: bool,
    /// Something changed meanwhile.
    again: bool,
    waiters: Vec<Reply<Arc<CollectionsShown>>>,
    held: Option<Reservation>,
}

/// A picture and what it was made of.
struct Painted {
    revision: u64,
    base: Arc<SceneFrames>,
    scene: Arc<SceneFrames>,
}

/// What a worker brings home.
pub(crate) struct Coating {
    revision: u64,
    base: Arc<SceneFrames>,
    found: HashMap<String, Found>,
    scene: Arc<SceneFrames>,
}

impl Coat {
    /// Numbers of elements as far as they hold for the present collections.
    fn shown(&self) -> Arc<CollectionsShown> {
        let count = |l: &Layer| {
            let found = self.found.get(&l.id).filter(|f| Arc::ptr_eq(&f.rule, &l.rule));
            (l.id.clone(), found.map(Found::count))
        };
        let counts = self.layers.layers.iter().map(count).collect();
        Arc::new(CollectionsShown::new(&self.layers, counts))
    }

    /// The picture for a base, when it is there already.
    pub(crate) fn ready(&self, base: &Arc<SceneFrames>) -> Option<Arc<SceneFrames>> {
        let painted = self.painted.as_ref()?;
        (painted.revision == self.layers.revision && Arc::ptr_eq(&painted.base, base))
            .then(|| painted.scene.clone())
    }

    /// Whether the picture is, or is about to be, another one than the dataset's.
    pub(crate) const fn is_worn(&self) -> bool {
        self.paintings > 0
    }

    /// Memory is wanted elsewhere and nobody looks.
    pub(crate) fn release(&mut self) {
        (self.painted, self.held) = (None, None);
        self.found.clear();
    }
}

impl Core {
    /// Gives a session its collections. `found` are those that were evaluated just now. The answer comes
    /// when the picture shows them, or at once when there is no picture yet.
    pub(crate) fn dress(
        &mut self,
        id: &SessionId,
        layers: Arc<Layers>,
        found: Vec<(String, Found)>,
        reply: Reply<Arc<CollectionsShown>>,
    ) {
        let session = match self.session(id) {
            Ok(session) => session,
            Err(e) => return reply.send(Err(e)),
        };
        let coat = &mut session.coat;
        // Whoever opens a page may come late with what was true before the last change.
        if layers.revision > coat.layers.revision {
            coat.layers = layers;
            let layers = coat.layers.clone();
            coat.found.retain(|id, f| {
                let own = layers.layers.iter().find(|l| l.id == *id);
                own.is_some_and(|l| Arc::ptr_eq(&l.rule, &f.rule))
            });
            coat.found.extend(found);
            session.slot.set_collections(coat.shown());
        }
        if session.lease.is_none() {
            return reply.send(Ok(coat.shown()));
        }
        coat.waiters.push(reply);
        self.repaint(id);
    }

    /// Paints the collections of a session over its picture, unless that is what it shows.
    pub(crate) fn repaint(&mut self, id: &SessionId) {
        let Some(session) = self.sessions.get(id) else { return };
        let Some(lease) = session.lease.clone() else { return };
        let Some(base) = self.base_scene(&lease) else { return };
        let Some(session) = self.sessions.get_mut(id) else { return };
        let coat = &mut session.coat;
        if coat.away {
            coat.again = true;
            return;
        }
        if coat.layers.is_plain() && coat.paintings == 0 {
            return self.coated(id);
        }
        if coat.layers.is_plain() {
            coat.release();
        } else if let Some(scene) = coat.ready(&base) {
            session.slot.set_scene(scene);
            return self.coated(id);
        }
        let wants_memory = !coat.layers.is_plain() && coat.held.is_none();
        coat.paintings = coat.paintings.saturating_add(1);
        let paintings = coat.paintings;
        let (layers, found) = (coat.layers.clone(), coat.found.clone());
        let slot = session.slot.clone();
        if wants_memory {
            let elements = u64::from(lease.facts.node_count) + u64::from(lease.facts.edge_count);
            let held = self.reserve(elements * BYTES_PER_ELEMENT);
            let Some(session) = self.sessions.get_mut(id) else { return };
            match held {
                Ok(held) => session.coat.held = Some(held),
                Err(refused) => return self.not_coated(id, &refused.into()),
            }
        }
        if let Err(e) = self.crews.queries.check_room() {
            return self.not_coated(id, &e);
        }
        let cancel = CancelToken::with_deadline(self.now() + self.shared.call_time);
        let pool = self.pool.clone();
        let (session, lost_session, lost_slot) = (id.clone(), id.clone(), slot.clone());
        let run = move || {
            let coating =
                pool.install(|| coating(&lease, base, &layers, found, paintings, &cancel));
            Some(Event::Coated { session, slot, result: Ok(Box::new(coating)) })
        };
        let lost = move || {
            let result = Err(EngineError::Dropped);
            Event::Coated { session: lost_session, slot: lost_slot, result }
        };
        let job = Job { what: "collections", run: Box::new(run), lost: Some(Box::new(lost)) };
        if let Some(session) = self.sessions.get_mut(id) {
            session.coat.away = self.crews.queries.submit(job).is_ok();
        }
    }

    /// The scene without collections.
    fn base_scene(&self, lease: &Lease) -> Option<Arc<SceneFrames>> {
        let entry = self.store.entry(lease.dataset)?;
        Some(entry.scene.clone().unwrap_or_else(|| lease.scene.clone()))
    }

    /// A worker has painted, or was lost.
    pub(crate) fn on_coated(
        &mut self,
        id: &SessionId,
        slot: &Arc<Slot>,
        result: Result<Box<Coating>, EngineError>,
    ) {
        // The name may stand for another session by now.
        let session = self.sessions.get_mut(id).filter(|s| Arc::ptr_eq(&s.slot, slot));
        let Some(session) = session else { return };
        let coat = &mut session.coat;
        coat.away = false;
        let again = std::mem::take(&mut coat.again);
        let coating = match result {
            Ok(coating) => *coating,
            Err(e) => return self.not_coated(id, &e),
        };
        let epoch = session.lease.as_ref().map(|l| l.facts.epoch);
        if epoch != Some(coating.base.epoch) {
            return self.repaint(id);
        }
        let Coating { revision, base, found, scene } = coating;
        for (layer, found) in found {
            let own = coat.layers.layers.iter().find(|l| l.id == layer);
            if own.is_some_and(|l| Arc::ptr_eq(&l.rule, &found.rule)) {
                coat.found.insert(layer, found);
            }
        }
        coat.painted = Some(Painted { revision, base, scene: scene.clone() });
        session.slot.set_scene(scene);
        let is_late = revision != session.coat.layers.revision;
        if again || is_late { self.repaint(id) } else { self.coated(id) }
    }

    /// The picture is as it should be.
    fn coated(&mut self, id: &SessionId) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        let shown = session.coat.shown();
        if session.coat.layers.revision > 0 {
            session.slot.set_collections(shown.clone());
        }
        for waiter in session.coat.waiters.drain(..) {
            waiter.send(Ok(shown.clone()));
        }
    }

    fn not_coated(&mut self, id: &SessionId, error: &EngineError) {
        tracing::warn!(session = %id, %error, "collections were not painted");
        let Some(session) = self.sessions.get_mut(id) else { return };
        for waiter in session.coat.waiters.drain(..) {
            waiter.send(Err(error.clone()));
        }
    }
}

/// Finds what is not known and paints; on a query worker, inside the CPU pool.
fn coating(
    lease: &Lease,
    base: Arc<SceneFrames>,
    layers: &Layers,
    mut found: HashMap<String, Found>,
    paintings: u32,
    cancel: &CancelToken,
) -> Coating {
    found.retain(|_, f| f.epoch == lease.facts.epoch);
    // Intersections may refer to each other, so those whose parts are known come next, again and again.
    loop {
        let ready = |rule: &Rule| match rule {
            Rule::Query(..) => true,
            Rule::All(ids) => ids.iter().all(|id| found.contains_key(id)),
        };
        let open = layers.layers.iter().filter(|l| !found.contains_key(&l.id));
        let ready: Vec<&Layer> = open.filter(|l| ready(&l.rule)).collect();
        let before = found.len();
        for layer in ready {
            match Found::search(lease, &layer.rule, &found, cancel) {
                Ok(one) => drop(found.insert(layer.id.clone(), one)),
                Err(error) => tracing::info!(%error, "a collection finds nothing in this graph"),
            }
        }
        if found.len() == before {
            break;
        }
    }
    let coats: Vec<(&Paint, &Members)> = layers
        .layers
        .iter()
        .filter_map(|l| Some((&l.paint, found.get(&l.id)?.members.as_ref())))
        .collect();
    let nodes = wire::colors_of(&base.node_color);
    let own_edges = base.edge_color.as_ref().map(|frame| wire::colors_of(frame));
    let has_own = own_edges.is_some();
    let topology = &lease.graph.topology;
    let painted =
        graphlume_scene::paint(topology, lease.order, nodes, own_edges, &coats, &layers.background);
    // The base's own versions are 1 and 2, so every painting of either differs from all others.
    let version = base.version.wrapping_add(paintings.wrapping_mul(2));
    let stamp = Stamp { epoch: base.epoch, seq: version, flags: 0 };
    let edges = painted.edges.unwrap_or_default();
    let edge_color = if has_own {
        wire::encode_color(stamp, Axis::Edge, &edges)
    } else {
        wire::encode_some_edge_colors(stamp, &edges)
    };
    let scene = SceneFrames {
        version,
        node_color: wire::encode_color(stamp, Axis::Node, &painted.nodes),
        edge_color: Some(edge_color),
        ..base.as_ref().clone()
    };
    Coating { revision: layers.revision, base, found, scene: Arc::new(scene) }
}
