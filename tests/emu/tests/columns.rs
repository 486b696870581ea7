//! Columns: filters, reductions, histograms, segments, gathers and orders, the same on the CPU and
//! on the GPU.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::Arc;

use graphlume_device::CpuPool;
use graphlume_device::columns::{
    Cells, Compare, Device, DeviceColumn, HostCells, Lookup, Mask, Number, Predicate, Value,
};
use graphlume_device::cuda::{Gpu, Grid, kernels};
use graphlume_emu::gpu_test;
use graphlume_types::hash::h64;
use graphlume_types::{Budget, CancelToken};

const SIZES: [usize; 10] = [0, 1, 31, 32, 33, 1023, 1024, 1025, 2048, 30_003];

fn devices(gpu: &Gpu) -> [Device; 2] {
    let pool = Arc::new(CpuPool::new(2).unwrap());
    [Device::cpu(pool, Budget::new("host", 1 << 30)), Device::Cuda(gpu.clone())]
}

/// Columns of every dtype with values that often meet the operands of the predicates, and validity
/// words.
struct Table {
    i64s: Vec<i64>,
    i32s: Vec<i32>,
    u32s: Vec<u32>,
    f64s: Vec<f64>,
    f32s: Vec<f32>,
    bytes: Vec<u8>,
    codes: Vec<u32>,
    valid: Vec<u32>,
}

const FLOATS: [f64; 9] =
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1.5, -2.5, 1e300, 16_777_217.0];

impl Table {
    fn new(seed: u64, n: usize) -> Self {
        let random = |stream: u64| (0..n as u64).map(move |i| h64(seed, stream, i));
        let float = |h: u64| match h % 3 {
            0 => FLOATS[(h >> 8) as usize % FLOATS.len()],
            _ => ((h >> 8) % 2001) as f64 / 10.0 - 100.0,
        };
        let integer = |h: u64| match h % 8 {
            0 => i64::MIN,
            1 => i64::MAX,
            2 => (1 << 53) + (h >> 8 & 3) as i64,
            _ => (h >> 8) as i64 % 100,
        };
        Self {
            i64s: random(1).map(integer).collect(),
            i32s: random(2).map(|h| (h as i32) >> (h >> 32 & 31)).collect(),
            u32s: random(3).map(|h| h as u32 >> (h >> 32 & 31)).collect(),
            f64s: random(4).map(float).collect(),
            f32s: random(5).map(|h| float(h) as f32).collect(),
            bytes: random(6).map(|h| (h % 2) as u8).collect(),
            codes: random(7).map(|h| (h % 70) as u32).collect(),
            valid: random(8).map(|h| h as u32 | (h >> 32) as u32).take(n.div_ceil(32)).collect(),
        }
    }

    /// Column k of 14: each dtype without and with nulls.
    fn column(&self, device: &Device, k: usize) -> DeviceColumn {
        let cells = match k % 7 {
            0 => Cells::I64(&self.i64s),
            1 => Cells::I32(&self.i32s),
            2 => Cells::U32(&self.u32s),
            3 => Cells::F64(&self.f64s),
            4 => Cells::F32(&self.f32s),
            5 => Cells::Bytes(&self.bytes),
            _ => Cells::Codes(&self.codes),
        };
        device.upload(cells, (k >= 7).then_some(self.valid.as_slice())).unwrap()
    }

    fn columns(&self, device: &Device) -> Vec<DeviceColumn> {
        (0..14).map(|k| self.column(device, k)).collect()
    }
}

fn value(column: usize, h: u64) -> Value {
    match column % 7 {
        5 => Value::Bool(h.is_multiple_of(2)),
        6 => Value::Code((h % 75) as u32),
        _ if h.is_multiple_of(2) => Value::Float(match h >> 1 & 3 {
            0 => FLOATS[(h >> 8) as usize % FLOATS.len()],
            _ => ((h >> 8) % 401) as f64 / 2.0 - 100.0,
        }),
        _ => Value::Int(match h >> 1 & 3 {
            0 => [i64::MIN, i64::MAX, (1 << 53) + 1, -1][(h >> 8) as usize % 4],
            _ => (h >> 8) as i64 % 100,
        }),
    }
}

