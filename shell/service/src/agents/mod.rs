//! Agents at the visualizations that people have open, and the ones that they may touch.

mod agent_results;
mod agent_tools;
mod collection_tools;
mod number_ids;

use std::sync::Arc;

use graphlume_engine::Target;
use graphlume_identity::Principal;
use graphlume_identity::authz::{Action, Decision, Resource, decides};
use graphlume_types::{Code, Coded, DatasetId, SessionId};

use crate::context::Context;
use crate::datasets;
use crate::document::{Actor, Author};
use crate::error::ServiceError;
use crate::queries::Queries;
use crate::sessions::{Sessions, leads_to};

pub use collection_tools::{CollectionChange, NewCollection};

/// The tools of agents.
pub struct Agents {
    ctx: Arc<Context>,
    sessions: Arc<Sessions>,
    queries: Queries,
}

/// What a tool is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolAccess {
    /// Look; for every caller who may see the dataset.
    Read,
    /// Change what all viewers see; for the person who has the visualization open.
    Owner,
}

/// Why a tool may not touch a session.
#[derive(Debug)]
pub enum LiveError {
    /// Not the caller's to look at, or not the caller's to change, or not there: the caller cannot tell.
    Denied,
    /// The visualization is closed, or its owner is away.
    Closed,
    /// Whether the caller may could not be found out.
    Unchecked(ServiceError),
}

/// A session that the caller may use for what it asked.
#[derive(Debug, Clone)]
pub struct Live {
    session: SessionId,
    dataset: DatasetId,
    author: Author,
}

impl Live {
    fn target(&self) -> Target {
        Target::from((self.session.clone(), self.dataset)).of(self.author.caller())
    }
}

impl Agents {
    pub(crate) fn new(ctx: Arc<Context>, sessions: Arc<Sessions>, queries: Queries) -> Self {
        Self { ctx, sessions, queries }
    }

    /// Checks that the caller may use a session.
    ///
    /// # Errors
    /// [`LiveError`].
    pub async fn live(
        &self,
        who: &Principal,
        session: &str,
        access: ToolAccess,
    ) -> Result<Live, LiveError> {
        let id: SessionId = session.parse().map_err(|_| LiveError::Denied)?;
        let Some(meta) = self.sessions.meta(&id).map_err(LiveError::Unchecked)? else {
            let mine =
                who.session_owner().is_some_and(|user| self.sessions.was_closed_on(&id, user));
            return Err(if mine { LiveError::Closed } else { LiveError::Denied });
        };
        let found = datasets::find(&self.ctx.data, &meta.dataset.to_string());
        let found = found.map_err(|e| match e.code() {
            Code::NotFound if meta.owner.is_some() && meta.owner == who.session_owner() => {
                LiveError::Closed
            }
            Code::NotFound => LiveError::Denied,
            _ => LiveError::Unchecked(e),
        })?;
        if decides(who, Action::Read, found.resource()) != Decision::Allow {
            return Err(LiveError::Denied);
        }
        // A viewer who has the page open came with the dataset's address.
        let has_page = || who.user().is_some_and(|user| self.sessions.is_open_by(&id, user));
        if !leads_to(who, &meta, found.resource()) && !has_page() {
            return Err(LiveError::Denied);
        }
        let is_open = match access {
            ToolAccess::Read => self.sessions.is_open(&id),
            ToolAccess::Owner => {
                let resource =
                    Resource::Session { owner: meta.owner, dataset: None, holds_key: false };
                let allowed = decides(who, Action::Paint, resource) == Decision::Allow;
                let user = who.user().filter(|_| allowed).ok_or(LiveError::Denied)?;
                self.sessions.is_open_by(&id, user)
            }
        };
        if is_open {
            let actor = who.user().map_or(Actor::Viewer, Actor::Agent);
            let name = who.username().unwrap_or_default().to_owned();
            let author = Author { actor, name, orgs: who.orgs().into() };
            Ok(Live { session: id, dataset: meta.dataset, author })
        } else {
            Err(LiveError::Closed)
        }
    }
}
