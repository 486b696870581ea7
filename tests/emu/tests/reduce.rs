//! Reductions in a fixed order.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use graphlume_device::cuda::primitives::Reduce;
use graphlume_device::cuda::{DeviceError, Grid, kernels};
use graphlume_emu::gpu_test;
use graphlume_types::hash::{h64, unit_f64};

const SIZES: [usize; 11] = [0, 1, 31, 32, 33, 1023, 1024, 1025, 8192, 8193, 100_003];

fn floats(seed: u64, n: usize) -> Vec<f64> {
    (0..n as u64).map(|i| (unit_f64(seed, 0, i) - 0.5) * 1e3).collect()
}

/// Whether a sum is right within 1e-6 of the sum of the absolute values.
fn near(got: f64, values: impl Iterator<Item = f64> + Clone) -> bool {
    let want: f64 = values.clone().sum();
    let size: f64 = values.map(f64::abs).sum();
    (got - want).abs() <= 1e-6 * size
}

#[test]
fn sums_of_floats_are_near_and_have_the_same_bits_again() {
    gpu_test(&["reduce_sum_f32", "reduce_sum_f64"], |gpu| {
        let mut reduce = Reduce::new(gpu, 100_003).unwrap();
        let mut out = gpu.alloc("sum", 1).unwrap();
        for n in SIZES {
            let wide = floats(1, n);
            let narrow: Vec<f32> = wide.iter().map(|v| *v as f32).collect();
            let (w, s) =
                (gpu.upload("wide", &wide).unwrap(), gpu.upload("narrow", &narrow).unwrap());
            let mut seen = Vec::new();
            for _ in 0..2 {
                reduce.sum_f64(w.view(), out.view_mut()).unwrap();
                let sum = gpu.read(out.view()).unwrap()[0];
                assert!(near(sum, wide.iter().copied()), "{n}: {sum}");
                seen.push(sum.to_bits());
                reduce.sum_f32_as_f64(s.view(), out.view_mut()).unwrap();
                let sum = gpu.read(out.view()).unwrap()[0];
                assert!(near(sum, narrow.iter().map(|v| f64::from(*v))), "{n}: {sum}");
                seen.push(sum.to_bits());
            }
            assert_eq!(seen[..2], seen[2..], "{n}");
        }
    });
}

#[test]
fn sums_of_integers_are_exact() {
    gpu_test(&["reduce_sum_u32", "reduce_sum_u64"], |gpu| {
        let mut reduce = Reduce::new(gpu, 100_003).unwrap();
        let mut out = gpu.alloc("sum", 1).unwrap();
        for n in SIZES {
            let wide: Vec<u64> = (0..n as u64).map(|i| h64(2, 0, i)).collect();
            let narrow: Vec<u32> = wide.iter().map(|v| *v as u32).collect();
            let from = gpu.upload("narrow", &narrow).unwrap();
            reduce.sum_u32_as_u64(from.view(), out.view_mut()).unwrap();
            let want: u64 = narrow.iter().map(|v| u64::from(*v)).sum();
            assert_eq!(gpu.read(out.view()).unwrap(), [want], "{n}");
            let from = gpu.upload("wide", &wide).unwrap();
            reduce.sum_u64(from.view(), out.view_mut()).unwrap();
            let want = wide.iter().fold(0_u64, |a, b| a.wrapping_add(*b));
            assert_eq!(gpu.read(out.view()).unwrap(), [want], "{n}");
        }
    });
}

