//! Browsers that have signed in to an account before: a cookie says so for 30 days, so that a stranger who tries
//! passwords from elsewhere cannot keep the account's owner out. It proves nothing else and opens nothing.

use graphlume_storage::UserRec;
use graphlume_types::id::{hex, random_bytes};
use graphlume_types::limits::LOGIN_KNOWN_DAYS;

use crate::signing_key::SigningKey;

/// Keeps the proofs apart from everything else that is made with the server's key.
const CONTEXT: &str = "graphlume 2026-11-23 known browsers";
/// Characters of a cookie's value at most: an account number, a time, a name and a proof.
const CHARS_MAX: usize = 160;

/// A browser as it is counted by; it tells nothing about the browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct BrowserId([u8; 32]);

impl BrowserId {
    #[cfg(test)]
    pub(crate) const fn for_test(n: u8) -> Self {
        Self([n; 32])
    }
}

/// Makes and checks the cookies.
pub(crate) struct Browsers {
    key: [u8; 32],
}

impl Browsers {
    pub(crate) fn new(key: &SigningKey) -> Self {
        Self { key: blake3::derive_key(CONTEXT, key.as_bytes()) }
    }

    /// The cookie of a browser that has just signed in to `user`.
    pub(crate) fn issue(&self, user: &UserRec, now: i64) -> String {
        let name = hex(&random_bytes::<16>());
        let proof = self.proof(user, now, &name);
        format!("{}.{now}.{name}.{}", user.id.0, proof.to_hex())
    }

    /// The browser of a cookie, when it signed in to this account, as it is in force, within the time.
    pub(crate) fn check(&self, cookie: &str, user: &UserRec, now: i64) -> Option<BrowserId> {
        if cookie.len() > CHARS_MAX {
            return None;
        }
        let mut parts = cookie.split('.');
        let (id, at, name) = (parts.next()?, parts.next()?, parts.next()?);
        let proof = blake3::Hash::from_hex(parts.next()?).ok()?;
        let at: i64 = at.parse().ok()?;
        let in_time = (0..LOGIN_KNOWN_DAYS * 86_400).contains(&now.checked_sub(at)?);
        let whole = parts.next().is_none() && id == user.id.0.to_string();
        // The comparison takes the same time for every proof.
        (whole && in_time && self.proof(user, at, name) == proof)
            .then(|| BrowserId(*proof.as_bytes()))
    }

    fn proof(&self, user: &UserRec, time: i64, name: &str) -> blake3::Hash {
        // A logout everywhere and a new password make a later epoch, and with it the cookie void.
        let text = format!("{}.{}.{time}.{name}", user.id.0, user.token_epoch);
        blake3::keyed_hash(&self.key, text.as_bytes())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn user(id: u64, epoch: u64) -> UserRec {
        serde_json::from_value(
            json!({"id": id, "username": "u", "created_at": 0, "token_epoch": epoch}),
        )
        .unwrap()
    }

    #[test]
    fn a_cookie_is_good_for_its_account_and_its_time() {
        let browsers = Browsers::new(&SigningKey::from_bytes([7; 32]));
        let now = 1_800_000_000;
        let cookie = browsers.issue(&user(3, 1), now);
        let check = |cookie: &str, u: &UserRec, at: i64| browsers.check(cookie, u, at).is_some();
        assert!(check(&cookie, &user(3, 1), now));
        assert!(check(&cookie, &user(3, 1), now + LOGIN_KNOWN_DAYS * 86_400 - 1));
        assert!(!check(&cookie, &user(3, 1), now + LOGIN_KNOWN_DAYS * 86_400));
        assert!(!check(&cookie, &user(3, 1), now - 1), "from the future");
        assert!(!check(&cookie, &user(4, 1), now), "of another account");
        assert!(!check(&cookie, &user(3, 2), now), "logged out since");
        let elsewhere = Browsers::new(&SigningKey::from_bytes([8; 32]));
        assert!(elsewhere.check(&cookie, &user(3, 1), now).is_none());
        let later = cookie.replace(&format!(".{now}."), &format!(".{}.", now - 1));
        let long = format!("{cookie}{}", "0".repeat(200));
        for bad in ["", ".", "...", "3.1.2.3", &later, &format!("{cookie}.x"), &long] {
            assert!(!check(bad, &user(3, 1), now), "{bad}");
        }
    }
}
