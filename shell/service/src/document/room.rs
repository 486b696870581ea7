//! Those who look at a visualization, what each was told of its document, and what each changes for himself alone.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use graphlume_engine::ToPage;
use graphlume_types::limits::OWN_DOCUMENTS_BYTES_MAX;
use graphlume_types::{Budget, SessionId};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::told::{Text, Whole};
use super::{Actor, Arrangements, Author, Document, Layer, Payer, Planned, Shown, Told, Unwritten};

/// A page at the room.
#[derive(Debug)]
struct Guest {
    author: Author,
    /// Whether it changes the shared document, or what it sees itself.
    controls: bool,
    own: Layer,
    /// Who pays for what he changes for himself.
    payer: Payer,
    /// Who pays for what he is told, until it was sent.
    reader: Payer,
}

/// Who looks, and what he may change.
#[derive(Debug, Clone)]
pub(crate) struct OfRoom {
    pub(crate) author: Author,
    /// Whether he changes the shared document, or what he sees himself.
    pub(crate) controls: bool,
    /// Who pays for what he changes.
    pub(crate) payer: Payer,
}

#[derive(Debug)]
struct State {
    shared: Layer,
    payer: Payer,
    guests: HashMap<String, Guest>,
    /// The message with everything for a page without entries of its own, as long as one has yet to be sent it.
    whole: Whole,
}

/// The document of a session with all who look at it.
#[derive(Debug)]
pub(crate) struct Room {
    state: Mutex<State>,
    /// Whether a graph was shown yet.
    has_graph: AtomicBool,
    changed: watch::Sender<()>,
    /// Changes of the document take turns on it; what of it is on the disk apart from the record.
    turn: Arc<tokio::sync::Mutex<Unwritten>>,
    /// What all guests change for themselves.
    own: Budget,
    /// The turn to find what is visible.
    finding: tokio::sync::Mutex<()>,
    /// Where the nodes were before layouts.
    arrangements: Mutex<Arrangements>,
}

impl Room {
    /// The room of a session with or without an owner; `payer` pays for what all see.
    pub(crate) fn new(
        document: Document,
        is_owned: bool,
        payer: Payer,
        unwritten: Unwritten,
    ) -> Arc<Self> {
        let shared = Layer::shared(document, is_owned);
        let state = State { shared, payer, guests: HashMap::new(), whole: Whole::default() };
        Arc::new(Self {
            state: Mutex::new(state),
            has_graph: AtomicBool::new(false),
            changed: watch::Sender::new(()),
            turn: Arc::new(tokio::sync::Mutex::new(unwritten)),
            own: Budget::new("own filters of a visualization", OWN_DOCUMENTS_BYTES_MAX),
            finding: tokio::sync::Mutex::default(),
            arrangements: Mutex::default(),
        })
    }

    /// An account owns the session by now, and pays for what all see.
    pub(crate) fn owned(&self, payer: Payer) {
        let mut state = self.state.lock();
        state.shared.owned();
        state.payer = payer;
    }

    /// The turn to change the document.
    pub(crate) fn turn(&self) -> Arc<tokio::sync::Mutex<Unwritten>> {
        Arc::clone(&self.turn)
    }

    /// The turn to find what is visible.
    pub(crate) async fn finding(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.finding.lock().await
    }

    /// Looks at, or changes, what is kept of arrangements of the nodes. Steps that lead to none of them are forgotten.
    pub(crate) fn arrangements<T>(&self, work: impl FnOnce(&mut Arrangements) -> T) -> T {
        let mut kept = self.arrangements.lock();
        let done = work(&mut kept);
        self.state.lock().shared.forget_arrangements(&kept);
        drop(kept);
        self.tell();
        done
    }

    /// Who pays for what all see.
    pub(crate) fn payer(&self) -> Payer {
        self.state.lock().payer.clone()
    }

    /// Seats a page. `payer` pays for what it changes for itself, and so do all pages of the room together.
    pub(crate) fn enter(self: &Arc<Self>, author: Author, controls: bool, payer: &Payer) -> Seat {
        let id = SessionId::random().as_str().to_owned();
        let (reader, payer) = (payer.clone(), payer.and(self.own.clone()));
        let guest = Guest { author, controls, own: Layer::own(), payer, reader };
        self.state.lock().guests.insert(id.clone(), guest);
        Seat {
            changed: self.changed.subscribe(),
            room: Arc::clone(self),
            id,
            seen: None,
            own_seen: 0,
            labels: (None, None),
            shown: None,
        }
    }

    /// Looks at, or changes, a layer: that of a guest who changes what he sees himself, or the shared one.
    pub(crate) fn with<T>(
        &self,
        own: Option<&str>,
        work: impl FnOnce(&mut Layer) -> T,
    ) -> Option<T> {
        let mut state = self.state.lock();
        match own {
            None => Some(work(&mut state.shared)),
            Some(id) => state.guests.get_mut(id).map(|guest| work(&mut guest.own)),
        }
    }

    /// Who a guest is, whether he changes the shared document, and who pays for what he changes.
    pub(crate) fn guest(&self, id: &str) -> Option<OfRoom> {
        let state = self.state.lock();
        let guest = state.guests.get(id)?;
        let controls = guest.controls;
        let payer = if controls { &state.payer } else { &guest.payer };
        Some(OfRoom { author: guest.author.clone(), controls, payer: payer.clone() })
    }

