//! Hash maps over values with a fast keyed hash.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use graphlume_types::hash::mix64;

/// Makes hashers with a key that is drawn once for each map, so that no query can prepare collisions.
#[derive(Clone)]
pub(super) struct Keyed(u64);

impl Default for Keyed {
    fn default() -> Self {
        Self(RandomState::new().build_hasher().finish())
    }
}

impl BuildHasher for Keyed {
    type Hasher = Mixer;

    fn build_hasher(&self) -> Mixer {
        Mixer(self.0)
    }
}

/// A hash that mixes word by word.
pub(super) struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.write_u64(u64::from_le_bytes(*word)));
        if !rest.is_empty() {
            let last = rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
            self.write_u64(last);
        }
        self.write_u64(bytes.len() as u64);
    }

    fn write_u8(&mut self, v: u8) {
        self.write_u64(u64::from(v));
    }

    fn write_u32(&mut self, v: u32) {
        self.write_u64(u64::from(v));
    }

    fn write_u64(&mut self, v: u64) {
        self.0 = mix64(self.0.rotate_left(5) ^ v);
    }

    fn write_i64(&mut self, v: i64) {
        self.write_u64(v as u64);
    }

    fn write_usize(&mut self, v: usize) {
        self.write_u64(v as u64);
    }
}
