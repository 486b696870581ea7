//! The primitives on the CPU against loops over rows that know nothing of masks, programs or
//! chunks.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::cmp::Ordering;

use graphlume_types::hash::h64;
use graphlume_types::{CancelReason, CancelToken, Code, Coded};

use super::*;

/// A value of a cell: an integer (bools and codes too) or a float.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Plain {
    Int(i64),
    Float(f64),
}

fn compare(a: Plain, b: Plain) -> Option<Ordering> {
    match (a, b) {
        (Plain::Int(a), Plain::Int(b)) => Some(a.cmp(&b)),
        (Plain::Float(a), Plain::Float(b)) => a.partial_cmp(&b),
        (Plain::Float(_), Plain::Int(_)) => compare(b, a).map(Ordering::reverse),
        (Plain::Int(_), Plain::Float(b)) if b.is_nan() => None,
        (Plain::Int(_), Plain::Float(b)) if b.is_infinite() => 0.0.partial_cmp(&b),
        // The whole parts first, then the fraction.
        (Plain::Int(a), Plain::Float(b)) => {
            Some(i128::from(a).cmp(&(b.trunc() as i128)).then(0.0.partial_cmp(&b.fract()).unwrap()))
        }
    }
}

fn plain(value: Value) -> Plain {
    match value {
        Value::Int(i) => Plain::Int(i),
        Value::Float(f) => Plain::Float(f),
        Value::Bool(b) => Plain::Int(i64::from(b)),
        Value::Code(c) => Plain::Int(i64::from(c)),
    }
}

/// The predicate for one row in three-valued logic; `None` is unknown.
fn holds(p: &Predicate, row: &[Option<Plain>]) -> Option<bool> {
    let test = |cell: Option<Plain>, op: Compare, value: Value| {
        let order = compare(cell?, plain(value))?;
        Some(match op {
            Compare::Eq => order.is_eq(),
            Compare::Ne => order.is_ne(),
            Compare::Lt => order.is_lt(),
            Compare::Le => order.is_le(),
            Compare::Gt => order.is_gt(),
            Compare::Ge => order.is_ge(),
        })
    };
    match p {
        Predicate::Compare { column, op, value } => test(row[*column], *op, *value),
        Predicate::Between { column, low, high, inclusive } => {
            let (above, below) =
                if *inclusive { (Compare::Ge, Compare::Le) } else { (Compare::Gt, Compare::Lt) };
            Some(test(row[*column], above, *low)? & test(row[*column], below, *high)?)
        }
        Predicate::In { column, values } => {
            let cell = Some(row[*column]?);
            let each: Vec<_> = values.iter().map(|v| test(cell, Compare::Eq, *v)).collect();
            if each.contains(&Some(true)) {
                return Some(true);
            }
            if each.contains(&None) { None } else { Some(false) }
        }
        Predicate::Codes { column, lookup } => match row[*column]? {
            Plain::Int(code) => Some(lookup.holds(code as u32)),
            Plain::Float(_) => panic!("a float is no code"),
        },
        Predicate::IsNull { column } => Some(row[*column].is_none()),
        Predicate::NotNull { column } => Some(row[*column].is_some()),
        Predicate::Not(p) => holds(p, row).map(|b| !b),
        Predicate::And(parts) => {
            let each: Vec<_> = parts.iter().map(|p| holds(p, row)).collect();
            let unknown = each.contains(&None);
            if each.contains(&Some(false)) { Some(false) } else { (!unknown).then_some(true) }
        }
        Predicate::Or(parts) => {
            let each: Vec<_> = parts.iter().map(|p| holds(p, row)).collect();
            let unknown = each.contains(&None);
            if each.contains(&Some(true)) { Some(true) } else { (!unknown).then_some(false) }
        }
    }
}

fn device() -> Device {
    Device::cpu(Arc::new(CpuPool::new(2).unwrap()), Budget::new("host", 1 << 28))
}

const FLOATS: [f64; 10] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    -0.0,
    0.0,
    0.1,
    -2.5,
    16_777_217.0,
    9.007_199_254_740_993e15,
    -9.3e18,
];
const INTS: [i64; 9] =
    [i64::MIN, i64::MAX, 0, -1, 3, (1 << 53) + 1, 16_777_217, u32::MAX as i64, i32::MIN as i64];

