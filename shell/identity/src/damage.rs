//! Consequences of lost records: no caller comes back in by what had been revoked.
//!
//! A record store that was rebuilt from an export, or whose last commits are gone, knows nothing of the accounts that
//! were disabled, the keys that were revoked and the logins that were ended since. From such a start on every token,
//! login session and login link is void, and no account signs in until the operator has looked at the accounts and run
//! `graphlume doctor --confirm-accounts`. What needs no sign-in goes on.

use std::collections::BTreeSet;

use graphlume_storage::{Batch, LinkRec, LoginRec, SettingRec, Store};
use parking_lot::RwLock;
use serde_json::json;

use crate::error::IdentityError;
use crate::signing_key::SigningKey;

/// Setting with the names of the damage whose old credentials have been ended.
const ENDED: &str = "damage-credentials-ended";
/// Setting with the names of the damage after which the operator has confirmed the accounts.
const CONFIRMED: &str = "damage-accounts-confirmed";

/// Damage after which the accounts have not been confirmed.
#[derive(Default)]
pub(crate) struct Damage(RwLock<Vec<String>>);

impl Damage {
    /// Looks for damage, and ends every credential that is older than what was newly found.
    ///
    /// # Errors
    /// The store or the key of tokens cannot be written; the start must not go on then.
    pub(crate) fn at_start(store: &Store) -> Result<Self, IdentityError> {
        let found = store.damage()?;
        let ended = names(store, ENDED)?;
        if found.iter().any(|name| !ended.contains(name)) {
            SigningKey::replace(store.dir())?;
            let links: Vec<_> = store.scan::<LinkRec>().filter_map(Result::ok).collect();
            for link in links {
                store.commit(Batch::new().delete::<LinkRec>(&link.token_sha256))?;
            }
            let logins: Vec<_> = store.scan::<LoginRec>().filter_map(Result::ok).collect();
            for login in logins {
                store.commit(Batch::new().delete::<LoginRec>(&login.secret_sha256))?;
            }
            let mut all = ended;
            all.extend(found.iter().cloned());
            let value = json!(all);
            store.commit(Batch::new().put(&SettingRec { name: ENDED.to_owned(), value }))?;
            tracing::error!(
                target: "audit", event = "credentials-ended", damage = found.join(", "),
                "records were lost: every token, login and link has ended, and nobody signs in until \
                 `graphlume doctor --confirm-accounts`"
            );
        }
        let damage = Self::default();
        damage.look(store)?;
        Ok(damage)
    }

    /// Reads again what has been confirmed.
    pub(crate) fn look(&self, store: &Store) -> Result<(), IdentityError> {
        *self.0.write() = unconfirmed(store)?;
        Ok(())
    }

    /// How much damage waits for the operator.
    pub(crate) fn count(&self) -> usize {
        self.0.read().len()
    }

    /// Refuses every sign-in while accounts may be open that had been closed.
    ///
    /// # Errors
    /// [`IdentityError::Forbidden`].
    pub(crate) fn check(&self) -> Result<(), IdentityError> {
        match self.count() {
            0 => Ok(()),
            _ => Err(IdentityError::Forbidden(REFUSAL.to_owned())),
        }
    }
}

const REFUSAL: &str = "the records of this server were damaged, and accounts or keys that had been ended may be among \
                       those that are left: nobody signs in until the operator has looked at them and run \
                       `graphlume doctor --confirm-accounts`";

/// Damage of which the operator has not said that the accounts are right.
///
/// # Errors
/// The folder or the setting cannot be read.
pub fn unconfirmed(store: &Store) -> Result<Vec<String>, IdentityError> {
    let confirmed = names(store, CONFIRMED)?;
    // What was acted upon once stays, though its traces may be removed.
    let mut found = names(store, ENDED)?;
    found.extend(store.damage()?);
    Ok(found.into_iter().filter(|name| !confirmed.contains(name)).collect())
}

/// Writes down that the operator has looked at the accounts; gives what is confirmed by it.
///
/// # Errors
/// The setting cannot be written.
pub fn confirm(store: &Store) -> Result<Vec<String>, IdentityError> {
    let open = unconfirmed(store)?;
    if !open.is_empty() {
        let mut all = names(store, CONFIRMED)?;
        all.extend(open.iter().cloned());
        let value = json!(all);
        store.commit(Batch::new().put(&SettingRec { name: CONFIRMED.to_owned(), value }))?;
        tracing::info!(target: "audit", event = "accounts-confirmed", damage = open.join(", "));
    }
    Ok(open)
}

fn names(store: &Store, setting: &str) -> Result<BTreeSet<String>, IdentityError> {
    let found = store.get::<SettingRec>(&setting.to_owned())?;
    Ok(found.and_then(|s| serde_json::from_value(s.value).ok()).unwrap_or_default())
}
