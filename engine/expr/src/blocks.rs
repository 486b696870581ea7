//! The least and the greatest number of each block of rows of a column, kept by the caller with the column: the first
//! rows by this column are then found in the few blocks that may hold one of them.

use std::cmp::Ordering;

use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::best::{Candidates, Key, look, order};
use crate::mark::Marks;
use crate::number::Number;
use crate::test::Test;
use crate::vector::{Rows, Unfit, VECTOR_ROWS};

/// Blocks that are looked at one after the other, before the others are shared out: without a test they mostly hold all
/// that is wanted.
const FIRST_BLOCKS: usize = 32;
/// Blocks between which it is found out anew which others come too late.
const BLOCKS_AT_ONCE: usize = 256;
/// Blocks that a thread looks at without sharing them.
const UNIT_BLOCKS: usize = 16;

/// The numbers of one block.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Block<K> {
    /// The least and the greatest one that is known.
    ends: Option<(K, K)>,
    /// Whether one is null.
    has_unknown: bool,
}

#[derive(Debug, PartialEq)]
enum Ends {
    Ints(Vec<Block<i64>>),
    Floats(Vec<Block<f64>>),
}

/// The least and the greatest number of each block of [`VECTOR_ROWS`] rows of a column.
#[derive(Debug, PartialEq)]
pub struct Blocks(Ends);

impl Blocks {
    /// Reads all of a column; `None` for a number that is no column.
    ///
    /// # Errors
    /// [`Unfit::Cancelled`] when the token is.
    pub fn new(column: &Number<'_>, cancel: &CancelToken) -> Result<Option<Self>, Unfit> {
        let rows = match column {
            Number::Ints(column) => column.values().len(),
            Number::Floats(column) => column.values().len(),
            _ => return Ok(None),
        };
        Ok(Some(Self(match column.is_int() {
            true => Ends::Ints(all(column, rows, cancel)?),
            false => Ends::Floats(all(column, rows, cancel)?),
        })))
    }

    /// The memory that they take.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match &self.0 {
            Ends::Ints(blocks) => size_of_val(blocks.as_slice()) as u64,
            Ends::Floats(blocks) => size_of_val(blocks.as_slice()) as u64,
        }
    }
}

fn all<K: Key>(
    column: &Number<'_>,
    num_rows: usize,
    cancel: &CancelToken,
) -> Result<Vec<Block<K>>, Unfit> {
    let of = |block: usize| {
        cancel.check()?;
        let vector = column.eval(rows_of(block, num_rows))?;
        let values = K::of(&vector.values).ok_or(Unfit::Value)?;
        let Some(known) = &vector.known else {
            return Ok(Block { ends: ends(values), has_unknown: false });
        };
        let known = values.iter().zip(known).filter(|(_, known)| **known);
        let known: Vec<K> = known.map(|(v, _)| *v).collect();
        Ok(Block { ends: ends(&known), has_unknown: true })
    };
    (0..num_rows.div_ceil(VECTOR_ROWS)).into_par_iter().with_min_len(UNIT_BLOCKS).map(of).collect()
}

const fn rows_of(block: usize, num_rows: usize) -> Rows<'static> {
    let (from, to) = (block * VECTOR_ROWS, (block + 1) * VECTOR_ROWS);
    Rows::Run { from, len: if to < num_rows { VECTOR_ROWS } else { num_rows - from } }
}

/// The least and the greatest of numbers without NaN. Eight of each are found beside each other, since each depends on
/// the one before.
fn ends<K: Key>(values: &[K]) -> Option<(K, K)> {
    const LANES: usize = 8;
    let first = *values.first()?;
    let (mut least, mut greatest) = ([first; LANES], [first; LANES]);
    let (lanes, rest) = values.as_chunks::<LANES>();
    for of in lanes {
        for ((v, least), greatest) in of.iter().zip(&mut least).zip(&mut greatest) {
            *least = if *v < *least { *v } else { *least };
            *greatest = if *v > *greatest { *v } else { *greatest };
        }
    }
    let below = |a: K, b: &K| if *b < a { *b } else { a };
    let above = |a: K, b: &K| if *b > a { *b } else { a };
    let least = least.iter().chain(rest).fold(first, below);
    Some((least, greatest.iter().chain(rest).fold(first, above)))
}

