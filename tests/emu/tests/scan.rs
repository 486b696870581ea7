//! The scan kernels and the prefix sums made of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use graphlume_device::cuda::primitives::Scan;
use graphlume_device::cuda::{DeviceError, Gpu, Grid, kernels};
use graphlume_emu::gpu_test;
use graphlume_types::hash::h64;

const SIZES: [usize; 12] = [0, 1, 31, 32, 33, 1023, 1024, 1025, 4097, 16_384, 16_385, 100_003];

fn values(seed: u64, n: usize, most: u32) -> Vec<u32> {
    (0..n as u64).map(|i| (h64(seed, 1, i) as u32) % most.max(1)).collect()
}

fn sums(values: &[u32]) -> Vec<u64> {
    let mut total = 0;
    let mut out = vec![0];
    for v in values {
        total += u64::from(*v);
        out.push(total);
    }
    out
}

#[test]
fn sums_equal_those_of_a_loop_at_every_size_and_wrap_in_32_bits() {
    gpu_test(&["scan_sums_u32", "scan_spine_u32", "scan_apply_u32"], |gpu| {
        let mut scan = Scan::new(gpu, 100_003).unwrap();
        for (k, n) in SIZES.into_iter().enumerate() {
            // Every other size with values whose sum does not fit 32 bits.
            let host = values(7, n, if k % 2 == 0 { 100 } else { u32::MAX });
            let want: Vec<u32> = sums(&host).iter().map(|s| *s as u32).collect();
            let input = gpu.upload("input", &host).unwrap();
            for more in [0, 1] {
                let mut out = gpu.alloc("sums", n + more).unwrap();
                scan.exclusive(input.view(), out.view_mut()).unwrap();
                assert_eq!(gpu.read(out.view()).unwrap(), want[..n + more], "{n} + {more}");
            }
        }
    });
}

#[test]
fn sums_of_64_bits_do_not_wrap() {
    gpu_test(&["scan_sums_u64", "scan_spine_u64", "scan_apply_u64"], |gpu| {
        let mut scan = Scan::new(gpu, 100_003).unwrap();
        for n in [0, 1, 4096, 4099, 100_003] {
            let host = values(8, n, u32::MAX);
            let input = gpu.upload("input", &host).unwrap();
            for more in [0, 1] {
                let mut out = gpu.alloc("sums", n + more).unwrap();
                scan.exclusive_u64(input.view(), out.view_mut()).unwrap();
                assert_eq!(gpu.read(out.view()).unwrap(), sums(&host)[..n + more], "{n} + {more}");
            }
        }
    });
}

#[test]
fn parts_of_arrays_at_odd_addresses_are_scanned_too() {
    gpu_test(&["scan_sums_u32", "scan_apply_u32"], |gpu| {
        let host = values(9, 20_001, 1000);
        let input = gpu.upload("input", &host).unwrap();
        let mut scan = Scan::new(gpu, 20_000).unwrap();
        for skip in [1, 2, 3] {
            let mut out = gpu.zeros("sums", 20_005).unwrap();
            let part = input.slice(skip..20_000);
            scan.exclusive(part, out.slice_mut(5 - skip..20_005 - 2 * skip)).unwrap();
            let got: Vec<u32> = gpu.read(out.view()).unwrap();
            let want: Vec<u32> = sums(&host[skip..20_000]).iter().map(|s| *s as u32).collect();
            assert_eq!(got[5 - skip..20_005 - 2 * skip], want[..20_000 - skip]);
            assert!(got[..5 - skip].iter().chain(&got[20_005 - 2 * skip..]).all(|v| *v == 0));
        }
    });
}

fn scan_by_hand(gpu: &Gpu, host: &[u32], chunk: u32, blocks: u32) -> Vec<u32> {
    let n = host.len() as u32;
    let chunks = n.div_ceil(chunk);
    let input = gpu.upload("input", host).unwrap();
    let mut starts = gpu.alloc("starts", chunks.max(1) as usize).unwrap();
    let mut out = gpu.alloc("sums", host.len() + 1).unwrap();
    let grid = Grid::blocks(blocks, 256);
    kernels::scan_sums_u32(gpu, grid, n, chunk, input.view(), starts.view_mut()).unwrap();
    kernels::scan_spine_u32(gpu, Grid::blocks(2, 64), chunks, starts.view_mut()).unwrap();
    let to = out.view_mut();
    kernels::scan_apply_u32(gpu, grid, n, chunk, 1, input.view(), starts.view(), to).unwrap();
    gpu.read(out.view()).unwrap()
}

