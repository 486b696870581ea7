//! Logging in, refreshing, verifying, switching the organization, and who a token stands for.

use std::sync::Arc;

use graphlume_storage::{SecretDigest, UserRec};
use graphlume_types::{DatasetId, KeyId, UserId};
use serde_json::{Map, Value};

use super::sign_in::Caller;
use super::{Identity, login_sessions};
use crate::body;
use crate::error::IdentityError;
use crate::jwt::{Claims, Subject, Tokens};
use crate::keys;
use crate::orgs;
use crate::principal::{Grant, Principal};
use crate::refusals::Refused;
use crate::reply::{LoginReply, StatusReply, TokenReply, UserReply};
use crate::secret;

/// What a token is given for, which it ends with.
pub(super) enum LoggedInBy {
    /// The password, by a client that keeps the token itself.
    Password,
    /// A personal key.
    Key(String),
    /// A sign-in in a browser, which began a login session.
    Browser(SecretDigest),
}

impl Identity {
    /// Logs in with the `{username, password, org_name?}` of `body`. `caller` says where the request comes
    /// from, for the count of failures.
    ///
    /// # Errors
    /// [`IdentityError::BadCredentials`] whichever of the two is wrong; [`IdentityError::Throttled`].
    pub async fn login(
        &self,
        body: &[u8],
        caller: impl Into<Caller>,
    ) -> Result<LoginReply, IdentityError> {
        let map = body::object(body)?;
        let need = |field: &str| {
            body::text(&map, field)?
                .map(str::to_owned)
                .ok_or_else(|| body::missing(field, "a string"))
        };
        let (username, secret) = (need("username")?, need("password")?);
        let org = org_name(&map)?;
        let user = self.check_login(&username, secret, &caller.into()).await?;
        self.login_reply(&user, org.as_deref(), LoggedInBy::Password)
    }

    /// Logs in with a personal key. `authorization` is the whole header value, `body` may hold
    /// `org_name`, and so may the address (`org_query`); the body wins.
    ///
    /// # Errors
    /// [`IdentityError::BadCredentials`] whatever is wrong with the key.
    pub async fn pkey_login(
        &self,
        authorization: Option<&str>,
        body: &[u8],
        org_query: Option<&str>,
    ) -> Result<LoginReply, IdentityError> {
        let map = body::object(body)?;
        let org = org_name(&map)?.or_else(|| org_query.map(str::to_owned));
        let (key_id, secret) = parse_key(authorization)?;
        let user = match keys::verify(&self.records.store, key_id, secret) {
            Ok(user) => user,
            Err(e) => {
                let key: String = key_id.chars().take(16).collect();
                tracing::info!(target: "audit", event = "login-refused", key, reason = %e);
                self.refusals.count_error(&e, Refused::Key);
                return Err(e);
            }
        };
        tracing::info!(target: "audit", event = "login", user = user.id.0, by = "key", key = key_id);
        self.login_reply(&user, org.as_deref(), LoggedInBy::Key(key_id.to_owned()))
    }

    pub(super) fn login_reply(
        &self,
        user: &UserRec,
        org: Option<&str>,
        by: LoggedInBy,
    ) -> Result<LoginReply, IdentityError> {
        self.require_certain_accounts()?;
        let (active_organization, acts_in) = orgs::at_login(&self.records.store, user, org)?;
        let now = self.records.clock.unix_secs();
        let (key, login) = match by {
            LoggedInBy::Password => (None, None),
            LoggedInBy::Key(key) => (Some(key), None),
            LoggedInBy::Browser(login) => (None, Some(secret::name_of(&login))),
        };
        let subject = Subject { key, login, ..subject(user, &acts_in) };
        let (token, _) = self.tokens.issue(&subject, now, now)?;
        Ok(LoginReply {
            token,
            user: UserReply {
                name: user.shown_name().to_owned(),
                username: user.username.clone(),
                email: user.email.clone(),
                id: user.id.0,
            },
            pk: user.id.0,
            active_organization,
        })
    }

