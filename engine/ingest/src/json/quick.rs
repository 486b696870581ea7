//! Ordinary words of JSON, sixteen bytes at a time. `None` is no verdict: what has no form here is read by the reader.

use super::builder::Scalar;

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
const ZEROS: u64 = LOW_BITS * b'0' as u64;
const QUOTES: u64 = LOW_BITS * b'"' as u64;
const BACKSLASHES: u64 = LOW_BITS * b'\\' as u64;
/// The largest integer below which every integer is a double.
const EXACT_MAX: u64 = 1 << 53;
const POW10: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// The name of a column as a record of an ordinary writer has it, with its quotes and colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    text: u128,
    mask: u128,
    len: usize,
}

impl Key {
    /// The key of a short name without escapes.
    pub fn of(name: &str) -> Option<Self> {
        let mut text = [0; 16];
        let len = name.len() + 3;
        if len > text.len() || name.contains(['"', '\\']) {
            return None;
        }
        text[0] = b'"';
        text[1..len - 2].copy_from_slice(name.as_bytes());
        text[len - 2..len].copy_from_slice(b"\":");
        let mask = u128::MAX >> (128 - 8 * len);
        Some(Self { text: u128::from_le_bytes(text), mask, len })
    }

    /// How many bytes the key has when it is next.
    #[inline(always)]
    pub fn length_at(self, bytes: &[u8], offset: usize) -> Option<usize> {
        let next = u128::from_le_bytes(*bytes.get(offset..)?.first_chunk::<16>()?);
        (next & self.mask == self.text).then_some(self.len)
    }
}

/// The length of a string without escapes that ends within sixteen bytes, from behind its opening quote.
#[inline(always)]
pub fn string(bytes: &[u8], offset: usize) -> Option<usize> {
    let ends = |word: u64| {
        let (quotes, backslashes) = (word ^ QUOTES, word ^ BACKSLASHES);
        let zeros = |x: u64| x.wrapping_sub(LOW_BITS) & !x;
        (zeros(quotes) | zeros(backslashes)) & HIGH_BITS
    };
    let [first, second] = words(bytes, offset)?;
    let (found, before) = match ends(first) {
        0 => (ends(second), 8),
        found => (found, 0),
    };
    let len = before + found.trailing_zeros() as usize / 8;
    (found != 0 && bytes.get(offset + len) == Some(&b'"')).then_some(len)
}

