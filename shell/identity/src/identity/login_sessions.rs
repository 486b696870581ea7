//! Login sessions: the cookie that a link or a password leaves in a browser, good for a day.

use graphlume_storage::{Batch, LoginRec, Scope, SecretDigest, UserRec};
use graphlume_types::limits::{LOGIN_SESSION_SECS, LOGINS_PER_USER_MAX, PAGE_ROWS_MAX};
use graphlume_types::{DatasetId, UserId};

use super::{Identity, Records};
use crate::error::IdentityError;
use crate::orgs;
use crate::principal::{Grant, Principal};
use crate::secret;

const MICROS: i64 = 1_000_000;

/// A login session that begins at `now` (microseconds since 1970), and its secret.
pub fn fresh(user: &UserRec, dataset: Option<DatasetId>, now: i64) -> (String, LoginRec) {
    let secret = secret::fresh();
    let rec = LoginRec {
        secret_sha256: secret::digest(&secret),
        user: user.id,
        dataset_id: dataset,
        epoch: user.token_epoch,
        created_at: now,
        expires_at: now.saturating_add(LOGIN_SESSION_SECS * MICROS),
    };
    (secret, rec)
}

/// Ends the account's oldest login sessions past the limit, the one that is about to begin counted.
pub(super) fn make_room(
    records: &Records,
    user: UserId,
    mut batch: Batch,
) -> Result<Batch, IdentityError> {
    let kept = LOGINS_PER_USER_MAX.saturating_sub(1);
    let surplus = records.store.list::<LoginRec>(&[Scope::Owner(user)], kept, PAGE_ROWS_MAX)?;
    for old in surplus.items {
        batch = batch.delete::<LoginRec>(&old.secret_sha256);
    }
    Ok(batch)
}

/// Refuses what belongs to a login session that is over, or belongs to another account.
///
/// # Errors
/// [`IdentityError::TokenInvalid`].
pub(super) fn require_in_force(
    records: &Records,
    digest: &SecretDigest,
    user: UserId,
) -> Result<(), IdentityError> {
    let now = records.clock.unix_micros();
    match records.store.get::<LoginRec>(digest)? {
        Some(login) if login.user == user && now < login.expires_at => Ok(()),
        _ => Err(IdentityError::TokenInvalid),
    }
}

impl Identity {
    /// Who the holder of a login session's secret is.
    ///
    /// # Errors
    /// [`IdentityError::TokenInvalid`] whatever is wrong with it; [`IdentityError::TokenExpired`].
    pub fn authenticate_login(&self, secret: &str) -> Result<Principal, IdentityError> {
        if !secret::has_form(secret) {
            return Err(IdentityError::TokenInvalid);
        }
        let digest = secret::digest(secret);
        let found = self.records.store.get::<LoginRec>(&digest)?;
        let login = found.ok_or(IdentityError::TokenInvalid)?;
        if self.records.clock.unix_micros() >= login.expires_at {
            return Err(IdentityError::TokenExpired);
        }
        let user = self.records.store.get::<UserRec>(&login.user)?;
        let in_force = |u: &UserRec| !u.disabled && u.token_epoch == login.epoch;
        let user = user.filter(in_force).ok_or(IdentityError::TokenInvalid)?;
        let grant = Grant {
            jti: format!("login:{}", secret::log_name(&digest)),
            expires_at: login.expires_at.div_euclid(MICROS),
            active_org: orgs::default_org(&user).to_owned(),
            scope: login.dataset_id,
            key: None,
            login: Some(digest),
        };
        Ok(Principal::new(user, grant))
    }
}

/// Removes the login sessions that are over.
pub(super) fn forget_old(records: &Records) -> Result<(), IdentityError> {
    let now = records.clock.unix_micros();
    records.store.each(|login: LoginRec| {
        if now >= login.expires_at {
            records.store.commit(Batch::new().delete::<LoginRec>(&login.secret_sha256))?;
        }
        Ok(())
    })
}
