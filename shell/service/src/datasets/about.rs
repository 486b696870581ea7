//! Name, description and counts of a graph, which the page's splash shows before a person asks for the picture.

use serde::Serialize;

use super::Found;
use crate::authz::Action;
use crate::principal::Principal;
use crate::{Service, ServiceError};

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

impl Service {
    /// Name, description and counts of the dataset that a session shows, for a caller who may read that dataset. Reads one
    /// record; the session is neither opened nor kept alive. Without `dataset`, it has to be one whose name is enough, as for [`Service::get_session`].
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
        self.require_in_force(who)?;
        let asked = match dataset.filter(|d| !d.is_empty()) {
            Some(asked) => asked.to_owned(),
            None => self.get_session(who, session).await?.revision.dataset.dataset_id,
        };
        let found = self.dataset_for(who, Action::Read, &asked).await?;
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
        // A built-in one is made to count it.
        self.blocking(move |_| Ok(about(found))).await
    }
}
