//! Access tokens: JWT (RFC 7519) signed with HMAC-SHA256, checked as RFC 8725 advises.
//!
//! The header of a token of ours is one constant text. A token with any other header is refused before
//! the library looks at it, which leaves no room for games with `alg`, `kid`, `jku`, `crit` and friends.
//!
//! A client sends the same token with every request. What was found genuine once is recognized by its hash;
//! whether it is alive, and its account still in force, is asked every time.

mod genuine;

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use graphlume_types::UserId;
use graphlume_types::id::{hex, random_bytes};
use graphlume_types::limits::{TOKEN_BYTES_MAX, TOKEN_REFRESH_SECS, TOKEN_SECS};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, encode};
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};

use crate::error::IdentityError;
use crate::signing_key::SigningKey;
use genuine::Genuine;

const TYP: &str = "gl-at+jwt";
const ISSUER: &str = "graphlume";
const AUDIENCE: &str = "graphlume-api";
/// A clock that was set back a little must not refuse the tokens it has just issued.
const CLOCK_STEP_SECS: i64 = 5;

/// What a token says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    pub iss: String,
    pub aud: String,
    /// Account number as text.
    pub sub: String,
    /// Account number, which some readers look for.
    pub user_id: u64,
    pub username: String,
    pub email: String,
    pub iat: i64,
    pub exp: i64,
    /// Second of the login that the chain of refreshed tokens began with.
    pub orig_iat: i64,
    pub jti: String,
    /// Epoch of the account at the login; a later epoch voids the token.
    pub epoch: u64,
    /// Organization that the token acts in, when it is not the account's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub org: Option<String>,
    /// For a link guest: the only dataset it may see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The public half of the personal key that the login was made with; the token ends with the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The digest of the login session that the sign-in of a browser began; the token ends with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
}

/// Whom a new token is for.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The account.
    pub user: UserId,
    /// Its login name.
    pub username: String,
    /// Its mail address.
    pub email: String,
    /// Its epoch; a later one voids the token.
    pub epoch: u64,
    /// Organization that the token acts in, when it is not the account's default.
    pub org: Option<String>,
    /// The only dataset that it may see.
    pub scope: Option<String>,
    /// The personal key that the login was made with.
    pub key: Option<String>,
    /// The login session that it belongs to.
    pub login: Option<String>,
}

/// The keys of now.
struct Keys {
    signer: EncodingKey,
    verifier: DecodingKey,
    /// Before the last rotation, and the second from which on it verifies nothing.
    old: Option<(DecodingKey, i64)>,
}

impl Keys {
    fn new(key: &SigningKey, old: Option<&(SigningKey, i64)>) -> Self {
        Self {
            signer: EncodingKey::from_secret(key.as_bytes()),
            verifier: DecodingKey::from_secret(key.as_bytes()),
            old: old.map(|(key, until)| (DecodingKey::from_secret(key.as_bytes()), *until)),
        }
    }
}

/// Signs and checks tokens.
pub struct Tokens {
    keys: RwLock<Keys>,
    header: Header,
    header_text: String,
    validation: Validation,
    genuine: Genuine,
}

impl Tokens {
    /// Also signs and verifies one token, so that a build without a working crypto provider does not
    /// get as far as serving.
    ///
    /// # Errors
    /// A crypto provider that does not work.
    pub fn new(key: &SigningKey) -> Result<Self, IdentityError> {
        let mut header = Header::new(Algorithm::HS256);
        header.typ = Some(TYP.to_owned());
        let header_json = serde_json::to_vec(&header)
            .map_err(|e| IdentityError::Internal(format!("token header: {e}")))?;
        let mut validation = Validation::new(Algorithm::HS256);
        validation.leeway = 0;
        // Time is checked here against the product's own clock.
        validation.validate_exp = false;
        validation.set_issuer(&[ISSUER]);
        validation.set_audience(&[AUDIENCE]);
        validation.required_spec_claims =
            HashSet::from(["exp", "iss", "aud", "sub"].map(str::to_owned));
        let tokens = Self {
            keys: RwLock::new(Keys::new(key, None)),
            header,
            header_text: URL_SAFE_NO_PAD.encode(header_json),
            validation,
            genuine: Genuine::default(),
        };
        tokens.self_test()?;
        Ok(tokens)
    }

    /// Goes on with these keys. What was found genuine by another one is asked again.
    pub(crate) fn use_keys(&self, key: &SigningKey, old: Option<&(SigningKey, i64)>) {
        let mut keys = self.keys.write();
        *keys = Keys::new(key, old);
        // Under the lock, so that no check by the keys of before remembers anything afterwards.
        self.genuine.forget();
    }

