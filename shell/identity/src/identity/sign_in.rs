//! Passwords: how fast they may be tried, and what a browser gets for the right one.

use std::net::IpAddr;

use graphlume_storage::{Batch, LoginRec, StoreError, UserRec};
use graphlume_types::limits::{PASSWORD_BYTES_MAX, USERNAME_CHARS_MAX};

use super::login::LoggedInBy;
use super::{Identity, Records, login_sessions};
use crate::error::IdentityError;
use crate::principal::Principal;
use crate::refusals::Refused;
use crate::throttle::Attempt;
use crate::{accounts, password, secret};

/// Where a password comes from.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The address of the client.
    pub address: IpAddr,
    /// What an earlier sign-in left in the browser ([`SignedIn::browser`]).
    pub browser: Option<String>,
}

impl From<IpAddr> for Caller {
    fn from(address: IpAddr) -> Self {
        Self { address, browser: None }
    }
}

/// What signing in gives a browser. It holds secrets and therefore does not print.
pub struct SignedIn {
    /// A token of this login.
    pub token: String,
    /// The secret of the login session, which lives longer than the token.
    pub session: String,
    /// By which the browser is known when failures from elsewhere are slowed down.
    pub browser: String,
}

impl Identity {
    /// Signs a person in with a password: a token, and a login session that is on the disk when this
    /// returns.
    ///
    /// # Errors
    /// As [`Identity::login`].
    pub async fn sign_in(
        &self,
        username: &str,
        secret: String,
        caller: &Caller,
    ) -> Result<SignedIn, IdentityError> {
        let user = self.check_login(username, secret, caller).await?;
        self.require_certain_accounts()?;
        let browser = self.browsers.issue(&user, self.records.clock.unix_secs());
        let (session, user) =
            self.blocking(move |records| Ok((begin(records, &user)?, user))).await?;
        let by = LoggedInBy::Browser(secret::digest(&session));
        let token = self.login_reply(&user, None, by)?.token;
        Ok(SignedIn { token, session, browser })
    }

    /// Ends the login session of a browser, by its secret or by the token that it was given with, and with it every
    /// token of the session and every stream that is open with one.
    ///
    /// # Errors
    /// A disk that does not take it.
    pub async fn sign_out(
        &self,
        who: &Principal,
        session: Option<&str>,
    ) -> Result<(), IdentityError> {
        let of_cookie = session.filter(|s| secret::has_form(s)).map(secret::digest);
        let ended: Vec<_> = of_cookie.into_iter().chain(who.login().cloned()).collect();
        let user = who.user().map(|u| u.0);
        let done = self
            .blocking(move |records| {
                let mut is_ended = false;
                for digest in ended {
                    if records.store.exists::<LoginRec>(&digest)? {
                        records.store.commit(Batch::new().delete::<LoginRec>(&digest))?;
                        is_ended = true;
                        tracing::info!(target: "audit", event = "sign-out", user);
                    }
                }
                Ok(is_ended)
            })
            .await;
        // Also after an error: what was not confirmed may be on the disk all the same.
        if !matches!(done, Ok(false)) {
            self.access_changed();
        }
        done.map(|_| ())
    }

    /// The account of a name and a password, in the time that the failures before allow.
    pub(super) async fn check_login(
        &self,
        username: &str,
        secret: String,
        caller: &Caller,
    ) -> Result<UserRec, IdentityError> {
        let fits = username.chars().count() <= USERNAME_CHARS_MAX;
        let user = if fits { accounts::by_name(&self.records.store, username)? } else { None };
        let peer = caller.address;
        // What is typed into the wrong field must not get into the log, so only real names do.
        let account = user.as_ref().map_or("(unknown)", |u| u.username.as_str()).to_owned();
        if secret.len() > PASSWORD_BYTES_MAX {
            tracing::info!(target: "audit", event = "login-refused", account, %peer, reason = "too long");
            self.refusals.count(Refused::Password);
            return Err(IdentityError::BadCredentials);
        }
        let now = self.records.clock.unix_secs();
        let browser = caller.browser.as_deref().zip(user.as_ref());
        let browser = browser.and_then(|(b, user)| self.browsers.check(b, user, now));
        let attempt = Attempt::new(username, caller.address, browser);
        let throttle = &self.throttle;
        let wait = throttle.begin(&attempt, self.records.clock.monotonic()).map_err(|refusal| {
            self.refusals.count(Refused::Throttled);
            if refusal.is_first {
                tracing::warn!(
                    target: "audit", event = "login-throttled", account, %peer,
                    retry_secs = refusal.retry_secs
                );
            }
            IdentityError::Throttled { retry_secs: refusal.retry_secs }
        })?;
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        match self.check_password(user, secret).await {
            Ok(user) => {
                throttle.succeeded(&attempt, self.records.clock.monotonic());
                tracing::info!(
                    target: "audit", event = "login", user = user.id.0, account, %peer, by = "password"
                );
                Ok(user)
            }
            Err(e) => {
                if !matches!(e, IdentityError::BadCredentials) {
                    throttle.undone(&attempt);
                }
                self.refusals.count_error(&e, Refused::Password);
                tracing::info!(target: "audit", event = "login-refused", account, %peer, reason = %e);
                Err(e)
            }
        }
    }

    /// No account signs in after records were lost, until the operator has looked at the accounts.
    pub(super) fn require_certain_accounts(&self) -> Result<(), IdentityError> {
        self.damage.check().inspect_err(|_| self.refusals.count(Refused::Unavailable))
    }

    async fn check_password(
        &self,
        user: Option<UserRec>,
        secret: String,
    ) -> Result<UserRec, IdentityError> {
        let hash = user.as_ref().and_then(|u| u.password_hash.clone());
        let permit = self.gate.enter().await?;
        let good = self
            .blocking(move |_| {
                let _permit = permit;
                password::verify(hash.as_ref(), &secret)
            })
            .await?;
        user.filter(|u| good && !u.disabled).ok_or(IdentityError::BadCredentials)
    }
}

/// Begins a login session of an account as it was when its password was checked: one that was disabled or
/// logged out meanwhile gets none.
fn begin(records: &Records, user: &UserRec) -> Result<String, IdentityError> {
    loop {
        let found = records.store.get_tagged::<UserRec>(&user.id)?;
        let in_force = |u: &UserRec| !u.disabled && u.token_epoch == user.token_epoch;
        let (_, tag) = found.filter(|(u, _)| in_force(u)).ok_or(IdentityError::BadCredentials)?;
        let (session, login) = login_sessions::fresh(user, None, records.clock.unix_micros());
        let batch = Batch::new().require::<UserRec>(&user.id, Some(tag));
        match records
            .store
            .commit(login_sessions::make_room(records, user.id, batch)?.insert(&login))
        {
            Ok(()) => return Ok(session),
            Err(StoreError::Changed { .. }) => {}
            Err(e) => return Err(e.into()),
        }
    }
}
