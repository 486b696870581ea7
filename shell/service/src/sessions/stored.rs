//! Viz sessions in the record store: how they are written, read back and forgotten.

use std::collections::BTreeMap;
use std::sync::Arc;

use graphlume_storage::{
    Batch, DatasetRec, JsonText, Scope, SessionRec, StepKey, StepRec, StoreError,
};
use graphlume_types::UserId;
use graphlume_types::limits::{PAGE_ROWS_MAX, SESSION_IDLE_DAYS_MAX, SESSIONS_PER_USER_MAX};
use serde_json::{Map, Value};

use super::DAY_MICROS;
use super::checkpoints::forget;
use super::collections::{Background, Collections};
use super::entries::{encodings_of, entries_of, kept};
use super::list::revision;
use super::registry::{SessionMeta, memory_of};
use crate::data::DataStore;
use crate::datasets::builtin;
use crate::document::{Document, Payer, Room, Unwritten};
use crate::error::ServiceError;
use crate::free_fields::json_bytes;

/// Writes a session down; the oldest of the account's make room past the limit.
pub(super) fn keep(data: &DataStore, rec: &SessionRec, owner: UserId) -> Result<(), ServiceError> {
    let scope = [Scope::Owner(owner)];
    let kept = SESSIONS_PER_USER_MAX.saturating_sub(1);
    let surplus = data.store.list::<SessionRec>(&scope, kept, PAGE_ROWS_MAX)?;
    let mut batch = Batch::new();
    let old: Vec<_> = surplus.items.iter().filter(|s| s.session_id != rec.session_id).collect();
    for old in &old {
        batch = batch.delete::<SessionRec>(&old.session_id);
    }
    // Steps that a session of this name had before are not this one's.
    data.store.commit(batch.delete::<SessionRec>(&rec.session_id).put(rec))?;
    for old in old {
        forget(data, &old.session_id, old.dataset_id);
    }
    Ok(())
}

/// Writes down that a session was opened again.
pub(super) fn seen(data: &DataStore, meta: &SessionMeta) -> Result<(), ServiceError> {
    data.store.update::<SessionRec>(&meta.session, |r| r.updated_at = meta.seen_at)?;
    Ok(())
}

/// A step of a document that is to be written down.
pub(super) struct Writing {
    /// The session, with its collections after the step.
    pub(super) meta: SessionMeta,
    /// What became different, by its number.
    pub(super) step: StepRec,
    /// The entries after it, and the bytes of their texts.
    pub(super) entries: BTreeMap<String, JsonText>,
    pub(super) document_bytes: usize,
}

/// Writes a step down: by itself, or, when there are many, the record with all of them in their place. What it takes is the
/// owner's.
pub(super) fn write_step(
    data: &DataStore,
    writing: Writing,
    unwritten: &mut Unwritten,
) -> Result<(), ServiceError> {
    let Writing { meta, mut step, entries, document_bytes } = writing;
    let (session, now) = (&meta.session, data.clock.unix_micros());
    (step.number, step.created_at) = (unwritten.next, now);
    let bytes = json_bytes(&step);
    // What takes something away always fits.
    let adds = step.collections.is_some() || step.entries.values().any(Option::is_some);
    let _room = if adds { data.quotas.record(&data.store, &step, None)? } else { None };
    let is_known = data.store.exists::<SessionRec>(session)?;
    if is_known && !unwritten.is_due(bytes, document_bytes, now) {
        data.store.commit(Batch::new().put(&step))?;
        unwritten.stepped(bytes);
        return Ok(());
    }
    let Some(owner) = meta.owner else { return Err(ServiceError::not_found("session", session)) };
    let whole = |rec: SessionRec| SessionRec {
        collections: meta.collections.records.clone(),
        document: entries.clone(),
        ..rec
    };
    loop {
        let Some((rec, tag)) = data.store.get_tagged::<SessionRec>(session)? else {
            keep(data, &whole(record(&meta)), owner)?;
            break;
        };
        let mut batch = Batch::new().replace(&whole(rec), tag);
        for number in unwritten.first..unwritten.next {
            batch = batch.delete::<StepRec>(&StepKey { session: session.clone(), number });
        }
        match data.store.commit(batch) {
            Ok(()) => break,
            Err(StoreError::Changed { .. }) => {}
            Err(e) => return Err(e.into()),
        }
    }
    unwritten.written(now);
    Ok(())
}

