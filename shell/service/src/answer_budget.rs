//! Answers of queries that were not yet sent, by account.
//!
//! All of them count against the memory of the server. Without a limit of their own, an account that reads nothing
//! could fill that memory and leave no room for the queries of others.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use graphlume_types::UserId;
use parking_lot::Mutex;

use crate::error::ServiceError;

/// Bytes of unread answers by account; those of callers without one count together.
#[derive(Clone, Default)]
pub(crate) struct AnswerBudget(Arc<Mutex<HashMap<Option<UserId>, u64>>>);

/// The place of an answer among those that are unread; it is left when this is dropped.
pub(crate) struct AnswerReservation {
    bytes: u64,
    user: Option<UserId>,
    budget: AnswerBudget,
}

/// A body and its place.
struct Held {
    body: Bytes,
    _place: AnswerReservation,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

impl Drop for AnswerReservation {
    fn drop(&mut self) {
        let mut held = self.budget.0.lock();
        if let Some(bytes) = held.get_mut(&self.user) {
            *bytes = bytes.saturating_sub(self.bytes);
            if *bytes == 0 {
                held.remove(&self.user);
            }
        }
    }
}

impl AnswerBudget {
    /// Refuses an account whose unread answers have reached `limit` bytes already.
    ///
    /// # Errors
    /// [`ServiceError::Busy`].
    pub(crate) fn check(&self, user: Option<UserId>, limit: u64) -> Result<(), ServiceError> {
        let held = self.0.lock().get(&user).copied().unwrap_or_default();
        if held < limit { Ok(()) } else { Err(refused()) }
    }

    /// The same body, counted until it is dropped.
    ///
    /// # Errors
    /// As [`AnswerBudget::enter`].
    pub(crate) fn hold(
        &self,
        user: Option<UserId>,
        body: Bytes,
        limit: u64,
    ) -> Result<Bytes, ServiceError> {
        let place = self.enter(user, body.len() as u64, limit)?;
        Ok(Bytes::from_owner(Held { body, _place: place }))
    }

    /// A place for an answer that holds `bytes` until it is read. One answer alone may be as large as it is.
    ///
    /// # Errors
    /// [`ServiceError::Busy`] when it and other unread answers of the account are more than `limit` bytes.
    pub(crate) fn enter(
        &self,
        user: Option<UserId>,
        bytes: u64,
        limit: u64,
    ) -> Result<AnswerReservation, ServiceError> {
        let mut all = self.0.lock();
        let held = all.entry(user).or_default();
        let together = held.saturating_add(bytes);
        if *held > 0 && together > limit {
            return Err(refused());
        }
        *held = together;
        drop(all);
        Ok(AnswerReservation { bytes, user, budget: self.clone() })
    }
}

fn refused() -> ServiceError {
    ServiceError::Busy { what: "unread answers of queries of this account" }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use graphlume_types::Coded;

    use super::*;

    #[test]
    fn unread_answers_of_an_account_have_a_limit_and_others_have_their_own() {
        let budget = AnswerBudget::default();
        let (alice, bob) = (Some(UserId(1)), Some(UserId(2)));
        let body = |n: usize| Bytes::from(vec![7; n]);
        let first = budget.hold(alice, body(60), 100).unwrap();
        assert_eq!(first.len(), 60);
        assert_eq!(budget.hold(alice, body(60), 100).unwrap_err().slug(), "busy");
        budget.hold(bob, body(60), 100).unwrap();
        let second = budget.hold(alice, body(40), 100).unwrap();
        assert!(budget.check(alice, 100).is_err() && budget.check(bob, 100).is_ok());
        drop(first);
        assert!(budget.check(alice, 100).is_ok());
        drop(second);
        assert!(budget.0.lock().is_empty());
        // One that is larger than the limit is held while there is no other.
        let large = budget.hold(alice, body(300), 100).unwrap();
        assert!(budget.hold(alice, body(1), 100).is_err());
        drop(large);
    }
}
