//! Steps of a document that are on the disk apart from its record, and when the record takes them in.

use std::time::Duration;

/// Steps apart from the record at most, as long as it may be written.
const STEPS_MAX: u64 = 256;
/// Bytes of them below which the record is not written for their sake.
const BYTES_MIN: usize = 256 << 10;
/// The least time between two writings of one record, microseconds.
const PAUSE_MICROS: i64 = Duration::from_secs(1).as_micros() as i64;

/// What of a document its record does not have yet. Only the holder of the session's turn changes it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Unwritten {
    /// The number of the first step that is apart.
    pub(crate) first: u64,
    /// The number of the next step.
    pub(crate) next: u64,
    bytes: usize,
    /// When the record was written last, unix microseconds.
    at: i64,
}

impl Unwritten {
    /// What was found on the disk: the numbers and bytes of steps in their order.
    pub(crate) fn found(steps: impl IntoIterator<Item = (u64, usize)>) -> Self {
        let mut found = Self::default();
        for (number, bytes) in steps {
            if found.bytes == 0 && found.next == 0 {
                found.first = number;
            }
            found.next = number + 1;
            found.bytes += bytes;
        }
        found
    }

    /// Whether the record is to take in a step of `bytes` bytes and all that are apart, for a document of `document` bytes:
    /// for each byte of the record that is written, a byte of steps was.
    pub(crate) fn is_due(&self, bytes: usize, document: usize, now: i64) -> bool {
        let many = self.next - self.first >= STEPS_MAX;
        let large = self.bytes + bytes > BYTES_MIN.max(document);
        (many || large) && now.saturating_sub(self.at) >= PAUSE_MICROS
    }

    /// A step was written apart.
    pub(crate) fn stepped(&mut self, bytes: usize) {
        self.next += 1;
        self.bytes += bytes;
    }

    /// The record was written with all steps.
    pub(crate) fn written(&mut self, now: i64) {
        (self.first, self.bytes, self.at) = (self.next, 0, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_is_written_once_for_as_many_bytes_and_not_twice_a_second() {
        let mut log = Unwritten::found([(7, 100), (8, 50)]);
        assert_eq!((log.first, log.next), (7, 9));
        let mut written = 0;
        for at in 0..10_000_i64 {
            // A hundred steps of a kilobyte a second, with a document of a megabyte.
            let now = 1_000_000_000 + at * 10_000;
            if log.is_due(1_000, 1 << 20, now) {
                log.written(now);
                written += 1;
            } else {
                log.stepped(1_000);
            }
        }
        assert!((30..=40).contains(&written), "{written}: one for {STEPS_MAX} steps");
        let mut log = Unwritten::default();
        let large = 512 << 10;
        let due = |log: &Unwritten, now| log.is_due(large, 1 << 20, now);
        log.stepped(large);
        assert!(!due(&log, PAUSE_MICROS), "a step and this one are no more than the document");
        log.stepped(large);
        assert!(due(&log, PAUSE_MICROS));
        log.written(PAUSE_MICROS);
        (0..9).for_each(|_| log.stepped(large));
        assert!(!due(&log, PAUSE_MICROS + 999_999) && due(&log, 2 * PAUSE_MICROS));
    }
}
