//! Viz sessions in the record store: how they are written, read back and forgotten.

use std::sync::Arc;

use graphlume_storage::{Batch, DatasetRec, Scope, SessionRec};
use graphlume_types::UserId;
use graphlume_types::limits::{PAGE_ROWS_MAX, SESSION_IDLE_DAYS_MAX, SESSIONS_PER_USER_MAX};
use serde_json::{Map, Value};

use super::{DAY_MICROS, Visit, memory_of, revision};
use crate::collections::{Background, Worn};
use crate::keeper::forget;
use crate::service::Core;
use crate::{ServiceError, builtin, upkeep};

/// Writes a session down; the oldest of the account's make room past the limit.
pub(super) fn keep(core: &Core, rec: &SessionRec, owner: UserId) -> Result<(), ServiceError> {
    let scope = [Scope::Owner(owner)];
    let kept = SESSIONS_PER_USER_MAX.saturating_sub(1);
    let surplus = core.store.list::<SessionRec>(&scope, kept, PAGE_ROWS_MAX)?;
    let mut batch = Batch::new();
    let old: Vec<_> = surplus.items.iter().filter(|s| s.session_id != rec.session_id).collect();
    for old in &old {
        batch = batch.delete::<SessionRec>(&old.session_id);
    }
    core.store.commit(batch.put(rec))?;
    for old in old {
        forget(core, &old.session_id, old.dataset_id);
    }
    Ok(())
}

/// Writes down that a session was opened again.
pub(super) fn seen(core: &Core, visit: &Visit) -> Result<(), ServiceError> {
    core.store.update::<SessionRec>(&visit.session, |r| r.updated_at = visit.seen_at)?;
    Ok(())
}

/// Writes the collections of a session down, and the session if that could not be done before.
pub(crate) fn keep_collections(core: &Core, visit: &Visit) -> Result<(), ServiceError> {
    let written = core.store.update::<SessionRec>(&visit.session, |r| {
        r.collections.clone_from(&visit.worn.records);
    })?;
    match (written, visit.owner) {
        (Some(_), _) => Ok(()),
        (None, Some(owner)) => keep(core, &record(visit), owner),
        (None, None) => Err(ServiceError::not_found("session", &visit.session)),
    }
}

/// Forgets sessions that nobody has opened for long, and those whose dataset is gone.
pub(crate) fn forget_old(core: &Core) -> Result<(), ServiceError> {
    let now = core.clock.unix_micros();
    upkeep::each::<SessionRec>(core, |rec| {
        let has_data = builtin::by_id(rec.dataset_id).is_some()
            || core.store.exists::<DatasetRec>(&rec.dataset_id)?;
        let idle = now.saturating_sub(rec.created_at.max(rec.updated_at));
        if !has_data || idle > SESSION_IDLE_DAYS_MAX * DAY_MICROS {
            core.store.commit(Batch::new().delete::<SessionRec>(&rec.session_id))?;
            forget(core, &rec.session_id, rec.dataset_id);
        }
        Ok(())
    })
}

pub(super) fn record(visit: &Visit) -> SessionRec {
    let layout = match serde_json::to_value(visit.settings) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    };
    SessionRec {
        session_id: visit.session.clone(),
        revision_id: revision(visit),
        dataset_id: visit.dataset,
        owner: visit.owner,
        org_name: visit.org.clone(),
        created_at: visit.created_at,
        updated_at: visit.seen_at,
        closed_at: None,
        layout,
        url_params: Vec::new(),
        notices: visit.notices.to_vec(),
        collections: visit.worn.records.clone(),
        background_node: visit.worn.background.node.clone(),
        background_edge: visit.worn.background.edge.clone(),
    }
}

pub(super) fn from_record(rec: SessionRec) -> Visit {
    let background = Background { node: rec.background_node, edge: rec.background_edge };
    let worn = if rec.collections.is_empty() && background == Background::default() {
        Worn::default()
    } else {
        Worn::new(rec.collections, background, &Worn::default(), None)
    };
    Visit {
        org: rec.org_name,
        seen_at: rec.updated_at.max(rec.created_at),
        bytes: memory_of(&worn, &rec.notices),
        worn: Arc::new(worn),
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
