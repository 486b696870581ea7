//! Collections of a session: which elements they hold, and the picture with them rendered over it.

use std::collections::HashMap;
use std::sync::Arc;

use graphlume_gfql::{GfqlError, Query, Strictness};
use graphlume_scene::wire::{self, Axis, Stamp};
use graphlume_scene::{Bits, Members, Paint};
use graphlume_types::{CancelToken, Reservation, SessionId};
use serde_json::{Map, Value, json};

use crate::error::EngineError;
use crate::frames::SceneFrames;
use crate::reply::Reply;
use crate::residency::{Lease, Residency};
use crate::scheduler::Scheduler;
use crate::session::broadcast::SessionBroadcast;
use crate::session::{Event, Sessions};
use crate::workers::Job;

/// Bytes held per node and per edge: rendered colours, and the bits of ten collections.
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
pub(crate) struct SessionCollections {
    layers: Arc<Layers>,
    found: HashMap<String, Found>,
    rendered: Option<Rendered>,
    /// Pictures made.
    renderings: u32,
    /// A worker renders.
    away: bool,
    /// Something changed meanwhile.
    again: bool,
    waiters: Vec<Reply<Arc<CollectionsShown>>>,
    held: Option<Reservation>,
}

/// A picture and what it was made of.
struct Rendered {
    revision: u64,
    base: Arc<SceneFrames>,
    scene: Arc<SceneFrames>,
}

/// What a worker has rendered.
pub(crate) struct CollectionRender {
    revision: u64,
    base: Arc<SceneFrames>,
    found: HashMap<String, Found>,
    scene: Arc<SceneFrames>,
}

/// What is to be done for the picture to show the collections.
enum Plan {
    /// A worker renders; it is looked at again when that is done.
    Wait,
    /// Nothing: the picture shows them, once the viewers have this one.
    Shown(Option<Arc<SceneFrames>>),
    /// To render them, which takes so many bytes more than are held.
    Render { bytes: Option<u64> },
}

impl SessionCollections {
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
    pub(super) fn rendered(&self, base: &Arc<SceneFrames>) -> Option<Arc<SceneFrames>> {
        let rendered = self.rendered.as_ref()?;
        (rendered.revision == self.layers.revision && Arc::ptr_eq(&rendered.base, base))
            .then(|| rendered.scene.clone())
    }

    /// Whether the picture is, or is about to be, another one than the dataset's.
    pub(super) const fn are_shown(&self) -> bool {
        self.renderings > 0
    }

    /// Memory is wanted elsewhere and nobody looks.
    pub(super) fn release(&mut self) {
        (self.rendered, self.held) = (None, None);
        self.found.clear();
    }

    /// Takes other collections, unless they are older. `found` are those that were evaluated just now.
    /// Whether anything was taken.
    fn replace(&mut self, layers: Arc<Layers>, found: Vec<(String, Found)>) -> bool {
        // A page that opens may come late with what was true before the last change.
        if layers.revision <= self.layers.revision {
            return false;
        }
        self.layers = layers;
        let layers = &self.layers.layers;
        self.found.retain(|id, f| {
            let own = layers.iter().find(|l| l.id == *id);
            own.is_some_and(|l| Arc::ptr_eq(&l.rule, &f.rule))
        });
        self.found.extend(found);
        true
    }

    /// What is to be done for the picture over `base` to show the collections.
    fn plan(&mut self, base: &Arc<SceneFrames>, lease: &Lease) -> Plan {
        if self.away {
            self.again = true;
            return Plan::Wait;
        }
        let is_plain = self.layers.is_plain();
        if is_plain && self.renderings == 0 {
            return Plan::Shown(None);
        }
        if is_plain {
            self.release();
        } else if let Some(scene) = self.rendered(base) {
            return Plan::Shown(Some(scene));
        }
        self.renderings = self.renderings.saturating_add(1);
        let elements = u64::from(lease.facts.node_count) + u64::from(lease.facts.edge_count);
        let wants_memory = !is_plain && self.held.is_none();
        Plan::Render { bytes: wants_memory.then_some(elements * BYTES_PER_ELEMENT) }
    }

    /// Takes what a worker has rendered; whether the collections are other ones by now.
    fn take(&mut self, render: CollectionRender) -> bool {
        let CollectionRender { revision, base, found, scene } = render;
        for (id, found) in found {
            let own = self.layers.layers.iter().find(|l| l.id == id);
            if own.is_some_and(|l| Arc::ptr_eq(&l.rule, &found.rule)) {
                self.found.insert(id, found);
            }
        }
        self.rendered = Some(Rendered { revision, base, scene });
        revision != self.layers.revision
    }

    fn answer(&mut self, shown: &Arc<CollectionsShown>) {
        for waiter in self.waiters.drain(..) {
            waiter.send(Ok(shown.clone()));
        }
    }
}

impl Sessions {
    /// Gives a session its collections. `found` are those that were evaluated just now. The answer comes
    /// when the picture shows them, or at once when there is no picture yet.
    pub(crate) fn set_collections(
        &mut self,
        id: &SessionId,
        layers: Arc<Layers>,
        found: Vec<(String, Found)>,
        reply: Reply<Arc<CollectionsShown>>,
        residency: &mut Residency,
        scheduler: &Scheduler,
    ) {
        let Some(session) = self.live.get_mut(id) else { return };
        let collections = &mut session.collections;
        if collections.replace(layers, found) {
            session.broadcast.set_collections(collections.shown());
        }
        if session.lease.is_none() {
            return reply.send(Ok(collections.shown()));
        }
        collections.waiters.push(reply);
        self.render_collections(id, residency, scheduler);
    }

