//! How much one account may put on the disk: files, and bytes of uploads with the tables made of them.
//!
//! What an account holds is added up from its records when it is first asked for, and estimated from above until the
//! estimate meets the limit; then it is added up again. Bytes that are on their way are reserved.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use graphlume_storage::{BlobHash, DatasetRec, FileRec, Record, Scope, Store};
use graphlume_types::UserId;
use graphlume_types::limits::PAGE_ROWS_MAX;
use parking_lot::Mutex;

use crate::ServiceError;

const GIB: f64 = (1_u64 << 30) as f64;

/// What one account may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaSettings {
    /// Files.
    pub files_max: u64,
    /// Bytes.
    pub bytes_max: u64,
}

/// What one account holds.
#[derive(Debug, Default)]
struct Usage {
    /// Bytes on the disk at most; absent until they are asked for.
    bytes: Option<u64>,
    /// Whether `bytes` is what the records say, and no estimate.
    is_exact: bool,
    /// Bytes on their way.
    coming: u64,
    /// Files that are being made.
    files_coming: u64,
}

/// The accounts that uploaded something in this run.
pub(crate) struct Quotas {
    settings: QuotaSettings,
    of: Mutex<HashMap<UserId, Arc<Mutex<Usage>>>>,
}

/// A file that is being made; counts until dropped.
pub(crate) struct FilePlace(Arc<Mutex<Usage>>);

/// Bytes on their way; they count until dropped.
pub(crate) struct Room {
    usage: Arc<Mutex<Usage>>,
    user: UserId,
    bytes: u64,
}

impl Drop for FilePlace {
    fn drop(&mut self) {
        self.0.lock().files_coming -= 1;
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.usage.lock().coming -= self.bytes;
    }
}

impl Quotas {
    pub(crate) fn new(settings: QuotaSettings) -> Self {
        Self { settings, of: Mutex::default() }
    }

    fn of(&self, user: UserId) -> Arc<Mutex<Usage>> {
        Arc::clone(self.of.lock().entry(user).or_default())
    }

    /// Reserves one file of an account. Blocks.
    ///
    /// # Errors
    /// [`ServiceError::Quota`] at the limit.
    pub(crate) fn file(&self, store: &Store, user: UserId) -> Result<FilePlace, ServiceError> {
        let usage = self.of(user);
        let mut held = usage.lock();
        let (files, max) =
            (store.count::<FileRec>(&[Scope::Owner(user)])?, self.settings.files_max);
        if files.saturating_add(held.files_coming) >= max {
            return Err(ServiceError::Quota(format!(
                "the account has {files} files, the limit is {max}; delete files that are not needed, or ask the \
                 operator for a higher --account-files"
            )));
        }
        held.files_coming += 1;
        drop(held);
        Ok(FilePlace(usage))
    }

    /// Reserves nothing yet for a body that is about to come, of as many bytes as are announced. Blocks.
    ///
    /// # Errors
    /// [`ServiceError::Quota`] when it does not fit.
    pub(crate) fn room(
        &self,
        store: &Store,
        user: UserId,
        announced: u64,
    ) -> Result<Room, ServiceError> {
        let mut room = Room { usage: self.of(user), user, bytes: 0 };
        self.grow(store, &mut room, announced.max(1))?;
        Ok(room)
    }

    /// Makes a reservation as large as `bytes`; a smaller one is left as it is. May block.
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
        let mut usage = room.usage.lock();
        let max = self.settings.bytes_max;
        let fits = |u: &Usage| {
            let held = u.bytes.unwrap_or(u64::MAX).saturating_add(u.coming);
            held.saturating_add(more) <= max
        };
        if !fits(&usage) && !usage.is_exact {
            usage.bytes = Some(bytes_of(store, room.user)?);
            usage.is_exact = true;
        }
        if !fits(&usage) {
            let held = usage.bytes.unwrap_or_default();
            return Err(ServiceError::Quota(format!(
                "the account holds {}, {} are on their way, and this body needs {}; the limit is {}: delete files and \
                 datasets that are not needed, or ask the operator for a higher --account-bytes",
                size(held),
                size(usage.coming - room.bytes),
                size(bytes),
                size(max)
            )));
        }
        usage.coming += more;
        room.bytes = bytes;
        Ok(())
    }

    /// Notes that an account has at most so many bytes more, and possibly fewer.
    pub(crate) fn added(&self, user: UserId, bytes: u64) {
        let usage = self.of(user);
        let mut usage = usage.lock();
        (usage.bytes, usage.is_exact) = (usage.bytes.map(|b| b.saturating_add(bytes)), false);
    }

    /// Notes that data changed hands: what accounts hold is added up again when they are next asked for.
    pub(crate) fn handed_over(&self) {
        let all: Vec<_> = self.of.lock().values().cloned().collect();
        for usage in all {
            let mut usage = usage.lock();
            (usage.bytes, usage.is_exact) = (None, false);
        }
    }

    /// Notes that an account may have fewer bytes.
    pub(crate) fn removed(&self, user: UserId) {
        self.added(user, 0);
    }
}

/// Bytes of what the records of an account hold, each blob once.
pub(crate) fn bytes_of(store: &Store, user: UserId) -> Result<u64, ServiceError> {
    let mut seen = HashSet::new();
    Ok(add_up::<FileRec>(store, user, &mut seen)? + add_up::<DatasetRec>(store, user, &mut seen)?)
}

fn add_up<R: Record>(
    store: &Store,
    user: UserId,
    seen: &mut HashSet<BlobHash>,
) -> Result<u64, ServiceError> {
    let (mut sum, mut at) = (0_u64, 0);
    loop {
        let page = store.list::<R>(&[Scope::Owner(user)], at, PAGE_ROWS_MAX)?;
        if page.walked == 0 {
            return Ok(sum);
        }
        at += page.walked;
        for blob in page.items.iter().flat_map(Record::blobs) {
            if seen.insert(blob.hash) {
                sum = sum.saturating_add(blob.len);
            }
        }
    }
}

/// Bytes as people read them.
#[allow(clippy::cast_precision_loss, reason = "it is shown with two digits")]
pub(crate) fn size(bytes: u64) -> String {
    if bytes < 1 << 20 {
        format!("{bytes} bytes")
    } else {
        format!("{:.2} GiB", bytes as f64 / GIB)
    }
}
