//! Changing the document of a visualization, on behalf of a page: checked as a whole, carried out in the layout,
//! written down, and then told to all who look.

use std::sync::Arc;

use graphlume_engine::Control;
use graphlume_identity::Principal;
use graphlume_storage::{CollectionRec, CollectionsStep, JsonText, StepRec};
use graphlume_types::limits::{
    COLLECTIONS_MAX, DOCUMENT_UNPACKED_BYTES_MAX, OWN_DOCUMENT_BYTES_MAX,
};
use serde_json::{Value, json};
use tokio::sync::OwnedMutexGuard;

use super::collections::{self, Background, Collections};
use super::control::PageControl;
use super::entries::{
    controls_of, encodings_of, entry_of, is_collection, kept, path_of, place_of, record_of,
};
use super::orders::orders;
use super::stored::{Writing, write_step};
use super::{SessionMeta, Sessions, ViewerGrant, no_session};
use crate::data::DataStore;
use crate::document::{
    ARRANGEMENT, Actor, Author, Change, ChangeRequest, Held, Layer, OfRoom, PathTarget, Payer,
    Planned, Room, Seat, Told, Unwritten, Way, checked,
};
use crate::error::ServiceError;

/// Characters of a step's label.
const LABEL_CHARS_MAX: usize = 120;
/// Changes of one step.
const CHANGES_MAX: usize = 10_000;

/// What a page asks of the document.
#[derive(Debug, Clone, PartialEq)]
pub enum StepRequest {
    /// To make these changes, all or none.
    Do {
        /// A few words for the others and for taking it back.
        label: String,
        /// Steps in a row with the same word are one to take back.
        join: Option<String>,
        /// The changes.
        changes: Vec<ChangeRequest>,
    },
    /// To take the last step of the same person back.
    Undo,
    /// To make it again.
    Redo,
}

/// A step whose changes were checked.
enum Asked {
    Do { label: String, join: Option<String>, changes: Vec<Change> },
    Undo,
    Redo,
}

/// What bounds the changes of a step.
struct Limits {
    /// Whether the page controls the session.
    controls: bool,
    /// Bytes of a set of the graph's nodes.
    set_bytes_max: u64,
    payer: Payer,
}

/// The turn to change a document.
pub(crate) type Turn = OwnedMutexGuard<Unwritten>;

/// Whether a change may have a set of nodes in its rule.
fn has_set(change: &ChangeRequest) -> bool {
    let may =
        |text: &JsonText| [r#""nodes""#, r#""ego""#].iter().any(|n| text.as_str().contains(n));
    change.value.as_ref().is_some_and(may)
}

/// A step that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stepped {
    /// The revision of the document with it.
    pub revision: u64,
    /// Whether only the page itself sees it, because it does not control the session.
    pub own: bool,
}

impl Sessions {
    /// Gives a page its place among those who look at the document.
    ///
    /// # Errors
    /// A session that is not there any more; a store that does not answer.
    pub fn take_seat(
        &self,
        who: &Principal,
        grant: &ViewerGrant,
        control: &PageControl,
    ) -> Result<Seat, ServiceError> {
        let meta = self.shown(grant)?;
        let actor = who.session_owner().map_or(Actor::KeyHolder, Actor::User);
        let name = who.username().unwrap_or_default().to_owned();
        let author = Author { actor, name, orgs: who.orgs().into() };
        let payer = self.payers.of(who.session_owner());
        Ok(meta.room.enter(author, control.controls, &payer))
    }

    /// What is told of the document at this moment to a page that has no stream.
    ///
    /// # Errors
    /// As [`Self::take_seat`].
    pub fn document_of(&self, grant: &ViewerGrant) -> Result<Vec<Told>, ServiceError> {
        let author = Author { actor: Actor::Viewer, name: String::new(), orgs: [].into() };
        let payer = self.payers.of(None);
        Ok(self.shown(grant)?.room.enter(author, false, &payer).pending())
    }

