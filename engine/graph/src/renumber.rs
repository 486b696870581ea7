//! Values to dense numbers in order of first appearance, in parallel.
//!
//! Items are split by hash into partitions. Within a partition, items keep the order of their rows, so
//! the first item of a value is its first appearance; numbers are then the ranks of the first
//! appearances over all partitions. The result depends neither on the hash nor on the threads.

use graphlume_types::{CancelToken, Cancelled};
use rayon::prelude::*;

/// "No number": the item is null.
pub(crate) const NONE: u32 = u32::MAX;

/// Items in up to three lanes (one per column), in order.
pub(crate) trait Space: Sync {
    /// Items per lane.
    fn lanes(&self) -> Vec<usize>;
    /// The hash of an item; `None` when it is null.
    fn hash(&self, lane: usize, item: usize) -> Option<u64>;
    /// A code that equals another item's code exactly when the values are equal; `None` when the value
    /// is too long for one. The same value always answers alike.
    fn code(&self, lane: usize, item: usize) -> Option<u128>;
    /// Whether two items that are not null have the same value.
    fn same(&self, a: (usize, usize), b: (usize, usize)) -> bool;
}

/// The numbers of all items.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Numbering {
    /// Per lane and item its number, or [`NONE`].
    pub(crate) lanes: Vec<Vec<u32>>,
    /// Per number the first item that has it, counted over all lanes; ascending.
    pub(crate) firsts: Vec<u32>,
}

/// Items of one chunk and about as many of one partition.
const CHUNK_ITEMS: usize = 1 << 15;
const PARTITION_BITS_MAX: u32 = 10;
/// Partition of a null item.
const NO_PARTITION: u16 = u16::MAX;

/// A run of items of one lane, grouped by partition.
struct Chunk {
    lane: usize,
    start: usize,
    /// Per item its partition.
    partition: Vec<u16>,
    /// `starts[p]..starts[p + 1]` are the entries of partition `p`.
    starts: Vec<u32>,
    /// Per entry its hash.
    hashes: Vec<u64>,
    /// Per entry its item, counted over all lanes.
    items: Vec<u32>,
}

/// One partition's distinct values.
struct Partition {
    /// Per entry, in order of chunks, the number of its value within the partition.
    locals: Vec<u32>,
    /// Per value within the partition its first item.
    firsts: Vec<u32>,
}

/// Numbers the items of `space`. There must be fewer than `u32::MAX` of them.
pub(crate) fn number<S: Space>(space: &S, cancel: &CancelToken) -> Result<Numbering, Cancelled> {
    let lens = space.lanes();
    let bases: Vec<usize> =
        lens.iter().scan(0, |s, l| Some(std::mem::replace(s, *s + l))).collect();
    let total: usize = lens.iter().sum();
    let bits = (total / CHUNK_ITEMS).next_power_of_two().trailing_zeros().min(PARTITION_BITS_MAX);
    let runs: Vec<(usize, usize, usize)> = lens
        .iter()
        .enumerate()
        .flat_map(|(lane, len)| {
            let at = move |i: usize| (lane, i, (i + CHUNK_ITEMS).min(*len));
            (0..*len).step_by(CHUNK_ITEMS).map(at)
        })
        .collect();
    let chunks: Vec<Chunk> = runs
        .par_iter()
        .map(|(lane, start, end)| {
            cancel.check()?;
            Ok(split_chunk(space, *lane, *start..*end, bases[*lane], bits))
        })
        .collect::<Result<_, Cancelled>>()?;
    let place = |item: u32| {
        let lane = bases.partition_point(|b| *b <= item as usize) - 1;
        (lane, item as usize - bases[lane])
    };
    let attempt = |exact: bool| -> Result<Numbering, Cancelled> {
        let same = |a: u32, b: u32| !exact || space.same(place(a), place(b));
        let partitions: Vec<Partition> = (0..1usize << bits)
            .into_par_iter()
            .map(|p| {
                cancel.check()?;
                Ok(find_distinct(&chunks, p, same))
            })
            .collect::<Result<_, Cancelled>>()?;
        let ranks = Ranks::new(total, &partitions);
        let numbers: Vec<Vec<u32>> = partitions
            .par_iter()
            .map(|p| p.firsts.iter().map(|f| ranks.of(*f)).collect())
            .collect();
        cancel.check()?;
        let lanes = spread(&lens, &chunks, &partitions, &numbers);
        Ok(Numbering { lanes, firsts: ranks.firsts() })
    };
    // Comparing values in partition order misses the cache twice an item. So equal hashes are first
    // taken for equal values, and checked afterwards in row order; a collision of 64 keyed bits is next
    // to impossible, and then the slow way is taken.
    let quick = attempt(false)?;
    if confirmed(space, &quick.lanes, &quick.firsts, place) { Ok(quick) } else { attempt(true) }
}

