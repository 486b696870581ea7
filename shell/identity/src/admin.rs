//! Operations on the accounts and keys of a data folder, for the operator. Every function here blocks.

use std::path::Path;
use std::sync::Arc;

use graphlume_storage::{KeyRec, Opened, Options, Scope, Store, UserRec};
use graphlume_types::Clock;
use graphlume_types::calendar::iso8601;
use serde::{Deserialize, Serialize};

use crate::accounts::{self, NewAccount, role, role_name};
use crate::error::IdentityError;
use crate::{first_password, keys, password};

/// The data folder, held until dropped.
pub struct Admin {
    store: Store,
}

/// An account that is to be made.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    /// Login name.
    pub username: String,
    /// Name shown to people; absent is the login name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Password.
    pub password: String,
    /// Mail address, may be empty.
    pub email: String,
    /// `user`, `staff` or `superuser` (also `admin`).
    pub role: String,
    /// An organization to join; made when there is none of that name.
    pub org: Option<String>,
}

/// An account as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRow {
    /// Account number.
    pub id: u64,
    /// Login name.
    pub username: String,
    /// Name shown to people.
    pub name: String,
    /// Mail address, may be empty.
    pub email: String,
    /// `user`, `staff` or `superuser`.
    pub role: String,
    /// Whether it is refused everywhere.
    pub disabled: bool,
    /// Whether the natural-language graph feature is on.
    pub graph_language: bool,
    /// Organizations besides the personal one.
    pub orgs: Vec<String>,
}

/// What is to change about an account; what is absent stays.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UserChange {
    /// Name shown to people; an empty one is the login name again.
    pub name: Option<String>,
    /// Mail address.
    pub email: Option<String>,
    /// `user`, `staff` or `superuser` (also `admin`). A link guest becomes an ordinary account by it.
    pub role: Option<String>,
    /// Whether it is refused everywhere. Ends its tokens, too.
    pub disabled: Option<bool>,
    /// The natural-language graph feature.
    pub graph_language: Option<bool>,
    /// An organization to join.
    pub org: Option<String>,
}

/// A personal key as lists show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    /// Public half.
    pub key_id: String,
    /// Whose it is.
    pub username: String,
    /// What its owner called it.
    pub label: String,
    /// ISO 8601.
    pub created_at: String,
    /// Whether it is refused.
    pub revoked: bool,
}

impl Admin {
    /// Opens the data folder, making it when absent.
    ///
    /// # Errors
    /// A folder that a running server or another command holds.
    pub fn open(data_dir: &Path, clock: Arc<dyn Clock>) -> Result<Self, IdentityError> {
        Ok(Self { store: Store::open(data_dir, Options::with_clock(clock).existing())? })
    }

    /// The same for commands that only read: nothing in the folder changes.
    ///
    /// # Errors
    /// As [`Self::open`]; no room for a copy of the record store, in which it is read.
    pub fn open_to_read(data_dir: &Path, clock: Arc<dyn Clock>) -> Result<Self, IdentityError> {
        let options = Options::with_clock(clock).only_reading();
        Ok(Self { store: Store::open(data_dir, options)? })
    }

    /// The same, and makes the folder when it is absent or empty; the second is whether it was made.
    ///
    /// # Errors
    /// As [`Self::open`]; a folder that holds other things.
    pub fn open_or_make(
        data_dir: &Path,
        clock: Arc<dyn Clock>,
    ) -> Result<(Self, bool), IdentityError> {
        let store = Store::open(data_dir, Options::with_clock(clock))?;
        let is_new = *store.opened() == Opened::Fresh;
        Ok((Self { store }, is_new))
    }

    /// The same for a store that is open already.
    #[must_use]
    pub fn of(store: &Store) -> Self {
        Self { store: store.clone() }
    }

    /// The store, for commands on the folder as a whole.
    #[must_use]
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// Makes an account.
    ///
    /// # Errors
    /// A name or address that is impossible or taken, an unknown role, an impossible password.
    pub fn add_user(&self, new: NewUser) -> Result<UserRow, IdentityError> {
        let role = role(&new.role)?;
        accounts::check_name("username", &new.username)?;
        if accounts::by_name(&self.store, &new.username)?.is_some() {
            return Err(IdentityError::Conflict(format!(
                "username {:?} is taken; choose another one",
                new.username
            )));
        }
        let account = NewAccount {
            password_hash: password::hash(&new.password)?,
            username: new.username,
            name: accounts::shown_name(new.name.as_deref().unwrap_or_default())?,
            email: new.email,
            role,
            org: new.org,
        };
        accounts::add(&self.store, account).map(row)
    }

