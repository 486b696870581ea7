//! Whose uploaded bytes are parsed next: some parses run at once, and some of these may be of one account, so that a caller
//! who uploads much leaves places for others.

use std::collections::HashMap;
use std::sync::Arc;

use graphlume_types::UserId;
use graphlume_types::limits::{PARSES_IN_PROGRESS_MAX, PARSES_OF_ACCOUNT_MAX};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::ServiceError;

/// Turns at parsing. Cloning shares them.
#[derive(Clone)]
pub(crate) struct ParseTurns {
    all: Arc<Semaphore>,
    accounts: Arc<Mutex<HashMap<UserId, Arc<Semaphore>>>>,
}

/// A turn, until it is dropped.
pub(crate) struct ParseTurn {
    // Given back before the place of the account is, which is looked at then.
    _all: OwnedSemaphorePermit,
    _account: AccountPlace,
}

/// A place among the parses of an account.
struct AccountPlace {
    permit: Option<OwnedSemaphorePermit>,
    owner: UserId,
    turns: ParseTurns,
}

impl ParseTurns {
    pub(crate) fn new() -> Self {
        Self { all: Arc::new(Semaphore::new(PARSES_IN_PROGRESS_MAX)), accounts: Arc::default() }
    }

    /// Waits for a turn of `owner`: behind other parses of the account first, where it waits for no other account, and then
    /// for one of all turns, in the order of those who came so far.
    ///
    /// # Errors
    /// [`ServiceError::Busy`] when the server ends.
    pub(crate) async fn turn(&self, owner: UserId) -> Result<ParseTurn, ServiceError> {
        let busy = |_| ServiceError::Busy { what: "parses" };
        let mut place = AccountPlace { permit: None, owner, turns: self.clone() };
        let account = {
            let mut accounts = self.accounts.lock();
            let new = || Arc::new(Semaphore::new(PARSES_OF_ACCOUNT_MAX));
            Arc::clone(accounts.entry(owner).or_insert_with(new))
        };
        place.permit = Some(account.acquire_owned().await.map_err(busy)?);
        let all = Arc::clone(&self.all).acquire_owned().await.map_err(busy)?;
        Ok(ParseTurn { _all: all, _account: place })
    }
}

impl Drop for AccountPlace {
    fn drop(&mut self) {
        let mut accounts = self.turns.accounts.lock();
        drop(self.permit.take());
        // Who waits has a clone.
        if accounts.get(&self.owner).is_some_and(|account| Arc::strong_count(account) == 1) {
            accounts.remove(&self.owner);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// What a future gives at once.
    fn now<F: Future>(future: Pin<&mut F>) -> Option<F::Output> {
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(given) => Some(given),
            Poll::Pending => None,
        }
    }

    #[tokio::test]
    async fn an_account_has_two_of_four_turns_and_others_wait_for_none_of_its_own() {
        let turns = ParseTurns::new();
        let (alice, bob) = (UserId(1), UserId(2));
        let mut held = Vec::new();
        for _ in 0..PARSES_OF_ACCOUNT_MAX {
            held.push(turns.turn(alice).await.unwrap());
        }
        let mut waiting: Vec<_> = (0..20).map(|_| Box::pin(turns.turn(alice))).collect();
        assert!(waiting.iter_mut().all(|turn| now(turn.as_mut()).is_none()));
        let first = now(pin!(turns.turn(bob))).unwrap().unwrap();
        let second = now(pin!(turns.turn(bob))).unwrap().unwrap();
        assert!(now(pin!(turns.turn(UserId(3)))).is_none(), "four are the most of all");
        drop((first, second));
        // The next of the account follows when one of it ends.
        held.pop();
        let mut next = waiting.remove(0);
        assert!(now(next.as_mut()).is_some_and(|turn| turn.is_ok()));
        drop((held, waiting, next));
        assert!(turns.accounts.lock().is_empty(), "nothing is kept of who has gone");
    }
}
