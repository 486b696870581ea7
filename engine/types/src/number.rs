//! Ways between kinds of numbers, each with a name that says what becomes of a value that the other kind does not hold.
//!
//! Files through which the values of users pass (`scripts/house_values.txt`) have no other casts: `exact_` ways answer
//! nothing for such a value, `nearest_` ways round, `saturating_` ways give the end of the range, and `bits_` ways keep
//! the bits and are for hashes.

/// The float that has this value; `None` where none has.
#[must_use]
pub const fn exact_f64(v: i64) -> Option<f64> {
    let float = nearest_f64(v);
    // The largest integer rounds up to 2^63, which saturates back to it.
    if float < 9_223_372_036_854_775_808.0 && saturating_i64(float) == v {
        Some(float)
    } else {
        None
    }
}

/// The float that has this value; `None` where none has.
#[must_use]
pub const fn exact_f64_of_u64(v: u64) -> Option<f64> {
    let float = nearest_f64_of_u64(v);
    if float < 18_446_744_073_709_551_616.0 && saturating_u64(float) == v {
        Some(float)
    } else {
        None
    }
}

/// The integer that has this value; `None` where none has.
#[must_use]
pub const fn exact_i64(v: f64) -> Option<i64> {
    // Both bounds are powers of two and so exact; 2^63 itself is outside.
    let inside = v >= -9_223_372_036_854_775_808.0 && v < 9_223_372_036_854_775_808.0;
    let whole = saturating_i64(v);
    if inside && nearest_f64(whole) == v { Some(whole) } else { None }
}

/// The unsigned integer that has this value; `None` where none has.
#[must_use]
pub const fn exact_u64(v: f64) -> Option<u64> {
    let inside = v >= 0.0 && v < 18_446_744_073_709_551_616.0;
    let whole = saturating_u64(v);
    if inside && nearest_f64_of_u64(whole) == v { Some(whole) } else { None }
}

/// The nearest float.
#[must_use]
#[inline]
pub const fn nearest_f64(v: i64) -> f64 {
    v as f64
}

/// The nearest float.
#[must_use]
#[inline]
pub const fn nearest_f64_of_u64(v: u64) -> f64 {
    v as f64
}

/// The nearest float of a length.
#[must_use]
#[inline]
pub const fn nearest_f64_of_len(v: usize) -> f64 {
    v as f64
}

/// The nearest float of 32 bits, which is infinite beyond their range.
#[must_use]
#[inline]
pub const fn nearest_f32(v: f64) -> f32 {
    v as f32
}

/// The whole part, or the end of the range; 0 for NaN.
#[must_use]
#[inline]
pub const fn saturating_i64(v: f64) -> i64 {
    v as i64
}

/// The whole part, or the end of the range; 0 for NaN.
#[must_use]
#[inline]
pub const fn saturating_u64(v: f64) -> u64 {
    v as u64
}

/// The whole part, or the end of the range; 0 for NaN.
#[must_use]
#[inline]
pub const fn saturating_i128(v: f64) -> i128 {
    v as i128
}

/// The whole part, or the end of the range; 0 for NaN.
#[must_use]
#[inline]
pub const fn saturating_usize(v: f64) -> usize {
    v as usize
}

/// A length as an integer, or the largest.
#[must_use]
#[inline]
pub const fn saturating_len(v: usize) -> i64 {
    if v > i64::MAX as usize { i64::MAX } else { v as i64 }
}

/// The bits of an integer.
#[must_use]
#[inline]
pub const fn bits_u64(v: i64) -> u64 {
    v as u64
}

/// The nanoseconds of a second, which 30 bits hold: what is over a second is left out.
#[must_use]
#[inline]
pub const fn nanos_u32(v: i64) -> u32 {
    v.rem_euclid(1_000_000_000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_ways_take_what_comes_back_alone() {
        assert_eq!(exact_f64(1 << 53), Some(9_007_199_254_740_992.0));
        assert_eq!(exact_f64((1 << 53) + 1), None);
        assert_eq!(exact_f64(i64::MAX), None);
        assert_eq!(exact_f64(i64::MIN), Some(-9_223_372_036_854_775_808.0));
        assert_eq!(exact_f64_of_u64(1 << 63), Some(9_223_372_036_854_775_808.0));
        assert_eq!(exact_f64_of_u64((1 << 63) + 5), None);
        assert_eq!(exact_f64_of_u64(u64::MAX), None);
        assert_eq!(exact_i64(-0.0), Some(0));
        assert_eq!(exact_u64(18_446_744_073_709_549_568.0), Some(u64::MAX - 2047));
        for odd in [0.5, f64::NAN, f64::INFINITY, 1e300, 18_446_744_073_709_551_616.0] {
            assert_eq!((exact_i64(odd), exact_u64(odd)), (None, None), "{odd}");
        }
        assert_eq!(exact_u64(-1.0), None);
    }

    #[test]
    fn ends_are_ends() {
        assert_eq!(saturating_i64(1e300), i64::MAX);
        assert_eq!(saturating_u64(-1.0), 0);
        assert_eq!(saturating_len(usize::MAX), i64::MAX);
        assert_eq!(nearest_f32(1e300), f32::INFINITY);
        assert_eq!(nanos_u32(-1), 999_999_999);
    }
}
