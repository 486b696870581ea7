//! The writer thread: the only place where records change. Commits that arrive while the disk is busy
//! share the next sync.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam::channel::Receiver;
use graphlume_types::limits;

use crate::batch::{Batch, Change};
use crate::blob::{BlobRef, Blobs};
use crate::commit::Completer;
use crate::commit_marker::CommitMarker;
use crate::decoded::Decoded;
use crate::error::StoreError;
use crate::meta::Meta;
use crate::poison::Poison;
use crate::snapshot::Snapshots;
use crate::vfs::Vfs;

/// What readers and the writer share.
pub(crate) struct Core {
    pub dir: PathBuf,
    pub meta: Meta,
    pub decoded: Decoded,
    pub blobs: Blobs,
    pub snapshots: Snapshots,
    pub vfs: Arc<dyn Vfs>,
    pub poison: Arc<Poison>,
    pub free_bytes_min: u64,
    /// Whether nothing may be written.
    pub only_reads: bool,
    pub mark: CommitMarker,
    /// Number of the last durable group of commits.
    pub seq: AtomicU64,
    pub counters: Counters,
}

/// What the writer did since the start.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub commits: AtomicU64,
    pub syncs: AtomicU64,
    pub corrupt: AtomicU64,
}

/// Work that must not run beside a commit.
pub(crate) type Exclusive = Box<dyn FnOnce(&Core) + Send>;

pub(crate) enum Job {
    Commit(Batch, Completer),
    Exclusive(Exclusive),
}

/// Runs until every sender is gone.
pub(crate) fn run(core: &Core, jobs: &Receiver<Job>) {
    let mut group = Vec::new();
    let mut members = 0;
    while let Ok(first) = jobs.recv() {
        group.push(first);
        if members > 1 {
            // Those who shared the last sync are about to come back; let them in.
            std::thread::yield_now();
        }
        while group.len() < limits::COMMIT_GROUP_MAX {
            let Ok(job) = jobs.try_recv() else { break };
            group.push(job);
        }
        members = group.len();
        let mut answers = Vec::with_capacity(members);
        for job in group.drain(..) {
            match job {
                Job::Commit(batch, completer) => {
                    answers.push((completer, commit_one(core, batch)));
                }
                Job::Exclusive(work) => {
                    finalize(core, &mut answers);
                    if catch_unwind(AssertUnwindSafe(|| work(core))).is_err() {
                        tracing::error!("a maintenance job of the store stopped on a defect");
                    }
                }
            }
        }
        finalize(core, &mut answers);
    }
}

/// Applies one batch; not durable yet.
fn commit_one(core: &Core, mut batch: Batch) -> Result<(), StoreError> {
    core.poison.check()?;
    if core.only_reads {
        return Err(StoreError::ReadOnly { dir: core.dir.clone() });
    }
    if let Some(e) = batch.error.take() {
        return Err(e);
    }
    let puts = batch.ops.iter().any(|op| matches!(op.change, Change::Put { .. }));
    check_space(core, puts)?;
    // Nothing of the batch is applied yet, so that a failure here is the batch's alone.
    let overflow = write_overflow(&core.blobs, &batch)?;
    let applied = catch_unwind(AssertUnwindSafe(|| {
        core.meta.apply(&batch.ops, &overflow, &core.blobs, true)
    }));
    match applied {
        // The transaction was given up before it changed anything.
        Ok(Err(e)) if e.is_shortage() => Err(e),
        Ok(Err(e @ (StoreError::Io { .. } | StoreError::Engine(_)))) => {
            core.poison.set("write records", &e);
            Err(e)
        }
        Ok(result) => result,
        Err(_) => {
            core.poison.set("write records", &"the engine stopped on a defect");
            core.poison.check()
        }
    }
}

/// Deletions are let through longer than additions, for they are how room is made.
fn check_space(core: &Core, puts: bool) -> Result<(), StoreError> {
    let need = if puts { core.free_bytes_min } else { core.free_bytes_min / 4 };
    let free = core
        .vfs
        .free_bytes(&core.dir)
        .map_err(|e| StoreError::io("measure the disk of", &core.dir, e))?;
    if free < need {
        return Err(StoreError::Full { dir: core.dir.clone(), free, need });
    }
    Ok(())
}

/// Large records go to blobs: the engine's space and memory use suffers from large values, and beyond
/// half a megabyte it would put them in files that our sync does not cover.
pub(crate) fn write_overflow(
    blobs: &Blobs,
    batch: &Batch,
) -> Result<Vec<Option<BlobRef>>, StoreError> {
    let mut out = Vec::with_capacity(batch.ops.len());
    for op in &batch.ops {
        out.push(match &op.change {
            Change::Put { json, .. } if json.len() > limits::RECORD_INLINE_BYTES_MAX => {
                Some(blobs.put(json)?)
            }
            _ => None,
        });
    }
    Ok(out)
}

/// Makes the applied batches durable, then answers. Refusals wait for the sync as well: they may rest
/// on a change that is not durable before it.
fn finalize(core: &Core, answers: &mut Vec<(Completer, Result<(), StoreError>)>) {
    let applied = answers.iter().filter(|(_, r)| r.is_ok()).count();
    let mut synced = core.poison.check();
    if applied > 0 && synced.is_ok() {
        let seq = core.seq.load(Ordering::Relaxed) + 1;
        synced = core.meta.sync_group(seq, &*core.vfs);
        match &synced {
            Ok(()) => {
                core.seq.store(seq, Ordering::Relaxed);
                core.mark.set(seq);
                core.counters.syncs.fetch_add(1, Ordering::Relaxed);
                core.counters.commits.fetch_add(applied as u64, Ordering::Relaxed);
            }
            Err(e) => core.poison.set("sync the records", e),
        }
    }
    for (completer, result) in answers.drain(..) {
        let durable = if result.is_ok() && synced.is_err() { core.poison.check() } else { result };
        completer.complete(durable);
    }
}
