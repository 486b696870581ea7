//! Threads that take the pieces of one batch after another, each with a copy of its own of what the batches change.
//!
//! The leader posts a batch together with the changes since the last one, takes pieces itself until none is left, and goes
//! on when those that others took are done. The others make the same changes to their own copies in the same order, so all
//! copies have the same bits, and what a core reads again and again is written by that core alone. The leader waits for
//! pieces in work and for nothing else: a pool that is busy elsewhere means fewer helpers and nothing worse.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, TryLockError};

/// Looks at a place in memory after which a thread that waits offers its core to others.
const LOOKS: usize = 256;

/// What every thread has a copy of.
pub(super) trait Copied: Send {
    /// What may be done to it.
    type Change: Copy + Send + Sync;
    /// What a piece of work gives.
    type Found: Send;

    fn make(&mut self, change: Self::Change);
}

/// Nodes to work on, in pieces.
struct Batch<C: Copied> {
    /// The number of the batch; 0 is none.
    turn: usize,
    nodes: Vec<u32>,
    /// Places of `nodes`.
    pieces: Vec<Range<usize>>,
    next: AtomicUsize,
    /// What each piece gave.
    found: Vec<Mutex<Option<C::Found>>>,
    /// Every change up to this batch.
    changes: Vec<C::Change>,
}

impl<C: Copied> Batch<C> {
    /// Takes pieces until none is left.
    fn take(&self, work: impl Fn(&[u32]) -> C::Found) {
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = self.pieces.get(at) else { return };
            let found = work(&self.nodes[piece.clone()]);
            *self.found[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        }
    }
}

/// A leader and up to so many helpers.
pub(super) struct Team<C: Copied> {
    helpers: usize,
    turn: AtomicUsize,
    over: AtomicBool,
    batch: RwLock<Batch<C>>,
}

/// Ends the team when the leader is done, also by an error.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl<C: Copied> Team<C> {
    /// Calls `lead` with a team of at most `helpers` other threads of the pool. A helper that starts makes its copy by
    /// `copy`, which gives it as it is before all changes, and does each piece by `work`.
    pub(super) fn with<R: Send>(
        helpers: usize,
        copy: impl Fn() -> C + Sync,
        work: impl Fn(&C, &[u32]) -> C::Found + Sync,
        lead: impl FnOnce(&Self) -> R + Send,
    ) -> R {
        let batch = Batch {
            turn: 0,
            nodes: Vec::new(),
            pieces: Vec::new(),
            next: AtomicUsize::new(0),
            found: Vec::new(),
            changes: Vec::new(),
        };
        let team = Self {
            helpers: helpers.min(rayon::current_num_threads() - 1),
            turn: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            batch: RwLock::new(batch),
        };
        if team.helpers == 0 {
            return lead(&team);
        }
        rayon::scope(|scope| {
            for _ in 0..team.helpers {
                scope.spawn(|_| team.follow(&copy, &work));
            }
            let _end = End(&team.over);
            lead(&team)
        })
    }

    /// Whether there may be others than the leader.
    pub(super) fn has_helpers(&self) -> bool {
        self.helpers > 0
    }

    /// What a helper does until the leader is done.
    fn follow(&self, copy: impl Fn() -> C, work: impl Fn(&C, &[u32]) -> C::Found) {
        if self.over.load(Ordering::Acquire) {
            return;
        }
        let mut own = copy();
        let (mut turn, mut known) = (0, 0);
        let mut looks = 0;
        while !self.over.load(Ordering::Acquire) {
            if self.turn.load(Ordering::Acquire) == turn {
                wait(&mut looks);
                continue;
            }
            let batch = match self.batch.try_read() {
                Ok(batch) => batch,
                Err(TryLockError::Poisoned(e)) => e.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    wait(&mut looks);
                    continue;
                }
            };
            looks = 0;
            turn = batch.turn;
            batch.changes[known..].iter().for_each(|change| own.make(*change));
            known = batch.changes.len();
            batch.take(|nodes| work(&own, nodes));
        }
    }

    /// Has `nodes` worked on in `pieces` of them: by `work` on this thread and as told on others, who first make `changes`,
    /// those since the last batch. Meanwhile, before its first piece, this thread does `aside`. Gives what was found in the
    /// order of the pieces.
    pub(super) fn share(
        &self,
        nodes: &[u32],
        pieces: Vec<Range<usize>>,
        changes: &mut Vec<C::Change>,
        aside: impl FnOnce(),
        work: impl Fn(&[u32]) -> C::Found,
    ) -> Vec<C::Found> {
        {
            let mut batch = self.batch.write().unwrap_or_else(PoisonError::into_inner);
            batch.turn += 1;
            batch.nodes.clear();
            batch.nodes.extend_from_slice(nodes);
            batch.found.clear();
            batch.found.resize_with(pieces.len(), Mutex::default);
            batch.pieces = pieces;
            batch.next.store(0, Ordering::Relaxed);
            batch.changes.append(changes);
            self.turn.store(batch.turn, Ordering::Release);
        }
        aside();
        self.batch.read().unwrap_or_else(PoisonError::into_inner).take(work);
        let mut looks = 0;
        let mut batch = loop {
            match self.batch.try_write() {
                Ok(batch) => break batch,
                Err(TryLockError::Poisoned(e)) => break e.into_inner(),
                Err(TryLockError::WouldBlock) => wait(&mut looks),
            }
        };
        let found = batch.found.drain(..);
        found.filter_map(|f| f.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
    }
}

