//! Sets of dense indices that stay small when their content is small.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use graphlume_types::hash::mix64;

use crate::tuning::tuning;

/// A set of indices below a bound; immutable.
#[derive(Clone, Debug)]
pub enum IdSet {
    /// All indices below a number.
    First(u32),
    /// Ascending and distinct.
    List(Vec<u32>),
    /// One bit an index, and how many are set.
    Mask(Vec<u64>, u32),
}

impl IdSet {
    /// No index.
    #[must_use]
    pub const fn empty() -> Self {
        Self::First(0)
    }

    /// The distinct indices of `list`, in any order.
    pub fn from_vec(mut list: Vec<u32>) -> Self {
        list.sort_unstable();
        list.dedup();
        Self::List(list)
    }

    /// How many indices are in the set.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u32 {
        match self {
            Self::First(n) => *n,
            Self::List(list) => list.len() as u32,
            Self::Mask(_, count) => *count,
        }
    }

    /// Whether no index is in the set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that this takes.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::First(_) => 0,
            Self::List(list) => list.len() as u64 * 4,
            Self::Mask(words, _) => words.len() as u64 * 8,
        }
    }

    /// Whether an index is in the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, i: u32) -> bool {
        match self {
            Self::First(n) => i < *n,
            Self::List(list) => list.binary_search(&i).is_ok(),
            Self::Mask(words, _) => {
                words.get(i as usize / 64).is_some_and(|w| w >> (i % 64) & 1 == 1)
            }
        }
    }

    /// A set by its bits.
    pub fn of_words(words: Vec<u64>) -> Self {
        let count = words.iter().map(|w| w.count_ones()).sum();
        Self::Mask(words, count)
    }

    /// The indices of several sets below `bound`.
    pub fn union(sets: &[&Self], bound: u32) -> Self {
        let whole = |set: &&&Self| matches!(set, Self::First(n) if *n >= bound);
        if let Some(whole) = sets.iter().find(whole) {
            return (*whole).clone();
        }
        // An empty set has a form, too, which decides nothing.
        let some: Vec<&Self> = sets.iter().filter(|set| !set.is_empty()).copied().collect();
        match some.as_slice() {
            [] => return Self::empty(),
            [one] => return (*one).clone(),
            _ => {}
        }
        if some.iter().all(|set| !set.is_dense()) {
            let mut all = Grow::new(bound);
            some.iter().for_each(|set| all.extend(set));
            return all.finish();
        }
        let mut words = vec![0; bound.div_ceil(64) as usize];
        for set in some {
            match set {
                Self::List(list) => {
                    list.iter().for_each(|i| words[*i as usize / 64] |= 1 << (i % 64));
                }
                set => {
                    let each = words.iter_mut().zip((0..).step_by(64));
                    each.for_each(|(word, first)| *word |= set.word(first));
                }
            }
        }
        Self::of_words(words)
    }

    /// Whether there is so much in it that all threads should look.
    pub fn is_many(&self) -> bool {
        self.is_dense() && self.len() > tuning().many
    }

    /// Whether asking costs no search.
    pub const fn is_dense(&self) -> bool {
        !matches!(self, Self::List(_))
    }

    /// The same set in a form that is quickly asked.
    pub fn dense(self, bound: u32) -> Self {
        let Self::List(list) = self else { return self };
        let mut words = vec![0; bound.div_ceil(64) as usize];
        list.iter().for_each(|i| words[*i as usize / 64] |= 1 << (i % 64));
        Self::Mask(words, list.len() as u32)
    }

    /// The bits of the 64 indices from `first` on, which is a multiple of 64. Not for lists.
    #[inline]
    #[must_use]
    pub fn word(&self, first: u32) -> u64 {
        match self {
            Self::First(n) if first.saturating_add(64) <= *n => u64::MAX,
            Self::First(n) if first < *n => u64::MAX >> (64 - (n - first)),
            Self::Mask(words, _) => words.get(first as usize / 64).copied().unwrap_or(0),
            Self::First(_) | Self::List(_) => 0,
        }
    }

    /// The indices, ascending.
    pub fn iter(&self) -> Box<dyn Iterator<Item = u32> + '_> {
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

    /// The indices, ascending.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u32> {
        if let Self::List(list) = self {
            return list.clone();
        }
        let mut list = Vec::with_capacity(self.len() as usize);
        self.for_each(|i| list.push(i));
        list
    }

    /// Calls `f` with the indices, ascending: for tight loops.
    #[inline]
    pub fn for_each(&self, mut f: impl FnMut(u32)) {
        match self {
            Self::First(n) => (0..*n).for_each(f),
            Self::List(list) => list.iter().copied().for_each(f),
            Self::Mask(words, _) => {
                for (word, first) in words.iter().zip((0..).step_by(64)) {
                    let mut rest = *word;
                    while rest != 0 {
                        f(first + rest.trailing_zeros());
                        rest &= rest - 1;
                    }
                }
            }
        }
    }

    /// The indices that `keep` accepts.
    pub fn filter(&self, mut keep: impl FnMut(u32) -> bool) -> Self {
        let len = match self {
            Self::List(list) => {
                return Self::List(list.iter().copied().filter(|i| keep(*i)).collect());
            }
            Self::First(n) if *n <= tuning().many => {
                return Self::List((0..*n).filter(|i| keep(*i)).collect());
            }
            Self::First(n) => n.div_ceil(64),
            Self::Mask(words, _) => words.len() as u32,
        };
        let word = |i: u32| {
            let (mut rest, mut kept) = (self.word(i * 64), 0);
            while rest != 0 {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                kept |= u64::from(keep(i * 64 + bit)) << bit;
            }
            kept
        };
        Self::of_words((0..len).map(word).collect())
    }

    /// The indices that are in both sets.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::First(a), Self::First(b)) => Self::First(*a.min(b)),
            (Self::Mask(a, _), Self::Mask(b, _)) => {
                let words: Vec<u64> = a.iter().zip(b).map(|(x, y)| x & y).collect();
                let count = words.iter().map(|w| w.count_ones()).sum();
                Self::Mask(words, count)
            }
            (Self::First(n), Self::Mask(words, _)) | (Self::Mask(words, _), Self::First(n)) => {
                let first = Self::First(*n);
                let each = words.iter().zip((0..).step_by(64));
                Self::of_words(each.map(|(word, i)| word & first.word(i)).collect())
            }
            // The smaller is walked, the larger asked.
            _ if other.len() < self.len() => other.filter(|i| self.contains(i)),
            _ => self.filter(|i| other.contains(i)),
        }
    }
}

