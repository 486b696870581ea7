//! Vector code for processors with AVX2: the values of four cells at a time.

use std::arch::x86_64::*;

use super::token::Token;

/// Whether the processor has what this module and [`super::wide`] are compiled for.
pub fn available() -> bool {
    std::is_x86_feature_detected!("avx2")
        && std::is_x86_feature_detected!("bmi1")
        && std::is_x86_feature_detected!("bmi2")
        && std::is_x86_feature_detected!("popcnt")
}

/// Bytes behind the start of a cell that are looked at, whatever its length.
const REACH: usize = 16;
/// Ten to the power of the index.
const POW10: [f64; 8] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7];

/// Reads the cells `tokens[0]`, `tokens[step]`, ... into `slots`, four at a time while all four are 1 to
/// 16 plain digits. Returns the number of values.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub fn ints(data: &[u8], tokens: &[Token], step: usize, slots: &mut [u64]) -> usize {
    runs(tokens, step, slots, |cells| int4(data, cells))
}

/// As [`ints`], of plain decimals of 2 to 8 characters, as the bits of doubles.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub fn floats(data: &[u8], tokens: &[Token], step: usize, slots: &mut [u64]) -> usize {
    runs(tokens, step, slots, |cells| float4(data, cells))
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
#[inline]
fn runs(
    tokens: &[Token],
    step: usize,
    slots: &mut [u64],
    read: impl Fn([Token; 4]) -> Option<__m256i>,
) -> usize {
    let (groups, _) = slots.as_chunks_mut::<4>();
    let mut taken = 0;
    for (slots, tokens) in groups.iter_mut().zip(tokens.chunks(4 * step)) {
        let Some(last) = tokens.get(3 * step) else { break };
        let Some(values) = read([tokens[0], tokens[step], tokens[2 * step], *last]) else { break };
        // SAFETY: `slots` has the 32 bytes that are stored, at any alignment.
        unsafe { _mm256_storeu_si256(slots.as_mut_ptr().cast(), values) };
        taken += 4;
    }
    taken
}

/// Starts, and lengths in 64-bit lanes; what is not plain has an enormous length.
#[target_feature(enable = "avx2")]
#[inline]
fn places(cells: [Token; 4]) -> ([usize; 4], __m256i) {
    let [a, b, c, d] = cells.map(|t| t.0 as i64);
    let lengths = _mm256_srli_epi64::<32>(_mm256_set_epi64x(d, c, b, a));
    (cells.map(Token::start), lengths)
}

/// Whether every length lies between 1 and `most`, which is a power of two.
#[target_feature(enable = "avx2")]
#[inline]
fn within(lengths: __m256i, most: i64) -> bool {
    let less = _mm256_sub_epi64(lengths, _mm256_set1_epi64x(1));
    _mm256_testz_si256(less, _mm256_set1_epi64x(!(most - 1))) == 1
}

/// Eight bytes from each place.
#[target_feature(enable = "avx2")]
#[inline]
pub fn load(data: &[u8], at: [usize; 4]) -> Option<__m256i> {
    let word = |at: usize| Some(i64::from_le_bytes(*data.get(at..)?.first_chunk::<8>()?));
    Some(_mm256_set_epi64x(word(at[3])?, word(at[2])?, word(at[1])?, word(at[0])?))
}

/// Moves the first `lengths` bytes of every lane to its end, as digits, with zeros before them.
#[target_feature(enable = "avx2")]
#[inline]
pub fn aligned(text: __m256i, lengths: __m256i) -> __m256i {
    let missing = _mm256_sub_epi64(_mm256_set1_epi64x(64), _mm256_slli_epi64::<3>(lengths));
    _mm256_sllv_epi64(_mm256_xor_si256(text, _mm256_set1_epi8(b'0' as i8)), missing)
}

#[target_feature(enable = "avx2")]
#[inline]
fn are_digits(bytes: __m256i) -> bool {
    let nine = _mm256_set1_epi8(9);
    _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_max_epu8(bytes, nine), nine)) == -1
}

#[target_feature(enable = "avx2")]
#[inline]
fn int4(data: &[u8], cells: [Token; 4]) -> Option<__m256i> {
    let (starts, lengths) = places(cells);
    if within(lengths, 8) {
        let digits = aligned(load(data, starts)?, lengths);
        return are_digits(digits).then(|| join8(digits));
    }
    if !within(lengths, REACH as i64) {
        return None;
    }
    long4(data, starts, cells.map(Token::len), lengths)
}