/// A number of at most fifteen digits before its point and seven behind it, and its length.
#[inline(always)]
pub fn number(bytes: &[u8], offset: usize) -> Option<(Scalar<'static>, usize)> {
    let negative = bytes.get(offset) == Some(&b'-');
    let start = offset + usize::from(negative);
    let [first, second] = words(bytes, start)?;
    let (mut value, mut digits) = leading(first);
    if digits == 8 {
        let (low, more) = leading(second);
        if more == 8 {
            return None;
        }
        (value, digits) = (value * POW10[more] + low, 8 + more);
    }
    if digits == 0 {
        return None;
    }
    let mut end = start + digits;
    match bytes.get(end)? {
        b'.' => {}
        b'e' | b'E' | b'+' | b'-' => return None,
        _ => {
            let value = value.cast_signed();
            let value = if negative { -value } else { value };
            return Some((Scalar::Int(value), end - offset));
        }
    }
    let [fraction, _] = words(bytes, end + 1)?;
    let (low, more) = leading(fraction);
    end += 1 + more;
    let ends = !matches!(bytes.get(end)?, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
    if more == 0 || more == 8 || !ends {
        return None;
    }
    let mantissa = value.checked_mul(POW10[more])? + low;
    if mantissa > EXACT_MAX {
        return None;
    }
    // Both operands are exact doubles, so that the quotient is the correctly rounded value (see
    // `crate::number::fast_float`).
    let value = mantissa as f64 / POW10[more] as f64;
    Some((Scalar::Float(if negative { -value } else { value }), end - offset))
}

#[inline(always)]
fn words(bytes: &[u8], offset: usize) -> Option<[u64; 2]> {
    let both = u128::from_le_bytes(*bytes.get(offset..)?.first_chunk::<16>()?);
    Some([both as u64, (both >> 64) as u64])
}

/// The value of the digits that a word begins with, and their number.
#[inline(always)]
fn leading(word: u64) -> (u64, usize) {
    let digits = word ^ ZEROS;
    // What is carried into a byte comes from one that is no digit itself.
    let others = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & HIGH_BITS;
    match others.trailing_zeros() as usize / 8 {
        0 => (0, 0),
        count => (crate::number::join8(digits << (64 - 8 * count)), count),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::super::reader::Reader;
    use super::*;

    /// What the reader without this module says of a number.
    fn slow(text: &str) -> Option<(Scalar<'_>, usize)> {
        let numeric = |b: &u8| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let len = text.bytes().position(|b| !numeric(&b)).unwrap_or(text.len());
        // Without bytes behind it nothing is read in words.
        let (scalar, raw) = Reader::new(&text[..len], 0).scalar().ok()?;
        Some((scalar, raw.len()))
    }

    #[test]
    fn keys_are_found_whole() {
        let key = Key::of("amount").unwrap();
        assert_eq!(key.length_at(b"{\"amount\":2317.38}", 1), Some(9));
        assert_eq!(key.length_at(b"{\"amounts\":2317.38}", 1), None);
        assert_eq!(key.length_at(b"{\"amount\" :2317.38}", 1), None);
        assert_eq!(key.length_at(b"{\"amount\":1}", 1), None, "less than sixteen bytes are left");
        assert_eq!(
            Key::of("thirteenbytes").unwrap().length_at(b"\"thirteenbytes\":1", 0),
            Some(16)
        );
        for name in ["fourteen bytes", "a\"b", "a\\b"] {
            assert_eq!(Key::of(name), None, "{name}");
        }
        assert!(Key::of("").is_some());
    }

    #[test]
    fn ordinary_numbers_have_a_form() {
        for (text, want) in [
            ("7,\"aaaaaaaaaaaaaaaa", Scalar::Int(7)),
            ("-123456789012345}aaaaaaaaaaaaaaaaaa", Scalar::Int(-123_456_789_012_345)),
            ("-0,aaaaaaaaaaaaaaaaaaaaaaa", Scalar::Int(0)),
            ("2317.38,aaaaaaaaaaaaaaaaaaaa", Scalar::Float(2317.38)),
        ] {
            assert_eq!(number(text.as_bytes(), 0).map(|(v, _)| v), Some(want), "{text}");
        }
        let zero = number(b"-0.0,aaaaaaaaaaaaaaaaaaaaa", 0).unwrap().0;
        assert!(matches!(zero, Scalar::Float(v) if v.to_bits() == (-0.0f64).to_bits()));
        for none in ["1e5", "1.5e5", "1.", ".5", "-", "+1", "1.2.3", "1-2", "NaN", "1.12345678"] {
            assert_eq!(number(format!("{none},aaaaaaaaaaaaaaaaa").as_bytes(), 0), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn a_number_is_what_the_reader_makes_of_it(
            text in "-?[0-9]{0,18}(\\.[0-9]{0,9})?([eE+.-][0-9]{0,2})?", tail in "[,}\\] \n][a-z\"]{0,24}"
        ) {
            let text = text + &tail;
            if let Some(found) = number(text.as_bytes(), 0) {
                prop_assert_eq!(Some(found), slow(&text));
            }
        }

        #[test]
        fn a_string_ends_at_its_first_mark(text in "[a-z\"\\\\é]{0,24}") {
            let first = text.bytes().position(|b| matches!(b, b'"' | b'\\'));
            let wanted = first.filter(|at| *at < 16 && text.len() >= 16 && text.as_bytes()[*at] == b'"');
            prop_assert_eq!(string(text.as_bytes(), 0), wanted);
        }
    }
}