/// Whether every item has the value of the first item of its number.
fn confirmed<S: Space>(
    space: &S,
    lanes: &[Vec<u32>],
    firsts: &[u32],
    place: impl Fn(u32) -> (usize, usize) + Sync,
) -> bool {
    let firsts: Vec<(usize, usize)> = firsts.par_iter().map(|f| place(*f)).collect();
    let codes: Vec<Option<u128>> = firsts.par_iter().map(|f| space.code(f.0, f.1)).collect();
    lanes.iter().enumerate().all(|(lane, numbers)| {
        numbers.par_iter().enumerate().with_min_len(CHUNK_ITEMS).all(|(item, number)| {
            if *number == NONE {
                return true;
            }
            match (codes[*number as usize], space.code(lane, item)) {
                (None, None) => space.same(firsts[*number as usize], (lane, item)),
                (first, this) => first == this,
            }
        })
    })
}

fn split_chunk<S: Space>(
    space: &S,
    lane: usize,
    items: std::ops::Range<usize>,
    base: usize,
    bits: u32,
) -> Chunk {
    let mut starts = vec![0u32; (1 << bits) + 1];
    let mut partition = Vec::with_capacity(items.len());
    let mut in_order = Vec::with_capacity(items.len());
    for item in items.clone() {
        let Some(hash) = space.hash(lane, item) else {
            partition.push(NO_PARTITION);
            in_order.push(0);
            continue;
        };
        // A shift by 64 is not defined, and one partition needs no bits.
        let p = if bits == 0 { 0 } else { (hash >> (64 - bits)) as u16 };
        partition.push(p);
        in_order.push(hash);
        starts[usize::from(p) + 1] += 1;
    }
    for p in 0..1 << bits {
        starts[p + 1] += starts[p];
    }
    let mut cursor = starts.clone();
    let mut hashes = vec![0; starts[1 << bits] as usize];
    let mut grouped = vec![0; hashes.len()];
    for (i, (p, hash)) in partition.iter().zip(&in_order).enumerate() {
        if *p != NO_PARTITION {
            let at = &mut cursor[usize::from(*p)];
            hashes[*at as usize] = *hash;
            grouped[*at as usize] = (base + items.start + i) as u32;
            *at += 1;
        }
    }
    Chunk { lane, start: items.start, partition, starts, hashes, items: grouped }
}

fn find_distinct(chunks: &[Chunk], p: usize, same: impl Fn(u32, u32) -> bool) -> Partition {
    let part = |c: &Chunk| c.starts[p] as usize..c.starts[p + 1] as usize;
    let len: usize = chunks.iter().map(|c| part(c).len()).sum();
    let mut locals = Vec::with_capacity(len);
    let mut firsts: Vec<u32> = Vec::new();
    let mut slots = Slots::new((len / 4).next_power_of_two().max(64));
    for chunk in chunks {
        for (hash, item) in chunk.hashes[part(chunk)].iter().zip(&chunk.items[part(chunk)]) {
            let found = slots.find(*hash, |local| same(firsts[local as usize], *item));
            let local = found.unwrap_or_else(|free| {
                firsts.push(*item);
                slots.fill(free, *hash, firsts.len() as u32 - 1)
            });
            locals.push(local);
            if firsts.len() * 2 > slots.hashes.len() {
                slots = slots.grown();
            }
        }
    }
    Partition { locals, firsts }
}

/// A table with open addressing from hashes to the numbers of a partition; [`NONE`] marks a free slot.
struct Slots {
    hashes: Vec<u64>,
    locals: Vec<u32>,
}

impl Slots {
    fn new(len: usize) -> Self {
        Self { hashes: vec![0; len], locals: vec![NONE; len] }
    }

