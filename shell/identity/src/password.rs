//! Passwords: Argon2id (RFC 9106) at 19 MiB, two passes, one lane, and a bounded number at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use graphlume_storage::PasswordHash;
use graphlume_types::id::{hex, random_bytes};
use graphlume_types::limits::{
    PASSWORD_BYTES_MAX, PASSWORD_CHARS_MIN, PASSWORD_HASHES_MAX, PASSWORD_QUEUE_MAX,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::IdentityError;

const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

fn hasher() -> Result<Argon2<'static>, IdentityError> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None)
        .map_err(|e| IdentityError::Internal(format!("password parameters: {e}")))?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

/// Refuses passwords that cannot be taken, before any work is done on them. `field` is where it came from.
pub(crate) fn check_new(field: &'static str, password: &str) -> Result<(), IdentityError> {
    let chars = password.chars().count();
    if chars < PASSWORD_CHARS_MIN {
        return Err(IdentityError::invalid(
            field,
            format!(
                "{field} has {chars} characters; give one of at least {PASSWORD_CHARS_MIN} characters"
            ),
        ));
    }
    if password.len() > PASSWORD_BYTES_MAX {
        return Err(IdentityError::invalid(
            field,
            format!(
                "{field} has {} bytes; give one of at most {PASSWORD_BYTES_MAX} bytes",
                password.len()
            ),
        ));
    }
    Ok(())
}

/// The stored form of a new password. Costs one core for tens of milliseconds.
pub(crate) fn hash(password: &str) -> Result<PasswordHash, IdentityError> {
    check_new("password", password)?;
    hash_unchecked(password)
}

/// [`hash`] for a password of any length, as those of earlier versions were.
fn hash_unchecked(password: &str) -> Result<PasswordHash, IdentityError> {
    let salt = random_bytes::<16>();
    let text = hasher()?
        .hash_password_with_salt(password.as_bytes(), &salt)
        .map_err(|e| IdentityError::Internal(format!("password hash: {e}")))?;
    Ok(PasswordHash(text.to_string()))
}

/// Whether `password` is the one behind `stored`. Without a stored hash the same work is done against
/// a throw-away one, so that an unknown account takes as long as a wrong password.
pub(crate) fn verify(stored: Option<&PasswordHash>, password: &str) -> Result<bool, IdentityError> {
    static DUMMY: OnceLock<Option<PasswordHash>> = OnceLock::new();
    if password.len() > PASSWORD_BYTES_MAX {
        return Ok(false);
    }
    let dummy = DUMMY.get_or_init(|| hash(&hex(&random_bytes::<16>())).ok());
    let against = stored.or(dummy.as_ref());
    let Some(against) = against else { return Ok(false) };
    let same = hasher()?.verify_password(password.as_bytes(), against.0.as_str()).is_ok();
    Ok(same && stored.is_some())
}

/// Lets [`PASSWORD_HASHES_MAX`] hash computations run and [`PASSWORD_QUEUE_MAX`] wait.
#[derive(Debug)]
pub(crate) struct HashGate {
    slots: Arc<Semaphore>,
    waiting: AtomicUsize,
}

struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl HashGate {
    pub(crate) fn new() -> Self {
        Self { slots: Arc::new(Semaphore::new(PASSWORD_HASHES_MAX)), waiting: AtomicUsize::new(0) }
    }

    /// Waits for a slot; a full queue is refused at once.
    pub(crate) async fn enter(&self) -> Result<OwnedSemaphorePermit, IdentityError> {
        if let Ok(permit) = Arc::clone(&self.slots).try_acquire_owned() {
            return Ok(permit);
        }
        if self.waiting.fetch_add(1, Ordering::AcqRel) >= PASSWORD_QUEUE_MAX {
            self.waiting.fetch_sub(1, Ordering::AcqRel);
            return Err(IdentityError::Busy { what: "password checks" });
        }
        let _waiting = Waiting(&self.waiting);
        let slots = Arc::clone(&self.slots);
        slots.acquire_owned().await.map_err(|_| IdentityError::Busy { what: "password checks" })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use graphlume_types::Coded as _;

    use super::*;

    #[test]
    fn a_password_is_recognised_and_its_hash_states_the_parameters() {
        let h = hash("correct horse").unwrap();
        assert!(h.0.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", h.0);
        assert!(verify(Some(&h), "correct horse").unwrap());
        assert!(!verify(Some(&h), "correct horsf").unwrap());
        assert!(!verify(None, "anything").unwrap());
        assert_ne!(h.0, hash("correct horse").unwrap().0, "salts differ");
    }

    #[test]
    fn short_and_oversized_new_passwords_are_refused_and_short_ones_in_force_work() {
        for (short, chars) in [("", 0), ("1234567", 7), ("äöüäöüä", 7)] {
            let refused = hash(short).unwrap_err();
            assert_eq!(refused.field(), Some("password"));
            let text = refused.to_string();
            assert!(
                text.contains(&format!("{chars} characters")) && text.contains("at least 8"),
                "{text}"
            );
        }
        assert!(hash("äöüäöüäö").is_ok());
        let of_before = hash_unchecked("x").unwrap();
        assert!(verify(Some(&of_before), "x").unwrap());
        assert!(hash(&"x".repeat(PASSWORD_BYTES_MAX)).is_ok());
        assert!(hash(&"x".repeat(PASSWORD_BYTES_MAX + 1)).is_err());
        assert!(!verify(None, &"x".repeat(PASSWORD_BYTES_MAX + 1)).unwrap());
    }

    #[tokio::test]
    async fn the_queue_is_bounded_and_a_dropped_waiter_leaves_it() {
        let gate = Arc::new(HashGate::new());
        let mut held = Vec::new();
        for _ in 0..PASSWORD_HASHES_MAX {
            held.push(gate.enter().await.unwrap());
        }
        let mut waiters = Vec::new();
        for _ in 0..PASSWORD_QUEUE_MAX {
            let gate = Arc::clone(&gate);
            waiters.push(tokio::spawn(async move { gate.enter().await.is_ok() }));
        }
        while gate.waiting.load(Ordering::SeqCst) < PASSWORD_QUEUE_MAX {
            tokio::task::yield_now().await;
        }
        assert!(matches!(gate.enter().await, Err(IdentityError::Busy { .. })));
        waiters.pop().unwrap().abort();
        while gate.waiting.load(Ordering::SeqCst) == PASSWORD_QUEUE_MAX {
            tokio::task::yield_now().await;
        }
        drop(held);
        for w in waiters {
            assert!(w.await.unwrap());
        }
    }
}
