//! Scheduler of queries: a multilevel feedback queue, so that long queries of one user keep no other
//! user from short ones.
//!
//! Every query gets a short quantum at the first priority level. One that is not done by then is preempted and
//! begun again at the second level and at last at the third, on threads of lower priority that wait while there
//! are short requests; a query changes nothing, so that all it costs is the quanta. At each level a user has one
//! query at a time, and users take turns.
//! Each thread has a pool of its own, to which it belongs itself: the work of one query never waits behind
//! the parts of another's, and one that has no parts runs without waking another thread.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use graphlume_types::limits::{
    QUERIES_LONG_AT_ONCE, QUERIES_MAX, QUERIES_PER_USER_MAX, QUERY_TURN_MILLIS, QUERY_TURNS_AT_ONCE,
};
use graphlume_types::{Caller, CancelToken};

use crate::context::EngineContext;
use crate::error::EngineError;
use crate::thread_priority::lower_priority;
use crate::workers::panic_text;

/// How long a query may run now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantum {
    /// For this long.
    For(Duration),
    /// To its end.
    Unlimited,
}

impl Quantum {
    /// The token of a turn.
    pub(crate) fn token(self, cancel: &CancelToken) -> CancelToken {
        match self {
            Self::For(time) => cancel.turn(Instant::now() + time),
            Self::Unlimited => cancel.clone(),
        }
    }
}

/// Priority levels.
pub(crate) const LEVELS: usize = QUERY_TURN_MILLIS.len() + 1;

fn quantum(level: usize) -> Quantum {
    let millis = QUERY_TURN_MILLIS.get(level);
    millis.map_or(Quantum::Unlimited, |millis| Quantum::For(Duration::from_millis(*millis)))
}

fn concurrency(level: usize) -> usize {
    QUERY_TURNS_AT_ONCE.get(level).copied().unwrap_or(QUERIES_LONG_AT_ONCE)
}

/// Runs a query. In a turn that ends it may give itself back, to be run again.
pub(crate) type Work = Box<dyn FnMut(Quantum) -> Progress + Send>;

/// What a turn came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Answered,
    Preempted,
}

struct Waiting {
    user: Caller,
    cancel: CancelToken,
    work: Work,
}

#[derive(Default)]
struct PriorityLevel {
    waiting: VecDeque<Waiting>,
    running: Vec<Caller>,
}

impl PriorityLevel {
    /// The first that waits of a user who has nothing running here.
    fn next(&mut self) -> Option<Waiting> {
        let free = |w: &Waiting| !self.running.contains(&w.user);
        let at = self.waiting.iter().position(free)?;
        let next = self.waiting.remove(at)?;
        self.running.push(next.user);
        Some(next)
    }

    /// One that waits although it was stopped, or its time is over.
    fn next_ended(&mut self) -> Option<Waiting> {
        let at = self.waiting.iter().position(|w| w.cancel.is_cancelled())?;
        self.waiting.remove(at)
    }

    /// Takes one in; whether it can begin at once, if there is a thread for it.
    fn take_in(&mut self, waiting: Waiting) -> bool {
        let free = !self.running.contains(&waiting.user);
        self.waiting.push_back(waiting);
        free
    }

    fn done(&mut self, user: Caller) {
        if let Some(at) = self.running.iter().position(|u| *u == user) {
            self.running.swap_remove(at);
        }
    }

    fn count(&self, user: Caller) -> usize {
        self.waiting.iter().filter(|w| w.user == user).count()
            + self.running.iter().filter(|u| **u == user).count()
    }

    fn len(&self) -> usize {
        self.waiting.len() + self.running.len()
    }
}

#[derive(Default)]
struct State {
    levels: [PriorityLevel; LEVELS],
    closed: bool,
}

impl State {
    /// Queries of a user that wait or run.
    fn count(&self, user: Caller) -> usize {
        self.levels.iter().map(|level| level.count(user)).sum()
    }

