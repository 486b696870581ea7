//! Identities and rights of callers: accounts, passwords, personal keys, tokens, login links and sessions,
//! organizations, and the one table of rights.
//!
//! This crate knows no HTTP, no engine and no file formats. A transport hands a credential to [`Identity`] and gets a
//! [`Principal`]; [`authz`] decides what a principal may do with the records of others.
//!
//! What holds throughout:
//!
//! 1. What ends an access is on the disk before it is answered, and [`Identity::access_changes`] tells of it.
//! 2. Whether a caller may do something is decided in [`authz`] alone, before anything is done.
//! 3. No secret reaches a log line, an error or a record in readable form.

mod accounts;
pub mod admin;
pub mod authz;
pub mod body;
mod browser;
pub mod damage;
mod error;
mod first_account;
mod first_password;
mod identity;
mod jwt;
mod keys;
pub mod orgs;
mod password;
mod principal;
mod refusals;
pub mod removal;
pub mod reply;
mod secret;
mod signing_key;
mod steady;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod throttle;

pub use accounts::FIRST_USERNAME;
pub use error::{IdentityError, not_found_remedy};
pub use first_account::{Bootstrap, make_first_account};
pub use identity::{Caller, Identity, LinkLogin, LinkOrder, LinkSettings, SignedIn};
pub use principal::Principal;
pub use signing_key::rotate_signing_key;
pub use steady::SteadyClock;