    /// Exchanges the live `{token}` of `body` for a fresh one.
    ///
    /// # Errors
    /// [`IdentityError::TokenExpired`], [`IdentityError::RefreshExpired`], [`IdentityError::TokenInvalid`].
    pub async fn refresh(&self, body: &[u8]) -> Result<TokenReply, IdentityError> {
        let token = token_of(body)?;
        let (claims, user) = self.check_token(&token)?;
        let now = self.records.clock.unix_secs();
        Tokens::check_refresh(&claims, now)?;
        let acts_in = self.acts_in(&claims, &user);
        let of = subject(&user, &acts_in);
        let Claims { scope, key, login, .. } = claims.clone();
        let subject = Subject { scope, key, login, ..of };
        let (token, _) = self.tokens.issue(&subject, now, claims.orig_iat)?;
        Ok(TokenReply { token })
    }

    /// Answers whether the `{token}` of `body` is alive.
    ///
    /// # Errors
    /// As [`Identity::refresh`].
    pub async fn verify(&self, body: &[u8]) -> Result<TokenReply, IdentityError> {
        let token = token_of(body)?;
        self.check_token(&token)?;
        Ok(TokenReply { token })
    }

    /// Lets the caller's token act in another organization.
    ///
    /// # Errors
    /// [`IdentityError::NotFound`] for an unknown one, [`IdentityError::Forbidden`] for a foreign one.
    pub async fn switch_org(
        &self,
        who: &Principal,
        slug: &str,
    ) -> Result<StatusReply, IdentityError> {
        let (Some(jti), Some(expires_at), Some(user)) = (who.jti(), who.expires_at(), who.user())
        else {
            return Err(IdentityError::Unauthenticated);
        };
        if let Err(e) = orgs::require_member(&self.records.store, who, slug) {
            let known = slug.len() <= 255
                && self.records.store.exists::<graphlume_storage::OrgRec>(&slug.to_owned())?;
            return Err(if known { e } else { IdentityError::not_found("organization", slug) });
        }
        let (switches, jti) = (Arc::clone(&self.token_orgs), jti.to_owned());
        let org = slug.to_owned();
        self.blocking(move |records| {
            let now = records.clock.unix_secs();
            switches.set(&records.store, &jti, &org, expires_at, now)
        })
        .await?;
        tracing::debug!(target: "audit", event = "org-switched", user = user.0, org = slug);
        Ok(StatusReply {
            status: "OK",
            message: format!("switched to organization {slug}"),
            data: Value::Array(Vec::new()),
        })
    }

    /// Who the bearer of a token is: of the `Authorization` header or of the token cookie.
    ///
    /// # Errors
    /// [`IdentityError::TokenExpired`] or [`IdentityError::TokenInvalid`].
    pub fn authenticate(&self, token: &str) -> Result<Principal, IdentityError> {
        let (claims, user) = self.check_token(token)?;
        let scope = match claims.scope.as_deref().map(str::parse::<DatasetId>) {
            None => None,
            Some(Ok(id)) => Some(id),
            Some(Err(_)) => return Err(IdentityError::TokenInvalid),
        };
        let active_org = self.acts_in(&claims, &user);
        let (key, login) = (claims.key.map(KeyId), claims.login.as_deref());
        let login = login.and_then(secret::digest_of);
        let grant =
            Grant { jti: claims.jti, expires_at: claims.exp, active_org, scope, key, login };
        Ok(Principal::new(user, grant))
    }

    /// Who the caller of a tool is: the bearer of a token, or of a personal key as `<id>:<secret>`. A
    /// revoked key, a disabled account and a switched-off feature are seen at the next call.
    ///
    /// # Errors
    /// As [`Identity::authenticate`]; [`IdentityError::BadCredentials`] whatever is wrong with the key.
    pub fn authenticate_tool(&self, credential: &str) -> Result<Principal, IdentityError> {
        let Some((key_id, secret)) = credential.split_once(':') else {
            return self.authenticate(credential);
        };
        self.require_certain_accounts()?;
        let user = keys::verify(&self.records.store, key_id, secret)
            .inspect_err(|e| self.refusals.count_error(e, Refused::Key))?;
        let active_org = orgs::default_org(&user).to_owned();
        let jti = format!("key:{key_id}");
        let key = Some(KeyId(key_id.to_owned()));
        let grant = Grant { jti, expires_at: i64::MAX, active_org, scope: None, key, login: None };
        Ok(Principal::new(user, grant))
    }

