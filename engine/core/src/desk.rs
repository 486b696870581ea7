//! Where queries wait and run: in lanes, so that nobody's long queries keep others from short ones (a
//! multilevel feedback queue).
//!
//! Every query gets a short turn in the first lane. One that is not done by then is begun again in the
//! second lane and at last in the third, on threads that give way to all others and that wait while there
//! are short requests; a query changes nothing, so that all it costs is the turns. In each lane a user has one query at a time, and users take turns.
//! Each thread has a pool of its own, to which it belongs itself: the work of one query never waits behind
//! the parts of another's, and one that has no parts runs without waking anybody.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use graphlume_types::limits::{
    QUERIES_LONG_AT_ONCE, QUERIES_MAX, QUERIES_PER_USER_MAX, QUERY_TURN_MILLIS, QUERY_TURNS_AT_ONCE,
};
use graphlume_types::{CancelToken, UserId};

use crate::background::give_way;
use crate::error::EngineError;
use crate::health::Shared;
use crate::workers::panic_text;

/// How long a query may run now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// For this long.
    For(Duration),
    /// To its end.
    Whole,
}

/// Lanes of a desk.
pub(crate) const LANES: usize = QUERY_TURN_MILLIS.len() + 1;

fn turn(lane: usize) -> Turn {
    let millis = QUERY_TURN_MILLIS.get(lane);
    millis.map_or(Turn::Whole, |millis| Turn::For(Duration::from_millis(*millis)))
}

fn at_once(lane: usize) -> usize {
    QUERY_TURNS_AT_ONCE.get(lane).copied().unwrap_or(QUERIES_LONG_AT_ONCE)
}

/// Runs a query. In a turn that ends it may give itself back, to be run again.
pub(crate) type Work = Box<dyn FnMut(Turn) -> Progress + Send>;

/// What a turn came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    Answered,
    Overran,
}

struct Waiting {
    user: Option<UserId>,
    cancel: CancelToken,
    work: Work,
}

#[derive(Default)]
struct Lane {
    waiting: VecDeque<Waiting>,
    running: Vec<Option<UserId>>,
}

impl Lane {
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

    fn done(&mut self, user: Option<UserId>) {
        if let Some(at) = self.running.iter().position(|u| *u == user) {
            self.running.swap_remove(at);
        }
    }

    fn count(&self, user: Option<UserId>) -> usize {
        self.waiting.iter().filter(|w| w.user == user).count()
            + self.running.iter().filter(|u| **u == user).count()
    }

    fn len(&self) -> usize {
        self.waiting.len() + self.running.len()
    }
}

#[derive(Default)]
struct State {
    lanes: [Lane; LANES],
    closed: bool,
}

impl State {
    /// Queries of a user that wait or run.
    fn count(&self, user: Option<UserId>) -> usize {
        self.lanes.iter().map(|lane| lane.count(user)).sum()
    }

    /// Queries of all users that wait or run.
    fn len(&self) -> usize {
        self.lanes.iter().map(Lane::len).sum()
    }
}

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    /// Wakes one thread of a lane for each query that can begin. What becomes free when a query ends is taken
    /// by the thread that ran it.
    wake: [Condvar; LANES],
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The desk that takes queries in.
pub(crate) struct Desk {
    inner: Arc<Inner>,
    threads: Vec<JoinHandle<()>>,
}

/// How often the first lane looks for queries whose time ended while they waited.
const LOOK: Duration = Duration::from_millis(500);
/// Bytes of the stack of a thread that evaluates queries.
const STACK_BYTES: usize = 8 << 20;

impl Desk {
    /// # Errors
    /// When the operating system gives no thread.
    pub(crate) fn start(threads: usize, shared: &Arc<Shared>) -> std::io::Result<Self> {
        let mut desk = Self { inner: Arc::default(), threads: Vec::new() };
        let lanes = (0..LANES).flat_map(|lane| std::iter::repeat_n(lane, at_once(lane)));
        for (i, lane) in lanes.enumerate() {
            let (inner, shared) = (desk.inner.clone(), shared.clone());
            let thread = std::thread::Builder::new().name(format!("gl-query-{i}"));
            let (built, ready) = mpsc::sync_channel(1);
            desk.threads.push(thread.stack_size(STACK_BYTES).spawn(move || {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .use_current_thread()
                    .stack_size(STACK_BYTES)
                    .thread_name(move |n| format!("gl-query-{i}-{n}"))
                    .start_handler(move |_| set_up(lane))
                    .build();
                match pool {
                    Ok(pool) => {
                        let _ = built.send(Ok(()));
                        set_up(lane);
                        serve(&inner, &shared, &pool, lane);
                    }
                    Err(e) => drop(built.send(Err(std::io::Error::other(e)))),
                }
            })?);
            ready.recv().map_err(std::io::Error::other)??;
        }
        Ok(desk)
    }

    /// Queries of all users that wait or run.
    pub(crate) fn depth(&self) -> usize {
        self.inner.state().len()
    }

    /// Whether a query of a user is taken.
    ///
    /// # Errors
    /// [`EngineError::Busy`] when the user, or all together, have too many.
    pub(crate) fn check_room(&self, user: Option<UserId>) -> Result<(), EngineError> {
        let state = self.inner.state();
        if state.count(user) >= QUERIES_PER_USER_MAX {
            let limit = QUERIES_PER_USER_MAX;
            return Err(EngineError::Busy { what: "queries of one user", limit });
        }
        if state.len() >= QUERIES_MAX {
            return Err(EngineError::Busy { what: "queries", limit: QUERIES_MAX });
        }
        Ok(())
    }

