//! Login sessions: the cookie that a link or a password leaves in a browser, good for a day.

use graphlume_storage::{Batch, LoginRec, Scope, SecretDigest, UserRec};
use graphlume_types::limits::{LOGIN_SESSION_SECS, LOGINS_PER_USER_MAX, PAGE_ROWS_MAX};
use graphlume_types::{DatasetId, UserId};

use super::{orgs, secret};
use crate::principal::{Grant, Principal};
use crate::service::Core;
use crate::{Service, ServiceError, upkeep};

const MICROS: i64 = 1_000_000;

/// A login session that begins at `now` (microseconds since 1970), and its secret.
pub(crate) fn fresh(user: &UserRec, dataset: Option<DatasetId>, now: i64) -> (String, LoginRec) {
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
pub(crate) fn make_room(
    core: &Core,
    user: UserId,
    mut batch: Batch,
) -> Result<Batch, ServiceError> {
    let kept = LOGINS_PER_USER_MAX.saturating_sub(1);
    let surplus = core.store.list::<LoginRec>(&[Scope::Owner(user)], kept, PAGE_ROWS_MAX)?;
    for old in surplus.items {
        batch = batch.delete::<LoginRec>(&old.secret_sha256);
    }
    Ok(batch)
}

/// Refuses what belongs to a login session that is over, or is somebody else's.
///
/// # Errors
/// [`ServiceError::TokenInvalid`].
pub(crate) fn require_in_force(
    core: &Core,
    digest: &SecretDigest,
    user: UserId,
) -> Result<(), ServiceError> {
    let now = core.clock.unix_micros();
    match core.store.get::<LoginRec>(digest)? {
        Some(login) if login.user == user && now < login.expires_at => Ok(()),
        _ => Err(ServiceError::TokenInvalid),
    }
}

impl Service {
    /// Who the holder of a login session's secret is.
    ///
    /// # Errors
    /// [`ServiceError::TokenInvalid`] whatever is wrong with it; [`ServiceError::TokenExpired`].
    pub fn authenticate_login(&self, secret: &str) -> Result<Principal, ServiceError> {
        if !secret::has_form(secret) {
            return Err(ServiceError::TokenInvalid);
        }
        let digest = secret::digest(secret);
        let found = self.core.store.get::<LoginRec>(&digest)?;
        let login = found.ok_or(ServiceError::TokenInvalid)?;
        if self.core.clock.unix_micros() >= login.expires_at {
            return Err(ServiceError::TokenExpired);
        }
        let user = self.core.store.get::<UserRec>(&login.user)?;
        let in_force = |u: &UserRec| !u.disabled && u.token_epoch == login.epoch;
        let user = user.filter(in_force).ok_or(ServiceError::TokenInvalid)?;
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
pub(crate) fn forget_old(core: &Core) -> Result<(), ServiceError> {
    let now = core.clock.unix_micros();
    upkeep::each::<LoginRec>(core, |login| {
        if now >= login.expires_at {
            core.store.commit(Batch::new().delete::<LoginRec>(&login.secret_sha256))?;
        }
        Ok(())
    })
}
