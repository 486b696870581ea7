//! Changes to the own account by a person who is signed in: the password, and personal keys.

use graphlume_storage::{Batch, KeyRec, Scope, StoreError, UserRec};
use graphlume_types::calendar::iso8601;
use graphlume_types::limits::{KEYS_PER_USER_MAX, PAGE_ROWS_MAX, PASSWORD_BYTES_MAX};
use graphlume_types::{KeyId, UserId};

use super::login::LoggedInBy;
use super::sign_in::Caller;
use super::{Identity, Records};
use crate::body;
use crate::error::IdentityError;
use crate::principal::Principal;
use crate::reply::{KeyReply, KeysReply, LoginReply};
use crate::{first_password, keys, password};

impl Identity {
    /// Replaces the caller's password by the `{old_password, new_password}` of `body` and gives a token for
    /// going on: every token, login session and link of before has ended.
    ///
    /// # Errors
    /// A wrong `old_password`, an impossible `new_password`; [`IdentityError::Throttled`] as for logins;
    /// [`IdentityError::Forbidden`] for guests of links.
    pub async fn change_password(
        &self,
        who: &Principal,
        body: &[u8],
        caller: impl Into<Caller>,
    ) -> Result<LoginReply, IdentityError> {
        let (id, name) = own_account(who)?;
        let map = body::object(body)?;
        let need = |field: &str| {
            body::text(&map, field)?
                .map(str::to_owned)
                .ok_or_else(|| body::missing(field, "a string"))
        };
        let (old, new) = (need("old_password")?, need("new_password")?);
        password::check_new("new_password", &new)?;
        let wrong = || {
            let text =
                "old_password is not the password of this account; send the one that is in force";
            IdentityError::invalid("old_password", text)
        };
        if old.len() > PASSWORD_BYTES_MAX {
            return Err(wrong());
        }
        let user = match self.check_login(&name, old, &caller.into()).await {
            Ok(user) if user.id == id => user,
            Ok(_) => return Err(IdentityError::TokenInvalid),
            Err(IdentityError::BadCredentials) => return Err(wrong()),
            Err(e) => return Err(e),
        };
        let permit = self.gate.enter().await?;
        let replaced = self
            .blocking(move |records| {
                let _permit = permit;
                replace_password(records, &user, &new)
            })
            .await;
        // Also after an error: a change that was not confirmed may be on the disk all the same.
        self.access_changed();
        self.login_reply(&replaced?, None, LoggedInBy::Password)
    }

    /// The caller's personal keys, newest first, without their secrets.
    ///
    /// # Errors
    /// [`IdentityError::Forbidden`] for guests of links.
    pub async fn own_keys(&self, who: &Principal) -> Result<KeysReply, IdentityError> {
        let (user, _) = own_account(who)?;
        self.blocking(move |records| {
            let page = records.store.list::<KeyRec>(&[Scope::Owner(user)], 0, PAGE_ROWS_MAX)?;
            let results: Vec<KeyReply> = page.items.into_iter().map(reply).collect();
            Ok(KeysReply { count: results.len() as u64, results })
        })
        .await
    }

    /// Makes a personal key, which `body` may give a `label`. Its secret is in the reply and nowhere else.
    ///
    /// # Errors
    /// [`IdentityError::Forbidden`] for guests of links and for callers who signed in with a key: one that leaked
    /// must not make others; [`IdentityError::Conflict`] at the limit.
    pub async fn create_own_key(
        &self,
        who: &Principal,
        body: &[u8],
    ) -> Result<KeyReply, IdentityError> {
        let (user, _) = own_account(who)?;
        if who.key().is_some() {
            return Err(IdentityError::Forbidden(
                "a personal key cannot make another one; sign in with the password".to_owned(),
            ));
        }
        let map = body::object(body)?;
        let label = body::name(&map, "label")?.unwrap_or_default();
        self.blocking(move |records| {
            make_room(records, user)?;
            let (key_id, secret) = keys::create(&records.store, user, &label)?;
            let made = records.store.get::<KeyRec>(&KeyId(key_id.clone()))?;
            let made = made.ok_or_else(|| IdentityError::not_found("key", key_id))?;
            Ok(KeyReply { secret: Some(secret), ..reply(made) })
        })
        .await
    }

