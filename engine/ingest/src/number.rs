//! Numbers from text: eight digits at a time where possible, exact always.

const ZEROS: u64 = 0x3030_3030_3030_3030;
const DOTS: u64 = 0x2E2E_2E2E_2E2E_2E2E;
const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
/// The largest integer below which every integer is a double.
const EXACT_MAX: u64 = 1 << 53;

const POW10: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];
const POW10_INT: [u64; 9] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Eight bytes from `offset`, little-endian; zeros past the end.
#[inline(always)]
fn load8(data: &[u8], offset: usize) -> u64 {
    match data.get(offset..).and_then(|d| d.first_chunk::<8>()) {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => load_tail(data, offset),
    }
}

#[cold]
fn load_tail(data: &[u8], offset: usize) -> u64 {
    let mut bytes = [0u8; 8];
    let tail = data.get(offset..).unwrap_or_default();
    let n = tail.len().min(8);
    bytes[..n].copy_from_slice(&tail[..n]);
    u64::from_le_bytes(bytes)
}

/// The value of the first `len` (1 to 8) bytes of `text` when all of them are digits. Pairs, then
/// quads, then all eight digits are joined by multiplication (Lemire, "Quickly parsing eight digits").
#[inline(always)]
fn digits8(text: u64, len: usize) -> Option<u64> {
    // Shifting puts missing digits in front, as zeros.
    let x = (text ^ ZEROS) << ((64 - 8 * len) & 63);
    if (x.wrapping_add(0x7676_7676_7676_7676) | x) & HIGH_BITS != 0 {
        return None;
    }
    Some(join8(x))
}

/// The number whose digits are the bytes of `x`, the first one lowest.
#[inline(always)]
pub fn join8(x: u64) -> u64 {
    let pairs = x.wrapping_mul(10).wrapping_add(x >> 8);
    let mask = 0x0000_00FF_0000_00FF;
    let high = (pairs & mask).wrapping_mul(100 + (1_000_000 << 32));
    let low = ((pairs >> 16) & mask).wrapping_mul(1 + (10_000 << 32));
    high.wrapping_add(low) >> 32
}

/// The value of the 1 to 16 digits at `offset`. That they are digits is the caller's knowledge.
#[inline(always)]
pub fn known_digits(data: &[u8], offset: usize, len: usize) -> u64 {
    if len <= 8 {
        return join8((load8(data, offset) ^ ZEROS) << ((64 - 8 * len) & 63));
    }
    let high = join8(load8(data, offset) ^ ZEROS);
    let low = join8((load8(data, offset + 8) ^ ZEROS) << ((128 - 8 * len) & 63));
    high.wrapping_mul(POW10_INT[(len - 8).min(8)]).wrapping_add(low)
}

/// Up to 16 digits without a sign.
#[inline(always)]
fn digits16(data: &[u8], offset: usize, len: usize) -> Option<u64> {
    match len {
        1..=8 => digits8(load8(data, offset), len),
        9..=16 => {
            let high = digits8(load8(data, offset), 8)?;
            let low = digits8(load8(data, offset + 8), len - 8)?;
            Some(high * POW10_INT[len - 8] + low)
        }
        _ => None,
    }
}

/// The integer at `data[at..at + len]`, when it has the plain form `-?[0-9]{1,16}`. `None` is no
/// verdict: ask [`integer`].
#[inline(always)]
pub fn fast_int(data: &[u8], offset: usize, len: usize) -> Option<i64> {
    if let Some(v) = digits16(data, offset, len) {
        return Some(v as i64);
    }
    if len > 1 && data.get(offset) == Some(&b'-') {
        return digits16(data, offset + 1, len - 1).map(|v| -(v as i64));
    }
    None
}

/// The double at `data[at..at + len]`, when it is a plain decimal of few digits, correctly rounded.
/// `None` is no verdict: ask [`float`].
#[inline(always)]
pub fn fast_float(data: &[u8], offset: usize, len: usize) -> Option<f64> {
    if len > 1 && data.get(offset) == Some(&b'-') {
        return fast_decimal(data, offset + 1, len - 1).map(|v| -v);
    }
    fast_decimal(data, offset, len)
}

#[inline(always)]
fn fast_decimal(data: &[u8], offset: usize, len: usize) -> Option<f64> {
    if len > 8 {
        return long_decimal(data.get(offset..offset + len)?);
    }
    if len == 0 {
        return None;
    }
    let text = load8(data, offset);
    let z = text ^ DOTS;
    let dots = z.wrapping_sub(LOW_BITS) & !z & HIGH_BITS;
    let dot = dots.trailing_zeros() as usize / 8;
    if dot >= len {
        return digits8(text, len).map(|v| v as f64);
    }
    if len == 1 {
        return None;
    }
    // Close the gap: what follows the dot moves down by one byte.
    let keep = (1u64 << (8 * dot)) - 1;
    let digits = (text & keep) | ((text >> 8) & !keep);
    let mantissa = digits8(digits, len - 1)?;
    // Both operands are exact doubles, so that the quotient is the correctly rounded value
    // (Clinger, "How to read floating point numbers accurately", PLDI 1990).
    Some(mantissa as f64 / POW10[len - 1 - dot])
}

