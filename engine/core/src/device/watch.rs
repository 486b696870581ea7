//! Notices what does not come back: the loop, or a piece of work on the GPU. Neither can be stopped from
//! outside, so after an alarm the answer is a new process.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;

use crate::health::Shared;

/// How often the watch looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A look that comes later than this was held up by a pause of the process and not by other threads.
const PAUSE_MIN: Duration = Duration::from_millis(500);
/// What the process gets for an orderly end before it is ended from here.
const END_GRACE: Duration = Duration::from_secs(3);
/// The exit status that asks a supervisor for a new process at once (EX_TEMPFAIL).
const EXIT_RESTART: i32 = 75;

/// Work on the GPU that is in progress.
#[derive(Default)]
pub(crate) struct Steps(Mutex<(u64, HashMap<u64, Step>)>);

struct Step {
    what: &'static str,
    begun: Instant,
    alarmed: bool,
}

/// One piece of work; over when dropped.
pub(crate) struct StepGuard<'a> {
    steps: &'a Steps,
    number: u64,
}

impl Steps {
    pub(crate) fn begin(&self, what: &'static str, now: Instant) -> StepGuard<'_> {
        let mut steps = self.0.lock();
        steps.0 += 1;
        let number = steps.0;
        steps.1.insert(number, Step { what, begun: now, alarmed: false });
        StepGuard { steps: self, number }
    }
}

impl Drop for StepGuard<'_> {
    fn drop(&mut self) {
        self.steps.0.lock().1.remove(&self.number);
    }
}

/// When something that takes long is worth an alarm, and when it is given up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    pub(crate) alarm: Duration,
    pub(crate) end: Duration,
}

/// The watching thread; it ends when this is dropped.
pub(crate) struct Watchdog {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// # Errors
    /// When the operating system gives no thread.
    pub(crate) fn start(
        shared: Arc<Shared>,
        patience: Patience,
        may_exit: bool,
        is_restarted: bool,
    ) -> std::io::Result<Self> {
        let (stop, stopped) = bounded(0);
        let thread = std::thread::Builder::new()
            .name("graphlume-watch".to_owned())
            .spawn(move || watch(&shared, patience, (may_exit, is_restarted), &stopped))?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn watch(
    shared: &Shared,
    patience: Patience,
    (may_exit, is_restarted): (bool, bool),
    stopped: &Receiver<()>,
) {
    let mut loop_alarmed = false;
    let mut wanted_at: Option<Instant> = None;
    let mut pauses = Pauses::new(shared.clock.monotonic());
    while stopped.recv_timeout(LOOK_EVERY).is_err_and(|e| e.is_timeout()) {
        let now = shared.clock.monotonic();
        if let Some(pause) = pauses.look(now) {
            tracing::warn!(seconds = pause.as_secs_f64(), "the process was stopped for a while");
            shared.steps.put_off(pause);
        }
        let (found, is_over) = longest(&shared.steps, now, patience);
        if let Some((what, took)) = found {
            shared.counters.alarms.fetch_add(1, Ordering::Relaxed);
            tracing::error!(what, seconds = took.as_secs(), "work on the GPU takes very long");
        }
        // A loop that had no time to turn is not judged by the time that it was stopped.
        let age = shared.heartbeat_age(now).min(pauses.running_for(now));
        let is_late = age > patience.alarm && !shared.stopping.load(Ordering::Relaxed);
        if is_late && !loop_alarmed {
            shared.counters.alarms.fetch_add(1, Ordering::Relaxed);
            tracing::error!(seconds = age.as_secs(), "the engine's loop does not turn");
        }
        loop_alarmed = is_late;
        if let Some(what) = is_over {
            shared.want_restart(format!("{what} on the GPU did not end within {:?}", patience.end));
        } else if is_late && age > patience.end && is_restarted {
            shared.want_restart(format!("the engine's loop has not turned for {age:?}"));
        }
        if may_exit && shared.restart_reason().is_some() {
            let since = *wanted_at.get_or_insert(now);
            if now.saturating_duration_since(since) > END_GRACE {
                tracing::error!("the process did not end in order and is ended");
                std::process::exit(EXIT_RESTART);
            }
        }
    }
}

/// Times in which the whole process stood still: it was stopped and continued, frozen with its container, or its
/// virtual machine was paused. The watching thread, which sleeps for [`LOOK_EVERY`] only, tells them by its own delay.
struct Pauses {
    looked: Instant,
    resumed: Instant,
}

impl Pauses {
    const fn new(now: Instant) -> Self {
        Self { looked: now, resumed: now }
    }

    /// Notes a look; gives how long the process stood still before it, when it did.
    fn look(&mut self, now: Instant) -> Option<Duration> {
        let since = now.saturating_duration_since(std::mem::replace(&mut self.looked, now));
        let late = since.checked_sub(LOOK_EVERY).filter(|late| *late > PAUSE_MIN)?;
        self.resumed = now;
        Some(late)
    }

    /// How long the process has been running without a pause.
    fn running_for(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.resumed)
    }
}

impl Steps {
    /// Counts a pause of the process to no step.
    fn put_off(&self, pause: Duration) {
        for step in self.0.lock().1.values_mut() {
            step.begun += pause;
        }
    }
}

/// Work that has just passed the alarm, and work that is given up.
fn longest(
    steps: &Steps,
    now: Instant,
    patience: Patience,
) -> (Option<(&'static str, Duration)>, Option<&'static str>) {
    let (mut alarm, mut over) = (None, None);
    for step in steps.0.lock().1.values_mut() {
        let took = now.saturating_duration_since(step.begun);
        if took > patience.alarm && !std::mem::replace(&mut step.alarmed, true) {
            alarm = Some((step.what, took));
        }
        if took > patience.end {
            over = Some(step.what);
        }
    }
    (alarm, over)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn a_step_alarms_once_and_is_given_up_in_the_end() {
        let (steps, start) = (Steps::default(), Instant::now());
        let patience = Patience { alarm: Duration::from_secs(2), end: Duration::from_secs(10) };
        let at = |secs| start + Duration::from_secs(secs);
        let step = steps.begin("a slice", start);
        assert_eq!(longest(&steps, at(1), patience), (None, None));
        let alarm = Some(("a slice", Duration::from_secs(3)));
        assert_eq!(longest(&steps, at(3), patience), (alarm, None));
        assert_eq!(longest(&steps, at(4), patience), (None, None), "once");
        assert_eq!(longest(&steps, at(11), patience).1, Some("a slice"));
        drop(step);
        assert_eq!(longest(&steps, at(20), patience), (None, None));
    }

    #[test]
    fn the_time_of_a_pause_counts_for_nothing() {
        let (steps, start) = (Steps::default(), Instant::now());
        let patience = Patience { alarm: Duration::from_secs(2), end: Duration::from_secs(10) };
        let at = |millis| start + Duration::from_millis(millis);
        let mut pauses = Pauses::new(start);
        let _step = steps.begin("a slice", start);
        assert_eq!(pauses.look(at(100)), None);
        assert_eq!(pauses.look(at(450)), None, "a busy machine is no pause");
        // SIGSTOP for an hour.
        let pause = pauses.look(at(3_600_550)).unwrap();
        assert_eq!(pause, Duration::from_secs(3_600));
        steps.put_off(pause);
        assert_eq!(longest(&steps, at(3_600_550), patience), (None, None));
        assert_eq!(pauses.running_for(at(3_601_550)), Duration::from_secs(1));
        // What then really takes long is noticed as ever.
        assert_eq!(longest(&steps, at(3_611_000), patience).1, Some("a slice"));
    }
}
