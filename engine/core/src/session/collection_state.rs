//! The state of a session's collections: what is known of their elements, and which picture shows them.

use std::collections::HashMap;
use std::sync::Arc;

use graphlume_types::{Caller, Reservation};

use crate::frames::SceneFrames;
use crate::reply::Reply;
use crate::residency::Lease;
use crate::session::collection_set::{
    CollectionMembers, CollectionRender, CollectionSet, CollectionSpec, CollectionsView,
};

/// Bytes held per node and per edge: rendered colours, and the bits of ten collections.
const BYTES_PER_ELEMENT: u64 = 4 + 2;

/// The collections of one session with what is known of them.
#[derive(Default)]
pub(crate) struct SessionCollections {
    pub(super) set: Arc<CollectionSet>,
    pub(super) members: HashMap<String, CollectionMembers>,
    rendered: Option<Rendered>,
    /// Pictures made.
    pub(super) renderings: u32,
    /// A worker renders.
    pub(super) away: bool,
    /// Something changed meanwhile.
    pub(super) again: bool,
    pub(super) waiters: Vec<Reply<Arc<CollectionsView>>>,
    /// Who changed them last, and finds them in his turn.
    pub(super) caller: Caller,
    pub(super) held: Option<Reservation>,
}

/// A picture and what it was made of.
struct Rendered {
    revision: u64,
    base: Arc<SceneFrames>,
    scene: Arc<SceneFrames>,
}

/// What is to be done for the picture to show the collections.
pub(super) enum Plan {
    /// A worker renders; it is looked at again when that is done.
    Wait,
    /// Nothing: the picture shows them, once the viewers have this one.
    Shown(Option<Arc<SceneFrames>>),
    /// To render them, which takes so many bytes more than are held.
    Render { bytes: Option<u64> },
}

impl SessionCollections {
    /// Numbers of elements as far as they hold for the present collections.
    pub(super) fn shown(&self) -> Arc<CollectionsView> {
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
    pub(super) fn replace(
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
    pub(super) fn plan(&mut self, base: &Arc<SceneFrames>, lease: &Lease) -> Plan {
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
    pub(super) fn take(&mut self, render: CollectionRender) -> bool {
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

    pub(super) fn answer(&mut self, shown: &Arc<CollectionsView>) {
        for waiter in self.waiters.drain(..) {
            waiter.send(Ok(shown.clone()));
        }
    }
}