    /// Makes a step for the page that has the seat `seat`.
    ///
    /// # Errors
    /// A change that is not possible, with its path; a step that a page which does not control the session may not
    /// make; nothing to take back; a full disk.
    pub async fn step(
        &self,
        grant: &ViewerGrant,
        seat: &str,
        asked: StepRequest,
    ) -> Result<Stepped, ServiceError> {
        let SessionMeta { room, owner, .. } = self.shown(grant)?;
        let OfRoom { author, controls, payer } =
            room.guest(seat).ok_or_else(|| no_session(seat))?;
        let asked = match asked {
            StepRequest::Do { label, join, changes } => {
                let set_bytes_max = match changes.iter().any(has_set) {
                    true => self.set_bytes_max(grant).await?,
                    false => 0,
                };
                let limits = Limits { controls, set_bytes_max, payer };
                let check = || check_all(&changes, &limits);
                let mut changes = self.paid(if controls { owner } else { None }, check).await?;
                if !controls {
                    switch_off_for_one(&room, seat, &mut changes, &limits)?;
                }
                // Before the session's turn, for it may take as long as a query. What is dragged was looked at when the
                // drag began.
                if join.is_none() {
                    self.check_rules(grant, &changes).await?;
                }
                let label = label.chars().take(LABEL_CHARS_MAX).collect();
                Asked::Do { label, join, changes }
            }
            StepRequest::Undo => Asked::Undo,
            StepRequest::Redo => Asked::Redo,
        };
        let (revision, hides) = match controls {
            true => self.shared_step(grant, author, asked).await?,
            false => own_step(&room, seat, author, asked)?,
        };
        if hides {
            self.follow(&grant.target(), &room, (!controls).then_some(seat));
        }
        Ok(Stepped { revision, own: !controls })
    }

    /// A step of what all see: its revision, and whether it may hide something or show it again.
    async fn shared_step(
        &self,
        grant: &ViewerGrant,
        author: Author,
        asked: Asked,
    ) -> Result<(u64, bool), ServiceError> {
        let turn = self.shown(grant)?.room.turn().lock_owned().await;
        let meta = self.shown(grant)?;
        let asked = match asked {
            Asked::Do { label, join, changes } => {
                let changes = self.with_room_for_collections(&meta, changes);
                Asked::Do { label, join, changes }
            }
            other => other,
        };
        let actor = author.actor;
        let planned = plan(&meta.room, None, |layer| planned(layer, actor, asked))?;
        self.rearrange(grant, &meta, &planned).await?;
        let hides = hides(&planned);
        Ok((self.carry_out(grant, (meta, turn), planned, author).await?, hides))
    }

    /// Tells a graph that a session shows for the first time in this process what its document says of it: nodes are held
    /// where it has them, and filters hide what they hide.
    pub async fn graph_shown(&self, grant: &ViewerGrant, epoch: u32) {
        let Ok(meta) = self.shown(grant) else { return };
        if meta.room.is_first_graph() {
            let document = meta.room.document();
            let pins = document.below("pins/");
            let pin =
                |(node, at): (&str, &Held)| Some((node.parse().ok()?, Some(place_of(&at.value()))));
            let pins: Vec<_> = pins.filter_map(pin).collect();
            let held = match pins.is_empty() {
                true => None,
                false => self.ctx.engine.control(grant.target(), Control::Pins(pins)).await.err(),
            };
            if let Some(error) = held {
                tracing::warn!(session = %grant.session, %error, "pins are not held");
            }
        }
        self.refresh_visible(grant, epoch);
    }

