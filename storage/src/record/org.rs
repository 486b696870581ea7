//! Organizations.

use graphlume_types::UserId;
use serde::{Deserialize, Serialize};

use super::{Kind, Record};

/// One account in an organization.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The account.
    pub user: UserId,
    /// Whether it may change the organization.
    #[serde(default)]
    pub admin: bool,
}

/// An organization: accounts that share files and datasets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrgRec {
    /// Its name in addresses, 1 to 255 bytes without NUL.
    pub slug: String,
    /// Its name for people.
    #[serde(default)]
    pub name: String,
    /// Accounts in it.
    #[serde(default)]
    pub members: Vec<Member>,
    /// Unix microseconds.
    pub created_at: i64,
}

impl Record for OrgRec {
    const KIND: Kind = Kind::Org;
    type Key = String;

    fn key(&self) -> String {
        self.slug.clone()
    }

    fn created_at(&self) -> i64 {
        self.created_at
    }
}
