//! Work on the GPU that is in progress. It cannot be stopped from outside, so the watchdog measures it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The pieces of work in progress.
#[derive(Default)]
pub(crate) struct Steps(Mutex<(u64, HashMap<u64, DeviceStep>)>);

struct DeviceStep {
    what: &'static str,
    begun: Instant,
    alarmed: bool,
}

/// One piece of work; over when dropped.
pub(crate) struct StepGuard<'a> {
    steps: &'a Steps,
    number: u64,
}

/// When something that takes long is worth an alarm, and when it is given up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeLimits {
    pub(crate) alarm: Duration,
    pub(crate) give_up: Duration,
}

/// What takes too long at some moment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Overdue {
    /// Work that has passed the alarm since the last look, and how long it has taken.
    pub(crate) alarm: Option<(&'static str, Duration)>,
    /// Work that is given up.
    pub(crate) given_up: Option<&'static str>,
}

impl Steps {
    pub(crate) fn begin(&self, what: &'static str, now: Instant) -> StepGuard<'_> {
        let mut steps = self.0.lock();
        steps.0 += 1;
        let number = steps.0;
        steps.1.insert(number, DeviceStep { what, begun: now, alarmed: false });
        StepGuard { steps: self, number }
    }

    /// Counts a pause of the process to no step.
    pub(crate) fn put_off(&self, pause: Duration) {
        for step in self.0.lock().1.values_mut() {
            step.begun += pause;
        }
    }

    /// What takes too long; each step alarms once.
    pub(crate) fn overdue(&self, now: Instant, limits: TimeLimits) -> Overdue {
        let mut found = Overdue::default();
        for step in self.0.lock().1.values_mut() {
            let took = now.saturating_duration_since(step.begun);
            if took > limits.alarm && !std::mem::replace(&mut step.alarmed, true) {
                found.alarm = Some((step.what, took));
            }
            if took > limits.give_up {
                found.given_up = Some(step.what);
            }
        }
        found
    }
}

impl Drop for StepGuard<'_> {
    fn drop(&mut self) {
        self.steps.0.lock().1.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_alarms_once_and_is_given_up_in_the_end() {
        let (steps, start) = (Steps::default(), Instant::now());
        let limits = TimeLimits { alarm: Duration::from_secs(2), give_up: Duration::from_secs(10) };
        let at = |secs| start + Duration::from_secs(secs);
        let step = steps.begin("a slice", start);
        assert_eq!(steps.overdue(at(1), limits), Overdue::default());
        let alarm = Some(("a slice", Duration::from_secs(3)));
        assert_eq!(steps.overdue(at(3), limits), Overdue { alarm, given_up: None });
        assert_eq!(steps.overdue(at(4), limits), Overdue::default(), "once");
        assert_eq!(steps.overdue(at(11), limits).given_up, Some("a slice"));
        drop(step);
        assert_eq!(steps.overdue(at(20), limits), Overdue::default());
    }
}
