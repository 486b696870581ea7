//! Bits as lists of numbers, and what the numbers lead to sent for ahead.

/// Words of rows that are listed at once, at most; see [`crate::Tuning::block_words`].
pub const BLOCK_MAX: usize = 64;

/// Lists the bits that are set; how many there are.
#[inline]
pub fn listed(words: &[u64], list: &mut [u32]) -> usize {
    let mut len = 0;
    for (word, first) in words.iter().zip((0..).step_by(64)) {
        let mut rest = *word;
        // Eight numbers are written whether there are so many or not: how many there are is unpredictable,
        // and a wrong one costs more.
        for to in list[len..].chunks_mut(8).take(rest.count_ones().div_ceil(8) as usize) {
            for number in to {
                *number = first + rest.trailing_zeros();
                rest &= rest.wrapping_sub(1);
            }
        }
        len += word.count_ones() as usize;
    }
    len
}

/// Has the processor fetch an element that is read soon; without the means for it, nothing happens.
#[inline(always)]
pub fn prefetch<T>(list: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the instruction reads nothing that the program sees, and never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(list.as_ptr().wrapping_add(index).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (list, index);
}

#[cfg(test)]
mod tests {
    use graphlume_types::hash::h64;

    use super::*;
    use crate::ids::IdSet;

    #[test]
    fn bits_are_listed_in_order() {
        let mut list = [7; BLOCK_MAX * 64];
        for round in 0..200_u64 {
            let len = h64(round, 0, 0) as usize % (BLOCK_MAX + 1);
            // From empty words to full ones.
            let draw = |i: u64, stream| h64(round, stream, i);
            let words: Vec<u64> = (0..len as u64)
                .map(|i| match round % 4 {
                    0 => draw(i, 1) & draw(i, 2) & draw(i, 3) & draw(i, 4),
                    1 => draw(i, 1),
                    2 => u64::MAX,
                    _ => draw(i, 1) | draw(i, 2) | draw(i, 3),
                })
                .collect();
            let wanted = IdSet::of_words(words.clone()).to_vec();
            let count = listed(&words, &mut list);
            assert_eq!(list[..count], wanted);
        }
    }
}
