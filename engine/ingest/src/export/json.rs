//! Cells as JSON. Short pieces are copied as arrays of a fixed size and cut to their length, which takes a store or two
//! where a copy of any length is a call; the time of an answer is the time of these copies.

/// Bytes that are copied at a time.
const PIECE: usize = 16;
/// Numbers below this have at most eight digits.
const EIGHT_DIGITS: u64 = 100_000_000;
/// A byte of one in each of eight.
const ONES: u64 = u64::MAX / 255;
/// Hundredths below this are told apart by a float, and have no shorter text that is the same float.
const HUNDREDTHS_MAX: f64 = 1e15;

/// Bytes that are written for many rows, such as the name of a column and what stands around it.
pub(super) struct Repeated {
    pieces: Vec<[u8; PIECE]>,
    len: usize,
}

impl Repeated {
    pub(super) fn new(bytes: &[u8]) -> Self {
        let piece = |part: &[u8]| {
            let mut piece = [0; PIECE];
            piece[..part.len()].copy_from_slice(part);
            piece
        };
        Self { pieces: bytes.chunks(PIECE).map(piece).collect(), len: bytes.len() }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.len;
        self.pieces.iter().for_each(|piece| out.extend_from_slice(piece));
        out.truncate(end);
    }
}

/// What comes before each cell of a row.
pub(super) fn before_cells<'a>(names: impl Iterator<Item = &'a str>) -> Vec<Repeated> {
    let before = |(i, name): (usize, &str)| {
        let mut bytes = vec![if i == 0 { b'{' } else { b',' }];
        text(name, &mut bytes);
        bytes.push(b':');
        Repeated::new(&bytes)
    };
    names.enumerate().map(before).collect()
}

/// An integer.
pub(super) fn int(value: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    digits(value.unsigned_abs(), out);
}

fn digits(value: u64, out: &mut Vec<u8>) {
    if value >= EIGHT_DIGITS {
        digits(value / EIGHT_DIGITS, out);
        out.extend_from_slice(&(eight(value % EIGHT_DIGITS) + ONES * b'0' as u64).to_le_bytes());
        return;
    }
    let all = eight(value);
    let zeros = all.trailing_zeros().min(63) / 8;
    let end = out.len() + 8 - zeros as usize;
    out.extend_from_slice(&((all + ONES * b'0' as u64) >> (8 * zeros)).to_le_bytes());
    out.truncate(end);
}

/// The eight digits of a number in a byte each, the first one lowest. They are halved in one register, since bytes that
/// are stored one by one and copied together have to wait for each other.
const fn eight(value: u64) -> u64 {
    // Two of four digits, four of two, eight of one; each quotient is exact below 10,000 and 100.
    let fours = (value / 10_000) | ((value % 10_000) << 32);
    let firsts = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    let twos = firsts | ((fours - 100 * firsts) << 16);
    let firsts = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    firsts | ((twos - 10 * firsts) << 8)
}

/// A float, as the shortest text that is read as the same float; what is no number becomes null.
pub(super) fn float(value: f64, out: &mut Vec<u8>) {
    let size = value.abs();
    let scaled = size * 100.0;
    if (1.0..HUNDREDTHS_MAX).contains(&scaled) {
        let hundredths = (scaled + 0.5) as u64;
        // Texts of up to fifteen digits that differ are different floats, so that no shorter one is this float.
        if hundredths as f64 / 100.0 == size {
            if value < 0.0 {
                out.push(b'-');
            }
            digits(hundredths / 100, out);
            let rest = (hundredths % 100) as u8;
            out.extend_from_slice(&[b'.', b'0' + rest / 10, b'0' + rest % 10]);
            if rest.is_multiple_of(10) {
                out.truncate(out.len() - 1);
            }
            return;
        }
    }
    any(value, out);
}

/// Any value. Writing to memory does not fail.
pub(super) fn any(value: impl serde::Serialize, out: &mut Vec<u8>) {
    drop(serde_json::to_writer(out, &value));
}