const COMPARES: [Compare; 6] =
    [Compare::Eq, Compare::Ne, Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge];

/// A random predicate over the fourteen columns.
fn predicate(seed: u64, depth: u32) -> Predicate {
    let h = |stream| h64(seed, stream, u64::from(depth));
    let column = (h(1) % 14) as usize;
    let parts = || (0..h(2) % 4).map(|k| predicate(h64(seed, 10, k), depth - 1)).collect();
    match h(0) % if depth == 0 { 6 } else { 9 } {
        0 | 1 => Predicate::compare(column, COMPARES[(h(3) % 6) as usize], value(column, h(4))),
        2 => Predicate::Between {
            column,
            low: value(column, h(5)),
            high: value(column, h(6)),
            inclusive: h(7) % 2 == 0,
        },
        3 => Predicate::In {
            column,
            values: (0..h(8) % 9).map(|k| value(column, h(20 + k))).collect(),
        },
        4 => Predicate::Codes {
            column: if h(9) % 2 == 0 { 6 } else { 13 },
            lookup: Lookup::new((h(11) % 80) as u32, |c| {
                h64(seed, 12, u64::from(c)).is_multiple_of(2)
            }),
        },
        5 if h(13) % 2 == 0 => Predicate::IsNull { column },
        5 => Predicate::NotNull { column },
        6 => Predicate::Not(Box::new(predicate(h(14), depth - 1))),
        7 => Predicate::And(parts()),
        _ => Predicate::Or(parts()),
    }
}

fn filtered(device: &Device, columns: &[DeviceColumn], p: &Predicate) -> Vec<u32> {
    let columns: Vec<&DeviceColumn> = columns.iter().collect();
    let mask = device.filter(columns[0].rows(), &columns, p, &CancelToken::new()).unwrap();
    device.mask_to_words(&mask).unwrap()
}

#[test]
fn random_predicates_select_the_same_rows_on_both_devices() {
    gpu_test(&["col_filter"], |gpu| {
        let [cpu, gpu] = devices(gpu);
        let mut selected = 0_u64;
        for (k, n) in SIZES.into_iter().enumerate() {
            let table = Table::new(k as u64, n);
            let (on_cpu, on_gpu) = (table.columns(&cpu), table.columns(&gpu));
            for seed in 0..if n > 3000 { 8 } else { 60 } {
                let p = predicate(1000 * k as u64 + seed, (seed % 4) as u32);
                let want = filtered(&cpu, &on_cpu, &p);
                assert!(filtered(&gpu, &on_gpu, &p) == want, "{n} rows: {p:?}");
                selected += want.iter().map(|w| u64::from(w.count_ones())).sum::<u64>();
            }
        }
        assert!(selected > 10_000, "{selected}");
    });
}

#[test]
fn predicates_beyond_one_program_are_divided() {
    gpu_test(&["col_filter", "mask_combine"], |gpu| {
        let [cpu, gpu] = devices(gpu);
        let table = Table::new(3, 1500);
        let (on_cpu, on_gpu) = (table.columns(&cpu), table.columns(&gpu));
        let each = |op| (0..14).map(move |c| Predicate::compare(c, op, value(c, 5)));
        // More columns than a program reads, more tests than it has steps, more depth than it has
        // slots.
        let wide = Predicate::Or(each(Compare::Le).collect());
        let long = Predicate::Or((0..100).map(|k| predicate(k, 0)).collect());
        let deep = (0..30).fold(predicate(1, 0), |p, k| {
            let part = vec![predicate(k, 0), p];
            if k % 2 == 0 { Predicate::And(part) } else { Predicate::Or(part) }
        });
        for p in [wide, Predicate::Not(Box::new(long.clone())), long, deep] {
            assert!(filtered(&gpu, &on_gpu, &p) == filtered(&cpu, &on_cpu, &p), "{p:?}");
        }
    });
}