    /// Queries of all users that wait or run.
    fn len(&self) -> usize {
        self.levels.iter().map(PriorityLevel::len).sum()
    }
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    /// Wakes one thread of a level for each query that can begin, and one of the first for each that waits. What
    /// becomes free when a query ends is taken by the thread that ran it.
    wake: [Condvar; LEVELS],
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a signal that a query may begin at a level. While queries wait, threads of the first level
    /// also wake in time for their ends, which nothing signals.
    fn wait<'a>(&self, level: usize, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let wake = &self.wake[level];
        if level > 0 || state.levels.iter().all(|level| level.waiting.is_empty()) {
            return wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let waited = wake.wait_timeout(state, DEADLINE_LATE_MAX);
        waited.map_or_else(|e| e.into_inner().0, |(state, _)| state)
    }
}

/// The queue of queries and the threads that evaluate them.
pub(crate) struct QueryScheduler {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

/// How late the first level notices at most that the time of a query ended while it waited.
const DEADLINE_LATE_MAX: Duration = Duration::from_millis(500);
/// Bytes of the stack of a thread that evaluates queries.
const STACK_BYTES: usize = 8 << 20;

impl QueryScheduler {
    /// # Errors
    /// When the operating system gives no thread.
    pub(crate) fn start(ctx: &Arc<EngineContext>) -> std::io::Result<Self> {
        let mut scheduler = Self { queue: Arc::default(), threads: Vec::new() };
        let levels = (0..LEVELS).flat_map(|level| std::iter::repeat_n(level, concurrency(level)));
        for (i, level) in levels.enumerate() {
            let threads = ctx.threads();
            let (queue, ctx) = (scheduler.queue.clone(), ctx.clone());
            let thread = std::thread::Builder::new().name(format!("gl-query-{i}"));
            let (built, ready) = mpsc::sync_channel(1);
            scheduler.threads.push(thread.stack_size(STACK_BYTES).spawn(move || {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .use_current_thread()
                    .stack_size(STACK_BYTES)
                    .thread_name(move |n| format!("gl-query-{i}-{n}"))
                    .start_handler(move |_| set_up(level))
                    .build();
                match pool {
                    Ok(pool) => {
                        let _ = built.send(Ok(()));
                        set_up(level);
                        serve(&queue, &ctx, &pool, level);
                    }
                    Err(e) => drop(built.send(Err(std::io::Error::other(e)))),
                }
            })?);
            ready.recv().map_err(std::io::Error::other)??;
        }
        Ok(scheduler)
    }

    /// Queries of all users that wait or run.
    pub(crate) fn depth(&self) -> usize {
        self.queue.state().len()
    }

    /// Whether a query of a user is taken.
    ///
    /// # Errors
    /// [`EngineError::Busy`] when the user, or all together, have too many.
    pub(crate) fn check_room(&self, user: Caller) -> Result<(), EngineError> {
        let state = self.queue.state();
        if state.count(user) >= QUERIES_PER_USER_MAX {
            let limit = QUERIES_PER_USER_MAX;
            return Err(EngineError::Busy { what: "queries of one user", limit });
        }
        if state.len() >= QUERIES_MAX {
            return Err(EngineError::Busy { what: "queries", limit: QUERIES_MAX });
        }
        Ok(())
    }

    /// Takes a query in. Ask [`QueryScheduler::check_room`] first.
    pub(crate) fn submit(&self, user: Caller, cancel: CancelToken, work: Work) {
        let mut state = self.queue.state();
        if !state.closed {
            // Also for one that cannot begin yet: a thread has to know that its time may end.
            state.levels[0].take_in(Waiting { user, cancel, work });
            drop(state);
            self.queue.wake[0].notify_one();
        }
    }

