//! The writer thread: the only place where records change. Commits that arrive while the disk is busy
//! share the next sync.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam::channel::Receiver;
use graphlume_types::limits;

use crate::batch::{Batch, Change, Expect, Op};
use crate::blob::{BlobRef, Blobs};
use crate::codec::describe;
use crate::commit::Completer;
use crate::commit_marker::CommitMarker;
use crate::decoded::Decoded;
use crate::error::StoreError;
use crate::folder::holds_back;
use crate::meta::{Meta, guarded};
use crate::poison::Poison;
use crate::record::Kind;
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
pub(crate) fn run(state: &Core, jobs: &Receiver<Job>) {
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
        let mut left = Vec::new();
        for job in group.drain(..) {
            match job {
                Job::Commit(batch, completer) => {
                    let done = commit_one(state, batch);
                    let result = done.map(|blobs| left.extend(blobs));
                    answers.push((completer, result));
                }
                Job::Exclusive(work) => {
                    finalize(state, &mut answers, &mut left);
                    if catch_unwind(AssertUnwindSafe(|| work(state))).is_err() {
                        tracing::error!("a maintenance job of the store stopped on a defect");
                    }
                }
            }
        }
        finalize(state, &mut answers, &mut left);
    }
}

/// Applies one batch; not durable yet. Gives the blobs of records that are replaced or gone.
fn commit_one(state: &Core, mut batch: Batch) -> Result<Vec<BlobRef>, StoreError> {
    state.poison.check()?;
    if state.only_reads {
        return Err(StoreError::ReadOnly { dir: state.dir.clone() });
    }
    if let Some(e) = batch.error.take() {
        return Err(e);
    }
    let puts = batch.ops.iter().any(|op| matches!(op.change, Change::Put { .. }));
    check_space(state, puts)?;
    with_steps(state, &mut batch)?;
    // Nothing of the batch is applied yet, so that a failure here is the batch's alone.
    let overflow = write_overflow(&state.blobs, &batch)?;
    let applied = catch_unwind(AssertUnwindSafe(|| {
        state.meta.apply(&batch.ops, &overflow, &state.blobs, true)
    }));
    match applied {
        // The transaction was given up before it changed anything.
        Ok(Err(e)) if e.is_shortage() => Err(e),
        Ok(Err(e @ (StoreError::Io { .. } | StoreError::Engine(_)))) => {
            state.poison.set("write records", &e);
            Err(e)
        }
        Ok(result) => result,
        Err(_) => {
            state.poison.set("write records", &"the engine stopped on a defect");
            state.poison.check().map(|()| Vec::new())
        }
    }
}

/// A session that is deleted takes its steps along. Records change on this thread alone, so that no step can come between.
fn with_steps(state: &Core, batch: &mut Batch) -> Result<(), StoreError> {
    let mut steps = Vec::new();
    for op in batch.ops.iter().filter(|op| op.kind == Kind::Session) {
        if !matches!(op.change, Change::Delete) {
            continue;
        }
        let mut prefix = vec![Kind::Step.tag()];
        prefix.extend_from_slice(&op.tree_key[1..]);
        prefix.push(0);
        let mut found = state.meta.records.scan_prefix(&prefix).keys();
        while let Some(key) = guarded(|| found.next().transpose())? {
            steps.push(key.to_vec());
        }
    }
    batch.ops.extend(steps.into_iter().map(|tree_key| Op {
        kind: Kind::Step,
        key_text: describe(&tree_key),
        tree_key,
        expect: Expect::Anything,
        change: Change::Delete,
    }));
    Ok(())
}

/// Deletions are let through longer than additions, for they are how room is made.
fn check_space(state: &Core, puts: bool) -> Result<(), StoreError> {
    let need = if puts { state.free_bytes_min } else { state.free_bytes_min / 4 };
    let free = state
        .vfs
        .free_bytes(&state.dir)
        .map_err(|e| StoreError::io("measure the disk of", &state.dir, e))?;
    if free < need {
        return Err(StoreError::Full { dir: state.dir.clone(), free, need });
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
fn finalize(
    state: &Core,
    answers: &mut Vec<(Completer, Result<(), StoreError>)>,
    left: &mut Vec<BlobRef>,
) {
    let applied = answers.iter().filter(|(_, r)| r.is_ok()).count();
    let mut synced = state.poison.check();
    if applied > 0 && synced.is_ok() {
        let seq = state.seq.load(Ordering::Relaxed) + 1;
        synced = state.meta.sync_group(seq, &*state.vfs);
        match &synced {
            Ok(()) => {
                state.seq.store(seq, Ordering::Relaxed);
                state.mark.set(seq);
                state.counters.syncs.fetch_add(1, Ordering::Relaxed);
                state.counters.commits.fetch_add(applied as u64, Ordering::Relaxed);
            }
            Err(e) => state.poison.set("sync the records", e),
        }
    }
    for (completer, result) in answers.drain(..) {
        let durable = if result.is_ok() && synced.is_err() { state.poison.check() } else { result };
        completer.complete(durable);
    }
    let left = std::mem::take(left);
    if synced.is_ok() && !left.is_empty() {
        drop_left(state, &left);
    }
}

/// Removes blobs that held records and hold none any more; what is not removed now is the next sweep's. Where records were
/// lost, blobs stay as [`crate::sweep`] leaves them.
fn drop_left(state: &Core, left: &[BlobRef]) {
    if !matches!(holds_back(&state.dir), Ok(false)) {
        return;
    }
    for blob in left {
        let done = state.meta.is_referenced(blob).and_then(|needed| match needed {
            true => Ok(()),
            false => state.blobs.remove(blob),
        });
        if let Err(e) = done {
            tracing::warn!(error = %e, "the file of a replaced record stays until the next sweep");
        }
    }
}