/// Seven columns, one of each dtype, of `n` rows with nulls; and the same as plain rows.
fn table(seed: u64, n: usize, on: &Device) -> (Vec<DeviceColumn>, Vec<Vec<Option<Plain>>>) {
    let h = |k: u64, i: usize| h64(seed, k, i as u64);
    let int = |k, i| match h(k, i) % 3 {
        0 => INTS[(h(k, i) >> 8) as usize % INTS.len()],
        _ => (h(k, i) >> 8) as i64 % 10 - 5,
    };
    let float = |k, i| match h(k, i) % 3 {
        0 => FLOATS[(h(k, i) >> 8) as usize % FLOATS.len()],
        _ => ((h(k, i) >> 8) % 20) as f64 / 4.0 - 2.0,
    };
    let valid = |k: u64, i: usize| !h(50 + k, i).is_multiple_of(5);
    let i64s: Vec<i64> = (0..n).map(|i| int(0, i)).collect();
    let i32s: Vec<i32> = (0..n).map(|i| int(1, i) as i32).collect();
    let u32s: Vec<u32> = (0..n).map(|i| int(2, i) as u32).collect();
    let f64s: Vec<f64> = (0..n).map(|i| float(3, i)).collect();
    let f32s: Vec<f32> = (0..n).map(|i| float(4, i) as f32).collect();
    let bytes: Vec<u8> = (0..n).map(|i| (h(5, i) % 2) as u8).collect();
    let codes: Vec<u32> = (0..n).map(|i| (h(6, i) % 40) as u32).collect();
    let cells = [
        Cells::I64(&i64s),
        Cells::I32(&i32s),
        Cells::U32(&u32s),
        Cells::F64(&f64s),
        Cells::F32(&f32s),
        Cells::Bytes(&bytes),
        Cells::Codes(&codes),
    ];
    let columns = cells.iter().zip(0..).map(|(cells, k)| {
        let mut words = vec![0; n.div_ceil(32)];
        (0..n).filter(|i| valid(k, *i)).for_each(|i| words[i / 32] |= 1 << (i % 32));
        on.upload(*cells, Some(&words)).unwrap()
    });
    let row = |i: usize| {
        let plain = [
            Plain::Int(i64s[i]),
            Plain::Int(i32s[i].into()),
            Plain::Int(u32s[i].into()),
            Plain::Float(f64s[i]),
            Plain::Float(f32s[i].into()),
            Plain::Int(bytes[i].into()),
            Plain::Int(codes[i].into()),
        ];
        let here = |(k, p): (u64, Plain)| {
            Some(p).filter(|p| valid(k, i) && !matches!(p, Plain::Float(f) if f.is_nan()))
        };
        (0..).zip(plain).map(here).collect()
    };
    (columns.collect(), (0..n).map(row).collect())
}

fn value(column: usize, h: u64) -> Value {
    match (column, h % 2) {
        (5, b) => Value::Bool(b == 0),
        (6, _) => Value::Code((h % 45) as u32),
        (_, 0) if h & 4 == 0 => Value::Float(FLOATS[(h >> 8) as usize % FLOATS.len()]),
        (_, 0) => Value::Float(((h >> 8) % 40) as f64 / 8.0 - 2.5),
        _ if h & 4 == 0 => Value::Int(INTS[(h >> 8) as usize % INTS.len()]),
        _ => Value::Int((h >> 8) as i64 % 10 - 5),
    }
}

const COMPARES: [Compare; 6] =
    [Compare::Eq, Compare::Ne, Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge];

fn predicate(seed: u64, depth: u32) -> Predicate {
    let h = |stream| h64(seed, stream, u64::from(depth));
    let column = (h(1) % 7) as usize;
    let parts = || (0..h(2) % 4).map(|k| predicate(h64(seed, 10, k), depth - 1)).collect();
    match h(0) % if depth == 0 { 6 } else { 9 } {
        0 | 1 => Predicate::compare(column, COMPARES[(h(3) % 6) as usize], value(column, h(4))),
        2 => Predicate::Between {
            column,
            low: value(column, h(5)),
            high: value(column, h(6)),
            inclusive: h(7).is_multiple_of(2),
        },
        3 => {
            let values = (0..h(8) % 9).map(|k| value(column, h(20 + k))).collect();
            Predicate::In { column, values }
        }
        4 => {
            let lookup =
                Lookup::new((h(11) % 50) as u32, |c| h64(seed, 12, c.into()).is_multiple_of(2));
            Predicate::Codes { column: 6, lookup }
        }
        5 if h(13).is_multiple_of(2) => Predicate::IsNull { column },
        5 => Predicate::NotNull { column },
        6 => Predicate::Not(Box::new(predicate(h(14), depth - 1))),
        7 => Predicate::And(parts()),
        _ => Predicate::Or(parts()),
    }
}

