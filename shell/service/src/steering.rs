//! Who runs the layout of a shared picture, pins its nodes and changes its settings. The session's owner and
//! editors of the dataset do; a session that nobody signed in for is steered by the page whose visit made
//! it, which proves that with a key that it alone was told, until somebody who signed in owns the session.

use graphlume_storage::DatasetRec;
use graphlume_types::{DatasetId, SessionId, UserId};

use crate::authz::{Action, Decision, Guarded, Resource, decides};
use crate::builtin;
use crate::identity::signing_key::SigningKey;
use crate::principal::Principal;
use crate::sessions::Ticket;
use crate::{Service, ServiceError};

/// Keeps these keys apart from everything else that is made with the server's key.
const CONTEXT: &str = "graphlume 2026-11-23 steering keys";

/// Makes and checks the keys. They need no memory, so a page goes on steering after a restart.
pub(crate) struct SteeringKeys([u8; 32]);

impl SteeringKeys {
    pub(crate) fn new(key: &SigningKey) -> Self {
        Self(blake3::derive_key(CONTEXT, key.as_bytes()))
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
    /// The key that it was told at an earlier visit.
    pub key: Option<String>,
    /// Whether it has watched before without steering.
    pub joins: bool,
}

/// A page at a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Helm {
    /// Whether it may steer.
    pub steers: bool,
    /// What it proves that with at its next visit, when that is not its login.
    pub key: Option<String>,
}

impl Service {
    /// Seats a page that [`Service::authorize_viewer`] let through. The first page at a session that nobody
    /// signed in for becomes the one that steers it.
    ///
    /// # Errors
    /// A store that does not answer.
    pub fn take_helm(
        &self,
        who: &Principal,
        ticket: &Ticket,
        arrival: &Arrival,
    ) -> Result<Helm, ServiceError> {
        let keys = &self.identity.steering;
        let (session, dataset) = (&ticket.session, ticket.dataset);
        let has_owner = self.visit(session)?.is_some_and(|v| v.owner.is_some());
        let given = arrival.key.as_deref().is_some_and(|k| keys.fits(k, session, dataset));
        let holds = given && !has_owner || !arrival.joins && self.visits.claim(session, dataset);
        let steers = self.steers(who, ticket, holds)?;
        let key = holds.then(|| keys.of(session, dataset).to_hex().to_string());
        Ok(Helm { steers, key })
    }

    /// Whether a page may steer, now that rights may have changed; `holds_key` as [`Service::take_helm`] found.
    ///
    /// # Errors
    /// A store that does not answer.
    pub fn steers(
        &self,
        who: &Principal,
        ticket: &Ticket,
        holds_key: bool,
    ) -> Result<bool, ServiceError> {
        let owner: Option<UserId> = self.visit(&ticket.session)?.and_then(|v| v.owner);
        let dataset = match builtin::by_id(ticket.dataset) {
            Some(_) => None,
            None => self.core.store.head::<DatasetRec>(&ticket.dataset)?,
        };
        let dataset = dataset.as_ref().map(|d| d as &dyn Guarded);
        let resource = Resource::Session { owner, dataset, holds_key };
        Ok(decides(who, Action::Steer, resource) == Decision::Allow)
    }
}
