//! The stable radix sorts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use graphlume_device::cuda::primitives::Sort;
use graphlume_device::cuda::{DeviceError, Gpu, Grid, kernels};
use graphlume_emu::gpu_test;
use graphlume_types::hash::h64;

const NARROW: &[&str] = &["sort_count_u32", "sort_rows", "sort_scatter_u32"];
const WIDE: &[&str] = &["sort_count_u64", "sort_rows", "sort_scatter_u64"];

/// Keys of several shapes: random, few distinct, all equal, ascending, descending, extremes.
fn keys(shape: u64, n: usize) -> Vec<u64> {
    let n = n as u64;
    let key = |i: u64| match shape {
        0 => h64(3, 0, i),
        1 => h64(4, 0, i) % 7,
        2 => 0x0123_4567_89ab_cdef,
        3 => i,
        4 => (n - i) << 20,
        _ => [0, u64::MAX, 1 << 63, u64::from(u32::MAX), 1 << 31][(h64(5, 0, i) % 5) as usize],
    };
    (0..n).map(key).collect()
}

fn sorted<K: Copy + Ord>(keys: &[K], low: impl Fn(K) -> K) -> Vec<(K, u32)> {
    let mut pairs: Vec<(K, u32)> = keys.iter().copied().zip(0..).collect();
    pairs.sort_by_key(|(k, _)| low(*k));
    pairs
}

fn check_u32(gpu: &Gpu, sort: &mut Sort, host: &[u32], bits: u32) {
    let values: Vec<u32> = (0..host.len() as u32).collect();
    let mut k = gpu.upload("keys", host).unwrap();
    let mut v = gpu.upload("values", &values).unwrap();
    sort.pairs_u32(&mut k, &mut v, host.len(), bits).unwrap();
    let got: Vec<(u32, u32)> =
        gpu.read(k.view()).unwrap().into_iter().zip(gpu.read(v.view()).unwrap()).collect();
    let mask = if bits == 32 { u32::MAX } else { (1 << bits) - 1 };
    assert!(got == sorted(host, |k| k & mask), "{} pairs by {bits} bits", host.len());
}

#[test]
fn pairs_are_sorted_and_equal_keys_keep_their_order() {
    gpu_test(NARROW, |gpu| {
        let mut sort = Sort::new_u32(gpu, 20_000).unwrap();
        for n in [0, 1, 2, 31, 32, 33, 1023, 1024, 1025, 4096, 4097, 10_007] {
            for shape in 0..6 {
                let host: Vec<u32> = keys(shape, n).iter().map(|k| *k as u32).collect();
                check_u32(gpu, &mut sort, &host, 32);
            }
        }
    });
}

#[test]
fn many_tiles_in_few_chunks_are_sorted_too() {
    gpu_test(NARROW, |gpu| {
        let mut sort = Sort::new_u32(gpu, 100_003).unwrap();
        let host: Vec<u32> = keys(0, 100_003).iter().map(|k| *k as u32).collect();
        check_u32(gpu, &mut sort, &host, 32);
        check_u32(gpu, &mut sort, &host[..60_000], 11);
    });
}

/// A tile more than one for each block of a whole grid, of which no card has more than three for each multiprocessor:
/// blocks then have two tiles, and the last may have less.
#[test]
fn pairs_for_a_whole_grid_and_more_are_sorted() {
    gpu_test(NARROW, |gpu| {
        let n = gpu.info().sm_count as usize * 3 * 4096 + 1;
        let mut sort = Sort::new_u32(gpu, n).unwrap();
        let host: Vec<u32> = keys(0, n).iter().map(|k| *k as u32).collect();
        check_u32(gpu, &mut sort, &host, 11);
    });
}

#[test]
fn only_the_low_bits_decide() {
    gpu_test(NARROW, |gpu| {
        let mut sort = Sort::new_u32(gpu, 5000).unwrap();
        let host: Vec<u32> = keys(0, 5000).iter().map(|k| *k as u32).collect();
        for bits in [0, 1, 7, 8, 9, 16, 20, 24, 31] {
            check_u32(gpu, &mut sort, &host, bits);
        }
    });
}

