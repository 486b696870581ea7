//! Membership of many bytes in a set of bytes, 64 answers a word: the inner loop of every filter whose
//! columns are had by the byte.
//!
//! With AVX2 the set is looked up by the two halves of a byte: the lower half finds, in a table of sixteen
//! entries that a shuffle reads, which upper halves are in the set (Langdale and Lemire, "Parsing Gigabytes of
//! JSON per Second", 2019, section 3.1.2, without its restriction to few classes).

use crate::ids::packed;

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteSet {
    /// Bit `v % 64` of word `v / 64` stands for `v`.
    words: [u64; 4],
}

impl ByteSet {
    /// Whether a byte is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, v: u8) -> bool {
        self.words[usize::from(v) / 64] >> (v % 64) & 1 == 1
    }

    /// Adds a byte.
    pub fn insert(&mut self, v: u8) {
        self.words[usize::from(v) / 64] |= 1 << (v % 64);
    }

    /// Whether no byte is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words == [0; 4]
    }

    /// Clears the bits of the bytes that are not in the set: bit `i % 64` of word `i / 64` stands for byte `i`.
    pub fn narrow(&self, bytes: &[u8], words: &mut [u64]) {
        debug_assert_eq!(words.len(), bytes.len().div_ceil(64), "a word for 64 bytes");
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2") {
            let (blocks, rest) = bytes.as_chunks::<64>();
            let (whole, last) = words.split_at_mut(blocks.len());
            // SAFETY: the processor has just said that it has these instructions.
            unsafe {
                match self.interval() {
                    Some((first, last)) => avx2::narrow_interval(first, last, blocks, whole),
                    None => avx2::narrow(self, blocks, whole),
                }
            }
            // Rows come in blocks that mostly leave no rest, which spares them the table that it takes.
            if !rest.is_empty() {
                self.narrow_plain(rest, last);
            }
            return;
        }
        self.narrow_plain(bytes, words);
    }

    /// The first byte of the set and the last one, when it has all between them.
    #[cfg(target_arch = "x86_64")]
    fn interval(&self) -> Option<(u8, u8)> {
        let low = self.words.iter().position(|word| *word != 0)?;
        let high = self.words.iter().rposition(|word| *word != 0)?;
        let first = low as u32 * 64 + self.words[low].trailing_zeros();
        let last = high as u32 * 64 + self.words[high].ilog2();
        let count: u32 = self.words.iter().map(|word| word.count_ones()).sum();
        (count == last - first + 1).then_some((first as u8, last as u8))
    }

    fn narrow_plain(&self, bytes: &[u8], words: &mut [u64]) {
        let mut all = [false; 256];
        for (v, is_in) in (0..=u8::MAX).zip(&mut all) {
            *is_in = self.contains(v);
        }
        for (word, bytes) in words.iter_mut().zip(bytes.chunks(64)) {
            let mut answers = [false; 64];
            for (answer, v) in answers.iter_mut().zip(bytes) {
                *answer = all[usize::from(*v)];
            }
            *word &= packed(&answers);
        }
    }
}