/// Lets a little time pass.
fn wait(looks: &mut usize) {
    *looks += 1;
    if looks.is_multiple_of(LOOKS) {
        std::thread::yield_now();
    } else {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A sum of all changes, which every piece reports beside its nodes.
    struct Sum(u64);

    impl Copied for Sum {
        type Change = u64;
        type Found = (u64, Vec<u32>);

        fn make(&mut self, change: u64) {
            self.0 = self.0.wrapping_mul(31).wrapping_add(change);
        }
    }

    /// What the pieces of a turn gave.
    type Turn = Vec<(u64, Vec<u32>)>;

    /// What each turn of a team found, and how many pieces helpers did.
    fn turns(threads: usize) -> (Vec<Turn>, usize) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let by_helpers = AtomicUsize::new(0);
        let helper = |sum: &Sum, nodes: &[u32]| {
            by_helpers.fetch_add(1, Ordering::SeqCst);
            (sum.0, nodes.to_vec())
        };
        let found = pool.install(|| {
            Team::with(
                2,
                || Sum(7),
                helper,
                |team| {
                    let (mut own, mut news) = (Sum(7), Vec::new());
                    let mut all = Vec::new();
                    for turn in 0..50u32 {
                        let nodes: Vec<u32> = (turn..turn + 10).collect();
                        let pieces = (0..5).map(|k| 2 * k..2 * k + 2).collect();
                        let aside = || {
                            // In the first turn others have to do something before the leader does.
                            while threads > 1 && by_helpers.load(Ordering::SeqCst) == 0 {
                                std::thread::yield_now();
                            }
                        };
                        all.push(team.share(&nodes, pieces, &mut news, aside, |nodes| {
                            (own.0, nodes.to_vec())
                        }));
                        for change in [u64::from(turn), 3] {
                            own.make(change);
                            news.push(change);
                        }
                    }
                    all
                },
            )
        });
        (found, by_helpers.into_inner())
    }

    #[test]
    fn all_threads_have_the_same_copies_and_find_in_order() {
        let (alone, by_helpers) = turns(1);
        assert_eq!(by_helpers, 0);
        assert_eq!(alone.len(), 50);
        for (turn, found) in alone.iter().enumerate() {
            let nodes: Vec<u32> = found.iter().flat_map(|(_, nodes)| nodes.clone()).collect();
            assert_eq!(nodes, (turn as u32..turn as u32 + 10).collect::<Vec<_>>());
            assert!(found.iter().all(|(sum, _)| *sum == found[0].0));
        }
        for threads in [2, 3] {
            let (shared, by_helpers) = turns(threads);
            assert!(by_helpers > 0);
            assert_eq!(shared, alone);
        }
    }

    #[test]
    fn helpers_go_when_the_leader_fails() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let started = AtomicUsize::new(0);
        let copy = || {
            started.fetch_add(1, Ordering::SeqCst);
            Sum(0)
        };
        let end = pool.install(|| {
            Team::with(
                2,
                copy,
                |_, _| unreachable!(),
                |_| {
                    while started.load(Ordering::SeqCst) < 2 {
                        std::thread::yield_now();
                    }
                    Err::<(), _>("cancelled")
                },
            )
        });
        assert_eq!(end, Err("cancelled"));
    }
}
