//! Ending the access of an account at once.

use graphlume_storage::{
    Batch, KeyRec, LinkRec, LoginRec, OrgRec, Record, Role, Scope, Store, StoreError, UserRec,
};
use graphlume_types::limits::PAGE_ROWS_MAX;
use serde_json::json;

use super::{Identity, Records, login_sessions};
use crate::accounts;
use crate::error::IdentityError;
use crate::keys;
use crate::principal::Principal;
use crate::reply::StatusReply;

/// What a logout ended.
struct Ended {
    user: UserRec,
    links: usize,
    sessions: usize,
}

impl Identity {
    /// Ends every token, login session and live connection of an account and removes its links that
    /// no account has used. Its keys are revoked and its memberships end; a guest loses its password, too.
    /// All of it is on the disk before this returns, and open pages are told before that.
    ///
    /// # Errors
    /// [`IdentityError::Forbidden`] for callers other than staff and superusers, and for staff where the
    /// account is a superuser's; [`IdentityError::NotFound`].
    pub async fn logout_user(
        &self,
        who: &Principal,
        username: &str,
    ) -> Result<StatusReply, IdentityError> {
        let by = self.require_admin(who, "logout-user-refused", "log others out")?;
        let (name, role) = (username.to_owned(), who.role());
        let ended = self.blocking(move |records| logout(records, &name, role)).await;
        // Also when the disk did not answer: an account that may have been logged out is looked at again.
        self.access_changed();
        let Ended { user, links, sessions } = ended?;
        tracing::info!(
            target: "audit", event = "logout-user", user = user.id.0, by = by.0, links, sessions
        );
        Ok(StatusReply {
            status: "OK",
            message: format!("user {} is logged out everywhere", user.username),
            data: json!({
                "username": user.username, "links_removed": links, "sessions_ended": sessions,
            }),
        })
    }

    /// Refuses a caller whose account was logged out or disabled, whose key was revoked or who signed out, since it was
    /// authenticated: for connections that outlive a request.
    ///
    /// # Errors
    /// [`IdentityError::TokenInvalid`]; a store that does not answer.
    pub fn require_in_force(&self, who: &Principal) -> Result<(), IdentityError> {
        let Some(user) = who.user() else { return Ok(()) };
        let store = &self.records.store;
        let has_key = match who.key() {
            Some(key) => keys::is_in_force(store, key, user)?,
            None => true,
        };
        if let Some(login) = who.login() {
            login_sessions::require_in_force(&self.records, login, user)?;
        }
        match store.get::<UserRec>(&user)? {
            Some(u) if has_key && !u.disabled && u.token_epoch == who.epoch() => Ok(()),
            _ => Err(IdentityError::TokenInvalid),
        }
    }
}

/// The later epoch voids tokens, login sessions and links alike, also one that is being minted.
fn logout(records: &Records, username: &str, by: Option<Role>) -> Result<Ended, IdentityError> {
    let store = &records.store;
    loop {
        let id = accounts::expect_name(store, username)?.id;
        let Some((mut user, tag)) = store.get_tagged::<UserRec>(&id)? else {
            return Err(IdentityError::not_found("user", username));
        };
        if user.role == Role::Superuser && by != Some(Role::Superuser) {
            return Err(IdentityError::Forbidden(format!(
                "{username} is a superuser, whom superusers alone may log out"
            )));
        }
        let now = store.clock().unix_micros();
        user.token_epoch += 1;
        user.updated_at = now;
        let mut batch = Batch::new();
        let links = unused(store, &user)?;
        for link in &links {
            batch = batch.delete::<LinkRec>(&link.token_sha256);
        }
        let logins = of::<LoginRec>(store, &user)?;
        for login in &logins {
            batch = batch.delete::<LoginRec>(&login.secret_sha256);
        }
        if user.only_dataset.is_some() {
            user.password_hash = None;
        }
        for key in of::<KeyRec>(store, &user)?.into_iter().filter(|k| k.revoked_at.is_none()) {
            batch = batch.put(&KeyRec { revoked_at: Some(now), ..key });
        }
        for slug in std::mem::take(&mut user.orgs) {
            if let Some((mut org, tag)) = store.get_tagged::<OrgRec>(&slug)? {
                org.members.retain(|m| m.user != user.id);
                batch = batch.replace(&org, tag);
            }
        }
        user.active_org = None;
        match store.commit(batch.replace(&user, tag)) {
            Ok(()) => return Ok(Ended { user, links: links.len(), sessions: logins.len() }),
            Err(StoreError::Changed { .. }) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

fn unused(store: &Store, user: &UserRec) -> Result<Vec<LinkRec>, IdentityError> {
    let mut links = of::<LinkRec>(store, user)?;
    links.retain(|l| l.uses == 0);
    Ok(links)
}

/// The records of an account, as many as its limits allow.
fn of<R: Record>(store: &Store, user: &UserRec) -> Result<Vec<R>, IdentityError> {
    Ok(store.list::<R>(&[Scope::Owner(user.id)], 0, PAGE_ROWS_MAX)?.items)
}
