//! Parts with which tests make credentials that no use case gives out.

pub use crate::identity::login_sessions::fresh as fresh_login;
pub use crate::jwt::{Subject, Tokens};
pub use crate::secret::{digest, fresh as fresh_secret};
pub use crate::signing_key::SigningKey;