    /// A step of the shared document: the layout first, for it may refuse; then the disk; then the viewers.
    async fn carry_out(
        &self,
        grant: &ViewerGrant,
        (mut meta, turn): (SessionMeta, Turn),
        planned: Planned,
        author: Author,
    ) -> Result<u64, ServiceError> {
        let before = Arc::clone(&meta.collections);
        let paints = planned
            .step
            .changes
            .iter()
            .any(|c| c.path.starts_with("collections/") || c.path.starts_with("encodings/"));
        let collections = paints.then(|| self.collections_of(&meta, &planned)).transpose()?;
        if let Some(collections) = &collections {
            meta.collections = Arc::clone(collections);
        }
        for control in controls_of(&planned, &meta)? {
            self.ctx.engine.control(grant.target(), control).await?;
        }
        let room = Arc::clone(&meta.room);
        let _turn = self.write_down((&meta, turn), &before, &planned).await?;
        let revision = room.commit(planned, author);
        self.weigh(&meta);
        if let Some(collections) = collections {
            self.show_collections(&meta.session, &collections);
            self.paint(grant, &collections);
        }
        Ok(revision)
    }

    /// Has the engine paint collections; the picture need not be waited for.
    fn paint(&self, grant: &ViewerGrant, collections: &Collections) {
        let layers = Arc::clone(&collections.layers);
        let painted = self.ctx.engine.set_collections(grant.target(), layers, vec![]);
        let session = grant.session.clone();
        tokio::spawn(async move {
            if let Err(error) = painted.await {
                tracing::warn!(%session, %error, "collections are not in the picture yet");
            }
        });
    }

    /// Writes a step down, for a session that is written down at all; `before` were its collections. Gives the turn back,
    /// which the writing has even when its caller has gone.
    async fn write_down(
        &self,
        (meta, mut turn): (&SessionMeta, Turn),
        before: &Collections,
        planned: &Planned,
    ) -> Result<Turn, ServiceError> {
        let changes = &planned.step.changes;
        if meta.owner.is_none() || changes.iter().all(|c| c.path == ARRANGEMENT) {
            return Ok(turn);
        }
        let records = &meta.collections.records;
        let changed = before.records != *records;
        let changes = changes.iter().filter(|c| !is_collection(&c.path) && c.path != ARRANGEMENT);
        let text = |held: &Held| held.text().clone();
        let step = StepRec {
            session_id: meta.session.clone(),
            number: 0,
            owner: meta.owner,
            created_at: 0,
            entries: changes.map(|c| (c.path.clone(), c.value.as_ref().map(text))).collect(),
            collections: changed.then(|| CollectionsStep::between(&before.records, records)),
        };
        let writing = Writing {
            meta: meta.clone(),
            step,
            entries: kept(planned.document.to_map()),
            document_bytes: planned.document.bytes(),
        };
        let written = move |data: &DataStore| {
            write_step(data, writing, &mut turn)?;
            Ok(turn)
        };
        self.ctx.blocking(written).await
    }

    /// What an agent has done to the collections of `meta` becomes a step of the document, and is written down with it. The
    /// caller holds the turn of the session.
    pub(crate) async fn step_of_agent(
        &self,
        (meta, turn): (&SessionMeta, Turn),
        records_before: &Collections,
        author: Author,
        label: String,
    ) -> Result<Turn, ServiceError> {
        let before = meta.room.document();
        let mut changes: Vec<Change> = before
            .below("collections/")
            .filter(|(id, _)| meta.collections.records.iter().all(|r| r.id != *id))
            .map(|(id, _)| Change::new(format!("collections/{id}"), None))
            .collect();
        let records = &meta.collections.records;
        let order = |r| before.get(&path_of(r))?.value().get("order")?.as_f64();
        let known: Vec<Option<f64>> = records.iter().map(order).collect();
        let payer = meta.room.payer();
        for (record, order) in records.iter().zip(orders(&known)) {
            let path = path_of(record);
            let entry = JsonText::of(&entry_of(record, order))
                .map_err(|e| ServiceError::Internal(format!("{path}: {e}")))?;
            if before.get(&path).is_none_or(|held| *held.text() != entry) {
                let sets = DOCUMENT_UNPACKED_BYTES_MAX;
                let check = || checked(&path, Some(&entry), sets, &payer);
                changes.push(self.paid(meta.owner, check).await?);
            }
        }
        let actor = author.actor;
        let planned = plan(&meta.room, None, |layer| layer.plan(actor, label, None, changes))?;
        let turn = self.write_down((meta, turn), records_before, &planned).await?;
        meta.room.commit(planned, author);
        Ok(turn)
    }

