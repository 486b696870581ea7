//! The one place that decides who may do what. What is not written down here is refused.

use graphlume_storage::{DatasetHead, DatasetRec, FileHead, PrivacyMode, Role};
use graphlume_types::{DatasetId, UserId};

use crate::error::IdentityError;
use crate::principal::Principal;

/// What a caller wants to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Look at it.
    Read,
    /// Change it.
    Write,
    /// Remove it for good.
    Delete,
    /// Run the layout of a shared picture, pin its nodes and change its settings.
    Control,
    /// Paint collections in it, as agents do for the person who has it open.
    Paint,
    /// Make a dataset of a file as it is now. A caller who may only see a dataset that holds tables of it makes datasets
    /// of those tables, which is reading that dataset.
    Cite,
    /// Decide who else may look at it or change it.
    Share,
}

/// What decides about the rights to a dataset: its record, or the head that the store keeps beside it.
pub trait Guarded: std::fmt::Debug {
    /// The dataset.
    fn id(&self) -> DatasetId;
    /// Its author.
    fn author(&self) -> UserId;
    /// The organization that it is placed in.
    fn org(&self) -> Option<&str>;
    /// Who may see it; absent until sharing is set.
    fn mode(&self) -> Option<PrivacyMode>;
    /// What those may do that the mode lets in.
    fn mode_level(&self) -> Option<u32>;
    /// The level of the invitation to the account with the mail address `email` (lower case).
    fn invited_level(&self, email: &str) -> Option<u32>;
}

impl Guarded for DatasetRec {
    fn id(&self) -> DatasetId {
        self.dataset_id
    }

    fn author(&self) -> UserId {
        self.author
    }

    fn org(&self) -> Option<&str> {
        self.org_name.as_deref()
    }

    fn mode(&self) -> Option<PrivacyMode> {
        self.privacy.as_ref().map(|p| p.mode)
    }

    fn mode_level(&self) -> Option<u32> {
        level(&self.privacy.as_ref()?.mode_action)
    }

    fn invited_level(&self, email: &str) -> Option<u32> {
        let invited = self.privacy.as_ref()?.invited_users.iter();
        invited.filter(|i| i.email == email).filter_map(|i| level(&i.action)).max()
    }
}

impl Guarded for DatasetHead {
    fn id(&self) -> DatasetId {
        self.dataset_id
    }

    fn author(&self) -> UserId {
        self.author
    }

    fn org(&self) -> Option<&str> {
        self.org_name.as_deref()
    }

    fn mode(&self) -> Option<PrivacyMode> {
        self.mode
    }

    fn mode_level(&self) -> Option<u32> {
        level(&self.mode_action)
    }

    fn invited_level(&self, email: &str) -> Option<u32> {
        self.invited(email).and_then(level)
    }
}

/// What it is wanted on.
#[derive(Debug, Clone, Copy)]
pub enum Resource<'a> {
    /// An uploaded file.
    File(&'a FileHead, Held),
    /// A dataset.
    Dataset(&'a dyn Guarded),
    /// A dataset that ships with the server.
    Builtin,
    /// A viz session (whether the dataset behind it may be seen is asked for on its own).
    Session {
        /// Who has it open, when that is an account.
        owner: Option<UserId>,
        /// What it shows, unless that ships with the server.
        dataset: Option<&'a dyn Guarded>,
        /// Whether the caller's page is the one that came first.
        holds_key: bool,
    },
}

/// What the datasets that hold a file say about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Held {
    /// A private dataset of the file's author holds it, so the organization does not see it.
    pub privately: bool,
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
        return of_guest(who, only, action, resource);
    }
    if let Resource::Session { owner, dataset, holds_key } = resource
        && let Action::Control | Action::Paint = action
    {
        let owns = owner.is_some() && owner == who.user();
        let edits = || {
            dataset.is_some_and(|d| {
                decides(who, Action::Write, Resource::Dataset(d)) == Decision::Allow
            })
        };
        // What is painted is in the name of the owner, whatever the role of the others.
        // The first page of a session without an owner gets a key that controls it. Once an account owns the session,
        // the key opens nothing.
        let holds_key = holds_key && owner.is_none();
        let may = owns || action == Action::Control && (holds_key || edits());
        return if may { Decision::Allow } else { Decision::Forbid };
    }
    if let Resource::Builtin = resource {
        return if action == Action::Read { Decision::Allow } else { Decision::Forbid };
    }
    // Staff let people in and out; what belongs to others is theirs no more than any other account's.
    if who.role() == Some(Role::Superuser) {
        return Decision::Allow;
    }
    let (may_read, may_act) = match resource {
        Resource::File(f, held) => {
            let owns = who.user() == Some(f.author);
            let shares = who.belongs_to(f.org_name.as_deref()) && !held.privately;
            (owns || shares, owns)
        }
        Resource::Session { owner, .. } => {
            let owns = owner.is_some() && who.user() == owner;
            (owns, owns)
        }
        Resource::Dataset(d) => (reads_dataset(who, d), acts_on_dataset(who, d, action)),
        Resource::Builtin => (true, false),
    };
    match (action, may_read, may_act) {
        (Action::Read | Action::Cite, true, _) | (_, true, true) => Decision::Allow,
        (_, true, false) => Decision::Forbid,
        (_, false, _) => Decision::Hide,
    }
}

