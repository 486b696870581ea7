//! What other threads report to the loop, whichever part of the engine it is for.

use crate::canary::Canary;
use crate::{residency, session};

/// A report in the loop's one channel, so that reports are taken in in the order in which they were sent.
pub(crate) enum Event {
    Residency(residency::Event),
    Session(session::Event),
    /// The known-answer job has run.
    Canary(Canary),
}

impl From<residency::Event> for Event {
    fn from(event: residency::Event) -> Self {
        Self::Residency(event)
    }
}

impl From<session::Event> for Event {
    fn from(event: session::Event) -> Self {
        Self::Session(event)
    }
}

impl From<Canary> for Event {
    fn from(canary: Canary) -> Self {
        Self::Canary(canary)
    }
}