#[test]
fn the_ends_pass_over_nan_and_take_infinities() {
    gpu_test(&["reduce_min_max_f32", "reduce_min_max_f64"], |gpu| {
        let mut reduce = Reduce::new(gpu, 100_003).unwrap();
        for n in SIZES {
            for special in [false, true] {
                let mut wide = floats(3, n);
                if special {
                    for (i, v) in wide.iter_mut().enumerate() {
                        *v = match i % 11 {
                            3 => f64::NAN,
                            7 if i > 500 => f64::INFINITY,
                            _ => *v,
                        };
                    }
                }
                let least = wide.iter().copied().fold(f64::INFINITY, f64::min);
                let most = wide.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let from = gpu.upload("wide", &wide).unwrap();
                let mut out = gpu.alloc("ends", 2).unwrap();
                reduce.min_max_f64(from.view(), out.view_mut()).unwrap();
                assert_eq!(gpu.read(out.view()).unwrap(), [least, most], "{n}");
                let narrow: Vec<f32> = wide.iter().map(|v| *v as f32).collect();
                let from = gpu.upload("narrow", &narrow).unwrap();
                let mut out = gpu.alloc("ends", 2).unwrap();
                reduce.min_max_f32(from.view(), out.view_mut()).unwrap();
                assert_eq!(gpu.read(out.view()).unwrap(), [least as f32, most as f32], "{n}");
            }
        }
        let only_nan = gpu.upload("nan", &[f32::NAN; 3]).unwrap();
        let mut out = gpu.alloc("ends", 2).unwrap();
        reduce.min_max_f32(only_nan.view(), out.view_mut()).unwrap();
        assert_eq!(gpu.read(out.view()).unwrap(), [f32::INFINITY, f32::NEG_INFINITY]);
    });
}

#[test]
fn the_ends_of_integers_are_exact_and_those_of_nothing_are_reversed() {
    gpu_test(&["reduce_min_max_u32"], |gpu| {
        let mut reduce = Reduce::new(gpu, 100_003).unwrap();
        let mut out = gpu.alloc("ends", 2).unwrap();
        for n in SIZES {
            let host: Vec<u32> = (0..n as u64).map(|i| h64(4, 0, i) as u32).collect();
            let from = gpu.upload("values", &host).unwrap();
            reduce.min_max_u32(from.view(), out.view_mut()).unwrap();
            let want = [
                host.iter().copied().min().unwrap_or(u32::MAX),
                host.iter().copied().max().unwrap_or(0),
            ];
            assert_eq!(gpu.read(out.view()).unwrap(), want, "{n}");
        }
    });
}

#[test]
fn any_number_of_blocks_and_any_address_give_the_same_bits() {
    gpu_test(&["reduce_sum_f64", "reduce_sum_f32"], |gpu| {
        let host = floats(5, 30_000);
        let wide = gpu.upload("wide", &host).unwrap();
        let mut shifted = vec![0.0];
        shifted.extend(&host);
        let odd = gpu.upload("shifted", &shifted).unwrap();
        let mut bits = Vec::new();
        for blocks in [1, 3, 8, 50] {
            for view in [wide.view(), odd.slice(1..)] {
                let mut out = gpu.alloc("parts", 4).unwrap();
                let grid = Grid::blocks(blocks, 256);
                kernels::reduce_sum_f64(gpu, grid, 30_000, 4, view, out.view_mut()).unwrap();
                bits.push(gpu.read(out.view()).unwrap());
            }
        }
        assert!(bits.iter().all(|b| *b == bits[0]));
        let narrow: Vec<f32> = shifted.iter().map(|v| *v as f32).collect();
        let narrow = gpu.upload("narrow", &narrow).unwrap();
        let mut out = gpu.alloc("sum", 1).unwrap();
        Reduce::new(gpu, 30_000)
            .unwrap()
            .sum_f32_as_f64(narrow.slice(1..), out.view_mut())
            .unwrap();
        let got = gpu.read(out.view()).unwrap()[0];
        assert!(near(got, host.iter().map(|v| f64::from(*v as f32))), "{got}");
    });
}

#[test]
fn an_input_longer_than_the_scratch_memory_is_refused() {
    gpu_test(&[], |gpu| {
        let mut reduce = Reduce::new(gpu, 10).unwrap();
        let from = gpu.zeros("values", 11).unwrap();
        let mut out = gpu.alloc("sum", 1).unwrap();
        let answer = reduce.sum_f64(from.view(), out.view_mut());
        assert!(matches!(answer, Err(DeviceError::Length { .. })));
    });
}