/// A link guest looks at one dataset, whatever its privacy, and at nothing else.
fn of_guest(who: &Principal, only: DatasetId, action: Action, resource: Resource<'_>) -> Decision {
    match (resource, action) {
        (Resource::Session { owner, holds_key, .. }, Action::Control) => {
            let owns = owner.is_some() && owner == who.session_owner();
            if owns || holds_key && owner.is_none() { Decision::Allow } else { Decision::Forbid }
        }
        (Resource::Dataset(d), Action::Read) if d.id() == only => Decision::Allow,
        (Resource::Dataset(d), _) if d.id() == only => Decision::Forbid,
        _ => Decision::Hide,
    }
}

/// [`decides`] as a result: `Forbid` and `Hide` become the errors that the caller sees.
///
/// # Errors
/// [`IdentityError::Forbidden`], [`IdentityError::NotFound`].
pub fn require(
    who: &Principal,
    action: Action,
    resource: Resource<'_>,
    kind: &'static str,
    id: impl std::fmt::Display,
) -> Result<(), IdentityError> {
    match decides(who, action, resource) {
        Decision::Allow => Ok(()),
        refused => {
            tracing::info!(
                target: "audit", event = "refused", user = who.user().map(|u| u.0), ?action, kind, %id
            );
            if refused == Decision::Hide {
                return Err(IdentityError::not_found(kind, id));
            }
            Err(IdentityError::Forbidden(format!(
                "you may look at this {kind} but not change it; ask its author for the right"
            )))
        }
    }
}

/// Whether the caller may look at something because of who it is, and not because it knows the address.
/// A session's name alone leads to nothing else: clients choose such names, so strangers can guess them.
#[must_use]
pub fn reads_without_address(who: &Principal, resource: Resource<'_>) -> bool {
    let Resource::Dataset(d) = resource else { return who.role() == Some(Role::Superuser) };
    if let Some(only) = who.scope() {
        return d.id() == only;
    }
    let is_private = d.mode() == Some(PrivacyMode::Private);
    who.role() == Some(Role::Superuser)
        || is_author(who, d.author())
        || !is_private && who.belongs_to(d.org())
        || invited_level(who, d).is_some()
}

fn reads_dataset(who: &Principal, d: &dyn Guarded) -> bool {
    match d.mode() {
        // Until sharing is set, every caller with the unguessable address may look.
        None | Some(PrivacyMode::Public) => true,
        Some(mode) => {
            is_author(who, d.author())
                || who.belongs_to(d.org()) && mode == PrivacyMode::Organization
                || invited_level(who, d).is_some()
        }
    }
}

fn acts_on_dataset(who: &Principal, d: &dyn Guarded, action: Action) -> bool {
    if is_author(who, d.author()) {
        return true;
    }
    let needed = match action {
        Action::Read | Action::Cite => 10,
        Action::Write | Action::Delete | Action::Control | Action::Paint => 20,
        Action::Share => 30,
    };
    let by_mode = match d.mode() {
        Some(PrivacyMode::Organization) if who.belongs_to(d.org()) => d.mode_level(),
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

fn invited_level(who: &Principal, d: &dyn Guarded) -> Option<u32> {
    let email = who.email().filter(|e| !e.is_empty())?.to_lowercase();
    d.invited_level(&email)
}
