//! Who pays for the documents of visualizations: the memory of the server, and the account that owns one, or all that nobody
//! owns together.

use std::collections::HashMap;

use graphlume_types::limits::{DOCUMENTS_OF_NOBODY_BYTES_MAX, DOCUMENTS_PER_USER_BYTES_MAX};
use graphlume_types::{Budget, UserId};
use parking_lot::Mutex;

use crate::document::Payer;

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

    /// Who pays for what `owner` has, or nobody.
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
