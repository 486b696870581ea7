//! Personal keys: a public id and a secret that is shown once.

use graphlume_storage::{Batch, KeyRec, SecretDigest, Store, StoreError, UserRec};
use graphlume_types::id::random_bytes;
use graphlume_types::{KeyId, UserId};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::error::IdentityError;

/// Characters of a key's public half.
const ID_CHARS: usize = 10;
/// Characters of its secret half: 190 bits.
const SECRET_CHARS: usize = 32;
const ID_ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const SECRET_ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// Uniform random characters: bytes past the last whole multiple of the alphabet are drawn again.
fn random_chars(alphabet: &[u8], n: usize) -> String {
    let fair = 256 - 256 % alphabet.len();
    let mut out = String::with_capacity(n);
    while out.len() < n {
        for b in random_bytes::<32>() {
            let b = usize::from(b);
            if b < fair && out.len() < n {
                out.push(char::from(alphabet[b % alphabet.len()]));
            }
        }
    }
    out
}

/// Makes a key and gives its id and its secret.
pub(crate) fn create(
    store: &Store,
    user: UserId,
    label: &str,
) -> Result<(String, String), IdentityError> {
    loop {
        let key_id = random_chars(ID_ALPHABET, ID_CHARS);
        let secret = random_chars(SECRET_ALPHABET, SECRET_CHARS);
        let rec = KeyRec {
            key_id: KeyId(key_id.clone()),
            secret_sha256: SecretDigest::new(digest(&secret)),
            user,
            label: label.to_owned(),
            created_at: store.clock().unix_micros(),
            revoked_at: None,
        };
        match store.commit(Batch::new().insert(&rec)) {
            Ok(()) => {
                tracing::info!(target: "audit", event = "key-created", user = user.0, key = key_id);
                return Ok((key_id, secret));
            }
            Err(StoreError::Exists { .. }) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// The account behind a key, when the secret is right and both are in force.
pub(crate) fn verify(store: &Store, key_id: &str, secret: &str) -> Result<UserRec, IdentityError> {
    let rec = match key_id.len() {
        ID_CHARS => store.get::<KeyRec>(&KeyId(key_id.to_owned()))?,
        _ => None,
    };
    // An unknown key costs the same comparison as a known one.
    let expected = rec.as_ref().map_or([0; 32], |r| *r.secret_sha256.as_bytes());
    let same = bool::from(digest(secret).ct_eq(&expected));
    let Some(rec) = rec.filter(|r| same && r.revoked_at.is_none()) else {
        return Err(IdentityError::BadCredentials);
    };
    let user = store.get::<UserRec>(&rec.user)?.filter(|u| !u.disabled);
    user.ok_or(IdentityError::BadCredentials)
}

/// Whether a key is there, belongs to the account, and was not revoked.
pub(crate) fn is_in_force(store: &Store, key: &KeyId, user: UserId) -> Result<bool, IdentityError> {
    let rec = store.get::<KeyRec>(key)?;
    Ok(rec.is_some_and(|k| k.user == user && k.revoked_at.is_none()))
}

/// Ends a key for good. Ending it twice is no error.
pub(crate) fn revoke(store: &Store, key_id: &str) -> Result<KeyRec, IdentityError> {
    let now = store.clock().unix_micros();
    let key = KeyId(key_id.chars().take(64).collect());
    let done = store.update::<KeyRec>(&key, |k| {
        k.revoked_at.get_or_insert(now);
    })?;
    let rec = done.ok_or_else(|| IdentityError::not_found("key", key_id))?;
    tracing::info!(target: "audit", event = "key-revoked", user = rec.user.0, key = key_id);
    Ok(rec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_characters_stay_in_their_alphabet_and_differ() {
        let a = random_chars(ID_ALPHABET, ID_CHARS);
        assert_eq!(a.len(), ID_CHARS);
        assert!(a.bytes().all(|b| ID_ALPHABET.contains(&b)));
        let secrets: std::collections::HashSet<_> =
            (0..1_000).map(|_| random_chars(SECRET_ALPHABET, SECRET_CHARS)).collect();
        assert_eq!(secrets.len(), 1_000);
    }
}
