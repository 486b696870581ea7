//! The value at a place in the order of a long list, without ordering the list.
//!
//! The place is bracketed by two values of a sample (Floyd and Rivest 1975, Communications of the ACM 18:165): all threads
//! count what lies below, and keep what lies between, which is little.

use std::cmp::Ordering;

use rayon::prelude::*;

/// Values from which a sample is worth its while.
const LONG: usize = 1 << 21;
/// Values of the sample.
const SAMPLE: usize = 1 << 12;
/// Places of the sample on either side of the wanted one: four times as far as chance leads it astray.
const MARGIN: usize = 128;
/// Values that a thread looks at before it is asked for more.
const CHUNK: usize = 1 << 16;

/// A list whose values are asked for by their places in its order.
#[derive(Debug)]
pub struct Ranked<'l, T> {
    list: &'l [T],
    /// A copy, partly in order; made for short lists alone, and where a sample misleads.
    ordered: Option<Vec<T>>,
}

impl<'l, T: Copy + Send + Sync> Ranked<'l, T> {
    /// Of this list, in any order.
    #[must_use]
    pub const fn new(list: &'l [T]) -> Self {
        Self { list, ordered: None }
    }

    /// The value that stands at place `k`, from 0 on, when the list is in the order of `cmp`. `k` is a place of the list.
    pub fn at(&mut self, k: usize, cmp: impl Fn(&T, &T) -> Ordering + Sync) -> T {
        if self.list.len() >= LONG
            && let Some(found) = bracketed(self.list, k, &cmp)
        {
            return found;
        }
        let ordered = self.ordered.get_or_insert_with(|| self.list.to_vec());
        *ordered.select_nth_unstable_by(k, cmp).1
    }
}

/// The value at place `k` by a sample; `None` when its bracket misses the place.
fn bracketed<T: Copy + Send + Sync>(
    list: &[T],
    k: usize,
    cmp: &(impl Fn(&T, &T) -> Ordering + Sync),
) -> Option<T> {
    let mut sample: Vec<T> = (0..SAMPLE).map(|i| list[i * list.len() / SAMPLE]).collect();
    sample.sort_unstable_by(cmp);
    let at = k * SAMPLE / list.len();
    let low = at.checked_sub(MARGIN).map(|at| sample[at]);
    let high = sample.get(at + MARGIN);
    let parts = list.par_chunks(CHUNK).map(|chunk| {
        let (mut below, mut between) = (0, Vec::new());
        for value in chunk {
            if low.as_ref().is_some_and(|low| cmp(value, low).is_lt()) {
                below += 1;
            } else if high.is_none_or(|high| cmp(value, high).is_le()) {
                between.push(*value);
            }
        }
        (below, between)
    });
    let (mut below, mut between) = (0, Vec::new());
    for (less, some) in parts.collect::<Vec<(usize, Vec<T>)>>() {
        below += less;
        between.extend(some);
    }
    let k = k.checked_sub(below).filter(|k| *k < between.len())?;
    Some(*between.select_nth_unstable_by(k, cmp).1)
}

#[cfg(test)]
mod tests {
    use graphlume_types::hash::h64;

    use super::*;

    #[test]
    fn each_place_has_the_value_of_the_ordered_list() {
        let n = 3 << 17;
        let lists: [Vec<f64>; 4] = [
            (0..n).map(|i| h64(1, 2, i as u64) as f64).collect(),
            // A sample of every so many values is misled by a list that goes up and down with it.
            (0..n).map(|i| if i % (n / SAMPLE) == 0 { 1e9 } else { i as f64 }).collect(),
            (0..n).map(|i| (h64(1, 3, i as u64) % 3) as f64 - 1.0).collect(),
            (0..n - 1).map(|i| (i as f64).sin()).collect(),
        ];
        let mut found_by_sample = 0;
        for list in lists {
            let mut ordered = list.clone();
            ordered.sort_unstable_by(f64::total_cmp);
            for k in [0, 1, 77, list.len() / 10, list.len() / 2, list.len() - 2, list.len() - 1] {
                let at = Ranked::new(&list).at(k, f64::total_cmp);
                assert_eq!(at.to_bits(), ordered[k].to_bits(), "{k}");
                let found = bracketed(&list, k, &f64::total_cmp);
                assert!(found.is_none_or(|v| v.to_bits() == ordered[k].to_bits()), "{k}");
                found_by_sample += usize::from(found.is_some());
            }
        }
        // All but those of the list that misleads.
        assert!((21..28).contains(&found_by_sample), "{found_by_sample}");
    }
}