#[test]
fn any_number_of_blocks_selects_the_same_rows() {
    gpu_test(&["col_filter"], |gpu| {
        let n = 10_007_u32;
        let cells: Vec<f32> = (0..n).map(|i| (h64(1, 1, u64::from(i)) % 100) as f32).collect();
        let column = gpu.upload("column", &cells).unwrap();
        let step = [4 << 8, 0, 10.0_f32.to_bits(), 0, 50.0_f32.to_bits(), 0, 0, 0];
        let program = gpu.upload("program", &step).unwrap();
        let want: Vec<u32> = cells
            .chunks(32)
            .map(|c| {
                let inside = c.iter().map(|v| u32::from((10.0..=50.0).contains(v)));
                inside.enumerate().fold(0, |w, (k, b)| w | b << k)
            })
            .collect();
        for blocks in [1, 2, 5, 40] {
            let mut out = gpu.alloc("mask", want.len()).unwrap();
            let (c, v) = (column.view().cast(), program.view());
            kernels::col_filter(
                gpu,
                Grid::blocks(blocks, 256),
                n,
                1,
                program.view(),
                c,
                v,
                v,
                v,
                v,
                v,
                v,
                v,
                v,
                v,
                v,
                v,
                v,
                v,
                v,
                v,
                out.view_mut(),
            )
            .unwrap();
            assert!(gpu.read(out.view()).unwrap() == want, "{blocks} blocks");
        }
    });
}

/// Rows of a mask of a third of the rows.
fn third(device: &Device, n: usize) -> Mask {
    let bytes: Vec<u8> = (0..n as u64).map(|i| u8::from(h64(9, 0, i).is_multiple_of(3))).collect();
    device.mask_from_bytes(&bytes).unwrap()
}

#[test]
fn reductions_agree_and_have_the_same_bits_again() {
    gpu_test(&["col_reduce", "mask_count"], |gpu| {
        let [cpu, gpu] = devices(gpu);
        let go = CancelToken::new();
        for n in SIZES {
            let mut table = Table::new(50, n);
            // Infinities would make every sum NaN or infinite.
            table.f64s.iter_mut().filter(|v| v.abs() > 1e6).for_each(|v| *v = 3.25);
            table.f32s.iter_mut().filter(|v| v.abs() > 1e6).for_each(|v| *v = 3.25);
            let (some_cpu, some_gpu) = (third(&cpu, n), third(&gpu, n));
            for k in 0..14 {
                let (a, b) = (table.column(&cpu, k), table.column(&gpu, k));
                for (m, w) in [(None, None), (Some(&some_cpu), Some(&some_gpu))] {
                    let want = cpu.reduce(&a, m, &go).unwrap();
                    let got = gpu.reduce(&b, w, &go).unwrap();
                    assert_eq!(got, gpu.reduce(&b, w, &go).unwrap());
                    assert_eq!(
                        (got.count, got.least, got.greatest),
                        (want.count, want.least, want.greatest)
                    );
                    let close = match (want.sum, got.sum) {
                        (Number::Float(x), Number::Float(y)) => {
                            (x - y).abs() <= 1e-6 * 100.0 * want.count as f64
                        }
                        (x, y) => x == y,
                    };
                    assert!(close, "{n} rows of column {k}: {want:?} {got:?}");
                }
            }
        }
    });
}

