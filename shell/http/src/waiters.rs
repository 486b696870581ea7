//! Requests that may wait long for others: for a turn among queries, for a layout, for groups. They take no place among the
//! requests in progress, so that requests that answer at once always have some; each caller has some of them at a time,
//! and strangers have some together.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use graphlume_types::limits::{
    STRANGERS_WAITING_MAX, WAITING_PER_ADDRESS_MAX, WAITING_PER_USER_MAX, WAITING_QUEUED_MAX,
};
use graphlume_types::{Caller, Code};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::status::ApiError;

/// How long a request waits for its place before it is refused.
const PATIENCE: Duration = Duration::from_secs(10);

/// Places of requests that may wait.
#[derive(Clone)]
pub(crate) struct Waiters {
    of: Arc<Mutex<HashMap<Caller, Callers>>>,
    strangers: Arc<Semaphore>,
    patience: Duration,
}

/// The requests of one caller.
struct Callers {
    places: Arc<Semaphore>,
    /// Those that have a place, and those that wait for one.
    count: usize,
}

/// A request among those of its caller.
struct Entry {
    of: Arc<Mutex<HashMap<Caller, Callers>>>,
    caller: Caller,
}

/// The place of a request, until it is dropped.
pub(crate) struct Permit {
    _entry: Entry,
    _own: OwnedSemaphorePermit,
    _together: Option<OwnedSemaphorePermit>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut of = self.of.lock();
        if let Some(callers) = of.get_mut(&self.caller) {
            callers.count = callers.count.saturating_sub(1);
            if callers.count == 0 {
                of.remove(&self.caller);
            }
        }
    }
}

impl Waiters {
    pub(crate) fn new() -> Self {
        Self::patient(PATIENCE)
    }

    fn patient(patience: Duration) -> Self {
        let strangers = Arc::new(Semaphore::new(STRANGERS_WAITING_MAX));
        Self { of: Arc::default(), strangers, patience }
    }

    /// A place for a request of `caller`. It is waited for a while where others of the same caller, or of strangers, have
    /// them all.
    ///
    /// # Errors
    /// 429 past the limits.
    pub(crate) async fn place(&self, caller: Caller) -> Result<Permit, ApiError> {
        let places = match caller.is_stranger() {
            true => WAITING_PER_ADDRESS_MAX,
            false => WAITING_PER_USER_MAX,
        };
        let (entry, own) = self.enter(caller, places).ok_or_else(|| busy(caller, places))?;
        let got = async {
            let own = own.acquire_owned().await.ok()?;
            let together = match caller.is_stranger() {
                true => Some(Arc::clone(&self.strangers).acquire_owned().await.ok()?),
                false => None,
            };
            Some((own, together))
        };
        let got = tokio::time::timeout(self.patience, got).await.ok().flatten();
        let (own, together) = got.ok_or_else(|| busy(caller, places))?;
        Ok(Permit { _entry: entry, _own: own, _together: together })
    }

    /// Counts a request, unless there are too many of its caller.
    fn enter(&self, caller: Caller, places: usize) -> Option<(Entry, Arc<Semaphore>)> {
        let mut of = self.of.lock();
        let new = || Callers { places: Arc::new(Semaphore::new(places)), count: 0 };
        let callers = of.entry(caller).or_insert_with(new);
        if callers.count >= places + WAITING_QUEUED_MAX {
            return None;
        }
        callers.count += 1;
        let places = Arc::clone(&callers.places);
        Some((Entry { of: Arc::clone(&self.of), caller }, places))
    }
}

fn busy(caller: Caller, places: usize) -> ApiError {
    let text = match caller.is_stranger() {
        true => format!(
            "{places} requests of your address, or {STRANGERS_WAITING_MAX} of callers without an account, wait for their \
             answers already; try again shortly, or sign in"
        ),
        false => format!(
            "{places} requests of your account wait for their answers already; try again shortly"
        ),
    };
    ApiError::new(Code::Exhausted, "busy", text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn stranger(last: u8) -> Caller {
        Caller::stranger(std::net::Ipv4Addr::new(10, 0, 0, last).into())
    }

    #[tokio::test]
    async fn an_address_has_some_and_strangers_have_some_together() {
        let waiters = Waiters::patient(Duration::from_millis(1));
        let mut held = Vec::new();
        for _ in 0..WAITING_PER_ADDRESS_MAX {
            held.push(waiters.place(stranger(1)).await.ok().unwrap());
        }
        assert_eq!(waiters.place(stranger(1)).await.err().unwrap().slug, "busy");
        let mut other = 2;
        while held.len() < STRANGERS_WAITING_MAX {
            held.push(waiters.place(stranger(other)).await.ok().unwrap());
            other += u8::from(held.len() % WAITING_PER_ADDRESS_MAX == 0);
        }
        assert!(waiters.place(stranger(200)).await.is_err(), "strangers have no more together");
        let account = Caller::User(graphlume_types::UserId(7));
        assert!(waiters.place(account).await.is_ok(), "an account has its own");
        held.pop();
        assert!(waiters.place(stranger(200)).await.is_ok());
        drop(held);
        assert!(waiters.of.lock().is_empty(), "nothing is remembered of who has left");
    }

    #[tokio::test]
    async fn who_waits_is_served_when_a_place_is_left_and_there_is_an_end_of_the_queue() {
        let waiters = Arc::new(Waiters::new());
        let mut held = Vec::new();
        for _ in 0..WAITING_PER_ADDRESS_MAX {
            held.push(waiters.place(stranger(1)).await.ok().unwrap());
        }
        let wait = || {
            let waiters = Arc::clone(&waiters);
            tokio::spawn(async move { waiters.place(stranger(1)).await.is_ok() })
        };
        let queued: Vec<_> = (0..WAITING_QUEUED_MAX).map(|_| wait()).collect();
        let all = WAITING_PER_ADDRESS_MAX + WAITING_QUEUED_MAX;
        while waiters.of.lock().values().map(|c| c.count).sum::<usize>() < all {
            tokio::task::yield_now().await;
        }
        assert!(waiters.place(stranger(1)).await.is_err(), "at once");
        drop(held);
        for one in queued {
            assert!(one.await.unwrap());
        }
    }
}