/// What [`best`](crate::best()) finds, for a column whose blocks are known: only those are read that may hold one of the
/// first. The test must be one that every row has an answer to, see [`Test::is_total`].
///
/// # Errors
/// Those of [`best`](crate::best()); [`Unfit::Value`] also for blocks of another column.
pub fn best_of_blocks(
    test: Option<&Test<'_>>,
    (key, blocks, down): (&Number<'_>, &Blocks, bool),
    wanted: usize,
    num_rows: usize,
    cancel: &CancelToken,
) -> Result<Marks, Unfit> {
    let search = Search { test, key, wanted, down, num_rows, cancel };
    match &blocks.0 {
        Ends::Ints(blocks) if key.is_int() => search.of(blocks),
        Ends::Floats(blocks) if !key.is_int() => search.of(blocks),
        _ => Err(Unfit::Value),
    }
}

struct Search<'a> {
    test: Option<&'a Test<'a>>,
    key: &'a Number<'a>,
    wanted: usize,
    down: bool,
    num_rows: usize,
    cancel: &'a CancelToken,
}

impl Search<'_> {
    fn of<K: Key + Sync>(&self, blocks: &[Block<K>]) -> Result<Marks, Unfit> {
        if blocks.len() != self.num_rows.div_ceil(VECTOR_ROWS) {
            return Err(Unfit::Value);
        }
        let down = self.down;
        let first = |b: &Block<K>| b.ends.map(|(least, most)| if down { most } else { least });
        // Nulls come first when down: all of their blocks are read. Else those without a known number come last.
        let place = |b: &Block<K>| match first(b) {
            _ if down && b.has_unknown => (0, None),
            Some(end) => (1, Some(end)),
            None => (2, None),
        };
        let mut list: Vec<(u8, Option<K>, usize)> =
            blocks.iter().enumerate().map(|(i, b)| (place(b).0, place(b).1, i)).collect();
        list.sort_unstable_by(|(p, a, i), (q, b, j)| {
            let ends = a.zip(*b).map_or(Ordering::Equal, |(a, b)| order(a, b, down));
            p.cmp(q).then(ends).then(i.cmp(j))
        });
        let mut found = Candidates::from(None);
        let mut left = list.as_slice();
        let mut at_once = FIRST_BLOCKS;
        while !left.is_empty() {
            // Ascending by the best number: behind the first one that comes too late all do.
            let may = left.partition_point(|(place, end, _)| match (place, end, found.worst) {
                (0, ..) | (_, _, None) => true,
                (_, Some(end), Some(worst)) => order(*end, worst, down).is_le(),
                (_, None, Some(_)) => false,
            });
            let (some, rest) = left.split_at(may.min(at_once));
            if some.is_empty() {
                break;
            }
            let shared = at_once > FIRST_BLOCKS;
            self.look_at(some, shared, &mut found)?;
            (left, at_once) = (rest, BLOCKS_AT_ONCE);
        }
        found.marks(self.wanted, down, self.num_rows)
    }

    fn look_at<K: Key + Sync>(
        &self,
        blocks: &[(u8, Option<K>, usize)],
        shared: bool,
        found: &mut Candidates<K>,
    ) -> Result<(), Unfit> {
        let each = |found: &mut Candidates<K>, blocks: &[(u8, Option<K>, usize)]| {
            blocks.iter().try_for_each(|(.., block)| {
                self.cancel.check()?;
                let rows = rows_of(*block, self.num_rows);
                look(found, rows, (self.test, self.key), (self.wanted, self.down))
            })
        };
        if shared {
            let worst = found.worst;
            let parts = blocks.par_chunks(UNIT_BLOCKS).map(|some| {
                let mut own = Candidates::from(worst);
                each(&mut own, some).map(|()| own)
            });
            parts.collect::<Result<Vec<_>, _>>()?.into_iter().for_each(|part| found.add(part));
        } else {
            each(found, blocks)?;
        }
        found.prune(self.wanted, self.down)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow_array::{Float64Array, Int64Array};
    use graphlume_types::CancelReason;
    use graphlume_types::hash::h64;

    use super::*;
    use crate::{Arithmetic, Cmp, best, truth};

    fn blocks(key: &Number<'_>) -> Blocks {
        Blocks::new(key, &CancelToken::new()).unwrap().unwrap()
    }

    /// Both ways mark the same rows, or both find too many equal ones.
    fn assert_same(key: &Number<'_>, test: Option<&Test<'_>>, num_rows: usize) {
        let (of, cancel) = (blocks(key), CancelToken::new());
        for (down, wanted) in
            [(false, 1), (true, 1), (false, 10), (true, 10), (false, 700), (true, num_rows + 5)]
        {
            let rows = |found: Result<Marks, Unfit>| {
                found.map(|m| m.rows(0..num_rows as u32).collect::<Vec<_>>())
            };
            let all = rows(best(test, (key, down), wanted, num_rows, &cancel));
            let some = rows(best_of_blocks(test, (key, &of, down), wanted, num_rows, &cancel));
            assert_eq!(some, all, "{num_rows} rows, down {down}, {wanted} wanted");
        }
    }

    #[test]
    fn a_block_has_its_least_and_greatest_known_number() {
        let mut list: Vec<Option<f64>> = (0..VECTOR_ROWS).map(|i| Some(i as f64 - 7.0)).collect();
        list.extend([Some(f64::NAN), None, Some(-0.0), Some(3.5)]);
        let column: Float64Array = list.into_iter().collect();
        let Ends::Floats(found) = blocks(&Number::Floats(&column)).0 else { panic!("floats") };
        let last = VECTOR_ROWS as f64 - 8.0;
        assert_eq!(
            found,
            [
                Block { ends: Some((-7.0, last)), has_unknown: false },
                Block { ends: Some((0.0, 3.5)), has_unknown: true },
            ]
        );
        let none = Int64Array::from(vec![None; 3]);
        let none = blocks(&Number::Ints(&none)).0;
        assert_eq!(none, Ends::Ints(vec![Block { ends: None, has_unknown: true }]));
        let empty = Int64Array::from(Vec::<i64>::new());
        assert_eq!(blocks(&Number::Ints(&empty)).bytes(), 0);
        let (one, cancel) = (Number::Int(1), CancelToken::new());
        let sum = Number::Op(Arithmetic::Add, Box::new(one.clone()), Box::new(one));
        assert_eq!(Blocks::new(&sum, &cancel).unwrap(), None, "computed keys have none");
        cancel.cancel(CancelReason::ClientGone);
        assert_eq!(
            Blocks::new(&Number::Ints(&Int64Array::from(vec![1])), &cancel),
            Err(Unfit::Cancelled)
        );
    }

    #[test]
    fn the_same_rows_are_marked_as_without_blocks() {
        for num_rows in [0, 1, 63, VECTOR_ROWS, VECTOR_ROWS + 1, 60 * VECTOR_ROWS + 17, 900_001] {
            let at = |i: usize, salt: u64| h64(3, salt, i as u64);
            for (nulls, values) in [(0, 1 << 40), (7, 1 << 40), (1, 9), (400_000, 5_000)] {
                let null = |i: usize| nulls > 0 && at(i, 1).is_multiple_of(nulls);
                let value = |i: usize| (at(i, 2) % values) as i64 - 1_000;
                let ints: Int64Array =
                    (0..num_rows).map(|i| (!null(i)).then(|| value(i))).collect();
                let part = |i: usize| {
                    if at(i, 4).is_multiple_of(97) { f64::NAN } else { value(i) as f64 / 8.0 }
                };
                let floats: Float64Array =
                    (0..num_rows).map(|i| (!null(i)).then(|| part(i))).collect();
                let sorted: Int64Array = (0..num_rows as i64).map(|i| Some(i / 3)).collect();
                let few = Test::Compare(Cmp::Lt, Number::Ints(&sorted), Number::Int(90));
                for test in [None, Some(&few), Some(&Test::Always(truth::FALSE))] {
                    assert_same(&Number::Ints(&ints), test, num_rows);
                    assert_same(&Number::Floats(&floats), test, num_rows);
                    assert_same(&Number::Ints(&sorted), test, num_rows);
                }
            }
        }
    }

    #[test]
    fn equal_keys_are_all_marked_or_too_many() {
        // The greatest stands once in every block, and more often than others may decide.
        let of = |every: usize| -> Int64Array {
            (0..100 * VECTOR_ROWS).map(|i| Some(i64::from(i % every == 5))).collect()
        };
        for every in [VECTOR_ROWS, 20] {
            let column = of(every);
            let key = Number::Ints(&column);
            let cancel = CancelToken::new();
            let found = best_of_blocks(
                None,
                (&key, &blocks(&key), true),
                3,
                column.values().len(),
                &cancel,
            );
            assert_eq!(found.map(|m| m.count()).ok(), (every > 20).then_some(100));
        }
    }

    #[test]
    fn blocks_of_another_column_and_cancelled_tokens_are_refused() {
        let (column, longer) = (Int64Array::from(vec![1; 10]), Int64Array::from(vec![1; 9_000]));
        let (key, cancel) = (Number::Ints(&column), CancelToken::new());
        let other = blocks(&Number::Ints(&longer));
        let found = |blocks: &Blocks| {
            best_of_blocks(None, (&key, blocks, false), 3, 10, &cancel).map(|m| m.count())
        };
        assert_eq!(found(&other), Err(Unfit::Value));
        let floats = Float64Array::from(vec![1.0; 10]);
        assert_eq!(found(&blocks(&Number::Floats(&floats))), Err(Unfit::Value));
        let own = blocks(&key);
        assert_eq!(found(&own), Ok(10));
        cancel.cancel(CancelReason::ClientGone);
        assert_eq!(found(&own), Err(Unfit::Cancelled));
    }
}
