//! Principals: the callers of a request, with their rights.

use std::sync::Arc;

use graphlume_storage::{Role, SecretDigest, UserRec};
use graphlume_types::{DatasetId, KeyId, UserId};

/// A caller whose credential was checked, or an anonymous one. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub struct Principal(Option<Arc<Account>>);

#[derive(Debug)]
struct Account {
    user: UserId,
    username: String,
    email: String,
    role: Role,
    orgs: Vec<String>,
    active_org: String,
    graph_language: bool,
    epoch: u64,
    jti: String,
    expires_at: i64,
    scope: Option<DatasetId>,
    key: Option<KeyId>,
    login: Option<SecretDigest>,
    is_guest: bool,
}

/// What the token adds to the account.
pub(crate) struct Grant {
    pub jti: String,
    pub expires_at: i64,
    pub active_org: String,
    pub scope: Option<DatasetId>,
    /// The personal key that the credential was made with.
    pub key: Option<KeyId>,
    /// The login session that the credential is, or was given with.
    pub login: Option<SecretDigest>,
}

impl Principal {
    /// An anonymous caller.
    #[must_use]
    pub const fn anonymous() -> Self {
        Self(None)
    }

    /// A login with a scope has nothing of the account but its name: neither role nor organizations nor
    /// the invitations that come with its address.
    pub(crate) fn new(user: UserRec, grant: Grant) -> Self {
        let is_guest = user.only_dataset.is_some();
        let scope = grant.scope.or(user.only_dataset);
        let (role, email, orgs) = match scope {
            None => (user.role, user.email, user.orgs),
            Some(_) => (Role::User, String::new(), Vec::new()),
        };
        Self(Some(Arc::new(Account {
            user: user.id,
            username: user.username,
            email,
            role,
            orgs,
            active_org: grant.active_org,
            graph_language: user.graph_language,
            epoch: user.token_epoch,
            jti: grant.jti,
            expires_at: grant.expires_at,
            scope,
            key: grant.key,
            login: grant.login,
            is_guest,
        })))
    }

    /// Whether there is no credential.
    #[must_use]
    pub const fn is_anonymous(&self) -> bool {
        self.0.is_none()
    }

    /// The account.
    #[must_use]
    pub fn user(&self) -> Option<UserId> {
        self.0.as_ref().map(|a| a.user)
    }

    /// Whose the sessions are that the caller opens. A login with a scope under the name of an ordinary
    /// account opens no other account's: it must neither see nor crowd out what that account has open.
    #[must_use]
    pub fn session_owner(&self) -> Option<UserId> {
        self.0.as_ref().filter(|a| a.scope.is_none() || a.is_guest).map(|a| a.user)
    }

    /// The account's login name.
    #[must_use]
    pub fn username(&self) -> Option<&str> {
        self.0.as_ref().map(|a| a.username.as_str())
    }

    pub(crate) fn email(&self) -> Option<&str> {
        self.0.as_ref().map(|a| a.email.as_str())
    }

    /// The account's role.
    #[must_use]
    pub fn role(&self) -> Option<Role> {
        self.0.as_ref().map(|a| a.role)
    }

    /// Whether the account may see what belongs to others.
    #[must_use]
    pub fn is_admin(&self) -> bool {
        self.role().is_some_and(|r| r != Role::User)
    }

    /// Whether the natural-language graph feature is on for the account.
    #[must_use]
    pub fn may_use_graph_language(&self) -> bool {
        self.0.as_ref().is_some_and(|a| a.graph_language)
    }

    /// Second since 1970 at which the credential ends; live connections end then, too.
    #[must_use]
    pub fn expires_at(&self) -> Option<i64> {
        self.0.as_ref().map(|a| a.expires_at)
    }

    /// For a link guest: the only dataset that it may see.
    #[must_use]
    pub fn scope(&self) -> Option<DatasetId> {
        self.0.as_ref().and_then(|a| a.scope)
    }

    /// The organization that new objects go to when the request names none.
    #[must_use]
    pub fn active_org(&self) -> Option<&str> {
        self.0.as_ref().map(|a| a.active_org.as_str())
    }

    /// The organizations other than the personal one.
    #[must_use]
    pub fn orgs(&self) -> &[String] {
        self.0.as_ref().map_or(&[], |a| &a.orgs)
    }

    pub(crate) fn jti(&self) -> Option<&str> {
        self.0.as_ref().map(|a| a.jti.as_str())
    }

    /// The personal key that the credential is, or was made with.
    pub(crate) fn key(&self) -> Option<&KeyId> {
        self.0.as_ref().and_then(|a| a.key.as_ref())
    }

    /// The login session of a browser that the credential is, or was given with.
    pub(crate) fn login(&self) -> Option<&SecretDigest> {
        self.0.as_ref().and_then(|a| a.login.as_ref())
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.0.as_ref().map_or(0, |a| a.epoch)
    }

    /// Whether the caller is a member of `org`; the personal one is called like the account.
    #[must_use]
    pub fn belongs_to(&self, org: Option<&str>) -> bool {
        let (Some(a), Some(org)) = (&self.0, org) else { return false };
        if a.scope.is_some() {
            return false;
        }
        a.username == org || a.orgs.iter().any(|o| o == org)
    }
}
