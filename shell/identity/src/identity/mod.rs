//! The use cases of identity: signing in and out, tokens, personal keys, login links.

mod links;
mod login;
pub(crate) mod login_sessions;
mod logout;
mod own_account;
mod sign_in;

use std::path::Path;
use std::sync::Arc;

use graphlume_storage::Store;
use graphlume_types::Clock;
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::browser::Browsers;
use crate::damage::Damage;
use crate::error::IdentityError;
use crate::jwt::Tokens;
use crate::orgs::{self, TokenOrgs};
use crate::password::HashGate;
use crate::principal::Principal;
use crate::refusals::LoginRefusals;
use crate::signing_key::SigningKey;
use crate::throttle::Throttle;

pub use links::{LinkLogin, LinkOrder, LinkSettings};
pub use sign_in::{Caller, SignedIn};

/// The records and the clock that decide whether a credential is in force.
pub(crate) struct Records {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
}

/// Accounts and everything that lets a caller in.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use graphlume_identity::{Identity, IdentityError, LinkSettings};
/// use graphlume_storage::{Options, Store};
/// use graphlume_types::SystemClock;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let store = Store::open(folder.path(), Options::default())?;
/// let identity = Identity::open(&store, Arc::new(SystemClock), LinkSettings::default())?;
/// assert!(matches!(identity.authenticate("no token"), Err(IdentityError::TokenInvalid)));
/// # Ok(())
/// # }
/// ```
pub struct Identity {
    records: Arc<Records>,
    tokens: Tokens,
    gate: HashGate,
    throttle: Throttle,
    browsers: Browsers,
    token_orgs: Arc<TokenOrgs>,
    refusals: LoginRefusals,
    damage: Damage,
    link_settings: LinkSettings,
    /// Changes whenever an account may have lost a right.
    access: watch::Sender<u64>,
    /// The key of this start, from which others are derived.
    key: SigningKey,
}

impl Identity {
    /// Reads the keys of the data folder, and ends every credential that is older than damage of the records. `clock` is
    /// the one that credentials end by, which need not be the store's. Blocks.
    ///
    /// # Errors
    /// A key that is exposed or cannot be written; a store that does not answer.
    pub fn open(
        store: &Store,
        clock: Arc<dyn Clock>,
        link_settings: LinkSettings,
    ) -> Result<Self, IdentityError> {
        // Before the key of tokens is read, which damage replaces.
        let damage = Damage::at_start(store)?;
        let data_dir = store.dir();
        let key = SigningKey::load_or_create(data_dir)?;
        let tokens = Tokens::new(&key)?;
        tokens.use_keys(&key, SigningKey::old(data_dir).as_ref());
        Ok(Self {
            tokens,
            gate: HashGate::new(),
            throttle: Throttle::new(),
            browsers: Browsers::new(&key),
            token_orgs: Arc::new(TokenOrgs::of(store)),
            refusals: LoginRefusals::default(),
            damage,
            link_settings,
            access: watch::Sender::new(0),
            records: Arc::new(Records { store: store.clone(), clock }),
            key,
        })
    }

    /// A key of its own for `context`, made from the server's: what is proved with it proves nothing elsewhere.
    #[must_use]
    pub fn derive_key(&self, context: &str) -> [u8; 32] {
        blake3::derive_key(context, self.key.as_bytes())
    }

    /// Goes on with the keys that a rotation left in the data folder.
    ///
    /// # Errors
    /// A key that cannot be read.
    pub fn use_rotated_key(&self) -> Result<(), IdentityError> {
        let data_dir: &Path = self.records.store.dir();
        let key = SigningKey::load_or_create(data_dir)?;
        self.tokens.use_keys(&key, SigningKey::old(data_dir).as_ref());
        Ok(())
    }

    /// A turn to hash a password, among those of logins: for commands of the operator that set one.
    ///
    /// # Errors
    /// [`IdentityError::Busy`] when too many wait.
    pub async fn password_turn(&self) -> Result<OwnedSemaphorePermit, IdentityError> {
        self.gate.enter().await
    }

    /// Changes whenever an account may have lost the right to watch something. A route that streams to viewers
    /// asks again then whether they may.
    #[must_use]
    pub fn access_changes(&self) -> watch::Receiver<u64> {
        self.access.subscribe()
    }

    /// How often [`Identity::access_changes`] has told of a change.
    #[must_use]
    pub fn access_version(&self) -> u64 {
        *self.access.borrow()
    }

    /// Refuses a caller who was logged out since [`Identity::access_version`] was `since`.
    ///
    /// # Errors
    /// [`IdentityError::TokenInvalid`].
    pub fn require_access_since(&self, who: &Principal, since: u64) -> Result<(), IdentityError> {
        if self.access_version() == since { Ok(()) } else { self.require_in_force(who) }
    }

    /// Tells [`Identity::access_changes`].
    pub fn access_changed(&self) {
        self.access.send_modify(|n| *n = n.wrapping_add(1));
    }

    /// Refuses every sign-in while accounts may be open that had been closed, because records were lost.
    ///
    /// # Errors
    /// [`IdentityError::Forbidden`].
    pub fn require_confirmed_accounts(&self) -> Result<(), IdentityError> {
        self.damage.check()
    }

    /// How often records were lost without the operator having confirmed the accounts since.
    #[must_use]
    pub fn damage_unconfirmed(&self) -> usize {
        self.damage.count()
    }

    /// Reads again which damage the operator has confirmed the accounts after.
    ///
    /// # Errors
    /// The setting cannot be read.
    pub fn look_at_damage(&self) -> Result<(), IdentityError> {
        self.damage.look(&self.records.store)
    }

    /// How often passwords, keys and login links were refused since the start, by the reason.
    pub fn login_refusals(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.refusals.counts()
    }

    /// Removes the login links whose time on record is over. Blocks.
    ///
    /// # Errors
    /// The first failure of the store; the others are removed all the same.
    pub fn forget_old_links(&self) -> Result<(), IdentityError> {
        links::forget_old(&self.records)
    }

    /// Removes the login sessions that are over, and what is remembered of tokens that are. Blocks.
    ///
    /// # Errors
    /// The first failure of the store; the others are removed all the same.
    pub fn forget_old_logins(&self) -> Result<(), IdentityError> {
        let logins = login_sessions::forget_old(&self.records);
        let Records { store, clock } = &*self.records;
        logins.and(orgs::forget_old(store, clock.unix_secs()))
    }

    /// Runs blocking `work` on a thread that may block.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Records) -> Result<T, IdentityError> + Send + 'static,
    ) -> Result<T, IdentityError> {
        let records = Arc::clone(&self.records);
        let outcome = tokio::task::spawn_blocking(move || work(&records)).await;
        outcome.unwrap_or_else(|e| {
            tracing::error!(error = %e, "a task failed");
            Err(IdentityError::Internal("a task of the server failed".to_owned()))
        })
    }
}
