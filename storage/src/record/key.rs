//! Personal keys.

use std::fmt;

use graphlume_types::{KeyId, UserId, id};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Kind, Record};
use crate::hex::unhex;

/// SHA-256 of a secret of a key, a link or a login session. Deliberately neither comparable nor printable: compare
/// [`SecretDigest::as_bytes`] in constant time.
#[derive(Clone)]
pub struct SecretDigest([u8; 32]);

impl SecretDigest {
    /// Wraps a digest.
    #[must_use]
    pub const fn new(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    /// The digest.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for SecretDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretDigest(..)")
    }
}

impl Serialize for SecretDigest {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&id::hex(&self.0))
    }
}

impl<'de> Deserialize<'de> for SecretDigest {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        unhex::<32>(&text)
            .map(Self)
            .ok_or_else(|| D::Error::custom("a digest is 64 hex characters"))
    }
}

/// A personal key: the server keeps the public id and a digest of the secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KeyRec {
    /// Public half.
    pub key_id: KeyId,
    /// SHA-256 of the secret half.
    pub secret_sha256: SecretDigest,
    /// Whose key it is.
    pub user: UserId,
    /// Name given by the user.
    #[serde(default)]
    pub label: String,
    /// Unix microseconds.
    pub created_at: i64,
    /// Unix microseconds; a revoked key is refused.
    #[serde(default)]
    pub revoked_at: Option<i64>,
}

impl Record for KeyRec {
    const KIND: Kind = Kind::Key;
    type Key = KeyId;

    fn key(&self) -> KeyId {
        self.key_id.clone()
    }

    fn created_at(&self) -> i64 {
        self.created_at
    }

    fn owner(&self) -> Option<UserId> {
        Some(self.user)
    }
}
