//! Control of a shared picture: running its layout, pinning its nodes and changing its settings. The session's owner and
//! editors of the dataset have it; a session without an owner is controlled by the page that came first and so made
//! it, which proves that with a key that it alone was told, until an account owns the session.

use graphlume_identity::authz::{Action, Decision, Guarded, Resource, decides};
use graphlume_identity::{Identity, Principal};
use graphlume_storage::DatasetRec;
use graphlume_types::{DatasetId, SessionId, UserId};

use super::{Sessions, ViewerGrant};
use crate::datasets::builtin;
use crate::error::ServiceError;

/// Keeps these keys apart from everything else that is made with the server's key.
const CONTEXT: &str = "graphlume 2026-11-23 steering keys";

/// Makes and checks the keys. They need no memory, so a page goes on controlling it after a restart.
pub(crate) struct ControlKeys([u8; 32]);

impl ControlKeys {
    pub(crate) fn new(identity: &Identity) -> Self {
        Self(identity.derive_key(CONTEXT))
    }

    fn of(&self, session: &SessionId, dataset: DatasetId) -> blake3::Hash {
        blake3::keyed_hash(&self.0, format!("{dataset}/{session}").as_bytes())
    }

    /// The comparison takes the same time for every key.
    fn fits(&self, key: &str, session: &SessionId, dataset: DatasetId) -> bool {
        blake3::Hash::from_hex(key).is_ok_and(|key| key == self.of(session, dataset))
    }
}

/// What a page brings along.
#[derive(Debug, Clone, Default)]
pub struct Arrival {
    /// The key that it was told when it came before.
    pub key: Option<String>,
    /// Whether it has watched before without controlling it.
    pub joins: bool,
}

/// What a page may do about a session's layout.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageControl {
    /// Whether it may run the layout, pin nodes and change settings.
    pub controls: bool,
    /// What it proves that with when it comes again, when that is not its login.
    pub key: Option<String>,
}

impl Sessions {
    /// Seats a page that [`Sessions::authorize_viewer`] let through. The first page at a session that no page
    /// signed in for becomes the one that controls it.
    ///
    /// # Errors
    /// A store that does not answer.
    pub fn take_control(
        &self,
        who: &Principal,
        grant: &ViewerGrant,
        arrival: &Arrival,
    ) -> Result<PageControl, ServiceError> {
        let keys = &self.keys;
        let (session, dataset) = (&grant.session, grant.dataset);
        let has_owner = self.meta(session)?.is_some_and(|v| v.owner.is_some());
        let given = arrival.key.as_deref().is_some_and(|k| keys.fits(k, session, dataset));
        let holds = given && !has_owner || !arrival.joins && self.registry.claim(session, dataset);
        let controls = self.may_control(who, grant, holds)?;
        let key = holds.then(|| keys.of(session, dataset).to_hex().to_string());
        Ok(PageControl { controls, key })
    }

    /// Whether a page may control the session, now that rights may have changed; `holds_key` as [`Sessions::take_control`] found.
    ///
    /// # Errors
    /// A store that does not answer.
    pub fn may_control(
        &self,
        who: &Principal,
        grant: &ViewerGrant,
        holds_key: bool,
    ) -> Result<bool, ServiceError> {
        let owner: Option<UserId> = self.meta(&grant.session)?.and_then(|v| v.owner);
        let dataset = match builtin::by_id(grant.dataset) {
            Some(_) => None,
            None => self.ctx.data.store.head::<DatasetRec>(&grant.dataset)?,
        };
        let dataset = dataset.as_ref().map(|d| d as &dyn Guarded);
        let resource = Resource::Session { owner, dataset, holds_key };
        Ok(decides(who, Action::Control, resource) == Decision::Allow)
    }
}