    /// Takes a query in. Ask [`Desk::check_room`] first.
    pub(crate) fn submit(&self, user: Option<UserId>, cancel: CancelToken, work: Work) {
        let mut state = self.inner.state();
        if !state.closed && state.lanes[0].take_in(Waiting { user, cancel, work }) {
            drop(state);
            self.inner.wake[0].notify_one();
        }
    }

    /// Lets the threads finish what they have begun, and forgets what waits.
    pub(crate) fn close(&mut self) -> Vec<JoinHandle<()>> {
        let mut state = self.inner.state();
        state.closed = true;
        state.lanes.iter_mut().for_each(|lane| lane.waiting.clear());
        drop(state);
        self.inner.wake.iter().for_each(Condvar::notify_all);
        std::mem::take(&mut self.threads)
    }
}

/// Prepares a thread of a lane: all but those of the first give way.
fn set_up(lane: usize) {
    let done = if lane == 0 { Ok(()) } else { give_way() };
    if let Err(e) = done {
        tracing::warn!(error = %e, "long queries run at normal priority");
    }
}

fn serve(inner: &Inner, shared: &Shared, pool: &rayon::ThreadPool, lane: usize) {
    let mut state = inner.state();
    loop {
        // The first lane has time for those of all lanes.
        let mut lanes = state.lanes.iter_mut().filter(|_| lane == 0);
        if let Some(mut ended) = lanes.find_map(Lane::next_ended) {
            // It has nothing to do any more but to say so.
            drop(state);
            let _ = catch_unwind(AssertUnwindSafe(|| (ended.work)(Turn::Whole)));
            state = inner.state();
            continue;
        }
        let Some(Waiting { user, cancel, mut work }) = state.lanes[lane].next() else {
            if state.closed {
                return;
            }
            let waited = inner.wake[lane].wait_timeout(state, LOOK);
            state = waited.map_or_else(|e| e.into_inner().0, |(state, _)| state);
            continue;
        };
        drop(state);
        let short = lane == 0;
        if short {
            shared.foreground.sign();
        }
        let run = AssertUnwindSafe(|| pool.install(|| work(turn(lane))));
        let progress = catch_unwind(run).unwrap_or_else(|payload| {
            shared.counters.panics.fetch_add(1, Ordering::Relaxed);
            let panic = panic_text(payload.as_ref());
            tracing::error!(job = "query", panic, "a job panicked");
            Progress::Answered
        });
        if short && progress == Progress::Answered {
            shared.foreground.sign();
        }
        // What the query held is given back before the lock is taken: the engine's loop waits for that.
        let again = match progress {
            Progress::Overran => Some(Waiting { user, cancel, work }),
            Progress::Answered => {
                drop((cancel, work));
                None
            }
        };
        state = inner.state();
        state.lanes[lane].done(user);
        let next = (lane + 1).min(LANES - 1);
        if let Some(again) = again.filter(|_| !state.closed)
            && state.lanes[next].take_in(again)
        {
            inner.wake[next].notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    fn shared() -> Arc<Shared> {
        let clock = Arc::new(graphlume_types::clock::SystemClock);
        let card = Err(Arc::from("a test"));
        let budget = graphlume_types::Budget::new("host", 1 << 20);
        Arc::new(Shared::new(clock, crate::handle::CALL_DEADLINE, budget, card))
    }

    fn user(n: u64) -> Option<UserId> {
        Some(UserId(n))
    }

    #[test]
    fn a_user_s_long_queries_do_not_keep_others_waiting() {
        let mut desk = Desk::start(1, &shared()).expect("threads");
        let (stop, stopped) = mpsc::sync_channel::<()>(1);
        let stopped = Arc::new(Mutex::new(stopped));
        let busy = Arc::new(AtomicUsize::new(0));
        for _ in 0..8 {
            let (stopped, busy) = (stopped.clone(), busy.clone());
            desk.check_room(user(1)).expect("room");
            desk.submit(
                user(1),
                CancelToken::new(),
                Box::new(move |turn| {
                    if turn != Turn::Whole {
                        return Progress::Overran;
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
            desk.submit(
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
        desk.close().into_iter().for_each(|t| t.join().expect("no panic"));
        assert_eq!(desk.depth(), 0);
    }

    #[test]
    fn short_queries_of_several_users_run_side_by_side() {
        let mut desk = Desk::start(1, &shared()).expect("threads");
        for _ in 0..50 {
            let (met, meets) = mpsc::sync_channel(4);
            let gate = Arc::new(std::sync::Barrier::new(QUERY_TURNS_AT_ONCE[0]));
            for n in 0..QUERY_TURNS_AT_ONCE[0] {
                let (met, gate) = (met.clone(), gate.clone());
                desk.submit(
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
        desk.close().into_iter().for_each(|t| t.join().expect("no panic"));
    }

    #[test]
    fn a_user_has_a_bound_of_queries_and_others_have_room() {
        let mut desk = Desk::start(1, &shared()).expect("threads");
        let (stop, stopped) = mpsc::sync_channel::<()>(1);
        let stopped = Arc::new(Mutex::new(stopped));
        for _ in 0..QUERIES_PER_USER_MAX {
            let stopped = stopped.clone();
            desk.check_room(user(1)).expect("room");
            desk.submit(
                user(1),
                CancelToken::new(),
                Box::new(move |_| {
                    let _ = stopped.lock().map(|s| s.recv());
                    Progress::Answered
                }),
            );
        }
        let refused = desk.check_room(user(1)).expect_err("too many");
        assert!(refused.to_string().contains("queries of one user, limit 32"), "{refused}");
        desk.check_room(user(2)).expect("room for others");
        drop(stop);
        desk.close().into_iter().for_each(|t| t.join().expect("no panic"));
    }
}
