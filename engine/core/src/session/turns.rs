//! Turns of sessions: who waits for a slice, and how many slices workers have.

use std::collections::VecDeque;

use graphlume_types::SessionId;

use crate::config::Config;
use crate::messages::Backend;
use crate::session::layout::Layout;
use crate::session::machine::VizSession;
use crate::session::slice::SliceReport;

/// A layout and what it did in its slice.
pub(crate) struct Slice {
    pub(super) layout: Box<Layout>,
    pub(super) report: SliceReport,
}

/// The sessions that wait for a slice, and how many slices workers have.
#[derive(Default)]
pub(super) struct Turns {
    /// In the order of their turns.
    pub(super) waiting: VecDeque<SessionId>,
    /// By [`Backend`]; on the device one at a time.
    pub(super) away: [usize; 2],
}

impl Turns {
    /// Puts the session at the end, if a worker could do something for it.
    pub(super) fn push(&mut self, session: &mut VizSession) {
        if !session.queued && session.wants_slice() {
            session.queued = true;
            self.waiting.push_back(session.id.clone());
        }
    }

    /// Sessions that wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// A slice has ended.
    pub(super) fn came_back(&mut self, backend: Backend) {
        let away = &mut self.away[backend as usize];
        *away = away.saturating_sub(1);
    }

    pub(super) fn has_room(&self, config: &Config, backend: Backend) -> bool {
        let limit = match backend {
            Backend::Cpu => config.layout_threads.max(1),
            Backend::Cuda => 1,
        };
        self.away[backend as usize] < limit
    }
}
