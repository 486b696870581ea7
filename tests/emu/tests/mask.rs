//! Masks: the same on the CPU, on the GPU and by a loop over bools.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::sync::Arc;

use graphlume_device::CpuPool;
use graphlume_device::columns::{Cells, Device, HostCells, MaskOp};
use graphlume_device::cuda::primitives::Compact;
use graphlume_device::cuda::{DeviceError, Gpu, Grid, kernels};
use graphlume_emu::gpu_test;
use graphlume_types::hash::h64;
use graphlume_types::{Budget, CancelToken};

const SIZES: [usize; 10] = [0, 1, 31, 32, 33, 1023, 1024, 1025, 4096, 100_003];

fn devices(gpu: &Gpu) -> [Device; 2] {
    let pool = Arc::new(CpuPool::new(2).unwrap());
    [Device::cpu(pool, Budget::new("host", 1 << 30)), Device::Cuda(gpu.clone())]
}

/// A function of two bools.
type Of = fn(bool, bool) -> bool;

/// A random set with about `percent` of the rows.
fn set(seed: u64, n: usize, percent: u64) -> Vec<bool> {
    (0..n as u64).map(|i| h64(seed, 0, i) % 100 < percent).collect()
}

fn bytes(set: &[bool]) -> Vec<u8> {
    set.iter().enumerate().map(|(i, b)| if *b { (i % 255) as u8 + 1 } else { 0 }).collect()
}

fn words(set: &[bool]) -> Vec<u32> {
    set.chunks(32)
        .map(|c| c.iter().enumerate().fold(0, |w, (k, b)| w | u32::from(*b) << k))
        .collect()
}

fn rows(set: &[bool]) -> Vec<u32> {
    (0..).zip(set).filter(|(_, b)| **b).map(|(row, _)| row).collect()
}

#[test]
fn bytes_become_bits_and_bytes_again() {
    gpu_test(&["mask_from_bytes", "mask_to_bytes"], |gpu| {
        for device in devices(gpu) {
            for n in SIZES {
                let set = set(1, n, 40);
                let mask = device.mask_from_bytes(&bytes(&set)).unwrap();
                assert_eq!(mask.rows(), n);
                assert!(device.mask_to_words(&mask).unwrap() == words(&set), "{n}");
                let back = device.mask_to_bytes(&mask).unwrap();
                assert!(back.iter().map(|b| *b == 1).eq(set.iter().copied()), "{n}");
                let same = device.mask_from_words(n, &vec![u32::MAX; n.div_ceil(32)]).unwrap();
                let all = device.mask_filled(n, true).unwrap();
                assert_eq!(
                    device.mask_to_words(&same).unwrap(),
                    device.mask_to_words(&all).unwrap()
                );
            }
        }
    });
}

#[test]
fn the_algebra_is_that_of_bools_and_leaves_the_tail_clear() {
    gpu_test(&["mask_combine", "mask_not", "mask_fill", "mask_count"], |gpu| {
        for device in devices(gpu) {
            for n in SIZES {
                let (a, b) = (set(2, n, 50), set(3, n, 30));
                let (x, y) = (
                    device.mask_from_words(n, &words(&a)).unwrap(),
                    device.mask_from_words(n, &words(&b)).unwrap(),
                );
                let ops: [(MaskOp, Of); 4] = [
                    (MaskOp::And, |p, q| p && q),
                    (MaskOp::Or, |p, q| p || q),
                    (MaskOp::Xor, |p, q| p != q),
                    (MaskOp::AndNot, |p, q| p && !q),
                ];
                for (op, of) in ops {
                    let want: Vec<bool> = a.iter().zip(&b).map(|(p, q)| of(*p, *q)).collect();
                    let got = device.mask_combine(op, &x, &y).unwrap();
                    assert!(device.mask_to_words(&got).unwrap() == words(&want), "{op:?} {n}");
                    let count = want.iter().filter(|b| **b).count() as u64;
                    assert_eq!(device.mask_count(&got).unwrap(), count, "{op:?} {n}");
                }
                let not: Vec<bool> = a.iter().map(|p| !p).collect();
                let got = device.mask_not(&x).unwrap();
                assert!(device.mask_to_words(&got).unwrap() == words(&not), "{n}");
                for fill in [false, true] {
                    let got = device.mask_filled(n, fill).unwrap();
                    assert!(device.mask_to_words(&got).unwrap() == words(&vec![fill; n]), "{n}");
                }
            }
        }
    });
}

