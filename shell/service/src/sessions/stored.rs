//! Viz sessions in the record store: how they are written, read back and forgotten.

use std::sync::Arc;

use graphlume_storage::{Batch, DatasetRec, Scope, SessionRec};
use graphlume_types::UserId;
use graphlume_types::limits::{PAGE_ROWS_MAX, SESSION_IDLE_DAYS_MAX, SESSIONS_PER_USER_MAX};
use serde_json::{Map, Value};

use super::DAY_MICROS;
use super::changing::{encodings_of, entries_of, kept};
use super::checkpoints::forget;
use super::collections::{Background, Collections};
use super::list::revision;
use super::registry::{SessionMeta, memory_of};
use crate::data::DataStore;
use crate::datasets::builtin;
use crate::document::{Document, Room};
use crate::error::ServiceError;

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
    data.store.commit(batch.put(rec))?;
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

/// Writes the document of a session down: `entries`, and its collections; and the session if that could not be done
/// before.
pub(super) fn keep_document(
    data: &DataStore,
    meta: &SessionMeta,
    entries: Map<String, Value>,
) -> Result<(), ServiceError> {
    let written = data.store.update::<SessionRec>(&meta.session, |r| {
        r.collections.clone_from(&meta.collections.records);
        r.document.clone_from(&entries);
    })?;
    match (written, meta.owner) {
        (Some(_), _) => Ok(()),
        (None, Some(owner)) => {
            let rec = SessionRec { document: entries, ..record(meta) };
            keep(data, &rec, owner)
        }
        (None, None) => Err(ServiceError::not_found("session", &meta.session)),
    }
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
        revision_id: revision(meta),
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

/// The document of a session that was written down, or begins.
pub(super) fn document(entries: Map<String, Value>, collections: &Collections) -> Document {
    Document::from_map(entries.into_iter().chain(entries_of(&collections.records)).collect())
}

pub(super) fn from_record(rec: SessionRec) -> SessionMeta {
    let background = Background { node: rec.background_node, edge: rec.background_edge };
    let collections = if rec.collections.is_empty() && background == Background::default() {
        Collections::default()
    } else {
        Collections::new(rec.collections, background, &Collections::default(), None)
    };
    let document = document(rec.document, &collections);
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
    let room = Room::new(document);
    SessionMeta {
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
    }
}
