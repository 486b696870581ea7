//! Budgets of memory that documents of visualizations count against: that of the server, and that of the account that
//! owns one, or of all without an owner together.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use graphlume_identity::Principal;
use graphlume_types::limits::{DOCUMENTS_OF_NOBODY_BYTES_MAX, DOCUMENTS_PER_USER_BYTES_MAX};
use graphlume_types::{Budget, Caller, DatasetId, SessionId, UserId};
use parking_lot::Mutex;

use super::registry::{SessionMeta, memory_of};
use super::stored::entries_with;
use super::{Fresh, Sessions, ViewerGrant};
use crate::document::{Document, Payer, Room, Unwritten};
use crate::error::ServiceError;

/// The budgets that documents are paid from.
pub(crate) struct Payers {
    memory: Budget,
    nobody: Budget,
    of: Mutex<HashMap<UserId, Budget>>,
}

impl Payers {
    /// `memory` is that of the server.
    pub(crate) fn new(memory: Budget) -> Self {
        let nobody = Budget::new(
            "documents of visualizations that nobody owns",
            DOCUMENTS_OF_NOBODY_BYTES_MAX,
        );
        Self { memory, nobody, of: Mutex::default() }
    }

    /// Who pays for what `owner` has, or sessions without one.
    pub(crate) fn of(&self, owner: Option<UserId>) -> Payer {
        Payer::new(vec![self.memory.clone(), self.budget(owner)])
    }

    /// What `owner` may have in memory.
    pub(crate) fn budget(&self, owner: Option<UserId>) -> Budget {
        let Some(user) = owner else { return self.nobody.clone() };
        let new = || Budget::new("documents of an account", DOCUMENTS_PER_USER_BYTES_MAX);
        self.of.lock().entry(user).or_insert_with(new).clone()
    }

    /// Whether the memory of the server has `bytes` free.
    pub(crate) fn has_memory(&self, bytes: u64) -> bool {
        self.memory.limit().saturating_sub(self.memory.used()) >= bytes
    }
}

impl Sessions {
    /// A session that is new.
    pub(super) async fn new_session(
        &self,
        who: &Principal,
        (session, dataset): (SessionId, DatasetId),
        fresh: Fresh,
        now: i64,
    ) -> Result<SessionMeta, ServiceError> {
        let Fresh { settings, collections, notices } = fresh;
        let owner = who.session_owner();
        let payer = self.payers.of(owner);
        let entries = || entries_with(BTreeMap::new(), &collections);
        let read = || Document::from_entries(entries(), &payer);
        let document = self.paid(owner, read).await?;
        let room = Room::new(document, owner.is_some(), payer, Unwritten::default());
        Ok(SessionMeta {
            session,
            dataset,
            owner,
            org: who.active_org().map(str::to_owned),
            created_at: now,
            seen_at: now,
            settings,
            bytes: memory_of(&collections, &notices, &room),
            room,
            notices: notices.into(),
            collections: Arc::new(collections),
            live: true,
            claimed: owner.is_some(),
        })
    }

    /// Does what has to be paid for by `owner`, or by all without an owner; once more when others have made room where there was too little.
    pub(super) async fn paid<T>(
        &self,
        owner: Option<UserId>,
        work: impl Fn() -> Result<T, ServiceError>,
    ) -> Result<T, ServiceError> {
        match work() {
            Err(ServiceError::Unpaid(refused)) => {
                let engine = self.ctx.engine.clone();
                if !self.make_room(owner, refused.need) {
                    // Graphs that no page shows go first. Waiting for that blocks.
                    let memory = move || drop(engine.memory().reserve(refused.need));
                    let _ = tokio::task::spawn_blocking(memory).await;
                }
                work()
            }
            other => other,
        }
    }

    /// Puts sessions that no page has open out of memory, until `owner` may have `bytes` more and the server has them;
    /// whether that is so. Those of accounts are read again from their records.
    pub(super) fn make_room(&self, owner: Option<UserId>, bytes: u64) -> bool {
        let budget = self.payers.budget(owner);
        let may = || budget.limit().saturating_sub(budget.used()) >= bytes;
        self.put_out(owner, may);
        let has = || self.payers.has_memory(bytes);
        for other in self.registry.owners() {
            if has() {
                break;
            }
            self.put_out(other, has);
        }
        has()
    }

    fn put_out(&self, owner: Option<UserId>, fits: impl Fn() -> bool) {
        let gone = self.registry.put_out(owner, |id| self.presence.is_open(id), fits);
        if owner.is_none() {
            self.registry.leave(gone);
        }
    }

    /// An answer with the document of a session, which its reader pays for until it was sent.
    ///
    /// # Errors
    /// [`ServiceError::Unpaid`].
    pub fn hold_answer(&self, grant: &ViewerGrant, answer: Bytes) -> Result<Bytes, ServiceError> {
        self.payers.of(reader_of(grant)).hold(answer)
    }

    /// A frame about all nodes of a graph that was made for one request. The memory of the server pays for it until it was
    /// sent, so that as many are on their way to slow readers as there is memory for.
    ///
    /// # Errors
    /// [`ServiceError::Unpaid`].
    pub async fn hold_frame(
        &self,
        grant: &ViewerGrant,
        frame: Bytes,
    ) -> Result<Bytes, ServiceError> {
        let memory = Payer::new(vec![self.payers.memory.clone()]);
        self.paid(reader_of(grant), || memory.hold(frame.clone())).await
    }
}

/// The account that reads.
const fn reader_of(grant: &ViewerGrant) -> Option<UserId> {
    match grant.caller {
        Caller::User(user) => Some(user),
        Caller::Address(_) | Caller::Nobody => None,
    }
}