    /// Every account, by number.
    ///
    /// # Errors
    /// A store that cannot be read.
    pub fn list_users(&self) -> Result<Vec<UserRow>, IdentityError> {
        self.store.scan::<UserRec>().map(|u| Ok(row(u?))).collect()
    }

    /// Changes an account.
    ///
    /// # Errors
    /// [`IdentityError::NotFound`]; an impossible value; the loss of the last superuser.
    pub fn set_user(&self, username: &str, change: UserChange) -> Result<UserRow, IdentityError> {
        let role = change.role.as_deref().map(role).transpose()?;
        let name = change.name.as_deref().map(accounts::shown_name).transpose()?;
        let edit = |u: &mut UserRec| {
            if let Some(name) = &name {
                u.name.clone_from(name);
            }
            if let Some(email) = &change.email {
                u.email.clone_from(email);
            }
            if let Some(role) = role {
                u.role = role;
                // An account that is given a role is no guest of a link any more.
                u.only_dataset = None;
            }
            u.graph_language = change.graph_language.unwrap_or(u.graph_language);
            if let Some(disabled) = change.disabled {
                // Tokens of the time before must not come back to life with the account.
                u.token_epoch += u64::from(disabled && !u.disabled);
                u.disabled = disabled;
            }
        };
        let user = accounts::change(&self.store, username, change.org.as_deref(), edit)?;
        tracing::info!(target: "audit", event = "user-changed", user = user.id.0);
        Ok(row(user))
    }

    /// Sets a password and ends every token that was given out before.
    ///
    /// # Errors
    /// [`IdentityError::NotFound`], or an impossible password.
    pub fn set_password(&self, username: &str, password: &str) -> Result<(), IdentityError> {
        accounts::expect_name(&self.store, username)?;
        let hash = password::hash(password)?;
        let user = accounts::change(&self.store, username, None, |u| {
            u.password_hash = Some(hash.clone());
            u.token_epoch += 1;
        })?;
        first_password::forget_of(&user, self.store.dir());
        tracing::info!(target: "audit", event = "password-changed", user = user.id.0);
        Ok(())
    }

    /// Makes a personal key and gives its id and its secret, which is shown this once.
    ///
    /// # Errors
    /// [`IdentityError::NotFound`].
    pub fn create_key(
        &self,
        username: &str,
        label: &str,
    ) -> Result<(String, String), IdentityError> {
        let user = accounts::expect_name(&self.store, username)?;
        keys::create(&self.store, user.id, label)
    }

    /// The keys of one account, or of all, newest first.
    ///
    /// # Errors
    /// [`IdentityError::NotFound`].
    pub fn list_keys(&self, username: Option<&str>) -> Result<Vec<KeyRow>, IdentityError> {
        let scope = match username {
            None => Scope::All,
            Some(name) => Scope::Owner(accounts::expect_name(&self.store, name)?.id),
        };
        let (mut out, mut offset) = (Vec::new(), 0);
        loop {
            let page = self.store.list::<KeyRec>(
                std::slice::from_ref(&scope),
                offset,
                graphlume_types::limits::PAGE_ROWS_MAX,
            )?;
            offset += graphlume_types::limits::PAGE_ROWS_MAX;
            for key in page.items {
                let owner = self.store.get::<UserRec>(&key.user)?;
                out.push(KeyRow {
                    key_id: key.key_id.0,
                    username: owner.map(|u| u.username).unwrap_or_default(),
                    label: key.label,
                    created_at: iso8601(key.created_at),
                    revoked: key.revoked_at.is_some(),
                });
            }
            if offset >= page.total {
                return Ok(out);
            }
        }
    }

    /// Ends a key for good.
    ///
    /// # Errors
    /// [`IdentityError::NotFound`].
    pub fn revoke_key(&self, key_id: &str) -> Result<(), IdentityError> {
        keys::revoke(&self.store, key_id).map(|_| ())
    }
}

fn row(u: UserRec) -> UserRow {
    UserRow {
        id: u.id.0,
        name: u.shown_name().to_owned(),
        username: u.username,
        email: u.email,
        role: role_name(u.role).to_owned(),
        disabled: u.disabled,
        graph_language: u.graph_language,
        orgs: u.orgs,
    }
}
