//! The store: typed reads, listings and commits.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use crossbeam::channel::{Sender, TrySendError, bounded};
use graphlume_types::{Clock, FileId, SessionId, UserId, limits};

use crate::batch::Batch;
use crate::blob::Blobs;
use crate::codec::{Tag, describe, tree_key};
use crate::commit::{Commit, pair};
use crate::error::StoreError;
use crate::index;
use crate::meta::guarded;
use crate::open::{self, Opened, Options};
use crate::record::{
    Facts, Headed, Holder, Kind, Record, RecordKey as _, StepKey, StepRec, file_prefix, holder,
    holder_prefix,
};
use crate::snapshot::Snapshots;
use crate::writer::{self, Core, Job};

/// An open data folder. Cloning is cheap; the folder is released when the last clone is dropped.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    // Dropped in this order: no more jobs, writer joined, engine closed, lock given back.
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    core: Arc<Core>,
    clock: Arc<dyn Clock>,
    opened: Opened,
    _lock: Option<File>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the store did since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreStats {
    /// Commits answered with success.
    pub commits: u64,
    /// Syncs they took.
    pub syncs: u64,
    /// Commits waiting now.
    pub waiting: usize,
    /// Damaged records that reads met.
    pub corrupt: u64,
}

impl Store {
    /// Opens the data folder `dir`; [`Options::make`] says whether it may be made. One process at a time.
    ///
    /// # Errors
    /// `NoFolder` when it is absent and may not be made, `NotOurs` when it holds other things than ours and was not made
    /// by us, `InUse` when another process has it, `Corrupt` when the record store is damaged and there is no
    /// export to rebuild it from, `Format` when a newer version wrote it, `Io` otherwise.
    pub fn open(dir: &Path, options: Options) -> Result<Self, StoreError> {
        let folder = open::open(dir, &options)?;
        let core = Arc::new(folder.core);
        let (jobs, queue) = bounded(limits::COMMITS_WAITING_MAX);
        let of_thread = Arc::clone(&core);
        let thread = std::thread::Builder::new()
            .name("graphlume-store".into())
            .spawn(move || writer::run(&of_thread, &queue))
            .map_err(|e| StoreError::io("start the writer of", dir, e))?;
        let store = Self {
            inner: Arc::new(Inner {
                jobs: Some(jobs),
                thread: Some(thread),
                core,
                clock: options.clock,
                opened: folder.opened,
                _lock: folder.lock,
            }),
        };
        if !store.core().only_reads {
            store.write_damage_down();
        }
        Ok(store)
    }

    /// How the folder was found.
    #[must_use]
    pub fn opened(&self) -> &Opened {
        &self.inner.opened
    }