/// Whether a bit is set.
#[inline]
pub fn bit(words: &[u64], i: u32) -> bool {
    words[i as usize / 64] >> (i % 64) & 1 == 1
}

/// Up to 64 answers as bits, the first one lowest.
#[inline]
#[must_use]
pub fn packed(answers: &[bool]) -> u64 {
    let (eights, rest) = answers.as_chunks::<8>();
    let rest = rest.iter().enumerate().fold(0, |word, (i, a)| word | u64::from(*a) << i);
    let rest = rest.checked_shl(8 * eights.len() as u32).unwrap_or(0);
    eights.iter().enumerate().fold(rest, |word, (i, eight)| {
        // The product moves the lowest bit of each byte into the highest byte.
        let bytes = u64::from_le_bytes(eight.map(u8::from));
        word | (bytes.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i)
    })
}

/// A set that grows.
#[derive(Debug)]
pub struct Grow {
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
    pub fn new(bound: u32) -> Self {
        let seen = if bound <= tuning().bits_always {
            Seen::Bits(vec![0; bound.div_ceil(64) as usize])
        } else {
            Seen::Hash(HashSet::default())
        };
        Self { bound, seen, list: vec![] }
    }

    /// Adds an index; whether it is new.
    #[inline]
    pub fn insert(&mut self, i: u32) -> bool {
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
                && self.list.len() as u64 > u64::from(self.bound) / tuning().bits_part
            {
                let mut words = vec![0; self.bound.div_ceil(64) as usize];
                self.list.iter().for_each(|i| words[*i as usize / 64] |= 1 << (i % 64));
                self.seen = Seen::Bits(words);
            }
        }
        new
    }

    /// Adds the indices of a set.
    pub fn extend(&mut self, set: &IdSet) {
        set.iter().for_each(|i| {
            self.insert(i);
        });
    }

    /// Whether an index was added.
    #[inline]
    #[must_use]
    pub fn contains(&self, i: u32) -> bool {
        match &self.seen {
            Seen::Hash(seen) => seen.contains(&i),
            Seen::Bits(words) => words[i as usize / 64] >> (i % 64) & 1 == 1,
        }
    }

    /// How many indices were added.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether no index was added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The indices in the order in which they were added.
    pub fn added(&self) -> &[u32] {
        &self.list
    }

    /// The set.
    #[must_use]
    pub fn finish(self) -> IdSet {
        match self.seen {
            Seen::Bits(words)
                if self.list.len() as u64 * tuning().bits_part > u64::from(self.bound) =>
            {
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

/// One multiplication a number: the keys are indices of ours, no client chooses them.
#[derive(Debug, Default)]
pub struct Mix(u64);

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
pub type IdMap<V> = std::collections::HashMap<u32, V, BuildHasherDefault<Mix>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_become_bits() {
        for len in 0..=64_u32 {
            let answers: Vec<bool> =
                (0..len).map(|i| mix64(u64::from(len) << 32 | u64::from(i)) % 2 == 1).collect();
            let word = packed(&answers);
            for i in 0..64 {
                assert_eq!(bit(&[word], i), answers.get(i as usize) == Some(&true), "{len}, {i}");
            }
        }
    }

    #[test]
    fn every_form_answers_alike() {
        graphlume_types::tuning::use_small(true);
        for bound in [100, 1_003] {
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
            for form in [&mask, &list] {
                assert_eq!(form.clone().dense(bound).to_vec(), wanted);
                let none = IdSet::First(7);
                assert_eq!(IdSet::union(&[form, &none, &list], bound).to_vec(), {
                    let mut all: Vec<u32> = (0..7).chain(wanted.iter().copied()).collect();
                    all.sort_unstable();
                    all.dedup();
                    all
                });
                assert_eq!(IdSet::union(&[form, &IdSet::empty()], bound).to_vec(), wanted);
            }
            let bits = |set: &IdSet| {
                let words = (0..bound).step_by(64).map(|first| set.word(first));
                IdSet::of_words(words.collect()).to_vec()
            };
            assert_eq!(bits(&mask.clone().dense(bound)), wanted);
            for n in [0, 1, 63, 64, 65, 100] {
                assert_eq!(bits(&IdSet::First(n)), (0..n).collect::<Vec<_>>());
            }
            assert_eq!(IdSet::First(50).and(&mask).to_vec(), list.and(&IdSet::First(50)).to_vec());
        }
    }

    #[test]
    fn a_union_of_lists_is_a_list_whatever_form_an_empty_set_has() {
        graphlume_types::tuning::use_small(true);
        let (one, two) = (IdSet::List(vec![1, 900]), IdSet::List(vec![5]));
        for empty in [IdSet::empty(), IdSet::List(vec![]), IdSet::empty().dense(1_003)] {
            let both = IdSet::union(&[&one, &empty, &two], 1_003);
            assert!(matches!(&both, IdSet::List(list) if *list == [1, 5, 900]), "{both:?}");
        }
    }
}
