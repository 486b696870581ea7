//! The order in which edges are drawn: a seeded bijection, so that every prefix is a fair sample.

use graphlume_types::hash::h64;

/// A pseudo-random permutation of `0..len` that needs no memory: a Feistel network over the smallest number of bits that
/// covers `len`, of two parts that change in turn, walked along its cycles until the value falls into range (Black and
/// Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002). A walk takes less than two steps on average.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgeOrder {
    len: u32,
    high_bits: u32,
    low_bits: u32,
    keys: [u64; ROUNDS],
}

/// Rounds of the network; four give a pseudo-random permutation (Luby and Rackoff, 1988).
const ROUNDS: usize = 4;

impl EdgeOrder {
    /// The permutation of `0..len` for `seed`.
    #[must_use]
    pub const fn new(len: u32, seed: u64) -> Self {
        let bits = 32 - len.saturating_sub(1).leading_zeros();
        let bits = if bits < 2 { 2 } else { bits };
        let mut keys = [0; ROUNDS];
        let mut k = 0;
        while k < ROUNDS {
            keys[k] = h64(seed, k as u64, 0);
            k += 1;
        }
        Self { len, high_bits: bits / 2, low_bits: bits.div_ceil(2), keys }
    }

    /// Edges.
    #[must_use]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Whether there is no edge.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// CSR position of the edge that is drawn as number `drawn`.
    ///
    /// # Panics
    /// When `drawn` is not below [`Self::len`].
    #[must_use]
    #[inline]
    pub const fn position(&self, drawn: u32) -> u32 {
        assert!(drawn < self.len, "no edge is drawn under this number");
        let mut x = drawn;
        loop {
            x = self.forward(x);
            if x < self.len {
                return x;
            }
        }
    }

    /// Drawn index of the edge at CSR position `position`: the inverse of [`Self::position`].
    ///
    /// # Panics
    /// When `position` is not below [`Self::len`].
    #[must_use]
    #[inline]
    pub const fn drawn(&self, position: u32) -> u32 {
        assert!(position < self.len, "no edge has this position");
        let mut x = position;
        loop {
            x = self.backward(x);
            if x < self.len {
                return x;
            }
        }
    }

    #[inline]
    const fn mask(bits: u32) -> u32 {
        (1 << bits) - 1
    }

    #[inline]
    const fn forward(&self, x: u32) -> u32 {
        let [a, b, c, d] = self.keys;
        let (high_mask, low_mask) = (Self::mask(self.high_bits), Self::mask(self.low_bits));
        let (mut high, mut low) = (x >> self.low_bits, x & low_mask);
        high ^= round(a, low) & high_mask;
        low ^= round(b, high) & low_mask;
        high ^= round(c, low) & high_mask;
        low ^= round(d, high) & low_mask;
        high << self.low_bits | low
    }

    #[inline]
    const fn backward(&self, x: u32) -> u32 {
        let [a, b, c, d] = self.keys;
        let (high_mask, low_mask) = (Self::mask(self.high_bits), Self::mask(self.low_bits));
        let (mut high, mut low) = (x >> self.low_bits, x & low_mask);
        low ^= round(d, high) & low_mask;
        high ^= round(c, low) & high_mask;
        low ^= round(b, high) & low_mask;
        high ^= round(a, low) & high_mask;
        high << self.low_bits | low
    }
}

/// 32 well-mixed bits of one half of a number: two multiplications, for a picture's edges all pass here.
#[inline]
const fn round(key: u64, half: u32) -> u32 {
    let x = (half as u64 ^ key >> 40).wrapping_mul(key | 1);
    ((x ^ x >> 32).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 32) as u32
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn every_edge_is_drawn_exactly_once_and_can_be_found_again() {
        for len in [0, 1, 2, 3, 4, 5, 7, 16, 17, 1000, 65_537] {
            let order = EdgeOrder::new(len, 7);
            let mut seen = vec![false; len as usize];
            for drawn in 0..len {
                let at = order.position(drawn);
                assert!(!std::mem::replace(&mut seen[at as usize], true), "{len}: {at} twice");
                assert_eq!(order.drawn(at), drawn);
            }
        }
    }

    #[test]
    fn a_prefix_is_spread_over_all_positions() {
        let order = EdgeOrder::new(100_000, 3);
        let mut bins = [0u32; 10];
        for drawn in 0..10_000 {
            bins[order.position(drawn) as usize / 10_000] += 1;
        }
        assert!(bins.iter().all(|b| (850..1150).contains(b)), "{bins:?}");
    }

    #[test]
    fn neighbours_of_the_table_are_drawn_far_from_each_other() {
        // Of independent places the mean distance is a third of the range, and one pair in 500 is closer than a thousandth.
        for (len, seed) in [(100_000u32, 1), (1 << 17, 2), ((1 << 20) + 1, 3)] {
            let order = EdgeOrder::new(len, seed);
            let apart: Vec<u32> =
                (1..len).map(|i| order.drawn(i).abs_diff(order.drawn(i - 1))).collect();
            let mean = apart.iter().map(|d| u64::from(*d)).sum::<u64>() as f64 / f64::from(len);
            let near = apart.iter().filter(|d| **d < len / 1000).count() as f64 / f64::from(len);
            assert!((mean / f64::from(len) - 1.0 / 3.0).abs() < 0.01, "{len}: {mean}");
            assert!((near - 0.002).abs() < 0.0006, "{len}: {near}");
        }
    }

    #[test]
    fn seeds_give_different_orders_and_the_largest_length_works() {
        let (a, b) = (EdgeOrder::new(1000, 1), EdgeOrder::new(1000, 2));
        assert!((0..1000).filter(|i| a.position(*i) == b.position(*i)).count() < 20);
        let big = EdgeOrder::new(u32::MAX, 1);
        for drawn in [0, 1, u32::MAX / 2, u32::MAX - 1] {
            assert_eq!(big.drawn(big.position(drawn)), drawn);
        }
    }
}