    /// The data folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.inner.core.dir
    }

    /// The store's clock.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.inner.clock
    }

    /// The blobs beside the records.
    #[must_use]
    pub fn blobs(&self) -> &Blobs {
        &self.inner.core.blobs
    }

    /// The positions of sessions.
    #[must_use]
    pub fn snapshots(&self) -> &Snapshots {
        &self.inner.core.snapshots
    }

    /// Why no write is acknowledged any more, after a failed sync. The process must start again.
    #[must_use]
    pub fn poisoned(&self) -> Option<Arc<str>> {
        self.inner.core.poison.reason()
    }

    /// Waits until a failed sync has stopped the store, and gives the reason.
    pub async fn stopped(&self) -> Arc<str> {
        self.inner.core.poison.stopped().await
    }

    /// Counters.
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        let c = &self.inner.core.counters;
        StoreStats {
            commits: c.commits.load(Ordering::Relaxed),
            syncs: c.syncs.load(Ordering::Relaxed),
            waiting: self.inner.jobs.as_ref().map_or(0, Sender::len),
            corrupt: c.corrupt.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.inner.core
    }

    /// One record.
    ///
    /// # Errors
    /// `Corrupt` when it is damaged.
    pub fn get<R: Record>(&self, key: &R::Key) -> Result<Option<R>, StoreError> {
        Ok(self.get_tagged(key)?.map(|(rec, _)| rec))
    }

    /// One record and the tag of its content, for [`Batch::replace`].
    ///
    /// # Errors
    /// `Corrupt` when it is damaged.
    pub fn get_tagged<R: Record>(&self, key: &R::Key) -> Result<Option<(R, Tag)>, StoreError> {
        self.read(&tree_key(R::KIND, &key.to_bytes()))
    }

    pub(crate) fn read<R: Record>(&self, tree_key: &[u8]) -> Result<Option<(R, Tag)>, StoreError> {
        Ok(self.read_sized(tree_key)?.map(|(rec, tag, _)| (rec, tag)))
    }

    /// [`Self::read`] with the bytes that the record takes as JSON.
    pub(crate) fn read_sized<R: Record>(
        &self,
        tree_key: &[u8],
    ) -> Result<Option<(R, Tag, usize)>, StoreError> {
        let core = &self.inner.core;
        let result = core.meta.get(tree_key, &core.blobs).and_then(|found| match found {
            None => Ok(None),
            Some((tag, json)) => match core.decoded.record(tag, &json) {
                Ok(rec) => Ok(Some((rec, tag, json.len()))),
                Err(e) => Err(StoreError::corrupt(describe(tree_key), e.to_string())),
            },
        });
        if let Err(e @ StoreError::Corrupt(_)) = &result {
            core.counters.corrupt.fetch_add(1, Ordering::Relaxed);
            tracing::error!(error = %e, "a damaged record was refused");
        }
        result
    }

    /// The head of a record, without a look at the record itself.
    ///
    /// # Errors
    /// `Corrupt` when it is damaged.
    pub fn head<R: Headed>(&self, key: &R::Key) -> Result<Option<R::Head>, StoreError> {
        self.head_of::<R>(&key.to_bytes())
    }

    pub(crate) fn head_of<R: Headed>(&self, key: &[u8]) -> Result<Option<R::Head>, StoreError> {
        let entry = index::head_key(R::KIND, key);
        let Some(json) = guarded(|| self.inner.core.meta.index.get(&entry))? else {
            return Ok(None);
        };
        serde_json::from_slice(&json).map(Some).map_err(|e| {
            StoreError::corrupt(
                format!("the head of {}", describe(&tree_key(R::KIND, key))),
                e.to_string(),
            )
        })
    }

    /// The JSON of a record.
    ///
    /// # Errors
    /// `Corrupt` when it is damaged.
    pub(crate) fn json_of(&self, tree_key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let core = &self.inner.core;
        let result = core.meta.get(tree_key, &core.blobs);
        if let Err(e @ StoreError::Corrupt(_)) = &result {
            core.counters.corrupt.fetch_add(1, Ordering::Relaxed);
            tracing::error!(error = %e, "a damaged record was refused");
        }
        Ok(result?.map(|(_, json)| json))
    }

    /// The datasets of an account that hold tables of a file, private ones first. No record is read.
    pub fn holders(
        &self,
        file: &FileId,
        author: UserId,
    ) -> impl Iterator<Item = Result<Holder, StoreError>> + '_ {
        let of_file = file_prefix(file);
        let skip = of_file.len();
        let prefix = [of_file, holder_prefix(author, false)].concat();
        let mut entries = self.inner.core.meta.index.scan_prefix(prefix);
        std::iter::from_fn(move || match guarded(|| entries.next().transpose()) {
            Err(e) => Some(Err(e)),
            Ok(entry) => {
                let (key, value) = entry?;
                let holder = key.get(skip..).and_then(|key| holder(key, &value));
                let damaged = || StoreError::corrupt("the index of files", "an entry is misshapen");
                Some(holder.ok_or_else(damaged))
            }
        })
    }

    /// Whether a private dataset of the account holds tables of a file.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn is_held_privately(&self, file: &FileId, author: UserId) -> Result<bool, StoreError> {
        let prefix = [file_prefix(file), holder_prefix(author, true)].concat();
        Ok(guarded(|| self.inner.core.meta.index.scan_prefix(prefix).next().transpose())?.is_some())
    }

    /// Bytes that an account holds: its files and datasets, and the blobs that they need, each once.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn held_bytes(&self, user: UserId) -> Result<u64, StoreError> {
        let key = index::held_key(user);
        Ok(index::read_u64(guarded(|| self.inner.core.meta.index.get(&key))?.as_deref()))
    }

    /// Bytes that the owner of `rec` holds more once it is written where `before` is now, at most: blobs that `before`
    /// alone needs are not taken off.
    ///
    /// # Errors
    /// When the engine fails, and when the record cannot be written.
    pub fn bytes_more<R: Record>(&self, rec: &R, before: Option<&R>) -> Result<u64, StoreError> {
        let json = |rec: &R| {
            serde_json::to_vec(rec)
                .map_err(|e| StoreError::Encode { kind: R::KIND.name(), detail: e.to_string() })
        };
        let entries = index::entries(R::KIND, &Facts::of(rec), None, json(rec)?.len());
        let Some(owned) = entries.owned else { return Ok(0) };
        let before = match before {
            Some(rec) => (json(rec)?.len() as u64).saturating_add(limits::RECORD_COST_BYTES),
            None => 0,
        };
        let mut more = owned.bytes.saturating_sub(before);
        for (key, len) in owned.blobs {
            if !guarded(|| self.inner.core.meta.index.contains_key(&key))? {
                more = more.saturating_add(len);
            }
        }
        Ok(more)
    }

    /// The steps of a session that its record does not have yet, in their order.
    ///
    /// # Errors
    /// `Corrupt` when one is damaged.
    pub fn steps_of(&self, session: &SessionId) -> Result<Vec<StepRec>, StoreError> {
        let prefix = tree_key(Kind::Step, &StepKey::prefix(session));
        let mut found = self.inner.core.meta.records.scan_prefix(&prefix).keys();
        let mut steps = Vec::new();
        while let Some(key) = guarded(|| found.next().transpose())? {
            // One that has become part of the record meanwhile is gone.
            steps.extend(self.read::<StepRec>(&key)?.map(|(step, _)| step));
        }
        Ok(steps)
    }

    /// Whether there is such a record; its content is not verified.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn exists<R: Record>(&self, key: &R::Key) -> Result<bool, StoreError> {
        let key = tree_key(R::KIND, &key.to_bytes());
        guarded(|| self.inner.core.meta.records.contains_key(&key))
    }

    /// The record that holds a unique value, such as the account of a `username`.
    ///
    /// # Errors
    /// `Corrupt` when it is damaged.
    pub fn find<R: Record>(&self, field: &str, value: &str) -> Result<Option<R>, StoreError> {
        let entry = index::unique_key(R::KIND, field, value);
        match guarded(|| self.inner.core.meta.index.get(&entry))? {
            None => Ok(None),
            Some(key) => Ok(self.read(&tree_key(R::KIND, &key))?.map(|(rec, _)| rec)),
        }
    }

    /// Every record of a kind in the order of the keys, one at a time. A damaged record is an error in its place;
    /// a failure of the engine to go on is the last item.
    pub fn scan<R: Record>(&self) -> impl Iterator<Item = Result<R, StoreError>> + '_ {
        let mut keys = self.inner.core.meta.records.scan_prefix([R::KIND.tag()]).keys();
        let mut is_over = false;
        std::iter::from_fn(move || {
            loop {
                if is_over {
                    return None;
                }
                let key = match guarded(|| keys.next().transpose()) {
                    Ok(key) => key?,
                    Err(e) => {
                        is_over = true;
                        return Some(Err(e));
                    }
                };
                match self.read::<R>(&key) {
                    Ok(Some((rec, _))) => return Some(Ok(rec)),
                    // Deleted since.
                    Ok(None) => {}
                    Err(e) => return Some(Err(e)),
                }
            }
        })
    }

    /// Hands a batch to the writer without waiting; the answer can be awaited under any runtime.
    /// Nothing is done when the queue is full (`Busy`).
    pub fn submit(&self, batch: Batch) -> Commit {
        let (completer, commit) = pair();
        let Some(jobs) = &self.inner.jobs else { return commit };
        match jobs.try_send(Job::Commit(batch, completer)) {
            Ok(()) => {}
            Err(TrySendError::Full(Job::Commit(_, completer))) => {
                completer.complete(Err(StoreError::Busy { waiting: limits::COMMITS_WAITING_MAX }));
            }
            // Dropping the job answers `Closed`.
            Err(_) => {}
        }
        commit
    }

    /// Commits a batch and blocks until it is durable.
    ///
    /// # Errors
    /// `Exists`, `Changed`, `Taken` or `BlobMissing` when a requirement is not met (nothing is changed
    /// then); `Busy`, `Full`, `Poisoned` or `Io` when the disk does not take it.
    pub fn commit(&self, batch: Batch) -> Result<(), StoreError> {
        self.submit(batch).wait()
    }

    /// Reads a record, lets `change` edit it, and writes it back if no other writer did meanwhile;
    /// otherwise starts over. Gives the record as written, or `None` when there is none.
    ///
    /// # Errors
    /// As [`Store::commit`].
    pub fn update<R: Record>(
        &self,
        key: &R::Key,
        mut change: impl FnMut(&mut R),
    ) -> Result<Option<R>, StoreError> {
        loop {
            let Some((mut rec, tag)) = self.get_tagged::<R>(key)? else { return Ok(None) };
            change(&mut rec);
            match self.commit(Batch::new().replace(&rec, tag)) {
                Ok(()) => return Ok(Some(rec)),
                Err(StoreError::Changed { .. }) => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// A number that no account has or had. Insert the account with [`Batch::insert`]: when another caller
    /// else was faster, that fails with `Exists` and the next call gives another number.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn next_user_id(&self) -> Result<UserId, StoreError> {
        let key = index::next_key(Kind::User);
        let highest = guarded(|| self.inner.core.meta.index.get(&key))?;
        Ok(UserId(index::read_u64(highest.as_deref()) + 1))
    }

    /// Runs `work` on the writer thread, with no commit beside it, and waits for what it gives.
    pub(crate) fn exclusively<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Core) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (send, receive) = bounded(1);
        let job = Job::Exclusive(Box::new(move |core| {
            let _ = send.send(work(core));
        }));
        let jobs = self.inner.jobs.as_ref().ok_or(StoreError::Closed)?;
        jobs.send(job).map_err(|_| StoreError::Closed)?;
        receive.recv().map_err(|_| StoreError::Closed)?
    }
}