/// A decimal of 9 to 19 characters without sign and exponent, when it is exact in the sense above.
fn long_decimal(text: &[u8]) -> Option<f64> {
    if text.len() > 19 {
        return None;
    }
    let (mut mantissa, mut fraction, mut dots, mut digits) = (0u64, 0usize, 0usize, 0usize);
    for b in text {
        match b {
            b'0'..=b'9' => {
                mantissa = mantissa * 10 + u64::from(b - b'0');
                fraction += dots;
                digits += 1;
            }
            b'.' if dots == 0 => dots = 1,
            _ => return None,
        }
    }
    (digits > 0 && mantissa <= EXACT_MAX).then(|| mantissa as f64 / POW10[fraction])
}

/// How numbers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// The decimal mark.
    pub decimal: u8,
    /// The mark between groups of digits.
    pub thousands: Option<u8>,
}

impl Style {
    pub const PLAIN: Self = Self { decimal: b'.', thousands: None };

    /// The text in the plain style; `None` when it holds a foreign mark that plain text would accept,
    /// or marks between groups before the first one.
    fn plain(self, text: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::with_capacity(text.len());
        let text = text.trim_ascii();
        let unsigned = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
        if self.thousands.is_some() && unsigned.first() == self.thousands.as_ref() {
            return None;
        }
        // Groups are those of the whole part.
        let mut whole = true;
        for b in text {
            match *b {
                b if Some(b) == self.thousands && whole => {}
                b if Some(b) == self.thousands => return None,
                b if b == self.decimal => {
                    out.push(b'.');
                    whole = false;
                }
                b'.' => return None,
                b => {
                    out.push(b);
                    whole &= !b.eq_ignore_ascii_case(&b'e');
                }
            }
        }
        Some(out)
    }
}

/// What a cell is when read as a whole number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Int {
    /// Fits 64 bits with sign.
    Signed(i64),
    /// Fits 64 bits only without sign.
    Unsigned(u64),
    /// A whole number beyond 64 bits, as near as a double is.
    Big(f64),
}

/// Any whole number, blanks around it allowed.
pub fn integer(text: &[u8], style: Style) -> Option<Int> {
    if style == Style::PLAIN {
        return plain_integer(text.trim_ascii());
    }
    let digit = text.iter().any(u8::is_ascii_digit);
    if digit { plain_integer(style.plain(text)?.trim_ascii()) } else { None }
}

fn plain_integer(text: &[u8]) -> Option<Int> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits
        .iter()
        .try_fold(0u64, |v, d| v.checked_mul(10).and_then(|v| v.checked_add(u64::from(d - b'0'))));
    let signed = |v| 0i64.checked_sub_unsigned(v).map(Int::Signed);
    let big = || std::str::from_utf8(text).ok().and_then(|t| t.parse().ok()).map(Int::Big);
    match (value, negative) {
        (Some(v), false) => Some(i64::try_from(v).map_or(Int::Unsigned(v), Int::Signed)),
        (Some(v), true) => signed(v).or_else(big),
        (None, _) => big(),
    }
}