    /// The changes, and those that drop the oldest collections past the limit.
    fn with_room_for_collections(
        &self,
        meta: &SessionMeta,
        mut changes: Vec<Change>,
    ) -> Vec<Change> {
        let document = meta.room.document();
        let is_touched = |id: &str| {
            let path = format!("collections/{id}");
            changes.iter().any(|c| c.path == path)
        };
        let known = document.below("collections/").map(|(id, _)| id);
        let mut others: Vec<&str> = known.filter(|id| !is_touched(id)).collect();
        let made =
            changes.iter().filter(|c| c.path.starts_with("collections/") && c.value.is_some());
        let surplus = (others.len() + made.count()).saturating_sub(COLLECTIONS_MAX);
        let records = &meta.collections.records;
        let age = |id: &str| records.iter().find(|r| r.id == id).map_or(0, |r| r.created_at);
        others.sort_by_key(|id| age(id));
        let dropped: Vec<Change> = others
            .into_iter()
            .take(surplus)
            .map(|id| Change::new(format!("collections/{id}"), None))
            .collect();
        changes.extend(dropped);
        changes
    }

    /// The collections of a document.
    fn collections_of(
        &self,
        meta: &SessionMeta,
        planned: &Planned,
    ) -> Result<Arc<Collections>, ServiceError> {
        let now = self.ctx.data.clock.unix_micros();
        let entries = planned.document.below("collections/");
        let mut entries: Vec<(&str, Value)> = entries.map(|(id, v)| (id, v.value())).collect();
        let order = |v: &Value| v.get("order").and_then(Value::as_f64).unwrap_or_default();
        entries.sort_by(|(a, x), (b, y)| order(x).total_cmp(&order(y)).then(a.cmp(b)));
        let mut records: Vec<CollectionRec> = Vec::new();
        for (id, entry) in entries {
            let before = meta.collections.records.iter().find(|r| r.id == id);
            let record = record_of(id, &entry, before, now)?;
            if let Some(other) = records.iter().find(|r| r.name == record.name) {
                return Err(collections::refusal(
                    "conflict",
                    format!("another collection is named {:?}; choose another name", other.name),
                ));
            }
            records.push(record);
        }
        let Background { node, edge } = meta.collections.background.clone();
        let background = Background { node, edge };
        let collections = Collections::new(records, background, &meta.collections, None);
        Ok(Arc::new(collections.encoded(encodings_of(&planned.document))))
    }

    pub(super) fn shown(&self, grant: &ViewerGrant) -> Result<SessionMeta, ServiceError> {
        let meta = self.meta(&grant.session)?.filter(|m| m.dataset == grant.dataset);
        meta.ok_or_else(|| no_session(grant.session.as_str()))
    }
}

pub(super) fn plan(
    room: &Room,
    own: Option<&str>,
    find: impl FnOnce(&mut Layer) -> Result<Planned, ServiceError>,
) -> Result<Planned, ServiceError> {
    room.with(own, find).ok_or_else(|| no_session(own.unwrap_or_default()))?
}

/// A step of what one page sees alone, made at once.
fn own_step(
    room: &Room,
    seat: &str,
    author: Author,
    asked: Asked,
) -> Result<(u64, bool), ServiceError> {
    let done = room.with(Some(seat), |layer| {
        let planned = planned(layer, Actor::Viewer, asked)?;
        let hides = hides(&planned);
        Ok((layer.commit(planned, author), hides))
    });
    room.tell();
    done.ok_or_else(|| no_session(seat))?
}

