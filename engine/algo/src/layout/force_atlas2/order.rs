//! The order of bodies along a Hilbert curve: consecutive bodies are near each other, so that every run of
//! [`super::cells::LEAF`] of them is a compact leaf and every gather meets warm cache lines.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

/// Bits sorted by one pass.
const DIGIT_BITS: u32 = 12;
const DIGITS: usize = 1 << DIGIT_BITS;
/// Items of one block: the same at any number of threads, although the result does not depend on it.
const BLOCK: usize = 1 << 16;

/// Curve state after, and digit of, one step: `STEP[state << 8 | x_nibble << 4 | y_nibble]` holds
/// `next state << 8 | eight bits of the key`.
static STEP: [u16; 1024] = steps();

const fn steps() -> [u16; 1024] {
    let mut table = [0u16; 1024];
    let mut i = 0;
    while i < 1024 {
        let (mut swap, mut flip) = ((i >> 9) & 1, (i >> 8) & 1);
        let mut key = 0;
        let mut bit = 4;
        while bit > 0 {
            bit -= 1;
            let (bx, by) = ((i >> (4 + bit)) & 1, (i >> bit) & 1);
            let (x, y) = if swap == 1 { (by ^ flip, bx ^ flip) } else { (bx ^ flip, by ^ flip) };
            key = key << 2 | ((3 * x) ^ y);
            if y == 0 {
                flip ^= x;
                swap ^= 1;
            }
        }
        table[i] = ((swap << 1 | flip) << 8 | key) as u16;
        i += 1;
    }
    table
}

/// Position on the curve of the cell `(x, y)` of a grid of `2^24` by `2^24`: 48 bits.
pub(super) fn hilbert(x: u32, y: u32) -> u64 {
    let mut state = 0usize;
    let mut key = 0u64;
    let mut shift = 24;
    while shift > 0 {
        shift -= 4;
        let nibbles = (x >> shift & 15) << 4 | (y >> shift & 15);
        let step = STEP[state << 8 | nibbles as usize];
        key = key << 8 | u64::from(step & 255);
        state = usize::from(step >> 8);
    }
    key
}

/// Buffers of the sort, kept between calls.
#[derive(Default)]
pub(in crate::layout) struct Sorter {
    items: Vec<AtomicU64>,
    spare: Vec<AtomicU64>,
}

impl Sorter {
    /// Indices of `points` along the curve over the box `low..high`, written to `order`.
    pub(in crate::layout) fn sort(
        &mut self,
        points: &[[f32; 2]],
        low: [f32; 2],
        high: [f32; 2],
        order: &mut Vec<u32>,
    ) {
        let n = points.len();
        let index_bits = usize::BITS - n.saturating_sub(1).leading_zeros();
        let key_bits = (64 - index_bits).min(48) & !1;
        let side = (high[0] - low[0]).max(high[1] - low[1]);
        let scale = if side > 0.0 { 16_777_215.0 / f64::from(side) } else { 0.0 };
        let cell = |v: f32, l: f32| ((f64::from(v) - f64::from(l)) * scale) as u32;
        self.items.resize_with(n, AtomicU64::default);
        self.spare.resize_with(n, AtomicU64::default);
        self.items.par_iter_mut().zip(points).enumerate().with_min_len(4096).for_each(
            |(i, (item, p))| {
                let key = hilbert(cell(p[0], low[0]), cell(p[1], low[1])) >> (48 - key_bits);
                *item.get_mut() = key << index_bits | i as u64;
            },
        );
        let mut shift = index_bits;
        while shift < index_bits + key_bits {
            if pass(&self.items, &self.spare, shift) {
                std::mem::swap(&mut self.items, &mut self.spare);
            }
            shift += DIGIT_BITS;
        }
        let mask = (1u64 << index_bits) - 1;
        order.clear();
        order.extend(self.items.iter().map(|i| (i.load(Ordering::Relaxed) & mask) as u32));
    }

    /// Bytes held.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        8 * (self.items.capacity() + self.spare.capacity())
    }
}

/// One stable counting pass over the digit at `shift`; `false` when all digits are equal and nothing
/// was written.
fn pass(from: &[AtomicU64], to: &[AtomicU64], shift: u32) -> bool {
    let digit = |i: &AtomicU64| (i.load(Ordering::Relaxed) >> shift) as usize & (DIGITS - 1);
    let mut counts: Vec<Vec<u32>> = from
        .par_chunks(BLOCK)
        .map(|block| {
            let mut counts = vec![0u32; DIGITS];
            for item in block {
                counts[digit(item)] += 1;
            }
            counts
        })
        .collect();
    let mut sum = 0;
    for d in 0..DIGITS {
        let before = sum;
        for block in &mut counts {
            let count = block[d];
            block[d] = sum;
            sum += count;
        }
        if before == 0 && sum as usize == from.len() {
            return false;
        }
    }
    from.par_chunks(BLOCK).zip(counts).for_each(|(block, mut at)| {
        for item in block {
            let slot = &mut at[digit(item)];
            to[*slot as usize].store(item.load(Ordering::Relaxed), Ordering::Relaxed);
            *slot += 1;
        }
    });
    true
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_visits_neighbours_one_after_the_other() {
        let mut cells: Vec<(u64, i64, i64)> = (0..64u32)
            .flat_map(|x| {
                (0..64u32).map(move |y| (hilbert(x << 18, y << 18), i64::from(x), i64::from(y)))
            })
            .collect();
        cells.sort_unstable();
        for pair in cells.windows(2) {
            assert_eq!(
                (pair[0].1 - pair[1].1).abs() + (pair[0].2 - pair[1].2).abs(),
                1,
                "{pair:?}"
            );
        }
    }

    #[test]
    fn the_radix_sort_orders_like_a_comparison_sort() {
        let unit = |s, i| graphlume_types::hash::unit_f64(7, s, i) as f32;
        let points: Vec<[f32; 2]> = (0..200_000).map(|i| [unit(0, i), unit(1, i) * 0.1]).collect();
        let mut order = Vec::new();
        Sorter::default().sort(&points, [0.0; 2], [1.0; 2], &mut order);
        let key =
            |p: [f32; 2]| hilbert((p[0] * 16_777_215.0) as u32, (p[1] * 16_777_215.0) as u32) >> 2;
        let mut seen = order.clone();
        seen.sort_unstable();
        assert!(seen.iter().enumerate().all(|(i, v)| i == *v as usize));
        assert!(
            order.windows(2).all(|w| key(points[w[0] as usize]) <= key(points[w[1] as usize]) + 1)
        );
    }
}
