//! Name, description and counts of a graph, which the page's splash shows before a person asks for the picture.

use graphlume_identity::Principal;
use graphlume_identity::authz::Action;
use serde::Serialize;

use super::Sessions;
use crate::datasets::{Found, find_for};
use crate::error::ServiceError;

/// A dataset in a few words. Nothing is loaded for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AboutReply {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Nodes, once the graph has been built.
    pub node_count: Option<u64>,
    /// Edges, once the graph has been built.
    pub edge_count: Option<u64>,
}

impl Sessions {
    /// Name, description and counts of the dataset that a session shows, for a caller who may read that dataset. Reads one
    /// record; the session is neither opened nor kept alive. Without `dataset`, it has to be one whose name is enough, as for [`Sessions::get`].
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], also for a dataset that the caller may not see; [`ServiceError::TokenInvalid`] when
    /// the caller was logged out meanwhile.
    pub async fn about(
        &self,
        who: &Principal,
        session: &str,
        dataset: Option<&str>,
    ) -> Result<AboutReply, ServiceError> {
        self.ctx.identity.require_in_force(who)?;
        let asked = match dataset.filter(|d| !d.is_empty()) {
            Some(asked) => asked.to_owned(),
            None => self.get(who, session).await?.revision.dataset.dataset_id,
        };
        let about = move |found: Found| match found {
            Found::Stored(rec, _) => AboutReply {
                name: rec.name,
                description: rec.description,
                node_count: rec.node_count,
                edge_count: rec.edge_count,
            },
            Found::Builtin(b) => {
                let reply = b.reply();
                AboutReply {
                    name: reply.name,
                    description: reply.description,
                    node_count: reply.node_count,
                    edge_count: reply.edge_count,
                }
            }
        };
        let who = who.clone();
        // A built-in one is made to count it.
        self.ctx.blocking(move |data| find_for(data, &who, Action::Read, &asked).map(about)).await
    }
}
