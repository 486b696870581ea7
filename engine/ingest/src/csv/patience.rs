//! Waiting time before the quick way that just failed is tried again.

/// How much is read the slow way before the quick way, which suits most data, is tried again: little at first,
/// twice as much whenever the try did not pay, and never so much that data which become ordinary stay slow.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    first: usize,
    now: usize,
}

/// The most that is read the slow way.
const MOST: usize = 1 << 16;

impl Patience {
    /// Begins with `first`, which is not 0.
    pub const fn new(first: usize) -> Self {
        Self { first, now: first }
    }

    /// How much to read the slow way, after the quick way took `taken`.
    pub fn after(&mut self, taken: usize) -> usize {
        self.now = if taken > self.now { self.first } else { (2 * self.now).min(MOST) };
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_grows_to_a_bound_and_begins_anew_with_success() {
        let mut patience = Patience::new(4);
        assert_eq!([patience.after(0), patience.after(8), patience.after(9)], [8, 16, 32]);
        assert_eq!(patience.after(33), 4);
        assert!((0..1_000).all(|_| (1..=MOST).contains(&patience.after(0))));
        assert_eq!(patience.after(MOST + 1), 4);
    }
}
