//! Cooperative cancellation: one flag, one optional deadline, one reason; and the memory that the work may take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use crate::Foreground;
use crate::budget::{MemoryConsumer, MemoryReservation, Reservation, ResourcesExhausted};

/// Why work was asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum CancelReason {
    /// The caller disconnected or dropped its request.
    ClientGone = 1,
    /// The deadline passed.
    Deadline = 2,
    /// The process is stopping.
    Shutdown = 3,
    /// Newer work made this one useless.
    Superseded = 4,
    /// Its turn is over: it is begun again where it may take longer.
    TurnOver = 5,
}

/// Returned by [`CancelToken::check`]; propagate it with `?`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the work was stopped ({0:?})")]
pub struct Cancelled(pub CancelReason);

/// A cheap handle that every long loop checks: at least once per 65,536 rows or per primitive call.
#[derive(Debug, Clone)]
pub struct CancelToken {
    state: Arc<AtomicU8>,
    deadline: Option<Instant>,
    turn: Option<Instant>,
    memory: Option<MemoryConsumer>,
    foreground: Option<Arc<Foreground>>,
}

impl Default for CancelToken {
    fn default() -> Self {
        Self::new()
    }
}

impl CancelToken {
    /// A token without a deadline.
    #[must_use]
    pub fn new() -> Self {
        let state = Arc::new(AtomicU8::new(0));
        Self { state, deadline: None, turn: None, memory: None, foreground: None }
    }

    /// A token that trips by itself at `deadline`.
    #[must_use]
    pub fn with_deadline(deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..Self::new() }
    }

    /// The same token for a turn of the work, which ends at `until` and leaves the token as it is.
    #[must_use]
    pub fn turn(&self, until: Instant) -> Self {
        Self { turn: Some(until), ..self.clone() }
    }

    /// The same token for work that takes its memory from `share`. Without a share nothing is counted.
    #[must_use]
    pub fn with_memory(&self, share: MemoryConsumer) -> Self {
        Self { memory: Some(share), ..self.clone() }
    }

    /// The same token for long work, which waits at its checks while there is short work.
    #[must_use]
    pub fn giving_way(&self, foreground: &Arc<Foreground>) -> Self {
        Self { foreground: Some(Arc::clone(foreground)), ..self.clone() }
    }

    /// Takes `bytes` of memory until the share ends.
    ///
    /// # Errors
    /// [`ResourcesExhausted`] past the limit.
    pub fn take(&self, bytes: u64) -> Result<(), ResourcesExhausted> {
        self.memory.as_ref().map_or(Ok(()), |share| share.take(bytes))
    }

    /// Reserves `bytes` of memory for what outlives the work. Without a share nothing is counted.
    ///
    /// # Errors
    /// [`ResourcesExhausted`] when there is no more.
    pub fn reserve(&self, bytes: u64) -> Result<Option<Reservation>, ResourcesExhausted> {
        self.memory.as_ref().map(|share| share.reserve(bytes)).transpose()
    }

    /// Takes `bytes` of memory for as long as the answer lives.
    ///
    /// # Errors
    /// [`ResourcesExhausted`] past the limit.
    pub fn hold(&self, bytes: u64) -> Result<MemoryReservation, ResourcesExhausted> {
        MemoryReservation::new(self.memory.as_ref(), bytes)
    }

    /// Asks the work to stop. The first reason wins.
    pub fn cancel(&self, reason: CancelReason) {
        let _ = self.state.compare_exchange(0, reason as u8, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Whether the work should stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.check().is_err()
    }

    /// Work that gives way waits here while there is short work.
    ///
    /// # Errors
    /// [`Cancelled`] with the reason, once cancelled or past the deadline.
    pub fn check(&self) -> Result<(), Cancelled> {
        self.foreground.iter().for_each(|foreground| foreground.give_way());
        match self.state.load(Ordering::Relaxed) {
            0 => match self.deadline {
                Some(d) if Instant::now() >= d => {
                    self.cancel(CancelReason::Deadline);
                    Err(Cancelled(CancelReason::Deadline))
                }
                _ if self.turn.is_some_and(|t| Instant::now() >= t) => {
                    Err(Cancelled(CancelReason::TurnOver))
                }
                _ => Ok(()),
            },
            1 => Err(Cancelled(CancelReason::ClientGone)),
            2 => Err(Cancelled(CancelReason::Deadline)),
            3 => Err(Cancelled(CancelReason::Shutdown)),
            _ => Err(Cancelled(CancelReason::Superseded)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_the_flag_and_the_first_reason_stays() {
        let a = CancelToken::new();
        let b = a.clone();
        a.cancel(CancelReason::ClientGone);
        a.cancel(CancelReason::Shutdown);
        assert_eq!(b.check(), Err(Cancelled(CancelReason::ClientGone)));
    }

    #[test]
    fn the_end_of_a_turn_does_not_end_the_work() {
        let whole = CancelToken::new();
        let turn = whole.turn(Instant::now());
        assert_eq!(turn.check(), Err(Cancelled(CancelReason::TurnOver)));
        assert_eq!(whole.check(), Ok(()));
        whole.cancel(CancelReason::ClientGone);
        assert_eq!(turn.check(), Err(Cancelled(CancelReason::ClientGone)));
    }

    #[test]
    fn a_deadline_in_the_past_trips_at_once() {
        let t = CancelToken::with_deadline(Instant::now());
        assert_eq!(t.check(), Err(Cancelled(CancelReason::Deadline)));
    }
}