/// What a layer would be after a step.
fn planned(layer: &Layer, actor: Actor, asked: Asked) -> Result<Planned, ServiceError> {
    match asked {
        Asked::Do { label, join, changes } => layer.plan(actor, label, join, changes),
        Asked::Undo => layer.plan_way(actor, Way::Undo),
        Asked::Redo => layer.plan_way(actor, Way::Redo),
    }
}

/// Whether a step may hide something or show it again.
fn hides(planned: &Planned) -> bool {
    let changes = &planned.step.changes;
    changes.iter().any(|c| c.path.starts_with("filters/") || c.path == "prune_orphans")
}

/// The changes as their paths take them. A page that does not control the session changes filters and looks alone, for
/// itself.
fn check_all(changes: &[ChangeRequest], limits: &Limits) -> Result<Vec<Change>, ServiceError> {
    let Limits { controls, set_bytes_max, payer } = limits;
    if !(1..=CHANGES_MAX).contains(&changes.len()) {
        return Err(ServiceError::invalid(
            "changes",
            format!("changes has {} entries; send 1 to {CHANGES_MAX}", changes.len()),
        ));
    }
    let mut checked_changes: Vec<Change> = Vec::with_capacity(changes.len());
    let mut seen = std::collections::HashSet::new();
    let mut unpacked = 0;
    for ChangeRequest { path, value } in changes {
        if !seen.insert(path) {
            return Err(ServiceError::invalid("changes", format!("changes names {path:?} twice")));
        }
        let private = PathTarget::of(path)?.is_private();
        let own_max = if *controls { usize::MAX } else { OWN_DOCUMENT_BYTES_MAX };
        if value.as_ref().is_some_and(|text| text.as_str().len() > own_max) {
            return Err(ServiceError::TooLarge {
                what: "what you change for yourself alone",
                limit: own_max as u64,
                unit: "bytes; use an expression",
            });
        }
        if !controls && !private {
            return Err(ServiceError::Refused { slug: "not-yours", message: NOT_YOURS.to_owned() });
        }
        let change = checked(path, value.as_ref(), *set_bytes_max, payer)?;
        unpacked += change.value.as_ref().map_or(0, Held::unpacked);
        if unpacked > DOCUMENT_UNPACKED_BYTES_MAX {
            return Err(ServiceError::TooLarge {
                what: "what the step's filters by selection unpack to",
                limit: DOCUMENT_UNPACKED_BYTES_MAX,
                unit: "bytes; send fewer of them, or use expressions",
            });
        }
        checked_changes.push(change);
    }
    Ok(checked_changes)
}

/// A filter of all that a viewer takes away is switched off for him alone; taking that away brings it back.
fn switch_off_for_one(
    room: &Room,
    seat: &str,
    changes: &mut [Change],
    limits: &Limits,
) -> Result<(), ServiceError> {
    let shared = room.document();
    for change in changes.iter_mut().filter(|c| c.value.is_none()) {
        let path = change.path.as_str();
        let is_own = room.with(Some(seat), |own| own.document.get(path).is_some()) == Some(true);
        if let (false, Some(held)) = (is_own, shared.get(path).filter(|f| f.ruled().is_some())) {
            let mut filter = held.value();
            filter["on"] = json!(false);
            let off = ChangeRequest::new(path.to_owned(), Some(&filter));
            // Its rule was read when it was set.
            let sets = DOCUMENT_UNPACKED_BYTES_MAX;
            change.value = checked(path, off.value.as_ref(), sets, &limits.payer)?.value;
        }
    }
    Ok(())
}

/// What a viewer is told who changes what is not his.
const NOT_YOURS: &str = "whoever opened this visualization, and editors of its graph, change its collections, \
     colours, pins and layout; filters you may set for yourself. Open the graph's own address, without session=, to \
     have a visualization of your own";