    /// Makes a step of what all see, and tells them.
    pub(crate) fn commit(&self, planned: Planned, author: Author) -> u64 {
        let revision = self.state.lock().shared.commit(planned, author);
        self.tell();
        revision
    }

    /// Has every page look what is new.
    pub(crate) fn tell(&self) {
        self.changed.send_replace(());
    }

    /// Shows what filters leave visible to those who are there; it is found again for those who come when all have left.
    pub(crate) fn show(&self, own: Option<&str>, shown: Shown) {
        let mut state = self.state.lock();
        let State { shared, guests, .. } = &mut *state;
        let layer = match own {
            None => (!guests.is_empty()).then_some(shared),
            Some(id) => guests.get_mut(id).map(|guest| &mut guest.own),
        };
        if let Some(layer) = layer {
            layer.shown = Some(Arc::new(shown));
        }
        drop(state);
        self.tell();
    }

    /// Who pays for what filters leave visible: of a page with filters of its own, the page.
    pub(crate) fn pays_for_shown(&self, own: Option<&str>) -> Payer {
        let state = self.state.lock();
        let guest = own.and_then(|id| state.guests.get(id));
        guest.map_or_else(|| state.payer.clone(), |guest| guest.reader.clone())
    }

    /// Guests who have filters of their own.
    pub(crate) fn overlays(&self) -> Vec<String> {
        let state = self.state.lock();
        let own = state.guests.iter().filter(|(_, g)| !g.own.document.is_empty());
        own.map(|(id, _)| id.clone()).collect()
    }

    /// Whether the graph that is shown now is the first one.
    pub(crate) fn is_first_graph(&self) -> bool {
        !self.has_graph.swap(true, Ordering::Relaxed)
    }

    /// The shared document.
    pub(crate) fn document(&self) -> Arc<Document> {
        Arc::clone(&self.state.lock().shared.document)
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        let state = self.state.lock();
        state.shared.bytes() + state.guests.values().map(|g| g.own.bytes()).sum::<usize>()
    }
}

/// The place of a page in a room, until it is dropped.
#[derive(Debug)]
pub struct Seat {
    room: Arc<Room>,
    changed: watch::Receiver<()>,
    id: String,
    /// The revision of the shared document up to which the page was told; nothing before it was told anything.
    seen: Option<u64>,
    own_seen: u64,
    labels: (Option<String>, Option<String>),
    shown: Option<Arc<Shown>>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut state = self.room.state.lock();
        state.guests.remove(&self.id);
        if state.guests.is_empty() {
            state.shared.shown = None;
        }
    }
}

impl Seat {
    /// What tells the page from others: it names it where it asks beside its stream.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The page may control the session by now, or may no more.
    pub fn set_controls(&self, controls: bool) {
        if let Some(guest) = self.room.state.lock().guests.get_mut(&self.id) {
            guest.controls = controls;
        }
        self.room.tell();
    }

    /// The page was told of a graph, whose elements are all visible to it: what the filters leave of them is told again.
    pub fn graph_told(&mut self) {
        self.shown = None;
    }

    /// What there is to tell at this moment, in order.
    pub fn pending(&mut self) -> Vec<Told> {
        let mut out = Vec::new();
        let mut state = self.room.state.lock();
        let State { shared, guests, whole, .. } = &mut *state;
        let Some(guest) = guests.get_mut(&self.id) else { return out };
        let own = &guest.own;
        let missed = self.seen.map(|seen| (shared.since(seen), own.since(self.own_seen)));
        match missed {
            Some((Some(steps), Some(mine))) => {
                let (me, payer) = (&guest.author, &guest.reader);
                let text = |step, own| Told::Text(Text::of_step(step, own, me, payer));
                out.extend(steps.into_iter().map(|step| text(step, false)));
                out.extend(mine.into_iter().map(|step| text(step, true)));
            }
            _ => out.push(Told::Text(whole.text(shared, own, &guest.reader))),
        }
        (self.seen, self.own_seen) = (Some(shared.revision), own.revision);
        let layer = if guest.controls { &*shared } else { own };
        let labels = layer.labels(guest.actor());
        let labels = (labels.0.map(str::to_owned), labels.1.map(str::to_owned));
        if labels != self.labels {
            let (undo, redo) = labels.clone();
            out.push(Told::Message(ToPage::History { undo, redo }));
            self.labels = labels;
        }
        // What is visible to a page with filters of its own was found with them.
        let is_own = !own.document.is_empty();
        let shown = if is_own { &own.shown } else { &shared.shown };
        if let Some(shown) = shown
            && self.shown.as_ref().is_none_or(|s| !Arc::ptr_eq(s, shown))
        {
            // Who hears the numbers has the picture that they are of.
            out.extend(shown.frames.iter().cloned().map(Told::Frame));
            out.push(Told::Message(shown.counts.clone()));
            self.shown = Some(Arc::clone(shown));
            if is_own {
                // Nobody else is told of it: the frames, large for a large graph, need not be kept.
                let (epoch, counts) = (shown.epoch, shown.counts.clone());
                let told = Arc::new(Shown { epoch, counts, frames: Vec::new() });
                self.shown = Some(Arc::clone(&told));
                guest.own.shown = Some(told);
            }
        }
        out
    }

    /// Waits until there is something to tell. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Vec<Told> {
        loop {
            self.changed.mark_unchanged();
            let told = self.pending();
            if !told.is_empty() {
                return told;
            }
            if self.changed.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

impl Guest {
    const fn actor(&self) -> Actor {
        if self.controls { self.author.actor } else { Actor::Viewer }
    }
}