    fn self_test(&self) -> Result<(), IdentityError> {
        let subject = Subject {
            user: UserId(0),
            username: "self-test".to_owned(),
            email: String::new(),
            epoch: 0,
            org: None,
            scope: None,
            key: None,
            login: None,
        };
        let (token, claims) = self.issue(&subject, 1_000, 1_000)?;
        match self.check(&token, 1_000) {
            Ok(back) if back == claims => Ok(()),
            _ => Err(IdentityError::Internal("the token self-test failed at start".to_owned())),
        }
    }

    /// A token issued at `now` in a chain that began at `orig_iat` (seconds since 1970).
    ///
    /// # Errors
    /// A crypto provider that does not work.
    pub fn issue(
        &self,
        subject: &Subject,
        now: i64,
        orig_iat: i64,
    ) -> Result<(String, Claims), IdentityError> {
        let claims = Claims {
            iss: ISSUER.to_owned(),
            aud: AUDIENCE.to_owned(),
            sub: subject.user.0.to_string(),
            user_id: subject.user.0,
            username: subject.username.clone(),
            email: subject.email.clone(),
            iat: now,
            exp: now.saturating_add(TOKEN_SECS),
            orig_iat,
            jti: hex(&random_bytes::<16>()),
            epoch: subject.epoch,
            org: subject.org.clone(),
            scope: subject.scope.clone(),
            key: subject.key.clone(),
            login: subject.login.clone(),
        };
        let token = encode(&self.header, &claims, &self.keys.read().signer)
            .map_err(|e| IdentityError::Internal(format!("token signature: {e}")))?;
        Ok((token, claims))
    }

    /// The claims of a token that is ours and alive at `now`.
    ///
    /// # Errors
    /// [`IdentityError::TokenExpired`] for a genuine token past its life, else
    /// [`IdentityError::TokenInvalid`] whatever is wrong.
    pub(crate) fn check(&self, token: &str, now: i64) -> Result<Claims, IdentityError> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(IdentityError::TokenInvalid);
        }
        let keys = self.keys.read();
        let known = self.genuine.get(token);
        let is_known = known.is_some();
        let c = known.map_or_else(|| self.decode(&keys, token, now), Ok)?;
        let life = c.exp.checked_sub(c.iat);
        let coherent = c.sub == c.user_id.to_string()
            && life.is_some_and(|l| (1..=TOKEN_SECS).contains(&l))
            && c.orig_iat <= c.iat
            && c.iat <= now.saturating_add(CLOCK_STEP_SECS)
            && !c.jti.is_empty();
        if !coherent {
            return Err(IdentityError::TokenInvalid);
        }
        if now >= c.exp {
            return Err(IdentityError::TokenExpired);
        }
        if !is_known {
            self.genuine.add(token, &c, now);
        }
        Ok(c)
    }

    /// The claims of a token that is ours, dead or alive.
    fn decode(&self, keys: &Keys, token: &str, now: i64) -> Result<Claims, IdentityError> {
        if !canonical(token, &self.header_text) {
            return Err(IdentityError::TokenInvalid);
        }
        let read = |key| decode::<Claims>(token, key, &self.validation).ok();
        let of_old =
            || keys.old.as_ref().filter(|(_, until)| now < *until).and_then(|(k, _)| read(k));
        let data = read(&keys.verifier).or_else(of_old).ok_or(IdentityError::TokenInvalid)?;
        if data.header.typ.as_deref() != Some(TYP) {
            return Err(IdentityError::TokenInvalid);
        }
        Ok(data.claims)
    }

    /// Whether a live token may still be exchanged at `now`.
    pub(crate) fn check_refresh(claims: &Claims, now: i64) -> Result<(), IdentityError> {
        if now.saturating_sub(claims.orig_iat) >= TOKEN_REFRESH_SECS {
            return Err(IdentityError::RefreshExpired);
        }
        Ok(())
    }
}

/// Three parts, our header, and the one base64url text that encodes each part's bytes.
fn canonical(token: &str, header: &str) -> bool {
    let mut parts = token.split('.');
    let (Some(h), Some(claims), Some(signature), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let same = |part: &str| {
        URL_SAFE_NO_PAD.decode(part).is_ok_and(|bytes| URL_SAFE_NO_PAD.encode(bytes) == part)
    };
    h == header && same(claims) && same(signature)
}

#[cfg(test)]
mod tests;
