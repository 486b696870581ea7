//! After a failed sync it is unknown what the device holds (Linux drops the dirty pages and reports the
//! error once), so the store stops acknowledging for good and the process has to start again.

use std::sync::{Arc, OnceLock};

use event_listener::Event;

use crate::error::{StoreError, is_shortage};

#[derive(Debug, Default)]
pub(crate) struct Poison {
    reason: OnceLock<Arc<str>>,
    told: Event,
}

impl Poison {
    /// Stops all acknowledgements. The first reason stays.
    pub fn set(&self, action: &str, cause: &dyn std::fmt::Display) {
        let reason: Arc<str> = format!("could not {action}: {cause}").into();
        if self.reason.set(Arc::clone(&reason)).is_ok() {
            self.told.notify(usize::MAX);
            tracing::error!(reason = &*reason, "the store stops taking writes");
        }
    }

    /// As [`Self::set`] for a failed sync, unless the sync was not begun for lack of a file descriptor or of kernel
    /// memory: then what was to be synced is refused, and everything before it stays durable.
    pub fn set_after(&self, action: &str, cause: &std::io::Error) {
        if !is_shortage(cause) {
            self.set(action, cause);
        }
    }

    /// Waits until the store has stopped, and gives the reason.
    pub async fn stopped(&self) -> Arc<str> {
        loop {
            let told = self.told.listen();
            if let Some(reason) = self.reason() {
                return reason;
            }
            told.await;
        }
    }

    /// # Errors
    /// `Poisoned` once set.
    pub fn check(&self) -> Result<(), StoreError> {
        self.reason().map_or(Ok(()), |r| Err(StoreError::Poisoned(r)))
    }

    pub fn reason(&self) -> Option<Arc<str>> {
        self.reason.get().map(Arc::clone)
    }
}
