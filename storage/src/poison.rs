//! After a failed sync nobody knows what the device holds (Linux drops the dirty pages and reports the
//! error once), so the store stops acknowledging for good and the process has to start again.

use std::sync::{Arc, OnceLock};

use crate::error::StoreError;

#[derive(Debug, Default)]
pub(crate) struct Poison(OnceLock<Arc<str>>);

impl Poison {
    /// Stops all acknowledgements. The first reason stays.
    pub fn set(&self, action: &str, cause: &dyn std::fmt::Display) {
        let reason: Arc<str> = format!("could not {action}: {cause}").into();
        if self.0.set(Arc::clone(&reason)).is_ok() {
            tracing::error!(reason = &*reason, "the store stops taking writes");
        }
    }

    /// # Errors
    /// `Poisoned` once set.
    pub fn check(&self) -> Result<(), StoreError> {
        self.reason().map_or(Ok(()), |r| Err(StoreError::Poisoned(r)))
    }

    pub fn reason(&self) -> Option<Arc<str>> {
        self.0.get().map(Arc::clone)
    }
}
