//! Notices what does not come back: the loop, or a piece of work on the GPU. Neither can be stopped from
//! outside, so after an alarm the answer is a new process.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, Sender, bounded};

use crate::context::EngineContext;
use crate::device::OnDeviceLost;
use crate::device::steps::TimeLimits;

/// How often the watch looks.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A look that comes later than this was held up by a pause of the process and not by other threads.
const PAUSE_MIN: Duration = Duration::from_millis(500);
/// What the process gets for an orderly end before it is ended from here.
const END_GRACE: Duration = Duration::from_secs(3);
/// The exit status that asks a supervisor for a new process at once (EX_TEMPFAIL).
const EXIT_RESTART: i32 = 75;

/// The watching thread; it ends when this is dropped.
pub(crate) struct Watchdog {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// # Errors
    /// When the operating system gives no thread.
    pub(crate) fn start(ctx: Arc<EngineContext>) -> std::io::Result<Self> {
        let (stop, stopped) = bounded(0);
        let thread = std::thread::Builder::new()
            .name("graphlume-watch".to_owned())
            .spawn(move || watch(&ctx, &stopped))?;
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

/// The watch ends when the other end of `stopped` is dropped.
fn watch(ctx: &EngineContext, stopped: &Receiver<()>) {
    let config = &ctx.config;
    let limits = TimeLimits { alarm: config.alarm_after, give_up: config.give_up_after };
    let is_restarted = config.on_device_lost == OnDeviceLost::Exit;
    let mut loop_alarmed = false;
    let mut wanted_at: Option<Instant> = None;
    let mut pauses = Pauses::new(ctx.clock.monotonic());
    while stopped.recv_timeout(LOOK_EVERY).is_err_and(|e| e.is_timeout()) {
        let now = ctx.clock.monotonic();
        if let Some(pause) = pauses.look(now) {
            tracing::warn!(seconds = pause.as_secs_f64(), "the process was stopped for a while");
            ctx.steps.put_off(pause);
        }
        let overdue = ctx.steps.overdue(now, limits);
        if let Some((what, took)) = overdue.alarm {
            ctx.counters.alarms.fetch_add(1, Ordering::Relaxed);
            tracing::error!(what, seconds = took.as_secs(), "work on the GPU takes very long");
        }
        // A loop that had no time to turn is not judged by the time that it was stopped.
        let age = ctx.heartbeat_age(now).min(pauses.running_for(now));
        let is_late = age > limits.alarm && !ctx.is_stopping();
        if is_late && !loop_alarmed {
            ctx.counters.alarms.fetch_add(1, Ordering::Relaxed);
            tracing::error!(seconds = age.as_secs(), "the engine's loop does not turn");
        }
        loop_alarmed = is_late;
        if let Some(what) = overdue.given_up {
            ctx.want_restart(format!("{what} on the GPU did not end within {:?}", limits.give_up));
        } else if is_late && age > limits.give_up && is_restarted {
            ctx.want_restart(format!("the engine's loop has not turned for {age:?}"));
        }
        if config.exit_on_panic && ctx.restart_reason().is_some() {
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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::device::steps::{Overdue, Steps};

    #[test]
    fn the_time_of_a_pause_counts_for_nothing() {
        let (steps, start) = (Steps::default(), Instant::now());
        let limits = TimeLimits { alarm: Duration::from_secs(2), give_up: Duration::from_secs(10) };
        let at = |millis| start + Duration::from_millis(millis);
        let mut pauses = Pauses::new(start);
        let _step = steps.begin("a slice", start);
        assert_eq!(pauses.look(at(100)), None);
        assert_eq!(pauses.look(at(450)), None, "a busy machine is no pause");
        // SIGSTOP for an hour.
        let pause = pauses.look(at(3_600_550)).unwrap();
        assert_eq!(pause, Duration::from_secs(3_600));
        steps.put_off(pause);
        assert_eq!(steps.overdue(at(3_600_550), limits), Overdue::default());
        assert_eq!(pauses.running_for(at(3_601_550)), Duration::from_secs(1));
        // What then really takes long is noticed as ever.
        assert_eq!(steps.overdue(at(3_611_000), limits).given_up, Some("a slice"));
    }
}