fn selected(on: &Device, columns: &[DeviceColumn], p: &Predicate) -> Vec<bool> {
    let refs: Vec<&DeviceColumn> = columns.iter().collect();
    let mask = on.filter(columns[0].rows, &refs, p, &CancelToken::new()).unwrap();
    on.mask_to_bytes(&mask).unwrap().into_iter().map(|b| b == 1).collect()
}

#[test]
fn filters_select_exactly_the_rows_in_which_the_predicate_is_true() {
    let on = device();
    let mut counts = [0_usize; 2];
    for (k, n) in [0, 1, 31, 33, 1024, 1500].into_iter().enumerate() {
        let (columns, rows) = table(k as u64, n, &on);
        for seed in 0..400 {
            let p = predicate(seed * 7 + k as u64, (seed % 4) as u32);
            let want: Vec<bool> = rows.iter().map(|row| holds(&p, row) == Some(true)).collect();
            assert!(selected(&on, &columns, &p) == want, "{n} rows: {p:?}");
            want.iter().for_each(|b| counts[usize::from(*b)] += 1);
        }
    }
    assert!(counts.iter().all(|c| *c > 100_000), "{counts:?}");
}

#[test]
fn every_comparison_with_every_extreme_is_exact() {
    let on = device();
    let (columns, rows) = table(99, 800, &on);
    for column in 0..5 {
        let values = FLOATS.map(Value::Float).into_iter().chain(INTS.map(Value::Int));
        for value in values {
            for op in COMPARES {
                let p = Predicate::compare(column, op, value);
                for p in [Predicate::Not(Box::new(p.clone())), p] {
                    let want: Vec<bool> = rows.iter().map(|r| holds(&p, r) == Some(true)).collect();
                    assert!(selected(&on, &columns, &p) == want, "{p:?}");
                }
            }
        }
    }
}

#[test]
fn a_filter_over_many_chunks_is_that_of_each_row() {
    let on = device();
    let cells: Vec<i32> = (0..200_003_u64).map(|i| h64(1, 2, i) as i32 % 1000).collect();
    let column = on.upload(Cells::I32(&cells), None).unwrap();
    let p = Predicate::Between {
        column: 0,
        low: Value::Float(-10.5),
        high: Value::Int(500),
        inclusive: false,
    };
    let want = cells.iter().map(|v| *v > -11 && *v < 500);
    assert!(selected(&on, &[column], &p).into_iter().eq(want));
}

#[test]
fn values_of_another_kind_and_missing_columns_are_named() {
    let on = device();
    let (columns, _) = table(5, 40, &on);
    let refs: Vec<&DeviceColumn> = columns.iter().collect();
    let fails = |p: Predicate| on.filter(40, &refs, &p, &CancelToken::new()).unwrap_err();
    for (column, value) in
        [(0, Value::Bool(true)), (3, Value::Code(1)), (5, Value::Int(1)), (6, Value::Int(1))]
    {
        let e = fails(Predicate::compare(column, Compare::Eq, value));
        assert!(matches!(e, ColumnOpError::Value { .. }), "{e}");
        assert_eq!((e.code(), e.slug()), (Code::InvalidArgument, "value-not-comparable"));
    }
    assert!(matches!(fails(Predicate::IsNull { column: 7 }), ColumnOpError::NoColumn { .. }));
    let lookup = Lookup::new(3, |_| true);
    assert!(matches!(fails(Predicate::Codes { column: 0, lookup }), ColumnOpError::DType { .. }));
    let deep = (0..70).fold(Predicate::And(vec![]), |p, _| Predicate::Not(Box::new(p)));
    assert!(matches!(fails(deep), ColumnOpError::Limit { .. }));
    let other = on.filter(41, &refs, &Predicate::And(vec![]), &CancelToken::new());
    assert!(matches!(other, Err(ColumnOpError::Rows { got: 40, need: 41, .. })));
}

