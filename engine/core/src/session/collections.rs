//! Collections of a session: which elements they hold, and the picture with them rendered over it.

use std::collections::HashMap;
use std::sync::Arc;

use graphlume_expr::{QueryError, Strictness};
use graphlume_facets::Rule;
use graphlume_gfql::Query;
use graphlume_scene::{Bits, Members, Paint};
use graphlume_types::{Caller, CancelReason, CancelToken, Cancelled, Reservation, SessionId};
use serde_json::{Map, Value, json};

use crate::context::EngineContext;
use crate::error::EngineError;
use crate::frames::SceneFrames;
use crate::query_scheduler::{Progress, Quantum};
use crate::reply::Reply;
use crate::residency::{Lease, Residency};
use crate::scheduler::Scheduler;
use crate::session::broadcast::SessionBroadcast;
use crate::session::drawn_picture::DrawnPicture;
use crate::session::painting::{Changes, render};
use crate::session::{SessionEvent, Sessions};

/// Bytes held per node and per edge: rendered colours, and the bits of ten collections.
const BYTES_PER_ELEMENT: u64 = 4 + 2;

/// Which elements a collection holds.
#[derive(Debug, Clone)]
pub enum CollectionRule {
    /// What a query keeps.
    Query(Query, Strictness),
    /// What a rule of a session's document means.
    Rule(Arc<Rule>),
    /// What is in all of these collections of the same session.
    All(Vec<String>),
}

/// A collection of a session.
#[derive(Debug, Clone)]
pub struct CollectionSpec {
    /// Its id within the session.
    pub id: String,
    /// What it holds.
    pub rule: Arc<CollectionRule>,
    /// How that is coloured.
    pub paint: Paint,
    /// Further fields for the page and for lists, such as the name.
    pub fields: Map<String, Value>,
}

/// The collections of a session.
#[derive(Debug, Clone, Default)]
pub struct CollectionSet {
    /// The first is rendered on top.
    pub specs: Vec<CollectionSpec>,
    /// Under all of them: what is in no collection.
    pub background: Paint,
    /// Columns that colours, sizes, opacities and icons follow instead of those of the dataset: by `node.color`, `edge.size`
    /// and the like, as complex encodings of an upload.
    pub encodings: Map<String, Value>,
    /// Another one after every change; 0 for a session that never had a collection.
    pub revision: u64,
}

impl CollectionSet {
    /// Whether the picture is as it would be without them.
    fn is_plain(&self) -> bool {
        self.specs.is_empty() && self.background == Paint::default() && self.encodings.is_empty()
    }
}

/// The elements of one collection in one element set.
#[derive(Debug, Clone)]
pub struct CollectionMembers {
    rule: Arc<CollectionRule>,
    /// The element set and its columns.
    version: (u32, u32),
    pub(super) members: Arc<Members>,
}

impl CollectionMembers {
    /// How many elements there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.members.len()
    }

    /// Whether it is about this element set with these columns.
    pub(super) fn is_of(&self, lease: &Lease) -> bool {
        self.version == lease.version()
    }

    /// Finds the elements of a rule in a graph.
    pub(crate) fn search(
        lease: &Lease,
        rule: &Arc<CollectionRule>,
        others: &HashMap<String, Self>,
        ctx: &EngineContext,
        cancel: &CancelToken,
    ) -> Result<Self, QueryError> {
        let (nodes, edges) = (lease.facts.node_count, lease.facts.edge_count);
        let members = match rule.as_ref() {
            CollectionRule::Query(query, strictness) => {
                let graph = lease.drawn(cancel)?;
                let kept = graphlume_gfql::elements(graph, query, *strictness, cancel)?;
                Members {
                    nodes: Bits::new(nodes, &kept.nodes),
                    edges: Bits::new(edges, &kept.edges),
                }
            }
            CollectionRule::Rule(rule) => DrawnPicture { lease, ctx, cancel }.members(rule)?,
            CollectionRule::All(ids) => {
                let mut parts = ids.iter().filter_map(|id| others.get(id));
                let first = parts.next().map(|f| f.members.as_ref().clone());
                parts.fold(first.unwrap_or_default(), |all, part| Members {
                    nodes: all.nodes.and(&part.members.nodes),
                    edges: all.edges.and(&part.members.edges),
                })
            }
        };
        let (rule, version) = (rule.clone(), lease.version());
        Ok(Self { rule, version, members: Arc::new(members) })
    }
}

/// What viewers and lists are shown of the collections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CollectionsView {
    /// Id and number of elements of each, the one on top first; the number is absent while unknown.
    pub counts: Vec<(String, Option<u64>)>,
    /// The message to the page.
    pub message: Value,
}

