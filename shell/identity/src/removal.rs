//! Deleting an account for good. Everything here blocks, save for what a running server does beside it.

use graphlume_storage::{
    Batch, DatasetRec, FileRec, KeyRec, LinkRec, LoginRec, OrgRec, Record, Scope, SessionRec,
    Store, StoreError, UserRec,
};
use graphlume_types::limits::PAGE_ROWS_MAX;
use graphlume_types::{DatasetId, UserId};

use crate::accounts;
use crate::error::IdentityError;
use crate::orgs::default_org;

/// What becomes of the datasets and files of an account that is deleted.
#[derive(Debug, Clone)]
pub enum Estate {
    /// There must be none.
    Absent,
    /// Another account gets them.
    GivenTo(String),
    /// They are deleted, too.
    Deleted,
}

/// What a deletion did.
pub struct Removed {
    /// The account.
    pub user: UserId,
    /// The datasets that were deleted.
    pub datasets: Vec<DatasetId>,
    /// One sentence for the operator.
    pub note: String,
}

/// Deletes an account with every way in. It is disabled before its data are touched, so that nothing is
/// added to them; a deletion that fails in between leaves it so and can be asked for again.
///
/// # Errors
/// [`IdentityError::NotFound`]; [`IdentityError::Conflict`] for data without an heir and for the last superuser; an heir
/// that cannot be one; a store that does not answer.
pub fn remove(store: &Store, username: &str, estate: &Estate) -> Result<Removed, IdentityError> {
    let user = accounts::expect_name(store, username)?;
    let own = [Scope::Owner(user.id)];
    let (sets, files) = (store.count::<DatasetRec>(&own)?, store.count::<FileRec>(&own)?);
    let heir = match estate {
        Estate::Absent if sets + files > 0 => {
            return Err(IdentityError::Conflict(format!(
                "{username} has {sets} datasets and {files} files; --give-to NAME hands them to another account, \
                 --with-data deletes them"
            )));
        }
        Estate::GivenTo(name) => Some(heir(store, &user, name)?),
        Estate::Absent | Estate::Deleted => None,
    };
    accounts::change(store, username, None, |u| {
        u.token_epoch += u64::from(!u.disabled);
        u.disabled = true;
    })?;
    let mut datasets = Vec::new();
    loop {
        match &heir {
            Some(heir) => give(store, &user, heir)?,
            None => {
                each(store, user.id, |d: DatasetRec| {
                    store.commit(Batch::new().delete::<DatasetRec>(&d.dataset_id))?;
                    datasets.push(d.dataset_id);
                    Ok(())
                })?;
                each(store, user.id, |f: FileRec| {
                    Ok(store.commit(Batch::new().delete::<FileRec>(&f.file_id))?)
                })?;
            }
        }
        end_ways_in(store, user.id)?;
        if forget(store, user.id)? {
            break;
        }
    }
    tracing::info!(target: "audit", event = "user-deleted", user = user.id.0, datasets = sets, files);
    let note = match &heir {
        Some(heir) => format!(
            "deleted {username}; {sets} datasets and {files} files belong to {} now",
            heir.username
        ),
        None if sets + files > 0 => {
            format!("deleted {username} with {sets} datasets and {files} files")
        }
        None => format!("deleted {username}"),
    };
    Ok(Removed { user: user.id, datasets, note })
}

/// The account that gets the data.
fn heir(store: &Store, of: &UserRec, name: &str) -> Result<UserRec, IdentityError> {
    let heir = accounts::expect_name(store, name)?;
    let why = if heir.id == of.id {
        "is the account that is to be deleted"
    } else if heir.only_dataset.is_some() {
        "is a guest of a login link"
    } else if heir.disabled {
        "is disabled"
    } else {
        return Ok(heir);
    };
    let text = format!("--give-to {name}: the account {why}; name another one");
    Err(IdentityError::invalid("give-to", text))
}

/// Hands datasets and files over. What lay in the personal organization lies in the heir's own then: a caller who
/// takes the name of the deleted account later must not see it.
fn give(store: &Store, from: &UserRec, heir: &UserRec) -> Result<(), IdentityError> {
    let place = |org: &mut Option<String>| {
        if org.as_deref().is_none_or(|o| o == from.username) {
            *org = Some(default_org(heir).to_owned());
        }
    };
    each(store, from.id, |d: DatasetRec| {
        store.update::<DatasetRec>(&d.dataset_id, |d| {
            d.author = heir.id;
            place(&mut d.org_name);
        })?;
        Ok(())
    })?;
    each(store, from.id, |f: FileRec| {
        store.update::<FileRec>(&f.file_id, |f| {
            f.author = heir.id;
            place(&mut f.org_name);
        })?;
        Ok(())
    })
}

/// Keys, links, login sessions and what is remembered of opened visualizations.
fn end_ways_in(store: &Store, user: UserId) -> Result<(), IdentityError> {
    each(store, user, |k: KeyRec| Ok(store.commit(Batch::new().delete::<KeyRec>(&k.key_id))?))?;
    each(store, user, |l: LinkRec| {
        Ok(store.commit(Batch::new().delete::<LinkRec>(&l.token_sha256))?)
    })?;
    each(store, user, |l: LoginRec| {
        Ok(store.commit(Batch::new().delete::<LoginRec>(&l.secret_sha256))?)
    })?;
    each(store, user, |s: SessionRec| {
        store.commit(Batch::new().delete::<SessionRec>(&s.session_id))?;
        if let Err(e) = store.snapshots().remove(&s.session_id, s.dataset_id) {
            tracing::warn!(error = %e, "kept positions were not removed; the next sweep tries again");
        }
        Ok(())
    })
}

/// Calls `take` with every record of an account; it has to take them out of the account's list.
fn each<R: Record>(
    store: &Store,
    user: UserId,
    mut take: impl FnMut(R) -> Result<(), IdentityError>,
) -> Result<(), IdentityError> {
    loop {
        let page = store.list::<R>(&[Scope::Owner(user)], 0, PAGE_ROWS_MAX)?;
        if page.items.is_empty() && page.damaged > 0 {
            return Err(IdentityError::Conflict(format!(
                "{} damaged {} records of the account are in the way; `graphlume doctor` names them",
                page.damaged,
                R::KIND
            )));
        }
        if page.items.is_empty() {
            return Ok(());
        }
        for item in page.items {
            take(item)?;
        }
    }
}

/// Deletes the account itself and its memberships; false when something of its was added meanwhile.
fn forget(store: &Store, id: UserId) -> Result<bool, IdentityError> {
    loop {
        let Some((user, tag)) = store.get_tagged::<UserRec>(&id)? else { return Ok(true) };
        let own = [Scope::Owner(id)];
        if store.count::<DatasetRec>(&own)? + store.count::<FileRec>(&own)? > 0 {
            return Ok(false);
        }
        let mut batch = Batch::new().delete_if::<UserRec>(&id, tag);
        for slug in &user.orgs {
            if let Some((mut org, tag)) = store.get_tagged::<OrgRec>(slug)? {
                org.members.retain(|m| m.user != id);
                batch = batch.replace(&org, tag);
            }
        }
        match store.commit(batch) {
            Ok(()) => return Ok(true),
            Err(StoreError::Changed { .. }) => {}
            Err(e) => return Err(e.into()),
        }
    }
}