#[test]
fn rows_are_listed_in_order_and_make_the_mask_again() {
    gpu_test(&["mask_chunk_counts", "mask_compact", "mask_scatter", "scan_spine_u32"], |gpu| {
        let go = CancelToken::new();
        for device in devices(gpu) {
            for n in SIZES {
                for percent in [0, 1, 50, 100] {
                    let set = set(4, n, percent);
                    let mask = device.mask_from_words(n, &words(&set)).unwrap();
                    let list = device.compact(&mask, &go).unwrap();
                    let (cells, valid) = device.download(&list).unwrap();
                    assert!(
                        cells == HostCells::U32(rows(&set)) && valid.is_none(),
                        "{n} {percent}"
                    );
                    let back = device.mask_from_rows(n, &list).unwrap();
                    assert!(device.mask_to_words(&back).unwrap() == words(&set), "{n} {percent}");
                }
            }
        }
    });
}

#[test]
fn listed_rows_that_do_not_exist_are_passed_over() {
    gpu_test(&["mask_scatter", "mask_gather"], |gpu| {
        let go = CancelToken::new();
        for device in devices(gpu) {
            let list = device.upload(Cells::U32(&[5, 100, 5, 39, 40, u32::MAX]), None).unwrap();
            let mask = device.mask_from_rows(40, &list).unwrap();
            assert_eq!(device.mask_to_words(&mask).unwrap(), [1 << 5, 1 << 7]);
            let taken = device.mask_gather(&mask, &list, &go).unwrap();
            assert_eq!(device.mask_to_words(&taken).unwrap(), [0b1101]);
        }
    });
}

#[test]
fn gathered_bits_are_those_of_the_rows() {
    gpu_test(&["mask_gather"], |gpu| {
        let go = CancelToken::new();
        for device in devices(gpu) {
            for (n, count) in [(1, 0), (33, 1), (1000, 1025), (100_003, 5000)] {
                let set = set(5, n, 50);
                let list: Vec<u32> = (0..count).map(|i| (h64(6, 0, i) % n as u64) as u32).collect();
                let mask = device.mask_from_words(n, &words(&set)).unwrap();
                let on = device.upload(Cells::U32(&list), None).unwrap();
                let got = device.mask_gather(&mask, &on, &go).unwrap();
                let want: Vec<bool> = list.iter().map(|row| set[*row as usize]).collect();
                assert!(device.mask_to_words(&got).unwrap() == words(&want), "{n} {count}");
            }
        }
    });
}

#[test]
fn any_number_of_blocks_gives_the_same_masks() {
    gpu_test(&["mask_chunk_counts", "mask_compact", "mask_count", "mask_from_bytes"], |gpu| {
        let n = 50_021;
        let set = set(7, n as usize, 45);
        let from = gpu.upload("bytes", &bytes(&set)).unwrap();
        for (blocks, threads) in [(1, 32), (2, 256), (7, 96), (100, 256)] {
            let grid = Grid::blocks(blocks, threads);
            let mut mask = gpu.alloc("mask", words(&set).len()).unwrap();
            kernels::mask_from_bytes(gpu, grid, n, from.view(), mask.view_mut()).unwrap();
            assert!(gpu.read(mask.view()).unwrap() == words(&set));
            let mut count = gpu.zeros("count", 1).unwrap();
            kernels::mask_count(gpu, grid, n, mask.view(), count.view_mut()).unwrap();
            let found = rows(&set).len();
            assert_eq!(gpu.read(count.view()).unwrap(), [found as u64]);
            let mut starts = gpu.alloc("starts", 2).unwrap();
            kernels::mask_chunk_counts(gpu, grid, n, 1024, mask.view(), starts.view_mut()).unwrap();
            let counts = gpu.read(starts.view()).unwrap();
            gpu.write(starts.view_mut(), &[0, counts[0]]).unwrap();
            let mut out = gpu.alloc("rows", found).unwrap();
            let grid = Grid::blocks(blocks, 256);
            let to = out.view_mut();
            kernels::mask_compact(gpu, grid, n, 1024, found as u32, mask.view(), starts.view(), to)
                .unwrap();
            assert!(gpu.read(out.view()).unwrap() == rows(&set));
        }
    });
}

#[test]
fn rows_without_room_are_counted_and_not_written() {
    gpu_test(&["mask_compact"], |gpu| {
        let set = set(8, 3000, 50);
        let mask = gpu.upload("mask", &words(&set)).unwrap();
        let mut out = gpu.zeros("rows", 12).unwrap();
        let mut found = gpu.zeros("found", 1).unwrap();
        let mut compact = Compact::new(gpu, 3000).unwrap();
        compact.rows(3000, mask.view(), out.slice_mut(..10), found.view_mut()).unwrap();
        assert_eq!(gpu.read(out.slice(..10)).unwrap(), rows(&set)[..10]);
        assert_eq!(gpu.read(out.slice(10..)).unwrap(), [0, 0]);
        assert_eq!(gpu.read(found.view()).unwrap(), [rows(&set).len() as u32]);
        let longer = compact.rows(3001, mask.view(), out.view_mut(), found.view_mut());
        assert!(matches!(longer, Err(DeviceError::Length { .. })));
    });
}