#[test]
fn wide_keys_are_sorted_by_all_their_bits() {
    gpu_test(WIDE, |gpu| {
        let mut sort = Sort::new_u64(gpu, 30_011).unwrap();
        for (n, bits) in [(0, 64), (1, 64), (33, 64), (3072, 64), (3073, 40), (30_011, 64)] {
            for shape in if n > 10_000 { 0..2 } else { 0..6 } {
                let host = keys(shape, n);
                let values: Vec<u32> = (0..n as u32).collect();
                let mut k = gpu.upload("keys", &host).unwrap();
                let mut v = gpu.upload("values", &values).unwrap();
                sort.pairs_u64(&mut k, &mut v, n, bits).unwrap();
                let got: Vec<(u64, u32)> = gpu
                    .read(k.view())
                    .unwrap()
                    .into_iter()
                    .zip(gpu.read(v.view()).unwrap())
                    .collect();
                let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
                assert!(got == sorted(&host, |k| k & mask), "{n} pairs of shape {shape}");
            }
        }
    });
}

#[test]
fn pairs_beyond_the_length_stay() {
    gpu_test(NARROW, |gpu| {
        let mut sort = Sort::new_u32(gpu, 100).unwrap();
        let host: Vec<u32> = (0..150).rev().collect();
        let mut k = gpu.upload("keys", &host).unwrap();
        let mut v = gpu.upload("values", &host).unwrap();
        sort.pairs_u32(&mut k, &mut v, 100, 8).unwrap();
        let want: Vec<u32> = (50..150).chain((0..50).rev()).collect();
        assert_eq!(gpu.read(k.view()).unwrap(), want);
        assert_eq!(gpu.read(v.view()).unwrap(), want);
        let too_long = sort.pairs_u32(&mut k, &mut v, 101, 8);
        assert!(matches!(too_long, Err(DeviceError::Length { .. })));
        let mut wide = gpu.zeros::<u64>("keys", 100).unwrap();
        assert!(sort.pairs_u64(&mut wide, &mut v, 100, 8).is_err());
    });
}

#[test]
fn any_number_of_blocks_gives_the_same_order() {
    gpu_test(NARROW, |gpu| {
        let host: Vec<u32> = keys(0, 20_001).iter().map(|k| *k as u32).collect();
        let values: Vec<u32> = (0..20_001).collect();
        let (n, chunk) = (20_001, 8192);
        let chunks = 3;
        for blocks in [1, 2, 3, 9] {
            let k = gpu.upload("keys", &host).unwrap();
            let v = gpu.upload("values", &values).unwrap();
            let mut counts = gpu.alloc("counts", 256 * chunks as usize).unwrap();
            let mut totals = gpu.alloc("totals", 256).unwrap();
            let (mut ko, mut vo) =
                (gpu.alloc("keys", 20_001).unwrap(), gpu.alloc("values", 20_001).unwrap());
            let grid = Grid::blocks(blocks, 256);
            kernels::sort_count_u32(
                gpu,
                grid,
                n,
                chunk,
                chunks,
                3,
                255,
                k.view(),
                counts.view_mut(),
            )
            .unwrap();
            kernels::sort_rows(gpu, grid, chunks, counts.view_mut(), totals.view_mut()).unwrap();
            kernels::sort_scatter_u32(
                gpu,
                grid,
                n,
                chunk,
                chunks,
                3,
                255,
                k.view(),
                v.view(),
                counts.view(),
                totals.view(),
                ko.view_mut(),
                vo.view_mut(),
            )
            .unwrap();
            let got: Vec<(u32, u32)> = gpu
                .read(ko.view())
                .unwrap()
                .into_iter()
                .zip(gpu.read(vo.view()).unwrap())
                .collect();
            assert!(got == sorted(&host, |k| k >> 3 & 255), "{blocks} blocks");
        }
    });
}

#[test]
fn a_sort_can_be_replayed_also_with_an_odd_number_of_passes() {
    gpu_test(NARROW, |gpu| {
        let mut sort = Sort::new_u32(gpu, 1000).unwrap();
        let mut k = gpu.zeros("keys", 1000).unwrap();
        let mut v = gpu.zeros("values", 1000).unwrap();
        sort.pairs_u32(&mut k, &mut v, 1000, 24).unwrap();
        let replay = gpu.capture(|| sort.pairs_u32(&mut k, &mut v, 1000, 24)).unwrap();
        for seed in 0..2 {
            let host: Vec<u32> = (0..1000).map(|i| h64(seed, 0, i) as u32 >> 8).collect();
            let values: Vec<u32> = (0..1000).collect();
            gpu.write(k.view_mut(), &host).unwrap();
            gpu.write(v.view_mut(), &values).unwrap();
            replay.launch().unwrap();
            let got: Vec<(u32, u32)> =
                gpu.read(k.view()).unwrap().into_iter().zip(gpu.read(v.view()).unwrap()).collect();
            assert!(got == sorted(&host, |k| k));
        }
    });
}
