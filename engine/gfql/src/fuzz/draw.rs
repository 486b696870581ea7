//! Choices: drawn at random from a seed, remembered, and made smaller when a case is cut down.

use graphlume_types::hash::mix64;

/// A source of small numbers. Zero always means the simplest choice, so that a case shrinks by
/// leaving choices out and making them smaller.
pub(super) struct Draw {
    given: Option<Vec<u32>>,
    taken: Vec<u32>,
    state: u64,
}

impl Draw {
    /// Fresh choices of a seed.
    pub(super) fn seeded(seed: u64) -> Self {
        Self { given: None, taken: vec![], state: seed }
    }

    /// The choices of a list, and zeros behind it.
    pub(super) fn replay(list: Vec<u32>) -> Self {
        Self { given: Some(list), taken: vec![], state: 0 }
    }

    /// What was chosen.
    pub(super) fn taken(&self) -> &[u32] {
        &self.taken
    }

    /// A number below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        let n = (n as u32).max(1);
        let v = match &self.given {
            Some(list) => list.get(self.taken.len()).copied().unwrap_or(0),
            None => {
                self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                (mix64(self.state) >> 32) as u32
            }
        } % n;
        self.taken.push(v);
        v as usize
    }

    /// Yes in so many of a hundred cases.
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) >= 100 - percent
    }

    pub(super) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// One of several texts.
    pub(super) fn word(&mut self, list: &[&'static str]) -> &'static str {
        list[self.below(list.len())]
    }

    pub(super) fn list<T>(&mut self, most: usize, mut item: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = self.below(most + 1);
        (0..count).map(|_| item(self)).collect()
    }
}

/// The smallest list of choices that still fails, as far as leaving out and lowering gets.
pub(super) fn shrink(mut list: Vec<u32>, fails: impl Fn(&[u32]) -> bool) -> Vec<u32> {
    let mut tries = 20_000_usize;
    let mut better = true;
    while better && tries > 0 {
        better = false;
        for size in [64, 32, 16, 8, 4, 3, 2, 1] {
            let mut at = 0;
            while at + size <= list.len() && tries > 0 {
                tries -= 1;
                let mut less = list.clone();
                less.drain(at..at + size);
                if fails(&less) {
                    (list, better) = (less, true);
                } else {
                    at += 1;
                }
            }
        }
        for at in 0..list.len() {
            for v in [0, list[at] / 2, list[at].saturating_sub(1)] {
                if v < list[at] && tries > 0 {
                    tries -= 1;
                    let mut less = list.clone();
                    less[at] = v;
                    if fails(&less) {
                        (list, better) = (less, true);
                    }
                }
            }
        }
    }
    list
}
