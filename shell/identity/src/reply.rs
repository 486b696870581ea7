//! The JSON bodies that identity answers with, in the exact shape that clients read.

use serde::Serialize;
use serde_json::Value;

/// The account in a login reply.
#[derive(Debug, Clone, Serialize)]
pub struct UserReply {
    /// Display name.
    pub name: String,
    /// Login name.
    pub username: String,
    /// Mail address, may be empty.
    pub email: String,
    /// Account number.
    pub id: u64,
}

/// The organization that a token acts in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ActiveOrganization {
    /// Name in addresses; a personal organization's slug equals the username.
    pub slug: String,
    /// Whether the organization exists.
    pub is_found: bool,
    /// Whether the account belongs to it.
    pub is_member: bool,
}

/// Reply to a password or personal-key login.
#[derive(Debug, Clone, Serialize)]
pub struct LoginReply {
    /// The JWT.
    pub token: String,
    /// The account.
    pub user: UserReply,
    /// Account number again.
    pub pk: u64,
    /// Never absent and never null: a client crashes on null.
    pub active_organization: ActiveOrganization,
}

/// A personal key of the caller's.
#[derive(Debug, Clone, Serialize)]
pub struct KeyReply {
    /// Public half.
    pub key_id: String,
    /// The other half, in the reply that makes the key and in no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// What its owner called it.
    pub label: String,
    /// ISO 8601.
    pub created_at: String,
    /// ISO 8601; null for a key that works.
    pub revoked_at: Option<String>,
}

/// The caller's personal keys.
#[derive(Debug, Clone, Serialize)]
pub struct KeysReply {
    /// How many.
    pub count: u64,
    /// Newest first.
    pub results: Vec<KeyReply>,
}

/// Reply to refresh and verify.
#[derive(Debug, Clone, Serialize)]
pub struct TokenReply {
    /// The JWT.
    pub token: String,
}

/// Reply to a switch of the organization and to sharing.
#[derive(Debug, Clone, Serialize)]
pub struct StatusReply {
    /// Always "OK": failures are errors.
    pub status: &'static str,
    /// What was done.
    pub message: String,
    /// Empty list (switch) or object (share).
    pub data: Value,
}
