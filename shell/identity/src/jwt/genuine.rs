//! Tokens that were found genuine.

use std::collections::HashMap;

use graphlume_types::limits::TOKENS_KNOWN_MAX;
use parking_lot::Mutex;

use super::Claims;

/// Claims by the BLAKE3 hash of the whole token, signature included: no token can be read out of it, and how
/// long a look takes says nothing about the tokens in it. Only tokens that passed get in.
#[derive(Default)]
pub(crate) struct Genuine(Mutex<HashMap<[u8; 32], Claims>>);

impl Genuine {
    /// The claims of a token that was added.
    pub(crate) fn get(&self, token: &str) -> Option<Claims> {
        self.0.lock().get(blake3::hash(token.as_bytes()).as_bytes()).cloned()
    }

    /// Forgets all of them.
    pub(crate) fn forget(&self) {
        self.0.lock().clear();
    }

    /// Remembers a token. A full table forgets the expired ones, or else all.
    pub(crate) fn add(&self, token: &str, claims: &Claims, now: i64) {
        let mut map = self.0.lock();
        if map.len() >= TOKENS_KNOWN_MAX {
            map.retain(|_, claims| claims.exp > now);
        }
        if map.len() >= TOKENS_KNOWN_MAX {
            map.clear();
        }
        map.insert(*blake3::hash(token.as_bytes()).as_bytes(), claims.clone());
    }
}