/// Forgets sessions that were not opened for long, and those whose dataset is gone.
pub(crate) fn forget_old(data: &DataStore) -> Result<(), ServiceError> {
    let now = data.clock.unix_micros();
    data.store.each(|rec: SessionRec| {
        let has_data = builtin::by_id(rec.dataset_id).is_some()
            || data.store.exists::<DatasetRec>(&rec.dataset_id)?;
        let idle = now.saturating_sub(rec.created_at.max(rec.updated_at));
        if !has_data || idle > SESSION_IDLE_DAYS_MAX * DAY_MICROS {
            data.store.commit(Batch::new().delete::<SessionRec>(&rec.session_id))?;
            forget(data, &rec.session_id, rec.dataset_id);
        }
        Ok(())
    })
}

pub(super) fn record(meta: &SessionMeta) -> SessionRec {
    let layout = match serde_json::to_value(meta.settings) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    };
    SessionRec {
        session_id: meta.session.clone(),
        revision_id: revision(&meta.session, meta.dataset),
        dataset_id: meta.dataset,
        owner: meta.owner,
        org_name: meta.org.clone(),
        created_at: meta.created_at,
        updated_at: meta.seen_at,
        closed_at: None,
        layout,
        url_params: Vec::new(),
        notices: meta.notices.to_vec(),
        collections: meta.collections.records.clone(),
        background_node: meta.collections.background.node.clone(),
        background_edge: meta.collections.background.edge.clone(),
        document: kept(meta.room.document().to_map()),
    }
}

/// The entries of a session that was written down, or begins, with those of its collections.
pub(super) fn entries_with(
    entries: BTreeMap<String, JsonText>,
    collections: &Collections,
) -> impl Iterator<Item = (String, JsonText)> {
    let of_collections = entries_of(&collections.records)
        .filter_map(|(path, entry)| Some((path, JsonText::of(&entry).ok()?)));
    entries.into_iter().chain(of_collections)
}

/// A session as its record and the steps say that the record does not have yet.
pub(super) fn from_record(
    mut rec: SessionRec,
    steps: Vec<StepRec>,
    payer: Payer,
) -> Result<SessionMeta, ServiceError> {
    let unwritten = Unwritten::found(steps.iter().map(|s| (s.number, json_bytes(s))));
    for step in steps {
        for (path, value) in step.entries {
            match value {
                Some(value) => drop(rec.document.insert(path, value)),
                None => drop(rec.document.remove(&path)),
            }
        }
        if let Some(collections) = step.collections {
            collections.apply(&mut rec.collections);
        }
    }
    let background = Background { node: rec.background_node, edge: rec.background_edge };
    let collections = if rec.collections.is_empty() && background == Background::default() {
        Collections::default()
    } else {
        Collections::new(rec.collections, background, &Collections::default(), None)
    };
    let entries = entries_with(rec.document, &collections);
    let document = Document::from_entries(entries, &payer)?;
    let encodings = encodings_of(&document);
    let collections = match encodings.is_empty() {
        true => collections,
        false => Collections::new(
            collections.records,
            collections.background,
            &Collections::default(),
            None,
        )
        .encoded(encodings),
    };
    let room = Room::new(document, rec.owner.is_some(), payer, unwritten);
    Ok(SessionMeta {
        org: rec.org_name,
        seen_at: rec.updated_at.max(rec.created_at),
        bytes: memory_of(&collections, &rec.notices, &room),
        room,
        collections: Arc::new(collections),
        settings: serde_json::from_value(Value::Object(rec.layout)).unwrap_or_default(),
        notices: rec.notices.into(),
        session: rec.session_id,
        dataset: rec.dataset_id,
        owner: rec.owner,
        created_at: rec.created_at,
        live: false,
        claimed: rec.owner.is_some(),
    })
}
