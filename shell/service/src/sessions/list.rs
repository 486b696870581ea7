//! Sessions as the REST interface shows them.

use std::collections::HashMap;
use std::ops::ControlFlow;

use graphlume_identity::{IdentityError, Principal};
use graphlume_storage::{DatasetRec, Role, Scope, SessionHead, SessionRec};
use graphlume_types::limits::PAGE_ROWS_MAX;
use graphlume_types::{DatasetId, SessionId};

use super::{Sessions, no_session, parse_session};
use crate::datasets::builtin;
use crate::error::ServiceError;
use crate::reply::{RevisionDataset, RevisionReply, SessionReply, SessionsReply};

impl Sessions {
    /// The caller's sessions, newest first; a superuser's list has those of all accounts.
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`] when others ask for `all`.
    pub async fn list(&self, who: &Principal, all: bool) -> Result<SessionsReply, ServiceError> {
        let user = who.user().ok_or(IdentityError::Unauthenticated)?;
        let is_superuser = who.role() == Some(Role::Superuser);
        if all && !is_superuser {
            return Err(ServiceError::Forbidden(
                "only superusers may list everybody's sessions; list your own".to_owned(),
            ));
        }
        if who.session_owner().is_none() {
            return Ok(SessionsReply { results: Vec::new() });
        }
        let all = is_superuser;
        let (scope, only) = (if all { Scope::All } else { Scope::Owner(user) }, who.scope());
        let live = if all { self.registry.all() } else { Vec::new() };
        self.ctx
            .blocking(move |data| {
                let mut sessions: HashMap<SessionId, Listed> = HashMap::new();
                data.store.walk::<SessionRec, ServiceError>(&[scope], |entry| {
                    // The document of a session is not read for it.
                    if let Some(head) = entry.head()?.filter(|head| head.closed_at.is_none()) {
                        let SessionHead { session_id, dataset_id, created_at, .. } = head;
                        sessions.insert(session_id, (dataset_id, created_at));
                    }
                    let full = sessions.len() as u64 >= PAGE_ROWS_MAX;
                    Ok(if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
                })?;
                sessions
                    .extend(live.iter().map(|v| (v.session.clone(), (v.dataset, v.created_at))));
                let mut sessions: Vec<(SessionId, Listed)> = sessions.into_iter().collect();
                // A guest may have been let in for another dataset earlier.
                sessions.retain(|(_, (dataset, _))| only.is_none_or(|only| *dataset == only));
                sessions.sort_by(|(a, (_, x)), (b, (_, y))| (y, b).cmp(&(x, a)));
                let mut results = Vec::new();
                for (session, (dataset, _)) in sessions {
                    if results.len() as u64 >= PAGE_ROWS_MAX {
                        break;
                    }
                    let there = builtin::by_id(dataset).is_some()
                        || data.store.exists::<DatasetRec>(&dataset)?;
                    if there {
                        results.push(reply(&session, dataset));
                    }
                }
                Ok(SessionsReply { results })
            })
            .await
    }

    /// One session, for a caller who may look at what it shows and did not merely guess its name.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`].
    pub async fn get(&self, who: &Principal, session: &str) -> Result<SessionReply, ServiceError> {
        let id = parse_session(session).map_err(|_| no_session(session))?;
        let meta = self.meta(&id)?.ok_or_else(|| no_session(session))?;
        self.find_by_session(who, &meta)?;
        Ok(reply(&meta.session, meta.dataset))
    }
}

/// What a list has of a session: what it shows, and since when.
type Listed = (DatasetId, i64);

/// The first revision of a session: the dataset as it is.
pub(super) fn revision(session: &SessionId, dataset: DatasetId) -> String {
    let name = format!("{session}/{dataset}");
    blake3::hash(name.as_bytes()).to_hex().chars().take(32).collect()
}

fn reply(session: &SessionId, dataset: DatasetId) -> SessionReply {
    SessionReply {
        session_id: session.to_string(),
        revision: RevisionReply {
            revision_id: revision(session, dataset),
            dataset: RevisionDataset { dataset_id: dataset.to_string() },
        },
    }
}
