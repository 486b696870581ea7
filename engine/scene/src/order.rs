//! The order in which edges are drawn: a seeded bijection, so that every prefix is a fair sample.

use graphlume_types::hash::h64;

/// A pseudo-random permutation of `0..len` that needs no memory: a balanced Feistel network over the
/// smallest even number of bits that covers `len`, walked along its cycles until the value falls into
/// range (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgeOrder {
    len: u32,
    half_bits: u32,
    seed: u64,
}

/// Rounds of the network; four give a pseudo-random permutation (Luby and Rackoff, 1988).
const ROUNDS: u64 = 4;

impl EdgeOrder {
    /// The permutation of `0..len` for `seed`.
    #[must_use]
    pub const fn new(len: u32, seed: u64) -> Self {
        let bits = 32 - len.saturating_sub(1).leading_zeros();
        let half = bits.div_ceil(2);
        Self { len, half_bits: if half == 0 { 1 } else { half }, seed }
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
    pub fn position(&self, drawn: u32) -> u32 {
        assert!(drawn < self.len, "drawn index {drawn} of {} edges", self.len);
        let mut x = u64::from(drawn);
        loop {
            x = self.forward(x);
            if x < u64::from(self.len) {
                return x as u32;
            }
        }
    }

    /// Drawn index of the edge at CSR position `position`: the inverse of [`Self::position`].
    ///
    /// # Panics
    /// When `position` is not below [`Self::len`].
    #[must_use]
    pub fn drawn(&self, position: u32) -> u32 {
        assert!(position < self.len, "position {position} of {} edges", self.len);
        let mut x = u64::from(position);
        loop {
            x = self.backward(x);
            if x < u64::from(self.len) {
                return x as u32;
            }
        }
    }

    const fn round(&self, round: u64, half: u64) -> u64 {
        h64(self.seed, round, half) & ((1 << self.half_bits) - 1)
    }

    fn forward(&self, x: u64) -> u64 {
        let (mut l, mut r) = (x >> self.half_bits, x & ((1 << self.half_bits) - 1));
        for k in 0..ROUNDS {
            (l, r) = (r, l ^ self.round(k, r));
        }
        l << self.half_bits | r
    }

    fn backward(&self, x: u64) -> u64 {
        let (mut l, mut r) = (x >> self.half_bits, x & ((1 << self.half_bits) - 1));
        for k in (0..ROUNDS).rev() {
            (l, r) = (r ^ self.round(k, l), l);
        }
        l << self.half_bits | r
    }
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
    fn seeds_give_different_orders_and_the_largest_length_works() {
        let (a, b) = (EdgeOrder::new(1000, 1), EdgeOrder::new(1000, 2));
        assert!((0..1000).filter(|i| a.position(*i) == b.position(*i)).count() < 20);
        let big = EdgeOrder::new(u32::MAX, 1);
        for drawn in [0, 1, u32::MAX / 2, u32::MAX - 1] {
            assert_eq!(big.drawn(big.position(drawn)), drawn);
        }
    }
}
