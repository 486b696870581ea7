//! Reports by which work on other threads tells the loop of its result.

use std::sync::Arc;

use crossbeam::channel::Sender;

/// The sending end of the loop's one channel of events, for the events of one part of the engine.
pub(crate) struct Reports<E>(Arc<dyn Fn(E) -> bool + Send + Sync>);

impl<E> Clone for Reports<E> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<E: 'static> Reports<E> {
    /// The events of a part, as the loop's channel carries them.
    pub(crate) fn new<All: From<E> + Send + 'static>(events: Sender<All>) -> Self {
        Self(Arc::new(move |event| events.send(All::from(event)).is_ok()))
    }

    /// Sends an event, and blocks while the loop has too many; false when there is no loop any more.
    pub(crate) fn send(&self, event: E) -> bool {
        (self.0)(event)
    }

    /// The report of one job: `lost` is sent when the job panics before it has reported.
    pub(crate) fn once(&self, lost: E) -> Report<E> {
        Report { reports: self.clone(), lost: Some(lost) }
    }
}

/// What one job reports, once.
pub(crate) struct Report<E: 'static> {
    reports: Reports<E>,
    lost: Option<E>,
}

impl<E: 'static> Report<E> {
    /// Reports what came of the job.
    pub(crate) fn send(mut self, event: E) {
        self.lost = None;
        self.reports.send(event);
    }
}

impl<E: 'static> Drop for Report<E> {
    fn drop(&mut self) {
        // A job that is dropped without having run, as at the end of the engine, reports nothing.
        if std::thread::panicking()
            && let Some(lost) = self.lost.take()
        {
            self.reports.send(lost);
        }
    }
}

#[cfg(test)]
mod tests {
    use crossbeam::channel::bounded;

    use super::*;

    #[test]
    fn a_job_reports_once_and_a_lost_one_reports_its_loss() {
        let (events, received) = bounded::<u32>(4);
        let reports = Reports::<u32>::new(events);
        reports.once(0).send(1);
        let report = reports.once(2);
        let lost = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _held = report;
            std::panic::resume_unwind(Box::new("boom"));
        }));
        assert!(lost.is_err());
        drop(reports.once(3));
        assert_eq!(
            received.try_iter().collect::<Vec<_>>(),
            [1, 2],
            "one that never ran says nothing"
        );
    }
}
