//! The sum of the numbers in a stream of lengths. The reader makes room for as many list items as the
//! lengths claim, whether there are any or not.

/// The two encodings of whole numbers in ORC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    One,
    Two,
}

/// The sum of all numbers, none of them negative; `None` for damaged streams.
pub fn total(stream: &[u8], version: Version) -> Option<u128> {
    let mut rest = Bits { bytes: stream };
    let mut sum = 0u128;
    while !rest.bytes.is_empty() {
        let run = match version {
            Version::One => rest.run_one(),
            Version::Two => rest.run_two(),
        };
        sum = sum.saturating_add(run?);
    }
    Some(sum)
}

/// Widths of packed numbers by their code.
const WIDTHS: [u32; 8] = [26, 28, 30, 32, 40, 48, 56, 64];

fn width(code: u8) -> u32 {
    let code = u32::from(code);
    if code < 24 { code + 1 } else { WIDTHS[(code - 24) as usize] }
}

/// The packed width for patches, which knows only some widths.
fn closest(bits: u32) -> u32 {
    match bits {
        0..=24 => bits.max(1),
        _ => WIDTHS.into_iter().find(|w| *w >= bits).unwrap_or(64),
    }
}

struct Bits<'a> {
    bytes: &'a [u8],
}

impl Bits<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let b = self.byte()?;
            value |= u64::from(b & 0x7f) << shift;
            if b & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i64> {
        let v = self.varint()?;
        Some((v >> 1) as i64 ^ -((v & 1) as i64))
    }

    fn big_endian(&mut self, bytes: u32) -> Option<u64> {
        (0..bytes).try_fold(0u64, |v, _| Some(v << 8 | u64::from(self.byte()?)))
    }

    /// `count` numbers of `width` bits, from whole bytes.
    fn packed(&mut self, count: usize, width: u32, mut each: impl FnMut(u64)) -> Option<()> {
        let bytes = (count * width as usize).div_ceil(8);
        let (packed, rest) = self.bytes.split_at_checked(bytes)?;
        self.bytes = rest;
        let (mut held, mut bits, mut packed) = (0u128, 0, packed.iter());
        for _ in 0..count {
            while bits < width {
                held = held << 8 | u128::from(*packed.next()?);
                bits += 8;
            }
            bits -= width;
            each((held >> bits) as u64);
            held &= (1 << bits) - 1;
        }
        Some(())
    }

    fn run_one(&mut self) -> Option<u128> {
        let control = self.byte()? as i8;
        if control < 0 {
            let count = u32::from(control.unsigned_abs());
            return (0..count).try_fold(0, |sum, _| Some(sum + u128::from(self.varint()?)));
        }
        let count = control as i128 + 3;
        let delta = i128::from(self.byte()? as i8);
        let sum = count * i128::from(self.varint()?) + delta * count * (count - 1) / 2;
        u128::try_from(sum).ok()
    }

    fn run_two(&mut self) -> Option<u128> {
        let head = self.byte()?;
        let kind = head >> 6;
        if kind == 0 {
            let count = u128::from(head & 7) + 3;
            let value = self.big_endian(u32::from(head >> 3 & 7) + 1)?;
            return Some(count * u128::from(value));
        }
        let count = (usize::from(head & 1) << 8 | usize::from(self.byte()?)) + 1;
        let code = head >> 1 & 31;
        match kind {
            1 => {
                let mut sum = 0;
                self.packed(count, width(code), |v| sum += u128::from(v))?;
                Some(sum)
            }
            2 => self.patched(count, width(code)),
            _ => self.delta(count, if code == 0 { 0 } else { width(code) }),
        }
    }

    /// Small numbers over a base, with the high bits of some of them in a list of their own.
    fn patched(&mut self, count: usize, width_bits: u32) -> Option<u128> {
        let (third, fourth) = (self.byte()?, self.byte()?);
        let base_bytes = u32::from(third >> 5) + 1;
        let patch_width = width(third & 31);
        let gap_width = u32::from(fourth >> 5) + 1;
        let patches = usize::from(fourth & 31);
        let base = self.big_endian(base_bytes)?;
        let sign = 1u64 << (8 * base_bytes - 1);
        let base = if base & sign > 0 { -i128::from(base & !sign) } else { i128::from(base) };
        let mut sum = base * count as i128;
        self.packed(count, width_bits, |v| sum += i128::from(v))?;
        let mask = if patch_width == 64 { u64::MAX } else { (1 << patch_width) - 1 };
        self.packed(patches, closest(patch_width + gap_width), |v| {
            sum = sum.saturating_add(i128::from(v & mask) << width_bits.min(62));
        })?;
        u128::try_from(sum).ok()
    }

    /// Steps from a first number.
    fn delta(&mut self, count: usize, width: u32) -> Option<u128> {
        let first = i128::from(self.varint()?);
        let step = i128::from(self.zigzag()?);
        if width == 0 {
            let n = count as i128;
            return u128::try_from(n * first + step * n * (n - 1) / 2).ok();
        }
        let (mut last, mut sum) = (first + step, if count > 1 { 2 * first + step } else { first });
        self.packed(count.saturating_sub(2), width, |v| {
            last += if step < 0 { -i128::from(v) } else { i128::from(v) };
            sum = sum.saturating_add(last);
        })?;
        u128::try_from(sum).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_format_add_up() {
        // From the specification: run length encoding, version 1 and 2.
        let literals = [0xfb, 2, 3, 6, 7, 0xb];
        assert_eq!(total(&literals, Version::One), Some(29));
        assert_eq!(total(&[0x61, 0, 7], Version::One), Some(700));
        assert_eq!(total(&[0x61, 0xff, 0x64], Version::One), Some(5050));
        assert_eq!(total(&[0x0a, 0x27, 0x10], Version::Two), Some(50_000));
        let direct = [0x5e, 3, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef];
        assert_eq!(total(&direct, Version::Two), Some(23_713 + 43_806 + 57_005 + 48_879));
        let patched = [
            0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46,
            0x50, 0x5a, 0x64, 0x6e, 0x78, 0x82, 0x8c, 0x96, 0xa0, 0xaa, 0xb4, 0xbe, 0xfc, 0xe8,
        ];
        let want = 2030 + 2000 + 2020 + 1_000_000 + (2040..=2190).step_by(10).sum::<u128>();
        assert_eq!(total(&patched, Version::Two), Some(want));
        let primes = [0xc6, 9, 2, 2, 0x22, 0x42, 0x42, 0x46];
        assert_eq!(total(&primes, Version::Two), Some(2 + 3 + 5 + 7 + 11 + 13 + 17 + 19 + 23 + 29));
    }

    #[test]
    fn claims_are_seen_and_damage_is_no_sum() {
        let huge = [0x38, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(total(&huge, Version::Two), Some(3 * (i64::MAX as u128)));
        for cut in 1..huge.len() {
            assert_eq!(total(&huge[..cut], Version::Two), None, "{cut}");
        }
        assert_eq!(total(&[], Version::Two), Some(0));
        for a in 0..=255 {
            for b in [0, 1, 127, 255] {
                let bytes = [a, b, 3, b, 5, 6, 7, 8, 9];
                let _ = (total(&bytes, Version::One), total(&bytes, Version::Two));
            }
        }
    }
}