    /// The number with this hash that `same` accepts, or the free slot where it belongs.
    #[inline]
    fn find(&self, hash: u64, same: impl Fn(u32) -> bool) -> Result<u32, usize> {
        let mask = self.hashes.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let local = self.locals[at];
            if local == NONE {
                return Err(at);
            }
            if self.hashes[at] == hash && same(local) {
                return Ok(local);
            }
            at = (at + 1) & mask;
        }
    }

    fn fill(&mut self, index: usize, hash: u64, local: u32) -> u32 {
        self.hashes[index] = hash;
        self.locals[index] = local;
        local
    }

    fn grown(&self) -> Self {
        let mut out = Self::new(self.hashes.len() * 4);
        for (hash, local) in self.hashes.iter().zip(&self.locals).filter(|(_, l)| **l != NONE) {
            if let Err(free) = out.find(*hash, |_| false) {
                out.fill(free, *hash, *local);
            }
        }
        out
    }
}

/// One bit per item, set for first appearances, with running counts: an item's rank in two look-ups.
struct Ranks {
    bits: Vec<u64>,
    before: Vec<u32>,
}

impl Ranks {
    fn new(items: usize, partitions: &[Partition]) -> Self {
        let mut bits = vec![0u64; items.div_ceil(64)];
        for first in partitions.iter().flat_map(|p| &p.firsts) {
            bits[*first as usize / 64] |= 1 << (first % 64);
        }
        let count =
            |sum: &mut u32, word: &u64| Some(std::mem::replace(sum, *sum + word.count_ones()));
        let before = bits.iter().scan(0, count).collect();
        Self { bits, before }
    }

    fn of(&self, item: u32) -> u32 {
        let word = item as usize / 64;
        let below = self.bits[word] & ((1 << (item % 64)) - 1);
        self.before[word] + below.count_ones()
    }

    fn firsts(&self) -> Vec<u32> {
        let mut out = Vec::new();
        for (w, word) in self.bits.iter().enumerate() {
            let mut rest = *word;
            while rest != 0 {
                out.push((w * 64) as u32 + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
        out
    }
}

/// The number of every item, chunk by chunk.
fn spread(
    lens: &[usize],
    chunks: &[Chunk],
    partitions: &[Partition],
    numbers: &[Vec<u32>],
) -> Vec<Vec<u32>> {
    let mut lanes: Vec<Vec<u32>> = lens.iter().map(|l| vec![NONE; *l]).collect();
    let mut seen = vec![0u32; partitions.len()];
    let mut rests: Vec<&mut [u32]> = lanes.iter_mut().map(Vec::as_mut_slice).collect();
    let mut jobs = Vec::with_capacity(chunks.len());
    for c in chunks {
        assert_eq!(lens[c.lane] - rests[c.lane].len(), c.start, "chunks follow each other");
        let (out, rest) = std::mem::take(&mut rests[c.lane]).split_at_mut(c.partition.len());
        rests[c.lane] = rest;
        jobs.push((c, seen.clone(), out));
        for (s, pair) in seen.iter_mut().zip(c.starts.windows(2)) {
            *s += pair[1] - pair[0];
        }
    }
    jobs.into_par_iter().for_each(|(c, mut cursor, out)| {
        for (p, out) in c.partition.iter().zip(out) {
            if *p != NO_PARTITION {
                let p = usize::from(*p);
                let local = partitions[p].locals[cursor[p] as usize];
                *out = numbers[p][local as usize];
                cursor[p] += 1;
            }
        }
    });
    lanes
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    /// Values whose hashes collide: two values of every residue share one.
    struct Colliding(Vec<u64>);

    impl Space for Colliding {
        fn lanes(&self) -> Vec<usize> {
            vec![self.0.len()]
        }

        fn hash(&self, _: usize, item: usize) -> Option<u64> {
            Some((self.0[item] % 50).wrapping_mul(0x9E37_79B9_7F4A_7C15))
        }

        fn code(&self, _: usize, item: usize) -> Option<u128> {
            Some(u128::from(self.0[item])).filter(|v| v % 2 == 0)
        }

        fn same(&self, a: (usize, usize), b: (usize, usize)) -> bool {
            self.0[a.1] == self.0[b.1]
        }
    }

    #[test]
    fn values_whose_hashes_collide_are_still_told_apart() {
        for len in [300, 100_000] {
            let values = (0..len).map(|i| graphlume_types::hash::h64(1, 2, i) % 100).collect();
            let space = Colliding(values);
            let numbering = number(&space, &CancelToken::new()).unwrap();
            let mut order: Vec<u64> = Vec::new();
            for (value, number) in space.0.iter().zip(&numbering.lanes[0]) {
                if !order.contains(value) {
                    order.push(*value);
                }
                assert_eq!(order[*number as usize], *value);
            }
            assert_eq!(numbering.firsts.len(), order.len());
        }
    }
}
