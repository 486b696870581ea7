//! Answers of the evaluators for every row, against a row by row reading; over several vectors and units, at one, two and
//! three threads.

use std::sync::Arc;

use arrow_array::types::UInt32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int64Array, StringArray, UInt32Array,
};
use graphlume_table::TextColumn;
use graphlume_types::hash::{h64, unit_f64};
use graphlume_types::{CancelReason, CancelToken};

use crate::{
    Arithmetic, Cmp, Fold, Folded, Folds, Keys, Number, Rows, Test, TextTest, Unfit, best, fold,
    marks, truth,
};

/// More than two units of parallel work, and no whole number of vectors or words.
const ROWS: usize = (1 << 17) + 4_099;

struct Data {
    ints: Int64Array,
    floats: Float64Array,
    words: TextColumn,
    keys: UInt32Array,
}

fn data() -> Data {
    let random = |i: usize, salt: u64| h64(7, salt, i as u64);
    let some = |i: usize, salt: u64| !random(i, salt).is_multiple_of(9);
    let ints = (0..ROWS).map(|i| some(i, 1).then(|| (random(i, 2) % 1_000) as i64 - 500)).collect();
    let float = |i: usize| {
        if random(i, 3).is_multiple_of(50) { f64::NAN } else { unit_f64(7, 4, i as u64) * 10.0 }
    };
    let floats = (0..ROWS).map(|i| some(i, 5).then(|| float(i))).collect();
    let keys: UInt32Array =
        (0..ROWS).map(|i| some(i, 6).then(|| (random(i, 8) % 4) as u32)).collect();
    let values = Arc::new(StringArray::from(vec!["ab", "b", "", "cab"]));
    let array: ArrayRef =
        Arc::new(DictionaryArray::<UInt32Type>::try_new(keys.clone(), values).unwrap());
    Data { ints, floats, words: TextColumn::try_new(&array).unwrap(), keys }
}

fn at_threads<T: Send>(work: impl Fn() -> T + Sync + Send) -> [T; 3] {
    [1, 2, 3]
        .map(|n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap().install(&work))
}

fn int(data: &Data, i: usize) -> Option<i64> {
    data.ints.is_valid(i).then(|| data.ints.value(i))
}

fn float(data: &Data, i: usize) -> Option<f64> {
    data.floats.is_valid(i).then(|| data.floats.value(i)).filter(|v| !v.is_nan())
}

fn wanted(data: &Data) -> Test<'_> {
    let sum = Number::Op(
        Arithmetic::Add,
        Box::new(Number::Ints(&data.ints)),
        Box::new(Number::Floats(&data.floats)),
    );
    Test::And(vec![
        Test::Compare(Cmp::Gt, sum, Number::Float(100.5)),
        Test::Not(Box::new(Test::Text(TextTest::new(&data.words, truth::FALSE, |w| {
            w.ends_with('b')
        })))),
    ])
}

/// The same of a row; unknown is no match.
fn matches(data: &Data, i: usize) -> bool {
    let sum = int(data, i).zip(float(data, i)).map(|(a, b)| a as f64 + b);
    sum.is_some_and(|s| s > 100.5) && data.words.get(i).is_some_and(|w| !w.ends_with('b'))
}

#[test]
fn marks_are_the_rows_that_match() {
    let (data, cancel) = (data(), CancelToken::new());
    let found = marks(Some(&wanted(&data)), ROWS, &cancel).unwrap();
    let rows: Vec<u32> = (0..ROWS as u32).filter(|i| matches(&data, *i as usize)).collect();
    assert!(rows.len() > 1_000);
    assert_eq!(found.rows(0..ROWS as u32).collect::<Vec<_>>(), rows);
    assert_eq!(found.count(), rows.len());
    assert!((0..ROWS as u32 + 70).all(|i| found.has(i) == rows.binary_search(&i).is_ok()));
    let part: Vec<u32> = rows.iter().copied().filter(|r| (1_000..70_001).contains(r)).collect();
    assert_eq!(found.rows(1_000..70_001).collect::<Vec<_>>(), part);
    assert_eq!(marks(None, ROWS, &cancel).unwrap().count(), ROWS);
}

