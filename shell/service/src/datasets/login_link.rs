//! Login links to a dataset.

use graphlume_identity::authz::Action;
use graphlume_identity::{Principal, body};

use super::{Datasets, Found, find_for};
use crate::error::ServiceError;

impl Datasets {
    /// Mints a link that signs `username` in for `dataset` and gives its token, which is shown this once
    /// ([`graphlume_identity::Identity::mint_link`]).
    ///
    /// # Errors
    /// [`ServiceError::Forbidden`] for callers other than staff and superusers; a missing or impossible
    /// argument; [`ServiceError::NotFound`] for an unknown dataset; [`ServiceError::Conflict`] for a
    /// disabled account and for one with too many links.
    pub async fn mint_link(
        &self,
        who: &Principal,
        username: Option<&str>,
        dataset: Option<&str>,
    ) -> Result<String, ServiceError> {
        let order = self.ctx.identity.order_link(who, username)?;
        let dataset =
            dataset.ok_or_else(|| body::missing("dataset_id", "the id of the dataset to show"))?;
        let dataset = match find_for(&self.ctx.data, who, Action::Read, dataset)? {
            Found::Stored(rec, _) => rec.dataset_id,
            Found::Builtin(_) => {
                return Err(ServiceError::invalid(
                    "dataset_id",
                    format!(
                        "dataset_id {dataset:?} ships with the server and everybody may look at it; \
                         send its address instead of a login link"
                    ),
                ));
            }
        };
        Ok(self.ctx.identity.mint_link(order, dataset).await?)
    }
}
