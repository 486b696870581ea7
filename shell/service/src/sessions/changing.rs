//! Changing the document of a visualization, on behalf of a page: checked as a whole, carried out in the layout,
//! written down, and then told to all who look.

use std::sync::Arc;

use graphlume_engine::{Control, LayoutSettings};
use graphlume_identity::Principal;
use graphlume_storage::CollectionRec;
use graphlume_types::limits::COLLECTIONS_MAX;
use serde_json::{Map, Value, json};

use super::collections::{self, Background, Collections};
use super::control::PageControl;
use super::orders::orders;
use super::stored::keep_document;
use super::{SessionMeta, Sessions, ViewerGrant, no_session};
use crate::document::{
    Actor, Author, Change, Document, Layer, Place, Planned, Room, Seat, Told, Way, checked,
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
        changes: Vec<Change>,
    },
    /// To take the last step of the same person back.
    Undo,
    /// To make it again.
    Redo,
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
        Ok(meta.room.enter(author, control.controls))
    }

    /// What is told of the document at this moment to a page that has no stream.
    ///
    /// # Errors
    /// As [`Self::take_seat`].
    pub fn document_of(&self, grant: &ViewerGrant) -> Result<Vec<Told>, ServiceError> {
        let author = Author { actor: Actor::Viewer, name: String::new(), orgs: [].into() };
        Ok(self.shown(grant)?.room.enter(author, false).pending())
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
        let room = self.shown(grant)?.room;
        let (author, controls) = room.guest(seat).ok_or_else(|| no_session(seat))?;
        let asked = match asked {
            StepRequest::Do { label, join, changes } => {
                let mut changes = check_all(changes, controls)?;
                if !controls {
                    switch_off_for_one(&room, seat, &mut changes);
                }
                // Before the session's turn, for it may take as long as a query. What is dragged was looked at when the
                // drag began.
                if join.is_none() {
                    self.check_rules(grant, &changes).await?;
                }
                let label = label.chars().take(LABEL_CHARS_MAX).collect();
                StepRequest::Do { label, join, changes }
            }
            other => other,
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
        asked: StepRequest,
    ) -> Result<(u64, bool), ServiceError> {
        let turn = self.collection_turn(&grant.session);
        let _turn = turn.lock().await;
        let meta = self.shown(grant)?;
        let asked = match asked {
            StepRequest::Do { label, join, changes } => {
                let changes = self.with_room_for_collections(&meta, changes);
                StepRequest::Do { label, join, changes }
            }
            other => other,
        };
        let actor = author.actor;
        let planned = plan(&meta.room, None, |layer| planned(layer, actor, asked))?;
        let hides = hides(&planned);
        Ok((self.carry_out(grant, meta, planned, author).await?, hides))
    }

    /// Tells a graph that a session shows for the first time in this process what its document says of it: nodes are held
    /// where it has them, and filters hide what they hide.
    pub async fn graph_shown(&self, grant: &ViewerGrant, epoch: u32) {
        let Ok(meta) = self.shown(grant) else { return };
        if meta.room.is_first_graph() {
            for change in meta.room.document().below("pins/").map(|(node, at)| pin_of(node, at)) {
                let Some(control) = change else { continue };
                if let Err(error) = self.ctx.engine.control(grant.target(), control).await {
                    tracing::warn!(session = %grant.session, %error, "a pin is not held");
                }
            }
        }
        self.refresh_visible(grant, epoch);
    }

    /// A step of the shared document: the layout first, for it may refuse; then the disk; then the viewers.
    async fn carry_out(
        &self,
        grant: &ViewerGrant,
        mut meta: SessionMeta,
        planned: Planned,
        author: Author,
    ) -> Result<u64, ServiceError> {
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
        self.write_down(&meta, &planned).await?;
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

    /// Writes the document down as it is after a step, for a session that is written down at all.
    async fn write_down(&self, meta: &SessionMeta, planned: &Planned) -> Result<(), ServiceError> {
        if meta.owner.is_none() {
            return Ok(());
        }
        let (meta, entries) = (meta.clone(), kept(planned.document.to_map()));
        self.ctx.blocking(move |data| keep_document(data, &meta, entries)).await
    }

    /// What an agent has done to the collections of `meta` becomes a step of the document, and is written down with it. The
    /// caller holds the turn of the session.
    pub(crate) async fn step_of_agent(
        &self,
        meta: &SessionMeta,
        author: Author,
        label: String,
    ) -> Result<(), ServiceError> {
        let before = meta.room.document();
        let mut changes: Vec<Change> = before
            .below("collections/")
            .filter(|(id, _)| meta.collections.records.iter().all(|r| r.id != *id))
            .map(|(id, _)| Change::new(format!("collections/{id}"), None))
            .collect();
        let records = &meta.collections.records;
        let known = records.iter().map(|r| before.get(&path_of(r))?.get("order")?.as_f64());
        for (record, order) in records.iter().zip(orders(&known.collect::<Vec<_>>())) {
            let (path, entry) = (path_of(record), entry_of(record, order));
            if before.get(&path) != Some(&entry) {
                changes.push(Change::new(path, Some(entry)));
            }
        }
        let actor = author.actor;
        let planned = plan(&meta.room, None, |layer| layer.plan(actor, label, None, changes))?;
        self.write_down(meta, &planned).await?;
        meta.room.commit(planned, author);
        Ok(())
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
        let mut entries: Vec<(&str, &Value)> = planned.document.below("collections/").collect();
        let order = |v: &Value| v.get("order").and_then(Value::as_f64).unwrap_or_default();
        entries.sort_by(|(a, x), (b, y)| order(x).total_cmp(&order(y)).then(a.cmp(b)));
        let mut records: Vec<CollectionRec> = Vec::new();
        for (id, entry) in entries {
            let before = meta.collections.records.iter().find(|r| r.id == id);
            let record = record_of(id, entry, before, now)?;
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

fn plan(
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
    asked: StepRequest,
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
fn planned(layer: &Layer, actor: Actor, asked: StepRequest) -> Result<Planned, ServiceError> {
    match asked {
        StepRequest::Do { label, join, changes } => layer.plan(actor, label, join, changes),
        StepRequest::Undo => layer.plan_way(actor, Way::Undo),
        StepRequest::Redo => layer.plan_way(actor, Way::Redo),
    }
}

/// Whether a step may hide something or show it again.
fn hides(planned: &Planned) -> bool {
    let changes = &planned.step.changes;
    changes.iter().any(|c| c.path.starts_with("filters/") || c.path == "prune_orphans")
}

/// The changes as their paths take them. A page that does not control the session changes filters and looks alone, for
/// itself.
fn check_all(changes: Vec<Change>, controls: bool) -> Result<Vec<Change>, ServiceError> {
    if !(1..=CHANGES_MAX).contains(&changes.len()) {
        return Err(ServiceError::invalid(
            "changes",
            format!("changes has {} entries; send 1 to {CHANGES_MAX}", changes.len()),
        ));
    }
    let mut checked_changes: Vec<Change> = Vec::with_capacity(changes.len());
    let mut seen = std::collections::HashSet::new();
    for Change { path, value } in changes {
        if !seen.insert(path.clone()) {
            return Err(ServiceError::invalid("changes", format!("changes names {path:?} twice")));
        }
        let private = matches!(
            Place::of(&path)?,
            Place::Filter(_) | Place::PruneOrphans | Place::Collapsed(_) | Place::Look(_)
        );
        if !controls && !private {
            return Err(ServiceError::Refused { slug: "not-yours", message: NOT_YOURS.to_owned() });
        }
        checked_changes.push(checked(&path, value)?);
    }
    Ok(checked_changes)
}

/// A filter of all that a viewer takes away is switched off for him alone; taking that away brings it back.
fn switch_off_for_one(room: &Room, seat: &str, changes: &mut [Change]) {
    let shared = room.document();
    for change in changes.iter_mut().filter(|c| c.value.is_none()) {
        let path = change.path.as_str();
        let is_own = room.with(Some(seat), |own| own.document.get(path).is_some()) == Some(true);
        if let (false, Some(filter)) = (is_own, shared.get(path).filter(|f| f.is_object())) {
            let mut filter = filter.clone();
            filter["on"] = json!(false);
            change.value = Some(filter);
        }
    }
}

/// What a viewer is told who changes what is not his.
const NOT_YOURS: &str = "whoever opened this visualization, and editors of its graph, change its collections, \
     colours, pins and layout; filters you may set for yourself. Open the graph's own address, without session=, to \
     have a visualization of your own";

/// What the layout has to do for a step.
fn controls_of(planned: &Planned, meta: &SessionMeta) -> Result<Vec<Control>, ServiceError> {
    let usual = serde_json::to_value(meta.settings).unwrap_or_default();
    let (mut out, mut settings) = (Vec::new(), Map::new());
    for Change { path, value } in &planned.step.changes {
        match Place::of(path)? {
            Place::Pin(node) => out.push(match value {
                Some(at) => Control::Pin { node, at: place_of(at) },
                None => Control::Unpin { node },
            }),
            Place::Setting(name) => {
                // Without a value of its own it is what the page's address says.
                let value = value.as_ref().or_else(|| usual.get(name)).cloned();
                settings.insert(name.to_owned(), value.unwrap_or_default());
            }
            _ => {}
        }
    }
    if !settings.is_empty() {
        out.push(Control::Settings(settings));
    }
    Ok(out)
}

/// A pin of the document.
fn pin_of(node: &str, at: &Value) -> Option<Control> {
    Some(Control::Pin { node: node.parse().ok()?, at: place_of(at) })
}

fn place_of(at: &Value) -> [f32; 2] {
    [0, 1].map(|i| at[i].as_f64().unwrap_or_default() as f32)
}

/// The knobs of the layout with which a session begins: those of the page's address, and what the document says of them.
pub(super) fn settings_of(meta: &SessionMeta) -> LayoutSettings {
    let document = meta.room.document();
    let patch = document.below("settings/").map(|(name, value)| (name.to_owned(), value.clone()));
    let mut settings = meta.settings;
    if let Err(error) = settings.apply(&patch.collect()) {
        tracing::warn!(session = %meta.session, %error, "settings of a document are left out");
    }
    settings
}

/// What of a document is written down; the collections have records of their own.
pub(super) fn kept(mut entries: Map<String, Value>) -> Map<String, Value> {
    entries.retain(|path, _| !path.starts_with("collections/"));
    entries
}

/// Where the document has a collection.
fn path_of(record: &CollectionRec) -> String {
    format!("collections/{}", record.id)
}

/// How the document shows a collection.
fn entry_of(record: &CollectionRec, order: f64) -> Value {
    let rule = match record.expr.get("type").and_then(Value::as_str) {
        Some("intersection") => json!({"sets": record.expr.get("sets")}),
        Some("rule") => record.expr.get("rule").cloned().unwrap_or_default(),
        _ => json!({"gfql": record.expr}),
    };
    json!({
        "name": record.name, "description": record.description, "node_color": record.node_color,
        "edge_color": record.edge_color, "palette": record.palette, "on": !record.off,
        "order": order, "rule": rule,
    })
}

/// The columns that colours and sizes follow.
pub(super) fn encodings_of(document: &Document) -> Map<String, Value> {
    document.below("encodings/").map(|(channel, e)| (channel.to_owned(), e.clone())).collect()
}

/// The record of a collection of the document; `before` is the one that it changes.
fn record_of(
    id: &str,
    entry: &Value,
    before: Option<&CollectionRec>,
    now: i64,
) -> Result<CollectionRec, ServiceError> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str);
    let rule = entry.get("rule").cloned().unwrap_or_default();
    let expr = match (rule.get("gfql"), rule.get("sets")) {
        (Some(gfql), _) => gfql.clone(),
        (_, Some(sets)) => json!({"type": "intersection", "sets": sets}),
        _ => json!({"type": "rule", "rule": rule}),
    };
    let same = before.filter(|b| b.expr == expr);
    let strict = same.is_none_or(|b| b.strict);
    if same.is_none() {
        collections::rule_of(&expr, strict)?;
    }
    let palette = text("palette").map(collections::checked_palette).transpose()?;
    let color = |name| text(name).map(collections::checked_color).transpose();
    Ok(CollectionRec {
        id: id.to_owned(),
        name: collections::checked_name(text("name").unwrap_or_default())?,
        description: collections::checked_description(text("description").unwrap_or_default())?,
        node_color: color("node_color")?,
        edge_color: color("edge_color")?,
        palette,
        off: entry.get("on") == Some(&Value::Bool(false)),
        created_at: before.map_or(now, |b| b.created_at),
        strict,
        expr,
    })
}

/// Collections that were known before the document was, as its entries.
pub(super) fn entries_of(records: &[CollectionRec]) -> impl Iterator<Item = (String, Value)> + '_ {
    records.iter().enumerate().map(|(at, r)| (path_of(r), entry_of(r, at as f64)))
}
