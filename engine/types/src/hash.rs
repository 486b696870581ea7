//! Counter-based pseudo-random numbers: the value depends on the key and the counter alone, so any
//! number of threads, and the device, produce the same stream.

/// The splitmix64 finaliser (Steele, Lea and Flood, OOPSLA 2014).
#[must_use]
pub const fn mix64(x: u64) -> u64 {
    let mut x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x ^= x >> 30;
    x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x ^= x >> 27;
    x = x.wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// `counter`-th value of `stream` under `seed`.
#[must_use]
pub const fn h64(seed: u64, stream: u64, counter: u64) -> u64 {
    mix64(mix64((seed << 32).wrapping_add(stream)) ^ counter)
}

/// [`h64`] as a uniform number in `[0, 1)` with 53 bits.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
pub const fn unit_f64(seed: u64, stream: u64, counter: u64) -> f64 {
    (h64(seed, stream, counter) >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        // First outputs of splitmix64 seeded with 0 and 1.
        assert_eq!(mix64(0), 0xE220_A839_7B1D_CDAF);
        assert_eq!(mix64(1), 0x910A_2DEC_8902_5CC1);
    }

    #[test]
    fn unit_numbers_stay_in_range() {
        for i in 0..10_000 {
            let u = unit_f64(1, 2, i);
            assert!((0.0..1.0).contains(&u));
        }
    }
}