#[test]
fn histograms_are_equal() {
    gpu_test(&["col_hist_codes", "col_hist_range"], |gpu| {
        let [cpu, gpu] = devices(gpu);
        let go = CancelToken::new();
        for n in SIZES {
            let table = Table::new(60, n);
            let (some_cpu, some_gpu) = (third(&cpu, n), third(&gpu, n));
            for k in [2, 6, 9, 13] {
                let (a, b) = (table.column(&cpu, k), table.column(&gpu, k));
                for bins in [0, 1, 50, 4097] {
                    let want = cpu.histogram_codes(&a, bins, Some(&some_cpu), &go).unwrap();
                    let got = gpu.histogram_codes(&b, bins, Some(&some_gpu), &go).unwrap();
                    assert!(got == want && got.len() == bins as usize, "{n} {k} {bins}");
                }
            }
            for k in [0, 1, 2, 3, 4, 7, 8, 10, 11] {
                let (a, b) = (table.column(&cpu, k), table.column(&gpu, k));
                for (ends, bins) in [((-100.0, 100.0), 37), ((0.0, 0.0), 3), ((-1e9, 1e10), 5000)] {
                    let want = cpu.histogram_range(&a, ends, bins, None, &go).unwrap();
                    let got = gpu.histogram_range(&b, ends, bins, None, &go).unwrap();
                    assert!(got == want, "{n} {k} {ends:?}");
                }
            }
        }
    });
}

#[test]
fn segments_agree() {
    gpu_test(&["col_segment_sum", "col_segment_ends"], |gpu| {
        let [cpu, gpu] = devices(gpu);
        let go = CancelToken::new();
        // Segment lengths: all empty, short, long, one hub; the last offsets reach beyond the rows.
        for (k, (n, lens)) in [
            (0, vec![0; 5]),
            (500, vec![1; 600]),
            (9000, vec![90; 100]),
            (9000, vec![0, 8000, 3, 0]),
        ]
        .into_iter()
        .enumerate()
        {
            let mut table = Table::new(70 + k as u64, n);
            table.f64s.iter_mut().filter(|v| v.abs() > 1e6).for_each(|v| *v = 3.25);
            table.f32s.iter_mut().filter(|v| v.abs() > 1e6).for_each(|v| *v = 3.25);
            let mut offsets = vec![0_u32];
            lens.iter().for_each(|l| offsets.push(offsets[offsets.len() - 1] + l));
            let of = |device: &Device, c: usize| {
                let at = device.upload(Cells::U32(&offsets), None).unwrap();
                let some = third(device, n);
                let column = table.column(device, c);
                let sums = device.segment_sum(&at, &column, Some(&some), &go).unwrap();
                let (low, high) = device.segment_ends(&at, &column, Some(&some), &go).unwrap();
                [sums, low, high].map(|c| device.download(&c).unwrap())
            };
            for c in [0, 1, 2, 3, 4, 7, 8, 9, 10, 11] {
                for (want, got) in of(&cpu, c).into_iter().zip(of(&gpu, c)) {
                    assert_eq!(want.1, got.1, "validity of column {c}");
                    match (want.0, got.0) {
                        (HostCells::F64(a), HostCells::F64(b)) => {
                            let near = |x: f64, y: f64| {
                                x.is_nan() && y.is_nan() || (x - y).abs() <= 1e-6 * 100.0 * n as f64
                            };
                            assert!(
                                a.len() == b.len() && a.iter().zip(&b).all(|(x, y)| near(*x, *y))
                            );
                        }
                        (a, b) => assert!(a == b, "column {c} of case {k}"),
                    }
                }
            }
        }
    });
}