/// The values of cells of up to 16 digits: of those before the last eight, and of the last eight.
#[target_feature(enable = "avx2")]
#[inline]
pub fn long4(
    data: &[u8],
    starts: [usize; 4],
    len: [usize; 4],
    lengths: __m256i,
) -> Option<__m256i> {
    let eight = _mm256_set1_epi64x(8);
    let more = _mm256_sub_epi64(lengths, eight);
    // Where there are no more than eight, the shift is one of 64 bits or more, which leaves nothing.
    let more = _mm256_and_si256(more, _mm256_cmpgt_epi64(more, _mm256_setzero_si256()));
    let high = aligned(load(data, starts)?, more);
    let last = [0, 1, 2, 3].map(|i| starts[i] + len[i].max(8) - 8);
    let low = aligned(load(data, last)?, _mm256_sub_epi64(lengths, more));
    if !are_digits(_mm256_max_epu8(high, low)) {
        return None;
    }
    let high = _mm256_mul_epu32(join8(high), _mm256_set1_epi64x(100_000_000));
    Some(_mm256_add_epi64(high, join8(low)))
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
#[inline]
fn float4(data: &[u8], cells: [Token; 4]) -> Option<__m256i> {
    let (starts, lengths) = places(cells);
    if !within(lengths, 8) {
        return None;
    }
    let text = aligned(load(data, starts)?, lengths);
    let zero = _mm256_setzero_si256();
    let dots = _mm256_cmpeq_epi8(text, _mm256_set1_epi8((b'.' ^ b'0') as i8));
    // The lowest bit of the first dot; a second one is no digit.
    let dot = _mm256_and_si256(dots, _mm256_sub_epi64(zero, dots));
    let before = _mm256_sub_epi64(dot, _mm256_set1_epi64x(1));
    let moved = _mm256_slli_epi64::<8>(_mm256_and_si256(text, before));
    let upto = _mm256_sub_epi64(_mm256_slli_epi64::<8>(dot), _mm256_set1_epi64x(1));
    let behind = _mm256_andnot_si256(upto, text);
    let whole = _mm256_cmpeq_epi64(dots, zero);
    let digits = _mm256_blendv_epi8(_mm256_or_si256(moved, behind), text, whole);
    // A lone dot is no number.
    let lone = _mm256_cmpeq_epi64(lengths, _mm256_set1_epi64x(1));
    if !are_digits(digits) || _mm256_testz_si256(lone, dots) == 0 {
        return None;
    }
    let mask = _mm256_movemask_epi8(dots) as u32;
    let divisor = |lane: u32| POW10[((mask >> (8 * lane)) as u8).leading_zeros() as usize & 7];
    let divisors = _mm256_set_pd(divisor(3), divisor(2), divisor(1), divisor(0));
    // Both operands are exact doubles, so that the quotient is the correctly rounded value (see
    // `crate::number::fast_float`). Mantissas have at most eight digits, so they fit 32 bits.
    let low = _mm256_permutevar8x32_epi32(join8(digits), _mm256_setr_epi32(0, 2, 4, 6, 0, 0, 0, 0));
    let mantissas = _mm256_cvtepi32_pd(_mm256_castsi256_si128(low));
    Some(_mm256_castpd_si256(_mm256_div_pd(mantissas, divisors)))
}

/// Of each 64-bit lane the number whose digits are its bytes, the first one lowest.
#[target_feature(enable = "avx2")]
#[inline]
pub fn join8(digits: __m256i) -> __m256i {
    let pairs = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(10 | 1 << 8));
    let quads = _mm256_madd_epi16(pairs, _mm256_set1_epi32(100 | 1 << 16));
    let high = _mm256_mul_epu32(quads, _mm256_set1_epi64x(10_000));
    _mm256_add_epi64(high, _mm256_srli_epi64::<32>(quads))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::number::{fast_float, fast_int};

    fn cell() -> impl Strategy<Value = String> {
        prop_oneof![
            6 => "[0-9]{1,8}",
            3 => "[0-9]{1,17}",
            4 => "[0-9]{0,5}\\.[0-9]{0,4}",
            1 => "[0-9.:/]{0,9}",
            1 => "-?[0-9]{1,4}[a-z+ ]?",
        ]
    }

    proptest! {
        #[test]
        fn four_cells_are_what_each_of_them_is(cells in proptest::collection::vec(cell(), 4..40), step in 1usize..4) {
            if !available() {
                return Ok(());
            }
            let data = cells.join(",");
            let mut at = 0;
            let tokens: Vec<Token> = (cells.iter())
                .map(|c| { at += c.len() + 1; Token::new(at - c.len() - 1, at - 1) })
                .collect();
            let data = data.as_bytes();
            let own: Vec<Token> = tokens.iter().copied().step_by(step).collect();
            let (mut found_ints, mut found_floats) = (vec![0; own.len()], vec![0; own.len()]);
            // SAFETY: the processor has what the functions are compiled for.
            let (whole, decimal) = unsafe {
                (ints(data, &tokens, step, &mut found_ints), floats(data, &tokens, step, &mut found_floats))
            };
            prop_assert_eq!((whole % 4, decimal % 4), (0, 0));
            for (i, token) in own.iter().enumerate() {
                let (start, len) = (token.start(), token.len());
                if i < whole {
                    prop_assert_eq!(fast_int(data, start, len), Some(found_ints[i] as i64));
                }
                if i < decimal {
                    prop_assert_eq!(fast_float(data, start, len), Some(f64::from_bits(found_floats[i])));
                }
            }
            // What is left is left for a reason.
            let ordinary = |from: usize, most: usize, reach: usize, number: &dyn Fn(&Token) -> bool| {
                own[from..].len() >= 4 && own[from..from + 4].iter().all(|t| {
                    (1..=most).contains(&t.len()) && t.start() + reach <= data.len() && number(t)
                })
            };
            let digits = |t: &Token| t.raw(data).iter().all(u8::is_ascii_digit);
            prop_assert!(!ordinary(whole, 16, 16, &digits), "{:?}", own.get(whole));
            prop_assert!(!ordinary(decimal, 8, 8, &|t| fast_float(data, t.start(), t.len()).is_some() && t.raw(data)[0] != b'-'));
        }
    }
}