#[test]
fn any_number_of_blocks_gives_the_same_sums() {
    gpu_test(&["scan_sums_u32", "scan_spine_u32", "scan_apply_u32"], |gpu| {
        let host = values(10, 33_333, 50);
        let want: Vec<u32> = sums(&host).iter().map(|s| *s as u32).collect();
        for chunk in [4096, 8192] {
            for blocks in [1, 2, 3, 40] {
                assert_eq!(scan_by_hand(gpu, &host, chunk, blocks), want, "{chunk} {blocks}");
            }
        }
    });
}

#[test]
fn a_long_spine_is_scanned_in_several_steps() {
    gpu_test(&["scan_spine_u32", "scan_spine_u64"], |gpu| {
        let host = values(11, 2500, 9);
        let want = sums(&host);
        let mut narrow = gpu.upload("spine", &host).unwrap();
        kernels::scan_spine_u32(gpu, Grid::blocks(1, 1024), 2500, narrow.view_mut()).unwrap();
        let narrow = gpu.read(narrow.view()).unwrap();
        assert!(narrow.iter().zip(&want).all(|(a, b)| u64::from(*a) == *b));
        let wide: Vec<u64> = host.iter().map(|v| u64::from(*v) << 33).collect();
        let mut wide = gpu.upload("spine", &wide).unwrap();
        kernels::scan_spine_u64(gpu, Grid::blocks(1, 256), 2500, wide.view_mut()).unwrap();
        let wide = gpu.read(wide.view()).unwrap();
        assert!(wide.iter().zip(&want).all(|(a, b)| *a == b << 33));
    });
}

/// A tile more than one for each block that the device is given: on a card of 132 multiprocessors the spine is then
/// longer than its one block, and chunks have two tiles.
#[test]
fn inputs_for_a_whole_grid_and_more_are_scanned() {
    gpu_test(&["scan_sums_u32", "scan_spine_u32", "scan_apply_u32"], |gpu| {
        let whole = gpu.info().sm_count as usize * 8 * 4096;
        let host = values(12, whole + 1, 100);
        let mut scan = Scan::new(gpu, host.len()).unwrap();
        let input = gpu.upload("input", &host).unwrap();
        let mut out = gpu.alloc("sums", host.len() + 1).unwrap();
        scan.exclusive(input.view(), out.view_mut()).unwrap();
        let want: Vec<u32> = sums(&host).iter().map(|s| *s as u32).collect();
        assert!(gpu.read(out.view()).unwrap() == want, "{} values", host.len());
    });
}

#[test]
fn wrong_lengths_are_answers() {
    gpu_test(&[], |gpu| {
        let mut scan = Scan::new(gpu, 100).unwrap();
        let input = gpu.zeros("input", 100).unwrap();
        let long = gpu.zeros("input", 101).unwrap();
        let mut out = gpu.zeros("sums", 102).unwrap();
        for (from, to) in [(input.view(), 102), (input.view(), 99), (long.view(), 101)] {
            let answer = scan.exclusive(from, out.slice_mut(..to));
            assert!(matches!(answer, Err(DeviceError::Length { .. })), "{to}");
        }
    });
}

#[test]
fn a_scan_can_be_replayed() {
    gpu_test(&["scan_sums_u32"], |gpu| {
        let mut scan = Scan::new(gpu, 20_000).unwrap();
        let mut input = gpu.zeros("input", 20_000).unwrap();
        let mut out = gpu.zeros("sums", 20_001).unwrap();
        scan.exclusive(input.view(), out.view_mut()).unwrap();
        let replay = gpu.capture(|| scan.exclusive(input.view(), out.view_mut())).unwrap();
        for seed in [1, 2] {
            let host = values(seed, 20_000, 77);
            gpu.write(input.view_mut(), &host).unwrap();
            replay.launch().unwrap();
            let total = *sums(&host).last().unwrap() as u32;
            assert_eq!(gpu.read(out.slice(20_000..)).unwrap(), [total]);
        }
    });
}