    /// Lets the threads finish what they have begun, and forgets what waits.
    pub(crate) fn close(&mut self) -> Vec<JoinHandle<()>> {
        let mut state = self.queue.state();
        state.closed = true;
        state.levels.iter_mut().for_each(|level| level.waiting.clear());
        drop(state);
        self.queue.wake.iter().for_each(Condvar::notify_all);
        std::mem::take(&mut self.threads)
    }
}

/// Prepares a thread of a level: all but those of the first have a lower priority.
fn set_up(level: usize) {
    let done = if level == 0 { Ok(()) } else { lower_priority() };
    if let Err(e) = done {
        tracing::warn!(error = %e, "long queries run at normal priority");
    }
}

fn serve(queue: &Queue, ctx: &EngineContext, pool: &rayon::ThreadPool, level: usize) {
    let mut state = queue.state();
    loop {
        // The first level has time for those of all levels.
        let mut levels = state.levels.iter_mut().filter(|_| level == 0);
        if let Some(mut ended) = levels.find_map(PriorityLevel::next_ended) {
            // It has nothing to do any more but to say so.
            drop(state);
            let _ = catch_unwind(AssertUnwindSafe(|| (ended.work)(Quantum::Unlimited)));
            state = queue.state();
            continue;
        }
        let Some(Waiting { user, cancel, mut work }) = state.levels[level].next() else {
            if state.closed {
                return;
            }
            state = queue.wait(level, state);
            continue;
        };
        drop(state);
        let short = level == 0;
        if short {
            ctx.foreground.sign();
        }
        let begun = Instant::now();
        let run = AssertUnwindSafe(|| pool.install(|| work(quantum(level))));
        let progress = catch_unwind(run).unwrap_or_else(|payload| {
            ctx.counters.panics.fetch_add(1, Ordering::Relaxed);
            let panic = panic_text(payload.as_ref());
            tracing::error!(job = "query", panic, "a job panicked");
            Progress::Answered
        });
        let micros = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        ctx.counters.query_micros.fetch_add(micros, Ordering::Relaxed);
        ctx.counters.query_turns.fetch_add(1, Ordering::Relaxed);
        if short && progress == Progress::Answered {
            ctx.foreground.sign();
        }
        // What the query held is given back before the lock is taken: the engine's loop waits for that.
        let again = match progress {
            Progress::Preempted => Some(Waiting { user, cancel, work }),
            Progress::Answered => {
                drop((cancel, work));
                None
            }
        };
        state = queue.state();
        state.levels[level].done(user);
        let next = (level + 1).min(LEVELS - 1);
        if let Some(again) = again.filter(|_| !state.closed) {
            if state.levels[next].take_in(again) {
                queue.wake[next].notify_one();
            }
            queue.wake[0].notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    fn ctx() -> Arc<EngineContext> {
        let clock = Arc::new(graphlume_types::clock::SystemClock);
        let config = crate::config::Config::default();
        Arc::new(EngineContext::new(config, clock, Err(Arc::from("a test")), 1))
    }

    fn user(n: u64) -> Caller {
        Caller::User(graphlume_types::UserId(n))
    }

    #[test]
    fn a_user_s_long_queries_do_not_keep_others_waiting() {
        let mut scheduler = QueryScheduler::start(&ctx()).expect("threads");
        let (stop, stopped) = mpsc::sync_channel::<()>(1);
        let stopped = Arc::new(Mutex::new(stopped));
        let busy = Arc::new(AtomicUsize::new(0));
        for _ in 0..8 {
            let (stopped, busy) = (stopped.clone(), busy.clone());
            scheduler.check_room(user(1)).expect("room");
            scheduler.submit(
                user(1),
                CancelToken::new(),
                Box::new(move |quantum| {
                    if quantum != Quantum::Unlimited {
                        return Progress::Preempted;
                    }
                    busy.fetch_add(1, Ordering::SeqCst);
                    let _ = stopped.lock().map(|s| s.recv());
                    Progress::Answered
                }),
            );
        }
        let (done, answer) = mpsc::sync_channel(100);
        for i in 0..100 {
            let done = done.clone();
            scheduler.submit(
                user(2),
                CancelToken::new(),
                Box::new(move |_| {
                    let _ = done.send(i);
                    Progress::Answered
                }),
            );
        }
        let answers: Vec<i32> = answer.iter().take(100).collect();
        assert_eq!(answers, (0..100).collect::<Vec<_>>(), "one user's queries stay in order");
        assert!(busy.load(Ordering::SeqCst) <= 1, "a user has one long query at a time");
        drop(stop);
        scheduler.close().into_iter().for_each(|t| t.join().expect("no panic"));
        assert_eq!(scheduler.depth(), 0);
    }

    #[test]
    fn short_queries_of_several_users_run_side_by_side() {
        let mut scheduler = QueryScheduler::start(&ctx()).expect("threads");
        for _ in 0..50 {
            let (met, meets) = mpsc::sync_channel(4);
            let gate = Arc::new(std::sync::Barrier::new(QUERY_TURNS_AT_ONCE[0]));
            for n in 0..QUERY_TURNS_AT_ONCE[0] {
                let (met, gate) = (met.clone(), gate.clone());
                scheduler.submit(
                    user(n as u64),
                    CancelToken::new(),
                    Box::new(move |_| {
                        gate.wait();
                        let _ = met.send(n);
                        Progress::Answered
                    }),
                );
            }
            for _ in 0..QUERY_TURNS_AT_ONCE[0] {
                meets.recv_timeout(Duration::from_secs(10)).expect("all of them run");
            }
        }
        scheduler.close().into_iter().for_each(|t| t.join().expect("no panic"));
    }

    #[test]
    fn a_user_has_a_bound_of_queries_and_others_have_room() {
        let mut scheduler = QueryScheduler::start(&ctx()).expect("threads");
        let (stop, stopped) = mpsc::sync_channel::<()>(1);
        let stopped = Arc::new(Mutex::new(stopped));
        for _ in 0..QUERIES_PER_USER_MAX {
            let stopped = stopped.clone();
            scheduler.check_room(user(1)).expect("room");
            scheduler.submit(
                user(1),
                CancelToken::new(),
                Box::new(move |_| {
                    let _ = stopped.lock().map(|s| s.recv());
                    Progress::Answered
                }),
            );
        }
        let refused = scheduler.check_room(user(1)).expect_err("too many");
        assert!(refused.to_string().contains("queries of one user, limit 32"), "{refused}");
        scheduler.check_room(user(2)).expect("room for others");
        drop(stop);
        scheduler.close().into_iter().for_each(|t| t.join().expect("no panic"));
    }

    #[test]
    fn a_query_that_ends_while_it_waits_behind_another_is_told() {
        let mut scheduler = QueryScheduler::start(&ctx()).expect("threads");
        let (stop, stopped) = mpsc::sync_channel::<()>(1);
        let (long, runs) = mpsc::sync_channel(1);
        let endless = move |quantum| {
            if quantum != Quantum::Unlimited {
                return Progress::Preempted;
            }
            let _ = long.send(());
            let _ = stopped.recv();
            Progress::Answered
        };
        scheduler.submit(user(1), CancelToken::new(), Box::new(endless));
        runs.recv().expect("the last level");
        // Comes to the same level after a quantum at each of the others, and cannot begin there.
        let cancel = CancelToken::new();
        let (told, quanta) = mpsc::sync_channel(LEVELS);
        let waits = {
            let cancel = cancel.clone();
            move |_| {
                let is_over = cancel.is_cancelled();
                let _ = told.send(is_over);
                if is_over { Progress::Answered } else { Progress::Preempted }
            }
        };
        scheduler.submit(user(1), cancel.clone(), Box::new(waits));
        for _ in 1..LEVELS {
            assert_eq!(quanta.recv(), Ok(false));
        }
        cancel.cancel(graphlume_types::CancelReason::ClientGone);
        let told = quanta.recv_timeout(Duration::from_secs(10));
        assert_eq!(told, Ok(true), "told beside the long query");
        drop(stop);
        scheduler.close().into_iter().for_each(|t| t.join().expect("no panic"));
    }
}