#[test]
fn groups_have_the_sums_of_their_rows_at_any_number_of_threads() {
    let (data, cancel) = (data(), CancelToken::new());
    let mut keys = Keys::default();
    assert!(keys.dictionary(&data.keys, vec![0, 1, 2, 3], 4));
    let remainder =
        Number::Op(Arithmetic::Mod, Box::new(Number::Ints(&data.ints)), Box::new(Number::Int(3)));
    assert!(keys.number(remainder));
    let of = |fold, number| Folds { fold, of: Some(number) };
    let folds = [
        of(Fold::Sum, Number::Floats(&data.floats)),
        of(Fold::Sum, Number::Ints(&data.ints)),
        of(Fold::Min, Number::Floats(&data.floats)),
        of(Fold::Moments, Number::Ints(&data.ints)),
        of(Fold::List, Number::Ints(&data.ints)),
        of(Fold::Count, Number::Floats(&data.floats)),
    ];
    let test = wanted(&data);
    let all = at_threads(|| fold(Some(&test), &keys, &folds, ROWS, &cancel).unwrap());
    assert!(all.iter().all(|one| format!("{one:?}") == format!("{:?}", all[0])), "the same bits");
    let (counts, folded) = &all[0];
    let groups = keys.of(Rows::Run { from: 0, len: ROWS }).unwrap();
    for group in 0..keys.groups() {
        let rows: Vec<usize> =
            (0..ROWS).filter(|i| groups[*i] as usize == group && matches(&data, *i)).collect();
        assert_eq!(counts[group], rows.len() as i64);
        let ints: Vec<i64> = rows.iter().filter_map(|i| int(&data, *i)).collect();
        let floats: Vec<f64> = rows.iter().filter_map(|i| float(&data, *i)).collect();
        let [
            Folded::Floats(sums),
            Folded::Ints(whole),
            Folded::Floats(least),
            Folded::Moments(moments),
            Folded::IntLists(lists),
            Folded::Counts(known),
        ] = &folded[..]
        else {
            panic!("other kinds: {folded:?}");
        };
        assert!((sums[group].1 - floats.iter().sum::<f64>()).abs() < 1e-7);
        assert_eq!(whole[group], (ints.len() as i64, ints.iter().map(|v| i128::from(*v)).sum()));
        assert_eq!((known[group], least[group].0), (floats.len() as i64, floats.len() as i64));
        if !floats.is_empty() {
            assert_eq!(least[group].1, floats.iter().copied().fold(f64::INFINITY, f64::min));
        }
        if !ints.is_empty() {
            let mean = ints.iter().sum::<i64>() as f64 / ints.len() as f64;
            assert!((moments[group].1 - mean).abs() < 1e-7);
        }
        assert_eq!(lists[group], ints);
    }
}

#[test]
fn the_best_rows_are_the_first_of_their_order_and_those_equal_to_the_last() {
    let (data, cancel) = (data(), CancelToken::new());
    for (down, wanted) in [(false, 10), (true, 10), (true, 3_000), (false, ROWS)] {
        let key = Number::Floats(&data.floats);
        let found = best(None, (&key, down), wanted, ROWS, &cancel).unwrap();
        let mut rows: Vec<u32> = (0..ROWS as u32).collect();
        rows.sort_by(|a, b| {
            let (a, b) = (float(&data, *a as usize), float(&data, *b as usize));
            // Null is above every number.
            let order = match (a, b) {
                (Some(a), Some(b)) => a.total_cmp(&b),
                (a, b) => b.is_some().cmp(&a.is_some()),
            };
            if down { order.reverse() } else { order }
        });
        assert!(rows[..wanted].iter().all(|row| found.has(*row)), "{down} {wanted}");
        let nulls = data.floats.len() - (0..ROWS).filter(|i| float(&data, *i).is_some()).count();
        assert!(found.count() <= wanted + nulls + 10, "{down} {wanted}: {}", found.count());
    }
    let same = Int64Array::from(vec![1; ROWS]);
    let equal = best(None, (&Number::Ints(&same), false), 5, ROWS, &cancel);
    assert_eq!(equal.unwrap_err(), Unfit::Value, "others decide between equal rows");
}

#[test]
fn what_has_no_value_is_unfit_only_where_a_row_is_known() {
    let divided = |a: Vec<Option<i64>>, b: Vec<Option<i64>>| {
        let (a, b) = (Int64Array::from(a), Int64Array::from(b));
        let number =
            Number::Op(Arithmetic::Div, Box::new(Number::Ints(&a)), Box::new(Number::Ints(&b)));
        number.eval(Rows::List(&[0, 1])).map(|v| v.known)
    };
    assert_eq!(
        divided(vec![Some(1), None], vec![Some(2), Some(0)]).unwrap(),
        Some(vec![true, false])
    );
    assert_eq!(divided(vec![Some(1), Some(1)], vec![Some(2), Some(0)]).unwrap_err(), Unfit::Value);
    assert_eq!(
        divided(vec![Some(i64::MIN), Some(1)], vec![Some(-1), Some(1)]).unwrap_err(),
        Unfit::Value
    );
    let large = Int64Array::from(vec![(1 << 53) + 1]);
    let near = Test::Compare(Cmp::Eq, Number::Ints(&large), Number::Float(9_007_199_254_740_992.0));
    assert_eq!(
        near.eval(Rows::Run { from: 0, len: 1 }).unwrap_err(),
        Unfit::Value,
        "floats are too coarse"
    );
}

#[test]
fn a_cancelled_token_ends_all_of_them() {
    let (data, cancel) = (data(), CancelToken::new());
    cancel.cancel(CancelReason::ClientGone);
    let test = wanted(&data);
    assert_eq!(marks(Some(&test), ROWS, &cancel).unwrap_err(), Unfit::Cancelled);
    assert_eq!(fold(None, &Keys::default(), &[], ROWS, &cancel).unwrap_err(), Unfit::Cancelled);
    let key = Number::Ints(&data.ints);
    assert_eq!(best(None, (&key, false), 3, ROWS, &cancel).unwrap_err(), Unfit::Cancelled);
}
