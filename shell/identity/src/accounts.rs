//! Accounts and organizations in the store. Everything here blocks.

use graphlume_storage::record::USERNAME;
use graphlume_storage::{Batch, Member, OrgRec, PasswordHash, Role, Store, StoreError, UserRec};
use graphlume_types::limits::{NAME_CHARS_MAX, USERNAME_CHARS_MAX};
use graphlume_types::{DatasetId, UserId};

use crate::error::IdentityError;

/// The name of the account that the first start makes.
pub const FIRST_USERNAME: &str = "admin";

/// An account that is to be made.
pub(crate) struct NewAccount {
    pub username: String,
    pub password_hash: PasswordHash,
    pub name: String,
    pub email: String,
    pub role: Role,
    pub org: Option<String>,
}

/// Refuses names that would not survive in an address or in a list.
pub(crate) fn check_name(field: &'static str, name: &str) -> Result<(), IdentityError> {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@' | '+');
    let fits = (1..=USERNAME_CHARS_MAX).contains(&name.len()) && name.chars().all(legal);
    // Two names of a path mean other things.
    if !fits || matches!(name, "." | "..") {
        let shown: String = name.chars().take(40).collect();
        return Err(IdentityError::invalid(
            field,
            format!(
                "{field} {shown:?} is not possible; use 1 to {USERNAME_CHARS_MAX} letters, digits \
                 and . _ - @ +"
            ),
        ));
    }
    Ok(())
}

pub(crate) fn check_email(email: &str) -> Result<(), IdentityError> {
    let plausible = email.split_once('@').is_some_and(|(a, b)| !a.is_empty() && !b.is_empty());
    let clean = !email.contains(|c: char| c.is_whitespace() || c.is_control());
    if email.is_empty() || plausible && clean && email.chars().count() <= NAME_CHARS_MAX {
        return Ok(());
    }
    Err(IdentityError::invalid(
        "email",
        "email is not a mail address; send one such as a@example.org",
    ))
}

/// A name shown to people, without space around it; empty is none.
pub(crate) fn shown_name(name: &str) -> Result<String, IdentityError> {
    let name = name.trim();
    if name.chars().count() <= USERNAME_CHARS_MAX && !name.contains(char::is_control) {
        return Ok(name.to_owned());
    }
    let shown: String = name.chars().take(40).collect();
    Err(IdentityError::invalid(
        "name",
        format!(
            "name {shown:?} is not possible; use up to {USERNAME_CHARS_MAX} characters in one line"
        ),
    ))
}

pub(crate) fn by_name(store: &Store, username: &str) -> Result<Option<UserRec>, IdentityError> {
    Ok(store.find::<UserRec>(USERNAME, username)?)
}

/// [`by_name`] where the account must exist.
pub(crate) fn expect_name(store: &Store, username: &str) -> Result<UserRec, IdentityError> {
    by_name(store, username)?.ok_or_else(|| IdentityError::not_found("user", username))
}

/// An account without rights, way in or anything else, not yet in the store.
fn blank(store: &Store, username: &str) -> Result<UserRec, IdentityError> {
    check_name("username", username)?;
    if store.exists::<OrgRec>(&username.to_owned())? {
        return Err(IdentityError::Conflict(format!(
            "username {username:?} is the name of an organization; choose another one"
        )));
    }
    let now = store.clock().unix_micros();
    Ok(UserRec {
        id: store.next_user_id()?,
        username: username.to_owned(),
        email: String::new(),
        name: String::new(),
        role: Role::User,
        password_hash: None,
        disabled: false,
        graph_language: true,
        token_epoch: 0,
        created_at: now,
        updated_at: now,
        last_login_at: None,
        orgs: Vec::new(),
        active_org: None,
        only_dataset: None,
    })
}

/// The account of a link guest, not yet in the store. It has no password, and may see `dataset` alone
/// even where an operator gives it another way in.
pub(crate) fn guest(
    store: &Store,
    username: &str,
    dataset: DatasetId,
) -> Result<UserRec, IdentityError> {
    Ok(UserRec { only_dataset: Some(dataset), ..blank(store, username)? })
}

