//! The one place that decides who may do what. What is not written down here is refused.

use graphlume_storage::{DatasetRec, FileRec, PrivacyMode, Role};
use graphlume_types::{DatasetId, UserId};

use crate::ServiceError;
use crate::principal::Principal;

/// What somebody wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Look at it.
    Read,
    /// Change it.
    Write,
    /// Remove it for good.
    Delete,
    /// Change what everybody sees who looks at it.
    Steer,
    /// Decide who else may look at it or change it.
    Share,
}

/// What it is wanted on.
#[derive(Debug, Clone, Copy)]
pub enum Resource<'a> {
    /// An uploaded file.
    File(&'a FileRec),
    /// A dataset.
    Dataset(&'a DatasetRec),
    /// A dataset that ships with the server.
    Builtin,
    /// A viz session (the dataset behind it is asked for on its own).
    Session {
        /// Who has it open, when that is an account.
        owner: Option<UserId>,
    },
}

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Yes.
    Allow,
    /// No, and the caller may know that the thing exists.
    Forbid,
    /// No, and to the caller the thing is not there.
    Hide,
}

/// Decides. Strangers cannot tell *not yours* from *not there*.
#[must_use]
pub fn decides(who: &Principal, action: Action, resource: Resource<'_>) -> Decision {
    if let Some(only) = who.scope() {
        return of_guest(only, action, resource);
    }
    if let (Resource::Session { owner }, Action::Steer) = (resource, action) {
        // Nobody's hand but the owner's is on the wheel, whatever the role.
        let owns = owner.is_some() && owner == who.user();
        return if owns { Decision::Allow } else { Decision::Forbid };
    }
    if let Resource::Builtin = resource {
        return if action == Action::Read { Decision::Allow } else { Decision::Forbid };
    }
    if who.role().is_some_and(|r| r != Role::User) {
        return Decision::Allow;
    }
    let (may_read, may_act) = match resource {
        Resource::File(f) => {
            let owns = who.user() == Some(f.author);
            (owns || who.belongs_to(f.org_name.as_deref()), owns)
        }
        Resource::Session { owner } => {
            let owns = owner.is_some() && who.user() == owner;
            (owns, owns)
        }
        Resource::Dataset(d) => (reads_dataset(who, d), acts_on_dataset(who, d, action)),
        Resource::Builtin => (true, false),
    };
    match (action, may_read, may_act) {
        (Action::Read, true, _) | (_, true, true) => Decision::Allow,
        (_, true, false) => Decision::Forbid,
        (_, false, _) => Decision::Hide,
    }
}

/// A link guest looks at one dataset, whatever its privacy, and at nothing else.
fn of_guest(only: DatasetId, action: Action, resource: Resource<'_>) -> Decision {
    match (resource, action) {
        (Resource::Dataset(d), Action::Read) if d.dataset_id == only => Decision::Allow,
        (Resource::Dataset(d), _) if d.dataset_id == only => Decision::Forbid,
        _ => Decision::Hide,
    }
}

/// [`decides`] as a result: `Forbid` and `Hide` become the errors that the caller sees.
pub(crate) fn require(
    who: &Principal,
    action: Action,
    resource: Resource<'_>,
    kind: &'static str,
    id: impl std::fmt::Display,
) -> Result<(), ServiceError> {
    match decides(who, action, resource) {
        Decision::Allow => Ok(()),
        refused => {
            tracing::info!(
                target: "audit", event = "refused", user = who.user().map(|u| u.0), ?action, kind, %id
            );
            if refused == Decision::Hide {
                return Err(ServiceError::not_found(kind, id));
            }
            Err(ServiceError::Forbidden(format!(
                "you may look at this {kind} but not change it; ask its author for the right"
            )))
        }
    }
}

fn reads_dataset(who: &Principal, d: &DatasetRec) -> bool {
    let Some(privacy) = &d.privacy else {
        // Until sharing is set, whoever holds the unguessable address may look.
        return true;
    };
    match privacy.mode {
        PrivacyMode::Public => true,
        PrivacyMode::Organization | PrivacyMode::Private => {
            is_author(who, d.author)
                || who.belongs_to(d.org_name.as_deref())
                    && privacy.mode == PrivacyMode::Organization
                || invited_level(who, d).is_some()
        }
    }
}

fn acts_on_dataset(who: &Principal, d: &DatasetRec, action: Action) -> bool {
    if is_author(who, d.author) {
        return true;
    }
    let Some(privacy) = &d.privacy else { return false };
    let needed = match action {
        Action::Read => 10,
        Action::Write | Action::Delete | Action::Steer => 20,
        Action::Share => 30,
    };
    let by_mode = match privacy.mode {
        PrivacyMode::Organization if who.belongs_to(d.org_name.as_deref()) => {
            level(&privacy.mode_action)
        }
        _ => None,
    };
    by_mode.max(invited_level(who, d)).is_some_and(|l| l >= needed)
}

fn is_author(who: &Principal, author: UserId) -> bool {
    who.user() == Some(author)
}

fn level(action: &str) -> Option<u32> {
    action.parse().ok().filter(|l| (10..=30).contains(l))
}

fn invited_level(who: &Principal, d: &DatasetRec) -> Option<u32> {
    let email = who.email().filter(|e| !e.is_empty())?.to_lowercase();
    let invited = d.privacy.as_ref()?.invited_users.iter();
    invited.filter(|i| i.email == email).filter_map(|i| level(&i.action)).max()
}
