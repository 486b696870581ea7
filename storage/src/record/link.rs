//! Single-use login links.

use graphlume_types::{DatasetId, UserId};
use serde::{Deserialize, Serialize};

use super::{Kind, Record, SecretDigest};

/// A link that signs an external user in, for one dataset. The server keeps a digest of its token alone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LinkRec {
    /// Key: SHA-256 of the token.
    pub token_sha256: SecretDigest,
    /// Whom it signs in.
    pub guest: UserId,
    /// The guest's login name when the link was minted.
    pub username: String,
    /// The only dataset that the login may see.
    pub dataset_id: DatasetId,
    /// Who minted it.
    pub minted_by: UserId,
    /// Unix microseconds; its age counts from here.
    pub minted_at: i64,
    /// The guest's token epoch at that time: a later epoch voids the link.
    pub epoch: u64,
    /// How often it has signed a guest in.
    #[serde(default)]
    pub uses: u32,
    /// Unix microseconds of the latest use.
    #[serde(default)]
    pub used_at: Option<i64>,
}

impl Record for LinkRec {
    const KIND: Kind = Kind::Link;
    type Key = SecretDigest;

    fn key(&self) -> SecretDigest {
        self.token_sha256.clone()
    }

    fn created_at(&self) -> i64 {
        self.minted_at
    }

    fn owner(&self) -> Option<UserId> {
        Some(self.guest)
    }
}
