//! Counts of refused logins, by reason. Nothing here looks at more than a few counters.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::IdentityError;

/// Why a login, a key or a login link was refused: the label `reason` of the metric `graphlume_login_refusals_total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A name or a password is wrong, or the account is switched off.
    Password,
    /// Too many failures before it.
    Throttled,
    /// A personal key is wrong or revoked.
    Key,
    /// A login link is wrong, used or over.
    Link,
    /// It could not be checked: too much to do, lost records, a disk that does not take a login.
    Unavailable,
}

/// Their labels, in the order of the variants.
const REASONS: [(Refused, &str); 5] = [
    (Refused::Password, "password"),
    (Refused::Throttled, "throttled"),
    (Refused::Key, "key"),
    (Refused::Link, "link"),
    (Refused::Unavailable, "unavailable"),
];

/// How often logins were refused since the start, by reason.
#[derive(Debug, Default)]
pub(crate) struct LoginRefusals([AtomicU64; REASONS.len()]);

impl LoginRefusals {
    /// Counts one.
    pub(crate) fn count(&self, why: Refused) {
        for ((reason, _), count) in REASONS.iter().zip(&self.0) {
            if *reason == why {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Counts the refusal of a credential: as `wrong` when that is what it is, else as one that was not checked.
    pub(crate) fn count_error(&self, error: &IdentityError, wrong: Refused) {
        let is_wrong = matches!(
            error,
            IdentityError::BadCredentials | IdentityError::LinkInvalid | IdentityError::LinkUsed
        );
        self.count(if is_wrong { wrong } else { Refused::Unavailable });
    }

    /// The counts, with their labels.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let counts = self.0.iter().map(|n| n.load(Ordering::Relaxed));
        REASONS.iter().map(|(_, name)| *name).zip(counts)
    }
}
