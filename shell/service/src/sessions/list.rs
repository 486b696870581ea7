//! Sessions as the REST interface shows them.

use std::collections::HashMap;

use graphlume_identity::{IdentityError, Principal};
use graphlume_storage::{DatasetRec, Role, Scope, SessionRec};
use graphlume_types::SessionId;
use graphlume_types::limits::PAGE_ROWS_MAX;

use super::registry::SessionMeta;
use super::stored::from_record;
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
        let mut live = if all { self.registry.all() } else { Vec::new() };
        self.ctx
            .blocking(move |data| {
                let stored = data.store.list::<SessionRec>(&[scope], 0, PAGE_ROWS_MAX)?;
                let stored = stored.items.into_iter().filter(|r| r.closed_at.is_none());
                let mut sessions: HashMap<SessionId, SessionMeta> =
                    stored.map(|r| (r.session_id.clone(), from_record(r))).collect();
                sessions.extend(live.drain(..).map(|v| (v.session.clone(), v)));
                let mut sessions: Vec<SessionMeta> = sessions.into_values().collect();
                // A guest may have been let in for another dataset earlier.
                sessions.retain(|v| only.is_none_or(|only| v.dataset == only));
                sessions
                    .sort_by(|a, b| (b.created_at, &b.session).cmp(&(a.created_at, &a.session)));
                let mut results = Vec::new();
                for v in sessions {
                    if results.len() as u64 >= PAGE_ROWS_MAX {
                        break;
                    }
                    let there = builtin::by_id(v.dataset).is_some()
                        || data.store.exists::<DatasetRec>(&v.dataset)?;
                    if there {
                        results.push(reply(&v));
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
        Ok(reply(&meta))
    }
}

/// The first revision of a session: the dataset as it is.
pub(super) fn revision(meta: &SessionMeta) -> String {
    let name = format!("{}/{}", meta.session, meta.dataset);
    blake3::hash(name.as_bytes()).to_hex().chars().take(32).collect()
}

fn reply(meta: &SessionMeta) -> SessionReply {
    SessionReply {
        session_id: meta.session.to_string(),
        revision: RevisionReply {
            revision_id: revision(meta),
            dataset: RevisionDataset { dataset_id: meta.dataset.to_string() },
        },
    }
}
