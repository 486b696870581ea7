//! Reports of other threads to the loop, for every part of the engine.

use crate::canary::Canary;
use crate::residency::ResidencyEvent;
use crate::session::SessionEvent;

/// A report in the loop's one channel, so that reports are taken in in the order in which they were sent.
pub(crate) enum EngineEvent {
    Residency(ResidencyEvent),
    Session(SessionEvent),
    /// The known-answer job has run.
    Canary(Canary),
}

impl From<ResidencyEvent> for EngineEvent {
    fn from(event: ResidencyEvent) -> Self {
        Self::Residency(event)
    }
}

impl From<SessionEvent> for EngineEvent {
    fn from(event: SessionEvent) -> Self {
        Self::Session(event)
    }
}

impl From<Canary> for EngineEvent {
    fn from(canary: Canary) -> Self {
        Self::Canary(canary)
    }
}
