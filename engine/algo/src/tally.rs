//! Sums by label for each thread: how methods that look at the communities around a node add up its links to them.

use std::sync::{Mutex, PoisonError};

use crate::weight::Weight;

/// Sums by label, cleared in the time it took to fill them.
#[derive(Default)]
pub(crate) struct Tally<W> {
    of: Vec<W>,
    /// Labels in order of first appearance, then whatever earlier uses left.
    touched: Vec<u32>,
    len: usize,
}

impl<W: Weight> Tally<W> {
    pub(crate) fn new(labels: usize) -> Self {
        Self { of: vec![W::default(); labels], touched: Vec::new(), len: 0 }
    }

    /// Makes room for labels up to `labels`.
    pub(crate) fn grow(&mut self, labels: usize) {
        self.of.resize(self.of.len().max(labels), W::default());
    }

    /// Adds each weight to the sum of its label.
    #[inline(always)]
    pub(crate) fn extend(&mut self, items: impl ExactSizeIterator<Item = (u32, W)>) {
        let most = self.len + items.len();
        if self.touched.len() < most {
            self.touched.resize(most.next_power_of_two(), 0);
        }
        let (of, touched) = (self.of.as_mut_slice(), &mut self.touched[..most]);
        let mut len = self.len;
        for (label, w) in items {
            let sum = &mut of[label as usize];
            // Whether a label is new is as good as random: written without a branch.
            touched[len] = label;
            len += usize::from(*sum == W::default() && w != W::default());
            *sum += w;
        }
        self.len = len;
    }

    #[inline(always)]
    pub(crate) fn get(&self, label: u32) -> W {
        self.of[label as usize]
    }

    /// Calls `f(label, sum)` for every label in the order of first appearance, and clears.
    #[inline(always)]
    pub(crate) fn drain(&mut self, mut f: impl FnMut(u32, W)) {
        let (of, touched) = (self.of.as_mut_slice(), &self.touched[..self.len]);
        for l in touched {
            f(*l, std::mem::take(&mut of[*l as usize]));
        }
        self.len = 0;
    }
}

/// A tally for every thread of the pool and one for a caller from outside.
pub(crate) struct Tallies<W> {
    labels: usize,
    slots: Vec<Apart<W>>,
}

/// The tally of one thread, on cache lines of its own: threads write to theirs all the time.
#[repr(align(128))]
struct Apart<W>(Mutex<Option<Tally<W>>>);

impl<W: Weight> Tallies<W> {
    pub(crate) fn new(labels: usize) -> Self {
        let slots =
            (0..rayon::current_num_threads() + 1).map(|_| Apart(Mutex::new(None))).collect();
        Self { labels, slots }
    }

    /// Calls `f` with this thread's tally, which is empty.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Tally<W>) -> R) -> R {
        let slot = rayon::current_thread_index().map_or(0, |i| i + 1).min(self.slots.len() - 1);
        // Only this thread takes this lock, so it is always free.
        let mut tally = self.slots[slot].0.lock().unwrap_or_else(PoisonError::into_inner);
        f(tally.get_or_insert_with(|| Tally::new(self.labels)))
    }
}
