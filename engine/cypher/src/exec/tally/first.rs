//! The ends that may be the first by their number of paths, which is all that a sort with a limit asks for.

/// Numbers below are told apart; greater ones share a bucket with those of the same highest bits.
const APART: u64 = 32;
const HIGH_BITS: u32 = APART.ilog2();
/// Buckets of all numbers: [`APART`] for each length in bits from [`HIGH_BITS`] on.
const BUCKETS: usize = (u64::BITS - HIGH_BITS + 1) as usize * APART as usize;

fn bucket(count: u64) -> usize {
    if count < APART {
        return count as usize;
    }
    let shift = count.ilog2() - HIGH_BITS;
    (u64::from(shift) * APART + (count >> shift)) as usize
}

/// The least number of a bucket.
fn bucket_least(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    match bucket / APART {
        0 | 1 => bucket,
        shift => (bucket % APART + APART) << (shift - 1),
    }
}

/// Numbers that are counted before the least one that may count is looked for.
const COUNTED_AT_ONCE: u32 = 1 << 10;

/// Counts that are looked at together: where none of them is large enough, that is found without a branch for each.
const LOOKED_AT_ONCE: usize = 32;

/// A number of paths that each of the first `wanted` ends has at least, ties with the last of them included: the least of its
/// bucket, so that some more may have it. It is 1 where fewer have any.
pub(super) fn least(counts: impl Iterator<Item = u64>, wanted: u32) -> u64 {
    let mut found = Buckets::new(wanted);
    counts.for_each(|count| found.add(count));
    least_of(&found.ends, wanted)
}

/// The same of counts in a list.
pub(super) fn least_of_list(counts: &[u64], wanted: u32) -> u64 {
    let mut found = Buckets::new(wanted);
    for some in counts.chunks(LOOKED_AT_ONCE) {
        if any_reaches(some, found.floor) {
            some.iter().for_each(|count| found.add(*count));
        }
    }
    least_of(&found.ends, wanted)
}

/// Whether one of some counts is at least so large.
fn any_reaches(counts: &[u64], least: u64) -> bool {
    counts.iter().fold(false, |any, count| any | (*count >= least))
}

/// How many ends each bucket has.
struct Buckets {
    ends: Vec<u32>,
    wanted: u32,
    /// Where enough have more, those that have less need not be counted.
    floor: u64,
    counted: u32,
}

impl Buckets {
    fn new(wanted: u32) -> Self {
        Self { ends: vec![0; BUCKETS], wanted, floor: 1, counted: 0 }
    }

    fn add(&mut self, count: u64) {
        if count < self.floor {
            return;
        }
        if let Some(ends) = self.ends.get_mut(bucket(count)) {
            *ends = ends.saturating_add(1);
        }
        self.counted += 1;
        if self.counted == COUNTED_AT_ONCE {
            (self.floor, self.counted) = (least_of(&self.ends, self.wanted), 0);
        }
    }
}

/// The least number of the bucket down to which so many ends are.
fn least_of(ends: &[u32], wanted: u32) -> u64 {
    let mut left = wanted;
    for (bucket, ends) in ends.iter().enumerate().skip(1).rev() {
        if *ends >= left {
            return bucket_least(bucket);
        }
        left -= ends;
    }
    1
}

/// The nodes with at least so many paths, in ascending order.
pub(super) fn at_least(all: &[u64], least: u64) -> Vec<(u32, u64)> {
    let mut nodes = Vec::new();
    for (first, some) in (0..).step_by(LOOKED_AT_ONCE).zip(all.chunks(LOOKED_AT_ONCE)) {
        if any_reaches(some, least) {
            let numbered = (first..).zip(some).filter(|(_, paths)| **paths >= least);
            nodes.extend(numbered.map(|(v, paths)| (v, *paths)));
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use graphlume_types::hash::h64;

    use super::*;

    #[test]
    fn each_number_is_in_the_bucket_that_begins_at_or_below_it() {
        let edges = (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for count in edges.chain([u64::MAX, 100, 1_000_003]) {
            let own = bucket(count);
            assert!(own < BUCKETS, "{count}");
            assert!(bucket_least(own) <= count, "{count}");
            assert!(own + 1 == BUCKETS || count < bucket_least(own + 1), "{count}");
        }
    }

    #[test]
    fn the_first_and_their_ties_stay() {
        for case in 0..200u64 {
            let nodes = 1 + h64(1, case, 0) % if case < 150 { 300 } else { 9_000 };
            let bound = [2, 40, 100_000, u64::MAX][(case % 4) as usize];
            let counts: Vec<u64> = (0..nodes).map(|v| h64(2, case, v) % bound).collect();
            let wanted = (h64(3, case, 0) % (nodes + 3)) as u32;
            let mut sorted = counts.clone();
            sorted.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
            let least = least(counts.iter().copied(), wanted);
            assert_eq!(least_of_list(&counts, wanted), least, "case {case}");
            let kept = (0..).zip(counts.iter().copied()).filter(|(_, count)| *count >= least);
            assert_eq!(at_least(&counts, least), kept.collect::<Vec<(u32, u64)>>(), "case {case}");
            let last = wanted.checked_sub(1).and_then(|i| sorted.get(i as usize)).copied();
            if let Some(last) = last.filter(|last| *last > 0) {
                assert!(0 < least && least <= last, "case {case}: {least} and {last}");
            }
            let left = counts.iter().filter(|count| **count >= least).count();
            let by_bucket = counts.iter().filter(|c| bucket(**c) >= bucket(least)).count();
            assert_eq!(left, by_bucket, "case {case}");
        }
    }
}