#[test]
fn reductions_pass_over_nulls_and_sums_of_integers_do_not_wrap() {
    let (on, go) = (device(), CancelToken::new());
    for n in [0, 1, 33, 1500] {
        let (columns, rows) = table(17, n, &on);
        for (k, column) in columns.iter().enumerate() {
            let cells: Vec<Plain> = rows.iter().filter_map(|row| row[k]).collect();
            let got = on.reduce(column, None, &go).unwrap();
            assert_eq!(got.count, cells.len() as u64);
            let end = |pick: Ordering| {
                cells.iter().copied().reduce(|a, b| if compare(b, a) == Some(pick) { b } else { a })
            };
            let same = |got: Option<Number>, want: Option<Plain>| match (got, want) {
                (Some(Number::Int(a)), Some(Plain::Int(b))) => a == i128::from(b),
                (Some(Number::Float(a)), Some(Plain::Float(b))) => a == b,
                (None, None) => true,
                _ => false,
            };
            assert!(same(got.least, end(Ordering::Less)), "{k}: {got:?}");
            assert!(same(got.greatest, end(Ordering::Greater)), "{k}: {got:?}");
            if let Number::Int(sum) = got.sum {
                let want: i128 = cells
                    .iter()
                    .map(|c| match c {
                        Plain::Int(i) => i128::from(*i),
                        Plain::Float(_) => panic!("an integer column"),
                    })
                    .sum();
                assert_eq!(sum, want);
                assert_eq!(
                    got.mean(),
                    (!cells.is_empty()).then(|| want as f64 / cells.len() as f64)
                );
            }
        }
    }
    let floats: Vec<f32> = (0..200_000_u64).map(|i| (h64(1, 0, i) % 1000) as f32 / 8.0).collect();
    let column = on.upload(Cells::F32(&floats), None).unwrap();
    // Eighths add up exactly.
    let want: f64 = floats.iter().map(|v| f64::from(*v)).sum();
    assert_eq!(on.reduce(&column, None, &go).unwrap().sum, Number::Float(want));
}

#[test]
fn an_order_puts_nulls_last_and_keeps_equal_cells_as_they_were() {
    let (on, go) = (device(), CancelToken::new());
    let (columns, rows) = table(23, 700, &on);
    let some: Vec<u8> = (0..700).map(|i| u8::from(i % 3 > 0)).collect();
    let mask = on.mask_from_bytes(&some).unwrap();
    for (k, column) in columns.iter().enumerate() {
        for (descending, mask) in [(false, None), (true, None), (false, Some(&mask))] {
            let mut want: Vec<u32> =
                (0..700).filter(|i| mask.is_none() || some[*i as usize] == 1).collect();
            want.sort_by(|a, b| {
                let order = match (rows[*a as usize][k], rows[*b as usize][k]) {
                    (None, None) => Ordering::Equal,
                    (None, _) => Ordering::Greater,
                    (_, None) => Ordering::Less,
                    (Some(a), Some(b)) => compare(a, b).unwrap(),
                };
                if descending { order.reverse() } else { order }
            });
            let got = on.order(column, descending, mask, &go).unwrap();
            assert_eq!(on.download(&got).unwrap().0, HostCells::U32(want), "{k} {descending}");
        }
    }
}

#[test]
fn pairs_are_sorted_stably_by_the_low_bits() {
    let (on, go) = (device(), CancelToken::new());
    for n in [0, 1, 512, 513, 70_001] {
        let keys: Vec<u32> = (0..n).map(|i| (h64(1, 0, i) as u32 % 5000) << 3).collect();
        let k = on.upload(Cells::U32(&keys), None).unwrap();
        for bits in [0, 3, 9, 32, 40] {
            let (a, b) = on.sort_pairs(&k, &on.all_rows(keys.len()).unwrap(), bits, &go).unwrap();
            let mut want: Vec<u32> = (0..keys.len() as u32).collect();
            let mask = if bits >= 32 { u32::MAX } else { (1 << bits) - 1 };
            want.sort_by_key(|i| keys[*i as usize] & mask);
            let sorted: Vec<u32> = want.iter().map(|i| keys[*i as usize]).collect();
            assert!(on.download(&b).unwrap().0 == HostCells::U32(want), "{n} {bits}");
            assert!(on.download(&a).unwrap().0 == HostCells::U32(sorted), "{n} {bits}");
        }
    }
}

