//! Quotas of an account on the disk: files, and bytes of records, of uploads and of the tables made of them.
//!
//! The store adds up what an account holds, and changes the sum with each commit. Here is what is on its way: it is
//! reserved until the record that holds it is written.

use std::collections::HashMap;
use std::sync::Arc;

use graphlume_storage::{FileRec, Record, Scope, Store};
use graphlume_types::limits::FILES_PER_USER_MAX;
use graphlume_types::{UserId, settings};
use parking_lot::Mutex;

use crate::error::ServiceError;

const MIB: f64 = (1_u64 << 20) as f64;
const GIB: f64 = (1_u64 << 30) as f64;

/// What one account may hold: flags of `graphlume serve`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::Args)]
pub struct QuotaSettings {
    /// Files that one account may have
    #[arg(long = "account-files", value_name = "N", env = "GRAPHLUME_ACCOUNT_FILES",
        default_value_t = FILES_PER_USER_MAX, value_parser = clap::value_parser!(u64).range(1..))]
    pub files_max: u64,
    /// Bytes that one account may have on the disk: uploads and the tables made of them
    #[arg(long = "account-bytes", value_name = "SIZE", env = "GRAPHLUME_ACCOUNT_BYTES",
        default_value = "100GiB", value_parser = settings::bytes)]
    pub bytes_max: u64,
}

/// What an account is about to hold.
#[derive(Debug, Default)]
struct Coming {
    bytes: u64,
    files: u64,
}

/// What is on its way, by account.
pub(crate) struct Quotas {
    settings: QuotaSettings,
    of: Mutex<HashMap<UserId, Arc<Mutex<Coming>>>>,
}

/// A file that is being made; counts until dropped.
pub(crate) struct FilePlace(Arc<Mutex<Coming>>);

/// Bytes on their way; they count until dropped.
pub(crate) struct Room {
    coming: Arc<Mutex<Coming>>,
    user: UserId,
    bytes: u64,
}

impl Drop for FilePlace {
    fn drop(&mut self) {
        self.0.lock().files -= 1;
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.coming.lock().bytes -= self.bytes;
    }
}

impl Quotas {
    pub(crate) fn new(settings: QuotaSettings) -> Self {
        Self { settings, of: Mutex::default() }
    }

    fn of(&self, user: UserId) -> Arc<Mutex<Coming>> {
        Arc::clone(self.of.lock().entry(user).or_default())
    }

    /// Reserves one file of an account.
    ///
    /// # Errors
    /// [`ServiceError::Quota`] at the limit.
    pub(crate) fn file(&self, store: &Store, user: UserId) -> Result<FilePlace, ServiceError> {
        let of = self.of(user);
        let mut coming = of.lock();
        let (files, max) =
            (store.count::<FileRec>(&[Scope::Owner(user)])?, self.settings.files_max);
        if files.saturating_add(coming.files) >= max {
            return Err(ServiceError::Quota(format!(
                "the account has {files} files, the limit is {max}; delete files that are not needed, or ask the \
                 operator for a higher --account-files"
            )));
        }
        coming.files += 1;
        drop(coming);
        Ok(FilePlace(of))
    }

    /// Reserves a body that is about to come, of as many bytes as are announced.
    ///
    /// # Errors
    /// [`ServiceError::Quota`] when it does not fit.
    pub(crate) fn room(
        &self,
        store: &Store,
        user: UserId,
        announced: u64,
    ) -> Result<Room, ServiceError> {
        let mut room = Room { coming: self.of(user), user, bytes: 0 };
        self.grow(store, &mut room, announced.max(1))?;
        Ok(room)
    }

    /// Reserves what an account holds more once `rec` is written where `before` is now: the record, and each blob that
    /// the account does not hold yet.
    ///
    /// # Errors
    /// As [`Self::room`]. What takes no more than before always fits.
    pub(crate) fn record<R: Record>(
        &self,
        store: &Store,
        rec: &R,
        before: Option<&R>,
    ) -> Result<Option<Room>, ServiceError> {
        let Some(user) = rec.owner() else { return Ok(None) };
        let room = Room { coming: self.of(user), user, bytes: 0 };
        self.record_within(store, rec, before, Some(room)).map(Some)
    }

    /// [`Self::record`] where something is reserved already.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn record_within<R: Record>(
        &self,
        store: &Store,
        rec: &R,
        before: Option<&R>,
        room: Option<Room>,
    ) -> Result<Room, ServiceError> {
        let user = rec.owner().unwrap_or(UserId(0));
        let mut room = room.unwrap_or_else(|| Room { coming: self.of(user), user, bytes: 0 });
        self.grow(store, &mut room, store.bytes_more(rec, before)?)?;
        Ok(room)
    }

    /// Makes a reservation as large as `bytes`; a smaller one is left as it is.
    ///
    /// # Errors
    /// As [`Self::room`].
    pub(crate) fn grow(
        &self,
        store: &Store,
        room: &mut Room,
        bytes: u64,
    ) -> Result<(), ServiceError> {
        let Some(more) = bytes.checked_sub(room.bytes).filter(|m| *m > 0) else { return Ok(()) };
        let mut coming = room.coming.lock();
        let max = self.settings.bytes_max;
        // Read while nothing of the account is added to what is coming.
        let held = store.held_bytes(room.user)?;
        if held.saturating_add(coming.bytes).saturating_add(more) > max {
            return Err(ServiceError::Quota(format!(
                "the account holds {}, {} are on their way, and this needs {}; the limit is {}: delete files and \
                 datasets that are not needed, or ask the operator for a higher --account-bytes",
                size(held),
                size(coming.bytes - room.bytes),
                size(bytes),
                size(max)
            )));
        }
        coming.bytes += more;
        room.bytes = bytes;
        Ok(())
    }
}

/// Bytes as people read them.
#[allow(clippy::cast_precision_loss, reason = "it is shown with two digits")]
pub(crate) fn size(bytes: u64) -> String {
    if bytes < 1 << 20 {
        format!("{bytes} bytes")
    } else if bytes < 1 << 30 {
        format!("{:.2} MiB", bytes as f64 / MIB)
    } else {
        format!("{:.2} GiB", bytes as f64 / GIB)
    }
}