/// Any decimal number with or without exponent, blanks around it allowed, and infinity, a word that
/// stands by itself. Correctly rounded. `nan` is no number: it is a word for a missing value.
pub fn float(text: &[u8], style: Style) -> Option<f64> {
    let plain;
    let digits = if style == Style::PLAIN {
        text
    } else {
        plain = style.plain(text)?;
        &plain
    };
    let trimmed = std::str::from_utf8(digits.trim_ascii()).ok()?;
    let numeric = |b: u8| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E');
    if trimmed.bytes().all(numeric) {
        return trimmed.parse().ok();
    }
    let (sign, word) = match text {
        [b'-', rest @ ..] => (-1.0, rest),
        [b'+', rest @ ..] => (1.0, rest),
        all => (1.0, all),
    };
    let infinite = word.eq_ignore_ascii_case(b"inf") || word.eq_ignore_ascii_case(b"infinity");
    infinite.then_some(sign * f64::INFINITY)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn int(text: &str) -> Option<i64> {
        // Bytes after the cell must not matter.
        let fast = fast_int(format!("x{text},99999999").as_bytes(), 1, text.len());
        let at_end = fast_int(format!("x{text}").as_bytes(), 1, text.len());
        assert_eq!(fast, at_end, "{text}");
        fast
    }

    fn fast(text: &str) -> Option<f64> {
        let fast = fast_float(format!("{text},99999999").as_bytes(), 0, text.len());
        assert_eq!(fast, fast_float(text.as_bytes(), 0, text.len()), "{text}");
        fast
    }

    #[test]
    fn the_fast_forms_refuse_what_is_not_plain() {
        for bad in
            ["", "-", "+1", " 1", "1 ", "1e3", "1_0", "0x10", "--1", "1-", "/", ":", "12345:78"]
        {
            assert_eq!(int(bad), None, "{bad}");
        }
        for bad in ["", ".", "-.", "1..2", "1.2.3", "1e5", "nan", "inf", "1,2", "-", "1.2345678.9"]
        {
            assert_eq!(fast(bad), None, "{bad}");
        }
        assert_eq!((fast("5."), fast(".5"), fast("-0.25")), (Some(5.0), Some(0.5), Some(-0.25)));
        assert_eq!(fast("1234567."), Some(1234567.0));
        assert_eq!(fast("-0").map(f64::to_bits), Some((-0.0f64).to_bits()));
    }

    #[test]
    fn known_digits_of_every_length() {
        let text = b"9876543210123456tail";
        for len in 1..=16 {
            let want: u64 = std::str::from_utf8(&text[..len]).unwrap().parse().unwrap();
            assert_eq!(known_digits(text, 0, len), want, "{len}");
            assert_eq!(known_digits(&text[..len], 0, len), want, "{len} at the end");
        }
    }

    #[test]
    fn integers_keep_every_bit_at_the_edges() {
        let plain = |t: &str| integer(t.as_bytes(), Style::PLAIN);
        assert_eq!(plain("9223372036854775807"), Some(Int::Signed(i64::MAX)));
        assert_eq!(plain("-9223372036854775808"), Some(Int::Signed(i64::MIN)));
        assert_eq!(plain("9223372036854775808"), Some(Int::Unsigned(1 << 63)));
        assert_eq!(plain("18446744073709551615"), Some(Int::Unsigned(u64::MAX)));
        assert_eq!(plain("18446744073709551616"), Some(Int::Big(18446744073709551616.0)));
        assert_eq!(plain("-9223372036854775809"), Some(Int::Big(-9223372036854775809.0)));
        assert_eq!((plain(" +7 "), plain("7a"), plain("")), (Some(Int::Signed(7)), None, None));
    }

    #[test]
    fn european_numbers() {
        let style = Style { decimal: b',', thousands: Some(b'.') };
        assert_eq!(float(b"1.234,5", style), Some(1234.5));
        assert_eq!(integer(b"1.234", style), Some(Int::Signed(1234)));
        let style = Style { decimal: b',', thousands: None };
        assert_eq!((float(b"1.5", style), float(b"1,5", style)), (None, Some(1.5)));
        let style = Style { decimal: b'.', thousands: Some(b',') };
        assert_eq!((float(b"-1,,0.5", style), float(b"1,e2", style)), (Some(-10.5), Some(100.0)));
        for bad in [",1", "-,1", "1.5,0", "1e1,0", ","] {
            assert_eq!(float(bad.as_bytes(), style), None, "{bad}");
        }
    }

    #[test]
    fn words_for_infinity_and_nothing_else() {
        let plain = |t: &str| float(t.as_bytes(), Style::PLAIN);
        assert_eq!((plain("-Infinity"), plain("INF")), (Some(-f64::INFINITY), Some(f64::INFINITY)));
        assert_eq!(
            (plain("nan"), plain("infinit"), plain("e"), plain("1e")),
            (None, None, None, None)
        );
        // Blanks stand around digits, not around words.
        assert_eq!((plain(" inf"), plain("inf "), plain("-Infinity\t")), (None, None, None));
        let style = Style { decimal: b',', thousands: Some(b'.') };
        assert_eq!((float(b"inf ", style), float(b"inf", style)), (None, Some(f64::INFINITY)));
        assert_eq!((plain("1e5"), plain(" 1e5 ")), (Some(1e5), Some(1e5)));
    }

    proptest! {
        #[test]
        fn every_short_integer_parses_to_itself(v in any::<i64>(), bits in 0u32..64) {
            let v = v >> bits;
            let text = v.to_string();
            prop_assert_eq!(integer(text.as_bytes(), Style::PLAIN), Some(Int::Signed(v)));
            if let Some(got) = int(&text) {
                prop_assert_eq!(got, v);
            } else {
                prop_assert!(text.trim_start_matches('-').len() > 16);
            }
        }

        #[test]
        fn every_decimal_is_rounded_as_the_standard_library_does(
            whole in "[0-9]{0,12}", fraction in "[0-9]{0,10}", minus in any::<bool>()
        ) {
            let text = format!("{}{whole}.{fraction}", if minus { "-" } else { "" });
            if let Some(got) = fast(&text) {
                prop_assert_eq!(got.to_bits(), text.parse::<f64>().unwrap().to_bits());
            }
        }

        #[test]
        fn arbitrary_bytes_never_make_a_number_that_the_slow_path_denies(
            bytes in proptest::collection::vec(any::<u8>(), 0..20)
        ) {
            if let Some(v) = fast_int(&bytes, 0, bytes.len()) {
                prop_assert_eq!(integer(&bytes, Style::PLAIN), Some(Int::Signed(v)));
            }
            if let Some(v) = fast_float(&bytes, 0, bytes.len()) {
                prop_assert_eq!(float(&bytes, Style::PLAIN), Some(v));
            }
        }
    }
}
