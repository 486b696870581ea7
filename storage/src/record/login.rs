//! Login sessions: what a browser's session cookie stands for.

use graphlume_types::{DatasetId, UserId};
use serde::{Deserialize, Serialize};

use super::{Kind, Record, SecretDigest};

/// A login session that a link or a password began. The browser holds the secret, the server a digest of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoginRec {
    /// Key: SHA-256 of the secret.
    pub secret_sha256: SecretDigest,
    /// Who is signed in.
    pub user: UserId,
    /// The only dataset that a link's session may see; a password's session sees what the account may.
    #[serde(default)]
    pub dataset_id: Option<DatasetId>,
    /// The account's token epoch at the login: a later epoch voids the session.
    pub epoch: u64,
    /// Unix microseconds.
    pub created_at: i64,
    /// Unix microseconds at which it ends.
    pub expires_at: i64,
}

impl Record for LoginRec {
    const KIND: Kind = Kind::Login;
    type Key = SecretDigest;

    fn key(&self) -> SecretDigest {
        self.secret_sha256.clone()
    }

    fn created_at(&self) -> i64 {
        self.created_at
    }

    fn owner(&self) -> Option<UserId> {
        Some(self.user)
    }
}
