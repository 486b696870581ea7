//! A place in the order of many values, without a list of the values.
//!
//! A sample of the rows gives two values between which the wanted one lies almost certainly (Floyd and Rivest 1975,
//! Communications of the ACM 18:165). Those below are counted and those between are kept, in the one pass of
//! [`crate::fold`] that evaluates the rows anyway.

use graphlume_types::CancelToken;

use crate::fold::{Fold, Folded, Folds, sampled};
use crate::near::ordered_bits;
use crate::number::Number;
use crate::test::Test;

/// Rows from which a sample is worth its while.
const ROWS_MIN: usize = 1 << 17;
/// Rows of the sample.
const SAMPLE: usize = 1 << 14;
/// Values of the sample without which it says too little.
const SAMPLE_MIN: usize = 1 << 9;

/// The aggregate that finds the value at a share of the order of all known values, from 0 for the least to 1 for the
/// greatest; `None` where a list is as good, or where a row of the sample has no value.
#[must_use]
pub fn near(
    share: f64,
    of: &Number<'_>,
    test: Option<&Test<'_>>,
    num_rows: usize,
    cancel: &CancelToken,
) -> Option<Fold> {
    if num_rows < ROWS_MIN {
        return None;
    }
    #[allow(clippy::cast_possible_truncation, reason = "tables have at most 2^32 rows")]
    let rows: Vec<u32> = (0..SAMPLE).map(|i| (i * num_rows / SAMPLE) as u32).collect();
    let list = Folds { fold: Fold::List, of: Some(of.clone()) };
    let mut keys = match sampled(test, list, &rows, cancel).ok()? {
        Folded::IntLists(mut lists) => lists.pop()?,
        Folded::Lists(mut lists) => lists.pop()?.into_iter().map(ordered_bits).collect(),
        _ => return None,
    };
    if keys.len() < SAMPLE_MIN {
        return None;
    }
    keys.sort_unstable();
    // Four times as far as chance leads the place astray, which is half of the root at most.
    let margin = 2 * keys.len().isqrt();
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place of the sample"
    )]
    let at = (share * keys.len() as f64) as usize;
    let low = at.checked_sub(margin).map_or(i64::MIN, |at| keys[at]);
    let high = keys.get(at + margin).copied().unwrap_or(i64::MAX);
    Some(Fold::Near { low, high })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow_array::{Float64Array, Int64Array};
    use graphlume_types::hash::h64;

    use super::*;
    use crate::{Cmp, Keys, fold};

    #[test]
    fn each_share_is_between_its_bounds_and_the_place_has_the_value_of_the_ordered_list() {
        let (n, cancel) = (200_000, CancelToken::new());
        let lists: [Vec<f64>; 3] = [
            (0..n).map(|i| h64(1, 2, i as u64) as f64).collect(),
            (0..n).map(|i| (h64(1, 3, i as u64) % 3) as f64 - 1.0).collect(),
            (0..n).map(|i| (i as f64).sin()).collect(),
        ];
        let test_of = Int64Array::from_iter_values((0..n).map(|i| i % 10));
        let test = Test::Compare(Cmp::Lt, Number::Ints(&test_of), Number::Int(7));
        for list in lists {
            let floats = Float64Array::from(list.clone());
            let ints = Int64Array::from_iter_values(list.iter().map(|v| (*v * 1e3) as i64));
            for (number, test) in
                [(Number::Floats(&floats), None), (Number::Ints(&ints), Some(&test))]
            {
                let is_int = number.is_int();
                let mut ordered: Vec<i64> = (0..n as usize)
                    .filter(|i| test.is_none() || i % 10 < 7)
                    .map(|i| if is_int { ints.value(i) } else { ordered_bits(list[i]) })
                    .collect();
                ordered.sort_unstable();
                for share in [0.0, 0.001, 0.3, 0.5, 0.9, 1.0] {
                    let found = near(share, &number, test, n as usize, &cancel).unwrap();
                    let folds = [Folds { fold: found, of: Some(number.clone()) }];
                    let (_, folded) =
                        fold(test, &Keys::default(), &folds, n as usize, &cancel).unwrap();
                    let Folded::Near(cells) = &folded[0] else { panic!("{folded:?}") };
                    assert_eq!(cells[0].count(), ordered.len());
                    let k = (share * (ordered.len() - 1) as f64) as usize;
                    let (between, at) = cells[0].at(k).unwrap();
                    let mut between = between.to_vec();
                    assert_eq!(*between.select_nth_unstable(at).1, ordered[k], "{share}");
                }
            }
        }
    }

    #[test]
    fn a_list_that_misleads_the_sample_is_noticed() {
        let n = SAMPLE * 20;
        let floats: Float64Array =
            (0..n).map(|i| Some(if i % 20 == 0 { 1e9 } else { i as f64 })).collect();
        let number = Number::Floats(&floats);
        let cancel = CancelToken::new();
        let found = near(0.5, &number, None, n, &cancel).unwrap();
        let folds = [Folds { fold: found, of: Some(number) }];
        let (_, folded) = fold(None, &Keys::default(), &folds, n, &cancel).unwrap();
        let Folded::Near(cells) = &folded[0] else { panic!("{folded:?}") };
        assert!(cells[0].at(n / 2).is_none());
    }
}
