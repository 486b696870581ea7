//! The sole right to replace something, so that two uploads of one thing do not cross.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::error::ServiceError;

/// Ids of files and `dataset/part`s whose bytes are being replaced.
#[derive(Clone, Default)]
pub(crate) struct Claims(Arc<Mutex<HashSet<String>>>);

/// The sole right to replace something, given back on drop.
pub(crate) struct Claim {
    claims: Claims,
    what: String,
}

impl Claims {
    /// Marks `what` as being replaced.
    ///
    /// # Errors
    /// [`ServiceError::Conflict`] while another upload of the same thing is in progress.
    pub(crate) fn take(&self, what: String) -> Result<Claim, ServiceError> {
        if !self.0.lock().insert(what.clone()) {
            return Err(ServiceError::Conflict(format!(
                "another upload of {what} is in progress; wait for it to end and try again"
            )));
        }
        Ok(Claim { claims: self.clone(), what })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.claims.0.lock().remove(&self.what);
    }
}
