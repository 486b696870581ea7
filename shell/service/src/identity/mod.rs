//! Accounts, passwords, personal keys, tokens, login links and sessions, organizations.

pub(crate) mod accounts;
pub(crate) mod browser;
pub(crate) mod first_password;
pub(crate) mod genuine;
pub(crate) mod jwt;
pub(crate) mod keys;
pub(crate) mod links;
pub(crate) mod login;
pub(crate) mod logins;
pub(crate) mod logout;
pub(crate) mod orgs;
pub(crate) mod own;
pub(crate) mod password;
pub(crate) mod removal;
pub(crate) mod secret;
pub(crate) mod sign_in;
pub(crate) mod signing_key;
pub(crate) mod throttle;

use std::path::Path;
use std::sync::Arc;

use graphlume_storage::Store;
use graphlume_types::SessionId;

use crate::ServiceError;
use crate::figures::LoginRefusals;
use crate::steering::SteeringKeys;
use browser::Browsers;
use orgs::TokenOrgs;
use password::HashGate;
use signing_key::SigningKey;
use throttle::Throttle;

/// What the use cases of identity share.
pub(crate) struct Identity {
    pub tokens: jwt::Tokens,
    pub gate: HashGate,
    pub throttle: Throttle,
    pub browsers: Browsers,
    pub steering: SteeringKeys,
    pub token_orgs: Arc<TokenOrgs>,
    pub refusals: LoginRefusals,
}

impl Identity {
    pub(crate) fn open(store: &Store) -> Result<Self, ServiceError> {
        let data_dir = store.dir();
        let key = SigningKey::load_or_create(data_dir)?;
        let tokens = jwt::Tokens::new(&key)?;
        tokens.use_keys(&key, SigningKey::old(data_dir).as_ref());
        Ok(Self {
            tokens,
            gate: HashGate::new(),
            throttle: Throttle::new(),
            browsers: Browsers::new(&key),
            steering: SteeringKeys::new(&key),
            token_orgs: Arc::new(TokenOrgs::of(store)),
            refusals: LoginRefusals::default(),
        })
    }
}

impl Identity {
    /// Goes on with the keys that a rotation left in the data folder.
    pub(crate) fn take_rotated(&self, data_dir: &Path) -> Result<(), ServiceError> {
        let key = SigningKey::load_or_create(data_dir)?;
        self.tokens.use_keys(&key, SigningKey::old(data_dir).as_ref());
        Ok(())
    }
}

/// A random text of 128 bits for places where people see it once, such as a first password.
pub(crate) fn random_text() -> String {
    SessionId::random().as_str().to_owned()
}
