//! Accounts.

use std::fmt;

use graphlume_types::{DatasetId, UserId};
use serde::{Deserialize, Serialize};

use super::{Kind, Record};

/// What an account may do beyond its own objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// An ordinary account.
    #[default]
    User,
    /// May mint links and see other accounts' objects.
    Staff,
    /// May do everything.
    Superuser,
}

/// A password in its hashed (PHC string) form. It is not comparable and prints as dots.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PasswordHash(pub String);

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(..)")
    }
}

/// One account. `username` and `email` (case-insensitively; an empty email belongs to no account) are unique
/// and can be looked up with [`crate::Store::find`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UserRec {
    /// Account number.
    pub id: UserId,
    /// Login name.
    pub username: String,
    /// Mail address, may be empty.
    #[serde(default)]
    pub email: String,
    /// Name shown to people; empty where none is set, see [`Self::shown_name`].
    #[serde(default)]
    pub name: String,
    /// Rights.
    #[serde(default)]
    pub role: Role,
    /// Absent for accounts without a password login.
    #[serde(default)]
    pub password_hash: Option<PasswordHash>,
    /// A disabled account is refused everywhere.
    #[serde(default)]
    pub disabled: bool,
    /// Whether the natural-language graph feature is on.
    #[serde(default)]
    pub graph_language: bool,
    /// Raised by a forced logout: tokens of an earlier epoch are void.
    #[serde(default)]
    pub token_epoch: u64,
    /// Unix microseconds.
    pub created_at: i64,
    /// Unix microseconds.
    #[serde(default)]
    pub updated_at: i64,
    /// Unix microseconds.
    #[serde(default)]
    pub last_login_at: Option<i64>,
    /// Slugs of the organizations the account belongs to.
    #[serde(default)]
    pub orgs: Vec<String>,
    /// The organization that new objects go to.
    #[serde(default)]
    pub active_org: Option<String>,
    /// For a link guest: the dataset of its first link, and the only one that a login without a scope of
    /// its own may see. It stays when the guest is logged out: without it the account would be an ordinary one.
    #[serde(default)]
    pub only_dataset: Option<DatasetId>,
}

impl UserRec {
    /// The name shown to people: that of the account where it has no other.
    #[must_use]
    pub fn shown_name(&self) -> &str {
        if self.name.is_empty() { &self.username } else { &self.name }
    }
}

/// `username` field of the unique index.
pub const USERNAME: &str = "username";
/// `email` field of the unique index.
pub const EMAIL: &str = "email";

impl Record for UserRec {
    const KIND: Kind = Kind::User;
    type Key = UserId;

    fn key(&self) -> UserId {
        self.id
    }

    fn created_at(&self) -> i64 {
        self.created_at
    }

    fn unique(&self) -> Vec<(&'static str, String)> {
        let mut out = vec![(USERNAME, self.username.clone())];
        if !self.email.is_empty() {
            out.push((EMAIL, self.email.to_lowercase()));
        }
        out
    }
}