/// Makes an account. A named organization is made, too, when there is none of that name.
pub(crate) fn add(store: &Store, new: NewAccount) -> Result<UserRec, IdentityError> {
    check_email(&new.email)?;
    loop {
        let mut user = UserRec {
            name: new.name.clone(),
            email: new.email.clone(),
            role: new.role,
            password_hash: Some(new.password_hash.clone()),
            ..blank(store, &new.username)?
        };
        let mut batch = Batch::new();
        if let Some(slug) = &new.org {
            batch = join(store, batch, &mut user, slug)?;
        }
        match store.commit(batch.insert(&user)) {
            Ok(()) => {
                tracing::info!(target: "audit", event = "user-added", user = user.id.0);
                return Ok(user);
            }
            // Another caller took the number, or changed the organization: once more.
            Err(StoreError::Exists { .. } | StoreError::Changed { .. }) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// Adds the account to an organization within `batch` and changes `user` accordingly.
pub(crate) fn join(
    store: &Store,
    batch: Batch,
    user: &mut UserRec,
    slug: &str,
) -> Result<Batch, IdentityError> {
    check_name("org", slug)?;
    if slug == user.username || by_name(store, slug)?.is_some() {
        return Err(IdentityError::Conflict(format!(
            "org {slug:?} is the name of an account; choose another one"
        )));
    }
    if !user.orgs.iter().any(|o| o == slug) {
        user.orgs.push(slug.to_owned());
    }
    let member = Member { user: user.id, admin: false };
    let slug = slug.to_owned();
    match store.get_tagged::<OrgRec>(&slug)? {
        Some((mut org, tag)) => {
            if !org.members.iter().any(|m| m.user == user.id) {
                org.members.push(member);
            }
            Ok(batch.replace(&org, tag))
        }
        None => {
            let created_at = store.clock().unix_micros();
            let name = slug.clone();
            Ok(batch.insert(&OrgRec { slug, name, members: vec![member], created_at }))
        }
    }
}

/// Changes an account until no other writer is in the way. The last enabled superuser cannot be lost.
pub(crate) fn change(
    store: &Store,
    username: &str,
    org: Option<&str>,
    edit: impl Fn(&mut UserRec),
) -> Result<UserRec, IdentityError> {
    loop {
        let id = expect_name(store, username)?.id;
        let Some((mut user, tag)) = store.get_tagged::<UserRec>(&id)? else {
            return Err(IdentityError::not_found("user", username));
        };
        let was_root = is_root(&user);
        edit(&mut user);
        user.updated_at = store.clock().unix_micros();
        check_email(&user.email)?;
        if was_root && !is_root(&user) && !another_root(store, id)? {
            return Err(IdentityError::Conflict(format!(
                "{username} is the only superuser that can log in; make another one first"
            )));
        }
        let mut batch = Batch::new();
        if let Some(slug) = org {
            batch = join(store, batch, &mut user, slug)?;
        }
        match store.commit(batch.replace(&user, tag)) {
            Ok(()) => return Ok(user),
            Err(StoreError::Changed { .. } | StoreError::Exists { .. }) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

fn is_root(user: &UserRec) -> bool {
    user.role == Role::Superuser && !user.disabled
}

fn another_root(store: &Store, but: UserId) -> Result<bool, IdentityError> {
    for user in store.scan::<UserRec>() {
        let user = user?;
        if user.id != but && is_root(&user) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A role from its name on the command line or in a request.
pub(crate) fn role(text: &str) -> Result<Role, IdentityError> {
    match text {
        "user" => Ok(Role::User),
        "staff" => Ok(Role::Staff),
        "superuser" | "admin" => Ok(Role::Superuser),
        other => {
            let shown: String = other.chars().take(40).collect();
            let message = format!("role {shown:?} is unknown; use user, staff or superuser");
            Err(IdentityError::invalid("role", message))
        }
    }
}

/// The name of a role.
pub(crate) const fn role_name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Staff => "staff",
        Role::Superuser => "superuser",
    }
}