impl CollectionsView {
    fn new(set: &CollectionSet, counts: Vec<(String, Option<u64>)>) -> Self {
        let entries = set.specs.iter().zip(&counts).enumerate().map(|(position, (l, c))| {
            let mut entry = json!({
                "id": l.id, "position": position, "match_count": c.1,
                "swatches": l.paint.swatches(),
            });
            if let Some(fields) = entry.as_object_mut() {
                fields.extend(l.fields.clone());
            }
            entry
        });
        let message = json!({
            "t": "collections",
            "collections": entries.collect::<Vec<_>>(),
            "background": set.background.swatches(),
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
    set: Arc<CollectionSet>,
    members: HashMap<String, CollectionMembers>,
    rendered: Option<Rendered>,
    /// Pictures made.
    renderings: u32,
    /// A worker renders.
    away: bool,
    /// Something changed meanwhile.
    again: bool,
    waiters: Vec<Reply<Arc<CollectionsView>>>,
    /// Who changed them last, and finds them in his turn.
    caller: Caller,
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
    pub(super) revision: u64,
    pub(super) base: Arc<SceneFrames>,
    pub(super) members: HashMap<String, CollectionMembers>,
    pub(super) scene: Arc<SceneFrames>,
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
    fn shown(&self) -> Arc<CollectionsView> {
        let count = |l: &CollectionSpec| {
            let members = self.members.get(&l.id).filter(|f| Arc::ptr_eq(&f.rule, &l.rule));
            (l.id.clone(), members.map(CollectionMembers::count))
        };
        let counts = self.set.specs.iter().map(count).collect();
        Arc::new(CollectionsView::new(&self.set, counts))
    }

    /// The picture for a base, when it is there already.
    pub(super) fn rendered(&self, base: &Arc<SceneFrames>) -> Option<Arc<SceneFrames>> {
        let rendered = self.rendered.as_ref()?;
        (rendered.revision == self.set.revision && Arc::ptr_eq(&rendered.base, base))
            .then(|| rendered.scene.clone())
    }

    /// Whether the picture is, or is about to be, another one than the dataset's.
    pub(super) const fn are_shown(&self) -> bool {
        self.renderings > 0
    }

    /// Memory is wanted elsewhere and there are no viewers.
    pub(super) fn release(&mut self) {
        (self.rendered, self.held) = (None, None);
        self.members.clear();
    }

    /// Takes other collections, unless they are older. `members` are those that were evaluated just now.
    /// Whether anything was taken.
    fn replace(
        &mut self,
        set: Arc<CollectionSet>,
        members: Vec<(String, CollectionMembers)>,
    ) -> bool {
        // A page that opens may come late with what was true before the last change.
        if set.revision <= self.set.revision {
            return false;
        }
        self.set = set;
        let specs = &self.set.specs;
        self.members.retain(|id, f| {
            let own = specs.iter().find(|l| l.id == *id);
            own.is_some_and(|l| Arc::ptr_eq(&l.rule, &f.rule))
        });
        self.members.extend(members);
        true
    }

    /// What is to be done for the picture over `base` to show the collections.
    fn plan(&mut self, base: &Arc<SceneFrames>, lease: &Lease) -> Plan {
        if self.away {
            self.again = true;
            return Plan::Wait;
        }
        let is_plain = self.set.is_plain();
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
        let CollectionRender { revision, base, members, scene } = render;
        for (id, members) in members {
            let own = self.set.specs.iter().find(|l| l.id == id);
            if own.is_some_and(|l| Arc::ptr_eq(&l.rule, &members.rule)) {
                self.members.insert(id, members);
            }
        }
        self.rendered = Some(Rendered { revision, base, scene });
        revision != self.set.revision
    }

    fn answer(&mut self, shown: &Arc<CollectionsView>) {
        for waiter in self.waiters.drain(..) {
            waiter.send(Ok(shown.clone()));
        }
    }
}

impl Sessions {
    /// Gives a session its collections. `members` are those that were evaluated just now. The answer comes
    /// when the picture shows them, or at once when there is no picture yet.
    pub(crate) fn set_collections(
        &mut self,
        id: &SessionId,
        (set, members, caller): (Arc<CollectionSet>, Vec<(String, CollectionMembers)>, Caller),
        reply: Reply<Arc<CollectionsView>>,
        residency: &mut Residency,
        scheduler: &Scheduler,
    ) {
        let Some(session) = self.live.get_mut(id) else { return };
        let collections = &mut session.collections;
        collections.caller = caller;
        if collections.replace(set, members) {
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
        let caller = session.collections.caller;
        let held = bytes.map(|bytes| self.reserve(bytes, residency)).transpose();
        let ready = held
            .map_err(EngineError::from)
            .and_then(|held| scheduler.queries().check_room(caller).map(|()| held));
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
        let (set, members) = (collections.set.clone(), collections.members.clone());
        let renderings = collections.renderings;
        let cancel = CancelToken::with_deadline(self.ctx.now() + self.ctx.config.call_time);
        let (session_id, broadcast) = (id.clone(), session.broadcast.clone());
        let lost = SessionEvent::CollectionsRendered {
            session: id.clone(),
            broadcast: broadcast.clone(),
            result: Err(EngineError::Dropped),
        };
        let (mut report, ctx) = (Some(self.reports.once(lost)), self.ctx.clone());
        let (stop, mut members) = (cancel.clone(), members);
        let foreground = Arc::clone(&ctx.foreground);
        let mut cancel = cancel;
        let run = move |quantum| {
            let token = Quantum::token(quantum, &cancel);
            let changes = Changes { set: &set, members: std::mem::take(&mut members), renderings };
            let done = render(&lease, base.clone(), changes, &ctx, &token);
            if token.check() == Err(Cancelled(CancelReason::TurnOver)) {
                // What was found counts.
                members = done.members;
                cancel = cancel.giving_way(&foreground);
                return Progress::Preempted;
            }
            if let Some(report) = report.take() {
                report.send(SessionEvent::CollectionsRendered {
                    session: session_id.clone(),
                    broadcast: Arc::clone(&broadcast),
                    result: Ok(Box::new(done)),
                });
            }
            Progress::Answered
        };
        // Rules may be queries: the last caller to change them has one turn at a time.
        let caller = collections.caller;
        scheduler.queries().submit(caller, stop, Box::new(run));
        session.collections.away = true;
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
        if session.collections.set.revision > 0 {
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