#[test]
fn gathers_are_equal_and_rows_that_do_not_exist_give_zero() {
    gpu_test(&["col_gather_u32", "col_gather_u64", "mask_gather", "col_iota"], |gpu| {
        let [cpu, gpu] = devices(gpu);
        let go = CancelToken::new();
        for (n, count) in [(0, 3), (33, 0), (1025, 1), (1025, 3001)] {
            let table = Table::new(80, n);
            let list: Vec<u32> =
                (0..count).map(|i| (h64(3, 0, i) % (n as u64 + 2)) as u32).collect();
            for k in 0..14 {
                let of = |device: &Device| {
                    let rows = device.upload(Cells::U32(&list), None).unwrap();
                    let got = device.gather(&table.column(device, k), &rows, &go).unwrap();
                    let (cells, valid) = device.download(&got).unwrap();
                    (format!("{cells:?}"), valid)
                };
                assert!(of(&cpu) == of(&gpu), "{n} {count} {k}");
            }
            let all = gpu.all_rows(n).unwrap();
            assert_eq!(gpu.download(&all).unwrap().0, HostCells::U32((0..n as u32).collect()));
        }
    });
}

#[test]
fn bytes_are_gathered() {
    gpu_test(&["col_gather_u8"], |gpu| {
        let cells: Vec<u8> = (0..1000).map(|i| (i % 251) as u8).collect();
        let list: Vec<u32> = (0..3333).map(|i| (h64(4, 0, i) % 1001) as u32).collect();
        let want: Vec<u8> =
            list.iter().map(|row| cells.get(*row as usize).copied().unwrap_or(0)).collect();
        let (cells, rows) =
            (gpu.upload("cells", &cells).unwrap(), gpu.upload("rows", &list).unwrap());
        for blocks in [1, 3, 20] {
            let mut out = gpu.alloc("out", list.len()).unwrap();
            let (grid, to) = (Grid::blocks(blocks, 256), out.view_mut());
            kernels::col_gather_u8(gpu, grid, 3333, 1000, rows.view(), cells.view(), to).unwrap();
            assert!(gpu.read(out.view()).unwrap() == want);
        }
    });
}

#[test]
fn orders_are_equal() {
    gpu_test(&["col_sort_keys_u32", "col_sort_keys_u64", "sort_scatter_u64"], |gpu| {
        let [cpu, gpu] = devices(gpu);
        let go = CancelToken::new();
        for n in [0, 1, 3500] {
            let table = Table::new(90, n);
            for k in 0..14 {
                for descending in [false, true] {
                    let of = |device: &Device, some: bool| {
                        let column = table.column(device, k);
                        let mask = some.then(|| third(device, n));
                        let rows = device.order(&column, descending, mask.as_ref(), &go).unwrap();
                        device.download(&rows).unwrap().0
                    };
                    let some = descending != (k % 2 == 0);
                    assert!(of(&cpu, some) == of(&gpu, some), "{n} {k} {descending}");
                }
            }
        }
    });
}

#[test]
fn pairs_and_prefix_sums_are_equal() {
    gpu_test(&["sort_scatter_u32", "scan_apply_u32"], |gpu| {
        let [cpu, gpu] = devices(gpu);
        let go = CancelToken::new();
        for n in [0, 1, 1025, 20_000] {
            let table = Table::new(95, n);
            let of = |device: &Device, bits: u32| {
                let keys = table.column(device, 2);
                let values = device.all_rows(n).unwrap();
                let (k, v) = device.sort_pairs(&keys, &values, bits, &go).unwrap();
                let sums = device.scan(&keys, &go).unwrap();
                [k, v, sums].map(|c| device.download(&c).unwrap().0)
            };
            for bits in [0, 5, 16, 32] {
                assert!(of(&cpu, bits) == of(&gpu, bits), "{n} {bits}");
            }
        }
    });
}

#[test]
fn results_of_kernels_become_columns_without_a_copy() {
    gpu_test(&["col_filter"], |gpu| {
        let device = Device::Cuda(gpu.clone());
        let ranks = gpu.upload("ranks", &[0.5_f32, f32::NAN, 0.25, 0.75]).unwrap();
        let column = DeviceColumn::from(ranks);
        let p = Predicate::compare(0, Compare::Ge, Value::Float(0.5));
        assert_eq!(filtered(&device, &[column], &p), [0b1001]);
    });
}