    /// Whether the principal's account is still in force: for connections that outlive a request.
    #[must_use]
    pub fn is_current(&self, who: &Principal) -> bool {
        let Some(expires_at) = who.expires_at() else { return true };
        self.records.clock.unix_secs() < expires_at && self.require_in_force(who).is_ok()
    }

    /// How long the principal's credential still lives; `None` for one that does not end by itself.
    #[must_use]
    pub fn time_left(&self, who: &Principal) -> Option<std::time::Duration> {
        let expires_at = who.expires_at().filter(|at| *at != i64::MAX)?;
        let micros = expires_at.saturating_mul(1_000_000) - self.records.clock.unix_micros();
        Some(std::time::Duration::from_micros(u64::try_from(micros).unwrap_or(0)))
    }

    fn check_token(&self, token: &str) -> Result<(Claims, UserRec), IdentityError> {
        let claims = self.tokens.check(token, self.records.clock.unix_secs())?;
        let user = self.records.store.get::<UserRec>(&UserId(claims.user_id))?;
        let in_force = |u: &UserRec| !u.disabled && u.token_epoch == claims.epoch;
        let user = user.filter(in_force).ok_or(IdentityError::TokenInvalid)?;
        if let Some(key) = &claims.key
            && !keys::is_in_force(&self.records.store, &KeyId(key.clone()), user.id)?
        {
            return Err(IdentityError::TokenInvalid);
        }
        if let Some(login) = &claims.login {
            let digest = secret::digest_of(login).ok_or(IdentityError::TokenInvalid)?;
            login_sessions::require_in_force(&self.records, &digest, user.id)?;
        }
        Ok((claims, user))
    }

    /// The organization of a token: where it was switched to, else what it was issued for, as long as
    /// the account may still act there.
    fn acts_in(&self, claims: &Claims, user: &UserRec) -> String {
        let wanted = self.token_orgs.get(&claims.jti).or_else(|| claims.org.clone());
        let admin = user.role == graphlume_storage::Role::Superuser;
        let may = |o: &String| admin || *o == user.username || user.orgs.contains(o);
        wanted.filter(may).unwrap_or_else(|| orgs::default_org(user).to_owned())
    }
}

/// What a token says of an account that acts in an organization.
fn subject(user: &UserRec, acts_in: &str) -> Subject {
    Subject {
        user: user.id,
        username: user.username.clone(),
        email: user.email.clone(),
        epoch: user.token_epoch,
        org: (acts_in != orgs::default_org(user)).then(|| acts_in.to_owned()),
        scope: None,
        key: None,
        login: None,
    }
}

pub(super) fn org_name(map: &Map<String, Value>) -> Result<Option<String>, IdentityError> {
    Ok(body::text(map, "org_name")?.filter(|s| !s.is_empty()).map(str::to_owned))
}

fn token_of(body: &[u8]) -> Result<String, IdentityError> {
    let map = body::object(body)?;
    body::text(&map, "token")?
        .map(str::to_owned)
        .ok_or_else(|| body::missing("token", "the token as a string"))
}

/// `PersonalKey <id>:<secret>`.
fn parse_key(authorization: Option<&str>) -> Result<(&str, &str), IdentityError> {
    let value = authorization.ok_or(IdentityError::Unauthenticated)?;
    let (scheme, rest) = value.trim().split_once(' ').ok_or(IdentityError::BadCredentials)?;
    if !scheme.eq_ignore_ascii_case("PersonalKey") {
        return Err(IdentityError::BadCredentials);
    }
    rest.trim().split_once(':').ok_or(IdentityError::BadCredentials)
}
