//! Regular work on every record of a kind.

use crate::record::Record;
use crate::{Store, StoreError};

impl Store {
    /// Does `work` on every record of a kind. Damaged ones, which the store counts, are passed over: `doctor` names
    /// them. A record whose turn fails leaves the others theirs.
    ///
    /// # Errors
    /// The first failure, after the turn of the last record.
    pub fn each<R: Record, E: From<StoreError>>(
        &self,
        mut work: impl FnMut(R) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut first = Ok(());
        for rec in self.scan::<R>() {
            match rec {
                Ok(rec) => {
                    let done = work(rec);
                    first = first.and(done);
                }
                Err(e) if e.is_corrupt() => tracing::warn!(error = %e, "passed over in the upkeep"),
                Err(e) => first = first.and(Err(e.into())),
            }
        }
        first
    }
}
