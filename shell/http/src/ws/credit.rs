//! Credit of a page: position frames that may be on their way to it.

use std::collections::VecDeque;

use graphlume_types::limits;

/// How many position frames may be on their way: the only brake there is, since a browser takes
/// whatever arrives.
#[derive(Debug, Default)]
pub(super) struct Credit {
    unacked: VecDeque<u32>,
    /// Whether the page is out of sight.
    pub(super) hidden: bool,
}

impl Credit {
    pub(super) fn allows_frame(&self) -> bool {
        !self.hidden && self.unacked.len() < limits::FRAMES_UNACKED_MAX
    }

    pub(super) fn sent(&mut self, seq: u32) {
        self.unacked.push_back(seq);
    }

    /// Frames arrive in order, so an acknowledgement covers the earlier ones too.
    pub(super) fn acknowledged(&mut self, seq: u32) {
        while self.unacked.front().is_some_and(|first| *first <= seq) {
            self.unacked.pop_front();
        }
    }

    pub(super) fn forgive(&mut self) {
        self.unacked.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_frames_may_be_on_their_way_and_a_hidden_page_gets_none() {
        let mut credit = Credit::default();
        credit.sent(4);
        assert!(credit.allows_frame());
        credit.sent(9);
        assert!(!credit.allows_frame());
        credit.acknowledged(3);
        assert!(!credit.allows_frame(), "an old acknowledgement frees nothing");
        credit.acknowledged(4);
        assert!(credit.allows_frame());
        credit.sent(12);
        credit.acknowledged(12);
        assert!(credit.unacked.is_empty(), "the last one covers the earlier ones");
        credit.hidden = true;
        assert!(!credit.allows_frame());
    }
}
