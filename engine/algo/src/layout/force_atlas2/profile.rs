//! Profile of the time of a layout, for benchmarks. Without a clock nothing is timed and the counts cost
//! a few additions an iteration; with one, every task of [`super::cells::TASK`] bodies reads it four times.

use super::ForceAtlas2;
use super::repulse::Work;

/// Tells the processor time, in nanoseconds, that the calling thread has used so far.
pub type Clock = fn() -> u64;

/// Counted work and time by phase since [`ForceAtlas2::watch`]. Times are those of the calling thread but
/// for repulsion and attraction, which add up over all threads: on one thread they are complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Iterations done.
    pub iterations: u64,
    /// How often the bodies were put in curve order anew.
    pub sorts: u64,
    /// How often the arcs followed.
    pub relabels: u64,
    /// Pairs of leaves, 16 bodies each, that were summed body by body.
    pub near: u64,
    /// Cells evaluated at the 16 bodies of a leaf.
    pub middle: u64,
    /// Cell-to-cell translations.
    pub far: u64,
    /// Sorting the bodies and what is kept by body.
    pub sort_ns: u64,
    /// Renaming the ends of all arcs, to follow the bodies.
    pub relabel_ns: u64,
    /// Recomputing the cells.
    pub refit_ns: u64,
    /// Repulsion.
    pub repulse_ns: u64,
    /// Attraction.
    pub attract_ns: u64,
    /// Gravity, swing, moving the bodies and the watch over rest.
    pub step_ns: u64,
}

impl Profile {
    pub(super) fn count(&mut self, work: Work) {
        self.iterations += 1;
        self.near += work.near;
        self.middle += work.middle;
        self.far += work.far;
    }
}

/// Times one phase after the other; always 0 without a clock.
pub(super) struct Laps {
    clock: Option<Clock>,
    last: u64,
}

impl Laps {
    pub(super) fn start(clock: Option<Clock>) -> Self {
        Self { clock, last: clock.map_or(0, |now| now()) }
    }

    /// Nanoseconds since the last lap.
    #[inline]
    pub(super) fn lap(&mut self) -> u64 {
        let Some(clock) = self.clock else { return 0 };
        let now = clock();
        now.saturating_sub(std::mem::replace(&mut self.last, now))
    }
}

impl ForceAtlas2 {
    /// Starts counting and timing by phase, from zero. Positions do not depend on it.
    pub fn watch(&mut self, clock: Clock) {
        self.clock = Some(clock);
        self.profile = Profile::default();
    }

    /// What was counted and timed since [`Self::watch`].
    #[must_use]
    pub fn profile(&self) -> &Profile {
        &self.profile
    }
}
