//! Sets of dense indices that stay small when their content is small.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use graphlume_types::hash::mix64;

/// Up to this many indices a bit for each costs less than hashing. Tests take every form on small graphs.
const BITS_ALWAYS: u32 = if cfg!(test) { 3 } else { 1 << 17 };
/// A set with more than this part of its bound is kept as bits.
const BITS_PART: u64 = if cfg!(test) { 2 } else { 128 };

/// A set of indices below a bound; immutable.
#[derive(Clone, Debug)]
pub(crate) enum IdSet {
    /// All indices below a number.
    First(u32),
    /// Ascending and distinct.
    List(Vec<u32>),
    /// One bit an index, and how many are set.
    Mask(Vec<u64>, u32),
}

impl IdSet {
    pub(crate) const fn empty() -> Self {
        Self::First(0)
    }

    /// The distinct indices of `list`, in any order.
    pub(crate) fn from_vec(mut list: Vec<u32>) -> Self {
        list.sort_unstable();
        list.dedup();
        Self::List(list)
    }

    pub(crate) fn len(&self) -> u32 {
        match self {
            Self::First(n) => *n,
            Self::List(list) => list.len() as u32,
            Self::Mask(_, count) => *count,
        }
    }

    /// Bytes that this takes.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::First(_) => 0,
            Self::List(list) => list.len() as u64 * 4,
            Self::Mask(words, _) => words.len() as u64 * 8,
        }
    }

    pub(crate) fn contains(&self, i: u32) -> bool {
        match self {
            Self::First(n) => i < *n,
            Self::List(list) => list.binary_search(&i).is_ok(),
            Self::Mask(words, _) => {
                words.get(i as usize / 64).is_some_and(|w| w >> (i % 64) & 1 == 1)
            }
        }
    }

    /// The indices, ascending.
    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        match self {
            Self::First(n) => Box::new(0..*n),
            Self::List(list) => Box::new(list.iter().copied()),
            Self::Mask(words, _) => Box::new(words.iter().enumerate().flat_map(|(i, word)| {
                let mut rest = *word;
                std::iter::from_fn(move || {
                    let bit = rest.trailing_zeros();
                    rest &= rest.wrapping_sub(1);
                    (bit < 64).then_some(i as u32 * 64 + bit)
                })
            })),
        }
    }

    pub(crate) fn to_vec(&self) -> Vec<u32> {
        match self {
            Self::List(list) => list.clone(),
            other => other.iter().collect(),
        }
    }

    /// The indices that `keep` accepts.
    pub(crate) fn filter(&self, mut keep: impl FnMut(u32) -> bool) -> Self {
        let Self::Mask(words, _) = self else {
            return Self::List(self.iter().filter(|i| keep(*i)).collect());
        };
        let (mut kept, mut count) = (vec![0; words.len()], 0);
        for i in self.iter().filter(|i| keep(*i)) {
            kept[i as usize / 64] |= 1 << (i % 64);
            count += 1;
        }
        Self::Mask(kept, count)
    }

    pub(crate) fn and(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::First(a), Self::First(b)) => Self::First(*a.min(b)),
            (Self::Mask(a, _), Self::Mask(b, _)) => {
                let words: Vec<u64> = a.iter().zip(b).map(|(x, y)| x & y).collect();
                let count = words.iter().map(|w| w.count_ones()).sum();
                Self::Mask(words, count)
            }
            (Self::First(n), mask @ Self::Mask(..)) | (mask @ Self::Mask(..), Self::First(n)) => {
                mask.filter(|i| i < *n)
            }
            // The smaller is walked, the larger asked.
            _ if other.len() < self.len() => other.filter(|i| self.contains(i)),
            _ => self.filter(|i| other.contains(i)),
        }
    }
}

/// A set that grows.
#[derive(Debug)]
pub(crate) struct Grow {
    bound: u32,
    seen: Seen,
    list: Vec<u32>,
}

#[derive(Debug)]
enum Seen {
    Hash(HashSet<u32, BuildHasherDefault<Mix>>),
    Bits(Vec<u64>),
}

impl Grow {
    /// An empty set of indices below `bound`.
    pub(crate) fn new(bound: u32) -> Self {
        let seen = if bound <= BITS_ALWAYS {
            Seen::Bits(vec![0; bound.div_ceil(64) as usize])
        } else {
            Seen::Hash(HashSet::default())
        };
        Self { bound, seen, list: vec![] }
    }

    /// Adds an index; whether it is new.
    pub(crate) fn insert(&mut self, i: u32) -> bool {
        let new = match &mut self.seen {
            Seen::Hash(seen) => seen.insert(i),
            Seen::Bits(words) => {
                let (word, bit) = (&mut words[i as usize / 64], 1 << (i % 64));
                let new = *word & bit == 0;
                *word |= bit;
                new
            }
        };
        if new {
            self.list.push(i);
            if let Seen::Hash(_) = self.seen
                && self.list.len() as u64 > u64::from(self.bound) / BITS_PART
            {
                let mut words = vec![0; self.bound.div_ceil(64) as usize];
                self.list.iter().for_each(|i| words[*i as usize / 64] |= 1 << (i % 64));
                self.seen = Seen::Bits(words);
            }
        }
        new
    }

    pub(crate) fn extend(&mut self, set: &IdSet) {
        set.iter().for_each(|i| {
            self.insert(i);
        });
    }

    pub(crate) fn contains(&self, i: u32) -> bool {
        match &self.seen {
            Seen::Hash(seen) => seen.contains(&i),
            Seen::Bits(words) => words[i as usize / 64] >> (i % 64) & 1 == 1,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// The indices in the order in which they were added.
    pub(crate) fn added(&self) -> &[u32] {
        &self.list
    }

    pub(crate) fn finish(self) -> IdSet {
        match self.seen {
            Seen::Bits(words) if self.list.len() as u64 * BITS_PART > u64::from(self.bound) => {
                IdSet::Mask(words, self.list.len() as u32)
            }
            _ => {
                let mut list = self.list;
                list.sort_unstable();
                IdSet::List(list)
            }
        }
    }
}

/// One multiplication a number: the keys are indices of ours, nobody chooses them.
#[derive(Debug, Default)]
pub(crate) struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.0 = mix64(self.0 ^ u64::from(*b)));
    }

    fn write_u32(&mut self, v: u32) {
        self.0 = mix64(self.0 ^ u64::from(v));
    }
}

/// A map keyed by indices.
pub(crate) type IdMap<V> = std::collections::HashMap<u32, V, BuildHasherDefault<Mix>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_answers_alike() {
        for bound in [100, BITS_ALWAYS + 1000] {
            let wanted: Vec<u32> =
                (0..bound).filter(|i| mix64(u64::from(*i)).is_multiple_of(3)).collect();
            let mut grow = Grow::new(bound);
            wanted.iter().rev().for_each(|i| assert!(grow.insert(*i)));
            assert!(!grow.insert(wanted[0]) && grow.contains(wanted[0]));
            let mask = grow.finish();
            let list = IdSet::from_vec(wanted.clone());
            assert_eq!((mask.to_vec(), list.to_vec()), (wanted.clone(), wanted.clone()));
            for i in 0..bound {
                assert_eq!(mask.contains(i), list.contains(i));
            }
            assert_eq!(mask.and(&list).to_vec(), wanted);
            assert_eq!(IdSet::First(50).and(&mask).to_vec(), list.and(&IdSet::First(50)).to_vec());
        }
    }
}