    /// Renders the collections of a session over its picture, unless that is what it shows.
    pub(super) fn render_collections(
        &mut self,
        id: &SessionId,
        residency: &mut Residency,
        scheduler: &Scheduler,
    ) {
        let Some(session) = self.live.get_mut(id) else { return };
        let Some(lease) = session.lease.clone() else { return };
        let Some(base) = residency.scene(lease.dataset) else { return };
        let bytes = match session.collections.plan(&base, &lease) {
            Plan::Wait => return,
            Plan::Shown(scene) => {
                if let Some(scene) = scene {
                    session.broadcast.set_scene(scene);
                }
                return self.collections_shown(id);
            }
            Plan::Render { bytes } => bytes,
        };
        let held = bytes.map(|bytes| self.reserve(bytes, residency)).transpose();
        let ready = held
            .map_err(EngineError::from)
            .and_then(|held| scheduler.pools().readers.check_room().map(|()| held));
        match ready {
            Ok(held) => self.send_render(id, lease, base, held, scheduler),
            Err(error) => self.collections_failed(id, &error),
        }
    }

    /// Has a worker render; `held` is memory for it beyond what the session has.
    fn send_render(
        &mut self,
        id: &SessionId,
        lease: Lease,
        base: Arc<SceneFrames>,
        held: Option<Reservation>,
        scheduler: &Scheduler,
    ) {
        let Some(session) = self.live.get_mut(id) else { return };
        let collections = &mut session.collections;
        if held.is_some() {
            collections.held = held;
        }
        let (layers, found) = (collections.layers.clone(), collections.found.clone());
        let renderings = collections.renderings;
        let cancel = CancelToken::with_deadline(self.ctx.now() + self.ctx.config.call_time);
        let (session_id, broadcast) = (id.clone(), session.broadcast.clone());
        let lost = Event::CollectionsRendered {
            session: id.clone(),
            broadcast: broadcast.clone(),
            result: Err(EngineError::Dropped),
        };
        let (report, cpu) = (self.reports.once(lost), scheduler.cpu().clone());
        let run = move || {
            let done = cpu.install(|| render(&lease, base, &layers, found, renderings, &cancel));
            drop((lease, layers));
            let result = Ok(Box::new(done));
            report.send(Event::CollectionsRendered { session: session_id, broadcast, result });
        };
        let submitted = scheduler.pools().readers.submit(Job::new("collections", run));
        session.collections.away = submitted.is_ok();
    }

    /// A worker has rendered, or was lost.
    pub(super) fn on_collections_rendered(
        &mut self,
        id: &SessionId,
        broadcast: &Arc<SessionBroadcast>,
        result: Result<Box<CollectionRender>, EngineError>,
        residency: &mut Residency,
        scheduler: &Scheduler,
    ) {
        // The name may stand for another session by now.
        let session = self.live.get_mut(id).filter(|s| Arc::ptr_eq(&s.broadcast, broadcast));
        let Some(session) = session else { return };
        let collections = &mut session.collections;
        collections.away = false;
        let again = std::mem::take(&mut collections.again);
        let render = match result {
            Ok(render) => *render,
            Err(e) => return self.collections_failed(id, &e),
        };
        let epoch = session.lease.as_ref().map(|l| l.facts.epoch);
        let mut is_late = epoch != Some(render.base.epoch);
        if !is_late {
            let scene = render.scene.clone();
            is_late = collections.take(render);
            session.broadcast.set_scene(scene);
            is_late |= again;
        }
        match is_late {
            true => self.render_collections(id, residency, scheduler),
            false => self.collections_shown(id),
        }
    }

    /// The picture is as it should be.
    fn collections_shown(&mut self, id: &SessionId) {
        let Some(session) = self.live.get_mut(id) else { return };
        let shown = session.collections.shown();
        if session.collections.layers.revision > 0 {
            session.broadcast.set_collections(shown.clone());
        }
        session.collections.answer(&shown);
    }

    fn collections_failed(&mut self, id: &SessionId, error: &EngineError) {
        tracing::warn!(session = %id, %error, "collections were not rendered");
        let Some(session) = self.live.get_mut(id) else { return };
        for waiter in session.collections.waiters.drain(..) {
            waiter.send(Err(error.clone()));
        }
    }
}

/// Finds what is not known and renders; on a reader, inside the CPU pool.
fn render(
    lease: &Lease,
    base: Arc<SceneFrames>,
    layers: &Layers,
    mut found: HashMap<String, Found>,
    renderings: u32,
    cancel: &CancelToken,
) -> CollectionRender {
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
    let rendered: Vec<(&Paint, &Members)> = layers
        .layers
        .iter()
        .filter_map(|l| Some((&l.paint, found.get(&l.id)?.members.as_ref())))
        .collect();
    let nodes = wire::colors_of(&base.node_color);
    let own_edges = base.edge_color.as_ref().map(|frame| wire::colors_of(frame));
    let has_own = own_edges.is_some();
    let topology = &lease.graph.topology;
    let painted = graphlume_scene::paint(
        topology,
        lease.order,
        nodes,
        own_edges,
        &rendered,
        &layers.background,
    );
    // The base's own versions are 1 and 2, so every rendering of either differs from all others.
    let version = base.version.wrapping_add(renderings.wrapping_mul(2));
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
    CollectionRender { revision: layers.revision, base, found, scene: Arc::new(scene) }
}