    /// Ends a personal key of the caller's, and every token that was made with it.
    ///
    /// # Errors
    /// [`IdentityError::NotFound`], also for another account's; [`IdentityError::Forbidden`] for guests, and for callers who
    /// signed in with another key: one that leaked must not take the others away.
    pub async fn revoke_own_key(&self, who: &Principal, key_id: &str) -> Result<(), IdentityError> {
        let (user, _) = own_account(who)?;
        let key_id = key_id.to_owned();
        if who.key().is_some_and(|own| own.0 != key_id) {
            return Err(IdentityError::Forbidden(
                "a personal key can revoke itself alone; sign in with the password to revoke others".to_owned(),
            ));
        }
        let revoked = self
            .blocking(move |records| {
                let key = KeyId(key_id.chars().take(64).collect());
                let found = records.store.get::<KeyRec>(&key)?.filter(|k| k.user == user);
                found.ok_or_else(|| IdentityError::not_found("key", &key_id))?;
                keys::revoke(&records.store, &key_id).map(|_| ())
            })
            .await;
        // Also after an error of the disk: the change may be on it all the same. Where there is no such key, no caller
        // has lost anything.
        if !matches!(revoked, Err(IdentityError::NotFound { .. })) {
            self.access_changed();
        }
        revoked
    }
}

/// The caller's account and its name, unless the login shows one dataset and nothing of the account.
fn own_account(who: &Principal) -> Result<(UserId, String), IdentityError> {
    let (Some(user), Some(name)) = (who.user(), who.username()) else {
        return Err(IdentityError::Unauthenticated);
    };
    if who.scope().is_some() {
        return Err(IdentityError::Forbidden(
            "a login through a link has no password and no keys; sign in with the account's password"
                .to_owned(),
        ));
    }
    Ok((user, name.to_owned()))
}

/// Sets the password of an account as it was when the old one was checked: an account that was logged out or given
/// another password meanwhile keeps that.
fn replace_password(
    records: &Records,
    user: &UserRec,
    new: &str,
) -> Result<UserRec, IdentityError> {
    let hash = password::hash(new)?;
    loop {
        let found = records.store.get_tagged::<UserRec>(&user.id)?;
        let in_force = |u: &UserRec| !u.disabled && u.token_epoch == user.token_epoch;
        let found = found.filter(|(u, _)| in_force(u));
        let (mut rec, tag) = found.ok_or(IdentityError::TokenInvalid)?;
        rec.password_hash = Some(hash.clone());
        rec.token_epoch += 1;
        rec.updated_at = records.clock.unix_micros();
        match records.store.commit(Batch::new().replace(&rec, tag)) {
            Ok(()) => {
                tracing::info!(target: "audit", event = "password-changed", user = rec.id.0, by = rec.id.0);
                first_password::forget_of(&rec, records.store.dir());
                return Ok(rec);
            }
            Err(StoreError::Changed { .. }) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// Forgets the account's oldest revoked keys past the limit, the one that is about to be made counted.
fn make_room(records: &Records, user: UserId) -> Result<(), IdentityError> {
    let keys = records.store.list::<KeyRec>(&[Scope::Owner(user)], 0, PAGE_ROWS_MAX)?.items;
    let surplus = (keys.len() + 1).saturating_sub(KEYS_PER_USER_MAX);
    let revoked = keys.iter().rev().filter(|k| k.revoked_at.is_some()).take(surplus);
    let mut batch = Batch::new();
    let mut gone = 0;
    for key in revoked {
        batch = batch.delete::<KeyRec>(&key.key_id);
        gone += 1;
    }
    if gone < surplus {
        return Err(IdentityError::Conflict(format!(
            "the account has {} personal keys, the limit is {KEYS_PER_USER_MAX}; revoke one that is not used",
            keys.len()
        )));
    }
    Ok(records.store.commit(batch)?)
}

fn reply(key: KeyRec) -> KeyReply {
    KeyReply {
        key_id: key.key_id.0,
        secret: None,
        label: key.label,
        created_at: iso8601(key.created_at),
        revoked_at: key.revoked_at.map(iso8601),
    }
}