impl FromIterator<u8> for ByteSet {
    fn from_iter<T: IntoIterator<Item = u8>>(bytes: T) -> Self {
        let mut set = Self::default();
        bytes.into_iter().for_each(|v| set.insert(v));
        set
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::ByteSet;

    /// The same sixteen bytes in both halves, which is where a shuffle looks.
    #[target_feature(enable = "avx2")]
    fn twice(bytes: [u8; 16]) -> __m256i {
        let [low, high] =
            [0, 8].map(|from| i64::from_le_bytes(std::array::from_fn(|i| bytes[from + i])));
        _mm256_setr_epi64x(low, high, low, high)
    }

    /// The bytes of a block, half by half.
    #[target_feature(enable = "avx2")]
    fn halves(block: &[u8; 64]) -> (__m256i, __m256i) {
        let (low, high) = block.split_at(32);
        // SAFETY: each half has 32 bytes, and the load needs no alignment.
        unsafe {
            let low = _mm256_loadu_si256(low.as_ptr().cast());
            (low, _mm256_loadu_si256(high.as_ptr().cast()))
        }
    }

    #[target_feature(enable = "avx2")]
    pub fn narrow_interval(first: u8, last: u8, blocks: &[[u8; 64]], words: &mut [u64]) {
        let from = _mm256_set1_epi8(first.cast_signed());
        let width = _mm256_set1_epi8((last - first).cast_signed());
        let answers = |v: __m256i| {
            let above = _mm256_sub_epi8(v, from);
            let is_in = _mm256_cmpeq_epi8(_mm256_min_epu8(above, width), above);
            u64::from(_mm256_movemask_epi8(is_in).cast_unsigned())
        };
        for (word, block) in words.iter_mut().zip(blocks) {
            let (low, high) = halves(block);
            *word &= answers(low) | answers(high) << 32;
        }
    }

    #[target_feature(enable = "avx2")]
    pub fn narrow(set: &ByteSet, blocks: &[[u8; 64]], words: &mut [u64]) {
        // For every lower half, a bit for each upper half: 0 to 7, and 8 to 15.
        let uppers = |first: u8| {
            std::array::from_fn(|low| {
                (0..8).fold(0, |bits, high| {
                    let is_in = set.contains((first + high) << 4 | low as u8);
                    bits | u8::from(is_in) << high
                })
            })
        };
        let (small, large) = (twice(uppers(0)), twice(uppers(8)));
        let bit_of = twice(std::array::from_fn(|high| 1 << (high % 8)));
        let nibble = _mm256_set1_epi8(0x0F);
        let answers = |v: __m256i| {
            let low = _mm256_and_si256(v, nibble);
            let high = _mm256_and_si256(_mm256_srli_epi16::<4>(v), nibble);
            let bits = _mm256_blendv_epi8(
                _mm256_shuffle_epi8(small, low),
                _mm256_shuffle_epi8(large, low),
                v,
            );
            let bit = _mm256_shuffle_epi8(bit_of, high);
            let is_in = _mm256_cmpeq_epi8(_mm256_and_si256(bits, bit), bit);
            u64::from(_mm256_movemask_epi8(is_in).cast_unsigned())
        };
        for (word, block) in words.iter_mut().zip(blocks) {
            let (low, high) = halves(block);
            *word &= answers(low) | answers(high) << 32;
        }
    }
}

#[cfg(test)]
mod tests {
    use graphlume_types::hash::mix64;

    use super::*;

    #[test]
    fn every_byte_and_every_length_is_answered() {
        let noise = |i: usize| mix64(i as u64);
        for round in 0..40 {
            // From hardly any byte to nearly all of them.
            let set: ByteSet = (0..=u8::MAX)
                .filter(|v| noise(round * 256 + usize::from(*v)) % 40 < round as u64)
                .collect();
            let len = noise(round) as usize % 700;
            let bytes: Vec<u8> = (0..len).map(|i| noise(i * 7 + round) as u8).collect();
            let before: Vec<u64> = (0..len.div_ceil(64)).map(|i| noise(i + 99)).collect();
            let (mut words, mut plain) = (before.clone(), before.clone());
            set.narrow(&bytes, &mut words);
            set.narrow_plain(&bytes, &mut plain);
            assert_eq!(words, plain);
            for (i, v) in bytes.iter().enumerate() {
                let was = before[i / 64] >> (i % 64) & 1 == 1;
                assert_eq!(words[i / 64] >> (i % 64) & 1 == 1, was && set.contains(*v), "{i}: {v}");
            }
        }
        for (first, last) in [(0, 0), (0, 9), (9, 200), (128, 255), (255, 255), (0, 255)] {
            let set: ByteSet = (first..=last).collect();
            let bytes: Vec<u8> = (0..999).map(|i| noise(i) as u8).collect();
            let (mut words, mut plain) = ([u64::MAX; 16], [u64::MAX; 16]);
            set.narrow(&bytes, &mut words);
            set.narrow_plain(&bytes, &mut plain);
            assert_eq!(words, plain, "{first} to {last}");
        }
        let all: ByteSet = (0..=u8::MAX).collect();
        let bytes: Vec<u8> = (0..=u8::MAX).collect();
        for v in 0..=u8::MAX {
            let one: ByteSet = [v].into_iter().collect();
            let but: ByteSet = (0..=u8::MAX).filter(|other| *other != v).collect();
            let mut words = [u64::MAX; 4];
            one.narrow(&bytes, &mut words);
            assert_eq!(words, one.words);
            let mut words = [u64::MAX; 4];
            but.narrow(&bytes, &mut words);
            assert_eq!(words, but.words);
        }
        assert!(ByteSet::default().is_empty() && !all.is_empty());
    }
}