/// A text in quotes.
pub(super) fn text(text: &str, out: &mut Vec<u8>) {
    const WORD: usize = 8;
    let (from, bytes) = (out.len(), text.as_bytes());
    out.push(b'"');
    let (words, rest) = bytes.as_chunks::<WORD>();
    for word in words {
        if has_escaped(*word) {
            out.truncate(from);
            return any(text, out);
        }
        out.extend_from_slice(word);
    }
    if let (Some(last), false) = (bytes.last_chunk::<WORD>(), rest.is_empty()) {
        // The last word begins among bytes that were written.
        if has_escaped(*last) {
            out.truncate(from);
            return any(text, out);
        }
        out.truncate(from + 1 + bytes.len() - WORD);
        out.extend_from_slice(last);
    } else {
        for byte in rest {
            if *byte < b' ' || matches!(byte, b'"' | b'\\') {
                out.truncate(from);
                return any(text, out);
            }
            out.push(*byte);
        }
    }
    out.push(b'"');
}

/// Whether one of eight bytes is a control character, a quote or a backslash.
const fn has_escaped(word: [u8; 8]) -> bool {
    const TOPS: u64 = ONES << 7;
    let word = u64::from_le_bytes(word);
    let (quote, slash) = (word ^ (ONES * b'"' as u64), word ^ (ONES * b'\\' as u64));
    // A difference sets the top bit of a byte that is too small. It borrows from the next byte then, which may be
    // counted as well; so one is counted only where there is one.
    let below = word.wrapping_sub(ONES * b' ' as u64) & !word;
    let quotes = quote.wrapping_sub(ONES) & !quote;
    let slashes = slash.wrapping_sub(ONES) & !slash;
    (below | quotes | slashes) & TOPS != 0
}

#[cfg(test)]
mod tests {
    use graphlume_types::hash::h64;

    use super::*;

    fn written(write: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = b"x".to_vec();
        write(&mut out);
        String::from_utf8_lossy(&out[1..]).into_owned()
    }

    #[test]
    fn integers_of_every_length_are_their_digits() {
        let mut all = vec![0, i64::MIN, i64::MAX];
        for power in 0..19 {
            let ten = 10i64.pow(power);
            all.extend([ten - 1, ten, ten + 1, -ten, 1 - ten]);
            all.extend((0..50).map(|i| (h64(1, u64::from(power), i) % ten.unsigned_abs()) as i64));
        }
        for value in all {
            assert_eq!(written(|out| int(value, out)), value.to_string());
        }
    }

    #[test]
    fn digits_are_the_quotients_by_ten() {
        let mut value = 0;
        while value < EIGHT_DIGITS {
            let text: Vec<u8> = format!("{value:08}").bytes().map(|b| b - b'0').collect();
            assert_eq!(eight(value).to_le_bytes(), *text, "{value}");
            // All below 10,000, and so all halves.
            value += if value < 10_000 { 1 } else { 9_973 };
        }
    }

    #[test]
    fn floats_are_the_texts_of_serde_json() {
        let same = |value: f64| {
            assert_eq!(written(|out| float(value, out)), serde_json::json!(value).to_string());
        };
        for value in
            [0.0, f64::NAN, f64::INFINITY, 1e300, 5e-324, 0.01, 0.005, 0.1 + 0.2, 1e13, 1e16]
        {
            same(value);
            same(-value);
        }
        for i in 0..200_000 {
            let random = h64(2, 0, i);
            same(f64::from_bits(random));
            // Hundredths of every size, and the floats beside them.
            let near = (random >> (random % 50 + 14)) as f64 / 100.0;
            let beside = [near, -near, near.next_up(), near.next_down(), near * 10.0, near / 10.0];
            beside.into_iter().for_each(same);
        }
    }

    #[test]
    fn texts_are_escaped_at_every_place() {
        let same = |word: &str| {
            assert_eq!(written(|out| text(word, out)), serde_json::json!(word).to_string());
        };
        for len in 0..40 {
            let plain = "abcdefghijklmnopqrstuvwxyz".repeat(2)[..len].to_owned();
            same(&plain);
            for at in 0..=len {
                for special in [
                    "\"", "\\", "\n", "\u{0}", "\u{1f}", " ", "!", "#", "[", "]", "\u{7f}", "é",
                    "\u{2028}", "😀",
                ] {
                    same(&format!("{}{special}{}", &plain[..at], &plain[at..]));
                }
            }
        }
    }

    #[test]
    fn what_is_repeated_has_any_length() {
        for len in 0..70 {
            let bytes = "0123456789abcdef".repeat(5)[..len].to_owned();
            assert_eq!(written(|out| Repeated::new(bytes.as_bytes()).write(out)), bytes);
        }
        let before = before_cells(["a", "say \"b\""].into_iter());
        let all = written(|out| before.iter().for_each(|b| b.write(out)));
        assert_eq!(all, "{\"a\":,\"say \\\"b\\\"\":");
    }
}
