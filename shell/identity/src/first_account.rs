//! The superuser that the first start on a data folder makes.

use std::path::PathBuf;

use graphlume_storage::{Role, Store, UserRec};
use graphlume_types::SessionId;

use crate::accounts::{self, FIRST_USERNAME, NewAccount};
use crate::error::IdentityError;
use crate::{first_password, password};

/// The superuser that the first start made.
pub struct Bootstrap {
    /// Its login name.
    pub username: String,
    /// Its password, for showing once.
    pub password: String,
    /// Whether the password was generated.
    pub generated: bool,
    /// The file with the password, where it is not to be shown.
    pub kept_in: Option<PathBuf>,
}

impl std::fmt::Debug for Bootstrap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bootstrap").field("username", &self.username).finish_non_exhaustive()
    }
}

/// Makes the first superuser when there is none. Damaged records are passed over: `doctor` names them, and they are
/// no reason to refuse a start. Blocks on one password hash.
///
/// # Errors
/// An impossible password; a store or a folder that cannot be written.
pub fn make_first_account(
    store: &Store,
    given: Option<String>,
    keep: bool,
) -> Result<Option<Bootstrap>, IdentityError> {
    let (mut is_taken, mut damaged) = (false, 0_u64);
    for account in store.scan::<UserRec>() {
        match account {
            Ok(account) if account.role == Role::Superuser => {
                if given.is_some() {
                    tracing::info!(
                        superuser = account.username,
                        "GRAPHLUME_ADMIN_PASSWORD is for the first start alone and was not looked at; \
                         `graphlume user password` changes a password"
                    );
                }
                return Ok(None);
            }
            Ok(account) => is_taken |= account.username == FIRST_USERNAME,
            Err(e) if e.is_corrupt() => damaged += 1,
            Err(e) => return Err(e.into()),
        }
    }
    // A superuser may be among the damaged ones.
    if is_taken || damaged > 0 {
        tracing::warn!(
            damaged,
            "there is no superuser, and none was made, because an account {FIRST_USERNAME:?} exists or records are \
             damaged; `graphlume user set NAME --role superuser` makes one"
        );
        return Ok(None);
    }
    let generated = given.is_none();
    let password = given.unwrap_or_else(password_text);
    if !generated {
        password::check_new("GRAPHLUME_ADMIN_PASSWORD", &password)
            .map_err(|e| IdentityError::Setup(e.to_string()))?;
    }
    let new = NewAccount {
        name: String::new(),
        username: FIRST_USERNAME.to_owned(),
        password_hash: password::hash(&password)?,
        email: String::new(),
        role: Role::Superuser,
        org: None,
    };
    // Before the account, which could not be used without it.
    let kept_in =
        if generated && keep { Some(first_password::keep(store.dir(), &password)?) } else { None };
    let user = accounts::add(store, new)?;
    Ok(Some(Bootstrap { username: user.username, password, generated, kept_in }))
}

/// A random text of 128 bits, which people see once.
fn password_text() -> String {
    SessionId::random().as_str().to_owned()
}