#[test]
fn segments_group_by_sums_and_ends() {
    let (on, go) = (device(), CancelToken::new());
    let column = on.upload(Cells::I32(&[3, -4, 9, 1, 8]), Some(&[0b11011])).unwrap();
    let at = on.upload(Cells::U32(&[0, 2, 2, 3, 5]), None).unwrap();
    let sums = on.segment_sum(&at, &column, None, &go).unwrap();
    assert_eq!(on.download(&sums).unwrap(), (HostCells::I64(vec![-1, 0, 0, 9]), None));
    let (least, most) = on.segment_ends(&at, &column, None, &go).unwrap();
    let (low, valid) = on.download(&least).unwrap();
    assert_eq!(valid, Some(vec![0b1001]));
    let (HostCells::I64(low), HostCells::I64(high)) = (low, on.download(&most).unwrap().0) else {
        panic!("ends of i32 are i64");
    };
    assert_eq!((low[0], low[3], high[0], high[3]), (-4, 1, 3, 8));
    let floats = on.upload(Cells::F32(&[0.5, f32::NAN, 2.0]), None).unwrap();
    let at = on.upload(Cells::U32(&[0, 2, 2, 3]), None).unwrap();
    let sums = on.segment_sum(&at, &floats, None, &go).unwrap();
    assert_eq!(on.download(&sums).unwrap().0, HostCells::F64(vec![0.5, 0.0, 2.0]));
    let (least, _) = on.segment_ends(&at, &floats, None, &go).unwrap();
    let HostCells::F64(low) = on.download(&least).unwrap().0 else { panic!("f64") };
    assert!(low[0] == 0.5 && low[1].is_nan() && low[2] == 2.0);
    let none = on.upload(Cells::U32(&[]), None).unwrap();
    assert!(matches!(on.segment_sum(&none, &floats, None, &go), Err(ColumnOpError::Rows { .. })));
}

#[test]
fn histograms_count_both_ends_and_nothing_outside() {
    let (on, go) = (device(), CancelToken::new());
    let column = on.upload(Cells::F64(&[0.0, 0.49, 0.5, 1.0, 1.01, -0.1, f64::NAN]), None).unwrap();
    let got = on.histogram_range(&column, (0.0, 1.0), 2, None, &go).unwrap();
    assert_eq!(got, [2, 2]);
    for (ends, bins) in [((0.0, 1.0), 0), ((1.0, 0.0), 3), ((0.0, f64::INFINITY), 3)] {
        let e = on.histogram_range(&column, ends, bins, None, &go).unwrap_err();
        assert!(matches!(e, ColumnOpError::Bins { .. }), "{e}");
    }
    let codes = on.upload(Cells::Codes(&[2, 0, 2, 9]), Some(&[0b1110])).unwrap();
    assert_eq!(on.histogram_codes(&codes, 3, None, &go).unwrap(), [1, 0, 1]);
    assert!(matches!(on.histogram_codes(&column, 3, None, &go), Err(ColumnOpError::DType { .. })));
}

#[test]
fn prefix_sums_cross_the_chunks() {
    let (on, go) = (device(), CancelToken::new());
    for n in [0, 1, 65_536, 65_537, 150_000] {
        let cells: Vec<u32> = (0..n).map(|i| h64(1, 0, i) as u32).collect();
        let sums = on.scan(&on.upload(Cells::U32(&cells), None).unwrap(), &go).unwrap();
        let mut total = 0_u32;
        let mut want = vec![0];
        want.extend(cells.iter().map(|v| {
            total = total.wrapping_add(*v);
            total
        }));
        assert!(on.download(&sums).unwrap().0 == HostCells::U32(want), "{n}");
    }
}

#[test]
fn memory_is_paid_for_and_given_back() {
    let budget = Budget::new("host", 1000);
    let on = Device::cpu(Arc::new(CpuPool::new(1).unwrap()), budget.clone());
    let column = on.upload(Cells::I64(&[1; 100]), Some(&[u32::MAX; 4])).unwrap();
    assert_eq!(budget.used(), 816);
    let refused = on.upload(Cells::F32(&[1.0; 100]), None).unwrap_err();
    assert_eq!((refused.code(), refused.slug()), (Code::DeviceMemory, "host-memory"));
    let never = on.all_rows(1000).unwrap_err();
    assert_eq!(never.code(), Code::TooLarge);
    drop(column);
    assert_eq!(budget.used(), 0);
}

#[test]
fn a_cancelled_token_stops_the_work() {
    let (on, stop) = (device(), CancelToken::new());
    stop.cancel(CancelReason::Deadline);
    let (columns, _) = table(1, 100, &on);
    let refs: Vec<&DeviceColumn> = columns.iter().collect();
    let filtered = on.filter(100, &refs, &Predicate::IsNull { column: 0 }, &stop);
    assert!(matches!(filtered, Err(ColumnOpError::Cancelled(_))));
    assert!(matches!(on.reduce(&columns[0], None, &stop), Err(ColumnOpError::Cancelled(_))));
    let mask = on.mask_filled(100, true).unwrap();
    assert!(matches!(on.compact(&mask, &stop), Err(ColumnOpError::Cancelled(_))));
}
